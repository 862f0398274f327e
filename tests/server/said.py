"""Answers and faults as the client of a route gets them, whole or from the events of a stream, in one form."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
RESPONSES, MESSAGES = "/v1/responses", "/v1/messages"
OLLAMA_CHAT, OLLAMA_TEXT = "/api/chat", "/api/generate"
ROUTES = (CHAT, TEXT, RESPONSES, MESSAGES, OLLAMA_CHAT, OLLAMA_TEXT)


@dataclass(frozen=True)
class Choice:
    """An answer. `calls` have names and arguments, `tokens` the texts and probabilities that were asked for."""

    text: str
    reason: str
    calls: tuple[tuple[str, str], ...] = ()
    tokens: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Said:
    """The answers to a request, and the tokens of its prompts and of all answers; None: not told."""

    choices: tuple[Choice, ...]
    usage: tuple[int, int] | None


@dataclass(frozen=True)
class Fault:
    """An error. `code`: its code, or its type in dialects without one."""

    sentence: str
    code: str = ""


def fault(path: str, reply: Any) -> Fault | None:
    """Return the error that an object is in the dialect of a route; None if it is another object."""
    if not isinstance(reply, dict) or "error" not in reply or reply.get("object") == "response":
        return None
    error = reply["error"]
    if path.startswith("/api/"):
        assert set(reply) == {"error"}, reply
        return Fault(error)
    assert reply["type"] == "error", reply
    if path.startswith(MESSAGES):
        assert set(error) == {"type", "message"}, reply
        assert reply["request_id"].startswith("req_"), reply
        return Fault(error["message"], error["type"])
    assert set(error) == {"message", "type", "param", "code"}, reply
    return Fault(error["message"], error["code"] or error["type"])


def whole(path: str, reply: Any) -> Said | Fault:
    """Return what a whole reply says."""
    return fault(path, reply) or _WHOLE[path](reply)


def streamed(path: str, text: str) -> Said | Fault:
    """Return what a stream says, after checking that its events are in order."""
    events = list(_events(path, text))
    error = fault(path, {name: value for name, value in events[-1].items() if name != "sequence_number"})
    if error:
        return error
    assert not any(fault(path, event) for event in events), "an error ends a stream"
    return _STREAMED[path](events)


def _events(path: str, text: str) -> Iterator[dict[str, Any]]:
    if path.startswith("/api/"):
        assert text.endswith("\n"), text[-200:]
        yield from map(json.loads, text.splitlines())
        return
    assert text.endswith("\n\n"), text[-200:]
    blocks = text.removesuffix("\n\n").split("\n\n")
    if path in {CHAT, TEXT}:
        if '"error":{' not in blocks[-1]:
            assert blocks.pop() == "data: [DONE]", text[-200:]
        for block in blocks:
            assert block.startswith("data: {"), block
            yield json.loads(block.removeprefix("data: "))
        return
    for number, block in enumerate(blocks):
        name, data = block.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}", block
        assert path != RESPONSES or event["sequence_number"] == number, block
        yield event


def _function(call: Any) -> Any:
    return call["function"]


def _chat(reply: Any) -> Said:
    choices = [
        Choice(
            each["message"]["content"] or "",
            each["finish_reason"],
            tuple((call["name"], call["arguments"]) for call in map(_function, each["message"].get("tool_calls", ()))),
            _scored((each["logprobs"] or {}).get("content")),
        )
        for each in reply["choices"]
    ]
    assert [each["index"] for each in reply["choices"]] == list(range(len(choices)))
    return Said(tuple(choices), _usage(reply["usage"]))


def _chat_stream(events: Sequence[Any]) -> Said:
    choices, usage = list[Choice](), None
    texts, calls, tokens = dict[int, str](), dict[int, list[list[str]]](), dict[int, list[Any]]()
    for event in events:
        usage = event.get("usage") or usage
        for each in event["choices"]:
            index, delta = each["index"], each["delta"]
            assert index == len(choices), "one answer after the other"
            assert (index in texts) == ("role" not in delta), "the first event names the role"
            texts[index] = texts.get(index, "") + (delta.get("content") or "")
            tokens.setdefault(index, []).extend((each["logprobs"] or {}).get("content") or ())
            made = calls.setdefault(index, [])
            for call in delta.get("tool_calls", ()):
                if call["index"] == len(made):
                    made.append([call["function"]["name"], ""])
                made[call["index"]][1] += call["function"]["arguments"]
            if each["finish_reason"]:
                told = tuple((name, arguments) for name, arguments in made if _is_json(arguments))
                choices.append(Choice(texts[index], each["finish_reason"], told, _scored(tokens[index])))
    return Said(tuple(choices), usage and _usage(usage))


def _text(reply: Any) -> Said:
    choices = [
        Choice(each["text"], each["finish_reason"], (), _older_scored(each["logprobs"])) for each in reply["choices"]
    ]
    assert [each["index"] for each in reply["choices"]] == list(range(len(choices)))
    return Said(tuple(choices), _usage(reply["usage"]))


def _text_stream(events: Sequence[Any]) -> Said:
    choices, usage, text, tokens = list[Choice](), None, "", list[tuple[str, float]]()
    for event in events:
        usage = event.get("usage") or usage
        for each in event["choices"]:
            assert each["index"] == len(choices), "one answer after the other"
            text += each["text"]
            tokens += _older_scored(each["logprobs"])
            if each["finish_reason"]:
                choices.append(Choice(text, each["finish_reason"], (), tuple(tokens)))
                text, tokens = "", []
    return Said(tuple(choices), usage and _usage(usage))


def _responses(reply: Any) -> Said:
    parts = [part for item in reply["output"] if item["type"] == "message" for part in item["content"]]
    calls = tuple((item["name"], item["arguments"]) for item in reply["output"] if item["type"] == "function_call")
    usage = reply["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    tokens = tuple(token for part in parts for token in _scored(part["logprobs"]))
    choice = Choice("".join(part["text"] for part in parts), reply["status"], calls, tokens)
    return Said((choice,), (usage["input_tokens"], usage["output_tokens"]))


def _responses_stream(events: Sequence[Any]) -> Said:
    kinds = [event["type"] for event in events]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] in {"response.completed", "response.incomplete"}, "it has a last event"
    last = events[-1]["response"]
    assert kinds[-1] == f"response.{last['status']}"
    items = dict[int, dict[str, Any]]()
    for event in events:
        if event["type"] == "response.output_item.done":
            items[event["output_index"]] = event["item"]
    assert [items[number] for number in range(len(items))] == last["output"]
    text = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    said = _responses(last)
    assert text == said.choices[0].text
    return said


def _messages(reply: Any) -> Said:
    usage = reply["usage"]
    text = "".join(block["text"] for block in reply["content"] if block["type"] == "text")
    calls = tuple((block["name"], _plain(block["input"])) for block in reply["content"] if block["type"] == "tool_use")
    prompt = usage["input_tokens"] + usage["cache_read_input_tokens"]
    return Said((Choice(text, _stop(reply), calls),), (prompt, usage["output_tokens"]))


def _messages_stream(events: Sequence[Any]) -> Said:
    assert (events[0]["type"], events[-1]["type"]) == ("message_start", "message_stop")
    blocks, end, open_block = list[dict[str, Any]](), dict[str, Any](), -1
    for event in events:
        match event["type"]:
            case "content_block_start":
                assert open_block < 0
                assert event["index"] == len(blocks)
                open_block = event["index"]
                blocks.append({**event["content_block"], "input": ""})
            case "content_block_delta":
                assert event["index"] == open_block
                delta = event["delta"]
                name = "input" if delta["type"] == "input_json_delta" else "text"
                blocks[-1][name] += delta.get("partial_json", delta.get("text"))
            case "content_block_stop":
                assert event["index"] == open_block
                open_block = -1
            case "message_delta":
                end = event
    assert open_block < 0
    whole_blocks = [
        block | {"input": json.loads(block["input"] or "{}")}
        for block in blocks
        if block["type"] != "tool_use" or _is_json(block["input"])
    ]
    return _messages({**end["delta"], "content": whole_blocks, "usage": end["usage"]})


def _stop(reply: Mapping[str, Any]) -> str:
    return f"{reply['stop_reason']} {reply['stop_sequence'] or ''}".strip()


def _ollama(reply: Any) -> Said:
    assert reply["done"] is True
    return _ollama_stream([reply])


def _ollama_stream(lines: Sequence[Any]) -> Said:
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    messages = [line.get("message") or {"content": line["response"]} for line in lines]
    text = "".join(message["content"] for message in messages)
    calls = [call["function"] for message in messages for call in message.get("tool_calls", ())]
    tokens = tuple(token for line in lines for token in _scored(line.get("logprobs")))
    told = tuple((call["name"], _plain(call["arguments"])) for call in calls)
    last = lines[-1]
    choice = Choice(text, last["done_reason"], told, tokens)
    return Said((choice,), (last["prompt_eval_count"], last["eval_count"]))


def _usage(usage: Any) -> tuple[int, int]:
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    return usage["prompt_tokens"], usage["completion_tokens"]


def _scored(tokens: Any) -> tuple[tuple[str, float], ...]:
    return tuple((token["token"], token["logprob"]) for token in tokens or ())


def _older_scored(logprobs: Any) -> tuple[tuple[str, float], ...]:
    return tuple(zip(logprobs["tokens"], logprobs["token_logprobs"], strict=True)) if logprobs else ()


def _plain(arguments: Any) -> str:
    return json.dumps(arguments, sort_keys=True)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


_WHOLE = {
    CHAT: _chat,
    TEXT: _text,
    RESPONSES: _responses,
    MESSAGES: _messages,
    OLLAMA_CHAT: _ollama,
    OLLAMA_TEXT: _ollama,
}
_STREAMED = {
    CHAT: _chat_stream,
    TEXT: _text_stream,
    RESPONSES: _responses_stream,
    MESSAGES: _messages_stream,
    OLLAMA_CHAT: _ollama_stream,
    OLLAMA_TEXT: _ollama_stream,
}
