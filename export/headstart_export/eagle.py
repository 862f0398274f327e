"""EAGLE-3 heads: drafts of one layer that read what their target computes.

A head has no tokenizer, and mostly no embeddings: both are its target's. Of a few places in the target's layers it
reads the hidden states, which stand for the text so far.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.errors import ExportError, MismatchedDraftError
from headstart_export import convert, quiet

LEAST_LAYERS = 10  # of a target: OpenVINO GenAI chooses the layers that a head reads, and refuses fewer
READ = 3  # hidden states of the target for each token
_EMBEDDINGS = "model.embed_tokens.weight"
_OPTIONAL = (_EMBEDDINGS, "model.t2d")  # from the target; of no use to who guesses


def require_fit(head: Path, target: Path, names: tuple[str, str], *, code: bool) -> None:
    """Raise MismatchedDraftError unless the head was made for the target's measures. `names`: target first."""
    made, wanted = (convert.load_config(path, code=code) for path in (head, target))
    if made.model_type != "llama" or made.num_hidden_layers != 1:
        raise ExportError(
            "{head} is an EAGLE-3 head of a kind that cannot be converted ({model_type}, "
            "{num_hidden_layers} layers); choose one of a single Llama layer.",
            head=names[1],
            model_type=made.model_type,
            num_hidden_layers=made.num_hidden_layers,
        )
    for measure, known in (("hidden size", "hidden_size"), ("vocabulary size", "vocab_size")):
        first, second = getattr(wanted, known), getattr(made, known)
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
    if wanted.num_hidden_layers < LEAST_LAYERS:
        raise MismatchedDraftError(
            "{target} has {num_hidden_layers} layers, but OpenVINO GenAI runs EAGLE-3 heads with models of "
            "at least {least_layers}; choose an ordinary draft.",
            target=names[0],
            num_hidden_layers=wanted.num_hidden_layers,
            least_layers=LEAST_LAYERS,
        )


def load(head: Path, target: Path, *, code: bool) -> Any:
    """The head as a PyTorch model, with its target's embeddings where it has none. Raises ExportError."""
    quiet.prepare()
    from optimum.exporters.openvino.model_patcher import LlamaEagle3ForCausalLM  # noqa: PLC0415

    # optimum tells from a class's module which library it belongs to, and does not know its own.
    known: Any = type(
        LlamaEagle3ForCausalLM.__name__,
        (LlamaEagle3ForCausalLM,),
        {"__module__": "transformers.models.llama.modeling_llama"},
    )
    config = convert.load_config(head, code=False)
    try:
        model, info = known.from_pretrained(
            head, config=config, dtype="auto", use_safetensors=True, local_files_only=True, output_loading_info=True
        )
    except convert.FAULTS as error:
        raise ExportError(
            "The weights in {head} cannot be loaded ({error}).", head=head.name, error=convert.first_line(error)
        ) from None
    missing = set(info["missing_keys"])
    convert.require_all(info | {"missing_keys": sorted(missing - set(_OPTIONAL))}, head)
    model.config.architectures = [known.__name__]  # marks the IR for those who run it
    if _EMBEDDINGS in missing:
        embeddings = convert.load_weights(target, code=code).get_input_embeddings().weight.data
        model.model.embed_tokens.weight.data.copy_(embeddings)
    return model.eval()


def hidden_states(places: int, width: int) -> NDArray[np.float32]:
    """Made up, and always the same: what a converted head is compared with its source on: [places, width]."""
    return np.random.default_rng(0).standard_normal((places, width), np.float32)


def width(model: Any) -> int:
    """Numbers that the head reads for each token."""
    return READ * int(model.config.hidden_size)
