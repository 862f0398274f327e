/* Attention over keys and values of 16 bits that lie in blocks of HK_BLOCK tokens. Each instruction set includes it.

   A query's result depends on the keys that it sees and on their order alone: scores are sums over the head's numbers,
   one after the other, and the values are added key by key. A key that it does not see is as if it were not there. So
   it has the same bits whatever is computed with it: one token or many, in whichever blocks, with or without branches.
 */
#ifndef ATTENTION_H
#define ATTENTION_H
#include "elementwise.h"

enum {
    ROWS = 4,            /* queries that share a walk over keys and values */
    CHUNK = 64,          /* numbers of a value that are added up in registers */
    HALVES_OF_LINE = 32, /* numbers of 16 bits in a cache line */
};

/* Rotate the halves of a head's numbers: x[i] and x[i + size / 2] by an angle (Su et al. 2021, as Hugging Face lays it
 * out). */
static void rope(float *x, const float *cosine, const float *sine, int size)
{
    int half = size / 2;
    for (int i = 0; i < half; i++) {
        float low = x[i], high = x[i + half];
        x[i] = fmaf(low, cosine[i], -high * sine[i]);
        x[i + half] = fmaf(high, cosine[i + half], low * sine[i + half]);
    }
}

/* Keys of a block lie number by number, so that one register takes a number of several keys: f16 [size][HK_BLOCK]. */
static void store_key(const float *x, int size, int slot, _Float16 *block)
{
    for (int i = 0; i < size; i++) block[i * HK_BLOCK + slot] = (_Float16)x[i];
}

/* Values of a block: f16 [HK_BLOCK][size]. */
static void store_value(const float *x, int size, int slot, _Float16 *block)
{
    for (int i = 0; i < size; i++) block[slot * size + i] = (_Float16)x[i];
}

/* A block of keys or values as f32. `next` is prefetched: the processor cannot foresee where the next block lies. */
static void widen(const _Float16 *restrict x, const _Float16 *next, int count, float *restrict out)
{
    for (int i = 0; i < count; i += HALVES_OF_LINE) {
        __builtin_prefetch(next + i);
        for (int k = 0; k < HALVES_OF_LINE; k++) out[i + k] = (float)x[i + k];
    }
}

/* The place of a block of a sequence in the cache of keys or of values, counted in numbers. */
INLINE size_t start_of(const hk_attention *a, const struct sequence *s, int kv_head, int block)
{
    return ((size_t)s->blocks[block] * a->kv_heads + kv_head) * a->size * HK_BLOCK;
}

/* Scores of up to ROWS queries for the keys of a block: scores[row * stride + key]. */
INLINE void score_rows(const float *const *queries, const float *keys, int size, float by, const int rows,
                       float *scores, size_t stride)
{
    float sums[ROWS][HK_BLOCK] = {{0}};
    for (int i = 0; i < size; i++)
        for (int row = 0; row < rows; row++)
            for (int key = 0; key < HK_BLOCK; key++)
                sums[row][key] = fmaf(queries[row][i], keys[i * HK_BLOCK + key], sums[row][key]);
    for (int row = 0; row < rows; row++)
        for (int key = 0; key < HK_BLOCK; key++) scores[row * stride + key] = sums[row][key] * by;
}

static void score(const float *const *queries, const float *keys, int size, float by, int rows, float *scores,
                  size_t stride)
{
    switch (rows) {
    case 1: score_rows(queries, keys, size, by, 1, scores, stride); break;
    case 2: score_rows(queries, keys, size, by, 2, scores, stride); break;
    case 3: score_rows(queries, keys, size, by, 3, scores, stride); break;
    case ROWS: score_rows(queries, keys, size, by, ROWS, scores, stride); break;
    }
}

/* Make of scores the weights of the values, before they are divided by their sum. `mask`: 0 for the keys from `from` on
   that do not count; NULL: all count. */
static void softmax(float *scores, int count, const uint8_t *mask, int from)
{
    float tops[PARTIAL_SUMS];
    for (int k = 0; k < PARTIAL_SUMS; k++) tops[k] = -INFINITY;
    int all = mask ? from : count, key = 0;
    for (; key + PARTIAL_SUMS <= all; key += PARTIAL_SUMS)
        for (int k = 0; k < PARTIAL_SUMS; k++) tops[k] = scores[key + k] > tops[k] ? scores[key + k] : tops[k];
    for (; key < count; key++)
        if (key < from || !mask || mask[key - from]) tops[0] = scores[key] > tops[0] ? scores[key] : tops[0];
    float largest = tops[0];
    for (int k = 1; k < PARTIAL_SUMS; k++) largest = tops[k] > largest ? tops[k] : largest;
    for (key = 0; key < count; key++) scores[key] = exponential(scores[key] - largest);
    for (key = from; mask && key < count; key++)
        if (!mask[key - from]) scores[key] = 0.0f;
}

INLINE void add_chunk(const float *weights, size_t stride, const float *values, int size, int keys, const int rows,
                      float *sums)
{
    float total[ROWS][CHUNK];
    for (int row = 0; row < rows; row++) memcpy(total[row], sums + row * size, sizeof total[row]);
    for (int key = 0; key < keys; key++)
        for (int row = 0; row < rows; row++)
            for (int i = 0; i < CHUNK; i++)
                total[row][i] = fmaf(weights[row * stride + key], values[key * size + i], total[row][i]);
    for (int row = 0; row < rows; row++) memcpy(sums + row * size, total[row], sizeof total[row]);
}

INLINE void add_rows(const float *weights, size_t stride, const float *values, int size, int keys, const int rows,
                     float *sums, float *totals)
{
    float total[ROWS];
    for (int row = 0; row < rows; row++) total[row] = totals[row];
    for (int key = 0; key < keys; key++)
        for (int row = 0; row < rows; row++) total[row] += weights[row * stride + key];
    for (int row = 0; row < rows; row++) totals[row] = total[row];
    for (int i = 0; i < size; i += CHUNK) add_chunk(weights, stride, values + i, size, keys, rows, sums + i);
}

/* Add the weighted values of a block: to sums[row * size], and the weights to totals[row]. */
static void add_values(const float *weights, size_t stride, const float *values, int size, int keys, int rows,
                       float *sums, float *totals)
{
    switch (rows) {
    case 1: add_rows(weights, stride, values, size, keys, 1, sums, totals); break;
    case 2: add_rows(weights, stride, values, size, keys, 2, sums, totals); break;
    case 3: add_rows(weights, stride, values, size, keys, 3, sums, totals); break;
    case ROWS: add_rows(weights, stride, values, size, keys, ROWS, sums, totals); break;
    }
}

/* Put a token's key and value into the cache, and rope its queries and its key before. */
static void rope_and_store_kv(const hk_attention *a, const struct sequence *s, int token, float *query, float *key,
                        const float *value, const float *cosine, const float *sine)
{
    int size = a->size, place = s->past + token;
    for (int head = 0; cosine && head < a->heads; head++) rope(query + head * size, cosine, sine, size);
    for (int head = 0; cosine && head < a->kv_heads; head++) rope(key + head * size, cosine, sine, size);
    size_t block = (size_t)s->blocks[place / HK_BLOCK] * a->kv_heads;
    for (int head = 0; head < a->kv_heads; head++) {
        size_t at = (block + head) * size * HK_BLOCK;
        store_key(key + head * size, size, place % HK_BLOCK, (_Float16 *)a->keys + at);
        store_value(value + head * size, size, place % HK_BLOCK, (_Float16 *)a->values + at);
    }
}

/* Attention of some queries that share keys and values. Query number `row` is that of token row / g, head row % g of
   the g heads. `query` and `out` are those of the sequence's first token: [count][heads][size]. */
static void attend(const hk_attention *a, const struct sequence *s, int kv_head, int first, int rows,
                   const float *query, float *out, float *scratch)
{
    int size = a->size, group = a->heads / a->kv_heads, keys = s->past + (first + rows - 1) / group + 1,
        blocks = blocks_of(keys);
    size_t stride = (size_t)blocks * HK_BLOCK;
    float *wide = scratch, *sums = wide + (size_t)size * HK_BLOCK, *totals = sums + (size_t)MAX_ROWS * size,
          *scores = totals + MAX_ROWS;
    const float *queries[MAX_ROWS];
    for (int row = 0; row < rows; row++) {
        int token = (first + row) / group, head = kv_head * group + (first + row) % group;
        queries[row] = query + ((size_t)token * a->heads + head) * size;
    }
    for (int block = 0; block < blocks; block++) {
        const _Float16 *cached = a->keys;
        widen(cached + start_of(a, s, kv_head, block), cached + start_of(a, s, kv_head, smaller(block + 1, blocks - 1)),
              size * HK_BLOCK, wide);
        for (int row = 0; row < rows; row += ROWS)
            score(queries + row, wide, size, a->scale, smaller(ROWS, rows - row),
                  scores + row * stride + block * HK_BLOCK, stride);
    }
    for (int row = 0; row < rows; row++) {
        int token = (first + row) / group, count = s->past + token + 1;
        softmax(scores + row * stride, count, s->mask ? s->mask + (size_t)token * s->count : NULL, s->past);
        for (int key = count; key < keys; key++) scores[row * stride + key] = 0.0f;
    }
    memset(sums, 0, sizeof(float) * rows * size);
    memset(totals, 0, sizeof(float) * rows);
    for (int block = 0; block < blocks; block++) {
        const _Float16 *cached = a->values;
        widen(cached + start_of(a, s, kv_head, block), cached + start_of(a, s, kv_head, smaller(block + 1, blocks - 1)),
              size * HK_BLOCK, wide);
        for (int row = 0; row < rows; row += ROWS)
            add_values(scores + row * stride + block * HK_BLOCK, stride, wide, size,
                       smaller(HK_BLOCK, keys - block * HK_BLOCK), smaller(ROWS, rows - row), sums + row * size,
                       totals + row);
    }
    for (int row = 0; row < rows; row++) {
        int token = (first + row) / group, head = kv_head * group + (first + row) % group;
        float *to = out + ((size_t)token * a->heads + head) * size, by = 1.0f / totals[row];
        for (int i = 0; i < size; i++) to[i] = sums[row * size + i] * by;
    }
}
#endif
