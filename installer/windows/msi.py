"""The MSI for Windows, for administrators: it has the same files and registry entries as the setup."""

import hashlib
import os
import re
import uuid
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree as ET

from headstart import __version__
from installer.windows import launchers, tools

_NAMESPACE = uuid.UUID("b1d3f2a4-6c58-5a0e-8f7e-2c9d41e0a7b3")  # for our GUIDs
_UPGRADE = "9F1C7A56-3E0B-4C63-9B0D-5B6E2E7F4D18"  # the same for every version
_OWN = "Software\\Headstart"
_TYPE = "Headstart.Chats"
_CLASSES = "Software\\Classes"
_OPEN = '"[INSTALLDIR]headstart.exe" --open "%1"'
_NEWER = "A newer Headstart is installed; this version would refuse to open its chats."
_BY_SETUP = (
    "Headstart was installed by its setup program. Remove it in the settings of Windows first; chats and models stay."
)
_VERB = f"{_CLASSES}\\SystemFileAssociations\\.json\\shell\\{_TYPE}"
_ENTRIES = (  # key, name, value
    (f"{_CLASSES}\\{_TYPE}", "", "Chats exported by Headstart"),
    (f"{_CLASSES}\\{_TYPE}\\shell\\open\\command", "", _OPEN),
    (f"{_CLASSES}\\.json\\OpenWithProgids", _TYPE, ""),
    (_VERB, "", "Open in Headstart"),
    (_VERB, "AppliesTo", 'System.FileName:"*.headstart.json"'),
    (f"{_VERB}\\command", "", _OPEN),
    (_OWN, "InstallDir", "[INSTALLDIR]"),
)


def pack(program: Path, work: Path, output: Path) -> Path:
    """Make the MSI of the program in `output`; `work` is the folder that `launchers.make` returned."""
    package = output / f"headstart-{__version__}-windows-x86_64.msi"
    source = work / "headstart.wxs"
    # wixl takes paths relative to the description, and no absolute ones.
    source.write_text(document(program, os.path.relpath(program, work)), encoding="utf-8")
    tools.run(tools.MSI, "--arch", "x64", "--output", package, source, folder=work)
    return package


def document(program: Path, place: str) -> str:
    """Return the description for wixl; `place` is the path of the program's folder in it."""
    root = ET.Element("Wix", xmlns="http://schemas.microsoft.com/wix/2006/wi")
    product = _product(root)
    ET.SubElement(product, "Icon", Id="headstart.ico", SourceFile=launchers.ICON)
    top = ET.SubElement(product, "Directory", Id="TARGETDIR", Name="SourceDir")
    menu = ET.SubElement(top, "Directory", Id="ProgramMenuFolder")
    local = ET.SubElement(top, "Directory", Id="LocalAppDataFolder")
    programs = ET.SubElement(local, "Directory", Id="ProgramsDir", Name="Programs")
    install = ET.SubElement(programs, "Directory", Id="INSTALLDIR", Name="Headstart")
    components = [
        _folder(install, program, PurePosixPath(place), PurePosixPath()),
        _entries(install),
        _menu_entry(menu),
    ]
    feature = ET.SubElement(product, "Feature", Id="Program", Level="1", Title="Headstart")
    for name in (name for group in components for name in group):
        ET.SubElement(feature, "ComponentRef", Id=name)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def _product(root: ET.Element) -> ET.Element:
    version = ".".join(str(number) for number in launchers.numbers()[:3])  # Windows Installer compares three
    product = ET.SubElement(
        root,
        "Product",
        Id=_number("product", version),
        Name="Headstart",
        Language="1033",
        Version=version,
        Manufacturer="The Headstart developers",
        UpgradeCode=_UPGRADE,
    )
    ET.SubElement(product, "Package", InstallerVersion="500", Compressed="yes", InstallScope="perUser")
    ET.SubElement(product, "MajorUpgrade", DowngradeErrorMessage=_NEWER)
    ET.SubElement(product, "Media", Id="1", Cabinet="headstart.cab", EmbedCab="yes")
    found = ET.SubElement(product, "Property", Id="BYSETUP")
    ET.SubElement(
        found,
        "RegistrySearch",
        Id="BySetup",
        Root="HKCU",
        Key="Software\\Microsoft\\Windows\\CurrentVersion\\Uninstall\\Headstart",
        Name="UninstallString",
        Type="raw",
    )
    ET.SubElement(product, "Condition", Message=_BY_SETUP).text = "Installed OR NOT BYSETUP"
    for name, value in (("ARPPRODUCTICON", "headstart.ico"), ("ARPNOMODIFY", "1")):
        ET.SubElement(product, "Property", Id=name, Value=value)
    return product


def _folder(parent: ET.Element, program: Path, root: PurePosixPath, place: PurePosixPath) -> list[str]:
    """Add a component for the files of each folder; its key path is a registry value, for it belongs to one user."""
    inside = sorted((program / place).iterdir(), key=lambda path: path.name)
    component = _component(parent, f"files:{place}")
    ids = [component.attrib["Id"]]
    for name in (path.name for path in inside if path.is_file()):
        ET.SubElement(component, "File", Id=_id("file", place / name), Source=str(root / place / name), Name=name)
    for path in (path for path in inside if path.is_dir()):
        folder = ET.SubElement(parent, "Directory", Id=_id("dir", place / path.name), Name=path.name)
        ids += _folder(folder, program, root, place / path.name)
    return ids


def _entries(parent: ET.Element) -> list[str]:
    component = _component(parent, "entries")
    for key, name, value in _ENTRIES:
        _registry_value(component, key, name, value)
    return [component.attrib["Id"]]


def _menu_entry(parent: ET.Element) -> list[str]:
    component = _component(parent, "menu")
    ET.SubElement(component, "Shortcut", Id="MenuEntry", Name="Headstart", Target="[INSTALLDIR]headstart.exe")
    return [component.attrib["Id"]]


def _component(parent: ET.Element, name: str) -> ET.Element:
    component = ET.SubElement(parent, "Component", Id=_id("part", name), Guid=_number("component", name))
    key = _registry_value(component, _OWN, "Msi" if name == "entries" else _id("part", name), "1")
    key.set("KeyPath", "yes")
    folder = parent.attrib["Id"]
    if folder != "ProgramMenuFolder":
        ET.SubElement(component, "RemoveFolder", Id=_id("remove", name), On="uninstall")
    return component


def _registry_value(component: ET.Element, key: str, name: str, value: str) -> ET.Element:
    attributes = {"Name": name} if name else {}
    return ET.SubElement(component, "RegistryValue", attributes, Root="HKCU", Key=key, Type="string", Value=value)


def _number(kind: str, name: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{kind}:{name}")).upper()


def _id(kind: str, name: object) -> str:
    """Return an identifier: an MSI allows only ASCII letters, digits and underscores, 72 at most."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", str(name))[-24:]
    return f"{kind}_{hashlib.sha256(str(name).encode()).hexdigest()[:16]}_{plain}"
