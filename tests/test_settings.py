"""The settings: declared once, bounded, and kept as a file that people may edit and break."""

import dataclasses
import logging
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from headstart import paths, settings
from headstart.errors import SettingsError
from headstart.settings import Settings, about, defaults, per_chat, plain, validated
from tests.support.rights import usual_rights

NAMES = list(defaults())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of the settings, whose folder does not exist yet."""
    return tmp_path / "config" / "settings.toml"


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path


def test_every_setting_is_described() -> None:
    assert list(about()) == NAMES
    assert all(known.meaning.endswith(".") and known.section for known in about().values())
    for name, default in defaults().items():
        assert validated(name, plain(default)) == default


OTHERS = Settings(
    theme="dark",
    font_size=14,
    enter_sends=False,
    stop=("\n\n", "结束"),
    system_prompt='Say "yes".\nOr \\ no.',
    presets={"kind": "Be kind."},
    prompts={"翻译": "Translate:\n"},
).with_values(
    {"num_assistant_tokens": 3, "assistant_confidence_threshold": 0.25, "temperature": 0.7, "seed": 2**63 - 1}
)


def test_saved_settings_are_loaded(path: Path) -> None:
    settings.save(OTHERS, path)
    assert settings.load(path) == OTHERS
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [item.name for item in path.parent.iterdir()] == ["settings.toml"]
    settings.save(Settings(), path)
    assert settings.load(path) == Settings()


VALUES = {
    "theme": st.sampled_from(["light", "dark", "system"]),
    "num_assistant_tokens": st.none() | st.integers(1, 16),
    "think": st.none() | st.booleans(),
    "think_budget": st.none() | st.integers(0, 9999),
    "top_p": st.floats(0.01, 1.0),
    "stop": st.lists(st.text("ab\n\"'\\虎#=[]", min_size=1, max_size=5), max_size=3).map(tuple),
    "prompts": st.dictionaries(st.text("ab.虎\"'#", min_size=1, max_size=4), st.text("ab\n\t\"'\\虎#]", max_size=9)),
    "system_prompt": st.text("ab\n\r\t\"'\\虎#=[]\x7f\x00\u2028", max_size=12),
}


@given(st.fixed_dictionaries({}, optional=VALUES), st.fixed_dictionaries({}, optional=VALUES))
@examples(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None, max_examples=50
)
def test_any_settings_survive_the_file(tmp_path: Path, first: dict[str, Any], second: dict[str, Any]) -> None:
    path = tmp_path / "settings.toml"
    for values in (first, second):
        made = dataclasses.replace(Settings(), **values)
        settings.save(made, path)
        assert settings.load(path) == made


EDITED = """# mine
future = 1

[appearance]
# why: my eyes
theme = "light"  # for now
sparkle = true

[odd]
a = 1
"""


def test_comments_and_unknown_keys_stay(path: Path) -> None:
    _write(path, EDITED)
    settings.save(dataclasses.replace(settings.load(path), theme="dark"), path)
    text = path.read_text(encoding="utf-8")
    assert {"# mine", "# why: my eyes", 'theme = "dark"  # for now'} <= set(text.splitlines())
    assert tomllib.loads(text) == {
        "version": settings.VERSION,
        "future": 1,
        "appearance": {"theme": "dark", "sparkle": True},
        "odd": {"a": 1},
    }


BAD = [
    ("appearance", "font_size = 900", "font_size", "between 7 and 32"),
    ("appearance", "font_size = true", "font_size", "a whole number"),
    ("appearance", 'theme = "pink"', "theme", "one of 'system'"),
    ("chat", 'enter_sends = "yes"', "enter_sends", "true or false"),
    ("sampling", "top_p = 0", "top_p", "above 0 and at most 1"),
    ("sampling", "temperature = nan", "temperature", "between 0 and 2"),
    ("sampling", 'stop = ["a", 1]', "stop", "a list of texts"),
    ("sampling", 'stop = [""]', "stop", "empty"),
    ("sampling", "seed = -1", "seed", "0 or more"),
    ("speculation", "num_assistant_tokens = 17", "num_assistant_tokens", "between 1 and 16"),
    ("speculation", 'speculation = "fixed"', "speculation", "1 to 16"),
    ("prompts", '"a b" = "x"', "prompts", "without spaces"),
    ("presets", "kind = 1", "presets", "a table of texts"),
]


@pytest.mark.parametrize(("section", "line", "name", "reason"), BAD)
def test_bad_value_costs_only_itself(
    path: Path, caplog: pytest.LogCaptureFixture, section: str, line: str, name: str, reason: str
) -> None:
    _write(path, f"[model]\ndraft = 'none'\n\n[{section}]\n{line}\n")
    with caplog.at_level(logging.WARNING):
        read = settings.load(path)
    assert read == Settings(draft="none")
    assert reason in caplog.text
    assert getattr(read, name) == defaults()[name]


def test_bad_section_costs_only_itself(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    _write(path, "appearance = 3\nprompts = 4\n[model]\ndraft = 'none'\n")
    with caplog.at_level(logging.WARNING):
        read = settings.load(path)
    assert read == Settings(draft="none")
    assert "appearance must be a table" in caplog.text
    settings.save(dataclasses.replace(read, theme="dark"), path)
    assert settings.load(path).theme == "dark"


@pytest.mark.parametrize("content", [b"theme = ", b"\xff\xfe", b"[a]\n[a]\n"])
def test_malformed_file_is_put_aside(path: Path, caplog: pytest.LogCaptureFixture, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert settings.load(path) == Settings()
        settings.save(OTHERS, path)
    assert "cannot be read" in caplog.text
    assert path.with_suffix(".damaged.toml").read_bytes() == content
    assert settings.load(path) == OTHERS


def test_file_that_cannot_be_read_is_said(path: Path) -> None:
    settings.require_readable(path)
    settings.save(OTHERS, path)
    settings.require_readable(path)
    path.chmod(0)
    with usual_rights():
        with pytest.raises(SettingsError, match=r"cannot be read \(Permission denied\), so the usual ones hold"):
            settings.require_readable(path)
        with pytest.raises(SettingsError, match="see that you may read it and write there"):
            settings.save(Settings(), path)
    path.chmod(0o600)
    assert settings.load(path) == OTHERS
    path.write_text("theme = ", encoding="utf-8")
    with pytest.raises(SettingsError, match="and that it is in order, then start Headstart again"):
        settings.require_readable(path)


def test_file_of_another_version_keeps_its_number(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    _write(path, 'version = 99\n[appearance]\ntheme = "dark"\n')
    with caplog.at_level(logging.WARNING):
        read = settings.load(path)
    assert read.theme == "dark"
    assert "another version" in caplog.text
    settings.save(read, path)
    assert tomllib.loads(path.read_text(encoding="utf-8"))["version"] == 99


def test_values_out_of_bounds_are_refused_in_code() -> None:
    with pytest.raises(SettingsError, match="font_size must be between 7 and 32"):
        Settings(font_size=1)
    fixed: dict[str, Any] = {"speculation": "fixed"}
    with pytest.raises(SettingsError, match="set the guesses per step"):
        Settings(**fixed)


def test_chat_settings_override_these(caplog: pytest.LogCaptureFixture) -> None:
    own = {"temperature": 1, "stop": ["x"], "theme": "dark", "seed": "bad", "unknown": 1, "num_assistant_tokens": None}
    merged = Settings().with_values({"num_assistant_tokens": 3}).for_chat(own)
    assert merged == Settings(stop=("x",)).with_values({"temperature": 1.0})
    assert "seed must be" in caplog.text


def test_chat_stores_the_settings_of_an_answer() -> None:
    values = OTHERS.chat_values()
    assert tuple(values) == per_chat()
    assert "theme" not in values
    assert Settings().for_chat(values).chat_values() == values


def test_file_lies_in_the_chosen_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSTART_HOME", str(tmp_path))
    assert settings.default_path() == tmp_path / "settings.toml"
    assert paths.history_folder() == tmp_path / "history"
    assert settings.load() == Settings()
    assert not list(tmp_path.iterdir())
    settings.save(OTHERS)
    assert settings.load() == OTHERS
