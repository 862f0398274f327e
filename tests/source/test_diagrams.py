"""The diagrams of app/docs: drawn from the sources as they are."""

import pytest

from tests.source import diagrams


def test_diagrams_are_not_stale() -> None:
    assert diagrams.PAGE.read_text(encoding="utf-8") == diagrams.page(), "run python -m tests.source.diagrams"


def test_walk_refuses_an_arrow_that_the_sources_do_not_have() -> None:
    diagrams.flowchart_of("Decoder._round --Round--> Decoder.run")
    for wrong in ("Decoder._round --submitted--> Decoder.run", "Decoder._round --Round--> Decoder.walk"):
        with pytest.raises(AssertionError):
            diagrams.flowchart_of(wrong)
