"""The software bill of materials: what is in a package, with versions and licences, as CycloneDX."""

import json
import platform
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headstart.library.manifest import Manifest
from headstart.ui.help.licences import Component, canonical_name, components
from installer import contents

NAME = "headstart.cdx.json"
COMPILER = "ziglang"
BOOTLOADER = "pyinstaller"  # the program's start is its own
_NAMESPACE = uuid.UUID("f7b7b6d2-3c2f-5e0f-9a55-2d0b6a3e9c10")  # for our serial numbers
_OPERATORS = (" OR ", " AND ", " WITH ")
_IDENTIFIERS = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "MIT", "PSF-2.0"}


def program_parts() -> tuple[Component, ...]:
    """Return the components of the program: its requirements without the excluded ones, and what its build adds."""
    excluded = {module.replace("_", "-") for module in contents.EXCLUDED_MODULES}
    required = [part for part in components() if part.name.lower() not in excluded]
    return (*required, *compiler(), *(part for part in components(BOOTLOADER) if part.name == BOOTLOADER))


def compiler() -> tuple[Component, ...]:
    """Return the kernels' compiler, if it is installed: they contain code of its runtime and, on Windows, C library."""
    return components(COMPILER)[2:]


def gaps(folder: Path, parts: Iterable[Component]) -> list[str]:
    """Return which packages in `folder` are not among `parts`, and which parts have no licence or no text of it."""
    listed = {canonical_name(part.name): part for part in parts}
    packages = {canonical_name(path.name.partition("-")[0]) for path in folder.rglob("*.dist-info")}
    return [
        *(f"{name} is not listed" for name in sorted(packages - set(listed))),
        *(
            f"{name} has no licence"
            for name, part in listed.items()
            if not (part.licence and any(map(Path.is_file, part.texts)))
        ),
    ]


def bill(parts: Iterable[Component], models: Iterable[Manifest], epoch: int, system: str = "") -> str:
    """Return the document: the same text for the same parts and time. `system`: the target, if not this system."""
    own, *requirements = parts
    entries = [*map(_library, requirements), *map(_model, models)]
    timestamp = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    document: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": timestamp,
            "component": {**_library(own), "type": "application"},
            "properties": [{"name": "system", "value": system or f"{platform.system()} {platform.machine()}"}],
        },
        "components": entries,
        "dependencies": [{"ref": _reference(own), "dependsOn": [part["bom-ref"] for part in entries]}],
    }
    serial = uuid.uuid5(_NAMESPACE, json.dumps(document, sort_keys=True))
    return json.dumps({**document, "serialNumber": f"urn:uuid:{serial}"}, indent=2, ensure_ascii=False) + "\n"


def _library(part: Component) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": "library",
        "bom-ref": _reference(part),
        "name": part.name,
        "version": part.version,
    }
    if part.name not in {"Headstart", "Python"}:
        entry["purl"] = _reference(part)
    if part.licence:
        entry["licenses"] = _licences(part.licence)
    if part.address:
        entry["externalReferences"] = [{"type": "website", "url": part.address.strip()}]
    return entry


def _model(manifest: Manifest) -> dict[str, Any]:
    return {
        "type": "machine-learning-model",
        "bom-ref": f"model:{manifest.name}",
        "name": manifest.name,
        "licenses": _licences(manifest.licence or "unknown"),
        "properties": [{"name": "source", "value": manifest.source.id}],
    }


def _licences(licence: str) -> list[dict[str, Any]]:
    if licence in _IDENTIFIERS:
        return [{"license": {"id": licence}}]
    if any(word in licence for word in _OPERATORS) and ", " not in licence:
        return [{"expression": licence}]
    return [{"license": {"name": licence}}]


def _reference(part: Component) -> str:
    kind = "generic" if part.name in {"Headstart", "Python"} else "pypi"
    return f"pkg:{kind}/{part.name.lower().replace('_', '-')}@{part.version}"
