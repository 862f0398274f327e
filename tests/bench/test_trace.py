"""Traces: what is written, what is not, and that a recording can be played again."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from bench.research.recordings import RecordedAnswer, TraceError, read_recordings
from bench.research.replay import SimulatedMachine, policy_ms, speedups
from bench.research.trace import Trace, main
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import FinishReason, Keep, LoadOptions, Mode, Speculation
from tests.engine.answers import CODE, LIST, PLAIN, ask, forget, load, request

AUTO = Speculation()
KEY = "5a" * 64
Lines = list[dict[str, Any]]


def traced(options: LoadOptions, file: Path, depth: int | None = None, speculation: Speculation = AUTO) -> Lines:
    with closing(load(options)) as engine, file.open("w", encoding="utf-8") as opened:
        trace = Trace(engine, opened, depth)
        for text in (LIST, CODE):
            forget(engine)
            trace.answer(structs.replace(request(text, speculation=speculation), keep=Keep("chat", 1, KEY)))
    lines = file.read_text(encoding="utf-8")
    assert KEY not in lines
    return [json.loads(line) for line in lines.splitlines()]


def replayed(recording: RecordedAnswer, speculation: Speculation) -> tuple[int, int]:
    policy, accepted = recording.policy(), list[int]()
    policy.observers.append(lambda outcome: accepted.append(outcome.accepted))
    policy_ms(policy, recording.text, SimulatedMachine(recording.costs()), speculation)
    return len(accepted), sum(accepted)


@pytest.fixture
def pair(tiny_target: Path, tiny_draft: Path) -> LoadOptions:
    return LoadOptions(tiny_target, tiny_draft)


def test_trace_has_every_round_and_no_text(pair: LoadOptions, tmp_path: Path) -> None:
    lines = traced(pair, tmp_path / "trace")
    kinds = [line["is"] for line in lines]
    assert kinds[0] == "header"
    assert [kind for kind in kinds if kind != "round"] == ["header", "answer", "end", "answer", "end"]
    for end in (line for line in lines if line["is"] == "end"):
        assert end["rounds"] > 0
    assert kinds.count("round") == sum(line["rounds"] for line in lines if line["is"] == "end")
    assert not any("ids" in line for line in lines)


def test_rounds_add_up_to_the_answer(pair: LoadOptions, tmp_path: Path) -> None:
    lines = traced(pair, tmp_path / "trace", speculation=Speculation(Mode.FIXED, num_assistant_tokens=3))
    rounds = [line for line in lines if line["is"] == "round"]
    ends = [line for line in lines if line["is"] == "end"]
    for of_round, of_answer in (("verified", "drafted"), ("accepted", "accepted")):
        assert sum(line[of_round] for line in rounds) == sum(end[of_answer] for end in ends)
    assert all(len(line["confidences"]) == line["verified"] for line in rounds)
    assert rounds[-1]["ledger_ms"] == pytest.approx(ends[-1]["ledger_ms"], abs=0.001)
    with pytest.raises(TraceError, match="--depth 8"):  # it is no recording
        read_recordings(tmp_path / "trace")


@pytest.mark.slow
def test_recording_writes_the_same_answer_and_learns_nothing(pair: LoadOptions, tmp_path: Path) -> None:
    before = load(pair).policy.to_json()
    lines = traced(pair, tmp_path / "trace", depth=4)
    ids = [line["ids"] for line in lines if line["is"] == "end"]
    engine = load(pair)
    assert engine.policy.to_json() == before
    assert ids == [list(ask(forget(engine), request(text, speculation=PLAIN)).ids) for text in (LIST, CODE)]


@pytest.mark.slow
def test_recording_has_the_draft_token_of_every_position(pair: LoadOptions, tmp_path: Path) -> None:
    lines = traced(pair, tmp_path / "trace", depth=4)
    rounds = [line for line in lines if line["is"] == "round" and line["remaining"] > 5]
    assert all(len(line["confidences"]) == 5 and line["verified"] == 4 for line in rounds)
    assert all(line["matched"] in (line["accepted"], line["accepted"] + 1) for line in rounds)
    fixed = load(pair)
    for recording, text in zip(read_recordings(tmp_path / "trace"), (LIST, CODE), strict=True):
        drafted = Speculation(Mode.FIXED, num_assistant_tokens=3)
        stats = ask(forget(fixed), request(text, speculation=drafted)).stats
        # Not always the same: a draft model computes where its near-ties depend on what it reads.
        assert replayed(recording, drafted) == pytest.approx((stats.rounds, stats.accepted), abs=2)


def test_recording_without_a_draft_replays_ngrams(tiny_target: Path, tmp_path: Path) -> None:
    traced(LoadOptions(tiny_target), tmp_path / "trace", depth=8)
    (first, _) = read_recordings(tmp_path / "trace")
    assert not first.has_draft
    assert set(speedups(first)) == {"auto", "auto, new pair", "oracle"}


def test_cancelled_answer_is_traced_to_its_end(pair: LoadOptions, tmp_path: Path) -> None:
    cancel = CancelEvent()
    cancel.set()
    with closing(load(pair)) as engine, (tmp_path / "trace").open("w", encoding="utf-8") as file:
        assert Trace(engine, file).answer(request(LIST), cancel).reason is FinishReason.CANCELLED
    last = json.loads((tmp_path / "trace").read_text(encoding="utf-8").splitlines()[-1])
    assert (last["is"], last["reason"]) == ("end", "cancelled")


@pytest.mark.parametrize("content", ["", "{}\n", "nonsense\n", '{"is":"header","format":99}\n', "[1]\n", "\xff\n"])
def test_trace_of_another_kind_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "trace").write_bytes(content.encode("latin-1"))
    with pytest.raises(TraceError, match="trace"):
        read_recordings(tmp_path / "trace")


def test_program_records_an_answer_of_each_class(
    tiny_pair: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "trace"
    assert main([str(tiny_pair), str(file), "--depth", "4", "--classes", "story", "--tokens", "8"]) == 0
    assert capsys.readouterr().err == "story-1\n"
    assert len(read_recordings(file)) == 1
