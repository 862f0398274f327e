"""The `headstart-export` command: words in, one model folder out. Heavy libraries load only once work begins."""

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

import headstart
from headstart import manifest, paths
from headstart.errors import HeadstartError
from headstart.manifest import Manifest, PairManifest
from headstart_export import bigram, progress, quiet
from headstart_export import order as orders
from headstart_export import recipe as recipes
from headstart_export.recipe import HubSource, ModelRecipe, PackageSource, PairRecipe
from headstart_export.room import STORED, TOKENIZER

TRUST_WARNING = "Warning: --trust-remote-code runs the Python code that comes with the model, as you, on this computer."
# Of OpenVINO Model Server. Fields and defaults: its `LLMCalculatorOptions`. Paths in the graph are relative to the
# graph's folder, those in the list of servables to the list's, so that the export can be carried or mounted anywhere.
GRAPH_FILE = "graph.pbtxt"
CONFIG_FILE = "ovms_config.json"  # config.json is the model's own
_GIB = 2**30
_CONTEXT = 8192  # tokens that are kept of each conversation, or all that the model has
_CONVERSATIONS = 4  # that one server keeps at once, while the others wait

_GRAPH = """\
input_stream: "HTTP_REQUEST_PAYLOAD:input"
output_stream: "HTTP_RESPONSE_PAYLOAD:output"

node: {{
  name: "LLMExecutor"
  calculator: "HttpLLMCalculator"
  input_stream: "LOOPBACK:loopback"
  input_stream: "HTTP_REQUEST_PAYLOAD:input"
  input_side_packet: "LLM_NODE_RESOURCES:llm"
  output_stream: "LOOPBACK:loopback"
  output_stream: "HTTP_RESPONSE_PAYLOAD:output"
  input_stream_info: {{
    tag_index: "LOOPBACK:0",
    back_edge: true
  }}
  node_options: {{
    [type.googleapis.com / mediapipe.LLMCalculatorOptions]: {{
{options}
    }}
  }}
  input_stream_handler {{
    input_stream_handler: "SyncSetInputStreamHandler",
    options {{
      [mediapipe.SyncSetInputStreamHandlerOptions.ext] {{
        sync_set {{
          tag_index: "LOOPBACK:0"
        }}
      }}
    }}
  }}
}}
"""


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
        epilog="Recipes: " + ", ".join(recipes.names()) + ". `headstart-export bigram --help`: likely next tokens.",
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
        config = write(output)
        reporter.note(f"OpenVINO Model Server takes it with --config_path {config} and offers it under /v3.")


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
        print(json.dumps(as_data()))
        return
    for item in items():
        print(f"{item.name:32} {item.kind:6} {item.title} ({item.checked})")


@dataclass(frozen=True)
class Item:
    """One recipe. Sizes are in bytes: the most that a source downloads and the result takes."""

    name: str
    kind: str  # "model" or "pair"
    title: str
    licence: str
    checked: str
    download: int
    result: int


def items() -> list[Item]:
    """Every recipe, by name."""
    return [_item(name) for name in recipes.names()]


def as_data() -> list[dict[str, object]]:
    """The same as JSON has it."""
    return [asdict(item) for item in items()]


def _item(name: str) -> Item:
    recipe = recipes.find(name)
    assert recipe is not None
    if isinstance(recipe, PairRecipe):
        target, draft = recipes.find_model(recipe.target), recipes.find_model(recipe.draft)
        parts = [(target, recipe.target_weights), (draft, recipe.draft_weights)]
    else:
        parts = [(recipe, recipe.weights)]
    return Item(
        name=name,
        kind="pair" if isinstance(recipe, PairRecipe) else "model",
        title=recipe.title,
        licence=", ".join(dict.fromkeys(part.licence or "" for part, _ in parts)),
        checked=recipe.checked,
        download=sum(_download(part) for part, _ in parts),
        result=_result(parts),
    )


def _download(recipe: ModelRecipe) -> int:
    return max(source.bytes for source in recipe.sources if isinstance(source, HubSource | PackageSource))


def _result(parts: Iterable[tuple[ModelRecipe, str]]) -> int:
    return sum(int(recipe.parameters * STORED[weights]) + TOKENIZER for recipe, weights in parts)


@dataclass(frozen=True)
class Part:
    """A model of the export by its place in it, and the whole gigabytes that its keys and values may take."""

    path: str
    cache: int


def write(folder: Path) -> Path:
    """Put graph and list beside the model or pair in `folder`; the path of the list. Raises HeadstartError."""
    read = manifest.read(folder)
    target, draft = _parts(folder, read)
    (folder / GRAPH_FILE).write_text(graph(target, draft), encoding="utf-8")
    config = folder / CONFIG_FILE
    servables = {"model_config_list": [], "mediapipe_config_list": [{"name": read.name, "base_path": "."}]}
    config.write_text(json.dumps(servables, indent=2) + "\n", encoding="utf-8")
    return config


def graph(target: Part, draft: Part | None = None) -> str:
    """The text of the graph. The cache of a draft is as large as it needs: by default it had that of the target."""
    options: dict[str, str | int | bool] = {
        "models_path": target.path,
        "device": "CPU",
        "cache_size": target.cache,
        "enable_prefix_caching": True,
        "max_num_seqs": _CONVERSATIONS,
    }
    if draft:
        options |= {"draft_models_path": draft.path, "draft_device": "CPU", "draft_cache_size": draft.cache}
    lines = (f"      {name}: {json.dumps(value)}," for name, value in options.items())
    return _GRAPH.format(options="\n".join(lines))


def _parts(folder: Path, read: Manifest | PairManifest) -> tuple[Part, Part | None]:
    if isinstance(read, Manifest):
        return Part("./", _cache(read)), None
    target, draft = (
        Part(f"./{name}", _cache(manifest.read_model(folder / name))) for name in (read.target, read.draft)
    )
    return target, draft


def _cache(model: Manifest) -> int:
    tokens = min(model.context_length, _CONTEXT) * _CONVERSATIONS
    return max(1, -(-tokens * model.kv_bytes_per_token // _GIB))


COMMANDS: tuple[tuple[str, Callable[[], argparse.ArgumentParser], Callable[[argparse.Namespace], None]], ...] = (
    ("bigram", bigram.parser, _count_bigrams),
)
