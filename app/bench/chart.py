"""The README's chart of speed, from the result of `headstart bench peers --json FILE`.

python app/bench/chart.py FILE [--output app/docs/speed.svg]

Each peer has the one setting that was best over all prompts. A reader with a dark page sees a dark chart.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_CONTESTANTS = {"auto": "Headstart", "genai": "OpenVINO GenAI", "llama": "llama.cpp"}
_LEFT, _RIGHT, _TOP, _BAR, _GAP = 120, 60, 44, 14, 16  # pixels
_WIDTH = 720
_STYLE = """text { font-family: system-ui, sans-serif; font-size: 13px; fill: #3c3c43 } .figure { font-size: 11px }
.auto { fill: #0a6ed1 } .genai { fill: #8a94a6 } .llama { fill: #c3c9d4 }
line { stroke: #3c3c43; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) { text { fill: #d6d6dc } .auto { fill: #4da3ff } .genai { fill: #8a94a6 }
.llama { fill: #566070 } line { stroke: #d6d6dc } }"""


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
    """Times plain decoding, by class and program: geometric means of the program's best setting over all prompts."""
    standings = {name: each for name, each in result["standings"].items() if each["overall"]}
    best = {
        program: max(
            (name for name in standings if name.split()[0] == program), key=lambda name: _overall(standings, name)
        )
        for program in _CONTESTANTS
        if any(name.split()[0] == program for name in standings)
    }
    print("best settings:", ", ".join(best.values()), file=sys.stderr)
    kinds = sorted(standings["auto"]["by_kind"], key=lambda kind: -standings["auto"]["by_kind"][kind])
    speeds = {kind: {program: standings[name]["by_kind"][kind] for program, name in best.items()} for kind in kinds}
    return {**speeds, "all": {program: _overall(standings, name) for program, name in best.items()}}


def _overall(standings: Mapping[str, Any], name: str) -> float:
    return float(standings[name]["overall"])


def drawing(speeds: Mapping[str, Mapping[str, float]]) -> str:
    """An SVG of horizontal bars, a group for each class, with a line at plain decoding."""
    pixels = (_WIDTH - _LEFT - _RIGHT) / max(value for each in speeds.values() for value in each.values())
    bars = list(_bars(speeds, pixels))
    height = _TOP + sum(len(each) * _BAR + _GAP for each in speeds.values())
    plain = _LEFT + pixels
    named = [program for program in _CONTESTANTS if any(program in each for each in speeds.values())]
    legend = [
        f'<rect class="{program}" x="{_LEFT + 150 * place}" y="4" width="12" height="12" rx="2"/>'
        f'<text x="{_LEFT + 150 * place + 18}" y="15">{_CONTESTANTS[program]}</text>'
        for place, program in enumerate(named)
    ]
    line = f'<line x1="{plain:.1f}" y1="{_TOP - 8}" x2="{plain:.1f}" y2="{height - _GAP + 4}"/>'
    caption = f'<text class="figure" x="{plain:.1f}" y="{_TOP - 12}" text-anchor="middle">plain decoding</text>'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}">'
    )
    return "\n".join([head, f"<style>{_STYLE}</style>", *legend, *bars, line, caption, "</svg>"]) + "\n"


def _bars(speeds: Mapping[str, Mapping[str, float]], pixels: float) -> Iterator[str]:
    top = _TOP
    for kind, each in speeds.items():
        middle = top + len(each) * _BAR / 2 + 4
        yield f'<text x="{_LEFT - 10}" y="{middle:.1f}" text-anchor="end">{kind}</text>'
        for program, value in each.items():
            width = value * pixels
            yield f'<rect class="{program}" x="{_LEFT}" y="{top}" width="{width:.1f}" height="{_BAR - 2}" rx="2"/>'
            yield f'<text class="figure" x="{_LEFT + width + 5:.1f}" y="{top + _BAR - 4}">{value:.2f}x</text>'
            top += _BAR
        top += _GAP


if __name__ == "__main__":
    sys.exit(main())
