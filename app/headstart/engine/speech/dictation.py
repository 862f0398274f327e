"""Dictation: speech becomes text while you speak. Sound is forgotten once its text is final."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart.engine.speech.audio import RATE
from headstart.engine.speech.transcriber import Transcriber

_LOOK = RATE // 4  # samples; new sound is looked at in pieces of this length at least
_STEP = RATE // 2  # samples of new sound after which the text is made anew
_PAUSE = RATE * 7 // 10  # samples of silence that end an utterance
_LONGEST = 25 * RATE  # samples of an utterance without such a pause
_MARGIN = RATE // 2  # samples around speech that the model hears, too


@dataclass(frozen=True)
class Dictated:
    """The text of an utterance so far; once it is final, another utterance follows."""

    text: str
    is_final: bool


def dictate(transcriber: Transcriber, sound: Iterable[Any], language: str = "") -> Iterator[Dictated]:
    """Yield the text of speech that arrives in pieces."""

    def dictated(samples: Any, *, is_final: bool) -> Dictated:
        return Dictated(transcriber.transcribe(samples, language, is_draft=not is_final).text, is_final)

    heard = np.zeros(0, np.float32)
    seen = written = 0  # samples that were looked at; that have become text
    for piece in sound:
        heard = np.concatenate([heard, piece])
        if len(heard) - seen < _LOOK:
            continue
        speech, seen = transcriber.pauses.speech(heard), len(heard)
        if not speech:
            heard = heard[-_MARGIN:]
            seen = written = len(heard)
            continue
        following = [*(span.start for span in speech[1:]), len(heard)]
        ends = [span.end for span, after in zip(speech, following, strict=True) if after - span.end >= _PAUSE]
        if not ends and len(heard) >= _LONGEST:
            ends = [speech[-2].end if len(speech) > 1 else len(heard)]
        if ends:
            yield dictated(heard[: ends[0] + _MARGIN], is_final=True)
            heard = heard[ends[0] :]
            seen = written = 0
        elif len(heard) - written >= _STEP:
            yield dictated(heard, is_final=False)
            written = len(heard)
    if transcriber.pauses.speech(heard):
        yield dictated(heard, is_final=True)
