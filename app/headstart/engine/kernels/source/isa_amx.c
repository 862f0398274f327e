/* AMX for products of many tokens (tiles.h), AVX512 with VNNI for all else. Needs AMX-TILE, AMX-INT8 and what AVX512-VNNI
   needs. */
#if defined(__x86_64__)
#include "simd512.h"

#define TILE 8
#define TILES
#include "attention.h"
#include "products.h"

const struct kernels amx_kernels = {
    .tile = TILE,
    .many = 24, /* below, unpacking takes longer than tiles gain */
    .tile_of_many = 16,
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
