"""The only access to OpenVINO, which is imported on first use with its telemetry disabled."""

import functools
import sys
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import psutil

from headstart.engine.hardware import machine

GGUF_WEIGHTS = "GGUFWeights"  # the type of the operation that holds weights in the blocks of a GGUF file
EXPERTS = "Experts"  # the type of the operation that stands for a mixture of experts
RECURRENCE = "Recurrence"  # the type of the operation that stands for a layer with a state besides keys and values
_TELEMETRY = "openvino_telemetry"


@functools.cache
def openvino() -> Any:
    """Return the module `openvino`. Its import would otherwise report to an analytics host."""
    _shut_out_telemetry()
    import openvino as module  # noqa: PLC0415

    # WORKAROUND https://github.com/pybind/pybind11/pull/4877: NumPy is set up at the first look into a tensor or a
    # constant. Of two threads that look first at the same time, one holds the interpreter's lock, the other that of
    # the set-up, and both wait forever.
    _ = module.Tensor(module.Type.u8, module.Shape([1])).data
    return module


@functools.cache
def core() -> Any:
    """Return the one `openvino.Core` of this process, which lives to the end.

    WORKAROUND https://github.com/openvinotoolkit/openvino/pull/11894: the CPU plugin of each Core gives the thread a
    stack for signals and puts the former one back when it goes. With two plugins that overlap, that is freed memory,
    and the next Ctrl+C ends the process.
    """
    only = openvino().Core()
    only.add_extension(gguf_weights())
    only.add_extension(experts())
    only.add_extension(recurrence())
    only.set_property("CPU", cpu_properties())
    return only


def cpu_properties() -> dict[str, Any]:
    """Return properties for computing on the CPU, which other properties may override.

    On a processor with AMX, OpenVINO would compute in bf16. That gives other results, and for one core it ends the
    process.
    """
    return {"INFERENCE_PRECISION_HINT": "f32", **thread_limit()}


def thread_limit() -> dict[str, int]:
    """Return the property that keeps OpenVINO within a quota of processor time; empty if none is needed.

    OpenVINO knows which cores a process may run on, but no quotas.
    """
    threads = machine.threads()
    is_exceeded = threads.quota is not None and threads.count < (psutil.cpu_count(logical=False) or threads.affinity)
    return {"INFERENCE_NUM_THREADS": threads.count} if is_exceeded else {}


@functools.cache
def _operation() -> Any:
    """Return the base class of our operations in model files, which OpenVINO cannot compute.

    `kind` is the name of the operation's type, and `defaults` are its attributes.
    """
    ov = openvino()

    class Operation(ov.Op):  # type: ignore[misc, name-defined]
        kind: ClassVar[str]
        defaults: ClassVar[Mapping[str, Any]]

        def __init__(self, inputs: Any = None, **attributes: Any) -> None:
            super().__init__(self)
            self.attributes = {**self.defaults, **attributes}
            if inputs is not None:
                self.set_arguments(inputs)
                self.constructor_validate_and_infer_types()

        def clone_with_new_inputs(self, inputs: Any) -> Any:
            return type(self)(inputs, **self.attributes)

        def visit_attributes(self, visitor: Any) -> bool:
            visitor.on_attributes(self.attributes)
            return True

        def get_type_info(self) -> Any:
            return ov.DiscreteTypeInfo(self.kind, "headstart")

        def set_width(self, width: int) -> None:
            *rows, _ = self.get_input_partial_shape(0)
            self.set_output_type(0, ov.Type.f32, ov.PartialShape([*rows, width]))

    return Operation


@functools.cache
def computed_operation() -> Any:
    """Return the base class of operations that Python computes. `parts`: what `evaluate` computes with."""

    class ComputedOperation(openvino().Op):  # type: ignore[misc]
        def __init__(self, inputs: Iterable[Any], *parts: Any) -> None:
            super().__init__(self)
            self.parts = parts
            self.set_arguments(list(inputs))
            self.constructor_validate_and_infer_types()

        def clone_with_new_inputs(self, inputs: Iterable[Any]) -> Any:
            return type(self)(inputs, *self.parts)

        def has_evaluate(self) -> bool:
            return True

    return ComputedOperation


@functools.cache
def gguf_weights() -> Any:
    """The operation that holds weights in the blocks of a GGUF file: u8 [.., bytes] stands for f32 [.., cols].

    `type` is the name of the blocks' type. `kernels.fusion` replaces the operation before a model is compiled. Other
    programs refuse a model that has it, by its name.
    """

    class GGUFWeights(_operation()):  # type: ignore[misc]
        kind, defaults = GGUF_WEIGHTS, MappingProxyType({"type": "", "cols": 0})

        def validate_and_infer_types(self) -> None:
            self.set_width(self.attributes["cols"])

    return GGUFWeights


@functools.cache
def experts() -> Any:
    """The operation that stands for a mixture of experts, which `kernels.experts` replaces before a model is compiled.

    Its inputs are those of `kernels.experts.plain`, without biases or with all. `used`: experts of a token;
    `is_normed`: their weights add up to 1.
    """

    class Experts(_operation()):  # type: ignore[misc]
        kind, defaults = EXPERTS, MappingProxyType({"used": 0, "is_normed": 0, "activation": ""})

        def validate_and_infer_types(self) -> None:
            self.set_output_type(0, openvino().Type.f32, self.get_input_partial_shape(0))

    return Experts


@functools.cache
def recurrence() -> Any:
    """The operation that stands for a layer with a state, which `kernels.states` replaces before a model is compiled.

    Its inputs are x [.., width] and the constants of the rule, one of `kernels.states`. `given`: the output's width;
    `key_heads`: of a delta rule.
    """

    class Recurrence(_operation()):  # type: ignore[misc]
        kind, defaults = RECURRENCE, MappingProxyType({"rule": "", "given": 0, "key_heads": 0})

        def validate_and_infer_types(self) -> None:
            self.set_width(self.attributes["given"])

    return Recurrence


@functools.cache
def openvino_genai() -> Any:
    """Return the `openvino_genai` module, with telemetry disabled as in `openvino`."""
    _shut_out_telemetry()
    import openvino_genai as module  # noqa: PLC0415

    return module


def telemetry_loaded() -> tuple[str, ...]:
    """Return the telemetry modules of OpenVINO that were loaded in spite of `openvino`; usually none."""
    return tuple(
        sorted(name for name, module in sys.modules.items() if name.startswith(_TELEMETRY) and module is not None)
    )


def _shut_out_telemetry() -> None:
    # OpenVINO falls back to an empty stub of its own when this import fails.
    sys.modules[_TELEMETRY] = None  # type: ignore[assignment]


def missing_parts() -> tuple[str, ...]:
    """Load OpenVINO, and return a sentence for each part that is missing or does not load."""
    try:
        openvino_genai()
        import openvino_tokenizers as tokenizers  # noqa: PLC0415

        extension = str(tokenizers._ext_path)  # noqa: SLF001 - it has no other name
        core().add_extension(extension)
    except (ImportError, OSError, RuntimeError) as error:
        return (f"OpenVINO does not load: {' '.join(str(error).split())}",)
    readers = openvino().frontend.FrontEndManager().get_available_front_ends()
    parts = {"its plugin for the CPU": "CPU" in core().available_devices, "its reader": "ir" in readers}
    return tuple(f"OpenVINO lacks {part}." for part, is_there in parts.items() if not is_there)
