"""The messages of the local server between the engine's process and its user; `protocol` carries them."""

from headstart.engine.engine import Prefill, Sampling, Speculation
from headstart.engine.wire import Tagged


class StartServer(Tagged, frozen=True):
    """Answer other programs with the loaded model, beside other work; told by the reports below, or fails.

    `key` is a digest. `beyond`: other computers may ask, too. `hosts` and `origins` are let in beside the usual ones.
    The rest says how an answer is written as far as a request leaves that open; `seed` None: another one each time.
    """

    model: str  # what clients call it
    key: str
    host: str
    port: int
    beyond: bool = False
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    waiting: int = 16  # requests that may wait
    answer_seconds: float = 1800.0
    sampling: Sampling = Sampling()
    speculation: Speculation = Speculation()
    seed: int | None = None


class StopServer(Tagged, frozen=True):
    """End it, with the answers that it gives; ServerEnded follows, also where there was none."""


class Serving(Tagged, frozen=True):
    """Requests are answered at `url`. `beyond`: those of other computers, too."""

    model: str
    url: str
    beyond: bool = False


class Asked(Tagged, frozen=True):
    """A request has come; `number` counts them."""

    number: int
    method: str
    path: str


class Answered(Tagged, frozen=True):
    """It has ended. A status of 0: its client left before. Tokens are those of an answer, where there was one."""

    number: int
    seconds: float
    status: int
    prompt_tokens: int | None = None
    output_tokens: int | None = None


class ServerEnded(Tagged, frozen=True):
    """Nobody is answered any more."""


class TurnTaken(Tagged, frozen=True):
    """An answer for a client of the server goes on: so much of its prompt is read, or a round is written."""

    prefill: Prefill | None = None


class TurnEnded(Tagged, frozen=True):
    """The next one may take its turn."""


ServerReport = Serving | Asked | Answered | ServerEnded
