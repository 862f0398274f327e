"""Every page and dialog as it is to be seen in a picture. Takes none itself, and knows no engine."""

from PySide6.QtWidgets import QDialog

from bench.album import Album, Scene, dialog_of, open_chat, press, scroll_to
from bench.showcase import SIZE, TALKS, Showcase
from headstart.ui.application import make_application
from headstart.ui.settings.preferences import Preferences
from headstart.ui.translation import Translation
from headstart.ui.window_commands import CommandPalette

_SHOWN = 3  # the page of the preferences that is kept: guessing ahead


def chat(showcase: Showcase, album: Album) -> None:
    """Code with token colours and live figures, as the answer ends."""
    window, program = showcase.program.window, showcase.program
    open_chat(showcase, TALKS[-1].title)
    press(showcase, "origins", "live", "regenerate")
    showcase.settle(lambda: not program.presenter.session.is_answering)
    window.chat.notice.hide()
    album.take("chat")
    press(showcase, "origins", "live", "panel")
    album.take("panel")
    press(showcase, "panel")


def text(showcase: Showcase, album: Album) -> None:
    """A table."""
    open_chat(showcase, TALKS[2].title)
    album.take("table")


def empty(showcase: Showcase, album: Album) -> None:
    """A new chat."""
    press(showcase, "new")
    album.take("new-chat")


def search(showcase: Showcase, album: Album) -> None:
    """Hits in all chats, and one of them opened."""
    sidebar = showcase.program.window.sidebar
    sidebar.search.setText("tuple")
    showcase.settle()
    listing = sidebar.list
    listing.setCurrentIndex(listing.model().index(2, 0))  # below the heading and the title that was found
    listing.clicked.emit(listing.currentIndex())
    album.take("search")
    sidebar.search.clear()


def models(showcase: Showcase, album: Album) -> None:
    """What is installed."""
    press(showcase, "models")
    album.take("models")
    press(showcase, "stop")


def server(showcase: Showcase, album: Album) -> None:
    """The local server before it is switched on."""
    press(showcase, "server")
    album.take("server")
    press(showcase, "stop")


def bench(showcase: Showcase, album: Album) -> None:
    """The last result."""
    press(showcase, "bench")
    measure(showcase)
    page = showcase.program.window.bench
    album.take("benchmark-form")
    scroll_to(page, 0.5)
    album.take("benchmark")
    scroll_to(page, 1.0)
    album.take("benchmark-advice")
    press(showcase, "stop")


def tune(showcase: Showcase, album: Album) -> None:
    """What tuning found, and why."""
    press(showcase, "tune")
    album.take("tune-before")
    run_tuning(showcase)
    album.take("tune")
    press(showcase, "stop")


def race(showcase: Showcase, album: Album) -> None:
    """Both lanes at their end, with the proof."""
    press(showcase, "race")
    run_race(showcase)
    album.take("race")
    press(showcase, "stop")
    showcase.settle(lambda: showcase.program.loader.is_ready)


def preferences(showcase: Showcase, album: Album) -> None:
    """Each page of them."""
    press(showcase, "preferences")
    dialog = dialog_of(showcase, Preferences)
    for page in range(dialog.list.count()):
        dialog.list.setCurrentRow(page)
        album.take("preferences" if page == _SHOWN else f"preferences-{page + 1}")
    dialog.close()


def palette(showcase: Showcase, album: Album) -> None:
    """What "chat" finds."""

    def ask() -> None:
        for before in showcase.program.window.findChildren(CommandPalette):
            before.close()
        press(showcase, "palette")
        dialog_of(showcase, CommandPalette).field.setText("chat")

    album.take("palette", ask)
    dialog_of(showcase, CommandPalette).close()


def windows(showcase: Showcase, album: Album) -> None:
    """Those beside the window."""
    for name in ("about", "logs", "shortcuts", "prompts"):
        press(showcase, name)
        album.take(name)
        dialog_of(showcase, QDialog).close()
        showcase.settle()


def large(showcase: Showcase, album: Album) -> None:
    """Everything a quarter larger."""
    open_chat(showcase, TALKS[-1].title)
    press(showcase, "panel")
    before = showcase.program.settings.zoom
    showcase.program.change(zoom=125)
    album.take("large")
    showcase.program.change(zoom=before)
    press(showcase, "panel")


def narrow(showcase: Showcase, album: Album) -> None:
    """A small window."""
    window = showcase.program.window
    press(showcase, "sidebar")
    window.resize(640, 720)
    for name in ("models", "race", "bench", "write"):
        press(showcase, name)
        album.take(f"narrow-{name}")
    window.resize(*showcase.size)
    press(showcase, "sidebar")


def chinese(showcase: Showcase, album: Album) -> None:
    """The same in Simplified Chinese."""
    before = showcase.program.settings.language
    showcase.program.change(language="zh_CN")
    translation = Translation(make_application())
    translation.speak("zh_CN")
    showcase.reopen()
    open_chat(showcase, TALKS[1].title)
    press(showcase, "panel")
    album.take("chinese")
    press(showcase, "panel", "models")
    album.take("chinese-models")
    press(showcase, "stop", "preferences")
    album.take("chinese-preferences")
    dialog_of(showcase, QDialog).close()
    showcase.program.change(language=before)
    translation.speak(before or "en")
    showcase.reopen()


SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (
        chat,
        text,
        empty,
        search,
        models,
        server,
        bench,
        tune,
        race,
        preferences,
        palette,
        windows,
        large,
        narrow,
        chinese,
    )
}


def measure(showcase: Showcase) -> None:
    """A small benchmark, to its end."""
    page = showcase.program.window.bench
    page.form.prompts.setValue(SIZE.prompts)
    page.form.tokens.setValue(SIZE.tokens)
    page.form.repeats.setValue(SIZE.repeats)
    page.form.peer.setChecked(SIZE.with_peer)
    page.start_requested.emit(page.form.size_wanted())
    showcase.settle(lambda: not showcase.program.loader.occupation)


def run_tuning(showcase: Showcase) -> None:
    """Until the tuned model is loaded."""
    page = showcase.program.window.tune
    page.start_requested.emit(page.seconds.value())
    showcase.settle(lambda: not showcase.program.loader.occupation and showcase.program.loader.is_ready)


def run_race(showcase: Showcase) -> None:
    """Both lanes, and their replay, to the end."""
    page = showcase.program.window.race
    page.start_requested.emit(page.form.wish())
    showcase.settle(lambda: not showcase.program.loader.occupation)
    page.stop_requested.emit()  # the replay: to its end
