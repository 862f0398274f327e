"""Word errors and speed of dictation: 100 sentences of speech synthesizers, beside faster-whisper.

Both read the same weights. `pip install faster-whisper`, `apt-get install espeak-ng flite`; then
`python app/bench/recognition/dictation.py MODEL CTRANSLATE2_FOLDER [--language zh] [--sentences 30]`. MODEL is the
folder of an exported Whisper model. Of Chinese, characters are counted in place of words, all of them simplified by
`pip install opencc-python-reimplemented`: a voice has no script. Prints JSON.
"""

import argparse
import json
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from headstart.engine.hardware import machine
from headstart.engine.speech import audio
from headstart.engine.speech.dictation import dictate
from headstart.engine.speech.transcriber import Transcriber

_WHO = ("the teacher", "my neighbour", "a young doctor", "the old farmer", "our manager")
_WHAT = (
    "bought a new bicycle",
    "opened the window",
    "wrote a long letter",
    "lost the red umbrella",
    "cooked some soup",
)
_WHEN = (
    "after the meeting on Monday",
    "before the train arrived",
    "because the house was cold",
    "without saying a word",
)
_ZH = (
    ("开会以后", "火车到达以前", "因为房子很冷", "星期一早上"),
    ("老师", "我的邻居", "年轻的医生", "老农民", "我们的经理"),
    ("买了一辆新自行车", "打开了窗户", "写了一封长信", "丢了红色的雨伞", "做了一些汤"),
)
SENTENCES = {
    "en": tuple(f"{who} {what} {when}".capitalize() + "." for who, what, when in product(_WHO, _WHAT, _WHEN)),
    "zh": tuple(f"{when}{who}{what}。" for when, who, what in product(*_ZH)),
}
_Voice = Callable[[str, Path], list[str]]
_VOICES: dict[str, tuple[_Voice, ...]] = {
    "en": (
        lambda text, path: ["espeak-ng", "-v", "en-us", "-s", "150", "-w", str(path), text],
        lambda text, path: ["flite", "-voice", "slt", "-t", text, "-o", str(path)],
    ),
    "zh": (lambda text, path: ["espeak-ng", "-v", "cmn-latn-pinyin", "-s", "130", "-w", str(path), text],),
}
_EXAMPLES = 5  # sentences that are printed with what was written
_QUIET_S = 1.2  # behind a sentence that is dictated


def _simplifier() -> Callable[[str], str]:
    from opencc import OpenCC

    convert: Callable[[str], str] = OpenCC("t2s").convert
    return convert


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+|[\u4e00-\u9fff]", text.lower())


def errors(said: str, written: str) -> int:
    """Return the words, or Chinese characters, that have to be inserted, deleted or replaced."""
    one, other = _words(said), _words(written)
    row = list(range(len(other) + 1))
    for number, word in enumerate(one, start=1):
        last, row[0] = row[0], number
        for place, each in enumerate(other, start=1):
            last, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, last + (word != each))
    return row[-1]


def _spoken(sentences: Sequence[str], voices: Sequence[_Voice], folder: Path) -> list[Any]:
    sounds = []
    for number, text in enumerate(sentences):
        path = folder / f"{number}.wav"
        subprocess.run(voices[number % len(voices)](text, path), check=True)
        sounds.append(audio.read(path))
    return sounds


def _measured(
    write: Callable[[Any], str], sentences: Sequence[str], sounds: Sequence[Any], num_voices: int
) -> dict[str, Any]:
    write(sounds[0])  # warms up
    started, started_cpu = time.perf_counter(), time.process_time()
    texts = [write(sound) for sound in sounds]
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - started_cpu
    sound_seconds = sum(map(len, sounds)) / audio.RATE
    wrong = [errors(said, text) for said, text in zip(sentences, texts, strict=True)]
    return {
        "word_errors": sum(wrong) / sum(len(_words(said)) for said in sentences),
        "by_voice": [sum(wrong[voice::num_voices]) for voice in range(num_voices)],
        "real_time_factor": seconds / sound_seconds,
        "cpu_seconds_per_second": cpu_seconds / sound_seconds,
        "examples": list(zip(sentences, texts, strict=True))[:_EXAMPLES],
    }


def _pieces(sound: Any, started: float) -> Iterator[Any]:
    place = 0
    while place < len(sound):
        time.sleep(0.1)
        due = min(int((time.perf_counter() - started) * audio.RATE), len(sound))
        yield sound[place:due]
        place = due


def _delays(transcriber: Transcriber, sounds: Sequence[Any], language: str) -> dict[str, float]:
    """Return the seconds from the beginning of speech to the first words, and from its end to the final text."""
    first, final = [], []
    for sound in sounds:
        span = transcriber.pauses.speech(sound)
        started = time.perf_counter()
        padded = np.concatenate([sound, np.zeros(int(_QUIET_S * audio.RATE), np.float32)])
        texts = dictate(transcriber, _pieces(padded, started), language)
        shown = [(time.perf_counter() - started, each) for each in texts]
        first.append(next(when for when, each in shown if each.text) - span[0].start / audio.RATE)
        final.append(next(when for when, each in shown if each.is_final) - span[-1].end / audio.RATE)
    return {
        "first_words_median_s": float(np.median(first)),
        "first_words_p90_s": float(np.quantile(first, 0.9)),
        "final_text_median_s": float(np.median(final)),
    }


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="folder of an exported Whisper model")
    parser.add_argument("ctranslate2", type=Path, nargs="?", help="folder with the same weights for faster-whisper")
    parser.add_argument("--dictated", type=int, default=10, help="sentences that are dictated at the pace of speech")
    parser.add_argument("--language", choices=SENTENCES, default="en")
    parser.add_argument("--sentences", type=int, default=100, help="the first of them")
    arguments = parser.parse_args()
    language, voices = arguments.language, _VOICES[arguments.language]
    sentences = SENTENCES[language][: arguments.sentences]
    with tempfile.TemporaryDirectory() as folder:
        sounds = _spoken(sentences, voices, Path(folder))
    transcriber = Transcriber(arguments.model)
    as_counted = _simplifier() if language == "zh" else str
    result: dict[str, Any] = {
        "processor": machine.processor(),
        "sentences": len(sounds),
        "seconds": sum(map(len, sounds)) / audio.RATE,
        "headstart": _measured(
            lambda sound: as_counted(transcriber.transcribe(sound, language).text), sentences, sounds, len(voices)
        ),
    }
    if arguments.ctranslate2:
        from faster_whisper import WhisperModel

        peer = WhisperModel(
            str(arguments.ctranslate2), device="cpu", compute_type="float32", cpu_threads=machine.threads().count
        )
        result["faster_whisper"] = _measured(
            lambda sound: as_counted(" ".join(part.text for part in peer.transcribe(sound, language=language)[0])),
            sentences,
            sounds,
            len(voices),
        )
    if arguments.dictated:
        result["dictation"] = _delays(transcriber, sounds[: arguments.dictated], language)
    print(json.dumps(result, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
