"""Models by name: the list of them, loading at a request, and the order of requests that wait."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import openai
import pytest

from headstart.engine.engine import ConversationRequest, Event, Request
from headstart.errors import BrokenModelError, MemoryBudgetError
from headstart.server import keys
from headstart.server.models import LoadedModels, OpenModel, Served
from headstart.server.worker import Limits
from tests.server.serving import KEY, ReportRecorder, Running, chat_body, serving
from tests.stand_ins.fakes import ScriptedEngine
from tests.support.waiting import PATIENCE, wait_until

NAMES = ("Alpha", "beta", "gamma")
HI: Any = [{"role": "user", "content": "Hi"}]


class Shelf:
    """Engines that return the name of their model; `room`: how many fit into memory."""

    def __init__(self, keep: int = 1, room: int = 9) -> None:
        self.loaded: list[str] = []
        self.engines: dict[str, ScriptedEngine] = {}
        self.may_load = threading.Event()
        self.may_load.set()
        self._room = room
        self.models = LoadedModels(lambda: [Served(name, 100) for name in NAMES], self._load, keep)

    @property
    def open(self) -> set[str]:
        return {name for name, engine in self.engines.items() if not engine.closed}

    def _load(self, name: str) -> OpenModel:
        assert self.may_load.wait(PATIENCE)
        if name == "gamma":
            raise BrokenModelError("gamma is damaged.")
        if len(self.open) >= self._room:
            raise MemoryBudgetError("There is no room.")
        self.loaded.append(name)
        self.engines[name] = ScriptedEngine([name])
        return OpenModel(self.engines[name], 64)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def running(shelf: Shelf, **order: Any) -> Any:
    return serving(ScriptedEngine(), models=shelf.models, **order)


def asked(client: openai.OpenAI, model: str) -> str:
    return client.chat.completions.create(model=model, messages=HI).choices[0].message.content or ""


def test_models_are_listed_with_their_context(shelf: Shelf) -> None:
    with running(shelf) as server, server.client() as client:
        listed = [model.to_dict() for model in client.models.list()]
        assert [model["id"] for model in listed] == list(NAMES)
        assert listed[0]["context_length"] == listed[0]["max_model_len"] == 100
        assert "tools" in listed[0]["capabilities"]
        asked(client, "Alpha")
        assert client.models.retrieve("Alpha").to_dict()["context_length"] == 64, "as it was loaded"
    assert shelf.engines["Alpha"].requests[0].max_new_tokens == 50, "half of the context that was expected"


@pytest.mark.parametrize("is_batch_invariant", [True, False])
def test_fingerprint_tells_whether_an_answer_repeats(is_batch_invariant: bool) -> None:
    def fingerprint(arithmetic: str) -> str:
        engine = ScriptedEngine(["Hello."] * 3)
        opened = OpenModel(engine, arithmetic=arithmetic, is_batch_invariant=is_batch_invariant)
        models = LoadedModels(lambda: [Served("Alpha", 100)], lambda _: opened)
        with serving(ScriptedEngine(), models=models) as server, server.client() as client:
            create = client.chat.completions.create
            replies = [create(model="Alpha", messages=HI).system_fingerprint for _ in range(2)]
            replies += [event.system_fingerprint for event in create(model="Alpha", messages=HI, stream=True)]
        (one,) = {str(each) for each in replies if each}  # an event that comes while a client waits long has none
        return one

    fingerprints = {fingerprint(arithmetic) for arithmetic in ("f32", "bf16")}
    assert len(fingerprints) == 2
    assert {each.endswith("-varies") for each in fingerprints} == {not is_batch_invariant}


def test_named_model_is_loaded_and_replaces_another(shelf: Shelf) -> None:
    with running(shelf) as server, server.client() as client:
        assert [asked(client, name) for name in ("beta", "Alpha", "alpha", "openai/ALPHA", "beta")] == [
            *("beta", "Alpha", "Alpha", "Alpha", "beta")
        ]
        assert shelf.loaded == ["beta", "Alpha", "beta"]
        assert shelf.open == {"beta"}
        with pytest.raises(openai.NotFoundError, match="'Alpha', 'beta', 'gamma'"):
            asked(client, "delta")
        with pytest.raises(openai.APIStatusError, match="gamma is damaged"):
            asked(client, "gamma")
        assert asked(client, "beta") == "beta"


PREFIXED = ("openai/beta", "anthropic/beta", "ollama/beta:latest", "local/beta", "headstart/beta", "openai/local/Beta")
ALIASES = ("code", "CODE", "anthropic/claude-haiku-4-5[1m]", "claude-:latest")


@pytest.mark.parametrize("name", ["beta", " beta\n", "BETA", "beta:latest", *PREFIXED, *ALIASES])
def test_names_of_other_programs_are_found(shelf: Shelf, name: str) -> None:
    aliases = (("claude-*", "beta"), ("claude-sonnet-*", "gamma"), ("Code", "beta"), ("*a", "gamma"))
    with running(shelf, aliases=aliases) as server, server.client() as client:
        reply = client.chat.completions.create(model=name, messages=HI)
        assert (reply.choices[0].message.content, reply.model) == ("beta", "beta")
        with pytest.raises(openai.NotFoundError, match="'Alpha', 'beta', 'gamma', 'Code'"):
            asked(client, "gpt")
        assert [model.id for model in client.models.list()] == [*NAMES, "Code"]
        assert client.models.retrieve("Code").id == "Code"
        assert client.models.retrieve("claude-opus").id == "beta"


ROUTES = {
    "/v1/chat/completions": {"messages": HI},
    "/v1/completions": {"prompt": "Hi"},
    "/v1/responses": {"input": "Hi"},
    "/v1/messages": {"messages": HI, "max_tokens": 9},
    "/tokenize": {"content": "Hi"},
    "/detokenize": {"tokens": [1]},
}


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("blank", [{}, {"model": None}, {"model": ""}, {"model": "  "}])
def test_request_without_a_name_loads_no_other_model(shelf: Shelf, path: str, blank: dict[str, Any]) -> None:
    body = json.dumps(ROUTES[path] | blank)
    with running(shelf, usual="") as server, server.client() as client:
        status, _, told = server.ask("POST", path, body=body)
        assert (status, json.loads(told)["error"]["type"]) == (400, "invalid_request_error")
        assert "'Alpha', 'beta', 'gamma'" in told
        asked(client, "beta")
        assert server.ask("POST", path, body=body)[0] == 200
    assert shelf.loaded == ["beta"]


def test_endless_name_is_unknown(shelf: Shelf) -> None:
    with running(shelf) as server, server.client() as client, pytest.raises(openai.NotFoundError):
        asked(client, "openai/" * 100_000 + "beta" + ":latest" * 100_000)


def test_request_without_a_name_takes_the_model_used_last() -> None:
    shelf = Shelf(keep=2)
    with running(shelf, usual="beta") as server, server.client() as client:
        assert asked(client, "") == "beta", "the one that was named at the start"
        assert [asked(client, name) for name in ("Alpha", "", "beta", "")] == ["Alpha", "Alpha", "beta", "beta"]
        with pytest.raises(openai.APIStatusError, match="gamma is damaged"):
            asked(client, "gamma")
        assert asked(client, "") == "beta"
    assert shelf.loaded == ["beta", "Alpha"]


def test_request_without_a_name_waits_for_a_model_that_is_being_loaded(shelf: Shelf) -> None:
    shelf.may_load.clear()
    with running(shelf, usual="Alpha") as server, stream(server, chat_body("1", "true", "beta")) as first:
        assert first.readline().startswith(b'data: {"id":"chatcmpl-')
        with stream(server, chat_body("2", "true", "")) as second:
            shelf.may_load.set()
            assert first.read().endswith(b"[DONE]\n\n")
            assert b"beta" in second.read()
    assert shelf.loaded == ["beta"]


@pytest.mark.parametrize(("keep", "room", "both"), [(2, 9, True), (2, 1, False)])
def test_models_stay_in_memory_where_they_fit(keep: int, room: int, *, both: bool) -> None:
    shelf = Shelf(keep, room)
    with running(shelf) as server, server.client() as client:
        assert [asked(client, name) for name in ("beta", "Alpha", "beta")] == ["beta", "Alpha", "beta"]
    assert (shelf.loaded == ["beta", "Alpha"]) == both
    assert len(shelf.open) == (2 if both else 1)


def test_idle_models_are_freed_and_loaded_again(shelf: Shelf) -> None:
    with running(shelf, limits=Limits(idle_seconds=0.2)) as server, server.client() as client:
        assert asked(client, "beta") == "beta"
        wait_until(lambda: not shelf.open)
        assert asked(client, "beta") == "beta"
    assert shelf.loaded == ["beta", "beta"]


def test_stream_begins_while_it_waits_for_loading_and_for_its_turn(shelf: Shelf) -> None:
    shelf.may_load.clear()
    body = chat_body("Hi", "true", "beta")
    with running(shelf) as server, stream(server, body) as first, stream(server, body) as second:
        for waiting in (first, second):
            assert (waiting.status, waiting.readline()[:6]) == (200, b"data: ")
        shelf.may_load.set()
        assert first.read().endswith(b"[DONE]\n\n")
        assert second.read().endswith(b"[DONE]\n\n")


@contextmanager
def stream(server: Running, body: str, key: str = KEY) -> Iterator[http.client.HTTPResponse]:
    """Return the reply to a request, beginning with its head."""
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)) as connection:
        connection.request("POST", "/v1/chat/completions", body, {"api-key": key})
        with connection.getresponse() as reply:
            yield reply


@pytest.mark.parametrize("most", [2, 1])
def test_answers_run_in_parallel_with_one_model_at_a_time(most: int) -> None:
    class Slow(ScriptedEngine):
        def generate(self, request: Request, cancel: threading.Event | None = None) -> Iterator[Event]:
            assert isinstance(request, ConversationRequest)
            at_work.append(request.messages[0].content)
            seen.append(sorted(at_work))
            if len(seen) <= 2 and most > 1:
                assert both.wait(PATIENCE) is not None
            yield from super().generate(request, cancel)
            at_work.remove(request.messages[0].content)

    at_work, seen, both = list[str](), list[list[str]](), threading.Barrier(2)
    models = LoadedModels(lambda: [Served(name, 100) for name in NAMES], lambda name: OpenModel(Slow([name]), 64, most))
    wanted = [("1", "beta"), ("2", "beta"), ("3", "Alpha"), ("4", "beta")]
    with serving(ScriptedEngine(), models=models, limits=Limits(parallel=2)) as server, ExitStack() as replies:
        asked = []
        for text, model in wanted:
            asked.append(replies.enter_context(stream(server, chat_body(text, "true", model))))
        for reply in asked:
            assert reply.read().endswith(b"[DONE]\n\n")
    assert seen[1] == (["1", "2"] if most > 1 else ["2"])
    assert ["3"] in seen
    assert max(map(len, seen)) == most


def test_model_is_not_loaded_after_a_disconnect() -> None:
    def load(name: str) -> OpenModel:
        loaded.append(name)
        return OpenModel(ScriptedEngine([name], before_round=lambda *_: may_end.wait(PATIENCE)), parallel=2)

    may_end, loaded, recorder = threading.Event(), list[str](), ReportRecorder()
    models = LoadedModels(lambda: [Served(name, 100) for name in NAMES], load)
    with serving(ScriptedEngine(), models=models, limits=Limits(parallel=2), tell=recorder.take) as server:
        with stream(server, chat_body("1", "true", "beta")) as first:
            assert first.readline().startswith(b'data: {"id":"chatcmpl-')
            body = chat_body("2", "true", "Alpha")
            with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)) as second:
                second.request("POST", "/v1/chat/completions", body, {"api-key": KEY})
                wait_until(lambda: len(recorder.paths) == 2)
            recorder.ended(2)
            may_end.set()
            assert first.read().endswith(b"[DONE]\n\n")
        with stream(server, chat_body("3", "true", "beta")) as third:
            assert third.read().endswith(b"[DONE]\n\n")
    assert loaded == ["beta"]


@pytest.mark.parametrize("leaves", [True, False])
def test_request_for_another_model_delays_no_tokens_and_once_it_has_left_nobody(*, leaves: bool) -> None:
    def wait(request: int, _number: int) -> None:
        if request == 1:
            may_end.wait(PATIENCE)

    may_end = threading.Event()
    engines = {"beta": ScriptedEngine(["beta"], before_round=wait), "Alpha": ScriptedEngine(["Alpha"])}
    models = LoadedModels(lambda: [Served(name, 100) for name in engines], lambda name: OpenModel(engines[name], 0, 2))
    with (
        serving(ScriptedEngine(), models=models, limits=Limits(parallel=2)) as server,
        stream(server, chat_body("1", "true", "beta")) as first,
    ):
        assert first.readline().startswith(b'data: {"id":"chatcmpl-')
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)) as second:
            second.request("POST", "/v1/chat/completions", chat_body("2", model="Alpha"), {"api-key": KEY})
            wait_until(lambda: server.waiting == 1)
            status, _, text = server.ask("POST", "/tokenize", body='{"model":"beta","prompt":"one two"}')
            assert (status, json.loads(text)["count"]) == (200, 2)
            if not leaves:
                may_end.set()
                assert b"Alpha" in second.getresponse().read()
        with stream(server, chat_body("3", "true", "beta")) as third:
            assert third.read().endswith(b"[DONE]\n\n")
        assert (server.waiting, may_end.is_set()) == (0, not leaves)
        may_end.set()
        assert first.read().endswith(b"[DONE]\n\n")


@pytest.mark.parametrize("model", ["beta", ""])
def test_server_whose_models_were_all_removed_says_so(model: str) -> None:
    with serving(ScriptedEngine(), models=LoadedModels(list, lambda _: OpenModel(ScriptedEngine()))) as server:
        status, _, text = server.ask("POST", "/v1/chat/completions", body=chat_body(model=model))
        assert (status, json.loads(text)["error"]["code"]) == (404, "model_not_found")
        assert "No model is installed" in text


def test_queue_is_fair_between_clients(shelf: Shelf) -> None:
    accepted = {"many": keys.digest("many"), "other": keys.digest("other")}
    shelf.may_load.clear()
    with running(shelf, keys=tuple(accepted.values())) as server, ExitStack() as replies:
        asked = [
            replies.enter_context(stream(server, chat_body(f"{key} {number}", "true", "beta"), key))
            for number, key in enumerate(("many", "many", "many", "other", "many", "other"))
        ]
        shelf.may_load.set()
        for reply in asked:
            assert reply.read().endswith(b"[DONE]\n\n")
    order = [request.messages[0].content for request in shelf.engines["beta"].requests]
    assert order == ["many 0", "other 3", "many 1", "other 5", "many 2", "many 4"]
