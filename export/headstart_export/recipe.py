"""Recipes: what to export and where it comes from, as data in `models/*.toml`."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headstart.errors import ExportError, Translatable

PRECISIONS = ("int8", "int8-sym", "int4", "int4-sym", "fp16")
ROLES = ("target", "draft", "any")
FULL = "full"  # a draft's whole vocabulary
_MOST_PARTS = 1000  # of one file, in as many packages
SAMPLING = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")
CHECKS = ("run", "not run in CI")
_HEX = frozenset("0123456789abcdef")
_COMMIT = 40  # digits


@dataclass(frozen=True)
class HubSource:
    """A repository of the Hugging Face hub; `file` names a GGUF in it, else its safetensors are meant."""

    id: str
    revision: str = "main"
    file: str | None = None
    sha256: str | None = None  # of `file`
    bytes: int = 0  # to download; 0: ask the hub

    @property
    def is_pinned(self) -> bool:
        """Whether it names one content for ever: by a commit, or by the hash of its file."""
        return bool(self.sha256) or (len(self.revision) == _COMMIT and set(self.revision) <= _HEX)


@dataclass(frozen=True)
class PackageSource:
    """A GGUF file in parts that travel inside Python packages, in order. They are data: nothing of theirs is run."""

    packages: tuple[str, ...]  # "name==version"
    members: tuple[str, ...]  # the part's path inside each package
    sha256: str  # of the joined file
    bytes: int  # of the joined file


@dataclass(frozen=True)
class LocalSource:
    """A Hugging Face folder or a GGUF file on this computer."""

    path: Path


Source = HubSource | PackageSource | LocalSource


@dataclass(frozen=True)
class ModelRecipe:
    """One model. `sources` come in order of preference; `stop` are chat markers that must end an answer.

    `sampling` takes the place of what the source's `generation_config.json` says, in its words.
    """

    name: str
    title: str
    licence: str | None  # None: read from the source
    role: str
    weights: str
    sources: tuple[Source, ...]
    parameters: int = 0  # 0: found out from the source
    stop: tuple[str, ...] = ()
    checked: str = CHECKS[0]
    native: bool = False  # Python code beside the weights is ignored: transformers has this architecture
    notes: tuple[str, ...] = ()
    sampling: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class PairRecipe:
    """Two models that share a vocabulary; `target` and `draft` name recipes."""

    name: str
    title: str
    target: str
    draft: str
    target_weights: str
    draft_weights: str
    checked: str = CHECKS[0]
    draft_vocab: int = 0  # tokens that the draft guesses among; 0: all


Recipe = ModelRecipe | PairRecipe


def folder() -> Path:
    """Where the recipes lie: inside the installed package, or in `models/` of a source tree."""
    installed = Path(__file__).parent / "recipes"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "models"


def names() -> list[str]:
    """Every recipe there is."""
    return sorted(path.stem for path in folder().glob("*.toml"))


def find(name: str) -> Recipe | None:
    """The recipe of this name, or None. Raises ExportError for a file that is wrong."""
    return load(folder() / f"{name}.toml") if name in names() else None


def find_model(name: str) -> ModelRecipe:
    """Like `find`, for a name that must be a single model."""
    recipe = find(name)
    if not isinstance(recipe, ModelRecipe):
        raise ExportError("There is no model recipe {name!r}; there are {names}.", name=name, names=", ".join(names()))
    return recipe


def load(path: Path) -> Recipe:
    """Read one file. Raises ExportError with the field that is wrong."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return _pair(path.stem, data) if data.get("kind") == "pair" else _model(path.stem, data)
    except (OSError, tomllib.TOMLDecodeError, KeyError, RecursionError, TypeError, ValueError) as error:
        reason = Translatable("{name} is missing", name=error) if isinstance(error, KeyError) else str(error)
        raise ExportError("The recipe {path} is wrong: {reason}.", path=path.name, reason=reason) from None


def rows(text: str) -> int:
    """How many tokens "32k", "64k" or a number means; 0 for "full". Raises ValueError."""
    if text == FULL:
        return 0
    number, thousands = text.removesuffix("k"), text.endswith("k")
    if not (number.isascii() and number.isdecimal()) or int(number) < 1:
        raise ValueError(f"draft-vocab is {text!r} instead of 32k, 64k, another number of tokens, or full")
    return int(number) * (1024 if thousands else 1)


def _model(name: str, data: Any) -> ModelRecipe:
    _check(data, "title licence role weights parameters checked source", "native notes chat sampling")
    chat, sampling = data.get("chat", {}), data.get("sampling", {})
    _check(chat, "", "stop")
    _check(sampling, "", " ".join(SAMPLING))
    return ModelRecipe(
        name=name,
        title=data["title"],
        licence=data["licence"],
        role=data["role"],
        weights=data["weights"],
        parameters=data["parameters"],
        stop=tuple(chat.get("stop", ())),
        checked=data["checked"],
        native=data.get("native", False),
        notes=tuple(data.get("notes", ())),
        sampling=sampling,
        sources=tuple(map(_source, data["source"])),
    )


def _pair(name: str, data: Any) -> PairRecipe:
    _check(data, "kind title target draft target-weights draft-weights checked", "draft-vocab")
    return PairRecipe(
        name=name,
        title=data["title"],
        target=data["target"],
        draft=data["draft"],
        target_weights=data["target-weights"],
        draft_weights=data["draft-weights"],
        checked=data["checked"],
        draft_vocab=rows(str(data.get("draft-vocab", FULL))),
    )


def _source(data: Any) -> Source:
    if not isinstance(data, dict):
        raise ValueError(f"source is {data!r} instead of a table")
    if data["kind"] == "hub":
        _check(data, "kind id revision bytes file sha256" if "file" in data else "kind id revision bytes")
        return HubSource(data["id"], data["revision"], data.get("file"), data.get("sha256"), data["bytes"])
    if data["kind"] == "packages":
        _check(data, "kind package member sha256 bytes", "parts")
        packages, members = (_numbered(data, key) for key in ("package", "member"))
        return PackageSource(packages, members, data["sha256"], data["bytes"])
    raise ValueError(f"source.kind is {data['kind']!r} instead of 'hub' or 'packages'")


def _numbered(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The text with each part's number in it."""
    try:
        return tuple(data[key].format(part=part) for part in range(1, data.get("parts", 1) + 1))
    except (LookupError, AttributeError) as error:
        raise ValueError(f"{key} is {data[key]!r}, in which only {{part}} may stand in braces") from error


def _check(data: Any, required: str, optional: str = "") -> None:
    """Raise KeyError or ValueError for a field that is missing, unknown, or of another kind than `_KINDS` has it."""
    for name in required.split():
        data[name]
    for name, value in data.items():
        if name not in (*required.split(), *optional.split()):
            raise ValueError(f"{name!r} is not a field of it")
        wanted, fits = _KINDS.get(name, _TEXT)
        if not fits(value):
            raise ValueError(f"{name} is {value!r} instead of {wanted}")


def _one_of(choices: tuple[str, ...]) -> tuple[str, Callable[[Any], bool]]:
    return f"one of {', '.join(choices)}", lambda value: value in choices


def _is_whole(value: Any) -> bool:
    return type(value) is int and value >= 0


_TEXT = ("a text", lambda value: isinstance(value, str) and value != "")
_TEXTS = ("a list of texts", lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value))
_COUNT = ("a whole number above 0", lambda value: _is_whole(value) and value > 0)
_NUMBER = ("a number of 0 or more", lambda value: type(value) in (int, float) and value >= 0)
_TABLE = ("a table", lambda value: isinstance(value, dict))
_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {  # of every field that is no text
    **dict.fromkeys(("weights", "target-weights", "draft-weights"), _one_of(PRECISIONS)),
    **dict.fromkeys(("parameters", "bytes"), _COUNT),
    **dict.fromkeys(("notes", "stop"), _TEXTS),
    **dict.fromkeys(("chat", "sampling"), _TABLE),
    **dict.fromkeys(SAMPLING, _NUMBER),
    "top_k": ("a whole number of 0 or more", _is_whole),
    "role": _one_of(ROLES),
    "checked": _one_of(CHECKS),
    "native": ("true or false", lambda value: isinstance(value, bool)),
    "source": ("a list of tables", lambda value: isinstance(value, list)),
    "sha256": (
        "64 hexadecimal digits",
        lambda value: isinstance(value, str) and len(value) == 64 and set(value) <= _HEX,
    ),
    "parts": (f"a whole number from 1 to {_MOST_PARTS}", lambda value: _is_whole(value) and 0 < value <= _MOST_PARTS),
    "draft-vocab": ("a number of tokens", lambda value: isinstance(value, str | int)),
}
