#!/usr/bin/env bash
# Builds llama.cpp's server: `app/bench/speed/llama_server.sh FOLDER [ISA]` prints where the program lies.
#
# ISA is AVX2, AVX-VNNI, AVX512-VNNI or AMX, as the benchmarks' `--isa` has it; by default the best that this processor has
# but AMX. GCC 12 takes the shape of the tiles for unused, so that the first tile instruction ends the server: a line of
# llama.cpp's source is changed for that.
# A second build in the same folder compiles only what depends on the instruction set.
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
sed -i 's/^    _tile_loadconfig(&tc);/    __asm__ volatile("" : : "r"(\&tc) : "memory"); _tile_loadconfig(\&tc);/' \
  "$source/vendor/llama.cpp/ggml/src/ggml-cpu/amx/mmq.cpp"
# Not GGML_NATIVE, which would take AMX. No web page, no HTTPS: the race talks to it on this computer.
instructions=(AVX_VNNI AVX512 AVX512_VBMI AVX512_VNNI AVX512_BF16 AMX_TILE AMX_INT8 AMX_BF16)
isa=${2:-$(grep -qw avx512_vnni /proc/cpuinfo && echo AVX512-VNNI || { grep -qw avx_vnni /proc/cpuinfo && echo AVX-VNNI; } || echo AVX2)}
case $isa in
AVX2) has= ;;
AVX-VNNI) has=AVX_VNNI ;;
AVX512-VNNI | AMX)
  has="AVX512 AVX512_VBMI AVX512_VNNI"
  [ "$isa" = AMX ] && has+=" AMX_TILE AMX_INT8 AMX_BF16"
  grep -qw avx512_bf16 /proc/cpuinfo && has+=" AVX512_BF16"
  ;;
*)
  echo "There is no $isa; name AVX2, AVX-VNNI, AVX512-VNNI or AMX." >&2
  exit 2
  ;;
esac
options=()
for name in SSE42 AVX AVX2 BMI2 FMA F16C $has; do options+=("-DGGML_$name=ON"); done
for name in "${instructions[@]}"; do [[ " $has " = *" $name "* ]] || options+=("-DGGML_$name=OFF"); done
cmake -S "$source/vendor/llama.cpp" -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=OFF -DBUILD_SHARED_LIBS=OFF \
  -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
  "${options[@]}" >&2
cmake --build build --target llama-server >&2
cp build/bin/llama-server "llama-server-$isa"
echo "$folder/llama-server-$isa"
