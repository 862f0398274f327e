/* Products of many tokens with AMX: a tile register multiplies the codes of 16 rows and 32 columns by the activations of
   up to 16 tokens. These sums are whole numbers. What follows is what products.h does, in the same order, so the bits are
   the same. */
/* The tile registers; not an enum, as GCC writes these names into its assembly code. */
#define CODES 0
#define VALUES 1
#define SUMS 2

/* GCC does not know that instructions of tiles read and write memory. */
#ifdef __clang__
#define FENCE(memory)
#else
#define FENCE(memory) __asm__ volatile("" : : "r"(memory) : "memory")
#endif

enum {
    GROUPS = SUPERBLOCK / STEP, /* of columns, that are unpacked together */
    BEHIND = 3, /* groups between what is multiplied and what is scaled: two parts of the processor work at the same time */
};

/* The argument of _tile_loadconfig: the bytes and the number of the rows of each register. */
struct palette {
    uint8_t number, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* The codes of some groups of 16 rows: words of 4 columns. */
typedef int32_t codes_of_groups[GROUPS][STEP / 4][LANES];

/* Sums of products of a group with a tile of tokens; of both halves of it where 16 columns have a factor. */
typedef int32_t sums_of_group[2][MAX_TILE][LANES];

static void set_up_tiles(int halves, int tokens)
{
    struct palette palette = {.number = 1};
    palette.rows[CODES] = (uint8_t)(STEP / 4 / halves);
    palette.rows[VALUES] = palette.rows[SUMS] = (uint8_t)tokens;
    palette.row_bytes[CODES] = palette.row_bytes[SUMS] = LANES * 4;
    palette.row_bytes[VALUES] = (uint16_t)(STEP / halves);
    FENCE(&palette);
    _tile_loadconfig(&palette);
}

/* Unpack `steps` groups of 16 rows, from `step` and `row` on. */
INLINE void unpack_groups(const int format, int group, const uint8_t *block, int step, const int steps, int row,
                          codes_of_groups out, struct factors factors[GROUPS])
{
    const size_t share = record_size(format, group) / (record_columns(format, group) / STEP);
    const int together = has_pairs(format) ? 4 : 1, offset = format == HK_INT8 ? 0 : offset_of(format);
#pragma GCC unroll 8
    for (int i = 0; i < steps; i += together)
#pragma GCC unroll 4 /* where bits lie in bytes is then known */
        for (int k = 0; k < together; k++) {
            const struct group g = group_at(format, group, block, step + i, k);
            if (row == 0) prefetch((format == HK_INT8 ? g.lines : g.record) + (4 * g.quad + g.k) * share, share, 0);
#pragma GCC unroll 8
            for (int line = 0; line < 8; line++) {
                ints codes = codes_of(format, &g, g.lines + row * 4, line / 4, line % 4);
                if (offset) codes = _mm512_sub_epi8(codes, fill_bytes(offset));
                _mm512_store_si512(out[i + k][line], codes);
            }
            factors[i + k] = factors_of(format, &g, row);
            for (int half = 0; has_scaled_halves(format) && half < 2; half++)
                factors[i + k].of_halves[half] = to_floats(factor_of_half(format, &g, row, half));
            if (format == HK_INT8) factors[i + k].of_sums = lower_shorts(load_shorts(g.record + HALVES + row * 2));
        }
}

/* Multiply a group by the activations of a tile of tokens. */
INLINE void multiply_by_tile(const int format, int32_t (*codes)[LANES], const int8_t *values, sums_of_group sums)
{
    FENCE(codes);
    for (int half = 0; half < (has_scaled_halves(format) ? 2 : 1); half++) {
        _tile_loadd(VALUES, values + half * STEP / 2, STEP);
        _tile_loadd(CODES, codes + half * 4, LANES * 4);
        _tile_zero(SUMS);
        if (format != HK_INT8 && offset_of(format))
            _tile_dpbssd(SUMS, VALUES, CODES);
        else
            _tile_dpbsud(SUMS, VALUES, CODES);
        _tile_stored(SUMS, sums[half], LANES * 4);
    }
    FENCE(sums);
}

/* The products of a group with token t of n, with all factors that are whole numbers: exact, as those of
   multiply_group. */
INLINE floats sum_of_token(const int format, const struct factors *f, sums_of_group sums, uint8_t *a, int n, int t)
{
    ints sum = load_ints(sums[0][t]);
    if (format == HK_INT8) sum = add_ints(sum, multiply_shorts(f->of_sums, broadcast(negative_sums_of(a, n) + t)));
    if (!has_scaled_halves(format)) return to_floats(sum);
    floats first = multiply_add(to_floats(sum), f->of_halves[0], fill_float(0.0f));
    return multiply_add(to_floats(load_ints(sums[1][t])), f->of_halves[1], first);
}

/* totals += products of a group with the tokens of a tile. Of HK_INT8 before the scale; of HK_INT4, `parts` are the
   products of the groups with one scale, the last of which is `ends`. */
INLINE void add_sums(const int format, const struct factors *f, sums_of_group sums, uint8_t *a, int n, int ends,
                     floats totals[MAX_TILE], floats parts[MAX_TILE])
{
#pragma GCC unroll 16
    for (int t = 0; t < MAX_TILE; t++) {
        floats sum = sum_of_token(format, f, sums, a, n, t), by = broadcast_float(scales_of(a) + t);
        if (format == HK_INT8)
            totals[t] = multiply_add(sum, by, totals[t]);
        else if (format == HK_INT4)
            parts[t] = multiply_add(sum, by, parts[t]);
        else
            totals[t] = add_scaled(format, sum, a, n, t, *f, totals[t]);
    }
    if (format != HK_INT4 || !ends) return;
    for (int t = 0; t < MAX_TILE; t++) {
        totals[t] = multiply_add(parts[t], f->scale, totals[t]);
        parts[t] = fill_float(0.0f);
    }
}

/* out += products of 16 rows of some groups with a tile of n tokens. `a`: the record of the first group. */
INLINE void add_by_tile(const int format, int group, codes_of_groups codes, const struct factors factors[GROUPS],
                        uint8_t *a, size_t record, const int steps, int n, int row, float (*out)[HK_BLOCK])
{
    _Alignas(CACHE_LINE) sums_of_group sums[BEHIND + 1];
    floats totals[MAX_TILE], parts[MAX_TILE];
#pragma GCC unroll 16
    for (int t = 0; t < MAX_TILE; t++) {
        totals[t] = load_floats(out[t] + row);
        parts[t] = fill_float(0.0f);
    }
#pragma GCC unroll 16
    for (int k = 0; k < GROUPS + BEHIND; k++) {
        const int done = k - BEHIND;
        if (k < steps) multiply_by_tile(format, codes[k], values_of(a + k * record, n), sums[k % (BEHIND + 1)]);
        if (done >= 0 && done < steps)
            add_sums(format, &factors[done], sums[done % (BEHIND + 1)], a + done * record, n,
                     format == HK_INT4 && (done + 1) % (group / STEP) == 0, totals, parts);
    }
#pragma GCC unroll 16
    for (int t = 0; t < MAX_TILE; t++)
        if (t < n) store_floats(out[t] + row, totals[t]);
}

/* out += products of some groups with `tiles` tiles. */
INLINE void add_by_tiles(const int format, int group, const uint8_t *block, const struct q8 *x, int first, int tiles,
                         int step, const int steps, float (*out)[HK_BLOCK])
{
    enum { HALVES_OF_ROWS = HK_BLOCK / LANES };
    _Alignas(CACHE_LINE) codes_of_groups codes[HALVES_OF_ROWS];
    struct factors factors[HALVES_OF_ROWS][GROUPS];
    for (int i = 0; i < HALVES_OF_ROWS; i++)
        unpack_groups(format, group, block, step, steps, i * LANES, codes[i], factors[i]);
    for (int tile = first; tile < first + tiles; tile++, out += x->tile) {
        uint8_t *a = activations_of(x, tile, step);
        for (int i = 0; i < HALVES_OF_ROWS; i++)
            add_by_tile(format, group, codes[i], factors[i], a, x->record, steps, tokens_of_tile(x, tile), i * LANES,
                        out);
    }
}

/* out += products of F16 or BF16 with a tile of tokens. */
INLINE void add_floats_of_many(const int format, const uint8_t *block, const struct q8 *x, int tile, float (*out)[HK_BLOCK])
{
    int n = tokens_of_tile(x, tile);
    for (int step = 0; step < x->steps; step++) {
        const uint8_t *record = block + step * record_size(format, 0);
        uint8_t *a = activations_of(x, tile, step);
        for (int t = 0; t < n / 4 * 4; t += 4) add_floats(format, record, a, n, t, 4, 2, 0, out);
        for (int t = n / 4 * 4; t < n; t++) add_floats(format, record, a, n, t, 1, 2, 0, out);
    }
}

INLINE void multiply_format(const int format, int group, const uint8_t *block, const struct q8 *given, int first,
                            int tiles, float (*out)[HK_BLOCK])
{
    const struct q8 copy = *given, *x = &copy; /* in registers: what is written to memory is not in it */
    if (format == HK_F16 || format == HK_BF16) {
        for (int i = 0; i < tiles; i++) add_floats_of_many(format, block, x, first + i, out + i * x->tile);
        return;
    }
    set_up_tiles(has_scaled_halves(format) ? 2 : 1, x->tile);
    for (int step = 0, steps; step < x->steps; step += steps) {
        steps = smaller(GROUPS, x->steps - step);
        if (steps == GROUPS)
            add_by_tiles(format, group, block, x, first, tiles, step, GROUPS, out);
        else
            add_by_tiles(format, group, block, x, first, tiles, step, steps, out);
    }
    _tile_release();
    if (format == HK_INT8) scale_rows(block, smaller(tiles * x->tile, x->tokens - first * x->tile), out);
}
