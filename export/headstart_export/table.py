"""N-gram tables: the token that usually follows one to three others, in a model's answers or in texts."""

import argparse
import dataclasses
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart import paths
from headstart.errors import ExportError
from headstart.library import manifest, vocabulary
from headstart.library.manifest import TABLE_BITS, TABLE_CONTEXT
from headstart_export.answers import Text, prompts
from headstart_export.progress import Progress

MAX_TOKENS = 30_000_000  # of texts; what lies behind is not read
PLACES = 3  # guesses in a row whose acceptance is measured
_HELD_OUT = 4  # one answer in so many is not counted
MAX_ENTRIES = 124_000  # 16 bytes each: 2 MB
_MIN_CHANCE = 0.05  # of the likeliest token: the drafter guesses nothing less likely
_MAX_COUNT = 65_535  # of a count; larger ones keep their proportion

Tokens = NDArray[np.int64]
Counts = NDArray[np.float64]
Columns = Mapping[str, NDArray[Any]]  # keys, tokens, hits, seen: see `headstart.engine.drafters.table`
_NOTHING: Tokens = np.empty(0, np.int64)


def parser() -> argparse.ArgumentParser:
    """Return the parser for the options of `table`."""
    parser = argparse.ArgumentParser(
        prog="headstart-export table",
        description="Count your own texts into the table of what a model usually writes next. Each call adds to it.",
    )
    parser.add_argument("--model", required=True, metavar="NAME", help="installed model, pair (its target), or folder")
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument("--text", nargs="+", type=Path, metavar="PATH", help="UTF-8 files, or folders of them")
    task.add_argument("--remove", action="store_true", help="remove the model's table")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the table here and leave the model as it is")
    parser.add_argument("--verbose", action="store_true", help="show where something failed")
    return parser


def run(options: argparse.Namespace, progress: Progress) -> Path:
    """Count texts into a model's table, or remove it; return its path. Raises HeadstartError."""
    folder = model_folder(options.model)
    if options.remove:
        return remove(folder)
    described = manifest.read_model(folder)
    known = _read(folder / manifest.TABLE_FILE) if manifest.TABLE_FILE in described.files else None
    with progress.step(f"Counting the tokens of {len(options.text)} sources"):
        columns = count(list(_tokenized(folder, texts(options.text))), known)
    size = columns["keys"].size
    if not size:
        raise ExportError("The texts are too short to tell what usually follows what; give more of them.")
    progress.note(f"{size:,} entries")
    try:
        return write(columns, folder, options.output) if options.output else _install(columns, folder, described)
    except OSError as error:
        raise ExportError(f"The table cannot be written ({error}); choose another place with --output.") from None


def make(texts: Sequence[Text], folder: Path) -> manifest.TableSpec | None:
    """Write the table of a model's own answers into its folder, and evaluate it on answers that are not counted.

    None if there is nothing to count.
    """
    pieces = [np.array(prompt[-TABLE_CONTEXT:] + answer, np.int64) for prompt, answer in texts]
    # Each of the prompts that are made of a task and a subject has others that are like it: none of them is a trial.
    written_singly = len(prompts())
    held_out = pieces[:written_singly:_HELD_OUT]
    counted = [piece for at, piece in enumerate(pieces) if at % _HELD_OUT or at >= written_singly]
    columns = count(counted)
    if not columns["keys"].size:
        return None
    write(columns, folder)
    return manifest.TableSpec(sum(piece.size - TABLE_CONTEXT for piece in counted), *acceptance(columns, held_out))


def count(pieces: Sequence[Tokens], known: Columns | None = None) -> Columns:
    """Count the most frequent continuations in texts, beyond `known`. A piece's first tokens are only context."""
    sizes = range(1, TABLE_CONTEXT + 1)
    contexts = np.concatenate([_contexts(ids) for ids in [_NOTHING, *pieces]])
    following = np.concatenate([ids[TABLE_CONTEXT:] for ids in [_NOTHING, *pieces]])
    # What followed, and how often. Known entries name one token each: whatever else followed stands as token -1.
    parts = [(_keys_of(contexts, size), following, np.ones(following.size)) for size in sizes]
    if known is not None:
        hits, others = known["hits"].astype(float), (known["seen"] - known["hits"]).astype(float)
        parts += [(known["keys"], known["tokens"], hits), (known["keys"], np.full(others.size, -1), others)]
    best, tokens, hits, seen = _best(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    # From the last key on, as longer contexts have larger ones: among equals they say more.
    chosen = np.flatnonzero((tokens >= 0) & (hits / (seen + 1) >= _MIN_CHANCE))[::-1]
    chosen = np.sort(chosen[np.argsort(-hits[chosen], kind="stable")[:MAX_ENTRIES]])
    scale = np.minimum(1.0, _MAX_COUNT / np.maximum(seen[chosen], 1.0))
    return {
        "keys": best[chosen],
        "tokens": tokens[chosen].astype(np.int32),
        "hits": np.floor(scale * hits[chosen]).astype(np.uint16),
        "seen": np.floor(scale * seen[chosen]).astype(np.uint16),
    }


def _keys_of(contexts: Tokens, size: int) -> NDArray[np.uint64]:
    """Return `manifest.table_key` of the last `size` tokens of each context."""
    keys = np.zeros(len(contexts), np.uint64)
    for column in contexts.T[-size:]:
        keys = (keys << np.uint64(TABLE_BITS)) | (column + 1).astype(np.uint64)
    return keys


def _contexts(ids: Tokens) -> Tokens:
    """Return the tokens before each place of a text that has enough of them: [places, TABLE_CONTEXT]."""
    places = max(ids.size - TABLE_CONTEXT, 0)
    return np.stack([ids[back : back + places] for back in range(TABLE_CONTEXT)], axis=1)


def _best(
    keys: NDArray[np.uint64], following: Tokens, weights: Counts
) -> tuple[NDArray[np.uint64], Tokens, Counts, Counts]:
    """Return for each context, by rising key, its most frequent continuation, the count of that, and of all."""
    if not keys.size:
        return keys, following, weights, weights
    order = np.lexsort((following, keys))
    keys, following, weights = keys[order], following[order], weights[order]
    first = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]) | (following[1:] != following[:-1])))
    keys, following, weights = keys[first], following[first], np.add.reduceat(weights, first)
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    best = np.lexsort((-np.where(following < 0, 0.0, weights), keys))[starts]
    return keys[best], following[best], weights[best], np.add.reduceat(weights, starts)


def acceptance(columns: Columns, pieces: Iterable[Tokens]) -> tuple[tuple[float, ...], int]:
    """Return the acceptance rate of a table, and the number of places. A place without a guess counts as rejected."""
    width = TABLE_CONTEXT + PLACES
    windows = np.concatenate(
        [np.empty((0, width), np.int64)]
        + [np.lib.stride_tricks.sliding_window_view(ids, width) for ids in pieces if ids.size >= width]
    )
    rates, places = [], len(windows)
    for place in range(PLACES):
        right = _looked_up(columns, windows[:, place : place + TABLE_CONTEXT]) == windows[:, place + TABLE_CONTEXT]
        rates.append(float(right.mean()) if right.size else 0.0)
        windows = windows[right]
    return tuple(rates), places


def _looked_up(columns: Columns, contexts: Tokens) -> Tokens:
    """Return the usual continuation of each context; -1 for unknown ones."""
    found = np.full(len(contexts), -1)
    for size in range(1, TABLE_CONTEXT + 1):  # longer ones take the place of shorter ones
        keys = _keys_of(contexts, size)
        at = np.minimum(np.searchsorted(columns["keys"], keys), columns["keys"].size - 1)
        found = np.where(columns["keys"][at] == keys, columns["tokens"][at], found)
    return found


def write(columns: Columns, folder: Path, path: Path | None = None) -> Path:
    """Write a table for the vocabulary of a model folder atomically: into the folder, or elsewhere."""
    path = path or folder / manifest.TABLE_FILE
    header = json.dumps({"vocabulary": vocabulary.fingerprint(folder)}).encode()
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, header=np.frombuffer(header, np.uint8), **columns)
    return temporary.replace(path)


def _read(path: Path) -> Columns:
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return {name: stored[name] for name in ("keys", "tokens", "hits", "seen")}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ExportError(f"{path} is damaged ({error}); remove it with --remove.") from None


def _install(columns: Columns, folder: Path, described: manifest.Manifest) -> Path:
    """Put a table into a model folder. The manifest lists none meanwhile, so that a crash damages nothing."""
    described = _unlisted(folder, described)
    path = write(columns, folder)
    listed = manifest.File(manifest.hash_file(path), path.stat().st_size)
    manifest.write(folder, dataclasses.replace(described, files={**described.files, path.name: listed}))
    return path


def remove(folder: Path) -> Path:
    """Remove the table from a model folder. Raises ExportError if there is none, or if it cannot be removed."""
    described, path = manifest.read_model(folder), folder / manifest.TABLE_FILE
    if path.name not in described.files and not path.exists():
        raise ExportError(f"{described.name} has no table of usual words; --text makes one.")
    try:
        _unlisted(folder, described)
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ExportError(f"{path} cannot be removed ({error.strerror}); make its folder writable.") from None
    return path


def _unlisted(folder: Path, described: manifest.Manifest) -> manifest.Manifest:
    """Write and return the manifest without the table, so that nobody looks for its file."""
    files = {name: file for name, file in described.files.items() if name != manifest.TABLE_FILE}
    described = dataclasses.replace(described, files=files, table=None)
    manifest.write(folder, described)
    return described


def model_folder(name: str) -> Path:
    """Return the folder of an installed model, of "pair/target" or of a folder; for a pair, the target's."""
    installed = paths.models_folder() / name
    folder = installed if installed.is_dir() else Path(name)
    described = manifest.read(folder)
    return folder / described.target if isinstance(described, manifest.PairManifest) else folder


def texts(sources: Sequence[Path]) -> Iterator[str]:
    """Return the texts of files, and of UTF-8 files in folders. Raises ExportError for another named file."""
    for path in sources:
        if path.is_dir():
            found = (_text(file) for file in sorted(path.rglob("*")) if file.is_file())
            yield from (text for text in found if text is not None)
            continue
        text = _text(path)
        if text is None:
            raise ExportError(f"{path} is not UTF-8 text; convert it or leave it out.")
        yield text


def _text(path: Path) -> str | None:
    """Return a file's text; None if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None
    except OSError as error:
        raise ExportError(f"{path} cannot be read ({error.strerror}); leave it out.") from None


def _tokenized(folder: Path, corpus: Iterator[str]) -> Iterator[Tokens]:
    """Encode texts one by one; the name of a control token is text like any other."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / vocabulary.FILE_NAME))
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    left = MAX_TOKENS
    for text in corpus:
        ids = np.array(tokenizer.encode(text, add_special_tokens=False).ids[:left], np.int64)
        left -= ids.size
        yield ids
        if not left:
            break
