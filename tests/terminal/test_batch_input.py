"""Lines of a batch file: what they may say, and the sentence for what they may not."""

import json
from pathlib import Path

import pytest

from headstart.engine.engine import Message, Mode
from headstart.errors import SettingsError
from headstart.terminal.batch_input import BadLine, Defaults, Task, read
from headstart.terminal.settings import Settings

PLAIN = Defaults(Settings())


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
    defaults = Defaults(Settings(max_new_tokens=7, temperature=0.5), "Be brief.", seeded=True)
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
    task = one(tmp_path, json.dumps(line), Defaults(Settings(top_p=0.5), "Be brief."))
    assert [message.role for message in task.messages] == ["system", "user", "assistant"]
    assert task.messages[0].content == "Be long."
    assert task.settings == Settings(
        max_new_tokens=9, temperature=0.25, seed=5, stop=("a", "b"), top_p=0.5, speculation=Mode.OFF
    )
    assert task.seeded


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
    assert (task.id, task.settings.max_new_tokens, task.settings.stop) == ("r-1", 5, ("END",))
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
        ('{"id": 1}', 'it needs a "prompt" or "messages", one of the two.'),
        ('{"id": 1, "prompt": "a", "messages": []}', 'it needs a "prompt" or "messages", one of the two.'),
        ('{"id": 1, "prompt": " "}', "the prompt is empty."),
        ('{"id": 1, "prompt": 5}', '"prompt" must be a text.'),
        ('{"id": 1, "messages": []}', '"messages" must be a list with at least one message.'),
        ('{"id": 1, "messages": [{"role": "tool", "content": "a"}]}', 'a message must be {"role": "system", "user"'),
        ('{"id": 1, "messages": [{"role": "user", "content": [{"type": "image"}]}]}', "a message may hold text only."),
        ('{"id": 1, "system": "a", "messages": [{"role": "system", "content": "b"}]}', "it has two system prompts"),
        ('{"id": 1, "prompt": "a", "temprature": 1}', "There is no setting 'temprature'; the settings are"),
        ('{"id": 1, "prompt": "a", "temperature": "hot"}', "temperature must be a number or auto, not 'hot'."),
        ('{"id": 1, "prompt": "a", "temperature": NaN}', "temperature must be between 0 (greedy) and 100, not nan."),
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
    assert bad.sentence.startswith(sentence)
    assert isinstance(good, Task)


def test_only_the_first_line_with_an_id_counts(tmp_path: Path) -> None:
    first, second = read_lines(tmp_path, '{"id": "a", "prompt": "b"}', '{"id": "a", "prompt": "c"}')
    assert isinstance(first, Task)
    assert second == BadLine(2, "a", "the id 'a' is that of line 1; give each line its own.")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"missing\.jsonl cannot be read \(No such file or directory\)"):
        list(read(tmp_path / "missing.jsonl", PLAIN))
