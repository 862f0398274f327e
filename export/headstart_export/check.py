"""Proves that a converted model is its source: the tokenizers agree, the chat template renders, quality is measured."""

from pathlib import Path
from typing import Any

from headstart.errors import ExportError
from headstart_export import convert, trial
from headstart_export.trial import Answer, Request

FILES = ("openvino_model.xml", "openvino_model.bin", "openvino_tokenizer.xml", "openvino_detokenizer.xml")
PROBES = (
    "Hello world, 2 + 2 = 4; isn't it? 1234567890",
    "  two spaces, a tab\tand a line\n\n    def indented(x):\r\n        return x  \n",
    "Größe, naïveté, Łódź, ελληνικά, Привет, мир!",
    "你好，世界。日本語のテキスト、한국어 문장입니다.",
    "שלום עולם، مرحبا بالعالم، नमस्ते दुनिया, สวัสดีชาวโลก",
    "🙂 🚀 👩‍👩‍👧 🇩🇪 → ∑ ≠ “quotes” … £€¥",
)
_TURNS = [
    {"role": "user", "content": "What is 2 + 2?"},
    {"role": "assistant", "content": "It is 4."},
    {"role": "user", "content": "Grüße, 世界 🙂"},
]
_SYSTEM = {"role": "system", "content": "Be brief."}


def check(folder: Path, tokenizer: Any, ids: list[int], reference: Path, width: int = 0) -> Answer:
    """Try the folder out and compare. `width` as in Request. Raises ExportError with the first thing that differs."""
    _require_files(folder)
    messages, chat = _render(tokenizer)
    texts = [*PROBES, *([chat] if chat else [])]
    request = Request(str(folder), str(reference), ids, texts, messages, width)
    answer = trial.run(request)
    for text, encoded, decoded in zip(texts, answer.encoded, answer.decoded, strict=True):
        _compare(text, encoded, decoded, tokenizer)
    if chat is not None and answer.chat != chat:
        raise ExportError(f"The chat template renders differently in OpenVINO: {answer.chat!r} instead of {chat!r}.")
    return answer


def require_round_trip(tokenizer: Any, name: str) -> None:
    """Raise ExportError unless a rebuilt tokenizer gives back every probe as it was."""
    for text in PROBES:
        back = tokenizer.decode(tokenizer(text, add_special_tokens=False).input_ids)
        if back != text:
            raise ExportError(
                f"The tokenizer rebuilt from {name} turns {text!r} into {back!r}; "
                "use the model's Hugging Face folder or hub id instead."
            )


def require_chat_template(tokenizer: Any, name: str) -> None:
    """Raise ExportError when a model could not chat."""
    if not tokenizer.chat_template:
        raise ExportError(
            f"{name} has no chat template, so it can be a draft but not answer; choose an instruct model."
        )


def _require_files(folder: Path) -> None:
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise ExportError(f"The conversion did not write {missing[0]}; nothing was kept.")


def _render(tokenizer: Any) -> tuple[list[dict[str, str]], str | None]:
    """A short conversation, with a system message where the template takes one."""
    if not tokenizer.chat_template:
        return [], None
    import jinja2  # noqa: PLC0415

    for messages in ([_SYSTEM, *_TURNS], _TURNS):
        try:
            text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        except jinja2.TemplateError as error:
            reason = convert.first_line(error)
            continue
        return messages, str(text)
    raise ExportError(f"The chat template cannot be rendered ({reason}); choose another version of the model.")


def _compare(text: str, encoded: list[int], decoded: str, tokenizer: Any) -> None:
    expected: list[int] = tokenizer(text).input_ids
    if encoded != expected:
        same = [first == second for first, second in zip(encoded, expected, strict=False)]
        place = same.index(False) if False in same else len(same)
        raise ExportError(
            f"The converted tokenizer differs from the original on {text!r}: at position {place} it has "
            f"{encoded[place : place + 3]} instead of {expected[place : place + 3]}."
        )
    back = tokenizer.decode(expected, clean_up_tokenization_spaces=False)
    if decoded != back:
        raise ExportError(f"The converted detokenizer turns {text!r} into {decoded!r} instead of {back!r}.")
