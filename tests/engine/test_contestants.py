"""Names of contestants: what each asks of the engine, and what is refused."""

import pytest

from headstart.engine.bench.race import EVERYTHING, USUAL, fixed_length, playable, read_contestants, speculation
from headstart.engine.engine import Drafter, Mode, Speculation
from headstart.errors import SettingsError


def test_names_become_what_they_say() -> None:
    asked = {name: speculation(name) for name in EVERYTHING}
    assert asked["plain"] == Speculation(Mode.OFF)
    assert asked["fixed 7"] == Speculation(Mode.FIXED, 7)
    assert asked["ngram"] == Speculation(drafter=Drafter.NGRAM)
    assert asked["draft"] == Speculation(drafter=Drafter.DRAFT)
    assert asked["threshold 0.4"] == Speculation(Mode.FIXED, 16, 0.4)
    assert asked["auto"] == Speculation()
    assert len(set(asked.values())) == len(EVERYTHING)


def test_plain_decoding_is_always_there_and_first() -> None:
    assert read_contestants("auto, fixed-3,auto") == ("plain", "auto", "fixed 3")
    assert set(USUAL) < set(EVERYTHING)


@pytest.mark.parametrize("text", ["quick", "", "fixed", "fixed-x", "threshold-", "auto,fixed-3-4"])
def test_what_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"There is no contestant .*; it must be plain, auto, ngram"):
        read_contestants(text)


def test_a_length_that_no_engine_takes_is_refused_as_everywhere() -> None:
    with pytest.raises(SettingsError, match=r"num-assistant-tokens must be between 1 and 16, not 17\."):
        read_contestants("fixed-17")


def test_without_a_draft_model_nobody_drafts_alone() -> None:
    names = ("plain", "draft", "threshold 0.4", "fixed 3", "ngram", "auto")
    assert playable(names, has_draft=True) == names
    assert playable(names, has_draft=False) == ("plain", "fixed 3", "ngram", "auto")


def test_lengths_are_read_back_from_names() -> None:
    assert [fixed_length(name) for name in ("fixed 5", "auto", "threshold 0.4")] == [5, None, None]
