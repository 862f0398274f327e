"""An EAGLE-3 head as a draft: exported, run end to end by OpenVINO GenAI, and refused where it does not fit."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from headstart import manifest
from headstart.engine import opening
from headstart.engine.backends.genai.engine import GenaiEngine
from headstart.engine.bench.peers import EagleSource, GenaiModel, PeerOptions
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.engine import (
    Engine,
    EngineKind,
    Finish,
    LoadOptions,
    Message,
    Numerics,
    Request,
    Speculation,
)
from headstart.engine.runners.precision import properties
from headstart.engine.runtime import openvino
from headstart.engine.tokenizer import Tokenizer
from headstart.errors import PeerError, SettingsError
from tests.export import tiny_head
from tests.export.conftest import Offline, Outcome
from tests.export.test_end_to_end import with_layers

QUESTION = Request((Message("user", "Question 1: what is new?"),), max_new_tokens=48)
MISFITS = {
    "wide": ({"hidden_size": 128}, "wide cannot guess for deep: it was made for a hidden size of 128, but deep has 64"),
    "foreign": ({"vocab_size": 700}, "it was made for a vocabulary size of 700, but deep has 640; choose the EAGLE-3"),
    "tall": ({"num_hidden_layers": 2}, "tall is an EAGLE-3 head of a kind that cannot be converted (llama, 2 layers)"),
}


@dataclass(frozen=True)
class Exports:
    """All outcomes by name, and the pair."""

    pair: Path
    outcomes: dict[str, Outcome]

    @property
    def options(self) -> LoadOptions:
        """The pair, exactly."""
        return LoadOptions(self.pair / "target", self.pair / "draft", numerics=Numerics.EXACT)


@pytest.fixture(scope="module")
def exports(offline: Offline, tiny_source: Path, tmp_path_factory: pytest.TempPathFactory) -> Exports:
    """Everything exported once, in one process."""
    folder = tmp_path_factory.mktemp("eagle")
    deep = with_layers(tiny_source, folder / "deep", 10)
    shallow = with_layers(tiny_source, folder / "shallow", 8)
    head = str(tiny_head.write(folder / "head", deep))
    runs = {"pair": [str(deep), "--draft", head]}
    runs |= {
        name: [str(deep), "--draft", str(tiny_head.write(folder / name, deep, **MISFITS[name][0]))] for name in MISFITS
    }
    runs["shallow"] = [str(shallow), "--draft", head]
    runs["alone"] = [head]
    runs["listed"] = [*runs["pair"], "--draft-vocab", "300"]
    outcomes = offline.export(*([*run, "--output", str(folder / f"{name}-made")] for name, run in runs.items()))
    return Exports(folder / "pair-made", dict(zip(runs, outcomes, strict=True)))


@pytest.fixture(scope="module")
def plain(exports: Exports, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, ...]:
    """What the target says by itself, by Headstart's own engine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_HOME", str(tmp_path_factory.mktemp("home")))
        engine = opening.load(replace(exports.options, draft=None))
    return finished(engine).token_ids


@pytest.fixture(scope="module")
def guessing(exports: Exports, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GenaiEngine]:
    """The pair with whatever engine is chosen for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_HOME", str(tmp_path_factory.mktemp("home")))
        engine = opening.load(exports.options)
    assert isinstance(engine, GenaiEngine)
    yield engine
    engine.close()


def finished(engine: Engine, request: Request = QUESTION) -> Finish:
    """The end of an answer."""
    *_, last = engine.generate(request)
    assert isinstance(last, Finish)
    return last


def test_a_head_becomes_a_draft(exports: Exports) -> None:
    outcome = exports.outcomes["pair"]
    assert outcome.code == 0, outcome.err
    assert "of the places where it was tried with made-up hidden states" in outcome.err
    head, target = (manifest.read_model(exports.pair / name) for name in ("draft", "target"))
    assert (head.is_eagle, target.is_eagle) == (True, False)
    assert (head.architecture, head.role, head.logit_rows) == ("LlamaEagle3ForCausalLM", "draft", tiny_head.ROWS)
    assert head.precision.weights == "int8"
    assert head.quality is None
    assert head.tokenizer == target.tokenizer
    model = openvino().Core().read_model(exports.pair / "draft" / "openvino_model.xml")
    assert model.has_rt_info(["eagle3_mode"])


def test_it_is_its_source(exports: Exports) -> None:
    line = next(line for line in exports.outcomes["pair"].err.splitlines() if line.startswith("head: "))
    assert float(line.partition("its source on ")[2].partition("%")[0]) > 90


@pytest.mark.parametrize(
    "speculation",
    [
        Speculation(),
        Speculation(num_assistant_tokens=2),
        Speculation(num_assistant_tokens=6),
    ],
)
def test_guesses_change_no_text(guessing: GenaiEngine, plain: tuple[int, ...], speculation: Speculation) -> None:
    found = finished(guessing, replace(QUESTION, speculation=speculation))
    assert found.token_ids == plain
    assert 0 < found.stats.accepted < found.stats.drafted
    assert found.stats.by_origin["draft"] == found.stats.accepted
    assert "the draft head is an EAGLE-3 head" in guessing.reason


def test_a_benchmark_races_it_with_several_lengths(exports: Exports, plain: tuple[int, ...]) -> None:
    options, tokenizer = exports.options, Tokenizer(exports.options.target)
    stop_ids = frozenset(manifest.read_model(options.target).tokenizer.stop_ids)
    terms = PeerOptions("CPU", 48, stop_ids, lambda prompt: tokenizer.prompt(prompt.messages), 256)
    target = GenaiModel(options.target, properties(Numerics.EXACT))
    with EagleSource(target, options.draft, lengths=(2, 5)).open(terms) as modes:
        runs = {mode.name: mode.answer(BenchPrompt("q-1", "q", QUESTION.messages[0].content)) for mode in modes}
    assert {name: run.tokens for name, run in runs.items()} == dict.fromkeys(("genai eagle 2", "genai eagle 5"), plain)
    assert all(0 < run.accepted < run.drafted for run in runs.values())


def test_a_benchmark_says_why_a_draft_is_no_head(exports: Exports) -> None:
    options = exports.options
    terms = PeerOptions("CPU", 48, frozenset(), lambda _: [5, 6, 7], 256)
    source = EagleSource(GenaiModel(options.target, properties(Numerics.EXACT)), options.target.parent / "none")
    with pytest.raises(PeerError, match=r"EAGLE-3 stays out: .*\."), source.open(terms):
        pass


def test_headstarts_own_engine_says_who_can(exports: Exports) -> None:
    with pytest.raises(SettingsError, match="which only OpenVINO GenAI can use: leave out --engine headstart"):
        opening.load(replace(exports.options, engine=EngineKind.HEADSTART))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        *((name, sentence) for name, (_, sentence) in MISFITS.items()),
        ("shallow", "shallow has 8 layers, but OpenVINO GenAI runs EAGLE-3 heads with models of at least 10"),
        ("alone", "head is an EAGLE-3 head, no model by itself: name its target, and it with --draft."),
        ("listed", "head guesses among the tokens that it was made for: leave out --draft-vocab."),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(exports: Exports, name: str, sentence: str) -> None:
    outcome = exports.outcomes[name]
    assert outcome.code == 1
    assert outcome.err.splitlines()[-1].startswith("headstart-export: ")
    assert sentence in outcome.err.splitlines()[-1]
    assert not (exports.pair.parent / f"{name}-made").exists()
