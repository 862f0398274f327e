"""A remote model whose server is Headstart's own: the same text as here, conversations, a stop that is heard."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headstart.engine.backends.remote.engine import RemoteEngine
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    ConversationRequest,
    Finish,
    FinishReason,
    LoadOptions,
    Message,
    Mode,
    Remote,
    Sampling,
    Speculation,
)
from headstart.engine.local import LocalEngine
from tests.engine.answers import Answer, ask, load
from tests.server.serving import KEY, Running, serving

QUESTIONS = ("What is the capital of France?", "Write a haiku about rain, then explain it in two sentences.")


@pytest.fixture(scope="module")
def local(tiny_pair: Path) -> Iterator[LocalEngine]:
    """A model of this computer with its draft, in exact arithmetic, so that two requests give the same."""
    options = LoadOptions(tiny_pair / "target", tiny_pair / "draft", context=512)
    with closing(load(options)) as engine:
        yield engine


@pytest.fixture
def running(local: LocalEngine) -> Iterator[Running]:
    with serving(local, speculation=Speculation(Mode.FIXED, 3)) as server:
        yield server


@pytest.fixture
def far(running: Running) -> Iterator[RemoteEngine]:
    """The same model over HTTP."""
    with closing(RemoteEngine(Remote("office", running.url), KEY)) as engine:
        yield engine


def question(text: str, sampling: Sampling | None = None, stop: tuple[str, ...] = ()) -> ConversationRequest:
    return ConversationRequest((Message("user", text),), max_new_tokens=48, sampling=sampling or Sampling(), stop=stop)


def agreed(near: Answer, text: str, finish: Finish) -> None:
    assert text == near.text
    assert finish.reason is near.reason
    assert finish.stats.output_tokens == near.stats.output_tokens
    assert finish.stats.prompt_tokens == near.stats.prompt_tokens


def far_answer(engine: RemoteEngine, request: ConversationRequest) -> tuple[str, Finish]:
    *steps, finish = engine.generate(request)
    assert isinstance(finish, Finish)
    return "".join(getattr(step, "text", "") for step in steps), finish


@pytest.mark.parametrize(
    "sampling", [Sampling(), Sampling(0.9, 0.9, 40, 0.02, 1.1, 0.1, 0.2, seed=7)], ids=["greedy", "sampled"]
)
def test_remote_text_equals_the_local_one(local: LocalEngine, far: RemoteEngine, sampling: Sampling) -> None:
    for text in QUESTIONS:
        request = question(text, sampling)
        agreed(ask(local, request), *far_answer(far, request))


def test_draft_tokens_are_reported(far: RemoteEngine) -> None:
    _, finish = far_answer(far, question(QUESTIONS[1]))
    assert finish.stats.drafted > 0
    assert finish.stats.acceptance_rate is not None
    assert set(finish.stats.by_origin) == {"unknown"}


def test_window_continues_an_answer_of_a_server(local: LocalEngine, far: RemoteEngine) -> None:
    whole = ask(local, question(QUESTIONS[0])).text
    begun = ConversationRequest((Message("user", QUESTIONS[0]), Message("assistant", whole[:20])), max_new_tokens=24)
    agreed(ask(local, begun), *far_answer(far, begun))


def test_stop_string_ends_the_remote_answer(local: LocalEngine, far: RemoteEngine) -> None:
    whole = ask(local, question(QUESTIONS[0])).text
    request = question(QUESTIONS[0], stop=(whole[10:14],))
    agreed(ask(local, request), *far_answer(far, request))


def test_cancel_frees_the_server(local: LocalEngine, far: RemoteEngine) -> None:
    request = question(QUESTIONS[0])
    near = ask(local, request)
    cancel = CancelEvent()
    answer = far.generate(ConversationRequest((Message("user", QUESTIONS[1]),), max_new_tokens=400), cancel)
    next(answer)
    cancel.set()
    *_, finish = answer
    assert isinstance(finish, Finish)
    assert finish.reason is FinishReason.CANCELLED
    agreed(near, *far_answer(far, request))
