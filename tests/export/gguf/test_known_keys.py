"""Whatever a GGUF file says is used, harmless, or refused by name; its vocabulary is what another reader reads."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import gguf as other_reader
import pytest
from gguf import GGUFValue, GGUFValueType

from headstart.errors import ExportError
from headstart_export.gguf import converter, known_keys, metadata, tokenizer_model
from headstart_export.gguf.decoder import ARCHITECTURES
from headstart_export.sources import weights
from tests.export.gguf import tiny_gguf

Make = Callable[[Mapping[str, object]], Path]
KINDS = {
    bool: GGUFValueType.BOOL,
    int: GGUFValueType.INT32,
    float: GGUFValueType.FLOAT32,
    str: GGUFValueType.STRING,
    list: GGUFValueType.ARRAY,
}


@pytest.fixture
def make_gguf(tiny_source: Path, tmp_path: Path) -> Make:
    """A function that writes the tiny model with other values of some keys."""

    def make(changes: Mapping[str, object]) -> Path:
        path = tmp_path / "tiny.gguf"
        values = {key: GGUFValue(value, KINDS[type(value)]) for key, value in changes.items()}
        tiny_gguf.write(tiny_source, path, lambda metadata: metadata.update(values))
        return path

    return make


def library_keys(keys: type = other_reader.Keys) -> Iterator[str]:
    """Yield all keys of the format's own library."""
    for name, value in vars(keys).items():
        if isinstance(value, type):
            yield from library_keys(value)
        elif isinstance(value, str) and not name.startswith("__"):
            yield value.format(arch="llama", id=0, name="tool_use", dense="dense_2")


def test_every_known_key_has_a_meaning() -> None:
    keys = list(library_keys())
    assert len(keys) > 200
    assert [key for key in keys if known_keys.meaning(key, "llama") is None] == []


def test_every_setting_that_changes_the_model_is_used_or_refused() -> None:
    meanings = {key: known_keys.meaning(key, "llama") for key in library_keys() if key.startswith("llama.")}
    harmless = {key.removeprefix("llama.") for key, meaning in meanings.items() if meaning is known_keys.HARMLESS}
    assert harmless == {
        "vocab_size",
        "attention.layer_norm_epsilon",
        "rope.scaling.finetuned",
    }


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("general.type", "adapter"),
        ("general.quantization_version", 1),
        ("tokenizer.ggml.add_eos_token", True),
        ("tokenizer.ggml.add_sep_token", True),
        ("tokenizer.ggml.remove_extra_whitespaces", True),
        ("tokenizer.ggml.precompiled_charsmap", [1, 2]),
        ("tokenizer.ggml.suppress_tokens", [3]),
        ("tokenizer.ggml.token_type_count", 2),
        ("tokenizer.rwkv.world", "x"),
        ("adapter.lora.alpha", 16.0),
        ("clip.has_vision_encoder", True),
        ("diffusion.shift_logits", True),
    ],
)
def test_key_that_changes_what_is_computed_is_refused_by_name(make_gguf: Make, key: str, value: object) -> None:
    with pytest.raises(ExportError) as caught:
        weights.inspect(make_gguf({key: value}), code=False)
    assert f"tiny.gguf says {key} = " in str(caught.value)
    assert "take another file of the model" in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("logit_scale", 0.5),
        ("residual_scale", 0.22),
        ("attention.causal", False),
        ("attention.scale", 0.1),
        ("attn_logit_softcapping", 50.0),
        ("final_logit_softcapping", 30.0),
        ("attention.clamp_kqv", 8.0),
        ("attention.max_alibi_bias", 8.0),
        ("rope.scaling.attn_factor", 0.7),
        ("rope.scaling.yarn_ext_factor", 0.5),
        ("rope.dimension_sections", [1, 2]),
        ("expert_count", 8),
        ("use_parallel_residual", True),
        ("pooling_type", 1),
        ("tensor_data_layout", "another"),
        ("never_heard_of", 7),
    ],
)
def test_setting_of_the_model_is_refused_by_name_unless_it_is_neutral(make_gguf: Make, key: str, value: object) -> None:
    with pytest.raises(ExportError, match=rf"says qwen2\.{key} = .*is not known here"):
        converter.inspect(make_gguf({f"qwen2.{key}": value}))


def test_neutral_and_harmless_values_are_accepted(make_gguf: Make) -> None:
    neutral = {
        "general.type": "model",
        "general.quantization_version": 2,
        "general.file_type": 7,
        "general.base_model.0.name": "any",
        "general.tags": ["a", "b"],
        "tokenizer.ggml.add_eos_token": False,
        "tokenizer.ggml.fim_pre_token_id": 3,
        "tokenizer.huggingface.json": "{}",
        "quantize.imatrix.file": "x.dat",
        "qwen2.logit_scale": 1.0,
        "qwen2.attention.causal": True,
        "qwen2.expert_count": 0,
        "qwen2.rope.scaling.type": "none",
        "qwen2.rope.scaling.original_context_length": 512,
        "qwen2.vocab_size": 640,
    }
    path = make_gguf(neutral)
    assert weights.inspect(path, code=False).notes == ()
    converter.inspect(path)


def test_key_of_another_program_is_noted_by_name(make_gguf: Make) -> None:
    (note,) = weights.inspect(make_gguf({"somebody.made_it": "x"}), code=False).notes
    assert note.startswith("tiny.gguf says somebody.made_it, which is not known here")


SAID = {"temp": 0.2, "top_k": 5, "top_p": 0.5, "min_p": 0.1, "penalty_repeat": 1.0}


def test_sampling_values_of_the_file_are_read(make_gguf: Make) -> None:
    facts = weights.inspect(make_gguf({f"general.sampling.{key}": value for key, value in SAID.items()}), code=False)
    read = {"temperature": 0.2, "top_k": 5, "top_p": 0.5, "min_p": 0.1, "repetition_penalty": 1.0}
    assert (facts.sampling, facts.notes) == (read, ())
    assert weights.inspect(make_gguf({}), code=False).sampling == {}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *[("temp", value) for value in (float("nan"), float("inf"), -1.0, "hot", True, [0.2])],
        *[("top_k", value) for value in (-1, 1.5, "5")],
        *[("top_p", value) for value in (0.0, 1.5)],
        *[("min_p", 1.0), ("penalty_repeat", 0.0), ("penalty_repeat", 1e9)],
    ],
)
def test_absurd_sampling_value_is_left_out_by_name(make_gguf: Make, key: str, value: object) -> None:
    said = {"general.sampling.top_p": 0.5, f"general.sampling.{key}": value}
    facts = weights.inspect(make_gguf(said), code=False)
    assert facts.sampling == ({} if key == "top_p" else {"top_p": 0.5})
    (note,) = facts.notes
    assert note.startswith(f"tiny.gguf says general.sampling.{key} = ")


def test_sampler_that_is_not_here_is_noted(make_gguf: Make) -> None:
    path = make_gguf({"general.sampling.mirostat": 2, "general.sampling.xtc_probability": 0.0})
    (note,) = weights.inspect(path, code=False).notes
    assert "general.sampling.mirostat, a sampler that Headstart does not have" in note


def with_type(path: Path, kind: int) -> Path:
    """Write another type into the entry of the first tensor of two dimensions."""
    (tensor, *_) = [each for each in other_reader.GGUFReader(path).tensors if len(each.shape) == 2]
    place = int(tensor.field.offset + sum(part.nbytes for part in tensor.field.parts[:4]))
    content = bytearray(path.read_bytes())
    assert content[place : place + 4] == int(tensor.tensor_type).to_bytes(4, "little")
    content[place : place + 4] = kind.to_bytes(4, "little")
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (144, "type IQ4_KS, one of ik_llama.cpp's own types; take the Q4_K_M file"),
        (156, "type IQ3_KS, one of ik_llama.cpp's own types; take the Q4_K_M file"),
        (202, "type Q4_0_R8, one of ik_llama.cpp's own types; take the Q4_K_M file"),
        (208, "type Q8_0_R8, one of ik_llama.cpp's own types; take the Q4_K_M file"),
        (
            99,
            "holds weights of type 99, which this version of Headstart does not know; update Headstart, or take a Q4_K",
        ),
        (39, "as MXFP4, and its place has"),
        (3, "as Q4_1, and its place has"),
    ],
)
def test_types_of_weights_are_named(make_gguf: Make, kind: int, sentence: str) -> None:
    with pytest.raises(ExportError) as caught:
        weights.inspect(with_type(make_gguf({}), kind), code=False)
    assert sentence in str(caught.value)


def vocabulary(path: Path) -> dict[str, Any]:
    """Return the vocabulary as the format's own library reads it."""
    reader = other_reader.GGUFReader(path)
    contents: dict[str, Any] = {}
    for key in ("tokens", "token_type", "merges", "scores"):
        field = reader.get_field(f"tokenizer.ggml.{key}")
        contents[key] = field.contents() if field else None
    return contents


def built(path: Path) -> Any:
    return tokenizer_model.build(metadata.read(path), path.name)


def test_vocabulary_is_what_another_reader_reads(make_gguf: Make) -> None:
    path = make_gguf({})
    said, made = vocabulary(path), built(path)
    rows = enumerate(zip(said["tokens"], said["token_type"], strict=True))
    named = {index: token for index, (token, kind) in rows if kind != metadata.UNUSED}
    assert {index: made.id_to_token(index) for index in named} == named
    assert made.get_vocab_size() == len(named)
    merges = [" ".join(pair) for pair in json.loads(made.to_str())["model"]["merges"]]
    assert merges == said["merges"]
    special = [token["id"] for token in json.loads(made.to_str())["added_tokens"] if token["special"]]
    assert special == [index for index, kind in enumerate(said["token_type"]) if kind == metadata.CONTROL]


def test_odd_tokens_keep_their_ids(make_gguf: Make) -> None:
    path = make_gguf({})
    said = vocabulary(path)
    tokens, kinds = list(said["tokens"]), list(said["token_type"])
    rows = [index for index, kind in enumerate(kinds) if kind == metadata.UNUSED][:4]
    assert len(rows) == 4
    odd = ["<|odd|>", " two words ", "\u200b", "[PAD7]"]
    for row, text, kind in zip(
        rows, odd, (metadata.CONTROL, metadata.USER_DEFINED, metadata.NORMAL, metadata.NORMAL), strict=True
    ):
        tokens[row], kinds[row] = text, kind
    path = make_gguf({"tokenizer.ggml.tokens": tokens, "tokenizer.ggml.token_type": kinds})
    made = built(path)
    assert [made.id_to_token(row) for row in rows] == odd
    assert made.encode("a<|odd|>b two words c").ids.count(rows[0]) == 1


@pytest.mark.parametrize("kind", [metadata.NORMAL, metadata.CONTROL])
def test_token_that_stands_twice_is_refused(make_gguf: Make, kind: int) -> None:
    said = vocabulary(make_gguf({}))
    tokens, kinds = list(said["tokens"]), list(said["token_type"])
    row = kinds.index(metadata.UNUSED)
    tokens[row], kinds[row] = tokens[300], kind
    path = make_gguf({"tokenizer.ggml.tokens": tokens, "tokenizer.ggml.token_type": kinds})
    with pytest.raises(ExportError, match=rf"has the token .* twice, as 300 and {row}"):
        built(path)


def test_template_for_tools_in_the_file_is_kept(make_gguf: Make) -> None:
    path = make_gguf({"tokenizer.chat_template.tool_use": "{{ tools }}"})
    tokenizer = tokenizer_model.rebuild(path)
    assert tokenizer.get_chat_template(tools=[]) == "{{ tools }}"
    assert tokenizer.get_chat_template() != "{{ tools }}"


def test_own_kinds_know_the_meaning_of_their_settings() -> None:
    for kind in ARCHITECTURES:
        assert known_keys.meaning(f"{kind}.rope.freq_base", kind) is known_keys.USED
