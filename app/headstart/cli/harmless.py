"""Text from outside made safe for a terminal. Knows no terminal."""

# A model, a manifest or a pasted text may hold escape sequences that would recolour, retitle or rewrite the user's
# terminal, and bidirectional overrides that would show other text than there is.
_C0_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t\r"}
_C1_ESCAPES = {code: f"\\x{code:02x}" for code in range(0x80, 0xA0)}
_BIDI_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
# A carriage return would let later text overwrite earlier text; before a line feed it says nothing more.
_TABLE: dict[int, int | str | None] = {**_C0_PICTURES, **_C1_ESCAPES, **_BIDI_ESCAPES, 0x7F: 0x2421, 0x0D: None}


def harmless(text: str) -> str:
    """`text` with control characters shown as symbols (ESC as "␛"); line feeds and tabs stay, carriage returns go."""
    return text.translate(_TABLE)
