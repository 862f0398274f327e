"""Other programs in a race, behind one interface: OpenVINO GenAI, Hugging Face transformers, llama.cpp."""

import itertools
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np

from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import Contestant, Run
from headstart.engine.devices import genai_blocks
from headstart.engine.runtime import openvino, openvino_genai
from headstart.errors import PeerError

if TYPE_CHECKING:
    import httpx

_GRACE = 10.0  # seconds to end by itself


Ask = Callable[[int, list[int]], Run]  # the number of a chat and its prompt's tokens, to an answer


@dataclass(frozen=True)
class PeerOptions:
    """The conditions of a race for peers. `encode` gives the prompt's tokens, the same for all."""

    device: str
    tokens: int  # longest answer
    stop_ids: frozenset[int]
    encode: Callable[[BenchPrompt], list[int]]
    context: int  # tokens of room


class PeerSource(Protocol):
    """One other program, not yet started."""

    @property
    def words(self) -> str:
        """The name, as in "loading ..."."""

    def open(self, options: PeerOptions) -> AbstractContextManager[Sequence[Contestant]]:
        """Load the models and give the contestants while inside. Raises PeerError if it cannot race."""


class ChatPeer(Protocol):
    """A program that remembers the chats that it has read, not yet started."""

    @property
    def name(self) -> str:
        """The name in tables."""

    def open(self, options: PeerOptions, chats: int) -> AbstractContextManager[Ask]:
        """Load the models, with room for `chats` chats of `options.context` tokens each, while inside.

        Raises PeerError if it cannot take part; what it yields raises it, too.
        """


@dataclass(frozen=True)
class Peer:
    """One contestant of another program; `write` continues the prompt's tokens."""

    name: str
    encode: Callable[[BenchPrompt], list[int]]
    write: Callable[[list[int]], Run]

    def answer(self, prompt: BenchPrompt) -> Run:
        return self.write(self.encode(prompt))


_NGRAM_SIZE = 3  # of prompt lookup, as in GenAI's own sample


@dataclass(frozen=True)
class GenaiModel:
    """A model folder and the OpenVINO properties that Headstart runs it with."""

    folder: Path
    properties: Mapping[str, str]


@dataclass(frozen=True)
class GenaiSource:
    """OpenVINO GenAI. Plain decoding, drafting and prompt lookup take the memory of the weights once each."""

    target: GenaiModel
    draft: GenaiModel | None
    lengths: Sequence[int] = (3, 5)
    thresholds: Sequence[float] = ()
    lookups: Sequence[int] = ()  # need no draft
    words: str = "OpenVINO GenAI with the same models"

    @contextmanager
    def open(self, options: PeerOptions) -> Iterator[Sequence[Peer]]:
        """Give the contestants. The memory is freed with the last one."""
        yield tuple(self._modes(options))

    def _modes(self, options: PeerOptions) -> Iterator[Peer]:
        yield _mode("plain", _pipeline(self.target, options), options)
        if self.draft is not None:
            pipeline = _pipeline(self.target, options, draft_model=_draft(self.draft, options))
            for length in self.lengths:
                yield _mode(f"{length}", pipeline, options, num_assistant_tokens=length)
            for threshold in self.thresholds:
                # WORKAROUND openvino-genai 2026.4.1: greedily a threshold works only where log-probabilities are asked
                # for. It then has no bound, and is refused beside a length.
                setting = {"assistant_confidence_threshold": threshold, "logprobs": 1}
                yield _mode(f"threshold {threshold}", pipeline, options, **setting)
        if self.lookups:
            pipeline = _pipeline(self.target, options, prompt_lookup=True)
            for length in self.lookups:
                setting = {"num_assistant_tokens": length, "max_ngram_size": _NGRAM_SIZE}
                yield _mode(f"lookup {length}", pipeline, options, **setting)


@dataclass(frozen=True)
class EagleSource:
    """OpenVINO GenAI with an EAGLE-3 head of the target. It takes the memory of the weights once more."""

    target: GenaiModel
    head: Path | None
    lengths: Sequence[int] = (3, 5)
    words: str = "OpenVINO GenAI with the EAGLE-3 head"

    @contextmanager
    def open(self, options: PeerOptions) -> Iterator[Sequence[Peer]]:
        if self.head is None:
            raise PeerError("EAGLE-3 stays out: name an installed head of the model with --eagle NAME.")
        head = GenaiModel(self.head, self.target.properties)  # it reads what the target computes
        with _failures_told("EAGLE-3"):
            pipeline = _pipeline(self.target, options, draft_model=_draft(head, options))
        yield [_mode(f"eagle {length}", pipeline, options, num_assistant_tokens=length) for length in self.lengths]


@dataclass(frozen=True)
class GenaiChats:
    """OpenVINO GenAI with prefix caching. It takes the memory of the weights once more."""

    target: GenaiModel
    name: str = "OpenVINO GenAI"

    @contextmanager
    def open(self, options: PeerOptions, chats: int) -> Iterator[Ask]:
        # Left to itself it makes room for one prompt, and the second chat overwrites the first.
        with _failures_told(self.name):
            pipeline = _pipeline(self.target, options, chats * genai_blocks(options.context, options.device))

        def ask(_chat: int, ids: list[int]) -> Run:
            with _failures_told(self.name):
                return _generate(pipeline, options, {}, ids)

        yield ask


@contextmanager
def _failures_told(program: str) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        last = str(error).strip().splitlines()[-1].rstrip(".")  # of OpenVINO's several
        raise PeerError("{program} stays out: {reason}.", program=program, reason=last) from None


def _mode(name: str, pipeline: Any, options: PeerOptions, **guessing: object) -> Peer:
    return Peer(f"genai {name}", options.encode, partial(_generate, pipeline, options, guessing))


def _draft(model: GenaiModel, options: PeerOptions) -> Any:
    return openvino_genai().draft_model(str(model.folder), options.device, **model.properties)


def _pipeline(target: GenaiModel, options: PeerOptions, kept_blocks: int = 0, **more: object) -> Any:
    """Return a pipeline. `kept_blocks`: blocks of earlier texts; with 0 every answer starts from a cold cache."""
    genai = openvino_genai()
    scheduler = genai.SchedulerConfig()
    scheduler.enable_prefix_caching = kept_blocks > 0
    scheduler.num_kv_blocks = kept_blocks
    scheduler.max_num_batched_tokens = 2**31 - 1  # read a prompt at once, as GenAI's own default for one user does
    properties = {**target.properties, **more}
    return genai.LLMPipeline(str(target.folder), options.device, scheduler_config=scheduler, **properties)


def _generate(pipeline: Any, options: PeerOptions, guessing: Mapping[str, object], ids: list[int]) -> Run:
    """Return an answer with GenAI's own times. No text is encoded or decoded here."""
    # A new configuration: the model's own would bring its sampling and penalties.
    config = openvino_genai().GenerationConfig(
        max_new_tokens=options.tokens,
        do_sample=False,
        ignore_eos=False,
        stop_token_ids=set(options.stop_ids),
        **guessing,
    )
    prompt = np.array([ids], np.int64)
    tensor = openvino().Tensor
    result = pipeline.generate(openvino_genai().TokenizedInputs(tensor(prompt), tensor(np.ones_like(prompt))), config)
    metrics, extended = result.perf_metrics, result.extended_perf_metrics
    ttft = metrics.get_ttft().mean
    return Run(
        tokens=tuple(itertools.takewhile(lambda token: token not in options.stop_ids, result.tokens[0])),
        ttft_ms=ttft,
        decode_ms=metrics.get_generate_duration().mean - ttft,
        prompt_tokens=len(ids),
        drafted=extended.get_num_draft_tokens() if extended else 0,
        accepted=extended.get_num_accepted_tokens() if extended else 0,
    )


@dataclass(frozen=True)
class AssistedSource:
    """`target` and `draft` are the source weights: a Hugging Face folder each, or a .gguf file."""

    target: Path | None
    draft: Path | None = None
    command: Sequence[str] = (sys.executable, "-m", "headstart_export.assisted")
    words: str = "Hugging Face transformers with the source weights"

    @contextmanager
    def open(self, options: PeerOptions) -> Iterator[Sequence[Peer]]:
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
                _end(child)


def _assist(child: "subprocess.Popen[str]", options: PeerOptions, mode: str, ids: list[int]) -> Run:
    """Yield an answer. The child measures the time, without the pipe."""
    stops = sorted(options.stop_ids)
    said = _ask(child, {"mode": mode, "ids": ids, "tokens": options.tokens, "stop_ids": stops})
    return Run(tuple(said["tokens"]), said["ttft_ms"], said["decode_ms"], len(ids))


def _ask(child: "subprocess.Popen[str]", order: Mapping[str, object]) -> dict[str, Any]:
    """Send one line to the child, and return its answer. Raises PeerError, also if the child has ended."""
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


_LENGTHS = (3, 5)  # of llama.cpp's drafts; 3 is its own default
_HOST = "127.0.0.1"
_START = 180.0  # seconds to load
_ANSWER = 600.0
_POLL = 0.1


@dataclass(frozen=True)
class LlamaSource:
    """llama.cpp's server and the models in its own format; needs `server` and `target`."""

    server: Path | None
    target: Path | None
    draft: Path | None = None
    words: str = "llama.cpp's server"

    @contextmanager
    def open(self, options: PeerOptions) -> Iterator[Sequence[Peer]]:
        """Start a server for each setting, as a server cannot change how it drafts."""
        if self.server is None or self.target is None:
            raise PeerError(
                "llama.cpp stays out: name its server with --llama-server PATH and a model with --gguf FILE."
            )
        modes: dict[str, Sequence[str]] = {"plain": (), "ngram": ("--spec-type", "ngram-simple")}
        if self.draft:
            guessing = ("--model-draft", str(self.draft), "--spec-type", "draft-simple", "--spec-draft-n-max")
            modes |= {str(length): (*guessing, str(length)) for length in _LENGTHS}
        with ExitStack() as servers:
            clients = {
                name: servers.enter_context(_serve(self.server, self.target, options, flags))
                for name, flags in modes.items()
            }
            yield [
                Peer(f"llama {name}", options.encode, partial(_complete, client, options, cache_prompt=False))
                for name, client in clients.items()
            ]


@dataclass(frozen=True)
class LlamaChats:
    """llama.cpp's server with its prompt cache: each chat has a slot of its own."""

    server: Path
    target: Path
    name: str = "llama.cpp"

    @contextmanager
    def open(self, options: PeerOptions, chats: int) -> Iterator[Ask]:
        with _serve(self.server, self.target, options, slots=chats) as client:
            yield lambda chat, ids: _complete(client, options, ids, cache_prompt=True, id_slot=chat)


@contextmanager
def _serve(
    server: Path, target: Path, options: PeerOptions, flags: Sequence[str] = (), slots: int = 1
) -> "Iterator[httpx.Client]":
    import httpx  # noqa: PLC0415 - few benchmarks need it

    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port = probe.getsockname()[1]
    command = [str(server), "--model", str(target), "--host", _HOST, "--port", str(port)]
    command += ["--ctx-size", str(slots * options.context), "--parallel", str(slots), *flags]
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        except OSError as error:
            raise PeerError(
                "llama.cpp stays out: {server} cannot be started ({reason}).",
                server=server,
                reason=error.strerror,
            ) from None
        try:
            with httpx.Client(base_url=f"http://{_HOST}:{port}", timeout=_ANSWER, trust_env=False) as client:
                _await_ready(process, client, log)
                yield client
        finally:
            _end(process)


def _await_ready(process: "subprocess.Popen[bytes]", client: "httpx.Client", log: IO[bytes]) -> None:
    import httpx  # noqa: PLC0415 - as above

    deadline = time.monotonic() + _START
    while time.monotonic() < deadline:
        if process.poll() is not None:
            log.seek(0)
            lines = [line.strip() for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
            words = lines[-1] if lines else "it said nothing"
            raise PeerError("llama.cpp stays out: its server ended ({words}).", words=words)
        with suppress(httpx.TransportError):  # it does not listen yet
            if client.get("/health").is_success:
                return
        time.sleep(_POLL)
    raise PeerError("llama.cpp stays out: its server was not ready after {seconds:.0f} s.", seconds=_START)


def _complete(client: "httpx.Client", options: PeerOptions, ids: list[int], **caching: object) -> Run:
    """Return an answer with the server's own times, without HTTP."""
    import httpx  # noqa: PLC0415 - as above

    order = {"prompt": ids, "n_predict": options.tokens, "temperature": 0, "return_tokens": True, **caching}
    try:
        response = client.post("/completion", json=order)
    except httpx.HTTPError as error:
        raise PeerError(
            "llama.cpp's server does not answer ({error}); leave it out and try again.", error=error
        ) from None
    if not response.is_success:
        raise PeerError(
            "llama.cpp's server answered with status {status}; leave it out and try again.", status=response.status_code
        )
    said = response.json()
    times = said["timings"]
    # llama.cpp counts the first token to decoding: one token's share of it goes back to where others have it.
    first = times["predicted_ms"] / max(times["predicted_n"], 1)
    return Run(
        tokens=tuple(token for token in said["tokens"] if token not in options.stop_ids),
        ttft_ms=times["prompt_ms"] + first,
        decode_ms=times["predicted_ms"] - first,
        prompt_tokens=len(ids),
        drafted=times.get("draft_n", 0),
        accepted=times.get("draft_n_accepted", 0),
        reused=len(ids) - times["prompt_n"],
    )


def _end(process: "subprocess.Popen[Any]") -> None:
    """End a process by closing its input, if it reads any."""
    if process.stdin:
        with suppress(OSError):
            process.stdin.close()
    else:
        process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
