"""The model that reads text in pictures, for the commands that read files."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from headstart.chat.files.pictures import Recognize
from headstart.errors import UnloadableModelError
from headstart.library import library

if TYPE_CHECKING:
    from PIL.Image import Image

    from headstart.engine.ocr.recognizer import Recognizer


def find_recognize() -> Recognize | None:
    """Return what reads the text of a picture; None if no model for it is installed. The model is loaded when used."""
    model = library.find_recognition()
    if model is None:
        return None

    def recognize(picture: "Image") -> str:
        return _load(model.name, model.folder).read(picture)

    return recognize


@cache
def _load(name: str, folder: Path) -> "Recognizer":
    from headstart.engine.ocr.recognizer import Recognizer

    try:
        return Recognizer(folder)
    except (OSError, RuntimeError) as error:  # OpenVINO has no other kind
        raise UnloadableModelError(name, error) from None
