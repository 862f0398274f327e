"""Malformed files and requests for hypothesis."""

import copy
import os
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

Test = TypeVar("Test", bound=Callable[..., object])
TIMES = "HEADSTART_FUZZ_TIMES"  # as many inputs as usual
_UNHURRIED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab\ud800", max_size=3) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)
# TOML has no null and only whole characters, and its numbers have 64 bits.
TOML_JUNK = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text("ab{}\n\"'", max_size=4) | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", min_size=1, max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)


def places(value: object) -> list[tuple[Any, Any]]:
    """Yield every place in JSON data that could hold another value: its container, and its key."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in inside for place in [(value, key), *places(item)]]


def changed(data: st.DataObject, source: dict[str, Any], junk: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Return the data with one to three values replaced, or without one."""
    content = copy.deepcopy(source)
    for _ in range(data.draw(st.integers(1, 3))):
        there = places(content)
        if not there:
            break
        holder, key = data.draw(st.sampled_from(there))
        if isinstance(holder, dict) and data.draw(st.booleans()):
            del holder[key]
        else:
            holder[key] = data.draw(junk)
    return content


def fuzz(kind: str, inputs: int = 120) -> Callable[[Test], Test]:
    """Decorator above `given`: try so many inputs of a kind; HEADSTART_FUZZ_TIMES=30 tries more."""
    many = inputs * int(os.environ.get(TIMES, "1"))
    unhurried = settings(max_examples=many, deadline=None, suppress_health_check=_UNHURRIED)
    # A failing case is shown however long it is: as an error, the warning would stand in its place.
    shown_whole = pytest.mark.filterwarnings("ignore:Generating overly large repr")
    return lambda test: shown_whole(pytest.mark.fuzz(kind)(unhurried(test)))


def scarred(content: bytes) -> st.SearchStrategy[bytes]:
    """Draw a file with up to six changed bytes, maybe cut short."""
    places = st.dictionaries(st.integers(0, len(content) - 1), st.integers(0, 255), max_size=6)
    return st.builds(_scarred, st.just(content), places, st.none() | st.integers(0, len(content)))


def _scarred(content: bytes, scars: dict[int, int], end: int | None) -> bytes:
    made = bytearray(content)
    for place, byte in scars.items():
        made[place] = byte
    return bytes(made[:end])
