"""Runs llama.cpp's own server on a GGUF file with a context and prints its address; ends with its standard input.

Run it as a program. It needs `xllamacpp`, whose wheels have that server built; it lives in an environment of its
own, as nothing else here uses it.
"""

import sys

import xllamacpp  # type: ignore[import-not-found]


def main() -> None:
    """Serve until standard input is closed."""
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[1]
    parameters.n_ctx = int(sys.argv[2])
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1  # several would wait for one another on a busy machine
    server = xllamacpp.Server(parameters)
    print(f"address {server.listening_address}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
