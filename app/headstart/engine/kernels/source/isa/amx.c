/* AMX: products of many tokens. Needs AMX-TILE, AMX-INT8 and what AVX512-VNNI needs, whose kernels do all else. */
#if defined(__x86_64__)
#include "simd512.h"

#define TILES
#include "products.h"

/* With fewer tokens, unpacking takes longer than tiles gain. */
const struct kernels_of_many amx_kernels = {.tokens = 24, .tile = MAX_TILE, .mul_mat = mul_mat_block};
#endif
