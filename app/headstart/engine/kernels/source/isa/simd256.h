/* Vector functions of 8 lanes, for AVX2 with FMA and F16C. */
#include "../kernels.h"
#include <immintrin.h>

enum { LANES = 8 };
typedef __m256i ints;
typedef __m256 floats;
typedef __m256i pairs;

INLINE ints load_ints(const void *p) { return _mm256_loadu_si256(p); }
INLINE floats load_halves(const void *p) { return _mm256_cvtph_ps(_mm_loadu_si128(p)); }
INLINE ints load_shorts(const void *p) { return _mm256_cvtepu16_epi32(_mm_loadu_si128(p)); }
INLINE floats load_floats(const float *p) { return _mm256_loadu_ps(p); }
INLINE void store_floats(float *p, floats v) { _mm256_storeu_ps(p, v); }

INLINE ints broadcast(const void *p)
{
    int32_t word;
    memcpy(&word, p, sizeof word);
    return _mm256_set1_epi32(word);
}
INLINE ints fill_int(int32_t i) { return _mm256_set1_epi32(i); }
INLINE floats fill_float(float f) { return _mm256_set1_ps(f); }

INLINE floats broadcast_float(const float *p) { return _mm256_broadcast_ss(p); }
INLINE ints fill_bytes(int i) { return _mm256_set1_epi8((char)i); }
INLINE ints table_of(const uint8_t *p) { return _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)p)); }
INLINE floats as_floats(ints v) { return _mm256_castsi256_ps(v); }

INLINE ints and_ints(ints a, ints b) { return _mm256_and_si256(a, b); }
INLINE ints or_ints(ints a, ints b) { return _mm256_or_si256(a, b); }
INLINE ints shift_right(ints v, int n) { return _mm256_srli_epi32(v, n); }
INLINE ints shift_left(ints v, int n) { return _mm256_slli_epi32(v, n); }
INLINE ints shift_right_signed(ints v, int n) { return _mm256_srai_epi32(v, n); }
INLINE ints look_up(ints table, ints v) { return _mm256_shuffle_epi8(table, v); }

INLINE ints lower_shorts(ints v) { return _mm256_and_si256(v, _mm256_set1_epi32(0xffff)); }
INLINE ints multiply_shorts(ints a, ints b) { return _mm256_madd_epi16(a, b); }
INLINE ints multiply_ints(ints a, ints b) { return _mm256_mullo_epi32(a, b); }
INLINE ints add_ints(ints a, ints b) { return _mm256_add_epi32(a, b); }
INLINE floats to_floats(ints v) { return _mm256_cvtepi32_ps(v); }
INLINE floats multiply(floats a, floats b) { return _mm256_mul_ps(a, b); }
INLINE floats multiply_add(floats a, floats b, floats c) { return _mm256_fmadd_ps(a, b, c); }
