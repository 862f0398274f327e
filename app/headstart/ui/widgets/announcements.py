"""Sentences that a screen reader speaks at once, wherever the focus is."""

from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget

post = QAccessible.updateAccessibility  # replaced in tests: Qt tells nobody else what it sends


def announce(widget: QWidget, sentence: str, *, urgent: bool = False) -> None:
    """Have screen readers speak a sentence about `widget`; an urgent one interrupts what they say."""
    if not sentence or not QAccessible.isActive():
        return
    event = QAccessibleAnnouncementEvent(widget, sentence)
    politeness = QAccessible.AnnouncementPoliteness
    event.setPoliteness(politeness.Assertive if urgent else politeness.Polite)
    post(event)
