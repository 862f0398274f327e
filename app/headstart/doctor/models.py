"""The installed models: whether they are whole at a glance, and which fit into the memory that is free. Loads none."""

from collections.abc import Iterator

from headstart import library, paths
from headstart.doctor.finding import Finding, Level, Section
from headstart.engine import budget, validation
from headstart.engine.room import amount, free_memory
from headstart.errors import HeadstartError
from headstart.library import Broken, Model, Pair
from headstart.manifest import Manifest

_HERE = Section("models")


def check() -> Iterator[Finding]:
    """Sizes of all files are compared here; hashes are for `headstart models check`."""
    entries = library.installed()
    if not entries:
        yield _HERE.note("No model is installed yet.", f"Run `{library.FIRST_EXPORT}` to get a small one.")
    free, fitting = free_memory(), []
    for entry in entries:
        finding = _entry(entry, free)
        yield finding
        if finding.level is Level.OK and not isinstance(entry, Broken):
            fitting.append((isinstance(entry, Pair), budget.need(_manifests(entry)).total, entry.name))
    for subject, setting, reason in validation.refusals(paths.measurements_folder()):
        yield _HERE.note(
            f"{subject.get('model')} does not run in {setting} on {subject.get('device')}, as {reason}.",
            "Another precision is used in its place.",
        )
    if fitting:
        is_pair, _, name = max(fitting)
        yield _HERE.ok(f"The largest {'pair' if is_pair else 'model'} that fits into free memory is {name}.")


def _entry(entry: Model | Pair | Broken, free: int) -> Finding:
    if isinstance(entry, Broken):
        return _HERE.problem(
            f"{entry.name} cannot be used ({entry.reason.rstrip('.')}).", "Export it again with headstart-export."
        )
    try:
        if isinstance(entry, Pair):
            library.require_same_vocabulary(entry.target, entry.draft)
    except HeadstartError as error:
        return _HERE.problem(f"{entry.name} is no pair: {str(error).rstrip('.')}.", "Export it again as a pair.")
    return _room(entry, free)


def _room(entry: Model | Pair, free: int) -> Finding:
    models = _manifests(entry)
    weights = " + ".join(model.precision.weights for model in models)
    context = budget.context_of(models[0], None)
    wanted = budget.need(models).total
    text = f"{entry.name} ({weights}): all files have their sizes; takes about {amount(wanted)} with {context} tokens"
    if wanted <= free:
        return _HERE.ok(f"{text}, and fits.")
    fitting = budget.largest_context(models, free)
    shorter = f"--context {fitting} would fit" if fitting else "no context is short enough"
    return _HERE.note(
        f"{text}, but {amount(free)} is free.", f"Close other programs or choose a smaller model; {shorter}."
    )


def _manifests(entry: Model | Pair) -> tuple[Manifest, ...]:
    parts = (entry.target, entry.draft) if isinstance(entry, Pair) else (entry,)
    return tuple(part.manifest for part in parts)
