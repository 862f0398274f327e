"""Draw the chart of the README out of files that `app/bench/speed/peers.py --json FILE` wrote.

python app/bench/speed/chart.py PRECISE [--fast FAST] [--processor NAME] [--output app/docs/speed.svg]

It shows how many times as fast as plain decoding automatic mode is in each class, and how many times as fast as the one
setting of llama.cpp that was fastest on each prompt; --fast adds the same of a second race, as of weights in 4 bits. A
reader with a dark page sees a dark chart.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from html import escape
from pathlib import Path
from statistics import median
from typing import Any

_ALL = "all"  # beside the classes: every prompt
_PEER = "llama"  # by the names in the file
_HEADINGS = {"plain": "over plain decoding", _PEER: "over llama.cpp's best setting for each prompt"}
_WIDTH, _LEFT, _GUTTER, _FIGURE = 860, 96, 36, 52  # pixels; a figure follows its bar
_TOP, _BAR, _GAP, _BOTTOM = 64, 13, 8, 12
_MAX_OVER_MEDIAN = 2  # a longer bar is cut, and its figure has an arrow
_STYLE = """text { font-family: system-ui, sans-serif; font-size: 13px; fill: #3c3c43 } .figure { font-size: 11px }
.precise { fill: #0a6ed1 } .fast { fill: #c2680a } .bold { font-weight: 600 }
line { stroke: #3c3c43; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) { text { fill: #d6d6dc } line { stroke: #d6d6dc }
.precise { fill: #4da3ff } .fast { fill: #f0a04b } }"""

Speeds = dict[str, dict[str, dict[str, float]]]  # by race, by what it is compared with, by class


def main() -> int:
    """Draw the chart; print the figures in it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("precise", type=Path, metavar="PRECISE")
    parser.add_argument("--fast", type=Path)
    parser.add_argument("--processor", default="", help="what stands above the bars")
    parser.add_argument("--output", type=Path, default=Path("app/docs/speed.svg"))
    arguments = parser.parse_args()
    files = {"precise": arguments.precise} | ({"fast": arguments.fast} if arguments.fast else {})
    speeds = {name: speedups(json.loads(file.read_text(encoding="utf-8"))) for name, file in files.items()}
    arguments.output.write_text(drawing(speeds, arguments.processor), encoding="utf-8")
    json.dump(speeds, sys.stdout, indent=2)
    return 0


def speedups(result: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return geometric means by class, without the first token: over plain decoding, and over llama.cpp if it raced."""
    over = {"plain": result["standings"]["auto"]["decoding"]}
    over |= {peer["peer"]: peer["decoding"] for peer in result["hindsight"] if peer["peer"] == _PEER}
    return {
        name: {kind: each["mean"] for kind, each in by_kind.items() if each["mean"]} for name, by_kind in over.items()
    }


def drawing(speeds: Speeds, processor: str = "") -> str:
    """Return an SVG with a row for each class, a column for each comparison, a bar for each race, and a line at 1."""
    first = next(iter(speeds.values()))
    columns = list(first)
    kinds = sorted(first["plain"], key=lambda kind: (kind != _ALL, -first[columns[-1]].get(kind, 0.0)))
    room = (_WIDTH - _LEFT - _GUTTER * (len(columns) - 1)) / len(columns)
    row = _BAR * len(speeds) + _GAP
    bottom = _TOP + row * len(kinds)
    height = bottom + _BOTTOM
    drawn = _legend(list(speeds)) if len(speeds) > 1 else []
    if processor:
        drawn.append(f'<text x="{_WIDTH - 4}" y="18" text-anchor="end">{escape(processor)}</text>')
    for number, kind in enumerate(kinds):
        style = ' class="bold"' if kind == _ALL else ""
        middle = _TOP + number * row + (row - _GAP) / 2 + 4
        drawn.append(f'<text{style} x="{_LEFT - 10}" y="{middle:.1f}" text-anchor="end">{kind}</text>')
    for number, column in enumerate(columns):
        left = _LEFT + number * (room + _GUTTER)
        values = [value for each in speeds.values() for value in each.get(column, {}).values()]
        longest = min(max(values), _MAX_OVER_MEDIAN * median(values))
        pixels = (room - _FIGURE) / longest
        drawn.append(f'<text class="bold" x="{left:.1f}" y="{_TOP - 14}">{_HEADINGS[column]}</text>')
        for place, kind in enumerate(kinds):
            for bar, (race, each) in enumerate(speeds.items()):
                if value := each.get(column, {}).get(kind):
                    mark = " →" if value > longest else ""
                    width = min(value, longest) * pixels
                    drawn += _bar(race, left, _TOP + place * row + bar * _BAR, width, f"{value:.2f}x{mark}")
        equal = left + pixels
        drawn.append(f'<line x1="{equal:.1f}" y1="{_TOP - 6}" x2="{equal:.1f}" y2="{bottom - _GAP + 4}"/>')
        drawn.append(f'<text class="figure" x="{equal:.1f}" y="{height - 4}" text-anchor="middle">1x</text>')
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}">'
    )
    return "\n".join([head, f"<style>{_STYLE}</style>", *drawn, "</svg>"]) + "\n"


_LEGEND = {"precise": "as in the GGUF file", "fast": "fast (INT4)"}


def _legend(races: list[str]) -> list[str]:
    drawn = []
    for number, race in enumerate(races):
        left = _LEFT + number * 170
        drawn.append(f'<rect class="{race}" x="{left}" y="8" width="12" height="12" rx="2"/>')
        drawn.append(f'<text x="{left + 18}" y="18">{_LEGEND[race]}</text>')
    return drawn


def _bar(race: str, left: float, top: float, width: float, figure: str) -> tuple[str, str]:
    return (
        f'<rect class="{race}" x="{left:.1f}" y="{top}" width="{width:.1f}" height="{_BAR - 2}" rx="2"/>',
        f'<text class="figure" x="{left + width + 5:.1f}" y="{top + _BAR - 3}">{figure}</text>',
    )


if __name__ == "__main__":
    sys.exit(main())
