"""What is seldom seen: rich text, menus, a question before a removal, and what goes wrong. None is kept."""

import json
import os
import shutil
import signal

from PySide6.QtCore import QPoint, QTimer
from PySide6.QtWidgets import QApplication, QMenu, QMessageBox, QToolButton

from bench.album import Album, Scene, open_chat, press, scroll_to
from bench.showcase import TALKS, Showcase
from headstart import manifest, paths, remotes
from headstart.chat.conversation import Conversation, Outcome, State
from headstart.engine.engine import Remote

RICH = """<think>
The person wants a summary. A table, a formula and a short list will do.
</think>

## Growth of *n* log *n*

Sorting by comparison needs at least $\\log_2 n! \\approx n \\log_2 n - 1.44\\,n$ comparisons:

$$\\sum_{k=1}^{n} \\log_2 k = \\int_1^n \\log_2 x \\, dx + O(\\log n)$$

| *n* | comparisons | time |
| ---: | ---: | :--- |
| 1,000 | 8,530 | 0.1 ms |
| 1,000,000 | 18,488,874 | 0.3 s |

> A quotation with **bold**, `code` and a [link](https://example.org/a/very/long/address).

- [x] merge sort
- [ ] heap sort
  1. build
  2. take

这是**重点。**内容，然后继续。 مرحبا بالعالم 🙂

```rust
fn main() {
    let numbers: Vec<u64> = (1..=10).map(|n| n * n).collect(); // longer than the column is wide
    println!("{numbers:?}");
}
```
"""


def rich(showcase: Showcase, album: Album) -> None:
    """Everything that an answer may hold."""
    store = showcase.program.store
    chat = store.create_chat("How many comparisons does sorting need, and how long does that take?")
    asked = Conversation().ask("How many comparisons does sorting need?\n\n1. In theory\n2. In practice")
    begun = asked.begin_answer("qwen2.5-coder")
    assert begun.last
    done = begun.finish(begun.last.id, Outcome(RICH, State.STOPPED))
    store.save(chat.id, Conversation(), done)
    showcase.program.chats.open(chat.id)
    showcase.settle()
    album.take("rich")
    showcase.program.window.chat.transcript.verticalScrollBar().setValue(0)
    album.take("rich-top")


def streaming(showcase: Showcase, album: Album) -> None:
    """An answer being written."""
    open_chat(showcase, TALKS[-1].title)
    press(showcase, "live", "origins", "regenerate")
    album.take("streaming")
    showcase.settle(lambda: not showcase.program.presenter.session.is_answering)
    press(showcase, "live", "origins")


def finding(showcase: Showcase, album: Album) -> None:
    """Nothing is found, in a chat and in all."""
    window = showcase.program.window
    press(showcase, "find")
    window.chat.find_bar.field.setText("zebra")
    window.sidebar.search.setText("zebra")
    showcase.settle()
    album.take("nothing-found")
    window.sidebar.search.clear()
    window.chat.find_bar.close_find()


def writing(showcase: Showcase, album: Album) -> None:
    """Prompts to choose from, attached files, a message being edited, messages selected."""
    window = showcase.program.window
    composer = window.chat.composer
    press(showcase, "write")
    composer.set_text("/")
    showcase.settle()
    album.take("prompt-popup")
    composer.set_text("Please compare these.\nAnd tell me which is better.")
    files = [paths.history_folder() / name for name in ("notes about sorting and searching.md", "b.csv", "picture.png")]
    for file in files:
        file.write_bytes(b"\0\1" if file.suffix == ".png" else b"a,b\n" * 200)
    composer.attach(files)
    showcase.settle()
    album.take("attached")
    composer.clear()
    open_chat(showcase, TALKS[-1].title)
    press(showcase, "edit_last")
    album.take("editing")
    press(showcase, "stop")
    transcript = window.chat.transcript
    first, *_, last = transcript.contents()
    transcript.select_messages(first.id, last.id)
    album.take("selected")
    transcript.clear_selection()
    window.chat.notice.hide()


def menus(showcase: Showcase, album: Album) -> None:
    """Each of the bar, the one of a chat, of a message, of the model."""
    window = showcase.program.window
    open_chat(showcase, TALKS[-1].title)
    for action in window.menuBar().actions():
        menu = action.menu()
        if isinstance(menu, QMenu):
            menu.popup(window.mapToGlobal(QPoint(300, 40)))
            album.take("menu-" + action.text().replace("&", ""))
            menu.close()
    for number, button in enumerate(window.findChildren(QToolButton)):
        menu = button.menu()
        if isinstance(menu, QMenu) and button.isVisible():
            menu.aboutToShow.emit()
            menu.popup(window.mapToGlobal(QPoint(300, 40)))
            album.take(f"menu-of-button-{number}")
            menu.close()


def trouble(showcase: Showcase, album: Album) -> None:
    """A model that cannot be used, one that is too large, a server, a running export, a removal."""
    _add_unusable_models()
    remotes.add(Remote("office", "http://192.168.1.20:8000/v1", model="llama-3.3-70b-instruct"))
    showcase.reopen()
    press(showcase, "models")
    page = showcase.program.window.models
    album.take("models-broken")
    page.work.begin("Exporting qwen2.5-coder")
    page.work.append("reading weights 3 of 9")
    page.work.show_step("Compressing the weights: layer 12 of 28")
    page.work.show_progress(12, 28)
    album.take("models-working")
    page.work.end("The disk is full: 1.2 GB are needed, 0.3 GB are free. Make room and start again.", bad=True)
    album.take("models-failed")
    page.work.hide()
    for part in (0.45, 0.75, 1.0):
        scroll_to(page, part)
        album.take(f"models-{round(part * 100)}")
    QTimer.singleShot(400, page, lambda: _answer_no(album))
    page.remove_requested.emit("smollm2-135m-instruct")
    press(showcase, "stop")


def killed(showcase: Showcase, album: Album) -> None:
    """The engine dies in the middle of an answer."""
    open_chat(showcase, TALKS[-1].title)
    press(showcase, "regenerate")
    os.kill(showcase.program.link.pid, signal.SIGKILL)
    showcase.settle(lambda: not showcase.program.presenter.session.is_answering)
    album.take("killed")
    press(showcase, "delete")
    album.take("deleted")
    press(showcase, "undo")


def _add_unusable_models() -> None:
    """Half of one, and one for a larger computer."""
    broken = paths.models_folder() / "half-a-model"
    broken.mkdir()
    (broken / manifest.FILE_NAME).write_text("{", encoding="utf-8")
    large = shutil.copytree(paths.models_folder() / "smollm2-135m-instruct", paths.models_folder() / "a-larger-model")
    about = json.loads((large / manifest.FILE_NAME).read_text(encoding="utf-8"))
    (large / manifest.FILE_NAME).write_text(json.dumps({**about, "ram_bytes": 9 * 10**10}), encoding="utf-8")


def _answer_no(album: Album) -> None:
    box = next(each for each in QApplication.topLevelWidgets() if isinstance(each, QMessageBox) and each.isVisible())
    album.save("confirm", box.grab())
    box.reject()


RARE_SCENES: dict[str, Scene] = {
    scene.__name__: scene for scene in (rich, streaming, finding, writing, menus, trouble, killed)
}
