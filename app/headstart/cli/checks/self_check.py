"""Checks of the parts that a packed program may lack: server, schema, tools, key ring, PDF, encryption, GGUF, GenAI."""

import asyncio
import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from headstart import paths
from headstart.engine.cancelling import CancelEvent
from headstart.engine.engine import (
    ConversationRequest,
    Event,
    Finish,
    FinishReason,
    Origin,
    Request,
    Round,
    Step,
    Timing,
    Token,
    no_stats,
)
from headstart.engine.protocol import StartServer
from headstart.errors import HeadstartError
from headstart.library import exporter, library, vocabulary
from headstart.library.library import Model

_WORD, _PASSPHRASE = "tiger", "three blind mice"
_TIMEOUT_SECONDS = 60.0  # for a trial that takes less than one
_END = "<end>"
_BYTES = tuple(map(chr, (*range(33, 127), *range(161, 173), *range(174, 324))))  # as GPT-2 writes them
_LETTERS = "".join(map(chr, range(33, 127)))
# A page that shows one word. Its offsets are wrong, and a reader must find the right ones.
_PDF = f"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj
4 0 obj<</Length 40>>stream
BT /F 24 Tf 20 200 Td (Hello {_WORD}) Tj ET
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R>>
startxref
0
%%EOF
"""
# Names by which keyring finds its backends.
_KEYRING_BACKENDS = ("SecretService", "kwallet", "libsecret", "Windows", "macOS", "chainer")


class _TrialError(HeadstartError):
    """A part of the program gives a wrong result."""


def faults() -> Iterator[str]:
    """Yield a sentence for each part that fails."""
    trials: dict[str, Callable[[], None]] = {
        "The server": _serve,
        "An answer that keeps to a JSON schema": _keep_to_schema,
        "Importing a GGUF file": _import_gguf,
        "Calling a tool": _call_tool,
        "The key ring": _look_for_key_ring,
        "Reading a PDF file": _read_pdf,
        "Encrypting the history": _encrypt,
        "OpenVINO GenAI's engine": _ask_genai,
    }
    for name, trial in trials.items():
        try:
            trial()
        except (ImportError, OSError, RuntimeError, ValueError, subprocess.TimeoutExpired, HeadstartError) as error:
            yield f"{name} fails: {' '.join(str(error).split())[:500] or repr(error)}"


class EchoEngine:
    """An engine that repeats the last message."""

    def generate(self, request: Request, _cancel: CancelEvent | None = None) -> Iterator[Event]:
        assert isinstance(request, ConversationRequest), "the check sends a conversation"
        token = Token(0, Origin.UNKNOWN)
        yield Step(request.messages[-1].content, Round((token,), 0, 0, Origin.TARGET, Timing()))
        yield Finish(FinishReason.STOP, no_stats(), (token.id,))

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


def _serve() -> None:
    """Ask a server that repeats the message instead of loading a model."""
    import httpx

    body = {"model": "echo", "messages": [{"role": "user", "content": _WORD}]}
    with _serving() as (url, key), httpx.Client(trust_env=False, timeout=_TIMEOUT_SECONDS) as client:
        try:
            reply = client.post(f"{url}/chat/completions", headers={"Authorization": f"Bearer {key}"}, json=body)
            unauthorised = client.get(f"{url}/models")
        except httpx.HTTPError as error:
            raise _TrialError(f"{error!r}") from None
    _check(reply.status_code == httpx.codes.OK and _WORD in reply.text, f"it answered {reply.text[:200]}")
    _check(unauthorised.status_code == httpx.codes.UNAUTHORIZED, "it let in a program without the key")


@contextmanager
def _serving() -> Iterator[tuple[str, str]]:
    """Context manager that gives the address and the key of a server in front of an echo."""
    from headstart.server import keys
    from headstart.server.models import OneModel, Served
    from headstart.server.server import Server, listen, url

    key, listener = keys.new(), listen("127.0.0.1", 0)
    config = StartServer("echo", (keys.digest(key),), "127.0.0.1", 0)
    server = Server(config, listener, OneModel(Served("echo"), EchoEngine()), lambda _: None)
    address = url(listener)
    server.start()
    try:
        yield address, key
    finally:
        server.stop()


def _keep_to_schema() -> None:
    """Check that in a vocabulary of letters only one letter may follow, and then only the end."""
    from headstart.engine.text import grammar
    from headstart.engine.text.grammar import TokenBytes

    ids = {text: number for number, text in enumerate((*_LETTERS, _END))}
    with tempfile.TemporaryDirectory(prefix="headstart-check-") as folder:
        (Path(folder) / vocabulary.FILE_NAME).write_text(json.dumps(_tokenizer(ids)), encoding="utf-8")
        form = grammar.schema_constraint('{"enum": [7]}', TokenBytes(Path(folder), len(ids), [ids[_END]]))
    for expected in ("7", _END):
        allowed = form.allowed([])
        actual = [] if allowed is None else [text for text, number in ids.items() if allowed[number]]
        _check(actual == [expected], f"after the schema {actual} may follow in place of {expected!r}")
        form.commit(ids[expected])


def _tokenizer(ids: dict[str, int]) -> dict[str, object]:
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    cut = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "added_tokens": [{"id": ids[_END], "content": _END, "special": True, **plain}],
        "pre_tokenizer": cut,
        "decoder": cut,
        "model": {"type": "BPE", "vocab": ids, "merges": []},
    }


def _call_tool() -> None:
    """Call a tool of an MCP server in this process, so that no other program is needed."""
    from mcp import Client
    from mcp.server import MCPServer

    server = MCPServer("check")

    @server.tool()
    def echo(word: str) -> str:
        return word

    async def call() -> str:
        async with Client(server) as client:
            return str(await client.call_tool("echo", {"word": _WORD}))

    result = asyncio.run(call())
    _check(_WORD in result, f"it gives {result}")


def _look_for_key_ring() -> None:
    """Check that each kind of key ring can be asked. The desktop decides whether there is one."""
    import keyring

    keyring.get_keyring()
    native = ("secretstorage",) if sys.platform.startswith("linux") else ()
    for module in (*native, *(f"keyring.backends.{name}" for name in _KEYRING_BACKENDS)):
        importlib.import_module(module)  # noqa: TID251 - modules of the key ring


def _read_pdf() -> None:
    from headstart.chat.files.pdf_text import open_pdf, pages

    with tempfile.TemporaryDirectory(prefix="headstart-check-") as folder:
        path = Path(folder) / "check.pdf"
        path.write_text(_PDF, encoding="ascii")
        texts = list(pages(path, open_pdf(path)))
    _check(texts == [f"Hello {_WORD}"], f"it reads {texts}")


def _encrypt() -> None:
    from headstart.chat.history import encryption
    from headstart.chat.history.store import open_store

    with tempfile.TemporaryDirectory(prefix="headstart-check-") as name:
        folder = Path(name)
        with closing(open_store(folder)) as store:
            store.create_chat(_WORD)
        encryption.encrypt(folder, _PASSPHRASE)
        with closing(open_store(folder, encryption.unlock(folder, _PASSPHRASE))) as store:
            titles = [chat.title for chat in store.chats()]
        _check(encryption.is_encrypted(folder) and titles == [_WORD], f"it reads {titles}")


def _import_gguf() -> None:
    """Import a tiny model in a process of its own, as `headstart run FILE.gguf` does."""
    command = exporter.importer()
    _check(command is not None, "its program is missing")
    with tempfile.TemporaryDirectory(prefix="headstart-check-") as folder:
        file, made = Path(folder) / "tiny.gguf", Path(folder) / "tiny"
        _write_gguf(file)
        words = (*(command or ()), str(file), "--output", str(made), exporter.DEFER_CHECKS)
        done = subprocess.run(words, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
        _check(done.returncode == 0, f"it says {done.stderr[-400:]}")
        library.find(str(made))


def _write_gguf(file: Path) -> None:
    """Write a model of one layer, whose tokens are bytes, a pair of letters and an end."""
    import gguf
    import numpy as np

    tokens, width = [*_BYTES, "ab", _END], 32
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_name("tiny")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(width)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if token == _END else gguf.TokenType.NORMAL for token in tokens])
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(tokens.index(_END))
    writer.add_chat_template("{% for message in messages %}{{ message.content }}" + _END + "{% endfor %}")
    writer.add_tensor("token_embd.weight", np.ones((len(tokens), width), np.float32))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(width, np.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", np.ones((width, width), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _ask_genai() -> None:
    """Ask the model that came with the program, if there is one."""
    from headstart.engine.engine import ConversationRequest, EngineKind, Finish, LoadOptions, Message
    from headstart.engine.opening import load, resolve

    bundled = paths.bundled_models_folder()
    for model in (
        entry for entry in library.installed() if isinstance(entry, Model) and entry.folder.parent == bundled
    ):
        with closing(load(resolve(LoadOptions(model.folder, engine=EngineKind.GENAI)))) as engine:
            *_, last = engine.generate(ConversationRequest((Message("user", "Hello"),), max_new_tokens=8))
        _check(isinstance(last, Finish) and len(last.token_ids) > 0, "it wrote nothing")


def _check(condition: bool, sentence: str) -> None:
    if not condition:
        raise _TrialError(sentence)
