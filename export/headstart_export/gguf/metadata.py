"""The metadata and tensors of GGUF files, read quickly; damaged or unknown files are refused.

The format's own library makes an object of every string of a vocabulary, several times half a minute for a large one.
Here a long array is taken as one piece. A file is looked at in a process of its own first, because readers of this
format die on damaged files.
"""

import contextlib
import functools
import itertools
import math
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headstart.errors import ExportError, Translatable
from headstart_export import process
from headstart_export.gguf import known_keys

MIN_LONG_ARRAY = 1000  # entries; shorter arrays are left to the library
ARRAY_HEAD = 12  # bytes: the kind of the entries and their number
TOKENS = "tokenizer.ggml.tokens"
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 1, 2, 3, 4, 5  # values of tokenizer.ggml.token_type
BYTE_LEVEL, SENTENCEPIECE = "gpt2", "llama"  # values of tokenizer.ggml.model
ROPE_FACTORS = "rope_freqs.weight"  # by which Llama 3.1 and later slow positions down
ENDS = ("eos", "eot", "eom")  # of a text, of a turn, of a message that calls a tool
_MARKS = (*ENDS, "bos", "padding", "unknown")
_NONE = (None, -1, 2**32 - 1)  # ids that stand for no token
_PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})(\.gguf)", re.IGNORECASE)
_MINUTES = 1  # to look at a file; the metadata of the largest vocabularies takes seconds
_MEMORY = 2 << 30  # bytes, beside the pages of the file
_LATER_VERSIONS, _TYPES = range(4, 10), range(100)  # beyond them a number is damage
_MAX_DIMENSIONS = 4
_SHOWN = 200  # characters of a text from a file that a person may see


def probe(path: Path) -> dict[str, Any]:
    """Return the description of a valid file, read in a process of its own. Raises ExportError for an invalid one."""
    found = _probe_in_child(path, tuple((part, part.stat().st_size, part.stat().st_mtime_ns) for part in parts(path)))
    if "refusal" in found:
        raise ExportError(Translatable.from_data(found["refusal"]))
    return dict(found)


@functools.lru_cache(maxsize=4)
def _probe_in_child(path: Path, _files: tuple[tuple[Path, int, int], ...]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = process.call(
            _look, minutes=_MINUTES, memory=_MEMORY, failure="{reason}", path=str(path)
        )
    except ExportError as error:
        raise _damaged(path.name, error.text) from None
    return found


def _look(path: str) -> dict[str, Any]:
    """Return the result of `_describe`, or the error as data; for `probe`."""
    try:
        return _describe(Path(path))
    except ExportError as error:
        return {"refusal": error.text.as_data()}


def _damaged(name: str, error: str) -> ExportError:
    return ExportError("{path} is not a GGUF file that can be used: {error}. Fetch it again.", path=name, error=error)


def title(path: Path) -> str:
    """Return the name of a file without its ending and its number among the parts of a model."""
    part = _PART.fullmatch(path.name)
    return part[1] if part else path.stem


def parts(path: Path) -> list[Path]:
    """Return the files of a model, in order: `path` may be any of them. Raises ExportError for a missing one."""
    part = _PART.fullmatch(path.name)
    count = int(part[3]) if part else 1
    if not part or count < 2:
        return [path]
    files = [path.with_name(f"{part[1]}-{number:05}-of-{part[3]}{part[4]}") for number in range(1, count + 1)]
    missing = next((file.name for file in files if not file.is_file()), None)
    if missing:
        raise ExportError(
            "{name} is one of {count} parts of a model, and {missing} is not beside it; put all parts into one folder.",
            name=path.name,
            count=count,
            missing=missing,
        )
    return files


def read(path: Path) -> Any:
    """Return a `gguf.GGUFReader` whose long arrays are in `arrays`, by field name.

    Of a model in several files it has the fields of the first and the tensors of all. Raises ExportError for a file
    that is damaged, newer than the library, or lacks a part.
    """
    files = parts(path)
    readers = [_open(file) for file in files]
    for index, reader in enumerate(readers):
        count = value(reader, "split.count", 1) or 1
        if len(files) == 1 and count != 1:
            raise ExportError(
                "{name} is one of {count} parts of a model, but its name does not say so; the names of the parts must "
                "end in -00001-of-{last}.gguf and so on.",
                name=reader.name,
                count=count,
                last=f"{count:05}" if isinstance(count, int) else count,
            )
        if count != len(files) or value(reader, "split.no", index) != index:
            raise _damaged(reader.name, f"it is not part {index + 1} of {len(files)}, as its name says")
    first = readers[0]
    first.tensors = [tensor for reader in readers for tensor in reader.tensors]
    names = {tensor.name for tensor in first.tensors}
    if not len(names) == len(first.tensors) == value(first, "split.tensors.count", len(names)):
        raise _damaged(first.name, "its parts do not belong together")
    return first


def _open(path: Path) -> Any:
    """Return the reader of one file. Raises ExportError."""
    with _damage_as_sentence(path.name):
        with path.open("rb") as stream:
            head = stream.read(8)
        if head[:4] != b"GGUF":
            raise ValueError("it does not begin with the letters GGUF")
        (version,) = struct.unpack("<I", head[4:])
        if not version & 0xFFFF:
            raise ValueError("it was written for computers with the other byte order")
        if version in _LATER_VERSIONS:
            raise ExportError(
                "{name} is a GGUF file of version {version}, which this version of Headstart does not know; update "
                "Headstart, or take a file of version 3.",
                name=path.name,
                version=version,
            )
        return _reader_class()(path)


@contextlib.contextmanager
def _damage_as_sentence(name: str) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise _damaged(name, "reading it takes too much memory") from None
    except (struct.error, LookupError, OverflowError) as error:
        raise _damaged(name, f"its metadata cannot be read ({printable(str(error))})") from None
    except (ValueError, OSError) as error:
        raise _damaged(name, printable(str(error))) from None


def value(reader: Any, key: str, default: Any = None) -> Any:
    """Return a field's content, or `default` when there is no such field. Raises ExportError for a damaged text."""
    if key in reader.arrays:
        return reader.arrays[key]
    field = reader.get_field(key)
    with _damage_as_sentence(reader.name):
        return default if field is None else field.contents()


@functools.cache
def _reader_class() -> Any:
    import gguf
    import numpy as np

    kinds = gguf.GGUFValueType

    class QuickReader(gguf.GGUFReader):  # type: ignore[misc]
        def __init__(self, path: Path) -> None:
            self.name = path.name
            self.arrays: dict[str, list[Any]] = {}
            self._latest: list[Any] | None = None
            super().__init__(path)

        def _get(self, offset: int, dtype: Any, count: int = 1, **more: Any) -> Any:
            end = int(offset) + np.dtype(dtype).itemsize * int(count)
            if end > len(self.data):
                raise ValueError(f"it ends at byte {len(self.data)}, but should go on to byte {end} or further")
            return super()._get(offset, dtype, count, **more)

        def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
            number, count = struct.unpack_from("<IQ", self.data, orig_offs) if raw_type == kinds.ARRAY else (0, 0)
            if number == kinds.ARRAY:
                raise ValueError("it holds lists of lists")
            if count < MIN_LONG_ARRAY:
                return super()._get_field_parts(orig_offs, raw_type)
            kind = kinds(number)
            self._latest, end = _entries(self, kind, orig_offs + ARRAY_HEAD, count)
            return end - orig_offs, [self.data[orig_offs : orig_offs + 4]], [0] * count, [kinds.ARRAY, kind]

        def _push_field(self, field: Any, skip_sum: bool = False) -> Any:
            if self._latest is not None:
                self.arrays[field.name], self._latest = self._latest, None
                # Whoever reads the fields themselves sees how many tokens there are, and nothing else of the arrays.
                field = field if field.name == TOKENS else field._replace(data=[])
            return super()._push_field(field, skip_sum)

        def _build_tensors(self, start_offs: int, fields: list[Any]) -> None:
            for field in fields:
                _require_tensor(field, start_offs, self)
            super()._build_tensors(start_offs, fields)
            if sum(tensor.n_bytes for tensor in self.tensors) > len(self.data):
                raise ValueError("its tensors lie on top of each other")
            _require_neighbours(self.tensors, int(self.alignment))

    return QuickReader


def _require_tensor(field: Any, start: int, reader: Any) -> None:
    """Raise ExportError for a type that the library does not compute, ValueError for a tensor beyond the file."""
    shape, kind, offset = (field.parts[index].tolist() for index in (3, 4, 5))
    if kind[0] in known_keys.FOREIGN_TYPES:
        raise ExportError(
            "{name} holds weights of type {kind}, one of ik_llama.cpp's own types; take the Q4_K_M file of the model.",
            name=reader.name,
            kind=known_keys.FOREIGN_TYPES[kind[0]],
        )
    if kind[0] in _TYPES and not _is_known(kind[0]):
        raise ExportError(
            "{name} holds weights of type {kind}, which this version of Headstart does not know; update "
            "Headstart, or take a Q4_K_M file.",
            name=reader.name,
            kind=kind[0],
        )
    if not 0 < len(shape) <= _MAX_DIMENSIONS or min(shape) < 1:
        raise ValueError(f"its tensor {field.name!r} has the shape {shape}")
    end = start + offset[0] + math.prod(shape) // 8  # no type has less than a bit for a weight
    if end > len(reader.data):
        raise ValueError(f"it ends at byte {len(reader.data)}, but should go on to byte {end} or further")


def _require_neighbours(tensors: list[Any], alignment: int) -> None:
    """Raise ValueError for a tensor that is longer or shorter than its place: its type is not the one of its blocks."""
    ordered = sorted(tensors, key=lambda tensor: int(tensor.data_offset))
    for tensor, following in itertools.pairwise(ordered):
        size = int(tensor.n_bytes)
        place = int(following.data_offset) - int(tensor.data_offset)
        if place != size + -size % alignment:
            kind = tensor.tensor_type.name
            raise ValueError(f"its tensor {tensor.name!r} takes {size} bytes as {kind}, and its place has {place}")


@functools.cache
def _is_known(kind: int) -> bool:
    """Return whether the library computes weights of this type."""
    import gguf
    import numpy as np

    try:
        known = gguf.GGMLQuantizationType(kind)
        gguf.dequantize(np.zeros((1, gguf.GGML_QUANT_SIZES[known][1]), np.uint8), known)
    except (ValueError, NotImplementedError):
        return False
    return True


def _entries(reader: Any, kind: Any, start: int, count: int) -> tuple[list[Any], int]:
    """Return the entries of an array, and the place after them."""
    if kind not in reader.gguf_scalar_to_np:
        return _strings(memoryview(reader.data), start, count)
    numbers = reader._get(start, reader.gguf_scalar_to_np[kind], count)  # noqa: SLF001 - of the class above
    return numbers.tolist(), start + numbers.nbytes


def _strings(data: memoryview, start: int, count: int) -> tuple[list[str], int]:
    """Decode `count` length-prefixed strings. Return them and the place after them."""
    if count > len(data) // 8:
        raise ValueError(f"it ends at byte {len(data)}, but lists {count} texts")
    found = []
    for _ in range(count):
        (length,) = struct.unpack_from("<Q", data, start)
        start += 8
        found.append(str(data[start : start + length], "utf-8"))
        start += length
    return found, start


def _describe(path: Path) -> dict[str, Any]:
    """Return the description of a file. Raises ExportError for whatever is wrong."""
    reader = read(path)
    with _damage_as_sentence(path.name):
        if not reader.tensors:
            raise ValueError("it holds no tensors")
        text = functools.partial(_name, reader)
        architecture = text("general.architecture")
        if architecture == "llama" and value(reader, "llama.expert_count"):
            architecture = "mixtral"
        stretched = value(reader, f"{architecture}.rope.scaling.type", "none") != "none"
        keys, get = list(reader.fields), functools.partial(value, reader)
        sampling, notes = known_keys.sampling(keys, get, path.name)
        notes += known_keys.require_known(keys, get, path.name, architecture or "", with_model=False)
        names = {tensor.name for tensor in reader.tensors}
        foreign = ROPE_FACTORS in names and architecture != "llama"
        described = {
            "parameters": sum(int(tensor.n_elements) for tensor in reader.tensors),
            "architecture": architecture,
            "name": printable(value(reader, "general.name")) or None,
            "licence": printable(value(reader, "general.license")) or None,
            "tokenizer": text("tokenizer.ggml.model"),
            "splitting": text("tokenizer.ggml.pre"),
            "sampling": sampling,
            "notes": notes,
            "stretched": stretched or any(name.startswith("rope_factors") for name in names) or foreign,
        }
        if described["tokenizer"] in {BYTE_LEVEL, SENTENCEPIECE}:
            _require_vocabulary(reader, described["tokenizer"])
    for mark in _MARKS:
        token_id(reader, mark)
    return described | {"ends": ends(reader)}


def _text(reader: Any, key: str) -> str | None:
    """Return a text field. Raises ValueError for a field of another type."""
    text = value(reader, key)
    if not isinstance(text, str | None):
        raise ValueError(f"its {key} is no text")
    return text


def _name(reader: Any, key: str) -> str | None:
    """Return a text field that is safe to show. Raises ValueError."""
    text = _text(reader, key)
    if text is not None and text != printable(text):
        raise ValueError(f"its {key} is no name")
    return text


def printable(text: object) -> str:
    """Return a text from a file in a form that is safe to show, as it may hold anything."""
    return "".join(filter(str.isprintable, text))[:_SHOWN] if isinstance(text, str) else ""


def _require_vocabulary(reader: Any, model: object) -> None:
    """Raise ValueError unless the lists of a tokenizer have consistent lengths."""
    for name in ("", ".tool_use"):
        _text(reader, f"tokenizer.chat_template{name}")
    tokens = value(reader, TOKENS)
    more: tuple[str, type] = ("merges", str) if model == BYTE_LEVEL else ("scores", float)
    for key, kind in (("tokens", str), ("token_type", int), more):
        entries = value(reader, f"tokenizer.ggml.{key}")
        if not isinstance(entries, list) or not all(isinstance(entry, kind) for entry in entries):
            raise ValueError(f"its tokenizer.ggml.{key} is no list of {'texts' if kind is str else 'numbers'}")
        if key != "merges" and len(entries) != len(tokens):
            raise ValueError(
                f"its vocabulary has {len(tokens)} tokens, and tokenizer.ggml.{key} {len(entries)} entries"
            )
    rows = [tensor.shape.tolist()[-1] for tensor in reader.tensors if tensor.name == "token_embd.weight"]
    if rows and rows[0] < len(tokens):
        raise ValueError(f"its vocabulary has {len(tokens)} tokens, but its weights know {rows[0]}")


def ends(reader: Any) -> list[int]:
    """Return the ids of the tokens that end an answer. Raises ExportError."""
    return list(dict.fromkeys(index for mark in ENDS if (index := token_id(reader, mark)) is not None))


def token_id(reader: Any, mark: str) -> int | None:
    """Return the id of a special token: "eos", "bos", "padding" ... Raises ExportError for an invalid id."""
    key = f"tokenizer.ggml.{mark}_token_id"
    index = value(reader, key)
    if index in _NONE:
        return None
    if type(index) is not int or not 0 <= index < len(value(reader, TOKENS) or []):
        raise ExportError(
            "{name} says that {key} is {index}, but its vocabulary has no such token; take another file of the model.",
            name=reader.name,
            key=key,
            index=printable(str(index)),
        )
    return index
