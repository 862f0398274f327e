"""Other programs in a race, behind one interface: OpenVINO GenAI, Hugging Face transformers, llama.cpp."""

import http.client
import itertools
import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.bench.race import Contestant, Run
from headstart.engine.runtime import openvino, openvino_genai
from headstart.errors import PeerError


@dataclass(frozen=True)
class PeerOptions:
    """What a peer needs to answer as Headstart does. `encode` gives the prompt's tokens: the same for all."""

    device: str
    tokens: int  # longest answer
    stop_ids: frozenset[int]
    encode: Callable[[BenchPrompt], list[int]]
    context: int  # tokens of room


class PeerSource(Protocol):
    """One other program, not yet started."""

    words: str  # what it is, as in "loading ..."

    def open(self, options: PeerOptions) -> Sequence[Contestant]:
        """Load its models; the ways in which it can answer. Raises PeerError with the reason why it cannot."""
        ...

    def close(self) -> None:
        """End what was started; called once, whatever `open` did."""
        ...


_GENAI = "genai"
_GENAI_PLAIN = f"{_GENAI} plain"
_USUAL_LENGTHS = (3, 5)
_NGRAM_SIZE = 3  # of prompt lookup, as in GenAI's own sample


@dataclass(frozen=True)
class GenaiModel:
    """A model folder and the OpenVINO properties that Headstart runs it with."""

    folder: Path
    properties: Mapping[str, str]


@dataclass(frozen=True)
class Sweep:
    """The static settings to try. Prompt lookup loads the target once more, and needs no draft."""

    lengths: Sequence[int] = _USUAL_LENGTHS
    thresholds: Sequence[float] = ()
    lookups: Sequence[int] = ()


@dataclass(frozen=True)
class GenaiMode:
    """A GenAI pipeline with one static setting of how to guess."""

    name: str
    pipeline: Any
    options: PeerOptions
    guessing: Mapping[str, Any] = field(default_factory=dict)

    def answer(self, prompt: BenchPrompt) -> Run:
        """See Contestant.answer. The times are GenAI's own figures; it neither encodes nor decodes text here."""
        ids = np.array([self.options.encode(prompt)], np.int64)
        tensor = openvino().Tensor
        inputs = openvino_genai().TokenizedInputs(tensor(ids), tensor(np.ones_like(ids)))
        return self._run(self.pipeline.generate(inputs, self._config()), ids.size)

    def _config(self) -> Any:
        # A new configuration: the model's own would bring its sampling and penalties.
        return openvino_genai().GenerationConfig(
            max_new_tokens=self.options.tokens,
            do_sample=False,
            ignore_eos=False,
            stop_token_ids=set(self.options.stop_ids),
            **self.guessing,
        )

    def _run(self, result: Any, prompt_tokens: int) -> Run:
        metrics, extended = result.perf_metrics, result.extended_perf_metrics
        ttft = metrics.get_ttft().mean
        return Run(
            tokens=tuple(itertools.takewhile(lambda token: token not in self.options.stop_ids, result.tokens[0])),
            ttft_ms=ttft,
            decode_ms=metrics.get_generate_duration().mean - ttft,
            prompt_tokens=prompt_tokens,
            drafted=extended.get_num_draft_tokens() if extended else 0,
            accepted=extended.get_num_accepted_tokens() if extended else 0,
        )


@dataclass
class GenaiSource:
    """Takes the weights' memory again for plain decoding, for drafting, and for prompt lookup."""

    target: GenaiModel
    draft: GenaiModel | None
    sweep: Sweep = field(default_factory=Sweep)
    words: str = "OpenVINO GenAI with the same models"

    def open(self, options: PeerOptions) -> Sequence[GenaiMode]:
        """See PeerSource.open."""
        return tuple(self._modes(options))

    def close(self) -> None:
        """Its memory goes with the last of its modes."""

    def _modes(self, options: PeerOptions) -> Iterator[GenaiMode]:
        yield GenaiMode(_GENAI_PLAIN, _pipeline(self.target, options.device), options)
        if self.draft is not None:
            yield from self._drafting(self.draft, options)
        if self.sweep.lookups:
            pipeline = _pipeline(self.target, options.device, prompt_lookup=True)
            for length in self.sweep.lookups:
                guessing = {"num_assistant_tokens": length, "max_ngram_size": _NGRAM_SIZE}
                yield GenaiMode(f"{_GENAI} lookup {length}", pipeline, options, guessing)

    def _drafting(self, draft: GenaiModel, options: PeerOptions) -> Iterator[GenaiMode]:
        drafting = openvino_genai().draft_model(str(draft.folder), options.device, **draft.properties)
        pipeline = _pipeline(self.target, options.device, draft_model=drafting)
        for length in self.sweep.lengths:
            yield GenaiMode(f"{_GENAI} {length}", pipeline, options, {"num_assistant_tokens": length})
        for threshold in self.sweep.thresholds:
            # WORKAROUND openvino-genai 2026.4.1: greedily a threshold works only where log-probabilities are asked
            # for. It then has no bound, and is refused beside a length.
            guessing = {"assistant_confidence_threshold": threshold, "logprobs": 1}
            yield GenaiMode(f"{_GENAI} threshold {threshold}", pipeline, options, guessing)


def _pipeline(target: GenaiModel, device: str, **more: Any) -> Any:
    genai = openvino_genai()
    scheduler = genai.SchedulerConfig()
    scheduler.enable_prefix_caching = False  # every answer of the race starts from a cold cache
    scheduler.max_num_batched_tokens = 2**31 - 1  # read a prompt at once, as GenAI's own default for one user does
    return genai.LLMPipeline(str(target.folder), device, scheduler_config=scheduler, **target.properties, **more)


_COMMAND = (sys.executable, "-m", "headstart_export.assisted")
_GRACE = 10.0  # seconds to end by itself


@dataclass(frozen=True)
class AssistedMode:
    """One of the ways in which the child can write."""

    name: str
    mode: str
    source: "AssistedSource"
    options: PeerOptions

    def answer(self, prompt: BenchPrompt) -> Run:
        """See Contestant.answer. The child holds the clock; the pipe is not counted."""
        ids = self.options.encode(prompt)
        order = {
            "mode": self.mode,
            "ids": ids,
            "tokens": self.options.tokens,
            "stop_ids": sorted(self.options.stop_ids),
        }
        said = self.source.ask(order)
        return Run(tuple(said["tokens"]), said["ttft_ms"], said["decode_ms"], len(ids))


@dataclass
class AssistedSource:
    """`target` and `draft` are the source weights: a Hugging Face folder each, or a .gguf file."""

    target: Path | None
    draft: Path | None = None
    command: Sequence[str] = _COMMAND
    words: str = "Hugging Face transformers with the source weights"
    _child: subprocess.Popen[str] | None = field(default=None, init=False)

    def open(self, options: PeerOptions) -> Sequence[AssistedMode]:
        """See PeerSource.open."""
        if self.target is None:
            raise PeerError("Hugging Face transformers stay out: name the source weights with --source PATH.")
        if options.device != "CPU":
            raise PeerError(f"Hugging Face transformers stay out: they would run on the CPU, not on {options.device}.")
        # Its remarks on standard error are nobody's business; a failure it puts into words itself.
        self._child = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
        )
        said = self.ask({"target": str(self.target), "draft": str(self.draft) if self.draft else None})
        return tuple(AssistedMode(f"hf {mode}", mode, self, options) for mode in said["modes"])

    def ask(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """One line there, one line back. Raises PeerError with what the child says, or that it is gone."""
        child = self._child
        assert child is not None, "opened before it is asked"
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
            raise PeerError(f"Hugging Face transformers stay out: {said['unavailable']}.")
        return said

    def close(self) -> None:
        """See PeerSource.close."""
        child = self._child
        if child is None:
            return
        try:
            child.communicate(timeout=_GRACE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()


_LLAMA = "llama"
_LLAMA_LENGTHS = (2, 4, 8, 16)  # draft lengths; the server stops sooner by itself where its draft is unsure
_HOST = "127.0.0.1"
_START = 180.0  # seconds to load
_ANSWER = 600.0
_POLL = 0.1


@dataclass(frozen=True)
class Files:
    """The server's program and the models in its own format; without both of the first there is no such peer."""

    server: Path | None
    target: Path | None
    draft: Path | None = None


@dataclass(frozen=True)
class LlamaMode:
    """One draft length; 0 is plain decoding."""

    name: str
    length: int
    source: "LlamaSource"
    options: PeerOptions

    def answer(self, prompt: BenchPrompt) -> Run:
        """See Contestant.answer. The times are the server's own figures, without HTTP."""
        ids = self.options.encode(prompt)
        said = self.source.complete(
            {
                "prompt": ids,
                "n_predict": self.options.tokens,
                "temperature": 0,
                "cache_prompt": False,
                "return_tokens": True,
                "speculative.n_min": 0,
                "speculative.n_max": self.length,
            }
        )
        times = said["timings"]
        tokens = tuple(token for token in said["tokens"] if token not in self.options.stop_ids)
        # llama.cpp counts the first token to decoding: one token's share of it goes back to where others have it.
        first = times["predicted_ms"] / max(times["predicted_n"], 1)
        return Run(
            tokens=tokens,
            ttft_ms=times["prompt_ms"] + first,
            decode_ms=times["predicted_ms"] - first,
            prompt_tokens=len(ids),
            drafted=times.get("draft_n", 0),
            accepted=times.get("draft_n_accepted", 0),
        )


@dataclass
class LlamaSource:
    """The server with its models, started when the race is."""

    files: Files
    words: str = "llama.cpp's server"
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _port: int = field(default=0, init=False)
    _log: Path = field(default_factory=Path, init=False)
    _started: ExitStack = field(default_factory=ExitStack, init=False)

    def open(self, options: PeerOptions) -> Sequence[LlamaMode]:
        """See PeerSource.open."""
        if self.files.server is None or self.files.target is None:
            raise PeerError(
                "llama.cpp stays out: name its server with --llama-server PATH and a model with --gguf FILE."
            )
        self._port = _free_port()
        self._log = Path(self._started.enter_context(tempfile.TemporaryDirectory())) / "llama-server.log"
        try:
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(self._command(options), stdout=log, stderr=log)
        except OSError as error:
            raise PeerError(f"llama.cpp stays out: {self.files.server} cannot be started ({error.strerror}).") from None
        self._started.callback(_end, self._process)
        self._await_ready()
        lengths = (0, *_LLAMA_LENGTHS) if self.files.draft else (0,)
        return tuple(LlamaMode(f"{_LLAMA} {length or 'plain'}", length, self, options) for length in lengths)

    def complete(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """One answer. Raises PeerError when the server fails."""
        status, said = self._call("POST", "/completion", json.dumps(order))
        if status != http.HTTPStatus.OK:
            raise PeerError(f"llama.cpp's server answered with status {status}; leave it out and try again.")
        answer: dict[str, Any] = json.loads(said)
        return answer

    def close(self) -> None:
        """See PeerSource.close."""
        self._started.close()

    def _command(self, options: PeerOptions) -> list[str]:
        files = self.files
        command = [str(files.server), "--model", str(files.target), "--host", _HOST, "--port", str(self._port)]
        command += ["--ctx-size", str(options.context), "--parallel", "1"]
        return [*command, "--model-draft", str(files.draft)] if files.draft else command

    def _await_ready(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + _START
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise PeerError(f"llama.cpp stays out: its server ended ({self._last_words()}).")
            try:
                if self._call("GET", "/health")[0] == http.HTTPStatus.OK:
                    return
            except PeerError:
                pass  # it does not listen yet
            time.sleep(_POLL)
        raise PeerError(f"llama.cpp stays out: its server was not ready after {_START:.0f} s.")

    def _call(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(_HOST, self._port, timeout=_ANSWER)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise PeerError(f"llama.cpp's server does not answer ({error}); leave it out and try again.") from None
        finally:
            connection.close()

    def _last_words(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
        return port
