"""Builds tiny tokenizers of the kinds that models have, converts each as an export does, and compares it with itself.

`python -m tests.export.checks.tokenizer_kinds FOLDER` writes a folder for each kind, and into `found.json` how many
texts were compared and the first difference, empty where there is none; behind "as OpenVINO does it", of the conversion
left to itself.
"""

import contextlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from headstart_export import process
from headstart_export.checks import tokenizer_proof
from headstart_export.conversion import convert
from tests.engine.text import tiny_tokenizers
from tests.stand_ins import tiny

FOUND = "found.json"
EVERY = 3  # of so many texts one is compared
ALONE = "as OpenVINO does it: "
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
TAGS = ("<code>", "</img>")  # as long as the name of a byte
WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LETTERS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + ENDINGS + "?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + ENDINGS + "?|"
)
SYMBOLS = r"[!-/:-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
ODD = "  \n\n    1.  a\n\n2.   b\n    3 | 4  ½ ١٢  \t\t x\r\n\r\n é ẍ 你好 한국어 "


def byte_level(*splits: Any, specials_first: bool = True, **model: Any) -> Any:
    """Return a byte-level BPE tokenizer whose text is split by these in turn."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: PLC0415

    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(list(splits)) if len(splits) > 1 else splits[0]
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=900,
        special_tokens=list(tiny.SPECIAL_TOKENS) if specials_first else [],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([*tiny._training_text(), *[ODD] * 20], trainer)
    return tokenizer


def split(*patterns: str) -> list[Any]:
    """Return a split for each pattern, as today's byte-level tokenizers have them."""
    from tokenizers import Regex, pre_tokenizers  # noqa: PLC0415

    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
    return [*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]


def gpt2() -> Any:
    """Return a tokenizer with GPT-2's own pre-tokenizer, which many others share."""
    from tokenizers import pre_tokenizers  # noqa: PLC0415

    return byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))


def digits() -> Any:
    """Return a tokenizer that splits digits before GPT-2's splitting, like SmolLM2 and StarCoder."""
    from tokenizers import pre_tokenizers  # noqa: PLC0415

    return byte_level(pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False))


def composed() -> Any:
    """Return a tokenizer with Qwen's splitting, after composing characters."""
    from tokenizers import normalizers  # noqa: PLC0415

    tokenizer = byte_level(*split(f"{ENDINGS}|{LETTERS}|\\p{{N}}|{TAIL}"))
    tokenizer.normalizer = normalizers.NFC()
    return tokenizer


def llama3() -> Any:
    """Return a tokenizer with markers at the end and no padding token: id 0 is "!"."""
    from tokenizers import AddedToken  # noqa: PLC0415

    pattern = f"{ENDINGS}|{LETTERS}|\\p{{N}}{{1,3}}|{TAIL}"
    tokenizer = byte_level(*split(pattern), specials_first=False, ignore_merges=True)
    tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text in tiny.SPECIAL_TOKENS])
    return tokenizer


def deepseek() -> Any:
    """Return a tokenizer that splits line ends, letters and punctuation, then digits, like DeepSeek's first models."""
    from tokenizers import pre_tokenizers  # noqa: PLC0415

    *splits, last = split("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+")
    return byte_level(*splits, pre_tokenizers.Digits(individual_digits=True), last)


def gemma() -> Any:
    """Return a tokenizer with a sign for the space, bytes, and runs of white space as added tokens."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers  # noqa: PLC0415

    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))  # noqa: S106
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    marks = ["<pad>", "<eos>", "<bos>", "<unk>", *tiny.SPECIAL_TOKENS, *TAGS, *BYTES]
    trainer = trainers.BpeTrainer(vocab_size=1200, special_tokens=marks, show_progress=False)
    tokenizer.train_from_iterator([*tiny._training_text(), *[ODD] * 20], trainer)
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = [token for token in data["added_tokens"] if token["content"] not in (*BYTES, *TAGS)]
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in TAGS])
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in ("\n\n", "\n\n\n", "▁▁", "▁▁▁▁")])
    return tokenizer


def phi3() -> Any:
    """Return a tokenizer like Llama 2's, with markers that take the white space behind them along."""
    from tokenizers import AddedToken  # noqa: PLC0415

    tokenizer = tiny_tokenizers._pieces(prepend=True)
    tokenizer.add_special_tokens([AddedToken(f"<|{text}|>", rstrip=True, normalized=False) for text in ("end", "user")])
    return tokenizer


KINDS: dict[str, Callable[[], Any]] = {
    "gpt-2": gpt2,
    "digits": digits,
    "smollm": lambda: byte_level(*split(r"\p{N}", WORDS)),
    "qwen": composed,
    "llama 3": llama3,
    "gpt-4o": lambda: byte_level(*split(CASED + r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")),
    "deepseek": deepseek,
    "deepseek 3": lambda: byte_level(*split(r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", SYMBOLS)),
    "llama 2": lambda: tiny_tokenizers._pieces(prepend=True),
    "mistral": lambda: tiny_tokenizers._pieces(prepend=False),
    "gemma": gemma,
    "phi 3": phi3,
}
JOINED = ("digits", "smollm", "deepseek 3")  # that OpenVINO's own conversion makes other tokens of
TAGGED = "gemma"  # that it writes otherwise
CONFIG = {"clean_up_tokenization_spaces": True}  # as Llama 3 has it, and nobody wants
NAMED = {"tokenizer_class": "LlamaTokenizerFast"}  # as DeepSeek names it, whatever its tokenizer is


def write_source(name: str, folder: Path) -> None:
    """Write the tokenizer in the form of a model on the hub."""
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

    PreTrainedTokenizerFast(tokenizer_object=KINDS[name](), **CONFIG).save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | NAMED), encoding="utf-8")
    (folder / "config.json").write_text('{"model_type": "llama"}', encoding="utf-8")


def compare(name: str, folder: Path, *, alone: bool = False) -> dict[str, Any]:
    """Write a tokenizer, read it again as an export does, convert and prove it."""
    source, converted = folder / name, folder / f"{name} converted"
    write_source(name, source)
    tokenizer = convert.load_tokenizer(source)
    free = contextlib.nullcontext
    with mock.patch.multiple(convert, _separate_splits=free, _whole_tags=free) if alone else free():
        convert.convert_tokenizer(tokenizer, converted)
    path = str(source / "tokenizer.json")
    texts, fault = tokenizer_proof.compare(str(converted), path, [])
    return {"texts": texts, "fault": fault}


def main() -> None:
    """Build and compare."""
    process.prepare()
    folder = Path(sys.argv[1])
    some = tokenizer_proof.texts()[::EVERY]
    tokenizer_proof.texts = lambda: some
    found = {name: compare(name, folder) for name in KINDS}
    found |= {ALONE + name: compare(name, folder / "alone", alone=True) for name in (*JOINED, TAGGED)}
    (folder / FOUND).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
