"""The decoder of a language model as an OpenVINO graph: one layer for all kinds, their differences as data.

Nodes have the names that optimum gives them where the app looks for them: the last sum of a layer, the output head.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from headstart.engine.hardware import runtime
from headstart.engine.kernels.experts import CLAMPED, SILU, plain
from headstart.engine.kernels.states import CONVOLUTION, DELTA
from headstart_export.gguf.rotation import Rotation, order

if TYPE_CHECKING:
    from headstart_export.gguf.packing import PackedTensors

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
    head_norms: Literal["", "head", "all"] = ""  # of queries and keys: of each head, or of all heads together
    norms: tuple[str, str, str, str] = ("attn_norm", "", "ffn_norm", "")  # before and behind attention, then MLP
    activation: Literal["silu", "gelu"] = "silu"
    scales_embeddings: bool = False  # by the square root of the width
    window_period: int | None = None  # of layers, the last of which sees all tokens; 0: none does; None: all do
    two_rotations: bool = False  # layers with a window have another one, which is not stretched
    rotation_period: int = 0  # of layers, the last of which does not rotate; 0: all do
    factors: tuple[str, ...] = ()  # tensors that may divide the frequencies; of two, the first is for short texts
    fused: bool = False  # queries, keys and values come from one product, and so do gate and up
    sinks: bool = False  # each head has a number that takes a part of its attention away
    experts: Literal["", "may", "must"] = ""  # instead of an MLP
    is_normed: bool = True  # the weights of a token's experts add up to 1
    biased_experts: bool = False  # they and the router add biases; the activation is gpt-oss's
    recurrence: str = ""  # a rule of `kernels.states`, which some layers have instead of attention
    gated: bool = False  # each head of queries comes with gates of what it attends to
    final_norm: str = "output_norm"


_QKV = ("attn_q", "attn_k", "attn_v")
_BIASES = (*_QKV, "attn_output")
_SANDWICHED = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
_LLAMA = Architecture(
    "LlamaForCausalLM", "llama", paired=True, may_be_biased=_BIASES, factors=("rope_freqs",), experts="may"
)
_GEMMA = Architecture("GemmaForCausalLM", "gemma", activation="gelu", scales_embeddings=True)
ARCHITECTURES = {  # by the name in a GGUF file
    "llama": _LLAMA,
    "mistral3": replace(_LLAMA, model_class="Ministral3ForCausalLM", model_type="ministral3"),
    "granite": replace(_LLAMA, model_class="GraniteForCausalLM", model_type="granite"),
    "qwen2": Architecture("Qwen2ForCausalLM", "qwen2", biased=_QKV),
    "qwen3": Architecture("Qwen3ForCausalLM", "qwen3", head_norms="head"),
    "gemma": _GEMMA,
    "gemma3": replace(
        _GEMMA,
        model_class="Gemma3ForCausalLM",
        model_type="gemma3_text",
        head_norms="head",
        norms=_SANDWICHED,
        window_period=6,
        two_rotations=True,
    ),
    "gemma2": replace(_GEMMA, model_class="Gemma2ForCausalLM", model_type="gemma2", norms=_SANDWICHED, window_period=2),
    "olmo2": Architecture(
        "Olmo2ForCausalLM",
        "olmo2",
        head_norms="all",
        norms=("", "post_attention_norm", "", "post_ffw_norm"),
        window_period=4,
        two_rotations=True,
    ),
    "phi3": Architecture(
        "Phi3ForCausalLM",
        "phi3",
        fused=True,
        window_period=0,
        factors=("rope_factors_short", "rope_factors_long"),
    ),
    "smollm3": Architecture("SmolLM3ForCausalLM", "smollm3", paired=True, rotation_period=4),
    "lfm2": Architecture(
        "Lfm2ForCausalLM", "lfm2", head_norms="head", recurrence=CONVOLUTION, final_norm="token_embd_norm"
    ),
    "qwen35": Architecture(
        "Qwen3_5ForCausalLM",
        "qwen3_5_text",
        head_norms="head",
        norms=("attn_norm", "", "post_attention_norm", ""),
        recurrence=DELTA,
        gated=True,
    ),
    "qwen3moe": Architecture("Qwen3MoeForCausalLM", "qwen3_moe", head_norms="head", experts="must"),
    "olmoe": Architecture("OlmoeForCausalLM", "olmoe", head_norms="all", experts="must", is_normed=False),
    "granitemoe": replace(_LLAMA, model_class="GraniteMoeForCausalLM", model_type="granitemoe", experts="must"),
    "gpt-oss": Architecture(
        "GptOssForCausalLM",
        "gpt_oss",
        biased=_BIASES,
        norms=("attn_norm", "", "post_attention_norm", ""),
        window_period=2,
        sinks=True,
        experts="must",
        biased_experts=True,
    ),
}


@dataclass(frozen=True)
class ExpertSizes:
    """The measures of a mixture of experts."""

    count: int
    used: int  # by a token
    inner: int  # width of each
    shared: int = 0  # width of one that every token uses; 0: there is none


@dataclass(frozen=True)
class RecurrentSizes:
    """The measures of the layers that keep a state instead of keys and values."""

    layers: tuple[bool, ...]  # which ones these are
    taps: int  # tokens that a convolution sums
    heads: int = 0  # of a delta rule, each with a memory of its own
    key_heads: int = 0
    size: int = 0  # numbers of a head


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
    rotation: Rotation | None  # None: positions count for nothing
    local_rotation: Rotation | None = None  # in layers that have a window; None: the same
    factors: str = ""  # the tensor that divides the frequencies; empty: none
    scale: float = 0.0  # of the attention; 0: 1 / sqrt(head)
    window: int = 0  # tokens that a layer sees; 0: all
    local: tuple[bool, ...] = ()  # which layers have the window; none: no layer
    embedding_scale: float = 1.0
    residual_scale: float = 1.0  # of what attention and MLP add
    logit_scale: float = 1.0  # by which logits are divided
    experts: ExpertSizes | None = None
    recurrence: RecurrentSizes | None = None
    cap: float = 0.0  # of logits: cap * tanh(logit / cap); 0: none
    score_cap: float = 0.0  # of attention, before the mask
    temperature: float = 0.0  # by which queries grow with the logarithm of the times that a text is longer than usual


def tensors(kind: Architecture, sizes: Sizes) -> tuple[dict[str, Shape], dict[str, Shape]]:
    """Return names and shapes of the tensors that a file must have, and of those that it may have."""
    linears = _linears(sizes)
    if kind.gated:
        linears["attn_q"] = (2 * linears["attn_q"][0], sizes.width)
    if kind.fused:
        linears = {
            "attn_qkv": (sum(linears[name][0] for name in _QKV), sizes.width),
            "ffn_up": (2 * sizes.inner, sizes.width),
            **{name: linears[name] for name in ("attn_output", "ffn_down")},
        }
    norms = {name: sizes.width for name in kind.norms if name}
    if kind.head_norms == "head":
        norms |= {"attn_q_norm": sizes.head, "attn_k_norm": sizes.head}
    elif kind.head_norms:
        norms |= {"attn_q_norm": linears["attn_q"][0], "attn_k_norm": linears["attn_k"][0]}
    attention = {name for name in (*linears, *norms) if name.startswith("attn_")} - {*kind.norms}
    table = (sizes.vocabulary, sizes.width)
    required: dict[str, Shape] = {"token_embd.weight": table, f"{kind.final_norm}.weight": (sizes.width,)}
    optional: dict[str, Shape] = {"output.weight": table}
    if sizes.rotation:
        optional |= {f"{name}.weight": (sizes.rotation.size // 2,) for name in kind.factors}
    for layer in range(sizes.layers):
        at = f"blk.{layer}."
        own: dict[str, Shape] = {**linears, **{name: (width,) for name, width in norms.items()}}
        if sizes.recurrence and sizes.recurrence.layers[layer]:
            own = {name: shape for name, shape in own.items() if name not in attention}
            own |= _recurrent_linears(sizes)
            required |= {f"{at}{name}": shape for name, shape in _recurrent_constants(sizes).items()}
        required |= {f"{at}{name}.weight": shape for name, shape in own.items()}
        required |= {f"{at}{name}.bias": linears[name][:1] for name in kind.biased}
        optional |= {f"{at}{name}.bias": linears[name][:1] for name in kind.may_be_biased}
        if kind.sinks:
            required[f"{at}attn_sinks.weight"] = (sizes.heads,)
        if sizes.experts:
            required |= {f"{at}{name}": shape for name, shape in _experts(kind, sizes, sizes.experts).items()}
    return required, optional


def _experts(kind: Architecture, sizes: Sizes, experts: ExpertSizes) -> dict[str, Shape]:
    narrow, wide = (experts.inner, sizes.width), (sizes.width, experts.inner)
    shapes: dict[str, Shape] = {"ffn_gate_inp": (experts.count, sizes.width)}
    each = {"ffn_gate_exps": narrow, "ffn_up_exps": narrow, "ffn_down_exps": wide}
    shapes |= {name: (experts.count, *shape) for name, shape in each.items()}
    tensors = {f"{name}.weight": shape for name, shape in shapes.items()}
    if kind.biased_experts:
        tensors |= {f"{name}.bias": shape[: max(1, len(shape) - 1)] for name, shape in shapes.items()}
    return tensors


def _linears(sizes: Sizes) -> dict[str, Shape]:
    queries, keys = sizes.heads * sizes.head, sizes.kv_heads * sizes.head
    linears: dict[str, Shape] = {
        "attn_q": (queries, sizes.width),
        "attn_k": (keys, sizes.width),
        "attn_v": (keys, sizes.width),
        "attn_output": (sizes.width, queries),
    }
    mlps = {"": sizes.inner} if sizes.experts is None else {"_shexp": sizes.experts.shared}
    for suffix, inner in mlps.items():
        if inner:
            linears |= {f"ffn_gate{suffix}": (inner, sizes.width), f"ffn_up{suffix}": (inner, sizes.width)}
            linears[f"ffn_down{suffix}"] = (sizes.width, inner)
    return linears


def _recurrent_linears(sizes: Sizes) -> dict[str, Shape]:
    of, width = sizes.recurrence, sizes.width
    if of is None:
        return {}
    if not of.size:
        return {"shortconv.in_proj": (3 * width, width), "shortconv.out_proj": (width, width)}
    values = of.heads * of.size
    return {
        "attn_qkv": (2 * of.key_heads * of.size + values, width),
        "attn_gate": (values, width),
        "ssm_alpha": (of.heads, width),
        "ssm_beta": (of.heads, width),
        "ssm_out": (width, values),
    }


def _recurrent_constants(sizes: Sizes) -> dict[str, Shape]:
    of = sizes.recurrence
    assert of is not None
    if not of.size:
        return {"shortconv.conv.weight": (sizes.width, of.taps)}
    return {
        "ssm_conv1d.weight": (_recurrent_linears(sizes)["attn_qkv"][0], of.taps),
        "ssm_a": (of.heads,),
        "ssm_dt.bias": (of.heads,),
        "ssm_norm.weight": (of.size,),
    }


_MODULES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_gate": "self_attn.gate_proj",
    "shortconv.in_proj": "conv.in_proj",
    "shortconv.out_proj": "conv.out_proj",
    "attn_qkv": "linear_attn.in_proj_qkv",
    "attn_gate": "linear_attn.in_proj_z",
    "ssm_alpha": "linear_attn.in_proj_a",
    "ssm_beta": "linear_attn.in_proj_b",
    "ssm_out": "linear_attn.out_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "ffn_gate_shexp": "shared_mlp.gate_proj",
    "ffn_up_shexp": "shared_mlp.up_proj",
    "ffn_down_shexp": "shared_mlp.down_proj",
}


class GraphBuilder:
    """The graph while it is built, layer by layer."""

    def __init__(self, kind: Architecture, sizes: Sizes, weights: "PackedTensors") -> None:
        import openvino

        self.ov, self.ops, self.opset6 = openvino, openvino.opset13, openvino.opset6
        factory = openvino.utils.node_factory.NodeFactory("opset13")  # its Python function knows no sinks
        self.attend = partial(factory.create, "ScaledDotProductAttention", attributes={"causal": False})
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
        self.local_mask = self._mask(sizes.window) if any(sizes.local) else None
        self.angles = self._angles(sizes.rotation)
        self.local_angles = self._angles(sizes.local_rotation) if sizes.local_rotation else self.angles
        self.order = order(sizes.head, (sizes.rotation or Rotation(sizes.head, 1.0)).size, paired=kind.paired)
        self.queries_scale = self._queries_scale()

    def build(self) -> Any:
        """Return the model: from token ids to logits, with keys and values as its state."""
        ops, sizes, weights = self.ops, self.sizes, self.weights
        table = weights.matrix("token_embd.weight")
        ids = ops.convert(self.inputs["input_ids"], self.ov.Type.i32)
        x = ops.gather(table, ids, self._number(0), name="__module.model.embed_tokens/aten::embedding/Gather")
        # The residual stream is divided by the scale of what is added to it, which then needs none: norms undo it.
        if (scale := sizes.embedding_scale / sizes.residual_scale) != 1.0:
            x = ops.multiply(x, self._float(scale))
        for layer in range(sizes.layers):
            x = self.layer(x, layer)
        x = self.norm(x, self.kind.final_norm, scale=1.0 / sizes.logit_scale)
        head = weights.matrix("output.weight") if "output.weight" in weights else table
        logits = self._product(x, head, "__module.lm_head/aten::linear/MatMul")
        if sizes.cap:
            logits = self._capped(logits, sizes.cap)
        logits.output(0).set_names({"logits"})
        return self.ov.Model([ops.result(logits, name="logits")], self.sinks, list(self.inputs.values()), "decoder")

    def layer(self, x: Any, number: int) -> Any:
        """Return the output of a layer: [batch, tokens, width]."""
        before, behind, before_mlp, behind_mlp = (name and f"blk.{number}.{name}" for name in self.kind.norms)
        recurrence = self.sizes.recurrence
        mix = self.recurrence if recurrence and recurrence.layers[number] else self.attention
        h = mix(self.norm(x, before) if before else x, number)
        x = self.ops.add(x, self.norm(h, behind) if behind else h, name=f"__module.model.layers.{number}/aten::add/Add")
        h = self.mlp(self.norm(x, before_mlp) if before_mlp else x, number)
        h = self.norm(h, behind_mlp) if behind_mlp else h
        return self.ops.add(x, h, name=f"__module.model.layers.{number}/aten::add/Add_1")

    def mlp(self, x: Any, number: int) -> Any:
        """Return the output of the MLP, or of the experts."""
        if self.sizes.experts is None:
            return self._gated(x, number, "")
        mixed = self._mixed(x, number, self.sizes.experts)
        return self.ops.add(self._gated(x, number, "_shexp"), mixed) if self.sizes.experts.shared else mixed

    def _gated(self, x: Any, number: int, suffix: str) -> Any:
        """Return the output of a gated MLP: act(gate) * up, projected back to the width."""
        gate, up = (self.linear(x, number, f"ffn_{name}{suffix}") for name in ("gate", "up"))
        gate = self.ops.gelu(gate, "TANH") if self.kind.activation == "gelu" else self.ops.swish(gate)
        return self.linear(self.ops.multiply(gate, up), number, f"ffn_down{suffix}")

    def _mixed(self, x: Any, number: int, experts: ExpertSizes) -> Any:
        """Return the weighted sum of the experts that the router chooses for each token."""
        names = {"router": "ffn_gate_inp", **{name: f"ffn_{name}_exps" for name in ("gate", "up", "down")}}
        tensors = {name: f"blk.{number}.{tensor}" for name, tensor in names.items()}
        inputs = {"x": x, "router": self.ops.constant(self.weights.full(f"{tensors['router']}.weight"))}
        inputs |= {name: self.weights.matrix(f"{tensors[name]}.weight") for name in ("gate", "up", "down")}
        if self.kind.biased_experts:
            biases = {f"{name}_bias": self.weights.full(f"{tensor}.bias") for name, tensor in tensors.items()}
            biases |= {name: bias[:, None] for name, bias in biases.items() if bias.ndim == 2}  # for each token
            inputs |= {name: self.ops.constant(bias) for name, bias in biases.items()}
        activation = CLAMPED if self.kind.biased_experts else SILU
        attributes = {"used": experts.used, "is_normed": int(self.kind.is_normed), "activation": activation}
        if self.weights.keeps_blocks:
            return runtime.experts()([value.output(0) for value in inputs.values()], **attributes)
        return plain(inputs, attributes)

    def recurrence(self, x: Any, number: int) -> Any:
        """Return the output of a recurrent layer."""
        ops, at, of = self.ops, f"blk.{number}.", self.sizes.recurrence
        assert of is not None
        if self.kind.recurrence == CONVOLUTION:
            parts = ops.split(self.linear(x, number, "shortconv.in_proj"), self._number(2), 3)
            before, behind, values = (parts.output(part) for part in range(3))
            taps = self.weights.full(f"{at}shortconv.conv.weight")
            y = self._recurrence(ops.multiply(before, values), [taps], given=self.sizes.width)
            return self.linear(ops.multiply(behind, y), number, "shortconv.out_proj")
        x, gate = (
            ops.concat([self.linear(x, number, name) for name in ("attn_qkv", "ssm_alpha", "ssm_beta")], -1),
            self.linear(x, number, "attn_gate"),
        )
        constants = [self.weights.full(f"{at}{name}") for name in ("ssm_conv1d.weight", "ssm_a", "ssm_dt.bias")]
        y = self._recurrence(x, constants, given=of.heads * of.size, key_heads=of.key_heads)
        y = ops.reshape(y, self._numbers(0, 0, of.heads, of.size), special_zero=True)
        y = ops.reshape(self.norm(y, f"{at}ssm_norm"), self._numbers(0, 0, -1), special_zero=True)
        return self.linear(ops.multiply(y, ops.swish(gate)), number, "ssm_out")

    def _recurrence(self, x: Any, constants: Sequence[NDArray[np.float32]], **attributes: int) -> Any:
        inputs = [x, *map(self.ops.constant, constants)]
        return runtime.recurrence()([each.output(0) for each in inputs], rule=self.kind.recurrence, **attributes)

    def attention(self, x: Any, number: int) -> Any:
        """Return the output of the attention to all earlier tokens, or to those of the window."""
        ops, sizes, at = self.ops, self.sizes, f"blk.{number}."
        is_local = bool(sizes.local) and sizes.local[number]
        angles, mask = (self.local_angles, self.local_mask) if is_local else (self.angles, self.mask)
        gates = self.linear(x, number, "attn_q_gate") if self.kind.gated else None
        q, k, v = (self.linear(x, number, name) for name in _QKV)
        if self.kind.head_norms == "all":
            q, k = self.norm(q, f"{at}attn_q_norm"), self.norm(k, f"{at}attn_k_norm")
        q, k, v = self._split(q, sizes.heads), self._split(k, sizes.kv_heads), self._split(v, sizes.kv_heads)
        if self.kind.head_norms == "head":
            q, k = (self.norm(each, f"{at}attn_{name}_norm", self.order) for each, name in ((q, "q"), (k, "k")))
        q, k, v = (ops.transpose(each, self._numbers(0, 2, 1, 3)) for each in (q, k, v))
        if angles and (not self.kind.rotation_period or (number + 1) % self.kind.rotation_period):
            q, k = self._rotated(q, *angles), self._rotated(k, *angles)
        if self.queries_scale is not None:
            q = ops.multiply(q, self.queries_scale)
        k, v = self._cached(k, f"{number}.key"), self._cached(v, f"{number}.value")
        scale = ops.constant(np.array(sizes.scale or sizes.head**-0.5, np.float32))
        inputs = [q, k, v, mask, scale]
        if self.kind.sinks:
            sinks = self.weights.vector(f"{at}attn_sinks.weight").reshape(1, -1, 1, 1)
            inputs.append(ops.constant(sinks))
        y = self._attend_capped(*inputs) if sizes.score_cap else self.attend(inputs)
        y = ops.transpose(y, self._numbers(0, 2, 1, 3))
        y = ops.reshape(y, self._numbers(0, 0, sizes.heads * sizes.head), special_zero=True)
        if gates is not None:
            y = ops.multiply(y, ops.sigmoid(gates))
        return self.linear(y, number, "attn_output")

    def _attend_capped(self, q: Any, k: Any, v: Any, mask: Any, scale: Any) -> Any:
        """Return the attention with capped scores, which OpenVINO's own operation does not support."""
        ops = self.ops
        scores = ops.matmul(ops.multiply(q, scale), k, transpose_a=False, transpose_b=True)
        shares = ops.softmax(ops.add(self._capped(scores, self.sizes.score_cap), mask), -1)
        return ops.matmul(shares, v, transpose_a=False, transpose_b=False)

    def _capped(self, x: Any, cap: float) -> Any:
        ops = self.ops
        return ops.multiply(ops.tanh(ops.multiply(x, self._float(1.0 / cap))), self._float(cap))

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

    def norm(self, x: Any, tensor: str, order: NDArray[np.int64] | None = None, scale: float = 1.0) -> Any:
        """Return the RMS norm of x with a gain and a scale."""
        ops, epsilon = self.ops, self.sizes.epsilon / self.sizes.residual_scale**2
        mean = ops.reduce_mean(ops.power(x, self._float(2.0)), self._numbers(-1), keep_dims=True)
        reciprocal = ops.divide(self._float(1.0), ops.sqrt(ops.add(mean, self._float(epsilon))))
        gain = self.weights.vector(f"{tensor}.weight", order) * np.float32(scale)
        return ops.multiply(ops.constant(gain), ops.multiply(x, reciprocal), name=f"__module.{tensor}")

    def _rows(self, name: str) -> tuple[str, NDArray[np.int64] | None]:
        """Return the tensor that holds a matrix, and the rows of it to take; None: all, in order."""
        linears = _linears(self.sizes) | _recurrent_linears(self.sizes)
        if self.kind.gated and name in {"attn_q", "attn_q_gate"}:
            pairs = np.arange(2 * linears["attn_q"][0]).reshape(-1, 2, self.sizes.head)
            if name == "attn_q_gate":
                return "attn_q", pairs[:, 1].reshape(-1)
            rows: NDArray[np.int64] = pairs[:, 0].reshape(-1)
        else:
            rows = np.arange(linears[name][0])
        if name in {"attn_q", "attn_k"} and self.order is not None:
            rows = rows.reshape(-1, self.sizes.head)[:, self.order].reshape(-1)
        if self.kind.fused and name in {*_QKV, "ffn_gate", "ffn_up"}:
            tensor, parts = ("attn_qkv", _QKV) if name in _QKV else ("ffn_up", ("ffn_gate", "ffn_up"))
            return tensor, rows + sum(linears[part][0] for part in parts[: parts.index(name)])
        return name, None if np.array_equal(rows, np.arange(len(rows))) else rows

    def _split(self, x: Any, heads: int) -> Any:
        return self.ops.reshape(x, self._numbers(0, 0, heads, self.sizes.head), special_zero=True)

    def _angles(self, rotation: Rotation | None) -> tuple[Any, Any] | None:
        """Return cosines and sines [batch, 1, tokens, head] of the positions; None without rotation."""
        if rotation is None:
            return None
        ops, half = self.ops, self.sizes.head // 2
        turns, gains = np.zeros(half), np.ones(half, np.float32)  # numbers that do not turn keep an angle of 0
        turns[: rotation.size // 2], gains[: rotation.size // 2] = rotation.frequencies(), rotation.gain
        if self.sizes.factors:
            turns[: rotation.size // 2] /= self.weights.vector(self.sizes.factors)
        places = ops.convert(ops.unsqueeze(self.inputs["position_ids"], self._numbers(1)), self.ov.Type.f32)
        angle = ops.matmul(
            ops.constant(turns.astype(np.float32)[None, :, None]), places, transpose_a=False, transpose_b=False
        )
        angle = ops.transpose(angle, self._numbers(0, 2, 1))
        both = ops.concat([angle, angle], -1)
        pair = [ops.cos(both), ops.sin(both)]
        if rotation.gain != 1.0:
            gain = ops.constant(np.tile(gains, 2))
            pair = [ops.multiply(each, gain) for each in pair]
        return ops.unsqueeze(pair[0], self._numbers(1)), ops.unsqueeze(pair[1], self._numbers(1))

    def _queries_scale(self) -> Any | None:
        """Return the factor of the queries, [batch, 1, tokens, 1]; None if there is none."""
        ops, sizes = self.ops, self.sizes
        if not sizes.temperature or sizes.rotation is None:
            return None
        places = ops.convert(self.inputs["position_ids"], self.ov.Type.f32)
        times = ops.floor(ops.divide(places, self._float(sizes.rotation.trained)))
        grown = ops.multiply(ops.log(ops.add(times, self._float(1.0))), self._float(sizes.temperature))
        return ops.unsqueeze(ops.add(grown, self._float(1.0)), self._numbers(1, 3))

    def _rotated(self, x: Any, cos: Any, sin: Any) -> Any:
        ops, half, axis = self.ops, self.sizes.head // 2, self._numbers(3)
        first = ops.slice(x, self._numbers(0), self._numbers(half), self._numbers(1), axis)
        second = ops.slice(x, self._numbers(half), self._numbers(_LAST), self._numbers(1), axis)
        turned = ops.concat([ops.multiply(second, self._float(-1.0)), first], -1)
        return ops.add(ops.multiply(x, cos), ops.multiply(turned, sin))

    def _cached(self, new: Any, name: str) -> Any:
        """Append keys or values to the cache. Return the whole cache, repeated for the queries that share a head."""
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
        """Return the mask that is added to the scores: [batch, 1, new tokens, all tokens]."""
        ops, truth = self.ops, self.ov.Type.boolean
        new, past_and_new = self._size(self.inputs["input_ids"], 1), self._size(self.inputs["attention_mask"], 1)
        new_count, count = (ops.squeeze(size, self._number(0)) for size in (new, past_and_new))
        columns = ops.range(self._number(0), count, self._number(1), self.ov.Type.i64)
        rows = ops.range(self._number(0), new_count, self._number(1), self.ov.Type.i64)
        rows = ops.unsqueeze(ops.add(rows, ops.subtract(count, new_count)), self._numbers(1))
        present = ops.unsqueeze(ops.convert(self.inputs["attention_mask"], truth), self._numbers(1, 2))
        seen = ops.unsqueeze(ops.less_equal(ops.unsqueeze(columns, self._numbers(0)), rows), self._numbers(0, 1))
        if window and self.sizes.score_cap:  # such a graph has no pages, and forgotten tokens stay in its cache
            places = ops.subtract(ops.cumsum(self.inputs["attention_mask"], self._number(1)), self._number(1))
            first = ops.add(self.inputs["position_ids"], self._number(1 - window))
            near = ops.less_equal(ops.unsqueeze(first, self._numbers(1, 3)), ops.unsqueeze(places, self._numbers(1, 2)))
            present = ops.logical_and(present, near)
        if not window or self.sizes.score_cap:
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
