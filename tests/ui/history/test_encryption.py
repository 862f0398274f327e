"""The window of a person who encrypts the chats: switched on, asked for at start, changed, switched off."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QMessageBox
from pytestqt.qtbot import QtBot

from headstart import paths
from headstart.chat.history import backups, database, encryption, key_file
from headstart.chat.history.database import FILE_NAME, Key
from headstart.chat.history.store import Store, open_store
from headstart.engine.engine import LoadOptions
from headstart.engine.prefix_cache import PartFiles
from headstart.errors import HistoryError
from headstart.ui import application as starting
from headstart.ui.application import SingleInstance
from headstart.ui.engine_request import Loadable
from headstart.ui.history.encryption import EncryptionOrder, EncryptionPage, EncryptionWork, FormSpec, PassphraseForm
from headstart.ui.history.maintenance import PassphraseDialog, Recovery
from headstart.ui.program import EngineSource, Program
from headstart.ui.translation import Translation
from tests.chat.history import killing
from tests.chat.history.killing import CHATS, PASSPHRASE, WORD
from tests.ui.person import WAIT, ask, preferences

pytest.importorskip("sqlcipher3", reason="sqlcipher3 is not installed")


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make one guess of a passphrase take no time."""
    monkeypatch.setattr(key_file, "COST", killing.CHEAP)


@pytest.fixture
def plain(history: Path) -> Path:
    """A history with a backup and with a damaged one put aside."""
    killing.fill(history)
    return history


@pytest.fixture
def encrypted(plain: Path) -> Path:
    """An encrypted history."""
    encryption.encrypt(plain, PASSPHRASE)
    return plain


def _type(form: PassphraseForm, *texts: str) -> None:
    for field, text in zip(form.fields, texts, strict=True):
        field.setText(text)


def _page(program: Program) -> EncryptionPage:
    dialog = preferences(program)
    titles = [dialog.list.item(row).text() for row in range(dialog.list.count())]
    dialog.list.setCurrentRow(titles.index("Privacy"))
    return dialog.encryption


class Typist:
    """A typist who answers each question for the passphrase, and records the messages."""

    def __init__(self, *words: str) -> None:
        """Type each passphrase once; an empty one cancels."""
        self.told: list[str] = []
        self._words = list(words)
        self._timer = QTimer(QApplication.instance(), interval=20)
        self._timer.timeout.connect(self._act)
        self._timer.start()

    def _act(self) -> None:
        dialog = QApplication.activeModalWidget()
        if not isinstance(dialog, PassphraseDialog) or dialog.form.fields[0].isReadOnly():
            return
        self.told.append(dialog.form._state.text())
        word = self._words.pop(0) if self._words else ""
        if len(self._words) == 0:
            self._timer.stop()
        if not word:
            dialog.quit_button.click()
        dialog.form.fields[0].setText(word)
        dialog.form.button.click()


def test_passphrase_is_requested_until_right(qtbot: QtBot, encrypted: Path) -> None:
    typist = Typist("not that one", "seven brave crab", PASSPHRASE)
    with closing(_opened(Recovery(encrypted))) as store:
        assert len(store.chats()) == CHATS
    assert typist.told[0] == ""
    assert all(told.startswith("This is not the passphrase") for told in typist.told[1:])
    assert len(typist.told) == 3


def _opened(recovery: Recovery) -> Store:
    store = recovery.open()
    assert store
    return store


def test_second_start_raises_the_passphrase_dialog(qtbot: QtBot, encrypted: Path) -> None:
    recovery = Recovery(encrypted)
    recovery.bring_to_front()  # nothing is asked yet
    seen: list[bool] = []

    def look() -> None:
        dialog = QApplication.activeModalWidget()
        assert isinstance(dialog, PassphraseDialog)
        dialog.showMinimized()
        recovery.bring_to_front()
        seen.append(dialog.isVisible() and not dialog.isMinimized())
        dialog.quit_button.click()

    QTimer.singleShot(100, recovery, look)
    assert recovery.open() is None
    assert seen == [True]


def test_passphrase_dialog_can_be_left(qtbot: QtBot, encrypted: Path) -> None:
    before = (encrypted / FILE_NAME).read_bytes()
    typist = Typist("not that one", "")
    assert Recovery(encrypted).open() is None
    assert len(typist.told) == 2
    assert (encrypted / FILE_NAME).read_bytes() == before


def test_damaged_encrypted_history_is_restored_from_a_backup(qtbot: QtBot, encrypted: Path) -> None:
    with closing(killing.opened(encrypted)) as store:
        backups.keep_up(store.path.parent, store.key)
    (encrypted / FILE_NAME).write_bytes(b"\xff" * 40_000)
    typist = Typist(PASSPHRASE)
    timer = QTimer(QApplication.instance(), interval=20)

    def restore() -> None:
        box = QApplication.activeModalWidget()
        if isinstance(box, QMessageBox):
            timer.stop()
            next(button for button in box.buttons() if button.text().startswith("Restore")).click()

    timer.timeout.connect(restore)
    timer.start()
    with closing(_opened(Recovery(encrypted))) as store:
        assert len(store.search(WORD.decode())) == 2 * CHATS
    assert len(typist.told) == 1
    assert WORD not in (encrypted / FILE_NAME).read_bytes()


def test_passphrase_dialog_is_accessible(qtbot: QtBot) -> None:
    asked: list[str] = []
    key = key_file.new_key()

    def unlock(passphrase: str) -> Key:
        asked.append(passphrase)
        return key

    dialog = PassphraseDialog(unlock)
    qtbot.addWidget(dialog)
    dialog.show()
    (field,) = dialog.form.fields
    assert dialog.focusWidget() is field
    assert (field.accessibleName(), field.echoMode()) == ("Passphrase", QLineEdit.EchoMode.Password)
    QTest.keyClick(field, Qt.Key.Key_Return)  # nothing was typed
    QTest.keyClicks(field, "sesame")
    dialog.form.shown.click()
    assert field.echoMode() is QLineEdit.EchoMode.Normal
    with qtbot.waitSignal(dialog.accepted, timeout=WAIT):
        QTest.keyClick(field, Qt.Key.Key_Return)
    assert (asked, dialog.key) == (["sesame"], key)
    assert field.text() == ""


def test_long_refusal_fits_the_dialog(qtbot: QtBot) -> None:
    dialog = PassphraseDialog(lambda _: key_file.new_key())
    qtbot.addWidget(dialog)
    dialog.show()
    before = dialog.height()
    dialog.form.refuse("not this " * 30)
    qtbot.waitUntil(lambda: dialog.height() > before + 3 * dialog.fontMetrics().height(), timeout=WAIT)
    assert dialog.form.fields[0].height() >= dialog.form.fields[0].sizeHint().height()


def test_new_passphrase_is_typed_twice_with_consent(qtbot: QtBot) -> None:
    form = PassphraseForm(FormSpec(["new", "again"], "Do it", is_new=True, consent="I know"))
    qtbot.addWidget(form)
    _type(form, "long enough", "long enougH")
    assert "passphrases differ" in form._state.text()
    _type(form, "short", "short")
    assert "at least 8 characters" in form._state.text()
    _type(form, "long enough", "long enough")
    assert form._state.text() == ""
    assert not form.button.isEnabled()
    form.consent.click()
    with qtbot.waitSignal(form.submitted, timeout=WAIT) as sent:
        QTest.keyClick(form.fields[1], Qt.Key.Key_Return)
    assert sent.args == [("long enough", "long enough")]


def test_limits_are_shown_before_encryption(qtbot: QtBot, app: Program) -> None:
    page = _page(app)
    texts = " ".join(label.text() for label in page.findChildren(type(page._missing)) if label.isVisible())
    for word in ("memory", "swap", "exported", "notifications", "settings", "models", "deleted files", "backups"):
        assert word in texts
    assert "your chats cannot be recovered" in texts
    assert not page.encrypting.button.isEnabled()


def test_missing_packages_are_named_on_the_page(qtbot: QtBot, app: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "has_cipher", lambda: False)
    page = _page(app)
    assert "pip install sqlcipher3 cryptography" in page._missing.text()
    assert page._missing.isVisible()
    assert not page.encrypting.isVisible()


def test_chats_are_encrypted_at_closing(qtbot: QtBot, plain: Path, open_program: Callable[..., Program]) -> None:
    program = open_program()
    paths.typed_lines().write_text("+a question", encoding="utf-8")
    paths.last_chat().write_text("a question", encoding="utf-8")
    paths.kept_prompts().mkdir(parents=True)
    page = _page(program)
    _type(page.encrypting, PASSPHRASE, PASSPHRASE)
    page.encrypting.consent.click()
    page.encrypting.button.click()
    assert program.reopens is not None
    assert program.order
    assert PASSPHRASE not in f"{program.order}"
    work = EncryptionWork(program.order, plain, program.store.key)
    work.exec()
    assert (work.sentence, work.has_failed) == ("Your chats are encrypted now.", False)
    assert work.key == encryption.unlock(plain, PASSPHRASE)
    assert killing.readable(plain.parent) == set()
    assert not paths.typed_lines().exists()
    assert not paths.last_chat().exists()
    assert not paths.kept_prompts().exists()


def test_failed_encryption_is_reported_and_changes_nothing(
    qtbot: QtBot, plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Key:
        assert not paths.kept_prompts().exists()  # a kill from here on leaves nothing readable
        raise HistoryError("There is no room; make some.")

    paths.kept_prompts().mkdir(parents=True)
    monkeypatch.setattr(encryption, "encrypt", fail)
    work = EncryptionWork(EncryptionOrder(encrypts=True, passphrase=PASSPHRASE), plain, None)
    QTest.keyClick(work, Qt.Key.Key_Escape)
    work.exec()
    assert (work.sentence, work.has_failed, work.key) == ("There is no room; make some.", True, None)


def test_encrypted_chat_is_answered_searched_and_stored(
    qtbot: QtBot, encrypted: Path, open_encrypted: Callable[[], Program]
) -> None:
    program = open_encrypted()
    ask(qtbot, program, "toy: words 12 of the walrus")
    program.window.sidebar.search.setText("walrus")
    qtbot.waitUntil(lambda: bool(program.chats._results.hits), timeout=WAIT)
    assert killing.readable(encrypted) == set()


@pytest.mark.slow
def test_encrypted_prefix_is_reused_after_a_restart(
    qtbot: QtBot, headstart_home: Path, tiny_target: Path, open_encrypted: Callable[..., Program]
) -> None:
    engine = EngineSource(find=lambda _: Loadable("tiny", LoadOptions(tiny_target)))
    program = open_encrypted(engine=engine)
    program.settings.change(max_new_tokens=20)
    program.window.sidebar.new_requested.emit()
    ask(qtbot, program, f"{WORD.decode()} " * 40)
    chat = program.chat_controller.session.chat.id
    qtbot.waitUntil(lambda: bool(list(paths.kept_prompts().glob(f"*/{chat}/*.part"))), timeout=WAIT)
    program = open_encrypted(engine=engine)
    program.chats.open(chat)
    ask(qtbot, program, "And now?")
    first, *_, answer = program.store.conversation(chat).path
    reused = answer.stats["reused_tokens"]
    assert isinstance(reused, int)
    assert reused > len(first.text.split())
    assert killing.readable(headstart_home) == set()
    (model,) = paths.kept_prompts().iterdir()
    assert list(PartFiles(model.parent, model.name).read_all()) == []
    assert program.store.key
    key = program.store.key.derived("kept prompts", 64).hex().encode()
    assert not any(key in path.read_bytes() for path in headstart_home.rglob("*") if path.is_file())


@pytest.fixture
def open_encrypted(
    encrypted: Path, monkeypatch: pytest.MonkeyPatch, open_program: Callable[..., Program]
) -> Callable[..., Program]:
    """A function that opens the window on the encrypted history."""
    key = encryption.unlock(encrypted, PASSPHRASE)
    monkeypatch.setattr("tests.ui.conftest.open_store", lambda folder: open_store(folder, key))
    return open_program


def test_passphrase_is_changed_in_the_window(
    qtbot: QtBot, encrypted: Path, open_encrypted: Callable[[], Program]
) -> None:
    page = _page(open_encrypted())
    _type(page.changing, "not that one", "another one", "another one")
    page.changing.button.click()
    qtbot.waitUntil(lambda: "This is not the passphrase" in page.changing._state.text(), timeout=WAIT)
    _type(page.changing, PASSPHRASE, "another one", "another one")
    page.changing.button.click()
    qtbot.waitUntil(lambda: "The passphrase was changed" in page.changing._state.text(), timeout=WAIT)
    assert [field.text() for field in page.changing.fields] == ["", "", ""]
    assert encryption.unlock(encrypted, "another one")


def test_decryption_needs_the_passphrase(qtbot: QtBot, encrypted: Path, open_encrypted: Callable[[], Program]) -> None:
    program = open_encrypted()
    page = _page(program)
    _type(page.decrypting, "not that one")
    page.decrypting.button.click()
    qtbot.waitUntil(lambda: "This is not the passphrase" in page.decrypting._state.text(), timeout=WAIT)
    assert program.reopens is None
    _type(page.decrypting, PASSPHRASE)
    page.decrypting.button.click()
    qtbot.waitUntil(lambda: program.reopens is not None, timeout=WAIT)
    assert program.order
    paths.kept_prompts().mkdir(parents=True)
    work = EncryptionWork(program.order, encrypted, program.store.key)
    work.exec()
    assert not paths.kept_prompts().exists()
    assert (work.sentence, work.key) == ("Your chats are not encrypted any more.", None)
    with closing(open_store(encrypted)) as store:
        assert len(store.chats()) >= CHATS


def test_encryption_reopens_without_asking_again(qtbot: QtBot, plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop of windows itself: encrypt, open again without a question, then close."""
    seen: list[tuple[bool, list[str]]] = []

    def show(application: QApplication, program: Program, chat: str, *, quick: bool) -> int:
        assert not quick
        backups.keep_up(plain, program.store.key)
        copies = [backup.path.name for backup in backups.list_backups(plain)]
        seen.append((program.store.key is not None, copies))
        if len(seen) == 1:
            program.restart(EncryptionOrder(encrypts=True, passphrase=PASSPHRASE))
        program.close()
        return 0

    monkeypatch.setattr(starting, "_show", show)
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    monkeypatch.setattr(Translation, "install", lambda *_: None)  # words would stay for the tests behind this
    instance = SingleInstance(paths.data_folder())
    assert starting._run(application, instance, None, quick=False) == 0
    assert [encrypted for encrypted, _ in seen] == [False, True]
    assert seen[1][1]
    assert killing.readable(plain) == set()
    typist = Typist("")
    assert starting._run(application, instance, None, quick=False) == starting._FAILED
    assert len(seen) == 2
    assert len(typist.told) == 1
