"""Many answers through the real window and its engine's process: what grows with them, and how late the window is.

PYTHONPATH=app python app/bench/window/soak.py [--answers 5000] [--minutes 8] [--model NAME] [--tokens 16]. Prints JSON.
Without --model the toy engine answers; a model must be in $HEADSTART_HOME. A run that --minutes ends says how far it
came. The first fifth of the answers, in which caches fill, is left out of the slopes.
"""

import argparse
import json
import statistics
import sys
import time

import psutil
from PySide6.QtCore import QEventLoop, QObject, QTimer, Slot

from bench.window.profile import Heartbeat, arguments, make_application, opened, own_home, resident_mb
from headstart.ui.program import Program

Sample = dict[str, float]
_IN_A_CHAT = 10  # answers, so that each conversation fits a small context
_WARM = 0.2
_QUESTIONS = (
    "Name a colour.",
    "What is {number} plus one?",
    "Write a short sentence with the number {number}.",
    "toy: words 60",
    "Say **hello** in `code`, then list:\n\n- one\n- two\n\n推测解码 {number}",
)


class Soak(QObject):
    """Asks again as soon as an answer has ended, until the number or the time is reached."""

    def __init__(self, program: Program, answers: int, seconds: float) -> None:
        super().__init__()
        self._program, self._answers = program, answers
        self._until = time.monotonic() + seconds
        self._every = max(1, answers // 100)
        self._loop = QEventLoop()
        self.samples: list[Sample] = []
        self.given = 0
        program.chat_controller.answered.connect(self._take)

    def run(self) -> None:
        """Run until the end."""
        self.samples.append(_sample(self._program, 0))
        QTimer.singleShot(0, self, self._ask)
        self._loop.exec()

    @Slot(object)
    def _take(self, _content: object) -> None:
        self.given += 1
        if self.given % self._every == 0:
            self.samples.append(_sample(self._program, self.given))
        if self.given >= self._answers or time.monotonic() > self._until:
            self._loop.quit()
        else:
            QTimer.singleShot(0, self, self._ask)

    @Slot()
    def _ask(self) -> None:
        if self.given and self.given % _IN_A_CHAT == 0:
            self._program.window.sidebar.new_requested.emit()
        question = _QUESTIONS[self.given % len(_QUESTIONS)].format(number=self.given)
        assert self._program.chat_controller.session.ask(question), "the question was refused"


def main() -> None:
    """Soak and print."""
    parser = arguments(__doc__)
    parser.add_argument("--answers", type=int, default=5000)
    parser.add_argument("--minutes", type=float, default=8.0, help="end after so many, whatever was answered by then")
    parser.add_argument("--model", default="", help="an installed model; without it the toy engine answers")
    parser.add_argument("--tokens", type=int, default=16, help="at most in an answer of --model")
    given = parser.parse_args()
    application = make_application()
    with own_home(with_models=bool(given.model)), opened(application, given.model, given.tokens) as program:
        print(json.dumps(_soaked(program, given), indent=2))


def _soaked(program: Program, given: argparse.Namespace) -> dict[str, object]:
    soak, heart = Soak(program, given.answers, given.minutes * 60), Heartbeat()
    if given.model:  # the toy answers so fast that the window has no rest
        heart.start()
    started = time.monotonic()
    soak.run()
    warm = [sample for sample in soak.samples if sample["answers"] >= soak.given * _WARM]
    return {
        "engine": given.model or "toy",
        "answers": soak.given,
        "seconds": round(time.monotonic() - started),
        "warm": warm[0],
        "end": warm[-1],
        "per_1000_answers": slopes(warm),
        "memory": [
            [each["answers"], each["window_mb"], each["engine_mb"]]
            for each in soak.samples[:: len(soak.samples) // 20 or 1]
        ],
        **({"heartbeat": heart.stop()} if given.model else {}),
    }


def slopes(samples: list[Sample]) -> dict[str, float]:
    """Return the growth of each figure in 1,000 further answers, by least squares; needs two samples."""
    answers = [sample["answers"] for sample in samples]
    return {
        name: round(1000 * statistics.linear_regression(answers, [sample[name] for sample in samples]).slope, 3)
        for name in samples[0].keys() - {"answers"}
    }


def _sample(program: Program, answers: int) -> Sample:
    """Return the figures of both processes after so many answers."""
    found: Sample = {"answers": answers}
    for name, process in (("window", psutil.Process()), ("engine", psutil.Process(program.link.pid))):
        found[f"{name}_mb"] = resident_mb(process)
        found[f"{name}_handles"] = process.num_handles() if sys.platform == "win32" else process.num_fds()
        found[f"{name}_threads"] = process.num_threads()
    return found


if __name__ == "__main__":
    main()
