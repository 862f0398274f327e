"""A draft trained for a model that has none: what the words mean, how it learns, and what comes out."""

import json
from pathlib import Path
from typing import Any

import pytest

from headstart import manifest
from headstart.errors import ExportError, NotEnoughSpaceError
from headstart_export import cli, distillation, order, room
from tests.export import lessons
from tests.export.conftest import Offline, Outcome
from tests.export.test_end_to_end import with_layers
from tests.export.test_room import GIB, give


@pytest.fixture(scope="module")
def deep(tiny_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with six layers."""
    return with_layers(tiny_models / "target-hf", tmp_path_factory.mktemp("deep") / "deep", 6)


def plan(*words: str) -> order.Plan:
    """What the command makes of its words."""
    return order.understand_distil(order.distil_parser().parse_args([*words]))


def test_the_words_name_a_pair() -> None:
    made = plan("org/Big", "--layers", "9", "--weights", "int4", "--revision", "v1", "--seed", "3")
    assert (made.order.name, made.order.draft.name, made.layers) == ("big+distil9", "big-distil9", 9)
    assert (made.order.target.weights, made.order.draft.weights, made.seed) == ("int4", "int8", 3)
    assert made.order.draft.recipe.sources == made.order.target.recipe.sources
    assert plan("org/Big").order.name == "big+distil"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["qwen2.5-coder"], "qwen2.5-coder is the recipe of a pair, which has a draft; name one of its models."),
        (["no such thing"], "'no such thing' is no recipe, no folder"),
    ],
)
def test_a_refusal_is_one_sentence(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["distil", *words]) == 1
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err.startswith(f"headstart-export: {sentence}")
    assert len(caught.err.splitlines()) == 1


@pytest.mark.parametrize(
    "words", [["--layers", "0"], ["--texts", "-3"], ["--passes", "1.5"], ["--rate", "0"], ["--rate", "nan"]]
)
def test_numbers_that_mean_nothing_are_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["distil", "org/model", *words])
    assert caught.value.code == 2
    assert "above 0" in capsys.readouterr().err


def test_training_asks_for_memory_first(monkeypatch: pytest.MonkeyPatch) -> None:
    target = order.understand(order.Words("qwen2.5-coder-1.5b-instruct"))
    assert isinstance(target, order.ModelOrder)
    give(monkeypatch, disk=100 * GIB, memory=8 * GIB)
    with pytest.raises(
        NotEnoughSpaceError, match=r"and training a draft needs about 22\.\d GB of memory, but only 8\.6"
    ):
        room.require_training(target, 1_777_088_000)


def test_acceptance_counts_guesses_and_rounds() -> None:
    texts = [([1], [5, 6, 7, 8, 9, 10, 11]), ([2], [3, 4])]
    # The first: four hold and a fifth token comes with them, then one is missed, one holds and ends the text.
    found = distillation.measure(texts, [[5, 6, 7, 8, 9, 0, 11], [0, 4]])
    assert (found.rate, found.places) == (7 / 9, 9)
    assert found.tokens_per_round == 9 / 5
    assert distillation.measure(texts, [answer for _, answer in texts]).tokens_per_round == 9 / 3
    assert distillation.measure(texts, [[0] * 7, [0] * 2]) == manifest.Acceptance(0.0, 1.0, 9)


def test_a_finished_folder_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"^The draft cannot be tried \(.*\); nothing was kept\.$"):
        distillation.of_model(tmp_path, [([1], [2])])


@pytest.fixture(scope="module")
def learned(offline: Offline, deep: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What `lessons.py` found."""
    process = offline.start("-m", "tests.export.lessons", str(deep), str(tmp_path_factory.mktemp("lessons")))
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def test_the_copy_comes_closer_to_its_target(learned: Any) -> None:
    whole, _, _ = learned["losses"]
    assert len(whole) == learned["steps"] == 4 * 3
    assert sum(whole[-3:]) < 0.8 * sum(whole[:3])
    assert learned["places"] == [16] * 10


def test_only_its_layers_learn(learned: Any) -> None:
    changed = {name for name, size in learned["changed"].items() if size}
    assert changed == {name for name in learned["changed"] if ".layers." in name}
    assert len({name.split(".")[2] for name in changed}) == len(lessons.KEPT)
    assert learned["target changed"] == 0


def test_a_stopped_training_goes_on_as_if_nothing_had_been(learned: Any) -> None:
    whole, resumed, _ = learned["losses"]
    assert resumed == pytest.approx(whole, rel=1e-4)
    assert learned["resumed differs"] < 1e-4 < learned["other seed differs"]


def test_a_damaged_state_is_no_state(learned: Any) -> None:
    whole, _, anew = learned["losses"]
    assert anew == pytest.approx(whole, rel=1e-4)


def test_numbers_that_run_away_are_a_sentence(learned: Any) -> None:
    assert learned["astray"] == "The training went astray at step 1; try again with a smaller --rate."


@pytest.fixture(scope="module")
def runs(offline: Offline, deep: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Outcome]]:
    """The output of a small run, that run, and one that asks for too many layers."""
    output = tmp_path_factory.mktemp("pairs") / "pair"
    words = ["distil", str(deep), "--json", "--output"]
    small = ["--layers", "2", "--texts", "100", "--tokens", "6", "--passes", "1", "--draft-weights", "fp16"]
    return output, offline.export([*words, str(output), *small], [*words, f"{output}9", "--layers", "6"])


def test_what_comes_out_is_a_pair_with_figures(runs: tuple[Path, list[Outcome]], offline: Offline) -> None:
    output, (done, _) = runs
    assert done.code == 0, done.err
    result = done.result
    assert result["manifest"] == json.loads((output / "manifest.json").read_text(encoding="utf-8"))
    pair, draft = manifest.read(output), manifest.read_model(output / "draft")
    assert isinstance(pair, manifest.PairManifest)
    assert (pair.name, pair.shared_ids) == ("deep+distil2", 600)
    assert (draft.name, draft.role, draft.precision.weights) == ("deep-distil2", "draft", "fp16")
    assert draft.self_draft is not None
    assert (draft.self_draft.dropped, draft.self_draft.layers) == ((1, 2, 3, 4), 2)
    found = draft.self_draft.training
    assert found is not None
    assert (found.texts, found.passes, found.rate, found.seed) == (100, 1, 1e-3, 0)
    assert found.tokens <= 600
    assert found.last_loss < found.first_loss
    assert found.compressed is not None
    assert found.after.rate == pytest.approx(found.compressed.rate, abs=0.05)
    assert found.before.places == found.after.places == found.compressed.places
    assert result["training"]["after"]["rate"] == found.after.rate
    assert manifest.damaged_files(output / "draft", draft, hashes=True) == []
    said = done.err
    for words in (
        "Having the target write 100 texts",
        "Before training the target takes",
        "a round of 4",
    ):
        assert words in said
    cache = Path(offline.environment["HEADSTART_HOME"]) / "cache" / "distil"
    assert cache.is_dir()
    assert list(cache.iterdir()) == []  # nothing is kept of what is done


def test_too_many_layers_are_refused_before_any_work(runs: tuple[Path, list[Outcome]]) -> None:
    output, (_, refused) = runs
    assert refused.code == 1
    said = "deep has 6 layers, and its first and its last must stay: a copy can have 2 to 5 of them, not 6."
    assert refused.err.splitlines()[-1] == f"headstart-export: {said}"
    assert "Loading" not in refused.err
    assert [path.name for path in output.parent.iterdir()] == ["pair"]
