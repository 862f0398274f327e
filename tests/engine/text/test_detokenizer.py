"""Streaming text: whole characters, cut at stop strings, ended where it repeats itself, however the tokens arrive."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.engine.answer_writer import AnswerText
from headstart.engine.engine import FinishReason
from headstart.engine.text.detokenizer import (
    MAX_PERIOD,
    MIN_ITEMS,
    DecodeMany,
    Detokenizer,
    Repetition,
    StopStrings,
    TokenTexts,
)
from headstart.engine.text.tokenizer import Tokenizer
from tests.engine import good_texts
from tests.engine.text.tiny_tokenizers import KINDS, SAMPLES

UNKNOWN = "\ufffd"
TEXT = " ".join(SAMPLES) * 4 + "👩‍👩‍👧‍👦" * 30 + " " * 50 + "你好" * 40 + "🏳️‍🌈 שלום"
SKIPPED = 256  # a token without text

chunk_sizes = st.lists(st.integers(0, 40), max_size=30)
# Bytes in all orders, mostly parts of longer characters: what a model may emit, not what anybody would encode.
byte_runs = st.lists(
    st.one_of(
        st.text("aß你🙂\ufffd ", max_size=4).map(lambda text: list(text.encode())),
        st.lists(st.sampled_from([0x80, 0xBF, 0xC3, 0xE4, 0xF0, 0x9F, 0xED, 0xFF, 0x41, SKIPPED]), max_size=8),
    ),
    max_size=30,
).map(lambda runs: [byte for run in runs for byte in run])
Cuttable = TypeVar("Cuttable", list[int], str)

stop_lists = st.lists(st.text("ab", min_size=1, max_size=4), max_size=3)


def decode_bytes(batch: list[list[int]]) -> list[str]:
    """Decode tokens that are bytes; like SentencePiece, drop a space at the beginning."""
    texts = (bytes(token for token in ids if token < SKIPPED).decode("utf-8", "replace") for ids in batch)
    return [text.removeprefix(" ") for text in texts]


def decode_bytes_singly(batch: list[list[int]]) -> list[str]:
    """Decode with a U+FFFD for every byte that is no character; Python writes one for half a character."""
    texts = (bytes(token for token in ids if token < SKIPPED).decode("utf-8", "surrogateescape") for ids in batch)
    return [
        "".join(UNKNOWN if 0xDC80 <= ord(character) <= 0xDCFF else character for character in text) for text in texts
    ]


def texts_of(decode: DecodeMany) -> TokenTexts:
    """Return the texts of tokens that are bytes."""
    return TokenTexts(decode, b"a", SKIPPED)


BYTES = texts_of(decode_bytes)


def chunks(whole: Cuttable, sizes: Sequence[int]) -> list[Cuttable]:
    """Cut `whole` into runs of these sizes, and the rest."""
    edges = [0, *itertools.accumulate(sizes), len(whole)]
    return [whole[start:end] for start, end in itertools.pairwise(edges)]


def stream(detokenizer: Detokenizer, runs: Sequence[Sequence[int]]) -> list[str]:
    """Return the text of each token, and the rest."""
    return [*(text for run in runs for text in detokenizer.push(run)), detokenizer.flush()]


def without_unfinished(text: str) -> str:
    """Return `text` without U+FFFD at its end that may be an incomplete character: three at most."""
    for _ in range(3):
        text = text.removesuffix(UNKNOWN)
    return text


def cut(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    """Read `text` character by character until it ends with a stop string; with several, the longest."""
    for end in range(1, len(text) + 1):
        ending = [stop for stop in stops if text[:end].endswith(stop)]
        if ending:
            return text[: end - max(map(len, ending))], True
    return text, False


@dataclass(frozen=True)
class Answer:
    """The parts of an answer."""

    text: str
    token_ids: tuple[int, ...]
    tokens_used: int
    stopped: bool


def answer(ids: list[int], stops: Sequence[str], sizes: Sequence[int]) -> Answer:
    """Push `ids` in runs of these sizes until the answer stops."""
    text, shown, used = AnswerText(BYTES, stops), "", 0
    for run in chunks(ids, sizes):
        progress = text.push(run)
        shown, used = shown + progress.text, used + progress.tokens_used
        if progress.stopped:
            break
    shown += text.finish()[1]
    return Answer(shown, text.token_ids, used, text.stopped)


@settings(deadline=None, max_examples=150)
@given(ids=byte_runs, sizes=chunk_sizes, decode=st.sampled_from([decode_bytes, decode_bytes_singly]))
def test_any_byte_runs_give_the_whole_text(ids: list[int], sizes: list[int], decode: DecodeMany) -> None:
    texts = stream(Detokenizer(texts_of(decode)), chunks(ids, sizes))
    assert "".join(texts) == decode([ids])[0]
    assert len(texts) == len(ids) + 1


@settings(deadline=None, max_examples=200)
@given(ids=byte_runs)
def test_text_is_given_once_certain(ids: list[int]) -> None:
    detokenizer, text = Detokenizer(BYTES), ""
    for count, token in enumerate(ids, 1):
        text += "".join(detokenizer.push([token]))
        assert text.startswith(without_unfinished(decode_bytes([ids[:count]])[0]))


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=50)
@given(data=st.data())
def test_any_tokens_give_the_decoded_text(tokenizers: Mapping[str, Tokenizer], kind: str, data: st.DataObject) -> None:
    tokenizer = tokenizers[kind]
    text = data.draw(st.text(max_size=60))
    strays = data.draw(st.lists(st.integers(0, 650), max_size=60))
    ids = strays[::2] + tokenizer.encode(text) + strays[1::2]
    texts = stream(Detokenizer(tokenizer.texts), chunks(ids, data.draw(chunk_sizes)))
    assert "".join(texts) == tokenizer.decode(ids)


@pytest.mark.parametrize("run", [1, 7])
def test_long_text_has_no_half_characters(tokenizer: Tokenizer, run: int) -> None:
    ids = tokenizer.encode(TEXT)
    texts = stream(Detokenizer(tokenizer.texts), chunks(ids, [run] * (len(ids) // run)))
    assert "".join(texts) == tokenizer.decode(ids) == TEXT
    assert not any(UNKNOWN in text for text in texts)


# A letter, a character of four bytes, what is never one, U+FFFD itself, a space, and tokens without text.
@pytest.mark.parametrize("pattern", [b"a", "🙂".encode(), b"\x80", "\ufffd".encode(), b" ", [0x61, SKIPPED, SKIPPED]])
def test_token_cost_does_not_grow_with_the_answer(pattern: Sequence[int]) -> None:
    decoded = 0

    def counting(batch: list[list[int]]) -> list[str]:
        nonlocal decoded
        decoded += sum(map(len, batch))
        return decode_bytes(batch)

    ids = list(pattern) * (4000 // len(pattern))
    detokenizer = Detokenizer(texts_of(counting))
    text = "".join(text for token in ids for text in detokenizer.push([token])) + detokenizer.flush()
    assert text == decode_bytes([ids])[0]
    assert decoded <= 70 * len(ids)  # a window of 64, and what shortening it costs


def test_whole_characters_are_decoded_once() -> None:
    calls = 0

    def counting(batch: list[list[int]]) -> list[str]:
        nonlocal calls
        calls += 1
        return decode_bytes(batch)

    detokenizer = Detokenizer(texts_of(counting))
    assert detokenizer.push(b" a") == ["", "a"]
    before = calls
    assert "".join(detokenizer.push(b" b, c\n" * 100)) == " b, c\n" * 100
    assert calls == before


@settings(deadline=None, max_examples=200)
@given(text=st.text("abc", max_size=20), stops=stop_lists, sizes=st.lists(st.integers(0, 4), max_size=12))
def test_stop_strings_cut_the_same_for_any_runs(text: str, stops: list[str], sizes: list[int]) -> None:
    stop_strings, seen, shown, has_ended = StopStrings(stops), "", "", False
    for run in chunks(text, sizes):
        emitted, has_ended = stop_strings.push(run)
        seen, shown = seen + run, shown + emitted
        if has_ended:
            break
        assert seen == shown or any(stop.startswith(seen.removeprefix(shown)) for stop in stops)
    assert (shown if has_ended else shown + stop_strings.flush(), has_ended) == cut(text, stops)
    assert (stop_strings.found in stops and text.startswith(shown + stop_strings.found)) == has_ended


CALL = '{"name": "f", "arguments": {"a": ". and more than twenty"}}'
MARKED = f"<tool_call>\n{CALL}\n</tool_call>"


@pytest.mark.parametrize("size", [1, 2, 5, 100])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b. c", "a b"),
        (f"a {MARKED}", f"a {MARKED}"),
        (f"{MARKED} a. c", f"{MARKED} a"),
        (MARKED[:-20], MARKED[:-20]),
        (CALL, CALL),
        (f" ```json\n{CALL}", f" ```json\n{CALL}"),
        (' {"name": "."}', ' {"name": "'),
        ('```json\n{"name": "."}', '```json\n{"name": "'),
        ("<tool_call> begins it. b", "<tool_call> begins it"),
        ('<tool_call>\n{"b": "."}\n</tool_call>', '<tool_call>\n{"b": "'),
        ("```js. b", "```js"),
        ("a <tool_box>. b", "a <tool_box>"),
        ("a <tool_c", "a <tool_c"),
    ],
)
def test_stop_strings_leave_calls_alone(text: str, shown: str, size: int) -> None:
    stop_strings, seen = StopStrings(["."], tools=["f"]), ""
    for at in range(0, len(text), size):
        more, has_ended = stop_strings.push(text[at : at + size])
        seen += more
        if has_ended:
            break
    assert seen + stop_strings.flush() == shown


@settings(deadline=None, max_examples=150)
@given(
    text=st.text("ab你🙂", max_size=20),
    stops=st.lists(st.text("ab你🙂", min_size=1, max_size=3), max_size=3),
    sizes=chunk_sizes,
)
def test_answers_do_not_depend_on_runs(text: str, stops: list[str], sizes: list[int]) -> None:
    ids = list(text.encode())
    whole, plain = answer(ids, stops, sizes), answer(ids, stops, [1] * len(ids))
    assert whole == plain
    assert whole.text == cut(text, stops)[0]


@settings(deadline=None, max_examples=200)
@given(text=st.text("ab你", max_size=20), stops=stop_lists, sizes=chunk_sizes)
def test_answer_has_the_fewest_tokens_that_cover_its_text(text: str, stops: list[str], sizes: list[int]) -> None:
    ids = list(text.encode())
    given_answer = answer(ids, stops, sizes)
    if cut(text, stops)[1]:
        counts = (count for count in range(len(ids) + 1) if decode_bytes([ids[:count]])[0] == given_answer.text)
        assert given_answer.token_ids == tuple(ids[: next(counts)])
    else:
        assert given_answer.token_ids == tuple(ids)


def test_stop_string_is_found_in_the_flush() -> None:
    text = AnswerText(BYTES, [UNKNOWN])
    assert text.push([0x61, 0xF0]).text == "a"
    assert text.finish() == ("", "")
    assert text.stopped
    assert text.token_ids == (0x61,)


def test_stop_string_may_end_inside_a_token(byte_level: Tokenizer) -> None:
    ids = byte_level.encode("The quick brown fox")
    text = AnswerText(byte_level.texts, ["fox", "ick"])
    progress = text.push(ids)
    assert (progress.text, text.stop_text) == ("The qu", "ick")
    assert progress.stopped
    assert "ick" in byte_level.decode(ids[: progress.tokens_used])
    assert "ick" not in byte_level.decode(ids[: progress.tokens_used - 1])


@settings(deadline=None, max_examples=100)
@given(before=byte_runs, sizes=chunk_sizes, stops=stop_lists)
def test_repetition_ends_at_the_same_place_for_any_runs(before: list[int], sizes: list[int], stops: list[str]) -> None:
    loop = "你好, again and again. "
    text, shown = AnswerText(BYTES, [f"{stop}X" for stop in stops], stop_on_repetition=True), ""
    for run in chunks([*before, *(loop * 40).encode()], sizes):
        shown += text.push(run).text
        if text.ended:
            break
    shown += text.finish()[1]
    assert (text.ended, text.stopped) == (FinishReason.REPETITION, False)
    assert text.repeats == 4
    assert shown == without_unfinished(decode_bytes([list(text.token_ids)])[0])
    assert len(before) + 4 * len(loop.encode()) <= len(text.token_ids) + len(loop.encode())
    assert len(text.token_ids) <= len(before) + 4 * len(loop.encode())


LOOPS = {
    "sentence": "I'm here to help with anything related to science or math. ",
    "row": "| Brazil | Portuguese | Portuguese |\n| Russia | Russian | Russian |\n",
    "sign": "!",
    "Chinese": "我是一个语言模型,可以帮助你。",
}


COUNTED = {
    "list": "{n}. Frogs\n",
    "table": "| {n}. Dogs | {n}. Cats |\n",
    "headings": "## Step {n}\n\nStir the soup again.\n\n",
    "items": "{n}. **Frog**: green\n   - lives in ponds\n   - eats flies\n",
    "lines": "{even}. Elk\n{odd}. Deer\n",
}


def found_after(tokens: list[int]) -> tuple[int, int] | None:
    """Return after how many tokens a repetition was found, and how often the text stood there; None without one."""
    repetition = Repetition()
    for count, token in enumerate(tokens, start=1):
        if repeats := repetition.add(token):
            return count, repeats
    return None


@pytest.mark.parametrize(
    ("period", "tokens", "repeats"),
    [(1, 128, 128), (3, 128, 42), (4, 64, 16), (16, 64, 4), (17, 68, 4), (MAX_PERIOD, 800, 4)],
)
def test_repetition_bounds(period: int, tokens: int, repeats: int) -> None:
    before = [1000 + token for token in range(37)]
    loop = [token % period for token in range(2000)]
    assert found_after(before + loop) == (len(before) + tokens, repeats)
    assert found_after(before + loop[: tokens - 1]) is None


def test_other_token_restarts_the_repetition_count() -> None:
    once = [token % 20 for token in range(79)]
    assert found_after([*once, 99] * 20) == (4 * 80, 4)  # the longer period, with the other token in it
    assert found_after([*once, 99, *once]) is None


@pytest.mark.parametrize("name", COUNTED)
def test_counting_list_is_a_repetition(name: str) -> None:
    repetition = Repetition()
    items = [COUNTED[name].format(n=number, even=2 * number, odd=2 * number + 1) for number in range(95, 195)]
    counts = (number for number, item in enumerate(items, start=1) for sign in item if repetition.add(number, sign))
    assert next(counts) == MIN_ITEMS


@pytest.mark.parametrize(
    "line",
    [
        "{n}",
        "{n} x {n} = {square}",
        "| {year} | {square} people |",
        "{square}. Frogs",
        "-----",
        "        self.a{n} = a{n}",
        "    item_{n} = make('item')",
        "INSERT INTO t VALUES ({n}, 'x');",
        "Line {n} of the file",
        "{n}: 'red',",
    ],
)
def test_varied_lines_are_no_repetition(line: str) -> None:
    repetition = Repetition()
    lines = [line.format(n=number, square=number * number, year=1900 + number) for number in range(3, 60)]
    assert not any(repetition.add(number, f"{text}\n") for number, text in enumerate(lines))


@pytest.mark.parametrize("name", LOOPS)
def test_loop_is_found_soon(name: str, byte_level: Tokenizer) -> None:
    unit = len(byte_level.encode(LOOPS[name]))
    if unit > MAX_PERIOD:
        pytest.skip("too long in the tokens of this tiny tokenizer")
    beginning = byte_level.encode("Here is what you asked for:\n\n")
    tokens = [*beginning, *byte_level.encode(LOOPS[name] * 200)]
    repetition = found_after(tokens)
    assert repetition is not None
    bound = max(4 * unit, 64 if unit > 3 else 128)
    assert repetition[0] <= len(beginning) + bound + 2  # the first unit may be cut otherwise
    assert repetition[1] >= 4


def test_good_text_is_not_cut(byte_level: Tokenizer) -> None:
    texts = dict(good_texts.texts())
    assert len(texts) >= 200
    assert {
        name: repetition for name, text in texts.items() if (repetition := found_after(byte_level.encode(text)))
    } == {}
    lists = {name: Repetition() for name in texts}
    assert not [
        (name, line)
        for name, text in texts.items()
        for number, line in enumerate(text.splitlines(keepends=True))
        if lists[name].add(number, line)
    ]
