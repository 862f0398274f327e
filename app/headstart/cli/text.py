"""The `headstart dev text` command: the text of a PDF file, as it would go with a message. Knows no model."""

import json
from dataclasses import dataclass
from pathlib import Path

from headstart.cli.command import Load, argument, flag
from headstart.cli.render import harmless
from headstart.errors import AttachmentError
from headstart.pdf_text import open_pdf, pages


@dataclass(frozen=True, kw_only=True)
class TextFlags:
    """The flags of `headstart dev text`."""

    file: Path = argument("a PDF file", metavar="FILE")
    lines: bool = flag(default=False, help="as JSON lines with progress and errors, for other programs")


def run(arguments: TextFlags, _load: Load) -> int:
    """Print it. Raises AttachmentError."""
    if arguments.lines:
        return _run_for_programs(arguments.file)
    print(harmless("\n\n".join(pages(arguments.file, open_pdf(arguments.file)))))
    return 0


def _run_for_programs(path: Path) -> int:
    """Every line is `{"page", "pages"}`, then one is `{"text"}` or `{"error"}`; ASCII, whatever the terminal takes."""
    try:
        reader = open_pdf(path)
        found = []
        for number, text in enumerate(pages(path, reader), start=1):
            found.append(text)
            print(json.dumps({"page": number, "pages": len(reader.pages)}), flush=True)
    except AttachmentError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return 1
    print(json.dumps({"text": "\n\n".join(found)}), flush=True)
    return 0
