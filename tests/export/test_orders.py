"""Random orders of what people, programs and disks do while models are imported: no result is half done or lost."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headstart.library import export_leftovers, manifest
from tests.export.conftest import ROOT, Offline
from tests.export.gguf import tiny_gguf
from tests.support.junk import TIMES

pytestmark = pytest.mark.slow
_STEPS = 20
_NAMES = ("one", "two")
_NOTE = "thesis.txt"
_ACTIONS = (
    *["export"] * 8,
    *["check"] * 3,
    *["end"] * 5,
    *["settle"] * 3,
    *["change_file", "remove_model", "rename_model", "put_a_folder"],
)


@dataclass
class _Run:
    """A running command."""

    words: list[str]
    process: "subprocess.Popen[str]"
    is_killed: bool = False


class _Person:
    """A person who imports files, and ends, repeats and disturbs imports at random."""

    def __init__(self, offline: Offline, contents: tuple[bytes, ...], folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.environment = {**offline.environment, "HEADSTART_HOME": str(folder / "home")}
        self.models, self.downloads = folder / "home" / "models", folder / "downloads"
        self.models.mkdir(parents=True)
        self.downloads.mkdir()
        self.contents = contents
        self.runs: list[_Run] = []
        self.done: list[str] = []
        for number in range(len(contents)):
            self.write_file(number)

    def act(self) -> None:
        name = self.random.choice(_ACTIONS)
        self.done.append(name)
        getattr(self, name)()
        time.sleep(self.random.choice((0, 0.05, 0.3, 1, 2)))
        self.take_ended()

    def file(self) -> Path:
        return self.downloads / f"{self.random.randrange(len(self.contents))}.gguf"

    def place(self) -> Path:
        return self.models / self.random.choice(_NAMES)

    def write_file(self, number: int) -> None:
        content = self.random.choice(self.contents)
        (self.downloads / f"{number}.gguf").write_bytes(content[: self.random.choice((None, None, None, 5000))])

    def export(self) -> None:
        flags = self.random.choice(([], [], ["--force"], ["--force"], ["--if-missing"]))
        checks = self.random.choice((["--defer-checks"], ["--defer-checks"], []))
        words = [str(self.file()), "--output", str(self.place()), *flags, *checks]
        self.start(*words, *self.random.choice(([], ["--weights", "int8"])))

    def check(self) -> None:
        self.start("check", str(self.place()))

    def start(self, *words: str) -> None:
        self.done.append(" ".join(word.rpartition("/")[2] for word in words))
        process = subprocess.Popen(
            [sys.executable, "-m", "headstart_export", *words],
            env=self.environment,
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.runs.append(_Run(list(words), process))

    def end(self) -> None:
        if not self.runs:
            return
        run = self.random.choice(self.runs)
        how = self.random.choice((signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
        self.done.append(how.name)
        run.process.send_signal(how)
        run.is_killed |= how == signal.SIGKILL

    def change_file(self) -> None:
        self.write_file(self.random.randrange(len(self.contents)))

    def remove_model(self) -> None:
        place = self.place()
        if not (place / _NOTE).exists():
            shutil.rmtree(place, ignore_errors=True)

    def rename_model(self) -> None:
        old, new = self.place(), self.place()
        if old.exists() and not new.exists():
            old.rename(new)

    def put_a_folder(self) -> None:
        place = self.place()
        if not place.exists():
            place.mkdir()
            (place / _NOTE).write_text("mine", encoding="utf-8")
        elif (place / _NOTE).exists():
            shutil.rmtree(place)

    def take_ended(self) -> None:
        for run in [each for each in self.runs if each.process.poll() is not None]:
            self.runs.remove(run)
            out, err = run.process.communicate()
            self.judge(run, out, err)

    def judge(self, run: _Run, out: str, err: str) -> None:
        """Fail if a command ended without a result or one sentence."""
        said = (run.words, run.process.returncode, out, err, self.done)
        assert "unexpected" not in err, said
        if "headstart" not in err and (run.process.returncode < 0 or "KeyboardInterrupt" in err):
            return  # it was ended before it began: Python itself prints a traceback then
        assert "Traceback" not in err, said
        if run.is_killed and run.process.returncode < 0:
            return
        assert run.process.returncode in {0, 1, 130}, said
        if run.process.returncode:
            assert err.splitlines()[-1].startswith("headstart-export: "), said

    def settle(self) -> None:
        """Wait until everything has ended, and fail if a result is not whole."""
        while self.runs:
            for run in self.runs:
                run.process.wait(600)
            self.take_ended()
        notes = [place for place in self.models.iterdir() if (place / _NOTE).exists()]
        for folder in self.models.iterdir():
            if folder in notes or folder.name.startswith(export_leftovers.PREFIX):
                continue
            described = manifest.read_model(folder)
            assert manifest.hash_files(folder) == described.files, self.done

    def finish(self) -> None:
        """Import everything once more, undisturbed; nothing else may be left."""
        self.settle()
        for number, content in enumerate(self.contents):
            (self.downloads / f"{number}.gguf").write_bytes(content)
        for name in _NAMES:
            if (self.models / name / _NOTE).exists():
                shutil.rmtree(self.models / name)
            self.start(str(self.file()), "--output", str(self.models / name), "--force", "--defer-checks")
            (run,) = self.runs
            _, err = run.process.communicate()
            self.runs = []
            assert run.process.returncode == 0, (err, self.done)
        self.settle()
        assert sorted(path.name for path in self.models.iterdir()) == sorted(_NAMES), self.done


@pytest.fixture(scope="module")
def contents(tiny_source: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, ...]:
    """Two files of the same model, one of which has another author."""
    folder = tmp_path_factory.mktemp("orders")

    def by_another(metadata: dict[str, Any]) -> None:
        metadata["general.name"].value = "another"

    tiny_gguf.write(tiny_source, folder / "a.gguf")
    tiny_gguf.write(tiny_source, folder / "b.gguf", by_another)
    return (folder / "a.gguf").read_bytes(), (folder / "b.gguf").read_bytes()


@pytest.mark.parametrize("seed", range(2 * int(os.environ.get(TIMES, "1"))))
def test_imports_are_whole_or_not_there(
    offline: Offline, contents: tuple[bytes, ...], tmp_path: Path, seed: int
) -> None:
    person = _Person(offline, contents, tmp_path, seed)
    for _ in range(_STEPS):
        person.act()
    person.finish()
