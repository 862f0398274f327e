"""Chats by day."""

from datetime import date, datetime, time

from headstart.chat.conversation import Chat
from headstart.ui.sidebar.chat_list import groups

TODAY = date(2026, 3, 20)


def chat(title: str, day: date, *, pinned: bool = False) -> Chat:
    seconds = datetime.combine(day, time(12)).astimezone().timestamp()
    return Chat(title, title, seconds, seconds, pinned=pinned)


def test_pinned_chats_stand_first_and_the_others_by_age() -> None:
    chats = [
        chat("old", date(2025, 12, 24)),
        chat("kept", date(2025, 1, 1), pinned=True),
        chat("week", date(2026, 3, 14)),
        chat("now", TODAY),
        chat("month", date(2026, 2, 20)),
        chat("yesterday", date(2026, 3, 19)),
        chat("older", date(2025, 12, 1)),
    ]
    found = [(group.title, [each.title for each in group.chats]) for group in groups(chats, TODAY)]
    assert found == [
        ("Pinned", ["kept"]),
        ("Today", ["now"]),
        ("Yesterday", ["yesterday"]),
        ("Last 7 days", ["week"]),
        ("Last 30 days", ["month"]),
        ("December 2025", ["old", "older"]),
    ]
