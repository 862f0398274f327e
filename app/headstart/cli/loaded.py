"""What a person should know of how a model is loaded: the device that AUTO means, who answers, what 8 bits save."""

from collections.abc import Iterator

from headstart import manifest as manifests
from headstart.engine import budget, devices
from headstart.engine.engine import Engine, EngineKind, KvPrecision, LoadOptions, Sampling
from headstart.engine.process.client import EngineClient
from headstart.engine.protocol import Facts
from headstart.engine.room import amount


def remarks(options: LoadOptions, asked: str) -> Iterator[str]:
    """Sentences; mostly none. `asked`: the device by the person's own words."""
    if asked and devices.leaves_choice(asked):
        yield f"{asked.upper()} is {options.device} here: {devices.full_name(options.device)}."
    if options.kv_precision is KvPrecision.U8:
        yield _saving(options)


def who(engine: Engine) -> Iterator[str]:
    """Why it is another engine or another precision than a person asked for."""
    facts = _facts(engine)
    if facts:
        yield from filter(None, (facts.reason, *facts.notes))


def kind(engine: Engine) -> EngineKind:
    """Which engine it is."""
    facts = _facts(engine)
    return EngineKind(facts.engine) if facts else EngineKind.HEADSTART


def context(engine: Engine) -> int:
    """Tokens of room; 0 where nobody tells."""
    facts = _facts(engine)
    return facts.context if facts else 0


def sampling(engine: Engine) -> Sampling | None:
    """What "auto" means for the model; None where only a server knows."""
    facts = _facts(engine)
    return facts.sampling if facts else None


def _facts(engine: Engine) -> Facts | None:
    """Of an engine in a process of its own."""
    return engine.facts if isinstance(engine, EngineClient) else None


def _saving(options: LoadOptions) -> str:
    models = [manifests.read_model(folder) for folder in (options.target, options.draft) if folder]
    full, less = (budget.cache(models, options.context, kv) for kv in (KvPrecision.F16, KvPrecision.U8))
    tokens = budget.context_of(models[0], options.context)
    return f"Keys and values of {tokens} tokens take {amount(less)} in 8 bits, where 16 bits take {amount(full)}."
