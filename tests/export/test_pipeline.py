"""The models that write answers, and the sampling parameters in an exported folder."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from headstart_export import pipeline
from headstart_export.recipe import Arguments, Chat, Sampling, find_model, understand

TOKENIZER = SimpleNamespace(added_tokens_decoder={}, chat_template=None, eos_token_id=2)
CODER = replace(find_model("qwen2.5-coder-0.5b-instruct"), chat=Chat())


@pytest.mark.parametrize(
    ("arguments", "writes"),
    [
        (Arguments("qwen2.5-coder-1.5b-instruct"), True),  # alone, so it gets a table
        (Arguments("qwen2.5-coder"), True),  # ranks the tokens of its draft
        (Arguments("qwen2.5-coder", draft_vocab="full"), False),
        (Arguments("qwen2.5-coder", draft_vocab="full", weights="int4", calibration="awq"), True),
        (Arguments("qwen3-4b+0.6b"), False),
        (Arguments("smollm2-135m-instruct"), False),  # has a head
        (Arguments("smollm2-135m-instruct", weights="int4", calibration="gptq"), True),
        (Arguments("qwen3-0.6b"), False),  # drafts
    ],
)
def test_only_a_model_whose_answers_are_used_writes(arguments: Arguments, writes: bool) -> None:
    assert pipeline.writes_answers(understand(arguments)) == writes


def test_sampling_of_a_recipe_replaces_the_source(tmp_path: Path) -> None:
    found = {"do_sample": False, "temperature": 0.1, "min_p": 0.2, "eos_token_id": 7}
    (tmp_path / "generation_config.json").write_text(json.dumps(found), encoding="utf-8")
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    assert pipeline.settle_generation(tmp_path, TOKENIZER, CODER, tail="") == (7, 2)
    assert json.loads((tmp_path / "generation_config.json").read_text(encoding="utf-8")) == {
        "do_sample": True,
        "temperature": 0.7,
        "top_p": 0.8,
        "top_k": 20,
        "repetition_penalty": 1.1,
        "eos_token_id": [7, 2],
    }


def test_sampling_of_the_source_is_kept(tmp_path: Path) -> None:
    (tmp_path / "generation_config.json").write_text('{"temperature": 0.6, "eos_token_id": 2}', encoding="utf-8")
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    pipeline.settle_generation(tmp_path, TOKENIZER, replace(CODER, sampling=Sampling()), tail="")
    generation = json.loads((tmp_path / "generation_config.json").read_text(encoding="utf-8"))
    assert generation == {"temperature": 0.6, "eos_token_id": [2]}


def test_tag_that_looks_like_an_end_is_none(tmp_path: Path) -> None:
    """Gemma knows `</s>` as a tag of HTML."""
    tokens = {1: SimpleNamespace(content="<eos>", special=True), 212: SimpleNamespace(content="</s>", special=False)}
    gemma = SimpleNamespace(added_tokens_decoder=tokens, chat_template=None, eos_token_id=1)
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    assert pipeline.settle_generation(tmp_path, gemma, CODER, tail="") == (1,)
