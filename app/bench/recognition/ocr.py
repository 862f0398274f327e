"""Text recognition on pages with a known text: characters wrong and seconds a page, beside Tesseract.

PYTHONPATH=app python app/bench/recognition/ocr.py [--pages N] [--tesseract] [--save FOLDER]

Renders 60 pages of A4: three languages, fonts, 8 to 12 points, 100 to 300 dots per inch, clean or with noise, turned by
three degrees, in one column or two. The model pp-ocrv6 must be installed. With --tesseract the program `tesseract`
reads the same pages, with the language of each; of Debian these are the packages tesseract-ocr, tesseract-ocr-jpn and
tesseract-ocr-chi-sim. The fonts are found by fontconfig: fonts-urw-base35, fonts-dejavu-core, fonts-ipafont and
fonts-wqy-zenhei. Prints JSON. Characters wrong are the least insertions, deletions and replacements, as a share of the
characters; spaces count in English alone, and a line break is a space.
"""

import argparse
import json
import subprocess
import tempfile
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from headstart.engine.ocr.recognizer import Recognizer
from headstart.library import library

LONG_TEXTS = Path(__file__).parents[1] / "long_texts"
_A4 = (8.27, 11.69)  # inches
_MARGIN = 0.9  # inches
_LANGUAGES = {"eng": 36, "chi_sim": 12, "jpn": 12}  # pages
_TEXTS = {"eng": "island.txt", "chi_sim": "workshop.txt", "jpn": "ferry.txt"}
_FONTS = {
    "eng": ("Nimbus Roman", "Nimbus Sans", "DejaVu Serif", "DejaVu Sans", "P052", "C059"),
    "chi_sim": ("WenQuanYi Zen Hei",),
    "jpn": ("IPAGothic", "IPAMincho"),
}
_RESOLUTIONS = (100, 150, 200, 300)
_SIZES = (10, 11, 12, 9, 8)  # points
_EFFECTS = ("clean", "noise", "turned", "columns", "columns, noise", "turned, noise")


class Page(NamedTuple):
    """A rendered page and its properties."""

    language: str
    font: str
    points: int
    resolution: int
    effects: str
    text: str
    picture: Image.Image


def pages(count: int) -> Iterator[Page]:
    """Yield the first pages of each language, `count` of 60 in all."""
    random = np.random.default_rng(55)
    texts = {name: (LONG_TEXTS / file).read_text(encoding="utf-8") for name, file in _TEXTS.items()}
    for language, total in _LANGUAGES.items():
        words = list("".join(texts[language].split())) if language != "eng" else texts[language].split()
        for number in range(round(total * count / 60)):
            resolution, effects = _RESOLUTIONS[number % 4], _EFFECTS[(number + number // 12) % 6]
            fonts = _FONTS[language]
            font, points = fonts[number % len(fonts)], _SIZES[number % 5]
            start = int(random.integers(len(words)))
            picture, text = _render(words[start:] + words * 4, font, points, resolution, effects, language)
            yield Page(language, font, points, resolution, effects, text, _spoil(picture, effects, random))


def _render(
    words: list[str], family: str, points: int, resolution: int, effects: str, language: str
) -> tuple[Image.Image, str]:
    """Return a page full of words, and its text."""
    path = subprocess.run(["fc-match", "-f", "%{file}", family], capture_output=True, text=True, check=True).stdout
    font = ImageFont.truetype(path, round(points * resolution / 72))
    width, height = (round(side * resolution) for side in _A4)
    picture = Image.new("L", (width, height), 255)
    draw = ImageDraw.Draw(picture)
    margin, step, space = round(_MARGIN * resolution), round(1.35 * points * resolution / 72), " " * (language == "eng")
    num_columns = 2 if "columns" in effects else 1
    gap = round(0.3 * resolution)
    column = (width - 2 * margin - gap * (num_columns - 1)) // num_columns
    lines, place = [], 0
    for number in range(num_columns):
        for top in range(margin, height - margin - step, step):
            line = words[place]
            place += 1
            while font.getlength(f"{line}{space}{words[place]}") <= column:
                line += space + words[place]
                place += 1
            draw.text((margin + number * (column + gap), top), line, 0, font)
            lines.append(line)
    return picture, space.join(lines)


def _spoil(picture: Image.Image, effects: str, random: np.random.Generator) -> Image.Image:
    if "turned" in effects:
        picture = picture.rotate(3, Image.Resampling.BICUBIC, fillcolor=255)
    if "noise" in effects:
        grey = np.asarray(picture, np.float32) * 0.75 + 45 + random.normal(0, 18, picture.size[::-1])
        picture = Image.fromarray(grey.clip(0, 255).astype(np.uint8))
    return picture


def wrong_characters(text: str, expected: str, language: str) -> tuple[int, int]:
    """Return how many characters are wrong, and how many there are."""
    space = " " * (language == "eng")
    rows = [space.join(unicodedata.normalize("NFKC", each).split()) for each in (text, expected)]
    found, wanted = (np.array([ord(character) for character in row], np.int64) for row in rows)
    places = np.arange(len(wanted) + 1)
    distances = places
    for number, character in enumerate(found, start=1):
        best = np.concatenate([[number], np.minimum(distances[1:] + 1, distances[:-1] + (wanted != character))])
        distances = np.minimum.accumulate(best - places) + places
    return int(distances[-1]), len(wanted)


def _by_tesseract(picture: Image.Image, page: Page, folder: Path) -> str:
    path = folder / "page.png"
    picture.save(path, dpi=(page.resolution, page.resolution))
    command = ["tesseract", str(path), "-", "-l", page.language]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Read the pages, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--tesseract", action="store_true")
    parser.add_argument("--save", type=Path, help="write pages and texts into this folder")
    parser.add_argument("--model", type=Path, help="the model's folder (default: the installed one)")
    arguments = parser.parse_args()
    started = time.perf_counter()
    recognizer = Recognizer(arguments.model or library.find("pp-ocrv6").folder)
    loading = time.perf_counter() - started
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for number, page in enumerate(pages(arguments.pages)):
            row = {key: value for key, value in page._asdict().items() if key not in ("text", "picture")}
            for name in ("headstart", "tesseract") if arguments.tesseract else ("headstart",):
                started = time.perf_counter()
                is_own = name == "headstart"
                text = recognizer.read(page.picture) if is_own else _by_tesseract(page.picture, page, Path(scratch))
                seconds = time.perf_counter() - started
                wrong, row["characters"] = wrong_characters(text, page.text, page.language)
                row |= {f"{name} wrong": wrong, f"{name} seconds": round(seconds, 2)}
                if arguments.save:
                    arguments.save.mkdir(parents=True, exist_ok=True)
                    (arguments.save / f"{number:02} {name}.txt").write_text(text, encoding="utf-8")
            if arguments.save:
                page.picture.save(arguments.save / f"{number:02}.png")
                (arguments.save / f"{number:02}.txt").write_text(page.text, encoding="utf-8")
            rows.append(row)
            print(json.dumps(row), flush=True)
    names = [key.removesuffix(" wrong") for key in rows[0] if key.endswith(" wrong")]
    groups = {"all": rows} | {
        f"{field} {value}": [row for row in rows if row[field] == value]
        for field in ("language", "resolution", "effects")
        for value in dict.fromkeys(row[field] for row in rows)
    }
    summary = {
        group: {
            name: {
                "wrong": round(sum(row[f"{name} wrong"] for row in some) / sum(row["characters"] for row in some), 4),
                "seconds": round(sum(row[f"{name} seconds"] for row in some) / len(some), 2),
            }
            for name in names
        }
        for group, some in groups.items()
    }
    print(json.dumps({"loading seconds": round(loading, 2), **summary}, indent=1))


if __name__ == "__main__":
    main()
