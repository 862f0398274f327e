/* The types of GGUF files as they are packed, and the value of a single weight.

   A packed record stands for `columns` columns of 32 rows and has the bytes of 32 blocks of the file. The f16 numbers
   of the rows come first, then lines: the words of the file's blocks, a word for each row. */
#ifndef FORMATS_H
#define FORMATS_H
#include "kernels.h"

enum { HALVES = HK_BLOCK * 2 /* bytes: an f16 for each row */ };

struct gguf_type {
    int columns, bytes; /* of a block in the file */
    int half_count, halves[2];
    struct {
        int from, count; /* bytes before them in the file's block; words */
    } words[3];          /* in the order of the lines */
};

/* By format, from HK_Q4_0 on. F16 and BF16 have a half for each column instead. */
static const struct gguf_type gguf_types[] = {
    [HK_Q4_0 - HK_Q4_0] = {32, 18, 1, {0}, {{2, 4}}},
    [HK_Q4_1 - HK_Q4_0] = {32, 20, 2, {0, 2}, {{4, 4}}},
    [HK_Q5_0 - HK_Q4_0] = {32, 22, 1, {0}, {{2, 1}, {6, 4}}},
    [HK_Q5_1 - HK_Q4_0] = {32, 24, 2, {0, 2}, {{4, 1}, {8, 4}}},
    [HK_Q8_0 - HK_Q4_0] = {32, 34, 1, {0}, {{2, 8}}},
    [HK_IQ4_NL - HK_Q4_0] = {32, 18, 1, {0}, {{2, 4}}},
    [HK_IQ4_XS - HK_Q4_0] = {256, 136, 2, {0, 2}, {{4, 1}, {8, 32}}},
    [HK_Q2_K - HK_Q4_0] = {256, 84, 2, {80, 82}, {{0, 4}, {16, 16}}},
    [HK_Q3_K - HK_Q4_0] = {256, 110, 1, {108}, {{96, 3}, {0, 8}, {32, 16}}},
    [HK_Q4_K - HK_Q4_0] = {256, 144, 2, {0, 2}, {{4, 3}, {16, 32}}},
    [HK_Q5_K - HK_Q4_0] = {256, 176, 2, {0, 2}, {{4, 3}, {16, 8}, {48, 32}}},
    [HK_Q6_K - HK_Q4_0] = {256, 210, 1, {208}, {{192, 4}, {128, 16}, {0, 32}}},
    [HK_F16 - HK_Q4_0] = {32, 64, 0, {0}, {{0, 0}}},
    [HK_BF16 - HK_Q4_0] = {32, 64, 0, {0}, {{0, 0}}},
};

INLINE int is_gguf(int format) { return format >= HK_Q4_0 && format <= HK_BF16; }

INLINE const struct gguf_type *gguf_type_of(int format) { return &gguf_types[format - HK_Q4_0]; }

/* Formats of 256 columns whose lines hold columns of two groups of 32, with a scale for each group or each half of it. */
INLINE int has_pairs(const int format)
{
    return format == HK_Q2_K || format == HK_Q3_K || format == HK_Q4_K || format == HK_Q5_K || format == HK_Q6_K;
}

INLINE int has_scaled_halves(const int format) { return format == HK_Q2_K || format == HK_Q3_K || format == HK_Q6_K; }

INLINE int has_minimum(const int format)
{
    return format == HK_INT4_MIN || format == HK_Q4_1 || format == HK_Q5_1 || format == HK_Q2_K || format == HK_Q4_K ||
           format == HK_Q5_K;
}

/* Bits of a stored code, which is unsigned. */
INLINE int bits_of_code(const int format)
{
    switch (format) {
    case HK_Q2_K: return 2;
    case HK_Q3_K: return 3;
    case HK_INT4:
    case HK_INT4_MIN:
    case HK_Q4_0:
    case HK_Q4_1:
    case HK_Q4_K: return 4;
    case HK_Q5_0:
    case HK_Q5_1:
    case HK_Q5_K: return 5;
    case HK_Q6_K: return 6;
    default: return 8;
    }
}

/* The code of zero. */
INLINE int offset_of(const int format)
{
    switch (format) {
    case HK_Q3_K: return 4;
    case HK_INT4:
    case HK_Q4_0: return 8;
    case HK_Q5_0: return 16;
    case HK_Q6_K: return 32;
    case HK_Q8_0:
    case HK_IQ4_NL:
    case HK_IQ4_XS: return 128;
    default: return 0;
    }
}

/* f16 numbers of a row before its words. */
INLINE int halves_of(const int format)
{
    return format == HK_INT4 ? 1 : format == HK_INT4_MIN ? 2 : gguf_type_of(format)->half_count;
}

/* Bytes and columns of a record. */
INLINE size_t record_size(const int format, int group)
{
    switch (format) {
    case HK_INT8: return STEP * HK_BLOCK;
    case HK_INT4: return int4_group_size(group);
    case HK_INT4_MIN: return HK_BLOCK * 20;
    default: return HK_BLOCK * (size_t)gguf_type_of(format)->bytes;
    }
}

INLINE int record_columns(const int format, int group)
{
    switch (format) {
    case HK_INT8:
    case HK_INT4_MIN: return STEP;
    case HK_INT4: return group;
    default: return gguf_type_of(format)->columns;
    }
}

/* IQ4_NL and IQ4_XS: the values of codes, plus 128. */
static const uint8_t iq4_values[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};

/* weight = scale * factor * code + minimum * minimum_factor */
struct weight {
    int code, factor, minimum_factor;
    float scale, minimum;
};

INLINE float half_at(const uint8_t *halves, int row) { return float_of_half(load_u16(halves + row * 2)); }

INLINE int byte_at(const uint8_t *lines, int row, int byte) { return lines[byte / 4 * LINE + row * 4 + byte % 4]; }

/* The 6-bit factor of a group of Q4_K and Q5_K: of its scale, or of its minimum. */
INLINE int factor_k(const uint8_t *lines, int row, int group, int is_minimum)
{
    int from = is_minimum ? 4 : 0;
    if (group < 4) return byte_at(lines, row, from + group) & 63;
    int low = byte_at(lines, row, 4 + group), high = byte_at(lines, row, from + group - 4) >> 6;
    return (is_minimum ? low >> 4 : low & 15) | high << 4;
}

/* A weight of columns 0 to 255 of a record. */
INLINE struct weight weight_of_pairs(int format, const uint8_t *record, int row, int column)
{
    const uint8_t *lines = record + HALVES * gguf_type_of(format)->half_count;
    int group = column / STEP, within = column % STEP, sixteen = column / 16;
    struct weight w = {.factor = 1, .scale = half_at(record, row)};
    if (has_minimum(format)) w.minimum = -half_at(record + HALVES, row);
    if (format == HK_Q4_K || format == HK_Q5_K) {
        const uint8_t *low = lines + (format == HK_Q4_K ? 3 : 11) * LINE;
        w.code = byte_at(low, row, group / 2 * STEP + within) >> group % 2 * 4 & 15;
        if (format == HK_Q5_K) w.code |= (byte_at(lines + 3 * LINE, row, within) >> group & 1) << 4;
        w.factor = factor_k(lines, row, group, 0);
        w.minimum_factor = factor_k(lines, row, group, 1);
    } else if (format == HK_Q6_K) {
        int half = group / 4, quarter = group % 4;
        int low = byte_at(lines + 20 * LINE, row, half * 64 + quarter % 2 * STEP + within) >> quarter / 2 * 4 & 15;
        int high = byte_at(lines + 4 * LINE, row, half * STEP + within) >> quarter * 2 & 3;
        w.code = (low | high << 4) - 32;
        w.factor = (int8_t)byte_at(lines, row, sixteen);
    } else if (format == HK_Q2_K) {
        w.code = byte_at(lines + 4 * LINE, row, group / 4 * STEP + within) >> group % 4 * 2 & 3;
        w.factor = byte_at(lines, row, sixteen) & 15;
        w.minimum_factor = byte_at(lines, row, sixteen) >> 4;
    } else {
        int low = byte_at(lines + 11 * LINE, row, group / 4 * STEP + within) >> group % 4 * 2 & 3;
        w.code = (low | (byte_at(lines + 3 * LINE, row, within) >> group & 1) << 2) - 4;
        int low4 = byte_at(lines, row, sixteen % 8) >> sixteen / 8 * 4 & 15,
            high = byte_at(lines, row, 8 + sixteen % 4) >> sixteen / 4 * 2 & 3;
        w.factor = (low4 | high << 4) - 32;
    }
    return w;
}

/* The code of a column of 4 lines of nibbles. */
INLINE int nibble_at(const uint8_t *lines, int row, int column)
{
    return byte_at(lines, row, column % 16) >> column / 16 * 4 & 15;
}

INLINE struct weight weight_at(int format, int group, const uint8_t *block, int row, int column)
{
    int columns = record_columns(format, group), within = column % columns;
    if (format == HK_INT8) {
        int code = byte_at(block + INT8_HEADER, row, column) - load_u16(block + HALVES + row * 2);
        return (struct weight){.code = code, .factor = 1, .scale = half_at(block, row)};
    }
    const uint8_t *record = block + column / columns * record_size(format, group);
    if (has_pairs(format)) return weight_of_pairs(format, record, row, within);
    if (format == HK_F16 || format == HK_BF16) {
        const uint8_t *half = record + within * HALVES + row * 2;
        return (struct weight){
            .code = 1, .factor = 1, .scale = format == HK_F16 ? half_at(half, 0) : float_of((uint32_t)load_u16(half) << 16)};
    }
    struct weight w = {.factor = 1, .scale = half_at(record, row)};
    switch (format) {
    case HK_INT4: w.code = nibble_at(record + HALVES + within / STEP * 4 * LINE, row, within % STEP) - 8; break;
    case HK_Q4_0: w.code = nibble_at(record + HALVES, row, within) - 8; break;
    case HK_INT4_MIN:
    case HK_Q4_1: w.code = nibble_at(record + 2 * HALVES, row, within); break;
    case HK_Q5_0:
    case HK_Q5_1: {
        const uint8_t *lines = record + (format == HK_Q5_0 ? 1 : 2) * HALVES;
        int high = byte_at(lines, row, within % 4) >> within / 4 & 1;
        w.code = (nibble_at(lines + LINE, row, within) | high << 4) - (format == HK_Q5_0 ? 16 : 0);
        break;
    }
    case HK_Q8_0: w.code = byte_at(record + HALVES, row, within) - 128; break;
    case HK_IQ4_NL: w.code = iq4_values[nibble_at(record + HALVES, row, within)] - 128; break;
    default: {
        const uint8_t *lines = record + 2 * HALVES;
        int g = within / STEP, low = byte_at(lines, row, g / 2) >> g % 2 * 4 & 15,
            high = load_u16(record + HALVES + row * 2) >> 2 * g & 3;
        w.factor = (low | high << 4) - 32;
        w.code = iq4_values[nibble_at(lines + (1 + 4 * g) * LINE, row, within % STEP)] - 128;
    }
    }
    if (has_minimum(format)) w.minimum = half_at(record + HALVES, row);
    w.minimum_factor = 1;
    return w;
}
#endif
