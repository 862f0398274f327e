"""Recordings become text behind OpenAI's API: its fields, its forms, its errors, and the real model."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from headstart.cli import load_apart
from headstart.cli.options import AnsweringFlags
from headstart.cli.serve import served_models
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    Event,
    Finish,
    FinishReason,
    LoadOptions,
    Prefill,
    Request,
    TranscriptionRequest,
    no_stats,
)
from headstart.engine.speech.transcript import Segment, SpeechTranscript
from headstart.server.models import LoadedModels, OneModel, OpenModel, Served
from tests.server.serving import KEY, Running, serving
from tests.support.waiting import PATIENCE

SPEECH = Path(__file__).parents[1] / "engine" / "data" / "speech.opus"
SAID = "Please send me the report before Friday afternoon."
TRANSCRIPT = SpeechTranscript((Segment(0.5, 3.25, "One."), Segment(4.0, 5.0, "Two.")), "en", 6.0)
WHISPER = "transcriber"


@dataclass
class ScriptedTranscriber:
    """A transcriber that always returns the same; it keeps the requests and the content of their files."""

    requests: list[tuple[TranscriptionRequest, bytes]] = field(default_factory=list)

    def generate(self, request: Request, cancel: CancelEvent | None = None) -> Iterator[Event]:
        assert isinstance(request, TranscriptionRequest)
        self.requests.append((request, Path(request.recording).read_bytes()))
        yield Prefill(0, 6)
        yield Finish(FinishReason.STOP, no_stats(), (), transcript=TRANSCRIPT)

    def close(self) -> None:
        """Do nothing: nothing is held."""


@pytest.fixture
def transcriber() -> ScriptedTranscriber:
    return ScriptedTranscriber()


@pytest.fixture
def running(transcriber: ScriptedTranscriber) -> Iterator[Running]:
    with serving(transcriber, models=OneModel(Served(WHISPER, languages=99), transcriber), usual=WHISPER) as running:
        yield running


def written(running: Running, **fields: Any) -> Any:
    with running.client() as client:
        asked = {"model": WHISPER, "file": ("speech.wav", b"sound"), **fields}
        return client.audio.transcriptions.create(**asked)


def translated(running: Running, model: str, sound: bytes) -> httpx.Response:
    """Return the reply to a request that OpenAI's client calls deprecated."""
    return httpx.post(
        f"{running.url}/audio/translations",
        headers={"authorization": f"Bearer {KEY}"},
        data={"model": model},
        files={"file": sound},
        timeout=PATIENCE,
    )


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("text", "One. Two.\n"),
        ("srt", "1\n00:00:00,500 --> 00:00:03,250\nOne.\n\n2\n00:00:04,000 --> 00:00:05,000\nTwo.\n"),
        ("vtt", "WEBVTT\n\n00:00:00.500 --> 00:00:03.250\nOne.\n\n00:00:04.000 --> 00:00:05.000\nTwo.\n"),
    ],
)
def test_transcript_comes_as_text_and_subtitles(running: Running, form: str, text: str) -> None:
    assert written(running, response_format=form) == text


def test_transcript_comes_as_json_with_its_length(running: Running) -> None:
    reply = written(running)
    assert (reply.text, reply.usage.type, reply.usage.seconds) == ("One. Two.", "duration", 6.0)


def test_verbose_json_has_times_language_and_length(running: Running) -> None:
    reply = written(running, response_format="verbose_json", timestamp_granularities=["segment"], temperature=0.5)
    assert (reply.text, reply.language, reply.duration) == ("One. Two.", "en", 6.0)
    assert [(each.id, each.start, each.end, each.text) for each in reply.segments] == [
        (0, 0.5, 3.25, "One."),
        (1, 4.0, 5.0, "Two."),
    ]
    assert reply.segments[0].temperature == 0.5


def test_fields_of_the_form_reach_the_model_with_the_file(running: Running, transcriber: ScriptedTranscriber) -> None:
    written(running, language="ZH", prompt="Qwen", temperature=0.25)
    assert translated(running, WHISPER, b"other").json()["text"] == "One. Two."
    (first, sound), (second, other) = transcriber.requests
    assert (first.language, first.prompt, first.temperature, first.translate) == ("zh", "Qwen", 0.25, False)
    assert (second.language, second.translate) == ("", True)
    assert (sound, other) == (b"sound", b"other")
    assert not Path(first.recording).exists()


def test_openai_name_of_the_model_finds_the_one_that_is_here(running: Running) -> None:
    assert written(running, model="whisper-1").text == "One. Two."
    with pytest.raises(openai.NotFoundError):
        written(running, model="whisper-2")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"response_format": "diarized_json"}, "response_format"),
        ({"temperature": 2}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"timestamp_granularities": ["word"]}, "timestamp_granularities"),
        ({"file": ("empty.wav", b"")}, "file"),
    ],
)
def test_wrong_field_is_refused_by_its_name(running: Running, fields: dict[str, Any], param: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        written(running, **fields)
    assert caught.value.param == param


@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data", "multipart/form-data; boundary=x"])
def test_body_that_is_no_form_is_refused(running: Running, kind: str) -> None:
    status, _, text = running.ask("POST", "/v1/audio/transcriptions", {"content-type": kind}, b"{}")
    assert (status, "invalid_request_error" in text) == (400, True)


def test_models_of_another_kind_are_refused(running: Running) -> None:
    with running.client() as client:
        assert client.models.list().data[0].capabilities == ["transcription"]
        with pytest.raises(openai.BadRequestError, match="writes down speech"):
            client.chat.completions.create(model=WHISPER, messages=[{"role": "user", "content": "Hi"}])
        with pytest.raises(openai.BadRequestError, match="writes down speech"):
            client.embeddings.create(model=WHISPER, input="Hi")
    assert '"models":[]' in running.ask("GET", "/api/tags")[2]


def test_model_that_writes_answers_writes_down_nothing(transcriber: ScriptedTranscriber) -> None:
    with (
        serving(transcriber) as running,
        pytest.raises(openai.BadRequestError, match="name one that writes down speech"),
    ):
        written(running, model="toy")


def test_real_model_answers_with_what_is_said(real_whisper: Path, headstart_home: Path) -> None:
    def load(_: str) -> OpenModel:
        return OpenModel(load_apart(LoadOptions(real_whisper)))

    (served,) = served_models(AnsweringFlags(model=str(real_whisper)))
    with (
        closing(LoadedModels(lambda: [served], load)) as models,
        serving(ScriptedTranscriber(), models=models, usual=served.id) as running,
    ):
        sound = ("speech.opus", SPEECH.read_bytes())
        verbose = written(running, model=served.id, file=sound, response_format="verbose_json", language="en")
        assert verbose.segments[0].text == SAID
        assert verbose.segments[0].start == pytest.approx(0.5, abs=0.5)
        assert written(running, model=served.id, file=sound, response_format="text").startswith(SAID)
        for wrong in ({"language": "xx"}, {"file": ("song.m4a", b"no sound")}):
            with pytest.raises(openai.BadRequestError):
                written(running, **{"model": served.id, "file": sound, **wrong})
        assert "English alone" in translated(running, served.id, SPEECH.read_bytes()).text
