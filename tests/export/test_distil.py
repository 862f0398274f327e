"""A draft trained for a model that has none: how it learns, and what comes out."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headstart import manifest
from headstart_export import distillation
from tests.conftest import ROOT, USER_ENVIRONMENT
from tests.export import lessons
from tests.export.test_end_to_end import with_layers

SMALL = ("--layers", "2", "--texts", "100", "--tokens", "6", "--passes", "1", "--draft-weights", "fp16")


def test_acceptance_counts_guesses_and_rounds() -> None:
    texts = [([1], [5, 6, 7, 8, 9, 10, 11]), ([2], [3, 4])]
    # The first: four hold and a fifth token comes with them, then one is missed, one holds and ends the text.
    found = distillation.measure(texts, [[5, 6, 7, 8, 9, 0, 11], [0, 4]])
    assert (found.rate, found.places) == (7 / 9, 9)
    assert found.tokens_per_round == 9 / 5
    assert distillation.measure(texts, [answer for _, answer in texts]).tokens_per_round == 9 / 3
    assert distillation.measure(texts, [[0] * 7, [0] * 2]) == manifest.Acceptance(0.0, 1.0, 9)


@pytest.fixture(scope="module")
def deep(tiny_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with six layers."""
    return with_layers(tiny_models / "target-hf", tmp_path_factory.mktemp("deep") / "deep", 6)


def _run(*command: str, home: Path) -> str:
    environment = {**USER_ENVIRONMENT, "HF_HUB_OFFLINE": "1", "HEADSTART_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, *command], check=False, cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.slow
def test_its_layers_learn_and_a_stopped_training_goes_on_as_if_nothing_had_been(deep: Path, tmp_path: Path) -> None:
    learned: dict[str, Any] = json.loads(_run("-m", "tests.export.lessons", str(deep), str(tmp_path), home=tmp_path))
    whole, resumed = learned["losses"]
    assert len(whole) == 4 * 3
    assert sum(whole[-3:]) < 0.8 * sum(whole[:3])
    assert resumed == pytest.approx(whole, rel=1e-4)
    assert learned["resumed differs"] < 1e-4
    changed = {name for name, size in learned["changed"].items() if size}
    assert changed == {name for name in learned["changed"] if ".layers." in name}
    assert len({name.split(".")[2] for name in changed}) == len(lessons.KEPT)
    assert learned["target changed"] == 0


@pytest.mark.slow
def test_what_comes_out_is_a_pair_with_figures(deep: Path, tmp_path: Path) -> None:
    output = tmp_path / "pair"
    _run("-m", "headstart_export", "distil", str(deep), "--output", str(output), *SMALL, home=tmp_path / "home")
    pair, draft = manifest.read(output), manifest.read_model(output / "draft")
    assert isinstance(pair, manifest.PairManifest)
    assert (pair.name, draft.name, draft.precision.weights) == ("deep+distil2", "deep-distil2", "fp16")
    assert draft.self_draft is not None
    assert (draft.self_draft.dropped, draft.self_draft.layers) == ((1, 2, 3, 4), 2)
    found = draft.self_draft.training
    assert found is not None
    assert found.last_loss < found.first_loss
    assert found.compressed is not None
    assert found.after.rate == pytest.approx(found.compressed.rate, abs=0.05)
    assert manifest.damaged_files(output / "draft", draft, hashes=True) == []
    assert list((tmp_path / "home" / "cache" / "distil").iterdir()) == []  # nothing is kept of what is done


@pytest.mark.parametrize("words", [("--texts", "0"), ("--rate", "0"), ("--rate", "nan")])
def test_numbers_that_teach_nothing_are_refused(words: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        distillation.parser().parse_args(["model", *words])
    assert "must be" in capsys.readouterr().err
