"""The README's chart of speed, from the result of `headstart bench peers --json FILE`.

python app/bench/chart.py FILE [--output app/docs/speed.svg]

It shows how many times as fast Headstart is as plain decoding, and as the best setting of each other program, chosen
for each prompt with hindsight. A reader with a dark page sees a dark chart.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_AGAINST = {  # by the names in the file
    "plain": "plain decoding",
    "genai": "OpenVINO GenAI's best",
    "llama": "llama.cpp's best",
    "hf": "transformers' best",
}
_ALL = "all"  # beside the classes: every prompt
_LEFT, _RIGHT, _TOP, _BAR, _GAP = 120, 60, 44, 14, 16  # pixels
_WIDTH = 860
_STYLE = """text { font-family: system-ui, sans-serif; font-size: 13px; fill: #3c3c43 } .figure { font-size: 11px }
.plain { fill: #0a6ed1 } .genai { fill: #5c7cfa } .llama { fill: #8a94a6 } .hf { fill: #c3c9d4 }
line { stroke: #3c3c43; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) { text { fill: #d6d6dc } .plain { fill: #4da3ff } .genai { fill: #748ffc }
.llama { fill: #8a94a6 } .hf { fill: #566070 } line { stroke: #d6d6dc } }"""


def main() -> int:
    """Draw the chart; print the figures in it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--output", type=Path, default=Path("app/docs/speed.svg"))
    arguments = parser.parse_args()
    speeds = speedups(json.loads(arguments.file.read_text(encoding="utf-8")))
    arguments.output.write_text(drawing(speeds), encoding="utf-8")
    json.dump(speeds, sys.stdout, indent=2)
    return 0


def speedups(result: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The geometric means of a class, and of every prompt, by what Headstart is compared with."""
    over = {"plain": result["standings"]["auto"]["decoding"]}
    over |= {each["peer"]: each["decoding"] for each in result["hindsight"]}
    plain = over["plain"]
    kinds = sorted((kind for kind in plain if kind != _ALL), key=lambda kind: -(plain[kind]["mean"] or 0.0))
    means = {kind: {name: each[kind]["mean"] for name, each in over.items()} for kind in [*kinds, _ALL]}
    return {kind: {name: mean for name, mean in each.items() if mean} for kind, each in means.items()}


def drawing(speeds: Mapping[str, Mapping[str, float]]) -> str:
    """An SVG of horizontal bars, a group for each class, with a line where both are equally fast."""
    pixels = (_WIDTH - _LEFT - _RIGHT) / max(value for each in speeds.values() for value in each.values())
    bars = list(_bars(speeds, pixels))
    height = _TOP + sum(len(each) * _BAR + _GAP for each in speeds.values())
    equal = _LEFT + pixels
    named = [name for name in _AGAINST if any(name in each for each in speeds.values())]
    legend = [f'<text x="{_LEFT - 10}" y="15" text-anchor="end">Headstart over</text>']
    legend += [
        f'<rect class="{name}" x="{_LEFT + 180 * place}" y="4" width="12" height="12" rx="2"/>'
        f'<text x="{_LEFT + 180 * place + 18}" y="15">{_AGAINST[name]}</text>'
        for place, name in enumerate(named)
    ]
    line = f'<line x1="{equal:.1f}" y1="{_TOP - 8}" x2="{equal:.1f}" y2="{height - _GAP + 4}"/>'
    caption = f'<text class="figure" x="{equal:.1f}" y="{_TOP - 12}" text-anchor="middle">equally fast</text>'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}">'
    )
    return "\n".join([head, f"<style>{_STYLE}</style>", *legend, *bars, line, caption, "</svg>"]) + "\n"


def _bars(speeds: Mapping[str, Mapping[str, float]], pixels: float) -> Iterator[str]:
    top = _TOP
    for kind, each in speeds.items():
        middle = top + len(each) * _BAR / 2 + 4
        yield f'<text x="{_LEFT - 10}" y="{middle:.1f}" text-anchor="end">{kind}</text>'
        for name, value in each.items():
            width = value * pixels
            yield f'<rect class="{name}" x="{_LEFT}" y="{top}" width="{width:.1f}" height="{_BAR - 2}" rx="2"/>'
            yield f'<text class="figure" x="{_LEFT + width + 5:.1f}" y="{top + _BAR - 4}">{value:.2f}x</text>'
            top += _BAR
        top += _GAP


if __name__ == "__main__":
    sys.exit(main())
