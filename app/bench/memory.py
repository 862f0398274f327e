"""What a model or a pair takes in memory, against what `engine/memory.py` said before. Prints JSON; Linux only.

HEADSTART_HOME=... PYTHONPATH=app python app/bench/memory.py qwen2.5-coder --contexts 2048 8192
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
from headstart import huge_pages, library
from headstart.engine import memory
from headstart.engine.devices import describe
from headstart.engine.engine import KvPrecision, LoadOptions, Message, Mode, Request, Speculation
from headstart.engine.local import LocalEngine, load

_STATUS = Path("/proc/self/status")
_ANSWER = 64  # tokens: enough for the draft model to have read everything and guessed
_ROOM = _ANSWER + 64


def main() -> None:
    """Measure each context in a process of its own, and print."""
    given = _parser().parse_args()
    if given.child:
        print(json.dumps(_measure(given, given.contexts[0])))
        return
    found = [_in_a_child(given, context) for context in given.contexts]
    print(json.dumps({"model": given.model, "device": describe("CPU").device, "measured": found}, indent=2))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("model", help="an installed model or pair")
    parser.add_argument("--draft", help="another draft, or none")
    parser.add_argument("--contexts", type=int, nargs="+", default=[2048, 8192])
    parser.add_argument("--kv", type=KvPrecision, default=KvPrecision.AUTO, help="how keys and values are kept")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser


def _in_a_child(given: argparse.Namespace, context: int) -> dict[str, object]:
    command = [sys.executable, __file__, given.model, "--child", "--contexts", str(context)]
    command += ["--draft", given.draft] if given.draft else []
    command += ["--kv", given.kv]
    variables = {**os.environ, **huge_pages.wished(os.environ)}  # as the program itself starts
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def _measure(given: argparse.Namespace, context: int) -> dict[str, object]:
    """Load, have an answer written at the end of a full context, and look at this process after each."""
    choice = library.choose(given.model, given.draft)
    models = [choice.target.manifest, *([choice.draft.manifest] if choice.draft else [])]
    told = memory.need(models, context, given.kv)
    folder = choice.draft.folder if choice.draft else None
    options = LoadOptions(choice.target.folder, folder, context=context, kv_precision=given.kv)
    started = time.perf_counter()
    with closing(load(options)) as engine:
        loaded, seconds, loading = _held("VmRSS"), time.perf_counter() - started, _held("VmHWM")
        _fill(engine)
        resident, peak = _held("VmRSS"), _held("VmHWM")
    return {
        "context": context,
        "kv": given.kv,
        "load_seconds": round(seconds, 1),
        "loaded_mb": loaded,
        "loading_peak_mb": loading,
        "resident_mb": resident,
        "peak_mb": peak,
        "told": {
            "loading_mb": told.loading >> 20,
            "resident_mb": told.resident >> 20,
            "weights_mb": told.weights >> 20,
            "context_mb": told.context >> 20,
            "program_mb": told.program >> 20,
        },
        "resident_told_against_measured": round((told.resident >> 20) / resident, 3),
    }


def _fill(engine: LocalEngine) -> None:
    room = engine.target.runner.context - _ROOM
    request = Request(
        _question(engine, room),
        max_new_tokens=_ANSWER,
        speculation=Speculation(Mode.FIXED, num_assistant_tokens=4),
        stop_on_repetition=False,
    )
    for _ in engine.generate(request):
        pass


def _question(engine: LocalEngine, room: int) -> tuple[Message, ...]:
    """Headstart's own sources as a text of nearly `room` tokens."""
    sources = sorted(Path(headstart.__file__).parent.rglob("*.py"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)[: room * 5]
    messages = (Message("user", text),)
    while (tokens := len(engine.tokenizer.prompt(messages))) > room:
        text = text[: int(len(text) * room / tokens) - 8]
        messages = (Message("user", text),)
    return messages


def _held(field: str) -> int:
    """MiB by the system's own account of this process."""
    lines = _STATUS.read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:")) // 1024


if __name__ == "__main__":
    main()
