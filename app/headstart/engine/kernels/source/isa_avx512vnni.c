/* AVX512 with VNNI. Needs F, BW, CD, DQ, VL and VNNI. */
#if defined(__x86_64__)
#include "simd512.h"

#define TILE 8
#include "attention.h"
#include "products.h"

const struct kernels avx512vnni_kernels = {
    .tile = TILE,
    .quantize = quantize,
    .inverse_rms = inverse_rms,
    .scale = scale,
    .gate = gate,
    .mul_mat = mul_mat_block,
    .rope_and_store_kv = rope_and_store_kv,
    .attend = attend,
    .merge_ranges = merge_ranges,
    .move_kv = move_kv,
};
#endif
