"""Sorts chats into the sidebar's groups: pinned, today, yesterday and so on. Knows no widget."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime

from PySide6.QtCore import QDate, QLocale

from headstart.chat.record import Chat
from headstart.ui.translation import translate


@dataclass(frozen=True)
class Group:
    """A heading and the chats under it, last changed first."""

    title: str
    chats: tuple[Chat, ...]


def groups(chats: Iterable[Chat], today: date | None = None) -> tuple[Group, ...]:
    """Pinned chats first, then by day; months beyond the last thirty days."""
    today = today or datetime.now().astimezone().date()
    found: dict[str, list[Chat]] = {}
    ordered = sorted(chats, key=lambda chat: (chat.pinned, chat.updated), reverse=True)
    for chat in ordered:
        title = translate("DayGroups", "Pinned") if chat.pinned else _title(_day(chat.updated), today)
        found.setdefault(title, []).append(chat)
    return tuple(Group(title, tuple(members)) for title, members in found.items())


def _title(day: date, today: date) -> str:
    age = (today - day).days
    if age <= 0:
        return translate("DayGroups", "Today")
    if age == 1:
        return translate("DayGroups", "Yesterday")
    if age <= 7:
        return translate("DayGroups", "Last 7 days")
    if age <= 30:
        return translate("DayGroups", "Last 30 days")
    return QLocale().toString(QDate(day.year, day.month, 1), translate("DayGroups", "MMMM yyyy"))


def _day(seconds: float) -> date:
    return datetime.fromtimestamp(seconds).astimezone().date()
