"""Which engine runs a model of this computer, and how what was left open is decided."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headstart import manifest as manifests
from headstart import paths
from headstart.engine import devices
from headstart.engine.engine import EngineKind, LoadOptions, Phase
from headstart.engine.tuning import store
from headstart.errors import SettingsError

if TYPE_CHECKING:
    from headstart.engine.backends.genai.engine import GenaiEngine
    from headstart.engine.local import LocalEngine

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EngineChoice:
    """An engine, and why in a sentence where a person did not ask for it and may wonder."""

    kind: EngineKind
    reason: str = ""


def load(options: LoadOptions, tell: Callable[[Phase], None] = lambda _: None) -> "LocalEngine | GenaiEngine":
    """What is left open is as it was tuned. Raises what either engine raises for a model that it cannot load."""
    # Imported here: a front end that reads its help need not wait for them.
    from headstart.engine.backends.genai.engine import load as load_genai  # noqa: PLC0415
    from headstart.engine.local import load as load_own  # noqa: PLC0415

    options = settled(options)
    choice = chosen(options)
    if choice.kind is EngineKind.HEADSTART:
        return load_own(options, tell)
    engine = load_genai(options)
    engine.reason = choice.reason
    if choice.reason:
        _log.info("%s", choice.reason)
    return engine


def chosen(options: LoadOptions) -> EngineChoice:
    """Who runs these options, of which nothing is left open. A graphics card is tried out the first time."""
    draft = manifests.read_model(options.draft) if options.draft else None
    return choose(options, draft.name if draft and draft.is_eagle else None, lambda: _against(options))


def settled(options: LoadOptions) -> LoadOptions:
    """With nothing left open, and a device in place of AUTO. Raises DeviceError where none of those listed is there."""
    options = store.applied(options)
    if devices.leaves_choice(options.device):
        options = replace(options, device=devices.require(options.device))
    if options.draft_device and devices.leaves_choice(options.draft_device):
        options = replace(options, draft_device=devices.require(options.draft_device, devices.DRAFT_DEVICE))
    return options


def _against(options: LoadOptions) -> str:
    """What a check of rolling back found on the devices of target and draft; processors need none here."""
    from headstart.engine.loading import obstacle  # noqa: PLC0415

    places = [(options.target, options.device)]
    if options.draft:
        places.append((options.draft, options.draft_device or options.device))
    found = (
        obstacle(folder, device, paths.measurements_folder())
        for folder, device in places
        if devices.kind(device) != "CPU"
    )
    return next((reason for reason in found if reason), "")


def choose(options: LoadOptions, head: str | None, check: Callable[[], str]) -> EngineChoice:
    """What a person asked for, or what suits the devices and the draft. Raises SettingsError for what cannot be.

    `head`: the name of the draft where it is an EAGLE-3 head. `check` tells what speaks against Headstart's own engine
    on the devices; empty: nothing.
    """
    kinds = {devices.kind(place) for place in (options.device, options.draft_device or options.device)}
    if options.engine is EngineKind.GENAI:
        return EngineChoice(EngineKind.GENAI)
    against = ""
    if head:
        against = f"the draft {head} is an EAGLE-3 head, which Headstart's own engine cannot use"
    elif "NPU" in kinds:
        against = "Headstart's own engine cannot use an NPU"
    if options.engine is EngineKind.HEADSTART:
        if head:
            raise SettingsError(
                "{head} is an EAGLE-3 head, which only OpenVINO GenAI can use: leave out --engine headstart.", head=head
            )
        if against:
            raise SettingsError(
                "An NPU compiles a fixed prompt length in, while Headstart's own engine feeds passes of any length: "
                "leave out --engine headstart, or use --device CPU."
            )
        return EngineChoice(EngineKind.HEADSTART)
    if not against and kinds != {"CPU"} and (found := check()):
        against = f"Headstart's own engine failed a check of this device ({found})"
    if against:
        return EngineChoice(EngineKind.GENAI, f"OpenVINO GenAI runs this model because {against}.")
    return EngineChoice(EngineKind.HEADSTART)
