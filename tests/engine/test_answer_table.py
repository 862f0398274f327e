"""Learning from the answers of chats: it alters guesses and no answer, and it goes with the chats."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from headstart.engine import prompt_cache_files
from headstart.engine.drafters import answer_table
from headstart.engine.drafters.answer_table import AnswerTable
from headstart.engine.drafters.registry import Sources, drafters_of
from headstart.engine.engine import Drafter, FinishReason, Keep, Mode, Origin, Sampling, Speculation
from headstart.engine.local import LocalEngine
from headstart.engine.policy.cost_model import Costs, Curve
from headstart.engine.policy.policy import Policy
from headstart.engine.sequence import Job
from headstart.engine.sequence import Sequence as Text
from headstart.engine.speculative import Decoder
from tests.engine.answers import LIST, PLAIN, ask, forget, request
from tests.engine.test_exactness import TABLE, VOCABULARY, random_job, write
from tests.toy import ToyRunner

KEY, OTHER_KEY = "5a" * 64, "a5" * 64
CHAT = Keep("chat", 1000, learns=True)
SEALED = replace(CHAT, key=KEY)
GUESSING = Speculation(Mode.FIXED, 4, drafter=Drafter.TABLE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "prompts"


def opened(folder: Path) -> AnswerTable:
    """Open the table as each start of the program does."""
    return AnswerTable(folder, "a model", VOCABULARY)


def answer(table: AnswerTable, keep: Keep | None, written: Sequence[int], finish: FinishReason | None) -> bool:
    """Have an answer written; whether what was learned before was there for it."""
    job = Job((1, 2, 3), 100, frozenset(), Sampling(), PLAIN, keep=keep)
    text = Text(job, 1000)
    known = table.begin(text)
    text.write(written)
    text.finish = finish
    return known is not None


def learn(table: AnswerTable, keep: Keep | None = CHAT, written: Sequence[int] = (4, 5, 6)) -> None:
    answer(table, keep, written, FinishReason.STOP)
    while table.store_one():
        pass


def guessed(table: AnswerTable, context: Sequence[int], keep: Keep | None = CHAT) -> tuple[int, ...]:
    """Return the guess behind a context, in an answer that does not teach."""
    (drafter,) = (each for each in drafters_of(Sources(ToyRunner(VOCABULARY), answers=table)) if each.name == "table")
    text = Text(Job(tuple(context), 100, frozenset(), Sampling(), GUESSING, keep=keep), 1000)
    while table.store_one():
        pass
    drafter.begin(text)
    return drafter.propose(text, lambda _: True).tokens


def files(folder: Path) -> set[str]:
    """Chats of which something is kept."""
    return {path.parent.name for path in folder.glob(f"*/*/{prompt_cache_files.ANSWERS}")}


def test_complete_answer_is_learned_and_stored(folder: Path) -> None:
    table = opened(folder)
    learn(table)
    assert guessed(table, [1, 2, 3]) == (4, 5, 6)
    table = opened(folder)
    table.use(CHAT)
    assert guessed(table, [3]) == (4, 5, 6)
    learn(table, written=(4, 7, 8))
    learn(table, written=(4, 7, 8))
    assert guessed(table, [1, 2, 3]) == (4, 7, 8)


@pytest.mark.parametrize("finish", [None, FinishReason.CANCELLED])
def test_cut_answer_is_not_learned(folder: Path, finish: FinishReason | None) -> None:
    table = opened(folder)
    answer(table, CHAT, [4, 5, 6], finish)
    assert guessed(table, [1, 2, 3]) == ()
    assert not files(folder)


def test_request_outside_the_history_is_not_learned(folder: Path) -> None:
    table = opened(folder)
    learn(table, None)
    assert not files(folder)
    learn(table)
    assert guessed(table, [1, 2, 3], None) == ()
    assert guessed(table, [1, 2, 3]) == (4, 5, 6)


def test_table_is_read_with_the_first_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learn(opened(folder))
    table = opened(folder)
    assert not answer(table, CHAT, [4], FinishReason.STOP)
    assert table.store_one()
    assert answer(table, CHAT, [4], FinishReason.STOP)


def test_deleted_chat_deletes_its_table(folder: Path) -> None:
    table = opened(folder)
    learn(table, written=(4, 5))
    learn(table, replace(CHAT, chat="other"), written=(7, 8))
    answer(table, CHAT, [4, 6], FinishReason.STOP)
    table.forget(["chat"])
    assert files(folder) == {"other"}
    assert guessed(table, [1, 2, 3]) == (7, 8)
    assert files(folder) == {"other"}
    table.forget([])
    assert guessed(table, [1, 2, 3]) == ()
    assert not files(folder)


def test_table_deleted_during_an_answer_stays_deleted(folder: Path) -> None:
    table = opened(folder)
    learn(table, written=(4, 5))
    (path,) = folder.glob(f"*/*/{prompt_cache_files.ANSWERS}")
    path.unlink()
    learn(table, replace(CHAT, chat="other"), written=(7, 8))
    table.forget(["chat"])
    assert guessed(table, [1, 2, 3]) == (7, 8)


def test_request_without_learning_deletes_the_tables(folder: Path) -> None:
    table = opened(folder)
    learn(table)
    table.use(replace(CHAT, learns=False))
    assert not files(folder)
    assert guessed(table, [1, 2, 3]) == ()


def test_sealed_table_needs_the_key_of_the_history(folder: Path) -> None:
    table = opened(folder)
    learn(table, SEALED)
    (path,) = folder.glob(f"*/*/{prompt_cache_files.ANSWERS}")
    assert b"\4\0\0\0\5\0\0\0\6\0\0\0" not in path.read_bytes()
    table = opened(folder)
    table.use(SEALED)
    assert guessed(table, [1, 2, 3], SEALED) == (4, 5, 6)
    assert guessed(table, [1, 2, 3], replace(CHAT, key=OTHER_KEY)) == ()


def test_sealed_table_cannot_replace_another(folder: Path) -> None:
    learn(opened(folder), SEALED)
    (path,) = folder.glob(f"*/*/{prompt_cache_files.ANSWERS}")
    path.parent.rename(path.parent.with_name("other"))
    table = opened(folder)
    table.use(SEALED)
    assert guessed(table, [1, 2, 3], SEALED) == ()


@pytest.mark.parametrize("keep", [CHAT, SEALED])
def test_damaged_table_is_replaced(folder: Path, keep: Keep) -> None:
    learn(opened(folder), keep)
    (path,) = folder.glob(f"*/*/{prompt_cache_files.ANSWERS}")
    whole = path.read_bytes()
    for place in range(len(whole) + 1):
        harmed = bytearray(whole)
        harmed[place:] = bytes([harmed[place] ^ 8]) + harmed[place + 1 :] if place < len(whole) else b""
        path.write_bytes(bytes(harmed) if place < len(whole) else b"")
        table = opened(folder)
        table.use(keep)
        assert guessed(table, [1, 2, 3], keep) == ()
        assert not files(folder)
        learn(table, keep)
        assert guessed(table, [1, 2, 3], keep) == (4, 5, 6)


def test_empty_table_file_is_damaged(folder: Path) -> None:
    learn(opened(folder))
    (path,) = folder.glob(f"*/*/{prompt_cache_files.ANSWERS}")
    path.write_bytes(bytes(4))
    table = opened(folder)
    table.use(CHAT)
    assert guessed(table, [1, 2, 3]) == ()
    assert not files(folder)


def test_table_with_unknown_tokens_is_damaged(folder: Path) -> None:
    learn(AnswerTable(folder, "a model", 10**6), written=[VOCABULARY])
    table = opened(folder)
    table.use(CHAT)
    assert guessed(table, [1, 2, 3]) == ()


def test_unwritable_table_costs_no_answer(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder.write_text("in the way")
    table = opened(folder)
    learn(table)
    assert guessed(table, [1, 2, 3]) == (4, 5, 6)
    assert "cannot be kept on disk" in caplog.text


def test_tables_are_bounded_and_the_oldest_chats_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_table, "MAX_TOKENS", 40)
    table = opened(folder)
    for number in range(6):
        learn(table, replace(CHAT, chat=f"chat-{number}"), written=[4, 5, 6] * 3)
    assert files(folder) == {"chat-4", "chat-5", "chat-3"}
    for _ in range(9):
        learn(table, written=[4, 5, 6] * 3)
    (path,) = folder.glob(f"*/chat/{prompt_cache_files.ANSWERS}")
    assert path.stat().st_size <= 4 * 41


@pytest.mark.parametrize("trial", range(8))
def test_learned_tables_change_no_token(folder: Path, trial: int) -> None:
    rng = random.Random(trial)
    target, table = ToyRunner(VOCABULARY, 4096, seed=3), opened(folder)
    decoder = Decoder(target, drafters_of(Sources(target, answers=table)), Policy(Costs(Curve(TABLE))))
    held = 0
    for _ in range(8):
        job = replace(random_job(rng, PLAIN), keep=CHAT)
        plain = write(decoder, job)[0::2]
        while table.store_one():
            pass
        tokens, rounds, reason = write(decoder, replace(job, speculation=GUESSING))
        assert (tokens, reason) == plain
        held += sum(done.accepted for done in rounds if done.drafter is Origin.TABLE)
    assert held


def test_engine_learns_between_two_answers(pair_engine: LocalEngine) -> None:
    asked = replace(request(LIST, tokens=24, speculation=GUESSING), keep=CHAT)
    first = ask(forget(pair_engine), asked)
    while pair_engine.store_one():
        pass
    second = ask(pair_engine, asked)
    assert second.ids == first.ids
    assert second.stats.by_origin.get("table", 0) > first.stats.by_origin.get("table", 0)
    assert files(pair_engine._answers._folder.parent) == {"chat"}
    pair_engine.forget(["chat"])
    assert ask(pair_engine, asked).stats.by_origin.get("table", 0) == first.stats.by_origin.get("table", 0)
