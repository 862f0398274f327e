"""The steps of `headstart-export distil`: build the target, have it write, train a copy on it, build that, pair them.

Texts and the state of the training are kept in the cache until the pair is done, so that a stopped run goes on.
"""

import dataclasses
import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headstart import manifest
from headstart.errors import ExportError
from headstart.manifest import Acceptance, Training
from headstart_export import (
    acceptance,
    convert,
    depth,
    distil,
    pair,
    pipeline,
    progress,
    room,
    training,
    weights,
    writing,
)
from headstart_export.distil import Plan
from headstart_export.pipeline import Job, Prepared
from headstart_export.progress import Progress
from headstart_export.sources import Fetched
from headstart_export.training import Course
from headstart_export.writing import Request, Text

HELD_BACK = 9  # of so many prompts, one is not learned from
TRIAL_TOKENS = 64  # of each answer to such a prompt
_TEMPERATURE = 0.8  # of the texts to learn from: some variety, as users have it
_TENTH = 10


@dataclass(frozen=True)
class Lessons:
    """Texts to learn from, and others that the draft is tried on."""

    learned: list[Text]
    held_back: list[Text]


def distil_pair(plan: Plan, output: Path, cache: Path, job_progress: Progress, *, force: bool) -> Path:
    """Build the pair of a target and a draft trained for it. Raises HeadstartError; nothing half done stays."""
    order = plan.order
    with pipeline.opened(order, output, cache, job_progress, force=force) as job:
        target = pipeline.prepare(order.target, job)
        plan = _settled(plan, target.facts.layers)
        room.require_training(order.target, target.facts.parameters)
        kept_here = _store(plan, target, cache)
        target_folder, draft_folder = (
            job.space.result / name for name in (manifest.TARGET_FOLDER, manifest.DRAFT_FOLDER)
        )
        pipeline.build(target, target_folder, job)
        lessons = _lessons(plan, target_folder, kept_here, job)
        draft = _trained(plan, target, lessons, kept_here, job)
        pipeline.build(draft, draft_folder, job)
        _try_finished(draft_folder, lessons, job)
        pair.write_manifest(job.space.result, order.name, len(target.tokenizer))
    shutil.rmtree(kept_here, ignore_errors=True)
    return output


def _settled(plan: Plan, layers: int) -> Plan:
    """With the number of layers known. Raises ExportError for one that cannot be."""
    wanted = plan.layers or max(2, layers // distil.DEFAULT_SHARE)
    depth.require(layers, layers - wanted, plan.order.target.name)
    return dataclasses.replace(plan, layers=wanted)


def _store(plan: Plan, target: Prepared, cache: Path) -> Path:
    """The folder in the cache for whatever depends on exactly this plan."""
    plain = dataclasses.asdict(target.fetched.source)
    parts = [plain, target.facts.parameters, target.order.weights, plan.layers, plan.texts, plan.tokens, plan.passes]
    key = hashlib.sha256(json.dumps([*parts, plan.rate, plan.seed]).encode()).hexdigest()
    folder = cache / "distil" / key[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExportError(f"{folder} cannot be written to ({error.strerror}); make room in the cache.") from None
    return folder


def _lessons(plan: Plan, target: Path, folder: Path, job: Job) -> Lessons:
    asked = writing.prompts()
    tried = asked[::HELD_BACK]
    others = [prompt for prompt in asked if prompt not in tried]
    repeated = (others * (plan.texts // len(others) + 1))[: plan.texts]
    with job.progress.step(f"Having the target write {plan.texts} texts, and {len(tried)} to try the draft on"):
        learned = _written(Request(str(target), repeated, plan.tokens, _TEMPERATURE, plan.seed), folder / "texts.json")
        held_back = _written(Request(str(target), tried, TRIAL_TOKENS, 0.0), folder / "held_back.json")
    return Lessons(learned, held_back)


def _written(request: Request, path: Path) -> list[Text]:
    """Written now, or by an earlier run."""
    try:
        kept = writing.read(path)
    except (OSError, ValueError, TypeError):
        kept = []
    texts = kept or writing.write(request, path)
    texts = [text for text in texts if text[1]]
    if not texts:
        raise ExportError("The target answers nothing, so that there is nothing to learn from; choose another.")
    return texts


def _trained(plan: Plan, target: Prepared, lessons: Lessons, state: Path, job: Job) -> Prepared:
    """The draft, as a model in a folder of its own."""
    with job.progress.step(f"Loading {target.order.recipe.title} to train a copy of {plan.layers} layers"):
        teacher = convert.load_weights(target.fetched.path, code=target.order.code)
        stored = teacher.dtype
        kept = depth.without_middle(target.facts.layers, target.facts.layers - plan.layers)
        draft = depth.reduced(teacher.float(), kept)
        before = acceptance.measure(lessons.held_back, training.guesses(draft, lessons.held_back))
    job.progress.note(f"Before training the target takes {before.rate:.1%} of its guesses.")
    course = Course(lessons.learned, plan.passes, plan.rate, plan.seed)
    with job.progress.step("Training", progress.of_steps) as advance:
        losses = training.train(teacher, draft, course, state, advance)
        after = acceptance.measure(lessons.held_back, training.guesses(draft, lessons.held_back))
        draft.to(stored).save_pretrained(job.space.scratch / "trained")
    job.progress.note(f"After training the target takes {after.rate:.1%} of its guesses.")
    made = _of_layers(dataclasses.replace(target, order=plan.order.draft), job.space.scratch / "trained", kept)
    assert made.self_draft is not None
    learned = _record(course, losses, before, after)
    return dataclasses.replace(made, self_draft=dataclasses.replace(made.self_draft, training=learned))


def _of_layers(model: Prepared, folder: Path, kept: Sequence[int]) -> Prepared:
    """The copy of a model whose weights, of the kept layers, are in a Hugging Face folder."""
    found = weights.inspect(folder, code=model.order.code or model.order.recipe.native)
    facts = dataclasses.replace(found, licence=model.facts.licence)
    made = manifest.SelfDraft(depth.dropped(model.facts.layers, kept), facts.layers)
    fetched = Fetched(folder, model.fetched.source)  # where the weights once came from
    return dataclasses.replace(model, fetched=fetched, facts=facts, self_draft=made)


def _record(course: Course, losses: Sequence[float], before: Acceptance, after: Acceptance) -> Training:
    return Training(
        texts=len(course.texts),
        tokens=sum(len(answer) for _, answer in course.texts),
        passes=course.passes,
        rate=course.rate,
        seed=course.seed,
        first_loss=_mean(losses[: _tenth(losses)]),
        last_loss=_mean(losses[-_tenth(losses) :]),
        before=before,
        after=after,
    )


def _try_finished(folder: Path, lessons: Lessons, job: Job) -> None:
    """Add to the manifest how far the compressed draft's guesses hold."""
    with job.progress.step("Trying the finished draft on what the target wrote"):
        found = acceptance.of_model(folder, lessons.held_back)
    written = manifest.read_model(folder)
    assert written.self_draft is not None
    assert written.self_draft.training is not None
    learned = dataclasses.replace(written.self_draft.training, compressed=found)
    made = dataclasses.replace(written.self_draft, training=learned)
    manifest.write(folder, dataclasses.replace(written, self_draft=made))
    job.progress.note(distil.in_a_line(learned))


def _tenth(losses: Sequence[float]) -> int:
    return max(1, len(losses) // _TENTH)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
