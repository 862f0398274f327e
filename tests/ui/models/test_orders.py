"""Random orders of what a person may do with models, settings and the engine: the window shows what is, and rests."""

import json
import logging
import random
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from bench.toy import ToyModels
from headstart import paths, settings
from headstart.chat.conversation import Role, State
from headstart.chat.history.store import UNSENT
from headstart.engine.engine import LoadOptions
from headstart.engine.process import session
from headstart.library import exporter, library, manifest
from headstart.settings import Settings
from headstart.ui.engine_request import installed_model
from headstart.ui.local_server.server_page import ServerState
from headstart.ui.models import models_controller
from headstart.ui.performance.engine_job import JobPage
from headstart.ui.program import Program
from headstart.ui.settings.presets import built_in
from headstart.ui.settings.settings_form import (
    CheckEditor,
    ChoiceEditor,
    CreativityEditor,
    NumberEditor,
    PresetEditor,
    SettingEditor,
    SwitchEditor,
    TextEditor,
)
from headstart.ui.transcript.live_answer import NOTICE
from headstart.ui.widgets.progress import NoticeBar
from tests.stand_ins.model_folders import describe, write_model, write_pair
from tests.ui.engine_in_process import EngineInProcess, engine_process
from tests.ui.person import WAIT, filled_panel, preferences, setting, texts

_OTHER_WORDS = {"b": 0, "Ġone": 1, "Ġtwo": 2, "Ġthree": 3}
_ACTIONS = (
    *["send", "settle"] * 4,
    *["change_of_chat", "change_of_all", "switch", "use", "new_chat", "open_chat", "type_words"] * 2,
    *["stop", "regenerate", "other_model", "send_odd", "unload", "load_again", "kill_engine", "act_on_notice"],
    *["race", "bench", "tune", "forget_tuning", "stop_job", "verify", "open_page", "serve", "stop_serving"],
    *["add_folder", "add_file", "cancel_adding", "remove", "vanish", "come_back", "break_model", "check_again"],
    *["preset", "keep_preset", "rename_preset", "drop_preset", "reset", "adopt", "type_prompt", "close_dialogs"],
    *["edit_file", "break_file", "restart", "wait"],
)
# These may end an answer that is being written.
_ENDING = {"stop", "stop_job", "unload", "load_again", "kill_engine", "remove", "restart", "act_on_notice", "send_odd"}

# What stands for the exporter: it copies a model that is there, as slowly as it is told.
_IMPORTER = """
import json, shutil, sys, time
source, seconds, root = sys.argv[1], float(sys.argv[2]), sys.argv[3]
print("Reading ...", flush=True)
time.sleep(seconds)
shutil.copytree(source, root, dirs_exist_ok=True)
print(json.dumps(dict(output=root)), flush=True)
"""
# What stands for the check of a model: it says what it was told to say.
_CHECK = """
import json, pathlib, sys, time
print("1 of 2: Reading ...", flush=True)
time.sleep(0.05)
path, words = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2])
path.write_text(json.dumps(json.loads(path.read_text()) | words))
if words.get("fault"):
    print(json.dumps(dict(failed_check=words["fault"])), flush=True)
"""


class _Engines:
    """The engines that were started, and what each was asked to load last."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[EngineInProcess] = []
        opened = ToyModels.open

        def start(*given: Any) -> object:
            made = engine_process(*given)
            assert isinstance(made, EngineInProcess)
            self.made.append(made)
            return made

        def note(models: ToyModels, options: LoadOptions, tell: Any) -> Any:
            models.options = options  # type: ignore[attr-defined]
            return opened(models, options, tell)

        monkeypatch.setattr(session, "EngineProcess", start)
        monkeypatch.setattr(ToyModels, "open", note)

    @property
    def alive(self) -> list[EngineInProcess]:
        return [each for each in self.made if each._listens]


class _Person:
    """A person who acts at random, and knows what was typed."""

    def __init__(
        self,
        qtbot: QtBot,
        open_program: Callable[..., Program],
        folder: Path,
        seed: int,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        self.qtbot, self.open_program, self.folder = qtbot, open_program, folder
        self.random = random.Random(seed)
        self.root = paths.models_folder()
        self.hidden = folder / "hidden"
        self.hidden.mkdir()
        self.elsewhere = folder / "elsewhere"
        self._write_models()
        self.engines = _Engines(monkeypatch)
        self.said: list[str] = []  # by notices
        self._listen(monkeypatch)
        monkeypatch.setattr(models_controller, "confirm", lambda *_: True)
        monkeypatch.setattr(exporter, "importer", self._importer)
        monkeypatch.setattr(exporter, "check_command", self._check_command)
        self.count = 0
        self.words: set[str] = set()
        self.sent: dict[str, tuple[int, bool]] = {}  # since it was quiet: what was said before, whether it was barred
        self.prompt = ""  # the last one that was typed and not replaced
        self.by_hand: dict[str, object] = {}  # written into the file of the settings
        self.may_end = False
        self.ended: set[tuple[str, int]] = set()  # answers that were seen to have ended
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            settings.save(Settings(server_port=int(probe.getsockname()[1])))
        self.app = self._open()

    def _open(self) -> Program:
        return self.open_program(pace=0.001, find=installed_model, loaded=False)

    def _write_models(self) -> None:
        write_model(self.root / "smol")
        write_model(self.root / "thinker")
        write_model(self.root / "strange", _OTHER_WORDS)
        write_model(self.root / "large")
        small = write_model(self.root / "small")
        manifest.write(small, replace(describe(small), size_bytes=100_000_000))
        write_pair(self.root / "both")
        write_model(self.elsewhere / "brought")
        write_pair(self.elsewhere / "couple")
        unchecked = write_model(self.elsewhere / "imported")
        manifest.write(unchecked, replace(describe(unchecked), is_checked=False))
        for name in ("imported", "again"):
            (self.elsewhere / f"{name}.gguf").write_bytes(b"GGUF")

    def _listen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        say, said = NoticeBar.say, self.said

        def note(bar: NoticeBar, sentence: str, *given: Any, **more: Any) -> None:
            said.append(sentence)
            say(bar, sentence, *given, **more)

        monkeypatch.setattr(NoticeBar, "say", note)

    def _importer(self) -> tuple[str, ...]:
        seconds = str(self.random.choice((0, 0.1, 0.3)))
        return (
            sys.executable,
            "-I",
            "-S",
            "-c",
            _IMPORTER,
            str(self.elsewhere / "imported"),
            seconds,
            str(self.root / "imported"),
        )

    def _check_command(self, name: str) -> tuple[str, ...]:
        fault = {"template": "It reads wrong tokens, so it is not used.", "values": {}}
        words = self.random.choice(({"is_checked": True}, {"is_checked": True}, {"fault": fault}, {}))
        return sys.executable, "-I", "-S", "-c", _CHECK, str(self.root / name / "manifest.json"), json.dumps(words)

    def act(self, name: str = "") -> str:
        """Carry out an action, a random one without a name, and return its name."""
        name = name or self.random.choice(_ACTIONS)
        print(name)  # pytest shows it where the test fails
        getattr(self, name)()
        self.may_end = self.may_end or name in _ENDING
        self._require_disabled()
        self.qtbot.wait(self.random.choice((0, 0, 5, 30)))
        return name

    # Messages and chats

    def new_word(self) -> str:
        self.count += 1
        self.words.add(f"w{self.count}")
        return f"w{self.count}"

    def _write(self, text: str, word: str) -> None:
        self.app.window.show_page(self.app.window.chat)
        composer = self.app.window.chat.composer
        self.sent[word] = len(self.said), bool(composer._block_reason or composer._is_busy)
        sends = self.app.settings.now.enter_sends
        QTest.keyClicks(composer.edit, text)
        keys = Qt.KeyboardModifier.NoModifier if sends else Qt.KeyboardModifier.ControlModifier
        QTest.keyClick(composer.edit, Qt.Key.Key_Return, keys)

    def send(self) -> None:
        word = self.new_word()
        self._write(f" {word} {'x ' * self.random.choice((0, 5, 40))}", word)

    def send_odd(self) -> None:
        word = self.new_word()
        self._write(f" toy: {self.random.choice(('refuse', 'memory'))} {word}", word)

    def type_words(self) -> None:
        composer = self.app.window.chat.composer
        composer.set_text(f"{composer.text()} {self.new_word()}")

    def stop(self) -> None:
        self.app.chat_controller.stop()

    def regenerate(self) -> None:
        answers = [each for each in self.app.chat_controller.session.path if each.role is Role.ASSISTANT]
        if answers:
            self.app.chat_controller.session.regenerate(self.random.choice(answers).id)

    def other_model(self) -> None:
        answers = [each for each in self.app.chat_controller.session.path if each.role is Role.ASSISTANT]
        names = [entry.name for entry in self.app.choices.usable]
        if answers and names:
            changed = {"model": self.random.choice(names), "draft": ""}
            self.app.chat_controller.session.answer_with(self.random.choice(answers).id, changed)

    def _leave(self) -> None:
        """Note that the settings of a chat without messages go with it."""
        if not self.app.chat_controller.session.is_stored:
            self.prompt = ""

    def new_chat(self) -> None:
        self._leave()
        self.app.window.sidebar.new_requested.emit()

    def open_chat(self) -> None:
        chats = self.app.store.chats()
        self._leave()
        if chats:
            self.app.window.sidebar.list.chosen.emit(self.random.choice(chats).id, None)

    def act_on_notice(self) -> None:
        notice = self.app.window.chat.notice
        if notice.text and not notice._action.isHidden():
            notice._action.click()

    # Models

    def switch(self) -> None:
        self.app.switch.menu.aboutToShow.emit()
        models = [each for each in self.app.switch.menu.actions() if each.isCheckable()]
        if models:
            self.random.choice(models).trigger()

    def _press_card(self, action: str) -> None:
        cards = list(self.app.window.models._cards.values())
        if cards:
            button = getattr(self.random.choice(cards), action)
            if not button.isHidden() and button.isEnabled():
                button.click()

    def use(self) -> None:
        self._press_card("_use")

    def verify(self) -> None:
        self._press_card("_check")

    def remove(self) -> None:
        if len(library.installed()) > 2:
            self._press_card("_remove")

    def add_folder(self) -> None:
        name = self.random.choice(("brought", "couple"))
        self.app.window.models.dropped.emit(str(self.elsewhere / name))

    def add_file(self) -> None:
        self.app.window.models.dropped.emit(str(self.elsewhere / f"{self.random.choice(('imported', 'again'))}.gguf"))

    def cancel_adding(self) -> None:
        card = self.app.window.models.work
        if not card.isHidden():
            card._cancel.click()

    def check_again(self) -> None:
        self.app.model_in_use.check()

    def _models(self) -> list[Path]:
        return sorted(each for each in self.root.iterdir() if (each / manifest.FILE_NAME).is_file())

    def vanish(self) -> None:
        """Take a model away behind the window's back, as a disk that is taken out does."""
        if len(self._models()) > 2:
            folder = self.random.choice(self._models())
            if not (self.hidden / folder.name).exists():
                folder.rename(self.hidden / folder.name)
        self.open_page("models")

    def come_back(self) -> None:
        for folder in self.hidden.iterdir():
            if (self.root / folder.name).exists():
                shutil.rmtree(folder)
            else:
                folder.rename(self.root / folder.name)
        for folder in self._models():
            for torn in folder.rglob("*.torn"):
                torn.rename(torn.with_suffix(""))
        self.open_page("models")

    def break_model(self) -> None:
        files = sorted(self.random.choice(self._models()).rglob("*.bin"))
        if len(self._models()) > 2 and files:
            files[0].rename(files[0].with_name(f"{files[0].name}.torn"))
        self.open_page("models")

    # The engine

    def unload(self) -> None:
        self._trigger("unload")

    def load_again(self) -> None:
        self._trigger("load")

    def _trigger(self, name: str) -> None:
        command = self.app.window.actions_by_name[name]
        if command.isEnabled():
            command.trigger()

    def kill_engine(self) -> None:
        process = self.app.link._session.process
        if process and not self.app.link._session._is_ending:
            process.end()

    def race(self) -> None:
        self.open_page("race")
        page = self.app.race.page
        if not page.is_running:
            page.form.prompt.setPlainText(f"a {'word ' * self.random.choice((1, 20))}")
            page.form.tokens.setValue(20)
        self._start(page)

    def bench(self) -> None:
        self.open_page("bench")
        page = self.app.bench.page
        if not page.is_running:
            page.form.extent.setCurrentIndex(1)
            page.form.tokens.setValue(16)
            page.form.repeats.setValue(1)
            page.form.peer.setChecked(False)
        self._start(page)

    def tune(self) -> None:
        self.open_page("tune")
        self._start(self.app.tune.page)

    def _start(self, page: JobPage) -> None:
        if not page.start.isHidden() and page.start.isEnabled():
            page.start.click()

    def forget_tuning(self) -> None:
        self.open_page("tune")
        button = self.app.tune.page.report.forget
        if button.isVisible() and button.isEnabled():
            button.click()

    def stop_job(self) -> None:
        for job in self.app._jobs:
            if not job.page.stop.isHidden():
                job.page.stop.click()

    def serve(self) -> None:
        self.open_page("server")
        if not self.app.server.page.card.switch.isChecked():
            self.app.server.page.card.switch.click()

    def stop_serving(self) -> None:
        self.open_page("server")
        if self.app.server.page.card.switch.isChecked() and self.app.server.page.card.switch.isEnabled():
            self.app.server.page.card.switch.click()

    def open_page(self, name: str = "") -> None:
        self.app.window.show_page(self.app.window.chat)
        self.app.window.actions_by_name[name or self.random.choice(("models", "race", "bench", "tune"))].trigger()

    # Settings

    def change_of_chat(self) -> None:
        editors = [each for form in filled_panel(self.app).forms for each in form._editors.values()]
        self._change(self.random.choice([each for each in editors if not isinstance(each, TextEditor)]))

    def change_of_all(self) -> None:
        dialog = preferences(self.app)
        form = self.random.choice([form for form in dialog.forms if "read_aloud" not in form.names])
        barred = {"language", "font_size", "zoom", "keep_in_tray", "system_prompt", "stop"}
        self._change(self.random.choice([each for name, each in form._editors.items() if name not in barred]))
        if self.random.random() < 0.8:
            dialog.close()

    def close_dialogs(self) -> None:
        for dialog in self.app.window.findChildren(type(preferences(self.app))):
            dialog.close()

    def _change(self, editor: SettingEditor) -> None:
        self.by_hand.pop(editor.name, None)
        match editor:
            case CreativityEditor():
                self.random.choice(editor.steps).click()
            case ChoiceEditor():
                rows = [row for row in range(editor._box.count()) if editor._box.model().item(row).isEnabled()]  # type: ignore[attr-defined]
                editor._box.setCurrentIndex(self.random.choice(rows))
                editor._box.activated.emit(editor._box.currentIndex())
            case CheckEditor():
                editor._box.click()
            case NumberEditor() if editor._spin.isEnabled() and self.random.random() < 0.7:
                low = 256 if editor.name in ("context", "max_new_tokens") else editor._spin.minimum()
                editor._spin.setValue(self.random.uniform(low, min(editor._spin.maximum(), 2048)))
            case NumberEditor() if not editor._automatic.isHidden():
                editor._automatic.click()

    def _prompt_editor(self) -> PresetEditor:
        editor = setting(self.app, "system_prompt")
        assert isinstance(editor, PresetEditor)
        return editor

    def type_prompt(self) -> None:
        self.count += 1
        self.prompt = f"p{self.count}"
        self._prompt_editor()._field.setPlainText(f"You are {self.prompt}.")

    def preset(self) -> None:
        self.prompt = ""
        button = self.random.choice((self._prompt_editor().button, self.app.window.chat.empty.preset))
        button.fill()
        self.random.choice([each for each in button._menu.actions() if each.isCheckable()]).trigger()

    def keep_preset(self) -> None:
        self._prompt_editor().save(self.random.choice(("mine", "yours")))

    def rename_preset(self) -> None:
        self._prompt_editor().rename(self.random.choice(("mine", "yours", "ours")))

    def drop_preset(self) -> None:
        if self._prompt_editor().button.current not in {"", *(each.name for each in built_in())}:
            self._prompt_editor()._on_delete()

    def reset(self) -> None:
        self.prompt = ""
        self.app.window.panel.reset.click()

    def adopt(self) -> None:
        self.prompt = ""
        self.by_hand.clear()  # those of the chat take their places
        self.app.window.panel.adopt.click()

    def edit_file(self) -> None:
        """Change the file of the settings in an editor."""
        name, value = self.random.choice((("top_k", 7), ("context", 1024), ("max_new_tokens", 300)))
        path = settings.default_path()
        now = settings.load()
        settings.save(now.with_values({name: value}), path)
        self.by_hand[name] = value

    def break_file(self) -> None:
        path = settings.default_path()
        if path.exists() and not self.by_hand:
            path.write_text("[model\nthis is no TOML", encoding="utf-8")
            self.app.settings.change(top_k=self.random.randrange(1, 50))

    # The program

    def restart(self) -> None:
        self._leave()
        self.app = self._open()
        self.by_hand.clear()
        self.sent.clear()  # what was not sent yet is in the message box again

    def wait(self) -> None:
        self.qtbot.wait(100)

    def settle(self) -> None:
        """Wait until everything has ended, and look at all."""
        self.qtbot.waitUntil(lambda: not list(self.under_way()), timeout=WAIT)
        self.qtbot.wait(30)
        self.qtbot.waitUntil(lambda: not list(self.under_way()), timeout=WAIT)
        self.require_sound()
        self.sent.clear()
        self.may_end = False

    def under_way(self) -> Iterator[str]:
        """Yield what is still going on."""
        app, link, server = self.app, self.app.link, vars(self.app).get("server")
        editors = (each for form in app.window.panel.forms for each in form._editors.values())
        typed = (each for each in editors if isinstance(each, TextEditor))
        for name, is_going_on in (
            ("answering", link.generation is not None or any(each.live for each in app.chats._sessions.values())),
            ("a job", app.loader.occupation or any(job.is_running for job in app._jobs)),
            ("loading", app.loader.status or link.is_restarting or link._session._is_ending or link._session.outbox),
            ("adding", app.models.adding.is_busy),
            ("verifying", app.models._verifications),
            ("checking", app.model_in_use._check.name),
            ("counting", app.chat_controller.composing.count._callback),
            ("serving", server and server.state in (ServerState.STARTING, ServerState.STOPPING)),
            ("comparing", app.choices._compatibility._tasks),
            ("typing", any(each._typing_timer.isActive() for each in typed)),
        ):
            if is_going_on:
                yield name

    # What must hold

    def require_sound(self) -> None:
        """Fail unless the window shows what the engine and the disk have, and everything can be used again."""
        self._require_engine()
        self._require_pages()
        self._require_settings()
        self._require_answers()

    def _require_disabled(self) -> None:
        """Fail if a button can be pressed that would do nothing now."""
        page, adding = self.app.window.models, self.app.models.adding
        assert page.catalogue.other.source.isEnabled() == (not adding.is_busy)
        for name in self.app.models._verifications:
            card = page.card(name)
            assert card is None or not card._check.isEnabled(), name

    def _require_engine(self) -> None:
        app = self.app
        process = app.link._session.process
        assert set(self.engines.alive) <= {process}, "an engine is left"
        opened = process._host._opened if isinstance(process, EngineInProcess) else None
        assert app.link.model_info == (opened.model_info if opened else None)
        name = app.loader.name(app.chat_controller.session.settings)
        button = app.window.chat.composer.model_button.accessibleName()
        loads = "loads with the next message"
        assert app.window.actions_by_name["unload"].isEnabled() == bool(opened)
        if not name:
            assert button in ("Model: No model", "Model: No model loaded"), (button, name)
            return
        wanted = app.loader.resolve(app.chat_controller.session.settings).options
        loaded = process._host._models.options if isinstance(process, EngineInProcess) and opened else None
        if loaded and replace(loaded, ignore_memory=False) == wanted:
            assert button == f"Model: {name}"
            assert opened
            assert opened.model_info.model == wanted.target.name
        else:
            assert button in (f"Model: {name} · {loads}", "Model: No model loaded"), (button, name)

    def _require_pages(self) -> None:
        app = self.app
        assert not app.window.chat.composer._block_reason
        assert not app.window.chat.composer._is_busy
        assert app.window.chat.unsaved.isHidden()
        assert texts(app) == [each.text.strip() for each in app.chat_controller.session.path]
        notice = app.window.chat.notice.text
        assert not any(words in notice for words in ("is running; stop it", "still being written")), notice
        for job in app._jobs:
            page = job.page
            assert page.stop.isHidden()
            assert not page.start.isHidden()
            if page.isVisible():
                reason = app.loader.unavailable_reason(app._chat_settings())
                assert page.start.isEnabled() == (not reason), (page.sentence, reason)
                assert page.sentence in (reason, "Stopped."), (page.sentence, reason)
        for name, card in app.window.models._cards.items():
            state = card._state.text()
            assert card._check.isEnabled()
            assert card._badge.isHidden() == (name != app.loader.name(app.settings.now)), name
            assert not any(words in state for words in ("being checked", "Comparing", "Loading")), (name, state)
        if app.window.models.isVisible():
            assert set(app.window.models._cards) == {entry.name for entry in library.installed()}
        assert app.window.models.catalogue.isEnabled()
        assert not app.window.models.work._is_running

    def _require_settings(self) -> None:
        app = self.app
        if self.by_hand:
            app.settings.change(seed=self.random.randrange(1000))
            on_disk = settings.load()
            for name, value in self.by_hand.items():
                assert getattr(on_disk, name) == value, name
            self.by_hand.clear()
        assert settings.load() == app.settings.now
        session = app.chat_controller.session
        if session.is_stored:
            stored = app.store.chat(session.chat.id)
            assert stored
            assert dict(stored.settings) == session.chat.settings
        for form in app.window.panel.forms:
            for name, editor in form._editors.items():
                self._require_shown(editor, getattr(session.settings, editor.name), name)
        if self.prompt:
            chats = app.store.chats()
            places = [app.settings.now.system_prompt, session.settings.system_prompt]
            places += [str(chat.settings.get("system_prompt", "")) for chat in chats]
            assert any(self.prompt in place for place in places), f"the prompt {self.prompt} is lost"

    def _require_shown(self, editor: SettingEditor, value: object, name: str) -> None:
        match editor:
            case SwitchEditor():
                assert (None, True, False)[editor._box.currentIndex()] == value, name
            case ChoiceEditor():
                assert editor._box.currentIndex() < 0 or editor._box.currentData() == value, name
            case CheckEditor():
                assert editor._box.isChecked() == value, name
            case NumberEditor():
                assert editor._automatic.isChecked() == (value is None), name
                if value is not None:
                    assert editor._spin.value() == pytest.approx(value, abs=0.01), name
            case TextEditor() if isinstance(value, str):
                assert editor._field.toPlainText() == value, name

    def _require_answers(self) -> None:
        app = self.app
        found: dict[str, bool] = {}  # words of questions, and whether they have an answer
        for chat in app.store.chats():
            messages = app.store.conversation(chat.id).messages
            for message in messages.values():
                if message.role is Role.USER:
                    answers = [each for each in messages.values() if each.parent == message.id]
                    for word in self.words & set(message.text.split()):
                        found[word] = bool(answers)
                elif (chat.id, message.id) not in self.ended:
                    self.ended.add((chat.id, message.id))
                    self._require_ended(message.state, message.text, str(message.stats.get(NOTICE, "")))
        kept = {app.window.chat.composer.text(), *(chat.draft for chat in app.store.chats())}
        kept |= {app.store.recall(UNSENT) or ""}
        for word in self.words:
            assert word in found or any(word in text.split() for text in kept), f"{word} is lost"
        for word, (before, was_barred) in self.sent.items():
            assert found.get(word) or was_barred or len(self.said) > before, f"nothing was said about {word}"

    def _require_ended(self, state: State, text: str, notice: str) -> None:
        assert state is not State.STREAMING
        assert state is not State.STOPPED or self.may_end, "an answer was ended that nobody stopped"
        assert state is not State.COMPLETE or text.strip()
        assert state is not State.INTERRUPTED or notice or self.may_end


@pytest.mark.parametrize(
    ("seed", "steps"), [(0, 16), (1, 16), *(pytest.param(seed, 60, marks=pytest.mark.slow) for seed in range(2, 20))]
)
def test_window_shows_what_is_there(
    qtbot: QtBot,
    open_program: Callable[..., Program],
    tmp_path: Path,
    seed: int,
    steps: int,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    person = _Person(qtbot, open_program, tmp_path, seed, monkeypatch)
    for _ in range(steps):
        person.act()
    person.act("settle")
    person.app.window.close()
    assert not person.engines.alive
    failures = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert not [each for each in failures if "Generate failed" not in each.getMessage()]  # as `memory` asks for
