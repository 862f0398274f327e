"""The list of all drafters."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from headstart.engine.drafters import table
from headstart.engine.drafters.base import Drafter
from headstart.engine.drafters.draft_model import DraftModel
from headstart.engine.drafters.eagle import EagleDrafter
from headstart.engine.drafters.hydra import HydraDrafter
from headstart.engine.drafters.ngram import NgramDrafter
from headstart.engine.prefix_cache import PrefixCache
from headstart.engine.runners.head import HeadRunner
from headstart.engine.runners.hydra import HydraRunner
from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.runner import Runner
from headstart.engine.sampling import Ids
from headstart.library.manifest import Manifest


@dataclass(frozen=True)
class Sources:
    """Everything that drafters are made of."""

    target: Runner
    folder: Path | None = None
    manifest: Manifest | None = None
    draft: Runner | None = None
    draft_vocab: Ids | None = None  # rising ids of the draft's logits, if its output head is trimmed
    reads: int = 1  # tokens that the draft reads in a pass
    prefixes: PrefixCache | None = None  # of the draft
    head: HeadRunner | HydraRunner | None = None
    ngram: NgramDrafter = field(default_factory=NgramDrafter)


def _draft_model(sources: Sources) -> DraftModel | None:
    if sources.draft is None:
        return None
    return DraftModel(
        sources.draft,
        sources.target.vocabulary,
        sources.draft_vocab,
        sources.ngram,
        sources.reads,
        sources.prefixes,
    )


def _head(sources: Sources) -> EagleDrafter | HydraDrafter | None:
    target, head = sources.target, sources.head
    if head is None or not isinstance(target, PagedRunner) or target.hidden is None:
        return None
    if isinstance(head, HydraRunner):
        return HydraDrafter(head, target.vocabulary, head.listed, sources.ngram, target=target)
    return EagleDrafter(head, target.vocabulary, head.listed, sources.ngram, target=target)


def _table(sources: Sources) -> table.TableDrafter | None:
    shipped = table.read(sources.folder, sources.manifest) if sources.folder and sources.manifest else None
    return table.TableDrafter(shipped) if shipped else None


DRAFTERS: list[Callable[[Sources], Drafter | None]] = [
    _draft_model,
    _head,
    lambda sources: sources.ngram,
    _table,
]


def drafters_of(sources: Sources) -> list[Drafter]:
    """Return the drafters for which the sources suffice. Raises BrokenModelError for a damaged table."""
    drafters = (make(sources) for make in DRAFTERS)
    return [drafter for drafter in drafters if drafter is not None]
