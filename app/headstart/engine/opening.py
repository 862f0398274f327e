"""What the engine's process asks of models: open one, count for it, race it, describe the machine. Sends nothing."""

import os
import platform
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, Protocol

import psutil

from headstart import __version__
from headstart.engine import devices, selection, tuned
from headstart.engine.bench.ordered import RunBench, bench_of
from headstart.engine.engine import Engine, LoadOptions, Message
from headstart.engine.protocol import Bench, BenchReport, Description, Device, Facts, Loading, Phase
from headstart.engine.room import free_memory
from headstart.engine.runtime import openvino, openvino_genai
from headstart.engine.tuning.findings import Findings
from headstart.engine.tuning.messages import Tune, TuneReport
from headstart.errors import SettingsError

if TYPE_CHECKING:
    from headstart.engine.genai.engine import GenaiEngine
    from headstart.engine.local import LocalEngine

Tell = Callable[[Loading], None]
CountTokens = Callable[[tuple[Message, ...], str], int]


@dataclass(frozen=True)
class Opened:
    """A loaded engine. `count`: tokens of a conversation in its chat format and of a plain text, from any thread.

    `bench` carries out a Bench order: tells its progress and gives the result, or raises RaceCancelled when stopped.
    """

    engine: Engine
    facts: Facts
    count: CountTokens
    bench: RunBench


class Models(Protocol):
    """Where engines come from."""

    def open(self, options: LoadOptions, tell: Tell) -> Opened:
        """Load a model and say through `tell` what takes the time. Raises a HeadstartError."""
        ...

    def describe(self) -> Description:
        """The machine."""
        ...

    def tune(self, order: Tune, tell: Callable[[TuneReport], None], cancel: threading.Event) -> Findings:
        """Find out how models run fastest here, and keep that. Raises a HeadstartError, or RaceCancelled."""
        ...

    def recall(self, options: LoadOptions) -> Findings | None:
        """What was kept and counts."""
        ...

    def forget(self, options: LoadOptions) -> None:
        """Drop it."""
        ...


class LocalModels:
    """Model folders of this computer, run by Headstart's own engine, and servers that were named instead of one."""

    def open(self, options: LoadOptions, tell: Tell) -> Opened:
        """See Models.open."""
        if options.remote:
            from headstart.engine.remote.opening import open_remote  # noqa: PLC0415 - HTTP, which few need

            return open_remote(options, tell)
        tell(Loading(Phase.RUNTIME))
        openvino_genai()
        from headstart.engine.local import LocalEngine  # noqa: PLC0415 - numpy, which `describe` need not wait for

        tell(Loading(Phase.MODEL))
        options = selection.settled(options)
        engine = selection.load(options)
        tokenizer = engine.tokenizer
        bench = bench_of(engine, options) if isinstance(engine, LocalEngine) else _no_bench
        facts = _facts(engine, options)

        def count(messages: tuple[Message, ...], text: str) -> int:
            conversation = len(tokenizer.prompt(messages)) if messages else 0
            return conversation + (len(tokenizer.encode(text)) if text else 0)

        return Opened(engine, facts, count, bench)

    def describe(self) -> Description:
        """See Models.describe."""
        present = tuple(Device(name, devices.full_name(name)) for name in devices.available())
        versions = {
            "headstart": __version__,
            "python": platform.python_version(),
            "openvino": openvino().get_version(),
            "openvino-genai": openvino_genai().get_version(),
        }
        return Description(present, *machine_memory(), versions)

    def tune(self, order: Tune, tell: Callable[[TuneReport], None], cancel: threading.Event) -> Findings:
        """See Models.tune."""
        from headstart.engine.tuning.ordered import carry_out  # noqa: PLC0415 - as above

        return carry_out(order, tell, cancel)

    def recall(self, options: LoadOptions) -> Findings | None:
        """See Models.recall."""
        return tuned.findings(options)

    def forget(self, options: LoadOptions) -> None:
        """See Models.forget."""
        tuned.forget(options)


def _facts(engine: "LocalEngine | GenaiEngine", options: LoadOptions) -> Facts:
    names = (*(model.name for model in engine.models), None)
    return Facts(
        names[0] or "",
        names[1],
        options.device,
        options.numerics.value,
        engine.context,
        engine=engine.kind.value,
        reason=engine.reason,
    )


def _no_bench(_order: Bench, _tell: Callable[[BenchReport], None], _cancel: threading.Event) -> NoReturn:
    raise SettingsError(
        "A benchmark times Headstart's own engine, and OpenVINO GenAI beside it: load the model on a CPU, "
        "without an EAGLE-3 head, and run it again."
    )


def machine_memory() -> tuple[int, int]:
    """Bytes of memory in all, and those that a program could take in this one's place without swapping."""
    total = int(psutil.virtual_memory().total)
    return total, min(total, free_memory(os.getpid()))
