"""Answers that are written together are those that a model writes alone, and what is counted of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.engine.hardware.runtime import openvino
from headstart.engine.runners import precision
from headstart.engine.runners.paged import PagedRunner
from headstart.library import manifest
from headstart_export import answers
from headstart_export.checks import quality
from headstart_export.conversion.convert import MODEL_FILE
from headstart_export.heads import features

ASKED = ["Hello there", "A", "Count the words of this sentence, please, and say them again", "Hello you", "42"]


@pytest.fixture(scope="module")
def session(tiny_target: Path) -> Any:
    """The model alone, in f32."""
    return openvino().Core().compile_model(tiny_target / MODEL_FILE, "CPU", quality.SETTINGS).create_infer_request()


class Refused:
    """A paged runner that refuses the model."""

    @classmethod
    def load(cls, *_given: object, **_named: object) -> None:
        raise RuntimeError


@pytest.mark.parametrize(("runner", "at_once"), [(PagedRunner, 54), (PagedRunner, 2), (Refused, 54)])
def test_batched_greedy_answers_are_the_likeliest(
    tiny_target: Path, session: Any, monkeypatch: pytest.MonkeyPatch, runner: type, at_once: int
) -> None:
    monkeypatch.setattr(answers, "PagedRunner", runner)
    monkeypatch.setattr(answers, "AT_ONCE", at_once)
    written = answers.write(str(tiny_target), ASKED, tokens=24, temperature=0.0)
    assert len({tuple(prompt) for prompt, _ in written}) == len(ASKED)
    for prompt, answer in written:
        assert 0 < len(answer) <= 24
        session.reset_state()
        logits = quality.read(session, prompt + answer)[len(prompt) - 1 : -1]
        missed = logits.max(axis=1) - logits[np.arange(len(answer)), answer]
        assert missed.max() < 0.1  # they are rounded otherwise


def test_hidden_states_of_writing_equal_those_of_reading(tiny_target: Path, tmp_path: Path) -> None:
    files, layers = [str(tmp_path / name) for name in ("written.npy", "read.npy")], [0, 1]
    texts = answers.write(str(tiny_target), ASKED, 12, temperature=1.0, states=(files[0], layers))
    features.read(str(tiny_target), layers, [prompt + answer for prompt, answer in texts], files[1])
    written, read = (np.load(file).astype(np.float32) for file in files)
    assert len(read) == sum(len(prompt) + len(answer) for prompt, answer in texts)
    np.testing.assert_allclose(written, read, atol=0.05 * read.std())  # they are rounded otherwise


@pytest.mark.parametrize("group", [None, 128])
def test_hidden_states_use_the_activation_groups_of_the_app(
    tiny_target: Path, tmp_path: Path, group: int | None
) -> None:
    described = manifest.read_model(tiny_target)
    manifest.write(tmp_path, replace(described, precision=replace(described.precision, activation_group=group)))
    hint = f"f32, groups of {group}" if group else "f32"
    assert answers.settings_of(tmp_path) == precision.properties(hint)


def test_compressed_models_use_the_kernels_of_the_app(tiny_quantized: Path) -> None:
    assert answers.settings_of(tiny_quantized) == precision.properties(precision.OWN)
    first, again = (answers.write(str(tiny_quantized), ASKED, 12, temperature=1.0) for _ in range(2))
    assert first == again
    assert all(answer for _, answer in first)


def test_answer_depends_on_its_seed_alone(tiny_target: Path) -> None:
    first, second = (answers.write(str(tiny_target), ASKED, 8, temperature=5.0, seed=seed) for seed in (1, 2))
    assert first == answers.write(str(tiny_target), ASKED, 8, temperature=5.0, seed=1)
    assert all(one[0] == other[0] for one, other in zip(first, second, strict=True))
    assert first != second


def test_written_tokens_are_counted_with_progress(
    tiny_target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "more_prompts", lambda: ASKED)
    told: list[tuple[int, int]] = []
    texts = answers.written(tiny_target, 1, tmp_path / "counts.npy", lambda *how: told.append(how))
    asked = len(answers.prompts())
    assert len(texts) == asked + len(ASKED)  # of which those that are like each other are not counted
    counts = np.load(tmp_path / "counts.npy")
    expected = np.bincount([token for _, answer in texts[:asked] for token in answer], minlength=counts.shape[1])
    assert counts[0].tolist() == expected.tolist()
    assert counts[1].sum() == pytest.approx(expected.sum())
    assert (counts[1] > 0).mean() > (counts[0] > 0).mean()  # what might have been written names more
    assert told == sorted(told)
    assert told[-1][0] <= told[-1][1]
    assert len(answers.written(tiny_target, 1, tmp_path / "few.npy", lambda *_: None, only_few=True)) == asked
