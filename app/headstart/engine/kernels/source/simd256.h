/* Vector functions of 8 lanes, for AVX2 with FMA and F16C. */
#include "kernels.h"
#include <immintrin.h>

enum { LANES = 8 };
typedef __m256i ints;
typedef __m256 floats;
typedef __m256i pairs;

INLINE ints load_ints(const void *p) { return _mm256_loadu_si256(p); }
INLINE floats load_halves(const void *p) { return _mm256_cvtph_ps(_mm_loadu_si128(p)); }
INLINE ints load_shorts(const void *p) { return _mm256_cvtepu16_epi32(_mm_loadu_si128(p)); }
INLINE ints load_bytes(const void *p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64(p)); }
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

INLINE ints low_nibbles(ints v) { return _mm256_and_si256(v, _mm256_set1_epi8(15)); }
INLINE ints high_nibbles(ints v) { return low_nibbles(_mm256_srli_epi16(v, 4)); }

INLINE ints lower_shorts(ints v) { return _mm256_and_si256(v, _mm256_set1_epi32(0xffff)); }
INLINE ints multiply_shorts(ints a, ints b) { return _mm256_madd_epi16(a, b); }
INLINE ints add_ints(ints a, ints b) { return _mm256_add_epi32(a, b); }
INLINE floats to_floats(ints v) { return _mm256_cvtepi32_ps(v); }
INLINE floats multiply(floats a, floats b) { return _mm256_mul_ps(a, b); }
INLINE floats multiply_add(floats a, floats b, floats c) { return _mm256_fmadd_ps(a, b, c); }
