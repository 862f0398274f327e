"""An event that calls whoever waits for something else."""

import threading

from headstart.engine.cancelling import CancelEvent


def test_it_calls_while_it_is_waited_for_and_not_afterwards() -> None:
    cancel, called = CancelEvent(), list[int]()
    with cancel.calling(lambda: called.append(1)):
        assert not called
        other = threading.Thread(target=cancel.set)
        other.start()
        other.join()
        assert called == [1]
    cancel.set()
    assert called == [1]


def test_who_waits_for_what_is_cancelled_already_is_called_at_once() -> None:
    cancel, called = CancelEvent(), list[int]()
    cancel.set()
    with cancel.calling(lambda: called.append(1)):
        assert called == [1]
