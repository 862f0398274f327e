"""Text recognition by the models of PP-OCR: a detector of lines, one of lines upside down, and a reader of a line."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from headstart.engine.hardware.runtime import core, openvino
from headstart.engine.ocr.boxes import Box, text_boxes
from headstart.engine.ocr.reading_order import Line, page_text

DETECTOR, CLASSIFIER, READER = "detector.xml", "classifier.xml", "reader.xml"
CHARACTERS = "characters.txt"
_SIDE = 1280  # pixels of a page's longer side, in which lines are looked for
_STEP = 32  # of which sides of the detector's input are multiples
_LINE_HEIGHT = 48  # pixels of the reader's input
_WIDTH_STEP = 64  # pixels of which a line's width is a multiple: each new width costs time once
_MAX_WIDTH = 3200
_TURNED_SHAPE = (48, 192)  # pixels of the classifier's input
_MIN_TURNED = 0.9  # probability
_SAMPLE = 8  # lines that tell how a page is turned
_TALL = 1.5  # height of a box on its side, in its widths
_MIN_CONFIDENCE = 0.6  # mean probability of the characters of a line
_MIN_LINE = 4  # pixels


class Recognizer:
    """The models of text recognition, loaded from a model folder."""

    def __init__(self, folder: Path) -> None:
        """Load the models. Raises RuntimeError and OSError for files that are not those of such a model."""
        compiled = (core().compile_model(folder / name, "CPU") for name in (DETECTOR, CLASSIFIER))
        self._detector, self._classifier = (model.create_infer_request() for model in compiled)
        hint = {"PERFORMANCE_HINT": "THROUGHPUT"}  # a line for each core is read sooner than a line by all cores
        self._reader = openvino().AsyncInferQueue(core().compile_model(folder / READER, "CPU", hint))
        characters = (folder / CHARACTERS).read_text(encoding="utf-8").split("\n")
        self._characters = np.array(["", *characters, " "])  # the first is CTC's blank

    @property
    def num_characters(self) -> int:
        return len(self._characters) - 1

    def read(self, picture: Image.Image) -> str:
        """Return the text of a picture, in reading order; empty if nothing can be read."""
        picture, boxes = self._upright(picture.convert("RGB"))
        crops = [_crop(picture, box) for box in boxes]
        texts = self._texts(crops)
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
        boxes = (box.scaled(math.sqrt(scales[0] * scales[1])) for box in found)
        return [box for box in boxes if min(box.width, box.height) >= _MIN_LINE]

    def _are_upside_down(self, crops: Sequence[Image.Image]) -> bool:
        height, width = _TURNED_SHAPE
        heads = [crop.crop((0, 0, min(crop.width, crop.height * width // height), crop.height)) for crop in crops]
        rows = _input([_fit(head, height, width) for head in heads], width)
        turned = self._classifier.infer({0: rows})[0][:, 1]
        return bool((turned > _MIN_TURNED).sum() > len(crops) / 2)

    def _texts(self, crops: Sequence[Image.Image]) -> list[str]:
        """Return the text of each line; empty for what cannot be read."""
        texts = [""] * len(crops)

        def decode(request: Any, place: int) -> None:
            logits, ids = (request.get_output_tensor(number).data[0] for number in range(2))
            texts[place] = self._decoded(logits, ids[:, 0])

        self._reader.set_callback(decode)
        lines = [_fit(crop, _LINE_HEIGHT, _MAX_WIDTH) for crop in crops]
        for place in sorted(range(len(lines)), key=lambda place: -lines[place].width):
            width = -(-lines[place].width // _WIDTH_STEP) * _WIDTH_STEP
            self._reader.start_async({0: _input([lines[place]], width)}, place)
        self._reader.wait_all()
        return texts

    def _decoded(self, logits: Any, ids: Any) -> str:
        """Return the characters of a line, as CTC has them: repeated ones are one, those around a blank are two.

        `logits`: of the best and the second best character at each place, whose distance tells how sure the best is.
        """
        is_new = (ids != 0) & np.diff(ids, prepend=0).astype(bool)
        confidences = 1 / (1 + np.exp(logits[is_new, 1] - logits[is_new, 0]))
        if not is_new.any() or confidences.mean() < _MIN_CONFIDENCE:
            return ""
        return "".join(self._characters[ids[is_new]]).strip()


def _crop(picture: Image.Image, box: Box) -> Image.Image:
    """Return a box as a level picture."""
    cosine, sine = math.cos(box.angle), math.sin(box.angle)
    width, height = max(round(box.width), 1), max(round(box.height), 1)
    left = box.x - (width * cosine - height * sine) / 2
    top = box.y - (width * sine + height * cosine) / 2
    matrix = (cosine, -sine, left, sine, cosine, top)
    return picture.transform((width, height), Image.Transform.AFFINE, matrix, Image.Resampling.BICUBIC)


def _fit(crop: Image.Image, height: int, most: int) -> Image.Image:
    width = min(max(math.ceil(crop.width * height / crop.height), 1), most)
    return crop.resize((width, height), Image.Resampling.BILINEAR)


def _input(pictures: Sequence[Image.Image], width: int = 0) -> Any:
    """Return pictures as a model reads them: blue, green and red from -1 to 1, zeros on the right up to `width`."""
    rows = np.zeros((len(pictures), 3, pictures[0].height, width or pictures[0].width), np.float32)
    for row, picture in zip(rows, pictures, strict=True):
        row[:, :, : picture.width] = np.asarray(picture)[:, :, ::-1].transpose(2, 0, 1) / 127.5 - 1
    return rows
