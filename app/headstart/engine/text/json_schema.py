"""JSON schemas in the form that a grammar supports: without unsupported keys, and with bounds on growth."""

import copy
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from headstart.errors import SettingsError, Translatable

# Without a bound, a small model may write blanks or digits for ever, nest for ever, or invent names for ever.
BLANKS: Any = {"whitespace_pattern": r"(\x20|\x0A\x20{0,12})?"}
_MAX_INTEGER = 10**18  # for integers without a bound in their schema; it fits into 64 bits
_MAX_DEPTH = 8  # of a schema that contains itself
_MAX_UNROLLED = 200_000  # characters of a schema whose copies are held apart
_MIN_ENTRIES, _TOKENS_PER_ENTRY = 16, 16  # of an object whose names are left open
_MAX_TRIED, _TRIAL = 1_000_000, 500  # characters of the trials of one schema; what a trial costs at least
_MAX_CACHED = 50_000  # characters of a schema

_VALUES = {"const", "default", "enum", "examples"}  # keys of a schema whose values are not schemas
_BY_NAME = {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}  # that hold schemas by name
_NESTED = _BY_NAME | {"items", "prefixItems", "additionalItems", "additionalProperties", "anyOf", "oneOf", "allOf"}
_MERGED = {"properties", "required", "patternProperties", "additionalProperties"}  # with those of parts of the schema
_CLOSED = {"anyOf", "oneOf", "$ref", "patternProperties", "maxProperties", "enum", "const"}  # keys that bound the names
_NEUTRAL = {"uniqueItems": False, "minContains": 0}  # values that ask for nothing
_LAST = ("type", "properties", "$defs", "definitions", "items", "required", "$ref")  # parts left out only at last
_PATTERN_WORDS = (
    (re.compile(r"\(\?[=!]"), Translatable("look-ahead")),
    (re.compile(r"\(\?<[=!]"), Translatable("look-behind")),
    (re.compile(r"\\[bB]"), Translatable("a word boundary")),
    (re.compile(r"\\[1-9k]"), Translatable("a back reference")),
)
ANY_OBJECT = '{"type":"object"}'


@dataclass(frozen=True)
class EnforceableSchema:
    """The part of a schema that a grammar can enforce."""

    schema: str
    losses: tuple[Translatable, ...]  # what was left out, each a part of a sentence

    def require(self, refusal: Callable[[Translatable], SettingsError]) -> None:
        """Raise the error that `refusal` makes of the first lost part, if there is one."""
        if self.losses:
            raise refusal(self.losses[0])


def enforceable(schema: str) -> EnforceableSchema:
    """Return the part of a JSON schema that a grammar can enforce; an empty one if no part alone can be left out."""
    return _enforceable(schema) if len(schema) <= _MAX_CACHED else _enforceable.__wrapped__(schema)


@lru_cache(maxsize=256)
def _enforceable(schema: str) -> EnforceableSchema:
    try:
        data = json.loads(schema)
        part, losses = (
            _without_unsupported(data) if isinstance(data, dict) else (None, [Translatable("it is not a JSON object")])
        )
        if part is not None:
            return EnforceableSchema(json.dumps(part), tuple(losses))
    except ValueError:
        losses = [Translatable("it is not JSON")]
    except RecursionError:
        losses = [Translatable("it is nested too deeply")]
    return EnforceableSchema(ANY_OBJECT, tuple(losses))


def bounded(schema: str, room: int) -> dict[str, Any]:
    """Return a held schema with bounds on integers, nesting and undeclared names. `room`: tokens of the answer.

    Bounds would remove a number's exponent; numbers are bounded by GrammarConstraint.
    """
    data: dict[str, Any] = _with_integers(json.loads(schema))
    for change in (_expanded, lambda each: _with_few_names(each, max(_MIN_ENTRIES, room // _TOKENS_PER_ENTRY))):
        changed = change(data)
        if changed != data and not _fault(changed):
            data = changed
    return data


def names(schema: Any) -> Iterator[str]:
    """Yield the names that objects of a schema must have."""
    for node, _ in _nodes(schema, ()):
        required = node.get("required")
        yield from (name for name in (required if isinstance(required, list) else ()) if isinstance(name, str))


def _without_unsupported(data: dict[str, Any]) -> tuple[dict[str, Any] | None, list[Translatable]]:
    """Return a schema without unsupported parts, and what these were; None if no part can be enforced."""
    for node, _ in _nodes(data, ()):
        for key in [key for key, value in _NEUTRAL.items() if key in node and node[key] == value]:
            del node[key]
    if "json-schema.org" not in str(data.get("$schema", "json-schema.org")):
        del data["$schema"]
    if not _fault(data):
        return data, []
    trials = _Trials()
    losses = [*_leave_out_unknown(data, trials)]
    while (fault := trials.fault(data)) and not trials.are_over and (part := _part_at_fault(data, fault, trials)):
        node, place, key = part
        losses.append(_loss(place, key, node.pop(key)))
    if fault or trials.are_over:
        return None, [Translatable("a part of it cannot be kept to")]
    return data, losses


class _Trials:
    """Trials of a schema and of parts of it, up to a number of characters: a schema may come from anybody."""

    def __init__(self) -> None:
        self._left = _MAX_TRIED

    @property
    def are_over(self) -> bool:
        return self._left <= 0

    def fault(self, schema: dict[str, Any]) -> str:
        """Return why a schema cannot be enforced; empty if it can, or if the trials are over."""
        if self.are_over:
            return ""
        text = json.dumps(schema)
        self._left -= len(text) + _TRIAL
        return _fault_of(text)


def _leave_out_unknown(data: dict[str, Any], trials: _Trials) -> Iterator[Translatable]:
    """Remove the keys that are unsupported by themselves from a schema. Yield what they were."""
    definitions = _definitions(data)
    for node, place in reversed(list(_nodes(data, ()))):
        for key, value in list(node.items()):
            match key:
                case "oneOf":
                    if "anyOf" not in node and trials.fault({**definitions, key: value}).startswith("oneOf"):
                        node["anyOf"] = node.pop(key)
                        yield _loss(place, key, "anyOf")
                case "patternProperties" if isinstance(value, dict):
                    for name in [name for name in value if trials.fault({key: {name: {}}})]:
                        del value[name]
                        yield _loss(place, key, name)
                case "$ref":
                    if not _leads_somewhere(value, data, trials):
                        yield _loss(place, key, node.pop(key))
                case "required":
                    pass
                case _ if key not in _NESTED and trials.fault({key: value}):
                    yield _loss(place, key, node.pop(key))


def _part_at_fault(
    data: dict[str, Any], fault: str, trials: _Trials
) -> tuple[dict[str, Any], tuple[str, ...], str] | None:
    """Return the key that has to be removed to fix a schema, or else the first whose removal changes the fault."""
    parts = [(node, place, key) for node, place in _nodes(data, ()) for key in node]
    parts.sort(key=lambda part: _LAST.index(part[2]) if part[2] in _LAST else -1)
    changing = None
    for node, place, key in parts:
        value = node.pop(key)
        left = trials.fault(data)
        node[key] = value
        if not left:
            return node, place, key
        if changing is None and left != fault:
            changing = node, place, key
    return changing


def _nodes(schema: Any, place: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], tuple[str, ...]]]:
    """Yield the schemas in a schema, outer ones first, each with its place: names of properties, [] for items."""
    if not isinstance(schema, dict):
        return
    yield schema, place
    for key, value in list(schema.items()):
        if key in _BY_NAME and isinstance(value, dict):
            for name, each in list(value.items()):
                yield from _nodes(each, (*place, name) if key == "properties" else place)
        elif key in _NESTED:
            for each in value if isinstance(value, list) else [value]:
                yield from _nodes(each, (*place, "[]") if "tems" in key else place)


def _fault_of(schema: str) -> str:
    from llguidance import LLMatcher  # noqa: PLC0415 - few answers have a form

    try:
        return str(LLMatcher.validate_grammar(LLMatcher.grammar_from_json_schema(schema, overrides=BLANKS)))
    except ValueError as error:
        return str(error)


def _fault(schema: dict[str, Any]) -> str:
    """Return the grammar's error about a schema; empty if the schema is supported."""
    return _fault_of(json.dumps(schema))


def _definitions(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: schema[key] for key in ("$defs", "definitions") if key in schema}


def _leads_somewhere(reference: Any, schema: dict[str, Any], trials: _Trials) -> bool:
    if not isinstance(reference, str):
        return False
    if reference == "#":
        return True
    if not reference.startswith("#/"):
        return not trials.fault({**schema, "allOf": [{"$ref": reference}]}).startswith(("Anchor", "Resource"))
    node: Any = schema
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and name.isdecimal() and int(name) < len(node):
            node = node[int(name)]
        elif isinstance(node, dict) and name in node:
            node = node[name]
        else:
            return False
    return True


def _loss(place: tuple[str, ...], key: str, value: Any) -> Translatable:
    """Return the part of a sentence that names what was left out."""
    path = "".join(each if each == "[]" else f".{each}" for each in place).removeprefix(".")
    where = Translatable(" of `{path}`", path=path) if path else Translatable()
    if key in {"pattern", "patternProperties"} and isinstance(value, str):
        used = next((words for sign, words in _PATTERN_WORDS if sign.search(value)), None)
        if used:
            return Translatable("the pattern{where} uses {used}", where=where, used=used)
        return Translatable("the pattern{where} cannot be kept to", where=where)
    if key == "$ref":
        return Translatable("the `$ref`{where} leads nowhere", where=where)
    if key == "oneOf" and value == "anyOf":
        return Translatable("`oneOf`{where} can be kept to only as `anyOf`", where=where)
    return Translatable("`{key}`{where} cannot be kept to", key=key, where=where)


def _with_integers(schema: Any) -> Any:
    """Return a schema with bounds on its integers."""
    if isinstance(schema, list):
        return [_with_integers(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    limited = {
        key: item
        if key in _VALUES
        else {name: _with_integers(each) for name, each in item.items()}
        if key in _BY_NAME and isinstance(item, dict)
        else _with_integers(item)
        for key, item in schema.items()
    }
    if not _has_type(schema, "integer") or "const" in schema or "enum" in schema:
        return limited
    low = {} if {"minimum", "exclusiveMinimum"} & schema.keys() else {"minimum": -_MAX_INTEGER}
    high = {} if {"maximum", "exclusiveMaximum"} & schema.keys() else {"maximum": _MAX_INTEGER}
    return limited | low | high


def _has_type(schema: dict[str, Any], name: str) -> bool:
    kinds = schema.get("type")
    return name in (kinds if isinstance(kinds, list) else [kinds])


def _with_few_names(schema: dict[str, Any], entries: int) -> dict[str, Any]:
    """Return a schema whose objects have few names beside those that it declares.

    Where a schema declares names and does not speak of others, there are no others.
    """
    schema = copy.deepcopy(schema)
    nodes = [node for node, _ in _nodes(schema, ()) if _is_well_formed(node)]
    if any("allOf" in node or ("$ref" in node and _MERGED & node.keys()) for node in nodes):
        return schema  # the bounds of a part would be those of the whole
    joined = [
        part for node in nodes for key in ("anyOf", "oneOf") if _MERGED & node.keys() for part in node.get(key, ())
    ]
    for node in nodes:
        declared = node.get("properties", {})
        if _CLOSED & node.keys() or not (_has_type(node, "object") or declared) or any(node is part for part in joined):
            continue
        if declared or (node is schema and "properties" in node):
            if "additionalProperties" not in node and set(map(str, node.get("required", ()))) <= set(declared):
                node["additionalProperties"] = False
        elif node.get("additionalProperties") is not False:
            node["maxProperties"] = max(entries, node.get("minProperties", 0))
    return schema


_FORMS = {"properties": dict, "required": list, "minProperties": int, "anyOf": list, "oneOf": list}


def _is_well_formed(schema: dict[str, Any]) -> bool:
    """Return whether a grammar could read a schema: nobody has checked definitions that nothing refers to."""
    return all(isinstance(schema.get(key, kind()), kind) for key, kind in _FORMS.items())


def _expanded(schema: dict[str, Any]) -> dict[str, Any]:
    """Expand a recursive schema to a limited depth."""
    parts = {"#": {key: value for key, value in schema.items() if key not in ("$defs", "definitions")}}
    for group, definitions in _definitions(schema).items():
        if isinstance(definitions, dict):
            parts |= {f"#/{group}/{name}": part for name, part in definitions.items()}
    targets = {
        name: {str(node["$ref"]) for node, _ in _nodes(part, ()) if "$ref" in node} for name, part in parts.items()
    }
    if any(target not in parts for each in targets.values() for target in each):
        return schema
    reached = {name: _references(name, targets) for name in parts}
    endless = {name for name in parts if name in reached[name]}
    if not endless or sum(len(json.dumps(parts[name])) for name in endless) * _MAX_DEPTH > _MAX_UNROLLED:
        return schema
    numbers = {name: number for number, name in enumerate(parts)}
    copies = dict[str, Any]()

    def at_depth(part: Any, owner: str, depth: int) -> Any:
        if isinstance(part, list):
            return [at_depth(each, owner, depth) for each in part]
        if not isinstance(part, dict):
            return part
        target = part.get("$ref")
        if isinstance(target, str) and target in endless:
            deeper = depth + 1 if owner in reached[target] else 1
            if deeper > _MAX_DEPTH:
                return False
            key = f"{numbers[target]}@{deeper}"
            if key not in copies:
                copies[key] = {}
                copies[key] = at_depth(parts[target], target, deeper)
            return {**at_depth({k: v for k, v in part.items() if k != "$ref"}, owner, depth), "$ref": f"#/$defs/{key}"}
        return {key: value if key in _VALUES else at_depth(value, owner, depth) for key, value in part.items()}

    root = at_depth(parts["#"], "#", 0)
    kept = {
        group: {
            name: at_depth(part, f"#/{group}/{name}", _MAX_DEPTH)
            for name, part in definitions.items()
            if f"#/{group}/{name}" not in endless
        }
        for group, definitions in _definitions(schema).items()
    }
    return {**root, **kept, "$defs": {**kept.get("$defs", {}), **copies}}


def _references(name: str, targets: dict[str, set[str]]) -> set[str]:
    """Return the parts that a part refers to."""
    found, waiting = set[str](), list(targets[name])
    while waiting:
        target = waiting.pop()
        if target not in found:
            found.add(target)
            waiting += targets[target]
    return found
