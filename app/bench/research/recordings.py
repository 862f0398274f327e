"""Recorded answers with the drafts that every drafter would have made. `trace.py` describes the lines."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.research.trace import FORMAT
from headstart.engine.drafters.base import NO_DRAFT, Draft
from headstart.engine.drafters.ngram import NGRAM_REACH, NgramDrafter
from headstart.engine.engine import Origin
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import Policy
from headstart.engine.runners.runner import common_prefix
from headstart.engine.sampling import Guess
from headstart.errors import HeadstartError

_UNKNOWN = 0.5  # confidence of a candidate that was not recorded
WRONG = -1  # a token outside the text, whose own tokens are the numbers of their places


class TraceError(HeadstartError):
    """A trace cannot be read, or lacks something."""


@dataclass(frozen=True)
class DraftOffer:
    """A draft of n-grams, and how many of its tokens, from the first, are those of the text."""

    length: int
    match_length: int
    held: int

    def at(self, place: int) -> Draft:
        """Return the draft at a place of the text. The tokens of a text are the numbers of their places."""
        tokens = [place + i if i < self.held else WRONG for i in range(self.length)]
        return Draft(tuple(tokens), match_length=self.match_length)


@dataclass(frozen=True)
class GuessedText:
    """The draft's guess at each place of a text. All sequences are equally long.

    A guess depends only on the text before its place, so a round may begin anywhere.
    """

    right: Sequence[bool]  # whether the draft's guess is the text's token
    confidence: Sequence[float]  # of that guess
    offers: Sequence[DraftOffer | None]  # of n-grams
    strays: Mapping[int, Sequence[float]] = field(default_factory=dict)  # confidences after the wrong guess at a place
    prompt: int = 1  # tokens before the first place; the draft has read none of them
    limit: int | None = None  # places that were allowed; None: as many as there are
    runners_up: Sequence[Sequence[Guess]] = ()  # to the guess at each place, the likeliest first; empty: not known
    came: Sequence[int | None] = ()  # which of these the text says
    stray_runners_up: Mapping[int, Sequence[Sequence[Guess]]] = field(default_factory=dict)  # like `strays`
    drafter: str = Origin.DRAFT  # whose guesses these are
    reads_text: bool = True  # it reads what it lacks of the text before it drafts; a Hydra head reads one token

    def __len__(self) -> int:
        return len(self.right)

    def drafted(self, at: int, count: int) -> Draft:
        """Return the draft of a model from place `at`, with the n-grams behind it."""
        held = run_length(self.right[at : at + count])
        known = [*self.confidence[at : min(at + held + 1, at + count)], *self.strays.get(at + held, ())]
        known += [_UNKNOWN] * (count - len(known))
        tokens = [at + i if i < held else WRONG for i in range(count)]
        # Assumption: n-grams offer the same behind a wrong guess.
        offer = self.offers[at + count] if count and at + count < len(self) else None
        tail = offer.at(at + count) if offer else NO_DRAFT
        return Draft(
            (*tokens, *tail.tokens), tuple(known[:count]), tail.match_length, runners_up=self._beside(at, count, held)
        )

    def _beside(self, at: int, count: int, held: int) -> tuple[tuple[Guess, ...], ...]:
        """Return the known runners-up to `count` candidates from place `at`."""
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

    def without_runners_up(self) -> "GuessedText":
        """Return the same text without runners-up."""
        return replace(self, runners_up=(), came=(), stray_runners_up={})

    def beginning(self, places: int) -> "GuessedText":
        """Return the first `places` places of the text."""
        return replace(
            self, right=self.right[:places], confidence=self.confidence[:places], offers=self.offers[:places]
        )


def run_length(flags: Sequence[bool]) -> int:
    """Return how many flags, from the first, are set."""
    return next((i for i, flag in enumerate(flags) if not flag), len(flags))


Line = Mapping[str, Any]
_NO_TOKEN = -1  # stands behind the end of an answer: no n-gram offers it


@dataclass(frozen=True)
class RecordedAnswer:
    """One recorded answer, with the prices of its machine."""

    name: str
    text: GuessedText
    has_draft: bool
    ttft_ms: float
    prices: Mapping[str, Any]  # as Costs has them in JSON
    learned: Mapping[str, Any]  # the policy as it was stored before
    kind: str = ""  # of the prompt
    tokens: tuple[int, ...] = ()  # of the prompt and the answer
    others: tuple[GuessedText, ...] = ()  # the same text with the guesses of other drafters

    @property
    def texts(self) -> tuple[GuessedText, ...]:
        """The text with the guesses of each model that drafts; empty without one."""
        return (self.text, *self.others) if self.has_draft else ()

    def costs(self) -> Costs:
        """Return a new copy of the prices, since a replay alters them."""
        costs = Costs.from_json(self.prices)
        assert costs is not None, "a recording has prices"
        return self._with_passes(costs)

    def policy(self, *, fresh: bool = False) -> Policy:
        """Return a policy with these prices; unless `fresh`, with all that was learned before the answer."""
        policy = None if fresh else Policy.from_json(self.learned)
        if policy is None:
            return Policy(self.costs())
        self._with_passes(policy.costs)
        return policy

    def priced(self, prices: Mapping[str, Mapping[int, float]]) -> "RecordedAnswer":
        """Return the answer of a machine with other prices, on which nothing was learned.

        `prices`: the milliseconds of a pass by tokens, of each model. A change of size costs nothing.
        """
        curves = {name: Curve(table, switch_ms=0.0) for name, table in prices.items()}
        costs = Costs(curves.pop(Origin.TARGET), curves).to_json()
        return replace(self, prices=costs, learned={"costs": costs})

    def beginning(self, tokens: int) -> "RecordedAnswer":
        """Return an answer that ends after `tokens` tokens. The policy does not know that it does."""
        places = tokens - 1  # the prompt's own pass gives the first token
        others = tuple(text.beginning(places) for text in self.others)
        return replace(self, text=self.text.beginning(places), others=others)

    def _with_passes(self, costs: Costs) -> Costs:
        """Note that a Hydra head reads one token for each guess, and no context."""
        if any(text.drafter == Origin.HEAD and not text.reads_text for text in self.texts):
            costs.passes[Origin.HEAD] = 1
            costs.without_cache.add(Origin.HEAD)
        return costs


def read_recordings(path: Path) -> list[RecordedAnswer]:
    """Return all finished answers of a file that have two tokens or more. Raises TraceError."""
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return list(_recordings(path, lines))
    except (OSError, UnicodeDecodeError) as error:
        raise TraceError(f"{path} cannot be read ({error}); name a file that bench.research.trace wrote.") from None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise TraceError(f"{path} is no complete trace ({error!r}); record it again.") from None


def joined(recordings: Sequence[RecordedAnswer]) -> list[RecordedAnswer]:
    """Return one recording for each answer, with the guesses of all drafters that were recorded with it."""
    by_tokens: dict[tuple[int, ...], RecordedAnswer] = {}
    for recording in recordings:
        first = by_tokens.get(recording.tokens)
        if first is None:
            by_tokens[recording.tokens] = recording
        elif recording.text.drafter not in [text.drafter for text in first.texts]:
            by_tokens[recording.tokens] = replace(first, others=(*first.others, recording.text))
    return list(by_tokens.values())


def _recordings(path: Path, lines: Sequence[Line]) -> Iterator[RecordedAnswer]:
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
                yield _recording(path.stem, header, answer, rounds, line)


def _recording(file: str, header: Line, answer: Line, rounds: Sequence[Line], end: Line) -> RecordedAnswer:
    name = answer.get("name", "")
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
    text = GuessedText(
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
        reads_text=any(lag > 1 for done in rounds for lag in done["lags"].values()),
    )
    has_draft = any(done["confidences"] for done in rounds)
    return RecordedAnswer(
        name or f"{file} {answer['number']}",
        text,
        has_draft,
        end["ttft_ms"],
        header["policy"]["costs"],
        header["policy"],
        kind=name.rpartition("-")[0] or file,
        tokens=(*answer["ids"], *end["ids"]),
    )


def _rank(ranked: Sequence[Guess], token: int) -> int | None:
    tokens = [each.token for each in ranked]
    return tokens.index(token) if token in tokens else None


def _offers(prompt: Sequence[int], written: Sequence[int], places: int) -> list[DraftOffer | None]:
    """Return the draft of n-grams at each place. The prompt's own pass gives the first token of the answer."""
    drafter = NgramDrafter()
    drafter.read([*prompt, written[0]])
    rest = [*written[1:], *[_NO_TOKEN] * places][:places]
    offers: list[DraftOffer | None] = []
    for place, token in enumerate(rest):
        offer = drafter.look_up(NGRAM_REACH)
        held = common_prefix(offer.tokens, rest[place : place + NGRAM_REACH])
        offers.append(DraftOffer(len(offer.tokens), offer.match_length, held) if offer.tokens else None)
        drafter.extend([token])
    return offers
