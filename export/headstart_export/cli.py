"""The `headstart-export` command: words in, one model folder out. Heavy libraries load only once work begins."""

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import headstart
from headstart import manifest, paths
from headstart.errors import HeadstartError
from headstart_export import bigram, catalogue, distil, ovms, progress, quiet
from headstart_export import order as orders
from headstart_export import recipe as recipes

TRUST_WARNING = "Warning: --trust-remote-code runs the Python code that comes with the model, as you, on this computer."


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 done, 1 refused or failed with a sentence, 2 wrong usage, 130 interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    command, made = next(((run, parser) for name, parser, run in COMMANDS if words[:1] == [name]), (_export, None))
    options = made().parse_args(words[1:]) if made else _parser().parse_args(words)
    try:
        with _ended_by_a_signal():
            command(options)
    except HeadstartError as error:
        print(f"headstart-export: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("headstart-export: interrupted; run it again to go on with what was fetched.", file=sys.stderr)
        return 130
    except Exception as error:  # noqa: BLE001 - no traceback for a person, whatever a library makes of a file
        if options.verbose:
            traceback.print_exc()
        reason = " ".join(str(error).split())[:300].rstrip(".")
        print(
            f"headstart-export: Something unexpected happened ({type(error).__name__}: {reason}); nothing half done "
            "was left. Add --verbose to see where, and report it.",
            file=sys.stderr,
        )
        return 1
    return 0


@contextlib.contextmanager
def _ended_by_a_signal() -> Iterator[None]:
    """A polite request to end, as at logout, cleans up as Ctrl+C does."""

    def end(_number: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headstart-export",
        description="Turn a language model into a checked folder that Headstart can load; with a draft, into a pair.",
        epilog="Recipes: " + ", ".join(recipes.names()) + ". "
        "`headstart-export bigram --help`: likely next tokens; `headstart-export distil --help`: train a draft.",
    )
    parser.add_argument("source", nargs="?", help="recipe, hub id, Hugging Face folder, or .gguf file")
    parser.add_argument(
        "--draft",
        metavar="SOURCE",
        help="a small model with the same vocabulary: makes a pair; `self`: the model's own int4 copy, "
        "which gains little (see export/README.md)",
    )
    parser.add_argument("--weights", choices=recipes.PRECISIONS, help="precision (default: the recipe's, else int8)")
    parser.add_argument("--draft-weights", choices=recipes.PRECISIONS, help="precision of the draft")
    parser.add_argument(
        "--draft-vocab", metavar="ROWS", help="tokens that the draft guesses among: 32k, 64k, a number, or full"
    )
    parser.add_argument("--revision", help="branch, tag or commit on the hub, such as the one that a manifest records")
    parser.add_argument("--draft-revision", metavar="REVISION", help="the draft's")
    _add_output(parser)
    return parser


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", type=Path, metavar="DIR", help="default: the library, under the model's name")
    parser.add_argument(
        "--force", action="store_true", help="replace the output if it exists, once the new one is done"
    )
    parser.add_argument("--if-missing", action="store_true", help="do nothing if the output exists")
    parser.add_argument(
        "--for", choices=("ovms",), dest="server", help="also write what OpenVINO Model Server needs to serve it"
    )
    parser.add_argument("--json", action="store_true", help="print JSON on standard output (also the list)")
    parser.add_argument("--trust-remote-code", action="store_true", help="run Python code that comes with the model")
    parser.add_argument("--verbose", action="store_true", help="show what the libraries underneath print")
    parser.add_argument("--list", action="store_true", help="list the recipes and stop")
    parser.add_argument("--version", action="version", version=f"headstart-export {headstart.__version__}")


def _export(options: argparse.Namespace) -> None:
    if options.list:
        _list_recipes(as_json=options.json)
        return
    if options.source is None:
        raise HeadstartError(
            "Name what to export: a recipe, a hub id, a folder or a .gguf file (--list shows recipes)."
        )
    order = orders.understand(_words(options))
    output = options.output or paths.models_folder() / order.name
    reporter = progress.reporter(sys.stderr)
    if options.if_missing and (output / manifest.FILE_NAME).is_file():
        reporter.note(f"{order.name} is exported already.")
        _serve(output, options.server, reporter)
        _print_result(output, as_json=options.json)
        return
    if options.trust_remote_code:
        reporter.note(TRUST_WARNING)
    from headstart_export import pipeline  # noqa: PLC0415

    with _libraries(verbose=options.verbose):
        result = pipeline.export(order, output, paths.cache_folder(), reporter, force=options.force)
    _serve(result, options.server, reporter)
    _print_result(result, as_json=options.json)


def _words(options: argparse.Namespace) -> orders.Words:
    return orders.Words(
        source=options.source,
        draft=options.draft,
        weights=options.weights,
        draft_weights=options.draft_weights,
        draft_vocab=options.draft_vocab,
        revision=options.revision,
        draft_revision=options.draft_revision,
        trust_remote_code=options.trust_remote_code,
    )


def _serve(output: Path, server: str | None, reporter: progress.Progress) -> None:
    if server:
        config = ovms.write(output)
        reporter.note(f"OpenVINO Model Server takes it with --config_path {config} and offers it under /v3.")


def _distil(options: argparse.Namespace) -> None:
    plan = distil.understand(options)
    output = options.output or paths.models_folder() / plan.order.name
    reporter = progress.reporter(sys.stderr)
    if options.trust_remote_code:
        reporter.note(TRUST_WARNING)
    from headstart_export import distillation  # noqa: PLC0415

    with _libraries(verbose=options.verbose):
        distillation.distil_pair(plan, output, paths.cache_folder(), reporter, force=options.force)
    print(distil.as_json(output) if options.json else output)


def _count_bigrams(options: argparse.Namespace) -> None:
    print(bigram.run(options, progress.reporter(sys.stderr)))


@contextlib.contextmanager
def _libraries(*, verbose: bool) -> Iterator[None]:
    """Work for the libraries underneath, whose words are for nobody unless can_show for."""
    quiet.prepare()
    if verbose:
        yield
        return
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, quiet.muted(nowhere):
        yield


def _print_result(output: Path, *, as_json: bool) -> None:
    if as_json:
        data = json.loads((output / manifest.FILE_NAME).read_text(encoding="utf-8"))
        print(json.dumps({"output": str(output), "manifest": data}, ensure_ascii=False))
    else:
        print(output)


def _list_recipes(*, as_json: bool) -> None:
    if as_json:
        print(json.dumps(catalogue.as_data()))
        return
    for item in catalogue.items():
        print(f"{item.name:32} {item.kind:6} {item.title} ({item.checked})")


COMMANDS: tuple[tuple[str, Callable[[], argparse.ArgumentParser], Callable[[argparse.Namespace], None]], ...] = (
    ("bigram", bigram.parser, _count_bigrams),
    ("distil", distil.parser, _distil),
)
