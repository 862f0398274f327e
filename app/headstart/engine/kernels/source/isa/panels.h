/* Products of several tokens with AVX2: the codes of 32 rows are unpacked once, and multiplied by three tokens at a time.
   What follows is what products.h does, in the same order, so the bits are the same.

   vpmaddubsw multiplies unsigned by signed bytes, and takes the signed ones from memory. These are the codes, around
   zero; activations are unsigned by 128 more. Sums of 16 bits overflow on the way, but not in the end: they begin with
   what the 128 add, and the true sums fit. */
#include <limits.h>

enum {
    GROUPS = 4, /* of columns, that are unpacked together: two threads of a core share its first-level cache */
    LINES = STEP / 4, /* of a group */
    VECTORS_OF_BLOCK = HK_BLOCK / LANES,
    TOKENS = 3, /* that are multiplied together: for more, there are no registers for the sums */
};

/* Some groups of 32 rows. */
struct panel {
    ints codes[GROUPS][LINES][VECTORS_OF_BLOCK];   /* i8: words of 4 columns */
    ints begins[GROUPS][2][VECTORS_OF_BLOCK];      /* i16: -128 times the sums of the codes of a part */
    ints of_products[GROUPS][2][VECTORS_OF_BLOCK]; /* i16: the whole number that products of a part are multiplied by */
    floats scale[GROUPS][VECTORS_OF_BLOCK], minimum[GROUPS][VECTORS_OF_BLOCK]; /* see struct factors */
    ints of_sums[GROUPS][VECTORS_OF_BLOCK];
};

/* From how many tokens on panels take less time than codes that are unpacked for each tile, found on a Zen 3. */
INLINE int tokens_of_panels(const int format)
{
    switch (format) {
    case HK_Q6_K: return 4;
    case HK_INT4:
    case HK_Q3_K:
    case HK_Q5_0: return 6;
    case HK_Q4_1:
    case HK_Q5_1: return 8;
    default: return bits_of_code(format) == 8 ? INT_MAX /* such codes do not fit: see dot8 */ : TILE + 1;
    }
}

/* Parts of a group whose products fit into sums of 16 bits, or have a factor. */
INLINE int parts_of(const int format)
{
    return has_scaled_halves(format) || (bits_of_code(format) == 5 && !offset_of(format)) ? 2 : 1;
}

/* Unpack a group of LANES rows. */
INLINE void unpack_group(const int format, const struct group *g, int number, int v, struct panel *out)
{
    const int parts = parts_of(format), lines = LINES / parts, row = v * LANES;
    const struct factors f = factors_of(format, g, row);
    out->scale[number][v] = f.scale;
    if (has_minimum(format)) out->minimum[number][v] = f.minimum;
    if (format == HK_Q2_K) out->of_sums[number][v] = f.of_sums;
#pragma GCC unroll 2
    for (int part = 0; part < parts; part++) {
        ints sums = fill_int(0); /* of a part: they fit into bytes */
#pragma GCC unroll 8
        for (int line = part * lines; line < (part + 1) * lines; line++) {
            ints codes = codes_of(format, g, g->lines + row * 4, line / 4, line % 4);
            if (offset_of(format)) codes = _mm256_sub_epi8(codes, fill_bytes(offset_of(format)));
            out->codes[number][line][v] = codes;
            sums = _mm256_add_epi8(sums, codes);
        }
        sums = _mm256_maddubs_epi16(fill_bytes(1), sums);
        out->begins[number][part][v] = _mm256_slli_epi16(_mm256_sub_epi16(fill_int(0), sums), 7);
        if (!has_scaled_halves(format)) continue;
        ints factor = factor_of_half(format, g, row, part);
        out->of_products[number][part][v] = joined(factor, factor);
    }
}

/* Prefetch `size` bytes from `next` on into the first level, and as many, farther ahead, into the second one. */
INLINE void prefetch_next(const uint8_t *next, size_t size)
{
    for (size_t i = 0; i < size; i += CACHE_LINE) {
        __builtin_prefetch(next + i, 0, 3);
        __builtin_prefetch(next + i + AHEAD, 0, 2);
    }
}

/* Unpack `steps` groups from `step` on. For each, `ahead` bytes are prefetched from `next` on. */
INLINE void unpack_panel(const int format, int group, const uint8_t *block, int step, int steps, const uint8_t *next,
                         size_t ahead, struct panel *out)
{
    const int together = has_pairs(format) ? 4 : 1;
    for (int i = 0; i < steps; i += together)
        for (int v = 0; v < VECTORS_OF_BLOCK; v++) {
            const size_t part = together * ahead / VECTORS_OF_BLOCK;
            prefetch_next(next, part);
            next += part;
#pragma GCC unroll 4 /* where bits lie in bytes is then known */
            for (int k = 0; k < together; k++) {
                const struct group g = group_at(format, group, block, step + i, k);
                unpack_group(format, &g, i + k, v, out);
            }
        }
}

/* sums + columns * codes. A compiler would load codes for both tokens, and add in another order, with more sums than
   there are registers. */
INLINE ints add_products(ints sums, ints columns, const ints *codes)
{
    ints products;
    __asm__("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0" : "+x"(sums), "=&x"(products) : "x"(columns), "m"(*codes));
    return sums;
}

/* out += products of a panel with `count` tokens from `t` of n on. `a`: the records of its groups. `values`: their
   activations by 128 more, [steps][n][STEP]. For each group, `ahead` bytes are prefetched from `next` on. */
INLINE void add_panel(const int format, int group, const struct panel *panel, int steps, uint8_t *a, size_t record,
                      const uint8_t *values, int n, int t, const int count, const uint8_t *next, size_t ahead,
                      float (*out)[HK_BLOCK])
{
    const int parts = parts_of(format), lines = LINES / parts;
    floats shared[TOKENS][VECTORS_OF_BLOCK]; /* sums of the groups with one scale */
    for (int k = 0; k < steps; k++, a += record, next += ahead) {
        prefetch_next(next, ahead);
        ints sums[TOKENS][VECTORS_OF_BLOCK];
#pragma GCC unroll 2
        for (int part = 0; part < parts; part++) {
            ints p[TOKENS][VECTORS_OF_BLOCK];
            for (int c = 0; c < count; c++)
                for (int v = 0; v < VECTORS_OF_BLOCK; v++) p[c][v] = panel->begins[k][part][v];
#pragma GCC unroll 8
            for (int line = part * lines; line < (part + 1) * lines; line++)
                for (int c = 0; c < count; c++) {
                    ints columns = broadcast(values + ((size_t)k * n + t + c) * STEP + line * 4);
                    for (int v = 0; v < VECTORS_OF_BLOCK; v++)
                        p[c][v] = add_products(p[c][v], columns, &panel->codes[k][line][v]);
                }
            for (int c = 0; c < count; c++)
                for (int v = 0; v < VECTORS_OF_BLOCK; v++) {
                    ints by = has_scaled_halves(format) ? panel->of_products[k][part][v] : _mm256_set1_epi16(1);
                    ints products = _mm256_madd_epi16(p[c][v], by);
                    sums[c][v] = part ? add_ints(sums[c][v], products) : products;
                }
        }
        for (int c = 0; c < count; c++)
            for (int v = 0; v < VECTORS_OF_BLOCK; v++) {
                struct factors f = {.scale = panel->scale[k][v]};
                if (has_minimum(format)) f.minimum = panel->minimum[k][v];
                if (format == HK_Q2_K) f.of_sums = panel->of_sums[k][v];
                float *to = out[t + c] + v * LANES;
                if (format == HK_INT4) {
                    floats before = k % (group / STEP) ? shared[c][v] : fill_float(0.0f);
                    shared[c][v] =
                        multiply_add(to_floats(sums[c][v]), broadcast_float(scales_of(a) + t + c), before);
                    if ((k + 1) % (group / STEP) == 0)
                        store_floats(to, multiply_add(shared[c][v], f.scale, load_floats(to)));
                } else {
                    store_floats(to, add_scaled(format, to_floats(sums[c][v]), a, n, t + c, f, load_floats(to)));
                }
            }
    }
}

INLINE void multiply_panels(const int format, int group, const uint8_t *block, const struct q8 *x, int first, int tiles,
                            float (*out)[HK_BLOCK])
{
    struct panel panel;
    _Alignas(CACHE_LINE) uint8_t values[GROUPS * MAX_TILE * STEP];
    const int tokens = smaller(tiles * x->tile, x->tokens - first * x->tile), parts = (tokens + TOKENS - 1) / TOKENS + 1;
    /* What follows the panel is prefetched in parts, while it is unpacked and by each call, so that memory never waits. */
    const size_t share = record_size(format, group) / (record_columns(format, group) / STEP),
                 ahead = (share + parts - 1) / parts;
    for (int step = 0, steps; step < x->steps; step += steps) {
        steps = smaller(GROUPS, x->steps - step);
        const uint8_t *next = block + (step + steps) * share;
        unpack_panel(format, group, block, step, steps, next, ahead, &panel);
        next += steps * ahead;
        for (int tile = first; tile < first + tiles; tile++) {
            const int n = tokens_of_tile(x, tile);
            float (*to)[HK_BLOCK] = out + (tile - first) * x->tile;
            uint8_t *a = activations_of(x, tile, step);
            for (int k = 0; k < steps; k++)
                for (int t = 0; t < n; t++)
                    _mm256_storeu_si256((void *)(values + (k * n + t) * STEP),
                                        _mm256_xor_si256(load_ints(values_of(a + k * x->record, n) + t * STEP),
                                                         fill_bytes(-128)));
            for (int t = 0, count; t < n; t += count) {
                count = n - t == 4 ? 2 : smaller(n - t, TOKENS);
                if (count == 3) add_panel(format, group, &panel, steps, a, x->record, values, n, t, 3, next, ahead, to);
                if (count == 2) add_panel(format, group, &panel, steps, a, x->record, values, n, t, 2, next, ahead, to);
                if (count == 1) add_panel(format, group, &panel, steps, a, x->record, values, n, t, 1, next, ahead, to);
                next += steps * ahead;
            }
        }
    }
}
