"""GGUF files: whether they can be used, their weights as a PyTorch model, and their tokenizers rebuilt right.

The format's own library makes an object of every string of a vocabulary, several times half a minute for a large one.
Here a long array is taken as one piece. The tokenizers that transformers derives from GGUF files lose the digit
splitting of SmolLM2, put a token in front that the file forbids, and forget most special tokens of Qwen2.5. The file
itself states all of it: `tokenizer.ggml.pre` (how text is split), `token_type` (which tokens are special),
`add_bos_token`, `chat_template`.

A file is looked at in a process of its own first, because readers of this format die on damaged files.
"""

import contextlib
import functools
import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart.errors import ExportError
from headstart_export import process
from headstart_export.progress import Advance, ignore

LONG = 1000  # entries; shorter arrays are left to the library
ARRAY_HEAD = 12  # bytes: the kind of the entries and their number
TOKENS = "tokenizer.ggml.tokens"
ROPE_FACTORS = "rope_freqs.weight"  # by which Llama 3.1 and later slow positions down
_MINUTES = 2  # to look at a file; the metadata of the largest vocabularies takes seconds


def probe(path: Path) -> dict[str, Any]:
    """Return what a sane file says of itself. Raises ExportError for another."""
    there = path.stat()
    return dict(_probed(path, there.st_size, there.st_mtime_ns))


@functools.lru_cache(maxsize=4)
def _probed(path: Path, _size: int, _written: int) -> dict[str, Any]:
    try:
        found: dict[str, Any] = process.call(_look, minutes=_MINUTES, failure="{reason}", path=str(path))
    except ExportError as error:
        raise ExportError(
            "{path} is not a GGUF file that can be used: {error}. Fetch it again.", path=path.name, error=error.text
        ) from None
    return found


def load(path: Path, advance: Advance = ignore, **options: Any) -> Any:
    """Return what `from_pretrained` gives for these options, the weights in f16; raise what that raises."""
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM  # noqa: PLC0415

    with _spared_work(path, advance) as reader:
        loaded = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float16, **options)
    factors = [tensor.data for tensor in reader.tensors if tensor.name == ROPE_FACTORS]
    if factors:  # WORKAROUND transformers forgets them, and the model would lose the thread of long texts
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        model.model.rotary_emb.inv_freq /= torch.tensor(factors[0])
    return loaded


def read(path: Path) -> Any:
    """A `gguf.GGUFReader` whose long arrays are in `arrays`, by field name. Raises ValueError for a damaged file."""
    try:
        return _reader_class()(path)
    except (struct.error, IndexError, KeyError, OverflowError, MemoryError) as error:
        raise ValueError(f"its metadata cannot be read ({error})") from None


def value(reader: Any, key: str, default: Any = None) -> Any:
    """A field's content, or `default` when there is no such field."""
    if key in reader.arrays:
        return reader.arrays[key]
    field = reader.get_field(key)
    return default if field is None else field.contents()


@functools.cache
def _reader_class() -> Any:
    import gguf  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    kinds = gguf.GGUFValueType

    class QuickReader(gguf.GGUFReader):  # type: ignore[misc]
        def __init__(self, path: Path) -> None:
            self.arrays: dict[str, list[Any]] = {}
            self._latest: list[Any] | None = None
            super().__init__(path)

        def _get(self, offset: int, dtype: Any, count: int = 1, **more: Any) -> Any:
            end = int(offset) + np.dtype(dtype).itemsize * int(count)
            if end > len(self.data):
                raise ValueError(f"it ends at byte {len(self.data)}, but should go on to byte {end} or further")
            return super()._get(offset, dtype, count, **more)

        def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
            count = _long_array(self, kinds, orig_offs) if raw_type == kinds.ARRAY else 0
            if not count:
                return super()._get_field_parts(orig_offs, raw_type)
            kind, start = kinds(int(self._get(orig_offs, "uint32")[0])), orig_offs + ARRAY_HEAD
            if kind == kinds.STRING:
                self._latest, end = _strings(memoryview(self.data), start, count)
            else:
                numbers = self._get(start, self.gguf_scalar_to_np[kind], count)
                self._latest, end = numbers.tolist(), start + numbers.nbytes
            return end - orig_offs, [self.data[orig_offs : orig_offs + 4]], [0] * count, [kinds.ARRAY, kind]

        def _push_field(self, field: Any, skip_sum: bool = False) -> Any:
            if self._latest is not None:
                self.arrays[field.name], self._latest = self._latest, None
                # Whoever reads the fields themselves sees how many tokens there are, and nothing else of the arrays.
                field = field if field.name == TOKENS else field._replace(data=[])
            return super()._push_field(field, skip_sum)

    return QuickReader


def _long_array(reader: Any, kinds: Any, offset: int) -> int:
    """Return how many entries the array at `offset` has; 0 where it is short and may be left to the library."""
    if reader.byte_order != "I":
        raise ValueError("it was written for computers with the other byte order")
    (count,) = struct.unpack_from("<Q", reader.data, offset + 4)
    return int(count) if count >= LONG and kinds(int(reader.data[offset])) != kinds.ARRAY else 0


def _strings(data: memoryview, start: int, count: int) -> tuple[list[str], int]:
    """`count` strings with their lengths in front, and the place after them."""
    found = []
    for _ in range(count):
        (length,) = struct.unpack_from("<Q", data, start)
        start += 8
        found.append(str(data[start : start + length], "utf-8"))
        start += length
    return found, start


@contextlib.contextmanager
def _spared_work(path: Path, advance: Advance) -> Iterator[Any]:
    """WORKAROUND transformers 5.5 reads the vocabulary twice and holds all weights in f32 before it makes them f16.

    It takes these three functions from `gguf` anew at each call, so others can stand in for the time of one load:
    the file is read once, quickly; weights become f16 one by one, which halves the memory; and the table of names,
    made once per module otherwise, is kept. The result is the same, bit by bit.
    """
    import gguf  # noqa: PLC0415

    reader, dequantize, names = gguf.GGUFReader, gguf.dequantize, gguf.get_tensor_name_map
    already, done = read(path), 0
    total = sum(int(tensor.n_bytes) for tensor in already.tensors)

    def as_half(data: Any, kind: Any) -> Any:
        nonlocal done
        done += data.nbytes
        advance(done, total)
        weights = dequantize(data, kind)
        return weights.astype("float16") if weights.ndim == 2 else weights

    gguf.GGUFReader = lambda _path: already
    gguf.dequantize, gguf.get_tensor_name_map = as_half, functools.cache(names)
    try:
        yield already
    finally:
        gguf.GGUFReader, gguf.dequantize, gguf.get_tensor_name_map = reader, dequantize, names


def _look(path: str) -> dict[str, Any]:
    try:
        return _facts(Path(path))
    except (ValueError, IndexError, KeyError, OverflowError, OSError) as error:
        raise ExportError(str(error) or type(error).__name__) from None


def _facts(path: Path) -> dict[str, Any]:
    """Raises ValueError for whatever is wrong."""
    with path.open("rb") as stream:
        if stream.read(4) != b"GGUF":
            raise ValueError("it does not begin with the letters GGUF")
    reader = read(path)
    if not reader.tensors:
        raise ValueError("it holds no tensors")
    architecture = value(reader, "general.architecture")
    if architecture == "llama" and value(reader, "llama.expert_count"):
        architecture = "mixtral"
    stretched = value(reader, f"{architecture}.rope.scaling.type", "none") != "none"
    names = {tensor.name for tensor in reader.tensors}
    foreign = ROPE_FACTORS in names and architecture != "llama"
    return {
        "parameters": sum(int(tensor.n_elements) for tensor in reader.tensors),
        "architecture": architecture,
        "name": value(reader, "general.name"),
        "licence": value(reader, "general.license"),
        "tokenizer": value(reader, "tokenizer.ggml.model"),
        "splitting": value(reader, "tokenizer.ggml.pre"),
        "stretched": stretched or any(name.startswith("rope_factors") for name in names) or foreign,
    }


NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 1, 2, 3, 4, 5  # values of tokenizer.ggml.token_type
BYTE_LEVEL, SENTENCEPIECE = "gpt2", "llama"  # values of tokenizer.ggml.model
SPACE = "▁"  # stands for it in SentencePiece

_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_QWEN = _ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + _TAIL
_LLAMA = _ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + _TAIL


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
    **dict.fromkeys(("llama3", "llama-v3", "llama-bpe"), Splitting((_LLAMA,), ignore_merges=True)),
}


def rebuild(path: Path) -> Any:
    """The file's tokenizer as a `PreTrainedTokenizerFast`. Raises ExportError for a kind that is not supported."""
    process.prepare()
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

    reader = read(path)

    def text(key: str) -> str | None:
        index = value(reader, f"tokenizer.ggml.{key}_token_id")
        return None if index is None else value(reader, TOKENS)[index]

    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer(reader, path.name),
        bos_token=text("bos"),
        eos_token=text("eos"),
        pad_token=text("padding"),
        **({"chat_template": template} if (template := value(reader, "tokenizer.chat_template")) else {}),
        clean_up_tokenization_spaces=False,
    )


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


def tokenizer(reader: Any, name: str) -> Any:
    """The tokenizer of a file that `read` read, for the library `tokenizers`. Raises ExportError."""
    from tokenizers import AddedToken, processors  # noqa: PLC0415

    of = functools.partial(_tokenizer_field, reader)
    require_supported(of("model"), of("pre"), name)
    pieces, tokens, bos = of("model") == SENTENCEPIECE, of("tokens"), of("bos_token_id")
    made = _sentencepiece(of) if pieces else _byte_level(of, name)
    added = [
        AddedToken(token, special=kind == CONTROL, normalized=False)
        for token, kind in zip(tokens, of("token_type"), strict=True)
        if kind in {CONTROL, USER_DEFINED} and made.token_to_id(token) is not None
    ]
    made.add_tokens(added)  # at once: each call searches the vocabulary for all that were added before
    # llama.cpp's own rule: SentencePiece and the Llama 3 family begin with their marker unless the file says otherwise.
    if of("add_bos_token", pieces or SPLITTINGS[of("pre")].ignore_merges) and bos is not None:
        made.post_processor = processors.TemplateProcessing(
            single=f"{tokens[bos]} $A", pair=f"{tokens[bos]} $A {tokens[bos]} $B", special_tokens=[(tokens[bos], bos)]
        )
    return made


def _tokenizer_field(reader: Any, key: str, default: Any = None) -> Any:
    return value(reader, f"tokenizer.ggml.{key}", default)


def _byte_level(of: Callable[..., Any], name: str) -> Any:
    from tokenizers import Tokenizer, decoders, models, normalizers  # noqa: PLC0415

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
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs, ignore_merges=splitting.ignore_merges))
    if splitting.normal_form:
        made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizer(splitting)
    made.decoder = decoders.ByteLevel()
    return made


def _sentencepiece(of: Callable[..., Any]) -> Any:
    """Two neighbours become one piece where both together are one; the piece with the highest score comes first.

    The file has no merges: they are all the ways to make a piece of two. Pieces of one score are white space, whose
    runs must grow from the left, so the merge with the longer first half comes first.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers  # noqa: PLC0415

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
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs, unk_token=unk, fuse_unk=True, byte_fallback=True))
    space = normalizers.Replace(" ", SPACE)
    made.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), space]) if prefixed else space
    steps = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    made.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)] if prefixed else steps)
    made.add_tokens([AddedToken(unk, special=True, normalized=False)])
    return made


def pre_tokenizer(splitting: Splitting) -> Any:
    """Return the pre-tokenizer of these patterns."""
    from tokenizers import Regex, pre_tokenizers  # noqa: PLC0415

    splits = [pre_tokenizers.Split(Regex(pattern), behavior="isolated") for pattern in splitting.patterns]
    return pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
