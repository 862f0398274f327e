"""llama.cpp's server out of the package xllamacpp, with those flags of `llama-server` that the benchmarks use.

`PYTHON app/bench/speed/llama_package.py --model FILE --port N`, where PYTHON has xllamacpp. It needs nothing of
Headstart.
"""

import argparse
import signal

import xllamacpp  # type: ignore[import-not-found, unused-ignore]


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=int, default=-1)
    parser.add_argument("--ctx-size", type=int, default=0)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--flash-attn", choices=("on", "off", "auto"), default="auto")
    parser.add_argument("--spec-type", help="as in llama-server: draft-simple, ngram-simple, ngram-mod, ...")
    parser.add_argument("--model-draft", default="")
    parser.add_argument("--spec-draft-n-max", type=int)
    parser.add_argument("--spec-draft-p-min", type=float)
    given = parser.parse_args()
    params = xllamacpp.CommonParams()
    params.model.path, params.hostnames, params.port = given.model, [given.host], given.port
    params.n_ctx, params.n_parallel, params.warmup = given.ctx_size, given.parallel, True
    flash = {"on": "ENABLED", "off": "DISABLED", "auto": "AUTO"}[given.flash_attn]
    params.flash_attn_type = getattr(xllamacpp.llama_flash_attn_type, f"LLAMA_FLASH_ATTN_TYPE_{flash}")
    draft = params.speculative.draft
    for threads in (params.cpuparams, params.cpuparams_batch, draft.cpuparams, draft.cpuparams_batch):
        threads.n_threads = given.threads
    if given.spec_type:
        name = f"COMMON_SPECULATIVE_TYPE_{given.spec_type.upper().replace('-', '_')}"
        params.speculative.types = [getattr(xllamacpp.common_speculative_type, name)]
    draft.mparams.path = given.model_draft
    if given.spec_draft_n_max is not None:
        draft.n_max = given.spec_draft_n_max
    if given.spec_draft_p_min is not None:
        draft.p_min = given.spec_draft_p_min
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
