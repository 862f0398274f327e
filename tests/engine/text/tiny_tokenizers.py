"""Trains tiny tokenizers of the usual kinds, with what transformers makes of some texts.

`python -m tests.engine.text.tiny_tokenizers FOLDER` builds them all, in a process of its own.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headstart_export import process
from tests.stand_ins import tiny

BYTE_LEVEL = "byte-level"  # as Qwen and Llama 3
SENTENCEPIECE = "sentencepiece"  # as Llama 2: a space before every beginning, byte fallback, BOS
METASPACE = "metaspace"  # the same, but a space before the first beginning only
TIDYING = "tidying"  # swallows spaces before punctuation
UNTEMPLATED = "untemplated"
KINDS = (BYTE_LEVEL, SENTENCEPIECE, METASPACE)
EXPECTED = "expected.json"  # {"texts": [[text, ids], ...], "messages": [...], "prompt": ids}

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
PIECE_SPECIAL = ("<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>")
INFILL = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_sep|>")
VISIBLE = ("<think>", "</think>", "\n\n", *INFILL)  # added tokens that are not special
BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(256))
SAMPLES = (
    "The quick brown fox  jumps over\n\tthe lazy dog, doesn't it?",
    "def add(a, b):\n    return a + b  # 1234567\n",
    "Größe, naïveté, Привет, 你好世界, こんにちは, مرحبا",
    "👩‍👩‍👧‍👦 🙂🚀",
    "x",
    "",
)
MESSAGES = (("system", "Be brief."), ("user", "Hello, world!"), ("assistant", "Hi."), ("user", "你好 🚀?"))
CHAT_TEMPLATE = "{{ bos_token if bos_token is defined and bos_token else '' }}" + tiny.CHAT_TEMPLATE


def build(folder: Path) -> None:
    """Write one folder per kind: tokenizer.json, chat template, the two OpenVINO models and EXPECTED."""
    process.prepare()
    _save(folder / BYTE_LEVEL, _byte_level(), eos_token=SPECIAL[2], chat_template=CHAT_TEMPLATE)
    _save(folder / UNTEMPLATED, _byte_level(), eos_token=SPECIAL[2])
    _save(folder / TIDYING, _byte_level(), chat_template=CHAT_TEMPLATE, clean_up_tokenization_spaces=True)
    marks = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    _save(folder / SENTENCEPIECE, _pieces(prepend=True), **marks, chat_template=CHAT_TEMPLATE)
    _save(folder / METASPACE, _pieces(prepend=False), **marks, chat_template=CHAT_TEMPLATE)


def _byte_level() -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: PLC0415

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(_training_text(), trainer)
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in VISIBLE])
    return tokenizer


def _pieces(*, prepend: bool) -> Any:
    """Return a BPE tokenizer over characters, with ▁ for the space."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers  # noqa: PLC0415

    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token=PIECE_SPECIAL[0], fuse_unk=True))
    if prepend:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=[*PIECE_SPECIAL[:3], *BYTE_TOKENS, *PIECE_SPECIAL[3:]], show_progress=False
    )
    words = [word for line in _training_text() for word in line.split(" ")]
    words += ["\n|im_"] * 50  # learnt as one token: what follows a newline need not begin a token
    tokenizer.train_from_iterator(words, trainer)
    return Tokenizer.from_str(_as_converted(tokenizer.to_str()))


def _as_converted(text: str) -> str:
    """Make bytes ordinary tokens and put BOS first, as tokenizers converted from SentencePiece do."""
    data = json.loads(text)
    data["added_tokens"] = [token for token in data["added_tokens"] if token["content"] not in BYTE_TOKENS]
    sequence = {"Sequence": {"id": "A", "type_id": 0}}
    beginning = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    data["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [beginning, sequence],
        "pair": [beginning, sequence, sequence],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
    }
    return json.dumps(data)


def _training_text() -> Iterable[str]:
    yield from tiny.LICENCE_TEXT.read_text(encoding="utf-8").splitlines(keepends=True)
    yield from SAMPLES


def _save(folder: Path, tokenizer: Any, **options: Any) -> None:
    import openvino  # noqa: PLC0415
    from openvino_tokenizers import convert_tokenizer  # noqa: PLC0415
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

    options = {"clean_up_tokenization_spaces": False, **options}
    # A length that no prompt of a test keeps: whoever cuts to it is found out.
    reference = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=16, **options)
    reference.save_pretrained(folder)
    encoder, decoder = convert_tokenizer(reference, with_detokenizer=True)
    openvino.save_model(encoder, folder / "openvino_tokenizer.xml")
    openvino.save_model(decoder, folder / "openvino_detokenizer.xml")
    (folder / EXPECTED).write_text(json.dumps(_expected(reference)), encoding="utf-8")


def _expected(reference: Any) -> dict[str, Any]:
    messages = [{"role": role, "content": content} for role, content in MESSAGES]
    prompt = []
    if reference.chat_template:
        prompt = reference.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    texts = [[text, reference.encode(text, add_special_tokens=False)] for text in SAMPLES]
    return {"texts": texts, "messages": messages, "prompt": prompt}


if __name__ == "__main__":
    build(Path(sys.argv[1]))
