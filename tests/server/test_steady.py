"""System prompts of agents that change with each request: what is read again, and what the model gets."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headstart.engine.engine import ConversationRequest, LoadOptions, Message, Mode, Speculation
from headstart.server.requests.prefix import steady
from tests.engine.answers import load
from tests.server.serving import Running, serving

TERMS = "These are the terms of the work, and these are its conditions.\n" * 26
BILLING = "x-anthropic-billing-header: cc_version=2.1.{n}.0df; cc_entrypoint=cli; cch={n}a5f;"
CHANGING = [
    "Current date and time: Friday, November 28, 2026 at 05:46:{n} AM UTC",
    "The current date is 2026-11-28 05:46:{n}.",
    "<current_datetime>2026-11-28T05:46:{n}Z</current_datetime>",
    "Today is Saturday, local time 17:{n}.",
    "Request id: 3f2c9d0a-1111-4222-8333-0123456789{n}",
    "request_id=0123456789abcdef01234567{n}",
]
KEPT = [
    "Today's date: 2026-11-28",
    "The meeting is at 12:30.",
    '  "current_time": "12:30:11",',
    "```\ncurrent time 12:30:11\n```",
    "You can ask for the current time of a place, such as 12:30 in Rome. " + "So it goes on for long. " * 8,
    "Session id: kept",
    "IPv6 now: fe80::1:22",
]


@pytest.fixture(scope="module")
def running(tiny_target: Path) -> Iterator[Running]:
    plain: Any = {"speculation": Speculation(mode=Mode.OFF)}
    with closing(load(LoadOptions(tiny_target))) as engine, serving(engine, **plain) as running:
        yield running


def ask(running: Running, path: str, system: list[str], turns: list[Any]) -> tuple[int, int, str]:
    """Ask. Return the tokens of the prompt, the tokens read again, and the answer."""
    texts = [{"type": "text", "text": text} for text in system]
    body: dict[str, Any] = {"max_tokens": 8, "temperature": 0, "messages": turns}
    if path == "/v1/messages":
        body["system"] = texts
    else:
        body["messages"] = [{"role": "system", "content": texts}, *turns]
    status, _, text = running.ask("POST", path, body=json.dumps(body))
    assert status == 200, text
    reply = json.loads(text)
    usage = reply["usage"]
    if path == "/v1/messages":
        cached = usage["cache_read_input_tokens"]
        return cached + usage["input_tokens"], usage["input_tokens"], reply["content"][0]["text"]
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    return usage["prompt_tokens"], usage["prompt_tokens"] - cached, reply["choices"][0]["message"]["content"]


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions"])
@pytest.mark.parametrize("line", [BILLING, CHANGING[0], CHANGING[4]])
def test_second_request_of_a_session_reads_little_again(running: Running, path: str, line: str) -> None:
    turns: list[Any] = [{"role": "user", "content": f"What are they? {path} {line}"}]
    for number in range(10, 13):
        tokens, read, answer = ask(running, path, [line.replace("{n}", str(number)), f"{line} {path}\n{TERMS}"], turns)
        assert tokens > 500
        assert number == 10 or read < 0.3 * tokens, "the answer, a short question and the line"
        turns += [{"role": "assistant", "content": answer}, {"role": "user", "content": "And?"}]


@pytest.mark.parametrize("line", CHANGING)
def test_line_that_changes_is_read_at_the_end(line: str) -> None:
    now = line.replace("{n}", "53")
    system = Message("system", f"Be brief.\n{now}\nUse the tools.")
    question, result = Message("user", "Why?"), Message("tool", "42")
    short = Message("system", "Be brief.\nUse the tools.")
    asked = steady(ConversationRequest((system, question)))
    assert asked.request.messages == (short, Message.of_parts("user", [f"{now}\n", "Why?"]))
    assert asked.moved == (now,)
    answered = steady(ConversationRequest((system, question, result))).request.messages
    assert answered == (short, question, Message("tool", f"42\n\n{now}"))


@pytest.mark.parametrize("line", KEPT)
def test_other_line_stays_where_it_is(line: str) -> None:
    request = ConversationRequest((Message.of_parts("system", ["Be brief.", line]), Message("user", "Why?")))
    assert steady(request).request == request


def test_line_for_a_bill_is_left_out_with_its_message() -> None:
    messages = (Message("system", BILLING), Message("system", "Be brief."), Message("user", BILLING))
    result = steady(ConversationRequest(messages))
    assert (result.request.messages, result.left_out) == (messages[1:], (BILLING,))


def test_line_has_no_other_place_before_an_answer_that_is_continued() -> None:
    request = ConversationRequest(
        (Message("system", CHANGING[1]), Message("user", "Why?"), Message("assistant", "Because"))
    )
    assert steady(request).request == request
