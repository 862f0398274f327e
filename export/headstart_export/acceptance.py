"""How far a draft's guesses hold on texts that its target wrote. Knows nothing of training.

A draft that has guessed right so far has read what the target wrote, so one reading of a finished text tells which
of its guesses would have been taken at any place. Best tokens are compared, as in greedy answers.

`python -m headstart_export.acceptance` reads one JSON request on standard input and prints the guesses as JSON.
"""

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from headstart.errors import ExportError
from headstart.manifest import Acceptance
from headstart_export import quiet
from headstart_export.convert import MODEL_FILE
from headstart_export.writing import Text

CANDIDATES = 4  # a round of these is what tokens a round are counted for
LIMIT = 3600  # seconds


def measure(texts: Sequence[Text], guesses: Iterable[Sequence[int]]) -> Acceptance:
    """From the draft's best token at each place of each answer."""
    hits = [
        [a == b for a, b in zip(answer, guessed, strict=True)]
        for (_, answer), guessed in zip(texts, guesses, strict=True)
    ]
    places, rounds = sum(map(len, hits)), sum(map(_rounds, hits))
    assert places
    return Acceptance(sum(map(sum, hits)) / places, places / rounds, places)


def of_model(folder: Path, texts: Sequence[Text]) -> Acceptance:
    """That of a finished model folder, read in a child process. Raises ExportError when it fails."""
    command = [sys.executable, "-m", "headstart_export.acceptance"]
    question = json.dumps({"folder": str(folder), "texts": texts})
    try:
        done = subprocess.run(command, input=question, capture_output=True, text=True, timeout=LIMIT, check=False)
        guesses = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise ExportError(f"The draft's guesses took more than {LIMIT // 60} minutes; nothing was kept.") from None
    except json.JSONDecodeError:
        reason = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise ExportError(f"The draft cannot be tried ({reason}); nothing was kept.") from None
    return measure(texts, guesses)


def _rounds(hits: Sequence[bool]) -> int:
    """Passes of the target for one answer: each takes what holds of the candidates, and a token of its own."""
    rounds = place = 0
    while place < len(hits):
        following = [*hits[place : place + CANDIDATES], False]
        place += following.index(False) + 1
        rounds += 1
    return rounds


def _guesses(folder: str, texts: Sequence[Text]) -> list[list[int]]:
    import openvino  # noqa: PLC0415

    from headstart_export import trial  # noqa: PLC0415

    session = openvino.Core().compile_model(Path(folder) / MODEL_FILE, "CPU", trial.SETTINGS).create_infer_request()
    found = []
    for prompt, answer in texts:
        session.reset_state()
        found.append(trial.read(session, prompt + answer)[len(prompt) - 1 : -1].argmax(axis=1).tolist())
    return found


def main() -> None:
    """Answer the request on standard input."""
    quiet.prepare()
    request = json.load(sys.stdin)
    print(json.dumps(_guesses(request["folder"], request["texts"])))


if __name__ == "__main__":
    main()
