"""The README's chart of speed, from the result of `app/bench/peers.py --json FILE`.

python app/bench/chart.py FILE [--classes FILE] [--output app/docs/speed.svg]

It shows how many times as fast as plain decoding Headstart is, over all prompts and in each class; and over all prompts
each other program with the one setting that was best there. --classes takes the classes from another race, which had
more repeats. A reader with a dark page sees a dark chart.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_PEERS = {"genai": "OpenVINO GenAI", "llama": "llama.cpp", "hf": "transformers"}  # by the names in the file
_OURS, _ALL = "Headstart", "all"  # beside the classes: every prompt
_LEFT, _RIGHT, _TOP, _BAR, _GAP = 150, 60, 28, 14, 6  # pixels
_WIDTH = 860
_STYLE = """text { font-family: system-ui, sans-serif; font-size: 13px; fill: #3c3c43 } .figure { font-size: 11px }
.ours { fill: #0a6ed1 } .peer { fill: #8a94a6 } .bold { font-weight: 600 }
line { stroke: #3c3c43; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) { text { fill: #d6d6dc } .ours { fill: #4da3ff } line { stroke: #d6d6dc } }"""


def main() -> int:
    """Draw the chart; print the figures in it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--classes", type=Path)
    parser.add_argument("--output", type=Path, default=Path("app/docs/speed.svg"))
    arguments = parser.parse_args()
    race, classes = (
        json.loads(path.read_text(encoding="utf-8")) for path in (arguments.file, arguments.classes or arguments.file)
    )
    speeds = speedups(race, classes)
    arguments.output.write_text(drawing(speeds), encoding="utf-8")
    json.dump(speeds, sys.stdout, indent=2)
    return 0


def speedups(result: Mapping[str, Any], classes: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Geometric means over plain decoding: of each program over all prompts, and of Headstart in each class."""
    over = {name: each["decoding"] for name, each in result["standings"].items()}
    whole = {name: each[_ALL]["mean"] for name, each in over.items()}
    programs = {_OURS: whole["auto"]}
    for peer, program in _PEERS.items():
        if settings := [name for name in whole if name.startswith(f"{peer} ")]:
            best = max(settings, key=whole.__getitem__)
            programs[f"{program}, {best.removeprefix(peer).strip()}"] = whole[best]
    auto = classes["standings"]["auto"]["decoding"]
    kinds = {kind: each["mean"] for kind, each in auto.items() if kind != _ALL}
    return {"All texts": programs, "Headstart, by kind of text": dict(sorted(kinds.items(), key=lambda kind: -kind[1]))}


def drawing(speeds: Mapping[str, Mapping[str, float]]) -> str:
    """An SVG of horizontal bars under two headings, with a line where plain decoding is."""
    pixels = (_WIDTH - _LEFT - _RIGHT) / max(value for each in speeds.values() for value in each.values())
    equal = _LEFT + pixels
    drawn, top = [], _TOP
    for heading, each in speeds.items():
        top += _BAR + _GAP
        drawn.append(f'<text class="bold" x="0" y="{top - _GAP}">{heading}</text>')
        for name, value in each.items():
            kind = "peer" if name.startswith(tuple(_PEERS.values())) else "ours"
            drawn += _bar(name, kind, value * pixels, value, top)
            top += _BAR + _GAP
        top += _GAP
    line = f'<line x1="{equal:.1f}" y1="{_TOP - 8}" x2="{equal:.1f}" y2="{top}"/>'
    caption = f'<text class="figure" x="{equal:.1f}" y="{_TOP - 12}" text-anchor="middle">plain decoding</text>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top}" width="{_WIDTH}" height="{top}">'
    return "\n".join([head, f"<style>{_STYLE}</style>", *drawn, line, caption, "</svg>"]) + "\n"


def _bar(name: str, kind: str, width: float, value: float, top: int) -> tuple[str, str, str]:
    low = top + _BAR - 3
    return (
        f'<text x="{_LEFT - 10}" y="{low}" text-anchor="end">{name}</text>',
        f'<rect class="{kind}" x="{_LEFT}" y="{top}" width="{width:.1f}" height="{_BAR}" rx="2"/>',
        f'<text class="figure" x="{_LEFT + width + 5:.1f}" y="{low}">{value:.2f}x</text>',
    )


if __name__ == "__main__":
    sys.exit(main())
