"""How GenAI is asked to guess, and every refusal with its way out."""

from dataclasses import replace

import pytest

from headstart.engine.backends.genai.guessing import Abilities, Guessing, Way, guessing
from headstart.engine.engine import Drafter, Message, Mode, Origin, Request, Sampling, Speculation
from headstart.errors import SettingsError

ALONE = Abilities(draft=False, eagle=False, npu=False)
PAIR = Abilities(draft=True, eagle=False, npu=False)
HEAD = Abilities(draft=True, eagle=True, npu=False)
ASKED = Request((Message("user", "Hello"),))
DRAWN = Sampling(temperature=0.7)


@pytest.mark.parametrize(
    ("speculation", "abilities", "expected"),
    [
        (Speculation(), ALONE, Guessing(Way.PLAIN)),
        (Speculation(Mode.OFF), PAIR, Guessing(Way.PLAIN)),
        (Speculation(drafter=Drafter.DRAFT), ALONE, Guessing(Way.PLAIN)),
        (Speculation(), PAIR, Guessing(Way.DRAFT, {"num_assistant_tokens": 5}, 5)),
        (Speculation(Mode.FIXED, 3), PAIR, Guessing(Way.DRAFT, {"num_assistant_tokens": 3}, 3)),
        (Speculation(), HEAD, Guessing(Way.EAGLE, {"num_assistant_tokens": 5}, 5)),
        (
            Speculation(drafter=Drafter.NGRAM),
            PAIR,
            Guessing(Way.LOOKUP, {"num_assistant_tokens": 5, "max_ngram_size": 3}, 5),
        ),
        (
            Speculation(Mode.FIXED, 2),
            ALONE,
            Guessing(Way.LOOKUP, {"num_assistant_tokens": 2, "max_ngram_size": 3}, 2),
        ),
    ],
)
def test_each_wish_has_its_way(speculation: Speculation, abilities: Abilities, expected: Guessing) -> None:
    assert guessing(replace(ASKED, speculation=speculation), abilities) == expected


def test_who_proposed_is_known_by_the_way() -> None:
    origins = {way: Guessing(way).origin for way in Way}
    assert origins == {
        Way.PLAIN: Origin.TARGET,
        Way.DRAFT: Origin.DRAFT,
        Way.EAGLE: Origin.DRAFT,
        Way.LOOKUP: Origin.NGRAM,
    }


@pytest.mark.parametrize(
    ("request_", "abilities", "sentence"),
    [
        (
            replace(ASKED, sampling=DRAWN),
            PAIR,
            "OpenVINO GenAI garbles sampled answers when a draft model guesses ahead (its issue 4190): "
            "use --engine headstart, --temperature 0 or --speculation off.",
        ),
        (
            replace(ASKED, speculation=Speculation(assistant_confidence_threshold=0.4)),
            PAIR,
            "OpenVINO GenAI cannot bound its guesses under a confidence threshold, and sixty in one round were seen: "
            "use --engine headstart, or --num-assistant-tokens alone.",
        ),
        (
            replace(ASKED, speculation=Speculation(acceptance_threshold=0.5)),
            PAIR,
            "OpenVINO GenAI has no acceptance threshold: use --engine headstart.",
        ),
        (
            replace(ASKED, speculation=Speculation(drafter=Drafter.BIGRAM)),
            PAIR,
            "OpenVINO GenAI has no table of likely next tokens: use --engine headstart.",
        ),
        (
            replace(ASKED, sampling=Sampling(presence_penalty=0.5)),
            ALONE,
            "OpenVINO GenAI makes unlikely tokens likelier by presence and frequency penalties: "
            "use --engine headstart, or --repetition-penalty.",
        ),
        (
            replace(ASKED, likeliest=0),
            ALONE,
            "OpenVINO GenAI is not asked how likely its tokens were: use --engine headstart, or leave out logprobs.",
        ),
        (
            replace(ASKED, schema="{}"),
            ALONE,
            "OpenVINO GenAI is not asked to keep to a JSON schema: use --engine headstart, or leave the schema out.",
        ),
        (
            replace(ASKED, speculation=Speculation(drafter=Drafter.NGRAM)),
            Abilities(draft=False, eagle=False, npu=True),
            "An NPU takes no guesses from the text: use a draft model, or --speculation off.",
        ),
    ],
)
def test_what_it_does_wrong_is_refused(request_: Request, abilities: Abilities, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        guessing(request_, abilities)
    assert str(caught.value) == sentence


def test_a_sampled_answer_is_free_to_go_without_a_draft() -> None:
    drawn = replace(ASKED, sampling=DRAWN, speculation=Speculation(Mode.OFF))
    assert guessing(drawn, PAIR).way is Way.PLAIN
    assert guessing(replace(drawn, speculation=Speculation(drafter=Drafter.NGRAM)), PAIR).way is Way.LOOKUP
