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

static float half_at(const uint8_t *halves, int row)
{
    return float_of_half(load_u16(halves + row * 2));
}

/* What a group of a row adds to the products of `n` tokens. Each function below takes one format. */
typedef void add_group(const uint8_t *block, const struct rounded *x, int g, int row, const struct activations *tile, int n,
                       float (*out)[HK_BLOCK]);

static void add_int8(const uint8_t *block, const struct rounded *x, int g, int row, const struct activations *tile, int n,
                     float (*out)[HK_BLOCK])
{
    const uint8_t *lines = block + INT8_HEADER + (size_t)g * int8_group_size(x->group);
    int32_t zero = load_u16(block + HK_BLOCK * 2 + row * 2), sums[MAX_TILE];
    for (int t = 0; t < n; t++) sums[t] = -zero * tile->sum[t];
    for (int step = 0; step < x->group / STEP; step++) {
        uint8_t weights[STEP];
        unpack8(lines + step * STEP / 4 * LINE, row, weights);
        for (int t = 0; t < n; t++) sums[t] += dot(weights, tile->values + (step * n + t) * STEP);
    }
    for (int t = 0; t < n; t++) out[t][row] = fmaf((float)sums[t], tile->scale[t], out[t][row]);
}

static void add_int4(const uint8_t *block, const struct rounded *x, int g, int row, const struct activations *tile, int n,
                     float (*out)[HK_BLOCK])
{
    const uint8_t *record = block + (size_t)g * int4_group_size(x->group);
    float scale = half_at(record, row);
    int32_t sums[MAX_TILE];
    for (int t = 0; t < n; t++) sums[t] = -8 * tile->sum[t];
    for (int step = 0; step < x->group / STEP; step++) {
        uint8_t weights[STEP];
        unpack4(record + HK_BLOCK * 2 + step * STEP / 8 * LINE, row, weights);
        for (int t = 0; t < n; t++) sums[t] += dot(weights, tile->values + (step * n + t) * STEP);
    }
    for (int t = 0; t < n; t++) out[t][row] = fmaf((float)sums[t] * scale, tile->scale[t], out[t][row]);
}

static void add_int4_min(const uint8_t *block, const struct rounded *x, int g, int row, const struct activations *tile, int n,
                         float (*out)[HK_BLOCK])
{
    const uint8_t *records = block + (size_t)g * x->group / STEP * MIN_RECORD;
    float sums[MAX_TILE] = {0};
    for (int step = 0; step < x->group / STEP; step++) {
        const uint8_t *record = records + step * MIN_RECORD;
        uint8_t weights[STEP];
        unpack4(record + HK_BLOCK * 4, row, weights);
        for (int t = 0; t < n; t++)
            sums[t] = fmaf((float)dot(weights, tile->values + (step * n + t) * STEP), half_at(record, row), sums[t]);
    }
    for (int step = 0; step < x->group / STEP; step++)
        for (int t = 0; t < n; t++)
            sums[t] = fmaf(half_at(records + step * MIN_RECORD + HK_BLOCK * 2, row), tile->part[step][t], sums[t]);
    for (int t = 0; t < n; t++) out[t][row] = fmaf(sums[t], tile->scale[t], out[t][row]);
}

static void add_int4_k(const uint8_t *block, const struct rounded *x, int g, int row, const struct activations *tile, int n,
                       float (*out)[HK_BLOCK])
{
    const uint8_t *super = block + (size_t)g * x->group / SUPERBLOCK * K_RECORD;
    const uint8_t *record = super + K_HEADER + g * x->group % SUPERBLOCK / STEP * K_STEP;
    int32_t sums[MAX_TILE] = {0}, minimums[MAX_TILE] = {0};
    for (int step = 0; step < x->group / STEP; step++, record += K_STEP) {
        uint8_t weights[STEP];
        unpack4(record + HK_BLOCK * 2, row, weights);
        for (int t = 0; t < n; t++) {
            sums[t] += record[row] * dot(weights, tile->values + (step * n + t) * STEP);
            minimums[t] += record[HK_BLOCK + row] * (int32_t)tile->part[step][t];
        }
    }
    float scale = half_at(super, row), minimum = half_at(super + HK_BLOCK * 2, row);
    for (int t = 0; t < n; t++)
        out[t][row] = fmaf(fmaf((float)sums[t], scale, -((float)minimums[t] * minimum)), tile->scale[t], out[t][row]);
}

static void multiply(int format, const uint8_t *block, const struct rounded *x, int first, int tiles, float (*out)[HK_BLOCK])
{
    static add_group *const add[] = {[HK_INT8] = add_int8, [HK_INT4] = add_int4, [HK_INT4_MIN] = add_int4_min, [HK_INT4_K] = add_int4_k};
    for (int tile = first; tile < first + tiles; tile++, out += x->tile) {
        int n = tokens_of_tile(x, tile);
        memset(out, 0, (size_t)n * sizeof *out);
        for (int row = 0; row < HK_BLOCK; row++)
            for (int g = 0; g < x->groups; g++) add[format](block, x, g, row, activations_of(x, tile, g), n, out);
        if (format == HK_INT8)
            for (int t = 0; t < n; t++)
                for (int row = 0; row < HK_BLOCK; row++) out[t][row] *= half_at(block, row);
    }
}

const struct kernels plain_kernels = {MAX_TILE, quantize, inverse_rms, scale, gate, multiply, place_token, attend};
