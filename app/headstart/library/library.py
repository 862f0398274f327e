"""The models installed on this computer, their names, and the drafts that fit them."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeGuard

from headstart import paths
from headstart.errors import (
    BrokenModelError,
    HeadstartError,
    MakesVectorsError,
    MismatchedDraftError,
    ModelNotFoundError,
    ReadsPicturesError,
    SettingsError,
    TranscribesError,
    Translatable,
    UnreadableModelError,
    UnwritablePlaceError,
    listed,
)
from headstart.library import manifest, vocabulary
from headstart.library.manifest import Manifest, PairManifest

NO_DRAFT = manifest.NO_DRAFT
ELSEWHERE = "remote:"  # before the name of a model on another computer
_MAX_DRAFTS = 3  # most drafts that are tried for a target
FIRST_EXPORT = "headstart models add smollm2-135m-instruct"
_COMMAND = f"`{FIRST_EXPORT}`"


@dataclass(frozen=True)
class Model:
    """One model folder. `name` is the text that the user types: the folder's name, "pair/target" or a path."""

    name: str
    folder: Path
    manifest: Manifest

    @property
    def is_checked(self) -> bool:
        """False for a model that was imported, and whose tokenizer and quality are not proven yet."""
        return self.manifest.is_checked

    @property
    def head(self) -> "Model | None":
        """The head that is a part of the model. Raises BrokenModelError."""
        folder = manifest.head_folder(self.folder)
        return Model(f"{self.name}/{folder.name}", folder, manifest.read_model(folder)) if folder else None


@dataclass(frozen=True)
class Pair:
    """A folder with a target and the draft that was exported for it."""

    name: str
    folder: Path
    manifest: PairManifest
    target: Model
    draft: Model

    @property
    def is_checked(self) -> bool:
        return self.target.is_checked and self.draft.is_checked


def loaded_models(entry: Model | Pair) -> tuple[Model, ...]:
    """Return the models that are loaded for one answer at a time: the target, a draft and the target's head."""
    return with_head((entry.target, entry.draft) if isinstance(entry, Pair) else (entry,))


def with_head(models: tuple[Model, ...]) -> tuple[Model, ...]:
    """Return models that are loaded together, the target first, and the target's head if it has one."""
    head = models[0].head
    return (*models, head) if head else models


@dataclass(frozen=True)
class Broken:
    """A folder that has a manifest but cannot be used; `reason` is a sentence."""

    name: str
    folder: Path
    reason: Translatable


Entry = Model | Pair | Broken


@dataclass(frozen=True)
class Choice:
    """The models of a conversation: a target and, if wanted, a draft with the same vocabulary."""

    name: str
    target: Model
    draft: Model | None

    @property
    def draft_folder(self) -> Path | None:
        return self.draft.folder if self.draft else None


def installed() -> tuple[Entry, ...]:
    """Return every folder with a manifest in `paths.models_folder()`, by name; broken ones too.

    Those that came with the program are among them, unless they are there again.
    """
    places = (paths.bundled_models_folder(), paths.models_folder())
    folders = {folder.name: folder for place in places for folder in _folders(place)}
    return tuple(_entry(folder) for _, folder in sorted(folders.items()))


def find(name: str) -> Model | Pair:
    """Return the model or pair with this name, "pair/target", "pair/draft" or path.

    Raises ModelNotFoundError naming what exists, BrokenModelError with the reason, SettingsError for one that is not
    on this computer.
    """
    if name.startswith(ELSEWHERE):
        raise SettingsError(
            "{name} is on another computer and can only chat; choose a model of `headstart models`.", name=name
        )
    entries = installed()
    parts = [part for entry in entries if isinstance(entry, Pair) for part in (entry.target, entry.draft)]
    by_name: dict[str, Entry] = {entry.name: entry for entry in (*entries, *parts)}
    entry = by_name.get(name) or _at_path(name)
    if entry is None and not entries:
        require_readable()
        raise ModelNotFoundError(
            "There is no model {name!r}: none is installed yet; run {command} to get a small one.",
            name=name,
            command=_COMMAND,
        )
    if entry is None:
        names = ", ".join(entry.name for entry in entries)
        raise ModelNotFoundError("There is no model {name!r}; installed are {names}.", name=name, names=names)
    if isinstance(entry, Broken):
        raise BrokenModelError(entry.reason)
    return entry


def longest_context(name: str) -> int:
    """Return the longest context that a model allows, in tokens; 0 if it is not installed."""
    try:
        entry = find(name)
    except HeadstartError:
        return 0
    return (entry.target if isinstance(entry, Pair) else entry).manifest.context_length


def choose(name: str | None, draft: str | None = None) -> Choice:
    """Return target and draft for `--model name --draft draft`.

    No name: the only model installed. No draft: the one of the pair, if it is a pair; "none" switches that off.
    Raises ModelNotFoundError, BrokenModelError, MismatchedDraftError, SettingsError.
    """
    entry = find(name) if name is not None else _only(installed())
    target = entry.target if isinstance(entry, Pair) else entry
    if target.manifest.embedding:
        raise MakesVectorsError(entry.name)
    if target.manifest.recognition:
        raise ReadsPicturesError(entry.name)
    if target.manifest.transcription:
        raise TranscribesError(entry.name)
    chosen = _draft(entry, draft)
    if chosen is not None:
        require_same_vocabulary(target, chosen)
    return Choice(entry.name, target, chosen)


def can_chat(entry: Entry) -> TypeGuard[Model | Pair]:
    """Return True if an entry is complete and writes answers; models of another kind do not."""
    return isinstance(entry, Pair) or (isinstance(entry, Model) and entry.manifest.writes)


def find_recognition() -> Model | None:
    """Return the first installed model that reads text in pictures."""
    return next((entry for entry in installed() if isinstance(entry, Model) and entry.manifest.recognition), None)


def find_transcription(language: str = "") -> Model | None:
    """Return the best installed speech recognition model: the one with most languages, or for English the fastest."""
    found = [entry for entry in installed() if isinstance(entry, Model) and entry.manifest.transcription]
    if language == "en":
        return min(found, key=lambda model: model.manifest.size_bytes, default=None)
    return max(found, key=lambda model: model.manifest.transcription.languages, default=None)  # type: ignore[union-attr]


def remove(entry: Entry) -> None:
    """Delete the folder of an entry, or the link to it. Raises SettingsError."""
    with _changing(entry.folder):
        if entry.folder.is_symlink():
            entry.folder.unlink()
        else:
            shutil.rmtree(entry.folder)


def rename(entry: Entry, name: str) -> None:
    """Rename the folder of an entry, which is found by that name from then on. Raises SettingsError."""
    require_new(name, entry.folder.parent)
    with _changing(entry.folder):
        entry.folder.rename(entry.folder.with_name(name))


@contextmanager
def _changing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UnwritablePlaceError(folder, error) from error


def require_new(name: str, root: Path) -> None:
    """Raise SettingsError unless a model in `root` may get this name."""
    manifest.require_name(name)
    if (root / name).exists():
        raise SettingsError(
            "A model named {folder} is installed already; remove it or rename the new folder.", folder=name
        )


def size_on_disk(entry: Entry) -> int:
    """Return the bytes of all files in the folder of an entry, as far as they can be seen."""
    return sum(_size_and_time(name)[0] for name in _files(entry.folder))


def require_same_vocabulary(target: Model, draft: Model) -> None:
    """Refuse a draft that speaks another vocabulary, naming the first id on which they differ."""
    difference = vocabulary_difference(target, draft)
    if difference is not None:
        raise MismatchedDraftError(
            "draft {draft} does not fit {target}: {difference}; choose a draft with the same tokenizer.",
            draft=draft.name,
            target=target.name,
            difference=difference,
        )


def vocabulary_difference(target: Model, draft: Model) -> Translatable | None:
    """Return where the vocabulary of a draft ("here") leaves that of its target ("there"); None if it fits."""
    if target.manifest.tokenizer.fingerprint == draft.manifest.tokenizer.fingerprint:
        return None
    difference = vocabulary.first_difference(
        vocabulary.read(draft.folder),
        vocabulary.read(target.folder),
        rows=(draft.manifest.logit_rows, target.manifest.logit_rows),
    )
    if not difference:
        return None
    return Translatable(
        "id {id} is {first} here and {second} there",
        id=difference.id,
        first=_quoted(difference.first),
        second=_quoted(difference.second),
    )


def fitting_drafts(target: Model) -> dict[str, Path]:
    """Return a few other installed models, by name, that have the target's vocabulary and are small enough."""
    usable = [entry for entry in installed() if can_chat(entry)]
    drafts = [entry.draft if isinstance(entry, Pair) else entry for entry in usable]
    models = [draft for draft in drafts if not draft.manifest.is_eagle]
    small = [draft for draft in models if draft.manifest.size_bytes < target.manifest.size_bytes / 2]
    fitting = {draft.name: draft.folder for draft in small if draft.folder != target.folder and _fits(target, draft)}
    return dict(list(fitting.items())[:_MAX_DRAFTS])


def _fits(target: Model, draft: Model) -> bool:
    try:
        return vocabulary_difference(target, draft) is None
    except BrokenModelError:
        return False


def _folders(root: Path | None) -> list[Path]:
    try:
        found = [path for path in root.iterdir() if not path.name.startswith(".")] if root else []
    except OSError:  # `require_readable` says why
        return []
    return [path for path in found if _has_manifest(path)]


def _has_manifest(folder: Path) -> bool:
    try:
        return (folder / manifest.FILE_NAME).is_file()
    except OSError:  # it cannot be opened, and is listed with the reason
        return True


def require_readable(root: Path | None = None) -> None:
    """Raise UnreadableModelError if the folder of the models cannot be listed; it may be absent."""
    with suppress(FileNotFoundError):
        try:
            os.scandir(root or paths.models_folder()).close()
        except (PermissionError, NotADirectoryError) as error:
            raise UnreadableModelError(error) from None


def _entry(folder: Path) -> Entry:
    try:
        return _read_entry(folder, frozenset((name, *_size_and_time(name)) for name in _files(folder)))
    except UnreadableModelError as error:  # it is tried again each time: no size and no time says that it may be read
        return Broken(folder.name, folder, error.text)


def _files(folder: Path) -> Iterator[str]:
    return (os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)  # noqa: PTH118 - fast


def _size_and_time(name: str) -> tuple[int, int]:
    try:
        stat = os.stat(name)  # noqa: PTH116 - fast
    except OSError:  # a link to nothing
        return 0, 0
    return stat.st_size, stat.st_mtime_ns


@lru_cache(maxsize=64)
def _read_entry(folder: Path, _files: frozenset[tuple[str, int, int]]) -> Entry:
    """Read a folder again only when the sizes or times of its files differ."""
    try:
        return _read_folder(folder, folder.name)
    except UnreadableModelError:
        raise
    except BrokenModelError as error:
        return Broken(folder.name, folder, error.text)


def _read_folder(folder: Path, name: str) -> Model | Pair:
    """Return the model or pair in a folder. Raises BrokenModelError."""
    try:
        return _read_described(folder, name)
    except OSError as error:
        raise UnreadableModelError(error) from None


def _read_described(folder: Path, name: str) -> Model | Pair:
    described = manifest.read(folder)
    if isinstance(described, Manifest):
        return _checked_model(name, folder, described)
    models = []
    for part in (described.target, described.draft):
        if Path(part).name != part:
            raise BrokenModelError(
                "{name} is damaged: {part!r} is not one of its folders; export it again.", name=name, part=part
            )
        models.append(_checked_model(f"{name}/{part}", folder / part, manifest.read_model(folder / part)))
    target, draft = models
    return Pair(name, folder, described, target, draft)


def _checked_model(name: str, folder: Path, described: Manifest) -> Model:
    """Return a model whose files have their sizes (hashes are for `headstart models check`)."""
    faults = manifest.damaged_files(folder, described, hashes=False)
    if faults:
        raise BrokenModelError(
            "{name} is damaged: {faults}; export it again with {command}.",
            name=name,
            faults=listed(faults),
            command=manifest.command_to_replace(folder, described),
        )
    if described.fault is not None:
        raise BrokenModelError(Translatable.from_data(described.fault))
    if head := manifest.head_folder(folder):
        manifest.read_model(head)
    return Model(name, folder, described)


def _at_path(name: str) -> Model | Pair | None:
    """Return the model at a path. A bare word is a path only if a model lies there."""
    path = Path(name).expanduser()
    if not paths.exists(path):
        return None
    written_as_path = "/" in name or os.sep in name or name in {".", ".."}
    if (written_as_path and path.is_dir()) or paths.is_file(path / manifest.FILE_NAME):
        return _read_folder(path.resolve(), name)
    return None


def _only(entries: tuple[Entry, ...]) -> Model | Pair:
    usable = [entry for entry in entries if can_chat(entry)] or [
        entry for entry in entries if not isinstance(entry, Broken)
    ]
    if len(usable) > 1:
        names = ", ".join(entry.name for entry in usable)
        raise SettingsError("Several models are installed ({names}): choose one with --model NAME.", names=names)
    if not usable and entries:
        raise ModelNotFoundError("No installed model can be used; `headstart models` says why.")
    if not usable:
        require_readable()
        raise ModelNotFoundError("No model is installed yet; run {command} to get a small one.", command=_COMMAND)
    return usable[0]


def _draft(entry: Model | Pair, name: str | None) -> Model | None:
    if name == NO_DRAFT:
        return None
    if name is None:
        return entry.draft if isinstance(entry, Pair) else None
    draft = find(name)
    if isinstance(draft, Pair):
        raise SettingsError(
            "{name} is a pair; name one model of it as the draft: {draft}.", name=name, draft=draft.draft.name
        )
    return draft


def _quoted(token: str | None) -> str:
    return Translatable("nothing") if token is None else repr(token)
