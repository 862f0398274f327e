"""Tables of likely next tokens, counted over a corpus; the entries that were right most often are kept."""

import argparse
import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart import manifest, paths, vocabulary
from headstart.errors import ExportError
from headstart_export.progress import Progress

MOST_ENTRIES = 200_000
MOST_TOKENS = 30_000_000  # of the corpus; what lies behind is not read
LEAST_COUNT = 4  # times that a context was seen
LEAST_CHANCE = 0.3  # of its most likely successor
_UNSEEN = 1.0  # counted in addition with each context, as a corpus is not the text to come
_SCALE = 255.0
_BATCH = 64  # files encoded at once

Tokens = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]


def parser() -> argparse.ArgumentParser:
    """The options of `bigram`."""
    made = argparse.ArgumentParser(
        prog="headstart-export bigram",
        description="Build a table of likely next tokens from text, for a model to guess with where it has no draft.",
    )
    made.add_argument("--model", required=True, metavar="NAME", help="installed model, pair (its target), or folder")
    task = made.add_mutually_exclusive_group(required=True)
    task.add_argument("--text", nargs="+", type=Path, metavar="PATH", help="files, or folders of them")
    task.add_argument("--remove", action="store_true", help="take the model's table out again")
    made.add_argument("--output", type=Path, metavar="FILE", help="default: into the model, listed in its manifest")
    made.add_argument("--verbose", action="store_true", help="show where something failed")
    return made


def run(options: argparse.Namespace, progress: Progress) -> Path:
    """Build and write the table, or remove it; return its path. Raises HeadstartError."""
    folder = _model_folder(options.model)
    if options.remove:
        return remove(folder)
    with progress.step(f"Counting the tokens of {len(options.text)} sources"):
        table = build(folder, texts(options.text), [path.name for path in options.text])
    size = table["keys"].size
    if not size:
        raise ExportError("The texts are too short to tell what usually follows what; give more of them.")
    progress.note(f"{size:,} entries")
    try:
        return write(table, options.output) if options.output else install(table, folder)
    except OSError as error:
        raise ExportError(f"The table cannot be written ({error}); choose another place with --output.") from None


def _model_folder(name: str) -> Path:
    """Of an installed model, "pair/target" or a folder; of a pair the target's."""
    installed = paths.models_folder() / name
    folder = installed if installed.is_dir() else Path(name)
    described = manifest.read(folder)
    return folder / described.target if isinstance(described, manifest.PairManifest) else folder


def texts(sources: Sequence[Path]) -> Iterator[str]:
    """The files, and every file of the folders that is UTF-8. Raises ExportError for a named file that is not."""
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
    """What a file says; None where it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None
    except OSError as error:
        raise ExportError(f"{path} cannot be read ({error.strerror}); leave it out.") from None


def build(folder: Path, corpus: Iterator[str], sources: Sequence[str]) -> Columns:
    """The table for the tokenizer of a model folder."""
    pieces = list(_tokenized(folder, corpus))
    pairs = _best(*_followed(pieces, 2))
    singles = _best(*_followed(pieces, 1))
    keys, tokens, hits, counts = (np.concatenate(columns) for columns in zip(pairs, singles, strict=True))
    chances = hits / (counts + _UNSEEN)
    telling = np.flatnonzero((counts >= LEAST_COUNT) & (chances >= LEAST_CHANCE))
    kept = telling[np.argsort(-hits[telling], kind="stable")[:MOST_ENTRIES]]
    kept = kept[np.argsort(keys[kept])]
    header = {
        "vocabulary": vocabulary.fingerprint(folder),
        "tokens": sum(piece.size for piece in pieces),
        "pairs": int(np.count_nonzero(keys[kept] >> np.uint64(32))),
        "singles": int(np.count_nonzero(keys[kept] >> np.uint64(32) == 0)),
        "sources": list(sources),
    }
    return {
        "header": np.frombuffer(json.dumps(header, ensure_ascii=False).encode(), np.uint8),
        "keys": keys[kept],
        "tokens": tokens[kept].astype(np.int32),
        "chances": np.round(chances[kept] * _SCALE).astype(np.uint8),
    }


def write(table: Columns, path: Path) -> Path:
    """Write a table atomically."""
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **table)
    return temporary.replace(path)


def install(table: Columns, folder: Path) -> Path:
    """Put a table into a model folder; in between the manifest lists none, so that a crash damages nothing."""
    described = _unlisted(folder)
    path = write(table, folder / manifest.BIGRAM_FILE)
    listed = manifest.File(manifest.hash_file(path), path.stat().st_size)
    manifest.write(folder, dataclasses.replace(described, files={**described.files, path.name: listed}))
    return path


def remove(folder: Path) -> Path:
    """Take the table out of a model folder. Raises ExportError where there is none, or where it cannot be removed."""
    described, path = manifest.read_model(folder), folder / manifest.BIGRAM_FILE
    if path.name not in described.files and not path.exists():
        raise ExportError(f"{described.name} has no table of likely next tokens; build one with --text.")
    try:
        _unlisted(folder)
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ExportError(f"{path} cannot be removed ({error.strerror}); make its folder writable.") from None
    return path


def _unlisted(folder: Path) -> manifest.Manifest:
    """The manifest, which no longer lists a table: without its entry nobody looks for the file."""
    described = manifest.read_model(folder)
    if manifest.BIGRAM_FILE in described.files:
        files = {name: file for name, file in described.files.items() if name != manifest.BIGRAM_FILE}
        described = dataclasses.replace(described, files=files)
        manifest.write(folder, described)
    return described


def _tokenized(folder: Path, corpus: Iterator[str]) -> Iterator[Tokens]:
    """Token ids, text by text; the name of a control token is text like any other."""
    from tokenizers import Tokenizer  # noqa: PLC0415

    tokenizer = Tokenizer.from_file(str(folder / vocabulary.FILE_NAME))
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    left = MOST_TOKENS
    for text in corpus:
        ids = np.array(tokenizer.encode(text, add_special_tokens=False).ids[:left], np.int64)
        left -= ids.size
        yield ids
        if not left:
            break


def _followed(pieces: Sequence[Tokens], size: int) -> tuple[NDArray[np.uint64], Tokens]:
    """The key of every context of `size` tokens, and the token that followed."""
    keys, following = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for ids in pieces:
        before = ids[:-2] + 1 if size == 2 else 0
        keys.append(((before << 32) + ids[size - 1 : -1] + 1).astype(np.uint64))
        following.append(ids[size:])
    return np.concatenate(keys), np.concatenate(following)


def _best(keys: NDArray[np.uint64], following: Tokens) -> tuple[NDArray[np.uint64], Tokens, Tokens, Tokens]:
    """Of each context: its key, the token that followed most often, how often that was, and how often any did."""
    if not keys.size:
        return keys, following, following, following
    order = np.lexsort((following, keys))
    keys, following = keys[order], following[order]
    first = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]) | (following[1:] != following[:-1])))
    runs = np.diff(np.append(first, keys.size))
    keys, following = keys[first], following[first]
    order = np.lexsort((-runs, keys))
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    best = order[starts]
    return keys[best], following[best], runs[best], np.add.reduceat(runs, starts)
