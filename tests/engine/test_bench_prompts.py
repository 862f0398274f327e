"""The committed prompts: how many, how long, in which languages; and which of them are asked for."""

from collections import Counter

import pytest

from headstart.engine.bench.prompts import KINDS, MOST_PER_KIND, USUAL_KINDS, read_kinds, read_prompts
from headstart.errors import SettingsError

EVERYTHING = read_prompts(MOST_PER_KIND, KINDS)


def test_every_class_has_as_many_prompts_as_are_promised() -> None:
    assert len(KINDS) == 10
    assert Counter(prompt.kind for prompt in EVERYTHING) == dict.fromkeys(KINDS, MOST_PER_KIND)
    assert len({prompt.text for prompt in EVERYTHING}) == len({prompt.id for prompt in EVERYTHING}) == len(EVERYTHING)


def test_there_are_long_ones_and_chinese_ones() -> None:
    assert sum(len(prompt.text) > 3500 for prompt in EVERYTHING) >= 3  # about 900 tokens and more
    chinese = [prompt for prompt in EVERYTHING if sum("一" <= sign <= "鿿" for sign in prompt.text) > 40]
    assert len({prompt.kind for prompt in chinese}) >= 6


@pytest.mark.parametrize(
    ("text", "kinds"), [("all", KINDS), ("story", ("story",)), ("math, code,math", ("math", "code"))]
)
def test_classes_are_named_in_a_list(text: str, kinds: tuple[str, ...]) -> None:
    assert read_kinds(text) == kinds
    assert {prompt.kind for prompt in read_prompts(1, kinds)} == set(kinds)


def test_a_class_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(SettingsError, match=r"no class 'poem'; the classes are code, edit, .*, roleplay, or all\."):
        read_kinds("code,poem")
    assert set(USUAL_KINDS) < set(KINDS)
