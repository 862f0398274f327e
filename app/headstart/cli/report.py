"""What the statistics of an answer say, in sentences and in JSON. Pure; prints nothing."""

import dataclasses
from collections.abc import Mapping

from headstart.cli.render import count
from headstart.engine.engine import Origin, Stats


def lines(stats: Stats) -> list[str]:
    """The statistics of one answer, a line for each subject; the last one says what speculation gained."""
    if _is_untold(stats):
        return [_speed(stats), _acceptance(stats), _context(stats), gain(stats)]
    return [_speed(stats), _acceptance(stats), _origins(stats), _time(stats), _context(stats), gain(stats)]


def gain(stats: Stats) -> str:
    """One plain sentence on what speculation gave for this answer."""
    if _is_untold(stats):
        return "another program wrote this answer and does not tell what guessing gave"
    if not stats.drafted:
        return "plain decoding: nothing was guessed ahead"
    if stats.repeats:
        return "no comparison with plain decoding: the model repeats itself, and speed at that is no gain"
    if stats.speedup is None:
        return "no comparison with plain decoding yet: too little was measured"
    shown = round(stats.speedup, 2)
    if shown == 1.0:
        return "as fast as plain decoding: what guessing saved, it cost"
    if shown > 1.0:
        return f"{shown:.2f}x plain decoding on this machine"
    return f"speculation did not pay on this text: {stats.speedup:.2f}x plain decoding"


def as_json(stats: Stats) -> dict[str, object]:
    """Every field of the statistics and everything derived from them."""
    fields = {field.name: getattr(stats, field.name) for field in dataclasses.fields(stats)}
    derived = {name: getattr(stats, name) for name, value in vars(Stats).items() if isinstance(value, property)}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in (fields | derived).items()}


def _speed(stats: Stats) -> str:
    rate = f"{stats.tokens_per_second:.1f} tok/s" if stats.tokens_per_second else "too short for a speed"
    return f"{rate}, {stats.ttft_ms:.0f} ms to the first token (TTFT), {count(stats.output_tokens, 'token')}"


def _acceptance(stats: Stats) -> str:
    if stats.acceptance_rate is None and _is_untold(stats):
        return "guesses are not told"
    if stats.acceptance_rate is None or stats.mean_accepted_length is None:
        return f"nothing guessed in {count(stats.rounds, 'round')}"
    return (
        f"acceptance {stats.acceptance_rate:.0%} ({stats.accepted} of {stats.drafted} guesses), "
        f"mean accepted length {stats.mean_accepted_length:.2f} over {count(stats.rounds, 'round')}"
    )


def _is_untold(stats: Stats) -> bool:
    """Whether another program, here or elsewhere, wrote the answer and does not say how."""
    return Origin.UNKNOWN in stats.by_origin


def _origins(stats: Stats) -> str:
    total = sum(stats.by_origin.values()) or 1
    rare = (Origin.BIGRAM, Origin.UNKNOWN)  # few have a table
    shown = [origin for origin in Origin if origin not in rare or stats.by_origin.get(origin)]
    shares = [f"{origin} {stats.by_origin.get(origin, 0) / total:.0%}" for origin in shown]
    return f"tokens by origin: {', '.join(shares)}"


def _time(stats: Stats) -> str:
    parts = ", ".join(f"{part} {spent:.0f} ms" for part, spent in stats.by_part.items())
    return f"decoding time: {parts or 'none'}; ledger against plain decoding {stats.ledger_ms:+.0f} ms"


def _context(stats: Stats) -> str:
    if not stats.context_length:
        return f"context: {count(stats.prompt_tokens, 'token')} of prompt, {stats.reused_tokens} of it reused"
    return f"context: {stats.context_used} of {stats.context_length} tokens, {stats.reused_tokens} of the prompt reused"
