"""Race other programs, each with all their settings, against plain decoding and automatic mode.

`PYTHONPATH=app python app/bench/speed/peers.py --model NAME` races OpenVINO GenAI; flags add its EAGLE-3 heads, Hugging
Face transformers and llama.cpp. For each prompt automatic mode is compared with the setting that was fastest on it. The
last table has the ratios that say most. A race that was cut off goes on with --resume.
"""

import dataclasses
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from bench.speed import llama, local_engine
from bench.speed.floors import floors, floors_sheet
from headstart.cli.command import Command, Load, flag, group
from headstart.cli.options import ModelFlags, installed_names, select_model, write_json
from headstart.cli.performance.bench import (
    OutputFlags,
    RaceFlags,
    earlier_result,
    heat_line,
    remarks,
    save,
    sheets,
    show,
)
from headstart.cli.program import execute
from headstart.cli.render import Screen
from headstart.engine.bench.genai_peer import (
    GenaiModel,
    Peer,
    PeerOptions,
    PeerSource,
    genai_draft,
    genai_mode,
    genai_pipeline,
)
from headstart.engine.bench.measure import BenchPlan, Progress, genai, measure
from headstart.engine.bench.prompts import read_prompts
from headstart.engine.bench.race import AGAIN, AUTO, PLAIN, SWEPT_LENGTHS, Heat, TimedAnswer
from headstart.engine.bench.result import BenchResult, as_json
from headstart.engine.local import LocalEngine
from headstart.engine.opening import bench_heat
from headstart.errors import PeerError, SettingsError
from headstart.library import library
from headstart.library import manifest as manifests

_NGRAM_SIZE = 3  # of prompt lookup, as in GenAI's own sample
_LLAMA_LENGTHS = (2, 3, 5)  # of llama.cpp's drafts; 3 is its own default
_REMEMBERING = "ngram-mod"  # a setting of llama.cpp that keeps what it wrote for later answers
_LLAMA_SURE = ("8", "0.75")  # longest draft, and how sure it must be of each token: its default for years


@dataclass(frozen=True)
class GenaiSettings:
    """OpenVINO GenAI with all of its settings. Plain, drafting and prompt lookup take the weights' memory once each."""

    target: GenaiModel
    draft: GenaiModel | None
    lengths: Sequence[int]
    thresholds: Sequence[float] = (0.2, 0.4, 0.6, 0.8)
    lookups: Sequence[int] = (3, 5, 10)  # need no draft
    words: str = "OpenVINO GenAI with the same models"

    @contextmanager
    def open(self, options: PeerOptions) -> Iterator[Sequence[Peer]]:
        """Load the models; the memory is freed with the last contestant."""
        modes = [genai_mode("plain", genai_pipeline(self.target, options), options)]
        if self.draft is not None:
            pipeline = genai_pipeline(self.target, options, draft_model=genai_draft(self.draft, options))
            modes += [genai_mode(f"{n}", pipeline, options, num_assistant_tokens=n) for n in self.lengths]
            for threshold in self.thresholds:
                # WORKAROUND openvino-genai 2026.4.1: greedily a threshold works only where log-probabilities are asked
                # for. It then has no bound, and is refused beside a length.
                setting = {"assistant_confidence_threshold": threshold, "logprobs": 1}
                modes.append(genai_mode(f"threshold {threshold}", pipeline, options, **setting))
        pipeline = genai_pipeline(self.target, options, prompt_lookup=True)
        for length in self.lookups:
            setting = {"num_assistant_tokens": length, "max_ngram_size": _NGRAM_SIZE}
            modes.append(genai_mode(f"lookup {length}", pipeline, options, **setting))
        yield modes


@dataclass(frozen=True)
class EagleSource:
    """OpenVINO GenAI with an EAGLE-3 head of the target. It takes the memory of the weights once more."""

    target: GenaiModel
    head: Path | None
    lengths: Sequence[int] = (3, 5)
    words: str = "OpenVINO GenAI with the EAGLE-3 head"

    @contextmanager
    def open(self, options: PeerOptions) -> Iterator[Sequence[Peer]]:
        """Load the models. Raises PeerError without a head, or for one that does not fit."""
        if self.head is None:
            raise PeerError("EAGLE-3 stays out: name an installed head of the model with --eagle NAME.")
        head = GenaiModel(self.head, self.target.properties)  # it reads what the target computes
        with failures_told("EAGLE-3"):
            pipeline = genai_pipeline(self.target, options, draft_model=genai_draft(head, options))
        yield [genai_mode(f"eagle {length}", pipeline, options, num_assistant_tokens=length) for length in self.lengths]


@contextmanager
def failures_told(program: str) -> Iterator[None]:
    """Context manager that turns OpenVINO GenAI's errors into PeerError."""
    try:
        yield
    except RuntimeError as error:
        last = str(error).strip().splitlines()[-1].rstrip(".")  # of OpenVINO's several
        raise PeerError("{program} stays out: {reason}.", program=program, reason=last) from None


@dataclass(frozen=True)
class AssistedSource:
    """Transformers' assisted generation. `target`, `draft`: source weights, as Hugging Face folders or .gguf files."""

    target: Path | None
    draft: Path | None = None
    command: Sequence[str] = (sys.executable, "-P", str(Path(__file__).with_name("assisted.py")))
    words: str = "Hugging Face transformers with the source weights"

    @contextmanager
    def open(self, options: PeerOptions) -> Iterator[Sequence[Peer]]:
        """Start a process that loads the weights. Raises PeerError where it cannot."""
        if self.target is None:
            raise PeerError("Hugging Face transformers stay out: name the source weights with --source PATH.")
        if options.device != "CPU":
            raise PeerError(
                "Hugging Face transformers stay out: they would run on the CPU, not on {device}.", device=options.device
            )
        pipe = subprocess.PIPE
        # Standard error is dropped: a failure comes as a reply.
        with subprocess.Popen(
            self.command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, encoding="utf-8"
        ) as child:
            try:
                said = _ask(child, {"target": str(self.target), "draft": str(self.draft) if self.draft else None})
                yield [
                    Peer(f"hf {mode}", options.encode, partial(_assist, child, options, mode)) for mode in said["modes"]
                ]
            finally:
                llama.end(child)


def _assist(child: "subprocess.Popen[str]", options: PeerOptions, mode: str, ids: list[int]) -> TimedAnswer:
    """Answer in the child, which measures the time without the pipe."""
    stops = sorted(options.stop_ids)
    said = _ask(child, {"mode": mode, "ids": ids, "tokens": options.tokens, "stop_ids": stops})
    return TimedAnswer(tuple(said["tokens"]), said["ttft_ms"], said["decode_ms"], len(ids))


def _ask(child: "subprocess.Popen[str]", order: Mapping[str, object]) -> dict[str, Any]:
    """Send one line to the child, and return its reply. Raises PeerError with its reason, or if it has ended."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(json.dumps(order) + "\n")
        child.stdin.flush()
        said: dict[str, Any] = json.loads(child.stdout.readline())
    except (OSError, json.JSONDecodeError):
        raise PeerError(
            'Hugging Face transformers stay out: their process ended; install headstart with the extra "export".'
        ) from None
    if "unavailable" in said:
        raise PeerError("Hugging Face transformers stay out: {reason}.", reason=said["unavailable"])
    return said


@dataclass(frozen=True)
class LlamaSource:
    """llama.cpp's server with models in its own format; needs `server` and `target`.

    Each setting takes memory for weights of its own: llama.cpp arranges them anew for the processor. EAGLE-3, MTP and
    DFlash do not race: each needs a head that was trained for the model, in llama.cpp's format.
    """

    server: llama.Command | None
    target: Path | None
    draft: Path | None = None
    lengths: Sequence[int] = _LLAMA_LENGTHS
    words: str = "llama.cpp's server"

    @contextmanager
    def open(self, options: PeerOptions) -> Iterator[Sequence[Peer]]:
        """Start a server for each setting, as none can change how it guesses. Raises PeerError."""
        if self.server is None or self.target is None:
            raise PeerError(
                "llama.cpp stays out: name its server with --llama-server PATH, or a Python that has xllamacpp with "
                "--llama-python PATH, and a model with --gguf FILE."
            )
        modes: dict[str, Sequence[str]] = {"plain": ()}
        modes |= {name: ("--spec-type", name) for name in ("ngram-simple", _REMEMBERING)}
        if self.draft:
            guessing = ("--model-draft", str(self.draft), "--spec-type", "draft-simple", "--spec-draft-n-max")
            modes |= {str(length): (*guessing, str(length)) for length in self.lengths}
            longest, sure = _LLAMA_SURE
            modes[f"{longest} sure {sure}"] = (*guessing, longest, "--spec-draft-p-min", sure)
        with ExitStack() as servers:
            clients = {
                name: servers.enter_context(llama.serve(self.server, self.target, options.context, flags))
                for name, flags in modes.items()
                if name != _REMEMBERING
            }
            answers: dict[str, Callable[[list[int]], TimedAnswer]] = {
                name: partial(llama.complete, client, options, cache_prompt=False) for name, client in clients.items()
            }
            fresh = partial(llama.serve, self.server, self.target, options.context, modes[_REMEMBERING])
            with fresh():
                pass  # an older llama.cpp may lack it
            answers[_REMEMBERING] = partial(_answer_anew, fresh, options)
            yield [Peer(f"llama {name}", options.encode, answers[name]) for name in modes]


def _answer_anew(
    serve: Callable[[], AbstractContextManager[httpx.Client]], options: PeerOptions, ids: list[int]
) -> TimedAnswer:
    """Answer in a new server; one that has answered this prompt would copy its answer."""
    with serve() as client:
        return llama.complete(client, options, ids, cache_prompt=False)


def read_lengths(text: str) -> tuple[int, ...]:
    """Read whole numbers above 0 with commas between them. Raises SettingsError."""
    parts = text.split(",")
    if not all(part.isascii() and part.isdecimal() and int(part) >= 1 for part in parts):
        raise SettingsError(f"lengths must be whole numbers above 0 with commas between them, not {text!r}.")
    return tuple(dict.fromkeys(int(part) for part in parts))


def present(text: str) -> Path:
    """Read a path that exists. Raises SettingsError."""
    path = Path(text).expanduser()
    if not path.exists():
        raise SettingsError(f"There is no {text}; name a file or folder that exists.")
    return path


@dataclass(frozen=True, kw_only=True)
class LlamaFlags:
    """llama.cpp, which has to be installed."""

    llama_server: Path | None = flag(None, "path of its server", metavar="PATH", read=present)
    llama_python: Path | None = flag(
        None, "or a Python that has xllamacpp, whose server it starts", metavar="PATH", read=present
    )
    gguf: Path | None = flag(None, "the same model in its format", metavar="FILE", read=present)

    @property
    def both(self) -> tuple[llama.Command, Path] | None:
        """The server's command and the model; None where neither was named. Raises SettingsError."""
        if self.llama_server and self.llama_python:
            raise SettingsError("One llama.cpp can race: leave out --llama-server or --llama-python.")
        if not (self.llama_server or self.llama_python or self.gguf):
            return None
        if self.gguf and self.llama_server:
            return (self.llama_server,), self.gguf
        if self.gguf and self.llama_python:
            return llama.package(self.llama_python), self.gguf
        raise SettingsError("llama.cpp needs both: add --llama-server PATH (or --llama-python PATH) and --gguf FILE.")


@dataclass(frozen=True, kw_only=True)
class PeersFlags:
    """The flags of this program."""

    model: ModelFlags = group(ModelFlags)
    race: RaceFlags = group(RaceFlags)
    genai_lengths: tuple[int, ...] = flag(
        SWEPT_LENGTHS,
        "draft lengths to try (default: 1 to 8)",
        metavar="N,N",
        read=read_lengths,
        is_list=True,
        group="OpenVINO GenAI, always available",
    )
    without_genai: bool = flag(default=False, help="leave it out: all programs together may take too much memory")
    eagle: str | None = flag(
        None, "an installed EAGLE-3 head, if not the model's own", metavar="NAME", completions=installed_names
    )
    source: Path | None = flag(
        None,
        "source weights of the model: a folder, or a .gguf file",
        metavar="PATH",
        read=present,
        group='Hugging Face transformers, of the extra "export"',
    )
    source_draft: Path | None = flag(None, "those of the draft, for assisted generation", metavar="PATH", read=present)
    llama: LlamaFlags = group(LlamaFlags, "llama.cpp")
    gguf_draft: Path | None = flag(
        None, "the same draft in its format", metavar="FILE", read=present, group="llama.cpp"
    )
    llama_lengths: tuple[int, ...] = flag(
        _LLAMA_LENGTHS,
        "draft lengths to try (default: 2, 3 and 5)",
        metavar="N,N",
        read=read_lengths,
        is_list=True,
        group="llama.cpp",
    )
    output: OutputFlags = group(OutputFlags)


def race_peers(arguments: PeersFlags, load: Load) -> int:
    """Race the other programs; return the exit code."""
    arguments.race.use_isa()
    server, gguf = arguments.llama.both or (None, None)
    selection = select_model(arguments.model)
    choice, options = selection.choice, selection.options
    head = manifests.head_folder(choice.target.folder)
    if head and manifests.read_model(head).is_hydra:  # OpenVINO GenAI runs none
        head = None
    if arguments.eagle is not None:
        head = _head(arguments.eagle, choice.target)

    race, file, screen = arguments.race, arguments.output.json, Screen()
    before = earlier_result(arguments.output)
    prompts = read_prompts(race.prompts, race.classes)
    plan = BenchPlan(options, prompts, race.tokens, race.repeats, (PLAIN, AUTO, AGAIN), before)
    clock = RaceClock(screen.remark)

    def keep(result: BenchResult) -> None:
        save(file, _figures(result))
        clock.tell()

    progress = Progress(screen.remark, clock.heat, clock.start, result=keep)
    screen.remark("loading the models")
    with closing(load(options)) as engine:
        assert isinstance(engine, LocalEngine), "a race needs the models themselves"
        own = genai(engine, options)
        genai_sources = (
            GenaiSettings(own.target, own.draft, arguments.genai_lengths),
            EagleSource(own.target, head, arguments.genai_lengths),
        )
        sources: Sequence[PeerSource] = (
            *(() if arguments.without_genai else genai_sources),
            AssistedSource(arguments.source, arguments.source_draft),
            LlamaSource(server, gguf, arguments.gguf_draft, arguments.llama_lengths),
        )
        result = measure(engine, plan, sources, progress)
    show([*sheets(result), floors_sheet(floors(result))], remarks(result), markdown=arguments.output.markdown)
    if file:
        write_json(file, _figures(result))
    return 0


@dataclass
class RaceClock:
    """The progress of a race, in lines for `say`."""

    say: Callable[[str], None]
    planned: int = 0
    done: int = 0
    started: float = 0.0

    def start(self, planned: int) -> None:
        """Begin with so many answers left."""
        self.planned, self.started = planned, time.monotonic()

    def heat(self, heat: Heat) -> None:
        """Report an answer."""
        self.done += 1
        self.say(heat_line(bench_heat(0, heat)))

    def tell(self) -> None:
        """Report how many answers are done, and how long the rest will take."""
        left = (time.monotonic() - self.started) / self.done * (self.planned - self.done)
        self.say(f"{self.done} of {self.planned} answers; about {left / 60:.0f} min left")


def _figures(result: BenchResult) -> dict[str, object]:
    return as_json(result) | {"floors": [dataclasses.asdict(floor) for floor in floors(result)]}


def _head(name: str, target: library.Model) -> Path:
    """Return the folder of an installed EAGLE-3 head, or of a pair with one."""
    found = library.find(name)
    head = found.draft if isinstance(found, library.Pair) else found
    if not head.manifest.is_eagle:
        raise SettingsError(f"{name} is no EAGLE-3 head; leave out --eagle, or name one of `headstart models`.")
    library.require_same_vocabulary(target, head)
    return head.folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program. Return the exit code."""
    command = Command(race_peers, local_engine.load_measured)
    command.help = __doc__
    return execute(command, "peers.py", arguments)


if __name__ == "__main__":
    local_engine.restart()
    sys.exit(main())
