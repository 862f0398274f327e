"""The decoder of a language model as an OpenVINO graph: one layer for all kinds, what differs between them as data.

Nodes have the names that optimum gives them where the app looks for them: the last sum of a layer, the output head.
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from headstart_export.gguf_weights import Weights

Shape = tuple[int, ...]
_MASKED = -65504.0  # f16's least number
_LAST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Architecture:
    """The differences between kinds of decoders."""

    model_class: str  # of transformers
    model_type: str
    paired: bool = False  # a head's numbers that are rotated together stand side by side, not in two halves
    biased: tuple[str, ...] = ()  # products that add a bias
    may_be_biased: tuple[str, ...] = ()
    head_norms: bool = False  # of queries and keys
    sandwiched: bool = False  # norms behind attention and MLP, too
    activation: Literal["silu", "gelu"] = "silu"
    scales_embeddings: bool = False  # by the square root of the width
    window_period: int | None = None  # of layers, the last of which sees all tokens; 0: none does; None: all do
    rotation_period: int = 0  # of layers, the last of which does not rotate; 0: all do
    fused: bool = False  # queries, keys and values come from one product, and so do gate and up


_QKV = ("attn_q", "attn_k", "attn_v")
_GEMMA = Architecture("GemmaForCausalLM", "gemma", activation="gelu", scales_embeddings=True)
ARCHITECTURES = {  # by the name in a GGUF file
    "llama": Architecture("LlamaForCausalLM", "llama", paired=True, may_be_biased=(*_QKV, "attn_output")),
    "qwen2": Architecture("Qwen2ForCausalLM", "qwen2", biased=_QKV),
    "qwen3": Architecture("Qwen3ForCausalLM", "qwen3", head_norms=True),
    "gemma": _GEMMA,
    "gemma3": replace(
        _GEMMA,
        model_class="Gemma3ForCausalLM",
        model_type="gemma3_text",
        head_norms=True,
        sandwiched=True,
        window_period=6,
    ),
    "phi3": Architecture("Phi3ForCausalLM", "phi3", fused=True, window_period=0),
    "smollm3": Architecture("SmolLM3ForCausalLM", "smollm3", paired=True, rotation_period=4),
}


@dataclass(frozen=True)
class Sizes:
    """The measures of one model."""

    layers: int
    width: int
    inner: int  # width of the MLP
    heads: int
    kv_heads: int
    head: int  # numbers of a head
    vocabulary: int
    context: int
    epsilon: float
    base: float  # of the rotation
    stretch: float = 1.0  # by which positions are divided, where there is no window
    scale: float = 0.0  # of the attention; 0: 1 / sqrt(head)
    window: int = 0  # tokens that a layer sees; 0: all
    local: tuple[bool, ...] = ()  # which layers have the window; none: no layer
    local_base: float = 10000.0  # of the rotation in these layers


def tensors(kind: Architecture, sizes: Sizes) -> tuple[dict[str, Shape], dict[str, Shape]]:
    """Return names and shapes of the tensors that a file must have, and of those that it may have."""
    linears = _linears(sizes)
    if kind.fused:
        linears = {
            "attn_qkv": (sum(linears[name][0] for name in _QKV), sizes.width),
            "ffn_up": (2 * sizes.inner, sizes.width),
            **{name: linears[name] for name in ("attn_output", "ffn_down")},
        }
    norms = {"attn_norm": sizes.width, "ffn_norm": sizes.width}
    if kind.head_norms:
        norms |= {"attn_q_norm": sizes.head, "attn_k_norm": sizes.head}
    if kind.sandwiched:
        norms |= {"post_attention_norm": sizes.width, "post_ffw_norm": sizes.width}
    table = (sizes.vocabulary, sizes.width)
    required: dict[str, Shape] = {"token_embd.weight": table, "output_norm.weight": (sizes.width,)}
    optional: dict[str, Shape] = {"output.weight": table}
    if kind.paired:
        optional["rope_freqs.weight"] = (sizes.head // 2,)
    for layer in range(sizes.layers):
        at = f"blk.{layer}."
        required |= {f"{at}{name}.weight": shape for name, shape in linears.items()}
        required |= {f"{at}{name}.weight": (width,) for name, width in norms.items()}
        required |= {f"{at}{name}.bias": linears[name][:1] for name in kind.biased}
        optional |= {f"{at}{name}.bias": linears[name][:1] for name in kind.may_be_biased}
    return required, optional


def _linears(sizes: Sizes) -> dict[str, Shape]:
    queries, keys = sizes.heads * sizes.head, sizes.kv_heads * sizes.head
    return {
        "attn_q": (queries, sizes.width),
        "attn_k": (keys, sizes.width),
        "attn_v": (keys, sizes.width),
        "attn_output": (sizes.width, queries),
        "ffn_gate": (sizes.inner, sizes.width),
        "ffn_up": (sizes.inner, sizes.width),
        "ffn_down": (sizes.width, sizes.inner),
    }


_MODULES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


class Decoder:
    """The graph while it is built, layer by layer."""

    def __init__(self, kind: Architecture, sizes: Sizes, weights: "Weights") -> None:
        import openvino  # noqa: PLC0415

        self.ov, self.ops, self.opset6 = openvino, openvino.opset13, openvino.opset6
        self.kind, self.sizes, self.weights = kind, sizes, weights
        self.sinks: list[Any] = []
        types = {"input_ids": "i64", "attention_mask": "i64", "position_ids": "i64", "beam_idx": "i32"}
        self.inputs = {
            name: self.ops.parameter(
                [-1] if name == "beam_idx" else [-1, -1], getattr(openvino.Type, element), name=name
            )
            for name, element in types.items()
        }
        for name, node in self.inputs.items():
            node.output(0).set_names({name})
        self.batch = self._size(self.inputs["input_ids"], 0)
        self.mask = self._mask()
        self.angles = self._angles(sizes.base, sizes.stretch)
        if any(sizes.local):
            self.local_mask, self.local_angles = self._mask(sizes.window), self._angles(sizes.local_base, 1.0)

    def build(self) -> Any:
        """Return the model: from token ids to logits, with keys and values as its state."""
        ops, sizes, weights = self.ops, self.sizes, self.weights
        table = weights.matrix("token_embd.weight")
        ids = ops.convert(self.inputs["input_ids"], self.ov.Type.i32)
        x = ops.gather(table, ids, self._number(0), name="__module.model.embed_tokens/aten::embedding/Gather")
        if self.kind.scales_embeddings:
            x = ops.multiply(x, self._float(math.sqrt(sizes.width)))
        for layer in range(sizes.layers):
            x = self.layer(x, layer)
        x = self.norm(x, "output_norm", "__module.model.norm")
        head = weights.matrix("output.weight") if "output.weight" in weights else table
        logits = self._product(x, head, "__module.lm_head/aten::linear/MatMul")
        logits.output(0).set_names({"logits"})
        return self.ov.Model([ops.result(logits, name="logits")], self.sinks, list(self.inputs.values()), "decoder")

    def layer(self, x: Any, number: int) -> Any:
        """Return what a layer makes of [batch, tokens, width]."""
        at, module = f"blk.{number}.", f"__module.model.layers.{number}"
        h = self.norm(x, f"{at}attn_norm", f"{module}.input_layernorm")
        h = self.attention(h, number)
        if self.kind.sandwiched:
            h = self.norm(h, f"{at}post_attention_norm", f"{module}.post_attention_layernorm")
        x = self.ops.add(x, h, name=f"{module}/aten::add/Add")
        name = "pre_feedforward_layernorm" if self.kind.sandwiched else "post_attention_layernorm"
        h = self.norm(x, f"{at}ffn_norm", f"{module}.{name}")
        gate, up = self.linear(h, number, "ffn_gate"), self.linear(h, number, "ffn_up")
        gate = self.ops.gelu(gate, "TANH") if self.kind.activation == "gelu" else self.ops.swish(gate)
        h = self.linear(self.ops.multiply(gate, up), number, "ffn_down")
        if self.kind.sandwiched:
            h = self.norm(h, f"{at}post_ffw_norm", f"{module}.post_feedforward_layernorm")
        return self.ops.add(x, h, name=f"{module}/aten::add/Add_1")

    def attention(self, x: Any, number: int) -> Any:
        """Return the attention of the tokens to all before them, or to those of the window."""
        ops, sizes, at = self.ops, self.sizes, f"blk.{number}."
        is_local = bool(sizes.local) and sizes.local[number]
        angles, mask = (self.local_angles, self.local_mask) if is_local else (self.angles, self.mask)
        q, k, v = (self.linear(x, number, name) for name in _QKV)
        q, k, v = self._split(q, sizes.heads), self._split(k, sizes.kv_heads), self._split(v, sizes.kv_heads)
        if self.kind.head_norms:
            module = f"__module.model.layers.{number}.self_attn"
            q = self.norm(q, f"{at}attn_q_norm", f"{module}.q_norm")
            k = self.norm(k, f"{at}attn_k_norm", f"{module}.k_norm")
        q, k, v = (ops.transpose(each, self._numbers(0, 2, 1, 3)) for each in (q, k, v))
        if not self.kind.rotation_period or (number + 1) % self.kind.rotation_period:
            q, k = self._rotated(q, *angles), self._rotated(k, *angles)
        k, v = self._cached(k, f"{number}.key"), self._cached(v, f"{number}.value")
        scale = ops.constant(np.array(sizes.scale or sizes.head**-0.5, np.float32))
        y = ops.scaled_dot_product_attention(q, k, v, mask, scale, causal=False)
        y = ops.transpose(y, self._numbers(0, 2, 1, 3))
        y = ops.reshape(y, self._numbers(0, 0, sizes.heads * sizes.head), special_zero=True)
        return self.linear(y, number, "attn_output")

    def linear(self, x: Any, number: int, name: str) -> Any:
        """Return the product with a matrix of a layer, plus its bias if it has one."""
        module = f"__module.model.layers.{number}.{_MODULES[name]}"
        tensor, order = self._rows(name)
        tensor = f"blk.{number}.{tensor}"
        y = self._product(x, self.weights.matrix(f"{tensor}.weight", order), f"{module}/aten::linear/MatMul")
        if f"{tensor}.bias" in self.weights:
            bias = self.ops.constant(self.weights.vector(f"{tensor}.bias", order)[None, None])
            y = self.ops.add(y, bias, name=f"{module}/aten::linear/Add")
        return y

    def _product(self, x: Any, weights: Any, name: str) -> Any:
        return self.ops.matmul(x, weights, transpose_a=False, transpose_b=True, name=name)

    def norm(self, x: Any, tensor: str, name: str) -> Any:
        """Return the numbers divided by their root mean square, times a gain."""
        ops = self.ops
        mean = ops.reduce_mean(ops.power(x, self._float(2.0)), self._numbers(-1), keep_dims=True)
        scale = ops.divide(self._float(1.0), ops.sqrt(ops.add(mean, self._float(self.sizes.epsilon))))
        return ops.multiply(ops.constant(self.weights.vector(f"{tensor}.weight")), ops.multiply(x, scale), name=name)

    def _rows(self, name: str) -> tuple[str, NDArray[np.int64] | None]:
        """Return the tensor that holds a matrix, and which of its rows; None: all, in order.

        The numbers of a head that are rotated together come to stand in two halves.
        """
        linears = _linears(self.sizes)
        rows = linears[name][0]
        if self.kind.fused and name in {*_QKV, "ffn_gate", "ffn_up"}:
            tensor, parts = ("attn_qkv", _QKV) if name in _QKV else ("ffn_up", ("ffn_gate", "ffn_up"))
            start = sum(linears[part][0] for part in parts[: parts.index(name)])
            return tensor, np.arange(start, start + rows)
        if self.kind.paired and name in {"attn_q", "attn_k"}:
            return name, np.arange(rows).reshape(-1, self.sizes.head // 2, 2).swapaxes(1, 2).reshape(-1)
        return name, None

    def _split(self, x: Any, heads: int) -> Any:
        return self.ops.reshape(x, self._numbers(0, 0, heads, self.sizes.head), special_zero=True)

    def _angles(self, base: float, stretch: float) -> tuple[Any, Any]:
        """Return cosines and sines [batch, 1, tokens, head] of the positions."""
        ops, size = self.ops, self.sizes.head
        turns = 1.0 / (base ** (np.arange(0, size, 2, dtype=np.float64) / size) * stretch)
        if "rope_freqs.weight" in self.weights:
            turns /= self.weights.vector("rope_freqs.weight")
        places = ops.convert(ops.unsqueeze(self.inputs["position_ids"], self._numbers(1)), self.ov.Type.f32)
        angle = ops.matmul(
            ops.constant(turns.astype(np.float32)[None, :, None]), places, transpose_a=False, transpose_b=False
        )
        angle = ops.transpose(angle, self._numbers(0, 2, 1))
        both = ops.concat([angle, angle], -1)
        return ops.unsqueeze(ops.cos(both), self._numbers(1)), ops.unsqueeze(ops.sin(both), self._numbers(1))

    def _rotated(self, x: Any, cos: Any, sin: Any) -> Any:
        ops, half, axis = self.ops, self.sizes.head // 2, self._numbers(3)
        first = ops.slice(x, self._numbers(0), self._numbers(half), self._numbers(1), axis)
        second = ops.slice(x, self._numbers(half), self._numbers(_LAST), self._numbers(1), axis)
        turned = ops.concat([ops.multiply(second, self._float(-1.0)), first], -1)
        return ops.add(ops.multiply(x, cos), ops.multiply(turned, sin))

    def _cached(self, new: Any, name: str) -> Any:
        """Append to the keys or values of earlier tokens; return all, once for each query that reads them."""
        ops, heads, kv_heads, size = self.ops, self.sizes.heads, self.sizes.kv_heads, self.sizes.head
        info = self.ov.op.util.VariableInfo()
        info.data_shape = self.ov.PartialShape([-1, kv_heads, -1, size])
        info.data_type, info.variable_id = self.ov.Type.f32, f"past_key_values.{name}present.{name}"
        variable = self.ov.op.util.Variable(info)
        start = ops.broadcast(self._float(0.0), ops.concat([self.batch, self._numbers(kv_heads, 0, size)], 0))
        past = ops.gather(self.opset6.read_value(start, variable), self.inputs["beam_idx"], self._number(0))
        grown = ops.concat([past, new], 2)
        self.sinks.append(self.opset6.assign(grown, variable))
        if heads == kv_heads:
            return grown
        shape = [self.batch, self._numbers(kv_heads, heads // kv_heads), self._size(grown, 2), self._numbers(size)]
        spread = ops.broadcast(ops.unsqueeze(grown, self._numbers(2)), ops.concat(shape, 0), "BIDIRECTIONAL")
        return ops.reshape(spread, self._numbers(0, heads, -1, size), special_zero=True)

    def _mask(self, window: int = 0) -> Any:
        """Return what is added to the attention: [batch, 1, new tokens, all tokens]."""
        ops, truth = self.ops, self.ov.Type.boolean
        new, past_and_new = self._size(self.inputs["input_ids"], 1), self._size(self.inputs["attention_mask"], 1)
        new_count, count = (ops.squeeze(size, self._number(0)) for size in (new, past_and_new))
        columns = ops.range(self._number(0), count, self._number(1), self.ov.Type.i64)
        rows = ops.range(self._number(0), new_count, self._number(1), self.ov.Type.i64)
        rows = ops.unsqueeze(ops.add(rows, ops.subtract(count, new_count)), self._numbers(1))
        present = ops.unsqueeze(ops.convert(self.inputs["attention_mask"], truth), self._numbers(1, 2))
        seen = ops.unsqueeze(ops.less_equal(ops.unsqueeze(columns, self._numbers(0)), rows), self._numbers(0, 1))
        if not window:
            return ops.select(ops.logical_and(seen, present), self._float(0.0), self._float(_MASKED))
        # OpenVINO finds the window for paged attention only in this form, which is that of gpt-oss.
        yes = ops.constant(np.ones((1, 1, 1, 1), bool))
        columns = ops.unsqueeze(columns, self._numbers(0, 1, 2))
        near = ops.greater(columns, ops.add(ops.unsqueeze(rows, self._numbers(0, 1)), self._number(-window)))
        chosen = ops.bitwise_and(ops.bitwise_and(yes, near), seen)
        chosen = ops.bitwise_and(ops.bitwise_and(yes, chosen), present)
        shape = ops.concat([self.batch, self._numbers(1), new, past_and_new], 0)
        chosen = ops.broadcast(chosen, shape, "BIDIRECTIONAL")
        mask = ops.select(chosen, self._float(0.0), self._float(_MASKED))
        return ops.slice(mask, self._numbers(0), past_and_new, self._numbers(1), self._numbers(3))

    def _size(self, node: Any, axis: int) -> Any:
        return self.ops.gather(self.ops.shape_of(node), self._numbers(axis), self._number(0))

    def _number(self, value: int) -> Any:
        return self.ops.constant(np.array(value, np.int64))

    def _numbers(self, *values: int) -> Any:
        return self.ops.constant(np.array(values, np.int64))

    def _float(self, value: float) -> Any:
        return self.ops.constant(np.array([value], np.float32))
