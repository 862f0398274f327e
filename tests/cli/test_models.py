"""`headstart models`: the table, its JSON, and the check."""

import dataclasses
import json
from pathlib import Path

import pytest

from headstart import manifest
from headstart.cli import main
from headstart.engine.engine import LoadOptions, Message
from headstart.errors import BrokenModelError
from tests.fakes import RecordingLoad, ScriptedEngine
from tests.model_folders import JOINED, WORDS, describe, write_model, write_pair

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def root(headstart_home: Path) -> Path:
    return headstart_home / "models"


def test_an_empty_library_says_how_to_fill_it(capsys: Captured) -> None:
    assert main(["models"]) == 0
    assert capsys.readouterr().out == (
        "No model is installed yet; run `headstart-export smollm2-135m-instruct` to get a small one.\n"
    )


def test_the_table(root: Path, capsys: Captured) -> None:
    write_pair(root / "pair")
    plain = write_model(root / "model", licence="MIT")
    manifest.write(plain, dataclasses.replace(describe(plain, licence="MIT"), quality=None, size_bytes=135_400_000))
    (write_model(root / "ruin") / "tokenizer.json").unlink()
    assert main(["models"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "name   kind   precision    size     RAM      quality        licence",
        "model  model  int8         135 MB   447 MB   not measured   MIT",
        "pair   pair   int8 + int8  3.56 GB  3.71 GB  98.7% + 98.7%  Apache-2.0",
        "RAM: when loaded and 8192 tokens of context (or all that it has) are full",
        "quality: share of tokens on which the compressed model agrees with its source weights",
        "ruin cannot be used: ruin is damaged: tokenizer.json is missing; export it again with headstart-export.",
    ]


def test_a_manifest_cannot_steer_the_terminal(root: Path, capsys: Captured) -> None:
    write_model(root / "model", licence="\x1b[2J")
    main(["models"])
    assert "␛[2J" in capsys.readouterr().out


def test_json_tells_everything_but_the_files(root: Path, capsys: Captured) -> None:
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


def test_a_sound_pair_is_loaded_and_asked(root: Path, capsys: Captured) -> None:
    pair = write_pair(root / "pair")
    load = RecordingLoad()
    assert main(["models", "check", "pair", "--device", "GPU"], load) == 0
    assert capsys.readouterr() == ("", "· pair: 6 files as exported.\n· pair: loads on GPU and answers.\n")
    assert load.options == [LoadOptions(pair / "target", pair / "draft", "GPU")]
    (request,) = load.engine.requests
    assert (request.messages, request.max_new_tokens) == ((Message("user", "Hello"),), 1)
    assert load.engine.closed


def test_flipped_bits_are_found_and_nothing_is_loaded(root: Path, capsys: Captured) -> None:
    pair = write_pair(root / "pair")
    _flip_a_bit(pair / "target" / "openvino_model.bin")
    _flip_a_bit(pair / "draft" / "openvino_model.xml")
    load = RecordingLoad()
    assert main(["models", "check", "pair"], load) == 1
    assert capsys.readouterr().err.splitlines() == [
        "headstart: pair/target: openvino_model.bin does not have the content it was exported with; export it again.",
        "headstart: pair/draft: openvino_model.xml does not have the content it was exported with; export it again.",
    ]
    assert not load.options


def test_a_tokenizer_of_earlier_exports_is_told_by_list_and_check(root: Path, capsys: Captured) -> None:
    model = write_model(root / "model")
    (model / manifest.TOKENIZER_FILE).write_bytes(JOINED)
    manifest.write(model, describe(model))
    assert main(["models"]) == 0
    sentence = capsys.readouterr().out.splitlines()[-1]
    assert sentence.startswith("model reads blank space before a digit, as in a list, as wrong tokens")
    load = RecordingLoad(ScriptedEngine())
    assert main(["models", "check", "model"], load) == 1
    assert capsys.readouterr().err == f"headstart: {sentence}\n"
    assert not load.options


def test_a_truncated_file_fails_the_check(root: Path, capsys: Captured) -> None:
    (write_model(root / "model") / "openvino_model.bin").write_bytes(b"half")
    assert main(["models", "check", "model"], RecordingLoad()) == 1
    assert "openvino_model.bin has 4 bytes instead of 256" in capsys.readouterr().err


def test_a_pair_of_strangers_fails_the_check(root: Path, capsys: Captured) -> None:
    pair = write_pair(root / "pair")
    (pair / "draft").rename(root / "spare")
    write_model(pair / "draft", {**WORDS, "Ġthe": 3, "Ġand": 1})
    assert main(["models", "check", "pair"], RecordingLoad()) == 1
    assert "draft pair/draft does not fit pair/target: id 1" in capsys.readouterr().err


def test_a_model_that_does_not_load_fails_the_check(root: Path, capsys: Captured) -> None:
    write_model(root / "model")

    def refuse(_options: LoadOptions) -> ScriptedEngine:
        raise BrokenModelError("model cannot be loaded; export it again.")

    assert main(["models", "check", "model"], refuse) == 1
    assert "headstart: model cannot be loaded; export it again.\n" in capsys.readouterr().err


def test_an_unknown_name_fails_the_check(capsys: Captured) -> None:
    assert main(["models", "check", "nothing"], RecordingLoad()) == 1
    assert capsys.readouterr().err.startswith("headstart: There is no model 'nothing'")


def _flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[3] ^= 1
    path.write_bytes(content)
