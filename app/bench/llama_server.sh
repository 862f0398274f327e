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
# Not GGML_NATIVE: the code for AMX ends with a fault where a virtual machine names AMX but does not hand it on. No web
# page, no HTTPS: the race talks to it on this computer.
instructions=(SSE42 AVX AVX2 BMI2 FMA F16C)
grep -qw avx512_vnni /proc/cpuinfo && instructions+=(AVX512 AVX512_VBMI AVX512_VNNI)
grep -qw avx512_bf16 /proc/cpuinfo && instructions+=(AVX512_BF16)
options=("${instructions[@]/#/-DGGML_}")
cmake -S "$source/vendor/llama.cpp" -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=OFF -DBUILD_SHARED_LIBS=OFF \
  -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
  "${options[@]/%/=ON}" >&2
cmake --build build --target llama-server >&2
echo "$folder/build/bin/llama-server"
