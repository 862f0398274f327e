"""Numbers and dates as their formats in a spreadsheet show them; a format of another kind gives None.

Dates are in the order year, month, day. Digits are not grouped. What a format would hide stays: a sign, and
decimals that are more than a twentieth of the number.
"""

import re
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from typing import NamedTuple

Cell = bool | int | float | str | date | datetime | time | timedelta
# The formats that a file need not define, without the currencies: they are those of the reader's country.
BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 5: "#,##0", 6: "#,##0", 7: "#,##0.00", 8: "#,##0.00", 9: "0%",
    10: "0.00%", 14: "yyyy-mm-dd", 15: "yyyy-mm-dd", 16: "yyyy-mm-dd", 17: "yyyy-mm-dd", 18: "h:mm", 19: "h:mm:ss",
    20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm", 37: "#,##0", 38: "#,##0", 39: "#,##0.00", 40: "#,##0.00",
    41: "#,##0", 42: "#,##0", 43: "#,##0.00", 44: "#,##0.00", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss",
}  # fmt: skip
_PART = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|[_*].|\[(?P<bracket>[^\]]*)\]|AM/PM|A/P|(?P<sign>.)', re.DOTALL
)
_PLAIN = re.compile("colou?r ?[0-9]+|black|blue|cyan|green|magenta|red|white|yellow|dbnum[0-9]", re.IGNORECASE)
_ELAPSED = re.compile("h+|m+|s+", re.IGNORECASE)
_NUMBER = re.compile(r"[#0?,]*[#0?](?:\.[#0?]*)?|\.[#0?]+")
_DATE_LETTERS = frozenset("ymdhsegab")  # e, g, a and b: years and days of the week in East Asia and Thailand
_UNITS = frozenset("hs")  # of time; m is a month or a minute
_FIRST_DAYS = (datetime(1899, 12, 30), datetime(1904, 1, 1))
_LEAP_DAY = 60  # 29 February 1900, which never was: days before it are counted from a day later
_OTHER = re.compile(r"[#0?/@.,A-Za-z]")  # beside the digits of a number
_DECIMALS = re.compile(r"s\.(0{1,6})")  # of seconds
_MOST = 1e15  # from here on, not every digit is known
_MOST_DECIMALS = 10
_MOST_ROUNDING = Decimal("0.05")  # share of a number that a format may take or give: 0.6 is not 1
_LEAST = Decimal("1e-9")  # less is nothing, which was not computed exactly
_EPOCH_YEARS = (1899, 1900, 1904)  # of moments that are only times


class _Pattern(NamedTuple):
    """The look of a number: what stands before and behind it, and its digits."""

    before: str
    after: str
    min_digits: int  # before the point
    num_decimals: int
    num_optional: int  # decimals that are left out where they are zero
    is_percent: bool


class _Section(NamedTuple):
    """A part of a format, which is for positive numbers, for negative ones, for zero or for texts."""

    codes: str  # in small letters, with \0 in the place of literals
    pattern: _Pattern | None
    is_date: bool
    is_elapsed: bool
    is_plain: bool  # has no condition


def shown(value: Cell, code: str, *, is_1904: bool = False) -> str | None:
    """Return the value of a cell as a format shows it; None if it is a text, or the format is of another kind."""
    if isinstance(value, bool | str):
        return None
    sections = _sections(code)
    first = sections[0]
    if not all(section.is_plain for section in sections):
        return None
    if isinstance(value, int | float):
        if not first.is_date:
            return _number(float(value), sections)
        found = _moment(float(value), first, is_1904=is_1904)
        if found is None:
            return None
        value = found
    return _date_text(value, first)


@lru_cache
def _sections(code: str) -> list[_Section]:
    sections, codes, literals, is_elapsed, is_plain = list[_Section](), "", list[str](), False, True
    for match in _PART.finditer(f"{code};;"):  # two: a broken code may take one
        kind, text = match.lastgroup, match[match.lastgroup] if match.lastgroup else ""
        if kind == "bracket" and _ELAPSED.fullmatch(text):
            is_elapsed, codes = True, codes + text
        elif kind == "bracket" and text.startswith("$"):  # a currency and a language
            literals.append(text[1:].partition("-")[0])
            codes += "\0"
        elif kind == "bracket":
            is_plain = is_plain and bool(_PLAIN.fullmatch(text))
        elif kind in ("quoted", "escaped"):
            literals.append(text)
            codes += "\0"
        elif text == ";":
            pattern = _pattern(codes, literals, dropped="-()" if len(sections) == 1 else "")
            codes = codes.lower()
            is_other = any(word in codes for word in ("general", "e+", "e-"))
            is_date = bool(_DATE_LETTERS & set(codes)) and not is_other
            sections.append(_Section(codes, pattern, is_date, is_elapsed, is_plain))
            codes, literals, is_elapsed, is_plain = "", [], False, True
        else:
            codes += text
    return sections


def _pattern(codes: str, literals: Iterable[str], dropped: str) -> _Pattern | None:
    """Return the look of a number; None for scientific notation, fractions, thousands and unknown signs.

    `dropped` are signs that say that the number is negative.
    """
    found = _NUMBER.search(codes)
    if not found:
        return None
    around = codes[: found.start()], codes[found.end() :]
    whole, _, decimals = found[0].partition(".")
    num_percents = sum(part.count("%") for part in around)
    if any(map(_OTHER.search, around)) or num_percents > 1 or len(decimals) > _MOST_DECIMALS:
        return None
    rest = iter(literals)
    before, after = ("".join(next(rest) if sign == "\0" else sign for sign in part) for part in around)
    removed = dict.fromkeys(map(ord, dropped))
    num_optional = len(decimals) - len(decimals.rstrip("#?"))
    before, after = before.translate(removed), after.translate(removed)
    return _Pattern(before, after, whole.count("0"), len(decimals), num_optional, bool(num_percents))


def _number(value: float, sections: list[_Section]) -> str | None:
    patterns = [section.pattern for section in sections[:2]]
    pattern = patterns[-1 if value < 0 else 0] or patterns[0]
    if pattern is None or not abs(value) < _MOST:
        return None
    digits = Decimal(f"{abs(value):.15g}") * (100 if pattern.is_percent else 1)
    rounded = digits.quantize(Decimal(1).scaleb(-pattern.num_decimals), ROUND_HALF_UP)
    is_far = abs(rounded - digits) > digits * _MOST_ROUNDING and digits > _LEAST
    text = f"{digits.normalize() if is_far else rounded:f}"
    for _ in range(pattern.num_optional):
        text = text.removesuffix("0")
    integer, _, rest = text.partition(".")
    text = integer.zfill(pattern.min_digits) + (f".{rest}" if rest else "")
    sign = "-" if value < 0 and text.strip("0.") else ""
    return " ".join(f"{sign}{pattern.before.lstrip()}{text}{pattern.after}".split())


def _moment(value: float, section: _Section, *, is_1904: bool) -> datetime | timedelta | None:
    try:
        if section.is_elapsed:
            return timedelta(days=value)
        if value < 0:
            return None
        days = value + (not is_1904 and value < _LEAP_DAY)
        return _FIRST_DAYS[is_1904] + timedelta(days=days)
    except (OverflowError, ValueError):  # too far, or no number
        return None


def _date_text(value: date | datetime | time | timedelta, section: _Section) -> str:
    """Return a date in numbers, with the time if the format shows one; without the date of a value that has none."""
    codes = section.codes
    has_time = bool(_UNITS & set(codes))
    has_date = bool(_DATE_LETTERS.difference("mhs") & set(codes)) or not has_time or "mmm" in codes
    if isinstance(value, datetime) and has_time and not has_date and value.year in _EPOCH_YEARS:
        value = value.time()
    elif isinstance(value, datetime) and not has_time:
        value = value.date()
    found = _DECIMALS.search(codes)
    return plain(value, len(found[1]) if found else 0, has_seconds="s" in codes)


def plain(value: Cell, decimals: int = 0, *, has_seconds: bool = False) -> str:
    """Return the value of a cell in the usual form. `decimals` are those of seconds."""
    match value:
        case bool():
            return str(value).upper()
        case float():
            return str(int(value)) if value.is_integer() else f"{value:.15g}"
        case datetime():
            days, rest = divmod(_rounded(value - datetime.min, decimals), timedelta(days=1))
            day = str(date.fromordinal(days + 1))
            return f"{day} {_clock(rest, decimals, has_seconds=has_seconds)}" if rest else day
        case time():
            span = datetime.combine(date.min, value) - datetime.min
            return _clock(span, decimals, has_seconds=has_seconds)
        case timedelta():
            return _clock(value, decimals, has_seconds=has_seconds)
        case _:
            return " ".join(str(value).split())


def _rounded(span: timedelta, decimals: int) -> timedelta:
    """Round a time, which is seldom a whole second in binary."""
    step = timedelta(seconds=1) / float(10**decimals)
    return round(span / step) * step


def _clock(span: timedelta, decimals: int, *, has_seconds: bool) -> str:
    minutes, rest = divmod(_rounded(abs(span), decimals), timedelta(minutes=1))
    text = f"{minutes // 60:02}:{minutes % 60:02}"
    if has_seconds or rest:
        text += f":{rest.total_seconds():0{decimals + 3 if decimals else 2}.{decimals}f}"
    return f"-{text}" if span < timedelta() else text
