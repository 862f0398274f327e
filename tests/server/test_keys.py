"""The key, what is kept of it, and where the server may listen."""

import socket
import sys
from contextlib import closing
from pathlib import Path

import pytest

from headstart.errors import ServerError, SettingsError
from headstart.server import keys
from headstart.server.server import listen, url


def test_keys_are_long_and_never_the_same() -> None:
    made = {keys.new() for _ in range(100)}
    assert len(made) == 100
    assert min(map(len, made)) > 40


def test_only_the_hash_of_a_key_is_kept(tmp_path: Path) -> None:
    file, key = tmp_path / "new" / "server-key", keys.new()
    assert keys.read(file) is None
    keys.write(file, keys.digest(key))
    kept = keys.read(file)
    assert kept is not None
    assert keys.fits(key, kept)
    assert not keys.fits(key[:-1], kept)
    assert key not in file.read_text(encoding="ascii")
    assert [path.name for path in file.parent.iterdir()] == ["server-key"]
    if sys.platform != "win32":
        assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"abc", b"\xff" * 64])
def test_a_damaged_key_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "server-key").write_bytes(content)
    with pytest.raises(ServerError, match="--new-key"):
        keys.read(tmp_path / "server-key")


def test_a_key_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="ascii")
    with pytest.raises(ServerError, match="cannot be written"):
        keys.write(tmp_path / "file" / "server-key", keys.digest("a"))


def test_only_this_computer_is_listened_to_unless_that_is_wanted() -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):  # noqa: S104 - that it is refused is the point
        with pytest.raises(SettingsError, match="--allow-network"):
            listen(host, 0)
    with pytest.raises(SettingsError, match="must be an address"):
        listen("example.org", 0)
    with pytest.raises(ServerError, match="choose others"):
        listen("192.0.2.1", 0, beyond=True)  # of a network for documentation: no computer has it
    with closing(listen("0.0.0.0", 0, beyond=True)) as listener:  # noqa: S104
        assert listener.getsockname()[0] == "0.0.0.0"  # noqa: S104


def test_the_other_protocol_has_a_loopback_too() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    try:
        listener = listen("::1", 0)
    except ServerError:
        pytest.skip("IPv6 is switched off here")
    with closing(listener):
        assert url(listener).startswith("http://[::1]:")
