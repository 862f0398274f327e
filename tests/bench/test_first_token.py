"""The benchmark of first tokens: what each situation reads again, peers beside it, failures, and what it leaves."""

import dataclasses
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from bench.speed import first_token
from bench.speed.first_token import (
    OURS,
    Ask,
    Before,
    ChatPeer,
    FirstToken,
    FirstTokenPlan,
    FirstTokenResult,
    GenaiChats,
    LlamaChats,
    TimeRatio,
    measure_first_token,
)
from headstart import paths
from headstart.engine.bench.genai_peer import PeerOptions
from headstart.engine.bench.measure import genai
from headstart.engine.bench.race import TimedAnswer
from headstart.engine.bench.result import Interval
from headstart.engine.engine import ConversationRequest, Keep, LoadOptions, Message
from headstart.engine.hardware.devices import Machine
from headstart.engine.local import LocalEngine
from headstart.errors import PeerError, SettingsError
from tests.engine.answers import load

Captured = pytest.CaptureFixture[str]
MACHINE = Machine("A Processor", 2, "Linux x86_64", "3.11", "0.1", "2026.4.1-22982-abc", "2026.4.1.0")
LENGTH = 300  # tokens: more than a part of what is kept
QUESTION = 80  # tokens at most of what a question adds, with the chat's format and the answer before it
BEGINNING = 40  # tokens at most that all chats begin with


@pytest.fixture(scope="module")
def options(tiny_target: Path, tiny_draft: Path) -> LoadOptions:
    return LoadOptions(tiny_target, tiny_draft)


@pytest.fixture(scope="module")
def loaded(options: LoadOptions) -> Iterator[LocalEngine]:
    with closing(load(options)) as engine:
        yield engine


@pytest.fixture
def engine(loaded: LocalEngine, headstart_home: Path) -> LocalEngine:
    """An engine that has read nothing, and stores in the test's own folder."""
    loaded.forget_all()
    loaded.keep_in(paths.kept_prompts())
    return loaded


@dataclass
class FakePeer:
    """A peer that remembers nothing. Every answer takes a given time; from the `fails_at`-th on, it fails."""

    name: str = "Other"
    ms: float = 200.0
    fails_at: int | None = None
    opened: int = 0
    is_open: bool = False
    prompts: list[tuple[int, list[int]]] = field(default_factory=list)

    @contextmanager
    def open(self, options: PeerOptions, chats: int) -> Iterator[Ask]:
        assert chats == 2
        assert options.context > LENGTH
        self.opened += 1
        self.is_open = True
        try:
            yield self._answer
        finally:
            self.is_open = False

    def _answer(self, chat: int, ids: list[int]) -> TimedAnswer:
        assert self.is_open
        self.prompts.append((chat, ids))
        if self.fails_at is not None and len(self.prompts) >= self.fails_at:
            raise PeerError("Other stays out: it is tired.")
        return TimedAnswer((5, 6), self.ms, 10.0, len(ids))


def measured(
    engine: LocalEngine, options: LoadOptions, *peers: ChatPeer, lengths: Sequence[int] = (LENGTH,), repeats: int = 1
) -> dict[str, dict[Before, FirstToken]]:
    """Return the figures of the first length."""
    result = measure_first_token(engine, FirstTokenPlan(options, lengths, repeats, peers))
    assert list(result.by_length) == list(lengths)
    return {name: dict(found) for name, found in result.by_length[lengths[0]].items()}


def unread(found: FirstToken) -> int:
    """Return the number of tokens that were read."""
    assert found.reused is not None
    return found.prompt_tokens - found.reused


def test_situations_read_only_new_tokens(engine: LocalEngine, options: LoadOptions) -> None:
    found = measured(engine, options)[OURS]
    assert list(found) == list(Before)
    assert found[Before.NOTHING].prompt_tokens == pytest.approx(LENGTH, abs=5)
    assert unread(found[Before.NOTHING]) > LENGTH - BEGINNING
    for before in (Before.SAME, Before.OTHER, Before.RESTART, Before.ATTACHED):
        assert unread(found[before]) < QUESTION, before


def test_restart_without_stored_parts_reads_all(
    engine: LocalEngine, options: LoadOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalEngine, "store_one", lambda _engine: False)
    found = measured(engine, options)[OURS]
    assert unread(found[Before.RESTART]) > LENGTH - BEGINNING
    assert unread(found[Before.OTHER]) < QUESTION


def test_measurement_leaves_the_prefix_cache_unchanged(engine: LocalEngine, options: LoadOptions) -> None:
    question = ConversationRequest(
        (Message("user", "What is new? " * 60),), max_new_tokens=8, keep=Keep("a-chat", 2**40)
    )
    list(engine.generate(question))
    while engine.store_one():
        pass
    before = files()
    assert before
    measured(engine, options)
    assert files() == before


def files() -> dict[Path, tuple[bytes, int]]:
    """Return the files of stored prefixes with the time of their last use."""
    found = (path for path in paths.kept_prompts().rglob("*") if path.is_file())
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


def test_peers_get_the_same_requests_in_turn(engine: LocalEngine, options: LoadOptions) -> None:
    peer = FakePeer()
    stages = list[str]()
    plan = FirstTokenPlan(options, (LENGTH,), 2, (peer,))
    result = measure_first_token(engine, plan, stages.append)
    ours, theirs = result.by_length[LENGTH][OURS], result.by_length[LENGTH]["Other"]
    assert peer.opened == 1 + 2
    assert not peer.is_open
    assert [chat for chat, _ in peer.prompts] == [0, *(2 * [0, 1, 1, 0, 1, 0, 0, 1])]
    assert theirs[Before.NOTHING].prompt_tokens == ours[Before.NOTHING].prompt_tokens
    assert theirs[Before.SAME].reused is None
    asked = [stage.rpartition(":")[0] for stage in stages if "repeat 1, cold" in stage]
    assert asked == [f"{LENGTH} tokens, repeat 1, cold, {name}" for name in (OURS, "Other", "Other", OURS)]


def test_ratios_are_taken_repeat_by_repeat(engine: LocalEngine, options: LoadOptions) -> None:
    programs = measured(engine, options, FakePeer(ms=100.0), repeats=2)
    for before, found in programs["Other"].items():
        own = programs[OURS][before]
        assert own.ratio is None
        assert found.ms == (100.0, 100.0)
        assert found.ratio is not None
        assert found.ratio.mean == pytest.approx((own.ms[0] * own.ms[1]) ** 0.5 / 100.0)
        assert isinstance(found.ratio.interval, Interval)


def test_failing_peer_is_reported_and_skipped(engine: LocalEngine, options: LoadOptions) -> None:
    broken, other = FakePeer(fails_at=9), FakePeer("Another")
    stages = list[str]()
    plan = FirstTokenPlan(options, (LENGTH, LENGTH + 100), 1, (broken, other))
    result = measure_first_token(engine, plan, stages.append)
    assert [list(programs) for programs in result.by_length.values()] == [[OURS, "Another"]] * 2
    assert [line.split()[0] for line in result.skipped] == ["Other"]
    assert result.skipped[0] in stages
    assert not broken.is_open


def test_result_is_saved_after_each_length(engine: LocalEngine, options: LoadOptions) -> None:
    kept = list[list[int]]()
    plan = FirstTokenPlan(options, (64, 128), 1)
    result = measure_first_token(engine, plan, keep=lambda found: kept.append(list(found.by_length)))
    assert kept == [[64], [64, 128]]
    assert list(result.by_length) == kept[-1]


def test_too_long_prompts_are_skipped_and_reported(engine: LocalEngine, options: LoadOptions) -> None:
    stages = list[str]()
    result = measure_first_token(engine, FirstTokenPlan(options, (64, 900), 1), stages.append)
    assert list(result.by_length) == [64]
    (sentence,) = result.skipped
    assert "900 tokens" in sentence
    assert sentence in stages


def test_no_fitting_length_is_an_error(engine: LocalEngine, options: LoadOptions) -> None:
    with pytest.raises(SettingsError, match="name shorter ones with --lengths"):
        measure_first_token(engine, FirstTokenPlan(options, (900, 4096), 1))


def test_ctrl_c_ends_peers_and_leaves_no_files(engine: LocalEngine, options: LoadOptions) -> None:
    peer = FakePeer()

    def interrupt(sentence: str) -> None:
        if Before.RESTART in sentence:
            assert files()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_first_token(engine, FirstTokenPlan(options, (LENGTH,), 1, (peer,)), interrupt)
    assert not peer.is_open
    assert files() == {}


def test_unloadable_openvino_genai_is_reported(engine: LocalEngine, options: LoadOptions, tmp_path: Path) -> None:
    target = dataclasses.replace(genai(engine, options).target, folder=tmp_path)
    result = measure_first_token(engine, FirstTokenPlan(options, (64,), 1, (GenaiChats(target),)))
    assert list(result.by_length[64]) == [OURS]
    assert result.skipped[0].startswith("OpenVINO GenAI stays out: ")


def ended(server: Path) -> list[bool]:
    """Return whether each of its processes is gone."""
    return [not psutil.pid_exists(int(line)) for line in server.with_name("llama-server.pids").read_text().split()]


@pytest.mark.skipif(sys.platform == "win32", reason="the fake is a shell script")
class TestLlama:
    """llama.cpp's server."""

    def test_llama_server_has_a_slot_for_each_chat(
        self, engine: LocalEngine, options: LoadOptions, llama_server: Path
    ) -> None:
        theirs = measured(engine, options, LlamaChats((llama_server,), Path("target.gguf")))["llama.cpp"]
        assert unread(theirs[Before.NOTHING]) > LENGTH - BEGINNING
        for before in (Before.SAME, Before.OTHER):
            assert unread(theirs[before]) < QUESTION, before
        assert unread(theirs[Before.RESTART]) > LENGTH - BEGINNING
        assert ended(llama_server) == [True, True]

    @pytest.mark.parametrize(
        ("model", "reason"),
        [("broken", "its server ended (error: failed to load model)."), ("tired", "answered with status 500")],
    )
    def test_llama_server_that_fails_is_reported(
        self, engine: LocalEngine, options: LoadOptions, llama_server: Path, model: str, reason: str
    ) -> None:
        peer = LlamaChats((llama_server,), Path(model))
        result = measure_first_token(engine, FirstTokenPlan(options, (64,), 1, (peer,)))
        assert list(result.by_length[64]) == [OURS]
        assert reason in result.skipped[0]
        assert ended(llama_server) == [True]


def test_first_tokens_are_a_line_for_each_length_and_program() -> None:
    ours = dict.fromkeys(Before, FirstToken(128, 0, (800.0, 820.0, 900.0)))
    ratio = TimeRatio(0.5, Interval(0.4, 0.61))
    theirs = dict.fromkeys(Before, FirstToken(128, None, (1600.0, 1700.0, 1800.0), ratio))
    by_length = {128: {OURS: ours, "llama.cpp": theirs}, 512: {OURS: ours}}
    found = FirstTokenResult(MACHINE, "big", "small", {"INFERENCE_PRECISION_HINT": "f32"}, 3, by_length, ("Out.",))
    assert first_token.first_token_sheet(found) == [
        ["tokens of the prompt", "cold", "same chat", "other chat", "after a restart", "after attaching"],
        ["128, Headstart", *["820 ms"] * 5],
        ["128, llama.cpp", *["1700 ms 0.50x (0.40–0.61)"] * 5],
        ["512, Headstart", *["820 ms"] * 5],
    ]
    setting, legend, last = first_token.first_token_remarks(found)
    assert {"big", "small", "f32"} <= set(re.findall(r"\w+", setting))
    assert "read no file ahead" in legend
    assert last == "Out."
    alone = dataclasses.replace(found, repeats=1, by_length={512: {OURS: ours}}, skipped=())
    assert first_token.first_token_remarks(alone) == [setting.removesuffix(" Medians of 3 repeats.")]


@pytest.mark.slow
def test_first_tokens_are_printed_and_written(tiny_pair: Path, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "first.json"
    sizes = ["--lengths", "64,128,1024", "--repeats", "2"]
    flags = ["--model", str(tiny_pair), *sizes, "--json", str(file)]
    assert first_token.main([*flags, "--markdown"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("| tokens of the prompt |")
    assert "\n| 128, OpenVINO GenAI | " in shown.out
    assert "1024 tokens stay out" in shown.out
    assert "repeat 2, after a restart" in shown.err
    data = json.loads(file.read_text(encoding="utf-8"))
    assert data["schema"] == 1
    programs = data["by_length"]["128"]
    assert list(programs) == ["Headstart", "OpenVINO GenAI"]
    assert programs["OpenVINO GenAI"]["cold"]["ratio"]["interval"].keys() == {"low", "high"}
    for by_situation in programs.values():
        assert list(by_situation) == ["cold", "same chat", "other chat", "after a restart", "after attaching"]
        assert all(len(found["ms"]) == 2 for found in by_situation.values())
    assert first_token.main([*flags, "--peer", "none"]) == 0
    assert "OpenVINO GenAI" not in capsys.readouterr().out


def test_prompts_too_short_for_a_text_are_refused(capsys: Captured) -> None:
    assert first_token.main(["--lengths", "512,40"]) == 2
    assert "not 40" in capsys.readouterr().err


def test_llama_cpp_needs_its_server_and_a_model(tmp_path: Path, capsys: Captured) -> None:
    assert first_token.main(["--model", "any", "--gguf", str(tmp_path)]) == 2
    assert "--llama-server PATH" in capsys.readouterr().err
