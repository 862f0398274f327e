/* AVX512 with VNNI. Needs F, BW, CD, DQ, VL and VNNI. */
#if defined(__x86_64__)
#include "simd512.h"

#define TILE 8
#include "attention.h"
#include "delta.h"
#include "products.h"

const struct kernels avx512vnni_kernels = {TILE, quantize, inverse_rms, scale, gate, mul_mat_block,
                                           rope_and_store_kv, attend, merge_ranges, move_kv, delta_rule, multiply_only};
#endif
