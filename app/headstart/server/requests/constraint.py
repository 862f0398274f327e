"""The schemas and grammars that answers keep to."""

import json
import re
from collections.abc import Mapping

import msgspec

from headstart.engine.engine import ConversationRequest, GenerationRequest
from headstart.engine.text.json_schema import enforceable
from headstart.server.errors import invalid
from headstart.server.requests.bodies import (
    AnswerRequest,
    FlatSchema,
    JsonObject,
    JsonObjectFormat,
    JsonSchemaFormat,
    ResponseFormat,
    StructuredOutputs,
)


def constraint_of(
    body: AnswerRequest, other_schemas: Mapping[str, JsonObject | None], *, has_tools: bool
) -> tuple[str, str]:
    """Return the JSON schema and the grammar that an answer keeps to, of which one may be set. Raises RefusedError."""
    outputs = body.structured_outputs or StructuredOutputs()
    schemas = {
        **other_schemas,
        "response_format": schema_of(body.response_format),
        "format": {"type": "object"} if body.format == "json" else body.format,
        "guided_json": body.guided_json,
        "json_schema": body.json_schema,
        "structured_outputs.json": outputs.json,
        "structured_outputs.json_object": {"type": "object"} if outputs.json_object else None,
    }
    grammars = {
        "grammar": body.grammar,
        "guided_grammar": body.guided_grammar,
        "structured_outputs.grammar": outputs.grammar,
        "guided_regex": _pattern_grammar(body.guided_regex),
        "structured_outputs.regex": _pattern_grammar(outputs.regex),
        "guided_choice": _choice_grammar(body.guided_choice),
        "structured_outputs.choice": _choice_grammar(outputs.choice),
    }
    named = [name for name, constraint in (*schemas.items(), *grammars.items()) if constraint is not None]
    if len(named) > 1:
        first, second, *_ = named
        raise invalid(f"An answer keeps to one form: leave out `{first}` or `{second}`.", first.partition(".")[0])
    json_schema = next((constraint for constraint in schemas.values() if constraint is not None), None)
    grammar = next((constraint for constraint in grammars.values() if constraint is not None), "")
    pattern = body.guided_regex or outputs.regex
    losses = enforceable(json.dumps({"pattern": pattern})).losses if pattern else ()
    if losses:
        sentence = f"The answer cannot be kept to `{named[0]}`: {losses[0]}. Leave that part of it out."
        raise invalid(sentence, named[0].partition(".")[0])
    if grammar and has_tools:
        raise invalid(f"An answer with tools keeps to no grammar: leave out `{named[0]}` or `tools`.", "tools")
    schema = "" if json_schema is None else msgspec.json.encode(json_schema).decode()
    losses = enforceable(schema).losses if schema else ()
    if losses:
        sentence = f"The answer cannot be kept to the schema in `{named[0]}`: {losses[0]}. "
        raise invalid(f"{sentence}Leave that part of it out.", named[0].partition(".")[0])
    return schema, grammar


def schema_of(response_format: ResponseFormat | FlatSchema | None) -> JsonObject | None:
    """Return the schema of a format. Unless it is strict, unsupported parts are left out."""
    match response_format:
        case JsonObjectFormat(schema=schema):
            return schema or {"type": "object"}
        case JsonSchemaFormat(json_schema=form):
            return form.schema if form.strict else _enforceable(form.schema)
        case FlatSchema(schema=schema, strict=strict):
            return schema if strict else _enforceable(schema)
        case _:
            return None


def losses_of(request: GenerationRequest, response_format: ResponseFormat | FlatSchema | None = None) -> dict[str, str]:
    """Return the parts of schemas that no grammar enforces, by the name of the tool or schema."""
    tools = request.tools.callable if isinstance(request, ConversationRequest) and request.tools else ()
    schemas = {tool.name: tool.parameters for tool in tools if not tool.strict}
    match response_format:
        case JsonSchemaFormat(json_schema=form) if not form.strict:
            schemas[form.name] = msgspec.json.encode(form.schema).decode()
        case FlatSchema(name=name, schema=schema, strict=strict) if not strict:
            schemas[name] = msgspec.json.encode(schema).decode()
    return {name: str(losses[0]) for name, schema in schemas.items() if (losses := enforceable(schema).losses)}


def _enforceable(schema: JsonObject) -> JsonObject:
    part: JsonObject = json.loads(enforceable(msgspec.json.encode(schema).decode()).schema)
    return part


def _pattern_grammar(pattern: str | None) -> str | None:
    escaped = re.sub(r"(?<!\\)((?:\\\\)*)/", r"\1\\/", pattern) if pattern else None
    return f"start: /{escaped}/" if escaped else None


def _choice_grammar(choice: list[str] | None) -> str | None:
    return f"start: {' | '.join(json.dumps(text) for text in choice)}" if choice else None
