#!/usr/bin/env bash
# Builds llama.cpp's server for this computer's processor: `app/bench/llama_server.sh FOLDER` prints where the program lies.
#
# The source comes from the package llama-cpp-python. Needs pip, and Debian's cmake, ninja-build and g++. Takes about ten
# minutes on two cores.
set -euo pipefail
folder=$(realpath -m "${1:?Name a folder to build in.}")
version=0.3.36
mkdir -p "$folder"
cd "$folder"
source=llama_cpp_python-$version
[ -f "$source.tar.gz" ] || "${PYTHON:-python3}" -m pip download -q --no-deps --no-binary :all: "llama-cpp-python==$version" >&2
[ -d "$source" ] || tar xzf "$source.tar.gz"
# GGML_NATIVE: use every instruction that this processor has. No web page, no HTTPS: the race talks to it on this computer.
cmake -S "$source/vendor/llama.cpp" -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=OFF \
  -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF >&2
cmake --build build --target llama-server >&2
echo "$folder/build/bin/llama-server"
