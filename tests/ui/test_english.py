"""The window's own English: what other parts say with flags and commands, it says with the names of its settings."""

import importlib.util
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from pytestqt.qtbot import QtBot

from headstart import library, remotes
from headstart.engine import devices, engine, loading, opening
from headstart.engine.backends.genai.engine import guessing
from headstart.engine.backends.genai.pipelines import Way
from headstart.engine.backends.remote import refusal
from headstart.engine.engine import EngineKind, LoadOptions, Remote, Request, Sampling
from headstart.errors import HeadstartError
from headstart.server import server
from headstart.ui.models.add_model_controller import ExportRun
from headstart.ui.translation import said
from tests import translations
from tests.translations import Message, is_of_a_terminal
from tests.ui.conftest import Speak
from tests.ui.test_chinese import CHINESE, catalogue, holes

# There a command is what the text is about, mostly to be copied.
ABOUT_A_TERMINAL = {"AddModelController", "EncryptionPage", "ExporterOffer"}
SERVER = Remote("office", "https://office:8443/v1", "big")
NAMED = re.compile("“([^{}”]+)”")


@pytest.fixture(scope="module")
def english() -> dict[Message, str]:
    return translations.words(catalogue("en"))


def test_everything_that_needs_other_words_has_them(english: dict[Message, str], tmp_path: Path) -> None:
    assert set(english) == {("Faults", text) for text in translations.reworded()}
    assert len(english) > 30
    assert not translations.messages(catalogue("en"), unfinished=True)
    assert all(holes(text) == holes(wording) for (_, text), wording in english.items())
    if not importlib.util.find_spec("PySide6.scripts.pyside_tool"):
        pytest.skip("this PySide6 brings no lupdate")
    fresh = tmp_path / "fresh.ts"
    shutil.copy(catalogue("en"), fresh)
    translations.update(fresh, "en")
    assert translations.words(fresh) == english


@pytest.mark.parametrize("language", ["en", *CHINESE])
def test_nothing_that_a_window_shows_is_of_a_terminal(english: dict[Message, str], language: str) -> None:
    plain = {message: message[1] for message in translations.messages(catalogue(CHINESE[0]))}
    shown = {**plain, **english} if language == "en" else translations.words(catalogue(language))
    assert not {text for (about, _), text in shown.items() if about not in ABOUT_A_TERMINAL and is_of_a_terminal(text)}


def test_settings_and_buttons_have_the_names_that_the_window_gives_them(english: dict[Message, str]) -> None:
    chinese = [translations.words(catalogue(language)) for language in CHINESE]
    own = {text for _, text in chinese[0]} | {"Headstart"}
    for message, wording in english.items():
        for name in NAMED.findall(wording):
            assert name in own, wording
            for words in chinese:
                names = [text for (_, source), text in words.items() if source == name] or [name]
                assert any(each in words[message] for each in names), (name, words[message])


def _refused(*, device: str = "CPU", head: str | None = None) -> object:
    options = LoadOptions(Path("model"), device=device, engine=EngineKind.HEADSTART)
    return opening.choose(options, head, lambda: "")


def _sampled_with_a_draft() -> object:
    request = Request((engine.Message("user", "?"),), sampling=Sampling(temperature=0.7))
    return guessing(request, Way.DRAFT, npu=False)


def _answered(status: int, words: str, *, has_key: bool = False) -> object:
    asked = httpx.Request("POST", SERVER.url, headers={"Authorization": "Bearer key"} if has_key else {})
    raise refusal(SERVER, httpx.Response(status, json={"error": {"message": words}}, request=asked))


def _raised(error: HeadstartError) -> object:
    raise error


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "head": (
        lambda: _refused(head="eagle"),
        "eagle is an EAGLE-3 head, which only OpenVINO GenAI can use: set “Engine” to “Automatic”.",
    ),
    "npu": (
        lambda: _refused(device="NPU"),
        "An NPU compiles a fixed prompt length in, while Headstart's own engine feeds passes of any length: set "
        "“Engine” to “Automatic”, or “Device” to CPU.",
    ),
    "sampled": (
        _sampled_with_a_draft,
        "OpenVINO GenAI garbles sampled answers when a draft model guesses ahead (its issue 4190): set “Engine” to "
        "“Headstart”, “Temperature” to 0, or “Speculation” to “Off”.",
    ),
    "device": (
        lambda: _raised(loading.refusal(Path("/m/small"), "GPU", "no")),
        "GPU refuses small (no). Try it with “Device” set to CPU.",
    ),
    "broken": (
        lambda: _raised(loading.refusal(Path("/m/small"), "CPU", "no")),
        f"{Path('/m/small')} cannot be loaded (no). Export it again on the page of models.",
    ),
    "key": (lambda: _answered(401, "no"), "office wants a key (no); add the server again with its “Key”."),
    "other key": (
        lambda: _answered(401, "no", has_key=True),
        "office refuses the key (no); add the server again with another “Key”.",
    ),
    "other model": (
        lambda: _answered(404, "no such model"),
        "office does not know the model 'big' (no such model); add the server again with one that it has under "
        "“Model”.",
    ),
    "no server": (
        lambda: remotes.find("remote:lab"),
        "There is no server 'lab'; none is known yet. Add it on the page of models.",
    ),
    "password": (
        lambda: remotes.checked(Remote("lab", "https://me:secret@lab/v1")),
        "An address must not hold a password; give the key under “Key” instead.",
    ),
    "port": (
        lambda: _raised(server._refusal("127.0.0.1", 8642, OSError(22, "odd"))),
        "127.0.0.1 port 8642 cannot be used (odd): choose another “Port”.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("language", ["en", *CHINESE])
def test_a_real_fault_is_told_in_the_windows_words(speak: Speak, name: str, language: str) -> None:
    cause, expected = CASES[name]
    with pytest.raises(HeadstartError) as refused:
        cause()
    speak(language)
    assert said(refused.value) != str(refused.value)
    assert not is_of_a_terminal(said(refused.value))
    if language == "en":
        assert said(refused.value) == expected


def test_a_missing_device_is_told_with_the_setting_that_chose_it(speak: Speak) -> None:
    told = devices._refusal("GPU", ("CPU", "NPU"), devices.DRAFT_DEVICE)
    assert "--draft-device; `headstart doctor`" in str(told)
    speak("en")
    assert said(told) == (
        "There is no device GPU here; present: CPU, NPU. Choose one with “Device of the draft”. If this computer has a "
        "GPU, its driver is missing or closed to you."
    )
    assert said(devices._refusal("HETERO:CPU", ("CPU",), devices.DEVICE)) == (
        "Headstart runs a model on one device, not on HETERO:CPU; present: CPU. Choose one with “Device”, or AUTO."
    )


def test_a_first_model_is_looked_for_on_its_page(speak: Speak, tmp_path: Path) -> None:
    with pytest.raises(HeadstartError) as refused:
        library.find("big", tmp_path)
    assert f"`{library.FIRST_EXPORT}`" in str(refused.value)
    speak("en")
    assert said(refused.value) == "There is no model 'big': none is installed yet."


def test_an_export_ends_in_the_windows_words(qtbot: QtBot, speak: Speak, headstart_home: Path) -> None:
    speak("en")
    run = ExportRun()
    with qtbot.waitSignal(run.ended, timeout=60_000) as ended:
        run.start((sys.executable, "-m", "headstart_export"), ("qwen3-4b+0.6b", "--draft", "small"))
    assert ended.args == [False, "qwen3-4b+0.6b is the recipe of a pair: it names both models, so leave “Draft” empty."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("leave out --kv-precision.", True),
        ("run `chmod 600 key`", True),
        ("give it with {command}.", True),
        ("export it again with headstart-export", True),
        ("int4-sym – and ```code```", False),
        ("a Headstart model", False),
    ],
)
def test_flags_and_commands_are_told_from_words(text: str, expected: bool) -> None:
    assert is_of_a_terminal(text) is expected
