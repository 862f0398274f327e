"""The head itself, as EAGLE-3 has it: one layer that reads a token and hidden states of the target.

The arithmetic and the names of the weights are those of `LlamaForCausalLMEagle3` on the hub. What is learned differs in
one thing: the target's states are divided by the usual size of each of their channels, as a few are a hundred times as
large as the others; in what is written the divisors are part of `fc`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from headstart.errors import ExportError
from headstart_export.convert import HEAD_READS, MODEL_FILE, SCALES
from headstart_export.features import Text

ARCHITECTURE = "LlamaForCausalLMEagle3"
_BLOCK = 4096  # rows of a table that are unpacked at once
_SMALL = 0.02  # spread of weights that start from nothing
_QUICK = 8  # numbers of a key that turn quickest with its place
_SHARPNESS = 7.0  # of what looks at its own place: the one before it gets a hundredth
_QUIETER = 0.5  # than in the target: chains of guesses, in which the layer reads what it made, learn twice as fast
_LOUDER = 2.0  # than the states: what a token says is learned sooner
_KEPT = ("vocab_size", "hidden_size", "max_position_embeddings", "rms_norm_eps", "rope_parameters", "rope_theta",
         "rope_scaling", "bos_token_id", "eos_token_id", "pad_token_id", "hidden_act")  # fmt: skip


@dataclass(frozen=True)
class Measures:
    """Of a head. `config`: that of its target."""

    config: Mapping[str, Any]
    inner: int  # neurons
    rows: int  # tokens that it guesses among

    @property
    def hidden(self) -> int:
        """Numbers of a hidden state."""
        return int(self.config["hidden_size"])

    @property
    def heads(self) -> int:
        """Attention heads, each with keys and values of its own: those of the target, and `see_token` more."""
        return int(self.config["num_attention_heads"]) + self.see_token

    @property
    def see_token(self) -> int:
        """Heads that begin by handing on the embedding of the token that is read, which takes a whole hidden state.

        In a layer like this attention is the only way to it; copied heads look elsewhere.
        """
        return self.hidden // self.size

    @property
    def size(self) -> int:
        """Numbers of a key."""
        return int(self.config.get("head_dim") or self.hidden // int(self.config["num_attention_heads"]))


class Head(nn.Module):  # type: ignore[misc]
    """A head that learns. Buffers are frozen: `rows` of the target's output head, its `embeddings`, and the scales."""

    rows: Tensor
    embeddings: Tensor
    chosen: Tensor  # the token of each row
    reading: Tensor  # usual size of each channel of the target's states
    writing: Tensor  # and of those that are made of them
    cosines: Tensor
    sines: Tensor

    def __init__(self, measures: Measures) -> None:
        """With weights that mean nothing yet."""
        super().__init__()
        linear, hidden = partial(nn.Linear, bias=False), measures.hidden
        norm = partial(nn.RMSNorm, hidden, eps=float(measures.config.get("rms_norm_eps", 1e-6)))
        width = measures.heads * measures.size
        attention = {name: linear(2 * hidden, width) for name in ("q_proj", "k_proj", "v_proj")}
        inner = {name: linear(hidden, measures.inner) for name in ("gate_proj", "up_proj")}
        self.measures = measures
        self.fc = linear(HEAD_READS * hidden, hidden)
        self.midlayer = nn.ModuleDict(
            {
                "self_attn": nn.ModuleDict({**attention, "o_proj": linear(width, hidden)}),
                "mlp": nn.ModuleDict({**inner, "down_proj": linear(measures.inner, hidden)}),
                "hidden_norm": norm(),
                "input_layernorm": norm(),
                "post_attention_layernorm": norm(),
            }
        )
        self.norm = norm()
        cosines, sines = _rotations(measures)
        for name, buffer in {
            "rows": torch.zeros(measures.rows, hidden, dtype=torch.bfloat16),
            "embeddings": torch.zeros(int(measures.config["vocab_size"]), hidden, dtype=torch.bfloat16),
            "chosen": torch.arange(measures.rows),
            "reading": torch.ones(HEAD_READS * hidden),
            "writing": torch.ones(()),
            "cosines": cosines,
            "sines": sines,
        }.items():
            self.register_buffer(name, buffer, persistent=False)

    def combined(self, states: Tensor) -> Tensor:
        """The hidden state that the layer reads for a token of which the target has computed its own: [n, hidden]."""
        return self.fc(states.float() / self.reading).float() * self.writing

    def unroll(self, texts: Sequence[Text], steps: int) -> Iterator[tuple[Tensor, list[Tensor]]]:
        """Guess at each place of texts, `steps` tokens ahead, as in a chain of guesses that hold.

        Of each step: what the rows score, [places of all texts, hidden], and for each text the places in it of the
        token behind which each guess stands. The first steps of a chain know the states of the target up to its start.
        """
        attention, mlp = self.midlayer["self_attn"], self.midlayer["mlp"]
        spans = [_Span(text, steps) for text in texts]
        states = torch.from_numpy(np.concatenate([span.text.states[: span.read] for span in spans]))
        read = self.combined(states[:, : HEAD_READS * self.measures.hidden])
        ids = [torch.tensor(span.text.ids) for span in spans]
        inputs = self.inputs(torch.cat([each[1 : span.read + 1] for each, span in zip(ids, spans, strict=True)]), read)
        places = [torch.arange(span.read) for span in spans]
        keys = self._turned(attention["k_proj"](inputs), torch.cat(places)).split([span.read for span in spans])
        values = self._by_head(attention["v_proj"](inputs)).split([span.read for span in spans])
        starts = _joined([torch.arange(span.first, span.read) for span in spans], [span.read for span in spans])
        hidden, inputs = read[starts], inputs[starts]
        own: list[list[tuple[Tensor, Tensor]]] = [[] for _ in spans]
        counts = [span.read - span.first for span in spans]
        for step in range(steps):
            here = [torch.arange(span.first, span.read) + step for span in spans]
            if step:
                following = torch.cat([each[place + 1] for each, place in zip(ids, here, strict=True)])
                inputs = self.inputs(following, hidden)
                further = (
                    self._turned(attention["k_proj"](inputs), torch.cat(here)).split(counts),
                    self._by_head(attention["v_proj"](inputs)).split(counts),
                )
                for index, each in enumerate(own):
                    each.append((further[0][index], further[1][index]))
            queries = self._turned(attention["q_proj"](inputs), torch.cat(here)).split(counts)
            attended = [
                _attend(queries[index], keys[index], values[index], own[index], span.first)
                for index, span in enumerate(spans)
            ]
            hidden = hidden + attention["o_proj"](torch.cat(attended)).float()
            inner = self.midlayer["post_attention_layernorm"](hidden)
            gated = functional.silu(mlp["gate_proj"](inner)) * mlp["up_proj"](inner)
            hidden = hidden + mlp["down_proj"](gated).float()
            yield self.norm(hidden), [place + 1 for place in here]

    def inputs(self, tokens: Tensor, hidden: Tensor) -> Tensor:
        """What queries, keys and values are made of: [n, 2 * hidden]."""
        embedded = self.midlayer["input_layernorm"](self.embeddings[tokens].float())
        return torch.cat([embedded, self.midlayer["hidden_norm"](hidden)], dim=-1)

    def _by_head(self, projected: Tensor) -> Tensor:
        """[places, heads, size]."""
        return projected.view(len(projected), self.measures.heads, self.measures.size)

    def _turned(self, projected: Tensor, places: Tensor) -> Tensor:
        """Queries or keys with their places in them, as Llama does it: [places, heads, size]."""
        each = self._by_head(projected).float()
        first, second = each.chunk(2, dim=-1)
        turned = torch.cat([-second, first], dim=-1)
        return each * self.cosines[places][:, None] + turned * self.sines[places][:, None]


class _Span:
    """Of a text: how many places are read from the target's states, and the `first` at which a chain starts."""

    def __init__(self, text: Text, steps: int) -> None:
        self.text, self.first, self.read = text, text.given - 1, len(text.ids) - steps


def long_enough(text: Text, steps: int) -> bool:
    """Whether a text has at least one place for a chain of `steps` guesses."""
    return len(text.ids) - steps >= text.given


def _joined(places: Sequence[Tensor], lengths: Sequence[int]) -> Tensor:
    """Places of each text as places of all texts one behind the other."""
    offsets = np.cumsum([0, *lengths[:-1]])
    return torch.cat([place + int(offset) for place, offset in zip(places, offsets, strict=True)])


def _attend(queries: Tensor, keys: Tensor, values: Tensor, own: Sequence[tuple[Tensor, Tensor]], first: int) -> Tensor:
    """Each start sees the places up to its own, and what its chain has added: [starts, heads * size]."""
    count, heads, size = queries.shape
    queries = queries.transpose(0, 1) / size**0.5  # [heads, starts, size]
    keys, values = keys.transpose(0, 1), values.transpose(0, 1)
    unseen = torch.arange(keys.shape[1])[None] > torch.arange(first, first + count)[:, None]
    scores = [(queries @ keys.transpose(1, 2)).float().masked_fill(unseen, float("-inf"))]
    scores += [(queries * key.transpose(0, 1)).sum(-1, keepdim=True).float() for key, _ in own]
    shares = torch.cat(scores, dim=-1).softmax(dim=-1)
    result = shares[..., : keys.shape[1]] @ values.to(shares.dtype)
    for index, (_, value) in enumerate(own):
        at = keys.shape[1] + index
        result = result + shares[..., at : at + 1] * value.transpose(0, 1)
    return result.transpose(0, 1).reshape(count, heads * size)


def _rotations(measures: Measures) -> tuple[Tensor, Tensor]:
    """Cosines and sines for all places that texts can have, as the target's own kind has them."""
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding  # noqa: PLC0415

    places = torch.arange(_LONGEST)[None]
    cosines, sines = LlamaRotaryEmbedding(llama_config(measures))(torch.zeros(1), places)
    return cosines[0], sines[0]


_LONGEST = 2048  # tokens of a text


def llama_config(measures: Measures) -> Any:
    """The head's configuration, with names of its own kind."""
    from transformers import LlamaConfig  # noqa: PLC0415

    return LlamaConfig(
        **{name: measures.config[name] for name in _KEPT if measures.config.get(name) is not None},
        architectures=[ARCHITECTURE],
        draft_vocab_size=measures.rows,
        intermediate_size=measures.inner,
        num_hidden_layers=1,
        num_attention_heads=measures.heads,
        num_key_value_heads=measures.heads,
        head_dim=measures.size,
        tie_word_embeddings=False,
        dtype="float16",
    )


class TargetWeights:
    """Weights of an exported model, unpacked from its graph, by the names that they have on the hub."""

    def __init__(self, folder: Path) -> None:
        """Raises ExportError where the model has no layers like Llama's."""
        import openvino  # noqa: PLC0415

        self._openvino = openvino
        self._core = openvino.Core()
        self._model = self._core.read_model(folder / MODEL_FILE)
        self._sources: dict[str, Any] = {}
        for node in self._model.get_ordered_ops():
            found, kind = _NAMED.search(node.get_friendly_name()), node.get_type_name()
            if found and kind in _WEIGHT_AT:
                source = node.input_value(_WEIGHT_AT[kind])
                if not source.get_partial_shape().is_dynamic:
                    self._sources[found["name"]] = source

    def has(self, name: str) -> bool:
        """Whether there is such a weight."""
        return name in self._sources

    def get(self, name: str) -> Tensor:
        """A whole one, as f32."""
        operations = self._openvino.opset13
        model = self._openvino.Model([operations.result(operations.convert(self._source(name), "f32"))], [])
        found = self._core.compile_model(model, "CPU", _EXACT)({})[0]
        return torch.from_numpy(found.copy()).squeeze()

    def rows_of(self, name: str, ids: NDArray[np.int64]) -> Tensor:
        """Chosen rows of a table in 16 bits, unpacked block by block."""
        operations = self._openvino.opset13
        chosen = operations.parameter([-1], np.int64, name="ids")
        rows = operations.gather(self._source(name), chosen, operations.constant(np.array(0, np.int64)))
        model = self._openvino.Model([operations.result(rows)], [chosen])
        session = self._core.compile_model(model, "CPU", _EXACT).create_infer_request()
        found = []
        for start in range(0, len(ids), _BLOCK):
            session.infer([ids[start : start + _BLOCK]])
            found.append(torch.from_numpy(session.get_output_tensor(0).data.copy()).to(torch.bfloat16))
        return torch.cat(found)

    def _source(self, name: str) -> Any:
        if name not in self._sources:
            raise ExportError("Models of this kind can have no head: {name} was not found in it.", name=name)
        return self._sources[name]


_EXACT = {"INFERENCE_PRECISION_HINT": "f32"}
_NAMED = re.compile(r"^__module\.(?:model\.)?(?P<name>(?:layers\.\d+\.\w+(?:\.\w+)?|embed_tokens|norm|lm_head))/")
_WEIGHT_AT = {"MatMul": 1, "Gather": 0, "Multiply": 0}  # the input that is a weight


def begin(head: Head, weights: TargetWeights, chosen: NDArray[np.int64], texts: Sequence[Text]) -> None:
    """Let a head be what the target's last layer makes of the highest of the states that it reads.

    `chosen`: the tokens that it guesses among. `texts`: some whose states tell how large each channel usually is.
    """
    measures = head.measures
    hidden, last = measures.hidden, f"layers.{int(measures.config['num_hidden_layers']) - 1}."
    vocabulary = int(measures.config["vocab_size"])
    table = "lm_head" if weights.has("lm_head") else "embed_tokens"
    attention, mlp = head.midlayer["self_attn"], head.midlayer["mlp"]
    with torch.no_grad():
        head.chosen.copy_(torch.from_numpy(chosen))
        head.rows.copy_(weights.rows_of(table, chosen))
        head.embeddings.copy_(weights.rows_of("embed_tokens", np.arange(vocabulary)))
        sizes = torch.from_numpy(np.concatenate([text.states[text.given :] for text in texts])).float()
        usual = sizes[:, : HEAD_READS * hidden].pow(2).mean(dim=0).sqrt() + 1e-3
        head.reading.copy_(usual)
        top = usual[-hidden:]
        head.writing.copy_(top.log().mean().exp())
        head.fc.weight.zero_()
        head.fc.weight[:, -hidden:] = torch.diag(top / head.writing)
        groups = int(measures.config["num_attention_heads"]) // int(measures.config["num_key_value_heads"])
        copies = (measures.heads - measures.see_token) * measures.size
        for name, repeated in (("q_proj", 1), ("k_proj", groups), ("v_proj", groups)):
            copied = weights.get(f"{last}self_attn.{name}").view(-1, measures.size, hidden)
            attention[name].weight.zero_()
            attention[name].weight[:copies, :hidden].normal_(0, _SMALL)
            attention[name].weight[:copies, hidden:] = copied.repeat_interleave(repeated, dim=0).reshape(-1, hidden)
        attention["o_proj"].weight.zero_()
        attention["o_proj"].weight[:, :copies] = _QUIETER * weights.get(f"{last}self_attn.o_proj")
        gate, up, down = (weights.get(f"{last}mlp.{name}") for name in ("gate_proj", "up_proj", "down_proj"))
        strongest = (gate.norm(dim=1) * up.norm(dim=1) * down.norm(dim=0)).topk(measures.inner).indices
        mlp["gate_proj"].weight.copy_(gate[strongest])
        mlp["up_proj"].weight.copy_(up[strongest])
        mlp["down_proj"].weight.copy_(_QUIETER * down[:, strongest])
        for norm, name in (
            (head.midlayer["hidden_norm"], f"{last}input_layernorm"),
            (head.midlayer["post_attention_layernorm"], f"{last}post_attention_layernorm"),
            (head.norm, "norm"),
        ):
            if weights.has(name):  # a graph does not multiply by ones
                norm.weight.copy_(weights.get(name))
        _look_at_the_token(head, texts, copies)


def _look_at_the_token(head: Head, texts: Sequence[Text], first: int) -> None:
    """Let the heads from row `first` on attend to the place that asks, and hand on its token's embedding.

    Queries and keys that are always the same are most alike at the same place, by what places do to them. There being
    no biases, they are the mixture of a layer's inputs that comes nearest to a constant.
    """
    attention, hidden, size = head.midlayer["self_attn"], head.measures.hidden, head.measures.size
    tokens = torch.cat([torch.tensor(text.ids[text.given :]) for text in texts])
    states = torch.from_numpy(np.concatenate([text.states[text.given - 1 : -1] for text in texts]))
    inputs = head.inputs(tokens, head.combined(states[:, : HEAD_READS * hidden]))
    square = inputs.T @ inputs + torch.eye(2 * hidden) * len(inputs) * 1e-3
    constant = torch.linalg.solve(square, inputs.sum(dim=0))
    for number in range(head.measures.see_token):
        rows = first + number * size + torch.arange(_QUICK)
        for name in ("q_proj", "k_proj"):
            attention[name].weight[rows] = _SHARPNESS * constant
    attention["v_proj"].weight[first:, :hidden] = _LOUDER * head.writing * torch.eye(hidden)


def save(head: Head, folder: Path, *, whole: bool) -> None:
    """Write a head as those on the hub are. `whole`: with the embeddings and output rows, which are its target's.

    Otherwise its matrices are in 8 bits.
    """
    from safetensors.torch import save_file  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    known = torch.zeros(len(head.embeddings), dtype=torch.bool)
    known[head.chosen] = True
    weights = {name: weight.detach() for name, weight in head.named_parameters()}
    weights["fc.weight"] = head.fc.weight.detach() * head.writing / head.reading
    if whole:
        weights |= {"lm_head.weight": head.rows, "embed_tokens.weight": head.embeddings}
    tensors = {"d2t": head.chosen - torch.arange(len(head.chosen)), "t2d": known}
    for name, weight in weights.items():
        tensors |= {name: weight.half()} if whole else _in_8_bits(name, weight)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    config = llama_config(head.measures).to_dict()
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def _in_8_bits(name: str, weight: Tensor) -> dict[str, Tensor]:
    """A matrix as whole numbers, with the scale of each of its rows; all else in 16 bits."""
    if weight.dim() < 2:
        return {name: weight.half()}
    scales = weight.abs().amax(dim=1).clamp_min(1e-12) / 127
    return {name: (weight / scales[:, None]).round().to(torch.int8), name + SCALES: scales}
