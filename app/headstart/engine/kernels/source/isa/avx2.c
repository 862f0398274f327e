/* AVX2 without VNNI: vpmaddubsw adds two products in 16 bits, and would saturate for unsigned times signed 8 bits.
   Needs x86-64-v3. */
#if defined(__x86_64__)
#include "simd256.h"

#define TILE 8
#define PANELS
/* The most tokens that two vectors of rows are multiplied by: with more, sums do not stay in registers. */
#define MAX_WITH_TWO(format) ((format) == HK_Q6_K ? 3 : has_pairs(format) ? 4 : (format) == HK_Q8_0 ? 6 : TILE)
#define VECTORS(format, n) ((n) > MAX_WITH_TWO(format) ? 1 : 2)
#define DOTS(bits) ((bits) <= 4 ? 8 : (bits) == 5 ? 4 : 2)
enum { OFFSET8 = 128, HIGH_CODES = 1, LIGHT = 0, LIGHT8 = 0, AHEAD = 6144, AHEAD_FIRST = 2048 };

/* Sixteen products of 15 * 127 stay within 16 bits. */
INLINE pairs begin(ints sums) { return (void)sums, _mm256_setzero_si256(); }
INLINE pairs dot4(pairs p, ints u, ints x) { return _mm256_add_epi16(p, _mm256_maddubs_epi16(u, x)); }
INLINE ints finish(ints sums, pairs p) { return add_ints(sums, _mm256_madd_epi16(p, _mm256_set1_epi16(1))); }
INLINE ints finish_scaled(ints sums, pairs p, ints f)
{
    return add_ints(sums, _mm256_madd_epi16(p, or_ints(lower_shorts(f), shift_left(f, 16))));
}

/* |u - 128| times x with the sign of u - 128: two products of 128 * 127 stay within 16 bits. */
INLINE ints dot8(ints sums, ints u, ints x)
{
    ints w = _mm256_xor_si256(u, _mm256_set1_epi8(-128));
    ints two = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
    return add_ints(sums, _mm256_madd_epi16(two, _mm256_set1_epi16(1)));
}

#include "attention.h"
#include "delta.h"
#include "products.h"

const struct kernels avx2_kernels = {TILE, quantize, inverse_rms, scale, gate, mul_mat_block,
                                     rope_and_store_kv, attend, merge_ranges, move_kv, delta_rule, multiply_only};
#endif
