"""The audit of a loaded engine: answers by speculation, each token scored again by the target alone."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.comparison import Findings
from headstart.engine.devices import Machine, describe
from headstart.engine.engine import Finish, FinishReason, Mode, Request, Sampling, Speculation
from headstart.engine.local import LocalEngine
from headstart.engine.rescoring import Answered, Auditor

SCHEMA = 1
MODES = {"auto": Speculation(Mode.AUTO), "fixed 5": Speculation(Mode.FIXED, 5)}
GREEDY, SAMPLED = "greedy", "sampled"


@dataclass(frozen=True)
class AuditPlan:
    """What to audit: every prompt in every mode, greedily, and sampled unless `temperature` is 0."""

    prompts: tuple[BenchPrompt, ...]
    tokens: int  # longest answer
    temperature: float
    device: str


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


def audit(engine: LocalEngine, plan: AuditPlan, progress: Callable[[Answered], None]) -> AuditResult:
    """Answer, score again, sum up. `progress` gets each answer before it is scored."""
    ways = {GREEDY: Sampling(temperature=0.0)}
    if plan.temperature:
        ways[SAMPLED] = Sampling(temperature=plan.temperature, seed=1)
    draft = engine.draft
    return AuditResult(
        machine=describe(plan.device),
        target=engine.target.manifest.name,
        draft=draft.manifest.name if draft else None,
        target_properties=dict(engine.target.properties),
        temperature=plan.temperature,
        modes=tuple(MODES),
        findings={name: _audit(engine, plan, sampling, progress) for name, sampling in ways.items()},
    )


def _audit(engine: LocalEngine, plan: AuditPlan, sampling: Sampling, progress: Callable[[Answered], None]) -> Findings:
    auditor = Auditor(engine.target.runner, frozenset(engine.target.manifest.tokenizer.stop_ids))
    for answer in _answers(engine, plan.prompts, plan.tokens, sampling):
        progress(answer)
        auditor.judge(answer)
    return auditor.findings()


def _answers(
    engine: LocalEngine, prompts: Sequence[BenchPrompt], tokens: int, sampling: Sampling
) -> Iterator[Answered]:
    for prompt in prompts:
        ids = tuple(engine.tokenizer.prompt(prompt.messages))
        for mode, speculation in MODES.items():
            *_, finish = engine.generate(
                Request(prompt.messages, tokens, sampling, speculation, stop_on_repetition=False)
            )
            assert isinstance(finish, Finish), "an engine ends every answer with Finish"
            # Without stop strings in the request, only a stop id ends an answer by itself.
            ended = finish.reason is FinishReason.STOP
            yield Answered(f"{prompt.id}, {mode}", ids, finish.token_ids, ended, sampling)
