"""How far a draft's guesses hold on texts that its target wrote. Knows nothing of training.

A draft that has guessed right so far has read what the target wrote, so one reading of a finished text tells which
of its guesses would have been taken at any place. Best tokens are compared, as in greedy answers.

`python -m headstart_export.acceptance` reads one JSON request on standard input and prints the guesses as JSON.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from headstart.manifest import Acceptance
from headstart_export import own_process, quiet
from headstart_export.convert import MODEL_FILE
from headstart_export.writing import Text

CANDIDATES = 4  # a round of these is what tokens a round are counted for
_MINUTES = 60


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
    request, failure = {"folder": str(folder), "texts": texts}, "The draft cannot be tried ({}); nothing was kept."
    return measure(texts, json.loads(own_process.ask("acceptance", request, minutes=_MINUTES, failure=failure)))


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
