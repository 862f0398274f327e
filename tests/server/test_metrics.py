"""The counts of /metrics, and the root path."""

import json
import threading

from tests.server.serving import chat_body, serving
from tests.stand_ins.fakes import ScriptedEngine
from tests.waiting import wait_until

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
