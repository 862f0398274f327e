"""Lines of text in pictures: their boxes, their order, and what the real model reads."""

import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from headstart.engine.hardware import machine
from headstart.engine.ocr.boxes import Box, text_boxes
from headstart.engine.ocr.reading_order import Line, page_text
from headstart.engine.ocr.recognizer import Recognizer, detector_precision


def _map_with(*boxes: Box) -> np.ndarray:
    """Return a map of 300 x 400 pixels in which the inner part of each box is text."""
    y, x = np.mgrid[:300, :400].astype(np.float32)
    found = np.zeros((300, 400), np.float32)
    for box in boxes:
        along = (x - box.x) * math.cos(box.angle) + (y - box.y) * math.sin(box.angle)
        across = (y - box.y) * math.cos(box.angle) - (x - box.x) * math.sin(box.angle)
        found[(abs(along) <= box.width / 2) & (abs(across) <= box.height / 2)] = 0.9
    return found


@pytest.mark.parametrize("angle", [0.0, 0.05, -0.1, 0.4, -0.7])
def test_box_of_a_line_is_found_at_any_angle(angle: float) -> None:
    (box,) = text_boxes(_map_with(Box(200, 150, 160, 14, angle)))
    assert (box.x, box.y, box.angle) == pytest.approx((200, 150, angle), abs=1.5)
    assert (box.width, box.height) == pytest.approx((184, 38), abs=4)  # a line is larger than its core


def test_each_line_has_a_box_of_its_own() -> None:
    lines = [Box(x, y, 120, 10, 0) for y in range(30, 280, 25) for x in (100, 300)]
    boxes = list(text_boxes(_map_with(*lines)))
    assert sorted((round(box.y / 5), round(box.x / 5)) for box in boxes) == [(line.y / 5, line.x / 5) for line in lines]


def test_nothing_is_found_on_an_empty_page() -> None:
    assert list(text_boxes(np.zeros((64, 64), np.float32))) == []


@pytest.mark.parametrize(
    ("sets", "is_half"),
    [(("AVX2",), False), (("AVX-512", "AVX512-BF16"), True), (("AVX-512", "AVX512-BF16", "AMX"), False), (None, False)],
)
def test_lines_are_found_in_bfloat16_where_that_is_safe(
    sets: tuple[str, ...] | None, monkeypatch: pytest.MonkeyPatch, *, is_half: bool
) -> None:
    monkeypatch.setattr(machine, "instruction_sets", lambda: sets)
    assert bool(detector_precision()) == is_half


def _lines(*places: tuple[str, float, float, float], angle: float = 0.0) -> list[Line]:
    """Return lines of 20 pixels height from (text, left, y, width), on a page turned by an angle."""
    cosine, sine = math.cos(angle), math.sin(angle)
    middles = ((text, left + width / 2, y, width) for text, left, y, width in places)
    return [
        Line(text, Box(x * cosine - y * sine, x * sine + y * cosine, width, 20, angle)) for text, x, y, width in middles
    ]


@pytest.mark.parametrize("angle", [0.0, 0.05, -0.05])
def test_columns_are_read_one_after_the_other(angle: float) -> None:
    rows = range(100, 300, 25)
    left = [(f"left {y}", 50, y, 400) for y in rows]
    right = [(f"right {y}", 500, y + 4, 400) for y in rows]
    mixed = [each for pair in zip(right, left, strict=True) for each in pair]
    text = page_text(_lines(("Title across", 50, 40, 850), *mixed, angle=angle))
    assert text.split("\n\n") == [
        "Title across",
        "\n".join(name for name, *_ in left),
        "\n".join(name for name, *_ in right),
    ]


def test_table_is_read_row_by_row() -> None:
    cells = [(f"{name}{row}", left, 100 + 25 * row, 40) for row in range(6) for name, left in (("a", 0), ("b", 300))]
    cells += [("a longer cell", 0, 250, 120)]
    rows = page_text(_lines(*reversed(cells))).splitlines()
    assert rows == [*(f"a{row} b{row}" for row in range(6)), "a longer cell"]


def test_empty_space_is_between_paragraphs() -> None:
    assert page_text(_lines(("one", 0, 0, 90), ("two", 0, 24, 90), ("three", 0, 90, 90))) == "one\ntwo\n\nthree"


TEXT = ["The lamp was lit at dusk", "and burned until nine.", "Nobody saw the boat", "that came from the north."]


@pytest.fixture(scope="module")
def recognizer(real_pp_ocr: Path) -> Recognizer:
    """The real recognizer."""
    return Recognizer(real_pp_ocr)


def _page() -> Image.Image:
    picture = Image.new("L", (900, 500), 255)
    for number, line in enumerate(TEXT):
        ImageDraw.Draw(picture).text((80, 80 + 60 * number), line, 0, ImageFont.load_default(36))
    return picture


@pytest.mark.parametrize("degrees", [0, 3, 90, 180, 270])
def test_real_model_reads_a_turned_page(recognizer: Recognizer, degrees: int) -> None:
    picture = _page().rotate(degrees, expand=True, fillcolor=255)
    assert recognizer.read(picture).split() == " ".join(TEXT).split()


def test_real_model_reads_a_noisy_page(recognizer: Recognizer) -> None:
    noise = np.random.default_rng(1).normal(0, 18, (500, 900))
    picture = Image.fromarray((np.asarray(_page()) * 0.75 + 45 + noise).clip(0, 255).astype(np.uint8))
    assert recognizer.read(picture).split() == " ".join(TEXT).split()


def test_real_model_reads_colours(recognizer: Recognizer) -> None:
    text = Image.new("RGB", (900, 500), (160, 20, 30))
    picture = Image.composite(Image.new("RGB", text.size, (240, 240, 200)), text, _page())
    assert recognizer.read(picture).split() == " ".join(TEXT).split()


def test_real_model_reads_narrow_letters(recognizer: Recognizer) -> None:
    page = _page()
    narrow = page.resize((page.width * 2 // 5, page.height))
    assert recognizer.read(narrow).split() == " ".join(TEXT).split()


def test_real_model_reads_nothing_on_an_empty_page(recognizer: Recognizer) -> None:
    assert recognizer.read(Image.new("RGB", (400, 300), "white")) == ""
