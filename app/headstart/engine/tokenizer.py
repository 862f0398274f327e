"""Text to tokens and back for one model folder."""

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headstart import vocabulary
from headstart.engine.chat_template import ChatTemplate, Seams, markers
from headstart.engine.engine import Message, Request
from headstart.engine.runtime import openvino_genai
from headstart.errors import BrokenModelError, ContextOverflowError

_FILES = tuple(f"openvino_{part}.{kind}" for part in ("tokenizer", "detokenizer") for kind in ("xml", "bin"))
_ANCHORS = ("\n", "|", ".", "a")


class Tokenizer:
    """The tokenizer and chat template of a model folder, run by OpenVINO GenAI.

    What people write is text, whatever it contains: control tokens come from the chat template alone.
    """

    def __init__(self, folder: Path) -> None:
        """Load and try. Raises BrokenModelError when a file is missing or damaged, or text does not survive."""
        self.folder = folder
        reading = vocabulary.reading(folder)
        self._typed = Seams(markers(reading.added, reading.control))
        self._composes = reading.composes
        self._native = _load(folder)
        self._starts_with_space = False
        self._beginning: list[int] = []  # what the model expects before any text
        try:
            self._try_out(folder)
        except RuntimeError as error:  # OpenVINO has no other kind
            raise _broken(folder, error) from None
        self._template = ChatTemplate(self._native, folder.name, self._typed, Seams(reading.control))

    def encode(self, text: str) -> list[int]:
        """The tokens of a plain text; the name of a control token in it is text like any other."""
        return self._encode_pieces(self._typed.cut(_well_formed(text)))

    def prompt(self, messages: Sequence[Message], *, add_generation_prompt: bool = True) -> list[int]:
        """The tokens of a conversation in the model's chat format, ready for the answer.

        Raises ChatTemplateError when there is no template, or it has no place for one of the messages.
        """
        plain = [Message(message.role, _well_formed(message.content)) for message in messages]
        return self._encode_pieces(self._template.pieces(plain, add_generation_prompt=add_generation_prompt))

    def raw_prompt(self, text: str) -> list[int]:
        """The tokens of a text to be written on as it is, control tokens in it included, begun as the model expects."""
        ids = self._parse(_well_formed(text))
        return ids if ids[: len(self._beginning)] == self._beginning else [*self._beginning, *ids]

    def prompt_of(self, request: Request, room: int) -> list[int]:
        """The tokens that a request asks to be continued.

        Raises ContextOverflowError where `room` tokens hold no answer to them, and what `prompt` raises.
        """
        ids = self.raw_prompt(request.prompt) if request.prompt else self.prompt(request.messages)
        if len(ids) >= room:
            raise ContextOverflowError(
                "The conversation has {count} tokens, but the context holds {room}: start a new chat, "
                "shorten the text, or load the model with a longer --context.",
                count=len(ids),
                room=room,
            )
        return ids

    def decode(self, ids: Sequence[int], *, keep_special: bool = False) -> str:
        """The text of some tokens, U+FFFD for bytes that are no character; special tokens only if asked for."""
        return str(self._native.decode(list(ids), skip_special_tokens=not keep_special))

    def decode_many(self, batch: list[list[int]]) -> list[str]:
        """The texts of several token sequences, much faster than one by one."""
        return list(self._native.decode(batch, skip_special_tokens=True))

    def _encode_pieces(self, pieces: Sequence[str]) -> list[int]:
        """Pieces of one text, each encoded by itself; control tokens in a piece are read as such."""
        ids = self._parse(pieces[0])
        for piece in pieces[1:]:
            ids += self._parse_further(piece)
        return ids

    def _parse(self, text: str, *, as_document: bool = False) -> list[int]:
        if self._composes:  # OpenVINO does so only where few marks stand on one letter
            text = unicodedata.normalize("NFC", text)
        ids: list[int] = self._native.encode(text, add_special_tokens=as_document).input_ids.data[0].tolist()
        return ids

    def _parse_further(self, text: str) -> list[int]:
        """Tokens of a text that continues another: without the space some tokenizers put before a beginning."""
        if not self._starts_with_space:
            return self._parse(text)
        for anchor in _ANCHORS:
            head, ids = self._parse(anchor), self._parse(anchor + text)
            if ids[: len(head)] == head:
                return ids[len(head) :]
        return self._parse(text)

    def _try_out(self, folder: Path) -> None:
        plain, whole = self._parse("a"), self._parse("a", as_document=True)
        self._starts_with_space = " " in self.decode(plain + plain)
        self._beginning = whole[: whole.index(plain[0])] if plain and plain[0] in whole else []
        if self.decode(self._parse("a ,")) == "a,":
            raise BrokenModelError(
                "The tokenizer in {folder} swallows spaces before punctuation, which would damage code; "
                "export the model again with clean_up_tokenization_spaces off.",
                folder=folder,
            )


def _load(folder: Path) -> Any:
    # GenAI loads a folder without these and fails at the first use.
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        raise BrokenModelError(
            "{folder} lacks {names}; export the model again.", folder=folder, names=", ".join(missing)
        )
    try:
        return openvino_genai().Tokenizer(str(folder))
    except RuntimeError as error:
        raise _broken(folder, error) from None


def _broken(folder: Path, error: RuntimeError) -> BrokenModelError:
    reason = str(error).strip().splitlines()[-1]
    return BrokenModelError(
        "The tokenizer in {folder} is damaged ({reason}); export the model again.", folder=folder, reason=reason
    )


def _well_formed(text: str) -> str:
    """`text` with halves of surrogate pairs joined, or replaced where one stands alone: UTF-8 has none."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
