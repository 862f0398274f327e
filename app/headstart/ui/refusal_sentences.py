"""The sentences with which devices, engines and servers refuse, as those parts write them. Knows no other language."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP

# {} is whatever stands there, {name} a part that is one of REMEDIES or OPTIONS. A test finds each where it is said.
# What names flags or commands of a terminal has other words for the window in every language, English too.
REFUSALS: Sequence[Any] = (
    QT_TRANSLATE_NOOP(
        "Faults",
        "{} is an EAGLE-3 head, which only OpenVINO GenAI can use: leave out --engine headstart.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "An NPU compiles a fixed prompt length in, while Headstart's own engine feeds passes of any length: "
        "leave out --engine headstart, or use --device CPU.",
    ),
    QT_TRANSLATE_NOOP("Faults", "Exact numerics need keys and values in 16 bits: leave out --kv-precision u8."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The conversation has {} tokens, but the NPU was compiled for prompts of at most {}: start a new "
        "chat, shorten the text, or load it with a longer --context.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "OpenVINO GenAI garbles sampled answers when a draft model guesses ahead (its issue 4190): {remedy}, "
        "--temperature 0 or --speculation off.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "OpenVINO GenAI makes unlikely tokens likelier by presence and frequency penalties: {remedy}, or "
        "--repetition-penalty.",
    ),
    QT_TRANSLATE_NOOP("Faults", "OpenVINO GenAI has no table of likely next tokens: {remedy}."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "OpenVINO GenAI cannot bound its guesses under a confidence threshold, and sixty in one round were "
        "seen: {remedy}, or --num-assistant-tokens alone.",
    ),
    QT_TRANSLATE_NOOP("Faults", "OpenVINO GenAI has no acceptance threshold: {remedy}."),
    QT_TRANSLATE_NOOP("Faults", "An NPU takes no guesses from the text: use a draft model, or --speculation off."),
    QT_TRANSLATE_NOOP("Faults", "An NPU needs a context of at least {} tokens, not {}: use another --context."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "An NPU computes with symmetric weights, but {} has {}: export it with --weights int4-sym, or use "
        "--device CPU.",
    ),
    QT_TRANSLATE_NOOP("Faults", "With an NPU, model and draft run on it together: leave out --draft-device."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "An NPU has arithmetic of its own: leave out --numerics exact, or use --device CPU.",
    ),
    QT_TRANSLATE_NOOP("Faults", "An NPU decides itself how it keeps keys and values: leave out --kv-precision."),
    QT_TRANSLATE_NOOP("Faults", "OpenVINO GenAI cannot run {} ({}) on {} ({}); {remedy}."),
    QT_TRANSLATE_NOOP("Faults", "OpenVINO GenAI failed ({}); {remedy}."),
    QT_TRANSLATE_NOOP(
        "Faults", "Headstart runs a model on one device, not on {}; present: {}. Choose one with {option}, or AUTO."
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "A benchmark times Headstart's own engine, and OpenVINO GenAI beside it: load the model on a CPU, "
        "without an EAGLE-3 head, and run it again.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "It takes about {} of memory, but {} is free: close other programs and tune again.",
    ),
    QT_TRANSLATE_NOOP("Faults", "Tuning needs {} seconds at least, not {}."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The engine's line was longer than {} MiB, so it cannot be a message of Headstart.",
    ),
    QT_TRANSLATE_NOOP("Faults", "The engine's line is no message of Headstart: {}"),
    QT_TRANSLATE_NOOP("Faults", "The engine's line is of an unknown kind: {}"),
    QT_TRANSLATE_NOOP("Faults", "The engine's message {} is damaged ({})."),
    QT_TRANSLATE_NOOP("Faults", "The server's line is no message of Headstart: {}"),
    QT_TRANSLATE_NOOP("Faults", "The engine cannot be started ({}); install Headstart again."),
    QT_TRANSLATE_NOOP("Faults", "The engine stopped unexpectedly ({}); see {}."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The engine stopped unexpectedly ({}, as the system does when memory runs out); it starts again when it is "
        "needed.",
    ),
    QT_TRANSLATE_NOOP("Faults", "The engine stopped too often; load the model again, or see {}."),
    QT_TRANSLATE_NOOP("Faults", "The engine does not start; see {}."),
    QT_TRANSLATE_NOOP(
        "Faults",
        "The key cannot be kept: there is no keyring, and {} cannot be written ({}). Set it in the "
        "environment variable {} instead.",
    ),
    QT_TRANSLATE_NOOP(
        "Faults",
        "A server's name has up to 40 letters, digits, dots, dashes and underscores, unlike {}.",
    ),
    QT_TRANSLATE_NOOP("Faults", "{} is no address of a server; write it like https://host:8000/v1."),
    QT_TRANSLATE_NOOP("Faults", "An address must not hold a password; give the key with --key instead."),
    QT_TRANSLATE_NOOP("Faults", "The servers cannot be saved in {} ({}); make the folder writable and try again."),
    QT_TRANSLATE_NOOP("Faults", "{} is damaged; `headstart serve --new-key` writes it anew."),
    QT_TRANSLATE_NOOP("Faults", "{} cannot be read ({}); `headstart serve --new-key` writes it anew."),
    QT_TRANSLATE_NOOP("Faults", "{} cannot be written ({}); make room or correct its rights."),
    QT_TRANSLATE_NOOP("Faults", "{} port {} cannot be used ({}): choose others with --host and --port."),
)
REMEDIES: Sequence[Any] = (
    QT_TRANSLATE_NOOP("Faults", "use --engine headstart"),
    QT_TRANSLATE_NOOP("Faults", "use --device CPU"),
    QT_TRANSLATE_NOOP("Faults", "ask again, or use --engine headstart"),
    QT_TRANSLATE_NOOP("Faults", "ask again, or use --device CPU"),
    QT_TRANSLATE_NOOP("Faults", "load the model with a smaller --context"),
)
OPTIONS: Sequence[Any] = (
    QT_TRANSLATE_NOOP("Faults", "--device"),
    QT_TRANSLATE_NOOP("Faults", "--draft-device"),
)
