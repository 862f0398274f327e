"""What the page of the local server says of state, model and key. Knows no widget and no process."""

from headstart.ui.local_server.serve_offer import Offer
from headstart.ui.local_server.serve_view import ServeState
from headstart.ui.translation import translate


def title(state: ServeState) -> str:
    """A state in a word."""
    titles = {
        ServeState.OFF: translate("ServeWords", "Off"),
        ServeState.STARTING: translate("ServeWords", "Starting"),
        ServeState.READY: translate("ServeWords", "Ready"),
        ServeState.BUSY: translate("ServeWords", "Busy"),
        ServeState.STOPPING: translate("ServeWords", "Stopping"),
        ServeState.FAILED: translate("ServeWords", "Failed"),
    }
    return titles[state]


def model(served: Offer | None, wanted: Offer | None) -> str:
    """What is served, or would be; where the open chat has turned to another one since, how to serve that."""
    if served is None:
        return ""
    named = translate("ServeWords", "Model: {}").format(served.model)
    if wanted is None or wanted == served:
        return named
    other = translate(
        "ServeWords", "The open chat has another model or other settings now; switch off and on to serve those."
    )
    return f"{named}\n{other}"


def key(*, shown: bool, kept: bool) -> str:
    """Where the key is."""
    if shown:
        return translate(
            "ServeWords",
            "Programs send it as their API key. Copy it now: when this window closes, only its hash is left.",
        )
    if kept:
        return translate(
            "ServeWords", "The key was shown when it was made. Who has lost it makes a new one; the old one ends then."
        )
    return translate("ServeWords", "It is made when the server is switched on for the first time.")


def taken(port: int) -> str:
    """Another program has the port."""
    return translate(
        "ServeWords", "Port {} is taken by another program; choose another port, then switch the server on again."
    ).format(port)


def answering(waiting: int) -> str:
    """How busy it is."""
    if waiting:
        return translate("ServeWords", "A request is being answered; waiting: {}.").format(waiting)
    return translate("ServeWords", "A request is being answered.")
