"""The entries of a Linux desktop, and the file that unpacks itself."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import PySide6
import pytest
from installer.linux import deb, desktop, icu, tarball

from headstart import __version__
from headstart.cli import COMMANDS
from headstart.ui.import_export import OWN_ENDING
from installer import stamps
from tests.installer.test_windows import needs

EPOCH = 1_700_000_000
NAMESPACE = "{http://www.freedesktop.org/standards/shared-mime-info}"


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("share")
    desktop.write_files(folder, EPOCH)
    return folder


def test_manual_names_every_command() -> None:
    text = desktop.manual(EPOCH)
    assert all(f".B {name}\n" in text for name in COMMANDS)
    assert f'"2023-11-14" "Headstart {__version__}"' in text
    assert "@" not in text


def test_mime_type_matches_the_exports(share: Path) -> None:
    root = ET.fromstring((share / "mime/packages/headstart.xml").read_text(encoding="utf-8"))  # noqa: S314 - our own file
    kind = root.find(f"{NAMESPACE}mime-type")
    assert kind is not None
    assert kind.get("type") == desktop.MIME_TYPE
    pattern = kind.find(f"{NAMESPACE}glob")
    assert pattern is not None
    assert pattern.get("pattern") == f"*{OWN_ENDING}"
    assert f"MimeType={desktop.MIME_TYPE};" in (share / "applications/headstart.desktop").read_text(encoding="utf-8")


def test_menu_entry_is_valid(share: Path) -> None:
    needs("desktop-file-validate")
    done = subprocess.run(
        ["desktop-file-validate", str(share / "applications/headstart.desktop")], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")


def test_description_is_valid(share: Path) -> None:
    needs("appstreamcli")
    file = share / "metainfo/headstart.metainfo.xml"
    no_address = "cid-desktopapp-is-not-rdns=info"  # Headstart has no address on the web to be named after
    command = ["appstreamcli", "validate", "--no-net", "--no-color", f"--override={no_address}", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_icon_has_the_sizes_of_menus(share: Path) -> None:
    icons = share / "icons/hicolor"
    drawn = {path.relative_to(icons).as_posix() for path in icons.rglob("headstart.*")}
    assert drawn == {
        "scalable/apps/headstart.svg",
        *(f"{size}x{size}/apps/headstart.png" for size in (48, 128, 256)),
    }


def test_removal_says_where_the_chats_are() -> None:
    said = subprocess.run(
        ["sh", str(desktop.FILES / "postrm"), "remove"], capture_output=True, text=True, check=True
    ).stdout
    for folder in ("~/.local/share", "~/.config", "~/.cache"):
        assert f"{folder}/headstart" in said
    silent = subprocess.run(["sh", str(desktop.FILES / "postrm"), "upgrade", "1"], capture_output=True, check=True)
    assert silent.stdout == b""


def test_dependencies_are_packages_of_debian(tmp_path: Path) -> None:
    needs("dpkg-shlibdeps", "dpkg-query", "file")
    program = tmp_path / "program"
    program.mkdir()
    shutil.copy("/bin/true", program / "headstart")
    assert re.match(r"libc6 \(>= [\d.]+\)", deb.dependencies(program, tmp_path / "work"))


def test_data_of_icu_has_what_qt_asks_for() -> None:
    (library,) = (Path(PySide6.__file__).parent / "Qt/lib").glob("libicudata.so.*")
    data = icu.wanted_data(library.read_bytes())
    assert len(data) < library.stat().st_size / 3
    assert all(f"/{name}\0".encode() in data for name in ("coll/root.res", "ibm-943_P15A-2003.cnv", "zoneinfo64.res"))
    assert b"/brkitr/" not in data
    assert icu.wanted_data(data) == data
    with pytest.raises(icu.IcuDataError):
        icu.wanted_data(b"something else")


@pytest.mark.slow
def test_qt_sorts_with_less_of_icu_as_with_all_of_it(tmp_path: Path) -> None:
    pytest.importorskip("ziglang")
    (library,) = (Path(PySide6.__file__).parent / "Qt/lib").glob("libicudata.so.*")
    smaller = Path(shutil.copy(library, tmp_path))
    icu.trim(smaller)
    whole, less = (
        subprocess.run(
            [sys.executable, "-c", ASK_ICU],
            env=os.environ | {"LD_LIBRARY_PATH": folder},  # goes before the folder of Qt
            capture_output=True,
            check=True,
        ).stdout
        for folder in ("", str(tmp_path))
    )
    assert whole
    assert less == whole


ASK_ICU = """
from functools import cmp_to_key
from PySide6.QtCore import QCollator, QLocale, QStringConverter, QStringDecoder, QTimeZone

words = "Äpfel Zebra zebra Öl ol çilek ılgın İstanbul file10 file9 Ștefan ch cz Ж ж ё 北京 上海 猫 あ ア".split()
for name in ("en_US", "de_DE", "zh_CN", "zh_TW", "ja_JP", "sv_SE", "tr_TR", "cs_CZ", "ru_RU", "ko_KR", "lt_LT"):
    locale = QLocale(name)
    collator = QCollator(locale)
    collator.setNumericMode(True)
    print(name, sorted(words, key=cmp_to_key(collator.compare)))
    print(locale.toUpper("istanbul ß ǆ"), locale.toLower("ISTANBUL ΑΣ"))
print([name for name in sorted(QStringConverter.availableCodecs()) if QStringDecoder(name).isValid()])
print([bytes(zone) for zone in QTimeZone.availableTimeZoneIds() if QTimeZone(zone).isValid()])
"""


@pytest.fixture
def archive(tmp_path: Path, share: Path) -> Path:
    """A package that unpacks itself, with a program that prints its name."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "headstart").write_text("#!/bin/sh\necho I am Headstart\n", encoding="utf-8")
    (tree / "headstart").chmod(0o755)
    (tree / "link").symlink_to("headstart")
    shutil.copytree(share, tree / "share")
    shutil.copyfile(desktop.FILES / "uninstall.sh", tree / "uninstall.sh")
    stamps.settle(tree, EPOCH)
    for name in ("one.xz", "two.xz"):
        tarball.write_archive(tree, tmp_path / name)
    assert (tmp_path / "one.xz").read_bytes() == (tmp_path / "two.xz").read_bytes()
    stub = tarball.head(tarball.STUB.read_text(encoding="utf-8"), stamps.digest(tmp_path / "one.xz"))
    made = tmp_path / "headstart.run"
    made.write_bytes(stub + (tmp_path / "one.xz").read_bytes())
    return made


def test_tarball_installs_and_uninstalls(archive: Path, tmp_path: Path) -> None:
    needs("sh", "tar", "xz", "sha256sum")
    home = tmp_path / "my home"
    home.mkdir()

    def run(*command: str) -> str:
        done = subprocess.run(
            command, env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True
        )
        return done.stdout

    for _ in ("install", "upgrade"):
        run("sh", str(archive))
        assert run(str(home / ".local/bin/headstart")) == "I am Headstart\n"
    entry = (home / ".local/share/applications/headstart.desktop").read_text(encoding="utf-8")
    assert f'Exec="{home}/.local/opt/headstart/headstart" --open %f\n' in entry
    chats = home / ".local/share/headstart"
    chats.mkdir()
    assert str(chats) in run("sh", str(home / ".local/opt/headstart/uninstall.sh"))
    left = {path.relative_to(home).as_posix() for path in home.rglob("*") if not path.is_dir()}
    assert not [name for name in left if "mime" not in name and "mimeinfo.cache" not in name]
    assert chats.is_dir()


def test_damaged_tarball_is_refused(archive: Path, tmp_path: Path) -> None:
    needs("sh", "tar", "xz", "sha256sum")
    data = bytearray(archive.read_bytes())
    data[-100] ^= 1
    archive.write_bytes(bytes(data))
    done = subprocess.run(["sh", str(archive), "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, "damaged" in done.stderr) == (1, True)


def test_foreign_files_are_not_replaced(archive: Path, tmp_path: Path) -> None:
    needs("sh", "tar", "xz", "sha256sum")
    mine = tmp_path / "mine"
    mine.mkdir()
    command = ["sh", str(archive), "--to", str(mine)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "is not Headstart" in done.stderr
    assert mine.is_dir()


def test_failed_tool_is_reported_by_its_errors(tmp_path: Path) -> None:
    needs("dpkg-shlibdeps", "cc")
    (tmp_path / "needed.c").write_text("int needed(void) { return 1; }", encoding="utf-8")
    (tmp_path / "user.c").write_text("int needed(void); int user(void) { return needed(); }", encoding="utf-8")
    program = tmp_path / "program"
    program.mkdir()
    for command in (
        "cc -shared -Wl,-soname,libneeded.so.1 -o libneeded.so needed.c",
        "cc -shared -o program/user.so user.c -L. -lneeded",
    ):
        subprocess.run(command.split(), cwd=tmp_path, check=True)
    with pytest.raises(deb.PackagingError, match=r"cannot find library libneeded\.so") as caught:
        deb.dependencies(program, tmp_path / "work")
    assert "warning:" not in str(caught.value)
