"""Model folders with a true manifest and a few bytes of "weights": enough for whatever loads no model."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from headstart.engine.engine import LoadOptions
from headstart.engine.loading.load_options import ResolvedOptions
from headstart.library import manifest, vocabulary
from headstart.library.manifest import Manifest, PairManifest, Precision, Quality, Source, TokenizerSpec

WORDS: Mapping[str, int] = {"a": 0, "Ġthe": 1, "Ġof": 2, "Ġand": 3}
CREATED = "2026-01-01T00:00:00+00:00"


def write_tokenizer(folder: Path, words: Mapping[str, int], added: Mapping[str, int] | None = None) -> None:
    """Write a `tokenizer.json` with this vocabulary, as BPE tokenizers do."""
    tokens = [{"id": index, "content": text} for text, index in (added or {}).items()]
    text = json.dumps({"model": {"type": "BPE", "vocab": words}, "added_tokens": tokens})
    (folder / vocabulary.FILE_NAME).write_text(text, encoding="utf-8")


def write_model(folder: Path, words: Mapping[str, int] = WORDS, *, rows: int = 8, licence: str = "Apache-2.0") -> Path:
    """Write a model folder whose manifest lists and hashes its files; return `folder`."""
    folder.mkdir(parents=True)
    write_tokenizer(folder, words)
    (folder / "openvino_model.xml").write_text("<net/>", encoding="utf-8")
    (folder / "openvino_model.bin").write_bytes(bytes(range(256)))
    manifest.write(folder, describe(folder, rows=rows, licence=licence))
    return folder


def write_pair(folder: Path, words: Mapping[str, int] = WORDS) -> Path:
    """Write a pair of two such models; return `folder`."""
    write_model(folder / manifest.TARGET_FOLDER, words)
    write_model(folder / manifest.DRAFT_FOLDER, words)
    manifest.write(folder, PairManifest(folder.name, shared_ids=len(words), created=CREATED))
    return folder


def resolved_model(folder: Path, options: LoadOptions, head: str | None = None) -> ResolvedOptions:
    """Return options for a model in a new folder; `head` is the name of an EAGLE-3 head that drafts."""
    target = manifest.ModelSpec.read(write_model(folder / "model"))
    draft = None
    if head is not None:
        draft = manifest.ModelSpec(
            folder / head, replace(target.manifest, name=head, architecture="LlamaForCausalLMEagle3")
        )
    return ResolvedOptions(options, target, draft)


def describe(folder: Path, *, rows: int = 8, licence: str = "Apache-2.0") -> Manifest:
    """Return the manifest that fits the files in `folder`."""
    files = manifest.hash_files(folder)
    tokens = vocabulary.read(folder)
    return Manifest(
        name=folder.name,
        role="any",
        source=Source("folder", "a test"),
        licence=licence,
        architecture="TestForCausalLM",
        parameters=1_500_000_000,
        precision=Precision("int8", "int8_asym"),
        tokenizer=TokenizerSpec(vocabulary.fingerprint(folder), len(tokens), (0,)),
        logit_rows=rows,
        context_length=4096,
        size_bytes=1_780_000_000,
        ram_bytes=2_100_000_000,
        kv_bytes_per_token=12_288,
        quality=Quality(512, 0.987, 0.004, 8.1, 8.2),
        files=files,
        versions={"openvino": "2026.4.1"},
        created=CREATED,
    )
