"""What a race leaves behind: the times of a lane, the speedup, the proof."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from headstart.engine.engine import Finish, FinishReason, Origin, Round, Stats, Step, Timing, Token
from headstart.ui.performance.race_page import Lane, Proof, RaceResult, prove

STATS = Stats(9, 9, 4, 3, 3, 1, 100.0, 60.0, {}, {}, 0.0, None, 13, 4096)


def lane(milliseconds: Sequence[float], ids: Sequence[int] = (1, 2, 3, 4), decode_ms: float = 60.0) -> Lane:
    """A lane whose rounds took these times; the first came with the prompt."""
    rounds = [Round((Token(1, Origin.TARGET),), 0, 0, Origin.TARGET, Timing(verify_ms=ms)) for ms in milliseconds]
    stats = replace(STATS, output_tokens=len(ids), decode_ms=decode_ms)
    return Lane(tuple(Step("x", made) for made in rounds), Finish(FinishReason.STOP, stats, tuple(ids)))


def test_moments_run_from_the_request_to_the_end_of_the_answer() -> None:
    assert lane((80.0, 20.0, 30.0)).moments == pytest.approx((100.0, 124.0, 160.0))
    assert lane((80.0, 20.0, 30.0)).total_ms == 160.0
    assert lane((0.3,), ids=(1,), decode_ms=0.0).moments == (100.0,)
    assert lane((), ids=()).moments == ()


def test_the_speedup_compares_times_per_token_after_the_first() -> None:
    result = RaceResult(lane((1.0, 30.0, 30.0), decode_ms=90.0), lane((1.0, 45.0), decode_ms=45.0))
    assert result.speedup == pytest.approx(2.0)
    assert RaceResult(lane((1.0,), ids=(1,), decode_ms=0.0), lane((1.0, 45.0))).speedup is None


def test_no_speedup_is_told_where_the_model_repeats_itself() -> None:
    fast = lane((1.0, 45.0), decode_ms=45.0)
    looped = replace(fast, finish=replace(fast.finish, stats=replace(fast.finish.stats, repeats=4)))
    assert RaceResult(lane((1.0, 30.0, 30.0), decode_ms=90.0), looped).speedup is None


def test_texts_are_compared_token_by_token() -> None:
    assert prove((1, 2, 3), (1, 2, 3)) == Proof(3, 3, None)
    assert prove((1, 2, 3), (1, 9, 3)) == Proof(2, 3, 1)
    assert prove((1, 2, 3), (1, 2)) == Proof(2, 3, 2)
    assert prove((), ()).holds
    assert not RaceResult(lane((1.0,), ids=(1, 2)), lane((1.0,), ids=(1, 3))).proof.holds
