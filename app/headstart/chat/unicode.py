"""Text as files can hold it. Knows nothing else."""


def storable(text: str) -> str:
    """`text` with halves of UTF-16 pairs joined, and those without their other half replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
