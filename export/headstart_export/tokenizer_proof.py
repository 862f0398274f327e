"""The proof that a converted tokenizer reads and writes as its source does, on about 80,000 texts.

`python -m headstart_export.tokenizer_proof` reads one JSON request on standard input and prints one JSON answer: the
comparison has a process of its own, as native code reads what strangers wrote.
"""

import dataclasses
import itertools
import json
import random
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from headstart import vocabulary
from headstart.errors import ExportError
from headstart_export import own_process, quiet
from headstart_export.chat_template import Chat

Item = TypeVar("Item")

PROBES = (
    "Hello world, 2 + 2 = 4; isn't it? 1234567890",
    "  two spaces, a tab\tand a line\n\n    def indented(x):\r\n        return x  \n",
    "Größe, naïveté, Łódź, ελληνικά, Привет, мир!",
    "你好，世界。日本語のテキスト、한국어 문장입니다.",
    "שלום עולם، مرحبا بالعالم، नमस्ते दुनिया, สวัสดีชาวโลก",
    "🙂 🚀 👩‍👩‍👧 🇩🇪 → ∑ ≠ “quotes” … £€¥",
    "1.  a\n\n2.   b\n    3 | 4  ½ ١٢",
)
_MINUTES = 15  # a slow machine takes one for the largest vocabularies
_BATCH = 512  # texts encoded or decoded in one call
_WINDOW = 32  # tokens that are streamed together; longer texts are streamed in windows that overlap
_UNFINISHED = 3  # most U+FFFD at the end of a text that the next token may still turn into a character
_HALVED = 4  # first characters of a window that may differ from the text's: half a character, a dropped space
_RUNS, _RUN = 8000, 8  # texts of the vocabulary's own tokens, and tokens in each
_SHOWN = 200  # characters of a text or its tokens in a sentence
_SPACE_SIGN = "▁"  # stands for the space in tokenizers that come from SentencePiece

_SPACES: tuple[str, ...] = (
    *"\t\n\r\v\f\u0085\u00a0\u2003\u2028\u3000",
    " ",
    "  ",
    "   ",
    "    ",
    " " * 7,
    " " * 16,
    "\t\t",
    "\n\n",
)
_SPACES += ("\n\n\n", "\r\n", "\r\n\r\n", " \n", "\n ", "\n    ", "\n\n  ", "\t ", " \t", " \r\n ")
_BEFORE = ("", "a", "Z", "é", "1", "½", "٣", ".", ")", "'", "_", "你", "🙂")
_BEHIND = ("", "b", "É", "2", "42", "¾", "Ⅳ", "٤", "①", ",", "(", "'s", "-", "世", "🚀")
_ENDS = ("\n", "\r\n", "\r", "\v", "\f", "\u0085", "\u2028")
_NUMBERS: tuple[str, ...] = (
    "{}",
    "{}.{}",
    "-{}",
    "{},{}",
    "{} {}",
    "0x{:x}",
    "{:e}",
    "{}%",
    "${}.{}",
    "{}/{}",
    "{}-{}-{}",
    "{}:{}:{}",
)
_NUMBERS += ("v{}.{}.{}", "({}) {}-{}", "{}.  x\n\n{}.  y", "| {}  |  {} |", "{}²", "x{}", "{}th", "1e-{}", "+{} {} {}")
_TEXT_FILE = Path(__file__).parent / "tokenizer_texts.txt"


@dataclass(frozen=True)
class Request:
    """What to compare: a folder's OpenVINO tokenizer with the source's `tokenizer.json`.

    `documents` are texts with the ids that they have as whole documents, markers of the beginning included. `turns` is
    a conversation and `chat` what the chat template makes of it; None: there is no template.
    """

    folder: str
    source: str
    documents: list[tuple[str, list[int]]]
    turns: list[dict[str, str]]
    chat: str | None


@dataclass(frozen=True)
class Answer:
    """How many texts were compared, and the first difference in a sentence; empty where there is none."""

    texts: int
    fault: str


def prove(folder: Path, source: Path, tokenizer: Any, chat: Chat | None) -> int:
    """The number of texts that the tokenizer in `folder` reads and writes as the source does. Raises ExportError.

    `tokenizer` is the source's in transformers, `source` the folder with its `tokenizer.json`.
    """
    documents = [(text, tokenizer(text).input_ids) for text in (*PROBES, *([chat.text] if chat else []))]
    path, turns, text = str(source / vocabulary.FILE_NAME), chat.turns if chat else [], chat.text if chat else None
    request = dataclasses.asdict(Request(str(folder), path, documents, turns, text))
    failure = "The converted tokenizer cannot be compared with its source ({}); nothing was kept."
    printed = own_process.ask("tokenizer_proof", request, minutes=_MINUTES, failure=failure)
    answer = Answer(**json.loads(printed.splitlines()[-1]))
    if answer.fault:
        raise ExportError(f"{answer.fault} The model would get wrong tokens, so nothing was kept; choose another.")
    return answer.texts


def require_round_trip(tokenizer: Any, name: str) -> None:
    """Raise ExportError unless a rebuilt tokenizer gives back every probe as it was."""
    for text in PROBES:
        back = tokenizer.decode(tokenizer(text, add_special_tokens=False).input_ids)
        if back != text:
            raise ExportError(
                f"The tokenizer rebuilt from {name} turns {text!r} into {back!r}; "
                "use the model's Hugging Face folder or hub id instead."
            )


def texts() -> list[str]:
    """What every tokenizer is tried on, always the same: scripts, code, numbers, white space, each character."""
    lines, *code = _TEXT_FILE.read_text(encoding="utf-8").split("%%\n")
    *scripts, emoji = lines.splitlines()
    return [
        *PROBES,
        *(form for text in (*scripts, *code) for form in _written_otherwise(text)),
        *map("".join, itertools.product(_BEFORE, _SPACES, _BEHIND)),
        *("a" + "".join(ends) + "1" for ends in itertools.product(_ENDS, repeat=3)),
        *_mixtures(scripts, emoji.split()),
        *map(chr, itertools.chain(range(0xD800), range(0xE000, 1 << 16))),  # halves of surrogate pairs are no text
    ]


def _written_otherwise(text: str) -> Iterator[str]:
    """A text, its lines and words, and the same with other indentation, line ends and forms of its characters."""
    yield text
    yield from text.splitlines()
    yield from text.split()
    yield from (text.replace("    ", "\t"), text.replace("\n", "\r\n"), text.replace(" ", "  "), text.upper())
    yield unicodedata.normalize("NFD", text)


def _mixtures(scripts: Sequence[str], emoji: Sequence[str]) -> Iterator[str]:
    """Numbers, emoji and words of several scripts, put together by lot."""
    lot = random.Random(1)  # noqa: S311 - texts, not secrets
    words = " ".join(scripts).split()
    for form in _NUMBERS * 30:
        yield form.format(*(lot.randrange(10 ** lot.randint(1, 9)) for _ in range(3)))
    for _ in range(500):
        yield "".join(lot.choice(emoji) + lot.choice(("", "", " ", "\n", "x", "7")) for _ in range(lot.randint(1, 5)))
    for _ in range(1500):
        yield "".join(lot.choice(words) + lot.choice(_SPACES) for _ in range(lot.randint(1, 6)))


def _answer(request: Request) -> Answer:
    import openvino_genai  # noqa: PLC0415
    from tokenizers import Tokenizer  # noqa: PLC0415

    ours = openvino_genai.Tokenizer(request.folder)
    source = Tokenizer.from_file(request.source)
    source.no_truncation()
    source.no_padding()
    tried = [*texts(), *_of_the_vocabulary(source)]
    if _SPACE_SIGN in f"{source.normalizer} {source.pre_tokenizer}":
        # OpenVINO puts a second sign before a text that begins with the sign itself, which nobody types.
        tried = [text for text in tried if not text.startswith(_SPACE_SIGN)]
    composes = vocabulary.reading(Path(request.source).parent).composes
    faults = itertools.chain(_document_faults(ours, source, request), _faults(ours, source, tried, composes=composes))
    return Answer(len(tried) + len(request.documents), next(faults, ""))


def _of_the_vocabulary(source: Any) -> list[str]:
    """Runs of tokens, each token in one of them, or as many as `_RUNS` take."""
    ids = sorted(source.get_vocab(with_added_tokens=True).values())
    random.Random(2).shuffle(ids)  # noqa: S311 - texts, not secrets
    runs = [ids[start : start + _RUN] for start in range(0, min(len(ids), _RUNS * _RUN), _RUN)]
    found: list[str] = source.decode_batch(runs, skip_special_tokens=False)
    return found


def _document_faults(ours: Any, source: Any, request: Request) -> Iterator[str]:
    whole = [ids for _, ids in request.documents]
    given = [text for text, _ in request.documents]
    yield from _unlike("reads", given, [ours.encode(text).input_ids.data[0].tolist() for text in given], whole)
    written = [ours.decode(ids, skip_special_tokens=False) for ids in whole]  # of several at once it shows the padding
    yield from _unlike("writes", whole, written, source.decode_batch(whole, skip_special_tokens=False))
    if request.chat is not None:
        rendered = ours.apply_chat_template(request.turns, add_generation_prompt=True)
        yield from _unlike("renders", [request.turns], [rendered], [request.chat])


def _faults(ours: Any, source: Any, tried: Sequence[str], *, composes: bool) -> Iterator[str]:
    for batch in _batches(tried):
        expected = [encoding.ids for encoding in source.encode_batch_fast(batch, add_special_tokens=False)]
        # The engine composes characters itself: OpenVINO does so only where few marks stand on one letter.
        given = [unicodedata.normalize("NFC", text) for text in batch] if composes else batch
        yield from _unlike("reads", batch, _encoded(ours, given), expected)
        decoded = ours.decode(expected, skip_special_tokens=True)
        yield from _unlike("writes", expected, decoded, source.decode_batch(expected))
        yield from _streaming_faults(ours, expected, decoded)


def _streaming_faults(ours: Any, batch: Sequence[list[int]], texts: Sequence[str]) -> Iterator[str]:
    """An answer is shown token by token: what was shown must stay, and become the whole text."""
    step = _WINDOW // 2
    windows = [
        (ids[start : start + _WINDOW], text)
        for ids, text in zip(batch, texts, strict=True)
        for start in range(0, max(1, len(ids) - step), step)
        if len(text) > 1
    ]
    # Many texts begin alike, so each beginning is written once.
    beginnings = list({tuple(ids[:length]) for ids, _ in windows for length in range(1, len(ids) + 1)})
    parts = (ours.decode(list(map(list, part)), skip_special_tokens=True) for part in _batches(beginnings))
    shown = dict(zip(beginnings, map(_certain, itertools.chain.from_iterable(parts)), strict=True))
    for ids, text in windows:
        steps = [shown[tuple(ids[:length])] for length in range(1, len(ids) + 1)]
        if not all(map(steps[-1].startswith, steps)) or steps[-1][_HALVED:] not in text:
            shown_last = _short(steps[-1])
            yield f"The OpenVINO tokenizer writes {_short(ids)} one by one as {shown_last}, at once as {_short(text)}."


def _unlike(verb: str, given: Sequence[object], found: Sequence[object], expected: Sequence[object]) -> Iterator[str]:
    for each, ours, theirs in zip(given, found, expected, strict=True):
        if ours != theirs:
            yield f"The OpenVINO tokenizer {verb} {_short(each)} as {_short(ours)}, its source as {_short(theirs)}."


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."


def _batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[start : start + _BATCH] for start in range(0, len(items), _BATCH))


def _encoded(tokenizer: Any, batch: Sequence[str]) -> list[list[int]]:
    found = tokenizer.encode(list(batch), add_special_tokens=False)
    rows, masks = found.input_ids.data, found.attention_mask.data
    return [row[mask.astype(bool)].tolist() for row, mask in zip(rows, masks, strict=True)]


def _certain(text: str) -> str:
    """Without the U+FFFD at the end that may be the beginning of a character."""
    end = text[-_UNFINISHED:]
    return text[: len(text) - len(end)] + end.rstrip("\N{REPLACEMENT CHARACTER}")


def main() -> None:
    """Answer the request on standard input."""
    quiet.prepare()
    print(json.dumps(dataclasses.asdict(_answer(Request(**json.load(sys.stdin))))))


if __name__ == "__main__":
    main()
