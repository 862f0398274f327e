"""The description of a model folder: `manifest.json`, written by the exporter."""

import dataclasses
import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from headstart.errors import BrokenModelError, SettingsError, Translatable, UnreadableModelError

FILE_NAME = "manifest.json"
_UNFINISHED = ".*.new"  # files that are being written, or that a killed process has left
SCHEMA = 1
TARGET_FOLDER = "target"
HEAD_FOLDER = "head"  # in a model folder: a head for it, of EAGLE-3 or Hydra
HYDRA = "Hydra"  # architecture of a head that is made by `headstart-export head`
DRAFT_FOLDER = "draft"
FAST = "-int4"  # end of the name of a model with INT4 weights
TABLE_FILE = "table.npz"  # an n-gram table; optional, present if `files` lists it
TABLE_CONTEXT = 3  # most tokens before an entry on which it depends
TABLE_BITS = 21  # of each token in the key: three fit into 64 bits
MAX_NAME = 200  # bytes; file systems take 255, and names of temporary folders have more around it
NO_DRAFT = "none"  # in the place of a model's name
# No folder of Windows can have these, whatever follows behind a dot.
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³")}
_SIGNS = set('<>:"/\\|?*')


@dataclass(frozen=True)
class File:
    """One file of a folder."""

    sha256: str
    size: int  # bytes


@dataclass(frozen=True)
class Source:
    """The origin of the weights. `kind`: "hub", "packages", "folder" or "gguf"."""

    kind: str
    id: str
    revision: str | None = None
    sha256: str | None = None
    packages: tuple[str, ...] = ()
    path: str | None = None  # of a GGUF file on this computer, until the model is checked against it
    files: Mapping[str, File] = field(default_factory=dict)  # of a folder of the hub, as they were fetched


@dataclass(frozen=True)
class MergedAdapter:
    """A LoRA adapter that was merged into the source weights."""

    id: str
    sha256: str  # of its tensors


BLOCKS = "blocks"  # mode of weights that stay in the blocks of their GGUF file


@dataclass(frozen=True)
class Precision:
    """The precision of the weights that are stored in the IR.

    `weights`: gguf, int8, int8-sym, int4, int4-sym or fp16.
    """

    weights: str
    mode: str | None = None  # NNCF's word, e.g. "int8_asym"
    group_size: int | None = None
    ratio: float | None = None
    backup_mode: str | None = None
    all_layers: bool = False  # INT4 embeddings and output head too
    calibration: tuple[str, ...] = ()  # on the model's own answers, by NNCF's names: "awq", "scale_estimation", "gptq"
    activation_group: int | None = None  # activations that may share a scale when rounded to INT8; None: 32, as usual

    @property
    def keeps_blocks(self) -> bool:
        """True if the weights are the blocks of a GGUF file, which only Headstart's own engine reads."""
        return self.mode == BLOCKS


@dataclass(frozen=True)
class Quality:
    """The compressed model against its source weights on one fixed text, teacher-forced."""

    tokens: int
    top1_agreement: float  # share of positions with the same argmax
    mean_kl: float  # nats, KL(source || compressed)
    perplexity_source: float
    perplexity_compressed: float
    against: str | None = None  # "gguf", whose weights may be compressed already, or "weights", the original ones
    weights_agreement: float | None = None  # both without the processor's dynamic quantization of activations:
    weights_kl: float | None = None  # what the weights alone cost

    @property
    def perplexity_ratio(self) -> float:
        """The loss in perplexity; above 1 the compressed model predicts the text worse."""
        return self.perplexity_compressed / self.perplexity_source

    @property
    def measure(self) -> str:
        """The source of the comparison, as text."""
        return {"gguf": "the GGUF file it came from", "weights": "the original weights"}.get(
            self.against or "", "its source"
        )


@dataclass(frozen=True)
class TokenizerSpec:
    """The data that decides if two models can work together."""

    fingerprint: str  # vocabulary.fingerprint() of the folder
    vocabulary: int  # entries, padding rows not counted
    stop_ids: tuple[int, ...]
    proof: int | None = None  # texts that it reads and writes as its source does; None: exported before that was tried


@dataclass(frozen=True)
class Shortlist:
    """The tokens that a draft guesses among: a .npy file of the folder with their ids, the most frequent first.

    The IR has all rows of the output head; a load may cut it down to the first `rows` of the list.
    """

    file: str
    rows: int


@dataclass(frozen=True)
class TableSpec:
    """The sources of an n-gram table, and how well it guesses other answers of the model."""

    tokens: int  # of the model's own answers
    acceptance: tuple[float, ...]  # share of places where the first guess holds; of those, where the next one does; ...
    places: int


@dataclass(frozen=True)
class CurvePoint:
    """A head's accuracy at one point of its training, on answers of its target that it did not learn from."""

    tokens: int  # seen so far, each as often as it was
    hours: float
    acceptance: Mapping[str, tuple[float, ...]]  # by class: of the first guess; of the next one after it; ...


@dataclass(frozen=True)
class LearnedHead:
    """The training of a head on this computer."""

    layers: tuple[int, ...]  # of the target, from 0, whose hidden states it reads
    texts: int
    tokens: int  # that it guessed at, each counted once
    curve: tuple[CurvePoint, ...]
    compressed: Mapping[str, float]  # by class: the first guesses of the finished head that held


@dataclass(frozen=True)
class EmbeddingSpec:
    """The way from a hidden state to a vector."""

    pooling: str  # "mean" of all tokens, the first token ("cls"), or the "last"
    normalized: bool  # to the length 1
    dimensions: int
    agreement: float  # the least cosine of a vector with that of the source weights, on a few texts
    query: str = ""  # what stands before a text that is looked for
    passage: str = ""  # what stands before a text in which something is looked for


@dataclass(frozen=True)
class Recognition:
    """A model that reads text in pictures."""

    characters: int  # that it knows


@dataclass(frozen=True)
class Transcription:
    """A model that writes down speech."""

    languages: int  # that it knows; 1: English


@dataclass(frozen=True)
class StateSize:
    """The size of the state that a layer keeps of a text, beside keys and values or in place of them."""

    size: int  # numbers of a state
    width: int  # numbers of an input


@dataclass(frozen=True)
class Footprint:
    """The numbers that decide how much memory a model takes when it is loaded, of one that is not here yet."""

    size_bytes: int
    vocabulary: int = 0
    context_length: int = 0
    kv_bytes_per_token: int = 0
    window: int = 0
    window_kv_bytes_per_token: int = 0
    states: tuple[StateSize, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """The description of one model folder."""

    name: str
    role: str  # the recipe's intent: "target", "draft" or "any"; any model that fits may draft
    source: Source
    licence: str
    architecture: str
    parameters: int
    precision: Precision
    tokenizer: TokenizerSpec
    logit_rows: int  # width of the output head, padding rows included
    context_length: int
    size_bytes: int
    ram_bytes: int  # expected when loaded, KV cache not counted
    kv_bytes_per_token: int  # f16 keys and values
    quality: Quality | None
    files: Mapping[str, File]
    versions: Mapping[str, str]
    created: str  # ISO 8601, UTC
    kind: str = "model"
    schema: int = SCHEMA
    notes: tuple[str, ...] = ()
    window: int = 0  # tokens that layers with a window see, the widest one; 0: there are none, or it is not known
    window_kv_bytes_per_token: int = 0  # those of `kv_bytes_per_token` that layers with a window keep
    states: tuple[StateSize, ...] = ()  # of layers that keep states; none from before they were counted
    shortlist: Shortlist | None = None
    table: TableSpec | None = None  # None: it has none, or one that texts were added to
    learned: LearnedHead | None = None
    adapter: MergedAdapter | None = None
    embedding: EmbeddingSpec | None = None  # of the kind "embedding", which writes nothing
    recognition: Recognition | None = None  # of the kind "recognition", which reads pictures and writes nothing
    transcription: Transcription | None = None  # of the kind "transcription", which writes down speech
    is_checked: bool = True  # False: imported from a GGUF file; tokenizer and quality are not proven yet
    fault: Mapping[str, Any] | None = None  # what a check found, as `Translatable.as_data` gives it

    def __post_init__(self) -> None:
        """Raise ValueError for a stop id that the model cannot write. A head scores few of its target's tokens."""
        rows = math.inf if self.is_eagle or self.is_hydra else self.logit_rows
        if wrong := [index for index in self.tokenizer.stop_ids if not 0 <= index < rows]:
            raise ValueError(f"an answer ends with token {wrong[0]}, which the model does not have")

    @property
    def vocabulary(self) -> int:
        """The entries of its vocabulary, padding rows not counted."""
        return self.tokenizer.vocabulary

    @property
    def writes(self) -> bool:
        """The model continues texts: it makes no vectors, and reads no pictures and no speech."""
        return not (self.embedding or self.recognition or self.transcription)

    @property
    def is_eagle(self) -> bool:
        """The model is an EAGLE-3 head: it guesses from what its own target computes, and is no model by itself."""
        return "eagle3" in self.architecture.lower()

    @property
    def is_hydra(self) -> bool:
        """The model is a Hydra head: like an EAGLE-3 head, it guesses from what its own target computes."""
        return self.architecture == HYDRA


@dataclass(frozen=True)
class PairManifest:
    """A folder with `target/` and `draft/`, each a model folder of its own, whose vocabularies agree id by id."""

    name: str
    shared_ids: int
    created: str
    kind: str = "pair"
    schema: int = SCHEMA
    target: str = TARGET_FOLDER
    draft: str = DRAFT_FOLDER
    notes: tuple[str, ...] = field(default=())


def require_name(name: str) -> None:
    """Raise SettingsError unless a model, and its folder on any system, may have this name."""
    is_reserved = name == NO_DRAFT or name.partition(".")[0].rstrip().lower() in _DEVICES
    if not name or is_reserved or name != name.strip(" .") or not name.isprintable() or _SIGNS & set(name):
        raise SettingsError("{name!r} cannot be the name of a model; take letters, digits and dashes.", name=name)
    if (size := len(name.encode())) > MAX_NAME:
        raise SettingsError(
            "The name of a model has at most {most} bytes, and {name!r} has {size}; take a shorter one.",
            most=MAX_NAME,
            name=name,
            size=size,
        )


def read(folder: Path) -> Manifest | PairManifest:
    """Return the manifest of a model or pair folder. Raises BrokenModelError with the reason and the remedy."""
    path = folder / FILE_NAME
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BrokenModelError(
            "{folder} is not a Headstart model: {file_name} is missing; export it with `headstart models add`.",
            folder=folder,
            file_name=FILE_NAME,
        ) from None
    except OSError as error:
        raise UnreadableModelError(error) from None
    except (ValueError, RecursionError) as error:  # ValueError: no UTF-8, or no JSON
        raise BrokenModelError(
            "{path} cannot be read ({error}); export the model again.", path=path, error=error
        ) from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise BrokenModelError(
            "{path} was written for another version of Headstart; export the model again.", path=path
        )
    kind: type[Manifest] | type[PairManifest] = PairManifest if data.get("kind") == "pair" else Manifest
    try:
        return msgspec.convert(data, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the latter: a name with half a character
        raise BrokenModelError("{path} is damaged ({error}); export the model again.", path=path, error=error) from None


def head_folder(folder: Path) -> Path | None:
    """Return the folder of the head inside a model folder; None if it has none."""
    head = folder / HEAD_FOLDER
    return head if (head / FILE_NAME).is_file() else None


def read_model(folder: Path) -> Manifest:
    """Return the manifest of a folder that must hold one model. Raises BrokenModelError."""
    manifest = read(folder)
    if isinstance(manifest, PairManifest):
        raise BrokenModelError(
            "{folder} holds a pair; name its {target_folder} or {draft_folder} folder instead.",
            folder=folder,
            target_folder=TARGET_FOLDER,
            draft_folder=DRAFT_FOLDER,
        )
    return manifest


@dataclass(frozen=True)
class ModelSpec:
    """A model folder and its manifest."""

    folder: Path
    manifest: Manifest

    @classmethod
    def read(cls, folder: Path) -> "ModelSpec":
        """Read the manifest of a folder. Raises BrokenModelError."""
        return cls(folder, read_model(folder))


def write(folder: Path, manifest: Manifest | PairManifest) -> None:
    """Write atomically: a reader sees the old file or the new one, never half."""
    temporary = folder / f".{FILE_NAME}.{os.getpid()}.new"  # another process may write it, too
    temporary.write_text(
        json.dumps(dataclasses.asdict(manifest), indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    temporary.replace(folder / FILE_NAME)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def hash_files(folder: Path) -> dict[str, File]:
    """Return every file of the folder but manifests and unfinished files, by its relative POSIX path."""
    others = (path for path in folder.rglob("*") if path.name != FILE_NAME and not path.match(_UNFINISHED))
    paths = sorted(path for path in others if path.is_file())
    return {path.relative_to(folder).as_posix(): File(hash_file(path), path.stat().st_size) for path in paths}


def damaged_files(folder: Path, manifest: Manifest, *, hashes: bool) -> list[Translatable]:
    """Return a part of a sentence for each listed file that is missing or differs; without `hashes`, in size."""
    faults = []
    for name, listed in manifest.files.items():
        path = folder / name
        if not path.is_file():
            faults.append(Translatable("{name} is missing", name=name))
        elif path.stat().st_size != listed.size:
            faults.append(
                Translatable(
                    "{name} has {present} bytes instead of {wanted}",
                    name=name,
                    present=path.stat().st_size,
                    wanted=listed.size,
                )
            )
        elif hashes and hash_file(path) != listed.sha256:
            faults.append(Translatable("{name} does not have the content it was exported with", name=name))
    return faults


def command_to_replace(folder: Path, manifest: Manifest) -> str:
    """Return the command that exports an installed model again; a part of a pair is exported with its pair."""
    source = manifest.source
    if (folder.parent / FILE_NAME).is_file():
        name = folder.parent.name
    elif source.kind == "packages" or (source.kind == "hub" and source.sha256):  # of a recipe
        name = manifest.name
    else:
        name = source.path or source.id
    return f"`headstart models add {name} --force`"


def table_key(context: Sequence[int]) -> int:
    """Return the key in an n-gram table for what follows these one to three tokens."""
    key = 0
    for token in context:
        key = key << TABLE_BITS | token + 1  # 0 is no token: a shorter context has a key of its own
    return key
