"""The lines of a batch: what prompts may say, and what is kept of answers, whatever ended an earlier run."""

import errno
import json
import os
import sys
from contextlib import closing
from pathlib import Path

import pytest

from headstart.cli.batch import Answers, BadLine, Defaults, Identity, Task, read
from headstart.cli.options import Settings
from headstart.engine.engine import Message, Mode, Speculation
from headstart.errors import BatchError, SettingsError

PLAIN = Defaults(Settings())
FIRST = b'{"id": 1, "text": "a", "finish_reason": "stop"}\n'
SECOND = '{"id": "2", "text": "größer", "finish_reason": "length"}\n'.encode()
FAILED = b'{"id": null, "line": 3, "error": "it is not JSON."}\n'


def read_lines(folder: Path, *lines: str | bytes, defaults: Defaults = PLAIN) -> list[Task | BadLine]:
    """What these lines say."""
    path = folder / "prompts.jsonl"
    path.write_bytes(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines))
    return list(read(path, defaults))


def one(folder: Path, line: str, defaults: Defaults = PLAIN) -> Task:
    """The task of a good line."""
    (task,) = read_lines(folder, line, defaults=defaults)
    assert isinstance(task, Task), task
    return task


def test_a_prompt_takes_what_the_command_line_says(tmp_path: Path) -> None:
    defaults = Defaults(Settings().with_values({"max_new_tokens": 7, "temperature": 0.5}), "Be brief.", seeded=True)
    task = one(tmp_path, '{"id": "a", "prompt": "Hi"}', defaults)
    assert task.messages == (Message("system", "Be brief."), Message("user", "Hi"))
    assert (task.request.max_new_tokens, task.request.sampling.temperature, task.seeded) == (7, 0.5, True)


def test_a_line_has_settings_of_its_own(tmp_path: Path) -> None:
    line = {
        "id": 3,
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}],
        "system": "Be long.",
        "max_new_tokens": 9,
        "temperature": 0.25,
        "seed": 5,
        "stop": ["a", "b"],
        "top_p": None,
        "speculation": "off",
        "num-assistant-tokens": "auto",
    }
    task = one(tmp_path, json.dumps(line), Defaults(Settings().with_values({"top_p": 0.5}), "Be brief."))
    assert [message.role for message in task.messages] == ["system", "user", "assistant"]
    assert task.messages[0].content == "Be long."
    changed = {
        "max_new_tokens": 9,
        "stop": ("a", "b"),
        "temperature": 0.25,
        "seed": 5,
        "top_p": 0.5,
        "speculation": "off",
    }
    assert task.settings == Settings().with_values(changed)
    assert task.seeded


def test_settings_that_need_each_other_may_come_in_any_order(tmp_path: Path) -> None:
    task = one(tmp_path, '{"id": 1, "prompt": "a", "speculation": "fixed", "num_assistant_tokens": 3}')
    assert task.settings.speculation == Speculation(Mode.FIXED, 3)


def test_openai_lines_are_understood(tmp_path: Path) -> None:
    body = {
        "model": "gpt-4o-mini",
        "max_tokens": 5,
        "temperature": 0,
        "stop": "END",
        "user": "me",
        "n": 1,
        "stream": False,
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Hi "}, {"type": "text", "text": "there"}]},
        ],
    }
    line = {"custom_id": "r-1", "method": "POST", "url": "/v1/chat/completions", "body": body}
    task = one(tmp_path, json.dumps(line), Defaults(Settings(), "Another."))
    assert (task.id, task.request.max_new_tokens, task.request.stop) == ("r-1", 5, ("END",))
    assert task.messages == (Message("system", "Be brief."), Message("user", "Hi there"))


def test_blank_lines_and_a_byte_order_mark_count_for_nothing(tmp_path: Path) -> None:
    found = read_lines(tmp_path, b'\xef\xbb\xbf{"id": 1, "prompt": "a"}\r', "", "  ", '{"id": "1", "prompt": "b"}', "")
    assert [(task.line, task.id) for task in found] == [(1, 1), (4, "1")]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b'{"id": 1, "prompt": "\xff"}', "it is not valid UTF-8 text."),
        (r'{"id": 1, "prompt": "\ud800"}', "it is not valid UTF-8 text."),
        ('{"id": 1, "prompt": ', "it is not JSON (Expecting value: line "),
        ("[" * 100000, "it is not JSON (maximum recursion depth exceeded while decoding a JSON array"),
        ('["a"]', 'it must be a JSON object such as {"id": 1, "prompt": "..."}.'),
        ('{"prompt": "a"}', 'it needs an "id", a text or a whole number, by which its answer is found.'),
        ('{"id": true, "prompt": "a"}', 'it needs an "id"'),
        ('{"id": 1}', 'it needs either a "prompt" of text or a list of "messages", one of the two.'),
        ('{"id": 1, "prompt": "a", "messages": []}', 'it needs either a "prompt" of text or a list of "messages"'),
        ('{"id": 1, "prompt": " "}', "the prompt is empty."),
        ('{"id": 1, "prompt": 5}', 'it needs either a "prompt" of text'),
        ('{"id": 1, "messages": []}', 'it needs either a "prompt" of text'),
        ('{"id": 1, "prompt": "a", "system": 5}', '"system" must be a text.'),
        ('{"id": 1, "messages": [{"role": "tool", "content": "a"}]}', 'a message must be {"role": "system", "user"'),
        ('{"id": 1, "messages": [{"role": "user", "content": [{"type": "image"}]}]}', 'a message must be {"role": "sy'),
        ('{"id": 1, "system": "a", "messages": [{"role": "system", "content": "b"}]}', "it has two system prompts"),
        ('{"id": 1, "prompt": "a", "temprature": 1}', "There is no setting 'temprature'; the settings are"),
        ('{"id": 1, "prompt": "a", "temperature": "hot"}', "temperature must be a number or auto, not 'hot'."),
        ('{"id": 1, "prompt": "a", "temperature": NaN}', "temperature must be between 0 and 100, not nan."),
        ('{"id": 1, "prompt": "a", "seed": 1.5}', "seed must be a whole number, not '1.5'."),
        ('{"id": 1, "prompt": "a", "seed": true}', "seed must be a whole number, not true."),
        ('{"id": 1, "prompt": "a", "stop": [1]}', "stop must be a text or a list of texts."),
        ('{"id": 1, "prompt": "a", "model": "b"}', "model is fixed when the model is loaded"),
        ('{"custom_id": "a"}', '"body" must be an object with "messages".'),
        ('{"custom_id": "a", "url": "/v1/embeddings", "body": {}}', "only the url /v1/chat/completions can be"),
        ('{"custom_id": "a", "body": {"n": 2}}', '"n" must be 1: each line has one answer.'),
        ('{"custom_id": "a", "body": {"stream": true}}', "There is no setting 'stream'"),
    ],
)
def test_a_bad_line_is_a_sentence(tmp_path: Path, line: str | bytes, sentence: str) -> None:
    bad, good = read_lines(tmp_path, line, '{"id": 99, "prompt": "good"}')
    assert isinstance(bad, BadLine)
    assert bad.line == 1
    assert bad.reason.startswith(sentence)
    assert isinstance(good, Task)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"missing\.jsonl cannot be read \(No such file or directory\)"):
        list(read(tmp_path / "missing.jsonl", PLAIN))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


@pytest.mark.parametrize(
    ("left", "ids", "kept"),
    [
        (b"", set(), b""),
        (FIRST + SECOND, {1, "2"}, FIRST + SECOND),
        (FIRST + SECOND[:-1], {1, "2"}, FIRST + SECOND),  # it lacks only its line feed
        (FIRST + FAILED + SECOND, {1, "2"}, FIRST + SECOND),
        *((FIRST + SECOND[:length], {1}, FIRST) for length in (1, 5, 20, len(SECOND) - 2)),
        (FIRST + b'{"id"\0\0\0', {1}, FIRST),
    ],
)
def test_whole_answers_of_an_earlier_run_are_kept_and_nothing_else(
    file: Path, left: bytes, ids: set[Identity], kept: bytes
) -> None:
    file.write_bytes(left)
    answers = Answers(file)
    answers.close()
    assert answers.ids == ids
    assert file.read_bytes() == kept


@pytest.mark.parametrize(
    "content", [b"my diary\n", b"my diary", FIRST + b"{}\n" + SECOND, b'{"id": 1, "prompt": "Hi"}\n', b"\xff\n", b"[]"]
)
def test_a_file_of_something_else_is_refused_and_left_alone(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(SettingsError, match="holds something else than answers"):
        Answers(file)
    assert file.read_bytes() == content
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a file's size are Unix's")
def test_a_line_that_fits_only_in_part_is_taken_back(file: Path) -> None:
    import resource  # noqa: PLC0415 - exists on Unix only
    import signal  # noqa: PLC0415

    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with closing(Answers(file)) as answers:
            answers.add({"id": 1, "text": "a"})
            before = file.read_bytes()
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))
            with pytest.raises(BatchError, match="File too large"):
                answers.add({"id": 2, "text": "b" * 100})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, previous)
    assert file.read_bytes() == before


def test_what_is_kept_is_not_lost_where_it_cannot_be_written_anew(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file.write_bytes(FIRST + FAILED)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BatchError, match="No space left"):
        Answers(file)
    assert file.read_bytes() == FIRST + FAILED
    assert list(file.parent.iterdir()) == [file]


def test_a_folder_that_is_gone_is_named(file: Path) -> None:
    with pytest.raises(BatchError, match="cannot be written"):
        Answers(file / "deeper")
