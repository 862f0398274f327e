"""The page of the local server: its switch, the way to it, and who asked. Knows no process and no key file."""

from PySide6.QtWidgets import QWidget

from headstart.ui.local_server.request_log import RequestLog
from headstart.ui.local_server.serve_card import ServeCard
from headstart.ui.local_server.serve_door import ServeDoor
from headstart.ui.local_server.serve_view import ServeView
from headstart.ui.settings.setting_form import muted
from headstart.ui.widgets.page import Page
from headstart.ui.widgets.theme import TEXT_WIDTH, Theme


class ServePage(Page):
    """Its parts have the signals."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(TEXT_WIDTH, parent)
        self.set_title(self.tr("Local server"))
        intro = self.tr(
            "Editors and scripts on this computer can ask the model of the open chat as they ask OpenAI's API. No "
            "other computer and no web page gets in, and no program without the key; the server ends with this window."
        )
        self.card = ServeCard(self)
        self.door = ServeDoor(self)
        self.requests = RequestLog(self)
        for part in (muted(intro, self), self.card, self.door, self.requests):
            self.column.addWidget(part)
        self.column.addStretch(1)
        self.entered.connect(self.card.switch.setFocus)
        self.set_theme(theme)

    def show_view(self, view: ServeView) -> None:
        """Another state, or other values."""
        self.card.show_view(view)
        self.door.show_view(view)
