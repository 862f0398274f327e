"""The memory that a model or a pair takes, against what `engine/loading/memory.py` said. Prints JSON; Linux only.

HEADSTART_HOME=... PYTHONPATH=app python app/bench/passes/memory.py qwen2.5-coder --contexts 2048 8192
"""

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import headstart
from headstart.engine.engine import ConversationRequest, KvPrecision, LoadOptions, Message, Mode, Speculation
from headstart.engine.hardware.devices import describe
from headstart.engine.loading import memory
from headstart.engine.local import LocalEngine, load
from headstart.engine.opening import resolve
from headstart.engine.process import huge_pages
from headstart.library import library

_ANSWER = 64  # tokens: enough for the draft model to have read everything and guessed
_ROOM = _ANSWER + 64


def main() -> None:
    """Measure each context in a process of its own, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", help="an installed model or pair")
    parser.add_argument("--draft", help="another draft, or none")
    parser.add_argument("--contexts", type=int, nargs="+", default=[2048, 8192])
    parser.add_argument("--kv", type=KvPrecision, default=KvPrecision.AUTO, help="how keys and values are kept")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(_measure(given, given.contexts[0])))
        return
    found = []
    for context in given.contexts:
        draft = ["--draft", given.draft] if given.draft else []
        command = [
            sys.executable,
            __file__,
            given.model,
            *draft,
            "--kv",
            given.kv,
            "--child",
            "--contexts",
            str(context),
        ]
        variables = {**os.environ, **huge_pages.tunables(os.environ)}  # as the program itself starts
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
        found.append(json.loads(done.stdout))
    print(json.dumps({"model": given.model, "device": describe("CPU").device, "measured": found}, indent=2))


def _measure(given: argparse.Namespace, context: int) -> dict[str, object]:
    """Load a model, fill its context, and return this process's memory after each."""
    choice = library.choose(given.model, given.draft)
    models = [choice.target.manifest, *([choice.draft.manifest] if choice.draft else [])]
    expected = memory.need(models, context, memory.kv_bits(given.kv))
    started = time.perf_counter()
    with closing(
        load(resolve(LoadOptions(choice.target.folder, choice.draft_folder, context=context, kv_precision=given.kv)))
    ) as engine:
        seconds, loaded = round(time.perf_counter() - started, 1), _held()
        _fill(engine)
        filled = _held()
    return {
        "context": context,
        "kv": given.kv,
        "load_seconds": seconds,
        "loaded_mb": loaded["VmRSS"],
        "loading_peak_mb": loaded["VmHWM"],
        "resident_mb": filled["VmRSS"],
        "peak_mb": filled["VmHWM"],
        "told": {
            f"{name}_mb": getattr(expected, name) >> 20
            for name in ("loading", "resident", "weights", "context", "program")
        },
        "resident_told_against_measured": round((expected.resident >> 20) / filled["VmRSS"], 3),
    }


def _fill(engine: LocalEngine) -> None:
    """Ask about Headstart's own sources, cut to nearly fill the context."""
    room = engine.target.runner.context - _ROOM
    sources = sorted(Path(headstart.__file__).parent.rglob("*.py"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)[: room * 5]
    while (tokens := len(engine.tokenizer.prompt((Message("user", text),)))) > room:
        text = text[: int(len(text) * room / tokens) - 8]
    speculation = Speculation(Mode.FIXED, num_assistant_tokens=4)
    asked = ConversationRequest(
        (Message("user", text),), max_new_tokens=_ANSWER, speculation=speculation, stop_on_repetition=False
    )
    for _ in engine.generate(asked):
        pass


def _held() -> dict[str, int]:
    """Return this process's memory in MiB, as the system counts it."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return {line.split(":")[0]: int(line.split()[1]) // 1024 for line in lines if line.startswith(("VmRSS", "VmHWM"))}


if __name__ == "__main__":
    main()
