"""Whether what the target would have said elsewhere is worth a branch beside an unsure guess. Prints JSON.

PYTHONPATH=app python -m bench.research.recycled_choices MODEL TRACE...

Where the last token stood before in the answer, the target chose between some tokens. The likeliest of them that the
draft does not name itself is added to its runners-up ("Turning Trash into Treasure", arXiv 2408.08696, keeps such a
table), and the recorded answers are played again. What such a token is worth is taken from these very answers, so the
gain is the most that there could be. MODEL is the target that wrote them; each is read by it once more.
"""

import argparse
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from bench.research.recordings import WRONG, Recording, Text, read_recordings
from bench.research.replay import Machine, policy_ms
from headstart.engine.bench.result import bootstrap_interval, geometric_mean
from headstart.engine.engine import LoadOptions, Request, Step
from headstart.engine.local import LocalEngine, load
from headstart.engine.opening import resolve
from headstart.engine.sampling import Guess

CHOICES = 4  # of the target that are kept for each token

Spelling = tuple[int, ...]  # bytes of a token


@dataclass(frozen=True)
class Read:
    """An answer as the target reads it: its tokens, and the likeliest in the place of each; the prompt comes first."""

    tokens: Sequence[Spelling]
    likeliest: Sequence[Sequence[Spelling]]


def read(engine: LocalEngine, ids: Sequence[int]) -> Read:
    """Have the target read it in one go."""
    request = Request((), prompt_ids=tuple(ids), max_new_tokens=0, likeliest=CHOICES, echo=True)
    scored = [each for event in engine.generate(request) if isinstance(event, Step) for each in event.scored]
    return Read([each.token.spelling for each in scored], [[one.spelling for one in each.likeliest] for each in scored])


def recycled(read: Read, begin: int) -> list[Spelling | None]:
    """For each token from `begin`: what the target liked best where the token before it stood last.

    None where that did not stand in the answer: of a prompt the target's choices are not known.
    """
    last: dict[Spelling, Spelling] = {}
    found: list[Spelling | None] = []
    for at in range(begin, len(read.tokens)):
        before = read.tokens[at - 1]
        found.append(last.get(before))
        last[before] = read.likeliest[at][0]
    return found


@dataclass(frozen=True)
class Siblings:
    """The choice beside the guess at each place of a recorded answer, if there is one, and whether it is what came."""

    offered: Sequence[bool]
    came: Sequence[bool]


def siblings(recording: Recording, read: Read) -> Siblings:
    """Those that would add something: the guess is not known to be the same, and no runner-up came."""
    text = recording.text
    choices = recycled(read, text.prompt)
    actual = read.tokens[text.prompt :]
    # A right guess is what came; a choice that is the same adds nothing.
    offered = [
        choice is not None and not (right and choice == token)
        for choice, token, right in zip(choices, actual, text.right, strict=False)
    ]
    came = [
        is_offered and choice == token and rank is None
        for is_offered, choice, token, rank in zip(offered, choices, actual, text.came, strict=False)
    ]
    return Siblings(offered[: len(came)], came)


def with_siblings(text: Text, beside: Siblings, worth: float) -> Text:
    """The answer as if the draft had named them as its last runners-up; `worth`: of what is left beside the guess."""
    runners_up, came = list(text.runners_up), list(text.came)
    for place, is_offered in enumerate(beside.offered):
        if is_offered:
            if beside.came[place]:
                came[place] = len(runners_up[place])
            runners_up[place] = [*runners_up[place], Guess(WRONG, worth * (1 - text.confidence[place]))]
    return replace(text, runners_up=runners_up, came=came)


def answers(path: Path) -> list[tuple[Recording, list[int]]]:
    """The recordings of a file, each with the tokens of its prompt and of the answer."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    prompts = [line["ids"] for line in lines if line["is"] == "answer"]
    written = [line["ids"] for line in lines if line["is"] == "end"]
    ids = [[*prompt, *answer] for prompt, answer in zip(prompts, written, strict=True) if len(answer) > 1]
    return list(zip(read_recordings(path), ids, strict=True))


def main() -> None:
    """Read the answers, play them, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("traces", nargs="+", type=Path)
    given = parser.parse_args()
    recorded = [each for trace in given.traces for each in answers(trace)]
    with closing(load(resolve(LoadOptions(given.model)))) as engine:
        beside = [siblings(recording, read(engine, ids)) for recording, ids in recorded]
    wrong = sum(not right for recording, _ in recorded for right in recording.text.right)
    named = sum(rank is not None for recording, _ in recorded for rank in recording.text.came)
    offered = sum(
        is_offered and not right
        for (recording, _), each in zip(recorded, beside, strict=True)
        for is_offered, right in zip(each.offered, recording.text.right, strict=False)
    )
    came = sum(sum(each.came) for each in beside)
    ratios = []
    for (recording, _), each in zip(recorded, beside, strict=True):
        now, then = (
            policy_ms(recording.policy(), text, Machine(recording.costs()))
            for text in (recording.text, with_siblings(recording.text, each, came / offered))
        )
        ratios.append(now / then)
    found = bootstrap_interval(ratios)
    figures = {
        "answers": len(recorded),
        "wrong guesses": wrong,
        "of these, a runner-up of the draft came": named,
        "of these, a recycled choice stood beside": offered,
        "of these, it came and was no runner-up": came,
        "speed with them, times without": geometric_mean(ratios),
        "interval": found and [found.low, found.high],
    }
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
