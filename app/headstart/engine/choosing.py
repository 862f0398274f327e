"""Which engine runs a model: what a person asked for, or what suits the device and the draft. Pure but for `check`."""

from collections.abc import Callable
from dataclasses import dataclass

from headstart.engine import devices
from headstart.engine.engine import EngineKind, LoadOptions
from headstart.errors import SettingsError

Check = Callable[[], str]  # what speaks against Headstart's own engine on the devices asked for; empty: nothing


@dataclass(frozen=True)
class EngineChoice:
    """An engine, and why in a sentence where a person did not ask for it and may wonder."""

    kind: EngineKind
    reason: str = ""


def choose(options: LoadOptions, head: str | None, check: Check) -> EngineChoice:
    """`head`: the name of the draft where it is an EAGLE-3 head. Raises SettingsError for what cannot be."""
    kinds = {devices.kind(place) for place in (options.device, options.draft_device or options.device)}
    if options.engine is EngineKind.GENAI:
        return EngineChoice(EngineKind.GENAI)
    if options.engine is EngineKind.HEADSTART:
        _require_ours(kinds, head)
        return EngineChoice(EngineKind.HEADSTART)
    against = _against(kinds, head) or (_unfit(check()) if kinds != {"CPU"} else "")
    if against:
        return EngineChoice(EngineKind.GENAI, f"OpenVINO GenAI answers: {against}.")
    return EngineChoice(EngineKind.HEADSTART)


def _against(kinds: set[str], head: str | None) -> str:
    if head is not None:
        return f"{head} is an EAGLE-3 head"
    return "an NPU runs nothing else" if "NPU" in kinds else ""


def _unfit(found: str) -> str:
    return f"Headstart's own engine does not fit here ({found})" if found else ""


def _require_ours(kinds: set[str], head: str | None) -> None:
    if head is not None:
        raise SettingsError(
            "{head} is an EAGLE-3 head, which only OpenVINO GenAI can use: leave out --engine headstart.", head=head
        )
    if "NPU" in kinds:
        raise SettingsError(
            "An NPU compiles a fixed prompt length in, while Headstart's own engine feeds passes of any length: "
            "leave out --engine headstart, or use --device CPU."
        )
