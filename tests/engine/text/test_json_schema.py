"""Parts of schemas that a grammar cannot hold are found, named and left out; the rest is kept."""

import json
from typing import Any

import pytest

from headstart.engine.text import json_schema
from headstart.engine.text.json_schema import bounded, enforceable

TEXT = {"type": "string"}
USES, ONLY = "the pattern of `path` uses", "`oneOf` of `path` can be kept to only as `anyOf`"
AT_ALL = "cannot be kept to"


def of(path: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"path": path, "size": {"type": "integer"}}, "required": ["path"]}


@pytest.mark.parametrize(
    ("schema", "kept", "losses"),
    [
        (of(TEXT), of(TEXT), []),
        (
            of({**TEXT, "pattern": "^(?!x)a"}),
            of(TEXT),
            [f"{USES} look-ahead"],
        ),
        (
            of({**TEXT, "pattern": r"(a)\1"}),
            of(TEXT),
            [f"{USES} a back reference"],
        ),
        (
            of({**TEXT, "pattern": r"\bfoo"}),
            of(TEXT),
            [f"{USES} a word boundary"],
        ),
        (of({**TEXT, "pattern": "["}), of(TEXT), ["the pattern of `path` cannot be kept to"]),
        (of({"$ref": "#gone"}), of({}), ["the `$ref` of `path` leads nowhere"]),
        (of({"$ref": "#/$defs/gone"}), of({}), ["the `$ref` of `path` leads nowhere"]),
        (of({"$ref": "https://example.com/a"}), of({}), ["the `$ref` of `path` leads nowhere"]),
        (of({"items": {"type": "foo"}}), of({"items": {}}), ["`type` of `path[]` cannot be kept to"]),
        (of({**TEXT, "format": "weird"}), of(TEXT), ["`format` of `path` cannot be kept to"]),
        (of({"enum": []}), of({}), ["`enum` of `path` cannot be kept to"]),
        (of({"allOf": [TEXT, {"type": "integer"}]}), of({}), ["`allOf` of `path` cannot be kept to"]),
        (
            of({"oneOf": [TEXT, TEXT]}),
            of({"anyOf": [TEXT, TEXT]}),
            [ONLY],
        ),
        (of({"minItems": 4, "maxItems": 3, "type": "array"}), None, ["`minItems` of `path` cannot be kept to"]),
        (
            {"type": "object", "propertyNames": TEXT},
            {"type": "object"},
            [f"`propertyNames` {AT_ALL}"],
        ),
        ({"type": "object", "uniqueItems": False}, {"type": "object"}, []),
        ({"type": "object", "$schema": "http://foo"}, {"type": "object"}, []),
        ({"type": "object", "required": "a"}, {"type": "object"}, [f"`required` {AT_ALL}"]),
        ({"$defs": {"a": {"$anchor": "b"}}, "$ref": "#b"}, {"$defs": {"a": {"$anchor": "b"}}, "$ref": "#b"}, []),
    ],
)
def test_schema_keeps_what_can_be_held(schema: Any, kept: Any, losses: list[str]) -> None:
    part = enforceable(json.dumps(schema))
    assert list(part.losses) == losses
    assert kept is None or json.loads(part.schema) == kept
    assert not enforceable(part.schema).losses


def test_every_fault_is_named() -> None:
    faults: dict[str, Any] = {key: {} for key in ("contains", "not", "if", "propertyNames", "dependentSchemas")}
    part = enforceable(json.dumps(of({**TEXT, **faults, "pattern": "(?=a)"})))
    assert len(part.losses) == 6
    assert json.loads(part.schema) == of(TEXT)


@pytest.mark.parametrize("schema", ["{", "[]", "3", '{"items": ' * 60_000 + "{}" + "}" * 60_000])
def test_no_schema_becomes_any_object(schema: str) -> None:
    part = enforceable(schema)
    assert (json.loads(part.schema), len(part.losses)) == ({"type": "object"}, 1)


@pytest.mark.parametrize(
    "part", [{"pattern": "(?!x)"}, {"oneOf": [TEXT, TEXT]}, {"allOf": [TEXT, {"type": "integer"}]}, {"$ref": "#a"}]
)
def test_large_schema_is_tried_a_few_times(part: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    fault_of = json_schema._fault_of

    def note(schema: str) -> str:
        tried.append(len(schema))
        return fault_of(schema)

    monkeypatch.setattr(json_schema, "_fault_of", note)
    names = [f"name{number}" for number in range(5_000)]
    schema = json.dumps({"type": "object", "properties": dict.fromkeys(names, part), "required": names})
    enforceable(schema)
    assert sum(tried) < 3 * json_schema._MAX_TRIED + 3 * len(schema)
    assert len(tried) < 10_000


def test_schema_that_contains_itself_has_a_depth() -> None:
    tree = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}, "required": ["kids"]}
    level: Any = bounded(json.dumps(tree), 100)
    definitions, depth = level["$defs"], 0
    while (items := level["properties"]["kids"]["items"]) is not False:
        level, depth = definitions[items["$ref"].rpartition("/")[2]], depth + 1
    assert depth == 8
    loop = {"$defs": {"a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/a"}}, "required": ["b"]}}}
    assert bounded(json.dumps({**loop, "$ref": "#/$defs/a"}), 100)["$ref"] == "#/$defs/a"  # it has no end at any depth


@pytest.mark.parametrize("odd", [{"required": 5}, {"properties": [], "minProperties": "a"}, {"anyOf": {}}], ids=str)
def test_definition_that_nothing_refers_to_may_be_odd(odd: Any) -> None:
    schema = {**of(TEXT), "$defs": {"a": {"type": "object", **odd}}}
    assert bounded(json.dumps(schema), 100)["additionalProperties"] is False


@pytest.mark.parametrize(
    ("schema", "closed", "most"),
    [
        (of(TEXT), False, None),
        ({"type": "object", "properties": {}}, False, None),
        ({**of(TEXT), "additionalProperties": True}, True, None),
        ({**of(TEXT), "required": ["other"]}, None, None),
        ({"type": "object"}, None, 16),
        ({"type": "object", "additionalProperties": TEXT, "minProperties": 30}, TEXT, 30),
        ({"type": "object", "allOf": [of(TEXT)]}, None, None),
        ({**of(TEXT), "anyOf": [{"required": ["size"]}, {"properties": {"b": TEXT}}]}, None, None),
    ],
)
def test_undeclared_names_are_few(schema: Any, closed: Any, most: int | None) -> None:
    limited = bounded(json.dumps(schema), 100)
    assert (limited.get("additionalProperties"), limited.get("maxProperties")) == (closed, most)
    assert bounded('{"type": "object"}', 16_000)["maxProperties"] == 1_000
