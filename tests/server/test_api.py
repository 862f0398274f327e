"""The API through OpenAI's own client: what it sends reaches the engine, what the engine says reaches it."""

import functools
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import openai
import pytest
from msgspec import structs
from openai.types.chat import ChatCompletionMessageFunctionToolCall

from bench.toy import ToyEngine
from headstart.engine.engine import Call, Message, Sampling, Speculation, Tools
from headstart.errors import BrokenModelError, ChatTemplateError, ContextOverflowError
from headstart.server.models import OneModel, Served
from headstart.server.requests.history import NO_RESULT
from headstart.server.requests.reading import parse_request
from headstart.server.routes.anthropic import MessagesRequest
from headstart.server.routes.chat import ChatRequest
from headstart.server.routes.completions import TextRequest
from headstart.server.routes.embeddings import EmbeddingRequest
from headstart.server.routes.responses import ResponsesRequest
from headstart.server.routes.tokens import DetokenizeRequest, TokenizeRequest
from headstart.server.worker import Limits
from tests.server.serving import KEY, MODEL, Running, serving
from tests.stand_ins.fakes import HALF, ScriptedEngine
from tests.support.waiting import PATIENCE

FOX = "The quick brown fox jumps over the lazy dog."
HI: Any = [{"role": "user", "content": "Hi"}]


def tool(name: str, parameters: dict[str, Any] | None = None) -> Any:
    return {"type": "function", "function": {"name": name, "description": "Does it", "parameters": parameters}}


def named(name: str) -> Any:
    return {"type": "function", "function": {"name": name}}


def called(arguments: str) -> Any:
    return {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": arguments}}


def strict(offered: Any) -> Any:
    return {**offered, "function": {**offered["function"], "strict": True}}


def formed(schema: Any, **more: Any) -> Any:
    return {"type": "json_schema", "json_schema": {"name": "form", "schema": schema, **more}}


BAD = {"type": "object", "properties": {"path": {"type": "string", "pattern": "^(?!x)"}}}  # no grammar can hold it
PLACE = {"type": "object", "properties": {"place": {"type": "string"}}}
DEEP = functools.reduce(lambda inner, _: {"type": "object", "properties": {"a": inner}}, range(60), PLACE)
LOOK = tool("look", PLACE)
CALL = '<tool_call>\n{"name": "look", "arguments": {"place": "in there"}}\n</tool_call>'


ENGINE = ScriptedEngine()


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with serving(ENGINE, models=OneModel(Served(MODEL, 4096), ENGINE)) as running:
        yield running


@pytest.fixture
def engine() -> ScriptedEngine:
    """The engine of `running`, with its requests cleared."""
    vars(ENGINE).update(vars(ScriptedEngine()))
    return ENGINE


@pytest.fixture(scope="module")
def connected(running: Running) -> Iterator[openai.OpenAI]:
    with running.client() as client:
        yield client


@pytest.fixture
def client(connected: openai.OpenAI, engine: ScriptedEngine) -> openai.OpenAI:
    assert not engine.requests
    return connected


def test_chat_completion_answers(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    messages: Any = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "One "}, {"type": "text", "text": "two"}]},
        {"role": "assistant", "content": "Yes?", "refusal": None},
        {"role": "user", "content": "Go on.", "name": "eve"},
    ]
    reply = client.chat.completions.create(model=MODEL, messages=messages)
    assert reply.choices[0].message.content == FOX
    assert (reply.choices[0].finish_reason, reply.object, reply.model) == ("stop", "chat.completion", MODEL)
    (request,) = engine.requests
    assert request.messages == (
        Message("system", "Be brief."),
        Message.of_parts("user", ["One ", "two"]),
        Message("assistant", "Yes?"),
        Message("user", "Go on."),
    )
    assert request.sampling.temperature == 0
    usage = reply.usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (7, 9, 16)
    assert usage.completion_tokens_details is not None
    details = usage.completion_tokens_details
    # Rounds of 1, 3, 3, 1, 1 tokens: two of two drafted held, two of three n-gram tokens, one of two at the end.
    assert (details.accepted_prediction_tokens, details.rejected_prediction_tokens) == (5, 2)


def test_streamed_answer_equals_the_whole_one(client: openai.OpenAI) -> None:
    chunks = list(
        client.chat.completions.create(
            model=MODEL, messages=HI, stream=True, stream_options={"include_usage": True}, max_tokens=7
        )
    )
    *parts, last, tally = chunks
    assert parts[0].choices[0].delta.role == "assistant"
    assert len(parts) == 4
    assert "".join(part.choices[0].delta.content or "" for part in parts) == "The quick brown fox jumps over the"
    assert last.choices[0].finish_reason == "length"
    assert {chunk.id for chunk in chunks} == {tally.id}
    assert tally.choices == []
    assert tally.usage is not None
    assert tally.usage.completion_tokens == 7
    assert all(chunk.usage is None for chunk in chunks[:-1])


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_max_tokens_0_reads_only_the_prompt(client: openai.OpenAI, engine: ScriptedEngine, name: str) -> None:
    create: Any = client.chat.completions.create
    reply = create(model=MODEL, messages=HI, **{name: 0})
    assert (reply.choices[0].message.content, reply.choices[0].finish_reason) == ("", "length")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (1, 0)
    first, last = create(model=MODEL, messages=HI, stream=True, **{name: 0})
    assert (first.choices[0].delta.content, last.choices[0].finish_reason) == ("", "length")
    text = client.completions.create(model=MODEL, prompt="Once", max_tokens=0)
    assert (text.choices[0].text, text.choices[0].finish_reason) == ("", "length")
    assert [request.max_new_tokens for request in engine.requests] == [0, 0, 0]


def test_completion_continues_a_text(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    whole = client.completions.create(model=MODEL, prompt="Once", max_tokens=100)
    assert (whole.choices[0].text, whole.choices[0].finish_reason) == (FOX, "stop")
    parts = list(client.completions.create(model=MODEL, prompt=["Once"], stream=True))
    assert all(part.choices and part.usage is None for part in parts), "nobody asked for usage"
    assert "".join(part.choices[0].text for part in parts) == FOX
    assert [request.prompt for request in engine.requests] == ["Once", "Once"]
    assert [request.max_new_tokens for request in engine.requests] == [100, 16]


def test_several_choices_come_in_order(engine: ScriptedEngine) -> None:
    engine.scripts = ["One.", "Two of them.", "Three.", "Four."]
    with serving(engine) as running, running.client() as client:
        several = client.chat.completions.create(model=MODEL, messages=HI, n=2, seed=5)
        texts = client.completions.create(model=MODEL, prompt=["Once", "Upon a"], n=1, echo=True)
    assert [(choice.index, choice.message.content) for choice in several.choices] == [(0, "One."), (1, "Two of them.")]
    assert several.usage is not None
    assert (several.usage.prompt_tokens, several.usage.completion_tokens) == (1, 4), "the prompt counts once"
    assert [(choice.index, choice.text) for choice in texts.choices] == [(0, "OnceThree."), (1, "Upon aFour.")]
    assert texts.usage is not None
    assert (texts.usage.prompt_tokens, texts.usage.completion_tokens) == (3, 2)
    assert [request.sampling.seed for request in engine.requests[:2]] == [5, 6]
    assert [request.prompt for request in engine.requests[2:]] == ["Once", "Upon a"]


@pytest.mark.parametrize("kind", ["chat", "text"])
def test_several_choices_are_streamed_with_their_index(engine: ScriptedEngine, kind: str) -> None:
    engine.scripts = ["One.", "Two of them."]
    with serving(engine) as running, running.client() as client:
        asked: Any = {"model": MODEL, "n": 2, "stream": True, "stream_options": {"include_usage": True}}
        chat, text = client.chat.completions.create, client.completions.create
        chunks: Any = list(chat(messages=HI, **asked) if kind == "chat" else text(prompt="Hi", **asked))
    *parts, tally = chunks
    told = ["", ""]
    for part in parts:
        (choice,) = part.choices
        told[choice.index] += (choice.delta.content or "") if kind == "chat" else choice.text
    assert told == ["One.", "Two of them."]
    assert [part.choices[0].finish_reason for part in parts].count("stop") == 2
    assert (tally.usage.prompt_tokens, tally.usage.completion_tokens) == (1, 4)
    assert len({part.id for part in chunks}) == 1


def test_several_choices_have_to_fit_into_the_queue(engine: ScriptedEngine) -> None:
    with serving(engine, Limits(waiting=1)) as running, running.client() as client:
        assert len(client.chat.completions.create(model=MODEL, messages=HI, n=2).choices) == 2
        with pytest.raises(openai.BadRequestError, match="no place in the queue"):
            client.chat.completions.create(model=MODEL, messages=HI, n=3)


def test_suffix_token_prompt_and_logit_bias_reach_the_engine(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    client.completions.create(model=MODEL, prompt="a = (", suffix=")", logit_bias={"7": -100, "8": 0})
    client.completions.create(model=MODEL, prompt="", suffix=")")
    client.completions.create(model=MODEL, prompt=[1, 2, 3])
    client.completions.create(model=MODEL, prompt=[[4, 5], [6]])
    client.chat.completions.create(model=MODEL, messages=HI, logit_bias={"9": 5})
    gap, front, *_, last = engine.requests
    assert (gap.prompt, gap.suffix, gap.sampling.logit_bias) == ("a = (", ")", {7: -100.0})
    assert (front.prompt, front.suffix) == ("", ")")
    assert [request.prompt for request in engine.requests[2:5]] == [(1, 2, 3), (4, 5), (6,)]
    assert last.sampling.logit_bias == {9: 5.0}


def test_parameters_reach_the_engine(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    client.chat.completions.create(
        model=MODEL,
        messages=HI,
        temperature=0.5,
        top_p=0.9,
        presence_penalty=1,
        frequency_penalty=-1.5,
        seed=-2,
        stop=["END", "\n\n"],
        max_tokens=3,
        max_completion_tokens=5,
        user="somebody",
        extra_body={"top_k": 40, "min_p": 0.1, "repetition_penalty": 1.2, "unknown": 1},
    )
    (request,) = engine.requests
    assert request.sampling == Sampling(0.5, 0.9, 40, 0.1, 1.2, 1.0, -1.5, 2**63 - 2)
    assert (request.stop, request.max_new_tokens) == (("END", "\n\n"), 5)


def test_prediction_and_response_format_reach_the_engine(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    forms: list[Any] = [
        {"type": "json_schema", "json_schema": {"name": "a", "schema": schema, "strict": True}},
        {"type": "json_object"},
        {"type": "text"},
    ]
    for form in forms:
        client.chat.completions.create(
            model=MODEL, messages=HI, response_format=form, prediction={"type": "content", "content": "Foretold."}
        )
    assert [request.prediction for request in engine.requests] == ["Foretold."] * 3
    told = [json.loads(request.schema) for request in engine.requests[:2]]
    assert told == [schema, {"type": "object"}]
    assert engine.requests[2].schema == ""


@pytest.mark.parametrize(
    ("asked", "schema", "grammar"),
    [
        ({"response_format": {"type": "json_object", "schema": PLACE}}, PLACE, ""),
        ({"guided_json": PLACE}, PLACE, ""),
        ({"json_schema": PLACE}, PLACE, ""),
        ({"format": PLACE}, PLACE, ""),
        ({"format": "json"}, {"type": "object"}, ""),
        ({"structured_outputs": {"json": PLACE}}, PLACE, ""),
        ({"structured_outputs": {"json_object": True}}, {"type": "object"}, ""),
        ({"structured_outputs": {"choice": ["yes", 'n"o']}}, None, 'start: "yes" | "n\\"o"'),
        ({"guided_choice": ["a"]}, None, 'start: "a"'),
        ({"guided_regex": "a/b\\/c"}, None, r"start: /a\/b\/c/"),
        ({"grammar": 'root ::= "a"'}, None, 'root ::= "a"'),
    ],
)
def test_response_formats_of_other_servers_reach_the_engine(
    client: openai.OpenAI, engine: ScriptedEngine, asked: dict[str, Any], schema: Any, grammar: str
) -> None:
    client.chat.completions.create(model=MODEL, messages=HI, extra_body=asked)
    (request,) = engine.requests
    assert (json.loads(request.schema or "null"), request.grammar) == (schema, grammar)


def test_empty_values_of_other_servers_are_accepted(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    nothing = {"top_k": -1, "repeat_penalty": 1.3, "min_tokens": 0, "ignore_eos": False, "modalities": ["text"]}
    nothing |= {"typical_p": 1, "xtc_probability": 0.0, "stop_token_ids": [], "use_beam_search": False}
    nothing |= {"best_of": 1, "tfs_z": 1.0, "mirostat_mode": 0, "repeat_last_n": -1, "truncate_prompt_tokens": None}
    nothing |= {"prompt_logprobs": None, "length_penalty": 1, "early_stopping": False, "chat_template": None}
    nothing |= {"add_generation_prompt": True, "continue_final_message": False, "num_ctx": 4096, "temprature": None}
    client.chat.completions.create(model=MODEL, messages=HI, stop="", max_tokens=-1, extra_body=nothing)
    client.chat.completions.create(model=MODEL, messages=HI)
    for name in ("n_predict", "num_predict", "max_output_tokens"):
        client.chat.completions.create(model=MODEL, messages=HI, extra_body={name: 7})
    first, second, *others = engine.requests
    assert (first.stop, first.max_new_tokens) == ((), second.max_new_tokens)
    assert [request.max_new_tokens for request in others] == [7, 7, 7]
    assert first.sampling == replace(second.sampling, repetition_penalty=1.3, seed=first.sampling.seed)


def test_last_answer_is_continued_as_in_vllm(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    begun = [*HI, {"role": "assistant", "content": "The"}]
    more = {"continue_final_message": True, "add_generation_prompt": False}
    client.chat.completions.create(model=MODEL, messages=begun, extra_body=more)
    assert engine.requests[0].messages[-1] == Message("assistant", "The")
    with pytest.raises(openai.BadRequestError, match="leave out `continue_final_message`"):
        client.chat.completions.create(model=MODEL, messages=begun, extra_body={"continue_final_message": False})


def test_completion_without_special_tokens_has_none(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    for added in (None, True, False):
        client.completions.create(model=MODEL, prompt="Once", extra_body={"add_special_tokens": added})
    assert [request.add_special for request in engine.requests] == [True, True, False]


# Fields of OpenAI's, Anthropic's, Mistral's and OpenRouter's APIs, of vLLM, SGLang, TGI, llama.cpp, Ollama, LM Studio,
# KoboldCpp, text-generation-webui, LiteLLM and Open WebUI that change nothing here.
HARMLESS = """
user metadata store service_tier safety_identifier prompt_cache_key prompt_cache_retention verbosity include
moderation web_search_options audio context_management container betas anthropic_version anthropic_beta inference_geo
speed cache_control user_id user_profile_id cache_prompt id_slot samplers sampler_order t_max_predict_ms
t_max_prompt_ms n_keep n_discard n_indent min_keep mirostat_tau mirostat_eta dynatemp_exponent xtc_threshold dry_base
dry_allowed_length dry_penalty_last_n dry_sequence_breakers grammar_lazy grammar_triggers preserved_tokens
timings_per_token return_progress response_fields post_sampling_probs reasoning_format reasoning_in_content
parse_tool_calls chat_format penalize_nl keep_alive num_keep num_batch num_gpu main_gpu use_mmap use_mlock num_thread
numa low_vram think raw images template draft_num_predict context priority request_id cache_salt kv_transfer_params
vllm_xargs mm_processor_kwargs media_io_kwargs guided_decoding_backend guided_whitespace_pattern include_reasoning
spaces_between_special_tokens truncation_side thinking_token_budget return_prompt_text rid lora_path
custom_logit_processor separate_reasoning stream_reasoning continuous_usage_stats return_hidden_states models route
transforms provider plugins usage session_id trace debug mode do_sample num_return_sequences watermark details
seed_extra temperature_last smoothing_curve dynamic_temperature negative_prompt guidance_scale
encoder_repetition_penalty custom_token_bans banned_strings character name1 name2 caching api_base api_key drop_params
timeout num_retries extra_body extra_headers tags deployment_id base_url random_seed safe_prompt prompt_mode
guardrails enable_thinking enable_search search_parameters conversation_id chat_id id parent_id session tool_ids
tool_servers features variables background_tasks files model_item ttl draft_model input_type truncate encoding_type
embedding_types prompt_name task late_chunking normalize activation name description title language
"""


@pytest.mark.parametrize(
    ("body", "needed"),
    [
        (ChatRequest, {"messages": HI}),
        (TextRequest, {"prompt": "Once"}),
        (ResponsesRequest, {"input": "Hi"}),
        (MessagesRequest, {"messages": HI, "max_tokens": 5}),
        (EmbeddingRequest, {"input": "Hi"}),
        (TokenizeRequest, {"prompt": "Hi"}),
        (DetokenizeRequest, {"tokens": [1]}),
    ],
)
def test_fields_of_other_servers_are_no_typing_errors(body: type[object], needed: dict[str, Any]) -> None:
    others = set(HARMLESS.split()) - {field.name for field in fields(body)}  # type: ignore[arg-type]
    for name in others:
        parse_request(json.dumps(needed | {name: "anything"}).encode(), body)


def test_tools_and_their_history_reach_the_engine(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    history: Any = [
        *HI,
        {"role": "assistant", "content": None, "tool_calls": [called('{"place": "here"}'), called("")]},
        {"role": "tool", "tool_call_id": "call_1", "content": "nothing"},
    ]
    choices: list[Any] = ["auto", "required", named("look"), "none"]
    for choice in choices:
        client.chat.completions.create(model=MODEL, messages=history, tools=[LOOK, tool("run")], tool_choice=choice)
    client.chat.completions.create(model=MODEL, messages=HI, tools=[LOOK], parallel_tool_calls=True)
    assert engine.requests[0].messages == (
        Message("user", "Hi"),
        Message("assistant", "", (Call("look", '{"place": "here"}'), Call("look", "{}"))),
        Message("tool", "nothing"),
        Message("tool", NO_RESULT),
    )
    auto, required, only, none, parallel = (request.tools for request in engine.requests)
    assert auto is not None
    look, run = auto.offered
    assert (look.name, look.description, json.loads(look.parameters)) == ("look", "Does it", PLACE)
    assert json.loads(run.parameters) == {"type": "object", "properties": {}, "additionalProperties": False}
    assert required == replace(auto, required=True)
    assert only == replace(auto, required=True, only="look")
    assert none is None
    assert parallel == Tools((look,), parallel=True)


def test_parts_of_a_history_that_are_no_text_are_noted(running: Running, engine: ScriptedEngine) -> None:
    image: Any = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    messages: Any = [
        *HI,
        {"role": "assistant", "content": None, "refusal": "I cannot."},
        {
            "role": "assistant",
            "content": [{"type": "refusal", "refusal": "No."}, {"type": "thinking", "thinking": "x"}],
        },
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [called("{}") | {"function": {"name": "two words / 1"}}] * 2,
        },
        {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "seen"}, image]},
        {"role": "tool", "tool_call_id": "call_1", "content": None},
        *HI,
    ]
    tools = [{"type": "web_search"}, {"type": "custom", "custom": {"name": "patch"}}, tool("two words / 1")]
    body = {"model": MODEL, "messages": messages, "tools": tools}
    status, headers, _ = running.ask("POST", "/v1/chat/completions", body=json.dumps(body))
    assert (status, headers["x-headstart-left-out"]) == (200, "web_search, custom")
    (request,) = engine.requests
    assert request.messages[1:-1] == (
        Message("assistant", "I cannot."),
        Message("assistant", "No."),
        Message("assistant", "", (Call("two words / 1", "{}"),) * 2),
        Message("tool", "seen\n[images left out: this model reads text only]"),
        Message("tool", ""),
    )
    assert request.tools is not None
    assert [each.name for each in request.tools.offered] == ["two words / 1"]


@pytest.mark.parametrize("text", ["", "I look there.\n"])
def test_tool_call_is_sent_whole_and_streamed(text: str) -> None:
    asked: Any = {"model": MODEL, "messages": HI, "tools": [LOOK]}
    with serving(ScriptedEngine([f"{text}{CALL}"])) as running, running.client() as client:
        (choice,) = client.chat.completions.create(**asked).choices
        parts = [chunk.choices[0] for chunk in client.chat.completions.create(**asked, stream=True)]
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", text or None)
    (call,) = choice.message.tool_calls or []
    assert isinstance(call, ChatCompletionMessageFunctionToolCall)
    assert (call.function.name, call.function.arguments) == ("look", '{"place": "in there"}')
    assert "".join(part.delta.content or "" for part in parts) == text
    first, *rest = [call for part in parts for call in part.delta.tool_calls or []]
    assert first.function is not None
    assert (first.index, first.type, first.function.name, first.function.arguments) == (0, "function", "look", "")
    assert (first.id or "").startswith("call_")
    assert "".join((call.function and call.function.arguments) or "" for call in rest) == call.function.arguments
    assert all(call.id is None and call.index == 0 for call in rest)
    assert parts[-1].finish_reason == "tool_calls"


@pytest.mark.parametrize(
    "schema", [BAD, PLACE | {"not": {}}, None, [1], {"type": ["object", "null"]}, {"type": "null"}]
)
def test_bad_tool_spoils_no_request(running: Running, engine: ScriptedEngine, schema: Any) -> None:
    asked = {"model": MODEL, "messages": HI, "tools": [LOOK, tool("bad", schema)]}
    status, headers, _ = running.ask("POST", "/v1/chat/completions", {}, json.dumps(asked))
    assert status == 200
    assert headers.get("x-headstart-loosened") == ("bad" if schema in (BAD, PLACE | {"not": {}}) else None)
    (request,) = engine.requests
    assert request.tools is not None
    assert json.loads(request.tools.offered[1].parameters)["type"] == "object"


def test_loosened_tools_are_named_in_a_header_and_once_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    tools = [tool(name, BAD) for name in ("a", "b")]
    asked = {"model": MODEL, "messages": HI, "tools": tools, "response_format": formed(BAD | {"type": "object"})}
    with serving(ScriptedEngine(["{}"])) as running:
        for stream in (False, True):
            body = json.dumps(asked | {"stream": stream})
            assert running.ask("POST", "/v1/chat/completions", {}, body)[1]["x-headstart-loosened"] == "a, b, form"
        asked["response_format"] = formed(BAD) | {"json_schema": {"name": "x\r\ny: é", "schema": BAD}}
        _, headers, _ = running.ask("POST", "/v1/chat/completions", {}, json.dumps(asked))
    assert headers["x-headstart-loosened"] == "a, b, x??y:??"
    assert caplog.text.count("'a' is kept to without a part of its schema: the pattern of `path` uses look-ahead") == 1


@pytest.mark.parametrize("form", [formed(BAD), formed(BAD, strict=False)])
def test_schema_that_is_not_strict_is_kept_to_as_far_as_possible(
    client: openai.OpenAI, engine: ScriptedEngine, form: Any
) -> None:
    client.chat.completions.create(model=MODEL, messages=HI, response_format=form)
    assert json.loads(engine.requests[0].schema) == {"type": "object", "properties": {"path": {"type": "string"}}}


@pytest.mark.parametrize("limit", range(1, 6))
def test_cut_tool_call_is_no_call_and_is_taken_back(limit: int) -> None:
    asked: Any = {"model": MODEL, "messages": HI, "tools": [LOOK], "max_tokens": limit}
    engine = ScriptedEngine([f"So: {CALL}"])
    with serving(engine) as running, running.client() as client:
        (choice,) = client.chat.completions.create(**asked).choices
        parts = [chunk.choices[0] for chunk in client.chat.completions.create(**asked, stream=True)]
        streamed = [call for part in parts for call in part.delta.tool_calls or []]
        arguments = "".join((call.function and call.function.arguments) or "" for call in streamed)
        cut: Any = {"role": "assistant", "tool_calls": [called(arguments)]}
        client.chat.completions.create(model=MODEL, messages=[*HI, cut, RESULT])
    assert (choice.message.tool_calls, choice.finish_reason) == (None, "length")
    assert parts[-1].finish_reason == "length"
    assert isinstance(json.loads(engine.requests[-1].messages[1].calls[0].arguments), dict)


AGAIN = '{"name": "look", "arguments": {"place": "here"}}'
RESULT: Any = {"role": "tool", "tool_call_id": "call_1", "content": "nothing"}
ANSWERED: Any = [*HI, {"role": "assistant", "tool_calls": [called('{"place":"here"}')]}, RESULT]


@pytest.mark.parametrize(
    "again", [AGAIN, f"```json\n{AGAIN}\n```", AGAIN.replace(": ", ":  "), f"``` json\n {AGAIN}\n```"]
)
@pytest.mark.parametrize("words", [FOX, '{"name": "Ann", "age": 3}', "```json\n[1]\n```"])
def test_repeated_tool_call_is_replaced_by_words(again: str, words: str) -> None:
    engine = ScriptedEngine([again, words])
    with serving(engine) as running, running.client() as client:
        stream = client.chat.completions.create(model=MODEL, messages=ANSWERED, tools=[LOOK], stream=True)
        parts = [chunk.choices[0] for chunk in stream]
    assert "".join(part.delta.content or "" for part in parts) == words
    assert not any(part.delta.tool_calls for part in parts)
    assert parts[-1].finish_reason == "stop"
    first, second = engine.requests
    assert first.tools is not None
    assert second == structs.replace(first, tools=replace(first.tools, hidden=True))


@pytest.mark.parametrize(
    ("answer", "history"),
    [
        (AGAIN.replace("here", "there"), ANSWERED),
        (f"<tool_call>\n{AGAIN}\n</tool_call>", ANSWERED),
        (AGAIN, [*ANSWERED, {"role": "assistant", "content": "Nothing."}, *HI]),
        (AGAIN, [*ANSWERED, *HI, {"role": "assistant", "tool_calls": [called('{"place": "home"}')]}, RESULT]),
    ],
)
def test_other_tool_call_may_follow_a_result(answer: str, history: Any) -> None:
    engine = ScriptedEngine([answer])
    with serving(engine) as running, running.client() as client:
        (choice,) = client.chat.completions.create(model=MODEL, messages=history, tools=[LOOK]).choices
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
    (call,) = choice.message.tool_calls or []
    assert isinstance(call, ChatCompletionMessageFunctionToolCall)
    assert call.function.name == "look"
    assert len(engine.requests) == 1


def test_cut_repeated_tool_call_is_not_requested_again() -> None:
    engine = ScriptedEngine([AGAIN])
    with serving(engine) as running, running.client() as client:
        asked: Any = {"model": MODEL, "messages": ANSWERED, "tools": [LOOK]}
        (choice,) = client.chat.completions.create(**asked, max_tokens=3).choices
    assert choice.finish_reason == "length"
    assert len(engine.requests) == 1


def test_cut_tool_call_finishes_with_length(client: openai.OpenAI) -> None:
    with serving(ScriptedEngine([CALL])) as running, running.client() as cut:
        (choice,) = cut.chat.completions.create(model=MODEL, messages=HI, tools=[LOOK], max_tokens=4).choices
    assert choice.finish_reason == "length"
    (plain,) = client.chat.completions.create(model=MODEL, messages=HI, tools=[LOOK]).choices
    assert (plain.finish_reason, plain.message.content, plain.message.tool_calls) == ("stop", FOX, None)


def test_open_parameters_are_those_of_the_server(engine: ScriptedEngine) -> None:
    sampling, speculation = Sampling(temperature=0.7, top_k=20), Speculation(num_assistant_tokens=3)
    with serving(engine, sampling=sampling, speculation=speculation, seed=8) as running, running.client() as client:
        client.chat.completions.create(model=MODEL, messages=HI, top_p=0.5)
        client.chat.completions.create(model=MODEL, messages=HI, temperature=0, seed=9)
    first, second = engine.requests
    assert first.sampling == Sampling(temperature=0.7, top_p=0.5, top_k=20, seed=8)
    assert second.sampling == Sampling(temperature=0.0, top_k=20, seed=9)
    assert first.speculation == Speculation(num_assistant_tokens=3)
    own = Sampling(presence_penalty=0.5, automatic=("temperature", "top_p", "top_k"))
    with serving(engine, sampling=own) as running, running.client() as client:
        for _ in range(2):
            client.chat.completions.create(model=MODEL, messages=HI, top_p=0.5)
    left, other = (request.sampling for request in engine.requests[2:])
    assert left == Sampling(top_p=0.5, presence_penalty=0.5, seed=left.seed, automatic=("temperature", "top_k"))
    assert left.seed != other.seed, "without a seed no two requests share one"


@pytest.mark.parametrize("kind", ["chat", "text"])
def test_repetition_ends_the_answer_on_request(kind: str) -> None:
    def asked(client: openai.OpenAI, **more: Any) -> Any:
        if kind == "chat":
            loop: Any = [{"role": "user", "content": "toy: repeat 50"}]
            return client.chat.completions.create(model=MODEL, messages=loop, **more)
        return client.completions.create(model=MODEL, prompt="toy: repeat 50", max_tokens=60, **more)

    ending = {"stop_on_repetition": True}
    with serving(ToyEngine()) as running, running.client() as client:
        whole, cut = asked(client).choices[0], asked(client, extra_body=ending).choices[0]
        *_, last = asked(client, extra_body=ending, stream=True)
    assert (whole.finish_reason, "stop_reason" in whole.to_dict()) == ("stop", False)
    assert (cut.finish_reason, cut.to_dict()["stop_reason"]) == ("length", "repetition")
    assert (last.choices[0].finish_reason, last.choices[0].to_dict()["stop_reason"]) == ("length", "repetition")


@pytest.mark.parametrize("kind", ["chat", "text"])
def test_stop_text_that_ended_the_answer_is_named(client: openai.OpenAI, kind: str) -> None:
    def asked(**more: Any) -> Any:
        stops = ["fox", "brown"]
        if kind == "chat":
            return client.chat.completions.create(model=MODEL, messages=HI, stop=stops, **more)
        return client.completions.create(model=MODEL, prompt="Hi", stop=stops, **more)

    (whole,), (cut,) = asked().choices, asked(max_tokens=1).choices
    *_, last = asked(stream=True)
    for choice in (whole, last.choices[0]):
        assert (choice.finish_reason, choice.to_dict()["stop_reason"]) == ("stop", "brown")
    assert (cut.finish_reason, "stop_reason" in cut.to_dict()) == ("length", False)


@pytest.mark.parametrize(
    ("asked", "param", "words"),
    [
        ({"n": 17}, "n", "a whole number from 1 to 16, not 17"),
        ({"n": 0}, "n", "a whole number from 1 to 16, not 0"),
        ({"tools": [tool("")]}, "tools", "name` must be a text of 1 to 256 characters, not '': correct it"),
        ({"tools": [tool("f" * 257)]}, "tools", "a text of 1 to 256 characters"),
        ({"tools": [{"type": "function"}]}, "tools", "`tools.0.` lacks `function`: add it"),
        ({"tools": [{"type": "retrieval"}], "tool_choice": {"type": "retrieval"}}, "tool_choice", "nobody can call"),
        ({"tools": [{"type": "retrieval"}], "tool_choice": "required"}, "tool_choice", "nobody can call these"),
        ({"tool_choice": "always"}, "tool_choice", "must be 'auto', 'none', 'required' or an object, not 'always'"),
        ({"tools": [LOOK, LOOK]}, "tools", "Two tools are called 'look'"),
        ({"tools": [strict(tool("f", {"type": "array"}))]}, "tools", "'f' must be of the type `object`"),
        ({"tools": [strict(tool("f", BAD))]}, "tools", "'f' cannot be kept to: the pattern of `path` uses look-ahead"),
        ({"tools": [tool("f", DEEP)]}, "tools", "'f' are nested too deeply: send 100 levels at most"),
        ({"guided_json": BAD}, "guided_json", "schema in `guided_json`: the pattern of `path` uses look-ahead"),
        ({"guided_regex": "(?!x)a"}, "guided_regex", "kept to `guided_regex`: the pattern uses look-ahead"),
        ({"format": BAD}, "format", "the pattern of `path` uses look-ahead"),
        ({"response_format": formed(BAD, strict=True)}, "response_format", "the pattern of `path` uses look-ahead"),
        ({"tool_choice": "required"}, "tool_choice", "there are no `tools`"),
        ({"tools": [LOOK], "tool_choice": named("run")}, "tool_choice", "'run', which is not in `tools`"),
        ({"functions": [{"name": "f"}]}, "functions", "send functions as `tools`"),
        ({"function_call": {"name": "f"}}, "function_call", "send `tool_choice`"),
        ({"messages": [{"role": "user"}]}, "messages", "`messages.0.` lacks `content`"),
        ({"logit_bias": {"5": 101}}, "logit_bias", "a number from -100 to 100"),
        ({"logit_bias": {"the": 1}}, "logit_bias", "whose names fit"),
        ({"temperature": 3}, "temperature", "`temperature` must be a number from 0 to 2, not 3: correct it"),
        ({"max_tokens": "5"}, "max_tokens", "`max_tokens` must be a whole number of -1 or more, not '5': correct it"),
        ({"stop": [""]}, "stop", "a text of at least 1 character"),
        ({"stop": ["a"] * 65}, "stop", "a list of up to 64 items"),
        ({"guided_json": PLACE, "response_format": {"type": "json_object"}}, "response_format", "keeps to one form"),
        ({"tools": [LOOK], "grammar": "start: /a/"}, "tools", "keeps to no grammar"),
        ({"min_tokens": 5}, "min_tokens", "`min_tokens` is not supported here: leave it out"),
        ({"ignore_eos": True}, "ignore_eos", "`ignore_eos` is not supported"),
        ({"mirostat": 2}, "mirostat", "use `top_p` or `min_p`"),
        ({"mirostat_mode": 2}, "mirostat_mode", "use `top_p` or `min_p`"),
        ({"best_of": 2}, "best_of", "several answers with `n`"),
        ({"tfs_z": 0.9}, "tfs_z", "`tfs_z` is not supported"),
        ({"repeat_last_n": 64}, "repeat_last_n", "count the whole text"),
        ({"truncate_prompt_tokens": 100}, "truncate_prompt_tokens", "no prompt is cut"),
        ({"prompt_logprobs": 0}, "prompt_logprobs", "`echo` and `logprobs`"),
        ({"n_probs": 5}, "n_probs", "send `logprobs`"),
        ({"length_penalty": 0.5}, "length_penalty", "`length_penalty` is not supported"),
        ({"early_stopping": True}, "early_stopping", "`early_stopping` is not supported"),
        ({"chat_template": "{{ messages }}"}, "chat_template", "the model's own"),
        ({"add_generation_prompt": False}, "add_generation_prompt", "leave out `add_generation_prompt`"),
        ({"continue_final_message": True}, "continue_final_message", "that stands last is continued"),
        ({"num_ctx": 4097}, "num_ctx", "has 4096 tokens here"),
        ({"system": "Be brief."}, "system", "message of the role `system`"),
        ({"temprature": 1}, "temprature", "There is no field `temprature`: did you mean `temperature`?"),
        ({"max_token": 1}, "max_token", "did you mean `max_tokens`"),
        ({"top-p": 1}, "top-p", "did you mean `top_p`"),
        ({"topK": 1}, "topK", "did you mean `top_k`"),
        ({"stopp": "a"}, "stopp", "did you mean `stop`"),
        ({"typical_p": 0.9}, "typical_p", "`typical_p` is not supported"),
        ({"xtc_probability": 0.5}, "xtc_probability", "`xtc_probability` is not supported"),
        ({"use_beam_search": True}, "use_beam_search", "`use_beam_search` is not supported"),
        ({"stop_token_ids": [1]}, "stop_token_ids", "`stop_token_ids` is not supported"),
        ({"options": {"num_predict": 5}}, "options", "beside `messages`"),
        ({"structured_outputs": {"structural_tag": "{}"}}, "structured_outputs", "must be left out"),
        ({"chat_template_kwargs": {"tone": "kind"}}, "chat_template_kwargs", "`tone`"),
        ({"modalities": ["text", "audio"]}, "modalities", "text only"),
        ({"max_tokens": -2}, "max_tokens", "of -1 or more"),
        ({"messages": []}, "messages", "must be a list of at least 1 item"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs", "from 0 to 20"),
        ({"response_format": {"type": "json_schema"}}, "response_format", "lacks `json_schema`"),
        (
            {"messages": [{"role": "function", "content": "x"}]},
            "messages",
            "must be 'system', 'developer', 'user', 'assistant' or 'tool', not 'function'",
        ),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages", "leave out the images in"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "messages", "leave out the audio in"),
        ({"messages": [{"role": "user", "content": [{"type": "file"}]}]}, "messages", "leave out the files in"),
        ({"messages": [{"role": "user", "content": [{"type": "video_url"}]}]}, "messages", "leave out the videos in"),
        ({"messages": [{"role": "user", "content": [{"type": "poem"}]}]}, "messages", "'poem', which is not read here"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages", r"content\[0\]` lacks `text`"),
        ({"prompt": "Once", "echo": True, "suffix": "end"}, "echo", "leave out `echo` or `suffix`"),
        ({"prompt": "Once", "best_of": 2}, "best_of", "several answers with `n`"),
        ({"prompt": "Once", "promt": "Upon"}, "promt", "did you mean `prompt`"),
        ({"prompt": ""}, "prompt", "has nothing in it"),
        ({"prompt": [[1], []]}, "prompt", "has nothing in it"),
        ({"prompt": [1, "a"]}, "prompt", "mixes token ids with texts"),
        ({"prompt": ["a"] * 9, "n": 2}, "prompt", "16 answers at most"),
    ],
)
def test_invalid_request_is_refused_with_a_sentence(
    client: openai.OpenAI, engine: ScriptedEngine, asked: dict[str, Any], param: str, words: str
) -> None:
    create: Any = client.completions.create if "prompt" in asked else client.chat.completions.create
    known = {name: value for name, value in asked.items() if name in inspect.signature(create).parameters}
    others = {name: value for name, value in asked.items() if name not in known}
    with pytest.raises(openai.BadRequestError, match=words) as refusal:
        create(**({"model": MODEL} | ({} if "prompt" in asked else {"messages": HI}) | known), extra_body=others)
    assert (refusal.value.param, refusal.value.type) == (param, "invalid_request_error")
    assert not engine.requests


def test_models_are_listed_and_others_are_404(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [MODEL]
    assert client.models.retrieve(MODEL).owned_by == "headstart"
    with pytest.raises(openai.NotFoundError, match="'gpt-5' is not served here: ask for 'toy'"):
        client.models.retrieve("gpt-5")
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="gpt-5", messages=HI)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (ContextOverflowError("It has 4 tokens."), 400, "4 tokens"),
        (ChatTemplateError("No place for it."), 400, "No place"),
        (BrokenModelError("Export it again."), 500, "Export it again"),
        (ZeroDivisionError("a bug"), 500, "ZeroDivisionError"),
    ],
)
def test_engine_error_is_sent_and_the_server_goes_on(
    error: Exception, status: int, words: str, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(ScriptedEngine([error, FOX])) as running, running.client() as client:
        with pytest.raises(openai.APIStatusError, match=words) as told:
            client.chat.completions.create(model=MODEL, messages=HI, stream=stream)
        assert client.chat.completions.create(model=MODEL, messages=HI).choices[0].message.content == FOX
    assert told.value.status_code == status
    assert (told.value.code == "context_length_exceeded") == isinstance(error, ContextOverflowError)
    assert ("a bug" in caplog.text) == isinstance(error, ZeroDivisionError)


WORDS = ["One", " two", " thrée"]


@pytest.fixture
def spelled() -> Iterator[openai.OpenAI]:
    """A client of a server that answers with these words."""
    with serving(ScriptedEngine(["".join(WORDS)])) as running, running.client() as client:
        yield client


def test_chat_logprobs_have_the_likeliest_tokens(spelled: openai.OpenAI) -> None:
    (choice,) = spelled.chat.completions.create(model=MODEL, messages=HI, logprobs=True, top_logprobs=2).choices
    assert choice.logprobs is not None
    assert choice.logprobs.content is not None
    tokens = choice.logprobs.content
    assert [token.token for token in tokens] == WORDS
    assert [bytes(token.bytes or []).decode() for token in tokens] == WORDS
    assert {token.logprob for token in tokens} == {-0.25}
    for token in tokens:
        first, half = token.top_logprobs
        assert (first.token, first.logprob) == (token.token, token.logprob)
        assert (half.token, half.logprob, half.bytes) == (r"\xf0\x9f", HALF.logprob, list(HALF.spelling))


def test_streamed_logprobs_equal_the_whole_ones(spelled: openai.OpenAI) -> None:
    asked: Any = {"model": MODEL, "messages": HI, "logprobs": True, "top_logprobs": 1}
    (whole,) = spelled.chat.completions.create(**asked).choices
    parts = [chunk.choices[0] for chunk in spelled.chat.completions.create(**asked, stream=True)]
    assert whole.logprobs is not None
    told = [token for part in parts if part.logprobs for token in part.logprobs.content or []]
    assert told == whole.logprobs.content
    for part in parts:
        content = (part.logprobs and part.logprobs.content) or []
        assert "".join(token.token for token in content) == (part.delta.content or "")


def test_completion_logprobs_have_the_older_form(spelled: openai.OpenAI) -> None:
    (choice,) = spelled.completions.create(model=MODEL, prompt="Once", logprobs=2).choices
    assert choice.logprobs is not None
    assert choice.logprobs.tokens == WORDS
    assert choice.logprobs.token_logprobs == [-0.25] * 3
    assert choice.logprobs.text_offset == [0, 3, 7]
    assert choice.logprobs.top_logprobs is not None
    assert choice.logprobs.top_logprobs[0] == {"One": -0.25, r"bytes:\xf0\x9f": -1.5}
    streamed = spelled.completions.create(model=MODEL, prompt="Once", logprobs=0, stream=True)
    parts = [chunk.choices[0].logprobs for chunk in streamed]
    assert [offset for part in parts if part for offset in part.text_offset or []] == [0, 3, 7]
    assert [top for part in parts if part for top in part.top_logprobs or []] == [{word: -0.25} for word in WORDS]


@pytest.mark.parametrize(
    ("asked", "top_logprobs"),
    [
        ({}, None),
        ({"logprobs": False, "top_logprobs": 3}, None),
        ({"logprobs": True}, 0),
        ({"logprobs": 0}, None),
        ({"logprobs": 1}, 1),
        ({"logprobs": 1, "top_logprobs": 3}, 3),
        ({"logprobs": True, "top_logprobs": 20}, 20),
        ({"top_logprobs": 3}, 3),
    ],
)
def test_logprobs_are_sent_on_request_only(
    client: openai.OpenAI, engine: ScriptedEngine, asked: Any, top_logprobs: int | None
) -> None:
    (choice,) = client.chat.completions.create(model=MODEL, messages=HI, **asked).choices
    assert (choice.logprobs is None) == (top_logprobs is None)
    assert engine.requests[0].top_logprobs == top_logprobs


@pytest.mark.slow
def test_openapi_description_is_true(running: Running, tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{running.port}"
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    # Not that all data of the schemas are accepted: no schema says which fields rule out each other.
    strict = "negative_data_rejection,ignored_auth"
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json", "--url", address),
        *("--header", f"Authorization: Bearer {KEY}", "--checks", checks + strict),
        # The phase "coverage" beside it asks for every bound of every field, and takes five times as long.
        *("--phases", "fuzzing", "--max-examples", "5", "--seed", "1", "--no-color"),
        *("--request-timeout", f"{PATIENCE:.0f}", "--max-failures", "5", "--suppress-health-check", "all"),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_openapi_names_the_served_model(running: Running) -> None:
    status, _, body = running.ask("GET", "/openapi.json")
    document = json.loads(body)
    assert (status, document["openapi"][:3]) == (200, "3.1")
    assert document["components"]["schemas"]["ChatRequest"]["properties"]["model"]["anyOf"][0]["enum"] == [MODEL]
