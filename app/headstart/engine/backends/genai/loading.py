"""From load options to a GenAI engine that was checked, or a sentence that says why not."""

from dataclasses import replace

from headstart import manifest as manifests
from headstart import paths
from headstart.engine import budget, devices, loading, room
from headstart.engine.backends.genai import npu
from headstart.engine.backends.genai.engine import GenaiEngine
from headstart.engine.backends.genai.pipelines import blueprint
from headstart.engine.engine import LoadOptions
from headstart.engine.tokenizer import Tokenizer
from headstart.errors import SettingsError


def load(options: LoadOptions) -> GenaiEngine:
    """Nothing of `options` is left open. Raises BrokenModelError, DeviceError, MemoryBudgetError or SettingsError."""
    if options.tracing:
        raise SettingsError("OpenVINO GenAI does not tell what a trace holds: use --engine headstart.")
    folders = tuple(folder for folder in (options.target, options.draft) if folder)
    models = tuple(manifests.read_model(folder) for folder in folders)
    capacity = None
    if on_npu(options):
        npu.require(models, options)
        capacity = npu.capacity(models[0], options.context)
        options = replace(options, context=capacity.context)
    room.require(models[0], models[1] if len(models) > 1 else None, options)
    for folder, device in zip(folders, places(options), strict=False):
        loading.require_whole(folder, device, paths.measurements_folder())
    made_of = blueprint(options, capacity, eagle=models[-1].is_eagle)
    engine = GenaiEngine(models, made_of, Tokenizer(options.target), budget.context_of(models[0], options.context))
    engine.prepare()
    return engine


def on_npu(options: LoadOptions) -> bool:
    """Whether any of it runs there."""
    return npu.KIND in {devices.kind(place) for place in places(options)}


def places(options: LoadOptions) -> tuple[str, str]:
    """The devices of target and draft."""
    return options.device, options.draft_device or options.device
