"""Distillation: trains a copy of a model's outer layers, on texts that the model writes, as the model's draft.

Texts and the state of the training are kept in the cache until the pair is done, so that a stopped run goes on. The
loss is the KL divergence of the draft's distribution from the target's, at every place of the texts' answers; only the
draft's layers learn: its embeddings, last norm and output head are the target's own. A draft that has guessed right so
far has read what the target wrote, so one reading of a finished text tells which of its guesses would have been taken
at any place. Best tokens are compared, as in greedy answers.
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

from msgspec import structs

from headstart import manifest
from headstart.errors import ExportError
from headstart.manifest import Acceptance, Training
from headstart_export import answers, convert, pipeline, process, quality, recipe, weights, workspace
from headstart_export.answers import Text
from headstart_export.pipeline import Job, Prepared
from headstart_export.progress import Progress
from headstart_export.recipe import Arguments, PairOrder
from headstart_export.sources import Fetched

HELD_BACK = 9  # of so many prompts, one is not learned from
TRIAL_TOKENS = 64  # of each answer to such a prompt
_TEMPERATURE = 0.8  # of the texts to learn from: some variety, as users have it
_MINUTES = 120
_SHARE_OF_LAYERS = 3  # a draft of a third of them
_PER_WEIGHT = 12.0  # bytes: the target in f32; of the draft also its gradients and their two moments
BATCH = 4  # texts before each change of the weights
SAVE_EVERY = 30.0  # seconds: the most that an interruption costs
_WARM_UP = 0.05  # of all steps
_LONGEST_CHANGE = 1.0  # norm that a gradient is cut down to
CANDIDATES = 4  # a round of these is what tokens a round are counted for


@dataclass(frozen=True)
class Plan:
    """How a draft is made. `layers`: that it has; 0: a third of the target's."""

    layers: int
    texts: int
    tokens: int
    passes: int
    rate: float
    seed: int


def parser() -> argparse.ArgumentParser:
    """The options of `distil`."""
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


def understand(options: argparse.Namespace) -> tuple[PairOrder, Plan]:
    """What is to be made, and how. Raises ExportError when the source is unknown or a pair."""
    trust = options.trust_remote_code
    words = Arguments(options.source, weights=options.weights, revision=options.revision, trust_remote_code=trust)
    target = recipe.understand(words)
    if isinstance(target, PairOrder):
        raise ExportError(f"{options.source} is the recipe of a pair, which has a draft; name one of its models.")
    name = f"distil{options.layers or ''}"
    draft = recipe.own_copy(target, name, options.draft_weights)
    plan = Plan(**{field.name: getattr(options, field.name) for field in dataclasses.fields(Plan)})
    return PairOrder(f"{target.name}+{name}", structs.replace(target, role="target"), draft), plan


def distil(order: PairOrder, plan: Plan, output: Path, cache: Path, progress: Progress, *, force: bool) -> Path:
    """Build the pair of a target and a draft trained for it. Raises HeadstartError; nothing half done stays."""
    with pipeline.opened(order, output, cache, progress, force=force) as job:
        target = pipeline.prepare(order.target, job)
        layers = target.facts.layers
        plan = dataclasses.replace(plan, layers=plan.layers or max(2, layers // _SHARE_OF_LAYERS))
        require(layers, plan.layers, order.target.name)
        wanted = workspace.LIBRARIES + int(target.facts.parameters * _PER_WEIGHT)
        workspace.require_memory(f"{order.target.name} and training a draft", wanted)
        kept_here = _store(plan, target, cache)
        target_folder, draft_folder = (
            job.space.result / name for name in (manifest.TARGET_FOLDER, manifest.DRAFT_FOLDER)
        )
        pipeline.build(target, target_folder, job)
        learned, held_back = _lessons(plan, target_folder, kept_here, job)
        draft = _trained(plan, target, learned, held_back, kept_here, job)
        pipeline.build(dataclasses.replace(draft, order=order.draft), draft_folder, job)
        _try_finished(draft_folder, held_back, job)
        pipeline.write_pair(job.space.result, order.name, len(target.tokenizer))
    shutil.rmtree(kept_here, ignore_errors=True)
    return output


def _store(plan: Plan, target: Prepared, cache: Path) -> Path:
    """The folder in the cache for whatever depends on exactly this plan."""
    parts = [dataclasses.asdict(target.fetched.source), target.facts.parameters, target.order.weights]
    key = hashlib.sha256(json.dumps([*parts, *dataclasses.astuple(plan)]).encode()).hexdigest()
    folder = cache / "distil" / key[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _lessons(plan: Plan, target: Path, folder: Path, job: Job) -> tuple[list[Text], list[Text]]:
    """Texts to learn from, and others that the draft is tried on."""
    asked = answers.prompts()
    tried = asked[::HELD_BACK]
    others = [prompt for prompt in asked if prompt not in tried]
    repeated = (others * (plan.texts // len(others) + 1))[: plan.texts]
    with job.progress.step(f"Having the target write {plan.texts} texts, and {len(tried)} to try the draft on"):
        ways = {"tokens": plan.tokens, "temperature": _TEMPERATURE, "seed": plan.seed}
        learned = _written(folder / "texts.json", folder=str(target), asked=repeated, **ways)
        ways = {"tokens": TRIAL_TOKENS, "temperature": 0.0}
        return learned, _written(folder / "held_back.json", folder=str(target), asked=tried, **ways)


def _written(path: Path, **request: object) -> list[Text]:
    """Written now, in a process of its own, or by an earlier run."""
    if not path.is_file():
        failure = (
            "The target cannot write the texts that its draft is to learn from ({reason}); --texts asks for fewer."
        )
        texts = process.call(answers.write, minutes=_MINUTES, failure=failure, **request)
        half = path.with_name(f".{path.name}.new")
        half.write_text(json.dumps(texts), encoding="utf-8")
        half.replace(path)
    texts = [(prompt, answer) for prompt, answer in json.loads(path.read_text(encoding="utf-8"))]
    texts = [text for text in texts if text[1]]
    if not texts:
        raise ExportError("The target answers nothing, so there is nothing to learn from; choose another.")
    return texts


def _trained(
    plan: Plan, target: Prepared, learned: list[Text], held_back: list[Text], state: Path, job: Job
) -> Prepared:
    """The draft, as a model in a folder of its own."""
    layers = target.facts.layers
    with job.progress.step(f"Loading {target.order.recipe.title} to train a copy of {plan.layers} layers"):
        teacher = convert.load_weights(target.fetched.path, code=target.order.code)
        stored = teacher.dtype
        kept = without_middle(layers, plan.layers)
        draft = reduced(teacher.float(), kept)
        before = measure(held_back, guesses(draft, held_back))
    job.progress.note(f"Before training the target takes {before.rate:.1%} of its guesses.")
    with job.progress.step("Training"):
        losses = train(teacher, draft, learned, plan, state / "training.pt", job.progress.note)
        after = measure(held_back, guesses(draft, held_back))
        draft.to(stored).save_pretrained(job.space.scratch / "trained")
    job.progress.note(f"After training the target takes {after.rate:.1%} of its guesses.")
    # The copy of a model whose weights, of the kept layers, are in a Hugging Face folder.
    found = weights.inspect(job.space.scratch / "trained", code=target.order.code or target.order.recipe.native)
    tenth = max(1, len(losses) // 10)
    training = Training(
        texts=len(learned),
        tokens=sum(len(answer) for _, answer in learned),
        passes=plan.passes,
        rate=plan.rate,
        seed=plan.seed,
        first_loss=sum(losses[:tenth]) / tenth,
        last_loss=sum(losses[-tenth:]) / tenth,
        before=before,
        after=after,
    )
    dropped = tuple(sorted({*range(layers)} - {*kept}))
    self_draft = manifest.SelfDraft(dropped, found.layers, training)
    facts = dataclasses.replace(found, licence=target.facts.licence)
    fetched = Fetched(job.space.scratch / "trained", target.fetched.source)  # where the weights once came from
    return dataclasses.replace(target, fetched=fetched, facts=facts, self_draft=self_draft)


def _try_finished(folder: Path, held_back: list[Text], job: Job) -> None:
    """Add to the manifest how far the compressed draft's guesses hold."""
    with job.progress.step("Trying the finished draft on what the target wrote"):
        found = measure(held_back, _compressed_guesses(folder, held_back))
    written = manifest.read_model(folder)
    made = written.self_draft
    assert made is not None
    assert made.training is not None
    learned = dataclasses.replace(made.training, compressed=found)
    manifest.write(folder, dataclasses.replace(written, self_draft=dataclasses.replace(made, training=learned)))
    job.progress.note(
        f"The target takes {found.rate:.1%} of the draft's guesses: {learned.after.rate:.1%} before compression, "
        f"{learned.before.rate:.1%} before training; {found.tokens_per_round:.2f} tokens a round of 4 candidates."
    )


def without_middle(layers: int, kept: int) -> tuple[int, ...]:
    """The layers that stay when only `kept` do: the others go from the middle.

    Without 6 of its 30 layers SmolLM2 kept its own best token at 42 of 100 places of the exporter's test text where
    they went from the middle, at 20 where they went at even distances.
    """
    first = (kept + 1) // 2
    return (*range(first), *range(layers - kept + first, layers))


def require(layers: int, kept: int, name: str) -> None:
    """Raise ExportError unless `name`, which has `layers` (0: it does not say), may have a copy of only `kept`."""
    if not layers:
        raise ExportError(f"{name} does not say how many layers it has, so none can be left out.")
    if not 2 <= kept < layers:
        raise ExportError(
            f"{name} has {layers} layers, and its first and its last must stay: "
            f"a copy can have 2 to {layers - 1} of them, not {kept}."
        )


def reduced(model: Any, kept: Sequence[int]) -> Any:
    """A model of copies of the kept layers; everything else it shares with `model`, which stays whole."""
    count = model.config.num_hidden_layers
    stacks = [
        (path, module)
        for path, module in model.named_modules()
        if type(module).__name__ == "ModuleList" and len(module) == count
    ]
    if len(stacks) != 1:
        raise ExportError(
            f"Layers of models of the kind {model.config.model_type!r} cannot be left out; choose another draft."
        )
    ((path, stack),) = stacks
    shared: dict[int, Any] = {id(stack): stack}
    shared |= {id(weights): weights for weights in [*model.parameters(), *model.buffers()]}
    result = copy.deepcopy(model, shared)
    layers = type(stack)([copy.deepcopy(stack[index], {id(model.config): result.config}) for index in kept])
    result.set_submodule(path, layers)
    for place, layer in enumerate(layers):
        for module in layer.modules():
            if hasattr(module, "layer_idx"):  # by which layers find their keys and values
                module.layer_idx = place
    for key, value in list(vars(result.config).items()):
        if isinstance(value, list) and len(value) == count:  # an entry for each layer
            setattr(result.config, key, [value[index] for index in kept])
    result.config.num_hidden_layers = len(kept)
    return result


def train(
    target: Any, draft: Any, texts: Sequence[Text], plan: Plan, state: Path, say: Callable[[str], None]
) -> list[float]:
    """Change `draft`; the loss of each step, in nats a token. The file `state` is kept. Raises ExportError."""
    import torch  # noqa: PLC0415

    for model in (target, draft):
        model.requires_grad_(requires_grad=False)
    shared = {id(each) for each in target.parameters()}
    learning = [each.requires_grad_() for each in draft.parameters() if id(each) not in shared]
    optimizer = torch.optim.AdamW(learning, lr=plan.rate, betas=(0.9, 0.95), weight_decay=0.0)
    losses, saved = _resume(learning, optimizer, state), time.monotonic()
    a_pass = math.ceil(len(texts) / BATCH)  # in steps
    steps = plan.passes * a_pass
    for step in range(len(losses), steps):
        optimizer.param_groups[0]["lr"] = plan.rate * _share(step, steps)
        number, place = divmod(step, a_pass)
        # Each pass has an order of its own, which depends on nothing but the seed.
        order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(plan.seed + number)).tolist()
        losses.append(_step(target, draft, [texts[index] for index in order[place * BATCH : (place + 1) * BATCH]]))
        if not math.isfinite(losses[-1]):
            raise ExportError(f"The training went astray at step {step + 1}; try again with a smaller --rate.")
        torch.nn.utils.clip_grad_norm_(learning, _LONGEST_CHANGE)
        optimizer.step()
        optimizer.zero_grad()
        if time.monotonic() - saved > SAVE_EVERY or step + 1 == steps:
            half = state.with_name(f".{state.name}.new")
            kept = {"losses": losses, "weights": [each.detach() for each in learning]}
            torch.save({**kept, "optimizer": optimizer.state_dict()}, half)
            half.replace(state)
            saved = time.monotonic()
            say(f"  {step + 1} of {steps} steps")
    return losses


def guesses(model: Any, texts: Sequence[Text]) -> Iterator[list[int]]:
    """The model's best token at each place of each answer."""
    import torch  # noqa: PLC0415

    with torch.inference_mode():
        for text in texts:
            yield _logits(model, text).argmax(dim=-1).tolist()


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


def _compressed_guesses(folder: Path, texts: Sequence[Text]) -> list[list[int]]:
    import openvino  # noqa: PLC0415

    session = openvino.Core().compile_model(folder / convert.MODEL_FILE, "CPU", quality.SETTINGS).create_infer_request()
    found = []
    for prompt, answer in texts:
        session.reset_state()
        found.append(quality.read(session, prompt + answer)[len(prompt) - 1 : -1].argmax(axis=1).tolist())
    return found
