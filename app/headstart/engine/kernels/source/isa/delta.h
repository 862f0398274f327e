/* Layers that keep a state (hk_recurrence): a convolution over time, and the gated delta rule (Yang et al. 2024) behind
   it. Each instruction set includes them, behind attention.h, whose vectors they use.

   A value's memory does not depend on those of others, so a few of them stay in the first-level cache for all tokens.
   What a token corrects is added to them while the next one reads them. Fractions are added in the order of the keys:
   a token gives the same bits in every pass. */
#ifndef DELTA_H
#define DELTA_H
#include "attention.h"
#include "elementwise.h"

#define DELTA_EPSILON 1e-6f /* of the lengths of queries and keys */
enum { DELTA_VECTORS = 2 }; /* of values that are computed together */

/* Numbers of a token of x and of `mixed`. */
INLINE int input_width(const hk_recurrence *r) { return r->width + 2 * r->heads; }

/* log(1 + exp(x)) to 1e-7 of it: log(1 + y) = 2 atanh(y / (2 + y)) for y = exp(-|x|), which is at most 1. */
INLINE float softplus(float x)
{
    float y = exponential(x < 0 ? x : -x), s = y / (2.0f + y), square = s * s;
    float p = 1.0f / 15;
    p = fmaf(p, square, 1.0f / 13);
    p = fmaf(p, square, 1.0f / 11);
    p = fmaf(p, square, 1.0f / 9);
    p = fmaf(p, square, 1.0f / 7);
    p = fmaf(p, square, 1.0f / 5);
    p = fmaf(p, square, 1.0f / 3);
    p = fmaf(p * square, s, s);
    return fmaf(2.0f, p, x < 0 ? 0.0f : x);
}

/* Convolve `count` numbers of a token from `first` on. */
INLINE void convolve_token(const hk_recurrence *r, int token, int first, int count, float *restrict out)
{
    for (int tap = 0; tap < r->taps; tap++) {
        int place = token + tap + 1 - r->taps; /* negative: before the pass */
        const float *row = first + (place < 0 ? r->before + (size_t)(place + r->taps - 1) * r->width
                                              : r->x + (size_t)place * input_width(r));
        const float *weights = r->weights + (size_t)tap * r->width + first;
        if (tap == 0)
            for (int i = 0; i < count; i++) out[i] = weights[i] * row[i];
        else
            for (int i = 0; i < count; i++) out[i] = fmaf(weights[i], row[i], out[i]);
    }
}

/* Make queries and keys of the length 1, queries for the scale of attention, too; and a head's shares of its values. */
INLINE void prepare_token(const hk_recurrence *r, int token, int part, float *restrict out)
{
    for (int i = 0; i < r->size; i++) out[i] = silu(out[i]);
    int head = part - 2 * r->key_heads, decay = r->width + head, correction = decay + r->heads;
    if (head < 0) {
        float by = inverse_rms(out, r->size, DELTA_EPSILON / (float)r->size) / sqrtf((float)r->size);
        if (part < r->key_heads) by /= sqrtf((float)r->size);
        for (int i = 0; i < r->size; i++) out[i] *= by;
        return;
    }
    const float *x = r->x + (size_t)token * input_width(r);
    float *mixed = r->mixed + (size_t)token * input_width(r);
    mixed[decay] = exponential(r->decays[head] * softplus(x[decay] + r->biases[head]));
    mixed[correction] = 1.0f / (1.0f + exponential(-x[correction]));
}

/* Convolve a part of the width for all tokens: a head of the delta rule, or RECURRENT_PART numbers. */
static void convolve(const hk_recurrence *r, int part)
{
    int size = r->heads ? r->size : RECURRENT_PART, first = part * size, count = smaller(size, r->width - first);
    for (int token = 0; token < r->tokens; token++) {
        float *out = r->heads ? r->mixed : r->out;
        out += (size_t)token * input_width(r) + first;
        convolve_token(r, token, first, count, out);
        if (r->heads) prepare_token(r, token, part, out);
    }
    for (int row = 0; row < r->taps - 1; row++) { /* the last tokens, for the next pass */
        int place = r->tokens + row + 1 - r->taps;
        const float *from = place < 0 ? r->before + (size_t)(place + r->taps - 1) * r->width
                                      : r->x + (size_t)place * input_width(r);
        memcpy(r->after + (size_t)row * r->width + first, from + first, count * sizeof *from);
    }
}

INLINE float dot_of(const float *x, const float *y, int count)
{
    float sums[PARTIAL_SUMS] = {0};
    for (int i = 0; i < count; i += PARTIAL_SUMS)
        for (int k = 0; k < PARTIAL_SUMS; k++) sums[k] = fmaf(x[i + k], y[i + k], sums[k]);
    for (int half = PARTIAL_SUMS / 2; half; half /= 2)
        for (int k = 0; k < half; k++) sums[k] += sums[k + half];
    return sums[0];
}

/* Values of the memory, by keys, and what the last token corrects of them. */
struct values {
    float rows[MAX_HEAD][DELTA_VECTORS * LANES];
    floats correction[DELTA_VECTORS];
    const float *key; /* of the last token */
};

/* Let the values decay, correct them towards a token's, and read them by its query, to `out`. */
INLINE void read_values(const hk_recurrence *r, struct values *values, const float *memory, int token, int head,
                        int first, float *out)
{
    int size = r->size;
    const float *mixed = r->mixed + (size_t)token * input_width(r), *query = mixed + head % r->key_heads * size,
                *key = query + r->key_heads * size, *value = mixed + (2 * r->key_heads + head) * size + first;
    floats known[DELTA_VECTORS], read[DELTA_VECTORS], decay = fill_float(mixed[r->width + head]);
    for (int v = 0; v < DELTA_VECTORS; v++) known[v] = read[v] = fill_float(0.0f);
    for (int k = 0; k < size; k++) {
        floats by_key = fill_float(key[k]), by_query = fill_float(query[k]);
        for (int v = 0; v < DELTA_VECTORS; v++) {
            float *at = values->rows[k] + v * LANES;
            floats row = memory ? load_floats(memory + (size_t)k * size + v * LANES)
                                : multiply_add(values->correction[v], fill_float(values->key[k]), load_floats(at));
            row = multiply(row, decay);
            store_floats(at, row);
            known[v] = multiply_add(row, by_key, known[v]);
            read[v] = multiply_add(row, by_query, read[v]);
        }
    }
    floats share = fill_float(mixed[r->width + r->heads + head]), match = fill_float(dot_of(query, key, size));
    for (int v = 0; v < DELTA_VECTORS; v++) {
        floats missing = multiply_add(known[v], fill_float(-1.0f), load_floats(value + v * LANES));
        values->correction[v] = multiply(missing, share);
        store_floats(out + v * LANES, multiply_add(values->correction[v], match, read[v]));
    }
    values->key = key;
}

/* Compute some values of a head for all tokens. */
static void remember(const hk_recurrence *r, int head, int first)
{
    size_t place = (size_t)(r->taps - 1) * r->width + (size_t)head * r->size * r->size + first;
    float *out = r->out + (size_t)head * r->size + first;
    struct values values;
    read_values(r, &values, r->before + place, 0, head, first, out);
    for (int token = 1; token < r->tokens; token++)
        read_values(r, &values, NULL, token, head, first, out + (size_t)token * r->heads * r->size);
    for (int k = 0; k < r->size; k++)
        for (int v = 0; v < DELTA_VECTORS; v++) {
            floats row = load_floats(values.rows[k] + v * LANES), key = fill_float(values.key[k]);
            store_floats(r->after + place + (size_t)k * r->size + v * LANES,
                         multiply_add(values.correction[v], key, row));
        }
}

static void delta_rule(const hk_recurrence *r, int phase, int item)
{
    if (phase == 0) {
        convolve(r, item);
        return;
    }
    int parts = r->size / DELTA_PART, first = item % parts * DELTA_PART;
    for (int v = 0; v < DELTA_PART; v += DELTA_VECTORS * LANES) remember(r, item / parts, first + v);
}
#endif
