"""From source weights to an OpenVINO IR with 16-bit weights."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headstart import vocabulary
from headstart.errors import ExportError
from headstart_export import gguf, quiet

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
    """The source's tokenizer, rebuilt where the source is a GGUF file. Raises ExportError.

    `tokenizer.json` is taken as it is: WORKAROUND https://github.com/huggingface/transformers/issues/45488, where the
    class that a model names (Llama's, GPT-2's) puts its own splitting in the place of the file's.
    """
    if source.is_file():
        return gguf.rebuild(source)
    if not (source / vocabulary.FILE_NAME).is_file():
        raise ExportError(
            "{source} has no {file_name}, which Headstart needs; use a newer version of the model.",
            source=source.name,
            file_name=vocabulary.FILE_NAME,
        )
    quiet.prepare()
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

    try:
        return PreTrainedTokenizerFast.from_pretrained(source, local_files_only=True)
    except FAULTS as error:
        raise ExportError(
            "The tokenizer in {source} cannot be loaded ({error}).", source=source.name, error=first_line(error)
        ) from None


def load_config(source: Path, *, code: bool) -> Any:
    """The configuration of the source's text model. Raises ExportError."""
    quiet.prepare()
    from transformers import AutoConfig  # noqa: PLC0415

    folder, more = (source.parent, {"gguf_file": source.name}) if source.is_file() else (source, {})
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=code, **more)
    except FAULTS as error:
        raise ExportError(
            "config.json in {source} cannot be used ({error}).", source=source.name, error=first_line(error)
        ) from None
    return config.get_text_config()


def load_weights(source: Path, *, code: bool) -> Any:
    """The source as a PyTorch model in its stored precision; f16 where it comes from a GGUF file."""
    quiet.prepare()
    from transformers import AutoModelForCausalLM  # noqa: PLC0415

    options = {"local_files_only": True, "trust_remote_code": code, "output_loading_info": True}
    try:
        if source.is_file():
            model, info = gguf.load(source, **options)
        else:
            model, info = AutoModelForCausalLM.from_pretrained(source, dtype="auto", use_safetensors=True, **options)
    except FAULTS as error:
        raise ExportError(
            "The weights in {source} cannot be loaded ({error}).", source=source.name, error=first_line(error)
        ) from None
    require_all(info, source)
    model.config.architectures = [type(model).__name__]  # missing where the configuration comes from a GGUF file
    return model.eval()


def to_openvino(model: Any, folder: Path) -> None:
    """Write the IR and the model's two configuration files into `folder`. Raises ExportError."""
    import torch  # noqa: PLC0415
    from optimum.exporters.openvino import model_configs  # noqa: PLC0415
    from optimum.exporters.openvino.convert import export_from_model  # noqa: PLC0415
    from optimum.intel import OVConfig  # noqa: PLC0415

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
    import openvino  # noqa: PLC0415
    from openvino_tokenizers import convert_tokenizer as convert  # noqa: PLC0415

    tokenizer.save_pretrained(folder)
    try:
        with _separate_splits():
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
    from openvino_tokenizers import hf_parser, tokenizer_pipeline  # noqa: PLC0415

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


def require_all(info: dict[str, Any], source: Path) -> None:
    """Weights that a file lacks, or has in another shape, would silently become random numbers."""
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
    """An error of a library, short enough for a sentence."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".")[:300] if lines else type(error).__name__
