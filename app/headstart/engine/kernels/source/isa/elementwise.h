/* Functions of single numbers, as plain C that compilers turn into vectors. Each instruction set includes them; no sum
   or product is reordered or contracted, so all give the same bits. */
#ifndef ELEMENTWISE_H
#define ELEMENTWISE_H
#include "../kernels.h"
#include <float.h>
#include <math.h>

enum { PARTIAL_SUMS = 16 };

/* Adding it rounds to the nearest whole number, ties to even, and leaves that number in the lowest bits. */
#define ROUND_TO_WHOLE 12582912.0f

/* Largest magnitude, as bits, which are in the order of the numbers; NaN and infinity are the largest. */
INLINE uint32_t largest_magnitude(const float *x, int count)
{
    uint32_t largest = 0;
    for (int i = 0; i < count; i++) {
        uint32_t bits = bits_of(x[i]) & 0x7fffffff;
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

INLINE int32_t sum_of_half(const int8_t *x)
{
    int32_t sum = 0;
#pragma GCC unroll 1 /* Clang makes vectors of a loop, but not of 16 additions in a row. */
    for (int i = 0; i < STEP / 2; i++) sum += x[i];
    return sum;
}

/* Round a step to INT8: scale = max|x| / 127. A step without a usable scale is zero; with NaN or infinity in it its
   scale is NaN, so that its products are. */
INLINE void quantize_step(const float *x, int halves, uint8_t *out, int tile, int token)
{
    static const float zeros[STEP];
    const uint32_t infinity = 0x7f800000;
    uint32_t largest = largest_magnitude(x, STEP);
    float unit = float_of(largest) / 127.0f, inverse = 1.0f / unit;
    if (largest >= infinity || unit < FLT_MIN) {
        x = zeros;
        inverse = 0.0f;
        unit = largest >= infinity ? NAN : 0.0f;
    }
    int8_t values[STEP];
    for (int i = 0; i < STEP; i++) values[i] = (int8_t)bits_of(x[i] * inverse + ROUND_TO_WHOLE);
    memcpy(values_of(out, tile) + token * STEP, values, STEP);
    int32_t first = sum_of_half(values), second = sum_of_half(values + STEP / 2);
    scales_of(out)[token] = unit;
    scaled_sums_of(out, tile)[token] = unit * (float)(first + second);
    int16_t sums[2] = {(int16_t)-first, (int16_t)-second};
    int32_t sum = -first - second;
    memcpy(negative_sums_of(out, tile) + token, halves ? (const void *)sums : &sum, sizeof sum);
}

/* Round some steps of a token, the first of which is step `first`. */
static void quantize(const float *x, int steps, int halves, const struct q8 *out, int token, int first)
{
    int tile = token / out->tile, n = tokens_of_tile(out, tile);
    for (int step = 0; step < steps; step++)
        quantize_step(x + step * STEP, halves, activations_of(out, tile, first + step), n, token % out->tile);
}

/* 1 / sqrt(mean(x^2) + epsilon). Number i is added to partial sum i % 16; these are added in halves. */
static float inverse_rms(const float *x, int width, float epsilon)
{
    float sums[PARTIAL_SUMS] = {0};
    int i = 0;
    for (; i + PARTIAL_SUMS <= width; i += PARTIAL_SUMS)
        for (int k = 0; k < PARTIAL_SUMS; k++) sums[k] = fmaf(x[i + k], x[i + k], sums[k]);
    for (int k = 0; i + k < width; k++) sums[k] = fmaf(x[i + k], x[i + k], sums[k]);
    for (int half = PARTIAL_SUMS / 2; half; half /= 2)
        for (int k = 0; k < half; k++) sums[k] += sums[k + half];
    return 1.0f / sqrtf(sums[0] / (float)width + epsilon);
}

static void scale(const float *restrict x, float by, const float *restrict gain, int width, float *restrict out)
{
    for (int i = 0; i < width; i++) out[i] = x[i] * by * gain[i];
}

/* exp(x) for x in -87..88 to 1e-7 of it; beyond them that of the nearer end. NaN stays NaN. */
INLINE float exponential(float x)
{
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    float shifted = fmaf(x, 1.44269504f, ROUND_TO_WHOLE), n = shifted - ROUND_TO_WHOLE;
    float r = fmaf(n, -0.693359375f, x); /* x - n * log(2), in two parts */
    r = fmaf(n, 2.12194440e-4f, r);
    float p = 1.9875691500e-4f;
    p = fmaf(p, r, 1.3981999507e-3f);
    p = fmaf(p, r, 8.3334519073e-3f);
    p = fmaf(p, r, 4.1665795894e-2f);
    p = fmaf(p, r, 1.6666665459e-1f);
    p = fmaf(p, r, 5.0000001201e-1f);
    p = fmaf(r * r, p, r + 1.0f);
    return p * float_of((bits_of(shifted) + 127) << 23); /* p * 2^n */
}

INLINE float silu(float x) { return x / (1.0f + exponential(-x)); }

/* x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) */
INLINE float gelu_tanh(float x)
{
    float cubic = fmaf(0.044715f * x * x, x, x);
    return x / (1.0f + exponential(-1.59576912f * cubic));
}

static void gate(int activation, float *restrict gates, const float *restrict up, int count)
{
    if (activation == HK_SILU)
        for (int i = 0; i < count; i++) gates[i] = silu(gates[i]) * up[i];
    else
        for (int i = 0; i < count; i++) gates[i] = gelu_tanh(gates[i]) * up[i];
}
#endif
