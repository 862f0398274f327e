/* Products of a block with tiles of tokens, over the vector functions that an instruction set defines before it
   includes this:

       VECTORS                        vectors of rows in a walk
       ints, floats, LANES            a vector of i32, of f32, and its length
       pairs                          sums of products before `finish` makes i32 of them
       load_ints(p), load_halves(p), load_shorts(p), load_bytes(p), load_floats(p), store_floats(p, v)
                                      memory as i32; f16 as f32; u16, u8 as i32; f32
       broadcast(p), fill_int(i), fill_float(f)
       low_nibbles(v), high_nibbles(v)
       begin(sums), finish(sums, p)   products of 4-bit weights are added up in `pairs` for 32 columns at a time
       dot4(p, u, x)                  p + sum of four u * x; u unsigned 4 bits, x signed 8 bits
       dot8(sums, u, x)               sums + sum of four (u - OFFSET8) * x; u unsigned 8 bits
       lower_shorts(v)                v with the upper half of each i32 cleared
       multiply_shorts(a, b)          products of the lower halves, i16, of i32 whose upper halves are zero in one of
   them add_ints, to_floats, multiply, multiply_add

   A walk takes VECTORS * LANES rows and `n` tokens; everything is inlined with a constant n, so that the sums stay in
   registers. */
#include "elementwise.h"

enum {
    AHEAD = 8192, /* bytes from what is read to what is prefetched */
    ROWS_OF_WALK = VECTORS * LANES,
};

typedef ints sums_of_tile[MAX_TILE][VECTORS];
typedef floats totals_of_tile[MAX_TILE][VECTORS];

/* Add the products of 32 columns of 4 bits. */
INLINE void add_products4(const uint8_t *weights, const int8_t *x, const int n, sums_of_tile sums)
{
    pairs p[MAX_TILE][VECTORS];
    for (int t = 0; t < n; t++)
        for (int v = 0; v < VECTORS; v++) p[t][v] = begin(sums[t][v]);
    for (int line = 0; line < STEP / 8; line++) {
        ints low[VECTORS], high[VECTORS];
        for (int v = 0; v < VECTORS; v++) {
            const uint8_t *words = weights + line * LINE + v * (int)sizeof(ints);
            __builtin_prefetch(words + AHEAD);
            low[v] = low_nibbles(load_ints(words));
            high[v] = high_nibbles(load_ints(words));
        }
        for (int t = 0; t < n; t++) {
            ints first = broadcast(x + t * STEP + line * 8), second = broadcast(x + t * STEP + line * 8 + 4);
            for (int v = 0; v < VECTORS; v++) p[t][v] = dot4(dot4(p[t][v], low[v], first), high[v], second);
        }
    }
    for (int t = 0; t < n; t++)
        for (int v = 0; v < VECTORS; v++) sums[t][v] = finish(sums[t][v], p[t][v]);
}

/* Add the products of 32 columns of 8 bits. */
INLINE void add_products8(const uint8_t *weights, const int8_t *x, const int n, sums_of_tile sums)
{
    for (int line = 0; line < STEP / 4; line++) {
        ints words[VECTORS];
        for (int v = 0; v < VECTORS; v++) {
            const uint8_t *at = weights + line * LINE + v * (int)sizeof(ints);
            __builtin_prefetch(at + AHEAD);
            words[v] = load_ints(at);
        }
        for (int t = 0; t < n; t++) {
            ints columns = broadcast(x + t * STEP + line * 4);
            for (int v = 0; v < VECTORS; v++) sums[t][v] = dot8(sums[t][v], words[v], columns);
        }
    }
}

/* Where the weights of some steps begin, and what belongs to all of them. */
struct walk {
    const uint8_t *lines;  /* of the first step */
    size_t pitch;          /* bytes from the lines of a step to those of the next */
    const uint8_t *scales; /* f16 of the rows: HK_INT4: of the walk; HK_INT4_K: d and m */
    const uint8_t *zeros;  /* u16 of the rows, of HK_INT8 */
    int step, steps;
};

INLINE struct walk walk_from(const int format, int group, const uint8_t *block, int step, int steps)
{
    struct walk w = {.step = step, .steps = smaller(WALK_STEPS, steps - step), .zeros = block + HK_BLOCK * 2};
    switch (format) {
    case HK_INT8:
        w.pitch = STEP / 4 * LINE;
        w.lines = block + INT8_HEADER + step * w.pitch;
        break;
    case HK_INT4:
        w.scales = block + (size_t)(step * STEP / group) * int4_group_size(group);
        w.lines = w.scales + HK_BLOCK * 2;
        w.pitch = STEP / 8 * LINE;
        w.steps = group / STEP;
        break;
    case HK_INT4_MIN:
        w.pitch = MIN_RECORD;
        w.lines = block + step * w.pitch + HK_BLOCK * 4;
        break;
    default:
        w.scales = block + (size_t)(step * STEP / SUPERBLOCK) * K_RECORD;
        w.lines = w.scales + K_HEADER + HK_BLOCK * 2;
        w.pitch = K_STEP;
        w.steps = MAX_STEPS;
    }
    return w;
}

/* What sums of products with unsigned weights begin with, so that they become those with weights around zero. */
INLINE ints first_sum(const int format, const struct walk *w, int row, int32_t sum)
{
    switch (format) {
    case HK_INT8: {
        ints zero = add_ints(load_shorts(w->zeros + row * 2), fill_int(-OFFSET8));
        return multiply_shorts(lower_shorts(zero), fill_int(-sum));
    }
    case HK_INT4: return fill_int(-8 * sum);
    default: return fill_int(0);
    }
}

/* The scale and the minimum of a step, for formats that have them for each 32 columns. */
INLINE floats step_scale(const int format, const struct walk *w, const uint8_t *lines, int row)
{
    if (format == HK_INT4_MIN) return load_halves(lines - HK_BLOCK * 4 + row * 2);
    return multiply(load_halves(w->scales + row * 2), to_floats(load_bytes(lines - HK_BLOCK * 2 + row)));
}

INLINE floats step_minimum(const int format, const struct walk *w, const uint8_t *lines, int row)
{
    if (format == HK_INT4_MIN) return load_halves(lines - HK_BLOCK * 2 + row * 2);
    floats m = multiply(fill_float(-1.0f), load_halves(w->scales + (HK_BLOCK + row) * 2));
    return multiply(m, to_floats(load_bytes(lines - HK_BLOCK + row)));
}

/* out += products of a walk's steps. For each of them: sum * scale of the activations; with minimums, (sum * scale +
   minimum * sum of the activations) * scale of the activations; HK_INT4 multiplies all of them by the walk's scale. */
INLINE void add_walk(const int format, const struct walk *w, const struct rounded *x, int tile, const int n, int row,
                     float (*out)[HK_BLOCK])
{
    totals_of_tile totals;
    for (int t = 0; t < n; t++)
        for (int v = 0; v < VECTORS; v++)
            totals[t][v] = format == HK_INT4 ? fill_float(0.0f) : load_floats(out[t] + row + v * LANES);
    for (int step = 0; step < w->steps; step++) {
        const struct activations *a = activations_of(x, tile, w->step + step);
        const uint8_t *lines = w->lines + step * w->pitch;
        sums_of_tile sums;
        for (int t = 0; t < n; t++)
            for (int v = 0; v < VECTORS; v++) sums[t][v] = first_sum(format, w, row + v * LANES, a->sum[t]);
        if (format == HK_INT8)
            add_products8(lines + row * 4, a->values, n, sums);
        else
            add_products4(lines + row * 4, a->values, n, sums);
        for (int v = 0; v < VECTORS; v++)
            for (int t = 0; t < n; t++) {
                floats sum = to_floats(sums[t][v]);
                if (format == HK_INT4_MIN || format == HK_INT4_K) {
                    floats minimum = step_minimum(format, w, lines, row + v * LANES);
                    sum = multiply_add(sum, step_scale(format, w, lines, row + v * LANES),
                                       multiply(minimum, fill_float((float)a->sum[t])));
                }
                totals[t][v] = multiply_add(sum, fill_float(a->scale[t]), totals[t][v]);
            }
    }
    for (int v = 0; v < VECTORS; v++)
        for (int t = 0; t < n; t++) {
            float *to = out[t] + row + v * LANES;
            if (format == HK_INT4)
                totals[t][v] =
                    multiply_add(totals[t][v], load_halves(w->scales + (row + v * LANES) * 2), load_floats(to));
            store_floats(to, totals[t][v]);
        }
}

INLINE void add_rows_of_walk(const int format, const struct walk *w, const struct rounded *x, int tile, const int n,
                             float (*out)[HK_BLOCK])
{
    for (int row = 0; row < HK_BLOCK; row += ROWS_OF_WALK) add_walk(format, w, x, tile, n, row, out);
}

INLINE void multiply_format(const int format, int group, const uint8_t *block, const struct rounded *x, int first,
                            int tiles, float (*out)[HK_BLOCK])
{
    for (int step = 0; step < x->steps;) {
        struct walk w = walk_from(format, group, block, step, x->steps);
        for (int tile = first; tile < first + tiles; tile++) {
            float (*to)[HK_BLOCK] = out + (tile - first) * x->tile;
            switch (tokens_of_tile(x, tile)) {
            case 1: add_rows_of_walk(format, &w, x, tile, 1, to); break;
            case 2: add_rows_of_walk(format, &w, x, tile, 2, to); break;
            case 3: add_rows_of_walk(format, &w, x, tile, 3, to); break;
            case 4: add_rows_of_walk(format, &w, x, tile, 4, to); break;
#if TILE > 4
            case 5: add_rows_of_walk(format, &w, x, tile, 5, to); break;
            case 6: add_rows_of_walk(format, &w, x, tile, 6, to); break;
            case 7: add_rows_of_walk(format, &w, x, tile, 7, to); break;
            case 8: add_rows_of_walk(format, &w, x, tile, 8, to); break;
#endif
            }
        }
        step += w.steps;
    }
}

static void multiply_block(int format, int group, const uint8_t *block, const struct rounded *x, int first, int tiles,
                           float (*out)[HK_BLOCK])
{
    int tokens = smaller(tiles * x->tile, x->tokens - first * x->tile);
    memset(out, 0, (size_t)tokens * sizeof *out);
    switch (format) {
    case HK_INT8: multiply_format(HK_INT8, group, block, x, first, tiles, out); break;
    case HK_INT4: multiply_format(HK_INT4, group, block, x, first, tiles, out); break;
    case HK_INT4_MIN: multiply_format(HK_INT4_MIN, group, block, x, first, tiles, out); break;
    default: multiply_format(HK_INT4_K, group, block, x, first, tiles, out);
    }
    if (format != HK_INT8) return;
    for (int t = 0; t < tokens; t++)
        for (int row = 0; row < HK_BLOCK; row += LANES)
            store_floats(out[t] + row, multiply(load_floats(out[t] + row), load_halves(block + row * 2)));
}
