"""The counts of /metrics, and the root path."""

import http.client
import json
import struct
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import Event, Finish, FinishReason, Request, VectorsRequest, no_stats
from headstart.server.models import OneModel, Served
from tests.server.serving import KEY, ReportRecorder, chat_body, serving
from tests.stand_ins.fakes import ScriptedEngine
from tests.support.waiting import PATIENCE, wait_until

CHAT = "/v1/chat/completions"


def test_metrics_count_requests_tokens_and_seconds() -> None:
    with serving(ScriptedEngine()) as running:
        before = running.metrics()
        for stream in ("false", "true"):
            assert running.ask("POST", CHAT, body=chat_body(stream=stream))[0] == 200
        running.ask("POST", CHAT, body="{")
        running.ask("GET", "/v1/models/toy")
        running.ask("HEAD", "/api/blobs/sha256:0")
        running.ask("HEAD", "/api/blobs/sha256:1/")
        for path in ("/a", '/b"}', "/c\n"):
            running.ask("GET", path.strip())
        told = running.metrics()
    assert before["headstart_generation_tokens_total"] == before["headstart_time_to_first_token_seconds_count"] == 0
    requests = {name: count for name, count in told.items() if name.startswith("headstart_requests_total")}
    assert requests == {
        f'headstart_requests_total{{route="{CHAT}",status="200"}}': 2,
        f'headstart_requests_total{{route="{CHAT}",status="400"}}': 1,
        'headstart_requests_total{route="/metrics",status="200"}': 1,
        'headstart_requests_total{route="/v1/models/{model}",status="200"}': 1,
        'headstart_requests_total{route="/api/blobs/{digest}",status="400"}': 2,
        'headstart_requests_total{route="other",status="404"}': 3,
    }
    # The prompt has a word, the answer nine; five of seven guesses hold.
    counts = {"prompt": 2, "prompt_tokens_cached": 0, "generation": 18, "draft": 14, "draft_tokens_accepted": 10}
    for name, count in counts.items():
        assert told[f"headstart_{name}{'' if '_' in name else '_tokens'}_total"] == count
    seconds = "headstart_time_to_first_token_seconds"
    assert told[f"{seconds}_count"] == told[f'{seconds}_bucket{{le="+Inf"}}'] == 2
    assert told[f"{seconds}_sum"] > 0


class _Vectors:
    """A vector for each text, each of which has one token."""

    def generate(self, request: Request, _cancel: CancelEvent | None = None) -> Iterator[Event]:
        assert isinstance(request, VectorsRequest)
        stats = replace(no_stats(), prompt_tokens=len(request.inputs))
        yield Finish(FinishReason.STOP, stats, (), vectors=(struct.pack("<f", 1.0),) * len(request.inputs))

    def close(self) -> None:
        """Do nothing: nothing is held."""


def _asking(**fields: Any) -> str:
    return json.dumps({**json.loads(chat_body()), **fields})


def test_tokens_are_those_of_the_usage() -> None:
    """A prompt counts once, however many answers it has."""
    reports = ReportRecorder()
    with serving(ScriptedEngine(), tell=reports.take) as running:
        for body in (_asking(n=3), _asking(n=2, stream=True, stream_options={"include_usage": True})):
            assert '"prompt_tokens":1,' in running.ask("POST", CHAT, body=body)[2]
        assert (reports.ended(1).prompt_tokens, reports.ended(1).output_tokens) == (1, 27)
        texts = json.dumps({"prompt": ["Hi", "Oh"], "n": 2})
        assert '"prompt_tokens":2,' in running.ask("POST", "/v1/completions", body=texts)[2]
        told = running.metrics()
    assert told["headstart_prompt_tokens_total"] == 4
    assert told["headstart_generation_tokens_total"] == (3 + 2 + 4) * 9


def test_tokens_of_embeddings_are_counted() -> None:
    reports = ReportRecorder()
    models = OneModel(Served("vectors", 1024, dimensions=1), _Vectors())
    with serving(_Vectors(), models=models, usual="vectors", tell=reports.take) as running:
        for path, body in (
            ("/v1/embeddings", {"input": ["Hi", "Oh"]}),
            ("/v1/rerank", {"query": "a", "documents": ["b", "c"]}),
        ):
            assert running.ask("POST", path, body=json.dumps(body))[0] == 200
        assert running.metrics()["headstart_prompt_tokens_total"] == 5
        assert reports.ended(1).prompt_tokens == 2


def test_tokens_of_a_client_that_left_are_counted() -> None:
    with serving(ScriptedEngine(["word " * 400], pause=0.01)) as running:
        with closing(http.client.HTTPConnection("127.0.0.1", running.port, timeout=PATIENCE)) as leaving:
            leaving.request("POST", CHAT, chat_body(stream="true"), {"Authorization": f"Bearer {KEY}"})
            reply = leaving.getresponse()
            assert next(line for line in reply if b"word" in line)
        wait_until(lambda: running.metrics()["headstart_prompt_tokens_total"] == 1)
        assert 0 < running.metrics()["headstart_generation_tokens_total"] < 400


def test_metrics_have_the_queue() -> None:
    with serving(ScriptedEngine(["word " * 4000], pause=0.05)) as running:
        asking = [
            threading.Thread(target=running.ask, args=("POST", CHAT), kwargs={"body": chat_body()}) for _ in "abc"
        ]
        for each in asking:
            each.start()
        wait_until(lambda: running.waiting == 2)
        running.server.stop()
        for each in asking:
            each.join()


def test_metrics_need_the_key_and_the_root_does_not() -> None:
    with serving(ScriptedEngine()) as running:
        assert running.ask("GET", "/metrics", {"Authorization": ""})[0] == 401
        status, _, body = running.ask("GET", "/", {"Authorization": ""})
        assert (status, json.loads(body)) == (200, {"status": "ok"})
