/* The gated delta rule (Yang et al. 2024) over some values of a head. Each instruction set includes it.

   A value's memory does not depend on those of others, so a part of them is copied to where it stays in the first-level
   cache for all tokens. Fractions are added in the order of the keys: a token gives the same bits in every pass. */
#ifndef DELTA_H
#define DELTA_H
#include "kernels.h"
#include <math.h>

/* What a key's row adds to, and reads from, the memory of a part of the values. */
INLINE void decay_and_read(float *restrict row, float decay, float key, float *restrict sums)
{
    for (int i = 0; i < DELTA_PART; i++) {
        row[i] *= decay;
        sums[i] = fmaf(row[i], key, sums[i]);
    }
}

INLINE void correct_and_read(float *restrict row, const float *restrict by, float key, float query,
                             float *restrict sums)
{
    for (int i = 0; i < DELTA_PART; i++) {
        row[i] = fmaf(by[i], key, row[i]);
        sums[i] = fmaf(row[i], query, sums[i]);
    }
}

static void delta_rule(const hk_delta *d, int head, int first)
{
    int size = d->size, width = (2 * d->key_heads + d->heads) * size;
    float *memory = d->memory + (size_t)head * size * size + first;
    _Alignas(CACHE_LINE) float rows[MAX_HEAD][DELTA_PART];
    for (int k = 0; k < size; k++) memcpy(rows[k], memory + (size_t)k * size, sizeof rows[k]);
    for (int token = 0; token < d->tokens; token++) {
        const float *query = d->mixed + (size_t)token * width + head % d->key_heads * size,
                    *key = query + d->key_heads * size,
                    *value = d->mixed + (size_t)token * width + (2 * d->key_heads + head) * size + first;
        float decay = d->decays[token * d->heads + head], correction = d->corrections[token * d->heads + head];
        float by[DELTA_PART] = {0}, out[DELTA_PART] = {0};
        for (int k = 0; k < size; k++) decay_and_read(rows[k], decay, key[k], by);
        for (int i = 0; i < DELTA_PART; i++) by[i] = (value[i] - by[i]) * correction;
        for (int k = 0; k < size; k++) correct_and_read(rows[k], by, key[k], query[k], out);
        memcpy(d->out + ((size_t)token * d->heads + head) * size + first, out, sizeof out);
    }
    for (int k = 0; k < size; k++) memcpy(memory + (size_t)k * size, rows[k], sizeof rows[k]);
}
#endif
