"""The `headstart-export` command. Heavy libraries load only once work begins."""

import argparse
import contextlib
import dataclasses
import difflib
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import psutil

import headstart
from headstart import paths
from headstart.engine.loading.memory import need
from headstart.errors import ExporterNeededError, ExportError, FailedCheckError, HeadstartError, Translatable
from headstart.library import manifest
from headstart.library.manifest import Footprint, Manifest
from headstart_export import forms, process, progress, table
from headstart_export.conversion import quantize
from headstart_export.sources import recipe as recipes
from headstart_export.sources.recipe import HubSource, PackageSource, PairOrder, PairRecipe

TRUST_WARNING = "Warning: --trust-remote-code runs the Python code that comes with the model, as you, on this computer."
# Files for OpenVINO Model Server. Fields and defaults: its `LLMCalculatorOptions`. Paths in the graph are relative to
# the graph's folder, paths in the list of servables to the list's, so the export can be moved or mounted anywhere.
GRAPH_FILE = "graph.pbtxt"
CONFIG_FILE = "ovms_config.json"  # config.json is the model's
_GIB = 2**30
_CONTEXT = 8192  # tokens of a conversation in the KV cache, at most
_CONVERSATIONS = 4  # in the KV cache at once; others wait

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
    """Run the command. Exit status: 0 done, 1 refused or failed, 2 wrong usage, 3 needs PyTorch, 130 interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["table"]:
        command, options = _count_texts, table.parser().parse_args(words[1:])
    elif words[:1] == ["head"]:
        from headstart_export.heads import head

        command, options = _make_head, head.parser().parse_args(words[1:])
    elif words[:1] == ["verify"]:
        command, options = _verify, _verify_parser().parse_args(words[1:])
    elif words[:1] == ["check"]:
        command, options = _check, _check_parser().parse_args(words[1:])
    else:
        command, options = _export, _parser().parse_args(words)
    try:
        with _ended_by_a_signal():
            command(options)
    except ExporterNeededError as error:
        if not getattr(options, "defer_checks", False):  # else Headstart sets the exporter up and calls again
            _failed(error.text, options)
        return ExporterNeededError.export_status
    except HeadstartError as error:
        return _failed(error.text, options)
    except KeyboardInterrupt:
        print("headstart-export: interrupted; run it again to go on with what was fetched.", file=sys.stderr)
        return 130
    except Exception as error:  # noqa: BLE001 - no traceback for a person, whatever a library makes of a file
        if options.verbose:
            traceback.print_exc()
        reason = " ".join(str(error).split())[:300].rstrip(".")
        sentence = Translatable(
            "Something unexpected happened ({kind}: {reason}); nothing half done was left. Add --verbose to see where, "
            "and report it.",
            kind=type(error).__name__,
            reason=reason,
        )
        return _failed(sentence, options)
    return 0


def _failed(sentence: Translatable, options: argparse.Namespace) -> int:
    """Print the error, also as JSON if --json asks for it. Return the exit status."""
    print(f"headstart-export: {sentence}", file=sys.stderr)
    if getattr(options, "json", False):
        print(json.dumps({"error": sentence.as_data()}), flush=True)
    return 1


@contextlib.contextmanager
def _ended_by_a_signal() -> Iterator[None]:
    """Context manager in which Ctrl+C and SIGTERM, as at logout, raise KeyboardInterrupt."""
    signals = (signal.SIGINT, signal.SIGTERM)
    previous = [signal.signal(each, signal.default_int_handler) for each in signals]
    try:
        yield
    finally:
        for each, handler in zip(signals, previous, strict=True):
            signal.signal(each, handler)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headstart-export",
        description="Turn a language model into a checked folder that Headstart can load; with a draft, into a pair.",
        epilog="Recipes: " + ", ".join(recipes.names()) + ". "
        "`headstart-export verify --help`: prove an export again; `headstart-export table --help`: count texts of "
        "yours; `headstart-export head --help`: make a draft head that learns on this computer.",
    )
    parser.add_argument(
        "source",
        nargs="?",
        help="recipe (fast, with INT4 weights: NAME-int4), hub id, Hugging Face folder, or .gguf file",
    )
    _add_source_options(parser)
    choices: dict[str, Any] = {"choices": recipes.PRECISIONS, "type": lambda name: recipes.OLD_NAMES.get(name, name)}
    parser.add_argument(
        "--weights",
        **choices,
        help="precision: int8 is precise, int4 is fast, gguf keeps the 4-bit weights of a GGUF file as they are "
        "(default: the recipe's, else gguf of such a file, and int8); any but the default becomes a part of the "
        "model's name",
    )
    parser.add_argument(
        "--fit",
        action="store_true",
        help="of a recipe without --weights: take int4 where only that fits into the memory and is good enough",
    )
    parser.add_argument("--draft-weights", **choices, help="precision of the draft")
    parser.add_argument(
        "--draft-vocab", metavar="ROWS", help="tokens that the draft guesses among: 32k, 64k, a number, or full"
    )
    parser.add_argument(
        "--calibration",
        choices=quantize.CALIBRATIONS,
        help="fit INT4 to the model's own answers: awq (with scale estimation), gptq (with both) or none (default); "
        "slow, see app/docs/models.md",
    )
    parser.add_argument(
        "--ratio",
        type=float,
        help="share of the layers' weights that become INT4, such as 0.8; the most sensitive others become INT8 "
        "(default: all of them, or fewer where that is not good enough)",
    )
    parser.add_argument(
        "--group-size", type=int, metavar="N", help="INT4 weights that share a scale (default: 128); -1: a whole row"
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="default: the library, under the model's name")
    parser.add_argument(
        "--force", action="store_true", help="replace the output if it exists, once the new one is done"
    )
    parser.add_argument(
        "--if-missing", action="store_true", help="do nothing if the output exists, unless --force is given"
    )
    parser.add_argument(
        "--defer-checks",
        action="store_true",
        help="leave the proof of a GGUF file's tokenizer and the quality for `headstart-export check`",
    )
    parser.add_argument(
        "--for", choices=("ovms",), dest="server", help="also write what OpenVINO Model Server needs to serve it"
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON on standard output (also the list, and an error)"
    )
    parser.add_argument("--list", action="store_true", help="list the recipes and stop")
    parser.add_argument(
        "--architectures", action="store_true", help="with --list: the kinds of models that can be exported"
    )
    parser.add_argument("--version", action="version", version=f"headstart-export {headstart.__version__}")
    return parser


def _verify_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headstart-export verify",
        description="Prove an exported model or pair again: its files, its tokenizer and chat template, and how far it "
        "is from its source.",
    )
    parser.add_argument("name", help="an exported model of the library, or its folder")
    parser.add_argument(
        "--against", metavar="SOURCE", dest="source", required=True, help="recipe, hub id, folder or .gguf file"
    )
    _add_source_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON on standard output (also an error)")
    return parser


def _check_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headstart-export check",
        description="Make the checks that an import left for later: prove the tokenizer, and measure the quality.",
    )
    parser.add_argument("name", help="an imported model or pair of the library, or its folder")
    parser.add_argument("--background", action="store_true", help="leave the processor to others")
    parser.add_argument("--json", action="store_true", help="print JSON on standard output (also an error)")
    parser.add_argument("--verbose", action="store_true", help="show what the libraries underneath print")
    parser.set_defaults(trust_remote_code=False)
    return parser


def _add_source_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--draft",
        metavar="SOURCE",
        help="a small model with the same vocabulary: makes a pair",
    )
    parser.add_argument("--from", metavar="FILE", dest="local", help="take a recipe's weights from this file or folder")
    parser.add_argument(
        "--template", type=Path, metavar="FILE", help="the chat template, in the place of the model's own"
    )
    parser.add_argument(
        "--adapter",
        type=Path,
        metavar="DIR",
        help="merge this LoRA adapter, a folder that PEFT saved, into the weights",
    )
    parser.add_argument("--revision", help="branch, tag or commit on the hub, such as the one that a manifest records")
    parser.add_argument("--draft-revision", metavar="REVISION", help="the draft's")
    parser.add_argument("--trust-remote-code", action="store_true", help="run Python code that comes with the model")
    parser.add_argument("--verbose", action="store_true", help="show what the libraries underneath print")


def _export(options: argparse.Namespace) -> None:
    if options.architectures:
        _list_architectures(as_json=options.json)
        return
    if options.list:
        _list_recipes(as_json=options.json)
        return
    if options.source is None:
        raise HeadstartError(
            "Name what to export: a recipe, a hub id, a folder or a .gguf file (--list shows recipes)."
        )
    reporter = progress.reporter(sys.stderr)
    form = _fitting_form(options)
    if form:
        options.weights = form.weights
        reporter.note(form.reason)
    must_be_good = form is not None and form.is_for_memory
    order = _order(options)
    output = options.output or paths.models_folder() / order.name
    manifest.require_name(output.absolute().name)
    if options.if_missing and not options.force and (output / manifest.FILE_NAME).is_file():
        reporter.note(f"{order.name} is exported already.")
    else:
        if options.server:
            models = (order.target, order.draft) if isinstance(order, PairOrder) else (order,)
            _require_servable(order.name, keeps_blocks=any(model.weights == recipes.AS_IN_FILE for model in models))
        with _libraries(options, reporter):
            from headstart_export.pipeline import build

            if cost := forms.cost(order):
                reporter.note(cost)
            build.export(
                order,
                output,
                paths.cache_folder(),
                reporter,
                force=options.force,
                defers_checks=options.defer_checks and not must_be_good,
            )
            if must_be_good:
                _require_quality(output)
    if options.server:
        config = configure_server(output)
        reporter.note(f"OpenVINO Model Server takes it with --config_path {config} and offers it under /v3.")
    _print(output, as_json=options.json)


def _fitting_form(options: argparse.Namespace) -> forms.Form | None:
    """Return the form that --fit chooses; None if something else decides."""
    named = recipes.find(options.source) if options.fit and options.weights is None else None
    if named is None or options.output:
        return None
    installed = [path.parent.name for path in paths.models_folder().glob(f"*/{manifest.FILE_NAME}")]
    return forms.choose(named, psutil.virtual_memory().available, installed)


def _require_quality(output: Path) -> None:
    """Remove a model that is not good enough, and raise ExportError."""
    try:
        forms.require_quality(output)
    except ExportError:
        shutil.rmtree(output)
        raise


def _order(options: argparse.Namespace) -> recipes.Order:
    arguments: dict[str, Any] = {name: getattr(options, name, None) for name in recipes.Arguments.__struct_fields__}
    return recipes.parse_order(recipes.Arguments(**arguments))


def _check(options: argparse.Namespace) -> None:
    folder = _installed(options.name)
    if options.background:
        psutil.Process().nice(psutil.IDLE_PRIORITY_CLASS if sys.platform == "win32" else 19)
    reporter = progress.reporter(sys.stderr)
    with _libraries(options, reporter):
        from headstart_export.pipeline import check

        try:
            check.check(folder, paths.cache_folder(), reporter)
        except FailedCheckError as error:
            if options.json:
                print(json.dumps({"failed_check": error.text.as_data()}), flush=True)
            raise
    _print(folder, as_json=options.json)


def _installed(name: str) -> Path:
    folder = Path(name).expanduser() if os.sep in name else paths.models_folder() / name
    if name.strip() and paths.exists(folder / manifest.FILE_NAME):
        return folder
    installed = [path.parent.name for path in paths.models_folder().glob(f"*/{manifest.FILE_NAME}")]
    alike = difflib.get_close_matches(name, installed) or sorted(installed)
    raise HeadstartError(
        "{name!r} is not an exported model; there are {names}.", name=name, names=", ".join(alike) or "none"
    )


def _verify(options: argparse.Namespace) -> None:
    folder = _installed(options.name)
    reporter = progress.reporter(sys.stderr)
    with _libraries(options, reporter):
        from headstart_export.pipeline import verify

        verified = verify.verify(_order(options), folder, paths.cache_folder(), reporter)
    if options.json:
        print(json.dumps({"verified": [dataclasses.asdict(model) for model in verified]}))
        return
    for model in verified:
        loss = f", KL {model.quality.mean_kl:.4f}" if model.quality else ""
        print(
            f"{model.name} is what it was made from: its files have their hashes, its tokenizer agrees on "
            f"{model.texts} texts, and it agrees with its source on {model.agreement:.1%}{loss}."
        )


def _make_head(options: argparse.Namespace) -> None:
    from headstart_export.heads import head

    reporter = progress.reporter(sys.stderr)
    with _libraries(options, reporter):
        output = head.run(options, paths.cache_folder(), reporter)
    _print(output, as_json=options.json)


def _count_texts(options: argparse.Namespace) -> None:
    print(table.run(options, progress.reporter(sys.stderr)))


def _print(output: Path, *, as_json: bool) -> None:
    data = json.loads((output / manifest.FILE_NAME).read_text(encoding="utf-8"))
    print(json.dumps({"output": str(output), "manifest": data}, ensure_ascii=False) if as_json else output)


@contextlib.contextmanager
def _libraries(options: argparse.Namespace, reporter: progress.Progress) -> Iterator[None]:
    """Context manager for calls of other libraries, which hides their output unless --verbose shows it."""
    if options.trust_remote_code:
        reporter.note(TRUST_WARNING)
    process.prepare()
    if options.verbose:
        yield
        return
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, process.muted(nowhere):
        yield


def _list_architectures(*, as_json: bool) -> None:
    from headstart_export.gguf import decoder
    from headstart_export.sources import weights

    own = {kind.model_type for kind in decoder.ARCHITECTURES.values()}  # whose graph tests compare
    in_gguf, in_safetensors = {*weights.GGUF.values(), *own}, {*weights.TRIED, *weights.UNTRIED}
    rows = [
        {
            "architecture": kind,
            "tried": kind in weights.TRIED or kind in own,
            "safetensors": kind in in_safetensors,
            "gguf": kind in in_gguf,
        }
        for kind in sorted(in_gguf | in_safetensors)
    ]
    if as_json:
        print(json.dumps(rows))
        return
    for item in rows:
        gguf = f"{'also' if item['safetensors'] else 'only'} from a GGUF file" if item["gguf"] else ""
        print(f"{item['architecture']:20} {'tried' if item['tried'] else 'not tried':12} {gguf}".rstrip())


def _list_recipes(*, as_json: bool) -> None:
    rows = [_listed(name) for name in recipes.names()]
    if as_json:
        print(json.dumps(rows))
        return
    print(f"{'name':32} download     disk   memory")
    for item in rows:
        footprints = msgspec.convert(item["loaded"], tuple[Footprint, ...])
        sizes = (item["download"], item["result"], need(footprints).total)
        needs = ", needs PyTorch" if item["needs_pytorch"] else ""
        words = " ".join(f"{progress.megabytes(size):>8}" for size in sizes)
        print(f"{item['name']:32} {words}  {item['title']} ({item['checked']}{needs})")
    print(
        "disk, memory: the most that the model takes, the memory with a full context. NAME-int4 has weights of 4 bits: "
        "it is smaller where the others are not of 4 bits already. What it costs in quality is measured at the export; "
        "headstart models shows it."
    )


def _listed(name: str) -> dict[str, Any]:
    """Return a recipe's entry in the list; role, purpose, parameters and tasks are those of a pair's target.

    Sizes are in bytes, at most: of the download, of the result, and of the result with INT4 weights.
    """
    recipe = recipes.find(name)
    assert recipe is not None
    parts = forms.parts(recipe)
    chosen = [part.suited(weights).sources[0] for part, weights in parts]  # the others stand in for them
    sources = [source for source in chosen if isinstance(source, HubSource | PackageSource)]
    return {
        "name": name,
        "kind": "pair" if isinstance(recipe, PairRecipe) else "model",
        "title": recipe.title,
        "licence": ", ".join(dict.fromkeys(part.licence or "" for part, _ in parts)),
        "checked": recipe.checked,
        "role": parts[0][0].role,
        "purpose": parts[0][0].purpose,
        "parameters": parts[0][0].parameters,
        "tasks": parts[0][0].tasks,
        "notes": list(dict.fromkeys(note for part, _ in parts for note in part.notes)),
        "download": sum(source.bytes for source in sources) + sum(part.further_bytes for part, _ in parts),
        "needs_pytorch": any(map(recipes.needs_pytorch, sources)),
        "result": sum(forms.size(part, weights) for part, weights in parts),
        "result_int4": sum(forms.size(part, quantize.INT4) for part, _ in parts),
        "loaded": [_without_zeros(footprint) for footprint in forms.loaded(parts)],
    }


def _without_zeros(footprint: Footprint) -> dict[str, Any]:
    return {name: value for name, value in dataclasses.asdict(footprint).items() if value}


def configure_server(folder: Path) -> Path:
    """Write graph and list into the folder of a model or pair. Return the path of the list. Raises HeadstartError."""
    exported = manifest.read(folder)
    target, draft = ("", None) if isinstance(exported, Manifest) else (exported.target, exported.draft)
    models = [manifest.read_model(folder / part) for part in (target, draft) if part is not None]
    _require_servable(exported.name, keeps_blocks=any(model.precision.keeps_blocks for model in models))
    options: dict[str, str | int | bool] = {
        "models_path": f"./{target}",
        "device": "CPU",
        "cache_size": _cache(folder / target),
        "enable_prefix_caching": True,
        "max_num_seqs": _CONVERSATIONS,
    }
    if draft:  # the default is the size of the target's cache
        cache = _cache(folder / draft)
        options |= {"draft_models_path": f"./{draft}", "draft_device": "CPU", "draft_cache_size": cache}
    lines = (f"      {name}: {json.dumps(value)}," for name, value in options.items())
    (folder / GRAPH_FILE).write_text(_GRAPH.format(options="\n".join(lines)), encoding="utf-8")
    config = folder / CONFIG_FILE
    servables = {"model_config_list": [], "mediapipe_config_list": [{"name": exported.name, "base_path": "."}]}
    config.write_text(json.dumps(servables, indent=2) + "\n", encoding="utf-8")
    return config


def _require_servable(name: str, *, keeps_blocks: bool) -> None:
    """Raise ExportError for a model with an operation that only Headstart knows."""
    if keeps_blocks:
        raise ExportError(
            "{name} keeps the blocks of a GGUF file, which OpenVINO Model Server does not know; export it with "
            "--weights int8, and a draft with --draft-weights int8.",
            name=name,
        )


def _cache(folder: Path) -> int:
    """Return the size of the KV cache, in whole GiB."""
    model = manifest.read_model(folder)
    tokens = min(model.context_length, _CONTEXT) * _CONVERSATIONS
    return max(1, -(-tokens * model.kv_bytes_per_token // _GIB))
