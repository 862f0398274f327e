"""Recorded answers (`trace.py` describes the lines) with what every drafter would have proposed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.research.trace import FORMAT
from headstart.engine.drafters.base import NO_DRAFT, Draft
from headstart.engine.drafters.ngram import NGRAM_REACH, NgramDrafter
from headstart.engine.engine import Origin
from headstart.engine.policy.cost_model import Costs
from headstart.engine.policy.policy import Policy
from headstart.engine.runners.runner import common_prefix
from headstart.engine.sampling import Guess
from headstart.errors import HeadstartError

_UNKNOWN = 0.5  # confidence of a candidate that nothing is known of
WRONG = -1  # a token that the text does not have: its own are the numbers of their places


class TraceError(HeadstartError):
    """A trace cannot be read or lacks something; the sentence says how to record one."""


@dataclass(frozen=True)
class Offer:
    """An n-gram offer and how many of its candidates, from the first, are what the text says."""

    length: int
    match_length: int
    held: int

    def at(self, place: int) -> Draft:
        """The offer at a place of the text, the tokens of a text being the numbers of their places."""
        tokens = [place + i if i < self.held else WRONG for i in range(self.length)]
        return Draft(tuple(tokens), match_length=self.match_length)


@dataclass(frozen=True)
class Text:
    """The guesses at each place, the text before it being given; all sequences are equally long.

    As the draft's guess at a place depends on nothing but the text before it, a round may begin anywhere.
    """

    right: Sequence[bool]  # whether the draft's guess is the text's token
    confidence: Sequence[float]  # of that guess
    offers: Sequence[Offer | None]  # of n-grams
    strays: Mapping[int, Sequence[float]] = field(default_factory=dict)  # confidences after the wrong guess at a place
    prompt: int = 1  # tokens before the first place; the draft has read none of them
    limit: int | None = None  # places that were allowed; None: as many as there are
    runners_up: Sequence[Sequence[Guess]] = ()  # to the guess at each place, the likeliest first; empty: not known
    came: Sequence[int | None] = ()  # which of these the text says
    stray_runners_up: Mapping[int, Sequence[Sequence[Guess]]] = field(default_factory=dict)  # like `strays`
    drafter: str = Origin.DRAFT  # whose guesses these are

    def __len__(self) -> int:
        """Places."""
        return len(self.right)

    def drafted(self, at: int, count: int) -> Draft:
        """Return what a draft model guesses from place `at`, and what n-grams put behind it."""
        held = run_length(self.right[at : at + count])
        known = [*self.confidence[at : min(at + held + 1, at + count)], *self.strays.get(at + held, ())]
        known += [_UNKNOWN] * (count - len(known))
        tokens = [at + i if i < held else WRONG for i in range(count)]
        # Behind a wrong guess n-grams are taken to offer the same.
        offer = self.offers[at + count] if count and at + count < len(self) else None
        tail = offer.at(at + count) if offer else NO_DRAFT
        return Draft(
            (*tokens, *tail.tokens), tuple(known[:count]), tail.match_length, runners_up=self._beside(at, count, held)
        )

    def _beside(self, at: int, count: int, held: int) -> tuple[tuple[Guess, ...], ...]:
        """The runners-up to `count` candidates from place `at`, as far as they are known."""
        if not self.runners_up:
            return ()
        wrong = at + held
        known = [*self.runners_up[at : min(wrong + 1, at + count)], *self.stray_runners_up.get(wrong, ())]
        beside = [tuple(Guess(WRONG, each.confidence) for each in ranked) for ranked in known[:count]]
        came = self.came[wrong] if wrong < len(self.came) else None
        if came is not None and held < len(beside):
            ranked = list(beside[held])
            ranked[came] = Guess(wrong, ranked[came].confidence)
            beside[held] = tuple(ranked)
        return tuple(beside)

    def without_runners_up(self) -> "Text":
        return replace(self, runners_up=(), came=(), stray_runners_up={})

    def beginning(self, places: int) -> "Text":
        """Return the text ended after so many places."""
        return replace(
            self, right=self.right[:places], confidence=self.confidence[:places], offers=self.offers[:places]
        )


def run_length(flags: Sequence[bool]) -> int:
    """Return how many flags hold from the first on."""
    return next((i for i, flag in enumerate(flags) if not flag), len(flags))


Line = Mapping[str, Any]
_NO_TOKEN = -1  # stands where an answer ended: no n-gram offers it


@dataclass(frozen=True)
class Recording:
    """One recorded answer on the machine that it was recorded on."""

    name: str
    text: Text
    has_draft: bool
    ttft_ms: float
    prices: Mapping[str, Any]  # as Costs has them in JSON
    learned: Mapping[str, Any]  # the policy as it was stored before

    def costs(self) -> Costs:
        """The prices, anew: whoever plays with them alters them."""
        costs = Costs.from_json(self.prices)
        assert costs is not None, "a recording has prices"
        return costs

    def policy(self, *, fresh: bool = False) -> Policy:
        """One that knows these prices and, unless it is to be fresh, what had been learned before."""
        policy = None if fresh else Policy.from_json(self.learned)
        return policy or Policy(self.costs())


def read_recordings(path: Path) -> list[Recording]:
    """Read all finished answers of a file, but those of one token or less. Raises TraceError."""
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return list(_recordings(path, lines))
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path} cannot be read ({error}); name a file that bench.research.trace wrote.") from None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise TraceError(f"{path} is no complete trace ({error!r}); record it again.") from None


def _recordings(path: Path, lines: Sequence[Line]) -> Iterator[Recording]:
    header = lines[0] if lines else {}
    if header.get("is") != "header" or header["format"] != FORMAT:
        raise TraceError(f"{path} is no trace of this version; record it again.")
    if header["depth"] is None:
        raise TraceError(f"{path} tells nothing beyond where drafting stopped; record it with --depth 8.")
    answer: Line = {}
    rounds: list[Line] = []
    for line in lines[1:]:
        match line["is"]:
            case "answer":
                answer, rounds = line, []
            case "round":
                rounds.append(line)
            case "end" if len(line["ids"]) > 1:
                yield _recording(f"{path.stem} {answer['number']}", header, answer, rounds, line)


def _recording(name: str, header: Line, answer: Line, rounds: Sequence[Line], end: Line) -> Recording:
    places = sum(done["tokens"] for done in rounds)
    right, confidence = [False] * places, [0.5] * places
    beside: list[Sequence[Guess]] = [()] * places
    strays: dict[int, Sequence[float]] = {}
    stray_runners_up: dict[int, Sequence[Sequence[Guess]]] = {}
    for done in rounds:
        at, seen, held = done["context"] - len(answer["ids"]) - 1, done["confidences"], done["matched"] or 0
        others = [[Guess(token, share) for token, share in ranked] for ranked in done.get("runners_up", ())]
        for place in range(min(len(seen), done["tokens"])):
            right[at + place], confidence[at + place] = place < held, seen[place]
        beside[at : at + done["tokens"]] = others[: done["tokens"]]
        strays[at + held], stray_runners_up[at + held] = seen[held + 1 :], others[held + 1 :]
    text = Text(
        right,
        confidence,
        _offers(answer["ids"], end["ids"], places),
        strays,
        prompt=len(answer["ids"]) + 1,
        limit=answer["max_new_tokens"] - 1,
        runners_up=beside if any(beside) else (),
        came=[_rank(ranked, token) for ranked, token in zip(beside, end["ids"][1:], strict=False)],
        stray_runners_up=stray_runners_up,
        drafter=next((done["drafter"] for done in rounds if done["confidences"]), Origin.DRAFT),
    )
    has_draft = any(done["confidences"] for done in rounds)
    return Recording(name, text, has_draft, end["ttft_ms"], header["policy"]["costs"], header["policy"])


def _rank(ranked: Sequence[Guess], token: int) -> int | None:
    tokens = [each.token for each in ranked]
    return tokens.index(token) if token in tokens else None


def _offers(prompt: Sequence[int], written: Sequence[int], places: int) -> list[Offer | None]:
    """Return what n-grams offer at each place. The first token of the answer comes of the prompt's own pass."""
    drafter = NgramDrafter()
    drafter.read([*prompt, written[0]])
    rest = [*written[1:], *[_NO_TOKEN] * places][:places]
    offers: list[Offer | None] = []
    for place, token in enumerate(rest):
        offer = drafter.look_up(NGRAM_REACH)
        held = common_prefix(offer.tokens, rest[place : place + NGRAM_REACH])
        offers.append(Offer(len(offer.tokens), offer.match_length, held) if offer.tokens else None)
        drafter.extend([token])
    return offers
