"""Errors as tests expect them: a class, and the values of its sentence."""

import contextlib
from collections.abc import Iterator

import pytest

from headstart.errors import HeadstartError


@contextlib.contextmanager
def refused(error: type[HeadstartError], /, **values: object) -> Iterator[None]:
    """Expect an error of this class whose sentence has exactly these values; `unittest.mock.ANY` fits any value."""
    with pytest.raises(error) as caught:
        yield
    assert caught.value.text.values == values
