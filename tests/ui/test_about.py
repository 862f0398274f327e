"""About: what everything is made of, under which licence, and a report of versions to copy."""

from PySide6.QtCore import qVersion
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from headstart import __version__, licences
from headstart.ui.about import AboutDialog
from headstart.ui.program import Program


def _opened(app: Program) -> AboutDialog:
    app.window.actions_by_name["about"].trigger()
    dialog = app.window.findChild(AboutDialog)
    assert isinstance(dialog, AboutDialog)
    return dialog


def test_what_a_package_requires_is_found_with_its_licence() -> None:
    headstart, python, *parts = licences.components("rich")
    assert (headstart.name, headstart.version, headstart.licence) == ("Headstart", __version__, "Apache-2.0")
    assert "Apache License" in headstart.text()
    assert (python.name, python.licence) == ("Python", "PSF-2.0")
    assert [part.name for part in parts] == ["markdown-it-py", "mdurl", "Pygments", "rich"]
    assert all("MIT" in part.licence or "BSD" in part.licence for part in parts)
    assert all("Copyright" in part.text() for part in parts)


def test_nothing_that_is_installed_keeps_its_licence_to_itself() -> None:
    for root in ("PySide6_Essentials", "openvino-genai", "openvino-tokenizers", "numpy", "psutil", "tomlkit"):
        assert all(part.licence for part in licences.components(root))
    names = [part.name for part in licences.components("PySide6_Essentials")]
    assert "shiboken6" in names


def test_each_licence_can_be_read(app: Program) -> None:
    dialog = _opened(app)
    assert dialog.list.count() == len(dialog._parts) > 3
    row = next(row for row, part in enumerate(dialog._parts) if part.name == "numpy")
    dialog.list.setCurrentRow(row)
    shown = dialog.text.toPlainText()
    assert shown.startswith("Licence: BSD-3-Clause")
    assert "Redistribution and use in source and binary forms" in shown


def test_the_report_names_what_matters_and_can_be_copied(qtbot: QtBot, app: Program) -> None:
    dialog = _opened(app)
    dialog._copy.click()
    report = QGuiApplication.clipboard().text()
    assert f"Headstart: {__version__}" in report
    assert f"Qt: {qVersion()}" in report
    for name in ("Python: ", "openvino: ", "System: ", "Processor: ", "Memory: "):
        assert name in report
