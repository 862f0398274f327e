"""A parameter that is declared once is known everywhere."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from headstart import parameters, settings
from headstart.cli.command import Command, Load, given
from headstart.engine.backends.remote.dialects import body_of
from headstart.engine.engine import ConversationRequest, Message
from headstart.errors import SettingsError
from headstart.parameters import SamplingParams, declared, filled, parameter, values_of
from headstart.server.requests.bodies import with_parameters


@dataclass(frozen=True)
class MoreParams(SamplingParams):
    """Parameters of sampling with one more."""

    warmth: float = parameter(0.5, "How warm the words are.", low=0.0, high=2.0)


def test_parameter_is_a_flag() -> None:
    (option,) = [each for each in declared(MoreParams) if each.name == "warmth"]
    assert option.help == "How warm the words are (between 0 and 2; default: 0.5)"
    asked: list[object] = []

    @dataclass
    class Flags:
        sampling: dict[str, Any] = given(declared(MoreParams))

    def run(arguments: Flags, _load: Load) -> int:
        asked.append(filled(MoreParams, arguments.sampling))
        return 0

    run.__annotations__["arguments"] = Flags
    Command(run).main(["--warmth", "1.5", "--top-p", "auto"], standalone_mode=False)
    assert asked == [MoreParams(warmth=1.5, automatic=("temperature", "top_p", "top_k", "min_p", "repetition_penalty"))]
    with pytest.raises(SettingsError, match="warmth must be a number, not 'hot'"):
        Command(run).main(["--warmth", "hot"], standalone_mode=False)


def test_parameter_is_a_setting() -> None:
    class Plain:
        """Settings without other fields."""

        name: str = ""

    kind: Any = dataclass(frozen=True)(settings.with_parameters(Plain, {"sampling": MoreParams}))
    (field,) = [each for each in dataclasses.fields(kind) if each.name == "warmth"]
    about = field.metadata["parameter"]
    assert (field.default, about.section, about.meaning) == (0.5, "sampling", "How warm the words are.")
    assert (about.low, about.high, about.per_chat) == (0.0, 2.0, True)


def test_parameter_is_a_field_of_the_api() -> None:
    class Plain:
        """A body without other fields."""

        name: str = ""

    body = dataclass(frozen=True, kw_only=True)(with_parameters(Plain, MoreParams))
    assert vars(msgspec.convert({"warmth": 1.0, "top_p": 0.5}, body))["warmth"] == 1.0
    with pytest.raises(msgspec.ValidationError, match="<= 2"):
        msgspec.convert({"warmth": 3.0}, body)


def test_sampling_parameters_are_sent_to_remote_servers() -> None:
    sent = body_of(ConversationRequest((Message("user", "Hi"),), sampling=SamplingParams(temperature=0.5)), "m")
    assert {each.name for each in parameters.declared(SamplingParams)} <= sent.keys()


def test_values_are_read_back() -> None:
    values = values_of(filled(MoreParams, {"warmth": 1.0, "top_k": 5}))
    assert (values["warmth"], values["top_k"], values["temperature"]) == (1.0, 5, None)


@pytest.mark.parametrize("warmth", [-0.1, 2.1, float("nan")])
def test_value_out_of_bounds_is_refused(warmth: float) -> None:
    with pytest.raises(SettingsError, match="warmth must be between 0 and 2, not"):
        MoreParams(warmth=warmth)


@dataclass(frozen=True, kw_only=True)
class MoreConfig(parameters.EngineConfig):
    """Load options with one more."""

    threads: int | None = parameter(None, "How many threads compute.", low=1)


def test_load_option_is_a_flag_and_a_setting() -> None:
    asked: list[MoreConfig] = []

    def run(arguments: MoreConfig, _load: Load) -> int:
        asked.append(arguments)
        return 0

    Command(run).main(["--threads", "3", "--kv-precision", "u8"], standalone_mode=False)
    Command(run).main(["--threads", "auto"], standalone_mode=False)
    assert [(each.threads, each.kv_precision) for each in asked] == [(3, "u8"), (None, "auto")]

    class Plain:
        """Settings without other fields."""

        name: str = ""

    kind: Any = dataclass(frozen=True)(settings.with_parameters(Plain, {"model": MoreConfig}))
    assert {"threads", "kv_precision", "engine"} <= {each.name for each in dataclasses.fields(kind)}
