"""The proof that a converted tokenizer and chat template match their source, on about 80,000 texts.

Templates are rendered, and tokenizers compared, in processes of their own, as both come from untrusted authors.
"""

import itertools
import random
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from headstart.engine.text import jinja
from headstart.errors import ExportError, FailedCheckError, Translatable
from headstart.library import vocabulary
from headstart_export import process
from headstart_export.conversion import convert
from headstart_export.progress import Advance, ignore

Item = TypeVar("Item")
Turn = dict[str, Any]  # of a conversation, as templates read it

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

_TEMPLATE_MINUTES = 1  # a template takes milliseconds, the start of the process seconds
_MEMORY = 2 << 30  # bytes
_MAX_CHARACTERS = 1 << 20  # characters that four short messages may become
_MARK = "\u2042"  # stands for an answer when the template is asked how it ends one
_SYSTEM: Turn = {"role": "system", "content": "Be brief."}
_TURNS: list[Turn] = [
    {"role": "user", "content": "What is 2 + 2?"},
    {"role": "assistant", "content": "It is 4."},
    {"role": "user", "content": "Grüße, 世界 🙂"},
]
_CITY = {"type": "object", "properties": {"city": {"type": "string", "description": "A city"}}, "required": ["city"]}
_TOOLS: list[Turn] = [
    {"type": "function", "function": {"name": "weather", "description": "Tells the weather", "parameters": _CITY}}
]
_CALLING: list[Turn] = [
    {"role": "user", "content": "Grüße aus 北京?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"type": "function", "id": "abcdefg12", "function": {"name": "weather", "arguments": {"city": "北京 🙂"}}}
        ],
    },
    {"role": "tool", "name": "weather", "tool_call_id": "abcdefg12", "content": "sunny"},
]
_THOUGHT: list[Turn] = [_TURNS[0], {"role": "assistant", "content": "4", "reasoning_content": "2 and 2"}, _TURNS[2]]
_TEXT_FILE = Path(__file__).parent / "tokenizer_texts.txt"


Document = tuple[str, list[int]]  # a text and its ids as a whole document, markers of the beginning included


@dataclass(frozen=True)
class RenderedChat:
    """A chat template, and its renderings of a conversation and of an answer."""

    source: str
    text: str
    tail: str  # behind an answer
    tools_refusal: str = ""  # why it shows no tools


def render(tokenizer: Any) -> RenderedChat | None:
    """Render the template; None without one. Raises ExportError for one that fails, does not end or cannot be run."""
    if not tokenizer.chat_template:
        return None
    failure = Translatable("The chat template cannot be used ({reason}); choose another version of the model.")
    try:
        sources = [tokenizer.get_chat_template(), tokenizer.get_chat_template(tools=[])]
    except ValueError as error:  # several, and none for ordinary conversations
        raise ExportError(failure, reason=convert.first_line(error)) from None
    tokens = tokenizer.special_tokens_map
    return RenderedChat(
        **process.call(_render, minutes=_TEMPLATE_MINUTES, failure=failure, sources=sources, tokens=tokens)
    )


def _render(sources: list[str], tokens: dict[str, Any]) -> RenderedChat:
    """Render conversations by the template, and by that for tools. Raises ExportError with the reason alone."""
    _limit_memory()
    try:
        for source in sources:
            if missing := jinja.missing_constructs(source):
                raise ExportError("it uses {names}, which no renderer has", names=", ".join(missing))
        plain, for_tools = (partial(_rendered, source, jinja.Template(source), tokens) for source in sources)
        answered = [{"role": "user", "content": "?"}, {"role": "assistant", "content": _MARK}]
        tail = plain(answered, add_generation_prompt=False).rpartition(_MARK)[2].lstrip()
        try:
            text = plain([_SYSTEM, *_TURNS])
        except jinja.RenderError:  # not every model knows system messages
            text = plain(_TURNS)
    except jinja.RenderError as error:
        raise ExportError(str(error)) from None
    _refusal(partial(plain, _THOUGHT))
    return RenderedChat(sources[0], text, tail, _refusal(partial(for_tools, _CALLING, tools=_TOOLS)))


def _refusal(rendering: Callable[[], str]) -> str:
    """Return why a template does not render a conversation; empty if it does."""
    try:
        rendering()
    except jinja.RenderError as error:
        return str(error)
    return ""


def _rendered(
    source: str,
    template: jinja.Template,
    tokens: dict[str, Any],
    turns: list[Turn],
    *,
    add_generation_prompt: bool = True,
    tools: list[Turn] | None = None,
) -> str:
    """Render as the engine does. Raises RenderError, and ExportError if transformers renders something else."""
    from transformers.utils.chat_template_utils import render_jinja_template

    values = {"tools": tools, "add_generation_prompt": add_generation_prompt, **tokens}
    text = template.render(messages=turns, documents=None, **values)
    if len(text) > _MAX_CHARACTERS:
        raise jinja.RenderError(f"it makes {len(text)} characters of {len(turns)} short messages")
    (expected,), _ = render_jinja_template([turns], chat_template=source, **values)
    if (
        text != expected and template.render(messages=turns, documents=None, **values) != expected
    ):  # it may have a clock
        raise ExportError("its text is {text!r}, and not {expected!r}", text=_short(text), expected=_short(expected))
    return text


def _limit_memory() -> None:
    """Limit the memory if the system can; elsewhere a time limit ends endless growth."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))


def prove(
    folder: Path, source: Path, tokenizer: Any, chat: RenderedChat | None, advance: Advance = ignore, *, known: int = 0
) -> int:
    """Return the number of texts on which the tokenizer in `folder` agrees with its source. Raises ExportError.

    `tokenizer` is the source's in transformers, `source` the folder with its `tokenizer.json`. `known`: the number for
    an equal tokenizer that was proven before, so that only whole documents are tried.
    """
    own = jinja.read_sources(folder)[0].get(jinja.DEFAULT, "")
    if chat and own.splitlines() != chat.source.splitlines():
        raise FailedCheckError(
            "The chat template in {folder} is not that of its source; choose another.", folder=folder
        )
    documents = [(text, tokenizer(text).input_ids) for text in (*PROBES, *([chat.text] if chat else []))]
    answer = process.call(
        compare,
        minutes=_MINUTES,
        advance=advance,
        failure=Translatable(
            "The converted tokenizer cannot be compared with its source ({reason}); nothing was kept."
        ),
        folder=str(folder),
        source=str(source / vocabulary.FILE_NAME),
        documents=documents,
        whole=not known,
    )
    compared, fault = answer
    if fault:
        raise FailedCheckError(
            "{fault} The model would get wrong tokens, so it is not used; choose another.", fault=fault
        )
    return known or int(compared)


def require_round_trip(tokenizer: Any, name: str) -> None:
    """Raise ExportError unless a rebuilt tokenizer encodes and decodes each probe without a change."""
    for text in PROBES:
        back = tokenizer.decode(tokenizer(text, add_special_tokens=False).input_ids)
        if back != text:
            raise ExportError(
                "The tokenizer rebuilt from {name} turns {text!r} into {back!r}; "
                "use the model's Hugging Face folder or hub id instead.",
                name=name,
                text=text,
                back=back,
            )


def texts() -> list[str]:
    """Return the texts on which each tokenizer is tried: scripts, code, numbers, white space, each character."""
    lines, *code = _TEXT_FILE.read_text(encoding="utf-8").split("%%\n")
    *scripts, emoji = lines.splitlines()
    return [
        *PROBES,
        *(form for text in (*scripts, *code) for form in _variants(text)),
        *map("".join, itertools.product(_BEFORE, _SPACES, _BEHIND)),
        *("a" + "".join(ends) + "1" for ends in itertools.product(_ENDS, repeat=3)),
        *_mixtures(scripts, emoji.split()),
        *map(chr, itertools.chain(range(0xD800), range(0xE000, 1 << 16))),  # halves of surrogate pairs are no text
    ]


def _variants(text: str) -> Iterator[str]:
    """Yield a text, its lines and words, and variants with other indentation, line ends and characters."""
    yield text
    yield from text.splitlines()
    yield from text.split()
    yield from (text.replace("    ", "\t"), text.replace("\n", "\r\n"), text.replace(" ", "  "), text.upper())
    yield unicodedata.normalize("NFD", text)


def _mixtures(scripts: Sequence[str], emoji: Sequence[str]) -> Iterator[str]:
    """Yield numbers, emoji and words of several scripts in random combinations."""
    lot = random.Random(1)  # noqa: S311 - texts, not secrets
    words = " ".join(scripts).split()
    for form in _NUMBERS * 30:
        yield form.format(*(lot.randrange(10 ** lot.randint(1, 9)) for _ in range(3)))
    for _ in range(500):
        yield "".join(lot.choice(emoji) + lot.choice(("", "", " ", "\n", "x", "7")) for _ in range(lot.randint(1, 5)))
    for _ in range(1500):
        yield "".join(lot.choice(words) + lot.choice(_SPACES) for _ in range(lot.randint(1, 6)))


def compare(folder: str, source: str, documents: list[Document], *, whole: bool = True) -> tuple[int, str]:
    """Return the number of compared texts, and the first difference as a sentence; empty if there is none.

    `source` is a `tokenizer.json`. `whole`: compare all texts and each token, too.
    """
    import openvino_genai
    from tokenizers import Tokenizer

    ours = openvino_genai.Tokenizer(folder)
    original = Tokenizer.from_file(source)
    original.no_truncation()
    original.no_padding()
    probes = [*texts(), *_vocabulary_texts(original)] if whole else []
    if _SPACE_SIGN in f"{original.normalizer} {original.pre_tokenizer}":
        # OpenVINO puts a second sign before a text that begins with the sign itself, which nobody types.
        probes = [text for text in probes if not text.startswith(_SPACE_SIGN)]
    composes = vocabulary.reading(Path(source).parent).composes
    faults = itertools.chain(
        _document_faults(ours, original, documents),
        _token_faults(ours, original) if whole else (),
        _faults(ours, original, probes, composes=composes),
    )
    return len(probes) + len(documents), next(faults, "")


def _vocabulary_texts(source: Any) -> list[str]:
    """Return texts that cover each token of the vocabulary once, or as many tokens as `_RUNS` texts hold."""
    ids = sorted(source.get_vocab(with_added_tokens=True).values())
    random.Random(2).shuffle(ids)  # noqa: S311 - texts, not secrets
    runs = [ids[start : start + _RUN] for start in range(0, min(len(ids), _RUNS * _RUN), _RUN)]
    found: list[str] = source.decode_batch(runs, skip_special_tokens=False)
    return found


def _document_faults(ours: Any, source: Any, documents: Sequence[Document]) -> Iterator[str]:
    read, whole = [text for text, _ in documents], [ids for _, ids in documents]
    yield from _unlike("reads", read, [ours.encode(text).input_ids.data[0].tolist() for text in read], whole)
    written = [ours.decode(ids, skip_special_tokens=False) for ids in whole]  # of several at once it shows the padding
    yield from _unlike("writes", whole, written, source.decode_batch(whole, skip_special_tokens=False))


def _token_faults(ours: Any, source: Any) -> Iterator[str]:
    """Yield the differences between single tokens: OpenVINO misreads the names of a few."""
    for batch in _batches([[index] for index in sorted(source.get_vocab(with_added_tokens=True).values())]):
        written = ours.decode(batch, skip_special_tokens=False)
        yield from _unlike("writes", batch, written, source.decode_batch(batch, skip_special_tokens=False))


def _faults(ours: Any, source: Any, probes: Sequence[str], *, composes: bool) -> Iterator[str]:
    for number, batch in enumerate(_batches(probes)):
        process.tell(number * _BATCH, len(probes))
        expected = [encoding.ids for encoding in source.encode_batch_fast(batch, add_special_tokens=False)]
        # The engine composes characters itself: OpenVINO does so only where few marks stand on one letter.
        composed = [unicodedata.normalize("NFC", text) for text in batch] if composes else batch
        yield from _unlike("reads", batch, _encoded(ours, composed), expected)
        decoded = ours.decode(expected, skip_special_tokens=True)
        yield from _unlike("writes", expected, decoded, source.decode_batch(expected))
        yield from _streaming_faults(ours, expected, decoded)


def _streaming_faults(ours: Any, batch: Sequence[list[int]], texts: Sequence[str]) -> Iterator[str]:
    """Yield the texts that change when they are decoded token by token, as an answer is shown."""
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


def _unlike(verb: str, read: Sequence[object], found: Sequence[object], expected: Sequence[object]) -> Iterator[str]:
    for each, ours, theirs in zip(read, found, expected, strict=True):
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
    """Remove U+FFFD at the end, which may be an incomplete character."""
    end = text[-_UNFINISHED:]
    return text[: len(text) - len(end)] + end.rstrip("\N{REPLACEMENT CHARACTER}")
