"""Times passes of one model in several settings, two of them in memory at a time. Knows nothing of text."""

import statistics
import threading
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from headstart.engine import budget, room
from headstart.engine.bench.race import raise_if_set
from headstart.engine.loading import LoadedModel, Place, load_model
from headstart.engine.precision import VERIFY, pass_ms
from headstart.engine.tuning.candidates import Setting
from headstart.engine.tuning.halving import Pair
from headstart.errors import MemoryBudgetError

TARGET_PASSES, DRAFT_PASSES = (1, VERIFY), (1,)
_CONTEXT = 256  # tokens; room for the passes
_TRIES = 2  # passes of a kind, of which the faster counts: the first one after another size pays for the change


@dataclass
class PassRace:
    """One model in several settings. `times`: milliseconds by setting, number of tokens and run."""

    folder: Path
    default: LoadedModel
    place: Place
    candidates: Mapping[str, Setting]
    measured: Path
    passes: Sequence[int] = TARGET_PASSES
    cancel: threading.Event = field(default_factory=threading.Event)
    times: dict[str, dict[int, list[float]]] = field(default_factory=dict)

    def compare(self, name: str, first: int, count: int) -> Generator[Pair]:
        """See halving.Compare. Raises HeadstartError or RuntimeError where a setting is not to be had."""
        candidate = self._load(name)
        for number in range(first, first + count):
            raise_if_set(self.cancel)
            if number % 2:
                mine, base = self._sample(name, candidate), self.sample_default()
            else:
                base, mine = self.sample_default(), self._sample(name, candidate)
            yield base, mine

    def sample_default(self) -> float:
        """One more run of the model as it is."""
        return self._sample("", self.default)

    def medians(self, name: str = "") -> Mapping[int, float]:
        """Milliseconds by number of tokens; without a name those of the default."""
        return {tokens: statistics.median(times) for tokens, times in self.times.get(name, {}).items()}

    def _sample(self, name: str, model: LoadedModel) -> float:
        total = 0.0
        for tokens in self.passes:
            spent = pass_ms(model.runner, tokens, repeats=_TRIES)
            self.times.setdefault(name, {}).setdefault(tokens, []).append(spent)
            total += spent
        return total

    def _load(self, name: str) -> LoadedModel:
        wanted, free = budget.share(self.default.manifest, _CONTEXT), room.free_memory()
        if wanted > free:
            raise MemoryBudgetError(
                f"A second copy takes about {room.amount(wanted)} of memory, but {room.amount(free)} is free: "
                "close other programs and tune again."
            )
        setting = self.candidates[name]
        context = min(_CONTEXT, self.place.context)
        place = replace(self.place, device=setting.device, properties=setting.properties, context=context)
        model = load_model(self.folder, place, self.measured)
        if model.notes:  # it was refused, and something else was loaded
            raise RuntimeError(model.notes[0])
        return model
