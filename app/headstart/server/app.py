"""The routes of the API."""

import hashlib
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Protocol, TypeVar

import msgspec
from msgspec import structs
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route

from headstart import __version__
from headstart.engine.engine import (
    ConversationRequest,
    Finish,
    GenerationRequest,
    PromptRequest,
    Request,
    Step,
    VectorsRequest,
)
from headstart.errors import HeadstartError
from headstart.server import openapi, page
from headstart.server.auth import CLIENT, Access, Guard
from headstart.server.errors import INVALID, REFUSAL, SERVER, Fault, Notices, RefusedError, invalid, stopping
from headstart.server.metrics import TYPE, Metrics
from headstart.server.models import Served, Task, default, find, is_pattern, require_context
from headstart.server.requests import prefix
from headstart.server.requests.bodies import AnswerRequest
from headstart.server.requests.constraint import losses_of
from headstart.server.requests.reading import convert_request, parse_request, read_body, read_form
from headstart.server.requests.tools import other_kinds
from headstart.server.requests.translation import Defaults
from headstart.server.routes import ollama
from headstart.server.routes.anthropic import (
    CountedTokens,
    CountTokensRequest,
    MessagesFormatter,
    MessagesRequest,
    left_out_of_messages,
    messages_to_request,
)
from headstart.server.routes.audio import (
    OPENAI_MODEL,
    TRANSCRIBES,
    AudioRequest,
    audio_to_request,
    transcript_response,
)
from headstart.server.routes.chat import ChatFormatter, ChatRequest, chat_to_requests
from headstart.server.routes.completions import TextFormatter, TextRequest, text_to_requests
from headstart.server.routes.embeddings import (
    EMBEDS,
    EmbeddingRequest,
    Embeddings,
    RerankRequest,
    embedding_to_request,
    embeddings_of,
    reranked,
)
from headstart.server.routes.replies import Health, ListedModel, ModelList, ReplyContext, ReplyFormatter
from headstart.server.routes.responses import (
    InputTokens,
    ResponsesFormatter,
    ResponsesRequest,
    left_out_of_responses,
    responses_to_request,
)
from headstart.server.routes.tokens import (
    Detokenized,
    DetokenizeRequest,
    Tokenized,
    TokenizeRequest,
    tokenize_to_request,
)
from headstart.server.streaming import ANSWERS, MODEL, AnswerResponse, cancelled_on_disconnect, refusal_of
from headstart.server.worker import Worker
from headstart.tools.calls import reader_of


class _HasModel(Protocol):
    @property
    def model(self) -> str | None: ...


_Body = TypeVar("_Body", bound=_HasModel)
_DEFAULT_ANSWER_TOKENS = 4096  # tokens, if the model's context is unknown
_LOAD = PromptRequest(prompt=" ", tokens_only=True)  # loads a model and does nothing with it
_MAX_FLOATS = 2_500_000  # in the embeddings of a request, which the engine reports in one line
_MIN_SIMILARITY = 0.85  # of a wrong path and the one that may be meant
_ALL_METHODS = ["GET", "POST", "PUT", "DELETE"]
_CLOSE_CONNECTION = {"connection": "close"}
_LEFT_OUT = "x-headstart-left-out"  # header of a reply: types of tools and parts that the request had in vain
_LOOSENED = "x-headstart-loosened"  # header of a reply: tools and schemas of which a part is left to the model
_MAX_LEFT_OUT = 20  # of them; clients choose their names


class Api:
    """The handlers of the routes."""

    def __init__(
        self,
        worker: Worker,
        defaults: Defaults,
        metrics: Metrics,
        notices: Notices,
        default_model: str,
        aliases: Mapping[str, str],
    ) -> None:
        """`default_model` is the model of requests that name none, if no model is in memory; `aliases`: see `find`."""
        self._worker, self._models, self._defaults, self._metrics = worker, worker.models, defaults, metrics
        self._notices, self._default, self._aliases = notices, default_model, aliases
        self._created = int(time.time())

    async def models(self, _: HttpRequest) -> Response:
        return _json(ModelList([*map(self._describe, self._models.listed()), *self._described_aliases()]))

    async def model(self, request: HttpRequest) -> Response:
        name = request.path_params["model"]
        alias = next((model for model in self._described_aliases() if model.id == name), None)
        return _json(alias or self._describe(find(self._models, name, self._aliases)))

    async def chat(self, request: HttpRequest) -> Response:
        """Answer a conversation: POST /v1/chat/completions."""
        body, model = await self._read(request, ChatRequest)
        engine_requests = chat_to_requests(body, self._defaults_for(model))
        context = self._context(body, model, len(engine_requests), len(engine_requests))
        formatters = [
            ChatFormatter(context, reader_of(engine_request), index)
            for index, engine_request in enumerate(engine_requests)
        ]
        left_out, losses = other_kinds(body.tools or ()), losses_of(engine_requests[0], body.response_format)
        return self._answer(
            request,
            model,
            engine_requests,
            formatters,
            losses,
            answers_per_prompt=len(engine_requests),
            streamed=bool(body.stream),
            left_out=left_out,
        )

    async def complete(self, request: HttpRequest) -> Response:
        """Continue a text: POST /v1/completions."""
        body, model = await self._read(request, TextRequest)
        engine_requests = text_to_requests(body, self._defaults_for(model))
        context = self._context(body, model, body.n or 1, len(engine_requests))
        formatters = [TextFormatter(context, index) for index in range(len(engine_requests))]
        streamed, per_prompt = bool(body.stream), body.n or 1
        return self._answer(
            request, model, engine_requests, formatters, answers_per_prompt=per_prompt, streamed=streamed
        )

    async def messages(self, request: HttpRequest) -> Response:
        """Answer a conversation: POST /v1/messages, Anthropic's API."""
        body, model = await self._read(request, MessagesRequest)
        engine_request = messages_to_request(body, self._defaults_for(model))
        formatter = MessagesFormatter(model.id, reader_of(engine_request))
        left_out, losses = left_out_of_messages(body), losses_of(engine_request)
        return self._answer(
            request, model, [engine_request], [formatter], losses, streamed=bool(body.stream), left_out=left_out
        )

    async def count_messages(self, request: HttpRequest) -> Response:
        """Count the tokens of a conversation: POST /v1/messages/count_tokens."""
        body, model = await self._read(request, CountTokensRequest)
        engine_request = messages_to_request(body, self._defaults_for(model))
        return _json(CountedTokens(await self._count(request, model, engine_request)))

    async def respond(self, request: HttpRequest) -> Response:
        """Answer a conversation: POST /v1/responses, OpenAI's newer API."""
        body, model = await self._read(request, ResponsesRequest)
        engine_request = responses_to_request(body, self._defaults_for(model))
        formatter = ResponsesFormatter(replace(body, model=model.id), engine_request, reader_of(engine_request))
        left_out = left_out_of_responses(body)
        losses = losses_of(engine_request, body.text.format if body.text else None)
        return self._answer(
            request, model, [engine_request], [formatter], losses, streamed=bool(body.stream), left_out=left_out
        )

    async def count_input(self, request: HttpRequest) -> Response:
        """Count the tokens of a conversation: POST /v1/responses/input_tokens."""
        body, model = await self._read(request, ResponsesRequest)
        engine_request = responses_to_request(body, self._defaults_for(model))
        return _json(InputTokens(await self._count(request, model, engine_request)))

    async def embed(self, request: HttpRequest) -> Response:
        """Turn texts into vectors: POST /v1/embeddings."""
        return _json(await self._embed(request, *await self._read(request, EmbeddingRequest)))

    async def rerank(self, request: HttpRequest) -> Response:
        """Sort texts by what they have in common with a query: POST /v1/rerank."""
        body, model = await self._read(request, RerankRequest)
        asked = EmbeddingRequest(model=body.model, input=[body.query, *body.texts])
        embeddings = await self._embed(request, asked, model)
        return _json(reranked(embeddings, body.texts, body.top_n, with_texts=bool(body.return_documents)))

    async def _embed(self, request: HttpRequest, body: EmbeddingRequest, model: Served) -> Embeddings:
        if body.dimensions and body.dimensions > model.dimensions:
            sentence = f"The vectors of {model.id!r} have {model.dimensions} dimensions: ask for no more."
            raise invalid(sentence, "dimensions", "unsupported_value")
        engine_request = embedding_to_request(body)
        if len(engine_request.inputs) * model.dimensions > _MAX_FLOATS:
            limit = _MAX_FLOATS // model.dimensions
            raise invalid(f"{model.id!r} takes up to {limit} texts at a time: send them in several requests.", "input")
        _, finish = await self._run(request, model, engine_request)
        if not finish.vectors:
            raise stopping()
        return embeddings_of(finish, model.id, body.dimensions, as_base64=body.encoding_format == "base64")

    async def transcribe(self, request: HttpRequest) -> Response:
        """Write down what is said in a recording: POST /v1/audio/transcriptions."""
        return await self._write_down(request)

    async def translate(self, request: HttpRequest) -> Response:
        """Write down in English what is said in a recording: POST /v1/audio/translations."""
        return await self._write_down(request, translate=True)

    async def _write_down(self, request: HttpRequest, *, translate: bool = False) -> Response:
        body = convert_request(await read_form(request, self._worker.limits), AudioRequest, are_texts=True)
        model = self._model_for(request, body, Task.TRANSCRIPTS)
        with TemporaryDirectory() as folder:
            recording = Path(folder, "recording")
            recording.write_bytes(body.file)
            engine_request = audio_to_request(body, str(recording), translate=translate)
            _, finish = await self._run(request, model, engine_request)
        if not finish.transcript:
            raise stopping()
        return transcript_response(finish.transcript, body, translate=translate)

    async def tokenize(self, request: HttpRequest) -> Response:
        body, model = await self._read(request, TokenizeRequest)
        _, finish = await self._run(request, model, tokenize_to_request(body))
        return _json(Tokenized(list(finish.token_ids), len(finish.token_ids), finish.stats.context_length))

    async def detokenize(self, request: HttpRequest) -> Response:
        body, model = await self._read(request, DetokenizeRequest)
        text, _ = await self._run(request, model, PromptRequest(prompt=tuple(body.tokens), tokens_only=True))
        return _json(Detokenized(text, text))

    async def ollama_tags(self, _: HttpRequest) -> Response:
        listed = [model for model in self._models.listed() if model.task is not Task.TRANSCRIPTS]  # not in its API
        return _json(ollama.tags(listed, self._created))

    async def ollama_running(self, _: HttpRequest) -> Response:
        return _json(ollama.running(self._models.loaded(), self._models.listed()))

    async def ollama_show(self, request: HttpRequest) -> Response:
        body = parse_request(await read_body(request, self._worker.limits), ollama.ShowRequest)
        return _json(ollama.shown(find(self._models, body.model or body.name, self._aliases), self._created))

    async def ollama_version(self, _: HttpRequest) -> Response:
        return _json(ollama.OllamaVersion())

    async def ollama_chat(self, request: HttpRequest) -> Response:
        """Answer a conversation: POST /api/chat."""
        return await self._ollama_answer(request, *await self._read(request, ollama.OllamaChatRequest))

    async def ollama_generate(self, request: HttpRequest) -> Response:
        """Answer or continue a text: POST /api/generate."""
        return await self._ollama_answer(request, *await self._read(request, ollama.OllamaGenerateRequest))

    async def _ollama_answer(
        self,
        request: HttpRequest,
        body: ollama.OllamaChatRequest | ollama.OllamaGenerateRequest,
        model: Served,
    ) -> Response:
        body = replace(body, model=model.id)
        if body.is_empty:
            await self._run(request, model, _LOAD)
            return _json(ollama.loaded_line(body))
        engine_request = ollama.ollama_to_request(body, model, self._defaults_for(model))
        formatter = ollama.OllamaFormatter(body, reader_of(engine_request))
        left_out = other_kinds(body.tools or ()) if isinstance(body, ollama.OllamaChatRequest) else ()
        losses, streamed = losses_of(engine_request), body.stream is not False
        return self._answer(request, model, [engine_request], [formatter], losses, streamed=streamed, left_out=left_out)

    async def ollama_embed(self, request: HttpRequest) -> Response:
        """Turn texts into vectors: POST /api/embed."""
        body, model = await self._read(request, ollama.OllamaEmbedRequest)
        started = time.monotonic_ns()
        return _json(ollama.embeddings_of(await self._embed(request, body, model), time.monotonic_ns() - started))

    async def ollama_embed_one(self, request: HttpRequest) -> Response:
        """Turn a text into a vector: POST /api/embeddings."""
        body, model = await self._read(request, ollama.OllamaEmbeddingRequest)
        (vector,) = ollama.numbers_of(await self._embed(request, replace(body, input=body.prompt), model))
        return _json(ollama.OllamaEmbedding(vector))

    async def ollama_missing(self, request: HttpRequest) -> Response:
        raise ollama.not_here(request.method, request.url.path)

    async def health(self, _: HttpRequest) -> Response:
        return _json(Health())

    async def page(self, request: HttpRequest) -> Response:
        """Return the page for a chat to browsers, and the health to programs."""
        return page.response() if "text/html" in request.headers.get("accept", "") else await self.health(request)

    async def metrics(self, _: HttpRequest) -> Response:
        return Response(self._metrics.text(self._worker.waiting), headers={"content-type": TYPE})

    async def openapi(self, _: HttpRequest) -> Response:
        aliases = [model.id for model in self._described_aliases()]
        return _json(openapi.description([*(model.id for model in self._models.listed()), *aliases]))

    async def _read(self, request: HttpRequest, body_type: type[_Body]) -> tuple[_Body, Served]:
        body = parse_request(await read_body(request, self._worker.limits), body_type)
        model = self._model_for(request, body, Task.VECTORS if isinstance(body, EmbeddingRequest) else Task.ANSWERS)
        if isinstance(body, AnswerRequest):
            require_context(model, body.num_ctx)
        return body, model

    def _model_for(self, request: HttpRequest, body: _HasModel, task: Task) -> Served:
        """Return the model that a request names, or the usual one for its task. Raises RefusedError."""
        name = (body.model or "").strip()
        try:
            model = find(self._models, name, self._aliases) if name else default(self._models, self._default, task)
        except RefusedError:
            if task is not Task.TRANSCRIPTS or name != OPENAI_MODEL:
                raise
            model = default(self._models, self._default, task)
        request.scope[MODEL] = model.id
        if model.task is not task:
            sentence = f"The model {model.id!r} {model.task}: name one that {task}."
            raise invalid(sentence, "model", "unsupported_model")
        return model

    async def _run(self, request: HttpRequest, model: Served, engine_request: Request) -> tuple[str, Finish]:
        """Return the text and the statistics of an answer. Raises RefusedError."""
        (answer,) = self._worker.take([self._steady(engine_request)], model, request.scope[CLIENT])
        if isinstance(engine_request, VectorsRequest):
            request.scope[ANSWERS] = [answer]
        text = ""
        async with cancelled_on_disconnect(request.receive, [answer]), aclosing(answer.events()) as events:
            async for event in events:
                if isinstance(event, Step):
                    text += event.text
                elif isinstance(event, Finish):
                    return text, event
        raise stopping()

    async def _count(self, request: HttpRequest, model: Served, engine_request: ConversationRequest) -> int:
        _, finish = await self._run(request, model, structs.replace(engine_request, tokens_only=True))
        return len(finish.token_ids)

    def _steady(self, engine_request: Request) -> Request:
        """Return a request whose prompt begins the same each time, and log once what was changed for that."""
        if not isinstance(engine_request, ConversationRequest):
            return engine_request
        result = prefix.steady(engine_request)
        for lines, what in ((result.moved, "it is read at the end"), (result.left_out, "it is left out")):
            if lines:
                self._notices.warn(f"A system prompt changes with each request ({prefix.summary(lines)!r}): {what}.")
        return result.request

    def _context(self, body: AnswerRequest, model: Served, answers_per_prompt: int, answers: int) -> ReplyContext:
        with_usage = body.stream_options is not None and bool(body.stream_options.include_usage)
        loaded = cache(lambda: fingerprint(self._models.known(model), self._defaults))
        return ReplyContext(model.id, loaded, with_usage, answers_per_prompt, answers)

    def _defaults_for(self, model: Served) -> Defaults:
        """Return the values for the fields that a request leaves out."""
        defaults = self._defaults
        return replace(defaults, length=defaults.length or model.context // 2 or _DEFAULT_ANSWER_TOKENS)

    def _answer(
        self,
        request: HttpRequest,
        model: Served,
        engine_requests: Sequence[GenerationRequest],
        formatters: Sequence[ReplyFormatter],
        losses: Mapping[str, str] = MappingProxyType({}),
        *,
        streamed: bool,
        answers_per_prompt: int = 1,
        left_out: Iterable[str] = (),
    ) -> Response:
        """Return the response to a request.

        `losses`: by the names of its tools and schemas, the parts of them that are not enforced. `left_out`: types of
        its tools and parts that are not supported. Headers name both, and the log once.
        """
        steady = [self._steady(engine_request) for engine_request in engine_requests]
        answers = self._worker.take(steady, model, request.scope[CLIENT])
        for index, answer in enumerate(answers):
            answer.has_prompt = index % answers_per_prompt == 0
        send_seconds, with_tokens = self._worker.limits.send_seconds, engine_requests[0].top_logprobs is not None
        kinds = list(dict.fromkeys(re.sub(r"[^\w.-]", "_", kind[:80], flags=re.ASCII) for kind in left_out))
        for kind in kinds[:_MAX_LEFT_OUT]:
            self._notices.warn(f"A request has {kind!r}, which nobody can use here: it was left out.")
        for name, loss in losses.items():
            self._notices.warn(f"{name[:64]!r} is kept to without a part of its schema: {loss[:200]}.")
        loosened = [re.sub(r"[^!-~]", "?", name[:64]) for name in losses]
        named = {_LEFT_OUT: kinds[:_MAX_LEFT_OUT], _LOOSENED: loosened[:_MAX_LEFT_OUT]}
        headers = {header: ", ".join(names) for header, names in named.items() if names}
        return AnswerResponse(
            answers, formatters, send_seconds, streamed=streamed, with_tokens=with_tokens, more_headers=headers
        )

    def _described_aliases(self) -> list[ListedModel]:
        """Return the aliases that are names, as if they were models."""
        by_id = {model.id: model for model in self._models.listed()}
        return [
            replace(self._describe(by_id[target]), id=alias)
            for alias, target in self._aliases.items()
            if target in by_id and not is_pattern(alias)
        ]

    def _describe(self, model: Served) -> ListedModel:
        shown = ListedModel(model.id, self._created, model.context or None, model.context or None)
        capabilities = {Task.VECTORS: EMBEDS, Task.TRANSCRIPTS: TRANSCRIBES}.get(model.task, shown.capabilities)
        return replace(shown, capabilities=capabilities)


def application(api: Api, access: Access) -> Starlette:
    """Return the API behind its access checks."""
    pages = Middleware(
        CORSMiddleware,
        allow_origin_regex=access.origin_regex,
        allow_methods=["*"],
        allow_headers=["*"],
        expose_headers=["*"],
        allow_private_network=True,  # strangers have been refused before
    )
    root = Route("/", api.page if access.has_page else api.health)
    routes = [
        Route("/v1/models", api.models),
        Route("/v1/chat/completions", api.chat, methods=["POST"]),
        Route("/v1/completions", api.complete, methods=["POST"]),
        Route("/v1/responses", api.respond, methods=["POST"]),
        Route("/v1/responses/input_tokens", api.count_input, methods=["POST"]),
        Route("/v1/messages", api.messages, methods=["POST"]),
        Route("/v1/messages/count_tokens", api.count_messages, methods=["POST"]),
        Route("/v1/embeddings", api.embed, methods=["POST"]),
        Route("/v1/rerank", api.rerank, methods=["POST"]),
        Route("/v1/audio/transcriptions", api.transcribe, methods=["POST"]),
        Route("/v1/audio/translations", api.translate, methods=["POST"]),
        Route("/tokenize", api.tokenize, methods=["POST"]),
        Route("/detokenize", api.detokenize, methods=["POST"]),
        Route("/api/tags", api.ollama_tags),
        Route("/api/ps", api.ollama_running),
        Route("/api/version", api.ollama_version),
        Route("/api/show", api.ollama_show, methods=["POST"]),
        Route("/api/chat", api.ollama_chat, methods=["POST"]),
        Route("/api/generate", api.ollama_generate, methods=["POST"]),
        Route("/api/embed", api.ollama_embed, methods=["POST"]),
        Route("/api/embeddings", api.ollama_embed_one, methods=["POST"]),
        *(Route(path, api.ollama_missing, methods=_ALL_METHODS) for path in ollama.MISSING),
        Route("/health", api.health),
        Route("/v1", api.health),
        Route("/v1/health", api.health),
        Route("/metrics", api.metrics),
        Route("/openapi.json", api.openapi),
    ]
    # Some clients add a slash, and follow no redirect of a POST.
    slashed = [Route(f"{route.path}/", route.endpoint, methods=list(route.methods or ())) for route in routes]
    return Starlette(
        routes=[
            root,
            *routes,
            *slashed,
            Route("/v1/models/{model:path}", api.model),
        ],
        middleware=[
            Middleware(Guard, access.page_refusal),
            *([pages] if access.origins else []),
            Middleware(Guard, access.key_refusal),
            Middleware(ServerErrorMiddleware, _bug_response),  # inside, so that pages can read it
        ],
        exception_handlers={
            HeadstartError: _refusal_response,
            HTTPException: _http_error_response,
            Exception: _bug_response,
        },
    )


def fingerprint(model: Served, defaults: Defaults) -> str:
    """Return a name that changes with the program, the model, its arithmetic and the defaults of requests.

    It ends in "-varies" if the same request may get different answers.
    """
    state = repr((__version__, model, defaults)).encode()
    return f"fp_{hashlib.sha256(state).hexdigest()[:12]}{'' if model.is_batch_invariant else '-varies'}"


async def _refusal_response(request: HttpRequest, error: Exception) -> Response:
    assert isinstance(error, HeadstartError)
    return _refuse(request, refusal_of(error, request.scope))


def _refuse(request: HttpRequest, refusal: RefusedError) -> Response:
    request.scope[REFUSAL] = refusal
    return refusal.response(request.scope)


async def _http_error_response(request: HttpRequest, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path, known = request.url.path, [route.path for route in request.app.routes if isinstance(route, Route)]
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        remedy, code = f"it takes {(error.headers or {})['Allow']}, see /openapi.json", "method_not_allowed"
    else:
        remedy, code = _right_path(path, known, str(request.base_url)), "not_found"
    sentence = f"{request.method} {path[:80]} is not part of this API: {remedy}."
    return _refuse(request, RefusedError(error.status_code, Fault(sentence, INVALID, code=code), error.headers))


def _right_path(path: str, known: Sequence[str], server: str) -> str:
    """Return the path to request in place of an unknown one. Most unknown paths come from a wrong base URL."""
    if path.startswith("/v1/v1/"):
        return "the address has /v1 twice, so take one from the base URL"
    if f"/v1{path}" in known:
        return f"put /v1 behind the address of the server, {server}v1"
    if path.startswith("/v1/api/"):
        return f"the routes of Ollama stand without /v1, so the address of the server is {server.rstrip('/')}"
    near = get_close_matches(path, known, 1, _MIN_SIMILARITY)
    return f"did you mean {near[0]}" if near else "see /openapi.json"


async def _bug_response(request: HttpRequest, error: Exception) -> Response:
    """Return the reply to a request that met a bug. The web server logs the bug."""
    sentence = f"The server failed ({type(error).__name__}): look at its output, and report it."
    # The web server closes the connection after a bug; the header keeps a client from sending its next request there.
    return _refuse(request, RefusedError(500, Fault(sentence, SERVER), _CLOSE_CONNECTION))


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
