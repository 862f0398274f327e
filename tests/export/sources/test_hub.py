"""Files of a hub that is played here: fetched once, compared with what the hub states, and resumed."""

import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headstart import paths
from headstart.errors import ExportError
from headstart.library import manifest
from headstart_export.progress import megabytes
from headstart_export.sources import fetching, recipe
from headstart_export.sources.recipe import HubSource
from tests.export.conftest import NO_CONVERTERS, ROOT
from tests.export.gguf import tiny_gguf
from tests.export.sources import stand_in_hub
from tests.export.sources.stand_in_hub import COMMIT, PIECE, Hub

WEIGHTS = random.Random(0).randbytes(2 * PIECE + 4711)
HASH = hashlib.sha256(WEIGHTS).hexdigest()
SMALL = b"GGUF, or so"
SMALL_HASH = hashlib.sha256(SMALL).hexdigest()
SOURCE = HubSource("org/model", "main", "model.gguf")
FETCH = """
import sys
from pathlib import Path
from headstart_export.sources import fetching
from headstart_export.sources.recipe import HubSource
source = HubSource("org/model", "main", "model.gguf")
fetched = fetching.fetch_file(source, Path(sys.argv[1]), lambda *bytes: print(*bytes, flush=True))
print(fetched.path)
"""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with a small file, which the hub's library in this process uses."""
    with stand_in_hub.running() as made:
        made.files["org/model", "model.gguf"] = SMALL
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", made.url)
        monkeypatch.setattr(
            "huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE",
            made.url + "/{repo_id}/resolve/{revision}/{filename}",
        )
        yield made


def fetched(cache: Path, source: HubSource = SOURCE) -> fetching.Fetched:
    return fetching.fetch_file(source, cache, lambda _done, _total: None)


def test_file_is_compared_with_what_the_hub_states(hub: Hub, tmp_path: Path) -> None:
    found = fetched(tmp_path)
    assert found.path.read_bytes() == SMALL
    file = manifest.File(SMALL_HASH, len(SMALL))
    assert found.source == manifest.Source("hub", "org/model", COMMIT, SMALL_HASH, files={"model.gguf": file})
    assert fetched(tmp_path) == found  # without another download
    assert hub.sent == len(SMALL)


def test_file_that_is_not_as_stated_is_not_used(hub: Hub, tmp_path: Path) -> None:
    hub.damaged = True
    with pytest.raises(ExportError, match=r"org/model/model\.gguf does not have the expected SHA-256, so it is not"):
        fetched(tmp_path)
    assert not list(tmp_path.rglob("*.gguf"))
    assert not list(tmp_path.rglob("*.partial"))
    hub.damaged = False
    assert fetched(tmp_path).path.read_bytes() == SMALL


def test_file_of_another_hash_than_the_recipe_has_is_not_fetched(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="does not have the expected SHA-256"):
        fetched(tmp_path, HubSource("org/model", "main", "model.gguf", "0" * 64))
    assert hub.sent == 0


def test_changed_revision_is_fetched_anew(hub: Hub, tmp_path: Path) -> None:
    first = fetched(tmp_path)
    hub.commit, hub.files["org/model", "model.gguf"] = "1" * 40, b"other"
    second = fetched(tmp_path)
    assert (first.source.revision, second.source.revision) == (COMMIT, "1" * 40)
    assert (first.path.read_bytes(), second.path.read_bytes()) == (SMALL, b"other")
    hub.commit = "2" * 40  # the same file
    assert fetched(tmp_path).path == second.path
    assert hub.sent == len(SMALL) + len(b"other")


def test_known_file_needs_no_hub(hub: Hub, tmp_path: Path) -> None:
    pinned = HubSource("org/model", COMMIT, "model.gguf", SMALL_HASH)
    fetched(tmp_path, pinned)
    hub.files.clear()
    assert fetched(tmp_path, pinned).path.read_bytes() == SMALL


def test_refused_request_is_repeated_when_the_hub_says(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", waits.append)
    hub.refusals = ["7", "86400"]
    assert fetched(tmp_path).path.read_bytes() == SMALL
    waits = [wait for wait in waits if wait > 1]  # other threads sleep, too
    assert waits == [8, fetching.MAX_WAIT + 1]  # the library adds a second


def test_broken_connection_is_resumed(hub: Hub, tmp_path: Path) -> None:
    hub.files["org/model", "model.gguf"], hub.breaks = WEIGHTS, [PIECE + 1]
    assert fetched(tmp_path).path.read_bytes() == WEIGHTS
    assert hub.begun == [0, PIECE]


def test_gated_file_says_what_to_do(hub: Hub, tmp_path: Path) -> None:
    hub.gated = True
    with pytest.raises(fetching.HubUnreachableError, match=r"accept its licence on huggingface\.co"):
        fetched(tmp_path)


def test_file_is_dropped_once_its_model_is_checked(hub: Hub, tmp_path: Path) -> None:
    found = fetched(tmp_path)
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(SMALL)
    fetching.drop(manifest.Source("gguf", "mine.gguf", sha256=SMALL_HASH), tmp_path)
    assert found.path.exists()
    fetching.drop(found.source, tmp_path)
    assert not found.path.exists()
    assert mine.exists()
    assert hub.sent == len(SMALL)


@pytest.mark.slow
def test_first_start_of_a_pair_needs_no_pytorch(hub: Hub, tiny_models: Path, tmp_path: Path) -> None:
    """Run the pair that the window recommends, with tiny models in the place of those that its recipes name."""
    package = shutil.copytree(ROOT / "export" / "headstart_export", tmp_path / "lean" / "headstart_export")
    shutil.copytree(ROOT / "models", package / "recipes")
    (tmp_path / "lean" / "sitecustomize.py").write_text(NO_CONVERTERS, encoding="utf-8")
    hub.files.clear()
    for name, tiny in (("qwen3-4b", "target"), ("qwen3-0.6b", "draft")):
        tiny_gguf.write(tiny_models / f"{tiny}-hf", tmp_path / "tiny.gguf")
        path = package / "recipes" / f"{name}.toml"
        text = re.sub('sha256 = ".*"\n', "", path.read_text(encoding="utf-8"))
        text = re.sub('revision = ".*"', 'revision = "main"', text)
        weights = (tmp_path / "tiny.gguf").read_bytes()
        path.write_text(re.sub("bytes = .*", f"bytes = {len(weights)}", text, count=1), encoding="utf-8")
        source = recipe.find_model(name).sources[0]
        assert isinstance(source, HubSource)
        assert source.file
        hub.files[source.id, source.file] = weights
    size = sum(map(len, hub.files.values()))
    variables = {"HF_ENDPOINT": hub.url, "HF_HUB_CACHE": str(tmp_path / "hub")}
    variables["PYTHONPATH"] = os.pathsep.join((str(tmp_path / "lean"), os.environ.get("PYTHONPATH", "")))

    def headstart(*words: str) -> str:
        """Return what the program says beside its results."""
        command = [sys.executable, "-m", "headstart", *words]
        done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stderr

    said = headstart("run", "qwen3-4b+0.6b", "--prompt", "Hello", "--max-new-tokens", "4")
    assert f"qwen3-4b+0.6b: {megabytes(size)} to download" in said
    assert "and no PyTorch." in said
    assert hub.sent == size
    headstart("models", "check", "qwen3-4b+0.6b")
    assert hub.sent == size
    pair = paths.models_folder() / "qwen3-4b+0.6b"
    for part in (manifest.TARGET_FOLDER, manifest.DRAFT_FOLDER):
        described = manifest.read_model(pair / part)
        assert described.is_checked
        assert (described.source.kind, described.source.revision) == ("hub", COMMIT)
    assert not list(paths.cache_folder().rglob("*.gguf"))


def start(hub: Hub, cache: Path) -> subprocess.Popen[str]:
    variables = {"HF_ENDPOINT": hub.url, "HF_HUB_CACHE": str(cache / "hub")}
    return subprocess.Popen(
        [sys.executable, "-c", FETCH, str(cache)],
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


@pytest.mark.slow
def test_killed_download_is_resumed(hub: Hub, tmp_path: Path) -> None:
    hub.files["org/model", "model.gguf"], hub.is_stuck = WEIGHTS, True
    with start(hub, tmp_path) as first:
        assert first.stdout
        assert first.stdout.readline() == f"{PIECE} {len(WEIGHTS)}\n"
        first.kill()
    hub.is_stuck = False
    with start(hub, tmp_path) as second:
        *_, last, path = second.communicate()[0].splitlines()
    assert (hub.begun, last) == ([0, PIECE], f"{len(WEIGHTS)} {len(WEIGHTS)}")
    assert Path(path).read_bytes() == WEIGHTS
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.slow
def test_damaged_part_is_dropped(hub: Hub, tmp_path: Path) -> None:
    hub.files["org/model", "model.gguf"] = WEIGHTS
    part = fetching.file_path(tmp_path, HASH).with_suffix(".partial")
    part.parent.mkdir(parents=True)
    part.write_bytes(bytes(PIECE))
    assert fetched(tmp_path).path.read_bytes() == WEIGHTS
    assert hub.begun == [PIECE, 0]
