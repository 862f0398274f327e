"""Models that read text in pictures: from the ONNX files of PP-OCR to OpenVINO's, and a proof that they read."""

import zipfile
from pathlib import Path
from typing import Any

from headstart.engine.hardware.runtime import core, openvino
from headstart.engine.ocr.recognizer import CHARACTERS, CLASSIFIER, DETECTOR, READER, Recognizer
from headstart.errors import ExportError
from headstart.library import manifest
from headstart_export.conversion import convert

_MODELS = {DETECTOR: "_det_", CLASSIFIER: "_cls_", READER: "_rec_"}  # a part of the name of its ONNX file
_PROOF = "Headstart reads this line"
_FAULTS = (KeyError, OSError, RuntimeError, StopIteration, ValueError, zipfile.BadZipFile)


def build(wheel: Path, place: str, folder: Path) -> manifest.Recognition:
    """Convert the models in the folder `place` of a wheel into `folder`, and prove them. Raises ExportError."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.startswith(f"{place}/") and name.endswith(".onnx")]
            for file, part in _MODELS.items():
                content = archive.read(next(name for name in names if part in name))
                model = core().read_model(content, b"")
                if file == READER:
                    _write_characters(model, folder)
                    model = _with_best_characters(model)
                openvino().save_model(model, folder / file, compress_to_fp16=True)
        recognizer = Recognizer(folder)
        text = recognizer.read(_proof())
    except _FAULTS as error:
        raise ExportError(
            "{name} cannot be converted ({error}).", name=wheel.name, error=convert.first_line(error)
        ) from None
    if text != _PROOF:
        raise ExportError(
            "{name} reads {text} instead of {proof} once it is converted; choose another model.",
            name=wheel.name,
            text=repr(text),
            proof=repr(_PROOF),
        )
    return manifest.Recognition(recognizer.num_characters)


def _write_characters(model: Any, folder: Path) -> None:
    characters = str(model.get_rt_info(["framework", "character"]).astype(str))
    (folder / CHARACTERS).write_text(characters, encoding="utf-8", newline="\n")


def _with_best_characters(model: Any) -> Any:
    """Return a model with the two best logits of each place and their characters, in the place of probabilities."""
    from openvino import opset13

    logits = model.output(0).get_node().input_value(0).get_node().input_value(0)  # the softmax is left out
    two = opset13.constant(2, dtype="int32")
    best = opset13.topk(logits, two, 2, "max", "value", index_element_type="i32")
    return openvino().Model(list(best.outputs()), model.get_parameters(), "reader")


def _proof() -> Any:
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("L", (640, 120), 255)
    ImageDraw.Draw(picture).text((40, 40), _PROOF, 0, ImageFont.load_default(36))
    return picture
