"""Tries a finished model folder out in a process of its own: what OpenVINO makes of it, and how much memory it takes.

`python -m headstart_export.trial` reads one JSON request on standard input and prints one JSON answer.
"""

import dataclasses
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headstart.manifest import Quality
from headstart_export import arithmetic, eagle, own_process, quality, quantize, quiet
from headstart_export.convert import MODEL_FILE

_MINUTES = 60
SETTINGS = {"INFERENCE_PRECISION_HINT": "f32"}  # everything else as it comes


@dataclass(frozen=True)
class Request:
    """What to try.

    `width`: numbers of the hidden states that an EAGLE-3 head reads for each token; 0: it is a model.
    """

    folder: str
    reference: str  # .npy file of the source's logits
    ids: list[int]
    width: int = 0


@dataclass(frozen=True)
class Answer:
    """What came of it. `agreement`: share of places at which its best token is the source's."""

    quality: Quality | None  # None: of an EAGLE-3 head, which reads no text by itself
    ram_bytes: int  # that the process grew by when the model was loaded and had read one token
    agreement: float = 1.0
    activation_group: int | None = None  # see arithmetic.py


def run(request: Request) -> Answer:
    """Try it in a child process. Raises ExportError when the child fails."""
    failure = "The converted model cannot be used ({}); nothing was kept."
    printed = own_process.ask("trial", dataclasses.asdict(request), minutes=_MINUTES, failure=failure)
    answer = json.loads(printed.splitlines()[-1])
    measured = answer["quality"]
    return Answer(**{**answer, "quality": Quality(**measured) if measured else None})


def _answer(request: Request) -> Answer:
    found, ram_bytes = _infer(request)
    reference = np.load(request.reference, mmap_mode="r")
    if request.width:
        return Answer(None, ram_bytes, quality.agreement(reference, found))
    compared = quality.compare(reference, found, request.ids)
    group = _activation_group(request, compared.mean_kl)
    return Answer(compared, ram_bytes, compared.top1_agreement, group)


def _activation_group(request: Request, lost_kl: float) -> int | None:
    import openvino  # noqa: PLC0415

    path = Path(request.folder) / MODEL_FILE
    precision = quantize.read_back(path)
    if precision.weights == "fp16" or precision.group_size:
        return None  # nothing is multiplied in INT8, or the weights' own groups make a single token slower
    settings = {**SETTINGS, "KV_CACHE_PRECISION": "f16"}
    compile_model, model = openvino.Core().compile_model, openvino.Core().read_model(path)

    def build(further: dict[str, str]) -> Any:
        return compile_model(model, "CPU", {**settings, **further}).create_infer_request()

    return arithmetic.coarsest_group(build, read, request.ids, lost_kl)


def _infer(request: Request) -> tuple[quality.Logits, int]:
    import openvino  # noqa: PLC0415
    import psutil  # noqa: PLC0415

    before = psutil.Process().memory_info().rss
    model = openvino.Core().compile_model(Path(request.folder) / MODEL_FILE, "CPU", SETTINGS)
    session = model.create_infer_request()
    read(session, request.ids[:1], width=request.width)
    grown = psutil.Process().memory_info().rss - before
    session.reset_state()
    return read(session, request.ids, width=request.width), grown


def read(session: Any, ids: list[int], past: int = 0, width: int = 0) -> quality.Logits:
    """Logits of all these positions behind `past` others that were read before: [len(ids), vocabulary]."""
    inputs = {
        "input_ids": np.array([ids], np.int64),
        "attention_mask": np.ones((1, past + len(ids)), np.int64),
        "position_ids": np.arange(past, past + len(ids), dtype=np.int64)[None],
        "beam_idx": np.zeros(1, np.int32),
        "hidden_states": eagle.hidden_states(past + len(ids), width)[None, past:],
    }
    wanted = {name for port in session.model_inputs for name in port.names}
    session.infer({name: value for name, value in inputs.items() if name in wanted})
    logits: quality.Logits = session.get_tensor("logits").data[0]
    return logits


def main() -> None:
    """Answer the request on standard input."""
    quiet.prepare()
    request = Request(**json.load(sys.stdin))
    print(json.dumps(dataclasses.asdict(_answer(request))))


if __name__ == "__main__":
    main()
