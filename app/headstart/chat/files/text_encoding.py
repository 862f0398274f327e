"""The encodings in which the bytes of a text file can be read, the likeliest first."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

_MAX_DETECTED = 4
# In the order in which they are preferred where several give the same text.
_COMMON = (
    "cp1252", "cp1251", "cp1250", "gb18030", "big5", "cp932", "cp949", "koi8_r", "koi8_u", "cp866", "cp1253", "cp1254",
    "cp1255", "cp1256", "cp1257", "cp1258", "cp874", "euc_jp", "iso2022_jp", "johab", "iso2022_kr", "hz", "iso8859_2",
    "iso8859_5", "iso8859_7", "iso8859_15", "mac_roman", "mac_cyrillic", "cp850", "cp437", "cp037", "cp500", "utf_16",
    "utf_16_le", "utf_16_be", "utf_32", "utf_32_le", "utf_32_be",
)  # fmt: skip
_OFFERED = ("cp1252", "cp1251", "koi8_r", "cp1250", "gb18030", "big5", "cp932", "euc_jp", "cp949")  # whatever is found
_LABELS = {
    "cp932": "Shift JIS", "cp949": "EUC-KR", "euc_jp": "EUC-JP", "big5": "Big5", "gb18030": "GB18030", "hz": "HZ",
    "utf_16": "UTF-16", "utf_16_le": "UTF-16", "utf_16_be": "UTF-16", "utf_32": "UTF-32", "utf_32_le": "UTF-32",
    "utf_32_be": "UTF-32",
    "iso2022_jp": "ISO 2022-JP", "iso2022_kr": "ISO 2022-KR",
    "mac_roman": "Mac Roman", "mac_cyrillic": "Mac Cyrillic", "johab": "Johab",
}  # fmt: skip
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe\0\0", "utf_32"), (b"\0\0\xfe\xff", "utf_32"))
_SHORT_MARKS = ((b"\xff\xfe", "utf_16"), (b"\xfe\xff", "utf_16"))  # the first is the beginning of a longer one
_DECLARED = re.compile(
    rb"(?:charset|coding)\s*[:=]\s*[\"']?((?:big5|cp|euc|gb|iso|koi8|ks|mac|shift|tis|windows)[\w.-]*)",
    re.IGNORECASE,
)  # Python has others that are slow, or no encodings of text
_SHIFTED = re.compile(rb"\x1b\$(?:[B@]|\)C)")  # into East Asian letters: reads as UTF-8 too
_DECLARED_WITHIN = 2048  # bytes
_LINE_END = re.compile("\r\n|[\r\x85\u2028\u2029]")
# Control characters, private-use glyphs and signs of failed decoding; no line ends, tabs and escapes of terminals.
_UNUSABLE = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ue000-\uf8ff\ufff0-\uffff\U000f0000-\U0010ffff]")
_MOST_UNUSABLE = 0.01  # of the characters of a text
_MOST_UNUSABLE_UTF_8 = 0.3  # whatever reads as UTF-8 is no accident


class DecodedText(NamedTuple):
    """A text, and the encoding that it was read in."""

    encoding: str  # empty for UTF-8
    text: str


def readings(content: bytes) -> tuple[DecodedText, ...]:
    """Return the ways to read a file as text, the likeliest first and each text once; none for what is not text."""
    found: dict[str, DecodedText] = {}
    for reading in _readings(content):
        found.setdefault(reading.text, reading)
        if not reading.encoding:
            break
    return tuple(found.values())


def unusable_share(text: str) -> float:
    """Return the share of control characters and glyphs without a meaning among the visible characters of a text."""
    visible = sum(not character.isspace() for character in text)
    return len(_UNUSABLE.findall(text)) / visible if visible else 0.0


def _plain(text: str) -> str:
    """Strip marks at the ends, such as a byte order mark, and turn all line ends into line feeds."""
    return _LINE_END.sub("\n", text.removeprefix("\ufeff").removesuffix("\x1a"))  # DOS ends a text with a Ctrl+Z


def _readings(content: bytes) -> Iterator[DecodedText]:
    for mark, encoding in (*_MARKS, *_SHORT_MARKS):
        if content.startswith(mark):
            yield from _decoded(content, encoding)
            break
    if _SHIFTED.search(content):
        for encoding in ("iso2022_jp", "iso2022_kr"):
            yield from _decoded(content, encoding)
    if b"\0" not in content:
        yield from _decoded(content, "utf-8")
        yield from _mended(content)
    declared = _DECLARED.search(content[:_DECLARED_WITHIN])
    likely = [declared[1].decode()] if declared else []
    for encoding in (*likely, *islice(_detected(content), _MAX_DETECTED), *_OFFERED):
        yield from _decoded(content, encoding)


def _decoded(content: bytes, encoding: str) -> Iterator[DecodedText]:
    try:
        text = content.decode(encoding)
    except (UnicodeError, LookupError):
        return
    text = _plain(text)
    is_utf_8 = encoding.lower() in ("utf-8", "utf8", "utf-8-sig")
    limit = 0.0 if "\0" in text else _MOST_UNUSABLE_UTF_8 if is_utf_8 else _MOST_UNUSABLE
    if len(_UNUSABLE.findall(text)) <= limit * len(text):
        yield DecodedText("" if is_utf_8 else _label(encoding), text)


def _mended(content: bytes) -> Iterator[DecodedText]:
    """Yield the text in UTF-8 if only a few bytes of it are damaged."""
    text = content.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    if damaged * 10 < sum(character > "\x7f" for character in text) - damaged:
        yield DecodedText("UTF-8", _plain(text))


def _detected(content: bytes) -> Iterator[str]:
    """Yield the encodings that charset-normalizer detects, common ones first."""
    from charset_normalizer import from_bytes, is_binary  # noqa: PLC0415 - only needed for what is not UTF-8

    if is_binary(content) and b"\0" not in content:
        return
    matches = list(from_bytes(content, cp_isolation=list(_COMMON))) or list(from_bytes(content))
    for match in matches:
        equal = [name for name in _COMMON if name in match.could_be_from_charset]
        yield next(iter(equal), match.encoding)


def _label(encoding: str) -> str:
    """Return the usual name of an encoding."""
    name = encoding.lower().replace("-", "_")
    if name in _LABELS:
        return _LABELS[name]
    if match := re.fullmatch(r"(?:cp|windows_?)(125\d|874)", name):
        return f"Windows-{match[1]}"
    if match := re.fullmatch(r"iso_?8859_(\d+)", name):
        return f"ISO 8859-{match[1]}"
    return name.upper().replace("_", "-")
