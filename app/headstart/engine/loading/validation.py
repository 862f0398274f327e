"""Trials of OpenVINO properties in a child process: whether a model computes rightly with them, and how fast.

A precision, a number of threads or a size of rounding groups can be wrong on one processor and right on the next: f16
gives no numbers at all on some, and compiling a small model for one thread in bf16 ends the process there. So only
plain f32 on a processor is used before a child process has compared the properties with exact arithmetic on a real
text. Properties that crash, hang, give no finite numbers or differ are refused; verdicts are stored with the model's
measurements.
"""

import contextlib
import itertools
import json
import logging
import math
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeVar

import msgspec
import numpy as np

from headstart.engine.hardware.machine import OtherPrograms
from headstart.engine.hardware.measurements import VALIDATED, Measurements, every
from headstart.engine.policy.cost_model import SIZES
from headstart.engine.runners.precision import (
    OWN,
    Properties,
    hint_of,
    name_of,
    pass_ms,
    plain,
    reference,
    switch_ms,
    without_defaults,
)
from headstart.engine.runners.runner import Branch, Logits, Runner
from headstart.engine.runners.selftest import MAX_CONTEXT, Invariance, batch_invariance
from headstart.engine.supervision import ending, program
from headstart.engine.wire import from_data, to_data
from headstart.errors import Translatable

_T = TypeVar("_T")
Build = Callable[[Properties, int], Runner]  # compiles the model with these properties, for this number of tokens

_log = logging.getLogger(__name__)

_INVARIANCE = "batch invariance"
_PROMPT = 64  # tokens read in one pass before the others
PROMPT = 256  # tokens of a prompt whose reading is timed
_PASSES = range(1, 13)  # tokens of a pass: plain steps and verifications
_REJECTED, _AFTER = 5, 6  # tokens that are forgotten, and tokens that are read after that
# On the models measured, bf16 lies 0.0005 to 0.0011 nats from f32, activations rounded to 8 bits in groups of 32 lie
# 0.0004 to 0.0025 nats (0.007 in a scene of few rows), and 8-bit keys and values 0.003 to 0.008.
_MIN_LIMIT, _LIMIT_ROUNDED, _LIMIT_8_BIT = 0.002, 0.02, 0.05  # nats
_SLACK = 1.5  # times the divergence of plain f32: single rows scatter more than both differ on average
_MAX_SHARE_OF_OTHERS = 0.15  # of all cores while passes are timed; one of two busy cores has 0.5
_SECONDS, _SECONDS_PER_GB = 120.0, 120.0  # until silence counts as a hang: a device may compile for minutes

TEXT = """The tide table on the wall of the harbour office was printed in two columns, one for each half of the day.
Every morning at 6:45 Ines copied the numbers into her notebook: 3.2 m at 09:10, 0.8 m at 15:30. "Why do you write them
down again?" asked her nephew. "Because my hand remembers what my eyes forget," she said, and closed the window.

def running_mean(values: list[float], width: int = 3) -> list[float]:
    total, means = 0.0, []
    for place, value in enumerate(values):
        total += value - (values[place - width] if place >= width else 0.0)
        means.append(total / min(place + 1, width))
    return means

Three things decide how far a small boat gets in a day: the wind, the tide, and the patience of whoever steers it. The
first two are in the forecast. The third is not, although it matters most when the other two turn against the crew.
"""


@dataclass(frozen=True)
class Verdict:
    """The result of trying some properties."""

    reason: Translatable = field(default_factory=Translatable)  # why they are refused; empty: they are right
    ms: Mapping[int, float] = field(default_factory=dict)  # of a pass, by its number of tokens
    switch_ms: float = 0.0  # more if that number changes
    prompt_ms: float = 0.0  # of a pass that reads PROMPT tokens
    is_disturbed: bool = False  # other programs took much of the processor meanwhile: the times compare with no other
    invariance: Invariance | None = None  # None: not tried

    @property
    def is_timed(self) -> bool:
        """True if nothing is left to measure."""
        return bool(self.ms and self.prompt_ms and self.invariance)


def find_verdict(measurements: Measurements, properties: Properties) -> Verdict | None:
    """Return the result for these properties; None if they were not tried."""
    return _stored(measurements.get(VALIDATED), Verdict).get(_key(properties))


def store_verdict(measurements: Measurements, properties: Properties, verdict: Verdict) -> None:
    stored = {**_stored(measurements.get(VALIDATED), Verdict), _key(properties): verdict}
    measurements.put(VALIDATED, to_data(stored))


def find_invariance(measurements: Measurements, properties: Properties) -> Invariance | None:
    """Return whether passes agree to the bit with these properties; None if it was not tried."""
    stored = _stored(measurements.get(_INVARIANCE), Invariance)
    return stored.get(_key(properties))


def is_batch_invariant(measurements: Measurements, properties: Properties) -> bool:
    """Return True if passes are known to agree to the bit, with padding if need be."""
    invariance = find_invariance(measurements, properties)
    return invariance is not None and invariance.min_tokens > 0


def store_invariance(measurements: Measurements, properties: Properties, invariance: Invariance) -> None:
    stored = {**_stored(measurements.get(_INVARIANCE), Invariance), _key(properties): invariance}
    measurements.put(_INVARIANCE, to_data(stored))


def refuse(measurements: Measurements, properties: Properties, reason: Translatable) -> None:
    """Store that these properties must not be used."""
    store_verdict(measurements, properties, Verdict(reason))


def refusals(folder: Path) -> Iterator[tuple[Mapping[str, object], str, str]]:
    """Yield what was refused on this machine: the subject, the name of the setting, and the reason."""
    for subject, values in every(folder):
        for key, verdict in _stored(values.get(VALIDATED), Verdict).items():
            if verdict.reason:
                yield subject, name_of(json.loads(key)), verdict.reason


def invariances(folder: Path) -> Iterator[tuple[Mapping[str, object], str, bool]]:
    """Yield what was tried on this machine: the subject, the name of the setting, and True if its passes agree."""
    for subject, values in every(folder):
        for key, invariance in _stored(values.get(_INVARIANCE), Invariance).items():
            yield subject, name_of(json.loads(key)), invariance.min_tokens > 0


@dataclass(frozen=True)
class Subject:
    """A model on a device."""

    folder: Path
    device: str
    runner: str  # the kind that passed its self-test
    limit: float  # nats: the allowed divergence from exact logits
    gigabytes: float
    measurements: Measurements


def limit_of(kl_divergence: float | None) -> float:
    """Return the limit for a model whose compression cost `kl_divergence` nats of KL divergence; None: not measured."""
    return max(kl_divergence or 0.0, _MIN_LIMIT)


@dataclass(frozen=True)
class _Order:
    """The work of a child process."""

    folder: str
    device: str
    runner: str
    limit: float
    sizes: Sequence[int]  # tokens of the passes to time
    properties: Sequence[Properties]


class Trial:
    """A trial of OpenVINO properties in a child process. `stop` ends it from another thread."""

    def __init__(self, command: Sequence[str] | None = None, patience: float | None = None) -> None:
        """`command` starts the engine's program, unless a test has another. `patience`: seconds of silence."""
        self._command = command or program("--validate")
        self._patience = patience
        self._child: subprocess.Popen[bytes] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def run(
        self, subject: Subject, properties: Iterable[Properties], *, timed: bool = True, again: bool = False
    ) -> None:
        """Try the properties that are not known yet; with `timed`, also measure their passes.

        `again`: measure those anew that were disturbed.
        """
        verdicts = [(chosen, find_verdict(subject.measurements, chosen)) for chosen in properties]
        pending = [
            chosen
            for chosen, verdict in verdicts
            if verdict is None
            or (timed and not verdict.reason and not verdict.is_timed)
            or (again and verdict.is_disturbed)
        ]
        while pending:
            num_decided = 0
            for chosen, verdict in zip(pending, self._try(subject, pending, timed=timed), strict=False):
                store_verdict(subject.measurements, chosen, verdict)
                if verdict.invariance:
                    store_invariance(subject.measurements, chosen, verdict.invariance)
                num_decided += 1
            if not num_decided:
                return
            pending = pending[num_decided:]

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._child:
                self._child.kill()

    def _try(self, subject: Subject, pending: Sequence[Properties], *, timed: bool) -> Iterator[Verdict]:
        """Yield a verdict for each of `pending` in order, up to the first that ends the child. Raises OSError."""
        sizes = SIZES if timed else ()
        order = _Order(str(subject.folder), subject.device, subject.runner, subject.limit, sizes, pending)
        patience = self._patience or _SECONDS + _SECONDS_PER_GB * subject.gigabytes
        with tempfile.TemporaryFile() as errors:
            with self._lock:
                if self._stopped:
                    return
                pipe = subprocess.PIPE
                self._child = child = subprocess.Popen(self._command, bufsize=0, stdin=pipe, stdout=pipe, stderr=errors)
            assert child.stdin
            assert child.stdout
            with child:  # its input stays open: the child ends when it is closed
                try:
                    with contextlib.suppress(OSError):  # the loop below notices a child that has ended
                        child.stdin.write(msgspec.json.encode(order) + b"\n")
                    for _ in pending:
                        began = time.monotonic()
                        silence = threading.Timer(patience, child.kill)
                        silence.start()
                        line = child.stdout.readline()
                        silence.cancel()
                        if self._stopped:
                            return
                        if not line and time.monotonic() - began >= patience:
                            yield Verdict(Translatable("it gave no sign for {patience:.0f} seconds", patience=patience))
                            return
                        if not line:
                            yield Verdict(
                                Translatable(
                                    "it ended the process that tried it ({ending})", ending=_ending(child, errors)
                                )
                            )
                            return
                        report = from_data(Verdict | str, json.loads(line))
                        if isinstance(report, str):
                            _log.warning("%s cannot be tried on %s: %s", subject.folder, subject.device, report)
                            return
                        yield report
                finally:
                    child.kill()


def answer(orders: IO[bytes], reports: IO[bytes], build: Callable[[str, Path, str], Build]) -> None:
    """Read one order, and write a line for each of its properties, or why none can be tried. Runs in the child.

    `build` takes the kind of a runner, a folder and a device.
    """
    order = msgspec.json.decode(orders.readline(), type=_Order)
    threading.Thread(target=_exit_with_parent, args=(orders,), daemon=True, name="parent").start()
    folder = Path(order.folder)
    compile_model = build(order.runner, folder, order.device)

    def tell(report: Verdict | str) -> None:
        reports.write(json.dumps(to_data(report)).encode("ascii") + b"\n")
        reports.flush()

    try:
        ids = _text_ids(folder)
        expected = _reference(build(order.runner, folder, "CPU"), ids)
    except RuntimeError as error:
        tell(str(error))
        return
    for chosen in order.properties:
        tell(_tried(compile_model, chosen, ids, expected, order))


def _exit_with_parent(orders: IO[bytes]) -> None:
    """End this process when its parent has ended."""
    orders.read()
    os._exit(0)


def _tried(compile_model: Build, chosen: Properties, ids: Sequence[int], expected: Logits, order: _Order) -> Verdict:
    try:
        limits = _limits(compile_model, chosen, ids, expected, order)
        runner = compile_model(chosen, MAX_CONTEXT if order.sizes else len(ids) + _AFTER)
        for limit, (place, logits) in zip(limits, _scenes(runner, ids), strict=False):
            reason = _difference(expected[place : place + len(logits)], logits, limit)
            if reason:
                return Verdict(reason)
        runner.rollback(0)
        if not order.sizes:
            return Verdict()
        invariance = batch_invariance(runner)
        invariance.apply(runner)
        others = OtherPrograms()
        # Two turns, as other programs may be busy for a while.
        turns = [{tokens: pass_ms(runner, tokens, repeats=2) for tokens in order.sizes} for _ in range(2)]
        ms = {tokens: min(turn[tokens] for turn in turns) for tokens in order.sizes}
        switch, prompt = switch_ms(runner, repeats=3), pass_ms(runner, PROMPT, repeats=2)
        return Verdict(Translatable(), ms, switch, prompt, others.share > _MAX_SHARE_OF_OTHERS, invariance)
    except RuntimeError as error:
        last_line = str(error).strip().splitlines()[-1]
        return Verdict(Translatable("the device refuses it ({reason})", reason=last_line))


def _limits(
    compile_model: Build, chosen: Properties, ids: Sequence[int], expected: Logits, order: _Order
) -> Iterable[float]:
    """Return the largest accepted distance of each scene from exact arithmetic, in nats.

    Plain f32 on a processor is the default. With VNNI it rounds activations to INT8, except beside the 4-bit blocks of
    a GGUF file. Our own kernels always do, and may be as far away.
    """
    if order.device == "CPU" and chosen == plain():
        return itertools.repeat(math.inf)
    limit = order.limit if chosen.get("KV_CACHE_PRECISION") != "u8" else max(order.limit, _LIMIT_8_BIT)
    if hint_of(chosen) != OWN:
        return itertools.repeat(limit)
    limit = max(limit, _LIMIT_ROUNDED)
    usual = compile_model(plain(), len(ids) + _AFTER)
    return [
        max(limit, _SLACK * _mean_divergence(expected[place : place + len(logits)], logits))
        for place, logits in _scenes(usual, ids)
    ]


def _scenes(runner: Runner, ids: Sequence[int]) -> Iterator[tuple[int, Logits]]:
    """Yield places in the text and the logits of the rows from there on, read as answers come to read them.

    The first row is left out, because no answer begins there. With nothing to attend to, its activations are so uneven
    that their rounding alone costs 0.3 nats, with OpenVINO's kernels, too.
    """
    yield 1, runner.forward(ids[:_PROMPT], rows=_PROMPT - 1).copy()
    place = _PROMPT
    for tokens in _PASSES:
        yield place, runner.forward(ids[place : place + tokens], rows=tokens).copy()
        place += tokens
    runner.rollback(_PROMPT)
    runner.forward(ids[:_REJECTED], rows=1)
    runner.rollback(_PROMPT)
    after = ids[_PROMPT : _PROMPT + _AFTER]
    yield _PROMPT, runner.forward(after, rows=_AFTER).copy()
    if runner.can_branch:
        runner.rollback(_PROMPT)
        yield _PROMPT, runner.forward(after, [Branch(1, ids[0])], rows=_AFTER)[:_AFTER].copy()
    runner.rollback(0)  # the cache keeps old keys and values
    yield 1, runner.forward(ids[:_PROMPT], rows=_PROMPT - 1).copy()
    for place in range(_PROMPT, _PROMPT + _AFTER):
        yield place, runner.forward([ids[place]]).copy()


def _difference(expected: Logits, logits: Logits, limit: float) -> Translatable:
    """Return in what way logits differ from the expected ones, both [rows, vocabulary]; empty if they agree."""
    broken = int(np.count_nonzero(~np.isfinite(logits).all(axis=1)))
    if broken:
        return Translatable("{broken} of {found} results are not numbers", broken=broken, found=len(logits))
    divergence = _mean_divergence(expected, logits)
    if divergence <= limit:
        return Translatable()
    return Translatable(
        "results differ from exact ones by {divergence:.3g} nats, more than {limit:.3g}",
        divergence=divergence,
        limit=limit,
    )


def _mean_divergence(expected: Logits, logits: Logits) -> float:
    return float(np.mean([_divergence(*rows) for rows in zip(expected, logits, strict=True)]))


def _divergence(expected: Logits, logits: Logits) -> float:
    """Return KL(expected || found) of one row, in nats."""
    p, q = (row - row.max() for row in (expected.astype(np.float64), logits.astype(np.float64)))
    p, q = p - np.log(np.exp(p).sum()), q - np.log(np.exp(q).sum())
    return float((np.exp(p) * (p - q)).sum())


def _reference(compile_model: Build, ids: Sequence[int]) -> Logits:
    """Return the logits after each token, by exact arithmetic on the CPU: [len(ids), vocabulary].

    Raises RuntimeError if they are not finite.
    """
    logits = compile_model(reference(), len(ids)).forward(ids, rows=len(ids)).copy()
    if not np.isfinite(logits).all():
        raise RuntimeError("exact arithmetic gives results that are not numbers")
    return logits


def _text_ids(folder: Path) -> list[int]:
    from headstart.engine.text.tokenizer import Tokenizer  # noqa: PLC0415 - only the child needs it

    num_tokens = _PROMPT + sum(_PASSES)
    ids = Tokenizer(folder).encode(TEXT)
    return (ids * (1 + num_tokens // len(ids)))[:num_tokens]


def _stored(values: object, kind: type[_T]) -> dict[str, _T]:
    """Return stored values by key. Unreadable ones count as not tried."""
    try:
        stored: dict[str, _T] = from_data(dict[str, kind], values or {})  # type: ignore[valid-type]
    except ValueError:
        _log.warning("what was found of precisions cannot be read and is tried again")
        return {}
    return stored


def _key(properties: Properties) -> str:
    return json.dumps(without_defaults(properties), sort_keys=True)


def _ending(child: "subprocess.Popen[bytes]", errors: IO[bytes]) -> str:
    """Return how the child ended, and log its last words."""
    code = child.wait()
    errors.seek(0)
    _log.warning("%s", errors.read()[-2000:].decode("utf-8", "replace"))
    return ending(code)
