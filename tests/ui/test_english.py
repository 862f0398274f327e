"""The window's own English: what other parts say with flags and commands, it says with the names of its settings."""

import ast
import importlib.util
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from pytestqt.qtbot import QtBot

from headstart import library, remotes
from headstart.engine import devices, engine, selection
from headstart.engine.backends.genai.engine import guessing
from headstart.engine.backends.genai.pipelines import Way
from headstart.engine.backends.remote import refusal
from headstart.engine.engine import EngineKind, LoadOptions, Remote, Request, Sampling
from headstart.engine.runners import proof
from headstart.errors import HeadstartError
from headstart.server import server
from headstart.ui import fault_words
from headstart.ui.fault_words import said
from headstart.ui.models.export_run import ExportRun
from tests import source_tree, translations
from tests.source_tree import Module
from tests.translations import Message, is_of_a_terminal
from tests.ui.conftest import Speak
from tests.ui.test_chinese import CHINESE, catalogue, holes
from tests.ui.test_fault_words import ASKED_OF_A_TERMINAL, heard, sentence

# There a command is what the text is about, mostly to be copied.
ABOUT_A_TERMINAL = {"AddModelController", "EncryptionPage", "ExporterOffer"}
ELSEWHERE = (
    'pip install ".[export]" && {}', '{} -m venv --clear "{}"',  # commands to be copied
    "`headstart remote add {} {} --key`",  # stands in {command}
    "--engine headstart", "--device CPU",  # behind "use", and so a remedy that is known
    "; `headstart doctor`",  # ends a sentence that is known
    "{}: {}, as the time was over", "; not all were timed",  # `tune_words` has these in words of its own
    "Exact numerics compute in f32", "OpenVINO GenAI cannot answer in batches", "use --batch-engine own",
    "use a smaller --batch-size",  # the window offers neither
    "Port {} is taken", "Port {} may not be used",  # the first likewise; the window's ports are above 1023
)  # fmt: skip
# The window gives the exporter a source, a draft and a precision, and nothing else.
OF_OTHER_EXPORTS = (
    "A draft of {}'s own weights",
    "--{}",
    "{} guesses among the tokens",
    "{} of {} is not the file that",
)
OF_ITS_LOG = ("{} is not pinned",)
NOT_OF_A_WINDOW = {"assisted", "bigram", "cli", "distillation"}
SERVER = Remote("office", "https://office:8443/v1", "big")
NAMED = re.compile("“([^{}”]+)”")


@pytest.fixture(scope="module")
def english() -> dict[Message, str]:
    return translations.words(catalogue("en"))


def _texts(module: Module) -> Iterator[str]:
    """What is written in a module, docstrings aside, with braces where something is put in."""
    nodes = list(ast.walk(module.tree))
    inner = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    alone = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr | ast.Constant) and node not in inner | alone:
            yield sentence(node)


def _is_known(text: str) -> bool:
    return any(form.fullmatch(text) for _, form in (*fault_words._sentences(), *fault_words._details()))


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


def test_every_fault_with_a_flag_is_known() -> None:
    parts = [module for module in heard() if not module.is_in("headstart.ui")]
    found = {text for module in parts for text in _texts(module) if " " in text and is_of_a_terminal(text)}
    assert len(found) > 20
    known_elsewhere = (*ASKED_OF_A_TERMINAL, *ELSEWHERE, library.FIRST_EXPORT)
    assert not {text for text in found if not _is_known(text) and not text.startswith(known_elsewhere)}


def test_what_the_exporter_ends_with_is_known_where_it_has_a_flag() -> None:
    parts = [module for module in source_tree.modules("headstart_export") if _own_name(module) not in NOT_OF_A_WINDOW]
    found = {text for module in parts for text in _texts(module) if text.endswith(".") and is_of_a_terminal(text)}
    assert len(found) > 10
    assert not {text for text in found if not _is_known(text) and not text.startswith((*OF_OTHER_EXPORTS, *OF_ITS_LOG))}


def _own_name(module: Module) -> str:
    return module.name.rpartition(".")[2]


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
    return selection.choose(options, head, lambda: "")


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
        lambda: _raised(proof.refusal(Path("/m/small"), "GPU", "no")),
        "GPU refuses small (no). Try it with “Device” set to CPU.",
    ),
    "broken": (
        lambda: _raised(proof.refusal(Path("/m/small"), "CPU", "no")),
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
    told = devices._refusal("GPU", ("CPU", "NPU"), "--draft-device")
    assert "--draft-device; `headstart doctor`" in told
    speak("en")
    assert said(told) == (
        "There is no device GPU here; present: CPU, NPU. Choose one with “Device of the draft”. If this computer has a "
        "GPU, its driver is missing or closed to you."
    )
    assert said(devices._refusal("HETERO:CPU", ("CPU",), "--device")) == (
        "Headstart runs a model on one device, not on HETERO:CPU; present: CPU. Choose one with “Device”, or AUTO."
    )


def test_a_first_model_is_looked_for_on_its_page(speak: Speak, tmp_path: Path) -> None:
    with pytest.raises(HeadstartError) as refused:
        library.find("big", tmp_path)
    assert f"`{library.FIRST_EXPORT}`" in str(refused.value)
    speak("en")
    assert said(refused.value) == "There is no model 'big': none is installed yet."


def test_an_export_ends_in_the_windows_words(qtbot: QtBot, speak: Speak, headstart_home: Path) -> None:
    refusal = "small exists already; add --force to replace it, or choose another --output."
    speak("en")
    run = ExportRun()
    with qtbot.waitSignal(run.ended, timeout=60_000) as ended:
        run.start((sys.executable, "-c", f"import sys; sys.exit('headstart-export: {refusal}')"), ())
    assert ended.args == [False, "small exists already; remove that model first, then export it again."]


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
