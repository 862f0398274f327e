"""Speech recognition by a Whisper model. The model gets speech alone: it invents words for anything else."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from headstart.engine.hardware.runtime import cpu_properties, openvino_genai
from headstart.engine.speech.audio import RATE
from headstart.engine.speech.pauses import Pauses, SpeechSpan, chunks
from headstart.engine.speech.transcript import Segment, SpeechTranscript
from headstart.errors import SettingsError

ENCODER, DECODER, PAUSES = "openvino_encoder_model.xml", "openvino_decoder_model.xml", "pauses.xml"
_CHUNK = 27 * RATE  # samples of speech; the model reads 30 s at a time
_MARGIN = RATE  # samples around it that the model hears, too: without any it misses words
_BEAMS = 5  # texts that are followed at the same time, with half the word errors of one
_LOOP = re.compile(r"(.{1,40}?)\1{9,}", re.DOTALL)  # the same ten times in a row, where the model does not find an end
_WITHOUT_LOOPS = {"no_repeat_ngram_size": 3}  # tokens


class Transcriber:
    """A Whisper model, and the model that finds pauses, loaded from a model folder."""

    def __init__(self, folder: Path) -> None:
        """Load the models. Raises RuntimeError and OSError for files that are not those of such a model."""
        self.pauses = Pauses(folder / PAUSES)
        # Keys and values of 8 bits, the default of OpenVINO, cost words.
        self._pipeline = openvino_genai().WhisperPipeline(folder, "CPU", KV_CACHE_PRECISION="f16", **cpu_properties())
        self._config = self._pipeline.get_generation_config()

    @property
    def languages(self) -> list[str]:
        """The language codes that the model supports; empty if it knows only English."""
        return [token.strip("<|>") for token in self._config.lang_to_id] if self._config.is_multilingual else []

    def transcribe(self, samples: Any, language: str = "", *, is_draft: bool = False) -> SpeechTranscript:
        """Transcribe sound; for the parameters see `follow`."""
        *_, transcript = self.follow(samples, language, is_draft=is_draft)
        return transcript

    def follow(
        self,
        samples: Any,
        language: str = "",
        *,
        prompt: str = "",
        translate: bool = False,
        temperature: float = 0.0,
        is_draft: bool = False,
    ) -> Iterator[SpeechTranscript]:
        """Yield transcripts of more and more of a recording; `seconds` says how far each goes, and the last is
        complete.

        `language`: a code; empty: the one that is heard first. `prompt`: a text before the recording, which has its
        spellings. `translate`: into English. `temperature`: above 0, words are drawn at random. `is_draft`: sooner,
        with more errors.
        """
        segments = tuple[Segment, ...]()
        options: dict[str, Any] = {"num_beams": 1 if is_draft or temperature else _BEAMS}
        if temperature:
            options |= {"do_sample": True, "temperature": temperature}
        if prompt:
            options["initial_prompt"] = prompt
        if self.languages:
            options["task"] = "translate" if translate else "transcribe"
        for chunk in _with_margins(list(chunks(self.pauses.speech(samples), _CHUNK)), len(samples)):
            found, language = self._chunk(samples[chunk.start : chunk.end], language, options)
            start = chunk.start / RATE
            segments += tuple(Segment(round(start + a, 3), round(start + b, 3), text) for a, b, text in found)
            yield SpeechTranscript(segments, language, chunk.end / RATE)
        yield SpeechTranscript(segments, language or "en", len(samples) / RATE)

    def _chunk(
        self, samples: Any, language: str, options: dict[str, Any]
    ) -> tuple[list[tuple[float, float, str]], str]:
        """Return start, end and text of each segment of a chunk, and its language."""
        if self.languages and language:
            options = options | {"language": f"<|{language}|>"}
        options = options | {"return_timestamps": True}
        result = self._pipeline.generate(samples.tolist(), **options)
        if _LOOP.search("".join(each.text for each in result.chunks)):
            result = self._pipeline.generate(samples.tolist(), **options, **_WITHOUT_LOOPS)
        end = len(samples) / RATE
        found = [
            (min(each.start_ts, end), min(each.end_ts, end) if each.end_ts >= 0 else end, each.text.strip())
            for each in result.chunks
        ]
        return [each for each in found if each[2]], language or result.language.strip("<|>")

    def require(self, language: str, *, translate: bool = False) -> None:
        """Raise SettingsError for a language that the model does not know, or if it cannot translate."""
        if translate and not self.languages:
            raise SettingsError("This model knows English alone and cannot translate: name another one.")
        if language and language not in (self.languages or ["en"]):
            raise SettingsError(
                "This model does not know the language {language!r}; it knows {languages}.",
                language=language,
                languages=", ".join(self.languages or ["en"]),
            )


def _with_margins(spans: list[SpeechSpan], length: int) -> Iterator[SpeechSpan]:
    """Yield spans extended by the silence around them; two neighbours share the silence between them."""
    ends = [0, *((span.end + after.start) // 2 for span, after in pairwise(spans)), length]
    for span, (earliest, latest) in zip(spans, pairwise(ends), strict=bool(spans)):
        yield SpeechSpan(max(span.start - _MARGIN, earliest), min(span.end + _MARGIN, latest))
