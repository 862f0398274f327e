/* Packing: a transposition of 32-bit words, 32 rows at a time. kernels.h and formats.h draw the layout. */
#include "formats.h"

enum { MAX_COLS = 1 << 20 };

static int supported(int format, int group, int cols)
{
    if (cols <= 0 || cols > MAX_COLS) return 0;
    switch (format) {
    case HK_INT8: return group == 0 && cols % STEP == 0;
    case HK_INT4: return (group == 32 || group == 64 || group == 128) && cols % group == 0;
    case HK_INT4_MIN: return group == STEP && cols % STEP == 0;
    default: return is_gguf(format) && group == 0 && cols % gguf_type_of(format)->columns == 0;
    }
}

size_t hk_block_size(int format, int group, int cols)
{
    if (!supported(format, group, cols)) return 0;
    size_t records = (size_t)(cols / record_columns(format, group)) * record_size(format, group);
    return format == HK_INT8 ? INT8_HEADER + records : records;
}

/* The rows of a block in the source. Beyond the last row they repeat it, with scales of zero. */
struct rows {
    const uint8_t *weights[HK_BLOCK];
    size_t at[HK_BLOCK];
    int count;
};

static struct rows rows_of(int block, int rows, const uint8_t *weights, size_t pitch)
{
    struct rows these = {.count = smaller(HK_BLOCK, rows - block * HK_BLOCK)};
    for (int row = 0; row < HK_BLOCK; row++) {
        these.at[row] = (size_t)block * HK_BLOCK + smaller(row, these.count - 1);
        these.weights[row] = weights + these.at[row] * pitch;
    }
    return these;
}

/* Store number `column` of each row of an array [rows, columns] of 16 bits. */
static void pack_halves(const struct rows *rows, const uint8_t *in, size_t columns, size_t column, uint8_t *out)
{
    memset(out, 0, HALVES);
    for (int row = 0; row < rows->count; row++) memcpy(out + row * 2, in + (rows->at[row] * columns + column) * 2, 2);
}

/* Store `count` words of each row from byte `from` on as lines, XORed with `flip`. */
static void pack_lines(const struct rows *rows, size_t from, int count, uint32_t flip, uint8_t *out)
{
    for (int line = 0; line < count; line++, from += 4, out += LINE)
        for (int row = 0; row < HK_BLOCK; row++) {
            uint32_t word;
            memcpy(&word, rows->weights[row] + from, 4);
            word ^= flip;
            memcpy(out + row * 4, &word, 4);
        }
}

static void pack_int8(const struct rows *rows, int cols, const uint8_t *scales, const uint8_t *zeros, uint8_t *out)
{
    memset(out + HALVES, 0, HALVES);
    pack_halves(rows, scales, 1, 0, out);
    for (int row = 0; row < HK_BLOCK; row++) out[HALVES + row * 2] = zeros ? zeros[rows->at[row]] : 128;
    pack_lines(rows, 0, cols / 4, zeros ? 0 : 0x80808080, out + INT8_HEADER);
}

/* Four numbers of 4 bits, from two bytes to the lower halves of four. */
static uint32_t spread(const uint8_t *in)
{
    uint32_t four = load_u16(in);
    return (four & 0xf) | (four & 0xf0) << 4 | (four & 0xf00) << 8 | (four & 0xf000) << 12;
}

/* Store 32 columns of 4 bits of each row, two a byte from byte `from` on, the lower half first. */
static void pack_nibbles(const struct rows *rows, size_t from, uint32_t flip, uint8_t *out)
{
    for (int line = 0; line < STEP / 8; line++)
        for (int row = 0; row < HK_BLOCK; row++) {
            const uint8_t *in = rows->weights[row] + from + line * 2;
            uint32_t word = (spread(in) | spread(in + STEP / 4) << 4) ^ flip;
            memcpy(out + line * LINE + row * 4, &word, 4);
        }
}

static void pack_int4(const struct rows *rows, int group, int cols, const uint8_t *scales, uint8_t *out)
{
    size_t groups = cols / group;
    for (size_t g = 0; g < groups; g++, out += int4_group_size(group)) {
        pack_halves(rows, scales, groups, g, out);
        for (int step = 0; step < group / STEP; step++)
            pack_nibbles(rows, (g * group + step * STEP) / 2, 0x88888888, out + HALVES + step * 4 * LINE);
    }
}

static void pack_int4_min(const struct rows *rows, int cols, const uint8_t *scales, const uint8_t *minimums,
                          uint8_t *out)
{
    size_t steps = cols / STEP;
    for (size_t step = 0; step < steps; step++, out += record_size(HK_INT4_MIN, STEP)) {
        pack_halves(rows, scales, steps, step, out);
        pack_halves(rows, minimums, steps, step, out + HALVES);
        pack_nibbles(rows, step * STEP / 2, 0, out + 2 * HALVES);
    }
}

/* The fifth bits of 32 columns: bit c of the file's word becomes bit c / 4 of byte c % 4. */
static void spread_fifth_bits(uint8_t *line)
{
    for (int row = 0; row < HK_BLOCK; row++, line += 4) {
        uint32_t bits, word = 0;
        memcpy(&bits, line, 4);
        for (int column = 0; column < STEP; column++) word |= (bits >> column & 1) << (column % 4 * 8 + column / 4);
        memcpy(line, &word, 4);
    }
}

/* Store f16 numbers of each row; rows beyond the last have zero. */
static void pack_halves_of_blocks(const struct rows *rows, size_t from, uint8_t *out)
{
    memset(out, 0, HALVES);
    for (int row = 0; row < rows->count; row++) memcpy(out + row * 2, rows->weights[row] + from, 2);
}

static void pack_gguf(const struct rows *rows, int format, int cols, uint8_t *out)
{
    const struct gguf_type *type = gguf_type_of(format);
    for (size_t from = 0, end = (size_t)(cols / type->columns) * type->bytes; from < end; from += type->bytes) {
        if (format == HK_F16 || format == HK_BF16) {
            for (int column = 0; column < STEP; column++, out += HALVES)
                pack_halves_of_blocks(rows, from + column * 2, out);
            continue;
        }
        for (int i = 0; i < type->half_count; i++, out += HALVES) pack_halves_of_blocks(rows, from + type->halves[i], out);
        for (int i = 0; i < 3; i++) {
            int count = type->words[i].count;
            pack_lines(rows, from + type->words[i].from, count, format == HK_Q8_0 ? 0x80808080 : 0, out);
            if (i == 0 && (format == HK_Q5_0 || format == HK_Q5_1)) spread_fifth_bits(out);
            out += count * LINE;
        }
    }
}

static size_t row_bytes(int format, int cols)
{
    if (is_gguf(format)) return (size_t)(cols / gguf_type_of(format)->columns) * gguf_type_of(format)->bytes;
    return format == HK_INT8 ? cols : cols / 2;
}

int hk_pack(int format, int group, int rows, int cols, const void *weights, const void *scales, const void *zeros,
            int first, int last, uint8_t *out, size_t stride)
{
    if (!supported(format, group, cols) || rows <= 0 || first < 0 || last > blocks_of(rows)) return -1;
    for (int block = first; block < last; block++) {
        struct rows these = rows_of(block, rows, weights, row_bytes(format, cols));
        uint8_t *to = out + (size_t)block * stride;
        switch (format) {
        case HK_INT8: pack_int8(&these, cols, scales, zeros, to); break;
        case HK_INT4: pack_int4(&these, group, cols, scales, to); break;
        case HK_INT4_MIN: pack_int4_min(&these, cols, scales, zeros, to); break;
        default: pack_gguf(&these, format, cols, to);
        }
    }
    return 0;
}

int hk_unpack(const hk_matrix *matrix, int row, float *out)
{
    size_t size = hk_block_size(matrix->format, matrix->group, matrix->cols);
    if (!size || row < 0 || row >= matrix->rows) return -1;
    const uint8_t *block = matrix->data + row / HK_BLOCK * size;
    for (int column = 0; column < matrix->cols; column++) {
        struct weight w = weight_at(matrix->format, matrix->group, block, row % HK_BLOCK, column);
        out[column] = w.scale * (float)w.factor * (float)w.code;
        if (has_minimum(matrix->format)) out[column] += w.minimum * (float)w.minimum_factor;
    }
    return 0;
}
