/* AVX-VNNI: 8 rows a vector. Needs x86-64-v3 and AVX-VNNI. */
#if defined(__x86_64__)
#include "simd256.h"

#define TILE 8
#define VECTORS(format, n) (has_pairs(format) && (n) > 4 ? 1 : 2)
#define DOTS(bits) 8
enum { OFFSET8 = 0, HIGH_CODES = 16, LIGHT = 0, LIGHT8 = 1, AHEAD = 16384, AHEAD_FIRST = 0 };

INLINE pairs begin(ints sums) { return sums; }
INLINE ints finish(ints sums, pairs p) { return (void)sums, p; }
INLINE pairs dot4(pairs p, ints u, ints x) { return _mm256_dpbusd_avx_epi32(p, u, x); }
INLINE ints finish_scaled(ints sums, pairs p, ints f) { return add_ints(sums, multiply_ints(p, f)); }
INLINE ints dot8(ints sums, ints u, ints x) { return _mm256_dpbusd_avx_epi32(sums, u, x); }

#include "attention.h"
#include "delta.h"
#include "products.h"

const struct kernels avxvnni_kernels = {TILE, quantize, inverse_rms, scale, gate, mul_mat_block,
                                        rope_and_store_kv, attend, merge_ranges, move_kv, delta_rule, multiply_only};
#endif
