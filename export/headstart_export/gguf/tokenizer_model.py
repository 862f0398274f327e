"""The tokenizer of a GGUF file, rebuilt as the file describes it.

Those that transformers derives from GGUF files lose the digit splitting of SmolLM2, put a token in front that the file
forbids, and forget most special tokens of Qwen2.5. The file itself states all of it: `tokenizer.ggml.pre` (how text is
split), `token_type` (which tokens are special), `add_bos_token`, `chat_template`.
"""

import functools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart.errors import ExportError
from headstart_export import process
from headstart_export.gguf import metadata
from headstart_export.gguf.metadata import BYTE_LEVEL, CONTROL, NORMAL, SENTENCEPIECE, UNKNOWN, UNUSED, USER_DEFINED

SPACE = "▁"  # stands for it in SentencePiece
_MARK = re.compile(r"<.+>|\[.+\]")  # looks like a mark, even where a converter took it for a word

_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_QWEN = _ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + _TAIL
_LLAMA = _ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + _TAIL
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CAPITALIZED = (rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+", rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*")
_PATHS = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_GPT_4O = "|".join(f"{word}{_ENDINGS}?" for word in _CAPITALIZED) + r"|\p{N}{1,3}" + _PATHS
_TEKKEN = "|".join(_CAPITALIZED) + r"|\p{N}" + _PATHS
_OTHERS = r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_QWEN_3_5 = _ENDINGS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}" + _OTHERS


@dataclass(frozen=True)
class Splitting:
    """Patterns that cut text before the merges. Each one splits the pieces that the one before it left."""

    patterns: tuple[str, ...]
    ignore_merges: bool = False  # a whole piece that is a token needs no merges
    normal_form: bool = False  # the model's own tokenizer composes characters (NFC) first


# The names are llama.cpp's; the patterns are those of the models' own tokenizer files.
SPLITTINGS = {
    **dict.fromkeys(("gpt-2", "mpt", "olmo", "phi-2"), Splitting((_WORDS,))),
    **dict.fromkeys(("smollm", "starcoder", "refact"), Splitting((r"\p{N}", _WORDS))),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen"), Splitting((_QWEN,), normal_form=True)),
    "qwen35": Splitting((_QWEN_3_5,), normal_form=True),
    **dict.fromkeys(("llama3", "llama-v3", "llama-bpe", "lfm2"), Splitting((_LLAMA,), ignore_merges=True)),
    **dict.fromkeys(("dbrx", "smaug-bpe"), Splitting((_LLAMA,))),
    "gpt-4o": Splitting((_GPT_4O,)),
    "tekken": Splitting((_TEKKEN,), ignore_merges=True),
}


def rebuild(path: Path) -> Any:
    """Return the file's tokenizer as a `PreTrainedTokenizerFast`. Raises ExportError for an unsupported kind."""
    process.prepare()
    from transformers import PreTrainedTokenizerFast

    reader = metadata.read(path)
    return PreTrainedTokenizerFast(
        tokenizer_object=build(reader, path.name),
        bos_token=token(reader, "bos"),
        eos_token=token(reader, "eos"),
        pad_token=token(reader, "padding"),
        **({"chat_template": templates} if (templates := _templates(reader)) else {}),
        clean_up_tokenization_spaces=False,
    )


def _templates(reader: Any) -> str | dict[str, str] | None:
    """Return the chat template, or all templates by name if there is one for tools."""
    default, for_tools = (metadata.value(reader, f"tokenizer.chat_template{name}") for name in ("", ".tool_use"))
    return {"default": default, "tool_use": for_tools} if default and for_tools else default or for_tools


def token(reader: Any, mark: str) -> str | None:
    """Return the text of a special token.

    None if that is an ordinary word: it would be read as a mark wherever it stands in a text.
    """
    index = metadata.token_id(reader, mark)
    if index is None:
        return None
    text, kind = (metadata.value(reader, f"tokenizer.ggml.{key}")[index] for key in ("tokens", "token_type"))
    return text if kind != NORMAL or _MARK.fullmatch(text) else None


def require_supported(model: str | None, splitting: str | None, name: str) -> None:
    """Raise ExportError unless a tokenizer of this model and splitting can be rebuilt faithfully."""
    if model == SENTENCEPIECE:
        return
    if model != BYTE_LEVEL:
        raise ExportError(
            "{name} has a tokenizer of the kind {model!r}, which cannot be rebuilt faithfully from a GGUF file; "
            "use the model's Hugging Face folder or hub id instead.",
            name=name,
            model=model,
        )
    if splitting not in SPLITTINGS:
        raise ExportError(
            "{name} splits its text by the rule {splitting!r}, which is not known here; "
            "known are {splittings}. Use the model's Hugging Face folder or hub id instead.",
            name=name,
            splitting=splitting,
            splittings=", ".join(sorted(SPLITTINGS)),
        )


def build(reader: Any, name: str) -> Any:
    """Return the tokenizer of an open file, for the library `tokenizers`. Raises ExportError."""
    from tokenizers import AddedToken, processors

    of = functools.partial(_tokenizer_field, reader)
    require_supported(of("model"), of("pre"), name)
    pieces, tokens, bos = of("model") == SENTENCEPIECE, of("tokens"), metadata.token_id(reader, "bos")
    rebuilt = _sentencepiece(of) if pieces else _byte_level(of, name)
    added = [
        AddedToken(token, special=kind == CONTROL, normalized=False)
        for token, kind in zip(tokens, of("token_type"), strict=True)
        if kind in {CONTROL, USER_DEFINED} and rebuilt.token_to_id(token) is not None
    ]
    rebuilt.add_tokens(added)  # at once: each call searches the vocabulary for all that were added before
    _require_ids(rebuilt, of, name)
    # llama.cpp's own rule: SentencePiece and the Llama 3 family begin with their marker unless the file says otherwise.
    if of("add_bos_token", pieces or SPLITTINGS[of("pre")].ignore_merges) and bos is not None:
        rebuilt.post_processor = processors.TemplateProcessing(
            single=f"{tokens[bos]} $A", pair=f"{tokens[bos]} $A {tokens[bos]} $B", special_tokens=[(tokens[bos], bos)]
        )
    return rebuilt


def _require_ids(rebuilt: Any, of: Callable[..., Any], name: str) -> None:
    """Raise ExportError unless each token of the file has the same id and text in the rebuilt tokenizer."""
    for index, (text, kind) in enumerate(zip(of("tokens"), of("token_type"), strict=True)):
        if kind in {UNUSED, UNKNOWN}:  # rows of the weights without a text
            continue
        if rebuilt.id_to_token(index) not in {text, text.replace(" ", SPACE)}:
            other = rebuilt.token_to_id(text)
            raise ExportError(
                "{name} has the token {text!r} twice, as {index} and {other}, so one could not be written; take "
                "another file of the model.",
                name=name,
                text=metadata.printable(text),
                index=index,
                other=other,
            )


def _tokenizer_field(reader: Any, key: str, default: Any = None) -> Any:
    return metadata.value(reader, f"tokenizer.ggml.{key}", default)


def _byte_level(of: Callable[..., Any], name: str) -> Any:
    from tokenizers import Tokenizer, decoders, models, normalizers

    splitting, tokens, merges = SPLITTINGS[of("pre")], of("tokens"), of("merges")
    vocabulary = {
        token: index
        for index, (token, kind) in enumerate(zip(tokens, of("token_type"), strict=True))
        if kind != UNUSED  # padding rows of the weights: no text belongs to them
    }
    known = set(tokens)
    for merge in merges:
        first, _, second = merge.partition(" ")
        if not {first, second, first + second} <= known:  # of which the library that builds the tokenizer only panics
            raise ExportError(
                "{name} merges {merge!r}, but its vocabulary does not hold that; fetch the file again.",
                name=name,
                merge=merge,
            )
    pairs = [tuple(merge.split(" ", 1)) for merge in merges]
    rebuilt = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs, ignore_merges=splitting.ignore_merges))
    if splitting.normal_form:
        rebuilt.normalizer = normalizers.NFC()
    rebuilt.pre_tokenizer = pre_tokenizer(splitting)
    rebuilt.decoder = decoders.ByteLevel()
    return rebuilt


def _sentencepiece(of: Callable[..., Any]) -> Any:
    """Return the merges of a SentencePiece vocabulary: all ways to split a piece in two, the highest score first.

    Pieces of one score are white space, whose runs must grow from the left, so the merge with the longer first half
    comes first.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers

    unknown, prefixed = of("unknown_token_id", 0), of("add_space_prefix", True)  # noqa: FBT003
    vocabulary, scores = dict[str, int](), dict[str, float]()
    for index, (token, score, kind) in enumerate(zip(of("tokens"), of("scores"), of("token_type"), strict=True)):
        if kind == UNUSED or (kind == UNKNOWN and index != unknown):
            continue  # padding rows
        blank = kind == USER_DEFINED and not token.strip(" ")  # found before all others, as if it had the best score
        text = token.replace(" ", SPACE) if blank else token
        vocabulary[text] = index
        if blank or kind == NORMAL:
            scores[text] = math.inf if blank else score
    merges = [
        (scores[piece], cut, piece)
        for piece in scores
        for cut in range(1, len(piece))
        if piece[:cut] in scores and piece[cut:] in scores
    ]
    merges.sort(key=lambda merge: merge[:2], reverse=True)
    unk = of("tokens")[unknown]
    pairs = [(piece[:cut], piece[cut:]) for _, cut, piece in merges]
    rebuilt = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs, unk_token=unk, fuse_unk=True, byte_fallback=True))
    space = normalizers.Replace(" ", SPACE)
    rebuilt.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), space]) if prefixed else space
    steps = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    rebuilt.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)] if prefixed else steps)
    rebuilt.add_tokens([AddedToken(unk, special=True, normalized=False)])
    return rebuilt


def pre_tokenizer(splitting: Splitting) -> Any:
    from tokenizers import Regex, pre_tokenizers

    splits = [pre_tokenizers.Split(Regex(pattern), behavior="isolated") for pattern in splitting.patterns]
    return pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
