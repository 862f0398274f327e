"""Speaks as llama.cpp's server does, as far as the benchmark asks; run as a program.

It answers with the prompt's last tokens over and over. A model named "broken" ends it; "busy" refuses to complete, and
so does "tired" from the fifth time on.
"""

import argparse
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import takewhile
from pathlib import Path
from typing import ClassVar


class Replies(BaseHTTPRequestHandler):
    """The handler of a request."""

    drafted = 0  # tokens a round
    asked = 0
    slots: ClassVar[dict[int, list[int]]] = {}

    def do_GET(self) -> None:
        """Report that the server is ready."""
        self._reply(200 if self.path == "/health" else 404, {"status": "ok"})

    def do_POST(self) -> None:
        """Send an answer."""
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Replies.asked += 1
        is_tired = "tired" in sys.argv[2] and self.asked > 4
        if self.path != "/completion" or "busy" in sys.argv[2] or is_tired:
            self._reply(500, {})
            return
        prompt, slot = order["prompt"], order.get("id_slot", 0)
        same = zip(prompt[:-1], self.slots.get(slot, []), strict=False)
        held = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], same)) if order["cache_prompt"] else 0
        count, length = order["n_predict"], self.drafted
        tokens = [order["prompt"][-1 - place % 3] for place in range(count)]
        self.slots[slot] = prompt + tokens
        times = {"prompt_n": len(prompt) - held, "prompt_ms": 30.0, "predicted_ms": 10.0 * (count - 1)}
        times |= {"draft_n": 2 * length, "draft_n_accepted": length} if length else {}
        self._reply(200, {"tokens": tokens, "timings": times})

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def _reply(self, status: int, body: object) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    for name in (
        "--model",
        "--host",
        "--model-draft",
        "--ctx-size",
        "--parallel",
        "--spec-type",
        "--threads",
        "--spec-draft-p-min",
    ):
        parser.add_argument(name)
    parser.add_argument("--port", type=int)
    parser.add_argument("--spec-draft-n-max", type=int, default=0)
    options = parser.parse_args()
    Replies.drafted = options.spec_draft_n_max
    if Path(options.model).name == "broken":
        sys.exit("error: failed to load model")
    HTTPServer((options.host, options.port), Replies).serve_forever()


if __name__ == "__main__":
    main()
