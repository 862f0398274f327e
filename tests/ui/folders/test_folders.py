"""Stories of projects with folders: added, followed, searched for each question, named in the answer, forgotten."""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QWidget
from pytestqt.qtbot import QtBot

from bench.toy import PROGRAM
from bench.window.profile import toy_model
from headstart.chat.conversation import Project
from headstart.chat.folders import folder_files
from headstart.chat.folders.folder_index import CUT, LOCKED, MISSING, UNREAD, FolderIndex, FolderState
from headstart.chat.folders.folder_question import Question
from headstart.chat.history.database import FOLDERS_NAME
from headstart.errors import EngineLostError, HistoryError, Translatable
from headstart.ui.folders import folders_controller
from headstart.ui.folders.folder_list import ENGLISH_MODEL, MODEL_OF_LANGUAGES, FolderRow
from headstart.ui.folders.folders_controller import FolderFindings
from headstart.ui.program import EngineSource, Program
from headstart.ui.sidebar.projects import ProjectDialog
from headstart.ui.transcript.message import MessageAction
from headstart.ui.transcript.message_view import MessageView, SourceList
from headstart.workspace.folder import IS_SUPPORTED
from tests.chat.folders.test_folders import TopicEmbedder, write
from tests.support.waiting import PATIENCE
from tests.ui.conftest import Speak
from tests.ui.folders.test_projects import answer_box, choose, dialog
from tests.ui.person import WAIT, ask, press, shown, words
from tests.ui.person import write as type_and_send

Open = Callable[..., Program]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a busy machine time to read the files before a question is sent, and let it read as fast as it tests."""
    for name in ("SEARCH_S", "FIRST_SEARCH_S"):
        monkeypatch.setattr(folders_controller, name, PATIENCE)
    monkeypatch.setattr(folder_files, "_NICE", 0)


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """A folder with two files."""
    folder = tmp_path / "papers"
    write(folder / "walrus.md", "# Walrus\n\nThe walrus sleeps by day & night.")
    write(folder / "run.sh", "echo the tiger was charged in pounds")
    return folder


class ToyEmbedder(TopicEmbedder):
    """An embedder that records whether its model is loaded, and can fail."""

    fails = False
    is_loaded = False

    def start(self) -> None:
        """Note that the model is needed."""
        self.is_loaded = True

    def close(self) -> None:
        """Note that the model is unloaded."""
        self.is_loaded = False

    def embed(self, texts: Sequence[str], *, are_questions: bool = False) -> Sequence[bytes]:
        """Return a vector for each text."""
        if self.fails:
            raise EngineLostError("gone")
        return super().embed(texts, are_questions=are_questions)


@pytest.fixture
def embedder() -> ToyEmbedder:
    return ToyEmbedder()


@pytest.fixture
def app_with_model(open_program: Open, embedder: ToyEmbedder) -> Program:
    """The window with an embedding model."""
    return open_program(engine=EngineSource((*PROGRAM, "--pace", "0"), toy_model, find_embedder=lambda: embedder))


def open_project(app: Program, *folders: Path) -> None:
    """Begin a chat in a project with these folders."""
    app.store.add_project(Project("Thesis", folders=tuple(map(str, folders))))
    app.chats.refresh()
    choose(app, "Thesis")


def wait_for(qtbot: QtBot, app: Program, folder: Path, is_done: Callable[[FolderState], bool]) -> None:
    """Update the index and wait for a state of the whole folder: one in progress names no problem."""
    app.folders.update()

    def is_so() -> bool:
        state = app.folders.state(str(folder))
        return state.total is None and is_done(state)

    qtbot.waitUntil(is_so, timeout=WAIT)


def sources(app: Program) -> SourceList:
    """Return the passages that the last answer names."""
    view = last(app)
    assert view._sources
    return view._sources


def last(app: Program) -> MessageView:
    return app.window.chat.transcript.view(len(shown(app)) - 1)


def sent(app: Program, number: int = -1) -> str:
    """Return a message of the last request."""
    return app.chat_controller.session.request(app.chat_controller.session.path[:-1]).messages[number].content


def edit(app: Program) -> ProjectDialog:
    app.window.sidebar.project_edit_requested.emit("Thesis")
    return dialog(app)


def test_question_gets_passages_and_the_answer_names_them(qtbot: QtBot, app: Program, papers: Path) -> None:
    open_project(app, papers)
    ask(qtbot, app, "when does the walrus sleep?")
    assert sent(app).startswith("Passages of my files that may help.")
    assert "papers/walrus.md, line 1:\n```\n# Walrus\n\nThe walrus sleeps by day & night.\n```" in sent(app)
    assert sent(app).endswith("\n\nwhen does the walrus sleep?")
    assert shown(app)[0].text.strip() == "when does the walrus sleep?"
    chip = sources(app).buttons()[0]
    assert chip.text() == "walrus.md, line 1"
    assert chip.toolTip().startswith(str(papers / "walrus.md"))
    assert "Given to the model:" in words(last(app))
    height = last(app).height()
    chip.click()
    passage = last(app)._passage
    assert passage
    assert "walrus sleeps by day & night" in passage.toPlainText()
    assert last(app).height() > height


def test_answer_to_a_follow_up_shows_what_was_searched(qtbot: QtBot, app: Program, papers: Path) -> None:
    open_project(app, papers)
    ask(qtbot, app, "when does the walrus sleep?")
    write(papers / "food.md", "# Walrus food\n\nThe walrus eats clams.")
    ask(qtbot, app, "and what clams does it eat?")
    (lead,) = (each for each in sources(app).findChildren(QLabel) if each.toolTip())
    assert "when does the walrus sleep?" in lead.toolTip()
    assert "clams" in lead.text()


def test_answer_says_that_nothing_fits(qtbot: QtBot, app: Program, papers: Path) -> None:
    open_project(app, papers)
    ask(qtbot, app, "which airship won the regatta?")
    assert sent(app) == "which airship won the regatta?"
    assert "which airship won the regatta?" in words(last(app))


def test_search_of_a_folder_that_is_still_read_does_not_say_that_nothing_fits(
    qtbot: QtBot, app: Program, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders_controller, "FIRST_SEARCH_S", -1.0)  # no time for a single file
    open_project(app, papers)
    ask(qtbot, app, "when does the walrus sleep?")
    assert sent(app) == "when does the walrus sleep?"
    assert "still being read" in words(app.window.chat.notice)
    assert "walrus" not in words(last(app))
    wait_for(qtbot, app, papers, lambda state: not state.problem)
    ask(qtbot, app, "when does the walrus sleep?")
    assert not app.window.chat.notice.isVisible()
    assert [chip.text() for chip in sources(app).buttons()] == ["walrus.md, line 1"]


def test_folder_that_is_not_there_is_named(qtbot: QtBot, app: Program, papers: Path, tmp_path: Path) -> None:
    open_project(app, papers, tmp_path / "unplugged")
    ask(qtbot, app, "which airship won the regatta?")
    assert "unplugged is not there" in words(app.window.chat.notice)
    assert "regatta" not in words(last(app))
    ask(qtbot, app, "when does the walrus sleep?")
    assert "unplugged is not there" in words(app.window.chat.notice)
    assert [chip.text() for chip in sources(app).buttons()] == ["walrus.md, line 1"]


def test_passages_keep_their_places(qtbot: QtBot, app: Program, papers: Path) -> None:
    for number in range(4):
        write(papers / f"the walrus and its sleep by day and by night, part {number}.md", "The walrus sleeps.")
    open_project(app, papers)

    def check() -> None:
        QApplication.processEvents()
        row = sources(app)
        parts = [each for each in row.findChildren(QWidget) if each.isVisible() and each.parent() is row]
        assert len(parts) == len(row.buttons()) + 1  # and what they are
        assert "Given to the model:" in words(last(app))
        places = [part.geometry() for part in parts]
        assert all(row.rect().contains(place) for place in places)
        assert not any(one.intersects(other) for one, other in combinations(places, 2))

    ask(qtbot, app, "when does the walrus sleep?")
    check()
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.chat_controller.regenerate_last()
    check()
    app.chat_controller.session.switch_version(app.chat_controller.session.path[-1].id, -1)
    check()
    app.chat_controller.edit_last()
    app.window.chat.composer.set_text("why does the walrus sleep by night?")
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        type_and_send(app, "")
    check()
    for width in (700, 1300):
        app.window.resize(width, 700)
        check()
    for zoom in (150, 100):
        app.settings.change(zoom=zoom)
        check()


def test_file_of_a_passage_is_opened_but_never_run(
    qtbot: QtBot, app: Program, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    open_project(app, papers)
    ask(qtbot, app, "was the walrus or the tiger charged?")
    places = [chip.text() for chip in sources(app).buttons()]
    opener = sources(app).opener
    assert opener.isHidden()
    sources(app).buttons()[places.index("walrus.md, line 1")].click()
    assert opener.text() == "Open the File"
    opener.click()
    sources(app).buttons()[places.index("run.sh, line 1")].click()
    assert opener.text() == "Show in Its Folder"
    opener.click()
    assert [Path(url.toLocalFile()) for url in opened] == [papers / "walrus.md", papers]
    (papers / "walrus.md").unlink()
    sources(app).buttons()[places.index("walrus.md, line 1")].click()
    assert not opener.isEnabled()


def test_passages_stay_with_the_chat(qtbot: QtBot, open_program: Open, papers: Path) -> None:
    app = open_program()
    open_project(app, papers)
    ask(qtbot, app, "when does the walrus sleep?")
    chat = app.chat_controller.session.chat.id
    app = open_program()
    app.chats.open(chat)
    assert sources(app).buttons()[0].text() == "walrus.md, line 1"


def test_later_question_sees_changed_files(qtbot: QtBot, app: Program, papers: Path) -> None:
    open_project(app, papers)
    ask(qtbot, app, "when does the walrus sleep?")
    write(papers / "walrus.md", "The walrus sleeps on Sundays.")
    ask(qtbot, app, "and when does the walrus sleep now?")
    assert "walrus sleeps on Sundays" in sent(app)


def test_edited_question_is_searched_and_an_edited_answer_is_not(qtbot: QtBot, app: Program, papers: Path) -> None:
    open_project(app, papers)
    ask(qtbot, app, "hello?")
    assert "Passages of my files" not in sent(app)
    app.window.chat.transcript.action_requested.emit(MessageAction.EDIT, shown(app)[0].id)
    app.window.chat.composer.set_text("")
    ask(qtbot, app, "what was the tiger charged in?")
    assert "charged in pounds" in sent(app)
    app.window.chat.transcript.action_requested.emit(MessageAction.EDIT, shown(app)[1].id)
    app.window.chat.composer.set_text("")
    type_and_send(app, "walrus")
    assert app.chat_controller.session.path[1].excerpts == ()


def test_chat_without_folders_is_sent_at_once(qtbot: QtBot, app: Program) -> None:
    open_project(app)
    ask(qtbot, app, "when does the walrus sleep?")
    assert sent(app) == "when does the walrus sleep?"
    assert not (app.store.path.parent / FOLDERS_NAME).exists()


def test_fewer_passages_go_where_there_is_less_room(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    for number in range(6):
        write(tmp_path / "long" / f"{number}.txt", f"walrus {'a b c ' * 2000}")
    open_project(app, tmp_path / "long")
    ask(qtbot, app, "walrus?")
    assert 0 < len(app.chat_controller.session.path[0].excerpts) < 5


def test_search_that_is_left_sends_nothing(qtbot: QtBot, app: Program, papers: Path) -> None:
    found: list[Callable[..., object]] = []

    def search(_project: str, _question: Question, on_found: Callable[..., object]) -> bool:
        found.append(on_found)
        return True

    app.chat_controller.composing.search_folders = search
    open_project(app, papers)
    type_and_send(app, "walrus?")
    qtbot.waitUntil(lambda: "Searching the files" in words(app.window.chat.notice), timeout=WAIT)
    choose(app, "Thesis")  # another chat
    found[0](FolderFindings())
    assert shown(app) == []
    choose(app, "Thesis")
    assert app.window.chat.composer.text() == "walrus?"
    type_and_send(app, "")
    type_and_send(app, "")
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        found[1](FolderFindings())
        found[2](FolderFindings())
    assert shown(app)[0].text.strip() == "walrus?"
    assert len(shown(app)) == 2


def test_dialog_adds_and_removes_folders(
    qtbot: QtBot, app: Program, papers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_project(app)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(papers))
    editing = edit(app)
    assert "No folders" in words(editing)
    editing.folders.add_button.click()
    editing.folders.add_button.click()
    assert editing.folders.folders == (str(papers),)
    assert "No folders" not in words(editing)
    press(editing, "Save")
    assert app.store.project("Thesis") == Project("Thesis", folders=(str(papers),))
    qtbot.waitUntil(lambda: app.folders.state(str(papers)).files == 2, timeout=WAIT)
    editing = edit(app)
    qtbot.waitUntil(lambda: "2 files" in words(editing), timeout=WAIT)
    write(papers / "third.txt", "more")
    app.folders.update()
    qtbot.waitUntil(lambda: "3 files" in words(editing), timeout=WAIT)
    editing.folders.remove(str(papers))
    press(editing, "Save")
    assert app.store.project_folders() == ()


def test_dialog_grows_with_its_folders(qtbot: QtBot, app: Program, papers: Path, tmp_path: Path) -> None:
    open_project(app)
    editing = edit(app)
    before = editing.height()
    for folder in (papers, tmp_path):
        editing.folders.add(str(folder))
    parts = (editing.folders.add_button, *editing.folders.findChildren(FolderRow))
    qtbot.waitUntil(lambda: all(part.height() >= part.minimumSizeHint().height() for part in parts), timeout=WAIT)
    room = app.window.screen().availableGeometry().height()
    assert before < editing.height() <= room
    editing.close()


def test_renamed_project_keeps_its_folders(app: Program, papers: Path) -> None:
    open_project(app, papers)
    app.projects.rename("Thesis", "Book")
    assert app.store.project("Book") == Project("Book", folders=(str(papers),))


def test_deleted_project_leaves_no_word_of_its_folders(qtbot: QtBot, app: Program, tmp_path: Path) -> None:
    secret = " ".join(f"{number:04d}zqxjvk" for number in range(3000))
    write(tmp_path / "secret" / "a.txt", secret)
    open_project(app, tmp_path / "secret")
    wait_for(qtbot, app, tmp_path / "secret", lambda state: state.files == 1)
    home = app.store.path.parent

    def count() -> int:
        return sum(path.read_bytes().count(b"zqxjvk") for path in home.rglob("*") if path.is_file())

    assert count()
    answer_box("Delete")
    app.projects.delete("Thesis")
    qtbot.waitUntil(lambda: not count(), timeout=WAIT)
    app.window.close()
    assert not count()


def test_words_at_once_and_other_words_with_a_model(
    qtbot: QtBot, app_with_model: Program, embedder: ToyEmbedder, tmp_path: Path
) -> None:
    app = app_with_model
    write(tmp_path / "notes" / "car.txt", "The motor is loud.")
    write(tmp_path / "notes" / "garden.txt", "An apple falls.")
    open_project(app, tmp_path / "notes")
    wait_for(qtbot, app, tmp_path / "notes", lambda state: state.embedded == 2)
    ask(qtbot, app, "which engine?")
    assert "notes/car.txt, line 1:" in sent(app)
    write(tmp_path / "notes" / "sky.txt", "A heron falls.")
    embedder.fails = True
    ask(qtbot, app, "and the heron?")
    assert "A heron falls." in sent(app)


@pytest.mark.skipif(not IS_SUPPORTED, reason="folders can be confined on Linux and macOS")
def test_working_folder_is_searched_by_meaning_where_the_project_has_vectors_of_it(
    qtbot: QtBot, app_with_model: Program, tmp_path: Path
) -> None:
    app, notes = app_with_model, tmp_path / "notes"
    write(notes / "cars" / "car.txt", "The motor is loud.")
    write(notes / "garden.txt", "An engine in the garden.")
    open_project(app, notes)
    session = app.chat_controller.session
    (tmp_path / "elsewhere").mkdir()

    def offered() -> list[str]:
        tools = session.request(session.path).tools
        return [tool.name for tool in tools.offered] if tools else []

    ask(qtbot, app, "Hi")
    wait_for(qtbot, app, notes, lambda state: state.embedded == 2)
    session.folder.give(tmp_path / "elsewhere")
    assert "search_meaning" not in offered()
    session.folder.give(notes / "cars")
    assert "search_meaning" in offered()
    call = r'{"question": "which \u0065ngine?"}'  # the message itself fits no passage
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        type_and_send(app, f"toy: call search_meaning {call}")
        qtbot.waitUntil(lambda: session.pending_call is not None, timeout=WAIT)
        session.decide(allowed=True)
    (made,) = session.path[-1].calls
    assert made.result == "car.txt, line 1:\nThe motor is loud."


def test_search_of_a_tool_follows_the_folders_that_a_project_has_now(
    qtbot: QtBot, app_with_model: Program, tmp_path: Path
) -> None:
    app, notes, other = app_with_model, tmp_path / "notes", tmp_path / "other"
    write(notes / "car.txt", "The motor is loud.")
    write(other / "garden.txt", "An apple falls.")
    open_project(app, notes)
    wait_for(qtbot, app, notes, lambda state: state.embedded == 1)
    search = app.folders.search_in("Thesis", notes)
    assert search
    assert [excerpt.name for excerpt in search("which engine")] == ["notes/car.txt"]
    app.store.change_project("Thesis", Project("Thesis", folders=(str(other),)))
    wait_for(qtbot, app, other, lambda state: state.embedded == 1)
    assert search("which engine") == ()
    with FolderIndex(app.store.path.parent, None) as index:
        assert index.state(str(notes)) == FolderState(str(notes), problem=UNREAD)
        assert index.state(str(other)).embedded == 1


def test_model_is_loaded_while_a_question_is_typed(
    qtbot: QtBot, app_with_model: Program, embedder: ToyEmbedder, papers: Path
) -> None:
    app = app_with_model
    open_project(app, papers)
    qtbot.waitUntil(lambda: embedder.is_loaded, timeout=WAIT)
    wait_for(qtbot, app, papers, lambda state: state.embedded == 2)

    def is_unloaded() -> bool:
        app.folders.unload()  # does nothing as long as the last piece of work is not over
        return not embedder.is_loaded

    qtbot.waitUntil(is_unloaded, timeout=WAIT)
    app.window.chat.composer.set_text("which")
    qtbot.waitUntil(lambda: embedder.is_loaded, timeout=WAIT)


def test_preparing_waits_while_an_answer_is_written(
    qtbot: QtBot, app_with_model: Program, embedder: ToyEmbedder, papers: Path
) -> None:
    app = app_with_model
    pauses: list[bool] = []

    def is_answering() -> bool:
        pauses.append(True)
        return True

    app.folders._is_answering = is_answering
    open_project(app, papers)
    wait_for(qtbot, app, papers, lambda state: state.files == 2)
    qtbot.waitUntil(lambda: len(pauses) > 2, timeout=WAIT)
    assert embedder.count == 0
    app.folders._is_answering = lambda: False
    qtbot.waitUntil(lambda: app.folders.state(str(papers)).embedded == 2, timeout=WAIT)


def test_model_is_offered_until_there_is_one(app: Program, papers: Path) -> None:
    open_project(app, papers)
    editing = edit(app)
    assert "With the model all-MiniLM-L6-v2 (91 MB) they are found in other words, too." in words(editing)
    editing.folders.model_button.click()
    assert not editing.isVisible()
    assert app.window.models.isVisible()
    rows = [row.recipe.name for row in app.window.models.catalogue.rows if not row.isHidden()]
    assert rows == [ENGLISH_MODEL]


def test_model_of_many_languages_is_offered_for_a_german_folder(qtbot: QtBot, app: Program, papers: Path) -> None:
    (papers / "satzung.txt").write_text(
        "Der Verein fördert die Pflege der alten Obstsorten.\n\n" * 200, encoding="utf-8"
    )
    open_project(app, papers)
    wait_for(qtbot, app, papers, lambda state: state.files == 3)
    assert edit(app).folders.offered_model == MODEL_OF_LANGUAGES


def test_offer_is_gone_with_a_model(app_with_model: Program, papers: Path) -> None:
    open_project(app_with_model, papers)
    assert edit(app_with_model).folders.model_button.isHidden()


PREPARING = "1,204 files, preparing the search in other words, 37 %, 17 skipped"
CLOSED = "You may not open the folder: change its rights. What was read of it is kept until you remove it here."
GONE = "The folder is not there. What was read of it is kept until you remove it here."


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (FolderState("a", 1, passages=1, embedded=1), "1 file"),
        (FolderState("a", 1204, 17, passages=100, embedded=37), PREPARING),
        (FolderState("a", 12, total=300), "Reading file 12 of 300…"),
        (FolderState("a", problem=UNREAD), "Not read yet"),
        (FolderState("a", 12, problem=MISSING), GONE),
        (FolderState("a", 12, problem=LOCKED), CLOSED),
        (FolderState("a", 20_000, problem=CUT), "20,000 files. Only the first 20,000 files are read."),
        (FolderState("a", 2, unreadable={"b.pdf": Translatable("It is damaged.")}), "2 files"),
    ],
)
def test_state_is_described(qtbot: QtBot, state: FolderState, sentence: str) -> None:
    around = QWidget()
    qtbot.addWidget(around)
    row = FolderRow("a", around)
    row.show_state(state, has_model=True)
    assert row.status.text() == sentence


def test_reasons_of_unreadable_files_can_be_unfolded(qtbot: QtBot) -> None:
    around = QWidget()
    qtbot.addWidget(around)
    row = FolderRow("a", around)
    reason = Translatable("{name} is encrypted.", name="<b>b</b>.pdf")
    row.show_state(FolderState("a", 2, unreadable={"sub/dir/b.pdf": reason, "sub/": reason}), has_model=True)
    assert row.unreadable.text() == "2 files could not be read"
    assert row.reasons.isHidden()
    row.unreadable.click()
    assert not row.reasons.isHidden()
    assert row.reasons.text() == "• <b>b</b>.pdf is encrypted. (in sub/dir)\n• <b>b</b>.pdf is encrypted."
    assert row.reasons.textFormat() == Qt.TextFormat.PlainText
    row.show_state(FolderState("a", 2), has_model=True)
    assert row.unreadable.isHidden()
    assert row.reasons.isHidden()


def test_fault_of_the_index_is_said_once(qtbot: QtBot, app: Program, papers: Path) -> None:
    (app.store.path.parent / FOLDERS_NAME).mkdir()
    open_project(app, papers)
    said: list[str] = []
    app.folders.error_occurred.connect(said.append)
    ask(qtbot, app, "when does the walrus sleep?")
    qtbot.waitUntil(lambda: bool(said), timeout=WAIT)
    assert "nothing is lost" in said[0]
    ask(qtbot, app, "and now?")
    assert len(said) == 1
    (app.store.path.parent / FOLDERS_NAME).rmdir()
    ask(qtbot, app, "when does the walrus sleep now?")
    assert "walrus sleeps by day" in sent(app)


def test_folder_is_not_being_read_after_a_fault(
    qtbot: QtBot, app: Program, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_index: FolderIndex, folder: str, *_: object) -> Iterator[FolderState]:
        yield FolderState(folder, 1, total=2)
        raise HistoryError("The disk is full.")

    monkeypatch.setattr(FolderIndex, "update", fail)
    monkeypatch.setattr(folders_controller, "_REPORT_S", -1.0)
    open_project(app, papers)
    with qtbot.waitSignal(app.folders.error_occurred, timeout=WAIT):
        app.folders.update()
    editing = edit(app)
    assert "1 file" in words(editing)
    assert "Reading" not in words(editing)
    editing.reject()


def test_folders_work_in_chinese(qtbot: QtBot, open_program: Open, tmp_path: Path, speak: Speak) -> None:
    speak("zh_CN")
    app = open_program()
    write(tmp_path / "书" / "老虎.txt", "老虎白天睡觉。")
    open_project(app, tmp_path / "书")
    app.window.chat.composer.set_text("老虎什么时候睡觉？")
    with qtbot.waitSignal(app.chat_controller.answered, timeout=WAIT):
        app.window.chat.composer.submit()
    assert "老虎白天睡觉" in sent(app)
    assert sources(app).buttons()[0].text() == "老虎.txt，第 1 行"
