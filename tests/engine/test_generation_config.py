"""Sampling values belong to the model: its author's file is read, and fills what a request leaves open."""

import json
import logging
from pathlib import Path

import pytest

from headstart.engine import generation_config
from headstart.engine.engine import Message, Request, Sampling
from headstart.engine.generation_config import USUAL, read
from headstart.errors import SettingsError
from headstart.parameters import filled

QWEN = {"do_sample": True, "temperature": 0.7, "top_p": 0.8, "top_k": 20, "repetition_penalty": 1.1}


@pytest.mark.parametrize(
    ("written", "sampling"),
    [
        (QWEN, Sampling(0.7, 0.8, 20, repetition_penalty=1.1)),
        ({"do_sample": True, "top_k": 64, "top_p": 0.95}, Sampling(1.0, 0.95, 64)),  # Gemma's: 1 is the hub's default
        ({"temperature": 1, "min_p": 0.1}, Sampling(1.0, min_p=0.1)),
        ({"do_sample": False, "top_k": 20}, Sampling(0.0, top_k=20)),
        ({"eos_token_id": [2, 0], "_from_model_config": True}, USUAL),  # made from a GGUF file
        ({"temperature": None}, USUAL),
    ],
)
def test_the_author_s_values_are_the_model_s_own(tmp_path: Path, written: object, sampling: Sampling) -> None:
    (tmp_path / generation_config.FILE_NAME).write_text(json.dumps(written), encoding="utf-8")
    assert read(tmp_path) == sampling


@pytest.mark.parametrize("written", ["", "[1]", '{"temperature": "warm"}', '{"top_p": 7}', "[" * 5000])
def test_a_file_that_says_nothing_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture, written: str) -> None:
    (tmp_path / generation_config.FILE_NAME).write_text(written, encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        assert read(tmp_path) == USUAL
    assert "does not say how to sample" in caplog.text


def test_a_model_without_the_file_is_sampled_as_usual(tmp_path: Path) -> None:
    assert read(tmp_path) == USUAL
    assert USUAL.temperature > 0


ASKED = {"top_p": 0.5, "presence_penalty": 0.25, "frequency_penalty": 0.0, "seed": 7}  # the rest is left open


def test_what_is_left_open_is_the_model_s_own() -> None:
    own = Sampling(0.7, 0.8, 20, repetition_penalty=1.1, seed=99)
    settled = filled(Sampling, ASKED).settled(own)
    assert settled == Sampling(0.7, 0.5, 20, 0.0, 1.1, presence_penalty=0.25, seed=7)
    assert settled.settled(Sampling(0.1)) == settled


def test_greedy_is_greedy() -> None:
    asked = ASKED | {"temperature": 0.0, "top_p": None}
    assert filled(Sampling, asked).settled(Sampling(0.7, 0.8, 20, repetition_penalty=1.1)) == Sampling(
        presence_penalty=0.25, seed=7
    )


def test_a_request_by_itself_is_greedy() -> None:
    assert Request((Message("user", "?"),)).sampling == Sampling(temperature=0.0, automatic=())


def test_only_values_of_sampling_can_be_left_open() -> None:
    with pytest.raises(SettingsError, match="automatic must be names of these values"):
        Sampling(automatic=("temperature", "automatic"))
