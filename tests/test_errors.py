"""Errors carry their values beside their sentence."""

import pytest

from headstart import errors
from headstart.cli import main
from headstart.errors import DeviceError, HeadstartError, SettingsError, Translatable, UnfitError


def test_translatable_is_its_filled_template() -> None:
    error = HeadstartError("{name} has {count:,} tokens.", name="a", count=12345)
    assert str(error) == "a has 12,345 tokens."
    assert (error.text.template, error.text.values) == ("{name} has {count:,} tokens.", {"name": "a", "count": 12345})


def test_braces_without_values_are_text() -> None:
    assert str(HeadstartError('Send one object such as {"a": 1}.')) == 'Send one object such as {"a": 1}.'


def test_unfit_error_has_its_reason() -> None:
    assert UnfitError("{device} refuses ({reason}).", device="NPU", reason="no paging").reason == "no paging"


@pytest.mark.parametrize(
    "kind", [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, HeadstartError)]
)
def test_each_error_comes_back_from_another_process(kind: type[HeadstartError]) -> None:
    """Some have their sentence from their constructor, which takes other values."""
    error = kind.from_text(Translatable("{name} is gone.", name="a"))
    assert type(error) is kind
    assert (str(error), error.text.values) == ("a is gone.", {"name": "a"})


@pytest.mark.parametrize(("error", "code"), [(SettingsError("Ask otherwise."), 2), (DeviceError("No device."), 1)])
def test_command_ends_with_the_exit_code_of_its_error(
    error: HeadstartError, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def window(_: object) -> int:
        raise error

    assert main([], window=window) == code
    assert capsys.readouterr().err == f"headstart: {error}\n"
