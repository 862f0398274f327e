"""Thinking: its marks in prompts and answers, its switch and its limit, for the templates of well-known models."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from headstart.engine.answer_writer import AnswerText
from headstart.engine.bench import race
from headstart.engine.bench.prompts import BenchPrompt
from headstart.engine.engine import (
    Call,
    ConversationRequest,
    Drafter,
    Finish,
    FinishReason,
    LoadOptions,
    Message,
    Origin,
    Sampling,
    Speculation,
    Step,
    ThinkingSupport,
    Tool,
    Tools,
)
from headstart.engine.local import LocalEngine
from headstart.engine.text.thinking import ThinkingReader
from headstart.engine.text.tokenizer import Tokenizer
from headstart.errors import ChatTemplateError
from headstart.parameters import Mode
from tests.engine.answers import load
from tests.engine.text.family_templates import FAMILIES

TURN = "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
# Each shortened to what concerns thinking, in the form of its author.
QWEN3 = (
    "{%- for m in messages %}{%- set content = m.content %}{%- set thought = '' %}"
    "{%- if m.reasoning_content is string %}{%- set thought = m.reasoning_content %}"
    "{%- elif '</think>' in content %}{%- set thought = content.split('</think>')[0].split('<think>')[-1] %}"
    "{%- set content = content.split('</think>')[-1].lstrip('\\n') %}{%- endif %}"
    "{{- '<|im_start|>' + m.role + '\\n' }}"
    "{%- if thought and loop.last %}{{- '<think>\\n' + thought + '\\n</think>\\n\\n' }}{%- endif %}"
    "{{- content + '<|im_end|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}"
    "{%- endif %}"
)
QWEN36 = (  # it opens the section itself
    "{%- for m in messages %}" + TURN + "{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}"
    "{%- else %}{{- '<think>\\n' }}{%- endif %}{%- endif %}"
)
R1 = (  # it has no switch, and cuts earlier answers at the mark
    "{%- for m in messages %}{%- set content = m.content.split('</think>')[-1] %}"
    "{{- '<|im_start|>' + m.role + '\\n' + content + '<|im_end|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n<think>\\n' }}{%- endif %}"
)
GEMMA = (  # it thinks if it is asked to
    "{%- if enable_thinking is defined and enable_thinking %}{{- 'think!\\n' }}{%- endif %}"
    "{%- for m in messages %}" + TURN + "{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>model\\n' }}"
    "{%- if not enable_thinking | default(false) %}{{- '<|channel>thought\\n<channel|>' }}{%- endif %}{%- endif %}"
)
GPT_OSS = (
    "{{- 'Reasoning: ' + (reasoning_effort if reasoning_effort is defined else 'medium') }}"
    "{%- for m in messages %}{{- '<|start|>' + m.role }}"
    "{%- if m.role == 'assistant' %}{{- '<|channel|>final' }}{%- endif %}{{- '<|message|>' + m.content + '<|end|>' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{- '<|start|>assistant' }}{%- endif %}"
    "{#- sections begin with <|channel|>analysis<|message|> #}"
)
PLAIN = (
    "{%- for m in messages %}"
    + TURN
    + "{%- endfor %}{%- if add_generation_prompt %}<|im_start|>assistant\n{%- endif %}"
)
ALL = {"qwen3": QWEN3, "qwen3.6": QWEN36, "r1": R1, "gemma": GEMMA, "gpt-oss": GPT_OSS}
HI = (Message("user", "hi"),)
CLOSED = {"type": "object", "properties": {"n": {"type": "boolean"}}, "required": ["n"], "additionalProperties": False}
LOOK = Tool("look", json.dumps(CLOSED))
Make = Callable[[str], Path]
TokenizerOf = Callable[[str], Tokenizer]


@pytest.fixture(scope="module")
def tokenizer_of(tiny_thinking: Make) -> TokenizerOf:
    """A function that returns the tokenizer with a chat template, and loads it once."""
    return cache(lambda template: Tokenizer(tiny_thinking(template)))


@pytest.fixture(scope="module", params=ALL)
def thinker(request: pytest.FixtureRequest, tiny_thinking: Make) -> Iterator[LocalEngine]:
    """A tiny model with the chat template of each well-known model in turn."""
    with opened(tiny_thinking(ALL[request.param])) as engine:
        yield engine


@contextmanager
def opened(folder: Path) -> Iterator[LocalEngine]:
    with closing(load(LoadOptions(folder))) as engine:
        yield engine


def answer(engine: LocalEngine, **asked: Any) -> tuple[str, str, Finish]:
    """Return the thinking, the text and the end of an answer."""
    request = ConversationRequest(**{"messages": HI, "max_new_tokens": 60, **asked})
    *steps, finish = [event for event in engine.generate(request) if isinstance(event, Step | Finish)]
    assert isinstance(finish, Finish)
    said = [step for step in steps if isinstance(step, Step)]
    texts = ["".join(piece.text for piece in step.pieces if not piece.is_thinking) for step in said]
    assert texts == [step.text for step in said]
    return "".join(step.thinking for step in said), "".join(texts), finish


def shown(tokenizer: Tokenizer, messages: Sequence[Message], thinking: bool | None = None, effort: str = "") -> str:
    return tokenizer.decode(tokenizer.prompt(messages, thinking=thinking, effort=effort), keep_special=True)


@pytest.mark.parametrize(
    ("template", "support"),
    [
        (QWEN3, ThinkingSupport(by_default=True, can_switch=True, takes_effort=False)),
        (QWEN36, ThinkingSupport(by_default=True, can_switch=True, takes_effort=False)),
        (R1, ThinkingSupport(by_default=True, can_switch=False, takes_effort=False)),
        (GEMMA, ThinkingSupport(by_default=False, can_switch=True, takes_effort=False)),
        (GPT_OSS, ThinkingSupport(by_default=True, can_switch=False, takes_effort=True)),
    ],
)
def test_support_is_read_from_the_template(tokenizer_of: TokenizerOf, template: str, support: ThinkingSupport) -> None:
    thinking = tokenizer_of(template).thinking
    assert thinking
    assert thinking.support == support


def test_section_is_left_out_where_the_template_can(tokenizer_of: TokenizerOf) -> None:
    for template in (QWEN3, QWEN36, R1):
        assert shown(tokenizer_of(template), HI, thinking=False).endswith("<think>\n\n</think>\n\n")
    gemma = tokenizer_of(GEMMA)
    assert shown(gemma, HI, thinking=False).endswith("<|channel>thought\n<channel|>")
    assert shown(gemma, HI, thinking=True).startswith("think!")


def test_what_a_model_cannot_do_is_refused(tokenizer_of: TokenizerOf) -> None:
    harmony = tokenizer_of(GPT_OSS)
    with pytest.raises(ChatTemplateError, match="always thinks before it answers"):
        harmony.prompt(HI, thinking=False)
    assert shown(harmony, HI, effort="low").startswith("Reasoning: low")
    plain = tokenizer_of(PLAIN)
    assert plain.prompt(HI, thinking=False) == plain.prompt(HI)
    with pytest.raises(ChatTemplateError, match="has no switch for thinking"):
        plain.prompt(HI, thinking=True)


def test_quoted_marks_stay_text_in_prompts(tokenizer_of: TokenizerOf) -> None:
    quoted = "Write <think>\nand then\n</think>\nto close it, or <|channel>thought\nx<channel|>."
    messages = [Message("user", "How?"), Message("assistant", quoted, thinking="They ask </think> oddly"), *HI]
    for template in ALL.values():
        tokenizer = tokenizer_of(template)
        ids, text = tokenizer.prompt(messages), shown(tokenizer, messages)
        assert quoted in text
        assert "They ask" not in text  # earlier thoughts are left out
        marks = {*tokenizer.raw_prompt("<think></think><|channel><channel|>", add_special=False)}
        hints = tokenizer.prompt(HI)
        assert sum(id_ in marks for id_ in ids) == sum(id_ in marks for id_ in hints)


def test_thinking_of_a_turn_goes_to_the_template_apart(tokenizer_of: TokenizerOf) -> None:
    tokenizer = tokenizer_of(QWEN3)
    call = Message("assistant", "", (Call("look", "{}"),), thinking="I look.")
    ids = tokenizer.prompt([*HI, call], add_generation_prompt=False)
    assert "<think>\nI look.\n</think>" in tokenizer.decode(ids)


@pytest.mark.parametrize("template", [QWEN3, QWEN36])
def test_answer_is_continued_where_it_was(tokenizer_of: TokenizerOf, template: str) -> None:
    tokenizer = tokenizer_of(template)
    thinking = shown(tokenizer, [*HI, Message("assistant", "", thinking="Well")])
    assert thinking.endswith("assistant\n<think>\nWell")
    both = shown(tokenizer, [*HI, Message("assistant", "It is", thinking="Well")])
    assert both.endswith("assistant\n<think>\nWell\n</think>\n\nIt is")
    plain = shown(tokenizer, [*HI, Message("assistant", "It is")])
    assert plain.endswith("It is")
    assert plain.count("<think>") == plain.count("</think>")


def test_continued_section_keeps_its_white_space(tokenizer_of: TokenizerOf) -> None:
    tokenizer = tokenizer_of(QWEN36)
    assert tokenizer.thinking
    begun = (*HI, Message("assistant", "", thinking="Well"))
    for messages, expected in ((begun, (" now", "")), (HI, ("now", ""))):
        reader = tokenizer.thinking.reader_of(messages, tokenizer.prompt(messages))
        assert reader.push(" now") == expected


def test_continued_answer_quotes_marks(tokenizer_of: TokenizerOf) -> None:
    tokens = tokenizer_of(QWEN3).thinking
    assert tokens
    for last, expected in ((Message("assistant", "Tags:"), ("", " <think>\nx")), (HI[0], ("x", ""))):
        reader = tokens.reader_of((*HI, last), [])
        parts = [reader.push(text, token) for text, token in ((" ", -1), ("<think>", tokens.begin_ids[0]), ("\nx", -1))]
        assert ("".join(thinking for thinking, _ in parts), "".join(text for _, text in parts)) == expected


def test_continued_answer_with_tools_begins_no_section(tiny_thinking: Make) -> None:
    with opened(tiny_thinking(QWEN3)) as engine:
        assert engine.tokenizer.thinking
        eager = Sampling(logit_bias={engine.tokenizer.thinking.begin_ids[0]: 100.0})
        asked = {"messages": (*HI, Message("assistant", "Well:")), "sampling": eager, "max_new_tokens": 200}
        thinking, text, finish = answer(engine, **asked, tools=Tools((LOOK,), required=True))
    assert (thinking, finish.stats.thinking_tokens) == ("", 0)
    assert text.startswith("<tool_call>")


def test_model_thinks_and_stops_at_its_budget(thinker: LocalEngine) -> None:
    tokens = thinker.tokenizer.thinking
    assert tokens
    begins = dict.fromkeys(tokens.begin_ids[:2], 100.0)  # the weights are random: the model would not think by itself
    is_open = tokens.is_open(thinker.tokenizer.prompt(HI, thinking=True if tokens.support.can_switch else None))
    asked: dict[str, Any] = {
        "thinking": True if tokens.support.can_switch else None,
        "thinking_budget": 12,
        "max_new_tokens": 200,
        "sampling": Sampling(logit_bias={} if is_open else begins),
        "tools": Tools((LOOK,), required=True),  # without them a model that may only begin would go on so
    }
    thinking, text, finish = answer(thinker, **asked)
    assert json.loads(text.removeprefix("<tool_call>").removesuffix("</tool_call>"))["name"] == "look"
    assert finish.reason is FinishReason.STOP
    assert 12 <= finish.stats.thinking_tokens <= 12 + len(tokens.closing_ids)
    assert "<" not in thinking
    guessed = answer(thinker, **asked, speculation=Speculation(Mode.FIXED, 4))
    assert (guessed[0], guessed[1]) == (thinking, text)


def test_answer_with_a_schema_ends_within_its_room_after_thinking(thinker: LocalEngine) -> None:
    tokens = thinker.tokenizer.thinking
    assert tokens
    is_open = tokens.is_open(thinker.tokenizer.prompt(HI, thinking=True if tokens.support.can_switch else None))
    begins = dict.fromkeys(tokens.begin_ids[:2], 100.0)
    asked: dict[str, Any] = {
        "thinking": True if tokens.support.can_switch else None,
        "thinking_budget": 12,
        "max_new_tokens": 60,
        "sampling": Sampling(logit_bias={} if is_open else begins),
        "schema": '{"type": "array", "items": {"type": "string"}}',
    }
    thinking, text, finish = answer(thinker, **asked)
    assert finish.stats.thinking_tokens
    assert isinstance(json.loads(text), list)
    assert finish.reason is FinishReason.LENGTH
    guessed = answer(thinker, **asked, speculation=Speculation(Mode.FIXED, 4))
    assert (guessed[0], guessed[1]) == (thinking, text)


def test_answer_without_thinking(thinker: LocalEngine) -> None:
    tokens = thinker.tokenizer.thinking
    assert tokens
    final = Sampling(logit_bias=dict.fromkeys(tokens.skip_ids[1:2], 100.0))  # gpt-oss may go without by itself
    thinking, text, finish = answer(thinker, thinking=None if tokens.skip_ids else False, sampling=final)
    assert thinking == ""
    assert text
    assert finish.stats.thinking_tokens == 0


def test_answer_cut_inside_a_mark_shows_none_of_it(tokenizer_of: TokenizerOf) -> None:
    tokens = tokenizer_of(GPT_OSS).thinking
    assert tokens
    for is_open, ids in ((False, tokens.begin_ids), (True, tokens.end_ids)):
        for count in range(1, len(ids)):
            reader = tokens.reader(is_open=is_open)
            parts = [*(reader.push("", token) for token in ids[:count] if token in tokens.names), reader.finish()]
            assert {part for pair in parts for part in pair} == {""}


ANALYSIS, TURN_ENDS = "<|channel|>analysis<|message|>", "<|end|><|start|>assistant"
CALL = '<|channel|>commentary to=functions.look <|constrain|>json<|message|>{"n": true}'
SHOWN_CALL = '<tool_call>\n{"name": "look", "arguments": {"n": true}}\n</tool_call>'
FINAL = "<|channel|>final<|message|>"


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize(
    ("written", "thinking", "text"),
    [
        (f"{ANALYSIS}I look.{TURN_ENDS}{CALL}", "I look.", SHOWN_CALL),
        (f"{ANALYSIS}I{TURN_ENDS}{ANALYSIS}look.{TURN_ENDS}{CALL}", "Ilook.", SHOWN_CALL),
        (f"{ANALYSIS}No.{TURN_ENDS}{FINAL}Yes.", "No.", "Yes."),
        (f"{FINAL}Yes.", "", "Yes."),
        (f"{CALL}", "", SHOWN_CALL),
        (' to=functions.look<|channel|>commentary json<|message|>{"n": true}', "", SHOWN_CALL),
        (f"{ANALYSIS}Hm.{TURN_ENDS}<|channel|>commentary<|message|>So:{TURN_ENDS}{CALL}", "Hm.", f"So:{SHOWN_CALL}"),
        (f"{ANALYSIS}Hm.{TURN_ENDS}<|channel|>", "Hm.", ""),
        ("<|channel|>", "", ""),
    ],
)
def test_answer_with_channels_is_thinking_text_and_calls(
    tokenizer_of: TokenizerOf, written: str, thinking: str, text: str, size: int
) -> None:
    tokenizer = tokenizer_of(FAMILIES["gpt-oss"])
    request = ConversationRequest(HI, tools=Tools((LOOK,)))
    answer_text = AnswerText.of(request, tokenizer, tokenizer.prompt_of(request, 10_000))
    ids = tokenizer.raw_prompt(written, add_special=False)
    pushed = [answer_text.push(ids[at : at + size]) for at in range(0, len(ids), size)]
    last_thinking, last_text = answer_text.finish()
    assert "".join(part for each in pushed for part in each.thinking) + last_thinking == thinking
    assert "".join(each.text for each in pushed) + last_text == text
    assert answer_text.token_ids == tuple(ids)


def test_budget_ends_thinking_before_the_next_channel(tiny_thinking: Make) -> None:
    begun = (*HI, Message("assistant", "", thinking="Well"))
    with opened(tiny_thinking(FAMILIES["gpt-oss"])) as engine:
        _, _, finish = answer(engine, messages=begun, tools=Tools((LOOK,)), thinking_budget=5)
        turn = engine.tokenizer.raw_prompt(TURN_ENDS, add_special=False)
    assert finish.token_ids[5 : 5 + len(turn)] == tuple(turn)
    assert finish.stats.thinking_tokens == 5 + len(turn)
    assert len(finish.token_ids) > 5 + len(turn)


def test_stop_texts_are_those_of_the_answer(tiny_thinking: Make) -> None:
    with opened(tiny_thinking(QWEN36)) as engine:
        thinking, _, _ = answer(engine, max_new_tokens=20)
        assert thinking
        again, _, finish = answer(engine, max_new_tokens=20, stop=(thinking[3:6],))
        assert again == thinking
        assert finish.reason is FinishReason.LENGTH


def test_guesses_are_made_inside_the_section(tiny_thinking: Make) -> None:
    asked: dict[str, Any] = {"max_new_tokens": 120, "stop_on_repetition": False}
    with opened(tiny_thinking(QWEN36)) as engine:
        for budget in (None, 100):
            plain = answer(engine, **asked, thinking_budget=budget, speculation=Speculation(Mode.OFF))
            request = ConversationRequest(
                HI, **asked, thinking_budget=budget, speculation=Speculation(Mode.FIXED, 4, drafter=Drafter.NGRAM)
            )
            *steps, finish = [event for event in engine.generate(request) if isinstance(event, Step | Finish)]
            assert isinstance(finish, Finish)
            assert finish.token_ids == plain[2].token_ids
            inside = [piece for step in steps if isinstance(step, Step) for piece in step.pieces if piece.is_thinking]
            assert "".join(piece.text for piece in inside) == plain[0]
            assert Origin.NGRAM in {piece.origin for piece in inside}
            assert finish.stats.accepted > 0


def test_race_counts_the_tokens_of_thinking(tiny_thinking: Make) -> None:
    prompt = BenchPrompt("one", "code", "hi")
    with opened(tiny_thinking(QWEN36)) as engine:
        modes = race.own_modes(engine, 40, engine.forget_all, names=(race.PLAIN, "fixed 4"))
        plain, guessed = (mode.answer(prompt) for mode in modes)
        thinking, _, finish = answer(engine, max_new_tokens=40, stop_on_repetition=False)
    assert thinking
    assert plain.tokens == guessed.tokens == finish.token_ids
    assert len(plain.tokens) == 40
    assert guessed.drafted > 0


def read(pieces: Sequence[str], *, is_open: bool = False) -> tuple[str, str]:
    reader = ThinkingReader("<think>", "</think>", place="thinking" if is_open else "start")
    parts = [*map(reader.push, pieces), reader.finish()]
    return "".join(thinking for thinking, _ in parts), "".join(text for _, text in parts)


@pytest.mark.parametrize(
    ("text", "is_open", "expected"),
    [
        ("<think>\nHm.\n</think>\n\nYes.", False, ("Hm.", "Yes.")),
        ("Hm.\n</think>\n\nYes.", True, ("Hm.", "Yes.")),
        ("<think>\n\n</think>\n\nYes.", False, ("", "Yes.")),
        ("<think>\nHm, <b", False, ("Hm, <b", "")),
        ("Tags:\n</think>\nends it", False, ("", "Tags:\n</think>\nends it")),
        ("First write\n<think>\nx\n</think>\nthen stop.", False, ("", "First write\n<think>\nx\n</think>\nthen stop.")),
        ("<think>\na\n</think>\n\nThe </think> mark.", False, ("a", "The </think> mark.")),
        ("  <thin air", False, ("", "  <thin air")),
        ("</think>\n\nYes.", False, ("", "Yes.")),
        ("<think>\nagain</think>x", True, ("again", "x")),
    ],
)
def test_reader_separates_text_cut_anywhere(text: str, is_open: bool, expected: tuple[str, str]) -> None:
    assert read([text], is_open=is_open) == expected
    assert read(list(text), is_open=is_open) == expected
    for size in (2, 3, 5):
        assert read([text[at : at + size] for at in range(0, len(text), size)], is_open=is_open) == expected
