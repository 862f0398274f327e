"""Where it is kept which engine answers a batch faster: by target, draft, device and versions. Measures nothing."""

from headstart import manifest as manifests
from headstart import paths
from headstart.engine.batch_choice import BatchFigures, figures_as_json, figures_from_json
from headstart.engine.engine import LoadOptions
from headstart.engine.loading import subject
from headstart.engine.machine import describe
from headstart.engine.measurements import Measurements

_KEY = "tokens per second"


def known_figures(options: LoadOptions) -> BatchFigures | None:
    """What was measured of these models here; None for nothing."""
    return figures_from_json(_kept(options).get(_KEY))


def keep_figures(options: LoadOptions, figures: BatchFigures) -> None:
    """In place of what was measured before."""
    _kept(options).put(_KEY, figures_as_json(figures))


def _kept(options: LoadOptions) -> Measurements:
    name = manifests.read_model(options.target).name
    measured: dict[str, object] = {
        "target": subject(options.target, options.device),
        "genai": (machine := describe(options.device)).openvino_genai,
        "cores": machine.cores,
    }
    if options.draft is not None:
        measured["draft"] = subject(options.draft, options.draft_device or options.device)
    return Measurements(paths.measurements_folder(), f"{name}-batch", measured)
