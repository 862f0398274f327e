"""A remote model whose server is llama.cpp's own: foreign in what it takes, what it says and how it is stopped."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headstart.engine.backends.remote import RemoteEngine
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Finish, FinishReason, Message, Remote, Request, Step
from headstart.errors import ContextOverflowError
from tests.conftest import ROOT, USER_CACHE, USER_ENVIRONMENT

ENVIRONMENT = USER_CACHE / "tests" / "xllamacpp"
GGUF = USER_CACHE / "gguf" / "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53.gguf"  # SmolLM2 135M
ASKED = Request((Message("user", "What is the capital of France?"),), 24)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    python = ENVIRONMENT / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not python.is_file():
        pytest.skip(f"llama.cpp's server is not there: python -m venv {ENVIRONMENT}, and pip install xllamacpp in it")
    if not GGUF.is_file():
        pytest.skip("the weights of SmolLM2 are not in the cache: run `headstart-export smollm2-135m-instruct`")
    command = [str(python), str(Path(__file__).with_name("llama_server.py")), str(GGUF)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=ROOT, env=USER_ENVIRONMENT, text=True, **pipes)  # type: ignore[call-overload]
    with process:
        yield next(line.split()[1] for line in process.stdout if line.startswith("address ")) + "/v1"
        process.stdin.close()


@pytest.fixture
def engine(address: str) -> Iterator[RemoteEngine]:
    with closing(RemoteEngine(Remote("llama", address))) as engine:
        yield engine


def text_and_end(engine: RemoteEngine, request: Request) -> tuple[str, Finish]:
    *steps, finish = engine.generate(request)
    assert isinstance(finish, Finish)
    return "".join(step.text for step in steps if isinstance(step, Step)), finish


def test_a_greedy_answer_comes_in_chunks_with_its_figures_and_is_the_same_again(engine: RemoteEngine) -> None:
    text, finish = text_and_end(engine, ASKED)
    assert text.strip()
    assert finish.stats.prompt_tokens > 8
    assert 0 < finish.stats.output_tokens <= 24
    assert text_and_end(engine, ASKED)[0] == text


def test_the_longest_answer_is_told(engine: RemoteEngine) -> None:
    _, finish = text_and_end(engine, Request(ASKED.messages, 3))
    assert (finish.reason, finish.stats.output_tokens) == (FinishReason.LENGTH, 3)


def test_a_stop_is_heard_and_the_next_question_answered(engine: RemoteEngine) -> None:
    before = text_and_end(engine, ASKED)[0]
    cancel = CancelEvent()
    answer = engine.generate(Request((Message("user", "Count from one to a thousand."),), 800), cancel)
    next(answer)
    cancel.set()
    *_, finish = answer
    assert isinstance(finish, Finish)
    assert finish.reason is FinishReason.CANCELLED
    assert text_and_end(engine, ASKED)[0] == before


def test_what_is_too_long_is_a_sentence(engine: RemoteEngine) -> None:
    with pytest.raises(ContextOverflowError, match="The conversation is too long for llama"):
        text_and_end(engine, Request((Message("user", "word " * 3000),), 8))
