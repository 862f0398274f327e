"""Answers that keep to a schema, and predictions: whoever guesses, the text is the one that plain decoding writes."""

import json
from dataclasses import replace

import pytest

from headstart.engine.engine import Mode, Origin, Request, Sampling, Speculation
from headstart.engine.local import LocalEngine
from headstart.errors import SettingsError
from tests.engine.answers import LIST, ask, request

FIXED = Speculation(Mode.FIXED, 5)
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "colour": {"enum": ["red", "green", "blue"]},
            "sizes": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 99}, "maxItems": 4},
        },
        "required": ["colour", "sizes"],
        "additionalProperties": False,
    }
)
SAMPLINGS = (
    Sampling(),
    Sampling(temperature=1.5, seed=3),
    Sampling(temperature=0.9, top_k=40, top_p=0.9, min_p=0.01, repetition_penalty=1.2, frequency_penalty=0.5, seed=8),
)


def formed(sampling: Sampling = SAMPLINGS[0], schema: str = SCHEMA) -> Request:
    return replace(request(LIST, sampling=sampling, tokens=300), schema=schema)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["greedy", "sampled", "cut"])
def test_an_answer_keeps_to_its_schema_whoever_guesses(pair_engine: LocalEngine, sampling: Sampling) -> None:
    wanted = formed(sampling)
    plain = ask(pair_engine, wanted)
    assert ask(pair_engine, replace(wanted, speculation=FIXED)).essence == plain.essence
    said = json.loads(plain.text)
    assert said["colour"] in {"red", "green", "blue"}
    assert all(0 <= size <= 99 for size in said["sizes"])
    assert len(said["sizes"]) <= 4


def test_tolerance_lets_nothing_in_that_the_schema_forbids(pair_engine: LocalEngine) -> None:
    tolerant = replace(FIXED, acceptance_threshold=0.01)
    said = json.loads(ask(pair_engine, replace(formed(SAMPLINGS[1]), speculation=tolerant)).text)
    assert said.keys() == {"colour", "sizes"}


def test_answers_without_a_schema_stay_free(lone_engine: LocalEngine) -> None:
    free = request(LIST)
    before = ask(lone_engine, free)
    ask(lone_engine, formed())
    assert ask(lone_engine, free).essence == before.essence


@pytest.mark.parametrize("schema", ["{", "[]", '{"type": "foo"}', '{"type": "object", "not": {}}'])
def test_a_schema_that_cannot_be_kept_to_is_refused(lone_engine: LocalEngine, schema: str) -> None:
    with pytest.raises(SettingsError, match="JSON schema"):
        ask(lone_engine, formed(schema=schema))


@pytest.mark.parametrize("sampling", SAMPLINGS[:2], ids=["greedy", "sampled"])
def test_a_prediction_that_holds_is_copied_and_alters_nothing(lone_engine: LocalEngine, sampling: Sampling) -> None:
    wanted = request(LIST, sampling=sampling, tokens=60)
    plain = ask(lone_engine, wanted)
    guessed = replace(wanted, speculation=FIXED)
    without = ask(lone_engine, guessed)
    foretold = ask(lone_engine, replace(guessed, prediction=plain.text))
    wrong = ask(lone_engine, replace(guessed, prediction="Something else altogether, and more of it."))
    assert foretold.essence == without.essence == wrong.essence == plain.essence
    copied = [answer.stats.by_origin.get(Origin.NGRAM, 0) for answer in (foretold, without)]
    assert copied[0] > copied[1]
    assert foretold.stats.rounds < without.stats.rounds


def test_a_raw_prompt_is_written_on_as_it_is(lone_engine: LocalEngine) -> None:
    tokenizer = lone_engine.tokenizer
    raw = Request((), 8, prompt="one two three")
    answer = ask(lone_engine, raw)
    assert answer.stats.prompt_tokens == len(tokenizer.raw_prompt("one two three")) == answer.prefills[0].total
    assert tokenizer.raw_prompt("one two three") == tokenizer.encode("one two three")
