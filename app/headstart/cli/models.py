"""`headstart models`: lists, adds, shows, checks and removes models."""

import dataclasses
import json
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from headstart import paths
from headstart.cli import transcription
from headstart.cli.command import Command, CommandGroup, LazyCommand, Load, argument, flag
from headstart.cli.options import JsonFlags, installed_names
from headstart.cli.render import Screen, answer, harmless, print_rows
from headstart.engine.engine import ConversationRequest, LoadOptions, Message, VectorsRequest
from headstart.engine.hardware.measurements import measured_ms
from headstart.engine.loading import memory
from headstart.errors import ExporterNeededError, ExportError, ModelNotFoundError, SettingsError
from headstart.library import catalogue, exporter, import_folder, library, manifest
from headstart.library.library import Broken, Entry, Model, Pair
from headstart.library.manifest import Precision
from headstart.tools.loop import ToolLoop

_COLUMNS = ("name", "kind", "precision", "size", "RAM", "quality", "tools", "licence")
_MEMORY_NOTE = f"RAM: when loaded and {memory.DEFAULT_CONTEXT} tokens of context (or the whole, if less) are full"
_QUALITY_NOTE = "quality: share of tokens on which the compressed model agrees with its source weights"
_TOOLS_NOTE = f"tools: small tasks on a folder that it did right by calls of tools, of {catalogue.TASKS}"


@dataclass(frozen=True, kw_only=True)
class CheckFlags:
    name: str = argument("a model, a pair, pair/target, pair/draft or a folder", completions=installed_names)
    device: str = flag("CPU", "where to load it")


@dataclass(frozen=True, kw_only=True)
class AddModelFlags:
    source: str = argument(
        "a recipe, a model of the hub, a folder with its weights or an exported model, or a .gguf file",
        metavar="SOURCE",
    )
    draft: str | None = flag(None, "a small model with the same vocabulary, to make a pair", metavar="SOURCE")
    weights: str | None = flag(
        None, "precision: gguf (as in its GGUF file), int8 (precise), int4 (fast), int8-sym or fp16"
    )
    force: bool = flag(default=False, help="replace the model if it is installed, once the new one is done")
    yes: bool = flag(default=False, help="do not ask before the exporter is set up")


@dataclass(frozen=True, kw_only=True)
class RemoveFlags:
    name: str = argument("a model or pair of `headstart models`", completions=installed_names)
    yes: bool = flag(default=False, help="do not ask")


@dataclass(frozen=True, kw_only=True)
class NamesFlags:
    name: str = argument("a model or pair of `headstart models`", completions=installed_names)
    new: str = argument("the other name", metavar="NEW")


@dataclass(frozen=True, kw_only=True)
class ShowFlags:
    name: str = argument("a model, a pair, pair/target, pair/draft or a folder", completions=installed_names)
    json: bool = flag(default=False, help="print one object instead of a table")


def commands() -> CommandGroup:
    check = "Compare every file with its hash, load the model and let it answer a token"
    return CommandGroup(
        {
            "add": LazyCommand("Export a model, or copy one that was exported elsewhere", lambda: Command(_add)),
            "remove": LazyCommand("Delete a model from this computer", lambda: Command(_remove)),
            "rename": LazyCommand("Give a model another name", lambda: Command(_rename)),
            "copy": LazyCommand("Copy a model under another name", lambda: Command(_copy)),
            "show": LazyCommand("Show what a model is and what it pairs with", lambda: Command(_show)),
            "check": LazyCommand(check, lambda: Command(_check)),
        },
        _list,
    )


def _add(arguments: AddModelFlags, _load: Load) -> int:
    folder = Path(arguments.source).expanduser()
    options = {"draft": arguments.draft, "weights": arguments.weights}
    flags = [f"--{name}={value}" for name, value in options.items() if value] + ["--force"] * arguments.force
    if paths.exists(folder) and (folder / manifest.FILE_NAME).is_file():
        if flags:
            raise SettingsError(f"{folder} is exported already; leave out --draft, --weights and --force.")
        name = _copy_model(folder)
    else:
        name = export_model(arguments.source, flags, yes=arguments.yes).name
    Screen().remark(f"{name} is installed; chat with it: headstart run {name}")
    return 0


def find_or_export(name: str, weights: str | None = None, *, yes: bool) -> str:
    """Return the name or the folder of a model, after exporting it if it is not on this computer.

    `weights`: a precision; None takes what is here, else what fits into the memory. Raises BrokenModelError and
    ExportError. `yes` is that of `export_model`.
    """
    path = Path(name).expanduser()
    is_source = paths.exists(path) and not (path / manifest.FILE_NAME).is_file()
    wanted = f"{name}-{weights}" if weights else name
    if not is_source or wanted in installed_names():
        try:
            return library.find(wanted).name
        except ModelNotFoundError:
            pass
    folder = export_model(name, ("--weights", weights) if weights else ("--fit",), yes=yes)
    return folder.name if folder.parent == paths.models_folder() else str(folder)


def export_model(source: str, flags: Sequence[str] = (), *, yes: bool) -> Path:
    """Return the folder of a model, exported if necessary. Raises ExportError.

    `yes` sets up the exporter without a question.
    """
    try:
        return exporter.export(source, flags)
    except ExporterNeededError:
        if exporter.package() is None:
            raise
    screen = Screen()
    screen.remark(
        f"{source} must be exported first, and the exporter is not set up. That fetches "
        f"{exporter.FETCHED / 1e6:.0f} MB or more and takes {exporter.SIZE / 1e9:.1f} GB on the disk."
    )
    if not yes and not _confirm("Set the exporter up?"):
        raise ExportError("Nothing was exported.")
    try:
        exporter.SetUp(lambda template, *values: screen.remark(template.format(*values))).run()
    finally:
        exporter.sweep(lambda: True)
    return exporter.export(source, flags)


def _copy_model(folder: Path, name: str | None = None) -> str:
    console = Console(stderr=True)
    columns = (TextColumn("copying"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("copying", total=None)

        def on_progress(done: int, total: int) -> bool:
            progress.update(task, completed=done, total=total)
            return True

        return import_folder.import_model(folder, on_progress, name=name)


def _remove(arguments: RemoveFlags, _load: Load) -> int:
    entry = _removable_entry(arguments.name)
    if arguments.yes or _confirm(
        f"Remove {entry.name} ({_bytes(library.size_on_disk(entry))}) from this computer? Chats written with it stay."
    ):
        library.remove(entry)
        Screen().remark(f"{entry.name} is removed.")
    return 0


def _rename(arguments: NamesFlags, _load: Load) -> int:
    library.rename(_removable_entry(arguments.name), arguments.new)
    Screen().remark(f"{arguments.name} is now {arguments.new}.")
    return 0


def _copy(arguments: NamesFlags, _load: Load) -> int:
    name = _copy_model(_installed_entry(arguments.name).folder, arguments.new)
    Screen().remark(f"{arguments.name} is copied to {name}.")
    return 0


def _removable_entry(name: str) -> Entry:
    """Return a whole model or pair that did not come with the program. Raises ModelNotFoundError and SettingsError."""
    entry = _installed_entry(name)
    if entry.folder.parent != paths.models_folder():
        raise SettingsError(f"{entry.name} came with the program and cannot be removed or renamed.")
    return entry


def _installed_entry(name: str) -> Entry:
    entry = {entry.name: entry for entry in library.installed()}.get(name)
    if entry is None:
        library.find(name)  # raises an error that lists the models
        raise SettingsError(f"{name} is part of a pair and stays with it; see headstart models.")
    return entry


def _confirm(question: str) -> bool:
    if not sys.stdin.isatty():
        raise SettingsError("This needs your consent, and there is no terminal to ask on; add --yes.")
    try:
        return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}
    except EOFError:
        return False


def _show(arguments: ShowFlags, _load: Load) -> int:
    entry = library.find(arguments.name)
    if arguments.json:
        print(json.dumps(_entry_json(entry) | {"drafts": _drafts(entry)}, indent=2))
        return 0
    print_rows(fact_rows(entry))
    return 0


def fact_rows(entry: Model | Pair) -> list[tuple[str, str]]:
    """Return names and values of the facts about a model."""
    resident = _bytes(memory.need(model.manifest for model in library.loaded_models(entry)).total)
    rows = [
        ("name", entry.name),
        ("folder", str(entry.folder)),
        ("on disk", _bytes(library.size_on_disk(entry))),
        ("memory", f"{resident} with {memory.DEFAULT_CONTEXT} tokens of context"),
        ("drafts", ", ".join(_drafts(entry)) or "no other installed model has its vocabulary and is small enough"),
    ]
    return rows + [row for model in _models(entry) for row in _model_rows(model)]


def _drafts(entry: Model | Pair) -> list[str]:
    return list(library.fitting_drafts(entry.target if isinstance(entry, Pair) else entry))


def _model_rows(model: Model) -> list[tuple[str, str]]:
    info = model.manifest
    source = " ".join(filter(None, (info.source.kind, info.source.id, info.source.revision)))
    quality = _quality(model)
    if info.quality:
        quality += f" of tokens as in {info.quality.measure}, perplexity {info.quality.perplexity_ratio:.3f} times"
        if info.quality.weights_agreement is not None:
            quality += f"; {info.quality.weights_agreement:.1%} without the processor's dynamic quantization"
    facts = {
        "architecture": f"{info.architecture}, {info.parameters / 1e9:.2f} billion parameters",
        "source": source,
        "licence": info.licence,
        "precision": _precision(info.precision),
        "context": f"{info.context_length} tokens at most",
        "vocabulary": f"{info.tokenizer.vocabulary} tokens",
        "quality": quality,
        "exported": info.created,
    }
    if speed := speed_here(info):
        facts["speed here"] = speed
    if (recipe := catalogue.find(info)) and recipe.tasks_done:
        facts["tools"] = recipe.tasks_done
    if info.embedding:
        length = ", of the length 1" if info.embedding.normalized else ""
        facts["vectors"] = f"{info.embedding.dimensions} dimensions{length}; pooling: {info.embedding.pooling}"
    if info.recognition:
        facts = {name: facts[name] for name in ("architecture", "source", "licence", "precision", "exported")}
        facts["reads"] = f"text in pictures, of {info.recognition.characters} characters"
    if info.transcription:
        facts = {name: facts[name] for name in ("architecture", "source", "licence", "precision", "exported")}
        languages = info.transcription.languages
        facts["hears"] = f"speech, in {languages} languages" if languages > 1 else "speech, in English"
    return [("", ""), ("model", model.name), *facts.items(), *(("note", note) for note in info.notes)]


def speed_here(info: manifest.Manifest) -> str:
    """Return the measured speed as text; empty if this computer has not measured it."""
    weights = info.files.get("openvino_model.bin")
    ms = measured_ms(paths.measurements_folder(), weights.sha256) if weights else None
    return f"{1000 / ms:.1f} tokens/s without guesses" if ms else ""


def _precision(stored: Precision) -> str:
    mixed = f", {stored.ratio:.0%} of the layers' weights" if (stored.ratio or 1) < 1 else ""
    calibrated = f", calibrated by {', '.join(stored.calibration)}" if stored.calibration else ""
    return f"{stored.weights}{mixed}{calibrated}"


def _list(arguments: JsonFlags, _load: Load) -> int:
    entries = library.installed()
    if not entries:
        library.require_readable()
    if arguments.json:
        folder = str(paths.models_folder())
        print(json.dumps({"folder": folder, "models": [_entry_json(entry) for entry in entries]}, indent=2))
    else:
        _print_table(entries)
    return 0


def _check(arguments: CheckFlags, load: Load) -> int:
    screen = Screen(text=False)
    entry = library.find(arguments.name)
    if not entry.is_checked:
        exporter.check(arguments.name)
    models = _models(entry)
    faults = [
        f"{model.name}: {fault}; export it again."
        for model in models
        for fault in manifest.damaged_files(model.folder, model.manifest, hashes=True)
    ]
    for fault in faults:
        screen.complain(fault)
    if faults:
        return 1
    files = sum(len(model.manifest.files) for model in models)
    screen.remark(f"{entry.name}: {files} files as exported.")
    if isinstance(entry, Model) and entry.manifest.embedding:
        with closing(load(LoadOptions(entry.folder, device=arguments.device))) as engine:
            list(engine.generate(VectorsRequest(inputs=("Hello",))))
        screen.remark(f"{entry.name}: loads on {arguments.device} and turns a text into a vector.")
        return 0
    if isinstance(entry, Model) and entry.manifest.recognition:
        from headstart.engine.ocr.recognizer import Recognizer

        Recognizer(entry.folder)
        screen.remark(f"{entry.name}: loads, and reads text in pictures.")
        return 0
    if isinstance(entry, Model) and entry.manifest.transcription:
        transcription.load(entry.name, entry.folder)
        screen.remark(f"{entry.name}: loads, and writes down speech.")
        return 0
    choice = library.choose(arguments.name)
    options = LoadOptions(choice.target.folder, choice.draft_folder, arguments.device)
    with closing(load(options)) as engine:
        answer(engine, ToolLoop(ConversationRequest((Message("user", "Hello"),), max_new_tokens=1)), screen)
    screen.remark(f"{entry.name}: loads on {arguments.device} and answers.")
    return 0


def _print_table(entries: tuple[Entry, ...]) -> None:
    if not entries:
        print(f"No model is installed yet; run `{library.FIRST_EXPORT}` to get a small one.")
        return
    usable = [entry for entry in entries if not isinstance(entry, Broken)]
    if usable:
        print_rows([_COLUMNS, *map(_row, usable)])
        print(_MEMORY_NOTE)
        print(_QUALITY_NOTE)
        print(_TOOLS_NOTE)
    for entry in entries:
        if isinstance(entry, Broken):
            print(harmless(f"{entry.name} cannot be used: {entry.reason}"))


def _row(entry: Model | Pair) -> tuple[str, ...]:
    models = _models(entry)
    return (
        entry.name,
        entry.manifest.kind,
        " + ".join(model.manifest.precision.weights for model in models),
        _bytes(sum(model.manifest.size_bytes for model in models)),
        _bytes(memory.need(model.manifest for model in library.loaded_models(entry)).total),
        " + ".join(_quality(model) for model in models if not model.manifest.is_hydra),
        _tools(models[0]),
        ", ".join(dict.fromkeys(model.manifest.licence for model in models)),
    )


def _models(entry: Model | Pair) -> tuple[Model, ...]:
    models = (entry.target, entry.draft) if isinstance(entry, Pair) else (entry,)
    return (*models, *filter(None, (model.head for model in models)))


def _bytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def _quality(model: Model) -> str:
    quality, vectors = model.manifest.quality, model.manifest.embedding
    if vectors:
        return f"cosine {vectors.agreement:.4f}"
    return f"{quality.top1_agreement:.1%}" if quality else "not measured"


def _tools(model: Model) -> str:
    recipe = catalogue.find(model.manifest)
    return f"{recipe.tasks} of {catalogue.TASKS}" if recipe and recipe.tasks is not None else "not measured"


def _entry_json(entry: Entry) -> dict[str, object]:
    """Return an entry as JSON: the manifests without their lists of files."""
    common: dict[str, object] = {"name": entry.name, "folder": str(entry.folder)}
    if isinstance(entry, Broken):
        return common | {"kind": "broken", "fault": entry.reason}
    parts = (
        {"target": _manifest_json(entry.target), "draft": _manifest_json(entry.draft)}
        if isinstance(entry, Pair)
        else {}
    )
    return common | _manifest_json(entry) | parts


def _manifest_json(entry: Model | Pair) -> dict[str, object]:
    facts = dataclasses.asdict(entry.manifest)
    for name in ("files", "target", "draft", "name"):
        facts.pop(name, None)
    return facts
