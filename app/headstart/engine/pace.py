"""How the last rounds of an answer went: tokens per millisecond, rounds in a row. Knows no rule and no clock."""

_KEPT = 0.5 ** (1 / 12)  # half-life of 12 rounds
_ALWAYS = 2.0  # plain steps that are always counted in


class Pace:
    """Tokens per millisecond over the last rounds."""

    def __init__(self) -> None:
        """Start without rounds."""
        self._tokens, self._ms = 0.0, 0.0

    def add(self, tokens: int, ms: float) -> None:
        """Enter a round."""
        self._tokens = _KEPT * self._tokens + tokens
        self._ms = _KEPT * self._ms + ms

    def within(self, least: float, most: float) -> float:
        """The pace, kept between the two; a little of `least` is always mixed in, all of it at first."""
        return min(most, max(least, (self._tokens + _ALWAYS) / (self._ms + _ALWAYS / least)))


class Streak:
    """How many rounds a draft model usually gets in a row before it must catch up again."""

    _LONGEST = 16.0
    _NEWEST = 0.2  # weight of the newest streak

    def __init__(self) -> None:
        """Assume long streaks until short ones were seen."""
        self._usual, self._rounds = self._LONGEST, 0

    @property
    def usual(self) -> float:
        """Rounds that share the cost of a catch-up; at least one."""
        return max(self._usual, 1.0)

    def add(self, *, caught_up: bool) -> None:
        """Enter a round of the draft model; one that caught up begins a new streak."""
        if caught_up and self._rounds:
            self._usual += self._NEWEST * (min(self._rounds, self._LONGEST) - self._usual)
            self._rounds = 0
        self._rounds += 1
