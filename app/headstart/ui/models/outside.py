"""Says where what is written goes: nowhere, to another program here, or to another computer. Knows no widget."""

from collections.abc import Sequence
from dataclasses import dataclass

from headstart import remotes
from headstart.engine.engine import Remote
from headstart.library import ELSEWHERE
from headstart.settings import Settings
from headstart.ui.spelling import listed, sentences
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
