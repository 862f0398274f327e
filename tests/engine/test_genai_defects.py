"""What OpenVINO GenAI does wrong today, and Headstart therefore refuses. Where a release mends it, a test here fails.

Then `engine/backends/genai/engine.py` can permit what the test names.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.engine.engine import Numerics
from headstart.engine.runners.precision import properties
from headstart.engine.runtime import openvino, openvino_genai

pytestmark = pytest.mark.slow
PROMPT = list(range(5, 45))
MENDED = "OpenVINO GenAI mended this: permit it in engine/backends/genai/engine.py"


def _pipeline(target: Path, draft: Path) -> Any:
    """The tiny pair, as GenAI guesses with it."""
    genai, chosen = openvino_genai(), dict(properties(Numerics.EXACT))
    guessing = genai.draft_model(str(draft), "CPU", **chosen)
    scheduler = genai.SchedulerConfig()
    scheduler.enable_prefix_caching = True  # without it, only the text is wrong
    return genai.ContinuousBatchingPipeline(str(target), scheduler, "CPU", chosen | {"draft_model": guessing})


def _answer(pipeline: Any, tokens: int, **wishes: Any) -> Any:
    ids = openvino().Tensor(np.array([PROMPT], np.int64))
    config = openvino_genai().GenerationConfig(max_new_tokens=tokens, ignore_eos=True, **wishes)
    return pipeline.generate([ids], [config])[0]


def test_sampling_with_a_draft_fails_or_has_the_wrong_length(tiny_target: Path, tiny_draft: Path) -> None:
    """Upstream issue 4190: where it does not fail, words are lost."""
    sound = 0
    for seed in range(3):
        try:
            result = _answer(
                _pipeline(tiny_target, tiny_draft), 48, do_sample=True, rng_seed=seed, num_assistant_tokens=3
            )
        except RuntimeError:
            continue
        sound += len(result.m_generation_ids[0]) == 48
    assert sound < 3, MENDED


def test_a_confidence_threshold_has_no_effect_by_itself(tiny_target: Path, tiny_draft: Path) -> None:
    """Each round drafts one token, however sure the draft is."""
    result = _answer(_pipeline(tiny_target, tiny_draft), 24, do_sample=False, assistant_confidence_threshold=1e-6)
    metrics = result.extended_perf_metrics
    rounds = 24 - 1 - metrics.get_num_accepted_tokens()
    assert metrics.get_num_draft_tokens() <= rounds, MENDED


def test_with_log_probabilities_it_has_no_bound(tiny_target: Path, tiny_draft: Path) -> None:
    """Forty tokens are drafted in one round, and a bound beside the threshold is refused."""
    pipeline = _pipeline(tiny_target, tiny_draft)
    wishes = {"do_sample": False, "assistant_confidence_threshold": 1e-6, "logprobs": 1}
    result = _answer(pipeline, 41, **wishes)
    rounds = 41 - 1 - result.extended_perf_metrics.get_num_accepted_tokens()
    assert result.extended_perf_metrics.get_num_draft_tokens() / rounds > 8, MENDED
    with pytest.raises(RuntimeError):
        _answer(pipeline, 41, num_assistant_tokens=5, **wishes)


@pytest.mark.parametrize("penalty", ["presence_penalty", "frequency_penalty"])
def test_a_penalty_raises_tokens_of_negative_score(tiny_target: Path, penalty: str) -> None:
    """A penalty above every score leads away from what was written; here what was written comes back ever after."""
    genai = openvino_genai()
    pipeline = genai.ContinuousBatchingPipeline(
        str(tiny_target), genai.SchedulerConfig(), "CPU", dict(properties(Numerics.EXACT))
    )
    (ids,) = _answer(pipeline, 40, do_sample=False, **{penalty: 2.0}).m_generation_ids
    assert len(set(ids)) < len(ids), MENDED
