"""The dialog of a working folder: which it is, what is allowed, the skills, and what was done."""

from collections.abc import Callable
from html import escape
from pathlib import Path
from time import localtime, strftime

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QFileDialog, QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from headstart.ui.formatting import listed, short_path
from headstart.ui.translation import showing_errors, translate_error
from headstart.ui.widgets.labels import ElidedLabel, StatusLine, button, muted, section
from headstart.ui.widgets.layouts import Dialog, beside, confirm, initial_path, remember_folder, stacked
from headstart.ui.widgets.theme import MEDIUM, SMALL
from headstart.ui.workspace.chat_folder import ChatFolder
from headstart.workspace import sandbox
from headstart.workspace.skills import Skill, SkillSource
from headstart.workspace.tools import EDIT, READ

_SIZE, _EMPTY_SIZE = QSize(760, 620), QSize(760, 160)  # with a folder, and without one
_MAX_LOG = 200  # lines shown


class FolderDialog(Dialog):
    """Dialog that gives a chat a working folder and takes it back."""

    undo_requested = Signal()

    def __init__(self, folder: ChatFolder, project: str, parent: QWidget) -> None:
        super().__init__(self.tr("Working folder"), parent)
        self._folder, self._project = folder, project
        about = self.tr(
            "The model may read and change the files of one folder, and run commands there. You are asked before each "
            "step, and see each change before it is made. Nothing outside of the folder is read or changed."
        )
        self._path = ElidedLabel(self, Qt.TextElideMode.ElideMiddle)
        self.choose, self.take_back = button(self.tr("Choose…"), self, "primary"), button(self.tr("Take back"), self)
        self.for_project = QCheckBox(self.tr("Also for new chats of the project “{}”").format(project), self)
        self._sandbox, self._allowed = muted("", self), muted("", self)
        self.ask_again = button(self.tr("Ask again"), self)
        self.fault = StatusLine(self)
        self.skills = self._list(self.tr("Skills"), [self.tr("Skill"), self.tr("From"), self.tr("About")])
        self.log = self._list(self.tr("What was done"), [self.tr("Time"), self.tr("Step"), self.tr("Result")])
        self.undo, self.forget = button(self.tr("Undo last answer"), self), button(self.tr("Delete the record…"), self)
        self._parts = QWidget(self)
        self._lay_out(about)
        self.set_size(_SIZE)
        self._connect()
        self._show()

    @Slot()
    def _show(self) -> None:
        workspace, path = self._folder.workspace, self._folder.path
        self._path.show_text(short_path(path) if path else self.tr("No folder"), str(path or ""))
        self.take_back.setEnabled(path is not None)
        self.for_project.setVisible(bool(self._project and path))
        self.for_project.setChecked(self._folder.is_for_project)
        if self._parts.isHidden() is (workspace is not None):  # until now
            self.set_size(_SIZE if workspace else _EMPTY_SIZE)
        for part in (self._parts, self.undo, self.forget):
            part.setVisible(workspace is not None)
        if self._folder.fault:
            self.fault.say(translate_error(self._folder.fault), bad=True)
        if workspace is None:
            return
        is_isolated = sandbox.program() is not None
        self._sandbox.setText(
            self.tr("Commands run in bubblewrap: without a network, and with this folder alone.")
            if is_isolated
            else self.tr(
                "bubblewrap is not installed or does not work here, so commands could read and change whatever you "
                "can. You are asked for each."
            )
        )
        names: dict[tuple[str, ...], str] = {READ: self.tr("reading"), EDIT: self.tr("changes")}
        allowed = [names.get(each, each[-1]) for each in sorted(workspace.allowed)]
        words = self.tr("Without a question in this chat: {}").format(listed(allowed))
        self._allowed.setText(words if allowed else self.tr("You are asked before each step."))
        self.ask_again.setVisible(bool(allowed))
        self.undo.setEnabled(workspace.record.can_undo)
        self._show_skills()
        self._show_log()

    def _show_skills(self) -> None:
        assert self._folder.workspace
        skills = self._folder.workspace.skills
        on = {skill.name for skill in skills.on}
        self.skills.blockSignals(True)  # noqa: FBT003
        self.skills.clear()
        for skill in skills.found:
            item = QTreeWidgetItem([skill.name, self._source(skill), skill.description])
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(0, Qt.CheckState.Checked if skill.name in on else Qt.CheckState.Unchecked)
            item.setToolTip(2, f"<qt>{escape(skill.description)}</qt>")  # a stranger may have written it
            self.skills.addTopLevelItem(item)
        self.skills.blockSignals(False)  # noqa: FBT003

    def _source(self, skill: Skill) -> str:
        names = {
            SkillSource.OWN: self.tr("Headstart"),
            SkillSource.HOME: self.tr("your skills"),
            SkillSource.FOLDER: self.tr("this folder"),
        }
        words = self.tr("{}, with scripts") if skill.has_scripts else "{}"
        return words.format(names[skill.source])

    def _show_log(self) -> None:
        assert self._folder.workspace
        self.log.clear()
        for line in reversed(self._folder.workspace.record.lines()[-_MAX_LOG:]):
            when = strftime("%Y-%m-%d %H:%M:%S", localtime(float(str(line.get("time", 0)))))
            step = str(line.get("what") or line.get("tool") or line.get("action"))
            item = QTreeWidgetItem([when, " ".join(step.split()), str(line.get("result", ""))])
            item.setToolTip(1, f"<qt>{escape(step)}</qt>")
            self.log.addTopLevelItem(item)

    def _connect(self) -> None:
        self._folder.changed.connect(self._show)
        self.choose.clicked.connect(self._on_choose)
        self.take_back.clicked.connect(lambda: self._try(self._folder.take_back))
        self.for_project.clicked.connect(lambda on: self._try(lambda: self._folder.set_for_project(on=on)))
        self.ask_again.clicked.connect(self._on_ask_again)
        self.skills.itemChanged.connect(self._on_skill)
        self.undo.clicked.connect(self._on_undo)
        self.forget.clicked.connect(self._on_forget)
        self._close.clicked.connect(self.close)

    @Slot()
    def _on_choose(self) -> None:
        chosen = QFileDialog.getExistingDirectory(self, self.tr("Choose the working folder"), initial_path())
        if chosen:
            remember_folder(chosen)
            self.give(Path(chosen))

    def give(self, path: Path) -> None:
        """Let the chat work on a folder, or show why it cannot."""
        self._try(lambda: self._folder.give(path))

    @Slot()
    def _on_ask_again(self) -> None:
        if self._folder.workspace:
            self._folder.workspace.allowed.clear()
        self._show()

    @Slot(QTreeWidgetItem)
    def _on_skill(self, item: QTreeWidgetItem) -> None:
        workspace, is_on = self._folder.workspace, item.checkState(0) is Qt.CheckState.Checked
        if workspace:
            self._try(lambda: workspace.skills.switch(item.text(0), on=is_on))
            self._folder.changed.emit()  # the count of tokens is another

    @Slot()
    def _on_undo(self) -> None:
        self.undo_requested.emit()
        self._show()

    @Slot()
    def _on_forget(self) -> None:
        question = self.tr(
            "Delete the log, and what is kept to undo answers in this folder? Its files stay as they are."
        )
        if self._folder.workspace and confirm(self, self.windowTitle(), question, self.tr("Delete")):
            self._folder.workspace.record.forget()
            self._show()

    def _try(self, act: Callable[[], object]) -> None:
        self.fault.say("")
        with showing_errors(lambda sentence: self.fault.say(sentence, bad=True)):
            act()

    def _list(self, name: str, columns: list[str]) -> QTreeWidget:
        tree = QTreeWidget(self)
        tree.setAccessibleName(name)
        tree.setRootIsDecorated(False)
        tree.setHeaderLabels(columns)
        tree.ensurePolished()  # or columns are too narrow for the boxes of the style sheet
        tree.header().setSectionResizeMode(0, QHeaderView.ResizeMode.ResizeToContents)
        tree.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        return tree

    def _lay_out(self, about: str) -> None:
        self._close = button(self.tr("Close"), self)
        self.take_back.setAccessibleName(self.tr("Take the folder back"))
        parts = (
            self._sandbox,
            beside(None, self._allowed, self.ask_again, growing=self._allowed),
            section(self.tr("Skills"), self._parts),
            self.skills,
            section(self.tr("What was done"), self._parts),
            self.log,
        )
        stacked(self._parts, *parts, spacing=SMALL)
        chosen = beside(None, self._path, self.choose, self.take_back, growing=self._path)
        foot = beside(None, self.undo, self.forget, self._close)
        foot.insertStretch(2, 1)
        column = stacked(self, muted(about, self), chosen, self.for_project, self.fault, self._parts, margin=MEDIUM)
        column.setStretchFactor(self._parts, 1)
        column.addStretch(0)
        column.addLayout(foot)
