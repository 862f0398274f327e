/* Products of a block with tiles of tokens, over the vector functions that an instruction set defines before it includes this:

       VECTORS                        vectors of rows in a walk
       ints, floats, LANES            a vector of i32, of f32, and its length
       pairs                          sums of products that `whole` makes i32 of
       load_ints(p), load_halves(p), load_shorts(p), load_bytes(p), load_floats(p), store_floats(p, v)
                                      memory as i32; f16 as f32; u16, u8 as i32; f32
       broadcast(p), fill_int(i), fill_float(f)
       low_nibbles(v), high_nibbles(v)
       begin(sums), finish(sums, p)   products of 4-bit weights are added up in `pairs` for 32 columns at a time
       dot4(p, u, x)                  p + sum of four u * x; u unsigned 4 bits, x signed 8 bits
       dot8(sums, u, x)               sums + sum of four (u - OFFSET8) * x; u unsigned 8 bits
       multiply_ints, add_ints, to_floats, multiply, multiply_add

   A walk takes VECTORS * LANES rows and `n` tokens; everything is inlined with a constant n, so that the sums stay in registers. */
#include "elementwise.h"

/* Bytes between reading and prefetching. */
enum { AHEAD = 8192, WALK = VECTORS * LANES };

typedef ints sums_of_tile[MAX_TILE][VECTORS];
typedef floats totals_of_tile[MAX_TILE][VECTORS];

/* Records of 32 columns: scales, as many minimums, lines. */
INLINE int step_size(const int format)
{
    return format == HK_INT4_MIN ? MIN_RECORD : K_STEP;
}

INLINE int step_header(const int format)
{
    return format == HK_INT4_MIN ? HK_BLOCK * 4 : HK_BLOCK * 2;
}

INLINE floats load_step(const int format, const uint8_t *at, int row)
{
    return format == HK_INT4_MIN ? load_halves(at + row * 2) : to_floats(load_bytes(at + row));
}

/* Add the products of 32 columns of 4 bits. */
INLINE void add_products4(const uint8_t *weights, const int8_t *x, const int n, sums_of_tile sums)
{
    pairs p[MAX_TILE][VECTORS];
#pragma GCC unroll 8
    for (int t = 0; t < n; t++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++) p[t][v] = begin(sums[t][v]);
#pragma GCC unroll 4
    for (int line = 0; line < STEP / 8; line++) {
        ints low[VECTORS], high[VECTORS];
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++) {
            const uint8_t *words = weights + line * LINE + v * (int)sizeof(ints);
            __builtin_prefetch(words + AHEAD);
            low[v] = low_nibbles(load_ints(words));
            high[v] = high_nibbles(load_ints(words));
        }
#pragma GCC unroll 8
        for (int t = 0; t < n; t++) {
            ints first = broadcast(x + t * STEP + line * 8), second = broadcast(x + t * STEP + line * 8 + 4);
#pragma GCC unroll 2
            for (int v = 0; v < VECTORS; v++) p[t][v] = dot4(dot4(p[t][v], low[v], first), high[v], second);
        }
    }
#pragma GCC unroll 8
    for (int t = 0; t < n; t++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++) sums[t][v] = finish(sums[t][v], p[t][v]);
}

/* Add the products of 32 columns of 8 bits. */
INLINE void add_products8(const uint8_t *weights, const int8_t *x, const int n, sums_of_tile sums)
{
#pragma GCC unroll 8
    for (int line = 0; line < STEP / 4; line++) {
        ints words[VECTORS];
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++) {
            const uint8_t *at = weights + line * LINE + v * (int)sizeof(ints);
            __builtin_prefetch(at + AHEAD);
            words[v] = load_ints(at);
        }
#pragma GCC unroll 8
        for (int t = 0; t < n; t++) {
            ints columns = broadcast(x + t * STEP + line * 4);
#pragma GCC unroll 2
            for (int v = 0; v < VECTORS; v++) sums[t][v] = dot8(sums[t][v], words[v], columns);
        }
    }
}

/* out = sum * scale of the weights * scale of the activations + out */
INLINE void add_group4(const uint8_t *group_data, const struct activations *x, int group, const int n, int row, float (*out)[HK_BLOCK])
{
    sums_of_tile sums;
    const uint8_t *weights = group_data + HK_BLOCK * 2 + row * 4;
#pragma GCC unroll 8
    for (int t = 0; t < n; t++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++) sums[t][v] = fill_int(-8 * x->sum[t]);
    for (int step = 0; step < group / STEP; step++)
        add_products4(weights + step * STEP / 8 * LINE, x->values + step * n * STEP, n, sums);
#pragma GCC unroll 2
    for (int v = 0; v < VECTORS; v++) {
        floats scales = load_halves(group_data + (row + v * LANES) * 2);
#pragma GCC unroll 8
        for (int t = 0; t < n; t++) {
            float *to = out[t] + row + v * LANES;
            store_floats(to, multiply_add(multiply(to_floats(sums[t][v]), scales), fill_float(x->scale[t]), load_floats(to)));
        }
    }
}

INLINE void add_group8(const uint8_t *group_data, const uint8_t *zeros, const struct activations *x, int group, const int n, int row,
                       float (*out)[HK_BLOCK])
{
    sums_of_tile sums;
    const uint8_t *weights = group_data + row * 4;
#pragma GCC unroll 2
    for (int v = 0; v < VECTORS; v++) {
        ints zero = add_ints(fill_int(OFFSET8), multiply_ints(fill_int(-1), load_shorts(zeros + (row + v * LANES) * 2)));
#pragma GCC unroll 8
        for (int t = 0; t < n; t++) sums[t][v] = multiply_ints(zero, fill_int(x->sum[t]));
    }
    for (int step = 0; step < group / STEP; step++)
        add_products8(weights + step * STEP / 4 * LINE, x->values + step * n * STEP, n, sums);
#pragma GCC unroll 2
    for (int v = 0; v < VECTORS; v++)
#pragma GCC unroll 8
        for (int t = 0; t < n; t++) {
            float *to = out[t] + row + v * LANES;
            store_floats(to, multiply_add(to_floats(sums[t][v]), fill_float(x->scale[t]), load_floats(to)));
        }
}

/* totals = sum of the products of each 32 columns * their scale, for the formats whose scales change every 32 columns */
INLINE void add_steps(const int format, const uint8_t *records, const struct activations *x, int group, const int n, int row,
                      totals_of_tile totals)
{
#pragma GCC unroll 8
    for (int t = 0; t < n; t++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++) totals[t][v] = fill_float(0.0f);
    for (int step = 0; step < group / STEP; step++) {
        sums_of_tile sums;
        const uint8_t *record = records + step * step_size(format);
#pragma GCC unroll 8
        for (int t = 0; t < n; t++)
#pragma GCC unroll 2
            for (int v = 0; v < VECTORS; v++) sums[t][v] = fill_int(0);
        add_products4(record + step_header(format) + row * 4, x->values + step * n * STEP, n, sums);
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++) {
            floats scales = load_step(format, record, row + v * LANES);
#pragma GCC unroll 8
            for (int t = 0; t < n; t++) totals[t][v] = multiply_add(to_floats(sums[t][v]), scales, totals[t][v]);
        }
    }
}

/* total + sum of the minimum of each 32 columns * the sum of their activations */
INLINE floats add_minimums(const int format, const uint8_t *records, const struct activations *x, int group, int t, int row, floats total)
{
#pragma GCC unroll 4
    for (int step = 0; step < group / STEP; step++) {
        floats minimums = load_step(format, records + step * step_size(format) + step_header(format) / 2, row);
        total = multiply_add(minimums, fill_float(x->part[step][t]), total);
    }
    return total;
}

/* out = (total + minimums) * scale of the activations + out */
INLINE void add_group_min(const uint8_t *records, const struct activations *x, int group, const int n, int row, float (*out)[HK_BLOCK])
{
    totals_of_tile totals;
    add_steps(HK_INT4_MIN, records, x, group, n, row, totals);
#pragma GCC unroll 2
    for (int v = 0; v < VECTORS; v++)
#pragma GCC unroll 8
        for (int t = 0; t < n; t++) {
            float *to = out[t] + row + v * LANES;
            floats total = add_minimums(HK_INT4_MIN, records, x, group, t, row + v * LANES, totals[t][v]);
            store_floats(to, multiply_add(total, fill_float(x->scale[t]), load_floats(to)));
        }
}

/* out = (total * d - minimums * m) * scale of the activations + out; total and minimums are whole numbers below 2^24, so exact */
INLINE void add_group_k(const uint8_t *super, const uint8_t *records, const struct activations *x, int group, const int n, int row,
                        float (*out)[HK_BLOCK])
{
    totals_of_tile totals;
    add_steps(HK_INT4_K, records, x, group, n, row, totals);
#pragma GCC unroll 2
    for (int v = 0; v < VECTORS; v++) {
        int at = row + v * LANES;
        floats d = load_halves(super + at * 2), m = multiply(fill_float(-1.0f), load_halves(super + HK_BLOCK * 2 + at * 2));
#pragma GCC unroll 8
        for (int t = 0; t < n; t++) {
            floats minimums = add_minimums(HK_INT4_K, records, x, group, t, at, fill_float(0.0f));
            floats sums = multiply_add(totals[t][v], d, multiply(minimums, m));
            store_floats(out[t] + at, multiply_add(sums, fill_float(x->scale[t]), load_floats(out[t] + at)));
        }
    }
}

INLINE void add_group(const int format, const uint8_t *block, int g, const struct activations *x, int group, const int n,
                      float (*out)[HK_BLOCK])
{
    const uint8_t *super = block + (size_t)g * group / SUPERBLOCK * K_RECORD;
    for (int row = 0; row < HK_BLOCK; row += WALK)
        switch (format) {
        case HK_INT8: add_group8(block + INT8_HEADER + (size_t)g * int8_group_size(group), block + HK_BLOCK * 2, x, group, n, row, out); break;
        case HK_INT4: add_group4(block + (size_t)g * int4_group_size(group), x, group, n, row, out); break;
        case HK_INT4_MIN: add_group_min(block + (size_t)g * group / STEP * MIN_RECORD, x, group, n, row, out); break;
        default: add_group_k(super, super + K_HEADER + g * group % SUPERBLOCK / STEP * K_STEP, x, group, n, row, out);
        }
}

INLINE void multiply_format(const int format, const uint8_t *block, const struct rounded *x, int first, int tiles, float (*out)[HK_BLOCK])
{
    for (int g = 0; g < x->groups; g++)
        for (int tile = 0; tile < tiles; tile++) {
            const struct activations *of_tile = activations_of(x, first + tile, g);
            float (*to)[HK_BLOCK] = out + tile * x->tile;
            switch (tokens_of_tile(x, first + tile)) {
            case 1: add_group(format, block, g, of_tile, x->group, 1, to); break;
            case 2: add_group(format, block, g, of_tile, x->group, 2, to); break;
            case 3: add_group(format, block, g, of_tile, x->group, 3, to); break;
            case 4: add_group(format, block, g, of_tile, x->group, 4, to); break;
#if TILE > 4
            case 5: add_group(format, block, g, of_tile, x->group, 5, to); break;
            case 6: add_group(format, block, g, of_tile, x->group, 6, to); break;
            case 7: add_group(format, block, g, of_tile, x->group, 7, to); break;
            case 8: add_group(format, block, g, of_tile, x->group, 8, to); break;
#endif
            }
        }
}

static void multiply_block(int format, const uint8_t *block, const struct rounded *x, int first, int tiles, float (*out)[HK_BLOCK])
{
    int tokens = smaller(tiles * x->tile, x->tokens - first * x->tile);
    memset(out, 0, (size_t)tokens * sizeof *out);
    switch (format) {
    case HK_INT8: multiply_format(HK_INT8, block, x, first, tiles, out); break;
    case HK_INT4: multiply_format(HK_INT4, block, x, first, tiles, out); break;
    case HK_INT4_MIN: multiply_format(HK_INT4_MIN, block, x, first, tiles, out); break;
    default: multiply_format(HK_INT4_K, block, x, first, tiles, out);
    }
    for (int t = 0; format == HK_INT8 && t < tokens; t++)
        for (int row = 0; row < HK_BLOCK; row += LANES)
            store_floats(out[t] + row, multiply(load_floats(out[t] + row), load_halves(block + row * 2)));
}
