"""About: what everything is made of, under which licence, and a report of versions to copy."""

import re
import tomllib
from pathlib import Path

import pytest
from PySide6.QtCore import qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from headstart import __version__
from headstart.ui.help import licences
from headstart.ui.program import Program
from headstart.ui.window.dialogs import AboutDialog
from tests.source.source_tree import ROOT


def _opened(app: Program) -> AboutDialog:
    app.window.actions_by_name["about"].trigger()
    dialog = app.window.findChild(AboutDialog)
    assert isinstance(dialog, AboutDialog)
    return dialog


def test_licences_include_required_packages() -> None:
    headstart, python, *parts = licences.components("rich")
    assert (headstart.name, headstart.version, headstart.licence) == ("Headstart", __version__, "Apache-2.0")
    assert "Apache License" in headstart.text()
    assert (python.name, python.licence) == ("Python", "PSF-2.0")
    assert [part.name for part in parts] == ["markdown-it-py", "mdurl", "Pygments", "rich"]
    assert all("MIT" in part.licence or "BSD" in part.licence for part in parts)
    assert all("Copyright" in part.text() for part in parts)


def test_every_installed_package_has_a_licence() -> None:
    for root in ("PySide6_Essentials", "openvino-genai", "openvino-tokenizers", "numpy", "psutil", "tomlkit"):
        assert all(part.licence for part in licences.components(root))
    names = [part.name for part in licences.components("PySide6_Essentials")]
    assert "shiboken6" in names


def test_every_shipped_part_has_a_licence_text() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [re.split(r"[><=; ]", line)[0] for line in project["dependencies"]]
    parts = {part.name: part for name in names for part in licences.components(name)}
    assert len(parts) > 40
    missing = [part.name for part in parts.values() if not part.licence or not part.text().strip()]
    assert not missing, "headstart/ui/help/licences.py and headstart/licence_texts say what packages leave out"
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in parts["PySide6_Essentials"].text()
    assert "TERMS AND CONDITIONS" in parts["PySide6_Essentials"].text()


def test_about_names_a_newer_package(app: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "headstart_99.0.0_amd64.deb"
    package.touch()
    monkeypatch.setattr("platformdirs.user_downloads_path", lambda: tmp_path)
    dialog = _opened(app)
    assert [text for found in dialog.findChildren(QLabel) if package.name in (text := found.text())]


def test_every_licence_can_be_shown(app: Program) -> None:
    dialog = _opened(app)
    assert dialog.list.count() == len(dialog._parts) > 3
    row = next(row for row, part in enumerate(dialog._parts) if part.name == "numpy")
    dialog.list.setCurrentRow(row)
    shown = dialog.text.toPlainText()
    assert shown.startswith("Licence: BSD-3-Clause")
    assert "Redistribution and use in source and binary forms" in shown


def test_report_has_versions_and_can_be_copied(qtbot: QtBot, app: Program) -> None:
    dialog = _opened(app)
    dialog._copy.click()
    report = QGuiApplication.clipboard().text()
    assert f"Headstart: {__version__}" in report
    assert f"Qt: {qVersion()}" in report
    for name in ("Python: ", "openvino: ", "System: ", "Processor: ", "Memory: "):
        assert name in report
