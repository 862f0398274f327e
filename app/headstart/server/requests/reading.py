"""The body of a request: received, unpacked, decoded and validated."""

import asyncio
import codecs
import gzip
import json
import re
import zlib
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from io import BytesIO
from typing import Any, NoReturn, TypeVar

import brotli
import msgspec
import zstandard
from msgspec import inspect
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from headstart.server.errors import INVALID, Fault, RefusedError, invalid, too_large
from headstart.server.requests import fields
from headstart.server.worker import Limits

_Body = TypeVar("_Body")
_MAX_DISCARDED_BYTES = 2**30
_CLOSE_CONNECTION = {"connection": "close"}
_SHORTEN = "text and files: leave some out"
_MAX_CODINGS = 4  # of one body, one inside another
_MAX_WINDOW = 2**27  # bytes that zstd may look back; its own levels need no more
_PLACE = re.compile(r"`\$(.*)`$")  # at the end of an error of msgspec
_STEP = re.compile(r"\w+|\[[^]]*\]")
_LIKENESS = 0.85  # of two names, from which on one is a typing error
_MAX_NAME_CHARS = 40
_MAX_SHOWN_CHARS = 40  # of a wrong value
_WITH_NUMBERS = {"options", "thinking", "stream_options", "chat_template_kwargs"}  # objects with whole numbers
_type_info = cache(inspect.type_info)  # msgspec computes it anew each time


async def read_form(request: Request, limits: Limits) -> dict[str, Any]:
    """Return the fields of a form: texts, the content of files, and lists for names that end in []."""
    kind, body = request.headers.get("content-type", ""), await read_body(request, limits)
    if not kind.startswith("multipart/form-data"):
        raise invalid("The body must be a form with a file: send it as multipart/form-data.")

    async def stream() -> AsyncGenerator[bytes]:
        yield body

    values = dict[str, Any]()
    try:
        form = await MultiPartParser(request.headers, stream(), max_part_size=limits.body_bytes).parse()
    except (MultiPartException, KeyError) as error:  # KeyError: it names no boundary
        raise invalid(f"The body is not a form ({error}): send it as multipart/form-data.") from None
    for name, value in form.multi_items():
        content = await value.read() if isinstance(value, UploadFile) else value
        if name.endswith("[]"):
            values.setdefault(name.removesuffix("[]"), []).append(content)
        else:
            values[name] = content
    await form.close()
    return values


async def read_body(request: Request, limits: Limits) -> bytes:
    """Return the body of a request, unpacked, within the limits of size and time. Raises RefusedError.

    A body that is too large is read on and discarded: many clients read no reply before they have sent everything.
    """
    codings = _codings(request.headers.get("content-encoding", ""))
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for chunk in request.stream():
                size += len(chunk)
                if size <= limits.body_bytes:
                    body += chunk
                elif size > _MAX_DISCARDED_BYTES:
                    break
    except ClientDisconnect:
        raise invalid("The connection ended before the whole request arrived: send all of it.") from None
    except TimeoutError:
        if size <= limits.body_bytes:
            sentence = f"The request did not arrive within {limits.body_seconds:g} s: send it faster."
            raise RefusedError(408, Fault(sentence, INVALID, code="too_slow"), _CLOSE_CONNECTION) from None
    if size > limits.body_bytes:
        raise too_large(limits.body_bytes, _SHORTEN, _CLOSE_CONNECTION)
    return _unpacked(bytes(body), codings, limits.body_bytes)


def _codings(header: str) -> list[str]:
    """Return the names in a Content-Encoding header, in order. Raises RefusedError for one that is not known."""
    names = [name.strip().lower().removeprefix("x-") for name in header.split(",")]
    names = [name for name in names if name not in {"", "identity"}]
    if len(names) > _MAX_CODINGS or any(name not in _UNPACK for name in names):
        taken = ", ".join(_UNPACK)
        sentence = f"A body in {header[:80]!r} cannot be read here: send it as it is, or in one of {taken}."
        fault = Fault(sentence, INVALID, code="unsupported_encoding")
        raise RefusedError(415, fault, _CLOSE_CONNECTION | {"accept-encoding": taken})
    return names


def _unpacked(data: bytes, codings: list[str], limit: int) -> bytes:
    for name in reversed(codings):
        try:
            data = _UNPACK[name](data, limit + 1)
        except (OSError, EOFError, ValueError, zlib.error, brotli.error, zstandard.ZstdError):
            sentence = f"The body is not in {name}, as its Content-Encoding says: pack it anew, or send it as it is."
            raise invalid(sentence, code="invalid_encoding") from None
        if len(data) > limit:
            raise too_large(limit, _SHORTEN)
    return data


# Each unpacks data, up to a number of bytes.


def _gzip(data: bytes, size: int) -> bytes:
    with gzip.GzipFile(fileobj=BytesIO(data)) as file:
        return file.read(size)


def _deflate(data: bytes, size: int) -> bytes:
    """Unpack a zlib stream, or the bare stream that some clients send under this name."""
    has_head = len(data) > 1 and data[0] & 15 == 8 and int.from_bytes(data[:2], "big") % 31 == 0
    stream = zlib.decompressobj(zlib.MAX_WBITS if has_head else -zlib.MAX_WBITS)
    unpacked = stream.decompress(data, size)
    if not stream.eof and len(unpacked) < size:
        raise EOFError
    return unpacked


def _brotli(data: bytes, size: int) -> bytes:
    stream = brotli.Decompressor()
    unpacked: bytes = stream.process(data, output_buffer_limit=size)
    if not stream.is_finished() and len(unpacked) < size:
        raise EOFError
    return unpacked


def _zstd(data: bytes, size: int) -> bytes:
    stream = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    with stream.stream_reader(data, read_across_frames=True) as file:
        return file.read(size)


_UNPACK: Mapping[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}


def parse_request(data: bytes, body_type: type[_Body]) -> _Body:
    """Decode and validate a request. Raises RefusedError, which names the wrong field."""
    try:
        return convert_request(_with_whole_numbers(_decoded(data)), body_type)
    except (msgspec.DecodeError, ValueError) as error:
        raise invalid(f"The body is not JSON ({error}): send one object.") from None
    except RecursionError:
        raise invalid("The body is nested too deeply: send one object with fewer levels.") from None


def convert_request(values: Any, body_type: type[_Body], *, are_texts: bool = False) -> _Body:
    """Validate the fields of a request. Raises RefusedError, which names the wrong one.

    `are_texts`: numbers are written as texts, as in forms.
    """
    if isinstance(values, dict):
        values = {name: value for name, value in values.items() if value is not None}
        _refuse_unsupported(values, body_type)
        _refuse_typos(values, body_type)
    try:
        return msgspec.convert(values, body_type, strict=not are_texts)
    except msgspec.ValidationError as error:
        raise _refusal(error, values, body_type) from None


def _decoded(data: bytes) -> Any:
    """Decode all that RFC 8259 allows: also a byte order mark, numbers out of range and halves of surrogate pairs.

    Such a half, which programs leave where they cut a text inside an emoji, becomes the replacement character.
    """
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return msgspec.json.decode(data)
    except (msgspec.ValidationError, msgspec.DecodeError):
        values = json.loads(data.decode(), parse_constant=_refuse_constant)
        text = json.dumps(values, ensure_ascii=False)
        return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _with_whole_numbers(value: Any) -> Any:
    """Turn 5.0 into 5 in the fields of a request: JSON has only one kind of number."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_with_whole_numbers(item) if isinstance(item, float | list) else item for item in value]
        case dict():
            plain = {name: item for name, item in value.items() if not isinstance(item, dict) or name in _WITH_NUMBERS}
            return value | {name: _with_whole_numbers(item) for name, item in plain.items()}
        case _:
            return value


def _refuse_unsupported(values: Mapping[str, Any], body_type: type[object], place: str = "") -> None:
    """Raise RefusedError for an unsupported field with a value that would change the answer."""
    unsupported: fields.Unsupported = getattr(body_type, "unsupported", {})
    for name in values.keys() & unsupported:
        if not unsupported[name].passes(values[name], values):
            raise invalid(unsupported[name].sentence(place + name), name, "unsupported_value")
    nested: Mapping[str, type[object]] = getattr(body_type, "nested", {})
    for name, inner_type in nested.items():
        if isinstance(values.get(name), dict):
            _refuse_unsupported(values[name], inner_type, f"{name}.")


def _refuse_typos(values: Mapping[str, Any], body_type: type[object]) -> None:
    """Raise RefusedError for an unknown field whose name is nearly that of a known one."""
    names = [*getattr(body_type, "__dataclass_fields__", ()), *getattr(body_type, "unsupported", ())]
    known = {_plain(name): name for name in names}
    for name in values:
        if name not in known.values() and name not in fields.IGNORED:
            plain = _plain(name[:_MAX_NAME_CHARS])
            near = get_close_matches(plain, known, cutoff=_LIKENESS)
            if near:
                meant = known[min(near, key=lambda each: each[0] != plain[0])]
                raise invalid(f"There is no field `{name}`: did you mean `{meant}`?", name, "unknown_field")


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _refusal(error: msgspec.ValidationError, values: Any, body_type: Any) -> RefusedError:
    """Return the refusal of a body that is not of its type, in the words of the table of fields."""
    match = _PLACE.search(str(error))
    place = match[1].removeprefix(".") if match else ""
    kinds, value, tags = [_type_info(body_type)], values, list[str]()
    steps = _STEP.findall(place)
    for step in steps:
        tags = [str(kind.tag) for kind in kinds if isinstance(kind, inspect.StructType) and kind.tag_field == step]
        kinds = [inner for kind in kinds for inner in _inside(kind, step)]
        value = _value_inside(value, step)
    name = next((step for step in steps if step != "options"), None)
    return invalid(_sentence(f"`{place}`" if place else "The body", kinds, value, tags), name)


def _inside(kind: inspect.Type, step: str) -> Iterator[inspect.Type]:
    """Yield the types of what a type holds at a step."""
    match kind:
        case inspect.ListType(item_type=inner) | inspect.DictType(value_type=inner) if step.startswith("["):
            yield from fields.alternatives(inner)
        case inspect.StructType(fields=declared) | inspect.DataclassType(fields=declared):
            for each in declared:
                if each.encode_name == step:
                    yield from fields.alternatives(each.type)


def _value_inside(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return value.get(step)
    index = step.strip("[]")
    return value[int(index)] if isinstance(value, list) and index.isdecimal() else None


def _sentence(subject: str, kinds: list[inspect.Type], value: Any, tags: list[str]) -> str:
    objects = [kind for kind in kinds if isinstance(kind, inspect.StructType | inspect.DataclassType)]
    if isinstance(value, dict) and objects:
        tagged = [kind for kind in objects if isinstance(kind, inspect.StructType) and kind.tag_field]
        needed = [kind.tag_field for kind in tagged if kind.tag_field] if tagged else []
        fitting = [kind for kind in tagged if value.get(str(kind.tag_field)) == kind.tag] or objects
        needed += [each.encode_name for kind in fitting for each in kind.fields if each.required]
        missing = next((name for name in needed if name not in value), None)
        if missing:
            return f"{subject} lacks `{missing}`: add it."
        known = {each.encode_name for kind in objects for each in kind.fields}
        unknown = next((name for name in value if name not in known), "")
        return f"{subject} has no field `{unknown[:_MAX_NAME_CHARS]}`: leave it out."
    expected = fields.either([repr(tag) for tag in tags] or [fields.takes_any(kinds)])
    if isinstance(value, str | int | float):
        return f"{subject} must be {expected}, not {_shown(value)}: correct it."
    return f"{subject} must be {expected}: correct it."


def _shown(value: str | float) -> str:
    return repr(value[:_MAX_SHOWN_CHARS] if isinstance(value, str) else value)[: _MAX_SHOWN_CHARS + 2]
