"""Quality: its arithmetic, models that compute otherwise in steps or after guesses, and groups of activations."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from headstart.engine.hardware.runtime import openvino
from headstart.errors import ExportError
from headstart_export.checks import quality
from headstart_export.checks.quality import Logits
from headstart_export.conversion.convert import MODEL_FILE

Damage = Callable[[Any, Any], None]  # to a model; openvino's operations as the second


def keep_less(model: Any, operations: Any) -> None:
    """Make the first layer keep keys of nine tenths of their size."""
    kept = next(sink for sink in model.get_sinks() if sink.get_type_name() == "Assign")
    smaller = operations.multiply(kept.input_value(0), operations.constant(np.float32(0.9)))
    kept.input(0).replace_source_output(smaller.output(0))


def keep_one_place_late(model: Any, operations: Any) -> None:
    """Make every pass number its places from 0."""
    places = model.input("position_ids")
    readers = list(places.get_target_inputs())
    first = operations.gather(places, operations.constant(np.array([0])), operations.constant(np.int64(1)))
    begun = operations.subtract(places, first)
    for reader in readers:
        reader.replace_source_output(begun.output(0))


def forget_nothing(model: Any, operations: Any) -> None:
    """Count masked rows, too."""
    mask = model.input("attention_mask")
    readers = list(mask.get_target_inputs())
    ones = operations.maximum(mask, operations.constant(np.int64(1)))
    for reader in readers:
        reader.replace_source_output(ones.output(0))


def nothing(_model: Any, _operations: Any) -> None:
    """Change nothing."""


@pytest.fixture
def answer(tiny_target: Path, tmp_path: Path) -> Callable[[Damage], quality.QualityReport]:
    """Measure the tiny model with some damage; the source's logits are its own for the whole text."""
    from openvino import opset15  # noqa: PLC0415

    def run(damage: Damage) -> quality.QualityReport:
        model = openvino().Core().read_model(tiny_target / MODEL_FILE)
        damage(model, opset15)
        openvino().save_model(model, tmp_path / MODEL_FILE, compress_to_fp16=False)
        ids = Tokenizer.from_file(str(tiny_target / "tokenizer.json")).encode(quality.TEXT_FILE.read_text("utf-8")).ids
        session = openvino().Core().compile_model(model, "CPU", quality.SETTINGS).create_infer_request()
        reference = tmp_path / "reference.npy"
        np.save(reference, quality.read(session, ids[:200]))
        return quality.run(tmp_path, reference, ids[:200])

    return run


def test_sound_model_passes(answer: Callable[[Damage], quality.QualityReport]) -> None:
    found = answer(nothing)
    assert found.quality is not None
    assert found.quality.top1_agreement > 0.99


def test_unloadable_model_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "openvino_model.xml").write_text("<net", encoding="utf-8")
    with pytest.raises(ExportError, match=r"The converted model cannot be used \(.+\); nothing was kept"):
        quality.run(tmp_path, tmp_path / "none.npy", [1, 2])


@pytest.mark.parametrize(
    ("damage", "way"),
    [
        (keep_less, "in steps of one token"),
        (keep_one_place_late, "in steps of one token"),
        (forget_nothing, "after guesses that are masked out"),
    ],
)
def test_model_with_other_state_is_refused(
    answer: Callable[[Damage], quality.QualityReport], damage: Damage, way: str
) -> None:
    with pytest.raises(ExportError, match=f"The converted model gives other results {way}, so it is not used"):
        answer(damage)


IDS = list(range(20))
EXACT = np.random.default_rng(1).normal(size=(len(IDS), 50)).astype(np.float32)
NOISE = np.random.default_rng(2).normal(size=EXACT.shape).astype(np.float32)
NOISE[0] *= 100  # the first token knows of nothing before it: whatever is said there is nobody's answer


class Session:
    """A session with an error of the logits that grows with the group."""

    def __init__(self, group: str) -> None:
        self.error = int(group) / 1000

    def reset_state(self) -> None:
        """Empty the cache."""
        self.past = 0

    def read(self, ids: list[int], past: int) -> Logits:
        """Read like `quality.read`, in the order that a cache demands."""
        assert past == self.past
        assert 0 < len(ids) <= quality.PASS
        self.past += len(ids)
        logits: Logits = EXACT + self.error * NOISE
        return logits[past : past + len(ids)]


def kl(group: int) -> float:
    """Return the KL divergence of a group."""
    both = (EXACT, EXACT + group / 1000 * NOISE)
    p, q = (np.exp(rows) / np.exp(rows).sum(1, keepdims=True) for rows in (each[quality.PASS :] for each in both))
    return float((p * np.log(p / q)).sum(1).mean())


@pytest.mark.parametrize(
    ("lost", "weights_group", "found"),
    [
        (kl(128) * 2.01, None, 128),
        (kl(64) * 1.99, None, None),
        (kl(256) * 9, None, 256),
        (0.0, None, None),
        (kl(256) * 9, 128, 128),
        (kl(256) * 9, 32, None),
    ],
)
def test_largest_group_within_half_of_the_loss_is_chosen(
    monkeypatch: pytest.MonkeyPatch, lost: float, weights_group: int | None, found: int | None
) -> None:
    monkeypatch.setattr(quality, "_session", lambda _folder, group: Session(group))
    monkeypatch.setattr(quality, "read", Session.read)
    assert quality.coarsest_group(EXACT, "", IDS, lost, weights_group) == found


FOUR = [0, 1, 2, 0]


def logits(rows: list[list[float]]) -> Logits:
    """Log probabilities of these rows; the last row predicts nothing known."""
    return np.log(np.array([*rows, [0.2, 0.3, 0.5]], np.float32))


def test_equal_and_other_logits_are_told_apart() -> None:
    source = logits([[0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [0.5, 0.25, 0.25]])
    found = quality.compare(source, source + 7, FOUR)  # logits may be shifted freely
    assert (found.tokens, found.top1_agreement) == (3, 1.0)
    assert found.mean_kl == pytest.approx(0.0, abs=1e-9)
    expected = math.exp(-(math.log(0.6) + math.log(0.6) + math.log(0.5)) / 3)
    assert found.perplexity_source == pytest.approx(expected, rel=1e-6)
    assert found.perplexity_ratio == pytest.approx(1.0, rel=1e-6)
    other = logits([[0.1, 0.6, 0.3], [0.6, 0.2, 0.2], [0.5, 0.25, 0.25]])
    found = quality.compare(source, other, FOUR)
    assert found.top1_agreement == pytest.approx(2 / 3)
    assert found.mean_kl == pytest.approx((0.2 * math.log(0.2 / 0.6) + 0.6 * math.log(0.6 / 0.2)) / 3, rel=1e-6)
    assert found.perplexity_ratio == pytest.approx((0.6 / 0.2) ** (1 / 3), rel=1e-6)


def test_long_texts_are_compared_in_pieces() -> None:
    generator = np.random.default_rng(0)
    count = 3 * quality.ROWS + 5
    source = generator.normal(size=(count, 11)).astype(np.float32)
    other = source + generator.normal(scale=0.1, size=source.shape).astype(np.float32)
    ids = generator.integers(0, 11, count).tolist()
    p, q = (np.exp(rows[:-1]) / np.exp(rows[:-1]).sum(axis=1, keepdims=True) for rows in (source, other))
    found = quality.compare(source, other, ids)
    assert found.tokens == count - 1
    assert found.top1_agreement == pytest.approx((p.argmax(1) == q.argmax(1)).mean())
    assert found.mean_kl == pytest.approx((p * np.log(p / q)).sum(1).mean(), rel=1e-4)
    assert found.perplexity_source == pytest.approx(
        math.exp(-np.log(p[np.arange(count - 1), ids[1:]]).mean()), rel=1e-4
    )
