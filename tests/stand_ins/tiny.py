"""Builds tiny language models with random weights, complete with tokenizer and manifest.

`python -m tests.stand_ins.tiny FOLDER` builds them all; run it in a process of its own, because it loads torch.
"""

import dataclasses
import importlib.metadata
import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headstart.library import manifest, vocabulary
from headstart_export import process
from tests.export.gguf import tiny_decoders

SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")  # ids 0, 1, 2
CONTEXT_LENGTH = 1024
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LICENCE_TEXT = Path(__file__).resolve().parents[2] / "LICENSE"


@dataclasses.dataclass(frozen=True)
class Plan:
    """The plan of a tiny model. `noise`: the share of random difference from its seed's weights."""

    name: str
    role: str
    architecture: str  # a configuration class of transformers without its "Config"
    vocabulary: int
    logit_rows: int  # the head is padded beyond the vocabulary, as in real models
    seed: int
    noise: float = 0.0
    visible: tuple[str, ...] = ()  # added tokens that decoded text shows
    hidden: tuple[str, ...] = ()  # added tokens that it does not show
    hidden_size: int = 64
    head_size: int = 16
    weights: str = "fp16"
    kind: str = ""  # of `tests.export.gguf.tiny_decoders`: it is exported by way of a GGUF file
    options: dict[str, Any] = dataclasses.field(default_factory=dict)  # further ones of the architecture


def _with_draft(plan: Plan) -> tuple[Plan, Plan]:
    """Return a plan, and one for a draft of the same kind that often guesses right, and often does not."""
    return plan, dataclasses.replace(plan, name=f"{plan.name}-draft", noise=0.05)


# The draft has the target's weights, disturbed, and another padding: it often guesses right, and often does not.
PLANS = (
    Plan("target", "target", "Qwen2", 600, 640, seed=1),
    Plan("draft", "draft", "Qwen2", 600, 624, seed=1, noise=0.05),
    Plan("other", "any", "Llama", 500, 500, seed=3),
    # It has the tokens around thinking and calls of Qwen3, Gemma 4 and gpt-oss, and no chat template.
    Plan(
        "thinking",
        "target",
        "Qwen2",
        600,
        640,
        seed=1,
        visible=("<think>", "</think>", "<tool_call>", "</tool_call>"),
        hidden=("<|channel>", "<channel|>", "<|channel|>", "<|message|>", "<|start|>", "<|end|>"),
    ),
    # Their sizes are those that our own kernels take.
    Plan("quantized", "any", "Qwen2", 600, 640, seed=1, hidden_size=256, head_size=64, weights="int8"),
    Plan("normed", "any", "Qwen3", 600, 640, seed=1, hidden_size=256, head_size=128, weights="int8"),
    *_with_draft(
        Plan(
            "windowed",
            "any",
            "Gemma3Text",
            600,
            640,
            seed=1,
            hidden_size=256,
            head_size=64,
            weights="int8",
            kind="gemma3",
            options={
                "sliding_window": 24,
                "layer_types": ["sliding_attention", "full_attention"],
                "query_pre_attn_scalar": 64,
            },
        )
    ),
    *_with_draft(
        Plan(
            "convolutional",
            "any",
            "Lfm2",
            600,
            640,
            seed=1,
            hidden_size=256,
            head_size=64,
            weights="gguf",
            kind="lfm2",
            options=tiny_decoders.KINDS["lfm2"][1] | {"num_hidden_layers": 4, "tie_word_embeddings": False},
        )
    ),
    *_with_draft(
        Plan(
            "recurrent",
            "any",
            "Qwen3_5Text",
            600,
            640,
            seed=1,
            hidden_size=256,
            head_size=128,
            weights="gguf",
            kind="qwen35",
            options=tiny_decoders.KINDS["qwen35"][1] | {"num_hidden_layers": 4},
        )
    ),
    *_with_draft(
        Plan(
            "experts",
            "any",
            "Qwen3Moe",
            600,
            640,
            seed=1,
            hidden_size=256,
            head_size=64,
            weights="gguf",
            kind="qwen3moe",
            options=tiny_decoders.KINDS["qwen3moe"][1],
        )
    ),
)


def build(folder: Path) -> None:
    """Write `<name>-hf` (safetensors) and `<name>` (OpenVINO IR, a full model folder) for every plan."""
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
    process.prepare()
    for plan in PLANS:
        source, model = folder / f"{plan.name}-hf", folder / plan.name
        tokenizer = make_tokenizer(plan.vocabulary, plan.visible, plan.hidden)
        tokenizer.save_pretrained(source)
        parameters = _save_weights(plan, source)
        if plan.kind:
            _export_by_gguf(plan, source, model)
        else:
            _export(source, model, plan.weights)
        _export_tokenizer(model, tokenizer)
        manifest.write(model, _describe(plan, model, parameters))


def make_tokenizer(size: int, visible: Sequence[str] = (), hidden: Sequence[str] = ()) -> Any:
    """A byte-level BPE tokenizer of `size` entries with ChatML's markers, trained on a few kB of text.

    With `visible` or `hidden`, added tokens, it has no chat template.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: PLC0415
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(visible) - len(hidden),
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_training_text(), trainer)
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in visible])
    tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text in hidden])
    assert tokenizer.get_vocab_size() == size
    end, _, stop = SPECIAL_TOKENS
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=stop,
        pad_token=end,
        additional_special_tokens=[*SPECIAL_TOKENS, *hidden],
        chat_template=None if visible or hidden else CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
    )


def _training_text() -> Iterable[str]:
    yield from LICENCE_TEXT.read_text(encoding="utf-8").splitlines(keepends=True)
    yield "def add(a: int, b: int) -> int:\n    return a + b\n\nsystem\nuser\nassistant\n"
    yield "Größe, naïveté, Привет, 你好世界, こんにちは, 🙂🚀 1234567890"


def _save_weights(plan: Plan, folder: Path) -> int:
    """Save random weights in f16 as safetensors; return the number of parameters."""
    import torch  # noqa: PLC0415
    import transformers  # noqa: PLC0415

    torch.manual_seed(plan.seed)
    model = transformers.AutoModelForCausalLM.from_config(_configuration(transformers, plan))
    generator = torch.Generator().manual_seed(plan.seed)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.ndim > 1:
                weights.copy_(_random_matrix(torch, name, weights.shape, generator))
            elif "norm" in name and plan.weights != "fp16":  # all ones would be left out of the graph
                weights.add_(torch.rand(weights.shape, generator=generator) - 0.5)
            elif "A_log" in name:  # slow decays: a state that is nearly 0 would be made noise by its norm
                weights.uniform_(-4.0, -1.0, generator=generator)
        _disturb(torch, model, plan)
        # Padding rows of a real head never win; neither do the stop ids here, so that answers have a length.
        model.lm_head.weight[plan.vocabulary :] = 0
        model.lm_head.weight[: len(SPECIAL_TOKENS)] = 0
    model.half().save_pretrained(folder)
    return sum(weights.numel() for weights in model.parameters())


def _random_matrix(torch: Any, name: str, shape: Any, generator: Any) -> Any:
    """Return rows of unit size for a unit-variance result; a head is scaled for a clear best token.

    Rows are drawn at a fixed height, so that models which differ in padding only share their other rows.
    """
    scale = 0.8 if "lm_head" in name else 1.0 if "embed" in name else shape[-1] ** -0.5
    height = max(shape[0], 1024) if "lm_head" in name or "embed" in name else shape[0]
    return scale * torch.randn((height, *shape[1:]), generator=generator)[: shape[0]]


def _disturb(torch: Any, model: Any, plan: Plan) -> None:
    generator = torch.Generator().manual_seed(plan.seed + 1000)
    for weights in model.parameters():
        noise = torch.randn(weights.shape, generator=generator)
        weights.add_(plan.noise * weights.std() * noise if weights.ndim > 1 else 0)


def _configuration(transformers: Any, plan: Plan) -> Any:
    usual = {
        "vocab_size": plan.logit_rows,
        "hidden_size": plan.hidden_size,
        "intermediate_size": 2 * plan.hidden_size,
        "num_hidden_layers": 2,
        "num_attention_heads": plan.hidden_size // plan.head_size,
        "num_key_value_heads": 2,
        "head_dim": plan.head_size,
        "max_position_embeddings": CONTEXT_LENGTH,
        "tie_word_embeddings": False,
        "bos_token_id": 0,
        "eos_token_id": [2, 0],
        "pad_token_id": 0,
    }
    return getattr(transformers, f"{plan.architecture}Config")(**usual | plan.options)


def _export_by_gguf(plan: Plan, source: Path, model: Path) -> None:
    """Export by way of a GGUF file, for what optimum does not export with the transformers that others need."""
    import transformers  # noqa: PLC0415

    from headstart_export.gguf import converter  # noqa: PLC0415

    loaded, file = transformers.AutoModelForCausalLM.from_pretrained(source), source / "model.gguf"
    is_in_blocks = plan.weights == "gguf"
    tiny_decoders.write(file, plan.kind, loaded.config, loaded.float().state_dict(), is_in_blocks=is_in_blocks)
    converter.convert(file, model, plan.weights)


def _export(source: Path, model: Path, weights: str) -> None:
    from optimum.intel import OVModelForCausalLM  # noqa: PLC0415

    exported = OVModelForCausalLM.from_pretrained(
        source, export=True, compile=False, load_in_8bit=weights == "int8", local_files_only=True
    )
    exported.save_pretrained(model)


def _export_tokenizer(model: Path, tokenizer: Any) -> None:
    import openvino  # noqa: PLC0415
    from openvino_tokenizers import convert_tokenizer  # noqa: PLC0415

    tokenizer.save_pretrained(model)
    encoder, decoder = convert_tokenizer(tokenizer, with_detokenizer=True)
    openvino.save_model(encoder, model / "openvino_tokenizer.xml")
    openvino.save_model(decoder, model / "openvino_detokenizer.xml")


def _describe(plan: Plan, folder: Path, parameters: int) -> manifest.Manifest:
    files = manifest.hash_files(folder)
    size = sum(file.size for file in files.values())
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return manifest.Manifest(
        name=f"tiny-{plan.name}",
        role=plan.role,
        source=manifest.Source("folder", f"{plan.name}-hf"),
        licence="Apache-2.0",
        architecture=config["architectures"][0],
        parameters=parameters,
        precision=manifest.Precision(plan.weights, manifest.BLOCKS if plan.weights == "gguf" else None),
        tokenizer=manifest.TokenizerSpec(
            fingerprint=vocabulary.fingerprint(folder), vocabulary=len(vocabulary.read(folder)), stop_ids=(2, 0)
        ),
        logit_rows=plan.logit_rows,
        context_length=CONTEXT_LENGTH,
        size_bytes=size,
        ram_bytes=size,
        kv_bytes_per_token=2 * 2 * 2 * plan.head_size * 2,  # keys and values, layers, kv heads, head size, bytes
        quality=None,
        files=files,
        versions={name: importlib.metadata.version(name) for name in ("openvino", "optimum-intel", "transformers")},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


if __name__ == "__main__":
    build(Path(sys.argv[1]))
