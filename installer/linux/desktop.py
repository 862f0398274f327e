"""Files for a Linux desktop: menu entry, icons, file type, description, manual."""

import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import headstart
from headstart import __version__
from headstart.cli import COMMANDS

FILES = Path(__file__).parent / "files"
ICON = Path(headstart.__file__).parent / "ui" / "resources" / "headstart.svg"
MIME_TYPE = "application/x-headstart-chats+json"


def write_files(share: Path, epoch: int) -> None:
    """Write all files for the desktop into `share`, such as /usr/share or ~/.local/share."""
    _copy("headstart.desktop", share / "applications")
    _copy("headstart-mime.xml", share / "mime" / "packages", "headstart.xml")
    _write(share / "metainfo" / "headstart.metainfo.xml", _render("headstart.metainfo.xml.in", epoch))
    _write(share / "man" / "man1" / "headstart.1", manual(epoch))
    icons = share / "icons" / "hicolor"
    _copy(str(ICON), icons / "scalable" / "apps")
    subprocess.run([sys.executable, "-m", "installer.icons", str(ICON), str(icons)], check=True)


def manual(epoch: int) -> str:
    """Return the manual page, with a list of all commands."""
    commands = "\n".join(f".TP\n.B {name}\n{command.summary}." for name, command in COMMANDS.items())
    return _render("headstart.1.in", epoch).replace("@COMMANDS@", commands)


def _render(name: str, epoch: int) -> str:
    text = (FILES / name).read_text(encoding="utf-8")
    day = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%d")
    return text.replace("@VERSION@", __version__).replace("@DATE@", day).replace("@MIME@", MIME_TYPE)


def _copy(name: str, folder: Path, new_name: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    source = FILES / name
    shutil.copyfile(source, folder / (new_name or source.name))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
