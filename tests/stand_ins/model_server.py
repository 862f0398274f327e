"""A server that speaks OpenAI's protocol and says what a test wrote down, on a real socket."""

import asyncio
import json
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

DONE = b"data: [DONE]\n\n"


class Broken(Exception):  # noqa: N818 - it is no error of a test
    """Raised in the middle of an answer, so that the connection ends without its last chunk."""


@dataclass
class Script:
    """The models and answers of the server. `refusals` come first, one for each attempt."""

    words: tuple[str, ...] = ("Hello", " there", "!")
    models: tuple[dict[str, Any], ...] | None = ({"id": "small"},)  # None: it has no such list
    key: str | None = None
    refusals: list[tuple[int, Any]] = field(default_factory=list)  # status, body
    unknown: tuple[str, ...] = ()  # fields that are refused
    pause: float = 0.0  # seconds before each word
    breaks_after: int | None = None  # words
    hangs_after: int | None = None  # words
    finish: str | None = "stop"
    usage: dict[str, Any] | None = None
    raw: list[bytes] | None = None  # sent in place of all this
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)
    gone: threading.Event = field(default_factory=threading.Event)  # a client left before the end


@contextmanager
def serving(script: Script, certificate: Path | None = None) -> Iterator[str]:
    """Context manager with the API's address; with a certificate and its key, in PEM, by TLS."""
    config = uvicorn.Config(_app(script), port=0, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    if certificate:
        config.load()
        config.ssl = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        config.ssl.load_cert_chain(certificate)
    ready = threading.Event()
    thread = threading.Thread(target=_run, args=(server, ready), daemon=True)
    thread.start()
    assert ready.wait(30)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"{'https' if certificate else 'http'}://127.0.0.1:{port}/v1"
    finally:
        server.should_exit = True
        thread.join(30)


def chunk(text: str = "", finish: str | None = None, **more: Any) -> bytes:
    """Return a chunk of an answer as servers send it."""
    delta = {"content": text} if text else {}
    data = {"id": "1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _run(server: uvicorn.Server, ready: threading.Event) -> None:
    async def serve() -> None:
        work = asyncio.create_task(server.serve())
        while not server.started and not work.done():
            await asyncio.sleep(0.005)
        ready.set()
        await work

    asyncio.run(serve())


def _app(script: Script) -> Starlette:
    async def models(request: Request) -> Response:
        refusal = _refusal(script, request)
        if refusal:
            return refusal
        if script.models is None:
            return JSONResponse({"detail": "Not Found"}, 404)
        return JSONResponse({"object": "list", "data": list(script.models)})

    async def complete(request: Request) -> Response:
        order = await request.json()
        script.asked.append(order)
        refusal = _refusal(script, request) or _complaint(script, order)
        return refusal or StreamingResponse(_watched(script), media_type="text/event-stream")

    return Starlette(routes=[Route("/v1/models", models), Route("/v1/chat/completions", complete, methods=["POST"])])


def _refusal(script: Script, request: Request) -> Response | None:
    if script.key and request.headers.get("authorization") != f"Bearer {script.key}":
        return JSONResponse({"error": {"message": "Invalid API key."}}, 401)
    if script.refusals:
        status, body = script.refusals.pop(0)
        return JSONResponse(body, status, headers=script.headers)
    return None


def _complaint(script: Script, order: dict[str, Any]) -> Response | None:
    if any(name in order for name in script.unknown):
        return JSONResponse({"error": {"message": f"Unrecognized request argument: {', '.join(script.unknown)}"}}, 400)
    if script.models and order["model"] not in [model["id"] for model in script.models]:
        return JSONResponse({"error": {"message": f"The model `{order['model']}` does not exist."}}, 404)
    return None


async def _watched(script: Script) -> AsyncIterator[bytes]:
    try:
        async for data in _answer(script):
            yield data
    except asyncio.CancelledError:
        script.gone.set()
        raise


async def _answer(script: Script) -> AsyncIterator[bytes]:
    if script.raw is not None:
        for data in script.raw:
            yield data
        return
    yield b": hello\n\n"
    for place, word in enumerate(script.words):
        if place == script.breaks_after:
            raise Broken
        if place == script.hangs_after:
            await asyncio.sleep(3600)
        await asyncio.sleep(script.pause)
        yield chunk(word)
    if script.finish:
        yield chunk(finish=script.finish)
        if script.usage:
            yield f"data: {json.dumps({'choices': [], 'usage': script.usage})}\n\n".encode()
        yield DONE
