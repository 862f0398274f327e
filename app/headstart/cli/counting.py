"""How many there are of something, in words."""


def count(number: int, noun: str) -> str:
    """As in 1 answer, 2 answers; for nouns that take an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
