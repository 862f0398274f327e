"""Times the beginnings of answers with and without guesses: the gain or loss of a short answer.

`python app/bench/speed/short_answers.py MODEL [--prompts 3] [--repeats 3] [--lengths 8,12,16,24,32]` writes the
beginning of an answer to so many prompts of each class, plainly and in automatic mode, in turns, each from a cold
cache. An answer of n tokens is timed by its first n: the engine does not know where it ends. It has measured prices and
has seen no other answer. `--behind 12000` puts so many tokens of Python's reference before each prompt; what was read
of them is kept, so only decoding is timed. The program prints JSON, and a table to standard error. A prompt's ratio is
the geometric mean of its repeats, as memory is quick in one second and slow in the next; a row has the geometric mean
of all prompts, with a 95 % bootstrap interval.
"""

import argparse
import json
import pydoc_data.topics
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean, geometric_mean

from bench.speed import local_engine
from headstart.engine.answer_writer import AnswerWriter
from headstart.engine.bench.prompts import KINDS, BenchPrompt, read_prompts
from headstart.engine.bench.race import AUTO, PLAIN, speculation
from headstart.engine.bench.result import bootstrap_interval
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import ConversationRequest, LoadOptions, Round, Sampling
from headstart.engine.local import LocalEngine
from headstart.library import library

_DECODING = "decoding"
_ROOM_OF_PROMPT = 4096  # tokens of a prompt and its answer behind a text
_ROOM = 512  # tokens that an answer may have, as far as the engine knows
_REMARK = "I have read it."  # the model's, about the text before a prompt
_SLOWER = 0.97  # of plain decoding: below this, an answer counts as slower


@dataclass(frozen=True)
class Beginning:
    """The first tokens of an answer, the seconds from the request to each, and the guesses on the way."""

    tokens: Sequence[int]
    seconds: Sequence[float]
    drafted: int
    accepted: int


Written = tuple[Beginning, Beginning]  # without guesses and with them


def main() -> int:
    """Measure, and print the results. Return 1 if a text differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="the name of an installed model, or of a pair")
    parser.add_argument("--prompts", type=int, default=3, help="of each class")
    parser.add_argument("--skip", type=int, default=0, help="leave out so many prompts of each class")
    parser.add_argument("--repeats", type=int, default=3, help="of each prompt")
    parser.add_argument("--lengths", default="8,12,16,24,32", help="tokens, with commas")
    parser.add_argument("--behind", type=int, default=0, help="tokens of a text before each prompt")
    given = parser.parse_args()
    lengths = [int(length) for length in given.lengths.split(",")]
    engine = local_engine.load_measured(_options(given.model, given.behind))
    policy = engine.policy
    prompts = read_prompts(given.skip + given.prompts, KINDS)[given.skip * len(KINDS) :]
    if given.behind:
        text = _reference(engine, given.behind)
        prompts = tuple(replace(prompt, earlier=(text, _REMARK, *prompt.earlier)) for prompt in prompts)
    times, differing = defaultdict[str, list[Written]](list), set[str]()
    write = partial(_write, engine, length=max(lengths), is_cold=not given.behind)
    write(prompts[0], PLAIN)  # the machine warms up
    for number, prompt in enumerate(prompts * given.repeats):
        written: dict[str, Beginning] = {}
        for mode in (PLAIN, AUTO) if number % 2 else (AUTO, PLAIN):
            engine.record_with(policy.copy())
            written[mode] = write(prompt, mode)
        plain, auto = written[PLAIN], written[AUTO]
        times[prompt.id].append((plain, auto))
        if any(one != other for one, other in zip(plain.tokens, auto.tokens, strict=False)):
            differing.add(prompt.id)
    rows = [row for length in lengths for row in _rows(times, length) if row["timed"] == _DECODING or not given.behind]
    _show(rows)
    result: dict[str, object] = {"model": given.model, "prompts": len(prompts), "behind": given.behind}
    print(
        json.dumps({**result, "differing": sorted(differing), "rows": rows, "by prompt": _by_prompt(times)}, indent=1)
    )
    return bool(differing)


def _options(name: str, behind: int) -> LoadOptions:
    choice = library.choose(name)
    context = behind + _ROOM_OF_PROMPT if behind else LoadOptions.context
    return LoadOptions(choice.target.folder, choice.draft.folder if choice.draft else None, context=context)


def _reference(engine: LocalEngine, count: int) -> str:
    """Return about `count` tokens of Python's reference."""
    text = "\n".join(pydoc_data.topics.topics.values())
    share = count / len(engine.tokenizer.encode(text))
    return text[: int(share * len(text))]


def _write(engine: LocalEngine, prompt: BenchPrompt, mode: str, length: int, *, is_cold: bool) -> Beginning:
    """Write `length` tokens of an answer."""
    if is_cold:
        engine.forget_all()
    sampling = Sampling(temperature=0.0)
    request = ConversationRequest(
        prompt.messages, sampling=sampling, max_new_tokens=_ROOM, speculation=speculation(mode)
    )
    sequence = AnswerWriter(request, engine.slot.models.text, engine.context).sequence(CancelEvent())
    tokens: list[int] = []
    seconds: list[float] = []
    drafted = accepted = 0
    started = time.perf_counter()
    for event in engine.slot.decoder.run(sequence):
        if isinstance(event, Round):
            tokens += [token.id for token in event.tokens]
            seconds += [time.perf_counter() - started] * len(event.tokens)
            drafted, accepted = drafted + event.drafted, accepted + event.accepted
            if len(tokens) >= length:
                break
    return Beginning(tokens, seconds, drafted, accepted)


def _rows(times: dict[str, list[Written]], length: int) -> list[dict[str, object]]:
    """Return the ratios of answers of `length` tokens: by decoding alone, and with the first token."""
    rows = []
    for words, is_decoding in ((_DECODING, True), ("with the first token", False)):
        ratios = {
            prompt: geometric_mean(
                [_seconds(plain, length, is_decoding) / _seconds(auto, length, is_decoding) for plain, auto in pairs]
            )
            for prompt, pairs in times.items()
            if len(pairs[0][0].tokens) >= length
        }
        if ratios:
            worst = min(ratios, key=lambda prompt: ratios[prompt])
            rows.append(
                {
                    "tokens": length,
                    "timed": words,
                    "answers": len(ratios),
                    "mean": geometric_mean([*ratios.values()]),
                    "interval": _bounds([*ratios.values()]),
                    "worst": ratios[worst],
                    "worst prompt": worst,
                    "slower": sum(ratio < _SLOWER for ratio in ratios.values()),
                }
            )
    return rows


def _by_prompt(times: dict[str, list[Written]]) -> dict[str, dict[str, float]]:
    """Return the milliseconds a token without guesses and with them, and the guesses that held, by prompt."""
    return {
        prompt: {
            "plain ms": fmean(_ms_per_token(plain) for plain, _ in pairs),
            "auto ms": fmean(_ms_per_token(auto) for _, auto in pairs),
            "guesses": sum(auto.drafted for _, auto in pairs),
            "held": sum(auto.accepted for _, auto in pairs),
        }
        for prompt, pairs in times.items()
    }


def _ms_per_token(beginning: Beginning) -> float:
    return 1000 * (beginning.seconds[-1] - beginning.seconds[0]) / max(len(beginning.tokens) - 1, 1)


def _bounds(ratios: Sequence[float]) -> list[float]:
    interval = bootstrap_interval(ratios)
    return [interval.low, interval.high] if interval else []


def _seconds(beginning: Beginning, length: int, is_decoding: bool) -> float:
    return beginning.seconds[length - 1] - (beginning.seconds[0] if is_decoding else 0.0)


def _show(rows: Sequence[dict[str, object]]) -> None:
    for row in rows:
        words = (
            f"{value:.2f}" if isinstance(value, float) else value for name, value in row.items() if name != "interval"
        )
        print(*words, file=sys.stderr)


if __name__ == "__main__":
    local_engine.restart()
    sys.exit(main())
