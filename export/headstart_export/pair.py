"""Whether two models may work together: their vocabularies must agree id by id. Knows nothing of weights."""

from pathlib import Path
from typing import Any

from headstart import manifest, vocabulary
from headstart.errors import MismatchedDraftError
from headstart_export import describe


def require_agreement(target: Any, draft: Any, names: tuple[str, str], scratch: Path) -> int:
    """How many ids the two tokenizers share. Raises MismatchedDraftError naming the first that differs.

    Rows of the weights beyond the vocabulary are padding and do not count.
    """
    folders = []
    for role, tokenizer in ((manifest.TARGET_FOLDER, target), (manifest.DRAFT_FOLDER, draft)):
        folder = scratch / f"{role}-tokenizer"
        tokenizer.save_pretrained(folder)
        folders.append(folder)
    first, second = (vocabulary.read(folder) for folder in folders)
    difference = vocabulary.first_difference(first, second)
    if difference is not None:
        raise MismatchedDraftError(
            f"{names[1]} cannot draft for {names[0]}: id {difference.id} is {_shown(difference.first)} in {names[0]} "
            f"but {_shown(difference.second)} in {names[1]}; choose a draft with the same vocabulary."
        )
    return len(first)


def write_manifest(folder: Path, name: str, shared_ids: int) -> None:
    """Describe a folder whose target and draft are finished."""
    manifest.write(folder, manifest.PairManifest(name=name, shared_ids=shared_ids, created=describe.now()))


def _shown(token: str | None) -> str:
    return "nothing" if token is None else repr(token)
