"""Recipes: what to export and where it comes from, as data in `models/*.toml`. Knows nothing of how it is done."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headstart.errors import ExportError

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
        raise ExportError(f"There is no model recipe {name!r}; there are {', '.join(names())}.")
    return recipe


def load(path: Path) -> Recipe:
    """Read one file. Raises ExportError with the field that is wrong."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return _pair(path.stem, data) if data.get("kind") == "pair" else _model(path.stem, data)
    except (OSError, tomllib.TOMLDecodeError, KeyError, RecursionError, TypeError, ValueError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ExportError(f"The recipe {path.name} is wrong: {reason}.") from None


def rows(text: str) -> int:
    """How many tokens "32k", "64k" or a number means; 0 for "full". Raises ValueError."""
    if text == FULL:
        return 0
    number, thousands = text.removesuffix("k"), text.endswith("k")
    if not (number.isascii() and number.isdecimal()) or int(number) < 1:
        raise ValueError(f"draft-vocab is {text!r} instead of 32k, 64k, another number of tokens, or full")
    return int(number) * (1024 if thousands else 1)


def _model(name: str, data: Mapping[str, Any]) -> ModelRecipe:
    known = {
        "title",
        "licence",
        "role",
        "weights",
        "parameters",
        "checked",
        "native",
        "notes",
        "chat",
        "sampling",
        "source",
    }
    _refuse_unknown(data, known)
    return ModelRecipe(
        name=name,
        title=_text(data, "title"),
        licence=_text(data, "licence"),
        role=_one_of(data["role"], ROLES, "role"),
        weights=_one_of(data["weights"], PRECISIONS, "weights"),
        parameters=_count(data, "parameters"),
        stop=_texts(_table(data.get("chat", {}), "chat").get("stop", []), "chat.stop"),
        checked=_one_of(data["checked"], CHECKS, "checked"),
        native=_truth(data.get("native", False), "native"),
        notes=_texts(data.get("notes", []), "notes"),
        sampling=_sampling(_table(data.get("sampling", {}), "sampling")),
        sources=tuple(_source(_table(entry, "source")) for entry in data["source"]),
    )


def _pair(name: str, data: Mapping[str, Any]) -> PairRecipe:
    known = {"kind", "title", "target", "draft", "target-weights", "draft-weights", "draft-vocab", "checked"}
    _refuse_unknown(data, known)
    return PairRecipe(
        name=name,
        title=_text(data, "title"),
        target=_text(data, "target"),
        draft=_text(data, "draft"),
        target_weights=_one_of(data["target-weights"], PRECISIONS, "target-weights"),
        draft_weights=_one_of(data["draft-weights"], PRECISIONS, "draft-weights"),
        checked=_one_of(data["checked"], CHECKS, "checked"),
        draft_vocab=rows(str(data.get("draft-vocab", FULL))),
    )


def _source(data: Mapping[str, Any]) -> Source:
    if data["kind"] == "hub":
        _refuse_unknown(data, {"kind", "id", "revision", "file", "sha256", "bytes"})
        return HubSource(
            id=_text(data, "id"),
            revision=_text(data, "revision"),
            file=data.get("file"),
            sha256=_sha256(data["sha256"]) if "file" in data else None,
            bytes=_count(data, "bytes"),
        )
    if data["kind"] == "packages":
        _refuse_unknown(data, {"kind", "package", "parts", "member", "sha256", "bytes"})
        parts = range(1, _count({"parts": 1, **data}, "parts", _MOST_PARTS) + 1)
        return PackageSource(
            packages=tuple(_numbered(data, "package", part) for part in parts),
            members=tuple(_numbered(data, "member", part) for part in parts),
            sha256=_sha256(data["sha256"]),
            bytes=_count(data, "bytes"),
        )
    raise ValueError(f"source.kind is {data['kind']!r} instead of 'hub' or 'packages'")


def _refuse_unknown(data: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(data.keys() - known)
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not a field of it")


def _text(data: Mapping[str, Any], key: str) -> str:
    if not isinstance(data[key], str) or not data[key]:
        raise ValueError(f"{key} is {data[key]!r} instead of a text")
    return str(data[key])


def _texts(value: Any, key: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{key} is {value!r} instead of a list of texts")
    return tuple(value)


def _truth(value: Any, key: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{key} is {value!r} instead of true or false")
    return value


def _count(data: Mapping[str, Any], key: str, most: int | None = None) -> int:
    if type(data[key]) is not int or data[key] <= 0 or (most is not None and data[key] > most):
        bound = f"from 1 to {most}" if most is not None else "above 0"
        raise ValueError(f"{key} is {data[key]!r} instead of a whole number {bound}")
    return int(data[key])


def _sampling(data: Mapping[str, Any]) -> Mapping[str, float]:
    _refuse_unknown(data, set(SAMPLING))
    for name, value in data.items():
        if type(value) not in ((int,) if name == "top_k" else (int, float)) or not value >= 0:
            raise ValueError(f"sampling.{name} is {value!r} instead of a number of 0 or more")
    return data


def _table(value: Any, key: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{key} is {value!r} instead of a table")
    return value


def _numbered(data: Mapping[str, Any], key: str, part: int) -> str:
    """The text with the part's number in it."""
    try:
        return _text(data, key).format(part=part)
    except (LookupError, AttributeError) as error:
        raise ValueError(f"{key} is {data[key]!r}, in which only {{part}} may stand in braces") from error


def _one_of(value: Any, choices: tuple[str, ...], key: str) -> str:
    if value not in choices:
        raise ValueError(f"{key} is {value!r} instead of one of {', '.join(choices)}")
    return str(value)


def _sha256(value: Any) -> str:
    if not isinstance(value, str) or len(value) != 64 or not set(value) <= _HEX:
        raise ValueError(f"sha256 is {value!r} instead of 64 hexadecimal digits")
    return value
