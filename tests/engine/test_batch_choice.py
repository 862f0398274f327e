"""Who answers a batch: figures, thresholds, and what GenAI's batches do not do as we do."""

import pytest

from headstart.engine.batch_choice import (
    BatchEngine,
    BatchFigures,
    asked,
    choose,
    figures_as_json,
    figures_from_json,
    obstacle,
)
from headstart.engine.engine import Message, Mode, Request, Sampling, Speculation
from headstart.errors import SettingsError

FIGURES = BatchFigures(own=20.0, genai={1: 12.0, 2: 19.0, 4: 30.0, 8: 50.0, 16: 48.0})
HELLO = (Message("user", "Hello"),)


def test_batches_win_from_the_least_size_above_which_they_always_do() -> None:
    assert FIGURES.wins_from == 4
    assert BatchFigures(10.0, {1: 11.0, 2: 9.0, 4: 12.0}).wins_from == 4
    assert BatchFigures(10.0, {1: 11.0, 2: 12.0}).wins_from == 1
    assert BatchFigures(60.0, FIGURES.genai).wins_from is None


@pytest.mark.parametrize(("most", "best"), [(1, 1), (7, 4), (8, 8), (100, 8)])
def test_the_best_size_is_the_fastest_that_prompts_fill(most: int, best: int) -> None:
    assert FIGURES.best_size(most) == best


@pytest.mark.parametrize(
    ("prompts", "size", "engine", "chosen"),
    [
        (3, None, BatchEngine.OWN, 1),
        (4, None, BatchEngine.GENAI, 4),
        (100, None, BatchEngine.GENAI, 8),
        (100, 6, BatchEngine.GENAI, 6),
        (100, 2, BatchEngine.OWN, 1),
        (3, 16, BatchEngine.OWN, 1),
    ],
)
def test_auto_takes_whoever_was_faster(prompts: int, size: int | None, engine: BatchEngine, chosen: int) -> None:
    choice = choose(FIGURES, prompts, size)
    assert (choice.engine, choice.size) == (engine, chosen)


def test_the_choice_says_why() -> None:
    assert choose(FIGURES, 100, None).reason == "measured here, OpenVINO GenAI is 2.5x as fast in batches"
    assert choose(FIGURES, 2, None).reason == "measured here, OpenVINO GenAI is faster from 4 at once only"
    assert choose(BatchFigures(60.0, FIGURES.genai), 100, None).reason.endswith("is faster at no number at once")


@pytest.mark.parametrize(
    ("prompts", "size", "engine", "chosen"),
    [
        (7, None, BatchEngine.OWN, 1),
        (8, None, BatchEngine.GENAI, 8),
        (100, 16, BatchEngine.GENAI, 16),
        (100, 4, BatchEngine.OWN, 1),
        (4, 16, BatchEngine.OWN, 1),
    ],
)
def test_without_figures_many_go_in_batches_and_the_reason_says_how_to_measure(
    prompts: int, size: int | None, engine: BatchEngine, chosen: int
) -> None:
    choice = choose(None, prompts, size)
    assert (choice.engine, choice.size) == (engine, chosen)
    assert "not measured here (`headstart bench batch` does)" in choice.reason


def test_a_named_engine_is_taken() -> None:
    assert asked(BatchEngine.GENAI, 3, FIGURES, 100).size == 3
    assert asked(BatchEngine.GENAI, None, FIGURES, 100).size == 8
    assert asked(BatchEngine.GENAI, None, None, 100).size == 8
    with pytest.raises(SettingsError, match="one after another"):
        asked(BatchEngine.OWN, 4, None, 100)


@pytest.mark.parametrize(
    ("request_", "seeded", "words"),
    [
        (Request(HELLO), True, None),
        (Request(HELLO, speculation=Speculation(Mode.OFF)), False, None),
        (Request(HELLO, sampling=Sampling(temperature=0.8, top_p=0.9)), False, None),
        (Request(HELLO, sampling=Sampling(temperature=0.8, top_k=20)), False, None),
        (Request(HELLO, sampling=Sampling(temperature=0.8)), True, "a seed"),
        (Request(HELLO, sampling=Sampling(temperature=0.8, min_p=0.1)), False, "min-p"),
        (Request(HELLO, sampling=Sampling(temperature=1, top_k=5, top_p=0.5)), False, "top-k together with top-p"),
        (Request(HELLO, sampling=Sampling(presence_penalty=0.5)), False, "penalties"),
        (Request(HELLO, speculation=Speculation(acceptance_threshold=0.5)), False, "speculation of their own"),
    ],
)
def test_what_batches_do_otherwise_is_named(request_: Request, seeded: bool, words: str | None) -> None:
    assert obstacle(request_, seeded=seeded) == words


@pytest.mark.parametrize("data", [None, [], {}, {"own": 1}, {"own": "x", "genai": {"1": 2}}, {"own": 1, "genai": {}}])
def test_what_is_no_figure_counts_as_not_measured(data: object) -> None:
    assert figures_from_json(data) is None


def test_figures_survive_their_file() -> None:
    assert figures_from_json(figures_as_json(FIGURES)) == FIGURES
