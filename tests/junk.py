"""What a file or a request may hold instead of what belongs there, for tests with hypothesis."""

from typing import Any

from hypothesis import strategies as st

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
    """Every place in JSON data that could hold something else: what holds it, and where in there."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in inside for place in [(value, key), *places(item)]]
