"""From source weights, of models and of EAGLE-3 heads, to an OpenVINO IR with 16-bit weights."""

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headstart.engine.runners.graph import MIN_LAYERS
from headstart.errors import ExportError, MismatchedDraftError
from headstart.library import vocabulary
from headstart_export import process
from headstart_export.gguf import metadata, tokenizer_model
from headstart_export.progress import Advance, ignore

MODEL_FILE = "openvino_model.xml"
TASK = "text-generation-with-past"

# What the libraries raise for models and files that they cannot deal with.
FAULTS = (OSError, RuntimeError, ValueError, KeyError, IndexError, TypeError, AttributeError, ImportError)

# optimum-intel forbids these with our version of transformers, yet exports them right: tried on tiny models.
LIFTED_LIMITS = {
    "gemma": "GemmaOpenVINOConfig",
    "gemma2": "Gemma2OpenVINOConfig",
    "gemma3_text": "Gemma3TextOpenVINOConfig",
}


def load_tokenizer(source: Path) -> Any:
    """Return the source's tokenizer, rebuilt if the source is a GGUF file. Raises ExportError.

    `tokenizer.json` is taken as it is: WORKAROUND https://github.com/huggingface/transformers/issues/45488, where the
    class that a model names (Llama's, GPT-2's) puts its own splitting in the place of the file's.
    """
    if source.is_file():
        return tokenizer_model.rebuild(source)
    if not (source / vocabulary.FILE_NAME).is_file():
        raise ExportError(
            "{source} has no {file_name}, which Headstart needs; use a newer version of the model.",
            source=source.name,
            file_name=vocabulary.FILE_NAME,
        )
    process.prepare()
    from transformers import PreTrainedTokenizerFast

    try:
        return PreTrainedTokenizerFast.from_pretrained(source, local_files_only=True)
    except FAULTS as error:
        raise ExportError(
            "The tokenizer in {source} cannot be loaded ({error}).", source=source.name, error=first_line(error)
        ) from None


def load_config(source: Path, *, code: bool) -> Any:
    """Return the configuration of the source's text model. Raises ExportError."""
    process.prepare()
    from transformers import AutoConfig

    folder, more = (source.parent, {"gguf_file": source.name}) if source.is_file() else (source, {})
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=code, **more)
    except FAULTS as error:
        raise ExportError(
            "config.json in {source} cannot be used ({error}).", source=source.name, error=first_line(error)
        ) from None
    return config.get_text_config()


def load_weights(source: Path, advance: Advance = ignore, *, code: bool) -> Any:
    """Return the source as a PyTorch model in its stored precision; f16 for a GGUF file."""
    process.prepare()
    from transformers import AutoModelForCausalLM

    options = {"local_files_only": True, "trust_remote_code": code, "output_loading_info": True}
    try:
        if source.is_file():
            model, info = load_gguf(source, advance, **options)
        else:
            model, info = AutoModelForCausalLM.from_pretrained(source, dtype="auto", use_safetensors=True, **options)
    except FAULTS as error:
        raise ExportError(
            "The weights in {source} cannot be loaded ({error}).", source=source.name, error=first_line(error)
        ) from None
    require_all(info, source)
    model.config.architectures = [type(model).__name__]  # missing where the configuration comes from a GGUF file
    return model.eval()


def load_gguf(path: Path, advance: Advance = ignore, **options: Any) -> Any:
    """Return what `from_pretrained` returns for these options, with weights in f16; raise what it raises."""
    import torch
    from transformers import AutoModelForCausalLM

    with _faster_gguf_loading(path, advance) as reader:
        loaded = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float16, **options)
    factors = [tensor.data for tensor in reader.tensors if tensor.name == metadata.ROPE_FACTORS]
    if factors:  # WORKAROUND transformers forgets them, and the model would lose the thread of long texts
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        model.model.rotary_emb.inv_freq /= torch.tensor(factors[0])
    return loaded


@contextlib.contextmanager
def _faster_gguf_loading(path: Path, advance: Advance) -> Iterator[Any]:
    """WORKAROUND transformers 5.5 reads the vocabulary twice and holds all weights in f32 before it makes them f16.

    It imports these three functions from `gguf` at each call, so that others can replace them for the time of one load:
    the file is read once, quickly; weights become f16 one by one, which halves the memory; and the table of names, made
    once per module otherwise, is kept. The result is the same, bit by bit.
    """
    import gguf

    reader, dequantize, names = gguf.GGUFReader, gguf.dequantize, gguf.get_tensor_name_map
    already, done = metadata.read(path), 0
    total = sum(int(tensor.n_bytes) for tensor in already.tensors)

    def as_half(data: Any, kind: Any) -> Any:
        nonlocal done
        done += data.nbytes
        advance(done, total)
        weights = dequantize(data, kind)
        return weights.astype("float16") if weights.ndim == 2 else weights

    gguf.GGUFReader = lambda _path: already
    gguf.dequantize, gguf.get_tensor_name_map = as_half, functools.cache(names)
    try:
        yield already
    finally:
        gguf.GGUFReader, gguf.dequantize, gguf.get_tensor_name_map = reader, dequantize, names


def to_openvino(model: Any, folder: Path) -> None:
    """Write the IR and the model's two configuration files into `folder`. Raises ExportError."""
    import torch
    from optimum.exporters.openvino import model_configs
    from optimum.exporters.openvino.convert import export_from_model
    from optimum.intel import OVConfig

    if model.config.model_type in LIFTED_LIMITS:
        getattr(model_configs, LIFTED_LIMITS[model.config.model_type]).MAX_TRANSFORMERS_VERSION = "5.5.99"
    half = model.dtype in {torch.float16, torch.bfloat16}
    try:
        export_from_model(model, folder, task=TASK, ov_config=OVConfig(dtype="fp16"), patch_16bit_model=half)
    except FAULTS as error:
        raise ExportError(
            "Models of the kind {model_type!r} cannot be converted ({error}).",
            model_type=model.config.model_type,
            error=first_line(error),
        ) from None


def convert_tokenizer(tokenizer: Any, folder: Path) -> None:
    """Write the tokenizer's own files, its chat template, and its two OpenVINO models into `folder`."""
    import openvino
    from openvino_tokenizers import convert_tokenizer as convert

    tokenizer.save_pretrained(folder)
    try:
        with _separate_splits(), _whole_tags():
            encoder, decoder = convert(tokenizer, with_detokenizer=True, clean_up_tokenization_spaces=False)
    except FAULTS as error:
        raise ExportError(
            "This tokenizer cannot be converted to OpenVINO ({error}).", error=first_line(error)
        ) from None
    openvino.save_model(encoder, folder / "openvino_tokenizer.xml")
    openvino.save_model(decoder, folder / "openvino_detokenizer.xml")


@contextlib.contextmanager
def _separate_splits() -> Iterator[None]:
    """WORKAROUND https://github.com/openvinotoolkit/openvino_tokenizers/pull/456 makes one pattern of several.

    Each pattern of a tokenizer splits the pieces that the one before it left. Joined by "|" they all see the whole
    text, and white space before a digit is split otherwise. Digits apart from each other are joined in a second place.
    """
    from openvino_tokenizers import hf_parser, tokenizer_pipeline

    pipeline, parse = tokenizer_pipeline.TokenizerPipeline, hf_parser.parse_byte_level_pretokenization_step
    join = pipeline.merge_regex_split_steps

    def parse_apart(step: dict[str, Any], individual_digits: bool = False) -> list[Any]:
        digits = [tokenizer_pipeline.RegexSplitStep.digits_splitter()] if individual_digits else []
        return [*digits, *parse(step)]

    hf_parser.parse_byte_level_pretokenization_step = parse_apart
    pipeline.merge_regex_split_steps = lambda _pipeline: None
    try:
        yield
    finally:
        hf_parser.parse_byte_level_pretokenization_step, pipeline.merge_regex_split_steps = parse, join


@contextlib.contextmanager
def _whole_tags() -> Iterator[None]:
    """WORKAROUND OpenVINO writes each token of six characters in angle brackets as one byte, as if it were <0x41>.

    Gemma has such tokens: <code>, </div>. Where there are any, the vocabulary gets the bytes in place of their names.
    """
    from openvino_tokenizers import hf_parser, utils

    parser, decoder = hf_parser.TransformersTokenizerPipelineParser, hf_parser.VocabDecoderStep
    steps, take, known = parser.decoding_map, decoder.from_hf_json, parser.decoding

    def decoding(self: Any) -> None:
        names = self.pipeline.vocab or []
        others = hf_parser.parse_special_tokens(self.original_tokenizer, only_special_tokens=False) or {}
        tags = [
            name
            for name in (*names, *others.values())
            if len(name) == 6 and name[0] + name[-1] == "<>" and name[:3] != "<0x"
        ]
        if not self.tokenizer_json["model"].get("byte_fallback") or not tags:
            known(self)
            return

        def in_bytes(**options: Any) -> Any:
            step = take(**options)
            added = options["added_tokens"] or {}
            rows = max(len(names), *(place + 1 for place in added))
            whole = [added.get(place) or (names[place] if place < len(names) else "") for place in range(rows)]
            step.vocab = [utils.transform_unigram_token_to_bytes(name, byte_fallback=True) for name in whole]
            return step

        decoder.from_hf_json = in_bytes
        parser.decoding_map = {name: step for name, step in steps.items() if name not in {"Replace", "ByteFallback"}}
        try:
            known(self)
        finally:
            decoder.from_hf_json, parser.decoding_map = take, steps

    parser.decoding = decoding
    try:
        yield
    finally:
        parser.decoding = known


def require_all(info: dict[str, Any], source: Path) -> None:
    """Raise ExportError if weights are missing or misshapen, as they would silently become random numbers."""
    lost = [str(name) for kind in ("missing_keys", "mismatched_keys") for name in info[kind]]
    if lost:
        raise ExportError(
            "{source} does not hold all weights of its architecture: {name} is missing or has another shape "
            "({count} in all). Choose another version of the model.",
            source=source.name,
            name=lost[0],
            count=len(lost),
        )


def first_line(error: BaseException) -> str:
    """Return the first line of a library's error, short enough for a sentence."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".")[:300] if lines else type(error).__name__


# EAGLE-3 heads are drafts of one layer that read hidden states of their target. They have no tokenizer, and mostly no
# embeddings: both are the target's.
HEAD_READS = 3  # hidden states of the target for each token
_EMBEDDINGS = "model.embed_tokens.weight"
_OPTIONAL = (_EMBEDDINGS, "model.t2d")  # from the target; of no use for guesses


def require_head_fits(head: Path, target: Path, names: tuple[str, str], *, code: bool) -> None:
    """Raise MismatchedDraftError unless the sizes of a head fit the target. `names`: target first."""
    head_config, target_config = (load_config(path, code=code) for path in (head, target))
    if head_config.model_type != "llama" or head_config.num_hidden_layers != 1:
        raise ExportError(
            "{head} is an EAGLE-3 head of a kind that cannot be converted ({model_type}, "
            "{num_hidden_layers} layers); choose one of a single Llama layer.",
            head=names[1],
            model_type=head_config.model_type,
            num_hidden_layers=head_config.num_hidden_layers,
        )
    for measure, known in (("hidden size", "hidden_size"), ("vocabulary size", "vocab_size")):
        first, second = getattr(target_config, known), getattr(head_config, known)
        if first != second:
            raise MismatchedDraftError(
                "{head} cannot guess for {target}: it was made for a {measure} of {second}, "
                "but {target} has {first}; choose the EAGLE-3 head that was made for this model.",
                head=names[1],
                target=names[0],
                measure=measure,
                second=second,
                first=first,
            )
    if target_config.num_hidden_layers < MIN_LAYERS:
        raise MismatchedDraftError(
            "{target} has {num_hidden_layers} layers, but OpenVINO GenAI runs EAGLE-3 heads with models of "
            "at least {least_layers}; choose an ordinary draft.",
            target=names[0],
            num_hidden_layers=target_config.num_hidden_layers,
            least_layers=MIN_LAYERS,
        )


def load_head(head: Path, target: Path, *, code: bool) -> Any:
    """Return the head as a PyTorch model. Embeddings that it lacks are taken from its target. Raises ExportError."""
    process.prepare()
    from optimum.exporters.openvino.model_patcher import LlamaEagle3ForCausalLM

    # optimum tells from a class's module which library it belongs to, and does not know its own.
    known: Any = type(
        LlamaEagle3ForCausalLM.__name__,
        (LlamaEagle3ForCausalLM,),
        {"__module__": "transformers.models.llama.modeling_llama"},
    )
    config = load_config(head, code=False)
    try:
        model, info = known.from_pretrained(
            head, config=config, dtype="auto", use_safetensors=True, local_files_only=True, output_loading_info=True
        )
    except FAULTS as error:
        raise ExportError(
            "The weights in {head} cannot be loaded ({error}).", head=head.name, error=first_line(error)
        ) from None
    if more := sorted(map(str, info["unexpected_keys"])):  # a newer kind: without these it would guess at random
        raise ExportError(
            "{head} is an EAGLE-3 head with weights that cannot be converted ({weight}); choose one without them.",
            head=head.name,
            weight=more[0],
        )
    missing = set(info["missing_keys"])
    require_all(info | {"missing_keys": sorted(missing - set(_OPTIONAL))}, head)
    model.config.architectures = [known.__name__]  # marks the IR for those who run it
    if _EMBEDDINGS in missing:
        known = load_weights(target, code=code).get_input_embeddings()
        model.model.embed_tokens.weight.data.copy_(known.weight.data)
    return model.eval()
