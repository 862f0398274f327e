/* Plain C, for processors without a set of their own, and as what the others are tested against. */
#include "attention.h"
#include "delta.h"
#include "elementwise.h"
#include "../formats.h"

/* The rounded activations of a token. */
struct token {
    const struct q8 *x;
    int tile, within, n;
};

static struct token token_of(const struct q8 *x, int token)
{
    int tile = token / x->tile;
    return (struct token){x, tile, token % x->tile, tokens_of_tile(x, tile)};
}

static float activation_scale(const struct token *t, int step)
{
    return scales_of(activations_of(t->x, t->tile, step))[t->within];
}

static const int8_t *activations(const struct token *t, int column)
{
    return values_of(activations_of(t->x, t->tile, column / STEP), t->n) + t->within * STEP + column % STEP;
}

/* The sum of products with the codes of 32 columns, as a whole number. Factors of 16 columns are in it. */
static int32_t dot(int format, int group, const uint8_t *block, int row, const struct token *t, int column)
{
    int32_t sum = 0;
    for (int i = column; i < column + STEP; i++) {
        struct weight w = weight_at(format, group, block, row, i);
        sum += w.code * *activations(t, i) * (has_scaled_halves(format) ? w.factor : 1);
    }
    return sum;
}

/* The sum of the activations of 32 columns, times the minimums' factors if 16 columns have one. */
static int32_t sum_of(int format, const uint8_t *block, int row, const struct token *t, int column)
{
    int32_t sum = 0;
    for (int i = column; i < column + STEP; i++)
        sum += *activations(t, i) * (has_scaled_halves(format) ? weight_at(format, 0, block, row, i).minimum_factor : 1);
    return sum;
}

/* 32 columns: their products, and the activations times the minimum. */
static float add_columns(int format, const uint8_t *block, int row, const struct token *t, int column, float total)
{
    struct weight w = weight_at(format, STEP, block, row, column);
    if (has_scaled_halves(format)) w.factor = w.minimum_factor = 1;
    float by = activation_scale(t, column / STEP);
    total = fmaf((float)dot(format, STEP, block, row, t, column) * by, w.scale * (float)w.factor, total);
    if (!has_minimum(format)) return total;
    return fmaf(w.minimum * (float)w.minimum_factor, by * (float)sum_of(format, block, row, t, column), total);
}

/* Groups of columns with one scale, whose steps are added up first; HK_INT8 has one group. */
static float add_group(int format, int group, const uint8_t *block, int row, const struct token *t, int column,
                       int columns, float total)
{
    float sum = 0.0f;
    for (int i = column; i < column + columns; i += STEP)
        sum = fmaf((float)dot(format, group, block, row, t, i), activation_scale(t, i / STEP), sum);
    return fmaf(sum, weight_at(format, group, block, row, column).scale, total);
}

/* Numbers with a point, which are multiplied one after the other. */
static float add_floats(int format, const uint8_t *block, int row, const struct token *t, int column, float total)
{
    float sum = 0.0f;
    for (int i = column; i < column + STEP; i++)
        sum = fmaf(weight_at(format, 0, block, row, i).scale, (float)*activations(t, i), sum);
    return fmaf(sum, activation_scale(t, column / STEP), total);
}

static float mul_mat_row(int format, int group, const uint8_t *block, int row, const struct token *t)
{
    int cols = t->x->steps * STEP, columns = format == HK_INT8 ? cols : record_columns(format, group);
    float total = 0.0f;
    for (int column = 0; column < cols; column += columns) {
        if (format == HK_F16 || format == HK_BF16)
            total = add_floats(format, block, row, t, column, total);
        else if (format == HK_INT8 || format == HK_INT4)
            total = add_group(format, group, block, row, t, column, columns, total);
        else
            for (int i = column; i < column + columns; i += STEP)
                total = add_columns(format, block, row, t, i, total);
    }
    return total;
}

static void mul_mat(int format, int group, const uint8_t *block, const struct q8 *x, int first, int tiles,
                     float (*out)[HK_BLOCK])
{
    int last = smaller((first + tiles) * x->tile, x->tokens);
    for (int token = first * x->tile; token < last; token++, out++) {
        struct token t = token_of(x, token);
        for (int row = 0; row < HK_BLOCK; row++) (*out)[row] = mul_mat_row(format, group, block, row, &t);
    }
}

const struct kernels plain_kernels = {MAX_TILE, quantize, inverse_rms, scale, gate, mul_mat,
                                      rope_and_store_kv, attend, merge_ranges, move_kv, delta_rule, NULL};
