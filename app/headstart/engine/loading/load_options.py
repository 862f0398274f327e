"""Load options with nothing left open, and the models that they name."""

from dataclasses import dataclass

from headstart.engine.engine import LoadOptions
from headstart.engine.hardware import devices
from headstart.library import manifest as manifests
from headstart.library.manifest import ModelSpec


@dataclass(frozen=True)
class ResolvedOptions:
    """Load options whose values are all decided, with the models that they name."""

    options: LoadOptions
    target: ModelSpec
    draft: ModelSpec | None = None  # a draft model, or an EAGLE-3 head
    head: ModelSpec | None = None  # the head for Headstart's own engine: the draft, or the target's own

    @classmethod
    def read(cls, options: LoadOptions) -> "ResolvedOptions":
        """Read the manifests for options that leave nothing open. Raises BrokenModelError."""
        target = ModelSpec.read(options.target)
        draft = ModelSpec.read(options.draft) if options.draft else None
        head = None
        if devices.kind(options.device) == "CPU":  # other devices give no hidden states
            own_head = manifests.head_folder(options.target)
            if draft and draft.manifest.is_eagle:
                head = draft
            elif own_head:
                head = ModelSpec.read(own_head)
        return cls(options, target, draft, head)

    @property
    def draft_device(self) -> str:
        return self.options.draft_device or self.options.device

    @property
    def models(self) -> tuple[tuple[ModelSpec, str], ...]:
        """The target and the draft, each with its device."""
        draft = ((self.draft, self.draft_device),) if self.draft else ()
        return ((self.target, self.options.device), *draft)
