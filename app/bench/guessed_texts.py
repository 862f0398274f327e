"""Compares answers with guesses and without, token by token, in default settings.

`python app/bench/guessed_texts.py MODEL [--prompts 3] [--tokens 96]` asks prompts of all classes, greedily and at
temperature 0.8, each without guesses and then in automatic mode behind what the first answer read. It prints JSON, and
ends with 1 where an answer differs.
"""

import argparse
import json
import sys
from contextlib import closing

from headstart.engine.bench.prompts import KINDS, read_prompts
from headstart.engine.engine import ConversationRequest, Finish, LoadOptions, Mode, Sampling, Speculation
from headstart.engine.local import load
from headstart.engine.opening import resolve
from headstart.library import library

_SAMPLINGS = (Sampling(temperature=0.0), Sampling(temperature=0.8, top_p=0.95, seed=7))


def main() -> int:
    """Return 0 where all answers are the same."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder, or the name of an installed model or pair")
    parser.add_argument("--prompts", type=int, default=3, help="of each class")
    parser.add_argument("--tokens", type=int, default=96)
    given = parser.parse_args()
    choice = library.choose(given.model)
    tokens, differing = 0, dict[str, int]()
    with closing(load(resolve(LoadOptions(choice.target.folder, choice.draft_folder)))) as engine:
        for prompt in read_prompts(given.prompts, KINDS):
            for sampling in _SAMPLINGS:
                answers = []
                for mode in (Mode.OFF, Mode.AUTO):
                    request = ConversationRequest(
                        prompt.messages, max_new_tokens=given.tokens, sampling=sampling, speculation=Speculation(mode)
                    )
                    *_, last = engine.generate(request)
                    assert isinstance(last, Finish)
                    answers.append(last.token_ids)
                plain, guessed = answers
                tokens += len(plain)
                if plain != guessed:
                    same = next(
                        (n for n, pair in enumerate(zip(plain, guessed, strict=False)) if pair[0] != pair[1]), -1
                    )
                    differing[f"{prompt.id} at {sampling.temperature}"] = same
            print(prompt.id, file=sys.stderr, flush=True)
    answers_asked = given.prompts * len(KINDS) * len(_SAMPLINGS)
    print(json.dumps({"answers": answers_asked, "tokens": tokens, "first difference at token": differing}, indent=1))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
