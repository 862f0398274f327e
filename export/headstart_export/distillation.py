"""A draft for a model without a small sibling: a copy of fewer layers, trained on texts that the model writes.

The result is a pair; how far its guesses hold is printed and written into its manifest. Texts and the state of the
training are kept in the cache until the pair is done, so that a stopped run goes on. The loss is the KL divergence of
the draft's distribution from the target's, at every place of the texts' answers; only the draft's layers learn: its
embeddings, last norm and output head are the target's own. A draft that has guessed right so far has read what the
target wrote, so one reading of a finished text tells which of its guesses would have been taken at any place. Best
tokens are compared, as in greedy answers.
"""

import argparse
import copy
import dataclasses
import hashlib
import json
import math
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart import manifest
from headstart.errors import ExportError
from headstart.manifest import Acceptance, Training
from headstart_export import (
    convert,
    describe,
    draft_vocab,
    order,
    own_process,
    pipeline,
    quality,
    recipe,
    weights,
    workspace,
)
from headstart_export.convert import MODEL_FILE
from headstart_export.draft_vocab import Text
from headstart_export.order import ModelOrder, PairOrder, Words
from headstart_export.pipeline import Job, Prepared
from headstart_export.progress import Progress
from headstart_export.sources import Fetched

HELD_BACK = 9  # of so many prompts, one is not learned from
TRIAL_TOKENS = 64  # of each answer to such a prompt
_TEMPERATURE = 0.8  # of the texts to learn from: some variety, as users have it
_TENTH = 10
_MINUTES = 120
_SHARE_OF_LAYERS = 3  # a draft of a third of them
_PER_WEIGHT = 12.0  # bytes: the target in f32; of the draft also its gradients and their two moments


@dataclass(frozen=True)
class Plan:
    """What is to be made, and how. `layers`: of the draft; 0: a third of the target's."""

    order: PairOrder
    layers: int
    texts: int
    tokens: int
    passes: int
    rate: float
    seed: int


@dataclass(frozen=True)
class Course:
    """What is learned from, how often, how fast, and in which order."""

    texts: Sequence[Text]
    passes: int
    rate: float
    seed: int

    @property
    def steps(self) -> int:
        """Changes of the weights in all."""
        return self.passes * math.ceil(len(self.texts) / BATCH)


@dataclass(frozen=True)
class Lessons:
    """Texts to learn from, and others that the draft is tried on."""

    learned: list[Text]
    held_back: list[Text]


def parser() -> argparse.ArgumentParser:
    """The words behind `distil`."""
    made = argparse.ArgumentParser(
        prog="headstart-export distil",
        description="Make a draft for a model that has no small sibling: a copy with fewer layers, trained on texts "
        "that the model itself writes. The result is a pair. An interrupted training goes on when run again.",
    )
    made.add_argument("source", help="the target: recipe of one model, hub id, Hugging Face folder, or .gguf file")
    made.add_argument("--layers", type=_whole, default=0, metavar="N", help="of the draft (default: a third)")
    made.add_argument("--texts", type=_whole, default=384, metavar="N", help="to learn from (default: 384)")
    made.add_argument("--tokens", type=_whole, default=128, metavar="N", help="of the longest (default: 128)")
    made.add_argument("--passes", type=_whole, default=3, metavar="N", help="through all texts (default: 3)")
    made.add_argument("--rate", type=_positive, default=1e-3, metavar="X", help="of learning (default: 0.001)")
    made.add_argument("--seed", type=int, default=0, metavar="N", help="another one: other texts, another order")
    made.add_argument("--weights", choices=recipe.PRECISIONS, help="precision (default: the recipe's, else int8)")
    made.add_argument("--draft-weights", choices=recipe.PRECISIONS, default="int8", help="default: int8")
    made.add_argument("--revision", help="branch, tag or commit on the hub")
    made.add_argument("--output", type=Path, metavar="DIR", help="default: the library, under the pair's name")
    made.add_argument("--force", action="store_true", help="replace the output if it exists, once the new one is done")
    made.add_argument("--json", action="store_true", help="print JSON on standard output")
    made.add_argument("--trust-remote-code", action="store_true", help="run Python code that comes with the model")
    made.add_argument("--verbose", action="store_true", help="show what the libraries underneath print")
    return made


def _whole(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError("must be above 0")
    return number


def understand(options: argparse.Namespace) -> Plan:
    """What is meant. Raises ExportError when the source is unknown or a pair."""
    trust = options.trust_remote_code
    words = Words(options.source, weights=options.weights, revision=options.revision, trust_remote_code=trust)
    target = order.understand(words)
    if isinstance(target, PairOrder):
        raise ExportError(f"{options.source} is the recipe of a pair, which has a draft; name one of its models.")
    name = f"distil{options.layers or ''}"
    copied = dataclasses.replace(target.recipe, name=f"{target.name}-{name}")
    draft = ModelOrder(copied, options.draft_weights, "draft", target.code, copy=True)
    pair = PairOrder(f"{target.name}+{name}", dataclasses.replace(target, role="target"), draft)
    return Plan(pair, options.layers, options.texts, options.tokens, options.passes, options.rate, options.seed)


def distil(plan: Plan, output: Path, cache: Path, job_progress: Progress, *, force: bool) -> Path:
    """Build the pair of a target and a draft trained for it. Raises HeadstartError; nothing half done stays."""
    order = plan.order
    with pipeline.opened(order, output, cache, job_progress, force=force) as job:
        target = pipeline.prepare(order.target, job)
        layers = target.facts.layers
        plan = dataclasses.replace(plan, layers=plan.layers or max(2, layers // _SHARE_OF_LAYERS))
        require(layers, layers - plan.layers, order.target.name)
        wanted = workspace.LIBRARIES + int(target.facts.parameters * _PER_WEIGHT)
        workspace.require_memory(f"{order.target.name} and training a draft", wanted)
        kept_here = _store(plan, target, cache)
        target_folder, draft_folder = (
            job.space.result / name for name in (manifest.TARGET_FOLDER, manifest.DRAFT_FOLDER)
        )
        pipeline.build(target, target_folder, job)
        lessons = _lessons(plan, target_folder, kept_here, job)
        draft = _trained(plan, target, lessons, kept_here, job)
        pipeline.build(draft, draft_folder, job)
        _try_finished(draft_folder, lessons, job)
        describe.write_pair(job.space.result, order.name, len(target.tokenizer))
    shutil.rmtree(kept_here, ignore_errors=True)
    return output


def _store(plan: Plan, target: Prepared, cache: Path) -> Path:
    """The folder in the cache for whatever depends on exactly this plan."""
    plain = dataclasses.asdict(target.fetched.source)
    parts = [plain, target.facts.parameters, target.order.weights, plan.layers, plan.texts, plan.tokens, plan.passes]
    key = hashlib.sha256(json.dumps([*parts, plan.rate, plan.seed]).encode()).hexdigest()
    folder = cache / "distil" / key[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _lessons(plan: Plan, target: Path, folder: Path, job: Job) -> Lessons:
    asked = draft_vocab.prompts()
    tried = asked[::HELD_BACK]
    others = [prompt for prompt in asked if prompt not in tried]
    repeated = (others * (plan.texts // len(others) + 1))[: plan.texts]
    with job.progress.step(f"Having the target write {plan.texts} texts, and {len(tried)} to try the draft on"):
        ways = {"tokens": plan.tokens, "temperature": _TEMPERATURE, "seed": plan.seed}
        learned = _written(folder / "texts.json", folder=str(target), asked=repeated, **ways)
        ways = {"tokens": TRIAL_TOKENS, "temperature": 0.0}
        held_back = _written(folder / "held_back.json", folder=str(target), asked=tried, **ways)
    return Lessons(learned, held_back)


def _written(path: Path, **request: object) -> list[Text]:
    """Written now, in a process of its own, or by an earlier run."""
    if not path.is_file():
        failure = (
            "The target cannot write the texts that its draft is to learn from ({reason}); --texts asks for fewer."
        )
        texts = own_process.call(draft_vocab.answers, minutes=_MINUTES, failure=failure, **request)
        half = path.with_name(f".{path.name}.new")
        half.write_text(json.dumps(texts), encoding="utf-8")
        half.replace(path)
    texts = [(prompt, answer) for prompt, answer in json.loads(path.read_text(encoding="utf-8"))]
    texts = [text for text in texts if text[1]]
    if not texts:
        raise ExportError("The target answers nothing, so that there is nothing to learn from; choose another.")
    return texts


def _trained(plan: Plan, target: Prepared, lessons: Lessons, state: Path, job: Job) -> Prepared:
    """The draft, as a model in a folder of its own."""
    layers = target.facts.layers
    with job.progress.step(f"Loading {target.order.recipe.title} to train a copy of {plan.layers} layers"):
        teacher = convert.load_weights(target.fetched.path, code=target.order.code)
        stored = teacher.dtype
        kept = without_middle(layers, layers - plan.layers)
        draft = reduced(teacher.float(), kept)
        before = measure(lessons.held_back, guesses(draft, lessons.held_back))
    job.progress.note(f"Before training the target takes {before.rate:.1%} of its guesses.")
    course = Course(lessons.learned, plan.passes, plan.rate, plan.seed)
    with job.progress.step("Training"):
        losses = train(teacher, draft, course, state, job.progress.note)
        after = measure(lessons.held_back, guesses(draft, lessons.held_back))
        draft.to(stored).save_pretrained(job.space.scratch / "trained")
    job.progress.note(f"After training the target takes {after.rate:.1%} of its guesses.")
    # The copy of a model whose weights, of the kept layers, are in a Hugging Face folder.
    found = weights.inspect(job.space.scratch / "trained", code=target.order.code or target.order.recipe.native)
    self_draft = manifest.SelfDraft(dropped(layers, kept), found.layers, _record(course, losses, before, after))
    facts = dataclasses.replace(found, licence=target.facts.licence)
    fetched = Fetched(job.space.scratch / "trained", target.fetched.source)  # where the weights once came from
    return dataclasses.replace(target, order=plan.order.draft, fetched=fetched, facts=facts, self_draft=self_draft)


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
        found = measure(lessons.held_back, _guesses(folder, lessons.held_back))
    written = manifest.read_model(folder)
    assert written.self_draft is not None
    assert written.self_draft.training is not None
    learned = dataclasses.replace(written.self_draft.training, compressed=found)
    made = dataclasses.replace(written.self_draft, training=learned)
    manifest.write(folder, dataclasses.replace(written, self_draft=made))
    job.progress.note(
        f"The target takes {found.rate:.1%} of the draft's guesses: {learned.after.rate:.1%} before compression, "
        f"{learned.before.rate:.1%} before training; {found.tokens_per_round:.2f} tokens a round of 4 candidates."
    )


def _tenth(losses: Sequence[float]) -> int:
    return max(1, len(losses) // _TENTH)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def without_middle(layers: int, skip: int) -> tuple[int, ...]:
    """The layers that stay when `skip` in a row go from the middle.

    Without 6 of its 30 layers SmolLM2 kept its own best token at 42 of 100 places of the exporter's test text where
    they went from the middle, at 20 where they went at even distances.
    """
    assert 0 <= skip <= layers
    start = (layers - skip + 1) // 2
    return (*range(start), *range(start + skip, layers))


def dropped(layers: int, kept: Sequence[int]) -> tuple[int, ...]:
    """The others."""
    return tuple(sorted({*range(layers)} - {*kept}))


def require(layers: int, skip: int, name: str) -> None:
    """Raise ExportError unless `name`, which has `layers` (0: it does not say), can do without `skip` of them."""
    if not layers:
        raise ExportError(f"{name} does not say how many layers it has, so none can be left out.")
    if not 0 < skip <= layers - 2:
        raise ExportError(
            f"{name} has {layers} layers, and its first and its last must stay: "
            f"a copy can have 2 to {layers - 1} of them, not {layers - skip}."
        )


def reduced(model: Any, kept: Sequence[int]) -> Any:
    """A model of copies of the kept layers; everything else it shares with `model`, which stays whole."""
    stack, owner, name = _stack(model)
    shared: dict[int, Any] = {id(stack): stack}
    shared |= {id(weights): weights for weights in [*model.parameters(), *model.buffers()]}
    result = copy.deepcopy(model, shared)
    layers = [copy.deepcopy(stack[index], {id(model.config): result.config}) for index in kept]
    holder = result.get_submodule(owner)
    setattr(holder, name, type(stack)(layers))
    for place, layer in enumerate(layers):
        _renumber(layer, place)
    _describe(result.config, len(stack), kept)
    return result


def _stack(model: Any) -> tuple[Any, str, str]:
    """The list of layers, the path of the module that owns it, and its name there."""
    wanted = model.config.num_hidden_layers
    found = [
        (module, path)
        for path, module in model.named_modules()
        if type(module).__name__ == "ModuleList" and len(module) == wanted
    ]
    if len(found) != 1:
        raise ExportError(
            f"Layers of models of the kind {model.config.model_type!r} cannot be left out; choose another draft."
        )
    module, path = found[0]
    owner, _, name = path.rpartition(".")
    return module, owner, name


def _renumber(layer: Any, place: int) -> None:
    """Layers find their keys and values by their number."""
    for module in layer.modules():
        if hasattr(module, "layer_idx"):
            module.layer_idx = place


def _describe(config: Any, layers: int, kept: Sequence[int]) -> None:
    """The configuration of fewer layers; its lists with an entry for each lose those of the others."""
    for key, value in list(vars(config).items()):
        if isinstance(value, list) and len(value) == layers:
            setattr(config, key, [value[index] for index in kept])
    config.num_hidden_layers = len(kept)


BATCH = 4  # texts before each change of the weights
SAVE_EVERY = 30.0  # seconds: the most that an interruption costs
_WARM_UP = 0.05  # of all steps
_LONGEST_CHANGE = 1.0  # norm that a gradient is cut down to
_STATE_FILE = "training.pt"


def train(target: Any, draft: Any, course: Course, folder: Path, say: Callable[[str], None]) -> list[float]:
    """Change `draft`; the loss of each step, in nats a token. State is kept in `folder`. Raises ExportError."""
    import torch  # noqa: PLC0415

    for model in (target, draft):
        model.requires_grad_(requires_grad=False)
    learning = _learning(target, draft)
    optimizer = torch.optim.AdamW(learning, lr=course.rate, betas=(0.9, 0.95), weight_decay=0.0)
    losses, saved = _resume(learning, optimizer, folder / _STATE_FILE), time.monotonic()
    for step in range(len(losses), course.steps):
        optimizer.param_groups[0]["lr"] = course.rate * _share(step, course.steps)
        losses.append(_step(target, draft, _batch(course, step)))
        if not math.isfinite(losses[-1]):
            raise ExportError(f"The training went astray at step {step + 1}; try again with a smaller --rate.")
        torch.nn.utils.clip_grad_norm_(learning, _LONGEST_CHANGE)
        optimizer.step()
        optimizer.zero_grad()
        if time.monotonic() - saved > SAVE_EVERY or step + 1 == course.steps:
            _save(learning, optimizer, losses, folder / _STATE_FILE)
            saved = time.monotonic()
            say(f"  {step + 1} of {course.steps} steps")
    return losses


def guesses(model: Any, texts: Sequence[Text]) -> Iterator[list[int]]:
    """The model's best token at each place of each answer."""
    import torch  # noqa: PLC0415

    with torch.inference_mode():
        for text in texts:
            yield _logits(model, text).argmax(dim=-1).tolist()


def _learning(target: Any, draft: Any) -> list[Any]:
    shared = {id(each) for each in target.parameters()}
    learning = [each for each in draft.parameters() if id(each) not in shared]
    for each in learning:
        each.requires_grad_(requires_grad=True)
    assert learning
    return learning


def _step(target: Any, draft: Any, texts: Sequence[Text]) -> float:
    """Add up the gradients of some texts; their mean loss."""
    import torch  # noqa: PLC0415

    places, total = sum(len(answer) for _, answer in texts), 0.0
    for text in texts:
        with torch.no_grad():
            wanted = torch.log_softmax(_logits(target, text), dim=-1)
        found = torch.log_softmax(_logits(draft, text), dim=-1)
        loss = torch.nn.functional.kl_div(found, wanted, reduction="sum", log_target=True) / places
        loss.backward()
        total += float(loss.detach())
    return total


def _logits(model: Any, text: Text) -> Any:
    """At each place of the answer, [len(answer), vocabulary]; texts are read one by one, so that none is padded."""
    import torch  # noqa: PLC0415

    prompt, answer = text
    read = model(input_ids=torch.tensor([prompt + answer]), use_cache=False, logits_to_keep=len(answer) + 1)
    return read.logits[0, -len(answer) - 1 : -1]


def _batch(course: Course, step: int) -> list[Text]:
    """Each pass has an order of its own, which depends on nothing but the seed."""
    import torch  # noqa: PLC0415

    number, place = divmod(step, course.steps // course.passes)
    order = torch.randperm(len(course.texts), generator=torch.Generator().manual_seed(course.seed + number)).tolist()
    return [course.texts[index] for index in order[place * BATCH : (place + 1) * BATCH]]


def _share(step: int, steps: int) -> float:
    """Of the highest rate: up in a line, down in half a cosine."""
    warm = max(1, round(_WARM_UP * steps))
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


def _resume(learning: list[Any], optimizer: Any, path: Path) -> list[float]:
    """Take up what was kept: the losses so far; none where nothing can be read."""
    import pickle  # noqa: PLC0415

    import torch  # noqa: PLC0415

    try:
        state = torch.load(path, weights_only=True)
        losses = [float(loss) for loss in state["losses"]]
        kept = [*zip(learning, state["weights"], strict=True)]
        optimizer.load_state_dict(state["optimizer"])
    except (OSError, RuntimeError, EOFError, KeyError, TypeError, ValueError, pickle.UnpicklingError):
        return []
    with torch.no_grad():
        for weights, value in kept:
            weights.copy_(value)
    return losses


def _save(learning: list[Any], optimizer: Any, losses: list[float], path: Path) -> None:
    import torch  # noqa: PLC0415

    half = path.with_name(f".{path.name}.new")
    weights = [each.detach() for each in learning]
    torch.save({"losses": losses, "weights": weights, "optimizer": optimizer.state_dict()}, half)
    half.replace(path)


CANDIDATES = 4  # a round of these is what tokens a round are counted for


def measure(texts: Sequence[Text], guesses: Iterable[Sequence[int]]) -> Acceptance:
    """From the draft's best token at each place of each answer."""
    hits = [
        [a == b for a, b in zip(answer, guessed, strict=True)]
        for (_, answer), guessed in zip(texts, guesses, strict=True)
    ]
    places, rounds = sum(map(len, hits)), sum(map(_rounds, hits))
    assert places
    return Acceptance(sum(map(sum, hits)) / places, places / rounds, places)


def _rounds(hits: Sequence[bool]) -> int:
    """Passes of the target for one answer: each takes what holds of the candidates, and a token of its own."""
    rounds = place = 0
    while place < len(hits):
        following = [*hits[place : place + CANDIDATES], False]
        place += following.index(False) + 1
        rounds += 1
    return rounds


def _guesses(folder: Path, texts: Sequence[Text]) -> list[list[int]]:
    import openvino  # noqa: PLC0415

    session = openvino.Core().compile_model(folder / MODEL_FILE, "CPU", quality.SETTINGS).create_infer_request()
    found = []
    for prompt, answer in texts:
        session.reset_state()
        found.append(quality.read(session, prompt + answer)[len(prompt) - 1 : -1].argmax(axis=1).tolist())
    return found
