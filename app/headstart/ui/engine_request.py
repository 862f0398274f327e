"""Requests and load options of the engine, from stored conversations and settings."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from headstart import remotes
from headstart.chat.conversation import ChatMessage as StoredMessage
from headstart.chat.conversation import turns
from headstart.engine.engine import (
    USUAL_DEVICE,
    ConversationRequest,
    EngineKind,
    KvPrecision,
    LoadOptions,
    Message,
    Unset,
)
from headstart.engine.protocol import ModelInfo
from headstart.errors import BrokenModelError, ModelNotFoundError
from headstart.library.library import Broken, Entry, Pair, can_chat, choose, installed, require_readable
from headstart.settings import Settings
from headstart.tools.loop import engine_turns


def engine_messages(messages: Iterable[StoredMessage], settings: Settings) -> tuple[Message, ...]:
    """Return the messages for the engine, the system prompt first."""
    system = (Message("system", settings.system_prompt),) if settings.system_prompt.strip() else ()
    return system + engine_turns(turns(messages))


def request(messages: Iterable[StoredMessage], settings: Settings, model: ModelInfo | None) -> ConversationRequest:
    """Return the request for an answer, or for the rest of one if the conversation ends with it.

    `model` is the one that answers; None if it is not loaded yet.
    """
    return ConversationRequest(
        engine_messages(messages, settings),
        max_new_tokens=settings.max_new_tokens,
        sampling=settings.sampling,
        speculation=settings.guessing,
        stop=settings.stop,
        thinking=thinking(settings, model),
        thinking_budget=settings.think_budget if model and _takes_budget(model) else None,
    )


def thinking(settings: Settings, model: ModelInfo | None) -> bool | None:
    """Return whether the model is asked to think; None if the choice is its own, because it has no switch.

    Every model on this computer but one can be asked not to think, so a model that is not loaded yet is.
    """
    if model:
        return settings.think if model.thinking and model.thinking.can_switch else None
    return None if settings.think or remotes.is_remote(settings.model) else settings.think


def _takes_budget(model: ModelInfo) -> bool:
    return model.thinking is not None and model.engine == EngineKind.HEADSTART and not model.server


@dataclass(frozen=True)
class Loadable:
    """The model that the settings of a chat ask for."""

    name: str  # the one that answers are signed with
    options: LoadOptions


Find = Callable[[Settings], Loadable]


def installed_model(settings: Settings) -> Loadable:
    """Return the model of the settings; if they name none, the first pair, or else the first model.

    A model on another computer is never chosen automatically. Raise ModelNotFoundError, BrokenModelError,
    MismatchedDraftError or SettingsError.
    """
    if remotes.is_remote(settings.model):
        return Loadable(settings.model, remotes.load_options(remotes.find(settings.model)))
    choice = choose(settings.model or _preferred(installed()), settings.draft or None)
    draft = choice.draft.folder if choice.draft else None
    options = LoadOptions(
        choice.target.folder,
        draft,
        settings.device or USUAL_DEVICE,
        settings.context,
        settings.draft_device or None,
        unset=_unset(settings),
        engine=EngineKind(settings.engine),
        kv_precision=KvPrecision(settings.kv_precision),
    )
    return Loadable(choice.name, options)


def _unset(settings: Settings) -> tuple[Unset, ...]:
    """Return the options that tuning may decide."""
    fixed = {Unset.DRAFT: settings.draft, Unset.DEVICE: settings.device, Unset.DRAFT_DEVICE: settings.draft_device}
    return (*(name for name, value in fixed.items() if not value), Unset.PROPERTIES)


def _preferred(entries: Iterable[Entry]) -> str:
    entries = tuple(entries)
    pairs = [entry.name for entry in entries if isinstance(entry, Pair)]
    models = [entry.name for entry in entries if can_chat(entry)]
    if pairs or models:
        return (pairs + models)[0]
    faults = [entry.reason for entry in entries if isinstance(entry, Broken)]
    if faults:
        raise BrokenModelError(faults[0])
    require_readable()
    raise ModelNotFoundError("No model is installed yet.")
