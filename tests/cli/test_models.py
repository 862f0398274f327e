"""`headstart models`: the table, its JSON, and the check."""

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from headstart.cli import main
from headstart.engine.engine import LoadOptions, Message
from headstart.library import exporter as export_program
from headstart.library import manifest
from tests.conftest import ROOT
from tests.stand_ins import fake_python
from tests.stand_ins.fakes import FOX, RecordingLoad
from tests.stand_ins.model_folders import WORDS, describe, write_model, write_pair

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def root(headstart_home: Path) -> Path:
    return headstart_home / "models"


def test_empty_library_says_how_to_fill_it(capsys: Captured) -> None:
    assert main(["models"]) == 0
    assert "`headstart models add smollm2-135m-instruct`" in capsys.readouterr().out


def test_list_prints_a_table(root: Path, capsys: Captured) -> None:
    write_pair(root / "pair")
    plain = write_model(root / "model", licence="MIT")
    manifest.write(plain, dataclasses.replace(describe(plain, licence="MIT"), quality=None, size_bytes=135_400_000))
    (write_model(root / "ruin") / "tokenizer.json").unlink()
    assert main(["list"]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "name   kind   precision    size     RAM      quality        tools         licence",
        "model  model  int8         135 MB   493 MB   not measured   not measured  MIT",
        "pair   pair   int8 + int8  3.56 GB  4.04 GB  98.7% + 98.7%  not measured  Apache-2.0",
    ]


def test_how_well_a_model_calls_tools_stands_in_the_terminal(root: Path, capsys: Captured) -> None:
    write_model(root / "qwen2.5-coder-1.5b-instruct")
    assert main(["models"]) == 0
    assert "6 of 30" in capsys.readouterr().out
    assert main(["models", "show", "qwen2.5-coder-1.5b-instruct"]) == 0
    assert "Calls tools badly: 6 of 30 small tasks on a folder were done right." in capsys.readouterr().out


def test_manifest_cannot_steer_the_terminal(root: Path, capsys: Captured) -> None:
    write_model(root / "model", licence="\x1b[2J")
    main(["models"])
    assert "␛[2J" in capsys.readouterr().out


def test_list_json_has_everything_but_files(root: Path, capsys: Captured) -> None:
    write_model(root / "model")
    write_pair(root / "pair")
    (write_model(root / "ruin") / manifest.FILE_NAME).write_text("{", encoding="utf-8")
    assert main(["models", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["folder"] == str(root)
    model, pair, ruin = data["models"]
    assert (model["name"], model["kind"], model["folder"]) == ("model", "model", str(root / "model"))
    assert (model["precision"]["weights"], model["quality"]["top1_agreement"]) == ("int8", 0.987)
    assert "files" not in model
    assert (pair["kind"], pair["shared_ids"], pair["draft"]["size_bytes"]) == ("pair", 4, 1_780_000_000)
    assert ruin["kind"] == "broken"
    assert "cannot be read" in ruin["fault"]


def test_check_loads_and_asks_a_sound_pair(root: Path, capsys: Captured) -> None:
    pair = write_pair(root / "pair")
    load = RecordingLoad()
    assert main(["models", "check", "pair", "--device", "GPU"], load) == 0
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("· pair: 6 files")
    assert "GPU" in second
    assert load.options == [LoadOptions(pair / "target", pair / "draft", "GPU")]
    (request,) = load.engine.requests
    assert (request.messages, request.max_new_tokens) == ((Message("user", "Hello"),), 1)
    assert load.engine.closed


def test_check_finds_flipped_bits(root: Path, capsys: Captured) -> None:
    pair = write_pair(root / "pair")
    _flip_a_bit(pair / "target" / "openvino_model.bin")
    _flip_a_bit(pair / "draft" / "openvino_model.xml")
    load = RecordingLoad()
    assert main(["models", "check", "pair"], load) == 1
    target, draft = capsys.readouterr().err.splitlines()
    assert target.startswith("headstart: pair/target: openvino_model.bin ")
    assert draft.startswith("headstart: pair/draft: openvino_model.xml ")
    assert not load.options


def test_check_refuses_a_mismatched_pair(root: Path, capsys: Captured) -> None:
    pair = write_pair(root / "pair")
    (pair / "draft").rename(root / "spare")
    write_model(pair / "draft", {**WORDS, "Ġthe": 3, "Ġand": 1})
    assert main(["models", "check", "pair"], RecordingLoad()) == 1
    assert "id 1" in capsys.readouterr().err


def _flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[3] ^= 1
    path.write_bytes(content)


@pytest.fixture
def exporter(headstart_home: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A stand-in for the exporter's program, which writes a model of the source's name; gives its requests."""
    asked: list[str] = []
    script = (
        "import sys; from pathlib import Path; from tests.stand_ins.model_folders import write_model\n"
        "folder = Path(sys.argv[1]) / sys.argv[2].rpartition('/')[2]\n"
        "if sys.argv[2] == 'gone': sys.exit('headstart-export: there is no gone.')\n"
        "print(write_model(folder))"
    )
    folder = str(headstart_home / "models")

    def command() -> tuple[str, ...]:
        asked.append("exported")
        return (sys.executable, "-c", script, folder)

    monkeypatch.setattr("headstart.library.exporter.importer", lambda: None)
    monkeypatch.setattr("headstart.library.exporter.command", command)
    return asked


def test_run_exports_a_missing_model(exporter: list[str], capsys: Captured) -> None:
    load = RecordingLoad()
    assert main(["run", "org/tiny", "--prompt", "Hi", "--greedy"], load) == 0
    assert exporter
    exporter.clear()
    assert main(["run", "tiny", "--prompt", "Hi"], load) == 0
    assert [options.target.name for options in load.options] == ["tiny", "tiny"]
    assert load.engine.requests[0].sampling.temperature == 0.0
    assert not exporter
    assert capsys.readouterr().out == f"{FOX}\n" * 2


def test_run_takes_the_precision_that_you_ask_for(
    headstart_home: Path, exporter: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    export = export_program.export

    def recorded(source: str, more: Sequence[str] = ()) -> Path:
        asked.append((source, *more))
        return export(source, more)

    monkeypatch.setattr(export_program, "export", recorded)
    write_model(headstart_home / "models" / "own-int4")
    assert main(["models", "add", "org/again", "--force"]) == 0
    assert asked.pop() == ("org/again", "--force")
    load = RecordingLoad()
    for words in (["own", "--weights", "int4"], ["org/other", "--weights", "int8"], ["org/third"]):
        assert main(["run", *words, "--prompt", "Hi"], load) == 0
    assert [options.target.name for options in load.options] == ["own-int4", "other", "third"]
    assert asked == [("org/other", "--weights", "int8"), ("org/third", "--fit")]
    assert main(["run", "remote:somewhere", "--weights", "int4"], load) == 2


@pytest.mark.usefixtures("exporter")
def test_run_ends_after_a_failed_export(capsys: Captured) -> None:
    assert main(["run", "gone"], RecordingLoad()) == 1
    assert "gone was not exported" in capsys.readouterr().err


def test_run_without_the_exporter_names_the_remedy(
    headstart_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr("headstart.library.exporter.importer", lambda: None)
    monkeypatch.setattr("headstart.library.exporter.command", lambda: None)
    monkeypatch.setattr("headstart.library.exporter.package", lambda: None)
    assert main(["run", "qwen"], RecordingLoad()) == 1
    assert "headstart-export qwen" in capsys.readouterr().err
    assert not (headstart_home / "models").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for Python is a script with a #! line")
def test_run_sets_the_exporter_up_with_yes(
    headstart_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Captured
) -> None:
    fake_python.put(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("FAKE_PYTHON", "{}")
    monkeypatch.setattr("headstart.library.exporter.find_spec", lambda _name: None)
    assert main(["run", "tiny", "--prompt", "Hi"], RecordingLoad()) == 2
    assert "--yes" in capsys.readouterr().err
    assert not list(headstart_home.glob("exporter*"))
    assert main(["run", "tiny", "--prompt", "Hi", "--yes"], RecordingLoad()) == 0
    told = capsys.readouterr()
    assert "2.1 GB" in told.err
    assert "· Unpacking 3 packages" in told.err
    assert told.out == f"{FOX}\n"
    assert main(["models", "add", "another"]) == 0  # nobody is asked again


def test_list_shows_the_head_of_a_model(headstart_home: Path, capsys: Captured) -> None:
    folder = write_model(headstart_home / "models" / "own")
    assert main(["models", "show", "own"]) == 0
    assert "own/head" not in capsys.readouterr().out
    write_model(folder / "head")
    assert main(["models", "show", "own"]) == 0
    assert "own/head" in capsys.readouterr().out


@pytest.mark.parametrize(("add", "remove"), [(["models", "add"], ["models", "remove"]), (["pull"], ["rm"])])
def test_model_is_added_shown_and_removed(
    add: list[str], remove: list[str], headstart_home: Path, exporter: list[str], tmp_path: Path, capsys: Captured
) -> None:
    assert main([*add, str(write_model(tmp_path / "copied"))]) == 0
    assert not exporter
    assert main([*add, "org/made", "--weights", "int4"]) == 0
    assert main(["models", "show", "copied"]) == 0
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("Apache-2.0", "1.50 billion parameters", "98.7%", str(headstart_home)))
    assert main(["models", "show", "copied", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["drafts"] == []
    assert main([*remove, "copied"]) == 2  # nobody can be asked
    assert main([*remove, "copied", "--yes"]) == 0
    assert [folder.name for folder in (headstart_home / "models").iterdir()] == ["made"]


def test_remove_asks_first(headstart_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(headstart_home / "models" / "tiny")
    questions: list[str] = []

    def answer(question: str) -> str:
        questions.append(question)
        return ["n", "y"][len(questions) - 1]

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", answer)
    assert main(["models", "remove", "tiny"]) == 0
    assert folder.exists()
    assert "tiny (0 MB)" in questions[0]
    assert main(["models", "remove", "tiny"]) == 0
    assert not folder.exists()


def test_part_of_a_pair_is_not_removed(headstart_home: Path, capsys: Captured) -> None:
    write_pair(headstart_home / "models" / "pair")
    assert main(["models", "remove", "pair/draft", "--yes"]) == 2
    assert "pair/draft" in capsys.readouterr().err


def test_model_is_copied_and_renamed(headstart_home: Path, capsys: Captured) -> None:
    folder = write_model(headstart_home / "models" / "own")
    write_model(folder / "head")
    assert main(["models", "copy", "own", "other"]) == 0
    assert main(["models", "rename", "own", "new"]) == 0
    assert "own is now new." in capsys.readouterr().err
    for name in ("other", "new"):
        assert main(["models", "show", name]) == 0
        assert f"{name}/head" in capsys.readouterr().out
    assert not folder.exists()
    assert main(["models", "rename", "own", "mine"]) == 1
    assert "There is no model 'own'" in capsys.readouterr().err


@pytest.mark.parametrize("action", ["copy", "rename"])
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("other", "A model named other is installed already"),
        *((name, "cannot be the name of a model") for name in ("", "..", ".other", "a/b", "none", "remote:other")),
        *((name, "cannot be the name of a model") for name in ("con", "a:b", "other ", "other.", "a\x1b[2J")),
        ("a" * 260, "The name of a model has at most 200 bytes"),
    ],
)
def test_invalid_model_name_is_refused(
    headstart_home: Path, capsys: Captured, action: str, name: str, sentence: str
) -> None:
    for each in ("own", "other"):
        write_model(headstart_home / "models" / each)
    assert main(["models", action, "own", name]) == 2
    assert sentence in capsys.readouterr().err
    assert {folder.name for folder in (headstart_home / "models").iterdir()} == {"own", "other"}
