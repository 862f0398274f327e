"""A folder with prompts for `headstart chat --batch`, and what stands for OpenVINO GenAI there."""

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headstart.cli import main
from headstart.engine.batch_choice import BatchFigures
from headstart.engine.batching import Keyed, OneByOne, Reported
from headstart.engine.engine import LoadOptions, Request
from tests.fakes import RecordingLoad, ScriptedEngine


@dataclass
class GenaiFake:
    """Stands where OpenVINO GenAI is opened; answers one by one, whatever size it was asked for."""

    figures: BatchFigures | None = None
    error: Exception | None = None
    size: int | None = None
    opened: list[tuple[int, int]] = field(default_factory=list)
    engine: ScriptedEngine = field(default_factory=ScriptedEngine)

    def open(self, _options: LoadOptions, size: int, longest: int) -> "FakeBatcher":
        self.opened.append((size, longest))
        if self.error:
            raise self.error
        return FakeBatcher(self.engine, self.size or size)


class FakeBatcher(OneByOne):
    """An engine that claims to answer several at once."""

    def __init__(self, engine: ScriptedEngine, size: int) -> None:
        super().__init__(engine)
        self.size = size

    def answers(self, requests: Iterable[Keyed], cancel: threading.Event) -> Iterator[Reported]:
        reported = list(super().answers(requests, cancel))
        for key in sorted({key for key, _ in reported}, reverse=True):  # several at once end in any order
            yield from (each for each in reported if each[0] == key)


@dataclass
class Place:
    """A folder with prompts."""

    folder: Path
    load: RecordingLoad = field(default_factory=RecordingLoad)

    @property
    def prompts(self) -> Path:
        return self.folder / "prompts.jsonl"

    @property
    def output(self) -> Path:
        return self.folder / "prompts.answers.jsonl"

    def ask(self, *lines: dict[str, Any] | str) -> None:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        self.prompts.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")

    def run(self, *more: str) -> int:
        return main(["chat", "--batch", str(self.prompts), *more], self.load)

    def answers(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.output.read_text(encoding="utf-8").splitlines()]


def three() -> Sequence[dict[str, Any]]:
    return [{"id": number, "prompt": f"Question {number}"} for number in (1, 2, 3)]


def contents(requests: Sequence[Request]) -> list[str]:
    return [request.messages[-1].content for request in requests]
