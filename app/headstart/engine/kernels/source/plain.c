/* Plain C, for processors without a set of their own, and as what the others are tested against. */
#include "attention.h"
#include "elementwise.h"

/* Unsigned weights of 32 columns, in the order of the rounded activations. */
static void unpack8(const uint8_t *lines, int row, uint8_t weights[STEP])
{
    for (int i = 0; i < STEP; i++) weights[i] = lines[i / 4 * LINE + row * 4 + i % 4];
}

static void unpack4(const uint8_t *lines, int row, uint8_t weights[STEP])
{
    for (int i = 0; i < STEP; i++) {
        uint8_t both = lines[i / 8 * LINE + row * 4 + i % 4];
        weights[i] = i % 8 < 4 ? both & 15 : both >> 4;
    }
}

static int32_t dot(const uint8_t weights[STEP], const int8_t *x)
{
    int32_t sum = 0;
    for (int i = 0; i < STEP; i++) sum += weights[i] * x[i];
    return sum;
}

static float half_at(const uint8_t *halves, int row) { return float_of_half(load_u16(halves + row * 2)); }

/* What a step of a row adds to the product of a token; `total` is that of the steps before. `step` counts from the
   beginning of the row. Each function below takes one format. */
typedef float add_step(const uint8_t *block, int step, int row, const struct activations *a, int token, float total);

static int32_t dot_of(const uint8_t weights[STEP], const struct activations *a, int token)
{
    return dot(weights, a->values + token * STEP);
}

static float add_int8(const uint8_t *block, int step, int row, const struct activations *a, int token, float total)
{
    uint8_t weights[STEP];
    unpack8(block + INT8_HEADER + (size_t)step * STEP / 4 * LINE, row, weights);
    int32_t zero = load_u16(block + HK_BLOCK * 2 + row * 2), sum = dot_of(weights, a, token) - zero * a->sum[token];
    return fmaf((float)sum, a->scale[token], total);
}

static float add_with_minimum(const uint8_t *lines, float scale, float minimum, int row, const struct activations *a,
                              int token, float total)
{
    uint8_t weights[STEP];
    unpack4(lines, row, weights);
    float sum = fmaf((float)dot_of(weights, a, token), scale, minimum * (float)a->sum[token]);
    return fmaf(sum, a->scale[token], total);
}

static float add_int4_min(const uint8_t *block, int step, int row, const struct activations *a, int token, float total)
{
    const uint8_t *record = block + (size_t)step * MIN_RECORD;
    float scale = half_at(record, row), minimum = half_at(record + HK_BLOCK * 2, row);
    return add_with_minimum(record + HK_BLOCK * 4, scale, minimum, row, a, token, total);
}

static float add_int4_k(const uint8_t *block, int step, int row, const struct activations *a, int token, float total)
{
    const uint8_t *super = block + (size_t)step * STEP / SUPERBLOCK * K_RECORD;
    const uint8_t *record = super + K_HEADER + step % (SUPERBLOCK / STEP) * K_STEP;
    float scale = half_at(super, row) * (float)record[row];
    float minimum = -half_at(super + HK_BLOCK * 2, row) * (float)record[HK_BLOCK + row];
    return add_with_minimum(record + HK_BLOCK * 2, scale, minimum, row, a, token, total);
}

/* A group of HK_INT4 has one scale for its steps, which are added up first. */
static float int4_row(const uint8_t *block, int group, const struct rounded *x, int tile, int row, int token)
{
    float result = 0.0f;
    for (int step = 0; step < x->steps; block += int4_group_size(group)) {
        float total = 0.0f;
        for (int i = 0; i < group / STEP; i++, step++) {
            const struct activations *a = activations_of(x, tile, step);
            uint8_t weights[STEP];
            unpack4(block + HK_BLOCK * 2 + i * STEP / 8 * LINE, row, weights);
            total = fmaf((float)(dot_of(weights, a, token) - 8 * a->sum[token]), a->scale[token], total);
        }
        result = fmaf(total, half_at(block, row), result);
    }
    return result;
}

static void multiply(int format, int group, const uint8_t *block, const struct rounded *x, int first, int tiles,
                     float (*out)[HK_BLOCK])
{
    static add_step *const add[] = {[HK_INT8] = add_int8, [HK_INT4_MIN] = add_int4_min, [HK_INT4_K] = add_int4_k};
    for (int tile = first; tile < first + tiles; tile++)
        for (int token = 0; token < tokens_of_tile(x, tile); token++, out++)
            for (int row = 0; row < HK_BLOCK; row++) {
                float total = 0.0f;
                if (format == HK_INT4)
                    total = int4_row(block, group, x, tile, row, token);
                else
                    for (int step = 0; step < x->steps; step++)
                        total = add[format](block, step, row, activations_of(x, tile, step), token, total);
                (*out)[row] = format == HK_INT8 ? total * half_at(block, row) : total;
            }
}

const struct kernels plain_kernels = {MAX_TILE, quantize, inverse_rms, scale, gate, multiply, place_token, attend};
