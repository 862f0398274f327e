"""A server answers in place of a model: requests, replies, errors, and cancelling."""

import asyncio
import email.utils
import json
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import ANY

import pytest
import trustme
from msgspec import structs

from headstart import api_keys, remotes
from headstart.engine.backends.remote.engine import RemoteEngine
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    Call,
    ConversationRequest,
    Event,
    Finish,
    FinishReason,
    Likelihood,
    Message,
    Origin,
    Phase,
    Prefill,
    PromptRequest,
    Remote,
    Request,
    Sampling,
    Speculation,
    Step,
    Tool,
    Tools,
)
from headstart.engine.opening import LocalModels
from headstart.engine.process.client import EngineClient
from headstart.engine.protocol import Loading, ModelInfo
from headstart.engine.supervision import Journal
from headstart.errors import ContextOverflowError, HeadstartError, ModelNotFoundError, RemoteError, SettingsError
from headstart.server.routes.replies import read_whole
from headstart.tools.calls import CallReader
from tests.stand_ins.model_server import DONE, Script, chunk, serving
from tests.support.waiting import PATIENCE, wait_until

ASKED = ConversationRequest((Message("system", "Be brief."), Message("user", "Hi")), max_new_tokens=64)
WEATHER = Tool("weather", '{"type": "object", "properties": {"city": {"type": "string"}}}', "The weather of a city")
QUICK = (0.01, 0.01, 0.01)  # seconds between tries
Open = Callable[..., RemoteEngine]


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def address(script: Script) -> Iterator[str]:
    with serving(script) as url:
        yield url


@pytest.fixture
def connect(address: str) -> Iterator[Open]:
    opened: list[RemoteEngine] = []

    def start(model: str | None = None, key: str | None = None, url: str = "", **more: Any) -> RemoteEngine:
        opened.append(RemoteEngine(Remote("office", url or address, model, **more), key, QUICK))
        return opened[-1]

    yield start
    for engine in opened:
        engine.close()


def text_of(events: Iterable[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, Step))


def finish_of(events: Iterable[Event]) -> Finish:
    *_, finish = events
    assert isinstance(finish, Finish)
    return finish


def heard(engine: RemoteEngine, request: Request = ASKED) -> tuple[str, HeadstartError]:
    """Return the part of an answer before its error."""
    parts: list[str] = []
    with pytest.raises(HeadstartError) as raised:
        parts.extend(event.text for event in engine.generate(request) if isinstance(event, Step))
    return "".join(parts), raised.value


def test_answer_arrives_in_chunks(connect: Open, script: Script) -> None:
    events = list(connect().generate(ASKED))
    assert [event.text for event in events if isinstance(event, Step)] == ["Hello", " there", "!"]
    assert {piece.origin for event in events if isinstance(event, Step) for piece in event.pieces} == {Origin.UNKNOWN}
    assert finish_of(events).reason is FinishReason.STOP
    assert finish_of(events).token_ids == ()


def test_request_is_mapped_to_the_protocol(connect: Open, script: Script) -> None:
    sampling = Sampling(0.7, 0.9, 40, 0.05, 1.1, 0.2, 0.3, seed=7)
    list(connect().generate(ConversationRequest(ASKED.messages, max_new_tokens=32, sampling=sampling, stop=("END",))))
    assert script.asked == [
        {
            "model": "small",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": 32,
            "temperature": 0.7,
            "top_p": 0.9,
            "top_k": 40,
            "min_p": 0.05,
            "repetition_penalty": 1.1,
            "repeat_penalty": 1.1,
            "presence_penalty": 0.2,
            "frequency_penalty": 0.3,
            "seed": 7,
            "stop": ["END"],
        }
    ]


def test_open_parameters_are_left_to_the_server(connect: Open, script: Script) -> None:
    left = Sampling(top_p=0.9, automatic=("temperature", "top_k", "min_p", "repetition_penalty"))
    greedy = Sampling(temperature=0.0, automatic=("top_p", "top_k", "min_p", "repetition_penalty"))
    for sampling in (left, greedy):
        list(connect().generate(ConversationRequest(ASKED.messages, sampling=sampling)))
    first, second = script.asked
    assert first["top_p"] == 0.9
    assert not {"temperature", "top_k", "min_p", "repetition_penalty", "repeat_penalty"} & first.keys()
    assert (second["temperature"], second["top_p"], second["repetition_penalty"]) == (0.0, 1.0, 1.0)


def test_fixed_speculation_continues_an_answer(connect: Open, script: Script) -> None:
    fixed = Speculation(num_assistant_tokens=3)
    list(connect().generate(ConversationRequest((*ASKED.messages, Message("assistant", "Hel")), speculation=fixed)))
    (body,) = script.asked
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)
    assert body["num_assistant_tokens"] == 3


@pytest.mark.parametrize(
    "request_",
    [
        structs.replace(ASKED, grammar='start: "yes"'),
        PromptRequest("Once"),
        structs.replace(ASKED, sampling=Sampling(logit_bias={7: 1.0})),
        structs.replace(ASKED, tokens_only=True),
    ],
)
def test_unsupported_request_is_refused(connect: Open, script: Script, request_: Request) -> None:
    _, error = heard(connect(), request_)
    assert isinstance(error, SettingsError)
    assert not script.asked


def test_strict_server_gets_no_neutral_fields(connect: Open, script: Script) -> None:
    script.unknown = ("top_k", "min_p", "repeat_penalty")
    assert text_of(connect().generate(ASKED)) == "Hello there!"
    assert "top_k" in script.asked[0]
    assert not {"top_k", "min_p", "repeat_penalty"} & script.asked[1].keys()
    script.unknown = ("top_k",)  # a person wants it
    _, error = heard(connect(), ConversationRequest(ASKED.messages, sampling=Sampling(temperature=1.0, top_k=5)))
    assert "(status 400, Unrecognized request argument: top_k)" in str(error)


def test_newer_name_of_max_tokens_is_remembered(connect: Open, script: Script) -> None:
    engine, complaint = connect(), "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    script.refusals = [(400, {"error": {"message": complaint}})]
    for _ in range(2):
        assert text_of(engine.generate(ASKED)) == "Hello there!"
    lengths = [(order.get("max_tokens"), order.get("max_completion_tokens")) for order in script.asked]
    assert lengths == [(64, None), (None, 64), (None, 64)]


def test_tools_calls_and_results_are_sent(connect: Open, script: Script) -> None:
    calls = (Call("weather", '{"city": "Paris"}'), Call("clock", "{}"))
    history = (*ASKED.messages, Message("assistant", "", calls), Message("tool", "sunny"), Message("tool", "noon"))
    clock = Tool("clock", '{"type": "object"}', strict=True)
    list(connect().generate(structs.replace(ASKED, messages=history, tools=Tools((WEATHER, clock), parallel=True))))
    list(connect().generate(structs.replace(ASKED, tools=Tools((WEATHER,), required=True))))
    list(connect().generate(structs.replace(ASKED, tools=Tools((WEATHER, clock), required=True, only="clock"))))
    many, one, named = script.asked
    assert many["messages"][2:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call00000",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city": "Paris"}'},
                },
                {"id": "call00001", "type": "function", "function": {"name": "clock", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "content": "sunny", "tool_call_id": "call00000"},
        {"role": "tool", "content": "noon", "tool_call_id": "call00001"},
    ]
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    function = {"name": "weather", "parameters": parameters, "description": "The weather of a city"}
    assert many["tools"] == [
        {"type": "function", "function": function},
        {"type": "function", "function": {"name": "clock", "parameters": {"type": "object"}, "strict": True}},
    ]
    assert (many["parallel_tool_calls"], "tool_choice" in many) == (True, False)
    assert (one["parallel_tool_calls"], one["tool_choice"]) == (False, "required")
    assert named["tool_choice"] == {"type": "function", "function": {"name": "clock"}}


def calling(*parts: tuple[int, str, str]) -> list[bytes]:
    """Return the chunks of an answer with calls: index, name, arguments."""
    deltas = [
        {"tool_calls": [{"index": index, "function": {"name": name or None, "arguments": arguments}}]}
        for index, name, arguments in parts
    ]
    chunks = [f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta}]})}\n\n".encode() for delta in deltas]
    return [*chunks, chunk(finish="tool_calls"), DONE]


def test_tool_calls_become_text(connect: Open, script: Script) -> None:
    parts = ((0, "weather", ""), (0, "", '{"city": '), (0, "", '"Paris"}'), (1, "weather", ""))
    script.raw = [chunk("I look. "), *calling(*parts)]
    events = list(connect().generate(structs.replace(ASKED, tools=Tools((WEATHER,), parallel=True))))
    text, calls = read_whole(text_of(events), CallReader((WEATHER,)))
    assert text == "I look. "
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [
        ("weather", {"city": "Paris"}),
        ("weather", {}),
    ]
    assert finish_of(events).reason is FinishReason.STOP
    _, calls = read_whole(
        text_of(connect().generate(structs.replace(ASKED, tools=Tools((WEATHER,))))), CallReader((WEATHER,))
    )
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("tools", "arguments", "values"),
    [
        (None, "{}", {"tool": "weather"}),
        (Tools((Tool("clock", "{}"),)), "{}", {"tool": "weather"}),
        (None, "[1", {"tool": "weather"}),
        ("weather", "[1]", {"detail": ANY}),
    ],
)
def test_malformed_tool_call_is_reported(
    connect: Open, script: Script, tools: Any, arguments: str, values: dict[str, Any]
) -> None:
    script.raw = [chunk("Wait."), *calling((0, "weather", arguments))]
    part, error = heard(connect(), structs.replace(ASKED, tools=Tools((WEATHER,)) if tools == "weather" else tools))
    assert part == "Wait."
    assert error.text.values == {"name": "office", **values}


def test_schema_is_sent(connect: Open, script: Script) -> None:
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}}
    list(connect().generate(structs.replace(ASKED, schema=json.dumps(schema))))
    (body,) = script.asked
    form = {"name": "answer", "schema": schema, "strict": True}
    assert body["response_format"] == {"type": "json_schema", "json_schema": form}


def test_logprobs_of_a_server_are_read(connect: Open, script: Script) -> None:
    def scored(text: str, *tokens: tuple[str, list[int] | None]) -> bytes:
        content = [
            {"token": token, "bytes": spelling, "logprob": -0.5, "top_logprobs": [{"token": "x", "logprob": -1.0}]}
            for token, spelling in tokens
        ]
        choice = {"delta": {"content": text}, "logprobs": {"content": content}}
        return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()

    toad = list("🐸".encode())
    first = scored("Hi there", ("Hi", None), (" there", list(b" there")))
    script.raw = [first, scored(" ", (" ", None)), scored("🐸", ("?", toad[:2]), ("?", toad[2:]))]
    script.raw += [scored(" E", (" E", None)), scored("ND", ("ND", None)), chunk(finish="stop"), DONE]
    events = list(connect().generate(structs.replace(ASKED, top_logprobs=1, stop=("END",))))
    assert text_of(events) == "Hi there 🐸 "
    scores = [each for event in events if isinstance(event, Step) for each in event.scored]
    assert b"".join(bytes(each.token.spelling) for each in scores) == "Hi there 🐸 E".encode()
    assert [each.start for each in scores] == [0, 2, 8, 9, 10, 10]
    assert {(each.token.logprob, each.top_logprobs) for each in scores} == {(-0.5, (Likelihood((120,), -1.0),))}
    assert (script.asked[0]["logprobs"], script.asked[0]["top_logprobs"]) == (True, 1)


def test_required_draft_length_is_sent(connect: Open, script: Script) -> None:
    engine = connect()
    complaint = "Speculative decoding requires either num_assistant_tokens or assistant_confidence_threshold to be set."
    script.refusals = [(400, {"error": complaint})]
    assert text_of(engine.generate(ASKED)) == "Hello there!"
    assert [order.get("num_assistant_tokens") for order in script.asked] == [None, 5]


def test_stop_string_ends_the_answer(connect: Open, script: Script) -> None:
    script.words = ("One", " two E", "N", "D three", " four")
    events = list(connect().generate(ConversationRequest(ASKED.messages, stop=("END",))))
    assert text_of(events) == "One two "
    assert (finish_of(events).reason, finish_of(events).stop_text) == (FinishReason.STOP, "END")
    script.words = ("One", " E", "N")
    assert text_of(list(connect().generate(ConversationRequest(ASKED.messages, stop=("END",))))) == "One EN"


def test_usage_becomes_statistics(connect: Open, script: Script) -> None:
    script.usage = {
        "prompt_tokens": 20,
        "completion_tokens": 11,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"accepted_prediction_tokens": 6, "rejected_prediction_tokens": 2},
    }
    script.models = ({"id": "small", "max_model_len": 4096},)
    stats = finish_of(connect().generate(ASKED)).stats
    assert (stats.prompt_tokens, stats.reused_tokens, stats.output_tokens) == (20, 8, 11)
    assert (stats.drafted, stats.accepted, stats.rounds) == (8, 6, 4)
    assert (stats.context_used, stats.context_length) == (31, 4096)
    assert stats.by_origin == {"unknown": 11}
    assert stats.speedup is None
    assert stats.ttft_ms > 0


def test_timings_of_llama_cpp_become_statistics(connect: Open, script: Script) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 9}
    timings = {"draft_n": 7, "draft_n_accepted": 4}
    script.raw = [chunk("Hi"), chunk(finish="stop", usage=usage, timings=timings), DONE]
    stats = finish_of(connect().generate(ASKED)).stats
    assert (stats.drafted, stats.accepted, stats.output_tokens) == (7, 4, 9)


def test_tokens_without_usage_are_chunks(connect: Open, script: Script) -> None:
    script.finish = "length"
    finish = finish_of(connect().generate(ASKED))
    assert finish.reason is FinishReason.LENGTH
    assert (finish.stats.output_tokens, finish.stats.prompt_tokens, finish.stats.drafted) == (3, 0, 0)


def test_chunks_may_be_cut_anywhere(connect: Open, script: Script) -> None:
    whole = b"event: message\r\n" + chunk("a\u2028b\u0085c 🐸") + chunk(finish="stop") + DONE
    script.raw = [whole[place : place + 7] for place in range(0, len(whole), 7)]
    assert text_of(connect().generate(ASKED)) == "a\u2028b\u0085c 🐸"


def thought(**delta: Any) -> bytes:
    return f"data: {json.dumps({'choices': [{'delta': delta}]})}\n\n".encode()


def parts_of(events: Iterable[Event]) -> tuple[str, str]:
    """Return the thinking and the text of an answer."""
    steps = [event for event in events if isinstance(event, Step)]
    for step in steps:
        assert step.text == "".join(piece.text for piece in step.pieces if not piece.is_thinking)
    return "".join(step.thinking for step in steps), "".join(step.text for step in steps)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_has_pieces_of_its_own(connect: Open, script: Script, field: str) -> None:
    script.raw = [thought(**{field: "\nLet"}), thought(**{field: " me see.\n"}), chunk("\n\n<think> "), chunk("is it.")]
    script.raw += [chunk(finish="stop"), DONE]
    events = list(connect().generate(ASKED))
    assert parts_of(events) == ("Let me see.", "<think> is it.")
    assert (finish_of(events).stats.output_tokens, finish_of(events).stats.thinking_tokens) == (4, 2)


def test_thinking_in_parts_of_the_content_is_read(connect: Open, script: Script) -> None:
    thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": "Let me see."}]}]
    script.raw = [thought(content=thinking), thought(content=[{"type": "text", "text": "Four"}]), chunk("."), DONE]
    assert parts_of(connect().generate(ASKED)) == ("Let me see.", "Four.")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("<th", "ink>\nLet me", " see.\n</thi", "nk>\n\nFour."), ("Let me see.", "Four.")),
        (("<think>\n\n</think>\n\nFour.",), ("", "Four.")),
        (("<think>Let me",), ("Let me", "")),
        (("Write\n", "<think>", "\nx\n</think>"), ("", "Write\n<think>\nx\n</think>")),
        (("  <thi", "n"), ("", "  <thin")),
    ],
)
def test_section_at_the_beginning_of_the_content_is_thinking(
    connect: Open, script: Script, words: tuple[str, ...], expected: tuple[str, str]
) -> None:
    script.words = words
    assert parts_of(connect().generate(ASKED)) == expected
    script.words = tuple("".join(words))
    assert parts_of(connect().generate(ASKED)) == expected


def test_continued_answer_has_no_section(connect: Open, script: Script) -> None:
    script.words = ("<think>", " opens a section.")
    begun = (*ASKED.messages, Message("assistant", "The tag", thinking="Tags?"))
    assert parts_of(connect().generate(structs.replace(ASKED, messages=begun))) == ("", "<think> opens a section.")
    assert script.asked[0]["messages"][-1] == {
        "role": "assistant",
        "content": "The tag",
        "reasoning_content": "Tags?",
    }


def test_continued_section_of_a_server_keeps_its_white_space(connect: Open, script: Script) -> None:
    script.raw = [thought(reasoning_content=" me see."), chunk("\n\nFour."), DONE]
    begun = (*ASKED.messages, Message("assistant", "", thinking="Let"))
    assert parts_of(connect().generate(structs.replace(ASKED, messages=begun))) == (" me see.", "Four.")


def test_stop_texts_of_a_server_are_those_of_the_answer(connect: Open, script: Script) -> None:
    script.words = ("<think>The END", " is near.</think>", "Yes.", " END", " No.")
    assert parts_of(connect().generate(structs.replace(ASKED, stop=("END",)))) == ("The END is near.", "Yes. ")


def test_thinking_is_sent_back_where_tools_were_called(connect: Open, script: Script) -> None:
    call = (Call("weather", "{}"),)
    history = (
        *(Message("user", "Hi"), Message("assistant", "Hello.", thinking="A greeting.")),
        *(Message("user", "Rain?"), Message("assistant", "", call, "I look."), Message("tool", "no")),
        *(Message("assistant", "No.", thinking="It is dry."), Message("user", "Snow?")),
    )
    list(connect().generate(structs.replace(ASKED, messages=history)))
    (body,) = script.asked
    assert [turn.get("reasoning_content") for turn in body["messages"]] == [
        *(None, None, None, "I look.", None, "It is dry.", None)
    ]


def test_refused_thinking_of_earlier_answers_is_left_out(connect: Open, script: Script) -> None:
    engine = connect()
    history = (*ASKED.messages, Message("assistant", "", (Call("weather", "{}"),), "I look."), Message("tool", "no"))
    script.refusals = [(422, {"detail": [{"loc": ["body", "messages", "reasoning_content"], "msg": "Extra inputs"}]})]
    for _ in range(2):
        assert text_of(engine.generate(structs.replace(ASKED, messages=history))) == "Hello there!"
    assert ["reasoning_content" in body["messages"][2] for body in script.asked] == [True, False, False]


OFF = {
    "chat_template_kwargs": {"enable_thinking": False, "thinking": False},
    "thinking": {"type": "disabled"},
    "reasoning_effort": "none",
}


def switches(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name in OFF}


def test_thinking_is_switched_in_the_words_of_every_server(connect: Open, script: Script) -> None:
    engine = connect()
    for asked in ({"thinking": False}, {"thinking": True}, {"thinking": True, "effort": "high"}, {"effort": "low"}, {}):
        list(engine.generate(structs.replace(ASKED, **asked)))
    on = {"enable_thinking": True, "thinking": True}
    high, low = {"reasoning_effort": "high"}, {"reasoning_effort": "low"}
    enabled = {"type": "enabled"}
    assert list(map(switches, script.asked)) == [
        OFF,
        {"chat_template_kwargs": on, "thinking": enabled},
        {"chat_template_kwargs": on | high, "thinking": enabled, **high},
        {"chat_template_kwargs": low, **low},
        {},
    ]


def test_strict_server_gets_the_switch_that_it_knows(connect: Open, script: Script) -> None:
    engine = connect()
    script.unknown = ("chat_template_kwargs", "thinking")
    for thinking in (False, False, True):
        assert text_of(engine.generate(structs.replace(ASKED, thinking=thinking))) == "Hello there!"
    effort = [switches(body) for body in script.asked]
    assert effort == [OFF, {"reasoning_effort": "none"}, {"reasoning_effort": "none"}, {"reasoning_effort": "medium"}]


@pytest.mark.parametrize("thinking", [False, True])
def test_switch_that_a_server_lacks_is_refused(connect: Open, script: Script, thinking: bool) -> None:
    engine = connect()
    script.unknown = tuple(OFF)
    for _ in range(2):
        part, error = heard(engine, structs.replace(ASKED, thinking=thinking))
        assert (part, type(error)) == ("", RemoteError)
    script.unknown = ()
    assert text_of(engine.generate(ASKED)) == "Hello there!"


def test_thinking_against_the_switch_is_reported(connect: Open, script: Script) -> None:
    script.raw = [thought(reasoning_content="Let"), thought(reasoning_content=" me."), chunk("Four."), DONE]
    events = list(connect().generate(structs.replace(ASKED, thinking=False)))
    notes = [event.note for event in events if isinstance(event, Prefill) and event.note]
    assert [note.values for note in notes] == [{"name": "office"}]
    script.raw = [chunk("<think>\n"), chunk("\n</think>\n\nFour."), DONE]
    assert not any(isinstance(event, Prefill) for event in connect().generate(structs.replace(ASKED, thinking=False)))


@pytest.mark.parametrize(
    ("owner", "field"), [("llamacpp", "thinking_budget_tokens"), ("vllm", "thinking_token_budget"), ("me", None)]
)
def test_budget_is_sent_to_servers_that_keep_to_it(connect: Open, script: Script, owner: str, field: str) -> None:
    script.models = ({"id": "small", "owned_by": owner},)
    asked = structs.replace(ASKED, thinking_budget=0)
    if field:
        list(connect().generate(asked))
        assert script.asked[0][field] == 0
    else:
        _, error = heard(connect(), asked)
        assert isinstance(error, SettingsError)
        assert "thinking budget" in str(error)
        assert not script.asked


def test_thinking_tokens_are_those_of_the_server(connect: Open, script: Script) -> None:
    script.usage = {"completion_tokens": 11, "completion_tokens_details": {"reasoning_tokens": 7}}
    assert finish_of(connect().generate(ASKED)).stats.thinking_tokens == 7


def test_scores_are_those_of_the_answer(connect: Open, script: Script) -> None:
    def scored(token: str, **delta: str) -> bytes:
        choice = {"delta": delta, "logprobs": {"content": [{"token": token, "logprob": -0.5}]}}
        return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()

    answer = [scored("Four", content="Four"), scored(".", content="."), DONE]
    for before in (
        [scored("Hm", reasoning="Hm"), scored(".", reasoning=".")],
        [scored(token, content=token) for token in ("<think>", "Hm", ".", "</think>")],
    ):
        script.raw = [*before, *answer]
        events = list(connect().generate(structs.replace(ASKED, top_logprobs=0)))
        scores = [each for event in events if isinstance(event, Step) for each in event.scored]
        assert [(bytes(each.token.spelling), each.start) for each in scores] == [(b"Four", 0), (b".", 4)]


def test_llama_cpp_continues_an_answer_without_thinking(connect: Open, script: Script) -> None:
    engine, complaint = connect(), "Assistant response prefill is incompatible with enable_thinking."
    begun = structs.replace(ASKED, messages=(*ASKED.messages, Message("assistant", "Hel", thinking="Hm")))
    script.refusals = [(400, {"error": {"message": complaint}})]
    for asked in (begun, begun, ASKED):
        assert text_of(engine.generate(asked)) == "Hello there!"
    off = {"chat_template_kwargs": {"enable_thinking": False}}
    assert list(map(switches, script.asked)) == [{}, off, off, {}]


def test_cancel_closes_the_connection_within_a_chunk(connect: Open, script: Script) -> None:
    script.words, script.pause = ("word ",) * 10_000, 0.01
    cancel, events = CancelEvent(), []
    for event in connect().generate(ASKED, cancel):
        events.append(event)
        cancel.set()
    assert len(events) == 2
    assert finish_of(events).reason is FinishReason.CANCELLED
    assert script.gone.wait(PATIENCE)


def test_server_that_hangs_in_an_answer_times_out(address: str, script: Script) -> None:
    script.words, script.hangs_after = ("Hello", " there"), 1
    with closing(RemoteEngine(Remote("office", address), pause=1.0)) as engine:
        part, error = heard(engine)
    assert part == "Hello"
    assert "nothing for 1 s" in str(error)
    assert script.gone.wait(PATIENCE)


def test_first_word_has_no_timeout(address: str, script: Script) -> None:
    script.words, script.pause = ("Hello",), 1.5
    with closing(RemoteEngine(Remote("office", address), pause=1.0)) as engine:
        assert text_of(engine.generate(ASKED)) == "Hello"


def cancel_when_asked(script: Script) -> CancelEvent:
    """Context manager with an event that is set once the server has a request."""
    cancel = CancelEvent()

    def watch() -> None:
        wait_until(lambda: script.asked)
        cancel.set()

    threading.Thread(target=watch).start()
    return cancel


def test_cancel_does_not_wait_for_the_first_word(connect: Open, script: Script) -> None:
    script.pause = 2 * PATIENCE
    started = time.monotonic()
    events = list(connect().generate(ASKED, cancel_when_asked(script)))
    assert time.monotonic() - started < PATIENCE
    assert finish_of(events).reason is FinishReason.CANCELLED
    assert script.gone.wait(PATIENCE)


@pytest.mark.parametrize("twice", [True, False])
def test_close_of_answer_or_engine_closes_the_connection(connect: Open, script: Script, twice: bool) -> None:
    script.words, script.pause = ("word ",) * 10_000, 0.01
    engine = connect()
    answer = engine.generate(ASKED)
    next(answer)
    if twice:
        engine.close()
        engine.close()
    else:
        answer.close()  # type: ignore[attr-defined]
    assert script.gone.wait(PATIENCE)
    answer.close()  # type: ignore[attr-defined]


def test_busy_server_is_retried(connect: Open, script: Script) -> None:
    engine = connect()
    script.refusals, script.headers = [(429, {}), (503, {}), (500, {})], {"Retry-After": "0"}
    assert text_of(engine.generate(ASKED)) == "Hello there!"
    assert len(script.asked) == 4


@pytest.mark.parametrize("after", ["1", "in a second"])
def test_retry_waits_as_the_server_asks(
    connect: Open, script: Script, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    waits = list[float]()

    async def note(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(
        "headstart.engine.backends.remote.client.asyncio", SimpleNamespace(sleep=note, timeout=asyncio.timeout)
    )
    engine = connect()
    soon = email.utils.format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    script.refusals, script.headers = [(429, {})], {"Retry-After": soon if after == "in a second" else after}
    events = list(engine.generate(ASKED))
    assert text_of(events) == "Hello there!"
    assert [0 < wait <= 2 for wait in waits] == [True]
    (remark,) = [event.note for event in events if isinstance(event, Prefill)]
    assert remark.startswith("office is busy")


def test_long_retry_after_is_an_error(connect: Open, script: Script) -> None:
    engine = connect()
    script.refusals, script.headers = [(429, {"error": "Daily limit."})], {"Retry-After": "3600"}
    error = str(heard(engine)[1])
    assert "(Daily limit)" in error
    assert "3600 s" in error
    assert len(script.asked) == 1


@pytest.mark.parametrize(
    ("status", "body", "fragment"),
    [
        (429, {"error": {"message": "Queue full."}}, "office is busy (Queue full)"),
        (502, {"detail": "no upstream"}, "office failed (status 502, no upstream)"),
    ],
)
def test_retries_are_bounded(connect: Open, script: Script, status: int, body: Any, fragment: str) -> None:
    engine = connect()
    script.refusals = [(status, body)] * 9
    part, error = heard(engine)
    assert part == ""
    assert fragment in str(error)
    assert len(script.asked) == 4


COMPLAINT = b'data: {"error": {"message": "out of memory"}}\n\n'


@pytest.mark.parametrize(
    ("change", "part", "values"),
    [
        ({"breaks_after": 2}, "Hello there", {}),
        ({"finish": None}, "Hello there!", {}),
        ({"raw": [chunk("Hel"), COMPLAINT]}, "Hel", {"detail": "out of memory"}),
        *(
            ({"raw": [b"data: " + data + b"\n\n"]}, "", {"detail": "what came is not OpenAI's protocol"})
            for data in (b"<html>", b"[]", b'{"choices": 5}', b"[" * 100_000)
        ),
    ],
)
def test_broken_answer_keeps_its_part_and_is_not_retried(
    connect: Open, script: Script, change: dict[str, Any], part: str, values: dict[str, str]
) -> None:
    for name, value in change.items():
        setattr(script, name, value)
    text, error = heard(connect())
    assert text == part
    assert error.text.values == {"name": "office", **values}
    assert len(script.asked) == 1


def test_context_overflow_of_the_server_is_reported(connect: Open, script: Script) -> None:
    engine = connect()
    script.refusals = [(400, {"error": {"message": "This model's maximum context length is 64 tokens."}})]
    assert isinstance(heard(engine)[1], ContextOverflowError)


def test_missing_and_wrong_key_are_told_apart(connect: Open, script: Script) -> None:
    script.key = "right"
    with pytest.raises(RemoteError, match=r"wants a key \(Invalid API key\)"):
        connect()
    with pytest.raises(RemoteError, match=r"refuses the key \(Invalid API key\)"):
        connect(key="wrong")
    assert text_of(list(connect(key="right").generate(ASKED))) == "Hello there!"


def test_model_is_chosen_from_the_list(connect: Open, script: Script) -> None:
    with pytest.raises(ModelNotFoundError, match="'large'; it has small"):
        connect("large")
    script.models = ({"id": "small"}, {"id": "team/large"})
    with pytest.raises(ModelNotFoundError, match="small, team/large"):
        connect()
    assert connect("team/large").model.name == "team/large"
    script.models = None
    assert connect("small").model.name == "small"
    with pytest.raises(RemoteError, match="does not list"):
        connect()


def test_removed_model_is_reported(connect: Open, script: Script) -> None:
    engine = connect()
    script.models = ({"id": "other"},)
    assert str(heard(engine)[1]).startswith("office does not know the model")


def test_wrong_path_is_reported(connect: Open, address: str) -> None:
    with pytest.raises(RemoteError, match="/v1"):
        list(connect("small", url=address.removesuffix("/v1") + "/v7").generate(ASKED))


@pytest.mark.parametrize(
    "reply", [b"200 OK\r\nContent-Length: 99\r\n\r\n{", b"200 OK\r\nContent-Encoding: gzip\r\n\r\n{}", b"what?"]
)
def test_unreadable_reply_is_reported(connect: Open, reply: bytes) -> None:
    class Broken(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            self.wfile.write(b"HTTP/1.1 " + reply)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Broken) as server:
        threading.Thread(target=server.serve_forever).start()
        with pytest.raises(RemoteError, match="office cannot be reached at"):
            connect(url=f"http://127.0.0.1:{server.server_address[1]}/v1")
        server.shutdown()


def test_local_server_is_asked_without_a_proxy(connect: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://nobody.invalid:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert text_of(connect().generate(ASKED)) == "Hello there!"


def test_refused_connection_is_reported_after_retries(connect: Open) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"  # bound, but nobody listens
        with pytest.raises(RemoteError, match=r"http://127.*refused"):
            connect(url=url)
    with pytest.raises(RemoteError, match=r"No computer is found by the address of office|cannot be reached"):
        connect(url="http://nobody.invalid/v1")


def test_redirect_is_not_followed(connect: Open, script: Script) -> None:
    script.refusals, script.headers = [(307, {})], {"Location": "https://elsewhere.example/v1"}
    with pytest.raises(RemoteError, match=r"https://elsewhere\.example/v1"):
        connect()


def test_tls_certificate_is_checked(connect: Open, script: Script, tmp_path: Path) -> None:
    authority, certificate = tmp_path / "authority.pem", tmp_path / "server.pem"
    ca = trustme.CA()
    ca.cert_pem.write_to_path(authority)
    ca.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(certificate)
    with serving(script, certificate) as url:
        with pytest.raises(RemoteError, match="--certificate FILE"):
            connect(url=url)
        with pytest.raises(SettingsError, match="cannot be used"):
            connect(url=url, certificate=certificate.with_name("missing.pem"))
        with closing(connect(url=url, certificate=authority)) as engine:
            assert text_of(engine.generate(ASKED)) == "Hello there!"


def test_server_without_tls_is_reported(connect: Open, address: str) -> None:
    with pytest.raises(RemoteError, match="http://"):
        connect(url=address.replace("http:", "https:"))


def test_engine_process_loads_a_remote_model(tmp_path: Path) -> None:
    script = Script(key="secret", models=({"id": "small", "max_model_len": 512},))
    api_keys.keep("office", "secret")
    client, phases = EngineClient(journal=Journal(tmp_path / "engine.log")), list[Loading]()
    with serving(script) as url:
        server = Remote("office", url)
        assert client.load(remotes.load_options(server), phases.append) == ModelInfo("small", None, "", 512, "office")
        assert phases == [Loading(Phase.SERVER)]
        events = list(client.generate(ASKED))
        assert "".join(event.text for event in events if isinstance(event, Step)) == "Hello there!"
        opened = LocalModels().open(remotes.load_options(server), phases.append)
        with closing(opened.engine), pytest.raises(RemoteError, match="count"):
            opened.count(None, "Hi")
        script.pause = 2 * PATIENCE
        script.asked.clear()
        *_, last = client.generate(ASKED, cancel_when_asked(script))
        assert isinstance(last, Finish)
        assert last.reason is FinishReason.CANCELLED
        assert script.gone.wait(PATIENCE)
        with pytest.raises(ModelNotFoundError, match="'large'; it has small"):
            client.load(remotes.load_options(Remote("office", url, "large")))
    client.close()
