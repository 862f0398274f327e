"""The software bill of materials: what is in a package, with versions and licences, as CycloneDX."""

import json
import platform
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from headstart.library.manifest import Manifest
from headstart.ui.licences import Component, components
from installer import contents

NAME = "headstart.cdx.json"
COMPILER = "ziglang"
_SPACE = uuid.UUID("f7b7b6d2-3c2f-5e0f-9a55-2d0b6a3e9c10")  # of our serial numbers
_EXPRESSION = (" OR ", " AND ", " WITH ")
_IDENTIFIERS = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "MIT", "PSF-2.0"}


def packed() -> tuple[Component, ...]:
    """Return what the program is made of: its requirements without those left out, and the compiler of the kernels."""
    out = {module.replace("_", "-") for module in contents.MODULES_OUT}
    return (*(part for part in components() if part.name.lower() not in out), *compiler())


def compiler() -> tuple[Component, ...]:
    """Return the compiler of the kernels, if it is here: they hold functions of it, on Windows of its C library too."""
    return components(COMPILER)[2:]


def bill(parts: Iterable[Component], models: Iterable[Manifest], epoch: int, system: str = "") -> str:
    """The document. The same parts at the same time give the same text. `system` is another than this one."""
    own, *others = parts
    listed = [*map(_library, others), *map(_model, models)]
    when = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    document: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": when,
            "component": {**_library(own), "type": "application"},
            "properties": [{"name": "system", "value": system or f"{platform.system()} {platform.machine()}"}],
        },
        "components": listed,
        "dependencies": [{"ref": _reference(own), "dependsOn": [part["bom-ref"] for part in listed]}],
    }
    serial = uuid.uuid5(_SPACE, json.dumps(document, sort_keys=True))
    return json.dumps({**document, "serialNumber": f"urn:uuid:{serial}"}, indent=2, ensure_ascii=False) + "\n"


def _library(part: Component) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": _reference(part),
        "name": part.name,
        "version": part.version,
    }
    if part.name not in {"Headstart", "Python"}:
        found["purl"] = _reference(part)
    if part.licence:
        found["licenses"] = _licences(part.licence)
    if part.address:
        found["externalReferences"] = [{"type": "website", "url": part.address.strip()}]
    return found


def _model(manifest: Manifest) -> dict[str, Any]:
    return {
        "type": "machine-learning-model",
        "bom-ref": f"model:{manifest.name}",
        "name": manifest.name,
        "licenses": _licences(manifest.licence or "unknown"),
        "properties": [{"name": "source", "value": manifest.source.id}],
    }


def _licences(said: str) -> list[dict[str, Any]]:
    if said in _IDENTIFIERS:
        return [{"license": {"id": said}}]
    if any(word in said for word in _EXPRESSION) and ", " not in said:
        return [{"expression": said}]
    return [{"license": {"name": said}}]


def _reference(part: Component) -> str:
    kind = "generic" if part.name in {"Headstart", "Python"} else "pypi"
    return f"pkg:{kind}/{part.name.lower().replace('_', '-')}@{part.version}"
