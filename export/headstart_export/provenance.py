"""The provenance of an export in its manifest: versions of packages, and the time."""

import importlib.metadata
from contextlib import suppress
from datetime import UTC, datetime

import headstart

PACKAGES = ("openvino", "openvino-tokenizers", "nncf", "optimum-intel", "transformers", "tokenizers", "torch", "gguf")


def versions() -> dict[str, str]:
    """Return the versions of Headstart and of those of PACKAGES that are installed."""
    installed = {"headstart": headstart.__version__}
    for name in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):  # tokenizers and GGUF files need neither torch nor NNCF
            installed[name] = importlib.metadata.version(name)
    return installed


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
