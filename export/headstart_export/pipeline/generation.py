"""The ids that end an answer, and the sampling defaults: the `generation_config.json` of a finished model."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from headstart.errors import ExportError
from headstart.library import vocabulary
from headstart_export.pipeline.job import read_config
from headstart_export.sources.recipe import ModelRecipe, Sampling
from headstart_export.sources.weights import SourceInfo

TOKEN_KEYS = ("bos_token_id", "eos_token_id", "pad_token_id")  # of config.json and generation_config.json
ENDS_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>", "<eos>", "</s>")


def write_generation_config(
    folder: Path,
    tokenizer: Any,
    recipe: ModelRecipe,
    tail: str,
    note: Callable[[str], None],
    info: SourceInfo | None = None,
) -> tuple[int, ...]:
    """Return every id that must end an answer, the chat's own marker first; call `note` for each plain word among them.

    `tail`: what the chat template puts behind an answer. `info`: of the source; the ids of a GGUF file count, because
    the configuration that is made of it has those that are usual for its architecture. `generation_config.json` learns
    the ids, and how the recipe, or else the file, has the model sampled. Raises ExportError for an id of no token.
    """
    path = folder / "generation_config.json"
    generation = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    words = vocabulary.read(folder)
    ends: Sequence[int] | None = info.ends if info else None
    if ends is None:
        configs = {path.name: generation, "config.json": read_config(folder)}
        ends = [index for file, data in configs.items() for index in _require_tokens(file, data, words)]
    else:
        generation = {key: value for key, value in generation.items() if key not in TOKEN_KEYS}
    known = {token.content: index for index, token in tokenizer.added_tokens_decoder.items()}
    specials = [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
    chat_ends = sorted((token for token in specials if tail.startswith(token)), key=len)[-1:]
    for token in recipe.chat.stop:
        if token not in known:
            raise ExportError(
                "The recipe says {token} ends an answer, but the tokenizer has no such token.", token=token
            )
    ids = [known[token] for token in (*recipe.chat.stop, *chat_ends)]
    ids += [*ends, *_as_list(tokenizer.eos_token_id), *(known[token] for token in ENDS_OF_TEXT if token in specials)]
    unique = tuple(dict.fromkeys(ids))
    if not unique:
        raise ExportError(
            "Neither the model nor its chat template says which token ends an answer, so it cannot be used."
        )
    marks = {*specials, *ENDS_OF_TEXT, *recipe.chat.stop}
    for index in unique:
        if words.get(index) not in marks and not tail.startswith(words.get(index, "")):
            word = tokenizer.decode([index]).strip()
            note(
                f"Warning: the word {word!r} ends an answer, as {recipe.title} says (token {index}). If answers break "
                "off, take another source of the model."
            )
    generation["eos_token_id"] = list(unique)
    if sampling := msgspec.to_builtins(recipe.sampling) or dict(info.sampling if info else ()):
        generation = {name: value for name, value in generation.items() if name not in Sampling.__struct_fields__}
        generation |= {"do_sample": True, **sampling}
    path.write_text(json.dumps(generation, indent=2) + "\n", encoding="utf-8")
    return unique


def _require_tokens(file: str, data: dict[str, Any], words: Mapping[int, str]) -> list[int]:
    """Return the ids that end an answer. Raises ExportError unless these and other special tokens exist."""
    for key in TOKEN_KEYS:
        for index in _as_list(data.get(key)):
            if type(index) is not int or index not in words:
                raise ExportError(
                    "{file} says that {key} is {index!r}, but the vocabulary has no such token; correct the file, or "
                    "fetch the model again.",
                    file=file,
                    key=key,
                    index=index,
                )
    return _as_list(data.get("eos_token_id"))


def _as_list(value: Any) -> list[Any]:
    """Return ids as a list; the file may have one, several or none."""
    return value if isinstance(value, list) else [] if value in (None, -1) else [value]
