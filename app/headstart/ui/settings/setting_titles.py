"""What the settings are called in the window, and what they do. Knows no widget."""

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from headstart.settings import about

_TITLES: Mapping[str, Any] = {
    "theme": QT_TRANSLATE_NOOP("Settings", "Theme"),
    "font_size": QT_TRANSLATE_NOOP("Settings", "Text size"),
    "zoom": QT_TRANSLATE_NOOP("Settings", "Zoom"),
    "language": QT_TRANSLATE_NOOP("Settings", "Language"),
    "reduced_motion": QT_TRANSLATE_NOOP("Settings", "Reduced motion"),
    "show_origins": QT_TRANSLATE_NOOP("Settings", "Token origins"),
    "enter_sends": QT_TRANSLATE_NOOP("Settings", "Enter sends"),
    "restore_chat": QT_TRANSLATE_NOOP("Settings", "Last chat"),
    "notifications": QT_TRANSLATE_NOOP("Settings", "Notifications"),
    "notification_text": QT_TRANSLATE_NOOP("Settings", "Text in notifications"),
    "model": QT_TRANSLATE_NOOP("Settings", "Model"),
    "draft": QT_TRANSLATE_NOOP("Settings", "Draft model"),
    "device": QT_TRANSLATE_NOOP("Settings", "Device"),
    "draft_device": QT_TRANSLATE_NOOP("Settings", "Device of the draft"),
    "numerics": QT_TRANSLATE_NOOP("Settings", "Numerics"),
    "context": QT_TRANSLATE_NOOP("Settings", "Context"),
    "engine": QT_TRANSLATE_NOOP("Settings", "Engine"),
    "kv_precision": QT_TRANSLATE_NOOP("Settings", "Keys and values"),
    "system_prompt": QT_TRANSLATE_NOOP("Settings", "System prompt"),
    "speculation": QT_TRANSLATE_NOOP("Settings", "Speculation"),
    "num_assistant_tokens": QT_TRANSLATE_NOOP("Settings", "Assistant tokens"),
    "assistant_confidence_threshold": QT_TRANSLATE_NOOP("Settings", "Confidence threshold"),
    "temperature": QT_TRANSLATE_NOOP("Settings", "Temperature"),
    "top_p": QT_TRANSLATE_NOOP("Settings", "Top-p"),
    "top_k": QT_TRANSLATE_NOOP("Settings", "Top-k"),
    "min_p": QT_TRANSLATE_NOOP("Settings", "Min-p"),
    "repetition_penalty": QT_TRANSLATE_NOOP("Settings", "Repetition penalty"),
    "presence_penalty": QT_TRANSLATE_NOOP("Settings", "Presence penalty"),
    "frequency_penalty": QT_TRANSLATE_NOOP("Settings", "Frequency penalty"),
    "seed": QT_TRANSLATE_NOOP("Settings", "Seed"),
    "max_new_tokens": QT_TRANSLATE_NOOP("Settings", "Longest answer"),
    "stop": QT_TRANSLATE_NOOP("Settings", "Stop texts"),
    "server_port": QT_TRANSLATE_NOOP("Settings", "Port"),
    "acceptance_threshold": QT_TRANSLATE_NOOP("Settings", "Acceptance threshold"),
}
_WORDS: Mapping[str, Any] = {
    "": QT_TRANSLATE_NOOP("Settings", "System"),
    "system": QT_TRANSLATE_NOOP("Settings", "System"),
    "light": QT_TRANSLATE_NOOP("Settings", "Light"),
    "dark": QT_TRANSLATE_NOOP("Settings", "Dark"),
    "auto": QT_TRANSLATE_NOOP("Settings", "Automatic"),
    "fixed": QT_TRANSLATE_NOOP("Settings", "Fixed"),
    "off": QT_TRANSLATE_NOOP("Settings", "Off"),
    "fast": QT_TRANSLATE_NOOP("Settings", "Fast"),
    "exact": QT_TRANSLATE_NOOP("Settings", "Exact"),
    "f16": QT_TRANSLATE_NOOP("Settings", "16 bits"),
    "u8": QT_TRANSLATE_NOOP("Settings", "8 bits"),
}
# Names of programs, and of languages: whoever needs one reads no other.
_NATIVE = {
    "headstart": "Headstart",
    "genai": "OpenVINO GenAI",
    "en": "English",
    "zh_CN": "简体中文",
    "zh_TW": "繁體中文",
}


def title(name: str) -> str:
    """The label of a setting."""
    return QCoreApplication.translate("Settings", _TITLES[name])


def meaning(name: str) -> str:
    """One sentence on what it does."""
    return QCoreApplication.translate("Settings", about()[name].meaning)


def word(value: str) -> str:
    """A value of a choice as a person reads it."""
    return QCoreApplication.translate("Settings", _WORDS[value]) if value in _WORDS else _NATIVE.get(value, value)
