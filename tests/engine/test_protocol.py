"""Messages survive the wire; what is no message is refused in words."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.engine import protocol
from headstart.engine.bench.result import Spread
from headstart.engine.engine import (
    Finish,
    FinishReason,
    LoadOptions,
    Message,
    Mode,
    Numerics,
    Origin,
    Phase,
    Piece,
    Prefill,
    Request,
    Round,
    Sampling,
    Scored,
    Speculation,
    Stats,
    Step,
    Timing,
    Token,
)
from headstart.engine.protocol import (
    Answered,
    Asked,
    Bench,
    Benched,
    BenchHeat,
    BenchPlanned,
    BenchSize,
    BenchStage,
    Cancel,
    Counted,
    CountTokens,
    Describe,
    Described,
    Description,
    Device,
    Facts,
    Failed,
    Finished,
    Generate,
    LineSplitter,
    Load,
    Loaded,
    Loading,
    Logged,
    Prefilled,
    Ready,
    ServerEnded,
    Serving,
    StartServer,
    Stepped,
    StopServer,
    TurnEnded,
    TurnTaken,
    decode_order,
    decode_report,
    encode,
)
from headstart.engine.tuning.messages import (
    DEFAULT,
    DRAFTS,
    TARGET,
    Findings,
    ForgetTuned,
    RecallTuned,
    Row,
    Stage,
    Tune,
    TuneDecided,
    TunedKnown,
    TuneEnded,
    TuneRequest,
    TuneStep,
    TuningStep,
)
from headstart.errors import (
    DeviceError,
    HeadstartError,
    ProtocolError,
    ProtocolVersionError,
    SettingsError,
    Translatable,
)
from tests.fakes import HALF
from tests.junk import JUNK, changed, fuzz

REQUEST = Request(
    (Message("system", "Sé breve."), Message("user", "什么是\n\u2028快速排序？ \U0001f40d \ud800")),
    max_new_tokens=7,
    sampling=Sampling(temperature=0.7, top_p=0.9, seed=2**63 - 1),
    speculation=Speculation(Mode.FIXED, 4, 0.25),
    stop=("\n\n", "</s>"),
    likeliest=2,
)
ROUND = Round((Token(7, Origin.DRAFT), Token(8, Origin.TARGET)), 3, 1, Origin.NGRAM, Timing(1.5, 2.0, 0.1), -12.5)
STATS = Stats(9, 4, 2, 1, 3, 1, 12.5, 30.0, {"draft": 1}, {"verify": 2.0}, -1.5, None, 11, 4096)
STAGE = Stage(
    TARGET,
    (
        Row(DEFAULT, {"1 token": 80.0}),
        Row("1 thread", {"1 token": 60.0}, Spread(1.33, 1.2, 1.4), 9, 9, chosen=True),
        Row("on NPU", {}, failure=Translatable("{device} refuses it.", device="NPU")),
    ),
)
ORDERS: tuple[protocol.Order, ...] = (
    Load(LoadOptions(Path("models/a b"), Path("models/c"), "GPU.1", Numerics.EXACT, 2048)),
    Load(LoadOptions(Path("models/a"))),
    Generate(3, REQUEST),
    Cancel(3),
    CountTokens(5, REQUEST.messages, "text"),
    Describe(6),
    Bench(7, BenchSize(prompts=3, tokens=160, repeats=2, with_peer=True)),
    Bench(7, BenchSize(prompts=1, tokens=16, repeats=1, with_peer=False, kinds=("math", "code"), sweep=True)),
    Tune(8, TuneRequest(LoadOptions(Path("a")), {"b/draft": Path("b/draft")}, placed=True, seconds=60.0)),
    RecallTuned(9, LoadOptions(Path("a"))),
    ForgetTuned(9, LoadOptions(Path("a"))),
    StartServer("a", "0" * 64, "127.0.0.1", 8642, sampling=Sampling(temperature=0.5), seed=7, origins=("http://a",)),
    StopServer(),
)
REPORTS: tuple[protocol.Report, ...] = (
    Ready(1234, "1.0"),
    Loading(Phase.RUNTIME),
    Loaded(Facts("target", None, "CPU", "fast", 8192)),
    Prefilled(3, Prefill(0, 17)),
    Stepped(3, Step("ab", ROUND, (Piece("a", Origin.DRAFT), Piece("b", Origin.TARGET)))),
    Stepped(3, Step("é", ROUND, (), (Scored(HALF, 0, (HALF, HALF)), Scored(HALF, 0)))),
    Finished(3, Finish(FinishReason.CONTEXT, STATS, (7, 8))),
    Counted(5, 17, 8192),
    Described(6, Description((Device("CPU", "A processor"),), 2**34, 2**33, {"openvino": "2026"})),
    BenchStage(7, "warming up"),
    BenchPlanned(7, 42),
    BenchHeat(7, "code-1", "code", "auto", 1, 31.25, 160),
    BenchHeat(7, "code-1", "code", "auto", 1, None, 1),
    Benched(7, {"schema": 1, "prompts": [{"id": "code-1", "speedup": None, "equal": True, "ms": [1.5, 2]}]}),
    Benched(7, None),
    TuneStep(8, TuningStep(TARGET)),
    TuneStep(8, TuningStep(DRAFTS, "bf16", ("1 thread",))),
    TuneDecided(8, STAGE),
    TuneEnded(8, Findings("a", None, "A processor", "2026.4", 61.5, (STAGE,), "2026-11-21T09:00:00Z")),
    TuneEnded(8, None),
    TunedKnown(9, None),
    Serving("a", "http://127.0.0.1:8642/v1"),
    Asked(1, "POST", "/v1/chat/completions"),
    Answered(1, 2.5, 200, 12, 34),
    ServerEnded(),
    TurnTaken(Prefill(0, 17)),
    TurnTaken(),
    TurnEnded(),
    Failed("BrokenModelError", Translatable("A sentence."), "Generate", 3, None),
    Logged("WARNING", "openvino", "a line\nand another"),
)


@pytest.mark.parametrize("order", ORDERS)
def test_orders_survive(order: protocol.Order) -> None:
    line = encode(order)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_order(line) == order


@pytest.mark.parametrize("report", REPORTS)
def test_reports_survive(report: protocol.Report) -> None:
    line = encode(report)
    assert line.count(b"\n") == 1
    assert decode_report(line) == report


def test_every_message_was_tried() -> None:
    assert {type(order) for order in ORDERS} == set(get_args(protocol.Order))
    assert {type(report) for report in REPORTS} == set(get_args(protocol.Report))


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_survives(text: str) -> None:
    order = CountTokens(1, text=text)
    assert decode_order(encode(order)) == order


def test_a_newer_field_is_ignored() -> None:
    line = json.dumps({"v": 1, "is": "Cancel", "number": 4, "softly": True}).encode()
    assert decode_order(line) == Cancel(4)


@pytest.mark.parametrize("decode", [decode_order, decode_report])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"", "no message of Headstart"),
        (b"Compiling kernels...", "no message of Headstart: 'Compiling"),
        (b"\xff\xfe\x00{", "no message"),
        (b"[" * 100_000, "no message"),
        (b"1" * 5000, "no message"),
        (b'{"v": 1}', "unknown kind"),
        (b'{"v": 1, "is": "Explode"}', "unknown kind"),
        (b'{"v": 1, "is": ["Load"]}', "unknown kind"),
        (b" " * (2**24 + 1), "longer than 16 MiB"),
    ],
)
def test_what_is_no_message_is_refused(decode: Callable[[bytes], Any], line: bytes, words: str) -> None:
    with pytest.raises(ProtocolError, match=words) as caught:
        decode(line)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("line", [b'{"is": "Cancel", "generation": 1}', b'{"v": 2, "is": "Ready"}', b"7", b"null"])
def test_another_version_is_refused(line: bytes) -> None:
    with pytest.raises(ProtocolVersionError, match="install Headstart again"):
        decode_report(line)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"is": "Cancel"}, "Cancel is damaged .*number"),
        ({"is": "Cancel", "number": "3"}, "Cancel is damaged .*Expected `int`, got `str`"),
        ({"is": "Cancel", "number": True}, "Expected `int`, got `bool`"),
        ({"is": "Generate", "generation": 3, "request": []}, r"Expected `object`, got `array` - at `\$.request`"),
        ({"is": "Load", "options": {"target": "a", "numerics": "sloppy"}}, "sloppy"),
        (
            {"is": "CountTokens", "ticket": 1, "messages": [{"role": 1, "content": ""}]},
            r"Expected `str`, got `int` - at `\$.messages\[0\].role`",
        ),
    ],
)
def test_a_damaged_message_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        decode_order(json.dumps({"v": 1, **fields}).encode())


def test_a_value_out_of_range_is_refused_as_everywhere() -> None:
    line = encode(Generate(1, REQUEST)).replace(b'"top_p": 0.9', b'"top_p": 1.9')
    with pytest.raises(SettingsError, match="top-p must be above 0"):
        decode_order(line)


def test_a_benchmark_of_nothing_is_refused() -> None:
    line = encode(next(order for order in ORDERS if isinstance(order, Bench))).replace(b'"repeats": 2', b'"repeats": 0')
    with pytest.raises(SettingsError, match="at least one prompt"):
        decode_order(line)


@pytest.mark.parametrize("kinds", [(), ("poetry",)])
def test_a_benchmark_of_unknown_classes_is_refused(kinds: tuple[str, ...]) -> None:
    with pytest.raises(SettingsError, match="There is no class"):
        BenchSize(prompts=1, tokens=16, repeats=1, with_peer=False, kinds=kinds)


def test_a_tuning_without_time_is_refused() -> None:
    with pytest.raises(SettingsError, match="needs 10 seconds at least, not 5"):
        TuneRequest(LoadOptions(Path("a")), seconds=5.0)


def test_tuples_of_a_result_arrive_as_lists() -> None:
    assert decode_report(encode(Benched(7, {"ms": (1.0, ({"low": 2.0},))}))) == Benched(
        7, {"ms": [1.0, [{"low": 2.0}]]}
    )


def test_an_order_is_no_report() -> None:
    with pytest.raises(ProtocolError, match="unknown kind"):
        decode_report(encode(Cancel(1)))


@fuzz("lines of the engine")
@given(st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line)), st.integers(1, 9))
def test_lines_are_found_however_the_stream_is_cut(lines: list[bytes], size: int) -> None:
    stream = b"".join(line + b"\n" for line in lines) + b"unfinished"
    splitter = LineSplitter()
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    assert [line for chunk in chunks for line in splitter.push(chunk)] == lines


@fuzz("lines of the engine")
@given(st.data())
def test_a_line_with_strange_parts_is_a_message_or_refused(data: st.DataObject) -> None:
    message = data.draw(st.sampled_from([*ORDERS, *REPORTS]))
    line = json.dumps(changed(data, json.loads(encode(message)), JUNK)).encode("utf-8", "surrogatepass") + b"\n"
    for decode in (decode_order, decode_report):
        with suppress(ProtocolError, ProtocolVersionError, SettingsError):
            encode(decode(line))


def test_an_endless_line_takes_no_memory_and_the_next_one_is_read() -> None:
    splitter = LineSplitter()
    chunk = b"x" * 2**20
    for _ in range(40):
        assert not list(splitter.push(chunk))
        assert len(splitter._rest) <= protocol.LONGEST_LINE + 1
    long, good = splitter.push(b"\n" + encode(Cancel(2)))
    with pytest.raises(ProtocolError, match="16 MiB"):
        decode_order(long)
    assert decode_order(good) == Cancel(2)


def test_a_failure_crosses_as_a_template_and_its_values() -> None:
    error = DeviceError("{device} refuses {folder} after {seconds:.1f} s.", device="NPU", folder=Path("a"), seconds=2)
    sentence = _crossed(error)
    assert sentence == str(error) == "NPU refuses a after 2.0 s."
    assert sentence.template == error.text.template
    assert sentence.values == {"device": "NPU", "folder": "a", "seconds": 2}


def test_a_value_of_a_failure_may_be_a_template_too() -> None:
    reason = Translatable("it gave no sign for {seconds:.0f} seconds", seconds=3.2)
    found = _crossed(DeviceError("{device} refuses it ({reason}).", device="NPU", reason=reason)).values["reason"]
    assert isinstance(found, Translatable)
    assert (found, found.template, found.values) == (reason, reason.template, reason.values)


def _crossed(error: HeadstartError) -> Translatable:
    failed = decode_report(encode(protocol.failure(error)))
    assert isinstance(failed, Failed)
    return failed.sentence


def test_a_failure_names_its_order() -> None:
    error = SettingsError("No.")
    assert protocol.failure(error, Generate(3, REQUEST)) == Failed("SettingsError", error.text, "Generate", 3)
    assert protocol.failure(error, Describe(4)) == Failed("SettingsError", error.text, "Describe", ticket=4)
    assert protocol.failure(error) == Failed("SettingsError", error.text)
