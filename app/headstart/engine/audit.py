"""The audit: answers by speculation, each token scored again by single-token passes of the target.

A token's score is its logit over the temperature plus the coupled noise of its place (`sampling.py`), so the choice of
greedy and sampled text alike is the largest score. A kernel rounds differently when it computes several tokens at once;
the noise floor is how far that moves the distance between the two best tokens, measured on the same text.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.devices import Machine, describe
from headstart.engine.engine import Finish, FinishReason, Mode, Request, Sampling, Speculation
from headstart.engine.local import LocalEngine
from headstart.engine.runners.runner import PREFILL_CHUNK, Runner
from headstart.engine.sampling import Row, Scores, gumbel, hashes

SCHEMA = 1
MODES = {"auto": Speculation(Mode.AUTO), "fixed 5": Speculation(Mode.FIXED, 5)}
GREEDY, SAMPLED = "greedy", "sampled"
BATCHES = (4, 6, 12)  # tokens in a pass: what fixed lengths of 3 and 5 and a long n-gram check at once
ENDED = -1  # stands for "any stop id" where the text ended
_QUANTILE = 0.999


@dataclass(frozen=True)
class AuditPlan:
    """What to audit: every prompt in every mode, greedily, and sampled unless `temperature` is 0."""

    prompts: tuple[BenchPrompt, ...]
    tokens: int  # longest answer
    temperature: float
    device: str


@dataclass(frozen=True)
class Outlier:
    """A token that noise does not explain."""

    text: str  # which one
    index: int  # in the answer
    token: int
    choice: int
    gap: float


@dataclass(frozen=True)
class Findings:
    """What an audit of some texts found. Gaps and the floor are in units of the score."""

    tokens: int
    mismatches: int  # tokens that are not the model's choice, near-ties included
    largest_gap: float
    floor: float
    floor_samples: int
    outliers: tuple[Outlier, ...]

    @property
    def mismatches_per_10k(self) -> float:
        """Mismatches per ten thousand tokens."""
        return 10_000.0 * self.mismatches / self.tokens if self.tokens else 0.0


@dataclass(frozen=True)
class AuditResult:
    """What was found, apart for greedy and for sampled text: scores are logits / temperature, so gaps differ."""

    machine: Machine
    target: str
    draft: str | None
    target_properties: Mapping[str, str]  # of OpenVINO
    temperature: float
    modes: tuple[str, ...]
    findings: Mapping[str, Findings]
    schema: int = SCHEMA

    @property
    def outside(self) -> int:
        """Tokens that noise does not explain; any is a fault."""
        return sum(len(found.outliers) for found in self.findings.values())


@dataclass(frozen=True)
class Answered:
    """One answer in tokens. `ended`: by a stop id, which is not among them."""

    name: str
    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    ended: bool
    sampling: Sampling


def audit(engine: LocalEngine, plan: AuditPlan, progress: Callable[[Answered], None]) -> AuditResult:
    """Answer, score again, sum up. `progress` gets each answer before it is scored."""
    ways = {GREEDY: Sampling(temperature=0.0)}
    if plan.temperature:
        ways[SAMPLED] = Sampling(temperature=plan.temperature, seed=1)
    found: dict[str, Findings] = {}
    for name, sampling in ways.items():
        auditor = Auditor(engine.target.runner, frozenset(engine.target.manifest.tokenizer.stop_ids))
        for answer in _answers(engine, plan, sampling):
            progress(answer)
            auditor.judge(answer)
        found[name] = auditor.findings()
    return AuditResult(
        machine=describe(plan.device),
        target=engine.target.manifest.name,
        draft=engine.draft.manifest.name if engine.draft else None,
        target_properties=dict(engine.target.properties),
        temperature=plan.temperature,
        modes=tuple(MODES),
        findings=found,
    )


def _answers(engine: LocalEngine, plan: AuditPlan, sampling: Sampling) -> Iterator[Answered]:
    for prompt in plan.prompts:
        ids = tuple(engine.tokenizer.prompt(prompt.messages))
        for mode, speculation in MODES.items():
            *_, finish = engine.generate(
                Request(prompt.messages, plan.tokens, sampling, speculation, stop_on_repetition=False)
            )
            assert isinstance(finish, Finish), "an engine ends every answer with Finish"
            # Without stop strings in the request, only a stop id ends an answer by itself.
            ended = finish.reason is FinishReason.STOP
            yield Answered(f"{prompt.id}, {mode}", ids, finish.token_ids, ended, sampling)


@dataclass(frozen=True)
class Verdict:
    """One written token against the model's own choice, by scores of single-token passes."""

    token: int  # ENDED: the end of the text
    choice: int  # the token with the largest score
    rival: int  # the second
    gap: float  # score of the choice minus that of the token; 0 where they are the same
    margin: float  # score of the choice minus that of the rival


Judged = tuple[str, Sequence[Verdict]]  # the name of a text, a verdict on each token, and on its end if it has one


class Auditor:
    """Judges answers with one runner; the same tokens are scored once, however many modes wrote them."""

    def __init__(self, runner: Runner, stop_ids: frozenset[int]) -> None:
        """`runner` is the target's; its cache is empty afterwards."""
        self._runner = runner
        self._stop_ids = stop_ids
        self._known: dict[tuple[object, ...], Sequence[Verdict]] = {}
        self._judged: list[Judged] = []
        self._shifts: list[float] = []

    def judge(self, answer: Answered) -> None:
        """Score every token of an answer, and its end, after the tokens before it."""
        key = (answer.prompt, answer.tokens, answer.ended, answer.sampling)
        if key not in self._known:
            self._known[key] = self._score(answer)
        self._judged.append((answer.name, self._known[key]))

    def findings(self) -> Findings:
        """What all answers judged so far show, against the noise measured on their texts."""
        return findings(self._judged, self._shifts)

    def _score(self, answer: Answered) -> Sequence[Verdict]:
        written = (*answer.tokens, ENDED) if answer.ended else answer.tokens
        verdicts = [
            judge(values, token, self._stop_ids)
            for values, token in zip(self._scores(answer, len(written), batch=1), written, strict=True)
        ]
        for batch in BATCHES:
            for values, verdict in zip(self._scores(answer, len(written), batch), verdicts, strict=True):
                gap = float(values[verdict.choice] - values[verdict.rival])
                self._shifts.append(abs(gap - verdict.margin))
        return verdicts

    def _scores(self, answer: Answered, count: int, batch: int) -> Iterator[Scores]:
        """Those before each of `count` written tokens, by passes over `batch` tokens."""
        runner = self._runner
        *before, last = answer.prompt
        fed = [last, *answer.tokens][:count]
        position = len(answer.prompt)
        runner.rollback(0)
        for start in range(0, len(before), PREFILL_CHUNK):
            runner.forward(before[start : start + PREFILL_CHUNK])
        for start in range(0, count, batch):
            part = fed[start : start + batch]
            for place, row in enumerate(runner.forward(part, rows=len(part)), start=position + start):
                yield scores(row, place, answer.sampling)
        runner.rollback(0)


def scores(row: Row, position: int, sampling: Sampling) -> Scores:
    """What `Sampler.choose` maximises at an absolute position, for all tokens: [vocabulary].

    For temperature and seed alone: penalties and cuts (top-k, top-p, min-p) must be at their defaults.
    """
    if sampling.temperature == 0.0:
        return row.astype(np.float64)
    noise = gumbel(hashes(sampling.seed, position, np.arange(row.size, dtype=np.int64)))
    return row.astype(np.float64) / sampling.temperature + noise


def judge(values: Scores, token: int, stop_ids: Iterable[int] = ()) -> Verdict:
    """The verdict on `token`; for ENDED the likeliest of `stop_ids` stands in."""
    best = np.argpartition(values, -2)[-2:]
    rival, choice = (int(index) for index in best[np.argsort(values[best], kind="stable")])
    reached = max(float(values[stop]) for stop in stop_ids) if token == ENDED else float(values[token])
    gap = float(values[choice]) - reached
    return Verdict(token, choice, rival, gap, float(values[choice] - values[rival]))


def findings(texts: Sequence[Judged], shifts: Sequence[float]) -> Findings:
    """Sum up; a token is an outlier where its gap exceeds the noise floor.

    `shifts`: how far other passes over the same texts moved the distances between the two best tokens. The floor is
    their 99.9 % quantile; of few the largest, as a smaller one would call noise a fault.
    """
    floor = float(np.quantile(shifts, _QUANTILE, method="higher")) if shifts else 0.0
    named = [(name, index, verdict) for name, verdicts in texts for index, verdict in enumerate(verdicts)]
    return Findings(
        tokens=len(named),
        mismatches=sum(verdict.gap > 0.0 for _, _, verdict in named),
        largest_gap=max((verdict.gap for _, _, verdict in named), default=0.0),
        floor=floor,
        floor_samples=len(shifts),
        outliers=tuple(
            Outlier(name, index, verdict.token, verdict.choice, verdict.gap)
            for name, index, verdict in named
            if verdict.gap > floor
        ),
    )
