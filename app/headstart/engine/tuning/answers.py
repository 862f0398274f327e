"""Times answers of one target with several drafts, or none. Knows nothing of settings."""

import statistics
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field

from headstart.engine.bench.prompts import BenchPrompt, read_prompts
from headstart.engine.bench.race import OwnMode, raise_if_set
from headstart.engine.engine import Speculation
from headstart.engine.local import LocalEngine
from headstart.engine.tuning.halving import Pair

KINDS = ("code", "story", "explanation", "math", "roleplay")  # whose prompts are short: reading tells nothing here
_EACH = 2  # prompts of a class
_TOKENS = 24  # longest answer


@dataclass
class AnswerRace:
    """Engines over one target. `times`: milliseconds per token by engine and run; "" is the default."""

    engines: Mapping[str, Callable[[], LocalEngine]]  # loads one; the default is ""
    cancel: threading.Event = field(default_factory=threading.Event)
    prompts: Sequence[BenchPrompt] = field(default_factory=lambda: read_prompts(_EACH, KINDS))
    times: dict[str, list[float]] = field(default_factory=dict)
    _loaded: dict[str, OwnMode] = field(default_factory=dict)

    def compare(self, name: str, first: int, count: int) -> Generator[Pair]:
        """See halving.Compare: each pair is another prompt. Raises HeadstartError where a draft cannot be loaded."""
        default, candidate = self._mode(""), self._mode(name)
        for number in range(first, first + count):
            order = (candidate, default) if number % 2 else (default, candidate)
            spent = {mode.name: self._answer(mode, number) for mode in order}
            base, mine = spent[""], spent[name]
            if base is not None and mine is not None:
                yield base, mine

    def sample_default(self, number: int) -> None:
        """One more answer with what is the default."""
        self._answer(self._mode(""), number)

    def median(self, name: str = "") -> float | None:
        """Milliseconds per token; None before the first answer."""
        return statistics.median(self.times[name]) if self.times.get(name) else None

    def _answer(self, mode: OwnMode, number: int) -> float | None:
        raise_if_set(self.cancel)
        run = mode.answer(self.prompts[number % len(self.prompts)])
        if run.ms_per_token is not None:
            self.times.setdefault(mode.name, []).append(run.ms_per_token)
        return run.ms_per_token

    def _mode(self, name: str) -> OwnMode:
        if name not in self._loaded:
            engine = self.engines[name]()
            mode = OwnMode(name, engine, Speculation(), _TOKENS, lambda: _forget(engine), self.cancel)
            mode.answer(self.prompts[0])  # not counted: kernels of new sizes are made, and confidences learned
            self._loaded[name] = mode
        return self._loaded[name]


def _forget(engine: LocalEngine) -> None:
    for model in (engine.target, engine.draft):
        if model is not None:
            model.runner.rollback(0)
