"""`headstart models`: what is installed, and whether it is whole."""

import dataclasses
import json
from contextlib import closing
from dataclasses import dataclass

from headstart import library, manifest, paths
from headstart.cli.answer import answer
from headstart.cli.columns import print_rows
from headstart.cli.command import Command, Group, LazyCommand, Load, argument, flag
from headstart.cli.harmless import harmless
from headstart.cli.model_flags import installed_names
from headstart.cli.screen import Screen
from headstart.engine import budget
from headstart.engine.engine import LoadOptions, Message, Request
from headstart.library import Broken, Entry, Model, Pair

_COLUMNS = ("name", "kind", "precision", "size", "RAM", "quality", "licence")
_MEMORY_NOTE = f"RAM: when loaded and {budget.DEFAULT_CONTEXT} tokens of context (or all that it has) are full"
_QUALITY_NOTE = "quality: share of tokens on which the compressed model agrees with its source weights"


@dataclass(frozen=True, kw_only=True)
class ListFlags:
    """How the list is shown."""

    json: bool = flag(default=False, help="print one object instead of a table")


@dataclass(frozen=True, kw_only=True)
class CheckFlags:
    """What is checked, and where."""

    name: str = argument(
        "a model, a pair, pair/target, pair/draft or a folder", metavar="NAME", offered=installed_names
    )
    device: str = flag("CPU", "where to load it (default: CPU)", metavar="NAME")


def commands() -> Group:
    """`headstart models` and its actions."""
    check = "Compare every file with its hash, load the model and let it answer a token"
    return Group({"check": LazyCommand(check, lambda: Command(_check))}, _list)


def _list(arguments: ListFlags, _load: Load) -> int:
    entries = library.installed()
    if arguments.json:
        folder = str(paths.models_folder())
        print(json.dumps({"folder": folder, "models": [_object(entry) for entry in entries]}, indent=2))
    else:
        _print_table(entries)
    return 0


def _check(arguments: CheckFlags, load: Load) -> int:
    screen = Screen(text=False)
    entry = library.find(arguments.name)
    models = _models(entry)
    faults = [
        f"{model.name}: {fault}; export it again."
        for model in models
        for fault in manifest.damaged_files(model.folder, model.manifest, hashes=True)
    ]
    faults += filter(None, (model.misreading for model in models))
    for fault in faults:
        screen.complain(fault)
    if faults:
        return 1
    files = sum(len(model.manifest.files) for model in models)
    screen.remark(f"{entry.name}: {files} files as exported.")
    _answer_a_token(entry, arguments.device, load, screen)
    return 0


def _answer_a_token(entry: Model | Pair, device: str, load: Load, screen: Screen) -> None:
    target = entry.target if isinstance(entry, Pair) else entry
    draft = entry.draft.folder if isinstance(entry, Pair) else None
    if isinstance(entry, Pair):
        library.require_same_vocabulary(entry.target, entry.draft)
    with closing(load(LoadOptions(target.folder, draft, device))) as engine:
        answer(engine, Request((Message("user", "Hello"),), max_new_tokens=1), screen)
    screen.remark(f"{entry.name}: loads on {device} and answers.")


def _print_table(entries: tuple[Entry, ...]) -> None:
    if not entries:
        print(f"No model is installed yet; run `{library.FIRST_EXPORT}` to get a small one.")
        return
    usable = [entry for entry in entries if not isinstance(entry, Broken)]
    if usable:
        print_rows([_COLUMNS, *map(_row, usable)])
        print(_MEMORY_NOTE)
        print(_QUALITY_NOTE)
    for entry in entries:
        if isinstance(entry, Broken):
            print(harmless(f"{entry.name} cannot be used: {entry.reason}"))
    for misreading in filter(None, (model.misreading for entry in usable for model in _models(entry))):
        print(harmless(misreading))


def _row(entry: Model | Pair) -> tuple[str, ...]:
    models = _models(entry)
    return (
        entry.name,
        entry.manifest.kind,
        " + ".join(model.manifest.precision.weights for model in models),
        _bytes(sum(model.manifest.size_bytes for model in models)),
        _bytes(budget.need(model.manifest for model in models).total),
        " + ".join(_quality(model) for model in models),
        ", ".join(dict.fromkeys(model.manifest.licence for model in models)),
    )


def _models(entry: Model | Pair) -> tuple[Model, ...]:
    return (entry.target, entry.draft) if isinstance(entry, Pair) else (entry,)


def _bytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def _quality(model: Model) -> str:
    quality = model.manifest.quality
    return f"{quality.top1_agreement:.1%}" if quality else "not measured"


def _object(entry: Entry) -> dict[str, object]:
    """An entry for machines: the manifests without their file lists."""
    common: dict[str, object] = {"name": entry.name, "folder": str(entry.folder)}
    if isinstance(entry, Broken):
        return common | {"kind": "broken", "fault": entry.reason}
    parts = {"target": _facts(entry.target), "draft": _facts(entry.draft)} if isinstance(entry, Pair) else {}
    return common | _facts(entry) | parts


def _facts(entry: Model | Pair) -> dict[str, object]:
    facts = dataclasses.asdict(entry.manifest)
    for name in ("files", "target", "draft", "name"):
        facts.pop(name, None)
    return facts
