"""A head made for an exported model on this computer: how it learns, and what comes out."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from headstart.engine.engine import Drafter, LoadOptions, Mode, Sampling, Speculation
from headstart.library import manifest
from headstart_export import answers
from headstart_export.heads import features
from tests.conftest import ROOT, USER_ENVIRONMENT
from tests.export.conftest import Exports, Offline, kept_exports
from tests.export.gguf.same_texts import chats_as_without
from tests.export.test_end_to_end import with_layers

THREE = Speculation(Mode.FIXED, 3, drafter=Drafter.HEAD)


def test_training_and_test_texts_are_disjoint() -> None:
    asked, tried = features.prompts(), [prompt for _, prompt in features.trials()]
    assert len(asked) > 1500
    assert len(set(asked)) == len(asked)
    assert not set(tried) & set(asked)
    assert {kind for kind, _ in features.trials()} >= {"code", "explanation", "prose", "translation", "retrieval"}


def test_lessons_cover_tasks_and_subjects() -> None:
    groups = {
        "a": {"tasks": ["x {}", "y {}"], "subjects": ["1", "2", "3", "4"]},
        "b": {"tasks": ["{}"], "subjects": "z"},
    }
    combined = answers.combined(groups)
    assert sorted(combined) == sorted([f"{task} {number}" for task in "xy" for number in range(1, 5)] + ["z"])
    assert "z" in combined[3:6]


@pytest.fixture(scope="module")
def headed(offline: Offline, tiny_source: Path, tmp_path_factory: pytest.TempPathFactory) -> Exports:
    """Exports of a tiny model with as many layers as a head needs, and three runs that make its head.

    The second run is refused. The third writes the head again with what the first learned.
    """
    folder = tmp_path_factory.mktemp("head")

    def runs(_hub: Path, made: Path) -> dict[str, list[str]]:
        source, deep = with_layers(tiny_source, folder / "deep", 10), str(made / "deep")
        wanted = ["--tokens", "2000", "--passes", "1", "--rows", "300", "--neurons", "96", "--hours", "0.5"]
        run = ["head", deep, "--keep", str(folder / "kept"), *wanted]
        again = [*run, "--lean", str(made / "lean"), "--force"]
        return {"deep": [str(source), "--output", deep], "first": run, "refused": run, "again": again}

    sources = ("tests/export/heads/test_head.py", "tests/export/test_end_to_end.py")
    return kept_exports("head", offline, runs, {"refused"}, *sources)


@pytest.fixture(scope="module")
def deep(headed: Exports) -> Path:
    """The model with its head."""
    return headed.folder / "deep"


@pytest.mark.slow
def test_head_training_can_be_resumed(deep: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.export.heads.head_lessons", str(deep), str(tmp_path)]
    environment = {**USER_ENVIRONMENT, "HF_HUB_OFFLINE": "1", "HEADSTART_HOME": str(tmp_path / "home")}
    done = subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    before, after = found["losses"]
    assert after < 0.97 * before
    assert found["marks"][0] == found["marks"][1]
    assert found["resumed differs"] < 1e-4
    learned, runs, lean = np.array(found["chains"])
    assert np.abs(learned[0] - learned[1]).max() > 0.1  # each place of the chain is another
    np.testing.assert_allclose(learned, runs, atol=0.05 * np.abs(learned).max())
    np.testing.assert_allclose(runs, lean, atol=0.02 * np.abs(learned).max())


@pytest.mark.slow
def test_trained_head_is_stored_with_its_learning_curve(headed: Exports, deep: Path) -> None:
    _, first, refused, again = headed.outcomes.values()
    assert first.code == 0, first.err
    assert " of disk in " in first.err.splitlines()[0]
    assert "The model takes the head's first guess: code " in first.err.splitlines()[-1]
    assert refused.code == 1
    assert "--force" in refused.err
    assert again.code == 0, again.err
    target = manifest.read_model(deep)
    assert manifest.head_folder(deep) == deep / "head"
    assert {name for name in target.files if name.startswith("head/")} >= {"head/openvino_model.bin"}
    assert manifest.damaged_files(deep, target, hashes=True) == []
    made = manifest.read_model(deep / "head")
    assert (made.is_hydra, made.role, made.logit_rows, made.precision.weights) == (True, "draft", 300, "int8")
    assert made.name == f"{target.name}-head"
    assert made.tokenizer == target.tokenizer
    assert manifest.damaged_files(deep / "head", made, hashes=True) == []
    learned = made.learned
    assert learned is not None
    assert (learned.layers, learned.tokens > 2000) == ((2, 5, 7), True)
    assert learned.curve[-1].tokens == learned.tokens  # nothing was learned anew
    assert set(learned.compressed) == {kind for kind, _ in features.trials()}
    lean = (deep.parent / "lean" / "head.safetensors").stat().st_size
    assert lean < (deep / "head" / "openvino_model.bin").stat().st_size


@pytest.mark.slow
@pytest.mark.parametrize("speculation", [Speculation(), Speculation(drafter=Drafter.HEAD), THREE])
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.9, top_p=0.95, seed=7)])
def test_trained_head_drafts_and_changes_no_text(
    deep: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    speculation: Speculation,
    sampling: Sampling,
) -> None:
    monkeypatch.setenv("HEADSTART_HOME", str(tmp_path))
    for stats in chats_as_without(LoadOptions(deep), sampling, speculation):
        if speculation == THREE:
            assert stats.drafted > stats.rounds


@pytest.mark.slow
def test_model_with_few_layers_is_refused(offline: Offline, tiny_target: Path) -> None:
    (outcome,) = offline.export(["head", str(tiny_target)])
    assert outcome.code == 1
    assert "too few for a head" in outcome.err.splitlines()[-1]
