"""Chat templates in Jinja's sandbox, rendered as transformers does to the byte, within limits of time and size."""

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import wraps
from pathlib import Path
from types import GeneratorType
from typing import Any, NoReturn

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from headstart.errors import BrokenModelError, UnreadableModelError

MAX_SECONDS = 10.0  # of processor time for one rendering; the longest conversations that fit a context take a tenth
MAX_WORK = 1 << 28  # characters that one rendering makes in all, with what counts like them
MAX_PROMPT = 1 << 24  # characters
MAX_SOURCE = 1 << 20  # characters of a template; the longest known one has 30,000
_STEP = 64  # work of any step, so that there are at most four million
_ENTRY = 4  # work of an entry of a list
_CLOCK_STEPS = 16  # between two looks at the clock
_MAX_WIDTH = 1000  # of padding, indentation and the like
_MAX_BITS = 4096  # of an integer
_SHOWN = 200  # characters of a template's own message
DEFAULT, FOR_TOOLS = "default", "tool_use"  # names of templates in transformers
_NAMED_TOKENS = tuple(f"{name}_token" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask"))
_NEED_A_LOADER = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
_OF_MACROS_AND_LOOPS = ("caller", "loop", "self")
_PADDING = {"center", "ljust", "rjust", "zfill", "expandtabs", "indent", "batch", "slice", "tojson", "round"}
_WRITERS = {"format", "string", "join", "pprint", "tojson", "sum", "urlencode", "xmlattr", "%", "~"}
_WIDE = re.compile(r"%[^a-zA-Z%]*(?:\d{4}|\*)|\{[^{}]*:[^{}]*(?:\d{4}|\{)")  # of a field, or of a value of the template
_FAULTS = (
    *(jinja2.TemplateError, ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RuntimeError),
    *(SyntaxError, TypeError, ValueError),
)


class RenderError(Exception):
    """The reason why a template cannot be read, or does not render a conversation."""


class Template:
    """A compiled template. Not for several threads at once."""

    def __init__(self, source: str) -> None:
        """Compile a template. Raises RenderError."""
        self.source = source
        self._environment = _Environment()
        if len(source) > MAX_SOURCE:
            raise RenderError("it is too long")
        try:
            self._environment.begin()
            tree = _CountingTransformer().visit(self._environment.parse(source))
            code = self._environment.compile(tree)
            self._template = jinja2.Template.from_code(self._environment, code, self._environment.globals)
        except _FAULTS as error:
            raise RenderError(_reason(error)) from None

    def render(self, **values: Any) -> str:
        """Return the text that the template renders from values. Raises RenderError."""
        try:
            self._environment.begin()
            text = "".join(self._environment.spent(part) for part in self._template.generate(**values))
        except _FAULTS as error:
            raise RenderError(_reason(error)) from None
        if len(text) > MAX_PROMPT:
            raise RenderError("its text becomes too long")
        return text


def missing_constructs(source: str) -> list[str]:
    """Return the constructs of a template that no renderer of Hugging Face templates has. Raises RenderError for a
    broken one.

    A name that the template itself tests, as in `is defined`, is no function that it needs.
    """
    environment = _Environment()
    try:
        tree = environment.parse(source)
    except _FAULTS as error:
        raise RenderError(_reason(error)) from None
    names = list(tree.find_all(nodes.Name))
    known = {*environment.globals, *_OF_MACROS_AND_LOOPS, *(macro.name for macro in tree.find_all(nodes.Macro))}
    known |= {name.name for name in names if name.ctx != "load"}
    known |= {test.node.name for test in tree.find_all(nodes.Test) if isinstance(test.node, nodes.Name)}
    called = {call.node.name for call in tree.find_all(nodes.Call) if isinstance(call.node, nodes.Name)}
    missing = {
        "filter": {node.name for node in tree.find_all(nodes.Filter)} - environment.filters.keys(),
        "test": {node.name for node in tree.find_all(nodes.Test)} - environment.tests.keys(),
        "function": called - known,
        "tag": {type(node).__name__.lower() for node in tree.find_all(_NEED_A_LOADER)},
    }
    return [f"the {kind} `{name}`" for kind, found in missing.items() for name in sorted(found)]


def read_sources(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the templates of a model folder by name, and the tokens that they know by name. Raises BrokenModelError.

    A folder without a template has an empty mapping.
    """
    path = folder / "tokenizer_config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        own = config.get("chat_template") or []
        listed = {DEFAULT: own} if isinstance(own, str) else {each["name"]: each["template"] for each in own}
        tokens = {name: config[name] for name in _NAMED_TOKENS if isinstance(config.get(name), str)}
        files = {file.stem: file for file in (folder / "additional_chat_templates").glob("*.jinja")}
        if (folder / "chat_template.jinja").is_file():
            files[DEFAULT] = folder / "chat_template.jinja"
        sources = listed | {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    except OSError as error:
        raise UnreadableModelError(error) from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BrokenModelError(
            "The chat template in {folder} cannot be read ({error}); export the model again.",
            folder=folder,
            error=repr(error),
        ) from None
    return sources, tokens


class _GenerationTag(Extension):
    """The tag around the model's own text: {% generation %} ... {% endgeneration %}."""

    tags = {"generation"}  # noqa: RUF012 - of the base class

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_written"), [], [], body).set_lineno(line)

    def _written(self, caller: Any) -> Any:
        return caller()


class _CountingTransformer(NodeTransformer):
    """A code generator that routes loops, joins and slices of a template through the environment, which counts them."""

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802 - of the base class
        self.generic_visit(node)
        node.iter = _call("iterated", node.iter)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _call("joined", *node.nodes)

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _call("cut", node) if isinstance(node.arg, nodes.Slice) else node


def _call(name: str, *arguments: Any) -> nodes.Call:
    called = nodes.Call(nodes.EnvironmentAttribute(name), list(arguments), [], None, None)
    called.set_lineno(arguments[0].lineno)
    return called


class _Environment(ImmutableSandboxedEnvironment):
    """The environment of `transformers`, which counts what a template does and stops it at the limits."""

    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationTag, loopcontrols], finalize=self._shown
        )
        self.filters = {name: self._guarded(name, each) for name, each in (self.filters | {"tojson": _tojson}).items()}
        del self.globals["lipsum"]  # texts by lot
        self.globals |= {"raise_exception": _raise_exception, "strftime_now": _strftime_now}
        self.begin()

    def begin(self) -> None:
        """Reset the counts."""
        self._work, self._steps, self._end = 0, 0, time.thread_time() + MAX_SECONDS

    def spent(self, value: Any) -> Any:
        """Count a value that the template has made, and return it. Raises TemplateRuntimeError at a limit."""
        match value:
            case str():
                self._count(len(value))
            case list() | tuple() | dict():
                self._count(_ENTRY * len(value))
            case _:
                self._count(0)
        return value

    def _count(self, work: int) -> None:
        self._work += work + _STEP
        self._steps += 1
        if self._work > MAX_WORK:
            raise jinja2.TemplateRuntimeError("it takes too many steps or makes too much text")
        if not self._steps % _CLOCK_STEPS and time.thread_time() > self._end:
            raise jinja2.TemplateRuntimeError(f"it takes more than {MAX_SECONDS:g} s")

    def call(__self, __context: Any, __called: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - names of keywords
        method = getattr(__called, "__wrapped__", __called)  # `format` of a text, which the sandbox wraps
        text = getattr(method, "__self__", None)
        if isinstance(text, str):
            __self._require_small(getattr(method, "__name__", ""), (text, *args), kwargs)
        return __self.spent(super().call(__context, __called, *args, **kwargs))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "%" and isinstance(left, str):
            self._require_small("%", (left, right), {})
        elif isinstance(left, int) and isinstance(right, int):
            bits = {"**": left.bit_length() * abs(right), "*": left.bit_length() + right.bit_length()}.get(operator, 0)
            if bits > _MAX_BITS:
                raise jinja2.TemplateRuntimeError("it computes with huge numbers")
        elif operator == "*" and isinstance(left, str | list | tuple) and isinstance(right, int):
            self._count(_ENTRY * len(left) * max(0, right))
        elif operator == "*" and isinstance(right, str | list | tuple) and isinstance(left, int):
            self._count(_ENTRY * len(right) * max(0, left))
        return self.spent(super().call_binop(context, operator, left, right))

    def iterated(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield the items of a loop, and count them."""
        for item in items:
            self._count(0)
            yield item

    def joined(self, *parts: Any) -> str:
        """Return the text of `a ~ b`."""
        self._require_small("~", parts, {})
        return "".join(map(str, parts))

    def cut(self, part: Any) -> Any:
        """Return a slice of a text or list; `call` counts it."""
        return part

    def concat(self, parts: Iterable[str]) -> str:
        return "".join(map(self.spent, parts))

    def _shown(self, value: Any) -> Any:
        if isinstance(value, list | tuple | dict):
            self._weigh(value)
        return value

    def _guarded(self, name: str, function: Any) -> Any:
        @wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            args = tuple(list(each) if isinstance(each, GeneratorType) and name == "join" else each for each in args)
            self._require_small(name, args, kwargs)
            return self.spent(function(*args, **kwargs))

        return guarded

    def _require_small(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Count the output of a filter or of a text's method before it runs. Raises TemplateRuntimeError."""
        values = (*args, *kwargs.values())
        texts = [each for each in values if isinstance(each, str)]
        if name in _PADDING and any(isinstance(each, int) and each > _MAX_WIDTH for each in values):
            raise jinja2.TemplateRuntimeError(f"it asks `{name}` for a huge text")
        if name in _WRITERS:
            self._weigh(list(values))
        if name in {"format", "%"} and texts:
            if _WIDE.search(texts[0]):
                raise jinja2.TemplateRuntimeError("it formats a text with a huge width")
            self._count(max(map(len, texts)) * (texts[0].count("%") + texts[0].count("{")))
        elif name == "replace" and len(texts) >= 3:
            self._count(texts[0].count(texts[1]) * len(texts[2]))
        elif name == "indent" and texts:
            self._count((texts[0].count("\n") + 1) * max((each for each in values if type(each) is int), default=4))
        elif name == "join":
            sizes = [len(each) for each in values if isinstance(each, str | list | tuple)]
            self._count(min(map(len, texts), default=0) * max(sizes, default=0))

    def _weigh(self, value: Any) -> None:
        """Count a value as if it were written out: what it refers to several times counts each time."""
        pending = [value]
        while pending:
            items = pending.pop()
            if isinstance(items, str):
                self._count(len(items))
                continue
            self._count(_ENTRY * len(items))
            inner = [*items, *items.values()] if isinstance(items, dict) else items
            pending += [each for each in inner if isinstance(each, str | list | tuple | dict)]


def _tojson(
    x: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _strftime_now(format: str) -> str:  # noqa: A002 - as in transformers
    return datetime.now().strftime(format)


def _reason(error: BaseException) -> str:
    """Return a template's own message, or what went wrong in it."""
    text = str(error).strip().split("\n")[0][:_SHOWN]
    text = "".join(filter(str.isprintable, text))
    if isinstance(error, jinja2.TemplateError):
        return text or type(error).__name__
    return f"{type(error).__name__}: {text}"
