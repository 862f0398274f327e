"""The rows of a damaged database, read from its pages without the trees that lead to them."""

# SQLite gives up at the first page that is damaged, and everything behind it is out of reach. Each leaf of a table says
# by itself what it holds, so all others can still be read. https://www.sqlite.org/fileformat2.html

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from headstart.chat.history.database import Key

Value = str | bytes | int | float | None
_PAGE = 4096  # bytes of a page, which is never changed
_RESERVED = 80  # bytes that SQLCipher adds to a page: initialization vector and checksum
_SALT, _VECTOR = 16, 16
_HEADER = 100  # bytes before the content of the first page
_TABLE_LEAF = 0x0D
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes by the type of a value
_FLOAT, _ZERO, _ONE = 7, 8, 9
_BROKEN = (IndexError, struct.error, ValueError)


def read_rows(path: Path, key: Key | None) -> Iterator[tuple[int, tuple[Value, ...]]]:
    """Yield the rows of all tables with their row ids, as far as they can be read. The file must not be open."""
    pages = _Pages(path.read_bytes(), key)
    for number in range(1, pages.count + 1):
        if number not in pages.free:
            yield from pages.rows(number)


class _Pages:
    """The pages of a file, numbered from 1."""

    def __init__(self, content: bytes, key: Key | None) -> None:
        self.count = len(content) // _PAGE
        self._content, self._key = content, key
        self._usable = _PAGE - (_RESERVED if key else 0)
        self.free: set[int] = set()
        with suppress(*_BROKEN):
            self._find_free()

    def rows(self, number: int) -> Iterator[tuple[int, tuple[Value, ...]]]:
        """Yield the rows of a page; none if it is no leaf of a table."""
        page, start = self._page(number), _HEADER if number == 1 else 0
        if page[start] != _TABLE_LEAF:
            return
        (count,) = struct.unpack_from(">H", page, start + 3)
        for place in range(start + 8, min(start + 8 + 2 * count, self._usable), 2):
            with suppress(*_BROKEN):
                yield self._row(page, struct.unpack_from(">H", page, place)[0])

    def _page(self, number: int) -> bytes:
        if not 1 <= number <= self.count:
            raise ValueError("there is no such page")
        page = self._content[(number - 1) * _PAGE : number * _PAGE]
        return _decrypt(page, self._key, number) if self._key else page

    def _find_free(self) -> None:
        """Note the free pages, which are empty or hold deleted rows."""
        (trunk,) = struct.unpack_from(">I", self._page(1), 32)
        while trunk and trunk not in self.free:
            page = self._page(trunk)
            following, count = struct.unpack_from(">II", page)
            self.free |= {trunk, *struct.unpack_from(f">{count}I", page, 8)}
            trunk = following

    def _row(self, page: bytes, at: int) -> tuple[int, tuple[Value, ...]]:
        size, at = _varint(page, at)
        row_id, at = _varint(page, at)
        local = self._local_size(size)
        if size > len(self._content) or at + local > self._usable:
            raise ValueError("there is no room for this row")
        parts, left = [page[at : at + local]], size - local
        (following,) = struct.unpack_from(">I", page, at + local) if left else (0,)
        while left:
            overflow = self._page(following)[: self._usable]
            (following,) = struct.unpack_from(">I", overflow)
            parts.append(overflow[4 : 4 + left])
            left -= len(parts[-1])
        return row_id, tuple(_values(b"".join(parts)))

    def _local_size(self, size: int) -> int:
        """Return how many bytes of a row lie in its own page; the rest is in others."""
        limit = self._usable - 35
        if size <= limit:
            return size
        least = (self._usable - 12) * 32 // 255 - 23
        local = least + (size - least) % (self._usable - 4)
        return local if local <= limit else least


def _values(record: bytes) -> Iterator[Value]:
    end, at = _varint(record, 0)
    place = end
    while at < end:
        kind, at = _varint(record, at)
        size = _INTEGERS.get(kind, 8 if kind == _FLOAT else max(kind - 12, 0) // 2)
        value = record[place : place + size]
        if len(value) < size:
            raise ValueError("the row is cut off")
        place += size
        yield _value(kind, value)


def _value(kind: int, value: bytes) -> Value:
    if kind in _INTEGERS:
        return int.from_bytes(value, "big", signed=True)
    if kind == _FLOAT:
        return float(struct.unpack(">d", value)[0])
    if kind in (_ZERO, _ONE):
        return kind - _ZERO
    if kind < 12:
        return None
    return value.decode(errors="replace") if kind % 2 else value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of up to nine bytes, and the place behind it."""
    value = 0
    for place in range(at, at + 8):
        value = value << 7 | data[place] & 0x7F
        if data[place] < 0x80:
            return value, place + 1
    return value << 8 | data[at + 8], at + 9


def _decrypt(page: bytes, key: Key, number: int) -> bytes:
    """Return a page of SQLCipher in clear, with zeros for what only the cipher needs."""
    from cryptography.hazmat.primitives.ciphers import (  # noqa: PLC0415 - most histories are not encrypted
        Cipher,
        algorithms,
        modes,
    )

    salt = _SALT if number == 1 else 0
    end = _PAGE - _RESERVED
    cipher = Cipher(algorithms.AES(key.raw), modes.CBC(page[end : end + _VECTOR])).decryptor()
    return bytes(salt) + cipher.update(page[salt:end]) + cipher.finalize() + bytes(_RESERVED)
