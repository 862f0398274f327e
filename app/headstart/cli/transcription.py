"""`headstart transcribe`, and the model that writes down speech, for the commands that read files."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from headstart.chat.files.attachments import Transcribe
from headstart.cli.command import Load, argument, flag
from headstart.engine.speech.transcript import SpeechTranscript, subrip, text_with_times, web_vtt
from headstart.errors import ModelNotFoundError, SettingsError, UnloadableModelError
from headstart.library import library
from headstart.library.library import Model

if TYPE_CHECKING:
    from headstart.engine.speech.transcriber import Transcriber


class TranscriptForm(StrEnum):
    TEXT = "text"
    TIMES = "times"  # a line for each sentence, with its time
    SRT = "srt"
    VTT = "vtt"
    JSON = "json"


_FORMS: dict[TranscriptForm, Callable[[SpeechTranscript], str]] = {
    TranscriptForm.TEXT: lambda transcript: f"{transcript.text}\n",
    TranscriptForm.TIMES: lambda transcript: f"{text_with_times(transcript.segments)}\n",
    TranscriptForm.SRT: lambda transcript: subrip(transcript.segments),
    TranscriptForm.VTT: lambda transcript: web_vtt(transcript.segments),
    TranscriptForm.JSON: lambda transcript: (
        f"{json.dumps(asdict(transcript) | {'text': transcript.text}, ensure_ascii=False)}\n"
    ),
}


@dataclass(frozen=True, kw_only=True)
class TranscribeFlags:
    file: Path = argument("a recording: WAV, MP3, FLAC, Ogg or Opus", metavar="FILE")
    model: str | None = flag(None, "the model that writes down what is said", metavar="NAME")
    language: str = flag("", "the language that is spoken, such as en or zh (default: the model hears it)")
    translate: bool = flag(default=False, help="into English")
    format: TranscriptForm = flag(TranscriptForm.TEXT, "the form of the transcript")


def run(arguments: TranscribeFlags, _load: Load) -> int:
    """Print what is said in a recording. Return the exit code. Raises HeadstartError."""
    from headstart.cli.render import harmless, show_reading
    from headstart.engine.speech import audio

    samples = audio.read(arguments.file)
    seconds = len(samples) // audio.RATE
    model = find_model(arguments.model, arguments.language)
    transcriber = load(model.name, model.folder)
    transcriber.require(arguments.language, translate=arguments.translate)
    with show_reading(arguments.file.name) as on_part:
        for transcript in transcriber.follow(samples, arguments.language, translate=arguments.translate):
            on_part(int(transcript.seconds), seconds)
    print(harmless(_FORMS[arguments.format](transcript)), end="")
    return 0


def find_model(name: str | None = None, language: str = "") -> Model:
    """Return the model of this name that writes down speech, or the best. Raises HeadstartError."""
    if name is None:
        model = library.find_transcription(language)
        if model is None:
            raise ModelNotFoundError(
                "No model that writes down speech is installed; get Whisper on the page of models "
                "(`headstart models add whisper-base`)."
            )
        return model
    entry = library.find(name)
    if not isinstance(entry, Model) or not entry.manifest.transcription:
        raise SettingsError("{name} does not write down speech: name another model.", name=name)
    return entry


def find_transcribe() -> Transcribe | None:
    """Return what writes down a recording; None if no model for it is installed. The model is loaded when used."""
    model = library.find_transcription()
    if model is None:
        return None

    def transcribe(path: Path, on_progress: Callable[[int, int], object]) -> str:
        from headstart.engine.speech import audio

        samples = audio.read(path)
        seconds = len(samples) // audio.RATE
        on_progress(0, seconds)
        transcript = None
        for transcript in load(model.name, model.folder).follow(samples):
            on_progress(int(transcript.seconds), seconds)
        return text_with_times(transcript.segments) if transcript else ""

    return transcribe


@cache
def load(name: str, folder: Path) -> "Transcriber":
    """Load a model. Raises BrokenModelError."""
    from headstart.engine.speech.transcriber import Transcriber

    try:
        return Transcriber(folder)
    except (OSError, RuntimeError) as error:  # OpenVINO has no other kind
        raise UnloadableModelError(name, error) from None
