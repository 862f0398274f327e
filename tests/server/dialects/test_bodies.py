"""Bodies at random: each is answered or refused in one sentence, and the next request works."""

import gzip
import http.client
import json
import random
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from headstart.engine.engine import GenerationRequest, Request
from headstart.engine.text.tokenizer import Tokenizer
from headstart.errors import SettingsError
from headstart.server.errors import RefusedError
from headstart.server.models import Served
from headstart.server.requests import fields
from headstart.server.requests.constraint import losses_of
from headstart.server.requests.reading import parse_request
from headstart.server.requests.translation import Defaults
from headstart.server.routes.anthropic import MessagesRequest, messages_to_request
from headstart.server.routes.chat import ChatRequest, chat_to_requests
from headstart.server.routes.completions import TextRequest, text_to_requests
from headstart.server.routes.embeddings import EmbeddingRequest, embedding_to_request
from headstart.server.routes.ollama import OllamaChatRequest, OllamaGenerateRequest, ollama_to_request
from headstart.server.routes.responses import ResponsesRequest, responses_to_request
from headstart.server.routes.tokens import DetokenizeRequest, TokenizeRequest, tokenize_to_request
from headstart.server.worker import Limits
from tests.server import histories
from tests.server.histories import Turn
from tests.server.serving import KEY, Running, serving
from tests.stand_ins.fakes import ScriptedEngine
from tests.support.junk import fuzz
from tests.support.waiting import PATIENCE

ROUTES: dict[str, tuple[type, dict[str, Any]]] = {
    "/v1/chat/completions": (ChatRequest, {"messages": [{"role": "user", "content": "Hi"}]}),
    "/v1/completions": (TextRequest, {"prompt": "Hi"}),
    "/v1/responses": (ResponsesRequest, {"input": [{"role": "user", "content": "Hi"}]}),
    "/v1/messages": (MessagesRequest, {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3}),
    "/v1/embeddings": (EmbeddingRequest, {"input": "Hi"}),
    "/api/chat": (OllamaChatRequest, {"messages": [{"role": "user", "content": "Hi"}]}),
    "/api/generate": (OllamaGenerateRequest, {"prompt": "Hi"}),
    "/tokenize": (TokenizeRequest, {"content": "Hi"}),
    "/detokenize": (DetokenizeRequest, {"tokens": [1]}),
}
SERVED = Served("toy", 4096)
TRANSLATE: dict[str, Callable[[Any], Sequence[Request]]] = {
    "/v1/chat/completions": lambda body: chat_to_requests(body, Defaults()),
    "/v1/completions": lambda body: text_to_requests(body, Defaults()),
    "/v1/responses": lambda body: [responses_to_request(body, Defaults())],
    "/v1/messages": lambda body: [messages_to_request(body, Defaults())],
    "/v1/embeddings": lambda body: [embedding_to_request(body)],
    "/api/chat": lambda body: [] if body.is_empty else [ollama_to_request(body, SERVED, Defaults())],
    "/api/generate": lambda body: [] if body.is_empty else [ollama_to_request(body, SERVED, Defaults())],
    "/tokenize": lambda body: [tokenize_to_request(body)],
}
VALUES = [None, True, False, 0, -1, 1, 2**31, 2**63, -(2**64), 0.5, 1e308, 5.0, "", "a", "none", "json", "\ud83d", "\0"]
TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["👩‍👩‍👧", "\u202eabc", "e\u0301\u0323", "\ufeff", "𝒳", "\0", "<|im_end|>", "\ud83d"]),
)
FOX = "The quick brown fox jumps over the lazy dog."


@pytest.fixture(scope="module")
def engine() -> ScriptedEngine:
    return ScriptedEngine(context=2**20)


@pytest.fixture(scope="module")
def running(engine: ScriptedEngine) -> Iterator[Running]:
    limits = Limits(parallel=4, head_seconds=PATIENCE, body_seconds=PATIENCE)  # a busy computer may stop for a while
    with serving(engine, limits) as running:
        yield running


def value(dice: random.Random, depth: int = 3) -> Any:
    kind = dice.random()
    if depth and kind < 0.2:
        return [value(dice, depth - 1) for _ in range(dice.randrange(3))]
    if depth and kind < 0.4:
        names = [
            "type",
            "role",
            "content",
            "text",
            "function",
            "name",
            "arguments",
            "schema",
            "tool_calls",
            "input",
            "id",
        ]
        return {dice.choice(names): value(dice, depth - 1) for _ in range(dice.randrange(4))}
    kinds = ["text", "function", "tool_use", "tool_result", "image", "user", "assistant", "tool", "json_schema"]
    return dice.choice([*VALUES, *kinds])


def bodies(count: int) -> Iterator[tuple[str, bytes]]:
    """Yield paths and bodies: fields with values at random, some of them cut or damaged."""
    dice = random.Random(52)
    names = {path: [row.name for row in fields.supported(body)] for path, (body, _) in ROUTES.items()}
    for number in range(count):
        path, (_, needed) = dice.choice(list(ROUTES.items()))
        body = needed | {dice.choice(names[path]): value(dice) for _ in range(dice.randrange(1, 4))}
        data = json.dumps(body).encode()
        yield path, data if number % 10 else data[: dice.randrange(len(data))] + bytes([dice.randrange(256)])


@pytest.mark.slow
def test_20_000_bodies_are_translated_or_refused_in_a_sentence() -> None:
    for path, data in bodies(20_000):
        body_type, _ = ROUTES[path]
        try:
            body: Any = parse_request(data, body_type)
            translate = TRANSLATE.get(path)
            for request in translate(body) if translate else ():
                if isinstance(request, GenerationRequest):
                    losses_of(request)
        except (RefusedError, SettingsError) as error:  # a status from 400 to 499
            if not str(error).endswith((".", "?")):
                pytest.fail(f"{data!r}: {error}")


@pytest.mark.slow
def test_bodies_over_http_are_answered_or_refused_in_a_sentence(running: Running) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    with closing(http.client.HTTPConnection("127.0.0.1", running.port, timeout=PATIENCE)) as connection:
        for number, (path, data) in enumerate(bodies(400)):
            packed = {"Content-Encoding": "gzip"} if number % 7 == 0 else {}
            connection.request("POST", path, gzip.compress(data) if packed else data, headers | packed)
            reply = connection.getresponse()
            text = reply.read().decode()
            assert reply.status < 500, (path, data, text)
            if reply.status >= 400:
                error = json.loads(text)["error"]
                assert (error if path.startswith("/api/") else error["message"]).endswith((".", "?")), (data, text)


@pytest.fixture(scope="module")
def tokenizer(tiny_target: Path, tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = Path(shutil.copytree(tiny_target, tmp_path_factory.mktemp("templated") / "model"))
    (folder / "chat_template.jinja").write_text(histories.TEMPLATE, encoding="utf-8")
    return Tokenizer(folder)


@pytest.fixture(scope="module")
def reference(tiny_source: Path) -> histories.Reference:
    return histories.Reference(tiny_source)


ARGUMENTS = st.dictionaries(
    TEXTS, TEXTS | st.integers() | st.booleans() | st.none() | st.lists(TEXTS, max_size=2), max_size=2
)
SPOKEN = st.lists(TEXTS.filter(bool), min_size=1, max_size=3).map(tuple)
PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.compress,
    "br": brotli.compress,
}


@st.composite
def conversations(draw: st.DrawFn) -> list[Turn]:
    """Draw turns whose results are those of their calls, in order; some are missing."""
    turns = [Turn("system", draw(SPOKEN))] if draw(st.booleans()) else []
    for number in range(draw(st.integers(0, 3))):
        turns.append(Turn("user", draw(SPOKEN)))
        names = draw(st.lists(st.sampled_from([name for name, *_ in histories.TOOLS]), max_size=3))
        calls = tuple((f"c{number}{at}", name, draw(ARGUMENTS)) for at, name in enumerate(names))
        texts = draw(SPOKEN) if not calls or draw(st.booleans()) else ()
        is_whole = len(set(names)) < len(names)  # Ollama's API pairs by names alone
        results = tuple((id_, draw(TEXTS)) for id_, *_ in calls if is_whole or draw(st.integers(0, 4)))
        turns.append(Turn("assistant", texts, calls, results))
    if not turns or not turns[-1].results or draw(st.booleans()):
        turns.append(Turn("user", draw(SPOKEN)))
    return turns


@dataclass(frozen=True)
class Case:
    """A conversation as a client of each route sends it."""

    turns: list[Turn]
    sent: dict[str, list[Turn]]  # by path: the results of a turn in any order
    doubled: tuple[str, list[Turn]] | None  # a path, and the conversation with a result too many
    packing: str
    is_ascii: bool


@st.composite
def cases(draw: st.DrawFn) -> Case:
    turns = draw(conversations())
    sent = {path: [_shuffled(draw, turn, by_name=path == "/api/chat") for turn in turns] for path in histories.ROUTES}
    answered = [at for at, turn in enumerate(turns) if turn.results]
    doubled = None
    if answered:
        at = draw(st.sampled_from(answered))
        turn = replace(turns[at], results=(*turns[at].results, *turns[at].results[:1]))
        path_with_ids = draw(st.sampled_from([path for path in histories.ROUTES if path != "/api/chat"]))
        doubled = path_with_ids, [*turns[:at], turn, *turns[at + 1 :]]
    return Case(turns, sent, doubled, draw(st.sampled_from(list(PACK))), draw(st.booleans()))


def _shuffled(draw: st.DrawFn, turn: Turn, *, by_name: bool) -> Turn:
    """Return a turn with its results in another order; `by_name`: those of one tool keep theirs."""
    results = draw(st.permutations(turn.results))
    if by_name:
        names = {id_: name for id_, name, _ in turn.calls}
        places = {id_: at for at, (id_, _) in enumerate(turn.results)}
        queues = {
            name: sorted((r for r in results if names[r[0]] == name), key=lambda r: places[r[0]])
            for name in names.values()
        }
        results = [queues[names[id_]].pop(0) for id_, _ in results]
    return replace(turn, results=tuple(results))


# The prompt of a request to a route; None if the request is refused.
PromptOf = Callable[[str, bytes, str], list[int] | None]


def check_history(prompt_of: PromptOf, reference: histories.Reference, case: Case) -> None:
    """Send a conversation in four ways, and once with a result too many."""
    expected = reference.prompt(case.turns)
    for path, turns in case.sent.items():
        body = encoded(histories.ROUTES[path](turns), ascii_=case.is_ascii)
        assert prompt_of(path, body, case.packing) == expected, path
    if case.doubled:
        path, turns = case.doubled
        body = encoded(histories.ROUTES[path](turns), ascii_=case.is_ascii)
        assert prompt_of(path, body, case.packing) is None


def encoded(body: dict[str, Any], *, ascii_: bool) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=ascii_).encode()
    except UnicodeEncodeError:  # UTF-8 has no halves of surrogate pairs; escapes have them
        return json.dumps(body).encode()


@fuzz("histories", 12)
@given(cases())
def test_histories_give_the_same_prompt_on_four_routes(
    running: Running,
    engine: ScriptedEngine,
    tokenizer: Tokenizer,
    reference: histories.Reference,
    case: Case,
) -> None:
    def prompt_of(path: str, body: bytes, packing: str) -> list[int] | None:
        headers = {"Content-Encoding": packing} if packing else {}
        status, _, text = running.ask("POST", path, headers, PACK[packing](body))
        assert status in {200, 400}, text
        return tokenizer.prompt_of(engine.requests[-1], sys.maxsize) if status == 200 else None

    check_history(prompt_of, reference, case)


@pytest.mark.slow
@fuzz("many histories", 500)
@given(cases())
def test_many_histories_give_the_same_prompt_on_four_routes(
    tokenizer: Tokenizer, reference: histories.Reference, case: Case
) -> None:
    def prompt_of(path: str, body: bytes, _: str) -> list[int] | None:
        try:
            [request] = TRANSLATE[path](parse_request(body, ROUTES[path][0]))
        except RefusedError:
            return None
        assert isinstance(request, GenerationRequest)
        return tokenizer.prompt_of(request, sys.maxsize)

    check_history(prompt_of, reference, case)
