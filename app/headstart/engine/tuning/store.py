"""The stored results of tuning, and their use for options that the user left open."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headstart import __version__, paths
from headstart.engine.engine import LoadOptions, Unset
from headstart.engine.hardware import devices
from headstart.engine.hardware.devices import cores
from headstart.engine.hardware.measurements import Measurements
from headstart.engine.hardware.runtime import openvino
from headstart.engine.tuning.messages import Findings
from headstart.engine.wire import from_data, to_data
from headstart.library import manifest as manifests

_log = logging.getLogger(__name__)

_KEY, _FINDINGS = "tuned", "findings"
_WEIGHTS = "openvino_model.bin"


@dataclass(frozen=True)
class Tuned:
    """The best way found to load a target on this machine."""

    device: str
    properties: Mapping[str, str] = field(default_factory=dict)  # of OpenVINO, beyond a first load's
    draft: Path | None = None  # None: no draft
    draft_weights: str | None = None  # their hash
    draft_vocab: int | None = None  # of `draft`


def fill_unset(options: LoadOptions) -> LoadOptions:
    """Return the options with nothing left open: as tuned on this machine, or the defaults."""
    if options.unset and any(paths.measurements_folder().glob(f"*-{_KEY}-*.json")):  # else OpenVINO is not needed here
        tuned = read(options)
        if tuned is not None:
            return merge(options, tuned)
    return replace(options, unset=())


def merge(options: LoadOptions, tuned: Tuned) -> LoadOptions:
    """Fill open options with tuned values. Values for another device or draft are not used."""
    device = tuned.device if Unset.DEVICE in options.unset else options.device
    merged = replace(options, unset=())
    if device.upper() != tuned.device.upper():
        return merged
    if Unset.PROPERTIES in options.unset:
        merged = replace(merged, properties={**tuned.properties, **options.properties})
    draft = tuned.draft if Unset.DRAFT in options.unset else options.draft
    is_same = draft is not None and draft == tuned.draft and options.draft_vocab is None
    draft_vocab = tuned.draft_vocab if is_same else options.draft_vocab
    return replace(merged, device=device, draft=draft, draft_vocab=draft_vocab)


def read(options: LoadOptions) -> Tuned | None:
    """Return the result for these models on this machine; None if there is none, or something has changed."""
    tuned: Tuned | None = _stored(options, _KEY, Tuned)
    if tuned and tuned.draft is not None and weights(tuned.draft) != tuned.draft_weights:
        _log.warning("what tuning found is ignored: the draft %s is no longer the one that was measured", tuned.draft)
        return None
    return tuned


def keep(options: LoadOptions, tuned: Tuned, findings: Findings | None = None) -> None:
    """Store how these models are to be loaded from now on. `findings` is the evidence."""
    measurements = _measurements(options)
    measurements.put(_KEY, to_data(tuned))
    measurements.put(_FINDINGS, to_data(findings))


def findings(options: LoadOptions) -> Findings | None:
    """Return the evidence for the stored result; None if there is none."""
    stored: Findings | None = _stored(options, _FINDINGS, Findings) if read(options) else None
    return stored


def forget(options: LoadOptions) -> bool:
    """Forget the result for these models on this machine. Return True if there was one."""
    measurements = _measurements(options)
    measurements.drop(_FINDINGS)
    return measurements.drop(_KEY)


def weights(folder: Path) -> str | None:
    """Return the hash of a model's weights; None if the model has gone."""
    return _weights_hash(manifests.read_model(folder)) if (folder / manifests.FILE_NAME).is_file() else None


def _stored(options: LoadOptions, key: str, kind: type) -> Any:
    data = _measurements(options).get(key)
    try:
        return None if data is None else from_data(kind, data)
    except ValueError as error:
        _log.warning("what tuning kept is ignored: %s", error)
        return None


def _measurements(options: LoadOptions) -> Measurements:
    """Return the measurements for these models. A pair has other measurements than its target alone."""
    target = manifests.read_model(options.target)
    subject = {
        "target": _weights_hash(target),
        "draft": weights(options.draft) if options.draft else None,
        "devices": {name: devices.full_name(name) for name in devices.available()},
        "cores": cores(),
        "openvino": openvino().get_version(),
        "headstart": __version__,
    }
    return Measurements(paths.measurements_folder(), f"{target.name}-{_KEY}", subject)


def _weights_hash(manifest: manifests.Manifest) -> str | None:
    listed = manifest.files.get(_WEIGHTS)
    return listed.sha256 if listed else None
