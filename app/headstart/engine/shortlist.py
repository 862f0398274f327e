"""The tokens that a draft's trimmed output head scores."""

from pathlib import Path

import numpy as np

from headstart.engine.sampling import Ids
from headstart.errors import BrokenModelError
from headstart.manifest import Manifest


def read(folder: Path, manifest: Manifest, rows: int | None = None) -> Ids | None:
    """Ids of the `rows` most frequent tokens, rising; None: the whole head. `rows` None: as exported; 0: all.

    Raises BrokenModelError for a list that does not fit the model.
    """
    listed = manifest.shortlist
    if listed is None or rows == 0:
        return None
    try:
        ranked = np.load(folder / listed.file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise _broken(folder, f"cannot be read ({error})") from None
    if ranked.ndim != 1 or not ranked.size or not np.issubdtype(ranked.dtype, np.integer):
        raise _broken(folder, "is not a list of token ids")
    if ranked.min() < 0 or ranked.max() >= manifest.logit_rows:
        raise _broken(folder, f"names a token outside the model's {manifest.logit_rows}")
    if np.unique(ranked).size != ranked.size:
        raise _broken(folder, "names a token twice")
    ids: Ids = np.sort(ranked[: rows or listed.rows].astype(np.int64))
    return ids if ids.size < manifest.logit_rows else None


def _broken(folder: Path, fault: str) -> BrokenModelError:
    return BrokenModelError(
        "The list of draft tokens in {folder} {fault}; export the model again.", folder=folder, fault=fault
    )
