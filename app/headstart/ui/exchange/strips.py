"""Cuts the blocks of a document into short runs, each drawn in a moment. Pure: knows no paper and nothing of Qt."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace

from headstart.ui.markdown.blocks import Block, Code, Paragraph, Rule, spans

_MOST = 3000  # characters in a run, about a page
_MANY = 24  # blocks in a run
_LINE = 40  # what a line of code counts for, however short


def runs(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Every block in order; a heading and a rule stay with what follows."""
    run: list[Block] = []
    size = 0
    for block in itertools.chain.from_iterable(map(_pieces, blocks)):
        length = _length(block)
        if run and not _clings(run[-1]) and (size + length > _MOST or len(run) >= _MANY):
            yield run
            run, size = [], 0
        run.append(block)
        size += length
    if run:
        yield run


def _pieces(block: Block) -> Iterator[Block]:
    """Code longer than a run in several blocks; pages would cut it, too."""
    if not isinstance(block, Code) or _length(block) <= _MOST:
        yield block
        return
    for text in _joined(block.text.split("\n")):
        yield replace(block, text=text, runs=((0, 0),))


def _joined(lines: Iterable[str]) -> Iterator[str]:
    held: list[str] = []
    size = 0
    for line in lines:
        if held and size + _weight(line) > _MOST:
            yield "\n".join(held)
            held, size = [], 0
        held.append(line)
        size += _weight(line)
    yield "\n".join(held)


def _length(block: Block) -> int:
    if isinstance(block, Code):
        return sum(map(_weight, block.text.split("\n")))
    return sum(len(span.text) for span in spans(block))


def _weight(line: str) -> int:
    return max(len(line), _LINE)


def _clings(block: Block) -> bool:
    return isinstance(block, Rule) or (isinstance(block, Paragraph) and block.heading > 0)
