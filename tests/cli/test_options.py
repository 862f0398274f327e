"""Settings as flags, as /set values and as the request that comes of them."""

import dataclasses
from typing import Any

import pytest

from headstart.cli import options
from headstart.cli.command import Command, Load, group
from headstart.cli.options import OPTIONS, Settings
from headstart.engine.engine import Drafter, Message, Mode, Request, Sampling, Speculation

MESSAGES = (Message("user", "hello"),)


@dataclasses.dataclass
class Asked:
    """The flags of an answer."""

    answer: Any = group(options.AnswerFlags)
    sampling: Any = group(options.SamplingFlags)
    speculation: Any = group(options.SpeculationFlags)


def test_every_field_is_an_option() -> None:
    assert [option.field for option in OPTIONS if option.field not in Settings().values] == []
    assert len(OPTIONS) == len(Settings().values)


OWN = Sampling(0.7, 0.8, 20, repetition_penalty=1.1)  # of some model


def test_the_defaults_are_those_of_the_model() -> None:
    asked = Settings().request(MESSAGES)
    assert asked == Request(MESSAGES, sampling=asked.sampling)
    assert asked.sampling.settled(OWN) == OWN


@pytest.mark.parametrize("flags", [("--greedy",), ("--temperature", "0"), ("--temperature", "0.5", "--greedy")])
def test_greedy_is_a_flag_away(flags: tuple[str, ...]) -> None:
    assert _parsed(*flags).sampling.settled(OWN) == Sampling(temperature=0.0)


def test_automatic_shows_what_it_means() -> None:
    settings_ = Settings().with_values({"top_p": 0.5})
    shown = {option.name: option.shown(settings_, OWN) for option in OPTIONS}
    assert (shown["temperature"], shown["top-p"], shown["top-k"]) == ("auto (0.7)", "0.5", "auto (20)")
    assert options.named("temperature").shown(settings_) == "auto"


def test_a_repetition_may_go_on() -> None:
    assert not _parsed("--stop-on-repetition", "no").request(MESSAGES).stop_on_repetition
    assert options.named("stop-on-repetition").shown(Settings()) == "yes"


def test_every_flag_reaches_the_request() -> None:
    assert _parsed(
        *("--max-new-tokens", "7", "--stop", "END", "--stop", "\n\n"),
        *("--temperature", "0.8", "--top-p", "0.9", "--top-k", "40", "--min-p", "0.05", "--seed", "3"),
        *("--repetition-penalty", "1.1", "--presence-penalty", "-1", "--frequency-penalty", "0.5"),
        *("--speculation", "fixed", "--num-assistant-tokens", "5"),
        *("--assistant-confidence-threshold", "0.4", "--acceptance-threshold", "0.7"),
        *("--drafter", "ngram"),
    ).request(MESSAGES) == Request(
        MESSAGES,
        max_new_tokens=7,
        sampling=Sampling(0.8, 0.9, 40, 0.05, 1.1, -1.0, 0.5, 3),
        speculation=Speculation(Mode.FIXED, 5, 0.4, 0.7, Drafter.NGRAM),
        stop=("END", "\n\n"),
    )


def test_a_setting_changes_and_goes_back_to_its_default() -> None:
    option = options.named("num_assistant_tokens")
    changed = Settings().with_values({option.field: option.parse("4")})
    assert changed.speculation.num_assistant_tokens == 4
    assert option.shown(changed) == "4"
    assert changed.with_values({option.field: option.parse("auto")}) == Settings()
    assert option.shown(Settings()) == "auto"


def test_stop_strings_are_shown_quoted() -> None:
    option = options.named("--stop")
    assert option.shown(Settings()) == "(none)"
    assert option.shown(Settings().with_values({"stop": ("\n", "END")})) == r"'\n', 'END'"


def _parsed(*arguments: str) -> Settings:
    asked: list[Settings] = []

    def run(arguments: Asked, _load: Load) -> int:
        asked.append(options.from_flags(arguments.answer, arguments.sampling, arguments.speculation))
        return 0

    Command(run).main(arguments, standalone_mode=False)
    return asked[0]
