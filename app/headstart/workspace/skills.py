"""Skills: folders with a SKILL.md that says how something is done, offered to the model once you switch them on."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from headstart import paths, private_files
from headstart.engine.engine import Tool
from headstart.errors import UnwritablePlaceError, WorkspaceError
from headstart.workspace import sandbox
from headstart.workspace.folder import EntryKind, Folder

FILE_NAME = "SKILL.md"
MAX_SKILLS = 50  # found in one place
MAX_DESCRIPTION = 300  # characters of one skill in the prompt
MAX_TEXT = 10_000  # characters of a file of a skill, about 2,500 tokens
_MAX_FILES = 200
_IN_FOLDER = (".headstart/skills", ".claude/skills")
_HEAD = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_KEY = re.compile(r"([A-Za-z][\w-]*):(?:[ \t]+(.*))?$")
_NAME = re.compile(r"[\w-]{1,64}")
_SWITCHES = "skills.json"
_USE = "use_skill"


class SkillSource(StrEnum):
    """The kind of place where a skill was found."""

    OWN = "comes with Headstart"
    HOME = "your skills folder"
    FOLDER = "this folder"


@dataclass(frozen=True)
class Skill:
    """A skill as its folder describes it."""

    name: str
    description: str
    source: SkillSource
    place: Path
    files: tuple[str, ...]  # beside SKILL.md, by their paths in the skill's folder
    fingerprint: str  # changes with every file

    @property
    def has_scripts(self) -> bool:
        return any(Path(file).suffix in {".sh", ".py", ".js", ".rb", ".pl"} for file in self.files)


def parse(text: str) -> tuple[dict[str, str], str]:
    """Return the fields at the head of a SKILL.md, and the text below. Nested fields are left out."""
    head = _HEAD.match(text)
    if not head:
        return {}, text
    fields, key = dict[str, str](), ""
    for line in head[1].splitlines():
        match = _KEY.match(line)
        if match:
            key, value = match[1], (match[2] or "").strip()
            fields[key] = "" if value in {"|", ">", "|-", ">-", "|+", ">+"} else _unquoted(value)
        elif key and line[:1].isspace():
            fields[key] = f"{fields[key]} {line.strip()}".strip()
    return fields, text[head.end() :]


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value.partition(" #")[0].rstrip()


class Skills:
    """The skills for one folder, and which of them are on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def found(self) -> tuple[Skill, ...]:
        """All skills; of two with one name, the one that is nearer to the folder. They are read each time."""
        by_name = dict[str, Skill]()
        for source, place in self._places():
            for skill in _skills(place, source):
                by_name[skill.name] = skill
        return tuple(sorted(by_name.values(), key=lambda skill: skill.name))

    @property
    def on(self) -> tuple[Skill, ...]:
        """The skills that you have switched on and that have not changed since."""
        switches = _switches()
        if not switches:
            return ()
        return tuple(skill for skill in self.found if switches.get(str(skill.place)) == skill.fingerprint)

    def switch(self, name: str, *, on: bool) -> None:
        """Switch a skill on or off, for all folders that find it. Raises WorkspaceError and SettingsError."""
        skills = self.found
        skill = next((skill for skill in skills if skill.name == name), None)
        if skill is None:
            names = ", ".join(skill.name for skill in skills)
            raise WorkspaceError("There is no skill {name}; there are {names}.", name=name, names=names)
        switches = _switches()
        switches.pop(str(skill.place), None)
        if on:
            switches[str(skill.place)] = skill.fingerprint
        path = paths.data_folder() / _SWITCHES
        try:
            private_files.write(path, json.dumps(switches, indent=1))
        except OSError as error:
            raise UnwritablePlaceError(path, error) from error

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tool that gives the model a skill; only the descriptions stand in it."""
        skills = self.on
        if not skills:
            return ()
        lines = (f"{skill.name}: {skill.description[:MAX_DESCRIPTION]}" for skill in skills)
        schema = {
            "type": "object",
            "properties": {"name": {"enum": [skill.name for skill in skills]}, "file": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": False,
        }
        about = "Get instructions for a task, before you begin it; with `file`, a file of theirs. There are:"
        return (Tool(_USE, json.dumps(schema), "\n".join((about, *lines))),)

    @property
    def mounts(self) -> Mapping[str, Path]:
        """The folders of the skills that are on, by their places in the sandbox."""
        return {f"/skills/{skill.name}": skill.place for skill in self.on}

    def use(self, name: str, file: object = None) -> str:
        """Return the instructions of a skill that is on, or one of its files. Raises WorkspaceError."""
        skill = next((skill for skill in self.on if skill.name == name), None)
        if skill is None:
            raise WorkspaceError("The skill {name} is off.", name=name)
        folder = Folder(skill.place)
        try:
            path = folder.clean(file) if isinstance(file, str) and file else FILE_NAME
            text = folder.read(path).data.decode(errors="replace")
        finally:
            folder.close()
        if path == FILE_NAME:
            text = parse(text)[1].strip()
            if skill.files:
                place = f"/skills/{skill.name}" if sandbox.program() else skill.place
                text = text.replace(f"/skills/{skill.name}", str(place))
                text += f"\n\nFiles of this skill, in {place} for commands: {', '.join(skill.files)}"
        return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n[… {len(text) - MAX_TEXT:,} characters left out]"

    def _places(self) -> Iterator[tuple[SkillSource, Path]]:
        yield SkillSource.OWN, Path(__file__).with_name("own_skills")
        yield SkillSource.HOME, paths.skills_folder()
        for name in reversed(_IN_FOLDER):
            yield SkillSource.FOLDER, self._folder / name


def _skills(place: Path, source: SkillSource) -> Iterator[Skill]:
    """Yield the skills in a folder; faulty ones are skipped."""
    with suppress(OSError):
        for path in sorted(place.iterdir())[:MAX_SKILLS]:
            with suppress(WorkspaceError, OSError):
                if path.is_dir() and not path.is_symlink() and (skill := _read(path, source)):
                    yield skill


def _read(path: Path, source: SkillSource) -> Skill | None:
    folder = Folder(path)
    try:
        fields, _ = parse(folder.read(FILE_NAME).data.decode(errors="replace"))
        name, description = fields.get("name") or path.name, fields.get("description", "")
        if not _NAME.fullmatch(name) or not description:
            return None
        files, hashed = list[str](), hashlib.sha256()
        for entry in folder.walk():
            if entry.kind is EntryKind.FILE:
                if len(files) > _MAX_FILES:
                    return None
                files.append(entry.path)
                hashed.update(entry.path.encode() + b"\0" + hashlib.sha256(folder.read(entry.path).data).digest())
        files.remove(FILE_NAME)
        return Skill(name, " ".join(description.split()), source, folder.path, tuple(files), hashed.hexdigest())
    finally:
        folder.close()


def _switches() -> dict[str, str]:
    """Return the fingerprints of the skills that are on, by their folders."""
    try:
        content = json.loads((paths.data_folder() / _SWITCHES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(key): str(value) for key, value in content.items()} if isinstance(content, dict) else {}
