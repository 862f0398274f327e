"""A model of the hub's newest revision, exported for real: what is written down, and how its commit is held to that."""

import dataclasses
import hashlib
import shutil
from pathlib import Path

import pytest

from headstart import manifest
from tests.export.conftest import Offline, Outcome
from tests.model_folders import write_model

COMMIT = "c0ffee" * 6 + "c0ff"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pinning")


@pytest.fixture(scope="module")
def hub(offline: Offline, tiny_source: Path, folder: Path) -> Offline:
    """What the hub's library fetched once, in its own cache: org/tiny, whose branch main is at a commit."""
    repository = folder / "hub" / "models--org--tiny"
    shutil.copytree(tiny_source, repository / "snapshots" / COMMIT)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT, encoding="utf-8")
    return Offline({**offline.environment, "HF_HUB_CACHE": str(folder / "hub")})


@pytest.fixture(scope="module")
def outcomes(hub: Offline, folder: Path) -> list[Outcome]:
    """Of the newest revision, and of its commit where another content had it before."""
    other = write_model(folder / "other")
    source = manifest.Source("hub", "org/tiny", COMMIT, files={"config.json": manifest.File("0" * 64, 1)})
    manifest.write(other, dataclasses.replace(manifest.read_model(other), source=source))
    return hub.export(
        ["org/tiny", "--json", "--output", str(folder / "first")],
        ["org/tiny", "--revision", COMMIT, "--force", "--output", str(other)],
    )


def test_the_manifest_has_the_commit_and_the_hash_of_every_file(outcomes: list[Outcome], tiny_source: Path) -> None:
    assert outcomes[0].code == 0, outcomes[0].err
    source = outcomes[0].result["manifest"]["source"]
    assert (source["kind"], source["id"], source["revision"]) == ("hub", "org/tiny", COMMIT)
    assert {name: file["sha256"] for name, file in source["files"].items()} == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in tiny_source.iterdir()
    }


def test_that_it_is_not_pinned_is_said_in_a_line(outcomes: list[Outcome]) -> None:
    (told,) = [line for line in outcomes[0].err.splitlines() if "not pinned" in line]
    assert f"main of org/tiny is commit {COMMIT} today" in told
    assert "not pinned" not in outcomes[1].err


def test_another_content_under_a_known_commit_is_refused_and_what_was_there_stays(
    outcomes: list[Outcome], folder: Path
) -> None:
    assert outcomes[1].code == 1
    assert f"config.json of org/tiny is not the file that commit {COMMIT} had when it was exported" in outcomes[1].err
    assert manifest.read_model(folder / "other").architecture == "TestForCausalLM"
