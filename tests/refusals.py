"""Errors as tests expect them: a class, and the values of its sentence."""

import contextlib
from collections.abc import Iterator

import pytest

from headstart.errors import HeadstartError


@contextlib.contextmanager
def refused(kind: type[HeadstartError], **values: object) -> Iterator[None]:
    """Expect an error of this class whose sentence has exactly these values; `unittest.mock.ANY` fits any value."""
    with pytest.raises(kind) as error:
        yield
    assert error.value.text.values == values
