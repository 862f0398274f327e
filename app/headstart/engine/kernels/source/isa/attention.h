/* Attention over keys and values as whole numbers of 16 or 8 bits. Each instruction set includes it.

   Keys, values, queries and weights are rounded to whole numbers with a scale, so that products and the sums of 32 of
   them are exact: queries and keys in groups of at most 32 numbers of a head, values by head and token, weights in
   groups of 32 keys. Fractions are added in one order.

   Few numbers of keys are much larger than the others, as biases make them, and always the same ones (Hooper et al.
   2024, KVQuant). So keys of 8 bits have 16 for an eighth of their numbers: the last ones, in the order `key_order`. They
   are in groups of their own; each 32 numbers of a head make a group of 28 others.

   A query sees the keys of its text from one place to another. These are cut into tiles at fixed places of the text
   (TILE_KEYS). A tile gives the largest score, the sum of exponentials and the weighted sum of values; those of a range
   (RANGE_KEYS) are merged in the order of the text, then the ranges. So a result has the same bits whatever is computed with it: one token or many, by however
   many threads, in whichever blocks, with or without branches.

   The cache has a record for each block of tokens and head:

       number [size / 2][HK_BLOCK][2]            keys: a word is two numbers of a token, so that a register has several tokens;
                                                 with 8 bits [size * 7 / 16][HK_BLOCK][2], and i16 [size / 16][HK_BLOCK][2]
       u16    [groups][HK_BLOCK]                 scales of keys, the upper halves of f32
       u16    [HK_BLOCK]                         scales of values
       number [size / 32][HK_BLOCK / 2][32][2]   values: a word is one number of two tokens */
#ifndef ATTENTION_H
#define ATTENTION_H
#include "elementwise.h"

enum {
    GROUP = 32,         /* numbers of a query or key with one scale; values that are added up together */
    ROWS = 6,           /* queries whose sums are in registers together */
    VECTORS_OF_ROW = 2, /* registers of each of them */
    MAX_QUERY = 4095,   /* 32 products of such a query, or weight, with a number of 16 bits stay within 32 bits */
    MAX_WEIGHT = 4095,
    MAX_16 = 16383,
    MAX_8 = 127,
};

/* Vector functions beyond those of products.h. `pairs_of(p, bits)`: words of two numbers of 16 bits; `dot2(sums, a, b)`:
   sums + products of the lower halves + products of the upper ones. Without a set a vector is one number. */
#if defined(__AVX512VNNI__)
INLINE ints pairs_of(const uint8_t *p, const int bits)
{
    return bits == 16 ? load_ints(p) : _mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)p));
}
/* Not the intrinsic function, of which Clang makes two instructions. */
INLINE ints dot2(ints sums, ints a, ints b)
{
    __asm__("vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
    return sums;
}
#elif defined(__AVX2__)
INLINE ints pairs_of(const uint8_t *p, const int bits)
{
    return bits == 16 ? load_ints(p) : _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)p));
}
#if defined(__AVXVNNI__)
INLINE ints dot2(ints sums, ints a, ints b)
{
    __asm__("%{vex%} vpdpwssd %2, %1, %0" : "+x"(sums) : "x"(a), "x"(b));
    return sums;
}
#else
INLINE ints dot2(ints sums, ints a, ints b) { return add_ints(sums, multiply_shorts(a, b)); }
#endif
#else
enum { LANES = 1 };
typedef struct {
    int32_t low, high;
} ints; /* a sum is in `low` */
typedef float floats;

INLINE ints fill_int(int32_t i) { return (ints){i, 0}; }
INLINE floats fill_float(float f) { return f; }
INLINE floats load_floats(const float *p) { return *p; }
INLINE void store_floats(float *p, floats v) { *p = v; }
INLINE floats multiply(floats a, floats b) { return a * b; }
INLINE floats multiply_add(floats a, floats b, floats c) { return fmaf(a, b, c); }
INLINE floats to_floats(ints v) { return (float)v.low; }
INLINE ints broadcast(const void *p)
{
    int16_t pair[2];
    memcpy(pair, p, sizeof pair);
    return (ints){pair[0], pair[1]};
}
INLINE ints pairs_of(const uint8_t *p, const int bits)
{
    return bits == 16 ? broadcast(p) : (ints){(int8_t)p[0], (int8_t)p[1]};
}
INLINE ints dot2(ints sums, ints a, ints b) { return (ints){sums.low + a.low * b.low + a.high * b.high, 0}; }
#endif

#if defined(__AVX2__)
/* Scales, which are stored as the upper halves of f32. */
INLINE floats load_scales(const uint16_t *p) { return as_floats(shift_left(load_shorts(p), 16)); }
#else
INLINE floats load_scales(const uint16_t *p) { return float_of((uint32_t)*p << 16); }
#endif

/* Numbers of a key or query with one scale, from number `first` on. */
struct span {
    int first, count, bits;
};

INLINE int groups_of(const hk_attention *a) { return key_groups(a->size, a->bits); }
INLINE struct span group_of(const hk_attention *a, int group)
{
    int narrow = a->size / GROUP, wide = wide_of(a->size, a->bits), count = (a->size - wide) / narrow;
    if (group < narrow) return (struct span){group * count, count, a->bits};
    int first = a->size - wide + (group - narrow) * GROUP;
    return (struct span){first, smaller(GROUP, a->size - first), 16};
}

/* Parts of a record. */
INLINE int key_bytes(const hk_attention *a)
{
    return (a->size * (a->bits / 8) + wide_of(a->size, a->bits)) * HK_BLOCK;
}
INLINE uint16_t *key_scales_of(const hk_attention *a, uint8_t *record) { return (uint16_t *)(record + key_bytes(a)); }
INLINE uint16_t *value_scales_of(const hk_attention *a, uint8_t *record)
{
    return key_scales_of(a, record) + groups_of(a) * HK_BLOCK;
}
INLINE uint8_t *values_of_record(const hk_attention *a, uint8_t *record)
{
    return (uint8_t *)(value_scales_of(a, record) + HK_BLOCK);
}

INLINE uint8_t *record_of(const hk_attention *a, const struct sequence *s, int kv_head, int block)
{
    const int32_t *blocks = a->window > 0 ? s->window_blocks : s->blocks;
    return (uint8_t *)a->cache + ((size_t)blocks[block] * a->kv_heads + kv_head) * kv_record_size(a->size, a->bits);
}

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

/* Round `count` numbers to whole ones up to `most` times a scale, which is returned. A scale that is stored is the upper
   half of an f32, rounded up. Without a usable scale all are zero; with NaN or infinity among them it is NaN. */
INLINE float round_numbers(const float *restrict x, int count, float most, int is_stored, int16_t *restrict out)
{
    const uint32_t infinity = 0x7f800000;
    uint32_t largest = largest_magnitude(x, count);
    float unit = float_of(largest) / most;
    if (is_stored && largest < infinity) unit = float_of((bits_of(unit) + 0xffff) & 0xffff0000);
    float inverse = 1.0f / unit;
    if (largest >= infinity || unit < FLT_MIN) {
        memset(out, 0, count * sizeof *out);
        return largest >= infinity ? NAN : 0.0f;
    }
    for (int i = 0; i < count; i++) out[i] = (int16_t)bits_of(x[i] * inverse + ROUND_TO_WHOLE);
    return unit;
}

INLINE uint16_t upper_half(float x) { return (uint16_t)(bits_of(x) >> 16); }

INLINE void put(uint8_t *at, int bits, int16_t value)
{
    if (bits == 16)
        memcpy(at, &value, sizeof value);
    else
        *(int8_t *)at = (int8_t)value;
}

/* The byte of a record at which number i of a token's key begins. */
INLINE size_t place_of_key(const hk_attention *a, int i, int slot)
{
    int narrow = a->size - wide_of(a->size, a->bits), bytes = a->bits / 8;
    size_t before = i < narrow ? 0 : (size_t)narrow * HK_BLOCK * bytes;
    if (i >= narrow) i -= narrow, bytes = 2;
    return before + (((size_t)(i / 2) * HK_BLOCK + slot) * 2 + i % 2) * bytes;
}
/* The place of number i of a token's value, in numbers. */
INLINE size_t place_of_value(int i, int slot)
{
    return (((size_t)(i / GROUP) * (HK_BLOCK / 2) + slot / 2) * GROUP + i % GROUP) * 2 + slot % 2;
}

/* The numbers of a query or key in the order of the cache: as they lie, or put into `ordered`. */
INLINE const float *in_order(const hk_attention *a, int kv_head, const float *x, float *ordered)
{
    if (!a->key_order) return x;
    const int16_t *order = a->key_order + kv_head * a->size;
    for (int i = 0; i < a->size; i++) ordered[i] = x[order[i]];
    return ordered;
}

static void store_kv(const hk_attention *a, int kv_head, const float *key, const float *value, int slot, uint8_t *record)
{
    int16_t numbers[MAX_HEAD];
    float ordered[MAX_HEAD], most = a->bits == 16 ? MAX_16 : MAX_8;
    uint8_t *values = values_of_record(a, record);
    key = in_order(a, kv_head, key, ordered);
    for (int number = 0; number < groups_of(a); number++) {
        struct span group = group_of(a, number);
        float unit = round_numbers(key + group.first, group.count, group.bits == 16 ? MAX_16 : MAX_8, 1, numbers);
        for (int i = 0; i < group.count; i++) put(record + place_of_key(a, group.first + i, slot), group.bits, numbers[i]);
        key_scales_of(a, record)[number * HK_BLOCK + slot] = upper_half(unit);
    }
    value_scales_of(a, record)[slot] = upper_half(round_numbers(value, a->size, most, 1, numbers));
    for (int i = 0; i < a->size; i++) put(values + place_of_value(i, slot) * (a->bits / 8), a->bits, numbers[i]);
}

/* Copy a token's key and value from one record to another. */
static void move_kv(const hk_attention *a, uint8_t *from, int slot, uint8_t *to, int new_slot)
{
    int bytes = a->bits / 8;
    uint8_t *values = values_of_record(a, from), *new_values = values_of_record(a, to);
    for (int i = 0, narrow = a->size - wide_of(a->size, a->bits); i < a->size; i += 2)
        memcpy(to + place_of_key(a, i, new_slot), from + place_of_key(a, i, slot), i < narrow ? 2 * bytes : 4);
    for (int i = 0; i < a->size; i++)
        memcpy(new_values + place_of_value(i, new_slot) * bytes, values + place_of_value(i, slot) * bytes, bytes);
    for (int group = 0; group < groups_of(a); group++)
        key_scales_of(a, to)[group * HK_BLOCK + new_slot] = key_scales_of(a, from)[group * HK_BLOCK + slot];
    value_scales_of(a, to)[new_slot] = value_scales_of(a, from)[slot];
}

/* Normalize a head's numbers, if there is a gain, and rotate them, if there are angles. */
static void norm_and_rope(float *x, const float *gain, float epsilon, const float *cosine, const float *sine, int size)
{
    if (gain) {
        float by = inverse_rms(x, size, epsilon);
        for (int i = 0; i < size; i++) x[i] = x[i] * by * gain[i];
    }
    if (cosine) rope(x, cosine, sine, size);
}

/* Make a token's queries and key ready, and put the key and the value into the cache. */
static void rope_and_store_kv(const hk_attention *a, const struct sequence *s, int token, float *query, float *key,
                        const float *value, const float *cosine, const float *sine, float factor)
{
    int size = a->size, place = s->past + token;
    for (int head = 0; head < a->heads; head++)
        norm_and_rope(query + head * size, a->query_gain, a->epsilon, cosine, sine, size);
    for (int i = 0; i < a->heads * size; i++) query[i] *= factor;
    for (int head = 0; head < a->kv_heads; head++) {
        norm_and_rope(key + head * size, a->key_gain, a->epsilon, cosine, sine, size);
        store_kv(a, head, key + head * size, value + head * size, place % HK_BLOCK, record_of(a, s, head, place / HK_BLOCK));
    }
}

/* Queries that share keys and values, rounded, and what comes of them for a tile. */
struct queries {
    int16_t *numbers; /* [MAX_ROWS][size] */
    float *scales;    /* [MAX_ROWS][groups] */
    float *scores;    /* [MAX_ROWS][TILE_KEYS] */
    int16_t *weights; /* [MAX_ROWS][TILE_KEYS] */
    float *weight_scales; /* [MAX_ROWS][TILE_KEYS / GROUP] */
    float *sums;      /* [MAX_ROWS][size + 2]: of a tile, with the largest score and the sum of exponentials behind them */
    float *range, *all; /* the same of the tiles of a range, and of the ranges so far */
    uint8_t *records; /* TILE_BLOCKS of them: keys and values in the order of the text, for a token that does not see all */
};

INLINE struct queries queries_in(const hk_attention *a, uint8_t *scratch)
{
    struct queries q;
    q.records = scratch;
    q.scores = (float *)(scratch + TILE_BLOCKS * kv_record_size(a->size, a->bits));
    q.weight_scales = q.scores + MAX_ROWS * TILE_KEYS;
    q.scales = q.weight_scales + MAX_ROWS * TILE_BLOCKS;
    q.sums = q.scales + MAX_ROWS * groups_of(a);
    q.range = q.sums + MAX_ROWS * (a->size + 2);
    q.all = q.range + MAX_ROWS * (a->size + 2);
    q.weights = (int16_t *)(q.all + MAX_ROWS * (a->size + 2));
    q.numbers = q.weights + MAX_ROWS * TILE_KEYS;
    return q;
}

/* What is read after this: prefetched into the second-level cache, a share at a time. */
struct ahead {
    const uint8_t *at;
    int share; /* bytes */
};

INLINE struct ahead ahead_of(const uint8_t *at, int bytes, int shares)
{
    return (struct ahead){at, (bytes / shares + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE};
}

INLINE void prefetch_share(struct ahead *ahead)
{
    for (int i = 0; i < ahead->share; i += CACHE_LINE) __builtin_prefetch(ahead->at + i, 0, 2);
    ahead->at += ahead->share;
}

/* Add what a group gives to the scores of some queries for some keys of a record. */
INLINE void score_group(const hk_attention *a, const struct queries *q, const uint8_t *record, int key, const int first,
                        const int rows, int number, struct span group, const int bits, const int pairs,
                        floats sums[ROWS][VECTORS_OF_ROW])
{
    ints products[ROWS][VECTORS_OF_ROW];
    for (int row = 0; row < rows; row++)
        for (int v = 0; v < VECTORS_OF_ROW; v++) products[row][v] = fill_int(0);
    const uint8_t *numbers = record + place_of_key(a, group.first, key);
    for (int pair = 0; pair < pairs; pair++) {
        ints keys[VECTORS_OF_ROW];
        for (int v = 0; v < VECTORS_OF_ROW; v++)
            keys[v] = pairs_of(numbers + ((size_t)pair * HK_BLOCK + v * LANES) * 2 * (bits / 8), bits);
        for (int row = 0; row < rows; row++) {
            ints query = broadcast(q->numbers + (first + row) * a->size + group.first + 2 * pair);
            for (int v = 0; v < VECTORS_OF_ROW; v++) products[row][v] = dot2(products[row][v], query, keys[v]);
        }
    }
    const uint16_t *key_scales = key_scales_of(a, (uint8_t *)record) + number * HK_BLOCK + key;
    for (int v = 0; v < VECTORS_OF_ROW; v++) {
        floats by = load_scales(key_scales + v * LANES);
        for (int row = 0; row < rows; row++)
            sums[row][v] = multiply_add(multiply(to_floats(products[row][v]), by),
                                        fill_float(q->scales[(first + row) * groups_of(a) + number]), sums[row][v]);
    }
}

/* Scores of some queries for some keys of a record. */
INLINE void score_vectors(const hk_attention *a, const struct queries *q, const uint8_t *record, struct ahead *ahead,
                          int key, const int first, const int rows, const int bits, float *scores)
{
    floats sums[ROWS][VECTORS_OF_ROW];
    for (int row = 0; row < rows; row++)
        for (int v = 0; v < VECTORS_OF_ROW; v++) sums[row][v] = fill_float(0.0f);
    int number = 0;
    for (; number < a->size / GROUP; number++) {
        prefetch_share(ahead);
        const int pairs = (bits == 16 ? GROUP : GROUP - GROUP / 8) / 2;
        score_group(a, q, record, key, first, rows, number, group_of(a, number), bits, pairs, sums);
    }
    for (; number < groups_of(a); number++) {
        struct span group = group_of(a, number);
        score_group(a, q, record, key, first, rows, number, group, 16, group.count / 2, sums);
    }
    for (int row = 0; row < rows; row++)
        for (int v = 0; v < VECTORS_OF_ROW; v++)
            store_floats(scores + (first + row) * TILE_KEYS + key + v * LANES, sums[row][v]);
}

/* Add the values of a record, weighted, to the sums of some queries: 32 numbers from `number` on. */
INLINE void add_vectors(const hk_attention *a, const struct queries *q, const uint8_t *values, struct ahead *ahead,
                        int block, int number, const int first, const int rows, const int bits)
{
    for (int part = 0; part < GROUP; part += LANES * VECTORS_OF_ROW) {
        prefetch_share(ahead);
        ints products[ROWS][VECTORS_OF_ROW];
        for (int row = 0; row < rows; row++)
            for (int v = 0; v < VECTORS_OF_ROW; v++) products[row][v] = fill_int(0);
        for (int pair = 0; pair < HK_BLOCK / 2; pair++) {
            size_t at = ((size_t)(number / GROUP * (HK_BLOCK / 2) + pair) * GROUP + part) * 2 * (bits / 8);
            ints numbers[VECTORS_OF_ROW];
            for (int v = 0; v < VECTORS_OF_ROW; v++) numbers[v] = pairs_of(values + at + v * LANES * 2 * (bits / 8), bits);
            for (int row = 0; row < rows; row++) {
                ints weight = broadcast(q->weights + (first + row) * TILE_KEYS + block * HK_BLOCK + 2 * pair);
                for (int v = 0; v < VECTORS_OF_ROW; v++) products[row][v] = dot2(products[row][v], weight, numbers[v]);
            }
        }
        for (int row = 0; row < rows; row++) {
            float *sums = q->sums + (first + row) * (a->size + 2) + number + part;
            floats by = fill_float(q->weight_scales[(first + row) * TILE_BLOCKS + block]);
            for (int v = 0; v < VECTORS_OF_ROW; v++)
                store_floats(sums + v * LANES,
                             multiply_add(to_floats(products[row][v]), by, load_floats(sums + v * LANES)));
        }
    }
}

INLINE void score_rows(const hk_attention *a, const struct queries *q, const uint8_t *record, struct ahead *ahead,
                       const int first, const int rows, const int bits, float *scores)
{
    for (int key = 0; key < HK_BLOCK; key += LANES * VECTORS_OF_ROW)
        score_vectors(a, q, record, ahead, key, first, rows, bits, scores);
}

/* Do something with a constant number of rows. */
#define WITH_ROWS(count, work)                                                                                         \
    switch (count) {                                                                                                   \
    case 1: work(1); break;                                                                                            \
    case 2: work(2); break;                                                                                            \
    case 3: work(3); break;                                                                                            \
    case 4: work(4); break;                                                                                            \
    case 5: work(5); break;                                                                                            \
    case 6: work(6); break;                                                                                         \
    }

/* Scores of `rows` queries for the keys of a record. */
INLINE void score(const hk_attention *a, const struct queries *q, const uint8_t *record, struct ahead *ahead, int first,
                  int rows, const int bits, float *scores)
{
#define SCORE(count) score_rows(a, q, record, ahead, first, count, bits, scores)
    WITH_ROWS(rows, SCORE)
}

INLINE void add_values(const hk_attention *a, const struct queries *q, const uint8_t *values, struct ahead *ahead,
                       int block, int number, int first, int rows, const int bits)
{
#define ADD(count) add_vectors(a, q, values, ahead, block, number, first, count, bits)
    WITH_ROWS(rows, ADD)
}

/* Rows of the part that begins at `row`: parts of even size. */
INLINE int rows_of_part(int row, int rows)
{
    int parts = (rows + ROWS - 1) / ROWS, size = (rows + parts - 1) / parts;
    return smaller(size, rows - row);
}

/* 1 - 2 / (1 + exp(2 x)) */
INLINE float hyperbolic_tangent(float x) { return 1.0f - 2.0f / (1.0f + exponential(2.0f * x)); }

static void cap_scores(float *scores, int count, float cap)
{
    for (int key = 0; key < count; key++) scores[key] = cap * hyperbolic_tangent(scores[key] / cap);
}

/* The largest of some scores. */
static float largest_of(const float *scores, int count)
{
    float tops[PARTIAL_SUMS];
    for (int k = 0; k < PARTIAL_SUMS; k++) tops[k] = -INFINITY;
    for (int key = 0; key < count; key += PARTIAL_SUMS)
        for (int k = 0; k < PARTIAL_SUMS; k++) tops[k] = scores[key + k] > tops[k] ? scores[key + k] : tops[k];
    float largest = tops[0];
    for (int k = 1; k < PARTIAL_SUMS; k++) largest = tops[k] > largest ? tops[k] : largest;
    return largest;
}

static float sum_of_exponentials(float *scores, int count, float largest)
{
    float sums[PARTIAL_SUMS] = {0};
    for (int key = 0; key < count; key += PARTIAL_SUMS)
        for (int k = 0; k < PARTIAL_SUMS; k++) {
            float score = scores[key + k], weight = exponential(score - largest);
            weight = score == -INFINITY ? 0.0f : weight;
            scores[key + k] = weight;
            sums[k] += weight;
        }
    for (int half = PARTIAL_SUMS / 2; half; half /= 2)
        for (int k = 0; k < half; k++) sums[k] += sums[k + half];
    return sums[0];
}

/* Make weights of a row's scores for the keys from..to-1 of a tile; what comes before and after them has none. */
static void softmax(const hk_attention *a, const struct queries *q, uint8_t *const *records, int row, int from, int to)
{
    float *scores = q->scores + row * TILE_KEYS, *of_row = q->sums + row * (a->size + 2) + a->size;
    int begin = from / HK_BLOCK, blocks = blocks_of(to), start = begin * HK_BLOCK, count = blocks * HK_BLOCK;
    if (a->cap > 0.0f) cap_scores(scores + start, count - start, a->cap);
    for (int key = start; key < from; key++) scores[key] = -INFINITY;
    for (int key = to; key < count; key++) scores[key] = -INFINITY;
    of_row[0] = largest_of(scores + start, count - start);
    of_row[1] = sum_of_exponentials(scores + start, count - start, of_row[0]);
    for (int block = begin; block < blocks; block++) {
        float weights[HK_BLOCK];
        const uint16_t *scales = value_scales_of(a, records[block]);
        const float *of_block = scores + block * HK_BLOCK;
        for (int key = 0; key < HK_BLOCK; key++)
            weights[key] = of_block[key] == 0.0f ? 0.0f : of_block[key] * float_of((uint32_t)scales[key] << 16);
        q->weight_scales[row * TILE_BLOCKS + block] =
            round_numbers(weights, HK_BLOCK, MAX_WEIGHT, 0, q->weights + row * TILE_KEYS + block * HK_BLOCK);
    }
}

/* The keys and values of a tile as a token sees them that does not see all tokens of its pass: those that it sees follow
   each other. */
static void gather(const hk_attention *a, const struct sequence *s, int kv_head, int token, int tile, int end,
                   const struct queries *q, uint8_t **records)
{
    const uint8_t *mask = s->mask + (size_t)token * s->count;
    size_t size = kv_record_size(a->size, a->bits);
    int first = tile * TILE_KEYS, last = smaller(first + TILE_KEYS, end), place = s->past;
    for (int block = s->past / HK_BLOCK; block < blocks_of(last); block++) {
        if (block * HK_BLOCK < first) continue;
        uint8_t *record = q->records + (block - tile * TILE_BLOCKS) * size;
        if (block * HK_BLOCK < s->past) memcpy(record, record_of(a, s, kv_head, block), size);
        records[block - tile * TILE_BLOCKS] = record;
    }
    for (int other = 0; other < s->count && place < last; other++) {
        if (!mask[other]) continue;
        int slot = s->past + other;
        if (place >= first)
            move_kv(a, record_of(a, s, kv_head, slot / HK_BLOCK), slot % HK_BLOCK,
                    records[place / HK_BLOCK - tile * TILE_BLOCKS], place % HK_BLOCK);
        place++;
    }
}

/* Keys that a token sees. */
static int end_of(const struct sequence *s, int token)
{
    if (!s->mask) return s->past + token + 1;
    int end = s->past;
    for (int other = 0; other < s->count; other++) end += s->mask[(size_t)token * s->count + other] != 0;
    return end;
}

/* Whether a token sees all tokens before it, and no other. */
static int sees_all(const struct sequence *s, int token)
{
    if (!s->mask) return 1;
    const uint8_t *mask = s->mask + (size_t)token * s->count;
    for (int other = 0; other < s->count; other++)
        if (!mask[other] != (other > token)) return 0;
    return 1;
}

/* Blocks of a tile that none of some rows sees any more, because they fell out of the window. */
static int blocks_before(const hk_attention *a, const int *ends, int rows, int tile)
{
    int begin = INT32_MAX;
    for (int row = 0; row < rows; row++) begin = smaller(begin, begin_of(a, ends[row]));
    return begin > tile * TILE_KEYS ? smaller((begin - tile * TILE_KEYS) / HK_BLOCK, TILE_BLOCKS) : 0;
}

/* Make the weights of some blocks of a row zero. */
INLINE void clear_weights(const struct queries *q, int row, int block, int count)
{
    memset(q->weights + row * TILE_KEYS + block * HK_BLOCK, 0, count * HK_BLOCK * sizeof *q->weights);
    memset(q->weight_scales + row * TILE_BLOCKS + block, 0, count * sizeof *q->weight_scales);
}

/* A tile for some rows; `ends`: the keys that each sees. `after`: the record that is read next, or the last one. */
INLINE void attend_tile(const hk_attention *a, const struct queries *q, uint8_t *const *records, const uint8_t *after, int tile,
                        int first, int rows, const int *ends, const int bits)
{
    int keys = 0, start = tile * TILE_KEYS;
    for (int row = 0; row < rows; row++) keys = ends[first + row] > keys ? ends[first + row] : keys;
    int blocks = blocks_of(smaller(keys - start, TILE_KEYS)), bytes = (int)(values_of_record(a, records[0]) - records[0]);
    int begin = blocks_before(a, ends + first, rows, tile);
    int walks = (rows + ROWS - 1) / ROWS * (HK_BLOCK / (LANES * VECTORS_OF_ROW)) * (a->size / GROUP);
    for (int block = begin; block < blocks; block++) {
        struct ahead ahead = ahead_of(block + 1 < blocks ? records[block + 1] : values_of_record(a, records[begin]), bytes, walks);
        for (int row = 0; row < rows; row += rows_of_part(row, rows))
            score(a, q, records[block], &ahead, first + row, rows_of_part(row, rows), bits,
                  q->scores + block * HK_BLOCK);
    }
    for (int row = first; row < first + rows; row++) {
        int from = begin_of(a, ends[row]) - start, to = smaller(ends[row] - start, TILE_KEYS);
        memset(q->sums + row * (a->size + 2), 0, a->size * sizeof *q->sums);
        if (from < 0) from = 0;
        if (from < to)
            softmax(a, q, records, row, from, to);
        else
            q->sums[row * (a->size + 2) + a->size] = -INFINITY;
        int seen = from < to ? from / HK_BLOCK : blocks, done = from < to ? blocks_of(to) : blocks;
        clear_weights(q, row, 0, seen);
        clear_weights(q, row, done, blocks - done);
    }
    for (int block = begin; block < blocks; block++) {
        uint8_t *values = values_of_record(a, records[block]);
        struct ahead ahead = ahead_of(block + 1 < blocks ? values_of_record(a, records[block + 1]) : after, bytes, walks);
        for (int number = 0; number < a->size; number += GROUP)
            for (int row = 0; row < rows; row += rows_of_part(row, rows))
                add_values(a, q, values, &ahead, block, number, first + row, rows_of_part(row, rows), bits);
    }
}

static void attend_tile_of(const hk_attention *a, const struct queries *q, uint8_t *const *records, const uint8_t *after,
                           int tile, int first, int rows, const int *ends)
{
    if (a->bits == 16)
        attend_tile(a, q, records, after, tile, first, rows, ends, 16);
    else
        attend_tile(a, q, records, after, tile, first, rows, ends, 8);
}

/* Add the result of a tile to that of the tiles before it: [size], the largest score, the sum of exponentials. */
static void merge(const float *restrict tile, int size, float *restrict all)
{
    float largest = tile[size] > all[size] ? tile[size] : all[size];
    if (tile[size] == -INFINITY) return;
    float before = exponential(all[size] - largest), now = exponential(tile[size] - largest);
    for (int i = 0; i < size; i++) all[i] = fmaf(tile[i], now, all[i] * before);
    all[size + 1] = fmaf(tile[size + 1], now, all[size + 1] * before);
    all[size] = largest;
}

static void begin_merging(int size, float *all)
{
    memset(all, 0, (size + 2) * sizeof *all);
    all[size] = -INFINITY;
}

/* The attention of a query, of all its tiles together. */
static void finish_merging(const hk_attention *a, int head, const float *all, float *out)
{
    float by = all[a->size + 1];
    if (a->sinks) by += exponential(a->sinks[head] - all[a->size]);
    by = 1.0f / by;
    for (int i = 0; i < a->size; i++) out[i] = all[i] * by;
}

/* Round query number `row`. */
static void take_query(const hk_attention *a, const struct queries *q, int kv_head, const float *x, int row)
{
    float ordered[MAX_HEAD];
    x = in_order(a, kv_head, x, ordered);
    for (int number = 0; number < groups_of(a); number++) {
        struct span group = group_of(a, number);
        q->scales[row * groups_of(a) + number] =
            a->scale * round_numbers(x + group.first, group.count, MAX_QUERY, 0, q->numbers + row * a->size + group.first);
    }
}

/* A tile for tokens that do not see all tokens of their pass, one after the other. */
static void attend_gathered(const hk_attention *a, const struct sequence *s, const struct queries *q,
                            uint8_t *const *records, int kv_head, int tile, int first, int rows, const int *ends)
{
    int group = a->heads / a->kv_heads;
    for (int row = 0, next; row < rows; row = next) {
        int token = (first + row) / group;
        next = smaller((token + 1) * group - first, rows);
        uint8_t *seen[TILE_BLOCKS];
        memcpy(seen, records, sizeof seen);
        if (ends[row] > tile * TILE_KEYS) gather(a, s, kv_head, token, tile, ends[row], q, seen);
        attend_tile_of(a, q, seen, records[0], tile, row, next - row, ends);
    }
}

/* The tiles of a range, merged. `last`: the tile that is not seen any more. */
static void attend_range(const hk_attention *a, const struct sequence *s, const struct queries *q, int kv_head, int first,
                         int rows, int range, int last, const int *ends, int sees_all)
{
    int stride = a->size + 2, blocks = blocks_of(s->past + s->count), tile = range * (RANGE_KEYS / TILE_KEYS);
    for (int row = 0; row < rows; row++) begin_merging(a->size, q->range + row * stride);
    for (last = smaller(last, tile + RANGE_KEYS / TILE_KEYS); tile < last; tile++) {
        if (blocks_before(a, ends, rows, tile) == TILE_BLOCKS) continue;
        uint8_t *records[TILE_BLOCKS], *after = record_of(a, s, kv_head, smaller((tile + 1) * TILE_BLOCKS, blocks - 1));
        for (int block = 0; block < TILE_BLOCKS; block++)
            records[block] = record_of(a, s, kv_head, smaller(tile * TILE_BLOCKS + block, blocks - 1));
        if (sees_all || (tile + 1) * TILE_KEYS <= s->past)
            attend_tile_of(a, q, records, after, tile, 0, rows, ends);
        else
            attend_gathered(a, s, q, records, kv_head, tile, first, rows, ends);
        for (int row = 0; row < rows; row++) merge(q->sums + row * stride, a->size, q->range + row * stride);
    }
}

/* Attention of some queries that share keys and values, over the ranges of keys from `range` to `last`. Query number
   `row` is that of token row / g, head row % g of the g heads. `query` and `out` are those of the sequence's first token:
   [count][heads][size]. `results`: where the result of each range goes, [count][heads][ranges of the sequence][size + 2];
   NULL: they are merged. */
static void attend(const hk_attention *a, const struct sequence *s, int kv_head, int first, int rows, int range,
                   int last, const float *query, float *out, float *results, uint8_t *scratch)
{
    int size = a->size, stride = size + 2, group = a->heads / a->kv_heads, ends[MAX_ROWS], most = 0, is_whole = 1;
    int begin = first_range_of(a, s), count = ranges_of(a, s);
    size_t places[MAX_ROWS]; /* of queries, and of results */
    struct queries q = queries_in(a, scratch);
    for (int row = 0; row < rows; row++) {
        int token = (first + row) / group;
        places[row] = (size_t)token * a->heads + kv_head * group + (first + row) % group;
        take_query(a, &q, kv_head, query + places[row] * size, row);
        ends[row] = end_of(s, token);
        most = ends[row] > most ? ends[row] : most;
        is_whole &= sees_all(s, token);
        begin_merging(size, q.all + row * stride);
    }
    int tiles = (most + TILE_KEYS - 1) / TILE_KEYS;
    for (last = smaller(last, (most + RANGE_KEYS - 1) / RANGE_KEYS); range < last; range++) {
        attend_range(a, s, &q, kv_head, first, rows, range, tiles, ends, is_whole);
        for (int row = 0; row < rows; row++) {
            const float *result = q.range + row * stride;
            if (results)
                memcpy(results + (places[row] * count + range - begin) * stride, result, stride * sizeof *result);
            else
                merge(result, size, q.all + row * stride);
        }
    }
    for (int row = 0; row < rows && !results; row++)
        finish_merging(a, (int)(places[row] % a->heads), q.all + row * stride, out + places[row] * size);
}

/* Merge the ranges of a token's query. */
static void merge_ranges(const hk_attention *a, const struct sequence *s, int token, int head, const float *results,
                         float *out)
{
    float all[MAX_HEAD + 2];
    int last = (end_of(s, token) + RANGE_KEYS - 1) / RANGE_KEYS;
    begin_merging(a->size, all);
    for (int range = first_range_of(a, s); range < last; range++, results += a->size + 2) merge(results, a->size, all);
    finish_merging(a, head, all, out);
}
#endif
