"""The arithmetic of the quality figures, against values worked out by hand."""

import math

import numpy as np
import pytest

from headstart_export import quality

IDS = [0, 1, 2, 0]


def logits(rows: list[list[float]]) -> quality.Logits:
    """Log probabilities of these rows; the last row predicts nothing known."""
    return np.log(np.array([*rows, [0.2, 0.3, 0.5]], np.float32))


def test_a_model_is_its_own_equal() -> None:
    rows = logits([[0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [0.5, 0.25, 0.25]])
    found = quality.compare(rows, rows + 7, IDS)  # logits may be shifted freely
    assert found.tokens == 3
    assert found.top1_agreement == 1.0
    assert found.mean_kl == pytest.approx(0.0, abs=1e-9)
    expected = math.exp(-(math.log(0.6) + math.log(0.6) + math.log(0.5)) / 3)
    assert found.perplexity_source == pytest.approx(expected, rel=1e-6)
    assert found.perplexity_ratio == pytest.approx(1.0, rel=1e-6)


def test_differences_are_counted() -> None:
    source = logits([[0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [0.5, 0.25, 0.25]])
    other = logits([[0.1, 0.6, 0.3], [0.6, 0.2, 0.2], [0.5, 0.25, 0.25]])
    found = quality.compare(source, other, IDS)
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


def test_the_text_is_mixed() -> None:
    text = quality.TEXT_FILE.read_text(encoding="utf-8")
    assert "def " in text
    assert sum("\u4e00" <= character <= "\u9fff" for character in text) > 80
    assert len(text) > 1500
