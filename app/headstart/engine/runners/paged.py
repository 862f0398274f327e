"""The runner of choice: a paged-attention graph over keys and values that are our own tensors.

Several sequences may share it, each over blocks of its own. Forgetting tokens is a smaller `past_lens`: no copy, and
bit-exact with a 16-bit or 32-bit cache.
"""

# Sequences over one model read together.
# ruff: noqa: SLF001

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from headstart.engine.cancelling import CancelEvent
from headstart.engine.hardware.runtime import core, openvino
from headstart.engine.kernels.fusion import compile_model
from headstart.engine.kernels.library import BLOCK
from headstart.engine.kernels.operation import KvCache
from headstart.engine.kernels.states import States
from headstart.engine.kernels.windows import Windows, WindowTable
from headstart.engine.runners.graph import Ids, gather_rows, keep_rows
from headstart.engine.runners.passes import CHUNK, Pass, Passes
from headstart.engine.runners.runner import Branch, Hidden, Interrupted, Joined, Logits, Saved

_CACHE_INPUTS = ("key_cache.", "value_cache.")
Edit = Callable[[Any], None]  # edits a model's graph before any other change
_COUNT = 8  # bytes of a number in what is saved
_SPARE = 2  # places beyond the context: a recovery takes up to three, and the next call finds one or more


class UnmovableError(RuntimeError):
    """The keys of a kept branch cannot be moved: OpenVINO's of 8 bits share a scale with their neighbours."""


@dataclass(frozen=True, eq=False)
class PagedModel:
    """A compiled model, and room for the keys and values of its sequences."""

    batcher: Passes
    context: int  # most tokens of a sequence
    sequences: int
    block: int  # tokens of a block
    blocks: int  # of each sequence
    caches: Sequence[NDArray[Any]]
    own: KvCache | None  # of our own attention, whose arrays the caches are; None: OpenVINO's is used
    states: States
    windows: Windows | None
    vocabulary: int
    draft_vocab: Ids | None  # the rows of its output head; None: all
    hidden_widths: Sequence[int]  # the sizes of a token's hidden states that a head reads; empty: the graph has none
    can_save: bool
    edit: Edit | None

    def caches_of(self, *, windows: bool) -> Sequence[NDArray[Any]]:
        """Return the caches of the layers with a window, or of those without one."""
        if self.own is None:
            return () if windows else self.caches
        pairs = zip(self.caches, self.own.has_window, strict=True)
        return [cache for cache, has_window in pairs if has_window == windows]


class PagedRunner:
    """One sequence over one block table that is contiguous."""

    can_branch, can_pad = False, True

    def __init__(self, model: PagedModel, number: int = 0) -> None:
        """Begin an empty sequence. The first one, with the number 0, begins the others."""
        self.model, self._number = model, number
        self.context, self.vocabulary, self.draft_vocab = model.context, model.vocabulary, model.draft_vocab
        self.can_save, self.batcher, self._states = model.can_save, model.batcher, model.states
        self._first = number * model.blocks  # number of its first block
        self._table = self._first + np.arange(model.blocks, dtype=np.int32)
        self._windows = WindowTable(model.windows, model.blocks) if model.windows else None
        self._tokens: list[int] = []
        self.joined: Joined | None = None
        self._branches: Sequence[Branch] = ()  # of the last pass
        self._fork = 0  # tokens before these
        # The hidden states that a head reads, of the cached tokens from `hidden_from` on; None: the graph has none.
        widths = model.hidden_widths
        self.hidden: Hidden | None = np.zeros([model.context + _SPARE, *widths], np.float32) if widths else None
        self.hidden_from = 0
        further = () if number else range(1, model.sequences)  # which the first sequence begins
        self.others: Sequence[PagedRunner] = [type(self)(model, other) for other in further]

    @classmethod
    def load(
        cls,
        folder: Path,
        device: str,
        properties: Mapping[str, str],
        context: int,
        draft_vocab: Ids | None = None,
        edit: Edit | None = None,
        sequences: int = 1,
    ) -> Self:
        """Compile `folder`'s model with room for `context` tokens of each sequence; memory is used as it fills.

        Return its first sequence. `draft_vocab`: the rows to which its output head is cut down, if it can be; then the
        attribute has them. Raises RuntimeError when OpenVINO refuses the transformation or the device; the caller words
        it.
        """
        if cls.can_branch and device != "CPU":
            raise RuntimeError(f"nothing is known of branches on {device}")
        model = _paged_model(folder, edit, allow_qq_bias=cls.can_branch)
        vocabulary: int = model.output(0).get_partial_shape()[2].get_length()
        listed = draft_vocab if draft_vocab is not None and keep_rows(model, draft_vocab) else None
        compiled = compile_model(model, device, properties)
        ports = [port for port in compiled.model.inputs if port.any_name.startswith(_CACHE_INPUTS)]
        if compiled.attentions:
            block = BLOCK
        elif not ports:
            raise RuntimeError("no cache of keys and values was found")
        elif cls.can_branch and any(port.element_type == openvino().Type.u8 for port in ports):
            raise UnmovableError
        else:
            # Axis 2 of a block of values is its length in tokens; the compiled model decides it (32 on CPU, 16 on GPU).
            # A block of 8-bit keys holds scales, too.
            values = next(port for port in ports if port.any_name.startswith(_CACHE_INPUTS[1]))
            block = int(values.partial_shape[2].get_length())
        blocks = -(-(context + _SPARE) // block)
        batcher = Passes(compiled, block, sequences=sequences, can_branch=cls.can_branch)
        own = compiled.kv_cache(sequences * blocks) if compiled.attentions else None
        paged = PagedModel(
            batcher,
            context,
            sequences,
            block,
            blocks,
            caches=own.layers if own else _bind_caches(batcher, ports, sequences * blocks),
            own=own,
            states=compiled.states,
            windows=compiled.windows,
            vocabulary=vocabulary,
            draft_vocab=listed,
            hidden_widths=[port.partial_shape[-1].get_length() for port in compiled.model.outputs[1:]],
            can_save=device == "CPU",  # other devices may compute with other memory than these tensors
            edit=edit,
        )
        return cls(paged)

    @property
    def known(self) -> int:
        return self._known(len(self._tokens))

    @property
    def sharing(self) -> int:
        return self.batcher.sharing

    def at_work(self) -> AbstractContextManager[None]:
        """Context manager for writing an answer, during which other sequences wait for this one; see Passes.at_work."""
        return self.batcher.at_work(self._number)

    @property
    def min_tokens(self) -> int:
        """The least number of tokens in a pass of a sequence, and of rows of logits; what is shorter is padded."""
        return self.batcher.min_tokens

    @min_tokens.setter
    def min_tokens(self, count: int) -> None:
        assert count <= _SPARE
        self.batcher.min_tokens = count

    @property
    def tokens(self) -> Sequence[int]:
        return self._tokens

    def forward(
        self,
        ids: Sequence[int],
        branches: Sequence[Branch] = (),
        rows: int = 1,
        cancel: CancelEvent | None = None,
    ) -> Logits:
        assert 1 <= rows <= len(ids)
        assert self.can_branch or not branches
        began = len(self._tokens)
        assert len(ids) + len(branches) <= self.context - began
        try:
            while self.sharing > 1 and rows == 1 and len(ids) > CHUNK:  # other sequences need not wait for all of it
                self._read(ids[:CHUNK], (), 1, cancel)
                ids = ids[CHUNK:]
            return self._read(ids, branches, rows, cancel)
        except Interrupted:
            self.rollback(began)
            raise

    def forward_together(self, ids: Sequence[tuple["PagedRunner", Sequence[int]]]) -> Sequence[Pass]:
        """Append ids to several sequences of this model in one pass.

        Return the logits after the last id of each, and the hidden states; they are valid until the next pass. No other
        thread may use the sequences meanwhile, and the pass cannot be stopped.
        """
        for runner, _ in ids:
            runner._read_again(None)
        together = [runner._pass(new, (), 1) for runner, new in ids]
        for (runner, _), current in zip(ids, together, strict=True):
            runner._make_room(current)
        self.batcher.read(together)
        for runner, new in ids:
            runner._tokens.extend(new)
        return together

    def rollback(self, length: int, branch: int | None = None) -> None:
        del self._tokens[length:]
        self.hidden_from = min(self.hidden_from, len(self._tokens))
        self._states.truncate(self._number, len(self._tokens))
        if branch is not None:
            self._keep(length, branch)

    def hold(self, *lengths: int) -> None:
        if self._windows:
            self._windows.hold(lengths)

    def save(self, start: int, stop: int) -> Saved:
        first, last = start // self.model.block, -(-stop // self.model.block)
        blocks, present = slice(self._first + first, self._first + last), np.ones(last - first, bool)
        arrays = [cache[blocks].view(np.uint8).ravel() for cache in self.model.caches_of(windows=False)]
        if self._windows:
            present, places = self._windows.present(first, last)
            arrays += [cache[places].view(np.uint8).ravel() for cache in self.model.caches_of(windows=True)]
        if self._states:
            states = self._states.save(self._number, stop)
            room = np.zeros(self._states.size, np.float32)
            room[: len(states)] = states
            arrays += [room.view(np.uint8), np.array([stop - start if len(states) else 0]).view(np.uint8)]
        if self._windows:
            arrays += [present.view(np.uint8), np.array([len(present)]).view(np.uint8)]
        return np.concatenate(arrays)

    def restore(self, tokens: Sequence[int], saved: Saved) -> bool:
        first, num_blocks = len(self._tokens) // self.model.block, -(-len(tokens) // self.model.block)
        caches_of_all, caches_of_windows = (self.model.caches_of(windows=windows) for windows in (False, True))
        of_all, of_windows = ([cache[:1].nbytes for cache in caches] for caches in (caches_of_all, caches_of_windows))
        of_states = 4 * self._states.size + _COUNT if self._states else 0
        if self._windows:
            saved, in_windows = _without_map(saved)
            present = len(in_windows)
        else:
            in_windows, present = np.zeros(0, bool), (saved.size - of_states) // sum(of_all)
        num_in_windows = int(in_windows.sum())
        is_whole = saved.size == present * sum(of_all) + num_in_windows * sum(of_windows) + of_states
        if not is_whole or present < num_blocks or len(self._tokens) % self.model.block:
            return False
        start = 0
        for cache, size in zip(caches_of_all, of_all, strict=True):
            slots = cache[self._first + first : self._first + first + num_blocks].view(np.uint8)
            slots[...] = saved[start : start + num_blocks * size].reshape(slots.shape)
            start += present * size
        if self._windows:
            places = self._windows.restore(first, in_windows[:num_blocks])
            for cache, size in zip(caches_of_windows, of_windows, strict=True):
                cache[places] = saved[start : start + len(places) * size].reshape(len(places), size)
                start += num_in_windows * size
        self._tokens.extend(tokens)
        # States are those behind all that was saved. Without them, tokens are read again before the next pass.
        if self._states and saved[-_COUNT:].view(np.int64)[0] == len(tokens):
            self._states.restore(self._number, len(self._tokens), saved[start:-_COUNT].view(np.float32))
        self.hidden_from = len(self._tokens)
        return True

    def _keep(self, place: int, number: int) -> None:
        """Move the keys and values of a branch of the last pass to their place."""
        assert place < self._fork
        self._states.keep(self._number, place, number)
        source = self._fork + number
        from_, to = (divmod(self._first * self.model.block + token, self.model.block) for token in (source, place))
        if self.model.own:
            self.model.own.move(from_, to)
            if self._windows:
                self.model.own.move(self._windows.place(source), self._windows.place(place), in_windows=True)
        else:
            for cache in self.model.caches:  # [blocks, heads, tokens of a block, size]
                cache[to[0], :, to[1]] = cache[from_[0], :, from_[1]]
        if self.hidden is not None:
            self.hidden[place] = self.hidden[source]
        self._tokens.append(self._branches[number].token)

    def _read(self, ids: Sequence[int], branches: Sequence[Branch], rows: int, cancel: CancelEvent | None) -> Logits:
        self._read_again(cancel)
        logits = self._run(self._pass(ids, branches, rows + len(branches)), cancel)
        self._tokens.extend(ids)
        self._branches, self._fork = tuple(branches), len(self._tokens)
        return logits

    def _run(self, current: Pass, cancel: CancelEvent | None) -> Logits:
        self._make_room(current)
        logits = self.batcher.run(current, cancel).logits
        assert logits is not None
        self.joined = current.joined
        if self.hidden is not None:  # branches stand after the other tokens, as their keys do
            assert current.hidden is not None
            self.hidden[current.past : current.past + len(current.hidden)] = current.hidden
        return logits

    def _read_again(self, cancel: CancelEvent | None) -> None:
        """Read the last tokens again if the states or the windows behind them were not kept."""
        while (known := self._known(len(self._tokens))) < len(self._tokens):
            stop = known - known % self.model.block + CHUNK  # the end of a block, so that it has all its tokens
            try:
                self._run(replace(self._pass(self._tokens[known:stop], (), 1), past=known), cancel)
            except BaseException:
                if self._windows:
                    self._windows.forget(known)
                raise

    def _known(self, length: int) -> int:
        """Return the last place up to `length` at which all states and windows are known."""
        known = self._windows.known(length) if self._windows else length
        states = self._states.known(self._number, known)
        return known if states == known else self._known(states)

    def _pass(self, ids: Sequence[int], branches: Sequence[Branch], rows: int) -> Pass:
        padding = max(self.min_tokens - len(ids) - len(branches), 0)
        ids = [*ids, *[0] * padding]
        return Pass(ids, branches, len(self._tokens), rows, self._table, None, self._number, padding)

    def _make_room(self, current: Pass) -> None:
        """Make room for a pass in the layers with a window."""
        if self._windows:
            current.window_table = self._windows.make_room(current.past, current.count, len(self._tokens))


class BranchingRunner(PagedRunner):
    """The paged runner that checks several tokens for the same place in one pass.

    Branches stand after the tokens of their pass, each at the position of the token that it may replace, and see
    of that pass only what comes before it (Miao et al. 2023, SpecInfer). The keys and values of one that holds are
    moved. Without branches its logits are those of its parent, in the same time. For processors only.
    """

    can_branch = True


def _bind_caches(batcher: Passes, ports: Sequence[Any], blocks: int) -> list[NDArray[Any]]:
    """Make room for so many blocks of keys and values of OpenVINO's attention, and return it by layer."""
    ov, caches = openvino(), list[NDArray[Any]]()
    for port in ports:
        shape = [blocks if size.is_dynamic else size.get_length() for size in port.partial_shape]
        tensor = ov.Tensor(port.element_type, ov.Shape(shape))
        caches.append(tensor.data)
        batcher.bind(port, tensor)
    return caches


def _without_map(saved: Saved) -> tuple[Saved, NDArray[np.bool_]]:
    """Return what is saved, and which of its blocks layers with a window have; none if it cannot be read."""
    count = int(saved[-_COUNT:].view(np.int64)[0]) if saved.size >= _COUNT else 0
    if not 0 < count <= saved.size - _COUNT:
        return saved, np.zeros(0, bool)
    return saved[: -_COUNT - count], saved[-_COUNT - count : -_COUNT] != 0


def _paged_model(folder: Path, edit: Edit | None, *, allow_qq_bias: bool) -> Any:
    from openvino._offline_transformations import paged_attention_transformation  # noqa: PLC0415

    model = core().read_model(folder / "openvino_model.xml")
    if edit is not None:
        edit(model)
    paged_attention_transformation(model, allow_qq_bias=allow_qq_bias)
    if not gather_rows(model, axis=0):
        raise RuntimeError("no output head was found")
    return model
