"""A Whisper model that writes down what is said, by OpenVINO GenAI. Only speech goes to it: it invents words else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from headstart.engine.hardware.runtime import openvino_genai, thread_limit
from headstart.engine.speech.audio import RATE
from headstart.engine.speech.pauses import Pauses, chunks
from headstart.engine.speech.transcript import Segment, Transcript
from headstart.errors import SettingsError

ENCODER, DECODER, PAUSES = "openvino_encoder_model.xml", "openvino_decoder_model.xml", "pauses.xml"
_CHUNK = 29 * RATE  # samples; the model reads 30 s at a time


class Transcriber:
    """The model, and the one that finds pauses, loaded from a model folder."""

    def __init__(self, folder: Path) -> None:
        """Load the models. Raises RuntimeError and OSError for files that are not those of such a model."""
        self.pauses = Pauses(folder / PAUSES)
        # Keys and values of 8 bits, the default of OpenVINO, cost words.
        self._pipeline = openvino_genai().WhisperPipeline(folder, "CPU", KV_CACHE_PRECISION="f16", **thread_limit())
        self._config = self._pipeline.get_generation_config()

    @property
    def languages(self) -> list[str]:
        """The codes of the languages that it can be told; empty if it knows English alone."""
        return [token.strip("<|>") for token in self._config.lang_to_id] if self._config.is_multilingual else []

    def transcribe(
        self,
        samples: Any,
        language: str = "",
        on_progress: Callable[[float], object] = lambda _: None,
        *,
        prompt: str = "",
        translate: bool = False,
    ) -> Transcript:
        """Return what is said. Raises SettingsError for a language that the model does not know.

        `language`: a code; empty: the one that is heard first. `on_progress` is told the share that is done. `prompt`:
        a text before the recording, which has its spellings. `translate`: into English.
        """
        segments = list[Segment]()
        for chunk in chunks(self.pauses.speech(samples), _CHUNK):
            found, language = self._chunk(
                samples[chunk.start : chunk.end], language, prompt=prompt, translate=translate
            )
            start = chunk.start / RATE
            segments += (Segment(round(start + a, 3), round(start + b, 3), text) for a, b, text in found)
            on_progress(chunk.end / len(samples))
        return Transcript(tuple(segments), language or "en", len(samples) / RATE)

    def _chunk(
        self, samples: Any, language: str, *, prompt: str, translate: bool
    ) -> tuple[list[tuple[float, float, str]], str]:
        """Return start, end and text of each segment of a chunk, and its language."""
        options: dict[str, Any] = {"initial_prompt": prompt} if prompt else {}
        if self.languages:
            options |= {"task": "translate" if translate else "transcribe"}
            if language:
                options |= {"language": f"<|{language}|>"}
        result = self._pipeline.generate(samples.tolist(), return_timestamps=True, **options)
        end = len(samples) / RATE
        found = [
            (min(each.start_ts, end), min(each.end_ts, end) if each.end_ts >= 0 else end, each.text.strip())
            for each in result.chunks
        ]
        return [each for each in found if each[2]], language or result.language.strip("<|>")

    def require_language(self, language: str) -> None:
        """Raise SettingsError for a language that the model does not know."""
        if language and language not in (self.languages or ["en"]):
            raise SettingsError(
                "This model does not know the language {language!r}; it knows {languages}.",
                language=language,
                languages=", ".join(self.languages or ["en"]),
            )
