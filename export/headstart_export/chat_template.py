"""What a model's chat template makes of a short conversation, found out in a process with a limit of time and size.

`python -m headstart_export.chat_template` reads one JSON request on standard input and prints one JSON answer.
"""

import dataclasses
import json
import sys
from dataclasses import dataclass
from typing import Any

from headstart.errors import ExportError
from headstart_export import convert, own_process, quiet

_MINUTES = 1  # a template takes milliseconds, the start of the process seconds
_MEMORY = 2 << 30  # bytes
_LONGEST = 1 << 20  # characters that four short messages may become
_MARK = "\u2042"  # stands for an answer when the template is asked how it ends one
_SYSTEM = {"role": "system", "content": "Be brief."}
_TURNS = [
    {"role": "user", "content": "What is 2 + 2?"},
    {"role": "assistant", "content": "It is 4."},
    {"role": "user", "content": "Grüße, 世界 🙂"},
]


@dataclass(frozen=True)
class Chat:
    """A conversation that the template takes, what it makes of it, and what it puts behind an answer."""

    turns: list[dict[str, str]]
    text: str
    tail: str


def require(tokenizer: Any, name: str) -> None:
    """Raise ExportError when a model could not chat."""
    if not tokenizer.chat_template:
        raise ExportError(
            f"{name} has no chat template, so it can be a draft but not answer; choose an instruct model."
        )


def read(tokenizer: Any) -> Chat | None:
    """None where there is no template. Raises ExportError for one that fails, does not end or writes without end."""
    if not tokenizer.chat_template:
        return None
    failure = "The chat template cannot be used ({}); choose another version of the model."
    try:
        template = tokenizer.get_chat_template()
    except ValueError as error:  # several, and none for ordinary conversations
        raise ExportError(failure.format(convert.first_line(error))) from None
    request = {"template": template, "tokens": tokenizer.special_tokens_map}
    return Chat(**json.loads(own_process.ask("chat_template", request, minutes=_MINUTES, failure=failure)))


def _read(template: str, tokens: dict[str, Any]) -> Chat:
    import jinja2  # noqa: PLC0415
    from transformers.utils.chat_template_utils import render_jinja_template  # noqa: PLC0415

    def rendered(turns: list[dict[str, str]], *, asks: bool) -> str:
        (text,), _ = render_jinja_template([turns], chat_template=template, add_generation_prompt=asks, **tokens)
        if len(text) > _LONGEST:
            raise ValueError(f"it makes {len(text)} characters of {len(turns)} short messages")
        return str(text)

    tail = rendered([{"role": "user", "content": "?"}, {"role": "assistant", "content": _MARK}], asks=False)
    tail = tail.rpartition(_MARK)[2].lstrip()
    try:
        return Chat([_SYSTEM, *_TURNS], rendered([_SYSTEM, *_TURNS], asks=True), tail)
    except jinja2.TemplateError:  # not every model knows system messages
        return Chat(_TURNS, rendered(_TURNS, asks=True), tail)


def _limit_memory() -> None:
    """Where the system can; elsewhere the limit of time ends what grows for ever."""
    try:
        import resource  # noqa: PLC0415
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))


def main() -> None:
    """Answer the request on standard input."""
    quiet.prepare()
    request = json.load(sys.stdin)
    _limit_memory()
    print(json.dumps(dataclasses.asdict(_read(**request))))


if __name__ == "__main__":
    main()
