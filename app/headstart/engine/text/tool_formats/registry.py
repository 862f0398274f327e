"""The known formats of calls. A new family needs a file and a line here."""

from headstart.engine.engine import Tool
from headstart.engine.text.tool_formats import gemma, gemma_python, harmony, llama, mistral, qwen_coder
from headstart.engine.text.tool_formats.form import CallFormat, NoCallError, UnfinishedError

FORMATS = (
    mistral.FORMAT,
    qwen_coder.FORMAT,
    gemma.FORMAT,
    gemma_python.FORMAT,
    harmony.FORMAT,
    llama.FORMAT,
)


def format_of(rendered: str, probe: Tool, arguments: str) -> CallFormat | None:
    """Return the format that a template uses for the call of the tool `probe`; None if it is not known."""
    for format_ in FORMATS:
        marks = (*format_.marks, *filter(None, [format_.bare]))
        places = (at for mark in marks for at in range(len(rendered)) if rendered.startswith(mark, at))
        if any(_is_call(format_, rendered[at:], probe, arguments) for at in places):
            return format_
    return None


def _is_call(format_: CallFormat, text: str, probe: Tool, arguments: str) -> bool:
    try:
        found = format_.read(text, [probe])
    except (NoCallError, UnfinishedError):
        return False
    return any(call.arguments == arguments for call in found.calls)
