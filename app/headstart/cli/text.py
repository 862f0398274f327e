"""The `headstart text` command: the text of a PDF file, as it would go with a message. Knows no model."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from headstart.cli.command import Command
from headstart.cli.harmless import harmless
from headstart.engine.engine import Engine, LoadOptions
from headstart.errors import AttachmentError
from headstart.pdf_text import open_pdf, pages


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What may be asked."""
    parser.add_argument("file", type=Path, help="a PDF file")
    parser.add_argument(
        "--lines", action="store_true", help="as JSON lines with progress and errors, for other programs"
    )


def run(arguments: argparse.Namespace, _load: Callable[[LoadOptions], Engine]) -> int:
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


COMMAND = Command("text", "print the text of a PDF file, as it goes with a message", add_arguments, run)
