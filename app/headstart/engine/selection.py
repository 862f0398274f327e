"""Opens a model of this computer with the engine that suits it. Knows nothing of either from inside."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from headstart import manifest as manifests
from headstart import paths
from headstart.engine import devices
from headstart.engine.choosing import EngineChoice, choose
from headstart.engine.engine import EngineKind, LoadOptions
from headstart.engine.protocol import Phase
from headstart.engine.tuning import store

if TYPE_CHECKING:
    from headstart.engine.backends.genai.engine import GenaiEngine
    from headstart.engine.local import LocalEngine

_log = logging.getLogger(__name__)


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
        options = replace(options, draft_device=devices.require(options.draft_device, "--draft-device"))
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
