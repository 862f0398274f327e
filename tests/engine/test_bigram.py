"""A table of likely next tokens: built, read and refused; it alters no text, and one that is wrong is left alone."""

import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart import manifest
from headstart.engine.drafters import bigram
from headstart.engine.drafters.base import Draft
from headstart.engine.drafters.bigram import BigramDrafter
from headstart.engine.drafters.ngram import NgramDrafter
from headstart.engine.engine import Drafter, Mode, Origin, Speculation, Timing
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import Policy
from headstart.engine.policy.rounds import Situation
from headstart.engine.speculative import Decoder
from headstart.errors import BrokenModelError
from headstart_export import bigram as building
from headstart_export import cli
from tests.engine.rounds import copied, outcome, tokens
from tests.engine.test_exactness import PLAIN, TABLE, VOCABULARY, random_job, write
from tests.toy import ToyRunner

TEXT = "the licence shall apply to the work. " * 30


def offered(held: int = 2) -> dict[str, Draft]:
    """What a table offers."""
    return {Origin.BIGRAM: Draft(tokens(2, right=held), (0.95, 0.9))}


OFFERED = Situation(context=100, remaining=200, offers=offered())


@pytest.fixture
def model(tiny_target: Path, tmp_path: Path) -> Path:
    """A model folder with a table of TEXT, put there by the command."""
    folder, text = tmp_path / "model", tmp_path / "words.txt"
    shutil.copytree(tiny_target, folder)
    text.write_text(TEXT, encoding="utf-8")
    assert cli.main(["bigram", "--model", str(folder), "--text", str(text)]) == 0
    return folder


def rewrite(folder: Path, **columns: Any) -> None:
    """Alter columns of a model's table."""
    path = folder / manifest.BIGRAM_FILE
    with np.load(path) as stored:
        parts = dict(stored)
    np.savez(path, **(parts | columns))


def a_table(entries: dict[tuple[int, int], tuple[int, float]]) -> BigramDrafter:
    """(before or -1, last) -> (next, chance)."""
    rows = sorted((manifest.bigram_key(*before), *after) for before, after in entries.items())
    keys, tokens, chances = zip(*rows, strict=True)
    return BigramDrafter(
        np.array(keys, np.uint64), np.array(tokens, np.int32), np.array([round(c * 255) for c in chances], np.uint8)
    )


def play(policy: Policy, rounds: int, held: int, cost_ms: float = 0.0) -> list[str]:
    """Rounds in which `held` of the offered tokens turn out right; who guessed."""
    drafters = []
    for _ in range(rounds):
        plan = policy.plan(replace(OFFERED, offers=offered(held)))
        drafters.append(plan.drafter)
        found = min(held, plan.limit)
        timing = Timing(verify_ms=Curve(TABLE).ms(1 + plan.limit) + (cost_ms if plan.limit else 0.0))
        policy.observe(plan, outcome(plan, plan.limit, found, ms=timing))
    return drafters


def a_policy(speculation: Speculation | None = None) -> Policy:
    policy = Policy(Costs(Curve(TABLE, switch_ms=0.0)))
    policy.begin_answer(speculation or Speculation())
    return policy


class TestTable:
    """What is built is what is read, and nothing else."""

    def test_what_the_corpus_repeats_is_offered_and_chained(self, model: Path) -> None:
        described = manifest.read_model(model)
        assert not manifest.damaged_files(model, described, hashes=True)
        table = bigram.read(model, described)
        assert table is not None
        ids = next(building._tokenized(model, iter([TEXT]))).tolist()
        chain = table.look_up(ids[:40], 4)
        assert chain.tokens == tuple(ids[40:44])
        assert min(chain.confidences) > 0.5

    def test_building_again_replaces_it_and_the_header_says_what_it_is(self, model: Path, tmp_path: Path) -> None:
        more = tmp_path / "more"
        more.mkdir()
        (more / "a.md").write_text(TEXT + "another work " * 9, encoding="utf-8")
        (more / "b.bin").write_bytes(b"\xff\xfe\xff")
        before = manifest.read_model(model).files[manifest.BIGRAM_FILE]
        assert cli.main(["bigram", "--model", str(model), "--text", str(more)]) == 0
        assert manifest.read_model(model).files[manifest.BIGRAM_FILE] != before
        with np.load(model / manifest.BIGRAM_FILE) as stored:
            header = json.loads(stored["header"].tobytes())
            assert header["pairs"] + header["singles"] == stored["keys"].size
        assert header["sources"] == ["more"]

    def test_counts_are_those_of_the_text(self) -> None:
        keys, following, hits, counts = building._best(*building._followed([np.array([1, 2, 1, 2, 1, 3])], 1))
        found = dict(zip(keys.tolist(), zip(following, hits, counts, strict=True), strict=True))
        assert found == {manifest.bigram_key(-1, 1): (2, 2, 3), manifest.bigram_key(-1, 2): (1, 2, 2)}
        keys = building._followed([np.array([5, 6, 7]), np.array([8]), np.array([], np.int64)], 2)[0]
        assert keys.tolist() == [manifest.bigram_key(5, 6)]

    def test_two_tokens_say_more_than_one_and_a_chain_ends_where_nothing_is_known(self) -> None:
        table = a_table({(-1, 1): (2, 0.5), (7, 1): (3, 0.9), (1, 3): (4, 0.8)})
        assert table.look_up([7, 1], 8).tokens == (3, 4)
        assert table.look_up([9, 1], 8).tokens == (2,)
        assert table.look_up([1], 8).tokens == (2,)
        assert table.look_up([7, 1], 1).tokens == (3,)
        assert table.look_up([4], 8).tokens == ()

    def test_it_is_taken_out_again(self, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["bigram", "--model", str(model), "--remove"]) == 0
        assert capsys.readouterr().out == f"{model / manifest.BIGRAM_FILE}\n"
        described = manifest.read_model(model)
        assert bigram.read(model, described) is None
        assert not manifest.damaged_files(model, described, hashes=True)
        assert not (model / manifest.BIGRAM_FILE).exists()
        assert cli.main(["bigram", "--model", str(model), "--remove"]) == 1
        assert "has no table of likely next tokens; build one with --text." in capsys.readouterr().err

    def test_a_model_without_one_has_none(self, tiny_target: Path) -> None:
        assert bigram.read(tiny_target, manifest.read_model(tiny_target)) is None


class TestRefusals:
    """One sentence with the remedy."""

    def test_another_vocabulary(self, model: Path) -> None:
        described = manifest.read_model(model)
        other = replace(described, tokenizer=replace(described.tokenizer, fingerprint="0"))
        with pytest.raises(BrokenModelError, match=r"was built for another vocabulary .*; build it again with"):
            bigram.read(model, other)

    @pytest.mark.parametrize(
        "columns",
        [
            {"keys": np.array([2, 1], np.uint64), "tokens": np.zeros(2, np.int32), "chances": np.zeros(2, np.uint8)},
            {"keys": np.array([1], np.uint64), "tokens": np.array([640], np.int32), "chances": np.zeros(1, np.uint8)},
            {"tokens": np.zeros(3, np.int32)},
            {"chances": np.zeros(3)},
            {"header": np.frombuffer(b"{}", np.uint8)},
            {"header": np.frombuffer(b"no", np.uint8)},
            {"keys": np.array([{}], object)},
        ],
    )
    def test_columns_that_do_not_fit(self, model: Path, columns: dict[str, Any]) -> None:
        rewrite(model, **columns)
        with pytest.raises(BrokenModelError, match=r"is damaged .*; build it again with headstart-export bigram"):
            bigram.read(model, manifest.read_model(model))

    def test_a_file_cut_short(self, model: Path) -> None:
        path = model / manifest.BIGRAM_FILE
        path.write_bytes(path.read_bytes()[:200])
        with pytest.raises(BrokenModelError, match="is damaged"):
            bigram.read(model, manifest.read_model(model))
        assert manifest.damaged_files(model, manifest.read_model(model), hashes=False)

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [(b"too short", "too short"), (b"\xff\xfe\xff", "is not UTF-8"), (None, "cannot be read")],
    )
    def test_texts_of_no_use(
        self, tiny_target: Path, tmp_path: Path, text: bytes | None, sentence: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path, output = tmp_path / "text", tmp_path / "table.npz"
        if text is not None:
            path.write_bytes(text)
        words = ["bigram", "--model", str(tiny_target), "--text", str(path), "--output", str(output)]
        assert cli.main(words) == 1
        assert sentence in capsys.readouterr().err.splitlines()[-1]
        assert not output.exists()


class TestPolicy:
    """Free guesses where nobody else offers, and never at a loss."""

    def test_a_table_that_is_right_is_used(self) -> None:
        assert play(a_policy(), 60, held=2)[-20:] == [Origin.BIGRAM] * 20

    def test_a_table_that_is_wrong_is_left_alone_and_stays_so_in_the_next_run(self) -> None:
        policy = a_policy()
        drafters = play(policy, 300, held=0)
        assert policy.ledger_ms > -TABLE[1]  # less than a plain step in 300
        assert Origin.BIGRAM not in drafters[-100:]
        kept = Policy.from_json(json.loads(json.dumps(policy.to_json())))
        assert kept is not None
        assert Origin.BIGRAM not in play(kept, 30, held=0)

    def test_a_table_whose_passes_cost_too_much_is_left_alone(self) -> None:
        drafters = play(a_policy(), 300, held=1, cost_ms=200.0)
        assert drafters.count(Origin.BIGRAM) <= 6

    def test_only_whom_the_user_permits(self) -> None:
        for drafter in (Drafter.DRAFT, Drafter.NGRAM):
            assert Origin.BIGRAM not in play(a_policy(Speculation(drafter=drafter)), 40, held=2)
        alone = a_policy(Speculation(drafter=Drafter.BIGRAM))
        both = replace(OFFERED, offers=copied(8, 8) | offered(), lag=1)
        assert alone.plan(both).drafter == Origin.BIGRAM
        assert a_policy().plan(both).drafter != Origin.BIGRAM


def tables(target: ToyRunner, rng: random.Random) -> Sequence[BigramDrafter]:
    """One that knows what the target likes, and one that knows nothing."""
    known = {(a, b): (int(np.argmax(target.row([a, b]))), 0.9) for a in range(VOCABULARY) for b in range(VOCABULARY)}
    wrong = {(-1, token): (rng.randrange(VOCABULARY), 0.99) for token in range(VOCABULARY)}
    return a_table(known), a_table(wrong)


@pytest.mark.parametrize("trial", range(12))
def test_text_with_a_table_is_plain_text_token_for_token(trial: int) -> None:
    rng = random.Random(trial)
    job = random_job(rng, PLAIN)
    guessed = 0
    for table in tables(ToyRunner(VOCABULARY, 4096, 3), rng):
        decoder = Decoder(ToyRunner(VOCABULARY, 4096, 3), [NgramDrafter(), table], Policy(Costs(Curve(TABLE))))
        plain = write(decoder, job)[0::2]
        for mode in (Mode.AUTO, Mode.FIXED):
            speculation = Speculation(mode, 3, drafter=rng.choice([Drafter.ANY, Drafter.BIGRAM]))
            written, rounds, reason = write(decoder, replace(job, speculation=speculation))
            assert (written, reason) == plain
            guessed += sum(done.drafter is Origin.BIGRAM for done in rounds)
    assert guessed or len(plain[0]) < 8
