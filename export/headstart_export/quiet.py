"""The exporter's one door to its heavy libraries: no telemetry, no needless network, no chatter."""

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from typing import TextIO

_ENVIRONMENT = {
    "CI": "true",  # the telemetry of NNCF and OpenVINO stays off where this is set: belt and braces
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "true",  # set at all, it silences a warning about forks
    "TRANSFORMERS_VERBOSITY": "error",
}


def prepare() -> None:
    """Call before the first import of transformers, optimum, nncf or openvino. Calling it again changes nothing."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    # OpenVINO and NNCF fall back to empty stubs of their own when this import fails; otherwise each step of an
    # export forks a process that calls an analytics host.
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
    # WORKAROUND optimum-intel 2.2 installs a torchvision whose build does not fit the CPU torch; importing it breaks
    # every import of transformers, which does without it where the import fails cleanly.
    if "torchvision" not in sys.modules:
        sys.modules["torchvision"] = None  # type: ignore[assignment]


@contextlib.contextmanager
def muted(stream: TextIO) -> Iterator[None]:
    """Send what libraries print and warn to `stream`, so that standard output keeps to the result alone."""
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
