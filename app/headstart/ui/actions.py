"""The commands of the window: text, shortcut and place in the menus."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenuBar

from headstart.ui.widgets.menus import Menu

_Key = QKeySequence.StandardKey
_CONTEXT = "Actions"
_ACCESS_KEY = re.compile(r"\(&\w\)")  # at the end of the text, in languages whose letters are on no key


@dataclass(frozen=True)
class MenuCommand:
    name: str
    menu: str
    text: str
    keys: QKeySequence.StandardKey | str = ""  # a standard key of the desktop or a portable text; "" for none
    is_checkable: bool = False
    has_separator: bool = False  # a line above it
    is_field_key: bool = False  # the focused field handles the keys; the menu only shows them


def _in(menu: Any, *commands: tuple[Any, ...]) -> tuple[MenuCommand, ...]:
    return tuple(MenuCommand(name, menu, *rest) for name, *rest in commands)


FILE = QT_TRANSLATE_NOOP("Actions", "&File")
EDIT = QT_TRANSLATE_NOOP("Actions", "&Edit")
VIEW = QT_TRANSLATE_NOOP("Actions", "&View")
CHAT = QT_TRANSLATE_NOOP("Actions", "&Chat")
MODEL = QT_TRANSLATE_NOOP("Actions", "&Model")
HELP = QT_TRANSLATE_NOOP("Actions", "&Help")

COMMANDS = (
    *_in(
        FILE,
        ("new", QT_TRANSLATE_NOOP("Actions", "&New Chat"), _Key.New),
        ("quick", QT_TRANSLATE_NOOP("Actions", "Quic&k Ask…")),
        ("export", QT_TRANSLATE_NOOP("Actions", "&Export Chat…"), "Ctrl+Shift+E"),
        ("import", QT_TRANSLATE_NOOP("Actions", "&Import Chats…")),
        ("rename", QT_TRANSLATE_NOOP("Actions", "&Rename Chat"), "F2", False, True),
        ("tags", QT_TRANSLATE_NOOP("Actions", "&Tags of Chat…"), "Ctrl+T"),
        ("pin", QT_TRANSLATE_NOOP("Actions", "&Pin Chat"), "", True),
        ("archive", QT_TRANSLATE_NOOP("Actions", "&Archive Chat")),
        ("delete", QT_TRANSLATE_NOOP("Actions", "&Delete Chat"), "Ctrl+Shift+Backspace"),
        ("show_archive", QT_TRANSLATE_NOOP("Actions", "Arc&hive"), "", False, True),
        ("show_bin", QT_TRANSLATE_NOOP("Actions", "Recentl&y Deleted")),
        ("preferences", QT_TRANSLATE_NOOP("Actions", "Pre&ferences…"), "Ctrl+,", False, True),
        ("quit", QT_TRANSLATE_NOOP("Actions", "&Quit"), "Ctrl+Q", False, True),
    ),
    *_in(
        EDIT,
        ("undo", QT_TRANSLATE_NOOP("Actions", "&Undo"), _Key.Undo),
        ("cut", QT_TRANSLATE_NOOP("Actions", "Cu&t"), _Key.Cut, False, True, True),
        ("copy", QT_TRANSLATE_NOOP("Actions", "C&opy"), _Key.Copy, False, False, True),
        ("paste", QT_TRANSLATE_NOOP("Actions", "&Paste"), _Key.Paste, False, False, True),
        ("select_all", QT_TRANSLATE_NOOP("Actions", "Select &All"), _Key.SelectAll, False, False, True),
        ("copy_last", QT_TRANSLATE_NOOP("Actions", "&Copy Last Answer"), "Ctrl+Shift+C", False, True),
        ("copy_chat", QT_TRANSLATE_NOOP("Actions", "Copy &Whole Chat")),
        ("find", QT_TRANSLATE_NOOP("Actions", "&Find in Chat"), _Key.Find, False, True),
        ("search", QT_TRANSLATE_NOOP("Actions", "&Search All Chats"), "Ctrl+Shift+F"),
    ),
    *_in(
        VIEW,
        ("palette", QT_TRANSLATE_NOOP("Actions", "&Command Palette…"), "Ctrl+K"),
        ("sidebar", QT_TRANSLATE_NOOP("Actions", "&Sidebar"), "Ctrl+B", True, True),
        ("panel", QT_TRANSLATE_NOOP("Actions", "Chat Se&ttings"), "Ctrl+J", True),
        ("origins", QT_TRANSLATE_NOOP("Actions", "Mark &Faster Words"), "Ctrl+Shift+T", True),
        ("live", QT_TRANSLATE_NOOP("Actions", "Li&ve Figures"), "Ctrl+Shift+L", True),
        ("zoom_in", QT_TRANSLATE_NOOP("Actions", "Zoom &In"), "Ctrl++", False, True),
        ("zoom_out", QT_TRANSLATE_NOOP("Actions", "Zoom O&ut"), "Ctrl+-"),
        ("zoom_reset", QT_TRANSLATE_NOOP("Actions", "&Actual Size"), "Ctrl+0"),
        ("theme_system", QT_TRANSLATE_NOOP("Actions", "S&ystem Theme"), "", True, True),
        ("theme_light", QT_TRANSLATE_NOOP("Actions", "&Light Theme"), "", True),
        ("theme_dark", QT_TRANSLATE_NOOP("Actions", "&Dark Theme"), "", True),
        ("theme_contrast", QT_TRANSLATE_NOOP("Actions", "&High Contrast Theme"), "", True),
    ),
    *_in(
        CHAT,
        ("stop", QT_TRANSLATE_NOOP("Actions", "&Stop"), "Esc"),
        ("regenerate", QT_TRANSLATE_NOOP("Actions", "&Regenerate Answer"), "Ctrl+R"),
        ("continue", QT_TRANSLATE_NOOP("Actions", "&Continue Answer"), "Ctrl+G"),
        ("compare", QT_TRANSLATE_NOOP("Actions", "C&ompare Answers"), "Ctrl+Shift+D"),
        ("read_aloud", QT_TRANSLATE_NOOP("Actions", "Read Answer A&loud"), "Ctrl+Shift+A"),
        ("edit_last", QT_TRANSLATE_NOOP("Actions", "&Edit Last Question"), "Ctrl+E"),
        ("write", QT_TRANSLATE_NOOP("Actions", "&Go to Message Box"), "Ctrl+L"),
        ("attach", QT_TRANSLATE_NOOP("Actions", "&Attach Files…"), _Key.Open),
        ("dictate", QT_TRANSLATE_NOOP("Actions", "&Dictate"), "Ctrl+D"),
        ("prompts", QT_TRANSLATE_NOOP("Actions", "&Prompts…"), "Ctrl+/"),
        ("tools", QT_TRANSLATE_NOOP("Actions", "&Tools…")),
        ("folder", QT_TRANSLATE_NOOP("Actions", "Working &Folder…")),
        ("enter_sends", QT_TRANSLATE_NOOP("Actions", "Enter Sends &Message"), "", True),
        ("next_chat", QT_TRANSLATE_NOOP("Actions", "&Next Chat"), "Ctrl+Tab", False, True),
        ("previous_chat", QT_TRANSLATE_NOOP("Actions", "Pre&vious Chat"), "Ctrl+Shift+Tab"),
    ),
    *_in(
        MODEL,
        ("models", QT_TRANSLATE_NOOP("Actions", "&Models…"), "Ctrl+M"),
        ("race", QT_TRANSLATE_NOOP("Actions", "&Race…"), "Ctrl+Shift+R"),
        ("bench", QT_TRANSLATE_NOOP("Actions", "&Benchmark…"), "Ctrl+Shift+B"),
        ("tune", QT_TRANSLATE_NOOP("Actions", "&Tune for This Machine…"), "Ctrl+Shift+M"),
        ("server", QT_TRANSLATE_NOOP("Actions", "Local &Server…"), "Ctrl+Shift+S"),
        ("load", QT_TRANSLATE_NOOP("Actions", "&Load Again")),
        ("unload", QT_TRANSLATE_NOOP("Actions", "&Unload")),
    ),
    *_in(
        HELP,
        ("manual", QT_TRANSLATE_NOOP("Actions", "&Manual…"), "F1"),
        ("keys", QT_TRANSLATE_NOOP("Actions", "&Keys…")),
        ("logs", QT_TRANSLATE_NOOP("Actions", "Show &Logs"), "", False, True),
        ("about", QT_TRANSLATE_NOOP("Actions", "&About Headstart")),
    ),
)


def make(parent: QObject) -> dict[str, QAction]:
    """Create the action of each command."""
    return {command.name: _action(command, parent) for command in COMMANDS}


def menus() -> Iterator[tuple[str, list[str]]]:
    """Yield the title of each menu, without the mark of its access key, and the names of its commands."""
    for menu in dict.fromkeys(command.menu for command in COMMANDS):
        yield _without_mark(_tr(menu)), [command.name for command in COMMANDS if command.menu == menu]


def fill(bar: QMenuBar, actions: dict[str, QAction]) -> None:
    """Add the menus with their actions in order."""
    for title in dict.fromkeys(command.menu for command in COMMANDS):
        menu = Menu(bar, _tr(title))
        bar.addMenu(menu)
        for command in COMMANDS:
            if command.menu == title and command.has_separator:
                menu.addSeparator()
            if command.menu == title:
                menu.addAction(actions[command.name])


def title(action: QAction) -> str:
    """Return an action's text without the mark of its access key."""
    return _without_mark(action.text())


def _without_mark(text: str) -> str:
    return _ACCESS_KEY.sub("", text).replace("&", "")


def _action(command: MenuCommand, parent: QObject) -> QAction:
    action = QAction(_tr(command.text), parent)
    action.setObjectName(command.name)
    action.setCheckable(command.is_checkable)
    if command.keys:
        action.setShortcut(QKeySequence(command.keys))
    if command.is_field_key:
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
    return action


def _tr(text: str) -> str:
    return QCoreApplication.translate(_CONTEXT, text)
