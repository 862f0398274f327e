"""`headstart tune`: its flags, its table and its report."""

import dataclasses
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from headstart.cli.command import Load, flag, group
from headstart.cli.models import speed_here
from headstart.cli.options import AS_TUNED, FiguresFlags, installed_names, write_json
from headstart.cli.render import Screen, harmless
from headstart.engine.engine import USUAL_DEVICE, LoadOptions
from headstart.engine.process.client import EngineClient
from headstart.engine.tuning.messages import (
    DEFAULT,
    DRAFTS,
    MIN_GAIN,
    MIN_SECONDS,
    TARGET,
    USUAL_SECONDS,
    Findings,
    Row,
    Stage,
    TuneDecided,
    TuneReport,
    TuneRequest,
    TuneStep,
    TuningStep,
)
from headstart.library import forms, library
from headstart.library.library import Choice

NOTHING_GAINED = "Nothing could be improved: the defaults are as fast as anything tried here."
_LOADED = {TARGET: "model", DRAFTS: "drafts"}
CUT_SHORT = "Nothing was changed: the time was over before everything was timed; give it more --seconds."


@dataclass(frozen=True, kw_only=True)
class TuneFlags:
    model: str | None = flag(
        None,
        "a model or pair of `headstart models`, or its folder",
        short="m",
        completions=installed_names,
        group="model",
    )
    draft: str | None = flag(None, "compare only this draft; none: tune the model alone")
    device: str = flag(AS_TUNED, "try only this device")
    seconds: int = flag(USUAL_SECONDS, "about how long it may take", low=MIN_SECONDS, group="tuning")
    forget: bool = flag(default=False, help="forget earlier results, and measure nothing")
    output: FiguresFlags = group(FiguresFlags)
    explain: bool = flag(default=False, help="explain why each setting was chosen", group="output")


def run(arguments: TuneFlags, _load: Load) -> int:
    """Tune the models, and print the results. Return the exit code."""
    from headstart.engine.tuning import store

    choice, screen = library.choose(arguments.model, arguments.draft), Screen()
    device = USUAL_DEVICE if arguments.device == AS_TUNED else arguments.device
    options = LoadOptions(choice.target.folder, choice.draft_folder, device)
    if arguments.forget:
        removed = store.forget(options)
        print(
            f"{choice.name}: {'what was tuned is forgotten' if removed else 'nothing was tuned'}; the defaults count."
        )
        return 0
    request = TuneRequest(
        load=options,
        drafts=library.fitting_drafts(choice.target) if arguments.draft is None else {},
        is_device_chosen=arguments.device != AS_TUNED,
        seconds=arguments.seconds,
    )

    def report(progress: TuneReport) -> None:
        match progress:
            case TuneStep(_, step):
                screen.remark(_step_text(step))
            case TuneDecided(_, stage):
                screen.remark(reason(stage))

    with closing(EngineClient()) as engine:
        findings = engine.tune(request, report)
    for stage in findings.stages:
        Console(highlight=False).print(_table(stage))
        print()
    for line in (*lines(findings, explain=arguments.explain), *other_form_line(choice)):
        print(harmless(line))
    if arguments.output.json:
        write_json(arguments.output.json, dataclasses.asdict(findings))
    return 0


def lines(findings: Findings, *, explain: bool) -> list[str]:
    """Return sentences about the choices and, with `explain`, the reasons."""
    changed = [f"{stage.subject}: {stage.chosen.name}" for stage in findings.stages if stage.chosen.name != DEFAULT]
    no_change = CUT_SHORT if any(stage.cut_short for stage in findings.stages) else NOTHING_GAINED
    summary = f"Chosen for {findings.target}: {'; '.join(changed)}." if changed else no_change
    reasons = [reason(stage) for stage in findings.stages] if explain else []
    effect = "Every front end loads it so from now on; `headstart tune --forget` undoes that." if changed else ""
    cost = f"{findings.seconds:.0f} s on {findings.device}, OpenVINO {findings.openvino.partition('-')[0]}."
    return [line for line in (*reasons, summary, effect, cost) if line]


def other_form_line(choice: Choice) -> Iterator[str]:
    """Yield a sentence about the model's other form, if there is one: its speed here, or how to get it."""
    other = forms.other_form(choice.name)
    if other is None:
        return
    form = "fast" if other.is_fast else "precise"
    if other.target is None:
        yield f"{choice.name} can be had in its {form} form: `{other.command}`."
        return
    theirs, ours = (speed_here(model.manifest) for model in (other.target, choice.target))
    speed = f"{theirs} here" if theirs else "not timed here yet, which happens while you use it"
    yield f"The {form} form is {other.name}: {speed}{f', this one {ours}' if theirs and ours else ''}."


def reason(stage: Stage) -> str:
    """Return a sentence that says why this row was chosen."""
    subject = stage.subject.capitalize()
    default, *others = stage.rows
    chosen = stage.chosen
    if chosen is not default:
        return f"{subject}: {chosen.name}, because it was {_gain(chosen)} ({_figures(chosen, default)})."
    if not others:
        return f"{subject}: {DEFAULT} ({_times(default)}), as there is nothing else to try here."
    timed = [row for row in others if row.ratio is not None and not row.failure]
    if not timed and stage.cut_short:
        return f"{subject}: {DEFAULT}, as the time was over before anything else was timed; give it more --seconds."
    if not timed:
        return f"{subject}: {DEFAULT}, as nothing else runs here ({others[0].name}: {others[0].failure})."
    best = max(timed, key=lambda row: row.ratio.median if row.ratio else 0.0)
    rest = "; not all were timed, give it more --seconds" if stage.cut_short else ""
    return f"{subject}: {DEFAULT}, because the best of the others, {best.name}, {_shortfall(best)}{rest}."


def _shortfall(best: Row) -> str:
    assert best.ratio is not None
    if best.ratio.median <= 1.0:
        return f"was not faster: {_gain(best)}"
    if best.ratio.median < MIN_GAIN:
        return f"gained too little to tell: {_gain(best)}"
    return f"was not faster often enough to rule out chance: {_gain(best)}"


def _gain(row: Row) -> str:
    assert row.ratio is not None
    ratio = row.ratio
    return (
        f"{ratio.median:.2f}x as fast as the default ({ratio.low:.2f}–{ratio.high:.2f}), "
        f"ahead in {row.wins} of {row.pairs} runs"
    )


def _figures(row: Row, default: Row) -> str:
    pairs = [
        f"{name}: {ms:.1f} instead of {default.ms[name]:.1f} ms" for name, ms in row.ms.items() if name in default.ms
    ]
    return ", ".join(pairs)


def _times(row: Row) -> str:
    return ", ".join(f"{name}: {ms:.1f} ms" for name, ms in row.ms.items()) or "not timed"


def _step_text(step: TuningStep) -> str:
    if step.against is None:
        return f"loading the {_LOADED[step.subject]}"
    hint = f" ({step.hint})" if step.hint else ""
    return f"{step.subject}: {DEFAULT}{hint} against {', '.join(step.against) or 'nothing else'}"


def _table(stage: Stage) -> Table:
    timed = list(dict.fromkeys(name for row in stage.rows for name in row.ms))
    table = Table(
        stage.subject, *(f"ms, {name}" for name in timed), "faster", "ahead", "", box=None, padding=(0, 1, 0, 0)
    )
    for row in stage.rows:
        spans = [f"{row.ms[name]:.1f}" if name in row.ms else "–" for name in timed]
        ratio = f"{row.ratio.median:.2f}x ({row.ratio.low:.2f}–{row.ratio.high:.2f})" if row.ratio else "–"
        remark = "chosen" if row.chosen else "no time left" if row.untimed and row.name != DEFAULT else ""
        ahead = f"{row.wins} of {row.pairs}" if row.pairs else "–"
        table.add_row(harmless(row.name), *spans, ratio, ahead, harmless(row.failure) or remark)
    return table
