/* Products of a block with tiles of tokens, over the vector functions that an instruction set defines before it
   includes this:

       VECTORS(format, n)             vectors of rows that are multiplied together by n tokens, 1 or 2
       ints, floats, LANES            a vector of i32, of f32, and its length
       pairs                          sums of products before `finish` makes i32 of them
       load_ints(p), load_halves(p), load_shorts(p), load_floats(p), store_floats(p, v)
                                      memory as i32; f16 as f32; u16 as i32; f32
       broadcast(p), broadcast_float(p), fill_int(i), fill_float(f), fill_bytes(i), table_of(p)
       and_ints(a, b), or_ints(a, b), flip_ints(a, b), shift_right(v, n), shift_left(v, n), shift_right_signed(v, n)
                                      of i32
       look_up(table, v)              bytes 0..15 of v by a table of 16 bytes
       HIGH_CODES                     16: dot4 takes 8 bits, so that upper halves of bytes stay where they are; else 1
       begin(sums), finish(sums, p)   products of weights up to 6 bits are added up in `pairs`, see dots_of_pairs; one of
                                      the two adds the sums so far, which are made twice: registers are few
       dot4(p, u, x)                  p + sum of four u * x; u unsigned up to 6 bits, x signed 8 bits
       dot8(sums, u, x)               sums + sum of four (u - OFFSET8) * x; u unsigned 8 bits
       lower_shorts(v)                v with the upper half of each i32 cleared
       multiply_shorts(a, b)          products of the lower halves, i16, of i32 whose upper halves are zero in one of them
       add_ints, multiply_ints, to_floats, multiply, multiply_add

   Everything is inlined with a constant format and number of tokens, so that sums stay in registers. */
#include "elementwise.h"
#include "formats.h"

enum {
    AHEAD = 16384, /* bytes from what is read to what is prefetched */
};

typedef ints sums_of_tile[MAX_TILE][2];

/* Products of 8 columns of each row of a line that fit into `pairs` before they must be finished. */
INLINE int dots_of_pairs(const int bits) { return bits <= 4 ? 8 : bits == 5 ? 4 : 2; }

/* Prefetch `size` bytes ahead of `at` into the second-level cache, in ascending order and without gaps: the processor
   then reads on by itself. Into the first level it would wait for each line. */
INLINE void prefetch(const uint8_t *at, size_t size)
{
    for (size_t i = 0; i < size; i += CACHE_LINE) __builtin_prefetch(at + AHEAD + i, 0, 2);
}

/* A factor of 8 bits of each row: byte `byte` of its words. */
INLINE floats factor(ints words, int byte) { return to_floats(and_ints(shift_right(words, 8 * byte), fill_int(255))); }

/* The codes of two sets of 4 columns in a line. Pairs: line 0..7 of the groups of a pair. Others: line 0..3 of a group of
   32 columns, which has the columns from 4 * line and from 16 + 4 * line on. */
struct codes {
    ints first, second;
};

INLINE struct codes codes_of_pair(const int format, const uint8_t *lines, int pair, int line)
{
    const ints two = fill_bytes(3);
    switch (format) {
    case HK_Q4_K: {
        ints word = load_ints(lines + (3 + pair * 8 + line) * LINE);
        ints high = HIGH_CODES == 16 ? and_ints(word, fill_bytes(0xf0)) : and_ints(shift_right(word, 4), fill_bytes(15));
        return (struct codes){and_ints(word, fill_bytes(15)), high};
    }
    case HK_Q5_K: {
        ints word = load_ints(lines + (11 + pair * 8 + line) * LINE),
             high = shift_right(load_ints(lines + (3 + line) * LINE), 2 * pair);
        return (struct codes){
            or_ints(and_ints(word, fill_bytes(15)), shift_left(and_ints(high, fill_bytes(1)), 4)),
            or_ints(and_ints(shift_right(word, 4), fill_bytes(15)), shift_left(and_ints(high, fill_bytes(2)), 3))};
    }
    case HK_Q6_K: {
        ints word = load_ints(lines + (20 + pair * 8 + line) * LINE),
             high = shift_right(load_ints(lines + (4 + pair / 2 * 8 + line) * LINE), pair % 2 * 2);
        return (struct codes){
            or_ints(and_ints(word, fill_bytes(15)), shift_left(and_ints(high, two), 4)),
            or_ints(and_ints(shift_right(word, 4), fill_bytes(15)), and_ints(high, fill_bytes(0x30)))};
    }
    case HK_Q2_K: {
        ints word = shift_right(load_ints(lines + (4 + pair / 2 * 8 + line) * LINE), pair % 2 * 4);
        return (struct codes){and_ints(word, two), and_ints(shift_right(word, 2), two)};
    }
    default: {
        ints word = shift_right(load_ints(lines + (11 + pair / 2 * 8 + line) * LINE), pair % 2 * 4),
             high = shift_right(load_ints(lines + (3 + line) * LINE), 2 * pair);
        return (struct codes){
            or_ints(and_ints(word, two), shift_left(and_ints(high, fill_bytes(1)), 2)),
            or_ints(and_ints(shift_right(word, 2), two), shift_left(and_ints(high, fill_bytes(2)), 1))};
    }
    }
}

/* `lines`: the group's; `fifth`: where the fifth bits are. */
INLINE struct codes codes_of_group(const int format, const uint8_t *lines, ints fifth, int line)
{
    if (bits_of_code(format) == 8 && format != HK_IQ4_NL && format != HK_IQ4_XS)
        return (struct codes){load_ints(lines + line * LINE), load_ints(lines + (4 + line) * LINE)};
    ints word = load_ints(lines + line * LINE), low = and_ints(word, fill_bytes(15)),
         high = and_ints(shift_right(word, 4), fill_bytes(15));
    if (format == HK_IQ4_NL || format == HK_IQ4_XS) {
        ints table = table_of(iq4_values);
        return (struct codes){look_up(table, low), look_up(table, high)};
    }
    if (format == HK_Q5_0 || format == HK_Q5_1) {
        ints bit = fill_bytes(1);
        low = or_ints(low, shift_left(and_ints(shift_right(fifth, line), bit), 4));
        high = or_ints(high, shift_left(and_ints(shift_right(fifth, 4 + line), bit), 4));
    }
    return (struct codes){low, high};
}

/* Scale and minimum of each row. */
struct factors {
    floats scale, minimum;
};

/* The whole number that a scale is multiplied by for 16 columns. */
INLINE ints factor_of_half(const int format, const uint8_t *lines, int sixteen)
{
    if (format == HK_Q3_K) {
        ints low = shift_right(load_ints(lines + sixteen % 8 / 4 * LINE), sixteen / 8 * 4 + sixteen % 4 * 8),
             high = shift_right(load_ints(lines + 2 * LINE), sixteen % 4 * 8 + sixteen / 4 * 2);
        ints code = or_ints(and_ints(low, fill_int(15)), shift_left(and_ints(high, fill_int(3)), 4));
        return add_ints(code, fill_int(-32));
    }
    ints words = load_ints(lines + sixteen / 4 * LINE);
    if (format == HK_Q2_K) return and_ints(shift_right(words, sixteen % 4 * 8), fill_int(15));
    return shift_right_signed(shift_left(words, 24 - sixteen % 4 * 8), 24);
}

/* The factors of a group of a superblock. Where halves of it have factors, they are not in these. */
INLINE struct factors factors_of_pairs(const int format, const uint8_t *record, const uint8_t *lines, int group, int row)
{
    struct factors f = {.scale = load_halves(record + row * 2)};
    if (has_minimum(format)) f.minimum = load_halves(record + HALVES + row * 2);
    if (has_scaled_halves(format)) return f;
    f.minimum = multiply(fill_float(-1.0f), f.minimum);
    ints scales = load_ints(lines), minimums = load_ints(lines + LINE);
    if (group < 4) {
        scales = and_ints(scales, fill_bytes(63));
        minimums = and_ints(minimums, fill_bytes(63));
    } else {
        ints low = load_ints(lines + 2 * LINE);
        scales = or_ints(and_ints(low, fill_bytes(15)), and_ints(shift_right(scales, 2), fill_bytes(0x30)));
        minimums = or_ints(and_ints(shift_right(low, 4), fill_bytes(15)),
                           and_ints(shift_right(minimums, 2), fill_bytes(0x30)));
    }
    return (struct factors){multiply(f.scale, factor(scales, group % 4)),
                            multiply(f.minimum, factor(minimums, group % 4))};
}

/* Those of the second group of a pair, whose codes may be 16 times as large. */
INLINE struct factors second_factors(const int format, const uint8_t *record, const uint8_t *lines, int group, int row)
{
    struct factors f = factors_of_pairs(format, record, lines, group, row);
    if (format == HK_Q4_K && HIGH_CODES == 16) f.scale = multiply(f.scale, fill_float(1.0f / 16));
    return f;
}

/* Add the products of weights with one scale: total += sum * scale of the activations * scale; with minimums, total +=
   minimum * scaled sum of the activations. */
INLINE floats add_scaled(const int format, ints sum, const float *scale, const float *scaled_sum, struct factors f,
                         floats total)
{
    total = multiply_add(multiply(to_floats(sum), broadcast_float(scale)), f.scale, total);
    return has_minimum(format) && !has_scaled_halves(format)
               ? multiply_add(f.minimum, broadcast_float(scaled_sum), total)
               : total;
}

/* Q2_K has a minimum for each 16 columns: whole numbers that are added up before they are scaled. */
INLINE floats add_minimums_of_halves(const uint8_t *lines, int group, uint8_t *a, const int n, int t, struct factors f,
                                     floats total)
{
    ints words = shift_right(load_ints(lines + group / 2 * LINE), group % 2 * 16);
    ints first = multiply_ints(and_ints(shift_right(words, 4), fill_int(15)), broadcast(negative_sums_of(a, n, 0) + t)),
         second = multiply_ints(and_ints(shift_right(words, 12), fill_int(15)), broadcast(negative_sums_of(a, n, 1) + t));
    floats sum = multiply(to_floats(add_ints(first, second)), broadcast_float(scales_of(a) + t));
    return multiply_add(sum, f.minimum, total); /* of negative sums: the minimum's sign is the file's */
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

/* Add the products of some lines of a pair. */
INLINE void add_lines_of_pair(const int format, const uint8_t *lines, int pair, int line, const int count, uint8_t *x1,
                              uint8_t *x2, const int n, const int vectors, int row, sums_of_tile sums1,
                              sums_of_tile sums2)
{
    pairs p1[MAX_TILE][2], p2[MAX_TILE][2];
    for (int t = 0; t < n; t++)
        for (int v = 0; v < vectors; v++) {
            p1[t][v] = begin(sums1[t][v]);
            p2[t][v] = begin(sums2[t][v]);
        }
#pragma GCC unroll 1 /* Unpacked all at once, the codes do not fit into registers. */
    for (int i = line; i < line + count; i++) {
        struct codes c[2];
        for (int v = 0; v < vectors; v++) c[v] = codes_of_pair(format, lines + (row + v * LANES) * 4, pair, i);
        for (int t = 0; t < n; t++) {
            ints columns1 = broadcast(values_of(x1, n) + t * STEP + i * 4),
                 columns2 = broadcast(values_of(x2, n) + t * STEP + i * 4);
            for (int v = 0; v < vectors; v++) {
                p1[t][v] = dot4(p1[t][v], c[v].first, columns1);
                p2[t][v] = dot4(p2[t][v], c[v].second, columns2);
            }
        }
    }
    for (int t = 0; t < n; t++)
        for (int v = 0; v < vectors; v++) {
            sums1[t][v] = finish(sums1[t][v], p1[t][v]);
            sums2[t][v] = finish(sums2[t][v], p2[t][v]);
        }
}

/* Add the products of lines first..last-1 of a pair to sums that begin with those of the offset. `half`: of a group,
   which they belong to; -1: all of it. */
INLINE void multiply_lines(const int format, const uint8_t *lines, int pair, const int first, const int last,
                           const int half, uint8_t *x1, uint8_t *x2, const int n, const int vectors, int row,
                           sums_of_tile sums1, sums_of_tile sums2)
{
    const int count = smaller(dots_of_pairs(bits_of_code(format)), last - first);
    for (int t = 0; t < n; t++)
        for (int v = 0; v < vectors; v++) {
            sums1[t][v] = half < 0 ? fill_int(0) : first_sum(format, broadcast(negative_sums_of(x1, n, half) + t));
            sums2[t][v] = half < 0 ? fill_int(0) : first_sum(format, broadcast(negative_sums_of(x2, n, half) + t));
        }
    for (int line = first; line < last; line += count)
        add_lines_of_pair(format, lines, pair, line, count, x1, x2, n, vectors, row, sums1, sums2);
}

/* Sums of products of a pair whose groups have a factor for each half. */
INLINE void multiply_halves(const int format, const uint8_t *lines, int pair, uint8_t *x1, uint8_t *x2, const int n,
                            const int vectors, int row, sums_of_tile sums1, sums_of_tile sums2)
{
    for (int t = 0; t < n; t++)
        for (int v = 0; v < vectors; v++) sums1[t][v] = sums2[t][v] = fill_int(0);
    for (int half = 0; half < 2; half++) {
        sums_of_tile of_half1, of_half2;
        multiply_lines(format, lines, pair, half * 4, half * 4 + 4, half, x1, x2, n, vectors, row, of_half1, of_half2);
        for (int v = 0; v < vectors; v++) {
            const uint8_t *at = lines + (row + v * LANES) * 4;
            ints factor1 = factor_of_half(format, at, 2 * first_group(format, pair) + half),
                 factor2 = factor_of_half(format, at, 2 * second_group(format, pair) + half);
            for (int t = 0; t < n; t++) {
                sums1[t][v] = add_ints(sums1[t][v], multiply_ints(of_half1[t][v], factor1));
                sums2[t][v] = add_ints(sums2[t][v], multiply_ints(of_half2[t][v], factor2));
            }
        }
    }
}

/* out += products of a superblock. */
INLINE void add_superblock(const int format, const uint8_t *record, const struct q8 *x, int tile, int step,
                           const int n, const int vectors, int row, float (*out)[HK_BLOCK])
{
    const uint8_t *lines = record + gguf_type_of(format)->half_count * HALVES;
    const size_t quarter = record_size(format, 0) / 4; /* not of whole lines in all formats, so that some are prefetched twice */
    for (int pair = 0; pair < 4; pair++) {
        const int group1 = first_group(format, pair), group2 = second_group(format, pair);
        uint8_t *x1 = activations_of(x, tile, step + group1), *x2 = activations_of(x, tile, step + group2);
        sums_of_tile sums1, sums2;
        if (row == 0) prefetch(record + pair * quarter, quarter);
        if (has_scaled_halves(format))
            multiply_halves(format, lines, pair, x1, x2, n, vectors, row, sums1, sums2);
        else
            multiply_lines(format, lines, pair, 0, 8, -1, x1, x2, n, vectors, row, sums1, sums2);
        for (int v = 0; v < vectors; v++) {
            int lane = row + v * LANES;
            struct factors f1 = factors_of_pairs(format, record, lines + lane * 4, group1, lane),
                           f2 = second_factors(format, record, lines + lane * 4, group2, lane);
            for (int t = 0; t < n; t++) {
                floats total = load_floats(out[t] + lane);
                total = add_scaled(format, sums1[t][v], scales_of(x1) + t, scaled_sums_of(x1, n) + t, f1, total);
                if (format == HK_Q2_K) total = add_minimums_of_halves(lines + lane * 4, group1, x1, n, t, f1, total);
                total = add_scaled(format, sums2[t][v], scales_of(x2) + t, scaled_sums_of(x2, n) + t, f2, total);
                if (format == HK_Q2_K) total = add_minimums_of_halves(lines + lane * 4, group2, x2, n, t, f2, total);
                store_floats(out[t] + lane, total);
            }
        }
    }
}

/* A group of 32 columns: its lines, the f16 numbers of its rows, and what a superblock adds. */
struct group {
    const uint8_t *lines, *halves;
    int number; /* in its superblock */
};

INLINE struct group group_at(const int format, int group, const uint8_t *block, int step)
{
    if (format == HK_INT8)
        return (struct group){block + INT8_HEADER + (size_t)step * 8 * LINE, block, 0};
    int columns = record_columns(format, group), number = step * STEP % columns / STEP;
    const uint8_t *record = block + (size_t)(step * STEP / columns) * record_size(format, group);
    switch (format) {
    case HK_INT4: return (struct group){record + HALVES + number * 4 * LINE, record, number};
    case HK_INT4_MIN:
    case HK_Q4_1: return (struct group){record + 2 * HALVES, record, 0};
    case HK_Q5_0: return (struct group){record + HALVES + LINE, record, 0};
    case HK_Q5_1: return (struct group){record + 2 * HALVES + LINE, record, 0};
    case HK_IQ4_XS: return (struct group){record + 2 * HALVES + (1 + 4 * number) * LINE, record, number};
    default: return (struct group){record + HALVES, record, 0};
    }
}

INLINE struct factors factors_of_group(const int format, const struct group *g, int row)
{
    struct factors f = {.scale = load_halves(g->halves + row * 2)};
    if (has_minimum(format)) f.minimum = load_halves(g->halves + HALVES + row * 2);
    if (format == HK_IQ4_XS) {
        ints low = shift_right(load_ints(g->halves + 2 * HALVES + row * 4), 4 * g->number),
             high = shift_right(load_shorts(g->halves + HALVES + row * 2), 2 * g->number);
        low = shift_right(load_ints(g->halves + 2 * HALVES + row * 4), g->number / 2 * 8 + g->number % 2 * 4);
        ints code = or_ints(and_ints(low, fill_int(15)), shift_left(and_ints(high, fill_int(3)), 4));
        f.scale = multiply(f.scale, to_floats(add_ints(code, fill_int(-32))));
    }
    return f;
}

/* What sums of a group begin with. */
INLINE ints first_sum_of_group(const int format, const struct group *g, uint8_t *a, const int n, int t, int row)
{
    ints negative = broadcast(negative_sums_of(a, n, 0) + t);
    if (format != HK_INT8) return first_sum(format, negative);
    ints zero = add_ints(load_shorts(g->halves + HALVES + row * 2), fill_int(-OFFSET8));
    return multiply_shorts(lower_shorts(zero), negative);
}

/* Sums of products of a group of 32 columns. */
INLINE void multiply_group(const int format, const struct group *g, uint8_t *a, const int n, const int vectors, int row,
                           sums_of_tile sums)
{
    const int bits = bits_of_code(format), lines_of_pairs = bits == 8 ? 4 : smaller(dots_of_pairs(bits) / 2, 4);
    for (int line = 0; line < 4; line += lines_of_pairs) {
        pairs p[MAX_TILE][2];
        for (int t = 0; t < n; t++)
            for (int v = 0; v < vectors; v++) {
                if (line == 0) sums[t][v] = first_sum_of_group(format, g, a, n, t, row + v * LANES);
                if (bits != 8) p[t][v] = begin(sums[t][v]);
            }
#pragma GCC unroll 1
        for (int i = line; i < line + lines_of_pairs; i++) {
            struct codes c[2];
            for (int v = 0; v < vectors; v++) {
                const uint8_t *lines = g->lines + (row + v * LANES) * 4;
                ints fifth = fill_int(0);
                if (format == HK_Q5_0 || format == HK_Q5_1) fifth = load_ints(lines - LINE);
                c[v] = codes_of_group(format, lines, fifth, i);
            }
            for (int t = 0; t < n; t++) {
                const int8_t *values = values_of(a, n) + t * STEP + i * 4;
                ints columns1 = broadcast(values), columns2 = broadcast(values + STEP / 2);
                for (int v = 0; v < vectors; v++)
                    if (bits == 8)
                        sums[t][v] = dot8(dot8(sums[t][v], c[v].first, columns1), c[v].second, columns2);
                    else
                        p[t][v] = dot4(dot4(p[t][v], c[v].first, columns1), c[v].second, columns2);
            }
        }
        for (int t = 0; bits != 8 && t < n; t++)
            for (int v = 0; v < vectors; v++) {
                if (line == 0) sums[t][v] = first_sum_of_group(format, g, a, n, t, row + v * LANES);
                sums[t][v] = finish(sums[t][v], p[t][v]);
            }
    }
}

/* out += products of `steps` groups of 32 columns from `step` on. HK_INT8 and HK_INT4 have one scale for all of them. */
INLINE void add_groups(const int format, int group, const uint8_t *block, const struct q8 *x, int tile, int step,
                       int steps, const int n, const int vectors, int row, float (*out)[HK_BLOCK])
{
    const int is_shared = format == HK_INT8 || format == HK_INT4;
    floats totals[MAX_TILE][2];
    for (int t = 0; t < n; t++)
        for (int v = 0; v < vectors; v++)
            totals[t][v] = is_shared ? fill_float(0.0f) : load_floats(out[t] + row + v * LANES);
    struct group g;
    for (int i = step; i < step + steps; i++) {
        uint8_t *a = activations_of(x, tile, i);
        sums_of_tile sums;
        g = group_at(format, group, block, i);
        if (row == 0 && format == HK_INT8) prefetch(g.lines, 8 * LINE);
        if (row == 0 && format != HK_INT8 && !g.number) prefetch(g.halves, record_size(format, group));
        multiply_group(format, &g, a, n, vectors, row, sums);
        for (int v = 0; v < vectors; v++) {
            struct factors f;
            if (!is_shared) f = factors_of_group(format, &g, row + v * LANES);
            for (int t = 0; t < n; t++)
                totals[t][v] =
                    is_shared ? multiply_add(to_floats(sums[t][v]), broadcast_float(scales_of(a) + t), totals[t][v])
                              : add_scaled(format, sums[t][v], scales_of(a) + t, scaled_sums_of(a, n) + t, f,
                                           totals[t][v]);
        }
    }
    for (int t = 0; t < n; t++)
        for (int v = 0; v < vectors; v++) {
            float *to = out[t] + row + v * LANES;
            if (is_shared)
                totals[t][v] = multiply_add(totals[t][v], load_halves(g.halves + (row + v * LANES) * 2), load_floats(to));
            store_floats(to, totals[t][v]);
        }
}

/* out += products of 32 columns of F16 or BF16. */
INLINE void add_floats(const int format, const uint8_t *record, uint8_t *a, const int n, const int vectors, int row,
                       float (*out)[HK_BLOCK])
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
            floats value = fill_float((float)values_of(a, n)[t * STEP + column]);
            for (int v = 0; v < vectors; v++) sums[t][v] = multiply_add(weights[v], value, sums[t][v]);
        }
    }
    for (int t = 0; t < n; t++)
        for (int v = 0; v < vectors; v++) {
            float *to = out[t] + row + v * LANES;
            store_floats(to, multiply_add(sums[t][v], broadcast_float(scales_of(a) + t), load_floats(to)));
        }
}

/* out += products of the steps that `step` begins with one tile: a superblock, a group, or some steps. */
INLINE void add_tile(const int format, int group, const uint8_t *block, const struct q8 *x, int tile, int step,
                     int steps, const int n, float (*out)[HK_BLOCK])
{
    const int vectors = VECTORS(format, n);
    const size_t size = format == HK_INT8 ? 0 : record_size(format, group);
    for (int row = 0; row < HK_BLOCK; row += vectors * LANES)
        if (has_pairs(format))
            add_superblock(format, block + step / (SUPERBLOCK / STEP) * size, x, tile, step, n, vectors, row, out);
        else if (format == HK_F16 || format == HK_BF16)
            add_floats(format, block + step * size, activations_of(x, tile, step), n, vectors, row, out);
        else
            add_groups(format, group, block, x, tile, step, steps, n, vectors, row, out);
}

INLINE int steps_together(const int format, int group, int left)
{
    if (has_pairs(format) || format == HK_IQ4_XS) return SUPERBLOCK / STEP;
    if (format == HK_F16 || format == HK_BF16) return 1;
    return format == HK_INT8 ? left : format == HK_INT4 ? group / STEP : smaller(8, left);
}

INLINE void multiply_format(const int format, int group, const uint8_t *block, const struct q8 *x, int first,
                            int tiles, float (*out)[HK_BLOCK])
{
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
#if TILE > 4
                TILE_OF(5)
                TILE_OF(6)
#endif
#if TILE > 6
                TILE_OF(7)
                TILE_OF(8)
#endif
            }
#undef TILE_OF
        }
    }
}

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
