"""Speech as text: recordings are decoded, pauses are found, and the real model writes down what is said."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import soundfile

from headstart.engine.speech import audio
from headstart.engine.speech import transcriber as transcriber_module
from headstart.engine.speech.dictation import dictate
from headstart.engine.speech.pauses import SpeechSpan, chunks
from headstart.engine.speech.transcriber import Transcriber
from headstart.engine.speech.transcript import Segment, subrip, text_with_times, web_vtt
from headstart.errors import AudioError, SettingsError

SPEECH = Path(__file__).parent / "data" / "speech.opus"  # two sentences with a pause, by flite
SAID = [
    "Please send me the report before Friday afternoon.",
    "We will meet at the station at half past nine in the morning.",
]
SEGMENTS = (Segment(0.5, 3.25, "One."), Segment(3661.0, 3662.0, "Two."))


def test_text_with_times_has_a_line_for_each_segment() -> None:
    assert text_with_times(SEGMENTS) == "[0:00] One.\n[1:01:01] Two."


def test_subtitles_have_their_times() -> None:
    assert subrip(SEGMENTS).splitlines()[:3] == ["1", "00:00:00,500 --> 00:00:03,250", "One."]
    assert web_vtt(SEGMENTS).splitlines()[-2:] == ["01:01:01.000 --> 01:01:02.000", "Two."]


def test_chunks_are_joined_at_pauses_and_never_longer() -> None:
    speech = [SpeechSpan(0, 40), SpeechSpan(50, 90), SpeechSpan(95, 120), SpeechSpan(200, 430)]
    assert list(chunks(speech, 100)) == [
        SpeechSpan(0, 90),
        SpeechSpan(95, 120),
        SpeechSpan(200, 300),
        SpeechSpan(300, 400),
        SpeechSpan(400, 430),
    ]


@pytest.mark.parametrize(
    ("ending", "kind"), [("wav", "PCM_16"), ("flac", "PCM_24"), ("ogg", "VORBIS"), ("mp3", "MPEG_LAYER_III")]
)
def test_recording_of_any_kind_and_rate_is_decoded(tmp_path: Path, ending: str, kind: str) -> None:
    seconds = np.arange(88_200) / 44_100
    tone = 0.5 * np.sin(2 * np.pi * 440 * seconds)
    path = tmp_path / f"tone.{ending}"
    soundfile.write(path, np.stack([tone, tone], 1), 44_100, subtype=kind)
    samples = audio.read(path)
    assert len(samples) == pytest.approx(2 * audio.RATE, abs=1600)
    spectrum = np.abs(np.fft.rfft(samples[: audio.RATE]))
    assert spectrum.argmax() == 440


def test_other_file_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "song.m4a").write_bytes(b"\0\0\0\x20ftypM4A " + bytes(100))
    with pytest.raises(AudioError, match=r"song\.m4a .*save it as WAV"):
        audio.read(tmp_path / "song.m4a")


class LoopingPipeline:
    """Whisper where it finds no end: it repeats itself unless that is forbidden."""

    loop = ""

    def __init__(self, _folder: Path, _device: str, **_properties: Any) -> None:
        """Load nothing."""

    def get_generation_config(self) -> SimpleNamespace:
        return SimpleNamespace(is_multilingual=False)

    def generate(self, _samples: list[float], **options: Any) -> SimpleNamespace:
        text = "It is late." if "no_repeat_ngram_size" in options else self.loop
        return SimpleNamespace(chunks=[SimpleNamespace(start_ts=0.0, end_ts=1.0, text=text)], language="<|en|>")


class NoPauses:
    """Speech from the first sample to the last."""

    def __init__(self, _path: Path) -> None:
        """Load nothing."""

    def speech(self, samples: Any) -> list[SpeechSpan]:
        return [SpeechSpan(0, len(samples))]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("漆" * 200, "It is late."),
        ("lacquer " * 10, "It is late."),
        ("no " * 9, ("no " * 9).strip()),
        (" ".join(SAID * 6), " ".join(SAID * 6)),
    ],
)
def test_text_that_repeats_itself_without_end_is_made_again(
    monkeypatch: pytest.MonkeyPatch, text: str, written: str
) -> None:
    monkeypatch.setattr(transcriber_module, "openvino_genai", lambda: SimpleNamespace(WhisperPipeline=LoopingPipeline))
    monkeypatch.setattr(transcriber_module, "Pauses", NoPauses)
    monkeypatch.setattr(LoopingPipeline, "loop", text)
    assert Transcriber(Path()).transcribe(np.zeros(audio.RATE, np.float32)).text == written


@pytest.fixture(scope="module")
def transcriber(real_whisper: Path) -> Transcriber:
    """The real transcriber."""
    return Transcriber(real_whisper)


def test_real_model_writes_down_what_is_said_with_times(transcriber: Transcriber) -> None:
    transcript = transcriber.transcribe(audio.read(SPEECH))
    assert [segment.text for segment in transcript.segments] == SAID
    assert transcript.language == "en"
    first, second = transcript.segments
    assert (first.start, second.start) == pytest.approx((0.5, 5.2), abs=0.5)
    assert first.end <= second.start
    assert second.end <= transcript.seconds


def test_real_model_writes_long_recordings_in_order(transcriber: Transcriber) -> None:
    samples = np.tile(audio.read(SPEECH), 6)
    *parts, transcript = transcriber.follow(samples)
    assert transcript.text.replace("9", "nine") == " ".join(SAID * 6)
    assert [part.seconds for part in parts] == sorted(part.seconds for part in parts)
    assert parts[0].segments == transcript.segments[: len(parts[0].segments)]
    starts = [segment.start for segment in transcript.segments]
    assert starts == sorted(starts)
    assert starts[-1] > transcript.seconds - 6


@pytest.mark.parametrize("level", [0, 0.001, 0.05])
def test_real_model_hears_no_words_in_noise(transcriber: Transcriber, level: float) -> None:
    noise = np.random.default_rng(1).normal(0, level, 3 * audio.RATE).astype(np.float32)
    assert not transcriber.transcribe(noise).segments


def test_unknown_language_is_refused(transcriber: Transcriber) -> None:
    with pytest.raises(SettingsError, match="'xx'"):
        transcriber.require("xx")


def test_dictation_shows_text_while_it_is_said_and_ends_it_at_pauses(transcriber: Transcriber) -> None:
    sound = audio.read(SPEECH)
    pieces = np.split(sound, range(4000, len(sound), 4000))
    texts = list(dictate(transcriber, pieces))
    begins = [each.text.split()[:6] for each in texts if each.is_final]  # the smallest model may miss a later word
    assert begins == [each.split()[:6] for each in SAID]
    assert sum(not each.is_final for each in texts) > 4
    assert texts[1].text.startswith("Please")


def test_dictation_that_comes_late_ends_sentences_at_pauses_too(transcriber: Transcriber) -> None:
    silence = np.zeros(audio.RATE, np.float32)
    texts = [each for each in dictate(transcriber, [audio.read(SPEECH), silence, silence]) if each.is_final]
    assert [each.text for each in texts] == SAID


def test_recording_plays_at_its_own_pace_until_it_is_stopped(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "tone.wav", np.full(audio.RATE * 60, 0.5), audio.RATE)
    stop, levels = threading.Event(), list[float]()
    played = audio.play(tmp_path / "tone.wav", stop, levels.append)
    first = next(played)
    assert 0 < len(first) < audio.RATE * 30
    assert 0.8 < levels[0] < 1
    stop.set()
    assert list(played) == []
