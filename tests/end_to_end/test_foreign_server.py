"""A remote model whose server is llama.cpp or vLLM: foreign in what it takes, what it says and how it is stopped."""

import json
from collections.abc import Iterator
from contextlib import closing

import pytest
from msgspec import structs

from headstart.engine.backends.remote.engine import RemoteEngine
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Call, ConversationRequest, Finish, FinishReason, Message, Remote, Step, Tool, Tools
from headstart.errors import ContextOverflowError
from headstart.server.routes.replies import read_whole
from headstart.tools.calls import CallReader
from tests.end_to_end import foreign_servers

ASKED = ConversationRequest((Message("user", "What is the capital of France?"),), max_new_tokens=24)
CITY = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}}, "required": ["city"]}
WEATHER = Tool("weather", json.dumps(CITY), "The weather of a city", strict=True)
ABOUT_WEATHER = ConversationRequest(
    (Message("user", "What is the weather in Paris? Use the tool."),), max_new_tokens=80
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=list(foreign_servers.FOLDERS))
def server(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    if reason := foreign_servers.missing(found):
        pytest.skip(reason)
    return found


@pytest.fixture(scope="module")
def address(server: str) -> Iterator[str]:
    with foreign_servers.running(server) as found:
        yield found


@pytest.fixture
def engine(address: str) -> Iterator[RemoteEngine]:
    with closing(RemoteEngine(Remote("server", address))) as engine:
        yield engine


def text_and_end(engine: RemoteEngine, request: ConversationRequest) -> tuple[str, Finish]:
    *steps, finish = engine.generate(request)
    assert isinstance(finish, Finish)
    return "".join(step.text for step in steps if isinstance(step, Step)), finish


def test_greedy_answer_is_repeatable_with_usage(engine: RemoteEngine) -> None:
    text, finish = text_and_end(engine, ASKED)
    assert text.strip()
    assert finish.stats.prompt_tokens > 8
    assert 0 < finish.stats.output_tokens <= 24
    assert text_and_end(engine, ASKED)[0] == text


def test_max_tokens_ends_the_answer(engine: RemoteEngine) -> None:
    _, finish = text_and_end(engine, ConversationRequest(ASKED.messages, max_new_tokens=3))
    assert (finish.reason, finish.stats.output_tokens) == (FinishReason.LENGTH, 3)


def test_cancel_ends_the_answer_and_the_next_works(engine: RemoteEngine) -> None:
    before = text_and_end(engine, ASKED)[0]
    cancel = CancelEvent()
    answer = engine.generate(
        ConversationRequest((Message("user", "Count from one to a thousand."),), max_new_tokens=800), cancel
    )
    next(answer)
    cancel.set()
    *_, finish = answer
    assert isinstance(finish, Finish)
    assert finish.reason is FinishReason.CANCELLED
    assert text_and_end(engine, ASKED)[0] == before


def test_context_overflow_is_an_error(engine: RemoteEngine) -> None:
    with pytest.raises(ContextOverflowError, match="The conversation is too long for server"):
        text_and_end(engine, ConversationRequest((Message("user", "word " * 3000),), max_new_tokens=8))


def test_answer_is_continued(engine: RemoteEngine) -> None:
    begun = structs.replace(ASKED, messages=(*ASKED.messages, Message("assistant", "The capital of")))
    text, _ = text_and_end(engine, begun)
    assert text.startswith(" France")


def test_schema_is_kept_to(engine: RemoteEngine) -> None:
    text, finish = text_and_end(engine, structs.replace(ABOUT_WEATHER, schema=json.dumps(CITY)))
    assert finish.reason is FinishReason.STOP
    assert isinstance(json.loads(text)["city"], str)


def test_logprobs_are_read(engine: RemoteEngine) -> None:
    steps = [event for event in engine.generate(structs.replace(ASKED, top_logprobs=2)) if isinstance(event, Step)]
    scored = [each for step in steps for each in step.scored]
    assert b"".join(bytes(each.token.spelling) for each in scored).decode() == "".join(step.text for step in steps)
    assert all(each.token.logprob <= 0.0 and len(each.top_logprobs) == 2 for each in scored)


def test_conversation_with_tool_calls_goes_on(engine: RemoteEngine) -> None:
    called = Message("assistant", "", (Call("weather", '{"city": "Paris"}'),))
    history = (*ABOUT_WEATHER.messages, called, Message("tool", "sunny, 21 degrees"))
    text, finish = text_and_end(engine, structs.replace(ABOUT_WEATHER, messages=history, tools=Tools((WEATHER,))))
    assert "21" in text
    assert finish.stats.output_tokens


def test_tool_is_called(engine: RemoteEngine, server: str) -> None:
    if server == foreign_servers.LLAMA:
        pytest.skip("this model's template knows no tools, and llama.cpp forces no call then")
    text, _ = text_and_end(engine, structs.replace(ABOUT_WEATHER, tools=Tools((WEATHER,), required=True)))
    _, (call,) = read_whole(text, CallReader((WEATHER,)))
    assert (call.name, json.loads(call.arguments)) == ("weather", {"city": "Paris"})
    text, finish = text_and_end(
        engine, structs.replace(ABOUT_WEATHER, max_new_tokens=8, tools=Tools((WEATHER,), required=True))
    )
    assert (text, finish.reason) == ("", FinishReason.LENGTH)
