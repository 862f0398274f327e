"""The prefix cache: no text is read twice, and no answer changes by it."""

import os
import random
import shutil
import stat
import time
import traceback
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from headstart.engine.engine import ConversationRequest, Keep, KvPrecision, Message
from headstart.engine.loading.loading import RunnerConfig, load_model
from headstart.engine.prefix_cache import PartFiles, PrefixCache, identity_of
from headstart.engine.protocol import Generate, decode_order, encode
from headstart.engine.runners.paged import PagedRunner
from headstart.engine.runners.precision import OWN, properties
from headstart.engine.runners.runner import Logits, Runner
from headstart.errors import HeadstartError, SettingsError
from headstart.library.manifest import ModelSpec
from tests.stand_ins.toy import RememberingToy, read

PART = 4
ROOM = 100_000  # bytes; a part of the toy takes 32
CHAT = Keep("chat", ROOM)
KEY, OTHER_KEY = "5a" * 64, "a5" * 64
SEALED = Keep("chat", ROOM, KEY)


@pytest.fixture
def files(tmp_path: Path) -> Callable[[], PartFiles]:
    """The files of a model, as each start finds them."""
    return lambda: PartFiles(tmp_path / "prompts", identity_of(["model", "f32"]))


def _tokens(path: Path) -> list[int]:
    """Return the tokens of a file."""
    whole = path.read_bytes()
    return list(array("i", whole[32 : 32 + 4 * int.from_bytes(whole[8:12], "little")]))


def started(files: Callable[[], PartFiles]) -> tuple[RememberingToy, PrefixCache]:
    """Return a cache over a runner that has read nothing, with the files on disk."""
    runner = RememberingToy()
    return runner, PrefixCache(runner, ROOM, files(), PART)


def stored(files: Callable[[], PartFiles], tokens: list[int]) -> tuple[RememberingToy, PrefixCache]:
    """Return a runner and its cache, which has stored what was read of these tokens."""
    runner, cache = started(files)
    read(runner, cache, tokens, CHAT)
    store_all(cache)
    return runner, cache


def room_for(parts: int, size: int) -> int:
    """Return a share of the disk that holds so many parts; a sixteenth of it is left free."""
    return parts * size * 16 // 15 + 1


def store_all(cache: PrefixCache) -> int:
    written = 0
    while cache.store_one():
        written += 1
    return written


def test_of_two_conversations_in_turn_only_what_is_new_is_read() -> None:
    runner = RememberingToy()
    cache = PrefixCache(runner, ROOM, length=PART)
    first, second = [1, 2, 3, 4, 5, 0, 1, 2, 3], [1, 2, 3, 5, 5, 5, 5, 5]
    assert read(runner, cache, first) == 0
    assert read(runner, cache, second) == 3  # as they begin alike
    assert read(runner, cache, [*first, 4, 4]) == 9
    assert read(runner, cache, [*second, 4]) == 8
    assert read(runner, cache, second[:6]) == 5  # the last token is always read: an answer begins with its logits


def test_what_is_read_ahead_reaches_the_disk_when_it_is_asked_for(files: Callable[[], PartFiles]) -> None:
    runner, cache = started(files)
    prompt = [1, 2, 3, 4, 5, 0, 1, 2, 3]
    assert list(cache.read_ahead([*prompt, 4, 4], CHAT))
    assert store_all(cache) == 0
    assert read(runner, cache, prompt, CHAT) == len(prompt) - 1
    assert store_all(cache) == 3
    again = PrefixCache(RememberingToy(), ROOM, files(), PART)
    assert list(again.read_ahead([*prompt, 5], CHAT)) == []  # all but its last token is on disk


def test_what_is_read_ahead_takes_nothing_off_the_disk(files: Callable[[], PartFiles], tmp_path: Path) -> None:
    asked = [1, 2, 3, 4, 5]
    runner, cache = stored(files, asked)
    list(cache.read_ahead([*asked, 0, 1, 1], CHAT))
    store_all(cache)
    again = RememberingToy()
    assert read(again, PrefixCache(again, ROOM, files(), PART), [*asked, 1], CHAT) == len(asked)
    read(runner, cache, [*asked, 0, 1], CHAT)
    store_all(cache)
    assert len(list(tmp_path.rglob("*.part"))) == 2  # the end in its new length alone


@pytest.mark.parametrize("is_stored", [True, False])
def test_what_is_read_ahead_takes_nothing_from_the_disk(files: Callable[[], PartFiles], is_stored: bool) -> None:
    runner, cache = started(files)
    prompt = [1, 2, 3, 4, 5, 0]
    read(runner, cache, prompt, CHAT)
    if is_stored:
        store_all(cache)
    assert list(cache.read_ahead([*prompt, 3, 3, 3, 3], CHAT))
    store_all(cache)
    again = RememberingToy()
    assert read(again, PrefixCache(again, ROOM, files(), PART), [*prompt, 4], CHAT) == len(prompt)


def test_end_that_grew_by_what_was_read_ahead_is_kept_once(files: Callable[[], PartFiles], tmp_path: Path) -> None:
    prompt = [1, 2, 3, 4, 5, 0]
    runner, cache = stored(files, prompt)
    assert list(cache.read_ahead([*prompt, 3, 3, 3, 3], CHAT))
    store_all(cache)
    read(runner, cache, [*prompt, 3, 3, 3, 3, 1], CHAT)
    store_all(cache)
    assert sorted(len(_tokens(path)) for path in tmp_path.rglob("*.part")) == [3, 4, 4]


@pytest.mark.parametrize("prompt", [[1, 6, 2], [1] * 65])
def test_what_a_runner_cannot_read_it_does_not_read_ahead(prompt: list[int]) -> None:
    runner = RememberingToy()
    assert not list(PrefixCache(runner, ROOM, length=PART).read_ahead(prompt))
    assert not runner.tokens


def test_without_room_only_the_last_text_is_known() -> None:
    runner = RememberingToy()
    cache = PrefixCache(runner, length=PART)
    assert read(runner, cache, [1, 2, 3, 4, 5]) == 0
    assert read(runner, cache, [1, 2, 3, 5, 5, 5]) == 3
    assert read(runner, cache, [1, 2, 3, 4, 5]) == 3


def test_what_was_used_last_stays_and_ends_go_before_beginnings() -> None:
    runner = RememberingToy()
    cache = PrefixCache(runner, 4 * 8 * PART, length=PART)  # four parts
    old, new = [1] * 12, [2] * 12
    read(runner, cache, old)
    read(runner, cache, new)
    read(runner, cache, [3])  # keeps the one before
    assert read(runner, cache, [*old, 0]) == PART
    assert read(runner, cache, [*new, 0]) in {8, 12}


def test_conversation_is_known_after_a_restart(files: Callable[[], PartFiles], tmp_path: Path) -> None:
    prompt = [1, 2, 3, 4, 5, 0, 1, 2, 3, 4]
    runner, cache = started(files)
    read(runner, cache, prompt, CHAT)
    assert store_all(cache) == 3
    assert not cache.store_one()
    if os.name != "nt":
        made = [tmp_path / "prompts", *(tmp_path / "prompts").rglob("*")]
        assert {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in made} == {(True, 0o700), (False, 0o600)}
    again, restarted = started(files)
    assert read(again, restarted, [*prompt, 5, 5], CHAT) == 10
    assert store_all(restarted) == 1  # its end, which is longer now
    assert len(list(tmp_path.rglob("*.part"))) == 3


def test_what_is_on_disk_is_known_before_it_is_used(files: Callable[[], PartFiles]) -> None:
    stored(files, [1, 2, 3, 4, 5, 0])
    restarted = PrefixCache(RememberingToy(), ROOM, files(), PART)
    assert restarted.known([1, 2, 3, 4, 5, 0, 1]) == 0
    assert restarted.known([1, 2, 3, 4, 5, 0, 1], CHAT) == 6


def test_parts_of_another_length_are_not_taken_for_tokens_elsewhere(files: Callable[[], PartFiles]) -> None:
    stored(files, [1] * 9)
    for length in (PART // 2, 2 * PART):
        again = RememberingToy()
        assert read(again, PrefixCache(again, ROOM, files(), length), [1] * 9, CHAT) == 0


def test_what_no_conversation_wants_kept_never_reaches_the_disk(files: Callable[[], PartFiles], tmp_path: Path) -> None:
    runner, cache = started(files)
    read(runner, cache, [1, 2, 3, 4, 5], None)
    read(runner, cache, [2, 2, 3, 4, 5], CHAT)
    store_all(cache)
    read(runner, cache, [3, 2], None)
    store_all(cache)
    first_tokens = {_tokens(path)[0] for path in tmp_path.rglob("*.part")}
    assert first_tokens == {2, 5}


@pytest.mark.parametrize("fault", ["flipped", "cut", "empty", "another's", "gone"])
def test_damaged_file_is_read_again(files: Callable[[], PartFiles], tmp_path: Path, fault: str) -> None:
    prompt = list(range(6)) * 2
    stored(files, prompt)
    for path in tmp_path.rglob("*.part"):
        whole = bytearray(path.read_bytes())
        if fault == "flipped":
            whole[-5] ^= 1
            path.write_bytes(whole)
        elif fault == "cut":
            path.write_bytes(whole[: len(whole) // 2])
        elif fault == "empty":
            path.write_bytes(b"")
        elif fault == "another's":
            path.rename(path.with_name("00" * 16 + ".part"))
        else:
            path.unlink()
    again, cache = started(files)
    assert read(again, cache, prompt, CHAT) == 0
    store_all(cache)
    last = RememberingToy()
    known = read(last, PrefixCache(last, ROOM, files(), PART), prompt, CHAT)
    assert known == (4 if fault == "flipped" else 11)  # what follows a damaged part is found damaged next time


def test_file_that_goes_while_the_model_is_loaded_is_read_again(
    files: Callable[[], PartFiles], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prompt = list(range(6)) * 2
    stored(files, prompt)
    again, cache = started(files)
    for path in tmp_path.rglob("*.part"):
        if _tokens(path) == prompt[4:8]:
            path.write_bytes(path.read_bytes()[:-30])
    assert read(again, cache, prompt, CHAT) == 4
    assert "its tokens are read again" in caplog.text


def test_part_that_another_process_deletes_is_read_again_and_not_complained_of(
    files: Callable[[], PartFiles], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prompt = [1, 2, 3, 4, 5, 0, 1, 2, 3]
    stored(files, prompt)
    again, cache = started(files)
    read(again, cache, [2], CHAT)  # now it knows what is there
    next(path for path in tmp_path.rglob("*.part") if _tokens(path) == prompt[4:8]).unlink()
    assert read(again, cache, prompt, CHAT) == 4
    assert not caplog.text


def test_those_of_another_model_or_of_an_interrupted_write_are_not_seen(
    files: Callable[[], PartFiles], tmp_path: Path
) -> None:
    stored(files, [1] * 9)
    other = PartFiles(tmp_path / "prompts", identity_of(["model", "bf16"]))
    foreign = next((tmp_path / "prompts").iterdir())
    foreign.rename(foreign.with_name(other.identity))
    unfinished = next(tmp_path.rglob("*.part")).with_suffix(".new")
    unfinished.write_bytes(b"half")
    again = RememberingToy()
    assert read(again, PrefixCache(again, ROOM, other, PART), [1] * 9, CHAT) == 0
    assert not unfinished.exists()


def test_oldest_parts_are_deleted_if_the_disk_share_is_full(files: Callable[[], PartFiles], tmp_path: Path) -> None:
    runner, cache = stored(files, [1] * 4)
    (only,) = tmp_path.rglob("*.part")
    os.utime(only, (1, 1))
    small = Keep("small", room_for(2, only.stat().st_size))
    read(runner, cache, [2] * 8, small)
    store_all(cache)
    assert not only.exists()
    assert len(list(tmp_path.rglob("*.part"))) == 2


def test_two_models_keep_to_their_share_and_seldom_look_at_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, chance, glob = list[str](), random.Random(1), Path.glob

    def counted(path: Path, pattern: str) -> Iterator[Path]:
        looks.append(pattern)
        return iter(glob(path, pattern))

    monkeypatch.setattr(Path, "glob", counted)
    root, share = tmp_path / "prompts", 20_000
    caches = [PrefixCache(RememberingToy(), ROOM, PartFiles(root, identity_of(name)), PART) for name in ("a", "b")]
    written = 0
    for _ in range(80):
        cache = chance.choice(caches)
        prompt, keep = chance.choices(range(6), k=17), Keep("chat", share)
        list(cache.read_ahead(prompt, keep))
        cache.reuse(prompt, keep)
        written += store_all(cache)
        assert sum(path.stat().st_size for path in glob(root, "*/*/*")) <= share
    assert written > 300
    assert len(looks) < written / 3


def test_full_disk_is_reported_once_and_ends_no_answer(
    files: Callable[[], PartFiles], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(PartFiles, "write", full)
    runner, cache = stored(files, [1] * 9)
    read(runner, cache, [2] * 9, CHAT)
    assert not cache.store_one()
    assert caplog.text.count("No space left on device") == 1
    assert read(runner, cache, [1] * 9, CHAT) == 8


def test_nothing_is_left_of_a_conversation_that_was_deleted(files: Callable[[], PartFiles], tmp_path: Path) -> None:
    runner, cache = started(files)
    read(runner, cache, [1] * 9, Keep("another", ROOM))
    read(runner, cache, [2] * 9, CHAT)
    store_all(cache)
    cache.forget(["chat"])
    assert {path.parent.name for path in tmp_path.rglob("*.part")} == {"another"}
    assert not runner.tokens
    assert read(runner, cache, [2] * 9, None) == 0
    assert read(runner, cache, [1] * 9, None) == 8


PROMPT = [1, 2, 3, 4, 5, 0, 1, 2, 3, 4]


def _kept_of(files: PartFiles, chat: Keep) -> None:
    """Store the cache of PROMPT, as one run of the program does."""
    runner = RememberingToy()
    cache = PrefixCache(runner, ROOM, files, PART)
    read(runner, cache, PROMPT, chat)
    assert store_all(cache) == 3


def _known_of(files: PartFiles, chat: Keep) -> int:
    """Return how many tokens of PROMPT are known after a restart; check the others."""
    runner = RememberingToy()
    return read(runner, PrefixCache(runner, ROOM, files, PART), PROMPT, chat)


@pytest.mark.parametrize(
    ("kept", "others"), [(SEALED, (Keep("chat", ROOM, OTHER_KEY), CHAT)), (CHAT, (SEALED,))], ids=["sealed", "plain"]
)
def test_after_a_restart_it_is_known_to_those_with_the_key_alone(
    files: Callable[[], PartFiles], kept: Keep, others: Sequence[Keep]
) -> None:
    _kept_of(files(), kept)
    assert [_known_of(files(), other) for other in others] == [0] * len(others)
    assert _known_of(files(), kept) == 9


def test_nothing_of_a_chat_can_be_read_or_guessed_from_what_is_sealed(
    files: Callable[[], PartFiles], tmp_path: Path
) -> None:
    """Neither tokens, keys and values, nor names that whoever guesses the text could make."""
    _kept_of(files(), CHAT)
    plain = list(tmp_path.rglob("*.part"))
    whole = [path.read_bytes() for path in plain]
    telling = [part for each in whole for part in (each[16:32], each[32:40], each[-8:])]  # a hash, tokens, values
    names = {path.name for path in plain}
    kept_prompts = tmp_path / "prompts"
    shutil.rmtree(kept_prompts)
    for key in (KEY, OTHER_KEY):
        _kept_of(files(), Keep("chat", ROOM, key))
    names |= {path.name for path in kept_prompts.rglob("*.part")}
    assert len(names) == 3 * 3
    content = b"".join(path.read_bytes() for path in kept_prompts.rglob("*.part"))
    assert not any(part in content for part in telling)


def test_same_part_is_never_sealed_twice_alike(files: Callable[[], PartFiles], tmp_path: Path) -> None:
    seen: set[bytes] = set()
    for _ in range(2):
        _kept_of(files(), SEALED)
        seen |= {path.read_bytes()[12:] for path in tmp_path.rglob("*.part")}
        shutil.rmtree(tmp_path / "prompts")
    assert len(seen) == 2 * 3


def test_any_changed_byte_of_a_sealed_file_is_found(files: Callable[[], PartFiles], tmp_path: Path) -> None:
    _kept_of(files(), SEALED)
    sealed = files()
    sealed.use(KEY)
    part = next(each for each in sealed.read_all() if list(each.tokens) == PROMPT[:PART])
    whole = {path: path.read_bytes() for path in tmp_path.rglob("*.part")}
    path = next(path for path in whole if sealed.read(part) is not None and path == sealed._path(part))
    for place in range(len(whole[path])):
        for damaged in (_flipped(whole[path], place), whole[path][:place], whole[path] + bytes([place % 256])):
            path.write_bytes(damaged)
            assert sealed.read(part) is None
    path.write_bytes(whole[path])
    assert sealed.read(part) is not None


def _flipped(whole: bytes, place: int) -> bytes:
    return whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]


@pytest.mark.parametrize("exchange", ["names", "chats", "models", "values"])
def test_sealed_files_cannot_take_the_place_of_one_another(
    files: Callable[[], PartFiles], tmp_path: Path, exchange: str
) -> None:
    _kept_of(files(), SEALED)
    present = files()
    paths = list(tmp_path.rglob("*.part"))
    if exchange == "names":
        contents = [path.read_bytes() for path in paths]
        for path, content in zip(paths, [*contents[1:], contents[0]], strict=True):
            path.write_bytes(content)
    elif exchange == "chats":
        paths[0].parent.rename(paths[0].parent.with_name("another"))
    elif exchange == "models":
        present = PartFiles(tmp_path / "prompts", identity_of(["model", "bf16"]))
        (tmp_path / "prompts" / files().identity).rename(tmp_path / "prompts" / present.identity)
    else:  # of two whole parts, which are equally long
        first, second = (path for path in paths if path.stat().st_size == max(each.stat().st_size for each in paths))
        length = 8 + 4 + 12 + 20 + 4 * PART + 16
        one, other = first.read_bytes(), second.read_bytes()
        first.write_bytes(one[:length] + other[length:])
        second.write_bytes(other[:length] + one[length:])
    assert _known_of(present, SEALED) == 0


def test_in_another_folder_nothing_of_the_first_is_seen_and_a_key_still_seals(
    files: Callable[[], PartFiles], tmp_path: Path
) -> None:
    prompt = [1, 2, 3, 4, 5, 0, 1, 2]
    sealed = Keep("chat", ROOM, KEY)
    runner, cache = started(files)
    read(runner, cache, prompt, sealed)
    store_all(cache)
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*.part")}
    cache.keep_in(tmp_path / "other")
    assert read(runner, cache, prompt, sealed) == 0
    store_all(cache)
    assert {path: path.read_bytes() for path in (tmp_path / "prompts").rglob("*.part")} == kept
    again = RememberingToy()
    other = PrefixCache(again, ROOM, PartFiles(tmp_path / "other", identity_of(["model", "f32"])), PART)
    assert read(again, other, prompt, Keep("chat", ROOM)) == 0
    assert read(again, other, prompt, sealed) == len(prompt) - 1


def test_what_waits_to_be_kept_is_not_written_with_another_key(files: Callable[[], PartFiles], tmp_path: Path) -> None:
    runner, cache = started(files)
    read(runner, cache, PROMPT, SEALED)
    read(runner, cache, [5] * 6, Keep("another", ROOM))
    store_all(cache)
    assert {path.parent.name for path in tmp_path.rglob("*.part")} == {"another"}
    assert read(runner, cache, PROMPT, None) == 0


def test_key_is_in_no_text_made_of_a_request(files: Callable[[], PartFiles], caplog: pytest.LogCaptureFixture) -> None:
    request = ConversationRequest((Message("user", "?"),), keep=SEALED)
    line = encode(Generate(1, request))
    assert KEY.encode() in line  # it reaches the engine
    texts = [f"{SEALED} {SEALED!r} {request} {Generate(1, request)}"]
    for wrong in (line[:-5], line.replace(b'"chat"', b"7"), line.replace(b'"Generate"', b'"Else"'), line[:60] + line):
        with pytest.raises(HeadstartError) as caught:
            decode_order(wrong)
        texts.append("".join(traceback.format_exception(caught.value)))
    with pytest.raises(ValueError, match="hexadecimal") as bad:
        files().use(KEY[:-1] + "x")
    texts.append("".join(traceback.format_exception(bad.value)))
    assert not any(KEY[:20] in text for text in (*texts, caplog.text))


def test_what_a_text_begins_with_is_written_first_and_deleted_last(
    files: Callable[[], PartFiles], tmp_path: Path
) -> None:
    runner, cache = started(files)
    prompt = [1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 1]
    read(runner, cache, prompt, CHAT)
    assert cache.store_one()
    again = RememberingToy()
    assert read(again, PrefixCache(again, ROOM, files(), PART), [*prompt, 5], CHAT) == PART
    store_all(cache)
    read(again, PrefixCache(again, ROOM, files(), PART), [*prompt, 5], CHAT)  # this is a use of all of them
    (size,) = {path.stat().st_size for path in tmp_path.rglob("*.part")}
    read(runner, cache, [2], Keep("small", room_for(3, size)))
    store_all(cache)
    last = RememberingToy()
    assert read(last, PrefixCache(last, ROOM, files(), PART), [*prompt, 5], CHAT) == 2 * PART


def test_what_is_used_from_memory_is_not_old_on_disk(files: Callable[[], PartFiles], tmp_path: Path) -> None:
    runner, cache = started(files)
    for tokens in ([1] * 4, [2] * 4):
        read(runner, cache, tokens, CHAT)
        store_all(cache)
    read(runner, cache, [1] * 4 + [5], None)
    (size,) = {path.stat().st_size for path in tmp_path.rglob("*.part")}
    read(runner, cache, [3] * 4, Keep("small", room_for(2, size)))
    store_all(cache)
    assert {_tokens(path)[0] for path in tmp_path.rglob("*.part")} == {1, 3}


def test_clock_that_was_ahead_holds_up_no_new_part(files: Callable[[], PartFiles], tmp_path: Path) -> None:
    runner, cache = stored(files, [1] * 4)
    (only,) = tmp_path.rglob("*.part")
    later = time.time() + 10 * 365 * 24 * 3600
    os.utime(only, (later, later))
    read(runner, cache, [2] * 4, Keep("small", room_for(1, only.stat().st_size)))
    store_all(cache)
    assert [_tokens(path) for path in tmp_path.rglob("*.part")] == [[2] * 4]


def test_beginning_that_another_program_had_read_first_is_kept_too(files: Callable[[], PartFiles]) -> None:
    runner, cache = started(files)
    for tokens in ([1] * 4, [2]):
        read(runner, cache, tokens, None)
    read(runner, cache, [1] * 9, CHAT)
    store_all(cache)
    again = RememberingToy()
    assert read(again, PrefixCache(again, ROOM, files(), PART), [1] * 10, CHAT) == 9


def test_one_who_goes_on_with_a_text_takes_nothing_from_its_chat(
    files: Callable[[], PartFiles], tmp_path: Path
) -> None:
    runner, cache = stored(files, [1] * 6)
    read(runner, cache, [1] * 7, None)
    read(runner, cache, [2], None)
    store_all(cache)
    assert sorted(_tokens(path) for path in tmp_path.rglob("*.part")) == [[1] * 2, [1] * 4]


def test_what_is_kept_nowhere_is_never_written_as_the_end_of_a_chat(
    files: Callable[[], PartFiles], tmp_path: Path
) -> None:
    runner, cache = started(files)
    read(runner, cache, [1, 1, 1, 5], None)
    read(runner, cache, [1, 1], CHAT)
    store_all(cache)
    assert all(5 not in _tokens(path) for path in tmp_path.rglob("*.part"))


def test_full_disk_leaves_what_is_there_to_be_used(
    files: Callable[[], PartFiles], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    stored(files, [1] * 9)
    again, cache = started(files)
    read(again, cache, [2] * 9, CHAT)
    monkeypatch.setattr(os, "replace", full)
    store_all(cache)
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".part"}
    assert read(again, cache, [1] * 9, CHAT) == 8
    cache.forget(["chat"])
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_chat_that_is_deleted_while_it_is_written_stops_nothing(
    files: Callable[[], PartFiles], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    runner, cache = started(files)
    read(runner, cache, [1] * 4, CHAT)
    replace = os.replace

    def deleted(old: Path, new: Path) -> None:
        shutil.rmtree(old.parent)
        replace(old, new)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", deleted)
        store_all(cache)
    cache.forget(["chat"])
    read(runner, cache, [2] * 4, Keep("another", ROOM))
    assert store_all(cache) == 1
    assert {path.parent.name for path in tmp_path.rglob("*.part")} == {"another"}


def test_what_is_in_the_way_or_goes_meanwhile_fails_no_answer(
    files: Callable[[], PartFiles], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stored(files, [1] * 9)
    folder = next(tmp_path.rglob("*.part")).parent
    for name in ("a.new", "a.part"):
        (folder / name).mkdir()
    (folder / ".new").touch()
    again, cache = started(files)
    assert read(again, cache, [1] * 9, CHAT) == 8
    read(again, cache, [2] * 9, Keep("small", 1))
    glob = Path.glob

    def vanishing(path: Path, pattern: str) -> Iterator[Path]:
        yield from islice(glob(path, pattern), 1)
        raise FileNotFoundError

    monkeypatch.setattr(Path, "glob", vanishing)
    store_all(cache)
    again = RememberingToy()
    read(again, PrefixCache(again, ROOM, files(), PART), [1] * 9, CHAT)
    assert not caplog.text


def test_without_chats_all_that_is_kept_is_dropped(files: Callable[[], PartFiles], tmp_path: Path) -> None:
    runner, cache = started(files)
    read(runner, cache, [3] * 9, None)
    read(runner, cache, [1] * 9, Keep("another", ROOM))
    assert cache.store_one()
    read(runner, cache, [2] * 9, CHAT)
    cache.forget([])
    assert not store_all(cache)
    assert not list(tmp_path.rglob("*.part"))
    assert read(runner, cache, [3] * 9, None) == 8


def test_without_memory_for_a_copy_a_text_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise MemoryError

    runner = RememberingToy()
    cache = PrefixCache(runner, ROOM, length=PART)
    read(runner, cache, [1] * 9)
    monkeypatch.setattr(runner, "save", none)
    assert read(runner, cache, [2] * 9) == 0
    assert read(runner, cache, [1] * 9) == 0


@pytest.mark.parametrize("name", ["..", "", "/", "a/b", "a\\b", ".", "*", "C:"])
def test_no_name_of_a_chat_leads_out_of_the_folder(name: str) -> None:
    with pytest.raises(SettingsError):
        Keep(name, ROOM)


@pytest.mark.parametrize("histories", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_histories_are_those_of_a_fresh_cache(tmp_path: Path, histories: int) -> None:
    chance = random.Random(histories)
    for number in range(histories):
        root = tmp_path / str(number % 3)  # a folder sees many histories
        key = chance.choice(["", KEY, OTHER_KEY])
        texts: list[list[int]] = [[]]
        runner = RememberingToy()
        cache = PrefixCache(runner, 200, PartFiles(root, identity_of("a")), PART)
        for _ in range(chance.randint(3, 10)):
            event = chance.random()
            if event < 0.1:  # a restart
                runner = RememberingToy()
                cache = PrefixCache(runner, 200, PartFiles(root, identity_of("a")), PART)
            elif event < 0.2 and (stored := list(root.rglob("*.part"))):
                path = chance.choice(stored)
                damaged = bytearray(path.read_bytes())
                damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
                path.write_bytes(damaged)
            elif event < 0.25:
                cache.forget([chance.choice("xyz")])
            elif event < 0.5:  # read ahead, maybe stopped after a step
                ahead = [*chance.choice(texts)[:24], *chance.choices(range(6), k=chance.randint(1, 30))]
                steps = cache.read_ahead(ahead, Keep(chance.choice("xyz"), 4000, key))
                for _ in zip(steps, range(chance.randint(1, 2)), strict=False):
                    pass
                texts.append(ahead[:48])
                if chance.random() < 0.5:
                    cache.store_one()
            text = chance.choice(texts)
            text = text[: chance.randint(0, len(text))] + chance.choices(range(6), k=chance.randint(1, 9))
            texts.append(text[:48])
            keep = Keep(chance.choice("xyz"), 4000, key if chance.random() < 0.9 else "")
            if chance.random() < 0.2:
                list(cache.read_ahead([*texts[-1], *chance.choices(range(6), k=3)], keep))
            read(runner, cache, texts[-1], keep if chance.random() < 0.7 else None)
            runner.forward(chance.choices(range(6), k=chance.randint(1, 5)))  # an answer
            texts.append(list(runner.tokens))
            for _ in range(chance.randint(0, 4)):
                cache.store_one()


def test_real_cache_takes_back_its_bits(tiny_target: Path, tmp_path: Path) -> None:
    runner = load_model(ModelSpec.read(tiny_target), RunnerConfig("CPU", 512)).runner
    assert runner.can_save
    chance = np.random.default_rng(7)
    first, second = (chance.integers(3, 200, 120).tolist() for _ in range(2))
    expected = _continued(runner, PrefixCache(runner, length=32), first)
    runner.rollback(0)
    cache = PrefixCache(runner, 2**30, length=32)
    _continued(runner, cache, first[:70])
    _continued(runner, cache, second)
    cache.reuse(first)
    assert len(runner.tokens) == 70
    assert np.array_equal(_continued(runner, cache, first), expected)
    assert not runner.restore([1] * 40, np.zeros(100, np.uint8))


@pytest.mark.parametrize("kv", [KvPrecision.F16, KvPrecision.U8])
def test_own_cache_of_every_precision_comes_back_from_disk(
    tiny_family: Path, files: Callable[[], PartFiles], kv: KvPrecision
) -> None:
    prompt = [int(token) for token in np.random.default_rng(7).integers(3, 200, 120)]
    results = []
    for known in (0, 119):
        runner = PagedRunner.load(tiny_family, "CPU", properties(OWN, kv), 512)
        cache = PrefixCache(runner, 2**30, files(), length=32)
        cache.reuse(prompt, Keep("chat", 2**30))
        assert len(runner.tokens) == known
        results.append(runner.forward(prompt[known:]).copy())
        cache.reuse([5], Keep("chat", 2**30))
        store_all(cache)
    assert np.array_equal(results[0], results[1])


def _continued(runner: Runner, cache: PrefixCache, prompt: Sequence[int]) -> Logits:
    """Read 70 tokens, then the rest, in passes of the same sizes each time."""
    cache.reuse(prompt)
    known = len(runner.tokens)
    if known < 70:
        runner.forward(prompt[known:70])
    if len(prompt) > 70:
        runner.forward(prompt[len(runner.tokens) :])
    return runner.forward([5]).copy()
