"""Sorts chats into the sidebar's groups: pinned, today, yesterday and so on. Knows no widget."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime

from PySide6.QtCore import QCoreApplication, QDate, QLocale

from headstart.chat.record import Chat


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
        title = _tr("Pinned") if chat.pinned else _title(_day(chat.updated), today)
        found.setdefault(title, []).append(chat)
    return tuple(Group(title, tuple(members)) for title, members in found.items())


def _title(day: date, today: date) -> str:
    age = (today - day).days
    if age <= 0:
        return _tr("Today")
    if age == 1:
        return _tr("Yesterday")
    if age <= 7:
        return _tr("Last 7 days")
    if age <= 30:
        return _tr("Last 30 days")
    return QLocale().toString(QDate(day.year, day.month, 1), "MMMM yyyy")


def _day(seconds: float) -> date:
    return datetime.fromtimestamp(seconds).astimezone().date()


def _tr(text: str) -> str:
    return QCoreApplication.translate("DayGroups", text)
