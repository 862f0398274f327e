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
from headstart.engine.bench.result import BenchResult, Memory, Setting, Spread
from headstart.engine.engine import (
    ConversationRequest,
    Finish,
    FinishReason,
    LoadOptions,
    Message,
    Mode,
    Origin,
    Phase,
    Piece,
    Prefill,
    PromptRequest,
    Round,
    Sampling,
    Scored,
    Speculation,
    Stats,
    Step,
    Timing,
    Token,
    VectorsRequest,
)
from headstart.engine.hardware.devices import Machine
from headstart.engine.tuning import messages as tuning
from headstart.errors import (
    DeviceError,
    HeadstartError,
    ProtocolError,
    ProtocolVersionError,
    SettingsError,
    Translatable,
)
from tests.stand_ins.fakes import HALF
from tests.support.junk import JUNK, changed, fuzz

REQUEST = ConversationRequest(
    (Message("system", "Sé breve."), Message("user", "什么是\n\u2028快速排序？ \U0001f40d \ud800")),
    max_new_tokens=7,
    sampling=Sampling(temperature=0.7, top_p=0.9, seed=2**63 - 1),
    speculation=Speculation(Mode.FIXED, 4, 0.25),
    stop=("\n\n", "</s>"),
    top_logprobs=2,
)
ROUND = Round((Token(7, Origin.DRAFT), Token(8, Origin.TARGET)), 3, 1, Origin.NGRAM, Timing(1.5, 2.0, 0.1), -12.5)
STATS = Stats(9, 4, 2, 1, 3, 1, 12.5, 30.0, {"draft": 1}, {"verify": 2.0}, -1.5, None, 11, 4096)
STAGE = tuning.Stage(
    tuning.TARGET,
    (
        tuning.Row(tuning.DEFAULT, {"1 token": 80.0}),
        tuning.Row("1 thread", {"1 token": 60.0}, Spread(1.33, 1.2, 1.4), 9, 9, chosen=True),
        tuning.Row("on NPU", {}, failure=Translatable("{device} refuses it.", device="NPU")),
    ),
)
BEFORE = BenchResult(
    Machine("A processor", 2, "Linux x86_64", "3.11", "0.1", "2026.4", "2026.4"),
    Setting("a", None, {"INFERENCE_PRECISION_HINT": "f32"}, None, tokens=16, repeats=1),
    prompts=(),
    standings={},
    memory=Memory(weights=3, kv=2, peak_rss=None),
)
ORDERS: tuple[protocol.Order, ...] = (
    protocol.Load(LoadOptions(Path("models/a b"), Path("models/c"), "GPU.1", 2048)),
    protocol.Load(LoadOptions(Path("models/a"))),
    protocol.Generate(3, REQUEST),
    protocol.Generate(4, PromptRequest("Once", "end.", echo=True, max_new_tokens=7)),
    protocol.Generate(5, PromptRequest((1, 2), tokens_only=True)),
    protocol.Generate(6, VectorsRequest(("a text", (1, 2)))),
    protocol.ReadAhead(4, REQUEST),
    protocol.WriteTitle(5, REQUEST),
    protocol.Cancel(3),
    protocol.CountTokens(5, REQUEST, "text"),
    protocol.Describe(6),
    protocol.Forget(("a", "b")),
    protocol.Bench(7, protocol.BenchSize(prompts=3, tokens=160, repeats=2, with_peer=True)),
    protocol.Bench(
        7, protocol.BenchSize(prompts=1, tokens=16, repeats=1, with_peer=False, kinds=("math", "code"), sweep=True)
    ),
    protocol.Bench(7, protocol.BenchSize(1, 16, 1, with_peer=False, contestants=("plain", "fixed 3")), BEFORE),
    tuning.Tune(
        8, tuning.TuneRequest(LoadOptions(Path("a")), {"b/draft": Path("b/draft")}, is_device_chosen=True, seconds=60.0)
    ),
    tuning.RecallTuned(9, LoadOptions(Path("a"))),
    tuning.ForgetTuned(9, LoadOptions(Path("a"))),
    protocol.StartServer(
        "a", ("0" * 64,), "127.0.0.1", 8642, sampling=Sampling(temperature=0.5), seed=7, origins=("http://a",)
    ),
    protocol.StopServer(),
)
REPORTS: tuple[protocol.Report, ...] = (
    protocol.Ready(1234, "1.0"),
    protocol.Loading(Phase.RUNTIME),
    protocol.Loaded(protocol.ModelInfo("target", None, "CPU", 8192)),
    protocol.PromptRead(4),
    protocol.TitleWritten(5, "A title"),
    protocol.TitleWritten(5, None),
    protocol.Prefilled(3, Prefill(0, 17)),
    protocol.Stepped(3, Step("ab", ROUND, (Piece("a", Origin.DRAFT), Piece("b", Origin.TARGET)))),
    protocol.Stepped(3, Step("é", ROUND, (), (Scored(HALF, 0, (HALF, HALF)), Scored(HALF, 0)))),
    protocol.Finished(3, Finish(FinishReason.CONTEXT, STATS, (7, 8), stop_text="END")),
    protocol.Counted(5, 17, 8192),
    protocol.Described(6, protocol.Description((protocol.Device("CPU", "A processor"),), {"openvino": "2026"})),
    protocol.BenchStage(7, "warming up"),
    protocol.BenchPlanned(7, 42),
    protocol.BenchHeat(7, "code-1", "code", "auto", 1, 31.25, 160),
    protocol.BenchHeat(7, "code-1", "code", "auto", 1, None, 1),
    protocol.Benched(7, {"schema": 1, "prompts": [{"id": "code-1", "speedup": None, "equal": True, "ms": [1.5, 2]}]}),
    protocol.Benched(7, None),
    protocol.BenchSoFar(7, {"schema": 1, "prompts": []}),
    tuning.TuneStep(8, tuning.TuningStep(tuning.TARGET)),
    tuning.TuneStep(8, tuning.TuningStep(tuning.DRAFTS, "bf16", ("1 thread",))),
    tuning.TuneDecided(8, STAGE),
    tuning.TuneEnded(8, tuning.Findings("a", None, "A processor", "2026.4", 61.5, (STAGE,), "2026-11-21T09:00:00Z")),
    tuning.TuneEnded(8, None),
    tuning.TunedKnown(9, None),
    protocol.Serving("a", "http://127.0.0.1:8642/v1"),
    protocol.Asked(1, "POST", "/v1/chat/completions"),
    protocol.Answered(1, 2.5, 200, 12, 34),
    protocol.ServerEnded(),
    protocol.TurnTaken(Prefill(0, 17)),
    protocol.TurnTaken(),
    protocol.TurnEnded(),
    protocol.Failed("BrokenModelError", Translatable("A sentence."), "Generate", 3, None),
    protocol.Logged("WARNING", "openvino", "a line\nand another"),
)


@pytest.mark.parametrize("order", ORDERS)
def test_orders_survive_the_wire(order: protocol.Order) -> None:
    line = protocol.encode(order)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert protocol.decode_order(line) == order


@pytest.mark.parametrize("report", REPORTS)
def test_reports_survive_the_wire(report: protocol.Report) -> None:
    line = protocol.encode(report)
    assert line.count(b"\n") == 1
    assert protocol.decode_report(line) == report


def test_every_message_has_an_example() -> None:
    assert {type(order) for order in ORDERS} == set(get_args(protocol.Order))
    assert {type(report) for report in REPORTS} == set(get_args(protocol.Report))


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_survives_the_wire(text: str) -> None:
    order = protocol.CountTokens(1, text=text)
    assert protocol.decode_order(protocol.encode(order)) == order


def test_newer_field_is_ignored() -> None:
    line = json.dumps({"v": 1, "is": "Cancel", "number": 4, "softly": True}).encode()
    assert protocol.decode_order(line) == protocol.Cancel(4)


@pytest.mark.parametrize("decode", [protocol.decode_order, protocol.decode_report])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"", "not a message of Headstart"),
        (b"Compiling kernels...", "not a message of Headstart: 'Compiling"),
        (b"\xff\xfe\x00{", "not a message"),
        (b"[" * 100_000, "not a message"),
        (b"1" * 5000, "not a message"),
        (b'{"v": 1}', "unknown kind"),
        (b'{"v": 1, "is": "Explode"}', "unknown kind"),
        (b'{"v": 1, "is": ["Load"]}', "unknown kind"),
        (b" " * (2**24 + 1), "longer than 16 MiB"),
    ],
)
def test_malformed_message_is_refused(decode: Callable[[bytes], Any], line: bytes, words: str) -> None:
    with pytest.raises(ProtocolError, match=words) as caught:
        decode(line)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("line", [b'{"is": "Cancel", "generation": 1}', b'{"v": 2, "is": "Ready"}', b"7", b"null"])
def test_other_version_of_the_protocol_is_refused(line: bytes) -> None:
    with pytest.raises(ProtocolVersionError, match="install Headstart again"):
        protocol.decode_report(line)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"is": "Cancel"}, "Cancel is damaged .*number"),
        ({"is": "Cancel", "number": "3"}, "Cancel is damaged .*Expected `int`, got `str`"),
        ({"is": "Cancel", "number": True}, "Expected `int`, got `bool`"),
        ({"is": "Generate", "generation": 3, "request": []}, r"Expected `object`, got `array` - at `\$.request`"),
        ({"is": "Generate", "generation": 3, "request": {"is": "Load"}}, r"Invalid value 'Load' - at `\$.request.is`"),
        ({"is": "Load", "options": {"target": "a", "kv_precision": "sloppy"}}, "sloppy"),
        (
            {"is": "CountTokens", "ticket": 1, "request": {"messages": [{"role": 1, "content": ""}]}},
            r"Expected `str`, got `int` - at `\$.request.messages\[0\].role`",
        ),
    ],
)
def test_damaged_message_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        protocol.decode_order(json.dumps({"v": 1, **fields}).encode())


def test_value_out_of_range_is_refused() -> None:
    line = protocol.encode(protocol.Generate(1, REQUEST)).replace(b'"top_p": 0.9', b'"top_p": 1.9')
    with pytest.raises(SettingsError, match="top-p must be above 0"):
        protocol.decode_order(line)


def test_empty_benchmark_is_refused() -> None:
    line = protocol.encode(next(order for order in ORDERS if isinstance(order, protocol.Bench))).replace(
        b'"repeats": 2', b'"repeats": 0'
    )
    with pytest.raises(SettingsError, match="at least one prompt"):
        protocol.decode_order(line)


def test_order_is_no_report() -> None:
    with pytest.raises(ProtocolError, match="unknown kind"):
        protocol.decode_report(protocol.encode(protocol.Cancel(1)))


@fuzz("lines of the engine")
@given(st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line)), st.integers(1, 9))
def test_line_splitter_finds_lines_in_any_parts(lines: list[bytes], size: int) -> None:
    stream = b"".join(line + b"\n" for line in lines) + b"unfinished"
    splitter = protocol.LineSplitter()
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    assert [line for chunk in chunks for line in splitter.push(chunk)] == lines


@fuzz("lines of the engine")
@given(st.data())
def test_odd_line_is_a_message_or_refused(data: st.DataObject) -> None:
    message = data.draw(st.sampled_from([*ORDERS, *REPORTS]))
    line = (
        json.dumps(changed(data, json.loads(protocol.encode(message)), JUNK)).encode("utf-8", "surrogatepass") + b"\n"
    )
    for decode in (protocol.decode_order, protocol.decode_report):
        with suppress(ProtocolError, ProtocolVersionError, SettingsError):
            protocol.encode(decode(line))


def test_endless_line_takes_no_memory() -> None:
    splitter = protocol.LineSplitter()
    chunk = b"x" * 2**20
    for _ in range(40):
        assert not list(splitter.push(chunk))
        assert len(splitter._rest) <= protocol.MAX_LINE + 1
    long, good = splitter.push(b"\n" + protocol.encode(protocol.Cancel(2)))
    with pytest.raises(ProtocolError, match="16 MiB"):
        protocol.decode_order(long)
    assert protocol.decode_order(good) == protocol.Cancel(2)


def test_failure_keeps_template_and_values() -> None:
    error = DeviceError("{device} refuses {folder} after {seconds:.1f} s.", device="NPU", folder=Path("a"), seconds=2)
    sentence = _crossed(error)
    assert sentence == str(error) == "NPU refuses a after 2.0 s."
    assert sentence.template == error.text.template
    assert sentence.values == {"device": "NPU", "folder": "a", "seconds": 2}


def test_failure_keeps_nested_templates() -> None:
    reason = Translatable("it gave no sign for {seconds:.0f} seconds", seconds=3.2)
    value = _crossed(DeviceError("{device} refuses it ({reason}).", device="NPU", reason=reason)).values["reason"]
    assert isinstance(value, Translatable)
    assert (value, value.template, value.values) == (reason, reason.template, reason.values)


def _crossed(error: HeadstartError) -> Translatable:
    failed = protocol.decode_report(protocol.encode(protocol.failure(error)))
    assert isinstance(failed, protocol.Failed)
    return failed.sentence


def test_failure_names_its_order() -> None:
    error = SettingsError("No.")
    assert protocol.failure(error, protocol.Generate(3, REQUEST)) == protocol.Failed(
        "SettingsError", error.text, "Generate", 3
    )
    assert protocol.failure(error, protocol.Describe(4)) == protocol.Failed(
        "SettingsError", error.text, "Describe", ticket=4
    )
    assert protocol.failure(error) == protocol.Failed("SettingsError", error.text)
