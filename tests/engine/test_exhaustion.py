"""Memory that runs out is told as such, whatever the error was called, and the next question finds an engine."""

import errno
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from bench.toy import PROGRAM
from headstart.engine.engine import LoadOptions, Message, Request, Step
from headstart.engine.memory import instead_of
from headstart.engine.process.client import EngineClient
from headstart.engine.supervision import Journal, program
from headstart.errors import BrokenModelError, EngineLostError, HeadstartError, OutOfMemoryError

CODES = (
    "std::bad_alloc",
    "[GPU] clFinish, error code: -5 CL_OUT_OF_RESOURCES",
    "CL_MEM_OBJECT_ALLOCATION_FAILURE",
    "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
)


@pytest.mark.parametrize("code", CODES)
def test_it_is_known_by_type_and_code(code: str) -> None:
    told = instead_of(RuntimeError(f"Exception from node.cpp:823:\n{code}\n"), loading=False)
    assert "so the engine starts again" in str(told)
    told = instead_of(RuntimeError(code), loading=True)
    assert "while the model was loaded" in str(told)
    assert instead_of(OSError(errno.ENOMEM, "any words"), loading=True)


def test_any_failure_is_told_as_such_where_hardly_any_memory_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    error = RuntimeError("could not create a primitive")
    assert instead_of(error, loading=True) is None
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=2**20))
    assert instead_of(error, loading=True)
    assert instead_of(ValueError("of no OpenVINO"), loading=True) is None


def test_it_is_found_behind_another_error() -> None:
    def fail() -> None:
        try:
            raise RuntimeError("std::bad_alloc")
        except RuntimeError:
            raise BrokenModelError("Export it again.") from None

    with pytest.raises(BrokenModelError) as caught:
        fail()
    assert instead_of(caught.value, loading=True)
    assert instead_of(MemoryError(), loading=True)


def test_other_errors_stay_what_they_are() -> None:
    named = RuntimeError("the layer 'out of memory' cannot allocate its name")
    for error in (
        RuntimeError("no such layer"),
        named,
        BrokenModelError("bad_alloc, says a name"),
        ValueError("alloc"),
    ):
        assert instead_of(error, loading=True) is None


def text(client: EngineClient, words: str) -> str:
    request = Request((Message("user", words),), 8)
    return "".join(event.text for event in client.generate(request) if isinstance(event, Step))


def test_the_process_is_replaced(tmp_path: Path) -> None:
    with closing(EngineClient(PROGRAM, Journal(tmp_path / "log"))) as client:
        client.load(LoadOptions(Path("toy")))
        before = client.pid
        with pytest.raises(OutOfMemoryError, match="Memory ran out"):
            text(client, "toy: memory")
        assert client.pid is None
        assert text(client, "next") == "You wrote: next "
        assert client.pid != before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits what a process may take")
def test_a_model_that_finds_no_room_is_not_called_broken(tiny_target: Path, tmp_path: Path) -> None:
    limited = ("sh", "-c", 'ulimit -d 120000; exec "$@"', "sh", *program())
    with closing(EngineClient(limited, Journal(tmp_path / "log"))) as client:
        with pytest.raises(HeadstartError) as caught:
            client.load(LoadOptions(tiny_target))
        assert isinstance(caught.value, OutOfMemoryError | EngineLostError)
        assert "Export it again" not in str(caught.value)
