"""An export as a file, whole or not at all. Knows no format."""

import os
import tempfile
from pathlib import Path

from headstart.errors import ExchangeError


def write_export(path: Path, content: str | bytes) -> None:
    """Put content into a file that its owner alone can read, in the place of an older one. Raises ExchangeError."""
    data = content if isinstance(content, bytes) else content.encode(errors="replace")
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".export-")  # with mode 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise ExchangeError(
            f"{path} cannot be written ({error.strerror}); choose another folder or make room there."
        ) from error
