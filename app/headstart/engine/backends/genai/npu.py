"""What an NPU asks of a model and of a conversation, said before it bites. Knows no pipeline; not run on one so far.

A prompt's longest length is compiled in: what is longer would be cut or fail inside the driver.
"""

from dataclasses import dataclass

from headstart.engine.engine import KvPrecision, LoadOptions, Numerics
from headstart.errors import DeviceError, SettingsError
from headstart.manifest import Manifest

KIND = "NPU"
_USUAL_CONTEXT = 2048  # tokens; compiling for more takes minutes and memory
_LEAST_CONTEXT = 128
_STEP = 64  # tokens, to which GenAI rounds the longest prompt
_SYMMETRIC = ("int4-sym", "int8-sym", "fp16")


@dataclass(frozen=True)
class Capacity:
    """Tokens that are compiled in."""

    prompt: int
    answer: int

    @property
    def context(self) -> int:
        """Both."""
        return self.prompt + self.answer


def capacity(manifest: Manifest, wanted: int | None) -> Capacity:
    """Half of the context for the prompt, in steps of 64 tokens; the rest is the answer's.

    Raises DeviceError for less than an NPU can be compiled for.
    """
    context = min(manifest.context_length, wanted or _USUAL_CONTEXT)
    if context < _LEAST_CONTEXT:
        raise DeviceError(
            "An NPU needs a context of at least {least} tokens, not {context}: use another --context.",
            least=_LEAST_CONTEXT,
            context=context,
        )
    prompt = context // 2 // _STEP * _STEP
    return Capacity(prompt, context - prompt)


def properties(room: Capacity) -> dict[str, int]:
    """GenAI's words for it."""
    return {"MAX_PROMPT_LEN": room.prompt, "MIN_RESPONSE_LEN": room.answer}


def require(manifests: tuple[Manifest, ...], options: LoadOptions) -> None:
    """Raises DeviceError or SettingsError for what an NPU does not take."""
    for manifest in manifests:
        weights = manifest.precision.weights
        if weights not in _SYMMETRIC:
            raise DeviceError(
                "An NPU computes with symmetric weights, but {name} has {weights}: export it with "
                "--weights int4-sym, or use --device CPU.",
                name=manifest.name,
                weights=weights,
            )
    if options.draft_device and options.draft_device.upper() != options.device.upper():
        raise SettingsError("With an NPU, model and draft run on it together: leave out --draft-device.")
    if options.numerics is Numerics.EXACT:
        raise SettingsError("An NPU has arithmetic of its own: leave out --numerics exact, or use --device CPU.")
    if options.kv_precision is not KvPrecision.AUTO:
        raise SettingsError("An NPU decides itself how it keeps keys and values: leave out --kv-precision.")
