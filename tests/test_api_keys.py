"""Keys of servers, with a keyring and without one."""

import os
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError

from headstart import api_keys
from headstart.api_keys import KeyPlace
from headstart.errors import SettingsError


class MemoryKeyring(KeyringBackend):
    """Keeps keys for a test."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError("no such key")


@pytest.fixture
def ring() -> Iterator[MemoryKeyring]:
    before = keyring.get_keyring()
    made = MemoryKeyring()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


def test_keyring_stores_the_key(ring: MemoryKeyring, headstart_home: Path) -> None:
    assert api_keys.keep("office", "secret").place is KeyPlace.KEYRING
    assert ring.kept == {("headstart", "office"): "secret"}
    found = api_keys.find("office")
    assert found
    assert (found.secret, found.place) == ("secret", KeyPlace.KEYRING)
    assert not headstart_home.exists()
    api_keys.forget("office")
    assert api_keys.find("office") is None


def test_private_file_replaces_a_missing_keyring(headstart_home: Path) -> None:
    kept = api_keys.keep("office", "secret")
    path = headstart_home / "keys" / "office"
    assert (kept.place, kept.where) == (KeyPlace.FILE, str(path))
    assert path.read_text() == "secret\n"
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600
    assert api_keys.find("office") == kept
    api_keys.forget("office")
    assert api_keys.find("office") is None
    api_keys.forget("office")


def test_later_keyring_takes_over_from_the_file(request: pytest.FixtureRequest) -> None:
    api_keys.keep("office", "old")
    request.getfixturevalue("ring")
    api_keys.keep("office", "new")
    assert not api_keys.file_of("office").exists()


def test_environment_goes_first(ring: MemoryKeyring, monkeypatch: pytest.MonkeyPatch) -> None:
    api_keys.keep("my-office.2", "kept")
    monkeypatch.setenv("HEADSTART_KEY_MY_OFFICE_2", " given \n")
    found = api_keys.find("my-office.2")
    assert found
    assert (found.secret, found.place) == ("given", KeyPlace.ENVIRONMENT)


def test_key_is_in_no_repr() -> None:
    assert "secret" not in repr(api_keys.keep("office", "secret"))


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such modes")
def test_readable_key_file_is_refused() -> None:
    api_keys.keep("office", "secret")
    api_keys.file_of("office").chmod(0o644)
    with pytest.raises(SettingsError, match=r"Others may read the key in .*run `chmod 600"):
        api_keys.find("office")


def test_unwritable_key_names_the_environment(headstart_home: Path) -> None:
    headstart_home.write_text("a file where the folder should be")
    with pytest.raises(SettingsError, match="HEADSTART_KEY_OFFICE"):
        api_keys.keep("office", "secret")


@pytest.mark.parametrize("secret", ["two\nlines", "schlüssel"])
def test_unsendable_key_is_refused_unquoted(secret: str, ring: MemoryKeyring, monkeypatch: pytest.MonkeyPatch) -> None:
    ring.set_password("headstart", "office", secret)
    api_keys.file_of("home").parent.mkdir(parents=True)
    api_keys.file_of("home").write_text(secret, encoding="utf-8")
    api_keys.file_of("home").chmod(0o600)
    monkeypatch.setenv("HEADSTART_KEY_LAB", secret)
    for server in ("office", "home", "lab"):
        with pytest.raises(SettingsError, match="it is not one line of letters, digits and signs") as refused:
            api_keys.find(server)
        assert secret not in str(refused.value)
