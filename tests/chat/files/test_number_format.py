"""Numbers and dates as a spreadsheet shows them; what is not known stays as it is in the file."""

from datetime import date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.chat.files.number_format import BUILT_IN, Cell, plain, shown
from tests.support.junk import fuzz

ACCOUNTING = '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)'
NUMBERS = [
    (0.25, "0%", "25%"),
    (0.2545, "0.0%", "25.5%"),
    (-0.25, "0%;-0%", "-25%"),
    (0.1 + 0.2, "0.00", "0.30"),
    (2.675, "0.00", "2.68"),  # as it is written, not as it is in binary
    (1.5, "0.##", "1.5"),
    (2, "0.##", "2"),
    (7, "00000", "00007"),
    (1234.5, "#,##0.00\\ [$€-407]", "1234.50 €"),
    (1234.5, "[$-409][$CHF] #,##0.00", "CHF 1234.50"),
    (1234, "¥#,##0", "¥1234"),
    (1234.5, ACCOUNTING, "$1234.50"),
    (-1234.5, ACCOUNTING, "-$1234.50"),
    (0, ACCOUNTING, "$0.00"),
    (-5, "0.00;[Red]0.00", "-5.00"),  # only red
    (-5, '0;"none"', "-5"),
    (-0.001, "0.00", "-0.001"),
    (1.1, "0", "1.1"),
    (0.015, "0%", "1.5%"),
    (25.4, "0", "25"),
    (-1e-14, "0.00", "0.00"),
    (12.5, '0.0" kg"', "12.5 kg"),
    (5, '0"%"', "5%"),
    (3, '"Q"0', "Q3"),
]


@pytest.mark.parametrize(("value", "code", "text"), NUMBERS)
def test_number_is_shown_by_its_format(value: float, code: str, text: str) -> None:
    assert shown(value, code) == text


@pytest.mark.parametrize("code", [
    "General", "", "@", "0.00E+00", "# ?/?", "#,##0,", '0.0,,"M"', "[>100]0;0.0", '"yes"', "000-00-0000", "0x", "0%%",
    f"0.{'0' * 30}",
])  # fmt: skip
def test_number_in_another_format_stays(code: str) -> None:
    assert shown(1234.5, code) is None


@pytest.mark.parametrize("value", [1e300, float("inf"), float("nan"), True, "a"])
def test_what_is_no_usual_number_stays(value: Cell) -> None:
    assert shown(value, "0.00") is None


NOON = datetime(2023, 7, 16, 12)
DATES = [
    (45123, "m/d/yy;@", "2023-07-16"),
    (45123.5, "dd\\.mm\\.yyyy\\ h:mm", "2023-07-16 12:00"),
    (45123.771, "[$-F400]h:mm:ss AM/PM", "2023-07-16 18:30:14"),
    (45123, 'ggge"年"m"月"', "2023-07-16"),
    (45123, "aaaa", "2023-07-16"),
    (1, "yyyy", "1900-01-01"),
    (0.25, "h:mm", "06:00"),
    (0.00123, "mm:ss.0", "00:01:46.3"),
    (1.5, "[h]:mm", "36:00"),
    (NOON, "yyyy\\-mm\\-dd", "2023-07-16"),
    (NOON, "d mmm h:mm", "2023-07-16 12:00"),
    (NOON, "h:mm", "2023-07-16 12:00"),
    (datetime(1900, 1, 1, 12), "h:mm", "12:00"),
    (datetime(2023, 7, 16, 23, 59, 59, 900_000), "d/m h:mm", "2023-07-17"),
    (date(2023, 7, 16), "0", "2023-07-16"),
    (time(0, 2), "mm:ss", "00:02:00"),
    (timedelta(minutes=62), "[mm]:ss", "01:02:00"),
    (timedelta(hours=-1), "[h]:mm", "-01:00"),
    (float("inf"), "yyyy", None),
    (1e12, "yyyy", None),
    (-3, "yyyy", None),
]  # fmt: skip


@pytest.mark.parametrize(("value", "code", "text"), DATES)
def test_date_is_shown_in_one_order(value: Cell, code: str, text: str | None) -> None:
    assert shown(value, code) == text


def test_days_are_counted_from_1904_in_some_files() -> None:
    assert shown(43661, "yyyy-mm-dd", is_1904=True) == "2023-07-16"


def test_every_built_in_format_is_known() -> None:
    assert None not in [shown(1.5, code) for code in BUILT_IN.values()]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "TRUE"),
        (3.0, "3"),
        (0.1 + 0.2, "0.3"),
        (NOON, "2023-07-16 12:00"),
        (time(6, 0, 3), "06:00:03"),
        ("a\nb", "a b"),
    ],
)
def test_value_without_a_format_is_plain(value: Cell, text: str) -> None:
    assert plain(value) == text


@fuzz("formats of numbers", 400)
@given(st.floats(), st.text('0#?,.%/"\\[]$-_*;@EeymdhsAMP/ €()x', max_size=14))
def test_any_format_is_read(value: float, code: str) -> None:
    assert shown(value, code) != ""
