"""Checks one GGUF file in a process of its own, because readers of this format die on damaged files.

`python -m headstart_export.gguf_probe FILE` prints one JSON object: {"facts": {...}} or {"fault": "..."}.
"""

import dataclasses
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart.errors import ExportError
from headstart_export import gguf_file

LIMIT = 120  # seconds; the metadata of the largest vocabularies takes a few


@dataclass(frozen=True)
class GgufFacts:
    """What the metadata says."""

    architecture: str
    parameters: int
    licence: str | None
    tokenizer_model: str | None
    tokenizer_splitting: str | None
    layers: int  # 0: it does not say


def probe(path: Path) -> GgufFacts:
    """The facts of a whole and sane file. Raises ExportError for any other."""
    command = [sys.executable, "-m", "headstart_export.gguf_probe", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise _damaged(path, f"reading its metadata took more than {LIMIT} s") from None
    except json.JSONDecodeError:
        raise _damaged(path, f"reading it ended a process with status {done.returncode}") from None
    if "fault" in answer:
        raise _damaged(path, answer["fault"])
    return GgufFacts(**answer["facts"])


def _damaged(path: Path, reason: str) -> ExportError:
    return ExportError(f"{path.name} is not a GGUF file that can be used: {reason}. Fetch it again.")


def _read(path: Path) -> GgufFacts:
    """Raises ValueError for whatever is wrong."""
    with path.open("rb") as stream:
        if stream.read(4) != b"GGUF":
            raise ValueError("it does not begin with the letters GGUF")
    reader = gguf_file.read(path)
    size = path.stat().st_size
    for tensor in reader.tensors:
        end = int(tensor.data_offset) + int(tensor.n_bytes)
        if end > size:
            raise ValueError(f"it ends at byte {size}, inside or before the tensor {tensor.name} (to byte {end})")
    if not reader.tensors:
        raise ValueError("it holds no tensors")

    return GgufFacts(
        architecture=str(gguf_file.value(reader, "general.architecture")),
        parameters=sum(int(tensor.n_elements) for tensor in reader.tensors),
        licence=gguf_file.value(reader, "general.license"),
        tokenizer_model=gguf_file.value(reader, "tokenizer.ggml.model"),
        tokenizer_splitting=gguf_file.value(reader, "tokenizer.ggml.pre"),
        layers=int(gguf_file.value(reader, f"{gguf_file.value(reader, 'general.architecture')}.block_count") or 0),
    )


def main() -> None:
    """Print the answer about the file named on the command line."""
    try:
        answer: dict[str, Any] = {"facts": dataclasses.asdict(_read(Path(sys.argv[1])))}
    except (ValueError, IndexError, KeyError, OverflowError, OSError) as error:
        answer = {"fault": str(error) or type(error).__name__}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
