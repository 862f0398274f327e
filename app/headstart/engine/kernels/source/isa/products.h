/* Products of a block with tiles of tokens, over the vector functions that an instruction set defines before it
   includes this:

       VECTORS(format, n)             vectors of rows that are multiplied together by n tokens, 1 or 2
       DOTS(bits)                     `dot4`s that fit into `pairs` before they must be finished: 2, 4 or 8
       ints, floats, LANES            a vector of i32, of f32, and its length
       pairs                          sums of products before `finish` makes i32 of them
       load_ints(p), load_halves(p), load_shorts(p), load_floats(p), store_floats(p, v)
                                      memory as i32; f16 as f32; u16 as i32; f32
       broadcast(p), broadcast_float(p), fill_int(i), fill_float(f), fill_bytes(i), table_of(p)
       and_ints(a, b), or_ints(a, b), shift_right(v, n), shift_left(v, n), shift_right_signed(v, n)
                                      of i32
       look_up(table, v)              bytes 0..15 of v by a table of 16 bytes
       LIGHT, LIGHT8                  tokens at most of products that are light, see is_light; of codes of 8 bits
       AHEAD, AHEAD_FIRST             bytes from what is read to what is prefetched, line by line: into the second-level
                                      cache; from there into the first level (0: not)
       HIGH_CODES                     16: dot4 takes 8 bits, so that upper halves of bytes stay where they are; else 1
       begin(sums), finish(sums, p)   products of weights up to 6 bits are added up in `pairs`, see DOTS; one of the two
                                      adds the sums so far
       finish_scaled(sums, p, f)      sums + p * f; p began with zero, f is a whole number of 8 bits
       dot4(p, u, x)                  p + sum of four u * x; u unsigned up to 6 bits, x signed 8 bits
       dot8(sums, u, x)               sums + sum of four (u - OFFSET8) * x; u unsigned 8 bits
       lower_shorts(v)                v with the upper half of each i32 cleared
       multiply_shorts(a, b)          products of the lower halves, i16, of i32 whose upper halves are zero in one of them
       add_ints, multiply_ints, to_floats, multiply, multiply_add

   Everything is inlined with a constant format and number of tokens, so that sums stay in registers. */
#include "../formats.h"

enum {
    PAGE = 4096,   /* bytes at whose end the processor's own prefetch stops */
    FIRST = 2,     /* lines of the next page that set it going again */
};

typedef ints sums_of_tile[MAX_TILE][2];

/* Whether lines are read one after the other, and so little is computed with each that the processor looks far enough
   ahead by itself, if it can. Its own prefetch then gives more lines at a time than it has places to wait for ours. */
INLINE int is_light(const int format, const int n)
{
    if (has_pairs(format) || format == HK_IQ4_XS) return 0;
    return n <= (format == HK_INT8 || format == HK_Q8_0 ? LIGHT8 : LIGHT) && reads_ahead();
}

/* Prefetch `size` bytes AHEAD and AHEAD_FIRST of `at`, in ascending order and without gaps; of what is `light`, the first
   lines of the next page. What memory sends goes to the second level: on the way into the first, each line would wait. */
INLINE void prefetch(const uint8_t *at, size_t size, const int light)
{
    for (size_t i = 0; i < size; i += CACHE_LINE) {
        const uint8_t *line = at + (light ? PAGE : AHEAD) + i;
        if (AHEAD_FIRST) __builtin_prefetch(at + AHEAD_FIRST + i, 0, 3);
        if (!light || ((uintptr_t)line & (PAGE - 1)) < FIRST * CACHE_LINE) __builtin_prefetch(line, 0, 2);
    }
}

/* Group 4 * quad + k of the groups of 32 columns in a record. */
struct group {
    const uint8_t *record, *lines; /* the f16 numbers of the rows; the words after them: of a superblock all, else its own */
    int quad, k;
};

/* The group of `step`, or of `step` + k in a superblock, where k is constant, so that places of bits are. */
INLINE struct group group_at(const int format, int group, const uint8_t *block, int step, const int k)
{
    if (format == HK_INT8)
        return (struct group){.record = block, .lines = block + INT8_HEADER + (size_t)step * 8 * LINE};
    const unsigned steps = (unsigned)record_columns(format, group) / STEP, number = (unsigned)step % steps;
    const uint8_t *record = block + (unsigned)step / steps * record_size(format, group);
    const uint8_t *lines = record + halves_of(format) * HALVES + (format == HK_INT4 ? number * 4 * LINE : 0);
    return (struct group){record, lines, (int)number / 4, has_pairs(format) ? k : (int)number % 4};
}

/* Whether the codes of a group that shares bytes with another one are in their upper halves. */
INLINE int is_upper(const int format, const struct group *g) { return format == HK_Q6_K ? g->k / 2 : g->k % 2; }

/* Codes of 4 bits, all in the lower or all in the upper halves of bytes. */
INLINE ints nibbles(ints word, const int upper) { return and_ints(shift_right(word, 4 * upper), fill_bytes(15)); }

/* Bits of each byte, moved by `by` to the left, or to the right if it is negative. */
INLINE ints moved_bits(ints words, const int by, int mask)
{
    return and_ints(by < 0 ? shift_right(words, -by) : shift_left(words, by), fill_bytes(mask));
}

/* The codes of 4 columns of a group: those from 16 * half + 4 * line on. `lines`: from the lane on. */
INLINE ints codes_of(const int format, const struct group *g, const uint8_t *lines, const int half, int line)
{
    const int i = 4 * half + line, upper = is_upper(format, g), pair = 2 * g->quad + g->k / 2;
    switch (format) {
    case HK_Q4_K: {
        ints word = load_ints(lines + (3 + pair * 8 + i) * LINE);
        return HIGH_CODES == 16 && upper ? and_ints(word, fill_bytes(0xf0)) : nibbles(word, upper);
    }
    case HK_Q5_K: {
        ints high = load_ints(lines + (3 + i) * LINE);
        return or_ints(nibbles(load_ints(lines + (11 + pair * 8 + i) * LINE), upper),
                       moved_bits(g->quad ? shift_right(high, 4) : high, 4 - g->k, 16));
    }
    case HK_Q6_K:
        return or_ints(nibbles(load_ints(lines + (20 + (2 * g->quad + g->k % 2) * 8 + i) * LINE), upper),
                       moved_bits(load_ints(lines + (4 + g->quad * 8 + i) * LINE), 4 - 2 * g->k, 0x30));
    case HK_Q2_K: return moved_bits(load_ints(lines + (4 + g->quad * 8 + i) * LINE), -2 * g->k, 3);
    case HK_Q3_K: {
        ints high = load_ints(lines + (3 + i) * LINE);
        return or_ints(moved_bits(load_ints(lines + (11 + g->quad * 8 + i) * LINE), -2 * g->k, 3),
                       moved_bits(g->quad ? shift_right(high, 4) : high, 2 - g->k, 4));
    }
    case HK_Q5_0:
    case HK_Q5_1:
        return or_ints(nibbles(load_ints(lines + (1 + line) * LINE), half),
                       shift_left(and_ints(shift_right(load_ints(lines), i), fill_bytes(1)), 4));
    case HK_IQ4_NL: return look_up(table_of(iq4_values), nibbles(load_ints(lines + line * LINE), half));
    case HK_IQ4_XS:
        lines += (1 + 4 * (4 * g->quad + g->k)) * LINE;
        return look_up(table_of(iq4_values), nibbles(load_ints(lines + line * LINE), half));
    case HK_INT8:
    case HK_Q8_0: return load_ints(lines + i * LINE);
    default: return nibbles(load_ints(lines + line * LINE), half);
    }
}

/* Formats with one scale for several groups. */
INLINE int is_shared(const int format) { return format == HK_INT8 || format == HK_INT4; }

/* The numbers of each row that the products of a group are multiplied by. */
struct factors {
    floats scale, minimum;
    floats of_halves[2]; /* whole numbers, for products of 16 columns */
    ints of_sums;        /* whole numbers, for sums of the activations */
};

/* Two whole numbers of 16 bits as one of 32. */
INLINE ints joined(ints first, ints second) { return or_ints(lower_shorts(first), shift_left(second, 16)); }

/* A factor of 8 bits of each row: byte `byte` of its words. */
INLINE floats factor(ints words, int byte) { return to_floats(and_ints(shift_right(words, 8 * byte), fill_int(255))); }

INLINE struct factors factors_of(const int format, const struct group *g, int row)
{
    const uint8_t *lines = g->lines + row * 4;
    struct factors f = {.scale = load_halves(g->record + row * 2)};
    if (has_minimum(format)) f.minimum = load_halves(g->record + HALVES + row * 2);
    if (format == HK_IQ4_XS) {
        ints low = shift_right(load_ints(lines), 4 * (4 * g->quad + g->k)),
             high = shift_right(load_shorts(g->record + HALVES + row * 2), 2 * (4 * g->quad + g->k));
        ints code = or_ints(and_ints(low, fill_int(15)), shift_left(and_ints(high, fill_int(3)), 4));
        f.scale = multiply(f.scale, to_floats(add_ints(code, fill_int(-32))));
    }
    if (format == HK_Q2_K) { /* a minimum for each 16 columns */
        ints words = shift_right(load_ints(lines + (2 * g->quad + g->k / 2) * LINE), g->k % 2 * 16 + 4);
        f.of_sums = joined(and_ints(words, fill_int(15)), and_ints(shift_right(words, 8), fill_int(15)));
    }
    if (format != HK_Q4_K && format != HK_Q5_K) return f;
    ints scales = load_ints(lines), minimums = load_ints(lines + LINE);
    if (!g->quad) {
        scales = and_ints(scales, fill_bytes(63));
        minimums = and_ints(minimums, fill_bytes(63));
    } else {
        ints low = load_ints(lines + 2 * LINE);
        scales = or_ints(nibbles(low, 0), and_ints(shift_right(scales, 2), fill_bytes(0x30)));
        minimums = or_ints(nibbles(low, 1), and_ints(shift_right(minimums, 2), fill_bytes(0x30)));
    }
    f.scale = multiply(f.scale, factor(scales, g->k));
    f.minimum = multiply(multiply(fill_float(-1.0f), f.minimum), factor(minimums, g->k));
    if (format == HK_Q4_K && HIGH_CODES == 16 && g->k % 2) f.scale = multiply(f.scale, fill_float(1.0f / 16));
    return f;
}

/* The whole number that products of 16 columns are multiplied by. */
INLINE ints factor_of_half(const int format, const struct group *g, int row, const int half)
{
    const uint8_t *lines = g->lines + row * 4;
    const int sixteen = 2 * g->k + half, byte = sixteen % 4 * 8; /* of 8 */
    if (format == HK_Q3_K) {
        ints low = shift_right(load_ints(lines + sixteen / 4 * LINE), byte + 4 * g->quad),
             high = shift_right(load_ints(lines + 2 * LINE), byte + 4 * g->quad + sixteen / 4 * 2);
        ints code = or_ints(and_ints(low, fill_int(15)), shift_left(and_ints(high, fill_int(3)), 4));
        return add_ints(code, fill_int(-32));
    }
    ints words = load_ints(lines + (2 * g->quad + sixteen / 4) * LINE);
    if (format == HK_Q2_K) return and_ints(shift_right(words, byte), fill_int(15));
    return shift_right_signed(shift_left(words, 24 - byte), 24);
}

/* What sums of products begin with, so that codes become numbers around zero; `negative`: of the activations. */
INLINE ints first_sum(const int format, ints negative)
{
    switch (offset_of(format) - (bits_of_code(format) == 8 ? OFFSET8 : 0)) {
    case 4: return shift_left(negative, 2);
    case 8: return shift_left(negative, 3);
    case 16: return shift_left(negative, 4);
    case 32: return shift_left(negative, 5);
    case 128: return shift_left(negative, 7);
    default: return fill_int(0);
    }
}

/* Add the products of a line of 4 columns of a half. */
INLINE void add_line(const int format, const struct group *g, const int half, int line, const int8_t *values,
                     const int n, const int vectors, int row, pairs p[MAX_TILE][2])
{
    ints codes[2];
    for (int v = 0; v < vectors; v++) codes[v] = codes_of(format, g, g->lines + (row + v * LANES) * 4, half, line);
    for (int t = 0; t < n; t++) {
        ints columns = broadcast(values + t * STEP + half * STEP / 2 + line * 4);
        for (int v = 0; v < vectors; v++)
            p[t][v] = bits_of_code(format) == 8 ? dot8(p[t][v], codes[v], columns) : dot4(p[t][v], codes[v], columns);
    }
}

/* Add the products of `count` lines, from `line` of a half on. */
INLINE void add_lines(const int format, const struct group *g, const int half, int line, const int count,
                      const int8_t *values, const int n, const int vectors, int row, pairs p[MAX_TILE][2])
{
    if (has_pairs(format)) {
#pragma GCC unroll 1 /* Unpacked all at once, the codes of four groups do not fit into registers. */
        for (int i = line; i < line + count; i++) add_line(format, g, half, i, values, n, vectors, row, p);
    } else {
#pragma GCC unroll 8
        for (int i = line; i < line + count; i++) add_line(format, g, half, i, values, n, vectors, row, p);
    }
}

/* Sums of products of a group, as whole numbers. */
INLINE void multiply_group(const int format, const struct group *g, uint8_t *a, const int n, const int vectors, int row,
                           sums_of_tile sums)
{
    const int is_scaled = has_scaled_halves(format), bits = bits_of_code(format);
    const int dots = is_scaled ? smaller(DOTS(bits), 4) : bits == 8 ? 8 : DOTS(bits);
    const int count = has_pairs(format) || format == HK_INT8 || format == HK_Q8_0 ? dots : smaller(dots, 4);
    ints factors[2][2];
    pairs p[MAX_TILE][2];
    for (int v = 0; v < vectors; v++) {
        int lane = row + v * LANES;
        ints by = fill_int(1); /* what the sum of the activations is multiplied by: INT8's code of zero, or factors */
        if (format == HK_INT8)
            by = lower_shorts(add_ints(load_shorts(g->record + HALVES + lane * 2), fill_int(-OFFSET8)));
        for (int half = 0; is_scaled && half < 2; half++) factors[half][v] = factor_of_half(format, g, lane, half);
        if (is_scaled) by = joined(factors[0][v], factors[1][v]);
        for (int t = 0; t < n; t++) {
            ints negative = broadcast(negative_sums_of(a, n) + t);
            if (format == HK_INT8 || is_scaled) negative = multiply_shorts(by, negative);
            sums[t][v] = format == HK_INT8 ? negative : first_sum(format, negative);
        }
    }
#pragma GCC unroll 4 /* the half is then known */
    for (int line = 0; line < 8; line += count) {
        if (line % dots == 0)
            for (int t = 0; t < n; t++)
                for (int v = 0; v < vectors; v++)
                    p[t][v] = bits == 8 ? sums[t][v] : begin(is_scaled ? fill_int(0) : sums[t][v]);
        add_lines(format, g, line / 4, line % 4, count, values_of(a, n), n, vectors, row, p);
        if ((line + count) % dots == 0)
            for (int t = 0; t < n; t++)
                for (int v = 0; v < vectors; v++)
                    sums[t][v] = bits == 8   ? p[t][v]
                                 : is_scaled ? finish_scaled(sums[t][v], p[t][v], factors[line / 4][v])
                                             : finish(sums[t][v], p[t][v]);
    }
}

/* Add the products of weights with one scale: total += sum * scale of the activations * scale; with minimums, total +=
   minimum * scaled sum of the activations; of HK_Q2_K, whose sums are negative, the sign is the file's. */
INLINE floats add_scaled(const int format, floats sum, uint8_t *a, const int n, int t, struct factors f, floats total)
{
    floats by = broadcast_float(scales_of(a) + t);
    total = multiply_add(multiply(sum, by), f.scale, total);
    if (format == HK_Q2_K) {
        ints sums = multiply_shorts(f.of_sums, broadcast(negative_sums_of(a, n) + t));
        return multiply_add(multiply(to_floats(sums), by), f.minimum, total);
    }
    return has_minimum(format) ? multiply_add(f.minimum, broadcast_float(scaled_sums_of(a, n) + t), total) : total;
}

/* totals += products of a group. Of HK_INT8 and HK_INT4, before the scale that several groups have. */
INLINE void add_group(const int format, const struct group *g, uint8_t *a, const int n, const int vectors, int row,
                      floats totals[MAX_TILE][2])
{
    sums_of_tile sums;
    multiply_group(format, g, a, n, vectors, row, sums);
    for (int v = 0; v < vectors; v++) {
        struct factors f;
        if (!is_shared(format)) f = factors_of(format, g, row + v * LANES);
        for (int t = 0; t < n; t++)
            totals[t][v] =
                is_shared(format) ? multiply_add(to_floats(sums[t][v]), broadcast_float(scales_of(a) + t), totals[t][v])
                                  : add_scaled(format, to_floats(sums[t][v]), a, n, t, f, totals[t][v]);
    }
}

/* out += products of `steps` groups of 32 columns from `step` on; of HK_INT8, before the scale. */
INLINE void add_groups(const int format, int group, const uint8_t *block, const struct q8 *x, int tile, int step,
                       int steps, const int n, const int vectors, int row, float (*out)[HK_BLOCK])
{
    floats totals[MAX_TILE][2];
    for (int t = 0; t < n; t++)
        for (int v = 0; v < vectors; v++)
            totals[t][v] = format == HK_INT4 ? fill_float(0.0f) : load_floats(out[t] + row + v * LANES);
    struct group g;
    const int together = has_pairs(format) ? 4 : 1, light = is_light(format, n);
    /* What is read several times, by as many walks over the rows, is prefetched in as many parts: all at once, more lines
       would be under way during the first walk than there are places, and none during the others. */
    const size_t share = record_size(format, group) / (record_columns(format, group) / STEP),
                 part = share * vectors * LANES / HK_BLOCK;
    g = group_at(format, group, block, step, 0);
    const uint8_t *from = (format == HK_INT8 ? g.lines : g.record) + share * (size_t)steps * row / HK_BLOCK;
    for (int i = step; i < step + steps; i += together)
#pragma GCC unroll 4 /* where bits lie in bytes is then known */
        for (int k = 0; k < together; k++) {
            uint8_t *a = activations_of(x, tile, i + k);
            g = group_at(format, group, block, i, k);
            prefetch(from + (size_t)(i + k - step) * part, part, light);
            add_group(format, &g, a, n, vectors, row, totals);
        }
    for (int t = 0; t < n; t++)
        for (int v = 0; v < vectors; v++) {
            float *to = out[t] + row + v * LANES;
            if (format == HK_INT4)
                totals[t][v] =
                    multiply_add(totals[t][v], load_halves(g.record + (row + v * LANES) * 2), load_floats(to));
            store_floats(to, totals[t][v]);
        }
}

/* out += products of 32 columns of F16 or BF16 with n tokens, from token `from` of `tokens` on. */
INLINE void add_floats(const int format, const uint8_t *record, uint8_t *a, int tokens, int from, const int n,
                       const int vectors, int row, float (*out)[HK_BLOCK])
{
    floats sums[MAX_TILE][2];
    for (int t = 0; t < n; t++)
        for (int v = 0; v < vectors; v++) sums[t][v] = fill_float(0.0f);
    for (int column = 0; column < STEP; column++) {
        floats weights[2];
        for (int v = 0; v < vectors; v++) {
            const uint8_t *at = record + column * HALVES + (row + v * LANES) * 2;
            weights[v] = format == HK_F16 ? load_halves(at) : as_floats(shift_left(load_shorts(at), 16));
        }
        for (int t = 0; t < n; t++) {
            floats value = fill_float((float)values_of(a, tokens)[(from + t) * STEP + column]);
            for (int v = 0; v < vectors; v++) sums[t][v] = multiply_add(weights[v], value, sums[t][v]);
        }
    }
    for (int t = 0; t < n; t++)
        for (int v = 0; v < vectors; v++) {
            float *to = out[from + t] + row + v * LANES;
            store_floats(to, multiply_add(sums[t][v], broadcast_float(scales_of(a) + from + t), load_floats(to)));
        }
}

/* out += products of some steps with one tile. */
INLINE void add_tile(const int format, int group, const uint8_t *block, const struct q8 *x, int tile, int step,
                     int steps, const int n, float (*out)[HK_BLOCK])
{
    const int vectors = VECTORS(format, n);
    for (int row = 0; row < HK_BLOCK; row += vectors * LANES)
        if (format == HK_F16 || format == HK_BF16)
            add_floats(format, block + step * record_size(format, group), activations_of(x, tile, step), n, 0, n,
                       vectors, row, out);
        else
            add_groups(format, group, block, x, tile, step, steps, n, vectors, row, out);
}

/* Multiply sums of HK_INT8 by the scale that all columns of a row have. */
INLINE void scale_rows(const uint8_t *block, int tokens, float (*out)[HK_BLOCK])
{
    for (int row = 0; row < HK_BLOCK; row += LANES) {
        floats scale = load_halves(block + row * 2);
        for (int t = 0; t < tokens; t++)
            store_floats(out[t] + row, multiply_add(load_floats(out[t] + row), scale, fill_float(0.0f)));
    }
}

#ifdef TILES
#include "tiles.h" /* multiply_format, for many tokens */
#else
#ifdef PANELS
#include "panels.h"
#endif

/* Steps that are multiplied with one tile before the next one. */
INLINE int steps_together(const int format, int group, int left)
{
    if (format == HK_F16 || format == HK_BF16) return 1;
    return format == HK_INT4 ? group / STEP : smaller(SUPERBLOCK / STEP, left);
}

/* Make products of codes of 4 bits in registers, `count` vectors of them in each of some independent sums, and nothing
   else. Returns how many products these are. */
static int64_t multiply_only(int count)
{
    enum { SUMS = 10 }; /* so that none waits for the one before; with temporaries they fit into 16 registers */
    ints codes = fill_bytes(15), values = fill_bytes(1);
    pairs sums[SUMS];
    for (int i = 0; i < SUMS; i++) sums[i] = begin(fill_int(0));
    for (int k = 0; k < count; k++)
#pragma GCC unroll 10
        for (int i = 0; i < SUMS; i++) {
            sums[i] = dot4(sums[i], codes, values);
            __asm__ volatile("" : "+x"(sums[i]), "+x"(codes)); /* or the compiler multiplies once */
        }
    return (int64_t)count * SUMS * LANES * 4;
}

INLINE void multiply_format(const int format, int group, const uint8_t *block, const struct q8 *x, int first,
                            int tiles, float (*out)[HK_BLOCK])
{
#ifdef PANELS
    if (smaller(tiles * x->tile, x->tokens - first * x->tile) >= tokens_of_panels(format)) {
        multiply_panels(format, group, block, x, first, tiles, out);
        return;
    }
#endif
    for (int step = 0, steps; step < x->steps; step += steps) {
        steps = steps_together(format, group, x->steps - step);
        for (int tile = first; tile < first + tiles; tile++) {
            float (*to)[HK_BLOCK] = out + (tile - first) * x->tile;
#define TILE_OF(n)                                                                                                     \
    case n:                                                                                                            \
        add_tile(format, group, block, x, tile, step, steps, n, to);                                                   \
        break;
            switch (tokens_of_tile(x, tile)) {
                TILE_OF(1)
                TILE_OF(2)
                TILE_OF(3)
                TILE_OF(4)
                TILE_OF(5)
                TILE_OF(6)
                TILE_OF(7)
                TILE_OF(8)
            }
#undef TILE_OF
        }
    }
    if (format == HK_INT8) scale_rows(block, smaller(tiles * x->tile, x->tokens - first * x->tile), out);
}
#endif

typedef void multiply_block_of_format(int group, const uint8_t *block, const struct q8 *x, int first, int tiles,
                                      float (*out)[HK_BLOCK]);

#define FORMAT(name)                                                                                                   \
    static void multiply_##name(int group, const uint8_t *block, const struct q8 *x, int first, int tiles,        \
                                float (*out)[HK_BLOCK])                                                                \
    {                                                                                                                  \
        multiply_format(HK_##name, group, block, x, first, tiles, out);                                                \
    }
FORMAT(INT8)
FORMAT(INT4)
FORMAT(Q4_1)
FORMAT(Q5_0)
FORMAT(Q5_1)
FORMAT(Q8_0)
FORMAT(IQ4_NL)
FORMAT(IQ4_XS)
FORMAT(Q2_K)
FORMAT(Q3_K)
FORMAT(Q4_K)
FORMAT(Q5_K)
FORMAT(Q6_K)
FORMAT(F16)
FORMAT(BF16)
#undef FORMAT

static void mul_mat_block(int format, int group, const uint8_t *block, const struct q8 *x, int first, int tiles,
                           float (*out)[HK_BLOCK])
{
    static multiply_block_of_format *const multiply_with[] = {
        [HK_INT8] = multiply_INT8,     [HK_INT4] = multiply_INT4,     [HK_INT4_MIN] = multiply_Q4_1,
        [HK_Q4_0] = multiply_INT4,     [HK_Q4_1] = multiply_Q4_1,     [HK_Q5_0] = multiply_Q5_0,
        [HK_Q5_1] = multiply_Q5_1,     [HK_Q8_0] = multiply_Q8_0,     [HK_IQ4_NL] = multiply_IQ4_NL,
        [HK_IQ4_XS] = multiply_IQ4_XS, [HK_Q2_K] = multiply_Q2_K,     [HK_Q3_K] = multiply_Q3_K,
        [HK_Q4_K] = multiply_Q4_K,     [HK_Q5_K] = multiply_Q5_K,     [HK_Q6_K] = multiply_Q6_K,
        [HK_F16] = multiply_F16,       [HK_BF16] = multiply_BF16,
    };
    int tokens = smaller(tiles * x->tile, x->tokens - first * x->tile);
    memset(out, 0, (size_t)tokens * sizeof *out);
    multiply_with[format](format == HK_Q4_0 ? STEP : group, block, x, first, tiles, out);
}
