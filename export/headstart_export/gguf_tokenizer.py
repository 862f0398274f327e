"""Rebuilds a byte-level BPE tokenizer from a GGUF file's own metadata. Knows nothing of weights.

The tokenizers that transformers derives from GGUF files lose the digit splitting of SmolLM2, put a token in front
that the file forbids, and forget most special tokens of Qwen2.5. The file itself states all of it:
`tokenizer.ggml.pre` (how text is split), `token_type` (which tokens are special), `add_bos_token`, `chat_template`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart.errors import ExportError
from headstart_export import gguf_file, quiet

CONTROL, USER_DEFINED, UNUSED = 3, 4, 5  # values of tokenizer.ggml.token_type

_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_QWEN = _ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + _TAIL
_LLAMA = _ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + _TAIL


@dataclass(frozen=True)
class Splitting:
    """How text is cut before the merges: each pattern splits the pieces that the one before it left."""

    patterns: tuple[str, ...]
    ignore_merges: bool = False  # a whole piece that is a token needs no merges
    normal_form: bool = False  # the model's own tokenizer composes characters (NFC) first


# The names are llama.cpp's; the patterns are those of the models' own tokenizer files.
SPLITTINGS = {
    "gpt-2": Splitting((_WORDS,)),
    "mpt": Splitting((_WORDS,)),
    "olmo": Splitting((_WORDS,)),
    "phi-2": Splitting((_WORDS,)),
    "smollm": Splitting((r"\p{N}", _WORDS)),
    "starcoder": Splitting((r"\p{N}", _WORDS)),
    "refact": Splitting((r"\p{N}", _WORDS)),
    "qwen2": Splitting((_QWEN,), normal_form=True),
    "deepseek-r1-qwen": Splitting((_QWEN,), normal_form=True),
    "llama3": Splitting((_LLAMA,), ignore_merges=True),
    "llama-v3": Splitting((_LLAMA,), ignore_merges=True),
    "llama-bpe": Splitting((_LLAMA,), ignore_merges=True),
}


@dataclass(frozen=True)
class Metadata:
    """The `tokenizer.*` fields of one GGUF file."""

    tokens: tuple[str, ...]
    merges: tuple[str, ...]
    types: tuple[int, ...]
    splitting: str
    bos: int | None
    eos: int | None
    pad: int | None
    add_bos: bool
    chat_template: str | None


def rebuild(path: Path) -> Any:
    """The file's tokenizer as a `PreTrainedTokenizerFast`. Raises ExportError for a kind that is not supported."""
    metadata = _read(path)
    _require_known(metadata, path.name)
    return _wrap(metadata)


def require_supported(model: str | None, splitting: str | None, name: str) -> None:
    """Raise ExportError unless a tokenizer of this model and splitting can be rebuilt faithfully."""
    if model != "gpt2":
        raise ExportError(
            f"{name} has a tokenizer of the kind {model!r}, which cannot be rebuilt faithfully from a GGUF file; "
            "use the model's Hugging Face folder or hub id instead."
        )
    if splitting not in SPLITTINGS:
        raise ExportError(
            f"{name} splits its text by the rule {splitting!r}, which is not known here; "
            f"known are {', '.join(sorted(SPLITTINGS))}. Use the model's Hugging Face folder or hub id instead."
        )


def _read(path: Path) -> Metadata:
    reader = gguf_file.read(path)

    def value(key: str, default: Any = None) -> Any:
        return gguf_file.value(reader, f"tokenizer.{key}", default)

    require_supported(value("ggml.model"), value("ggml.pre"), path.name)
    return Metadata(
        tokens=tuple(value("ggml.tokens")),
        merges=tuple(value("ggml.merges")),
        types=tuple(value("ggml.token_type")),
        splitting=value("ggml.pre"),
        bos=value("ggml.bos_token_id"),
        eos=value("ggml.eos_token_id"),
        pad=value("ggml.padding_token_id"),
        # llama.cpp's own rule: the Llama 3 family begins with its marker unless the file says otherwise.
        add_bos=value("ggml.add_bos_token", SPLITTINGS[value("ggml.pre")].ignore_merges),
        chat_template=value("chat_template"),
    )


def _require_known(metadata: Metadata, name: str) -> None:
    """Raise ExportError for a merge of what are no tokens: the library that builds the tokenizer only panics."""
    known = set(metadata.tokens)
    for merge in metadata.merges:
        first, _, second = merge.partition(" ")
        if not {first, second, first + second} <= known:
            raise ExportError(f"{name} merges {merge!r}, but its vocabulary does not hold that; fetch the file again.")


def _wrap(metadata: Metadata) -> Any:
    quiet.prepare()
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

    def text(index: int | None) -> str | None:
        return None if index is None else metadata.tokens[index]

    return PreTrainedTokenizerFast(
        tokenizer_object=_build(metadata),
        bos_token=text(metadata.bos),
        eos_token=text(metadata.eos),
        pad_token=text(metadata.pad),
        chat_template=metadata.chat_template,
        clean_up_tokenization_spaces=False,
    )


def _build(metadata: Metadata) -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, processors  # noqa: PLC0415

    splitting = SPLITTINGS[metadata.splitting]
    vocabulary = {
        token: index
        for index, (token, kind) in enumerate(zip(metadata.tokens, metadata.types, strict=True))
        if kind != UNUSED  # padding rows of the weights: no text belongs to them
    }
    merges = [tuple(merge.split(" ", 1)) for merge in metadata.merges]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=splitting.ignore_merges))
    if splitting.normal_form:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = _pre_tokenizer(splitting)
    tokenizer.decoder = decoders.ByteLevel()
    for token, index in vocabulary.items():
        if metadata.types[index] in {CONTROL, USER_DEFINED}:
            special = metadata.types[index] == CONTROL
            tokenizer.add_tokens([AddedToken(token, special=special, normalized=False)])
    if metadata.add_bos and metadata.bos is not None:
        bos = metadata.tokens[metadata.bos]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{bos} $A", pair=f"{bos} $A {bos} $B", special_tokens=[(bos, metadata.bos)]
        )
    return tokenizer


def _pre_tokenizer(splitting: Splitting) -> Any:
    from tokenizers import Regex, pre_tokenizers  # noqa: PLC0415

    splits = [pre_tokenizers.Split(Regex(pattern), behavior="isolated") for pattern in splitting.patterns]
    return pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
