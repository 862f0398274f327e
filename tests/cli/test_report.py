"""What the figures of an answer are said to mean."""

import dataclasses
import json
from types import MappingProxyType

import pytest

from headstart.cli.render import gain, stats_json, stats_lines
from headstart.engine.engine import Stats

STATS = Stats(
    prompt_tokens=30,
    reused_tokens=20,
    output_tokens=101,
    rounds=40,
    drafted=80,
    accepted=60,
    ttft_ms=312.4,
    decode_ms=5000.0,
    by_origin=MappingProxyType({"target": 41, "draft": 50, "n-gram": 10}),
    by_part=MappingProxyType({"draft": 900.0, "verify": 4000.0, "other": 100.0}),
    ledger_ms=2100.0,
    plain_ms=71.0,
    context_used=131,
    context_length=4096,
)


def test_the_lines_hold_every_figure_asked_for() -> None:
    assert stats_lines(STATS) == [
        "20.0 tok/s, 312 ms to the first token (TTFT), 101 tokens",
        f"acceptance 75% (60 of 80 guesses), mean accepted length {STATS.mean_accepted_length:.2f} over 40 rounds",
        "tokens by origin: target 41%, draft 50%, n-gram 10%",
        "decoding time: draft 900 ms, verify 4000 ms, other 100 ms; ledger against plain decoding +2100 ms",
        "context: 131 of 4096 tokens, 20 of the prompt reused",
        "1.42x plain decoding on this machine",
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"plain_ms": 50.0}, "as fast as plain decoding: what guessing saved, it cost"),
        ({"plain_ms": 46.0}, "speculation did not pay on this text: 0.92x plain decoding"),
        ({"plain_ms": 50.6}, "1.01x plain decoding on this machine"),
        ({"plain_ms": None}, "no comparison with plain decoding yet: too little was measured"),
        ({"output_tokens": 1}, "no comparison with plain decoding yet: too little was measured"),
        ({"drafted": 0, "accepted": 0}, "plain decoding: nothing was guessed ahead"),
    ],
)
def test_the_gain_is_told_as_it_is(changes: dict[str, object], sentence: str) -> None:
    assert gain(_changed(**changes)) == sentence


def test_an_empty_answer_divides_by_nothing() -> None:
    empty = _changed(output_tokens=0, rounds=0, drafted=0, accepted=0, decode_ms=0.0, by_origin={}, by_part={})
    assert stats_lines(empty)[:3] == [
        "too short for a speed, 312 ms to the first token (TTFT), 0 tokens",
        "nothing guessed in 0 rounds",
        "tokens by origin: target 0%, draft 0%, n-gram 0%",
    ]


def test_json_holds_every_field_and_everything_derived() -> None:
    data = json.loads(json.dumps(stats_json(STATS)))
    derived = {"tpot_ms", "tokens_per_second", "acceptance_rate", "mean_accepted_length", "speedup"}
    assert data.keys() == {field.name for field in dataclasses.fields(Stats)} | derived
    assert data["by_origin"] == {"target": 41, "draft": 50, "n-gram": 10}
    assert data["speedup"] == pytest.approx(1.42)


def _changed(**changes: object) -> Stats:
    return Stats(**{field.name: getattr(STATS, field.name) for field in dataclasses.fields(Stats)} | changes)
