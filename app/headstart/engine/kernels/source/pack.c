/* Packing: a transposition of 32-bit words, 32 rows at a time. kernels.h draws the layout. */
#include "kernels.h"

enum {
    MAX_COLS = 1 << 20,
    Q4_K_BYTES = 144, /* of 256 columns in a file: f16 d, f16 m, 12 bytes of 6-bit factors, 128 bytes of nibbles */
};

static int supported(int format, int group, int cols)
{
    if (cols <= 0 || cols > MAX_COLS) return 0;
    switch (format) {
    case HK_INT8: return group == 0 && cols % STEP == 0;
    case HK_INT4: return (group == 32 || group == 64 || group == 128) && cols % group == 0;
    case HK_INT4_MIN: return group == STEP && cols % STEP == 0;
    case HK_INT4_K: return group == SUPERBLOCK && cols % SUPERBLOCK == 0;
    default: return 0;
    }
}

size_t hk_block_size(int format, int group, int cols)
{
    if (!supported(format, group, cols)) return 0;
    switch (format) {
    case HK_INT8: return INT8_HEADER + (size_t)cols * HK_BLOCK;
    case HK_INT4: return (size_t)cols / group * int4_group_size(group);
    case HK_INT4_MIN: return (size_t)cols / STEP * MIN_RECORD;
    default: return (size_t)cols / SUPERBLOCK * K_RECORD;
    }
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
    memset(out, 0, HK_BLOCK * 2);
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
    memset(out + HK_BLOCK * 2, 0, HK_BLOCK * 2);
    pack_halves(rows, scales, 1, 0, out);
    for (int row = 0; row < HK_BLOCK; row++) out[HK_BLOCK * 2 + row * 2] = zeros ? zeros[rows->at[row]] : 128;
    pack_lines(rows, 0, cols / 4, zeros ? 0 : 0x80808080, out + INT8_HEADER);
}

static void pack_int4(const struct rows *rows, int group, int cols, const uint8_t *scales, uint8_t *out)
{
    size_t groups = cols / group;
    for (size_t g = 0; g < groups; g++, out += int4_group_size(group)) {
        pack_halves(rows, scales, groups, g, out);
        pack_lines(rows, g * group / 2, group / 8, 0x88888888, out + HK_BLOCK * 2);
    }
}

static void pack_int4_min(const struct rows *rows, int cols, const uint8_t *scales, const uint8_t *minimums,
                          uint8_t *out)
{
    size_t steps = cols / STEP;
    for (size_t step = 0; step < steps; step++, out += MIN_RECORD) {
        pack_halves(rows, scales, steps, step, out);
        pack_halves(rows, minimums, steps, step, out + HK_BLOCK * 2);
        pack_lines(rows, step * STEP / 2, STEP / 8, 0, out + HK_BLOCK * 4);
    }
}

/* The file's 6-bit factors of 32 columns: the scale's and the minimum's. */
static void unpack_factors(const uint8_t *factors, int step, uint8_t *scale, uint8_t *minimum)
{
    if (step < 4) {
        *scale = factors[step] & 63;
        *minimum = factors[step + 4] & 63;
    } else {
        *scale = (factors[step + 4] & 15) | (factors[step - 4] >> 6) << 4;
        *minimum = factors[step + 4] >> 4 | (factors[step] >> 6) << 4;
    }
}

/* A file's word has four columns in its lower nibbles, and in its upper ones those that are 32 further on. */
static void pack_nibbles_k(const uint8_t *in, int row, uint8_t *out)
{
    const uint32_t low = 0x0f0f0f0f;
    for (int step = 0; step < SUPERBLOCK / STEP; step += 2, in += STEP, out += 2 * K_STEP)
        for (int line = 0; line < STEP / 8; line++) {
            uint32_t first, second;
            memcpy(&first, in + line * 8, 4);
            memcpy(&second, in + line * 8 + 4, 4);
            uint32_t here = (first & low) | (second & low) << 4, next = (first >> 4 & low) | (second & ~low);
            memcpy(out + HK_BLOCK * 2 + line * LINE + row * 4, &here, 4);
            memcpy(out + K_STEP + HK_BLOCK * 2 + line * LINE + row * 4, &next, 4);
        }
}

static void pack_int4_k(const struct rows *rows, int cols, uint8_t *out)
{
    for (int super = 0; super < cols / SUPERBLOCK; super++, out += K_RECORD) {
        memset(out, 0, K_HEADER);
        for (int row = 0; row < HK_BLOCK; row++) {
            const uint8_t *in = rows->weights[row] + (size_t)super * Q4_K_BYTES;
            if (row < rows->count) {
                memcpy(out + row * 2, in, 2);
                memcpy(out + HK_BLOCK * 2 + row * 2, in + 2, 2);
            }
            for (int step = 0; step < SUPERBLOCK / STEP; step++) {
                uint8_t *to = out + K_HEADER + step * K_STEP + row;
                unpack_factors(in + 4, step, to, to + HK_BLOCK);
            }
            pack_nibbles_k(in + 16, row, out + K_HEADER);
        }
    }
}

static size_t row_bytes(int format, int cols)
{
    switch (format) {
    case HK_INT8: return cols;
    case HK_INT4_K: return (size_t)cols / SUPERBLOCK * Q4_K_BYTES;
    default: return cols / 2;
    }
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
        default: pack_int4_k(&these, cols, to);
        }
    }
    return 0;
}

static float half_at(const uint8_t *halves, int row) { return float_of_half(load_u16(halves + row * 2)); }

/* The unsigned weight of a row at a column of lines. `interleaved`: lower nibbles are the even columns. */
static int nibble(const uint8_t *lines, int row, int column, int interleaved)
{
    const uint8_t *word = lines + column / 8 * LINE + row * 4;
    int within = column % 8, upper = interleaved ? within % 2 : within / 4,
        byte = interleaved ? within / 2 : within % 4;
    return word[byte] >> (4 * upper) & 15;
}

static float weight_at(int format, int group, const uint8_t *block, int row, int column)
{
    const uint8_t *record;
    switch (format) {
    case HK_INT8:
        record = block + INT8_HEADER + (size_t)column / 4 * LINE;
        return half_at(block, row) * (float)(record[row * 4 + column % 4] - block[HK_BLOCK * 2 + row * 2]);
    case HK_INT4:
        record = block + (size_t)column / group * int4_group_size(group);
        return half_at(record, row) * (float)(nibble(record + HK_BLOCK * 2, row, column % group, 1) - 8);
    case HK_INT4_MIN:
        record = block + (size_t)column / STEP * MIN_RECORD;
        return half_at(record, row) * (float)nibble(record + HK_BLOCK * 4, row, column % STEP, 1) +
               half_at(record + HK_BLOCK * 2, row);
    default:
        block += (size_t)column / SUPERBLOCK * K_RECORD;
        record = block + K_HEADER + column % SUPERBLOCK / STEP * K_STEP;
        return half_at(block, row) * (float)record[row] * (float)nibble(record + HK_BLOCK * 2, row, column % STEP, 0) -
               half_at(block + HK_BLOCK * 2, row) * (float)record[HK_BLOCK + row];
    }
}

int hk_unpack(const hk_matrix *matrix, int row, float *out)
{
    size_t size = hk_block_size(matrix->format, matrix->group, matrix->cols);
    if (!size || row < 0 || row >= matrix->rows) return -1;
    const uint8_t *block = matrix->data + row / HK_BLOCK * size;
    for (int column = 0; column < matrix->cols; column++)
        out[column] = weight_at(matrix->format, matrix->group, block, row % HK_BLOCK, column);
    return 0;
}
