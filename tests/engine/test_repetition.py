"""What says the same again and again is found soon after the bound; what only looks like it is left alone."""

import pytest

from headstart.engine.detokenizer import LEAST_ITEMS, LONGEST_PERIOD, Repetition
from headstart.engine.tokenizer import Tokenizer
from tests.engine import good_texts

LOOPS = {
    "sentence": "I'm here to help with anything related to science or math. ",
    "line": "A mammal (mammal)\n",
    "row": "| Brazil | Portuguese | Portuguese |\n| Russia | Russian | Russian |\n",
    "paragraph": "Jameson's father was a sailor, and he had to choose a new lighthouse keeper to take over.\n\n",
    "word": "sunset ",
    "sign": "!",
    "code": "    for i in range(10):\n        print(i)\n",
    "Chinese": "我是一个语言模型,可以帮助你。",
}


COUNTED = {
    "list": "{n}. Frogs\n",
    "table": "| {n}. Dogs | {n}. Cats |\n",
    "headings": "## Step {n}\n\nStir the soup again.\n\n",
    "items": "{n}. **Frog**: green\n   - lives in ponds\n   - eats flies\n",
    "lines": "{even}. Elk\n{odd}. Deer\n",
    "code": "    item_{n} = make('item')\n",
}


def found_after(tokens: list[int]) -> tuple[int, int] | None:
    """How many tokens were read until a repetition was seen, and how often it stood there; None: never."""
    repetition = Repetition()
    for count, token in enumerate(tokens, start=1):
        if repeats := repetition.add(token):
            return count, repeats
    return None


@pytest.mark.parametrize(
    ("period", "tokens", "repeats"),
    [
        (1, 128, 128),
        (3, 128, 42),
        (4, 64, 16),
        (15, 64, 4),
        (16, 64, 4),
        (17, 68, 4),
        (199, 796, 4),
        (LONGEST_PERIOD, 800, 4),
    ],
)
def test_the_bound_is_four_times_and_64_tokens_and_twice_as_many_of_a_rule(
    period: int, tokens: int, repeats: int
) -> None:
    before = [1000 + token for token in range(37)]
    loop = [token % period for token in range(2000)]
    assert found_after(before + loop) == (len(before) + tokens, repeats)
    assert found_after(before + loop[: tokens - 1]) is None


def test_a_longer_period_is_no_repetition() -> None:
    assert found_after([token % (LONGEST_PERIOD + 1) for token in range(3000)]) is None


def test_one_other_token_begins_the_count_anew() -> None:
    once = [token % 20 for token in range(79)]
    assert found_after([*once, 99] * 20) == (4 * 80, 4)  # the longer period, with the other token in it
    assert found_after([*once, 99, *once]) is None


def test_a_repetition_goes_on_being_counted() -> None:
    repetition = Repetition()
    assert [repetition.add(token % 16) for token in range(6 * 16)][-1] == 6


@pytest.mark.parametrize("name", COUNTED)
def test_a_list_that_only_counts_is_found(name: str) -> None:
    repetition = Repetition()
    items = [COUNTED[name].format(n=number, even=2 * number, odd=2 * number + 1) for number in range(95, 195)]
    found = (number for number, item in enumerate(items, start=1) for sign in item if repetition.add(number, sign))
    assert next(found) == LEAST_ITEMS


@pytest.mark.parametrize(
    "line",
    [
        "{n}",
        "{n} x {n} = {square}",
        "| {year} | {square} people |",
        "{n}. The {n}th of {square} frogs",
        "{square}. Frogs",
        "-----",
    ],
)
def test_lines_in_which_more_varies_are_no_repetition(line: str) -> None:
    repetition = Repetition()
    lines = [line.format(n=number, square=number * number, year=1900 + number) for number in range(3, 60)]
    assert not any(repetition.add(number, f"{text}\n") for number, text in enumerate(lines))


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_found_soon(name: str, byte_level: Tokenizer) -> None:
    unit = len(byte_level.encode(LOOPS[name]))
    if unit > LONGEST_PERIOD:
        pytest.skip("too long in the tokens of this tiny tokenizer")
    beginning = byte_level.encode("Here is what you asked for:\n\n")
    tokens = [*beginning, *byte_level.encode(LOOPS[name] * 200)]
    found = found_after(tokens)
    assert found is not None
    bound = max(4 * unit, 64 if unit > 3 else 128)
    assert found[0] <= len(beginning) + bound + 2  # the first unit may be cut otherwise
    assert found[1] >= 4


def test_no_good_text_is_cut(byte_level: Tokenizer) -> None:
    texts = dict(good_texts.texts())
    assert len(texts) >= 200
    assert {name: found for name, text in texts.items() if (found := found_after(byte_level.encode(text)))} == {}
    lists = {name: Repetition() for name in texts}
    assert not [
        (name, line)
        for name, text in texts.items()
        for number, line in enumerate(text.splitlines(keepends=True))
        if lists[name].add(number, line)
    ]
