"""The one door to OpenVINO: imported on first use, with its telemetry shut out. Knows no model."""

import sys
from typing import Any


def openvino() -> Any:
    """The `openvino` module. Its import would otherwise report to an analytics host from a forked child process."""
    _shut_out_telemetry()
    import openvino as module  # noqa: PLC0415

    return module


def openvino_genai() -> Any:
    """The `openvino_genai` module, under the same rule."""
    _shut_out_telemetry()
    import openvino_genai as module  # noqa: PLC0415

    return module


def _shut_out_telemetry() -> None:
    # OpenVINO falls back to an empty stub of its own when this import fails.
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
