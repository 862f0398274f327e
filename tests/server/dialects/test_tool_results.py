"""Results of tools reach the model behind their calls, in whatever order a client sends them."""

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from headstart.engine.engine import Call, Message
from headstart.server.requests.history import NO_RESULT
from tests.server.serving import MODEL, Running, serving
from tests.stand_ins.fakes import ScriptedEngine

CALLS = (("a", "look", {"at": "Oslo"}), ("b", "time", {"at": "Rome"}), ("c", "look", {"at": "Bonn"}))
RESULTS = {"a": "sun", "b": "noon", "c": "rain"}
Result = tuple[str, str]  # the id of a call, and a text


def chat(results: Sequence[Result]) -> tuple[str, dict[str, Any]]:
    calls = [{"id": id_, "type": "function", "function": _function(name, at)} for id_, name, at in CALLS]
    turns: list[Any] = [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": calls}]
    turns += [{"role": "tool", "tool_call_id": id_, "content": text} for id_, text in results]
    return "/v1/chat/completions", {"messages": turns}


def _function(name: str, arguments: dict[str, str]) -> dict[str, str]:
    return {"name": name, "arguments": json.dumps(arguments)}


def responses(results: Sequence[Result]) -> tuple[str, dict[str, Any]]:
    items: list[Any] = [{"role": "user", "content": "Hi"}]
    items += [{"type": "function_call", "call_id": id_, **_function(name, at)} for id_, name, at in CALLS]
    items += [{"type": "function_call_output", "call_id": id_, "output": text} for id_, text in results]
    return "/v1/responses", {"input": items}


def messages(results: Sequence[Result]) -> tuple[str, dict[str, Any]]:
    calls = [{"type": "tool_use", "id": id_, "name": name, "input": at} for id_, name, at in CALLS]
    blocks = [{"type": "tool_result", "tool_use_id": id_, "content": text} for id_, text in results]
    turns = [("user", "Hi"), ("assistant", calls), ("user", blocks)]
    return "/v1/messages", {
        "messages": [{"role": role, "content": content} for role, content in turns],
        "max_tokens": 9,
    }


def ollama(results: Sequence[Result]) -> tuple[str, dict[str, Any]]:
    calls = [{"function": {"name": name, "arguments": at}} for _, name, at in CALLS]
    names = {id_: name for id_, name, _ in CALLS}
    turns: list[Any] = [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": calls}]
    turns += [{"role": "tool", "tool_name": names.get(id_, id_), "content": text} for id_, text in results]
    return "/api/chat", {"messages": turns, "stream": False}


ROUTES = (chat, responses, messages, ollama)


@pytest.fixture(name="engine")
def scripted() -> ScriptedEngine:
    return ScriptedEngine(["Done."] * 20)


@pytest.fixture(name="running")
def server(engine: ScriptedEngine) -> Iterator[Running]:
    with serving(engine) as running:
        yield running


def send(running: Running, route: Any, results: Sequence[Result], *, stream: bool = False) -> tuple[int, str]:
    path, body = route(results)
    body |= {"model": MODEL, "stream": stream}
    status, _, reply = running.ask("POST", path, body=json.dumps(body))
    return status, str(reply)


def conversation(*results: str) -> tuple[Message, ...]:
    calls = tuple(Call(name, json.dumps(at)) for _, name, at in CALLS)
    return (Message("user", "Hi"), Message("assistant", "", calls), *(Message("tool", text) for text in results))


def without_blanks(turns: Sequence[Message]) -> tuple[Message, ...]:
    """Return turns whose calls have no blanks, as routes keep the client's own."""
    return tuple(
        Message(turn.role, turn.content, tuple(Call(call.name, call.arguments.replace(" ", "")) for call in turn.calls))
        for turn in turns
    )


@pytest.mark.parametrize("route", ROUTES)
def test_results_stand_in_the_order_of_their_calls(running: Running, engine: ScriptedEngine, route: Any) -> None:
    orders = list(itertools.permutations(RESULTS.items()))
    if route is ollama:  # two calls of one tool have no other difference than their order
        orders = [order for order in orders if order.index(("a", "sun")) < order.index(("c", "rain"))]
    for order in orders:
        assert send(running, route, order, stream=order is orders[-1])[0] == 200
    sent = {without_blanks(request.messages) for request in engine.requests}
    assert sent == {without_blanks(conversation("sun", "noon", "rain"))}


@pytest.mark.parametrize("route", ROUTES)
def test_missing_result_keeps_its_place(running: Running, engine: ScriptedEngine, route: Any) -> None:
    assert send(running, route, [("b", "noon")])[0] == 200
    assert without_blanks(engine.requests[0].messages) == without_blanks(conversation(NO_RESULT, "noon", NO_RESULT))


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    ("results", "place"), [([("b", "noon"), ("zz", "?")], "zz"), ([("b", "noon"), ("b", "one")], "another result")]
)
def test_result_of_no_open_call_is_refused(
    running: Running, engine: ScriptedEngine, route: Any, results: list[Result], place: str
) -> None:
    status, reply = send(running, route, results)
    path, _ = route(results)
    at = {"/v1/responses": "input[5]", "/v1/messages": "messages[2].content[1]"}.get(path, "messages[3]")
    assert status == 400
    assert at in reply
    assert place in reply
    assert not engine.requests


def test_late_result_goes_back_to_its_call(running: Running, engine: ScriptedEngine) -> None:
    path, body = chat(RESULTS.items())  # type: ignore[arg-type]
    body["messages"].insert(3, {"role": "user", "content": "Quick!"})
    assert running.ask("POST", path, body=json.dumps({"model": MODEL, **body}))[0] == 200
    assert engine.requests[0].messages == (*conversation("sun", "noon", "rain"), Message("user", "Quick!"))


def test_ids_may_be_used_again_in_a_later_turn(running: Running, engine: ScriptedEngine) -> None:
    path, body = chat([("a", "sun"), ("b", "noon"), ("c", "rain")])
    again = body["messages"][1:]
    body["messages"] += again
    assert running.ask("POST", path, body=json.dumps({"model": MODEL, **body}))[0] == 200
    turns = conversation("sun", "noon", "rain")
    assert engine.requests[0].messages == (*turns, *turns[1:])


def test_results_without_ids_stand_in_the_order_of_calls(running: Running, engine: ScriptedEngine) -> None:
    path, body = chat([("", "sun"), ("", "noon"), ("", "rain")])
    assert running.ask("POST", path, body=json.dumps({"model": MODEL, **body}))[0] == 200
    assert engine.requests[0].messages == conversation("sun", "noon", "rain")
    body["messages"].append({"role": "tool", "content": "more"})
    status, _, reply = running.ask("POST", path, body=json.dumps({"model": MODEL, **body}))
    assert (status, "messages[5]" in str(reply)) == (400, True)
