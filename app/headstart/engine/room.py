"""Refuses what the memory of this computer or of a device cannot hold. Loads nothing; `budget` does the arithmetic."""

import contextlib
from collections import Counter

import psutil

from headstart.engine import budget, devices
from headstart.engine.engine import LoadOptions
from headstart.errors import MemoryBudgetError
from headstart.manifest import Manifest


def require(target: Manifest, draft: Manifest | None, options: LoadOptions) -> None:
    """Raises MemoryBudgetError with both numbers and the ways out, unless the user wants to try anyway."""
    if options.ignore_memory:
        return
    models = (target, draft) if draft else (target,)
    away = _away(models, options)
    for device, wanted in away.items():
        size = devices.memory(device) or 0
        if wanted > size:
            raise MemoryBudgetError(_sentence(models, options, wanted, f"{device} has {amount(size)}"))
    wanted, free = budget.need(models, options.context, options.kv_precision).total - away.total(), free_memory()
    if wanted > free:
        fitting = None if away else budget.largest_context(models, free, options.kv_precision)
        raise MemoryBudgetError(_sentence(models, options, wanted, f"{amount(free)} is free", fitting))


def free_memory(ending: int = 0) -> int:
    """Bytes that a program could take without swapping once the process `ending` (0: none) has ended."""
    held = 0
    if ending:
        with contextlib.suppress(psutil.Error):  # it has ended by itself
            held = int(psutil.Process(ending).memory_info().rss)
    return int(psutil.virtual_memory().available) + held


def amount(size: int) -> str:
    """Bytes as people read them."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def _away(models: tuple[Manifest, ...], options: LoadOptions) -> Counter[str]:
    """Bytes wanted of devices that have memory of their own."""
    places = (options.device, options.draft_device or options.device)
    taken: Counter[str] = Counter()
    for model, device in zip(models, places, strict=False):
        if devices.memory(device) is not None:
            taken[device] += budget.share(model, options.context, options.kv_precision)
    return taken


def _sentence(
    models: tuple[Manifest, ...], options: LoadOptions, wanted: int, present: str, fitting: int | None = None
) -> str:
    names = " and ".join(model.name for model in models)
    context = budget.context_of(models[0], options.context)
    shorter = f"a smaller context ({fitting} tokens would fit)" if fitting else "a smaller context"
    lighter = "a smaller draft or none" if len(models) > 1 else "INT4 weights"
    return (
        f"Loading {names} with {context} tokens of context takes about {amount(wanted)} of memory, but {present}: "
        f"choose {shorter}, {lighter}, or a smaller model."
    )
