"""The time from a start until one can type, the window's memory then, and its parts. Each start is a process.

`python -m bench.window.start_cost` measures one, with `app` on the path of modules.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_STARTED = "BENCH_STARTED"
_IMPORTED = time.time()
# Parts that few people use: work on a folder, dictation, reading aloud, the local server with its page.
PARTS = (
    "headstart.workspace", "headstart.engine.speech.dictation", "headstart.engine.speech.transcriber", "soundfile",
    "miniaudio", "PySide6.QtTextToSpeech", "headstart.server.app", "headstart.server.routes", "openvino", "numpy",
)  # fmt: skip


def starts(home: Path, repeats: int) -> list[dict[str, Any]]:
    """Milliseconds from starting the process to a painted window that has taken a letter; a second later, its memory.

    `parts` names those of `PARTS` that are loaded by then.
    """
    found = list[dict[str, Any]]()
    for _ in range(repeats):
        variables = {**os.environ, "HEADSTART_HOME": str(home), _STARTED: repr(time.time())}
        command = [sys.executable, "-m", "bench.window.start_cost"]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return found


def main() -> None:
    """Do in the measured process what `headstart` does, then type one letter."""
    from PySide6.QtCore import QTimer
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QApplication

    from headstart.ui import application
    from headstart.ui.window.main_window import MainWindow

    found: dict[str, Any] = {}

    def look() -> None:
        windows = [each for each in QApplication.topLevelWidgets() if isinstance(each, MainWindow) and each.isVisible()]
        if not windows:
            QTimer.singleShot(1, look)
            return
        window = windows[0]
        window.show_page(window.chat)  # without a model the page of models comes first
        window.grab()
        QTest.keyClicks(window.chat.composer.edit, "a")
        assert window.chat.composer.text() == "a", "the window is not usable"
        found["ready_ms"] = round((time.time() - float(os.environ.get(_STARTED, _IMPORTED))) * 1000, 1)
        window.chat.composer.clear()
        QTimer.singleShot(1000, leave)

    def leave() -> None:
        import psutil

        found["parts"] = [part for part in PARTS if part in sys.modules]
        found["rss_mb"] = round(psutil.Process().memory_info().rss / 2**20)
        QApplication.closeAllWindows()
        QApplication.quit()

    made = application.make_application()
    QTimer.singleShot(0, made, look)
    application.run()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
