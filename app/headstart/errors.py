"""The errors that people read: one base class, one sentence each with the remedy."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self


class Translatable(str):
    """An English text for people: a template and its values, so that the window can translate it."""

    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str = "", /, **values: object) -> Self:
        """Make a text. A template without values is the text itself, braces included; values may be translatable."""
        if isinstance(template, cls) and not values:
            return template
        self = super().__new__(cls, template.format(**values) if values else template)
        self.template, self.values = str(template), values
        return self

    def as_data(self) -> dict[str, Any]:
        """Return the text as JSON data; values that are neither texts nor numbers become texts."""
        return {"template": self.template, "values": {name: _plain(value) for name, value in self.values.items()}}

    @classmethod
    def from_data(cls, data: object) -> Self:
        """Return the text that `as_data` gave, or a plain string. Raises ValueError for anything else."""
        match data:
            case str():
                return cls(data)
            case {"template": str(template), "values": dict(given)}:
                values = {
                    name: cls.from_data(value) if isinstance(value, dict) else value for name, value in given.items()
                }
                try:
                    return cls(template, **values)
                except (LookupError, TypeError, AttributeError) as error:
                    raise ValueError(f"{template!r} does not fit its values ({error!r})") from None
        raise ValueError(f"{data!r} is no text")


def _plain(value: object) -> object:
    if isinstance(value, Translatable):
        return value.as_data()
    return value if isinstance(value, str | int | float | None) else str(value)


def listed(parts: Iterable[str]) -> Translatable:
    """Join several parts of a sentence."""
    first, *more = parts
    listing = Translatable(first)
    for part in more:
        listing = Translatable("{listing}; {part}", listing=listing, part=part)
    return listing


class HeadstartError(Exception):
    """An expected failure; `str(error)` is a sentence that says what to do."""

    exit_code: ClassVar[int] = 1  # of the command that ends with it

    def __init__(self, template: str = "", /, **values: object) -> None:
        self.text = Translatable(template, **values)
        super().__init__(self.text)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return an error with the whole sentence, as it comes from another process."""
        error = cls.__new__(cls)
        HeadstartError.__init__(error, text)
        return error


class SettingsError(HeadstartError):
    """A setting or a command-line value is out of range or contradicts another."""

    exit_code = 2


class UnwritablePlaceError(SettingsError):
    """A file or folder of Headstart cannot be changed."""

    def __init__(self, path: object, error: OSError) -> None:
        super().__init__(
            "{path} cannot be written ({reason}); make room there, and see that you may write there.",
            path=path,
            reason=error.strerror or error,
        )


class MakesVectorsError(SettingsError):
    """A model that turns texts into vectors is asked to chat."""

    def __init__(self, name: str) -> None:
        """`name`: the model's."""
        super().__init__("{name} turns texts into vectors and cannot chat: choose another model.", name=name)


class ReadsPicturesError(SettingsError):
    """A model that reads text in pictures is asked to chat."""

    def __init__(self, name: str) -> None:
        """`name`: the model's."""
        super().__init__("{name} reads text in pictures and cannot chat: choose another model.", name=name)


class TranscribesError(SettingsError):
    """A model that writes down speech is asked to chat."""

    def __init__(self, name: str) -> None:
        """`name`: the model's."""
        super().__init__("{name} writes down speech and cannot chat: choose another model.", name=name)


class ModelNotFoundError(HeadstartError):
    """No installed model has this name; the sentence lists the installed ones."""


class BrokenModelError(HeadstartError):
    """A model folder lacks a file, or a file in it is damaged."""


class UnreadableModelError(BrokenModelError):
    """A file of a model, or its folder, cannot be opened."""

    def __init__(self, error: OSError) -> None:
        super().__init__(
            "{path} cannot be read ({reason}); see that you may read it, and that its disk is in order.",
            path=error.filename,
            reason=error.strerror or error,
        )


class UnloadableModelError(BrokenModelError):
    """OpenVINO does not load the files of a model."""

    def __init__(self, name: str, error: Exception) -> None:
        reason = str(error).strip().splitlines()[-1]
        super().__init__("{name} cannot be loaded ({error}); export it again.", name=name, error=reason)


class MismatchedDraftError(HeadstartError):
    """Draft and target have different vocabularies; the sentence names the first id that differs."""


class DeviceError(HeadstartError):
    """The device does not exist or refuses the model; the sentence lists the devices that are there."""


class UnfitError(DeviceError):
    """A device runs the model, but not as Headstart's own engine needs it; `reason` is one of its values."""

    @property
    def reason(self) -> str:
        """The result of the check."""
        return str(self.text.values["reason"])


class MemoryBudgetError(HeadstartError):
    """A model needs more memory than is free; the sentence gives both numbers and the remedies."""


class OutOfMemoryError(HeadstartError):
    """Memory ran out while a model was loaded or answered; the sentence says how to need less."""


class ContextOverflowError(HeadstartError):
    """The prompt does not fit the context; the sentence gives both numbers."""


class ChatTemplateError(HeadstartError):
    """The model's chat template is missing or cannot render these messages."""


class ExportError(HeadstartError):
    """An export cannot start or cannot be finished; nothing half done is left behind."""


class NotEnoughSpaceError(ExportError):
    """Too little disk or memory; the sentence gives what is needed and what is free."""


class ExporterNeededError(ExportError):
    """PyTorch and the converters are needed, and not installed here."""

    export_status: ClassVar[int] = 3  # exit code of `headstart-export`, by which its caller knows


class FailedCheckError(ExportError):
    """A finished model is not what its source is."""


class EngineLostError(HeadstartError):
    """The engine's process ended, did not answer or cannot be started; the sentence says what happens now."""


class EngineBusyError(HeadstartError):
    """The engine is at work that must not be disturbed; the sentence says which, and how to end it."""


class RemoteError(HeadstartError):
    """A server on another computer cannot be asked, or did not answer to the end; the sentence says what to do."""


class ProtocolError(HeadstartError):
    """A line from another process is not a message; the sentence shows its beginning."""


class ProtocolVersionError(ProtocolError):
    """The other process speaks another version of the protocol."""


class HistoryError(HeadstartError):
    """The chat history cannot be read or written; what was saved before is still there."""


class UnwritableHistoryError(HistoryError):
    """The file of the chat history, or its folder, cannot be written."""


class StandbyError(HistoryError):
    """The standby copy of the chat history cannot be read; it was made when the history could not be written."""


class DamagedHistoryError(HistoryError):
    """The file of the chat history is damaged; a backup can replace it."""


class LockedHistoryError(HistoryError):
    """The chat history is encrypted, and the passphrase is missing."""


class WrongPassphraseError(HistoryError):
    """The chat history was encrypted with another passphrase."""


class ExchangeError(HeadstartError):
    """A file of chats cannot be written, or cannot be read as one."""


class AttachmentError(HeadstartError):
    """A file cannot be attached to a message; the sentence says why."""


class ModelMissingError(AttachmentError):
    """A file needs a model that is not installed; `model` is its name in the catalogue."""

    def __init__(self, text: str, model: str, **values: object) -> None:
        super().__init__(text, **values)
        self.model = model


class AudioError(HeadstartError):
    """A recording or a microphone cannot be used; the sentence says why."""


class WindowError(HeadstartError):
    """The window cannot open here; the sentence names the way without one."""


class ServerError(HeadstartError):
    """The local server cannot be started with these settings; the sentence names the remedy."""


class PortTakenError(ServerError):
    """The port of the local server is taken by another program."""


class PeerError(HeadstartError):
    """A program that is compared cannot take part in a benchmark; the sentence says why."""


class ToolError(HeadstartError):
    """A server of tools cannot be used; the sentence says which, and what to do."""


class WorkspaceError(HeadstartError):
    """An action in a working folder is impossible or not allowed; the sentence says why."""


class BatchError(HeadstartError):
    """A batch cannot go on; the sentence says why. Finished answers are kept."""
