"""An engine's process that records the answers of real models, or plays them again without models.

python -m bench.window.tape record FILE    everything is passed on to the real engine and written down
python -m bench.window.tape play FILE      the same orders get the same reports, each figure as it was measured
python -m bench.window.tape replay FILE    likewise, each round as long as it took
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headstart import engine_process
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import ConversationRequest, Event, Finish, LoadOptions, Message, Prefill, Request, Step
from headstart.engine.opening import LoadedEngine, LocalModels, Tell
from headstart.engine.protocol import Bench, Description, ModelInfo
from headstart.engine.tuning.messages import Findings, Tune, TuneDecided, TuneReport
from headstart.engine.wire import from_data, to_data

_KINDS: Mapping[str, type[Prefill | Step | Finish]] = {"Prefill": Prefill, "Step": Step, "Finish": Finish}
_PACE = 0.01  # seconds a round, played: the window shall show it growing


class Tape:
    """The recorded answers by request, saved whenever they grow."""

    def __init__(self, path: Path) -> None:
        """Read a file; an empty tape if there is none."""
        self._path = path
        self._content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def get(self, kind: str, key: object) -> Any:
        """Return the stored value; None if there is none."""
        return self._content.get(kind, {}).get(json.dumps(key, ensure_ascii=False))

    def put(self, kind: str, key: object, value: object) -> None:
        """Store a value."""
        self._content.setdefault(kind, {})[json.dumps(key, ensure_ascii=False)] = to_data(value)
        text = json.dumps(_rounded(self._content), ensure_ascii=False, separators=(",", ":"))
        self._path.write_text(text.replace('},{"type"', '},\n{"type"') + "\n", encoding="utf-8")


def said_in(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Return the key of an answer, by the fields that messages had when the tape was made."""
    return [{"role": message.role, "content": message.content} for message in messages]


class _TapedEngine:
    """Implements Engine: answers from a tape, or another engine's answers, which it records."""

    def __init__(self, tape: Tape, model_info: ModelInfo, engine: Any = None, *, in_time: bool = False) -> None:
        self._tape, self._model_info, self._engine, self._in_time = tape, model_info, engine, in_time

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        assert isinstance(request, ConversationRequest), "a tape has conversations"
        asked = [said_in(request.messages), request.speculation.mode.value]
        if self._engine:
            events = []
            for event in self._engine.generate(request, cancel):
                events.append({"type": type(event).__name__, **to_data(event)})
                yield event
            self._tape.put("answers", asked, events)
            return
        for data in self._tape.get("answers", asked):
            event = from_data(_KINDS[data["type"]], data)
            if isinstance(event, Step):
                time.sleep(event.round.timing.total_ms / 1000.0 if self._in_time else _PACE)
            yield event

    def close(self) -> None:
        if self._engine:
            self._engine.close()


class RecordedModels(LocalModels):
    """The models of this computer, recorded on a tape."""

    def __init__(self, tape: Tape) -> None:
        """Load nothing yet."""
        super().__init__()
        self._tape = tape

    def open(self, options: LoadOptions, tell: Tell) -> LoadedEngine:
        opened = super().open(options, tell)
        self._tape.put("facts", "", opened.model_info)

        def count(request: ConversationRequest | None, text: str) -> int:
            found = opened.count(request, text)
            self._tape.put("counts", [said_in(request.messages if request else ()), text], found)
            return found

        def bench(order: Bench, tell: Any, cancel: CancelEvent) -> Mapping[str, Any]:
            found = opened.bench(order, tell, cancel)
            self._tape.put("bench", to_data(order.size), found)
            return found

        return LoadedEngine(_TapedEngine(self._tape, opened.model_info, opened.engine), opened.model_info, count, bench)

    def describe(self) -> Description:
        found = super().describe()
        self._tape.put("description", "", found)
        return found

    def tune(self, order: Tune, tell: Callable[[TuneReport], None], cancel: CancelEvent) -> Findings:
        found = super().tune(order, tell, cancel)
        self._tape.put("tuning", "", found)
        return found


class Playing:
    """Implements Models: the models on a tape."""

    def __init__(self, tape: Tape, *, in_time: bool) -> None:
        """`in_time`: a round takes as long as in the recording."""
        self._tape, self._in_time = tape, in_time

    def open(self, options: LoadOptions, tell: Tell) -> LoadedEngine:  # noqa: ARG002
        model_info = from_data(ModelInfo, self._tape.get("facts", ""))
        return LoadedEngine(
            _TapedEngine(self._tape, model_info, in_time=self._in_time), model_info, self._count, self._bench
        )

    def describe(self) -> Description:
        found: Description = from_data(Description, self._tape.get("description", ""))
        return found

    def tune(self, order: Tune, tell: Callable[[TuneReport], None], cancel: CancelEvent) -> Findings:  # noqa: ARG002
        found: Findings = from_data(Findings, self._tape.get("tuning", ""))
        for stage in found.stages:
            tell(TuneDecided(order.ticket, stage))
        return found

    def recall(self, options: LoadOptions) -> Findings | None:  # noqa: ARG002
        """Return None: nobody has tuned yet."""
        return None

    def forget(self, options: LoadOptions) -> None:
        """Forget nothing: nobody has tuned."""

    def _count(self, request: ConversationRequest | None, text: str) -> int:
        known = self._tape.get("counts", [said_in(request.messages if request else ()), text])
        return int(known) if known is not None else len(text.split())

    def _bench(self, order: Bench, _tell: object, _cancel: CancelEvent) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._tape.get("bench", to_data(order.size))
        return found


def _rounded(value: Any) -> Any:
    """Round times to the hundredth of a millisecond, as no figure shows more."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round(value, 3) if isinstance(value, float) else value


def main() -> None:
    """Be the engine's process."""
    mode, path, *rest = sys.argv[1:]
    tape = Tape(Path(path))
    engine_process.main(rest, RecordedModels(tape) if mode == "record" else Playing(tape, in_time=mode == "replay"))


if __name__ == "__main__":
    main()
