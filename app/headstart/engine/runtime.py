"""The one door to OpenVINO: imported on first use, with its telemetry shut out. Knows no model."""

import functools
import sys
from typing import Any

_TELEMETRY = "openvino_telemetry"


@functools.cache
def openvino() -> Any:
    """The `openvino` module. Its import would otherwise report to an analytics host from a forked child process."""
    _shut_out_telemetry()
    import openvino as module  # noqa: PLC0415

    return module


@functools.cache
def core() -> Any:
    """The one `openvino.Core` of this process; it lives to the end.

    WORKAROUND https://github.com/openvinotoolkit/openvino/pull/11894: the CPU plugin of each Core gives the thread a
    stack for signals and puts the former one back when it goes. With two plugins that overlap, that is freed memory,
    and the next Ctrl+C ends the process.
    """
    return openvino().Core()


@functools.cache
def openvino_genai() -> Any:
    """The `openvino_genai` module, under the same rule."""
    _shut_out_telemetry()
    import openvino_genai as module  # noqa: PLC0415

    return module


def telemetry_loaded() -> tuple[str, ...]:
    """Modules of OpenVINO's telemetry that this process has after all: none, if the door holds."""
    return tuple(
        sorted(name for name, module in sys.modules.items() if name.startswith(_TELEMETRY) and module is not None)
    )


def _shut_out_telemetry() -> None:
    # OpenVINO falls back to an empty stub of its own when this import fails.
    sys.modules[_TELEMETRY] = None  # type: ignore[assignment]
