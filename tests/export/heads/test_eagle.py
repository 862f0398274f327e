"""An EAGLE-3 head: exported, run by Headstart's own engine and by OpenVINO GenAI, and refused where it does not fit."""

import random
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from bench.speed.peers import EagleSource
from headstart.engine import opening
from headstart.engine.backends.genai.engine import GenaiEngine
from headstart.engine.bench.genai_peer import GenaiModel, PeerOptions
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.drafters.eagle import EagleDrafter
from headstart.engine.engine import (
    ConversationRequest,
    Drafter,
    Engine,
    EngineKind,
    Finish,
    LoadOptions,
    Message,
    Mode,
    Sampling,
    Speculation,
)
from headstart.engine.hardware.runtime import openvino
from headstart.engine.kernels.fusion import KERNELS
from headstart.engine.local import LocalEngine
from headstart.engine.opening import resolve
from headstart.engine.runners.head import HeadEdit, HeadRunner, Taps
from headstart.engine.runners.paged import BranchingRunner
from headstart.engine.runners.precision import reference
from headstart.engine.runners.runner import Branch
from headstart.engine.sequence import Sequence
from headstart.engine.text.tokenizer import Tokenizer
from headstart.errors import BrokenModelError, PeerError
from headstart.library import manifest
from tests.export.conftest import Offline, Outcome, kept_exports
from tests.export.heads import tiny_head
from tests.export.test_end_to_end import with_layers

FIXED = Speculation(mode=Mode.FIXED, drafter=Drafter.HEAD, num_assistant_tokens=3)
EXACT = reference()
QUESTION = ConversationRequest((Message("user", "Question 1: what is new?"),), max_new_tokens=48)
MISFITS: dict[str, tuple[dict[str, Any], str]] = {
    "wide": ({"hidden_size": 128}, "wide cannot guess for deep: it was made for a hidden size of 128, but deep has 64"),
    "foreign": ({"vocab_size": 700}, "it was made for a vocabulary size of 700, but deep has 640; choose the EAGLE-3"),
    "tall": ({"num_hidden_layers": 2}, "tall is an EAGLE-3 head of a kind that cannot be converted (llama, 2 layers)"),
}


@dataclass(frozen=True)
class EaglePair:
    """All outcomes by name, and the pair."""

    pair: Path
    outcomes: dict[str, Outcome]

    @property
    def options(self) -> LoadOptions:
        """Return options for the pair, in arithmetic that both engines share."""
        unrounded = {**reference(), KERNELS: ""}
        return LoadOptions(self.pair / "target", self.pair / "draft", properties=unrounded)


@pytest.fixture(scope="module")
def exports(offline: Offline, tiny_source: Path, tmp_path_factory: pytest.TempPathFactory) -> EaglePair:
    """Everything exported once, in one process."""
    folder = tmp_path_factory.mktemp("eagle")

    def runs(_hub: Path, made: Path) -> dict[str, list[str]]:
        deep = with_layers(tiny_source, folder / "deep", 10)
        shallow = with_layers(tiny_source, folder / "shallow", 8)
        head = str(tiny_head.write(folder / "head", deep))
        runs = {"pair": [str(deep), "--draft", head]}
        for name, (fields, _) in MISFITS.items():
            runs[name] = [str(deep), "--draft", str(tiny_head.write(folder / name, deep, **fields))]
        runs["shallow"] = [str(shallow), "--draft", head]
        runs["alone"] = [head]
        newer = tiny_head.add_weight(tiny_head.write(folder / "newer", deep), "fc_norm.0.weight")
        runs["newer"] = [str(deep), "--draft", str(newer)]
        runs["listed"] = [*runs["pair"], "--draft-vocab", "300"]
        return {name: [*run, "--output", str(made / name)] for name, run in runs.items()}

    refused = {*MISFITS, "shallow", "alone", "newer", "listed"}
    sources = ("tests/export/heads/test_eagle.py", "tests/export/heads/tiny_head.py", "tests/export/test_end_to_end.py")
    found = kept_exports("eagle", offline, runs, refused, *sources)
    return EaglePair(found.folder / "pair", found.outcomes)


@pytest.fixture(scope="module")
def engines(exports: EaglePair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[EngineKind, Engine]]:
    """The pair with each engine; Headstart's own is chosen automatically."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_HOME", str(tmp_path_factory.mktemp("home")))
        chosen = (
            opening.load(resolve(exports.options)),
            opening.load(resolve(replace(exports.options, engine=EngineKind.GENAI))),
        )
    loaded = {engine.kind: engine for engine in chosen if isinstance(engine, LocalEngine | GenaiEngine)}
    assert list(loaded) == [EngineKind.HEADSTART, EngineKind.GENAI]
    yield loaded
    for engine in loaded.values():
        engine.close()


@pytest.fixture
def own(engines: Mapping[EngineKind, Engine]) -> LocalEngine:
    """Headstart's own engine with the pair."""
    engine = engines[EngineKind.HEADSTART]
    assert isinstance(engine, LocalEngine)
    return engine


@pytest.fixture(scope="module")
def alone(exports: EaglePair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    """The target without a head."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADSTART_HOME", str(tmp_path_factory.mktemp("home")))
        engine = opening.load(resolve(replace(exports.options, draft=None)))
    assert isinstance(engine, LocalEngine)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def plain(alone: LocalEngine) -> tuple[int, ...]:
    """Return the plain answer."""
    return finished(alone).token_ids


def a_target(exports: EaglePair) -> BranchingRunner:
    """Return a target that gives hidden states to the head."""
    return BranchingRunner.load(exports.pair / "target", "CPU", EXACT, 400, edit=Taps(exports.pair / "draft"))


def a_head(exports: EaglePair) -> HeadRunner:
    """Return a head with an empty cache."""
    return HeadRunner.load(exports.pair / "draft", "CPU", EXACT, 400, edit=HeadEdit())


def an_answer(prompt: list[int]) -> Sequence:
    """Return an answer without an end."""
    return Sequence(tuple(prompt), 400, frozenset(), Sampling(), Speculation(), 400)


def finished(engine: Engine, request: ConversationRequest = QUESTION) -> Finish:
    """Return the end of an answer."""
    *_, last = engine.generate(request)
    assert isinstance(last, Finish)
    return last


def test_head_is_exported_as_a_draft(exports: EaglePair) -> None:
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


def test_exported_head_equals_its_source(exports: EaglePair) -> None:
    line = next(line for line in exports.outcomes["pair"].err.splitlines() if line.startswith("head: "))
    assert float(line.partition("its source on ")[2].partition("%")[0]) > 90


@pytest.mark.parametrize("length", [1, 2, 6])
def test_both_engines_draft_alike(engines: Mapping[EngineKind, Engine], plain: tuple[int, ...], length: int) -> None:
    own = Speculation(mode=Mode.FIXED, drafter=Drafter.HEAD, num_assistant_tokens=length)
    ours = finished(engines[EngineKind.HEADSTART], structs.replace(QUESTION, speculation=own))
    theirs = finished(
        engines[EngineKind.GENAI], structs.replace(QUESTION, speculation=Speculation(num_assistant_tokens=length))
    )
    assert ours.token_ids == theirs.token_ids == plain
    assert 0 < ours.stats.accepted < ours.stats.drafted
    assert (ours.stats.drafted, ours.stats.accepted) == (theirs.stats.drafted, theirs.stats.accepted)
    assert ours.stats.by_origin["eagle"] == ours.stats.accepted


@pytest.mark.parametrize("speculation", [Speculation(), Speculation(drafter=Drafter.HEAD), FIXED])
@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.9, top_p=0.95, seed=7)])
def test_head_changes_no_text_of_a_chat(
    own: LocalEngine, alone: LocalEngine, speculation: Speculation, sampling: Sampling
) -> None:
    first, second = (Message("user", f"Question {number}: what is new?") for number in (1, 2))
    chats = [(first,), (second,), (first, Message("assistant", "Nothing."), second), (first,)]
    for messages in chats:
        request = ConversationRequest(messages, max_new_tokens=40, sampling=sampling)
        guessed = finished(own, structs.replace(request, speculation=speculation))
        assert guessed.token_ids == finished(alone, request).token_ids


def test_head_drafts_the_same_after_a_fresh_read(exports: EaglePair) -> None:
    target, head, fresh = a_target(exports), a_head(exports), a_head(exports)
    dice = random.Random(3)
    text = an_answer([dice.randrange(3, 400) for _ in range(30)])
    follower, reader = (EagleDrafter(runner, 640, runner.listed, target=target) for runner in (head, fresh))
    target.forward(text.context)
    follower.begin(text)
    for _ in range(40):
        text.write([dice.randrange(3, 400)])
        guessed = follower.propose(text, lambda draft: draft.size < 3)
        target.forward([text.context[-1], *guessed.tokens], rows=1)
        held = dice.randrange(len(guessed.tokens) + 1)
        target.rollback(len(text.context) + held)
        text.write(guessed.tokens[:held])
        follower.accept(text, len(text.context))
    text.write([5])
    reader.begin(text)
    drafts = [drafter.propose(text, lambda draft: draft.size < 5) for drafter in (follower, reader)]
    assert drafts[0].tokens == drafts[1].tokens
    assert drafts[0].confidences == pytest.approx(drafts[1].confidences, abs=1e-3)
    assert [runner.tokens for runner in (head, fresh)] == [[*text.context[1:], *drafts[0].tokens[:-1]]] * 2


def test_long_text_is_read_in_parts_beside_other_answers(exports: EaglePair, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, parted, dice = a_head(exports), a_head(exports), np.random.default_rng(4)
    ids, hidden = list(range(5, 5 + 300)), dice.normal(size=(300, whole.width)).astype(np.float32)
    expected = whole.read(ids, hidden).copy()
    monkeypatch.setattr(type(parted), "sharing", 2)
    found = parted.read(ids, hidden)
    assert parted.tokens == ids
    assert np.abs(found - expected).max() < 1e-3 * expected.std()


def test_hidden_states_stay_with_their_tokens(exports: EaglePair) -> None:
    target, fresh, dice = a_target(exports), a_target(exports), random.Random(5)
    target.forward([dice.randrange(3, 400) for _ in range(20)])
    for _ in range(60):
        ids = [dice.randrange(3, 400) for _ in range(dice.randint(1, 5))]
        branches = [Branch(dice.randrange(1, len(ids)), dice.randrange(3, 400)) for _ in range(2) if len(ids) > 1]
        before = len(target.tokens)
        target.forward(ids, branches)
        number = dice.randrange(len(branches)) if branches and dice.random() < 0.5 else None
        place = dice.randint(1, len(ids)) if number is None else branches[number].place
        target.rollback(before + place, number)
    assert target.hidden is not None
    assert fresh.hidden is not None
    fresh.forward(target.tokens)
    count = len(target.tokens)
    assert (target.hidden_from, fresh.hidden_from) == (0, 0)
    assert np.abs(target.hidden[:count] - fresh.hidden[:count]).max() < 1e-3 * fresh.hidden[:count].std()


def test_hidden_states_of_unread_tokens_are_missing(exports: EaglePair) -> None:
    target, head = a_target(exports), a_head(exports)
    read = list(range(5, 5 + 300))
    target.forward(read)
    saved = target.save(0, 256)
    target.rollback(0)
    assert target.restore(read[:256], saved)
    assert target.hidden_from == 256
    text = an_answer(read)
    drafter = EagleDrafter(head, 640, head.listed, target=target)
    target.forward(read[256:])
    drafter.begin(text)
    text.write([7])
    assert drafter.uncached_tokens(text) == 300 - 256
    assert drafter.propose(text, lambda draft: draft.size < 2).tokens
    assert list(head.tokens[:44]) == [*read[257:], 7]


def test_model_may_have_its_own_head(
    exports: EaglePair, plain: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADSTART_HOME", str(tmp_path / "home"))
    model = shutil.copytree(exports.pair / "target", tmp_path / "model")
    shutil.copytree(exports.pair / "draft", model / manifest.HEAD_FOLDER)
    about = manifest.read_model(model)
    manifest.write(model, replace(about, files=manifest.hash_files(model)))
    engine = opening.load(resolve(replace(exports.options, target=model, draft=None)))
    found = finished(engine, structs.replace(QUESTION, speculation=FIXED))
    assert isinstance(engine, LocalEngine)
    info = opening._model_info(engine, resolve(exports.options))
    engine.close()
    assert (info.draft, info.head) == (None, "head")
    assert found.token_ids == plain
    assert found.stats.by_origin["eagle"] > 0


def test_head_of_another_model_is_refused(
    exports: EaglePair, tiny_target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADSTART_HOME", str(tmp_path / "home"))
    with pytest.raises(BrokenModelError, match="it has no layers that a head can read"):
        opening.load(resolve(replace(exports.options, target=tiny_target)))


def test_benchmark_races_a_head_with_several_lengths(exports: EaglePair, plain: tuple[int, ...]) -> None:
    options, tokenizer = exports.options, Tokenizer(exports.options.target)
    stop_ids = frozenset(manifest.read_model(options.target).tokenizer.stop_ids)
    terms = PeerOptions("CPU", 48, stop_ids, lambda prompt: tokenizer.prompt(prompt.messages), 256)
    target = GenaiModel(options.target, reference())
    with EagleSource(target, options.draft, lengths=(2, 5)).open(terms) as modes:
        runs = {mode.name: mode.answer(BenchPrompt("q-1", "q", QUESTION.messages[0].content)) for mode in modes}
    assert {name: run.tokens for name, run in runs.items()} == dict.fromkeys(("genai eagle 2", "genai eagle 5"), plain)
    assert all(0 < run.accepted < run.drafted for run in runs.values())


def test_benchmark_refuses_a_draft_that_is_no_head(exports: EaglePair) -> None:
    options = exports.options
    terms = PeerOptions("CPU", 48, frozenset(), lambda _: [5, 6, 7], 256)
    source = EagleSource(GenaiModel(options.target, reference()), options.target.parent / "none")
    with pytest.raises(PeerError, match=r"EAGLE-3 stays out: .*\."), source.open(terms):
        pass


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        *((name, sentence) for name, (_, sentence) in MISFITS.items()),
        ("shallow", "shallow has 8 layers, but OpenVINO GenAI runs EAGLE-3 heads with models of at least 10"),
        ("alone", "head is an EAGLE-3 head, no model by itself: name its target, and it with --draft."),
        ("newer", "newer is an EAGLE-3 head with weights that cannot be converted (fc_norm.0.weight); choose one"),
        ("listed", "head guesses among the tokens that it was made for: leave out --draft-vocab."),
    ],
)
def test_unfit_head_is_refused(exports: EaglePair, name: str, sentence: str) -> None:
    outcome = exports.outcomes[name]
    assert outcome.code == 1
    assert outcome.err.splitlines()[-1].startswith("headstart-export: ")
    assert sentence in outcome.err.splitlines()[-1]
    assert not (exports.pair.parent / name).exists()
