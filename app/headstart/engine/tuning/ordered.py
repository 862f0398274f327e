"""A tuning that was ordered over the wire: what happens becomes reports."""

import threading
from collections.abc import Callable

from headstart.engine import tuned
from headstart.engine.tuning.findings import Findings
from headstart.engine.tuning.messages import Tune, TuneDecided, TuneReport, TuneTrying
from headstart.engine.tuning.tuner import Watch, tune

Tell = Callable[[TuneReport], None]


def carry_out(order: Tune, tell: Tell, cancel: threading.Event) -> Findings:
    """Tune and keep what came of it. Raises what loading raises, and RaceCancelled, with nothing kept."""
    ticket = order.ticket
    watch = Watch(
        stage=lambda _: None,
        cancel=cancel,
        trying=lambda trying: tell(TuneTrying(ticket, trying)),
        decided=lambda stage: tell(TuneDecided(ticket, stage)),
    )
    chosen, found = tune(order.wish, watch)
    tuned.keep(order.wish.load, chosen, found)
    return found
