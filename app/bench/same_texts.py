"""Writes down the token ids of twenty answers, or compares them with those that were written down.

To check a change that must not alter texts, run `python app/bench/same_texts.py record FILE --model NAME` before it and
`compare` after it, on the same machine: another processor may round otherwise.
"""

import argparse
import json
import sys
from contextlib import closing
from pathlib import Path

from headstart.engine.bench.prompts import USUAL_KINDS, read_prompts
from headstart.engine.engine import ConversationRequest, Finish, LoadOptions, Mode, Sampling, Speculation
from headstart.engine.local import LocalEngine, load
from headstart.engine.opening import resolve
from headstart.library import library

_TOKENS = 32
_PROMPTS = 5
_SAMPLINGS = (
    Sampling(temperature=0.0),
    Sampling(temperature=0.8, top_p=0.95, seed=7),
    Sampling(temperature=1.0, top_k=40, min_p=0.02, repetition_penalty=1.1, frequency_penalty=0.2, seed=8),
    Sampling(temperature=0.7, top_p=0.8, top_k=20, presence_penalty=0.3, seed=9),
)


def main() -> int:
    """0 where the answers are the same, or were written down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", required=True)
    arguments = parser.parse_args()
    choice = library.choose(arguments.model, None)
    with closing(load(resolve(LoadOptions(choice.target.folder, choice.draft_folder)))) as engine:
        answers = _answers(engine)
    if arguments.work == "record":
        arguments.file.write_text(json.dumps(answers, indent=0), encoding="utf-8")
        return 0
    known = json.loads(arguments.file.read_text(encoding="utf-8"))
    differing = [name for name in known if answers.get(name) != known[name]]
    print(json.dumps({"answers": len(known), "differing": differing}))
    return 1 if differing or not known else 0


def _answers(engine: LocalEngine) -> dict[str, list[int]]:
    """Token ids by prompt and way of sampling; guessing ahead and plain decoding take turns."""
    found = {}
    for prompt in read_prompts(_PROMPTS, USUAL_KINDS)[:_PROMPTS]:
        for number, sampling in enumerate(_SAMPLINGS):
            mode = Mode.AUTO if number % 2 else Mode.FIXED
            speculation = Speculation(mode, num_assistant_tokens=None if mode is Mode.AUTO else 4)
            *_, last = engine.generate(
                ConversationRequest(prompt.messages, max_new_tokens=_TOKENS, sampling=sampling, speculation=speculation)
            )
            assert isinstance(last, Finish)
            found[f"{prompt.id} {number}"] = list(last.token_ids)
    return found


if __name__ == "__main__":
    sys.exit(main())
