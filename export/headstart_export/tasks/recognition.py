"""Models that read text in pictures: the conversion of PP-OCR's ONNX files to OpenVINO, and a proof."""

import math
import string
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headstart.engine.hardware.runtime import core, openvino
from headstart.engine.ocr.recognizer import CHARACTERS, CLASSIFIER, DETECTOR, LINE_HEIGHT, READER, Recognizer
from headstart.errors import ExportError
from headstart.library import manifest
from headstart_export.conversion import convert

_MODELS = {DETECTOR: "_det_", CLASSIFIER: "_cls_", READER: "_rec_"}  # a part of the name of its ONNX file
_PROOF = "Headstart reads this line"
_CHUNK = 128  # characters whose best logit is compared first
_NEVER = -1e4  # logit of a character that does not exist
_MIN_CHARACTERS = 4096  # of a product that gives the logits
_MIN_INPUTS = 96  # of each number that a product computes, if the product is worth rounding
# Lines that show how large the inputs of products are.
_WORDS = ("Headstart", "reads", "this", "line,", "(No.", "4711):", '"What?"', "0123456789", "&", "%@#*+-/=<>[]{}!;_")
_ALPHABETS = (string.ascii_uppercase, string.ascii_lowercase)
_LINES = 16
_FAULTS = (KeyError, OSError, RuntimeError, StopIteration, ValueError, zipfile.BadZipFile)


def build(wheel: Path, place: str, folder: Path) -> manifest.Recognition:
    """Convert the models in the folder `place` of a wheel into `folder`, and prove them. Raises ExportError."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.startswith(f"{place}/") and name.endswith(".onnx")]
            for file, part in _MODELS.items():
                content = archive.read(next(name for name in names if part in name))
                model = core().read_model(content, b"")
                if file == READER:
                    _write_characters(model, folder)
                    model = _with_best_characters(model)
                    _round_products(model, list(_lines()))
                openvino().save_model(model, folder / file, compress_to_fp16=True)
        recognizer = Recognizer(folder)
        text = recognizer.read(_proof())
    except _FAULTS as error:
        raise ExportError(
            "{name} cannot be converted ({error}).", name=wheel.name, error=convert.first_line(error)
        ) from None
    if text != _PROOF:
        raise ExportError(
            "{name} reads {text} instead of {proof} once it is converted; choose another model.",
            name=wheel.name,
            text=repr(text),
            proof=repr(_PROOF),
        )
    return manifest.Recognition(recognizer.num_characters)


def _write_characters(model: Any, folder: Path) -> None:
    characters = str(model.get_rt_info(["framework", "character"]).astype(str))
    (folder / CHARACTERS).write_text(characters, encoding="utf-8", newline="\n")


def _with_best_characters(model: Any) -> Any:
    """Return a model that outputs the two best logits at each place with their characters, instead of probabilities.

    The best of each chunk of characters are compared first: sorting all of them takes several times as long. The
    character of the second best may be wrong.
    """
    from openvino import opset13 as op

    softmax = model.output(0).get_node().input_value(0).get_node()
    logits = _behind_identities(softmax.input_value(0))
    sum_node = logits.get_node()
    product, bias = sorted((value.get_node() for value in sum_node.input_values()), key=_is_constant)
    weights, biases = _values(product.input_value(1).get_node()), _values(bias).reshape(1, 1, -1)
    missing = -weights.shape[1] % _CHUNK
    weights = np.pad(weights, ((0, 0), (0, missing)))
    biases = np.pad(biases, ((0, 0), (0, 0), (0, missing)), constant_values=_NEVER)
    halves = op.convert(op.constant(weights.astype(np.float16)), "f32")
    products = op.matmul(product.input_value(0), halves, transpose_a=False, transpose_b=False)
    shape = op.constant(np.array([0, 0, -1, _CHUNK]))
    chunks = op.reshape(op.add(products, op.constant(biases)), shape, special_zero=True)
    zero, one, two, last = (op.constant(np.array([place])) for place in range(4))
    count = op.constant(np.int32(2))
    best_of_chunks = op.topk(op.reduce_max(chunks, last), count, 2, "max", "value", index_element_type="i32")
    number = op.slice(best_of_chunks.output(1), zero, one, one, two)
    chunk = op.gather(chunks, op.squeeze(number, two), op.constant(2), batch_dims=2)
    rival = op.slice(best_of_chunks.output(0), one, two, one, two)
    best = op.topk(op.concat([chunk, rival], 2), count, 2, "max", "value", index_element_type="i32")
    ids = op.add(op.multiply(number, op.constant(np.int32(_CHUNK))), best.output(1))
    return openvino().Model([best.output(0), ids.output(0)], model.get_parameters(), "reader")


def _behind_identities(value: Any) -> Any:
    while value.get_node().get_type_name() == "Identity":
        value = value.get_node().input_value(0)
    return value


def _is_constant(node: Any) -> bool:
    return node.get_type_name() in {"Constant", "Convert"}


def _values(node: Any) -> Any:
    source = node.input_value(0).get_node() if node.get_type_name() == "Convert" else node
    return source.data.astype(np.float32)


def _round_products(model: Any, samples: Sequence[Any]) -> None:
    """Round inputs and weights of large products to INT8; `samples` show the range of the inputs."""
    from openvino import opset13 as op

    products = [node for node in model.get_ordered_ops() if _is_large(node)]
    inputs = [node.input_value(0) for node in products]
    observed = openvino().Model(inputs, model.get_parameters(), "observed")
    request = core().compile_model(observed, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    ends = np.zeros((len(inputs), 2), np.float32)
    for sample in samples:
        values = request.infer({0: sample})
        ends[:, 0] = np.minimum(ends[:, 0], [values[number].min() for number in range(len(inputs))])
        ends[:, 1] = np.maximum(ends[:, 1], [values[number].max() for number in range(len(inputs))])
    for node, (least, most) in zip(products, ends, strict=True):
        unit = (most - least) / 255
        zero = round(-least / unit)  # zero stays zero
        low, high = op.constant(np.float32(-zero * unit)), op.constant(np.float32((255 - zero) * unit))
        node.input(0).replace_source_output(op.fake_quantize(node.input_value(0), low, high, low, high, 256).output(0))
        weights = _values(node.input_value(1).get_node())
        axes = (1, 2, 3) if weights.ndim == 4 else 0
        scales = np.maximum(np.abs(weights).max(axis=axes, keepdims=True) / 127, np.finfo(np.float32).tiny)
        rounded = op.convert(op.constant(np.rint(weights / scales).astype(np.int8)), "f32")
        node.input(1).replace_source_output(op.multiply(rounded, op.constant(scales)).output(0))
    model.validate_nodes_and_infer_types()


def _is_large(node: Any) -> bool:
    """Return True for the product with the characters, and for convolutions with many inputs, in more than one row."""
    if node.get_type_name() == "MatMul":
        weights = node.get_input_partial_shape(1)
        return bool(weights.is_static and weights[1].get_length() >= _MIN_CHARACTERS)
    if node.get_type_name() != "Convolution":
        return False
    _, _, height, width = node.get_output_partial_shape(0)
    if width.is_static or height == 1:
        return False
    return bool(math.prod(node.get_input_shape(1)[1:]) >= _MIN_INPUTS)


def _lines() -> Iterator[Any]:
    """Yield drawn lines as the reader expects them: clean, noisy, and white on black."""
    from PIL import Image, ImageDraw, ImageFont

    random = np.random.default_rng(1)
    for number in range(_LINES):
        size = int(random.integers(22, 38))
        font = ImageFont.load_default(size)
        text = " ".join(random.permutation([*_WORDS, *_ALPHABETS])[: random.integers(3, 12)])
        picture = Image.new("L", (int(font.getlength(text)) + 24, LINE_HEIGHT), 255)
        ImageDraw.Draw(picture).text((12, LINE_HEIGHT / 2 - 0.6 * size), text, 0, font)
        grey: Any = np.asarray(picture, np.float32)
        if number % 2:
            grey = grey * 0.75 + 45 + random.normal(0, 18, grey.shape)
        if number % 5 == 4:
            grey = 255 - grey
        yield np.broadcast_to(grey.clip(0, 255) / 127.5 - 1, (1, 3, *grey.shape)).astype(np.float32)


def _proof() -> Any:
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("L", (640, 120), 255)
    ImageDraw.Draw(picture).text((40, 40), _PROOF, 0, ImageFont.load_default(36))
    return picture
