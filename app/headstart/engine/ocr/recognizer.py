"""Text recognition with the models of PP-OCR: one detects lines, one detects lines upside down, one reads a line."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageChops

from headstart.engine.hardware import machine
from headstart.engine.hardware.runtime import core, openvino
from headstart.engine.ocr.boxes import Box, text_boxes
from headstart.engine.ocr.reading_order import Line, page_text

DETECTOR, CLASSIFIER, READER = "detector.xml", "classifier.xml", "reader.xml"
CHARACTERS = "characters.txt"
_SIDE = 1280  # pixels of a page's longer side, in which lines are looked for
_STEP = 32  # of which sides of the detector's input are multiples
LINE_HEIGHT = 48  # pixels of the reader's input
_WIDTH_STEP = 64  # pixels of which a line's width is a multiple: each new width costs time once
_MAX_WIDTH = 3200
_TURNED_SHAPE = (48, 192)  # pixels of the classifier's input
_MIN_TURNED = 0.9  # probability
_SAMPLE = 8  # lines that tell how a page is turned
_TALL = 1.5  # height of a box on its side, in its widths
_MIN_CONFIDENCE = 0.6  # mean probability of the characters of a line
_SURE = 0.98  # such a line is not read again
_NARROW = 0.9  # width of a line, in that of its shape, when it is read first: nearly all lines are sure then
_WIDE = 1.6  # that of a line that is read again: of narrow type, letters merge
_MIN_LINE = 4  # pixels
_SAME_ANGLE = 0.02  # radians between a line and the page
_LEVEL = 1.0  # pixels that a line may rise or fall when it is cut out without a turn


class _Reading(NamedTuple):
    """The text of a line, and the mean probability of its characters."""

    text: str
    confidence: float


class Recognizer:
    """The models of text recognition, loaded from a model folder."""

    def __init__(self, folder: Path) -> None:
        """Load the models. Raises RuntimeError and OSError for files that are not those of such a model."""
        self._detector = core().compile_model(folder / DETECTOR, "CPU", detector_precision()).create_infer_request()
        self._classifier = core().compile_model(folder / CLASSIFIER, "CPU").create_infer_request()
        hint = {"PERFORMANCE_HINT": "THROUGHPUT"}  # a line for each core is read sooner than a line by all cores
        self._reader = openvino().AsyncInferQueue(core().compile_model(folder / READER, "CPU", hint))
        self._reader.set_callback(_store_reading)
        characters = (folder / CHARACTERS).read_text(encoding="utf-8").split("\n")
        self._characters = np.array(["", *characters, " "])  # the first is CTC's blank

    @property
    def num_characters(self) -> int:
        return len(self._characters) - 1

    def read(self, picture: Image.Image) -> str:
        """Return the text of a picture, in reading order; empty if nothing can be read."""
        picture, boxes = self._upright(_plain(picture))
        texts = self._texts(picture, boxes)
        return page_text([Line(text, box) for text, box in zip(texts, boxes, strict=True) if text])

    def _upright(self, picture: Image.Image) -> tuple[Image.Image, list[Box]]:
        """Return a picture turned so that most of its lines can be read, and its boxes."""
        boxes = self._boxes(picture)
        sample = sorted(boxes, key=lambda box: max(box.width, box.height))[-_SAMPLE:]
        if sum(box.height > _TALL * box.width for box in sample) > len(sample) / 2:
            picture = picture.transpose(Image.Transpose.ROTATE_90)
            boxes = self._boxes(picture)
            sample = sorted(boxes, key=lambda box: box.width)[-_SAMPLE:]
        if sample and self._are_upside_down([_crop(picture, box) for box in sample]):
            picture = picture.transpose(Image.Transpose.ROTATE_180)
            boxes = [box._replace(x=picture.width - box.x, y=picture.height - box.y) for box in boxes]
        return picture, boxes

    def _boxes(self, picture: Image.Image) -> list[Box]:
        factor = min(_SIDE / max(picture.size), 2.0)
        width, height = (max(round(side * factor / _STEP) * _STEP, _STEP) for side in picture.size)
        found = text_boxes(
            self._detector.infer({0: _input([picture.resize((width, height), Image.Resampling.BILINEAR)])})[0][0, 0]
        )
        scales = picture.width / width, picture.height / height
        boxes = [box.scaled(math.sqrt(scales[0] * scales[1])) for box in found]
        return [box for box in _with_page_angle(boxes) if min(box.width, box.height) >= _MIN_LINE]

    def _are_upside_down(self, crops: Sequence[Image.Image]) -> bool:
        height, width = _TURNED_SHAPE
        heads = [crop.crop((0, 0, min(crop.width, crop.height * width // height), crop.height)) for crop in crops]
        rows = _input([_fit(head, height, width) for head in heads], width)
        turned = self._classifier.infer({0: rows})[0][:, 1]
        return bool((turned > _MIN_TURNED).sum() > len(crops) / 2)

    def _texts(self, picture: Image.Image, boxes: Sequence[Box]) -> list[str]:
        """Return the text of each line; empty for what cannot be read. A line that is not sure is read again, wider."""
        readings = self._readings([_crop(picture, box, _NARROW) for box in boxes])
        unsure = [place for place, reading in enumerate(readings) if reading.confidence < _SURE]
        again = self._readings([_crop(picture, boxes[place], _WIDE) for place in unsure])
        for place, reading in zip(unsure, again, strict=True):
            readings[place] = max(reading, readings[place], key=lambda each: each.confidence)
        return [reading.text if reading.confidence >= _MIN_CONFIDENCE else "" for reading in readings]

    def _readings(self, crops: Sequence[Image.Image]) -> list[_Reading]:
        """Read each line, in its order."""
        readings = [_Reading("", 0.0)] * len(crops)
        for place in sorted(range(len(crops)), key=lambda place: -crops[place].width):
            width = -(-crops[place].width // _WIDTH_STEP) * _WIDTH_STEP
            self._reader.start_async({0: _input([crops[place]], width)}, (self._characters, readings, place))
        self._reader.wait_all()
        return readings


def detector_precision() -> dict[str, str]:
    """Return bfloat16 where lines are found sooner in it, and as well.

    For one core of a processor with AMX, compiling a small model in it ends the process.
    """
    sets = machine.instruction_sets() or ()
    return {"INFERENCE_PRECISION_HINT": "bf16"} if "AVX512-BF16" in sets and "AMX" not in sets else {}


def _store_reading(request: Any, task: tuple[Any, list[_Reading], int]) -> None:
    """Store the result of a finished request; the queue calls this."""
    characters, readings, place = task
    logits, ids = (request.get_output_tensor(number).data[0] for number in range(2))
    readings[place] = _decoded(logits, ids[:, 0], characters)


def _decoded(logits: Any, ids: Any, characters: Any) -> _Reading:
    """Decode the characters of a line from CTC output: repetitions merge, unless a blank separates them.

    `logits`: of the best and the second best character at each place. Their distance tells how certain the best is.
    """
    is_new = (ids != 0) & np.diff(ids, prepend=0).astype(bool)
    if not is_new.any():
        return _Reading("", 0.0)
    confidences = 1 / (1 + np.exp(logits[is_new, 1] - logits[is_new, 0]))
    return _Reading("".join(characters[ids[is_new]]).strip(), float(confidences.mean()))


def _plain(picture: Image.Image) -> Image.Image:
    """Return a picture in RGB, or in grey if it has no colours, which takes a third of the time."""
    if picture.mode == "L":
        return picture
    colours = picture.convert("RGB")
    red, green, blue = colours.split()
    has_colour = ImageChops.difference(red, green).getbbox() or ImageChops.difference(green, blue).getbbox()
    return colours if has_colour else red


def _with_page_angle(boxes: Sequence[Box]) -> list[Box]:
    """Return boxes with the angle of the page, which is more exact than their own, except for rotated ones."""
    if not boxes:
        return []
    page = float(np.median([box.angle for box in boxes]))
    return [box._replace(angle=page) if abs(box.angle - page) < _SAME_ANGLE else box for box in boxes]


def _crop(picture: Image.Image, box: Box, stretch: float = 1.0) -> Image.Image:
    """Return a box as a level picture of the reader's height, `stretch` times as wide as its shape asks for."""
    width, height = max(box.width, 1.0), max(box.height, 1.0)
    size = min(max(math.ceil(stretch * width * LINE_HEIGHT / height), 1), _MAX_WIDTH), LINE_HEIGHT
    cosine, sine = math.cos(box.angle), math.sin(box.angle)
    left = box.x - (width * cosine - height * sine) / 2
    top = box.y - (width * sine + height * cosine) / 2
    place = left, top, left + width, top + height
    is_inside = left >= 0 and top >= 0 and place[2] <= picture.width and place[3] <= picture.height
    if is_inside and abs(width * sine) < _LEVEL:
        return picture.resize(size, Image.Resampling.BICUBIC, place)
    matrix = (cosine, -sine, left, sine, cosine, top)
    crop = picture.transform((round(width), round(height)), Image.Transform.AFFINE, matrix, Image.Resampling.BICUBIC)
    return crop.resize(size, Image.Resampling.BILINEAR)


def _fit(crop: Image.Image, height: int, most: int) -> Image.Image:
    width = min(max(math.ceil(crop.width * height / crop.height), 1), most)
    return crop.resize((width, height), Image.Resampling.BILINEAR)


def _input(pictures: Sequence[Image.Image], width: int = 0) -> Any:
    """Return pictures as a model reads them: blue, green and red from -1 to 1, zeros on the right up to `width`."""
    rows = np.zeros((len(pictures), 3, pictures[0].height, width or pictures[0].width), np.float32)
    for row, picture in zip(rows, pictures, strict=True):
        values = np.asarray(picture, np.float32) / 127.5 - 1
        row[:, :, : picture.width] = values if values.ndim == 2 else values[:, :, ::-1].transpose(2, 0, 1)
    return rows
