"""GGUF files as OpenVINO models: every kind of decoder, every type of weights, and refusals by name."""

import json
import math
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from headstart.engine.hardware.runtime import core, openvino
from headstart.engine.kernels.blocks import replace_blocks, weights_of
from headstart.engine.kernels.fusion import fuse
from headstart.engine.kernels.selftest import proven, unsupported_reason
from headstart.engine.runners.graph import add_taps, count_layers, keep_rows
from headstart.engine.runners.paged import BranchingRunner
from headstart.engine.runners.precision import OWN, properties, reference
from headstart.engine.runners.selftest import ROOM, batch_invariance, self_test
from headstart.engine.runners.stateful import StatefulRunner
from headstart.errors import ExportError
from headstart.library import manifest
from headstart_export.conversion import quantize
from headstart_export.gguf import converter, packing
from headstart_export.gguf import metadata as files
from headstart_export.gguf.decoder import ARCHITECTURES, ExpertSizes, RecurrentSizes, Sizes, tensors
from headstart_export.gguf.rotation import Rotation
from tests.engine.test_histories import fuzz

HISTORIES = 12
LAYERS, WIDTH, INNER, HEADS, KV_HEADS, HEAD, ROWS, CONTEXT, WINDOW = 2, 256, 512, 4, 2, 64, 96, 512, 8
SIZES = Sizes(LAYERS, WIDTH, INNER, HEADS, KV_HEADS, HEAD, ROWS, CONTEXT, 1e-6, Rotation(HEAD, 10000.0))
SETTINGS = {
    "block_count": LAYERS,
    "context_length": CONTEXT,
    "embedding_length": WIDTH,
    "feed_forward_length": INNER,
    "attention.head_count": HEADS,
    "attention.head_count_kv": KV_HEADS,
    "attention.layer_norm_rms_epsilon": 1e-6,
}
MIXTURES = {name: ExpertSizes(4, 2, 128) for name, kind in ARCHITECTURES.items() if kind.experts == "must"}
RECURRENT = {  # measures
    "lfm2": RecurrentSizes((True, False), 3),
    "qwen35": RecurrentSizes((True, False), 4, 4, 2, 32),
}
FURTHER: dict[str, dict[str, Any]] = {  # settings
    "lfm2": {"attention.head_count_kv": [0, KV_HEADS], "shortconv.l_cache": 3},
    "qwen35": {
        "full_attention_interval": 2,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 128,
        "ssm.state_size": 32,
        "ssm.time_step_rank": 4,
        "ssm.group_count": 2,
    },
    "gemma2": {"attention.sliding_window": WINDOW, "attn_logit_softcapping": 20.0},
    "gemma3": {"attention.sliding_window": WINDOW, "attention.sliding_window_pattern": 2},
    **{
        name: {"expert_count": sizes.count, "expert_used_count": sizes.used, "expert_feed_forward_length": sizes.inner}
        for name, sizes in MIXTURES.items()
    },
}
PAGED = [name for name in ARCHITECTURES if name != "gemma2"]  # kinds whose attention OpenVINO can compute over pages
IDS = [int(place) for place in np.random.default_rng(0).integers(0, ROWS, 24)]
# Types of quantized weights, and where in a block of so many bytes its f16 scales are: random bytes may be no number.
BLOCKS = {
    "Q4_0": [0],
    "Q4_1": [0, 2],
    "Q5_0": [0],
    "Q5_1": [0, 2],
    "Q8_0": [0],
    "Q2_K": [80, 82],
    "Q3_K": [108],
    "Q4_K": [0, 2],
    "Q5_K": [0, 2],
    "Q6_K": [208],
    "IQ4_NL": [0],
    "IQ4_XS": [0],
    "IQ2_XXS": [0],
    "IQ3_S": [0],
}

Make = Callable[..., Path]


def blocks(kind: str, rows: int, width: int, seed: int = 0) -> NDArray[np.uint8]:
    """Return random weights of a type, with scales of similar size."""
    import gguf  # noqa: PLC0415

    weights, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
    random = np.random.default_rng(seed)
    data = random.integers(0, 256, (rows * width // weights, size), np.uint8)
    for place in BLOCKS[kind]:
        scales = random.uniform(1e-4, 1e-3, len(data)).astype("<f2")
        data[:, place : place + 2] = scales.view(np.uint8).reshape(-1, 2)
    return data.reshape(rows, -1)


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A function that writes a GGUF file with random weights of type `kind`. None removes a setting or tensor."""

    def write(
        name: str = "llama",
        kind: str = "F16",
        settings: Mapping[str, Any] | None = None,
        weights: Mapping[str, tuple[int, ...] | None] | None = None,
        path: Path = tmp_path / "model.gguf",
        drop: Callable[[str], bool] = lambda _: False,
        sizes: Sizes = SIZES,
    ) -> Path:
        import gguf  # noqa: PLC0415

        writer = gguf.GGUFWriter(path, name)
        for key, value in {**SETTINGS, **FURTHER.get(name, {}), **(settings or {})}.items():
            if value is not None:
                _add(writer, key if key.startswith(("tokenizer", "split")) else f"{name}.{key}", value)
        sizes = replace(sizes, experts=MIXTURES.get(name), recurrence=RECURRENT.get(name))
        required, _ = tensors(ARCHITECTURES.get(name, ARCHITECTURES["llama"]), sizes)
        for number, (tensor, shape) in enumerate({**required, **(weights or {})}.items()):
            if shape is None or drop(tensor):
                continue
            is_matrix = len(shape) > 1 and tensor.endswith(".weight") and "inp" not in tensor and "conv" not in tensor
            is_matrix |= "proj" in tensor
            if is_matrix and kind in BLOCKS:
                data = blocks(kind, math.prod(shape[:-1]), shape[-1], seed=number).reshape(*shape[:-1], -1)
                writer.add_tensor(tensor, data, raw_dtype=gguf.GGMLQuantizationType[kind])
                continue
            numbers = np.random.default_rng(number).standard_normal(shape, np.float32) * 0.05 + (len(shape) == 1)
            numbers = -numbers if tensor.endswith("ssm_a") else numbers  # a memory that grows would not be finite
            writer.add_tensor(tensor, numbers.astype(np.float16) if kind == "F16" and len(shape) == 2 else numbers)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    return write


def _add(writer: Any, key: str, value: Any) -> None:
    kinds = {int: writer.add_uint32, float: writer.add_float32, str: writer.add_string, list: writer.add_array}
    kinds[type(value)](key, value)


def refusal(path: Path) -> str:
    with pytest.raises(ExportError) as caught:
        converter.inspect(path)
    return str(caught.value)


def unpacked(path: Path, name: str, form: str, store: Path) -> tuple[NDArray[np.float32], set[str]]:
    """Return a matrix as the graph has it, and the types of the constants behind it."""
    found = {tensor.name: tensor for tensor in files.read(path).tensors}
    store.write_bytes(b"")
    weights = packing.PackedTensors(found, form, store, lambda _done, _total: None)
    ov, node = openvino(), weights.matrix(name)
    model = ov.Model([ov.opset13.result(node)], [], "weights")
    replace_blocks(model)
    kinds = {each.get_element_type().get_type_name() for each in model.get_ops() if each.get_type_name() == "Constant"}
    compiled = core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return compiled.create_infer_request().infer([])[0].copy(), kinds


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_kind_of_decoder_runs_as_the_app_runs_it(name: str, make: Make, tmp_path: Path) -> None:
    path = make(name, "Q4_1")
    converter.convert(path, tmp_path / "ir", "gguf")
    model = core().read_model(tmp_path / "ir" / converter.MODEL_FILE)
    assert count_layers(model) == LAYERS
    with_keys = LAYERS - sum(RECURRENT[name].layers if name in RECURRENT else ())
    assert quantize.shapes(tmp_path / "ir" / converter.MODEL_FILE) == (ROWS, 2 * 2 * with_keys * KV_HEADS * HEAD)
    assert add_taps(model, [0, 1], with_head=True)
    assert keep_rows(model, np.arange(0, ROWS, 2))
    assert model.output("logits").partial_shape[2].get_length() == ROWS // 2
    kind = BranchingRunner.load if name in PAGED else StatefulRunner
    runner = kind(tmp_path / "ir", "CPU", reference(), ROOM)
    assert self_test(runner) == ""
    runner.rollback(0)
    whole = runner.forward(IDS, rows=len(IDS)).copy()
    runner.rollback(0)
    steps = [runner.forward(IDS[place : place + 3], rows=3).copy() for place in range(0, len(IDS), 3)]
    assert np.allclose(np.concatenate(steps), whole, atol=1e-3 * np.abs(whole).max())
    assert whole.std() > 0


def test_our_own_kernels_take_all_products(make: Make, tmp_path: Path) -> None:
    kernels = proven()
    if kernels is None:
        pytest.skip(unsupported_reason())
    for kind in sorted(packing.BLOCKS - {"BF16"}):
        path = make("qwen2", kind)
        converter.convert(path, tmp_path / kind, "gguf")
        converter.convert(path, tmp_path / f"{kind} in 16 bits", "fp16")
        model = core().read_model(tmp_path / kind / converter.MODEL_FILE)
        assert fuse(model, kernels, 2)
        products = [node for node in model.get_ops() if node.get_type_name() == "MatMul"]
        assert len(products) == 1  # positions by frequencies
        if kind not in {"Q4_0", "Q4_1", "Q4_K", "Q5_K", "Q8_0"}:  # random factors make weights too large for attention
            continue
        exact = BranchingRunner.load(tmp_path / f"{kind} in 16 bits", "CPU", reference(), 64)
        own = BranchingRunner.load(tmp_path / kind, "CPU", properties(OWN), 64)
        expected, found = (runner.forward(IDS, rows=len(IDS)) for runner in (exact, own))
        assert np.abs(found - expected).mean() < 0.05 * expected.std(), kind


@pytest.mark.parametrize("name", MIXTURES)
def test_our_own_kernels_compute_mixtures_of_experts(name: str, make: Make, tmp_path: Path) -> None:
    kernels = proven()
    if kernels is None:
        pytest.skip(unsupported_reason())
    path = make(name, "Q8_0")
    for form in ("gguf", "fp16"):
        converter.convert(path, tmp_path / form, form)
    exact = BranchingRunner.load(tmp_path / "fp16", "CPU", reference(), 64)
    without = BranchingRunner.load(tmp_path / "gguf", "CPU", reference(), 64)
    own = BranchingRunner.load(tmp_path / "gguf", "CPU", properties(OWN), 64)
    expected = exact.forward(IDS, rows=len(IDS))
    for runner in (without, own):
        assert np.abs(runner.forward(IDS, rows=len(IDS)) - expected).mean() < 0.05 * expected.std()
    assert batch_invariance(own).min_tokens


@pytest.mark.parametrize("kind", [*BLOCKS, "F16", "F32"])
def test_weights_of_every_type_are_stored_in_every_form(kind: str, make: Make, tmp_path: Path) -> None:
    import gguf  # noqa: PLC0415

    path, name = make(kind=kind), "blk.0.ffn_down.weight"
    tensor = next(each for each in files.read(path).tensors if each.name == name)
    expected = gguf.dequantize(tensor.data, tensor.tensor_type)
    largest = np.abs(expected).max(1, keepdims=True)
    for form, bound in {"fp16": 1e-3, "int8": 0.01, "int4": 0.15, "gguf": 0.01}.items():
        found, kinds = unpacked(path, name, form, tmp_path / "store")
        assert np.all(np.abs(found - expected) <= bound * largest), form
        assert form != "int4" or "i4" in kinds
    if kind in {"Q4_0", "Q4_1", "Q4_K"}:
        assert kinds >= {"i4" if kind == "Q4_0" else "u4"}
        assert np.all(np.abs(found - expected) <= 2e-3 * largest)


@pytest.mark.parametrize("kind", [*sorted(packing.BLOCKS - {"BF16"}), "F32"])
def test_blocks_of_the_file_are_kept(kind: str, make: Make, tmp_path: Path) -> None:
    path, name = make(kind=kind), "blk.0.ffn_down.weight"
    tensor = next(each for each in files.read(path).tensors if each.name == name)
    converter.convert(path, tmp_path / "ir", "gguf")
    model = core().read_model(tmp_path / "ir" / converter.MODEL_FILE)
    node = next(each for each in model.get_ordered_ops() if each.get_friendly_name() == f"self.{name}")
    if kind == "F32":
        assert np.array_equal(node.data, tensor.data)
        return
    weights = weights_of(node)
    assert weights is not None
    assert (weights.format.name, weights.cols) == (kind, int(tensor.shape[0]))
    assert np.array_equal(weights.values, tensor.data.view(np.uint8).reshape(weights.values.shape))


def test_embeddings_are_looked_up_in_the_blocks_of_the_head(make: Make, tmp_path: Path) -> None:
    kernels = proven()
    if kernels is None:
        pytest.skip(unsupported_reason())
    sizes = []
    for name, more in (("tied", {}), ("untied", {"output.weight": (ROWS, WIDTH)})):
        converter.convert(make("qwen2", "Q6_K", weights=more), tmp_path / name, "gguf")
        model = core().read_model(tmp_path / name / converter.MODEL_FILE)
        sizes.append(sum(room.size for piece in fuse(model, kernels, 2) for room in piece.weights))
        lookups = [node for node in model.get_ops() if node.get_type_name() == "HeadstartLookup"]
        assert len(lookups) == 1
    assert sizes[0] == sizes[1]


def test_blocks_of_equal_weights_are_kept(make: Make, tmp_path: Path) -> None:
    import gguf  # noqa: PLC0415

    path, name = make(kind="Q4_1"), "blk.0.ffn_up.weight"
    tensor = next(each for each in files.read(path).tensors if each.name == name)
    data = bytearray(path.read_bytes())
    scales = np.array([0, 0, 1e-7, 6e-8, 1e-3, 0.5], "<f2")
    minimums = np.array([0.25, 0, -3, 1e-4, 0, -7], "<f2")
    for number, pair in enumerate(zip(scales, minimums, strict=True)):
        place = tensor.data_offset + number * 20
        data[place : place + 4] = np.array(pair, "<f2").tobytes()
    path.write_bytes(data)
    tensor = next(each for each in files.read(path).tensors if each.name == name)
    expected = gguf.dequantize(tensor.data, tensor.tensor_type)
    found, _ = unpacked(path, name, "gguf", tmp_path / "store")
    blocks_of = [each.reshape(-1, 32)[: len(scales)] for each in (found, expected)]
    assert np.all(np.abs(blocks_of[0] - blocks_of[1]) <= 2e-3 * np.abs(blocks_of[1]).max(1, keepdims=True))


@pytest.mark.parametrize("width", [32, 128, 256])
def test_matrix_of_groups_has_two_axes(width: int, make: Make, tmp_path: Path) -> None:
    name = "blk.0.ffn_down.weight"
    path = make(weights={name: (64, width)})
    found, kinds = unpacked(path, name, "int4", tmp_path / "store")
    assert found.shape == (64, width)
    assert "i4" in kinds


def test_embeddings_and_head_keep_8_bits_in_int4(make: Make, tmp_path: Path) -> None:
    path = make(weights={"output.weight": (ROWS, WIDTH)})
    for name in packing.VOCABULARY:
        assert "u8" in unpacked(path, name, "int4", tmp_path / "store")[1]


def test_mixed_int4_keeps_8_bits_for_what_the_file_stores_in_more(make: Make) -> None:
    path = make(kind="Q4_0")
    tensors = {tensor.name: tensor for tensor in files.read(path).tensors}
    assert set(packing.forms(tensors, "int4-mixed").values()) == {"int4"}
    fine = {tensor.name: tensor for tensor in files.read(make(kind="Q8_0")).tensors}
    name = "blk.1.ffn_down.weight"
    forms = packing.forms(tensors | {name: fine[name]}, "int4-mixed")
    assert [each for each, form in forms.items() if form == "int8"] == [name]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gemma3", quantize.CacheSpec(WINDOW, 2 * 2 * KV_HEADS * HEAD, ())),  # of one of two layers
        ("llama", quantize.CacheSpec(0, 0, ())),
        ("gemma2", quantize.CacheSpec(0, 0, ())),
        ("lfm2", quantize.CacheSpec(0, 0, (manifest.StateSize(2 * WIDTH, WIDTH),))),
        # A convolution over queries, keys and values, and a memory for each of four heads.
        ("qwen35", quantize.CacheSpec(0, 0, (manifest.StateSize(3 * 256 + 4 * 32**2, 256 + 2 * 4),))),
    ],
)
def test_layers_that_do_not_keep_all_of_a_text_are_known(
    name: str, expected: quantize.CacheSpec, make: Make, tmp_path: Path
) -> None:
    converter.convert(make(name, "Q8_0"), tmp_path / name, "gguf")
    assert quantize.cache_spec(tmp_path / name / "openvino_model.xml") == expected


def test_facts_say_what_a_file_holds(make: Make) -> None:
    sizes = converter.inspect(make(kind="Q4_0"))
    assert (sizes.layers, sizes.width, sizes.vocabulary, sizes.context) == (LAYERS, WIDTH, ROWS, CONTEXT)


@pytest.mark.parametrize("form", packing.FORMS)
def test_numbers_that_are_not_finite_are_refused(form: str, make: Make, tmp_path: Path) -> None:
    path, name = make(kind="Q4_1"), "blk.1.ffn_up.weight"
    tensor = next(each for each in files.read(path).tensors if each.name == name)
    data = bytearray(path.read_bytes())
    place = tensor.data_offset + 200 * 20
    data[place : place + 2] = np.float16(np.nan).tobytes()
    path.write_bytes(data)
    with pytest.raises(ExportError, match=r"blk\.1\.ffn_up\.weight holds numbers that are not finite"):
        converter.convert(path, tmp_path / "ir", form)


def test_conversion_writes_what_the_app_reads(make: Make, tmp_path: Path) -> None:
    tokens = [str(index) for index in range(ROWS)]
    path = make("gemma3", settings={"tokenizer.ggml.eos_token_id": 7, "tokenizer.ggml.tokens": tokens})
    heard: list[tuple[int, int]] = []
    for form, mode in {"int8": "int8_asym", "int4": "int4_sym", "fp16": None, "gguf": "blocks"}.items():
        heard.clear()
        converter.convert(path, tmp_path / form, form, lambda done, total: heard.append((done, total)))
        folder = tmp_path / form
        assert sorted(file.name for file in folder.iterdir()) == [
            "config.json",
            "openvino_model.bin",
            "openvino_model.xml",
        ]
        precision = quantize.read_back(folder / converter.MODEL_FILE)
        assert (precision.mode, precision.group_size) == (mode, 128 if form == "int4" else None)
        assert heard == sorted(heard)
        assert heard[-1][0] == heard[-1][1] > path.stat().st_size * 0.9
    config = json.loads((tmp_path / "int8" / "config.json").read_text(encoding="utf-8"))
    assert config["architectures"] == ["Gemma3ForCausalLM"]
    assert (config["max_position_embeddings"], config["vocab_size"], config["eos_token_id"]) == (CONTEXT, ROWS, 7)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGED)
def test_histories_of_a_family_have_the_same_bits_with_guesses(
    name: str, make: Make, tiny_quantized: Path, tiny_draft: Path, headstart_home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "target"
    shutil.copytree(tiny_quantized, folder)
    path = make(name, "Q8_0", {"context_length": 1024}, sizes=replace(SIZES, vocabulary=640))
    converter.convert(path, tmp_path / "ir", "gguf")
    for file in (tmp_path / "ir").iterdir():
        shutil.copy(file, folder)
    known = replace(manifest.read_model(folder), files=manifest.hash_files(folder))
    manifest.write(folder, replace(known, precision=manifest.Precision("gguf")))
    assert not fuzz(folder, tiny_draft, headstart_home, {}, histories=HISTORIES).differing


WITHOUT = """
import pathlib, sys
from headstart_export.gguf import converter
converter.convert(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), "int8")
print(*{"torch", "transformers", "optimum", "nncf"} & {name.partition(".")[0] for name in sys.modules})
"""


def test_conversion_needs_no_library_of_the_exporter(make: Make, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT, str(make()), str(tmp_path / "ir")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "\n"


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a kind": ({"name": "mamba"}, "the kind 'mamba'"),
    "experts": ({"name": "gemma", "settings": {"expert_count": 8}}, "gemma.expert_count"),
    "more experts than there are": ({"name": "olmoe", "settings": {"expert_used_count": 5}}, "uses 5 of 4 experts"),
    "a cap of logits": ({"settings": {"final_logit_softcapping": 30.0}}, "final_logit_softcapping"),
    "a scaling": ({"settings": {"rope.scaling.type": "dynamic"}}, "the rule 'dynamic'"),
    "a window": ({"settings": {"attention.sliding_window": 64}}, "a window of 64 tokens"),
    "a list of windows": (
        {"name": "gemma3", "settings": {"attention.sliding_window_pattern": [True]}},
        "does not fit its layers",
    ),
    "a missing setting": ({"settings": {"context_length": None}}, "llama.context_length"),
    "an absurd setting": ({"settings": {"embedding_length": 0}}, "llama.embedding_length is 0"),
    "sizes by layer": ({"settings": {"attention.head_count_kv": [2, 2]}}, "llama.attention.head_count_kv is [2, 2]"),
    "a setting of another type": ({"settings": {"block_count": "2"}}, "llama.block_count is 2"),
    "too many layers": ({"settings": {"block_count": 10**9}}, "does not hold all weights"),
    "heads that rotate beyond their end": ({"settings": {"rope.dimension_count": 96}}, "96 numbers of a head of 64"),
    "values of another size": ({"settings": {"attention.value_length": 32}}, "value_length is 32 and not 64"),
    "heads that do not fit": ({"settings": {"attention.head_count_kv": 3}}, "do not fit 3 heads"),
    "a missing tensor": ({"weights": {"blk.1.ffn_up.weight": None}}, "blk.1.ffn_up.weight is missing"),
    "a missing bias": ({"name": "qwen2", "weights": {"blk.0.attn_q.bias": None}}, "blk.0.attn_q.bias is missing"),
    "no embeddings": ({"weights": {"token_embd.weight": None}}, "does not hold all weights"),
    "a further tensor": ({"weights": {"blk.0.ffn_up.bias": (INNER,)}}, "blk.0.ffn_up.bias"),
    "a layer too many": ({"settings": {"block_count": 1}}, "blk.1.attn_q.weight"),
    "a wrong shape": ({"weights": {"blk.0.attn_k.weight": (64, WIDTH)}}, "the shape [64, 256] and not [128, 256]"),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_unknown_files_are_refused_by_name(reason: str, make: Make) -> None:
    options, words = REFUSED[reason]
    assert words in refusal(make(**options))


def test_special_token_outside_the_vocabulary_is_refused(make: Make) -> None:
    assert "eos_token_id is 999999" in refusal(make(settings={"tokenizer.ggml.eos_token_id": 999999}))


def test_type_that_cannot_be_read_is_named(make: Make) -> None:
    path = make(kind="F32")
    data, name = bytearray(path.read_bytes()), b"blk.0.attn_q.weight"
    place = data.index(name) + len(name) + 4 + 2 * 8
    data[place : place + 4] = struct.pack("<I", 26)
    path.write_bytes(data)
    assert "model.gguf holds weights of type 26, which" in refusal(path)


def test_parts_of_a_split_file_are_read_together(make: Make, tmp_path: Path) -> None:
    whole = make("qwen3", "Q8_0")
    first, second = (tmp_path / f"big-0000{number}-of-00002.gguf" for number in (1, 2))
    make("qwen3", "Q8_0", {"split.no": 0, "split.count": 2}, path=first, drop=lambda name: "blk.1" in name)
    make("qwen3", "Q8_0", {"split.no": 1, "split.count": 2}, path=second, drop=lambda name: "blk.1" not in name)
    assert converter.inspect(second) == converter.inspect(whole)
    for path in (first, whole):
        converter.convert(path, tmp_path / path.stem, "int8")
    weights = [manifest.hash_file(tmp_path / path.stem / "openvino_model.bin") for path in (first, whole)]
    assert weights[0] == weights[1]
    second.unlink()
    assert "big-00002-of-00002.gguf is not beside it" in refusal(first)
