"""A head made for an exported model on this computer: how it learns, and what comes out."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from headstart import manifest
from headstart_export import answers, features
from tests.conftest import ROOT, USER_ENVIRONMENT
from tests.export.conftest import Offline
from tests.export.test_end_to_end import with_layers


def test_nothing_is_tried_that_is_learned_from() -> None:
    asked, tried = features.prompts(), [prompt for _, prompt in features.trials()]
    assert len(asked) > 1500
    assert len(set(asked)) == len(asked)
    assert not set(tried) & set(asked)
    assert {kind for kind, _ in features.trials()} >= {"code", "explanation", "prose", "translation", "retrieval"}


def test_each_task_meets_each_subject_and_all_kinds_come_early() -> None:
    groups = {
        "a": {"tasks": ["x {}", "y {}"], "subjects": ["1", "2", "3", "4"]},
        "b": {"tasks": ["{}"], "subjects": "z"},
    }
    combined = answers.combined(groups)
    assert sorted(combined) == sorted([f"{task} {number}" for task in "xy" for number in range(1, 5)] + ["z"])
    assert "z" in combined[3:6]


@pytest.fixture(scope="module")
def deep(offline: Offline, tiny_source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported tiny model with as many layers as a head needs."""
    folder = tmp_path_factory.mktemp("deep")
    source = with_layers(tiny_source, folder / "deep", 10)
    (outcome,) = offline.export([str(source), "--output", str(folder / "made")])
    assert outcome.code == 0, outcome.err
    return folder / "made"


@pytest.mark.slow
def test_a_head_learns_computes_as_others_read_it_and_goes_on_after_a_stop(deep: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.export.head_lessons", str(deep), str(tmp_path)]
    environment = {**USER_ENVIRONMENT, "HF_HUB_OFFLINE": "1", "HEADSTART_HOME": str(tmp_path / "home")}
    done = subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    before, after = found["losses"]
    assert after < 0.97 * before
    assert found["marks"][0] == found["marks"][1]
    assert found["resumed differs"] < 1e-4
    ours, theirs, in_8_bits = np.array(found["chains"])
    assert np.abs(ours[0] - ours[1]).max() > 0.1  # each place of the chain is another
    np.testing.assert_allclose(ours, theirs, atol=0.05 * np.abs(theirs).max())
    np.testing.assert_allclose(ours, in_8_bits, atol=0.1 * np.abs(theirs).max())


@pytest.mark.slow
def test_what_comes_out_is_a_draft_with_its_learning_curve(offline: Offline, deep: Path, tmp_path: Path) -> None:
    wanted = ["--tokens", "2000", "--passes", "1", "--rows", "300", "--neurons", "96", "--hours", "0.5"]
    run = ["head", str(deep), "--output", str(tmp_path / "head"), "--keep", str(tmp_path / "kept"), *wanted]
    pair = [str(deep.parent / "deep"), "--draft", str(tmp_path / "lean"), "--output", str(tmp_path / "pair")]
    own = ["head", str(deep), "--keep", str(tmp_path / "kept"), *wanted]
    runs = [[*run, "--lean", str(tmp_path / "lean")], [*run, "--force"], pair, own, [*own, "--force"]]
    first, again, paired, part, anew = offline.export(*runs)
    assert first.code == 0, first.err
    assert " of disk in " in first.err.splitlines()[0]
    assert "The model takes the head's first guess: code " in first.err.splitlines()[-1]
    made = manifest.read_model(tmp_path / "head")
    assert (made.is_eagle, made.role, made.logit_rows, made.precision.weights) == (True, "draft", 300, "int8")
    assert made.name == f"{manifest.read_model(deep).name}-head"
    assert made.tokenizer == manifest.read_model(deep).tokenizer
    learned = made.learned
    assert learned is not None
    assert (learned.layers, learned.tokens > 2000) == ((2, 5, 7), True)
    assert learned.curve[-1].tokens >= learned.tokens
    assert set(learned.compressed) == {kind for kind, _ in features.trials()}
    assert manifest.damaged_files(tmp_path / "head", made, hashes=True) == []
    assert again.code == 0, again.err
    relearned = manifest.read_model(tmp_path / "head").learned
    assert relearned is not None
    assert relearned.curve == learned.curve  # nothing was learned anew
    assert paired.code == 0, paired.err
    kept = (tmp_path / "lean" / "model.safetensors").stat().st_size
    assert kept < 0.4 * (tmp_path / "kept" / "hub" / "model.safetensors").stat().st_size
    assert manifest.read_model(tmp_path / "pair" / "draft").is_eagle
    assert part.code == 0, part.err
    assert anew.code == 0, anew.err
    assert manifest.head_folder(deep) == deep / "head"
    target = manifest.read_model(deep)
    assert {name for name in target.files if name.startswith("head/")} >= {"head/openvino_model.bin"}
    assert manifest.damaged_files(deep, target, hashes=True) == []


@pytest.mark.slow
def test_a_model_with_few_layers_is_refused(offline: Offline, tiny_target: Path, tmp_path: Path) -> None:
    (outcome,) = offline.export(["head", str(tiny_target), "--output", str(tmp_path / "head")])
    assert outcome.code == 1
    assert "too few for a head" in outcome.err.splitlines()[-1]
