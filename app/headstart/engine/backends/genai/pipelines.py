"""Builds GenAI's pipelines: on CPU and GPU one that can be stepped, on an NPU the stateful one. Knows no request."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart import paths
from headstart.engine import devices
from headstart.engine.backends.genai import npu
from headstart.engine.backends.genai.configuration import reason
from headstart.engine.backends.genai.guessing import Way
from headstart.engine.backends.genai.stepping import SteppedWriter
from headstart.engine.backends.genai.streaming import StreamedWriter
from headstart.engine.backends.genai.writing import Writer
from headstart.engine.engine import KvPrecision, LoadOptions, Numerics
from headstart.engine.loading import fast_properties, obstacle
from headstart.engine.runners.precision import properties
from headstart.engine.runtime import openvino_genai
from headstart.errors import DeviceError

_UNMEASURED = {"PERFORMANCE_HINT": "LATENCY"}


@dataclass(frozen=True)
class Blueprint:
    """What pipelines are built from. The properties of OpenVINO belong to each model on its device."""

    options: LoadOptions
    target: dict[str, Any]
    draft: dict[str, Any]
    room: npu.Capacity | None = None  # of an NPU

    def build(self, way: Way) -> Writer:
        """A pipeline that guesses in one way. Raises DeviceError."""
        options = self.options
        more: dict[str, Any] = {"prompt_lookup": True} if way is Way.LOOKUP else {}
        try:
            if way in (Way.DRAFT, Way.EAGLE):
                assert options.draft is not None, "who guesses with a draft has one"
                place = options.draft_device or options.device
                more = {"draft_model": openvino_genai().draft_model(str(options.draft), place, **self.draft)}
            if devices.kind(options.device) == npu.KIND:
                return StreamedWriter(_stateful(options, self.target | more))
            return SteppedWriter(stepped(options, self.target | more))
        except RuntimeError as error:
            other = "--engine headstart" if options.device.upper() == "CPU" else "--device CPU"
            raise DeviceError(
                "OpenVINO GenAI cannot run {name} ({way}) on {device} ({reason}); use {other}.",
                name=options.target.name,
                way=way,
                device=options.device,
                reason=reason(error),
                other=other,
            ) from None


def blueprint(options: LoadOptions, room: npu.Capacity | None, *, eagle: bool) -> Blueprint:
    """With the fastest arithmetic that is known. `room`: of an NPU. Raises BrokenModelError and DeviceError."""
    if room is not None:
        chosen: dict[str, Any] = dict(npu.properties(room))
        return Blueprint(options, chosen, chosen, room)
    target = _properties(options.target, options.device, options.numerics, options.kv_precision)
    target |= options.properties if options.numerics is Numerics.FAST else {}
    if options.draft is None or eagle:  # a head reads what the target computes, and in the same cache
        return Blueprint(options, target, target)
    place = options.draft_device or options.device
    draft = _properties(options.draft, place, Numerics.FAST, options.kv_precision)
    return Blueprint(options, target, draft | dict(options.draft_properties))


def stepped(options: LoadOptions, chosen: dict[str, Any], answers: int = 1) -> Any:
    """A pipeline that is driven step by step and writes so many answers at once."""
    genai = openvino_genai()
    scheduler = genai.SchedulerConfig()
    scheduler.enable_prefix_caching = True  # a conversation begins as it did before, and prompts of a batch alike
    scheduler.max_num_seqs = answers
    return genai.ContinuousBatchingPipeline(str(options.target), scheduler, options.device, chosen)


def _properties(folder: Path, device: str, numerics: Numerics, kv: KvPrecision) -> dict[str, Any]:
    if numerics is Numerics.EXACT:
        return dict(properties(numerics))
    measured = paths.measurements_folder()
    if devices.kind(device) == "CPU" and not obstacle(folder, device, measured):
        return dict(fast_properties(folder, device, measured, kv))
    return _UNMEASURED | ({} if kv is KvPrecision.AUTO else {"KV_CACHE_PRECISION": kv.value})


def _stateful(options: LoadOptions, chosen: dict[str, Any]) -> Any:
    return openvino_genai().LLMPipeline(str(options.target), options.device, **chosen)
