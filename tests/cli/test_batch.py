"""`headstart chat --batch`: lines, answers, several at a time, resuming, Ctrl+C, kills and full disks."""

import errno
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bench.toy import PROGRAM, ToyEngine
from headstart.cli import main
from headstart.cli.batch import Answers, BadLine, Identity, LineDefaults, PromptLine, read
from headstart.cli.options import RequestSettings
from headstart.engine.engine import ConversationRequest, LoadOptions, Message, Mode, Speculation
from headstart.engine.process.client import EngineClient
from headstart.engine.supervision import Journal
from headstart.engine.text import generation_config
from headstart.errors import BatchError, EngineLostError, MemoryBudgetError, SettingsError
from headstart.library import library
from tests.stand_ins.fakes import FOX, RecordingLoad, ScriptedEngine, deliver
from tests.stand_ins.model_folders import write_model

Captured = pytest.CaptureFixture[str]


@dataclass
class Place:
    """A folder with a file of prompts."""

    folder: Path
    load: RecordingLoad = field(default_factory=RecordingLoad)

    @property
    def prompts(self) -> Path:
        return self.folder / "prompts.jsonl"

    @property
    def output(self) -> Path:
        return self.folder / "prompts.answers.jsonl"

    def ask(self, *lines: dict[str, Any] | str) -> None:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        self.prompts.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")

    def run(self, *more: str) -> int:
        return main(["chat", "--batch", str(self.prompts), "--model", "smol", *more], self.load)

    def answers(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.output.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def place(tmp_path: Path, headstart_home: Path) -> Place:
    """A model with a recommended temperature."""
    model = write_model(headstart_home / "models" / "smol")
    (model / generation_config.FILE_NAME).write_text('{"do_sample": true, "temperature": 0.7}', encoding="utf-8")
    return Place(tmp_path)


def questions(number: int) -> Sequence[dict[str, Any]]:
    return [{"id": each, "prompt": f"Question {each}"} for each in range(1, number + 1)]


def contents(requests: Sequence[ConversationRequest]) -> list[str]:
    return [request.messages[-1].content for request in requests]


def test_batch_writes_a_line_for_each_prompt(place: Place, capsys: Captured) -> None:
    place.ask({"id": "a", "prompt": "Hi", "max_new_tokens": 2}, {"id": 7, "prompt": "Ho", "system": "Be brief."})
    assert place.run("--temperature", "0.5") == 0
    first, second = place.answers()
    assert list(first) == ["id", "reasoning_content", "text", "finish_reason", "token_ids", "stats", "settings"]
    assert (first["id"], first["text"], first["finish_reason"]) == ("a", "The quick", "length")
    assert (second["id"], second["text"]) == (7, FOX)
    expected = {"model": "smol", "draft": None, "parallel": 1, "system": "Be brief.", "temperature": 0.5, "seed": 0}
    assert expected.items() <= second["settings"].items()
    assert second["stats"]["output_tokens"] == 9
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "1 at a time" in shown.err
    assert str(place.output) in shown.err
    assert place.load.engine.closed


def test_batch_has_thinking_apart(place: Place) -> None:
    begun = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "He", "reasoning_content": "A greeting."},
    ]
    section = [begun[0], begun[1] | {"content": ""}]
    place.ask(
        {"id": 1, "messages": begun, "think": True, "think-budget": 50},
        {"id": 2, "messages": section, "think": "no", "think_effort": "low"},
    )
    place.load.engine.scripts = (("Well now.", "Hello."),)
    assert place.run() == 0
    first, second = place.load.engine.requests
    assert first.messages == (Message("user", "Hi"), Message("assistant", "He", thinking="A greeting."))
    assert (first.thinking, first.thinking_budget, first.effort) == (True, 50, "")
    assert second.messages[-1] == Message("assistant", "", thinking="A greeting.")
    assert (second.thinking, second.thinking_budget, second.effort) == (False, None, "low")
    for line in place.answers():
        assert (line["reasoning_content"], line["text"]) == ("Well now.", "Hello.")
        assert line["stats"]["thinking_tokens"] == 2


def test_batch_writes_used_values_and_repetitions(place: Place) -> None:
    place.ask(
        {"id": 1, "prompt": "toy: repeat 50", "top_p": 0.5},
        {"id": 2, "prompt": "toy: repeat 50", "temperature": 0, "stop_on_repetition": False},
    )
    own = {"do_sample": True, "temperature": 0.6, "top_k": 20}
    model = library.choose("smol").target.folder
    (model / generation_config.FILE_NAME).write_text(json.dumps(own), encoding="utf-8")
    assert main(["chat", "--batch", str(place.prompts)], lambda _: ToyEngine()) == 0
    first, second = place.answers()
    names = ("temperature", "top_p", "top_k", "repetition_penalty", "stop_on_repetition")
    assert [first["settings"][name] for name in names] == [0.6, 0.5, 20, 1.0, True]
    assert (first["finish_reason"], first["stats"]["repeats"]) == ("repetition", 4)
    assert [second["settings"][name] for name in names] == [0.0, 1.0, 0, 1.0, False]
    assert (second["finish_reason"], second["stats"]["repeats"]) == ("stop", 50)


def test_bad_lines_are_reported_and_stop_nothing(place: Place, capsys: Captured) -> None:
    place.load.engine.context = 5
    place.ask(
        "{", {"id": 1, "prompt": "one two three four five six"}, {"id": 2, "prompt": "Hi"}, {"id": 2, "prompt": "?"}
    )
    assert place.run() == 1
    found = {line.get("line"): line for line in place.answers()}
    assert found[1]["id"] is None
    assert found[1]["error"].startswith("it is not JSON")
    assert (found[2]["id"], found[4]["id"], found[None]["id"]) == (1, 2, 2)
    shown = capsys.readouterr().err
    assert f"· line 2: {found[2]['error']}\n" in shown
    assert "3 lines" in shown


def test_second_run_answers_the_missing_lines(place: Place, capsys: Captured) -> None:
    place.ask(*questions(3))
    assert place.run() == 0
    whole = place.output.read_bytes()
    place.ask("{", *questions(3), {"id": 4, "prompt": "Question 4"})
    with place.output.open("ab") as file:
        file.write(whole[:40])  # as a kill would leave it
    place.load = RecordingLoad()
    assert place.run() == 1
    assert contents(place.load.engine.requests) == ["Question 4"]
    assert place.output.read_bytes().startswith(whole)
    shown = capsys.readouterr().err
    assert "3 prompts answered before" in shown

    place.ask({"id": 0, "prompt": "Question 0"}, *questions(3), {"id": 4, "prompt": "Question 4"})
    place.load = RecordingLoad()
    assert place.run() == 0
    assert contents(place.load.engine.requests) == ["Question 0"]
    assert sorted(line["id"] for line in place.answers()) == [0, 1, 2, 3, 4]

    before, place.load = place.output.read_bytes(), RecordingLoad()
    assert place.run() == 0
    assert not place.load.options, "with nothing left no model is loaded"
    assert place.output.read_bytes() == before


def test_prompts_with_a_common_prefix_are_grouped(place: Place) -> None:
    shared = "Be brief. " * 30
    place.ask(
        {"id": 1, "prompt": "A", "system": shared},
        {"id": 2, "prompt": "Else"},
        {"id": 3, "prompt": "B", "system": shared},
    )
    place.run()
    assert contents(place.load.engine.requests) == ["A", "B", "Else"]


@pytest.mark.parametrize(("presses", "kept"), [(1, [1, 2]), (2, [1])])
def test_ctrl_c_ends_after_the_answer_and_twice_at_once(
    place: Place, capsys: Captured, presses: int, kept: list[int]
) -> None:
    def press(request: int, number: int) -> None:
        if request == 2 and 1 < number <= 1 + presses:
            deliver(signal.SIGINT)

    engine = ScriptedEngine(before_round=press)
    place.load = RecordingLoad(engine)
    before = signal.getsignal(signal.SIGINT)
    place.ask(*questions(3))
    assert place.run() == 130
    assert signal.getsignal(signal.SIGINT) is before
    assert [line["id"] for line in place.answers()] == kept
    assert all(line["finish_reason"] == "stop" for line in place.answers())
    shown = capsys.readouterr().err
    assert shown.count("Ctrl+C again") == 1
    assert "Run the same command again" in shown
    assert engine.closed
    place.load = RecordingLoad()
    assert place.run() == 0
    assert [line["id"] for line in place.answers()] == [1, 2, 3]


def test_ctrl_c_while_loading_says_how_to_go_on(place: Place, capsys: Captured) -> None:
    def interrupted(_options: LoadOptions) -> ScriptedEngine:
        raise KeyboardInterrupt

    place.ask(*questions(3))
    assert main(["chat", "--batch", str(place.prompts)], interrupted) == 130
    assert "3 prompts to go." in capsys.readouterr().err


def test_full_disk_keeps_written_answers(place: Place, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []

    def second_time_full(_descriptor: int) -> None:
        written.append(1)
        if len(written) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", second_time_full)
    place.ask(*questions(3))
    assert place.run() == 1
    assert f"headstart: {place.output} " in capsys.readouterr().err
    assert [line["id"] for line in place.answers()] == [1]
    assert place.load.engine.closed
    assert place.run() == 0
    assert [line["id"] for line in place.answers()] == [1, 2, 3]


def test_refused_setting_fails_its_line_and_a_lost_engine_the_run(place: Place, capsys: Captured) -> None:
    refusal = SettingsError("It has no table of likely next tokens.")
    place.load.engine.scripts = ("One.", refusal, "Three.", EngineLostError("It is gone."))
    place.ask(*questions(5))
    assert place.run() == 1
    assert [line.get("text", line.get("error")) for line in place.answers()] == ["One.", str(refusal), "Three."]
    assert capsys.readouterr().err.endswith("headstart: It is gone.\n")


def test_batch_takes_as_many_answers_at_a_time_as_memory_holds(place: Place, capsys: Captured) -> None:
    engine, tried = ScriptedEngine(), list[int]()

    def load(options: LoadOptions) -> ScriptedEngine:
        tried.append(options.parallel)
        if options.parallel > 2:
            raise MemoryBudgetError("It is too big.")
        return engine

    place.ask(*questions(20))
    assert main(["chat", "--batch", str(place.prompts), "--model", "smol"], load) == 0
    assert tried == [8, 4, 2]
    assert len(place.answers()) == 20


def test_batch_loads_for_no_more_answers_than_prompts(place: Place) -> None:
    place.ask(*questions(3))
    assert place.run() == 0
    assert [options.parallel for options in place.load.options] == [3]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[EngineClient]:
    """A process with an engine that writes several answers at the same time."""
    with closing(EngineClient((*PROGRAM, "--pace", "0.005"), Journal(tmp_path / "log"))) as client:
        yield client


def test_batch_writes_answers_at_the_same_time(place: Place, client: EngineClient, capsys: Captured) -> None:
    def load(options: LoadOptions) -> EngineClient:
        client.load(options)
        return client

    place.ask({"id": 1, "prompt": "toy: words 200"}, {"id": 2, "prompt": "toy: words 3"})
    assert main(["chat", "--batch", str(place.prompts), "--model", "smol"], load) == 0
    assert [line["id"] for line in place.answers()] == [2, 1]
    assert {line["settings"]["parallel"] for line in place.answers()} == {2}
    assert "2 at a time" in capsys.readouterr().err


def test_tiny_pair_answers_a_batch(tiny_pair: Path, place: Place) -> None:
    place.ask(*questions(3), {"id": 4, "prompt": "Question 1", "min_p": 0.1}, {"id": 5, "prompt": "word " * 2000})
    flags = ["--model", str(tiny_pair), "--max-new-tokens", "6", "--greedy"]
    assert main(["chat", "--batch", str(place.prompts), *flags]) == 1
    by_id = {line["id"]: line for line in place.answers()}
    assert {number: len(by_id[number]["token_ids"]) for number in (1, 2, 3, 4)} == {1: 6, 2: 6, 3: 6, 4: 6}
    assert by_id[1]["text"] == by_id[4]["text"]  # greedily min-p changes nothing
    assert {by_id[number]["settings"]["parallel"] for number in (1, 2, 3, 4)} == {5}
    assert by_id[1]["stats"]["ttft_ms"] > 0
    assert "context holds" in by_id[5]["error"]


PLAIN = LineDefaults(RequestSettings())
FIRST = b'{"id": 1, "text": "a", "finish_reason": "stop"}\n'
SECOND = '{"id": "2", "text": "größer", "finish_reason": "length"}\n'.encode()
FAILED = b'{"id": null, "line": 3, "error": "it is not JSON."}\n'


def read_lines(folder: Path, *lines: str | bytes, defaults: LineDefaults = PLAIN) -> list[PromptLine | BadLine]:
    """Return the questions in these lines."""
    path = folder / "prompts.jsonl"
    path.write_bytes(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines))
    return list(read(path, defaults))


def one(folder: Path, line: str, defaults: LineDefaults = PLAIN) -> PromptLine:
    """Return the task of a good line."""
    (task,) = read_lines(folder, line, defaults=defaults)
    assert isinstance(task, PromptLine), task
    return task


def test_line_settings_override_the_command_line(tmp_path: Path) -> None:
    line = (
        '{"id": 3, "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}], '
        '"system": "Be long.", "max_new_tokens": 9, "temperature": 0.25, "seed": 5, "stop": ["a", "b"], '
        '"top_p": null, "speculation": "off", "num-assistant-tokens": "auto"}'
    )
    task = one(tmp_path, line, LineDefaults(RequestSettings().with_values({"top_p": 0.5}), "Be brief."))
    assert [message.role for message in task.messages] == ["system", "user", "assistant"]
    assert task.messages[0].content == "Be long."
    changed = {"max_new_tokens": 9, "stop": ("a", "b"), "temperature": 0.25}
    changed |= {"seed": 5, "top_p": 0.5, "speculation": "off"}
    assert task.settings == RequestSettings().with_values(changed)
    usual = LineDefaults(RequestSettings().with_values({"max_new_tokens": 7}), "Be brief.")
    task = one(tmp_path, '{"id": "a", "prompt": "Hi", "speculation": "fixed", "num_assistant_tokens": 3}', usual)
    assert task.messages == (Message("system", "Be brief."), Message("user", "Hi"))
    assert task.request.max_new_tokens == 7
    assert task.settings.speculation == Speculation(Mode.FIXED, 3)


def test_openai_lines_are_read(tmp_path: Path) -> None:
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
    task = one(tmp_path, json.dumps(line), LineDefaults(RequestSettings(), "Another."))
    assert (task.id, task.request.max_new_tokens, task.request.stop) == ("r-1", 5, ("END",))
    assert task.messages == (Message("system", "Be brief."), Message("user", "Hi there"))


@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        ({"chat_template_kwargs": {"enable_thinking": False}}, (False, None, "")),
        ({"chat_template_kwargs": {"enable_thinking": True}, "thinking_budget_tokens": 9}, (True, 9, "")),
        ({"reasoning_effort": "none"}, (False, None, "")),
        ({"reasoning_effort": "high"}, (None, None, "high")),
    ],
)
def test_openai_lines_switch_thinking(tmp_path: Path, fields: dict[str, Any], asked: tuple[Any, ...]) -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}], **fields}
    request = one(tmp_path, json.dumps({"custom_id": "a", "body": body})).request
    assert (request.thinking, request.thinking_budget, request.effort) == asked


def test_blank_lines_and_byte_order_mark_are_ignored(tmp_path: Path) -> None:
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
        (
            '{"custom_id": "a", "body": {"chat_template_kwargs": {"x": 1}}}',
            "There is no setting 'chat_template_kwargs'",
        ),
        ('{"id": 1, "prompt": "a", "think_effort": "huge"}', "think-effort must be low, medium or high or auto, not"),
        ('{"id": 1, "prompt": "a", "think_budget": -1}', "think-budget must be 0 or more, not -1."),
    ],
)
def test_bad_line_is_an_error(tmp_path: Path, line: str | bytes, sentence: str) -> None:
    bad, good = read_lines(tmp_path, line, '{"id": 99, "prompt": "good"}')
    assert isinstance(bad, BadLine)
    assert bad.line == 1
    assert bad.reason.startswith(sentence)
    assert isinstance(good, PromptLine)


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
def test_whole_answers_of_an_earlier_run_are_kept(file: Path, left: bytes, ids: set[Identity], kept: bytes) -> None:
    file.write_bytes(left)
    answers = Answers(file)
    answers.close()
    assert answers.ids == ids
    assert file.read_bytes() == kept


@pytest.mark.parametrize(
    "content", [b"my diary\n", b"my diary", FIRST + b"{}\n" + SECOND, b'{"id": 1, "prompt": "Hi"}\n', b"\xff\n", b"[]"]
)
def test_other_file_is_refused_and_unchanged(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(SettingsError, match="holds something else than answers"):
        Answers(file)
    assert file.read_bytes() == content
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a file's size are Unix's")
def test_partly_written_line_is_removed(file: Path) -> None:
    import resource  # noqa: PLC0415 - exists on Unix only

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


def test_failed_rewrite_keeps_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file.write_bytes(FIRST + FAILED)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BatchError, match="No space left"):
        Answers(file)
    assert file.read_bytes() == FIRST + FAILED
    assert list(file.parent.iterdir()) == [file]
