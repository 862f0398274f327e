"""OpenAI's API for recordings: what is said in them, as text and as subtitles."""

from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from headstart.engine.engine import TranscriptionRequest
from headstart.engine.speech.transcript import SpeechTranscript, subrip, web_vtt
from headstart.server.requests.bodies import ModelName

OPENAI_MODEL = "whisper-1"  # many clients name no other
TRANSCRIBES = ("transcription",)  # capabilities of a model that writes down speech
_TEXTS = {
    "text": lambda transcript: f"{transcript.text}\n",
    "srt": lambda transcript: subrip(transcript.segments),
    "vtt": lambda transcript: web_vtt(transcript.segments),
}


@dataclass(frozen=True, kw_only=True)
class AudioRequest:
    """Form of POST /v1/audio/transcriptions."""

    file: Annotated[bytes, Meta(min_length=1, description="A recording: WAV, MP3, FLAC, Ogg or Opus.")]
    model: ModelName | None = None
    language: (
        Annotated[str, Meta(description="What is spoken, such as `en` or `zh`. Default: what is heard first.")] | None
    ) = None
    prompt: Annotated[str, Meta(description="A text before the recording, which has its spellings.")] | None = None
    response_format: (
        Annotated[
            Literal["json", "text", "verbose_json", "srt", "vtt"],
            Meta(description="The form of the transcript. Default: `json`."),
        ]
        | None
    ) = None
    temperature: (
        Annotated[float, Meta(ge=0, le=1, description="Above 0, words are drawn at random. Default: 0.")] | None
    ) = None
    timestamp_granularities: (
        Annotated[list[Literal["segment"]], Meta(description="`verbose_json` has the times of segments.")] | None
    ) = None


@dataclass(frozen=True)
class AudioUsage:
    """The length of a recording."""

    seconds: float
    type: Literal["duration"] = "duration"


@dataclass(frozen=True)
class AudioText:
    """Reply to POST /v1/audio/transcriptions."""

    text: str
    usage: AudioUsage


@dataclass(frozen=True)
class AudioSegment:
    """A sentence or two. Fields that are null are not measured."""

    id: int
    start: float  # seconds from the beginning
    end: float
    text: str
    temperature: float
    seek: int = 0
    tokens: tuple[int, ...] = ()
    avg_logprob: None = None
    compression_ratio: None = None
    no_speech_prob: None = None


@dataclass(frozen=True)
class VerboseAudioText:
    """Reply to POST /v1/audio/transcriptions with `response_format` of `verbose_json`."""

    task: Literal["transcribe", "translate"]
    language: str  # of the recording, by its code
    duration: float
    text: str
    segments: list[AudioSegment]
    usage: AudioUsage


def audio_to_request(body: AudioRequest, path: str, *, translate: bool) -> TranscriptionRequest:
    """Translate a request for a transcript of the recording in the file `path`."""
    return TranscriptionRequest(
        recording=path,
        language=(body.language or "").strip().lower(),
        prompt=body.prompt or "",
        temperature=body.temperature or 0.0,
        translate=translate,
    )


def transcript_response(transcript: SpeechTranscript, body: AudioRequest, *, translate: bool) -> Response:
    """Return a transcript in the form that a request names."""
    kind, usage = body.response_format or "json", AudioUsage(transcript.seconds)
    if kind in _TEXTS:
        return Response(_TEXTS[kind](transcript), media_type="text/plain")
    if kind == "json":
        reply: object = AudioText(transcript.text, usage)
    else:
        segments = [
            AudioSegment(number, segment.start, segment.end, segment.text, body.temperature or 0.0)
            for number, segment in enumerate(transcript.segments)
        ]
        task: Literal["transcribe", "translate"] = "translate" if translate else "transcribe"
        reply = VerboseAudioText(task, transcript.language, transcript.seconds, transcript.text, segments, usage)
    return Response(msgspec.json.encode(reply), media_type="application/json")
