"""What can be chosen of engine and precision of keys and values, what speaks against it, and what it saves. Pure."""

from collections.abc import Sequence

from headstart import remotes
from headstart.engine import budget
from headstart.engine.engine import EngineKind, KvPrecision, Numerics
from headstart.library import Model
from headstart.settings import Settings, about
from headstart.ui.setting_form import Choices
from headstart.ui.setting_titles import word
from headstart.ui.spelling import amount
from headstart.ui.translation import translate

_NPU = "NPU"


def engines(models: Sequence[Model], settings: Settings) -> Choices:
    """`models`: those that the settings choose, the draft behind the target."""
    against = _against_ours(models, settings)
    return [(kind, word(kind), against if kind == EngineKind.HEADSTART else "") for kind in about()["engine"].choices]


def kv_precisions(models: Sequence[Model], settings: Settings) -> Choices:
    """Each with the memory that keys and values take when the context is full."""
    names = about()["kv_precision"].choices
    if not models or remotes.is_remote(settings.model):
        return [(name, word(name), "") for name in names]
    manifests = [model.manifest for model in models]
    full, small = (budget.cache(manifests, settings.context, kv) for kv in (KvPrecision.F16, KvPrecision.U8))
    saves = translate("LoadingChoices", "saves {}").format(amount(full - small))
    told = {KvPrecision.F16.value: f" · {amount(full)}", KvPrecision.U8.value: f" · {saves}"}
    against = {KvPrecision.U8.value: _against_8_bits(settings)}
    return [(name, f"{word(name)}{told.get(name, '')}", against.get(name, "")) for name in names]


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
