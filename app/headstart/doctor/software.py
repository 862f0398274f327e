"""Versions of Headstart and of what it stands on, whether OpenVINO loads, and that its telemetry does not."""

import platform
from collections.abc import Iterator

from headstart import __version__
from headstart.computer import package_version, package_versions
from headstart.doctor.finding import Finding, Section
from headstart.engine import runtime

_HERE = Section("software")
_FAMILY = ("openvino", "openvino-genai", "openvino-tokenizers")
_AGAIN = "Install Headstart again."


def runtime_fault() -> str:
    """Why OpenVINO cannot be loaded; empty where it can."""
    try:
        runtime.openvino()
        runtime.openvino_genai()
    except (ImportError, OSError) as error:
        return " ".join(str(error).split())
    return ""


def check(fault: str) -> Iterator[Finding]:
    """`fault` is runtime_fault()'s answer."""
    versions = package_versions()
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    yield _HERE.ok(f"Headstart {__version__}, Python {platform.python_version()}, {named or 'no package metadata'}.")
    if fault:
        yield _HERE.problem(f"OpenVINO does not load ({fault}).", _AGAIN)
        return
    yield _HERE.ok("OpenVINO and OpenVINO GenAI load.")
    releases = {_release(versions[name]) for name in _FAMILY if name in versions}
    if len(releases) > 1:
        yield _HERE.problem(
            f"OpenVINO's packages are of different releases ({', '.join(sorted(releases))}).",
            "Install openvino, openvino-genai and openvino-tokenizers of one release.",
        )
    yield _telemetry()


def _telemetry() -> Finding:
    loaded = runtime.telemetry_loaded()
    if loaded:
        return _HERE.problem(
            f"OpenVINO's telemetry is loaded ({', '.join(loaded)}) and may report to its makers.",
            "Uninstall the package openvino-telemetry, and please report this.",
        )
    installed = "is installed but shut out" if package_version("openvino-telemetry") else "is not installed"
    return _HERE.ok(f"Telemetry: OpenVINO's {installed}; after loading OpenVINO none of it is in this process.")


def _release(version: str) -> str:
    return ".".join(version.split(".")[:3])
