/* Vectors of AVX512 for products.h and attention.h: 16 rows. */
#ifndef SIMD512_H
#define SIMD512_H
#include "../kernels.h"
#include <immintrin.h>

#define VECTORS(format, n) (has_pairs(format) && (n) > 6 ? 1 : 2)
#define DOTS(bits) 8
enum { LANES = 16, OFFSET8 = 0, HIGH_CODES = 16, LIGHT = 1, LIGHT8 = 2, AHEAD = 16384, AHEAD_FIRST = 0 };

typedef __m512i ints;
typedef __m512 floats;
typedef __m512i pairs;

INLINE ints load_ints(const void *p) { return _mm512_loadu_si512(p); }
INLINE floats load_halves(const void *p) { return _mm512_cvtph_ps(_mm256_loadu_si256(p)); }
INLINE ints load_shorts(const void *p) { return _mm512_cvtepu16_epi32(_mm256_loadu_si256(p)); }
INLINE floats load_floats(const float *p) { return _mm512_loadu_ps(p); }
INLINE void store_floats(float *p, floats v) { _mm512_storeu_ps(p, v); }

INLINE ints broadcast(const void *p)
{
    int32_t word;
    memcpy(&word, p, sizeof word);
    return _mm512_set1_epi32(word);
}
INLINE ints fill_int(int32_t i) { return _mm512_set1_epi32(i); }
INLINE floats fill_float(float f) { return _mm512_set1_ps(f); }

INLINE floats broadcast_float(const float *p) { return _mm512_set1_ps(*p); }
INLINE ints fill_bytes(int i) { return _mm512_set1_epi8((char)i); }
INLINE ints table_of(const uint8_t *p) { return _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)p)); }
INLINE floats as_floats(ints v) { return _mm512_castsi512_ps(v); }

INLINE ints and_ints(ints a, ints b) { return _mm512_and_si512(a, b); }
INLINE ints or_ints(ints a, ints b) { return _mm512_or_si512(a, b); }
INLINE ints shift_right(ints v, int n) { return _mm512_srli_epi32(v, n); }
INLINE ints shift_left(ints v, int n) { return _mm512_slli_epi32(v, n); }
INLINE ints shift_right_signed(ints v, int n) { return _mm512_srai_epi32(v, n); }
INLINE ints look_up(ints table, ints v) { return _mm512_shuffle_epi8(table, v); }

INLINE pairs begin(ints sums) { return sums; }
INLINE ints finish(ints sums, pairs p) { return (void)sums, p; }
INLINE pairs dot4(pairs p, ints u, ints x) { return _mm512_dpbusd_epi32(p, u, x); }
INLINE ints dot8(ints sums, ints u, ints x) { return _mm512_dpbusd_epi32(sums, u, x); }

INLINE ints lower_shorts(ints v) { return _mm512_and_si512(v, _mm512_set1_epi32(0xffff)); }
INLINE ints multiply_shorts(ints a, ints b) { return _mm512_madd_epi16(a, b); }
INLINE ints multiply_ints(ints a, ints b) { return _mm512_mullo_epi32(a, b); }
INLINE ints add_ints(ints a, ints b) { return _mm512_add_epi32(a, b); }
INLINE ints finish_scaled(ints sums, pairs p, ints f) { return add_ints(sums, multiply_ints(p, f)); }
INLINE floats to_floats(ints v) { return _mm512_cvtepi32_ps(v); }
INLINE floats multiply(floats a, floats b) { return _mm512_mul_ps(a, b); }
INLINE floats multiply_add(floats a, floats b, floats c) { return _mm512_fmadd_ps(a, b, c); }
#endif
