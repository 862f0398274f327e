"""Malformed files and requests, which are read or refused in a sentence."""

import dataclasses
import json
from contextlib import suppress
from pathlib import Path

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from headstart import remotes, settings
from headstart.errors import BrokenModelError, ExportError
from headstart.library import manifest
from headstart.library.manifest import Manifest, PairManifest
from headstart.markdown.parser import MarkdownStream, parse
from headstart.server.errors import RefusedError
from headstart.server.requests.reading import parse_request
from headstart.server.requests.translation import Defaults
from headstart.server.routes.chat import ChatRequest, chat_to_requests
from headstart.server.routes.completions import TextRequest, text_to_requests
from headstart.settings import Settings
from headstart_export.sources import recipe
from tests.stand_ins.model_folders import CREATED, describe, write_model
from tests.support.junk import JUNK, TOML_JUNK, changed, fuzz

RECIPES = sorted((Path(__file__).parents[1] / "models").glob("*.toml"))
SETTINGS = {
    "version": 1,
    "appearance": {"theme": "dark", "font_size": 12, "zoom": 110, "language": "en", "reduced_motion": True},
    "chat": {"enter_sends": False, "system_prompt": "Be brief."},
    "model": {"model": "pair", "kv_precision": "u8", "context": 4096},
    "speculation": {"speculation": "fixed", "num_assistant_tokens": 4, "acceptance_threshold": 0.5},
    "sampling": {"temperature": 0.5, "top_p": 0.9, "top_k": 40, "seed": 7, "stop": ["END"]},
    "presets": {"short": "Be brief."},
    "prompts": {"sum": "Sum this up."},
}
SERVERS = {
    "version": 1,
    "servers": {
        "office": {"url": "https://office:8443/v1", "model": "m", "certificate": "/ca.pem"},
        "den": {"url": "http://den:8000/v1"},
    },
}
CHAT = {
    "model": "m",
    "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    "stream": True,
    "stream_options": {"include_usage": True},
    "max_tokens": 5,
    "temperature": 0.5,
    "top_p": 0.5,
    "seed": 1,
    "stop": ["a"],
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}},
}
TEXT = {"model": "m", "prompt": "hi", "max_tokens": 5, "stop": "a", "temperature": 0.0}
# What Markdown, scripts that turn, and hidden signs are made of.
SIGNS = [
    *"*_`~#>|-+=[]()<>!\\&:$^\n\t \r\0",
    *"\u202e\u2066\u2069\u200b\u200d\u2060\ufeff\x1b\x07",
    *("```", "$$", "\\(", "\\[", "](", "http://a.b/", "&#x202e;", "<!--", "- ", "1. ", "    ", "[^1]: "),
    "| a |\n|-|\n",
    *("word", "虎", "א", "👩‍👩‍👧", "\ud800"),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("junk") / "model")


@fuzz("manifests")
@given(st.data())
def test_any_manifest_is_read_or_refused(model: Path, data: st.DataObject) -> None:
    kinds: tuple[Manifest | PairManifest, ...] = (describe(model), PairManifest("p", 600, CREATED))
    whole = dataclasses.asdict(data.draw(st.sampled_from(kinds)))
    content = json.loads(json.dumps(whole))
    text = json.dumps(changed(data, content, JUNK))
    (model / manifest.FILE_NAME).write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        manifest.read(model)
    except BrokenModelError as error:
        refused = str(error)
    else:
        return
    assert refused.endswith("export the model again.")


@fuzz("recipes")
@given(st.data())
def test_any_recipe_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    source = data.draw(st.sampled_from(RECIPES))
    content = tomlkit.parse(source.read_text(encoding="utf-8")).unwrap()
    path = tmp_path / source.name
    path.write_text(tomlkit.dumps(changed(data, content, TOML_JUNK)), encoding="utf-8")
    try:
        recipe.load(path)
    except ExportError as error:
        refused = str(error)
    else:
        return
    assert refused.startswith(f"The recipe {source.name} is wrong: ")


PACKAGES = (
    'source = [{kind = "packages", package = "PACKAGE", member = "m", parts = PARTS, sha256 = "HASH", bytes = 1}]'
)
HUB = 'source = [{kind = "hub", id = "a/b", revision = "c", bytes = 1}]'


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (f'{HUB}\nchat = "x"', "chat"),
        (PACKAGES.replace("PACKAGE", "{}").replace("PARTS", "1"), "braces of '{}'"),
        (PACKAGES.replace("PARTS", "1001"), "parts"),
        (PACKAGES.replace("PARTS", '"2"'), "parts"),
        ('source = ["x"]', "source"),
        ("source = 5", "source"),
    ],
)
def test_found_recipes_stay_fixed(tmp_path: Path, wrong: str, reason: str) -> None:
    path = tmp_path / "r.toml"
    whole = 'title = "t"\nlicence = "l"\nrole = "target"\nweights = "int8"\nparameters = 1\nchecked = "run"\n'
    path.write_text(whole + wrong.replace("HASH", "0" * 64), encoding="utf-8")
    with pytest.raises(ExportError, match=reason):
        recipe.load(path)


@fuzz("settings", 25)  # tomlkit takes its time
@given(st.data())
def test_any_settings_are_read(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(tomlkit.dumps(changed(data, SETTINGS, TOML_JUNK)), encoding="utf-8")
    found = settings.load(path)
    settings.save(found, path)
    assert settings.load(path) == found


@fuzz("settings")
@given(st.data())
def test_any_servers_are_read(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "remotes.toml"
    path.write_text(tomlkit.dumps(changed(data, SERVERS, TOML_JUNK)), encoding="utf-8")
    for server in remotes.configured(path):
        assert remotes.checked(server) == server


@fuzz("settings", 60)
@given(st.binary(max_size=60) | st.text("=[]\"'{}.#\n\\ua1-:", max_size=40).map(str.encode))
def test_any_bytes_are_no_settings(tmp_path: Path, content: bytes) -> None:
    for name in ("settings.toml", "remotes.toml"):
        (tmp_path / name).write_bytes(content)
    assert isinstance(settings.load(tmp_path / "settings.toml"), Settings)
    settings.save(Settings(theme="dark"), tmp_path / "settings.toml")
    assert settings.load(tmp_path / "settings.toml").theme == "dark"
    remotes.configured(tmp_path / "remotes.toml")


@fuzz("requests to the server")
@given(st.data())
def test_any_request_is_read_or_refused(data: st.DataObject) -> None:
    content = changed(data, data.draw(st.sampled_from([CHAT, TEXT])), JUNK)
    body = json.dumps(content).encode("utf-8", "surrogatepass")
    with suppress(RefusedError):
        chat_to_requests(parse_request(body, ChatRequest), Defaults())
    with suppress(RefusedError):
        text_to_requests(parse_request(body, TextRequest), Defaults())


@fuzz("requests to the server")
@given(
    st.binary(max_size=80)
    | st.sampled_from([b"[" * 100_000, b'{"a":' * 50_000, b"\xff{}", b"1e999", b'"' + b"\\" * 99])
)
def test_any_bytes_are_no_request(body: bytes) -> None:
    with suppress(RefusedError):
        parse_request(body, ChatRequest)
    with suppress(RefusedError):
        parse_request(body, TextRequest)


@fuzz("Markdown")
@given(st.lists(st.sampled_from(SIGNS), max_size=60).map("".join), st.integers(1, 9))
def test_any_text_is_markdown(source: str, size: int) -> None:
    whole = parse(source)
    stream = MarkdownStream()
    for at in range(0, len(source), size):
        stream.append(source[at : at + size])
    if "]:" not in source:  # the address of a link may come, or be continued, after what it is for
        assert stream.blocks == whole
    stream.finish()
    assert stream.blocks == whole


@pytest.mark.parametrize(
    "part", ["> ", "- ", "1. ", "[", "**", "![", "$$", "`", "|", "((", "<a>", "\\[", "&#x202e;", "#"]
)
def test_long_runs_of_a_sign_end(part: str) -> None:
    parse(part * 1500)
    parse((part + "\n") * 500)
