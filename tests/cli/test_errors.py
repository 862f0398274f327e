"""Errors of the command line, which load nothing."""

import io
import re
import sys
from pathlib import Path

import pytest

from headstart import paths
from headstart.cli import main
from tests.stand_ins.fakes import RecordingLoad
from tests.stand_ins.model_folders import write_model
from tests.support.rights import usual_rights

CHAT: tuple[tuple[str, int, str], ...] = (
    ("--json", 2, "--json prints one answer: add a prompt, or --prompt - to read standard input."),
    ("--prompt|", 2, "The prompt is empty."),
    (" ", 2, "The prompt is empty."),
    ("Hi|--prompt|Hi", 2, "There are two prompts: leave out --prompt, or the words without an option."),
    (
        "Hi|--file|none.txt",
        1,
        "none.txt cannot be read (No such file or directory); check that it is there and",
    ),
    ("Hi|--file|/none/at/all", 1, f"{Path('/none/at/all')} cannot be read ("),
    ("--prompt|\udcff", 2, r"prompt must be valid text, not '\udcff'."),
    ("--stop|\udcff", 2, r"stop must be valid text, not '\udcff'."),
    ("--kv-precision|sloppy", 2, "kv-precision must be auto, f16 or u8, not 'sloppy'."),
    ("--context|0", 2, "context must be 256 or more, not 0."),
    ("--temp|1", 2, "No such option '--temp'. Did you mean --temporary or --temperature? See headstart chat --help."),
    ("--modle|smol", 2, "No such option '--modle'. Did you mean --model? See headstart chat --help."),
    ("--zzz", 2, "No such option '--zzz'. See headstart chat --help."),
    ("--model", 2, "Option '--model' requires an argument. See headstart chat --help."),
    ("--model|big|--prompt|Hi", 1, "There is no model 'big'; installed are smol."),
    ("--model|\x1b[2J|--prompt|Hi", 1, r"There is no model '\x1b[2J'; installed are smol."),
    ("--model|remote:office", 1, "There is no server 'office'; none is known yet."),
    ("--top-k|many", 2, "top-k must be a whole number or auto, not 'many'."),
    ("--temperature|warm", 2, "temperature must be a number or auto, not 'warm'."),
    ("--temperature|-1", 2, "temperature must be between 0 and 100, not -1.0."),
    ("--temperature|nan", 2, "temperature must be between 0 and 100, not nan."),
    ("--stop-on-repetition|maybe", 2, "stop-on-repetition must be yes or no, not 'maybe'."),
    ("--speculation|wild", 2, "speculation must be auto, fixed or off, not 'wild'."),
    ("--num-assistant-tokens|99", 2, "num-assistant-tokens must be between 1 and 16, not 99."),
    ("--max-new-tokens|0", 2, "max-new-tokens must be 1 or more, not 0."),
    ("--speculation|fixed", 2, "Fixed speculation needs a length: add --num-assistant-tokens (1 to 16), or use auto."),
    ("--json-schema|none.json|Hi", 2, "none.json cannot be read (No such file or directory); name a file with a JSON"),
    ('--json-schema|{"type"|Hi', 2, """{"type" is invalid JSON: Expecting ':'"""),
    ("--json-schema|diary.txt|Hi", 2, "diary.txt is invalid JSON: Expecting value"),
    ("--json-schema|list.json|Hi", 2, "list.json is no JSON schema: it must be an object."),
    ("--batch|missing.jsonl", 2, "missing.jsonl cannot be read (No such file or directory); name a file with"),
    (
        "--batch|p.jsonl|--prompt|Hi",
        2,
        "--batch takes prompts from a file and writes JSON to another: leave out --prompt",
    ),
    ("--batch|p.jsonl|Hi", 2, "--batch takes prompts from a file and writes JSON to another: leave out the prompt."),
    ("--batch|p.jsonl|--output|p.jsonl", 2, "--output must be another file than --batch."),
    ("--batch|p.jsonl|--output|gone/a", 2, "gone/a cannot be written: name a file in a folder that exists."),
    ("--batch|p.jsonl|--output|.", 2, ". cannot be written: name a file in a folder that exists."),
    ("--batch|p.jsonl|--output|diary.txt", 2, "diary.txt holds something else than answers (line 1)"),
    ("--batch|empty.jsonl", 2, "empty.jsonl has no prompts; give it one JSON object in each line."),
    ("--output|a.jsonl", 2, "--output needs --batch FILE."),
)
OTHERS: tuple[tuple[str, int, str], ...] = (
    ("bench|--peer|vllm", 2, "peer must be openvino-genai or none, not 'vllm'."),
    ("bench|--classes|poem", 2, "There is no class 'poem'; the classes are code, edit, explanation, summary, story, "),
    ("bench|--contestants|fast", 2, "There is no contestant 'fast'; it must be plain, auto, ngram, draft, eagle, fix"),
    ("bench|--json|missing/file", 2, "missing/file cannot be written: name a file in a folder that exists."),
    ("bench|--resume", 2, "--resume needs the file of the race that was cut off: add --json FILE."),
    ("bench|--resume|--json|diary.txt", 2, "diary.txt is no result of `headstart bench speed --json FILE`."),
    ("bench|--model|remote:office", 2, "remote:office is on another computer and can only chat"),
    ("remote|check|office", 1, "There is no server 'office'; none is known yet."),
    ("remote|add|a b|http://host", 2, "A server's name has up to 40 letters"),
    ("remote|add|office|host", 2, "'host' is not the address of a server; write it like https://host:8000/v1."),
    ("remote|add|office|http://host|--certificate|none.pem", 2, "There is no file"),
    ("serve|--host|0.0.0.0", 2, "0.0.0.0 can be reached from other computers: add --allow-network"),
    ("serve|--host|elsewhere", 2, "host must be an address"),
    ("serve|--port|70000", 2, "port must be between 0 and 65535, not 70000."),
    ("serve|--allow-origin|*", 2, "allow-origin must be an origin such as http://localhost:3000, http://localhost:*, "),
    ("serve|--allow-origin|http://*", 2, "allow-origin must be an origin such as"),
    ("serve|--allow-origin|http://localhost*", 2, "allow-origin must be an origin such as"),
    ("serve|--alias|gpt-4o", 2, "alias must be NAME=MODEL, such as claude-*=qwen2.5-coder, not 'gpt-4o'."),
    ("serve|--port|0|--temperature|-1", 2, "temperature must be between 0 and 100"),
    ("tune|--seconds|5", 2, "seconds must be 10 or more, not 5."),
    ("sing", 2, "No such command 'sing'. See headstart --help."),
    ("lsit", 2, "No such command 'lsit'. Did you mean list? See headstart --help."),
    ("models|ad", 2, "No such command 'ad'. Did you mean add? See headstart models --help."),
    ("rm|big", 1, "There is no model 'big'; installed are smol."),
    ("pull", 2, "Missing argument 'SOURCE'. See headstart pull --help."),
)


@pytest.mark.parametrize(("typed", "code", "sentence"), [*((f"chat|{typed}", *more) for typed, *more in CHAT), *OTHERS])
def test_error_is_a_sentence(
    typed: str,
    code: int,
    sentence: str,
    headstart_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_model(headstart_home / "models" / "smol")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    for name, text in {
        "p.jsonl": '{"id": 1, "prompt": "Hi"}\n',
        "empty.jsonl": "\n",
        "diary.txt": "Dear diary\n",
        "list.json": "[]",
    }.items():
        Path(name).write_text(text, encoding="utf-8")
    load = RecordingLoad()
    assert main(typed.split("|"), load) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"headstart: {sentence}")
    assert shown.err.count("\n") == 1
    assert not load.options
    assert not paths.server_key().exists()
    assert Path("diary.txt").read_text(encoding="utf-8") == "Dear diary\n"


@pytest.mark.parametrize(
    "typed", ["models", "ps", "doctor", "chat|--model|smol|Hi", "models|add|smollm2-135m-instruct"]
)
def test_home_that_may_not_be_read_is_said(
    typed: str, headstart_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    write_model(headstart_home / "models" / "smol")
    headstart_home.chmod(0)
    with usual_rights():
        assert main(typed.split("|"), RecordingLoad()) == 1
    headstart_home.chmod(0o700)
    shown = capsys.readouterr()
    assert re.search(rf"{re.escape(str(headstart_home))}.*(Permission denied|does not let you)", shown.out + shown.err)
