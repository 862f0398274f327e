"""The servers that a person named: the file, the names, and which of them are other computers."""

import logging
from pathlib import Path

import pytest

from headstart import remotes
from headstart.engine.engine import Remote
from headstart.errors import ModelNotFoundError, SettingsError
from headstart.library import library

OFFICE = Remote("office", "https://office.example:8443/v1", "team/large", Path("/certificates/office.pem"))
HOME = Remote("home", "http://192.168.1.5:8000/v1")


def test_servers_are_stored_by_name() -> None:
    remotes.add(OFFICE)
    remotes.add(HOME)
    assert remotes.configured() == (HOME, OFFICE)
    assert remotes.find("remote:home") == HOME
    assert remotes.find("remote:home/a/b").model == "a/b"
    assert remotes.model_name(OFFICE) == "remote:office/team/large"
    remotes.add(Remote("home", "http://192.168.1.6:8000/v1"))
    assert remotes.find("remote:home").url == "http://192.168.1.6:8000/v1"
    assert remotes.remove("office") == OFFICE
    assert [server.name for server in remotes.configured()] == ["home"]


def test_mistakes_in_the_file_are_skipped(headstart_home: Path, caplog: pytest.LogCaptureFixture) -> None:
    remotes.add(HOME)
    path = headstart_home / remotes.FILE_NAME
    assert path.read_text() == 'version = 1\n\n[servers.home]\nurl = "http://192.168.1.5:8000/v1"\n'
    path.write_text(path.read_text() + '[servers.bad]\nurl = "gopher://x"\n[servers.worse]\nurl = 5\n')
    with caplog.at_level(logging.WARNING):
        assert remotes.configured() == (HOME,)
    assert len(caplog.records) == 2
    path.write_text("[[")
    assert remotes.configured() == ()


def test_unknown_server_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ModelNotFoundError, match="no server 'office'; none is known yet"):
        remotes.find("remote:office/large")
    remotes.add(HOME)
    with pytest.raises(ModelNotFoundError, match="known are home"):
        remotes.remove("office")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("http://host:8000", "http://host:8000/v1"),
        ("http://host:8000/", "http://host:8000/v1"),
        ("https://host/v3/", "https://host/v3"),
        ("http://[::1]:8000/api/v1", "http://[::1]:8000/api/v1"),
    ],
)
def test_address_is_normalized(written: str, meant: str) -> None:
    assert remotes.checked(Remote("a", written)).url == meant


@pytest.mark.parametrize(
    ("name", "url", "reason"),
    [
        *(
            ("a", url, "is not the address of a server")
            for url in (
                "",
                "host:8000",
                "ftp://h/v1",
                "http://",
                "http://h:99999/v1",
                "http://h/v1?key=1",
                "http://[::1",
            )
        ),
        ("a", "https://me:secret@host/v1", "must not hold a password"),
        *((name, "http://host/v1", "A server's name") for name in ("", "a/b", "../keys", "-a", "a b", "x" * 41)),
    ],
)
def test_invalid_name_or_address_is_refused(name: str, url: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        remotes.checked(Remote(name, url))


def test_reach_of_a_server_is_known() -> None:
    assert remotes.is_exposed(HOME)
    assert not remotes.is_exposed(OFFICE)
    for host in ("localhost", "127.0.0.1", "[::1]"):
        server = Remote("a", f"http://{host}:1/v1")
        assert remotes.is_here(server)
        assert not remotes.is_exposed(server)


def test_library_has_no_remote_model() -> None:
    with pytest.raises(SettingsError, match="remote:office is on another computer and can only chat"):
        library.find("remote:office")
