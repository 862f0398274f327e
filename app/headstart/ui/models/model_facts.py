"""What is worth knowing of an installed model or pair, in words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headstart import remotes
from headstart.engine.engine import KvPrecision, Remote
from headstart.engine.memory import need
from headstart.library import ELSEWHERE, Model, Pair
from headstart.manifest import Precision
from headstart.settings import Settings
from headstart.ui.spelling import decimal, listed, sentences, whole
from headstart.ui.translation import translate


@dataclass(frozen=True)
class Reach:
    """How far the messages of a chat go. `leaves`: beyond this computer."""

    text: str
    tip: str
    leaves: bool = False


def reach(settings: Settings, servers: Sequence[Remote], *, fetching: bool = False) -> Reach:
    """For a chat with these settings. "Offline" is said only where nothing else could happen.

    `fetching`: something that a person asked for comes from the network just now.
    """
    server = chosen(settings, servers)
    if server is None:
        if remotes.is_remote(settings.model):  # of a server that is known no more
            return Reach("", "")
        away = [each.name for each in servers if not remotes.is_here(each)]
        if not away and fetching:
            tip = translate("Outside", "Nothing you write leaves this computer; what you asked for is being fetched.")
            return Reach(translate("Outside", "On this computer"), tip)
        if not away:
            tip = translate("Outside", "Nothing you write leaves this computer, and no other one is configured.")
            return Reach(translate("Outside", "Offline"), tip)
        tip = translate("Outside", "This chat stays on this computer. Others are configured: {}.").format(listed(away))
        return Reach(translate("Outside", "On this computer"), tip)
    if remotes.is_here(server):
        tip = translate("Outside", "Messages go to another program on this computer: {}.").format(server.url)
        return Reach(translate("Outside", "On this computer"), tip)
    return Reach(translate("Outside", "Leaves this computer"), warning(server), leaves=True)


def chosen(settings: Settings, servers: Sequence[Remote]) -> Remote | None:
    """The server that answers, if one does."""
    if not remotes.is_remote(settings.model):
        return None
    name = settings.model.removeprefix(ELSEWHERE).partition("/")[0]
    return next((server for server in servers if server.name == name), None)


def warning(server: Remote) -> str:
    """What a person should know before the first message."""
    leaving = translate("Outside", "Messages of this chat leave this computer: they go to {name} at {address}.").format(
        name=server.name, address=server.url
    )
    if not remotes.is_exposed(server):
        return leaving
    return sentences(leaving, translate("Outside", "On the way they can be read by others, as http does not encrypt."))


def place(server: Remote) -> str:
    """Where its models are, in few words."""
    if remotes.is_here(server):
        return translate("Outside", "another program")
    return translate("Outside", "another computer")


def model_words(server: Remote) -> str:
    """A model in a list beside those that are here."""
    return translate("Outside", "{name} ({place})").format(name=server.label, place=place(server))


def no_model() -> str:
    """What is said where everything begins with a model."""
    return translate("ModelFacts", "No model is installed yet.")


def models(entry: Model | Pair) -> tuple[Model, ...]:
    """The model, or target and draft."""
    return (entry.target, entry.draft) if isinstance(entry, Pair) else (entry,)


def size(entry: Model | Pair) -> int:
    """Bytes on disk."""
    return sum(model.manifest.size_bytes for model in models(entry))


def memory(parts: Iterable[Model], settings: Settings) -> int:
    """Bytes of memory that these take together, with this context and precision of keys and values."""
    known = [model.manifest for model in parts]
    return need(known, settings.context, KvPrecision(settings.kv_precision)).total


def licences(entry: Model | Pair) -> str:
    """Each licence once."""
    return ", ".join(dict.fromkeys(model.manifest.licence for model in models(entry)))


def precision(entry: Model | Pair) -> str:
    """How the weights are stored."""
    return " + ".join(_precision(model.manifest.precision) for model in models(entry))


def quality(model: Model) -> str:
    """How true the compressed model is to its source weights, as measured by the export."""
    found = model.manifest.quality
    if found is None:
        return translate("ModelFacts", "quality not measured")
    return translate(
        "ModelFacts",
        "agrees with its source on {share} % of {tokens} tokens · KL {kl} · perplexity ×{ratio}",
    ).format(
        share=decimal(found.top1_agreement * 100, 1),
        tokens=whole(found.tokens),
        kl=decimal(found.mean_kl, 4),
        ratio=decimal(found.perplexity_ratio, 3),
    )


def device_limits(name: str) -> str:
    """What a device can and cannot do for Headstart, in one sentence."""
    if name.startswith("NPU"):
        return translate(
            "ModelFacts",
            "NPU: OpenVINO GenAI runs models of symmetric weights, their longest prompt compiled in; not tried yet.",
        )
    if name.startswith("GPU"):
        return translate(
            "ModelFacts",
            "GPU: if a check at the first load fails, OpenVINO GenAI runs the model; not tried on a real one yet.",
        )
    return translate("ModelFacts", "{}: everything runs here.").format(name)


def parameters(model: Model) -> str:
    """Such as "135 M"."""
    count = model.manifest.parameters
    return f"{decimal(count / 1e9, 2)} B" if count >= 1e9 else f"{decimal(count / 1e6, 0)} M"


def _precision(found: Precision) -> str:
    return found.weights.upper() + (f" (g{found.group_size})" if found.group_size and found.group_size > 0 else "")
