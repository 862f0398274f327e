"""What can be chosen of engine and precision of keys and values, what speaks against it, and what it saves. Pure."""

from collections.abc import Sequence

from headstart import remotes
from headstart.engine import budget
from headstart.engine.engine import EngineKind, KvPrecision, Numerics
from headstart.library import Model
from headstart.settings import Settings, about
from headstart.ui.settings.setting_form import Choices
from headstart.ui.settings.setting_titles import word
from headstart.ui.spelling import amount, whole
from headstart.ui.translation import translate

_NPU = "NPU"


def engines(models: Sequence[Model], settings: Settings) -> Choices:
    """`models`: those that the settings choose, the draft behind the target."""
    against = _against_ours(models, settings)
    return [(kind, word(kind), against if kind == EngineKind.HEADSTART else "") for kind in about()["engine"].choices]


def kv_precisions(settings: Settings) -> Choices:
    """Eight bits do not go with everything."""
    against = {KvPrecision.U8.value: _against_8_bits(settings)}
    return [(name, word(name), against.get(name, "")) for name in about()["kv_precision"].choices]


def kv_note(models: Sequence[Model], settings: Settings) -> str:
    """How much memory keys and values take when the context is full, either way; empty where nobody knows."""
    if not models or remotes.is_remote(settings.model):
        return ""
    known = [model.manifest for model in models]
    full, small = (budget.cache(known, settings.context, kv) for kv in (KvPrecision.F16, KvPrecision.U8))
    words = translate(
        "LoadingChoices", "With {tokens} tokens of context: {full} in 16 bits, {small} in 8 bits, which saves {saved}."
    )
    tokens = whole(budget.context_of(known[0], settings.context))
    return words.format(tokens=tokens, full=amount(full), small=amount(small), saved=amount(full - small))


def _against_ours(models: Sequence[Model], settings: Settings) -> str:
    head = next((model.name for model in models if model.manifest.is_eagle), "")
    if head:
        return translate("LoadingChoices", "{} is an EAGLE-3 head").format(head)
    on_npu = any(place.startswith(_NPU) for place in (settings.device, settings.draft_device))
    return translate("LoadingChoices", "an NPU runs nothing else than OpenVINO GenAI") if on_npu else ""


def _against_8_bits(settings: Settings) -> str:
    if settings.numerics == Numerics.EXACT:
        return translate("LoadingChoices", "exact numerics need 16 bits")
    if settings.device.startswith(_NPU):
        return translate("LoadingChoices", "an NPU decides that itself")
    return ""
