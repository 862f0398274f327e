"""Tiny models exported for real, without a network: every precision, from a folder and from a GGUF file, and a pair."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from headstart.engine.engine import Message, Sampling
from headstart.engine.hardware.runtime import openvino, openvino_genai
from headstart.engine.text import generation_config
from headstart.engine.text.tokenizer import Tokenizer
from headstart.errors import ChatTemplateError
from headstart.library import manifest, vocabulary
from headstart_export.checks.quality import FLOOR
from headstart_export.conversion.quantize import RATIOS
from tests.export.conftest import Exports, Offline, kept_exports
from tests.export.gguf import llama_tokens
from tests.stand_ins.model_folders import write_model

LAYOUT = {
    "chat_template.jinja",
    "config.json",
    "generation_config.json",
    "openvino_detokenizer.bin",
    "openvino_detokenizer.xml",
    "openvino_model.bin",
    "openvino_model.xml",
    "openvino_tokenizer.bin",
    "openvino_tokenizer.xml",
    "tokenizer.json",
    "tokenizer_config.json",
}
MODES = {"int8": "int8_asym", "int8-sym": "int8_sym", "int4": "int4_sym", "fp16": None}
STORED = {"int4": "int4-sym"}  # as a manifest has what is asked by another name
SAMPLED = {"do_sample": True, "temperature": 0.6, "top_k": 20, "top_p": 0.95}
AGREEMENT = {
    "int8": 0.9,
    "int8-sym": 0.9,
    "int4": 0.5,
    "awq": 0.5,
    "fp16": 0.98,
    "gguf": 0.9,
}  # random weights: close calls abound
CALIBRATED = ("awq", "scale_estimation", "gptq")
SINGLE = [*MODES, "awq", "gguf"]
TEMPLATE = (
    "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
COMMIT = "c0ffee" * 6 + "c0ff"
SOURCES = ("tests/export/test_end_to_end.py", "tests/export/gguf/llama_tokens.py")
DIFFERENT = ("int8", "int8-sym", "merged", "fp16", "twice")  # from what they are compared with


def without_a_weight(source: Path, folder: Path) -> Path:
    """Copy a source without a matrix of its last layer."""
    shutil.copytree(source, folder, dirs_exist_ok=True)
    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def with_layers(source: Path, folder: Path, count: int) -> Path:
    """Copy a source with so many layers, which are its two layers in turn."""
    shutil.copytree(source, folder, dirs_exist_ok=True)
    weights = load_file(folder / "model.safetensors")
    for name in [name for name in weights if ".layers." in name]:
        head, _, rest = name.partition(".layers.")
        number, _, tail = rest.partition(".")
        for place in range(int(number), count, 2):
            weights[f"{head}.layers.{place}.{tail}"] = weights[name]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert config["num_hidden_layers"] == len(config["layer_types"]) == 2
    config |= {"num_hidden_layers": count, "layer_types": config["layer_types"] * (count // 2)}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def without_a_template(source: Path, folder: Path) -> Path:
    """Copy a source without a chat template; it has its author's sampling values."""
    shutil.copytree(source, folder, dirs_exist_ok=True)
    (folder / "generation_config.json").write_text(json.dumps(SAMPLED), encoding="utf-8")
    (folder / "chat_template.jinja").unlink()
    return folder


def with_an_adapter(source: Path, folder: Path) -> Path:
    """Create `adapter` for the model in `source`, `misfit` for a narrower one, and `merged` with its sums."""
    shutil.copytree(source, folder / "merged")
    weights = load_file(folder / "merged" / "model.safetensors")
    generator = np.random.default_rng(0)
    tensors = {}
    for name in ("self_attn.q_proj", "mlp.down_proj"):
        place = f"model.layers.1.{name}"
        rows, columns = weights[f"{place}.weight"].shape
        # Small powers of two, so that sums are exact in whatever order.
        first, second = (generator.integers(-1, 2, shape) for shape in ((4, columns), (rows, 4)))
        tensors[f"base_model.model.{place}.lora_A.weight"] = first.astype(np.float32)
        tensors[f"base_model.model.{place}.lora_B.weight"] = (second / 64).astype(np.float32)
        change = 2 * (second @ first).astype(np.float32) / 64
        weights[f"{place}.weight"] = (weights[f"{place}.weight"].astype(np.float32) + change).astype(np.float16)
    save_file(weights, folder / "merged" / "model.safetensors", metadata={"format": "pt"})
    for name, width in (("adapter", None), ("misfit", 32)):
        (folder / name).mkdir()
        settings = {"peft_type": "LORA", "lora_alpha": 8, "r": 4}
        (folder / name / "adapter_config.json").write_text(json.dumps(settings), encoding="utf-8")
        kept = {key: np.ascontiguousarray(data[:, :width]) for key, data in tensors.items()}
        save_file(kept, folder / name / "adapter_model.safetensors")
    return folder


def fetch_once(source: Path, repository: Path) -> None:
    """Fill the hub's cache with a repository whose branch main is at a commit."""
    shutil.copytree(source, repository / "snapshots" / COMMIT)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT, encoding="utf-8")


def with_another_content(folder: Path) -> None:
    """Create an export of the same commit with other files."""
    source = manifest.Source("hub", "org/tiny", COMMIT, files={"config.json": manifest.File("0" * 64, 1)})
    write_model(folder)
    manifest.write(folder, dataclasses.replace(manifest.read_model(folder), source=source))


@pytest.fixture(scope="session")
def exports(
    offline: Offline,
    tiny_models: Path,
    tiny_gguf_file: Path,
    phi3_vocabulary: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Exports:
    """Everything exported once, in one process."""
    folder = tmp_path_factory.mktemp("sources")
    target, draft, other = (str(tiny_models / f"{name}-hf") for name in ("target", "draft", "other"))

    def runs(hub: Path, made: Path) -> dict[str, list[str]]:
        runs = {weights: [target, "--weights", weights] for weights in MODES}
        runs["gguf"] = [str(tiny_gguf_file)]
        runs["awq"] = [target, "--weights", "int4-sym", "--calibration", "awq"]  # as it was called
        runs["gptq"] = [target, "--weights", "int4", "--calibration", "gptq", "--ratio", "0.9", "--group-size", "32"]
        adapted = with_an_adapter(tiny_models / "target-hf", folder)
        runs["merged"] = [str(adapted / "merged")]
        runs["adapter"] = [target, "--adapter", str(adapted / "adapter")]
        runs["misfit"] = [target, "--adapter", str(adapted / "misfit")]
        llama_tokens.write_model(phi3_vocabulary, folder / "pieces.gguf")
        (folder / "template.jinja").write_text(TEMPLATE, encoding="utf-8")
        runs["pieces"] = [str(folder / "pieces.gguf"), "--template", str(folder / "template.jinja")]
        runs["pair"] = [target, "--draft", draft, "--draft-weights", "int4", "--draft-vocab", "300"]
        deep = str(with_layers(tiny_models / "target-hf", folder / "deep", 6))
        runs["twice"] = [draft, "--draft", draft]
        runs["mismatch"] = [target, "--draft", other]
        runs["incomplete"] = [str(without_a_weight(tiny_models / "target-hf", folder / "incomplete"))]
        runs["silent"] = [str(without_a_template(tiny_models / "target-hf", folder / "silent"))]
        runs["altered"] = ["org/tiny", "--revision", COMMIT, "--force"]
        with_another_content(made / "altered")
        fetch_once(tiny_models / "target-hf", hub / "models--org--tiny")
        arguments = {name: [*run, "--json", "--output", str(made / name)] for name, run in runs.items()}
        for name, against in {
            "gguf": runs["gguf"],
            "pieces": runs["pieces"],
            "pair": [target, "--draft", draft],
            "int8": [deep],
            "int8-sym": [draft],
            "twice": [target],
            "adapter": runs["adapter"],
            "merged": [target],
            "fp16": runs["adapter"],
        }.items():
            arguments[f"verify {name}"] = ["verify", str(made / name), "--json", "--against", *against]
        return arguments

    refused = {"misfit", "mismatch", "incomplete", "altered", *(f"verify {name}" for name in DIFFERENT)}
    return kept_exports("exports", offline, runs, refused, *SOURCES)


def read(exports: Exports, name: str) -> manifest.Manifest:
    """Return the manifest of one result."""
    return manifest.read_model(exports.folder / name)


@pytest.mark.parametrize("name", SINGLE)
def test_export_is_complete_hashed_and_reported(exports: Exports, name: str) -> None:
    outcome, folder = exports.outcomes[name], exports.folder / name
    assert outcome.code == 0, outcome.err
    converting = ("Loading", "Converting to OpenVINO", "Compressing the weights") if name != "gguf" else ("Converting",)
    for stage in (*converting, "Checking the result", "agrees with"):
        assert stage in outcome.err
    found = read(exports, name)
    assert set(found.files) == LAYOUT | {manifest.TABLE_FILE}
    assert {path.name for path in folder.iterdir()} == LAYOUT | {manifest.TABLE_FILE, "manifest.json"}
    assert manifest.damaged_files(folder, found, hashes=True) == []
    assert found.size_bytes == sum(file.size for file in found.files.values())
    written = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert outcome.result == {"output": str(folder), "manifest": written}


@pytest.mark.parametrize("weights", sorted(MODES))
def test_precision_of_the_ir_is_the_requested_one(exports: Exports, weights: str) -> None:
    precision = read(exports, weights).precision
    assert (precision.weights, precision.mode) == (STORED.get(weights, weights), MODES[weights])
    assert precision.group_size == (128 if weights == "int4" else None)
    model = openvino().Core().read_model(exports.folder / weights / "openvino_model.xml")
    assert model.has_rt_info(["nncf", "weight_compression"]) == (weights != "fp16")
    assert model.has_rt_info(["runtime_options", "KV_CACHE_PRECISION"]) == (weights == "fp16")


@pytest.mark.parametrize(
    ("name", "calibration"), [("int4", ()), ("awq", ("awq", "scale_estimation")), ("gptq", CALIBRATED)]
)
def test_int4_is_calibrated_on_answers_of_the_model(exports: Exports, name: str, calibration: tuple[str, ...]) -> None:
    assert read(exports, name).precision.calibration == calibration
    assert exports.outcomes[name].err.count("Having the model write") == 1


@pytest.mark.parametrize("name", ["int4", "awq"])
def test_int4_is_mixed_where_its_quality_is_too_low(exports: Exports, name: str) -> None:
    ratio = read(exports, name).precision.ratio
    assert ratio in RATIOS[1:]
    assert exports.outcomes[name].err.count("Compressing the weights to int4") == RATIOS.index(ratio) + 1


def test_int4_is_compressed_once(exports: Exports) -> None:
    precision = read(exports, "gptq").precision
    assert (precision.ratio, precision.group_size) == (0.9, 32)
    assert exports.outcomes["gptq"].err.count("Compressing the weights to int4") == 1


@pytest.mark.parametrize("name", SINGLE)
def test_model_below_the_quality_floor_has_a_remedy(exports: Exports, name: str) -> None:
    found = read(exports, name)
    assert found.quality is not None
    remedy = "so its answers may be worse; export it again with --weights int8."
    assert (remedy in exports.outcomes[name].err) == (found.quality.top1_agreement < FLOOR)


@pytest.mark.parametrize("name", SINGLE)
def test_quality_is_measured(exports: Exports, name: str) -> None:
    quality = read(exports, name).quality
    assert quality is not None
    assert quality.tokens == 767
    assert AGREEMENT[name] <= quality.top1_agreement <= 1.0
    assert 0 <= quality.mean_kl < 0.5
    assert quality.against == ("gguf" if name == "gguf" else "weights")
    assert (quality.weights_kl is None) == (name == "gguf")  # weights in blocks are those of the file
    assert 0 <= (quality.weights_kl or 0) < 0.5
    assert quality.perplexity_ratio == pytest.approx(1.0, abs=0.15)


def test_manifest_states_the_facts(exports: Exports, tiny_source: Path) -> None:
    found = read(exports, "int8")
    assert found.name == tiny_source.name
    assert found.source == manifest.Source("folder", tiny_source.name)
    assert found.architecture == "Qwen2ForCausalLM"
    assert found.tokenizer.vocabulary == 600
    assert found.tokenizer.fingerprint == vocabulary.fingerprint(tiny_source)
    assert found.logit_rows == 640
    assert found.context_length == 1024
    assert found.kv_bytes_per_token == 2 * 2 * 2 * 16 * 2  # keys and values, layers, kv heads, head size, bytes
    assert found.parameters > 640 * 64 * 2
    assert found.ram_bytes > 0
    assert found.versions["openvino"]


def test_peers_get_stop_ids_and_sampling(exports: Exports) -> None:
    assert read(exports, "int8").tokenizer.stop_ids == (2, 0)  # the chat's marker first, then the end of the text
    generation = json.loads((exports.folder / "int8" / "generation_config.json").read_text(encoding="utf-8"))
    assert generation["eos_token_id"] == [2, 0]
    assert generation_config.read(exports.folder / "silent") == Sampling(0.6, 0.95, 20)
    assert generation_config.read(exports.folder / "gguf") == generation_config.USUAL


def test_gguf_file_gives_the_same_model(exports: Exports, tiny_gguf_file: Path) -> None:
    folder, gguf = read(exports, "int8"), read(exports, "gguf")
    assert gguf.source == manifest.Source("gguf", tiny_gguf_file.name, sha256=manifest.hash_file(tiny_gguf_file))
    assert gguf.licence == "apache-2.0"
    assert gguf.tokenizer == folder.tokenizer
    same = ("architecture", "parameters", "logit_rows", "context_length", "kv_bytes_per_token")
    assert [getattr(gguf, name) for name in same] == [getattr(folder, name) for name in same]
    assert gguf.precision.keeps_blocks


def test_adapter_is_merged_into_the_weights(exports: Exports) -> None:
    assert exports.outcomes["adapter"].code == 0, exports.outcomes["adapter"].err
    adapted, merged, plain = (read(exports, name) for name in ("adapter", "merged", "int8"))
    weights = "openvino_model.bin"
    assert adapted.files[weights] == merged.files[weights] != plain.files[weights]
    assert adapted.name == "target-hf-adapter"
    assert adapted.adapter is not None
    assert (adapted.adapter.id, plain.adapter) == ("adapter", None)
    assert "adapter adapter" in exports.outcomes["adapter"].err  # its weights are what it is compared with


def test_adapter_of_another_model_is_refused(exports: Exports) -> None:
    assert exports.outcomes["misfit"].code == 1
    last = exports.outcomes["misfit"].err.splitlines()[-1]
    assert all(name in last for name in ("misfit", "target-hf", "model.layers.1."))
    assert not (exports.folder / "misfit").exists()


def test_gguf_file_with_sentencepiece_and_own_template_is_exported(exports: Exports) -> None:
    assert exports.outcomes["pieces"].code == 0, exports.outcomes["pieces"].err
    found = read(exports, "pieces")
    assert (found.name, found.licence, found.architecture) == ("pieces", "mit", "LlamaForCausalLM")
    assert found.tokenizer.vocabulary == 32011  # without padding rows
    assert found.tokenizer.stop_ids[:2] == (32007, 32000)  # the template's marker first
    assert found.notes == ("Its chat template was given with --template.",)
    assert found.table is not None
    assert len(found.table.acceptance) == 3
    assert found.table.places > 500


def test_base_model_continues_texts_and_refuses_chats(exports: Exports) -> None:
    assert exports.outcomes["silent"].code == 0, exports.outcomes["silent"].err
    said = exports.outcomes["silent"].err
    assert "--template FILE" in said
    assert read(exports, "silent").table is None
    tokenizer = Tokenizer(exports.folder / "silent")
    with pytest.raises(ChatTemplateError, match="silent has no chat template, so it cannot hold a conversation"):
        tokenizer.prompt([Message("user", "hi")])
    answer: Any = openvino_genai().LLMPipeline(str(exports.folder / "silent"), "CPU").generate("Once", max_new_tokens=4)
    assert isinstance(answer, str)


@pytest.mark.parametrize("name", ["gguf", "pieces", "pair", "adapter"])
def test_proofs_of_an_export_can_be_repeated(exports: Exports, name: str) -> None:
    outcome = exports.outcomes[f"verify {name}"]
    assert outcome.code == 0, outcome.err
    folders = ("pair/target", "pair/draft") if name == "pair" else (name,)
    for found, folder in zip(outcome.result["verified"], folders, strict=True):
        recorded = read(exports, folder)
        assert (found["name"], found["texts"]) == (recorded.name, recorded.tokenizer.proof)
        assert recorded.quality is not None
        assert found["quality"]["mean_kl"] == pytest.approx(recorded.quality.mean_kl, rel=0.01)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("int8", "target-hf is not what its source is: they differ by"),
        (
            "int8-sym",
            "target-hf-int8-sym is not what its source is: it chooses among 640 tokens, and its source among 624.",
        ),
        ("merged", "merged is not what its source is: they differ by"),
        ("fp16", "target-hf-fp16 was exported with no adapter, or another one; name the same with --adapter."),
        (
            "twice",
            "draft-hf+draft-hf and the source are not both a pair; name the recipe of the pair, or its two sources",
        ),
    ],
)
def test_other_source_is_recognized(exports: Exports, name: str, sentence: str) -> None:
    outcome = exports.outcomes[f"verify {name}"]
    assert outcome.code == 1
    assert sentence in outcome.err
    assert json.loads(outcome.out)["error"]["template"]


@pytest.mark.parametrize("name", [name for name in SINGLE if name != "gguf"])
def test_peer_loads_the_export(exports: Exports, name: str) -> None:
    pipeline = openvino_genai().LLMPipeline(str(exports.folder / name), "CPU")
    answer: Any = pipeline.generate("Hello", max_new_tokens=4)
    assert isinstance(answer, str)


def test_pair_has_two_models_and_a_draft_vocab(exports: Exports) -> None:
    assert exports.outcomes["pair"].code == 0, exports.outcomes["pair"].err
    pair = manifest.read(exports.folder / "pair")
    assert isinstance(pair, manifest.PairManifest)
    assert (pair.name, pair.shared_ids) == ("target-hf+draft-hf", 600)
    target, draft = read(exports, "pair/target"), read(exports, "pair/draft")
    assert (target.role, target.precision.weights, target.logit_rows) == ("target", "int8", 640)
    assert (draft.role, draft.precision.weights, draft.logit_rows) == (
        "draft",
        "int4-sym",
        624,
    )  # for peers a whole head
    assert (draft.precision.mode, draft.precision.all_layers) == ("int4_sym", False)
    assert target.tokenizer.fingerprint == draft.tokenizer.fingerprint
    assert {path.name for path in (exports.folder / "pair").iterdir()} == {"target", "draft", "manifest.json"}
    assert exports.outcomes["pair"].err.count("Having the model write") == 1  # for the draft's list
    assert (target.table, draft.table) == (None, None)
    assert (target.shortlist, draft.shortlist) == (None, manifest.Shortlist("draft_vocab.npy", 300))
    assert set(draft.files) == LAYOUT | {"draft_vocab.npy"}
    assert manifest.damaged_files(exports.folder / "pair" / "draft", draft, hashes=True) == []
    ranked = np.load(exports.folder / "pair" / "draft" / "draft_vocab.npy").tolist()
    assert sorted(ranked) == list(range(600))  # padding rows are no tokens
    assert {0, 1, 2} < set(ranked[:300])  # the chat's markers


def test_pair_that_cannot_pay_is_reported(exports: Exports) -> None:
    warned = {name for name, outcome in exports.outcomes.items() if "guessing with it cannot save time" in outcome.err}
    assert warned == {"twice"}


def test_pair_without_a_draft_vocab_need_not_write(exports: Exports) -> None:
    assert "Having the model write" not in exports.outcomes["twice"].err
    assert read(exports, "twice/target").table is None


def test_mismatched_models_make_no_pair(exports: Exports, tiny_models: Path) -> None:
    outcome = exports.outcomes["mismatch"]
    first = vocabulary.first_difference(*(vocabulary.read(tiny_models / f"{name}-hf") for name in ("target", "other")))
    assert first is not None
    assert outcome.code == 1
    assert json.loads(outcome.out)["error"]["values"]["id"] == first.id  # it was asked for JSON
    assert all(part in outcome.err.splitlines()[-1] for part in ("other-hf", "target-hf", repr(first.first)))
    assert not (exports.folder / "mismatch").exists()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("incomplete", "does not hold all weights of its architecture: model.layers.1.mlp.up_proj.weight is missing"),
    ],
)
def test_incomplete_model_is_refused(exports: Exports, name: str, sentence: str) -> None:
    assert exports.outcomes[name].code == 1
    assert sentence in exports.outcomes[name].err


def test_changed_content_of_a_commit_is_refused(exports: Exports) -> None:
    outcome = exports.outcomes["altered"]
    assert outcome.code == 1
    assert "not pinned" not in outcome.err
    assert all(part in outcome.err for part in ("config.json", "org/tiny", COMMIT))
    assert read(exports, "altered").architecture == "TestForCausalLM"


def test_export_leaves_only_its_results(exports: Exports) -> None:
    names = {*SINGLE, "gptq", "merged", "adapter", "pair", "twice", "altered", "pieces", "silent"}
    assert {path.name for path in exports.folder.iterdir()} == names
