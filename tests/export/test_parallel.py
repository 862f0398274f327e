"""A draft that learned to guess several tokens in one pass: what it learns, and the pair that has it."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from headstart import manifest
from headstart.engine.engine import Drafter, LoadOptions, Mode, Sampling, Speculation
from tests.conftest import ROOT, USER_ENVIRONMENT
from tests.export.conftest import Offline, Outcome
from tests.export.same_texts import chats_as_without
from tests.export.test_end_to_end import with_layers

FIVE = Speculation(Mode.FIXED, 5, drafter=Drafter.DRAFT)


@pytest.mark.slow
def test_a_pair_expects_behind_its_masks_what_its_draft_learned(tiny_source: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.export.parallel_lessons", str(tiny_source), str(tmp_path)]
    environment = {**USER_ENVIRONMENT, "HF_HUB_OFFLINE": "1", "HEADSTART_HOME": str(tmp_path / "home")}
    done = subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    student, merged = np.array(found["student"]), np.array(found["merged"])
    assert np.abs(student[0] - student[1]).max() > 0.1  # each place of the chain is another
    np.testing.assert_allclose(student, merged, atol=0.02 * np.abs(student).max())
    assert found["masks"] == [638, 639]
    assert found["places"] == 3
    before, after = found["losses"]
    assert after < 0.7 * before


@pytest.fixture(scope="module")
def taught(offline: Offline, tiny_source: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Outcome]]:
    """A folder, and what was said when a pair was exported, taught, and exported again with what was learned."""
    folder = tmp_path_factory.mktemp("parallel")
    deep = with_layers(tiny_source, folder / "deep", 10)
    draft, lesson = ["--draft", str(tiny_source)], str(folder / "lesson")
    pair = [str(deep), *draft]
    learned = ["--tokens", "1000", "--rank", "4", "--hours", "0.5", "--keep", str(folder / "kept")]
    teach = ["parallel", str(folder / "pair"), *draft, "--output", lesson, *learned]
    again = [*pair, "--parallel", lesson, "--output", str(folder / "taught")]
    verify = ["verify", str(folder / "taught"), "--against", *pair]
    runs = [[*pair, "--output", str(folder / "pair")], teach, teach, again, verify]
    return folder, offline.export(*runs, [*verify, "--parallel", lesson])


@pytest.mark.slow
def test_a_pair_is_exported_with_what_its_draft_learned(taught: tuple[Path, list[Outcome]]) -> None:
    folder, (first, learned, refused, again, unlike, proven) = taught
    assert [each.code for each in (first, learned, again, proven)] == [0] * 4, learned.err + again.err + proven.err
    assert learned.out.strip() == str(folder / "lesson")
    assert f"headstart-export pair --parallel {folder / 'lesson'}" in learned.err.splitlines()[-1]
    curve = json.loads((folder / "lesson" / "curve.json").read_text(encoding="utf-8"))
    assert curve[-1]["tokens"] >= 1000
    assert all(len(rates) == 3 for rates in curve[-1]["acceptance"].values())
    assert (refused.code, unlike.code) == (1, 1)
    assert "choose another --output" in refused.err
    assert "was exported with --parallel; verify it with that, too." in unlike.err
    assert manifest.read_model(folder / "pair" / "draft").masks == ()
    assert manifest.read_model(folder / "taught" / "draft").masks == (638, 639)


@pytest.mark.slow
@pytest.mark.parametrize("speculation", [Speculation(), Speculation(drafter=Drafter.DRAFT), FIVE])
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.9, top_p=0.95, seed=7)])
def test_no_text_depends_on_what_the_draft_learned(
    taught: tuple[Path, list[Outcome]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    speculation: Speculation,
    sampling: Sampling,
) -> None:
    monkeypatch.setenv("HEADSTART_HOME", str(tmp_path))
    pair = taught[0] / "taught"
    for stats in chats_as_without(LoadOptions(pair / "target", pair / "draft"), sampling, speculation):
        if speculation == FIVE:
            assert stats.drafted > 2 * stats.rounds


@pytest.mark.slow
def test_a_model_without_a_draft_has_none_to_teach(offline: Offline, tiny_target: Path, tmp_path: Path) -> None:
    (outcome,) = offline.export(["parallel", str(tiny_target), "--output", str(tmp_path / "lesson")])
    assert outcome.code == 1
    assert "is no pair, so it has no draft" in outcome.err.splitlines()[-1]
