"""The blocks of layers with a window: which are kept, and how much of a text can be used without the others."""

import numpy as np
import pytest

from headstart.engine.kernels.library import BLOCK
from headstart.engine.kernels.windows import BACK, Windows, WindowTable, kept_tokens

WINDOW, BLOCKS = 40, 100


@pytest.fixture
def windows() -> Windows:
    made = Windows(WINDOW)
    made.grow(BLOCKS)
    return made


@pytest.fixture
def table(windows: Windows) -> WindowTable:
    return WindowTable(windows, BLOCKS)


def write(table: WindowTable, length: int, count: int = 1) -> None:
    """Write a text of `length` tokens in passes of `count`."""
    for past in range(0, length, count):
        table.make_room(past, min(count, length - past), past)


@pytest.mark.parametrize("count", [1, 7, 200])
def test_text_takes_the_blocks_of_its_window(windows: Windows, table: WindowTable, count: int) -> None:
    for past in range(0, 2800, count):
        table.make_room(past, count, past)
        assert windows.used * BLOCK <= kept_tokens(WINDOW, count)
        assert table.known(past + count) == past + count


@pytest.mark.parametrize("held", [(), (700,), (100, 1500)])
def test_text_goes_on_at_its_end_and_at_held_places(table: WindowTable, held: tuple[int, ...]) -> None:
    table.hold(held)
    write(table, 2000)
    for place in (2000, 2000 - BACK, *held, *(place - BACK for place in held)):
        assert table.known(place) == max(place, 0)
    before = max((place for place in held if place <= 1200), default=0)
    assert before <= table.known(1200) < before + BLOCK


def test_held_places_are_replaced(windows: Windows, table: WindowTable) -> None:
    table.hold((300, 600))
    write(table, 2000)
    before = windows.used
    table.hold(())
    table.make_room(2000, 1, 2000)
    assert windows.used < before
    assert table.known(600) == 0


def test_blocks_are_used_again(windows: Windows, table: WindowTable) -> None:
    write(table, 3000)
    assert max(table.place(token)[0] for token in range(2960, 3000)) < kept_tokens(WINDOW, 1) // BLOCK


def test_sequences_have_blocks_of_their_own(windows: Windows, table: WindowTable) -> None:
    other = WindowTable(windows, BLOCKS)
    for past in range(500):
        table.make_room(past, 1, past)
        other.make_room(past, 1, past)
    mine, theirs = ({each.place(token)[0] for token in range(400, 500)} for each in (table, other))
    assert not mine & theirs


def test_part_that_was_cut_off_is_forgotten(windows: Windows, table: WindowTable) -> None:
    write(table, 1000, 100)
    table.make_room(10, 1, 10)
    assert windows.used == 1
    table.forget(0)
    assert (windows.used, table.known(10)) == (0, 0)


def test_restored_blocks_take_the_place_of_others(windows: Windows, table: WindowTable) -> None:
    write(table, 1000)
    present, places = table.present(24, 32)
    assert places.size == present.sum() > 0
    present[:2] = False
    restored = table.restore(4, present)
    assert restored.size == present.sum()
    assert [table.known(place * BLOCK) for place in (7, 12)] == [0, 12 * BLOCK]
    assert np.unique(restored).size == restored.size
