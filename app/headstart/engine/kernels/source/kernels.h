/* The layout of packed weights and rounded activations, and the functions of an instruction set.

   Packed weights. A block holds HK_BLOCK rows. Its weights lie in lines of 32-bit words, a word for each row, so that a
   line is a few columns of all rows and a vector register takes 8 or 16 rows:

       line j:  | row 0 | row 1 | ... | row 31 |      a word: 4 columns of 8 bits, or 8 columns of 4 bits

       HK_INT8      f16 scale[32] | u16 zero[32] | cols / 4 lines
       HK_INT4      for each group:        f16 scale[32] | group / 8 lines
       HK_INT4_MIN  for each 32 columns:   f16 scale[32] | f16 minimum[32] | 4 lines
       HK_Q4_0 ..   for each of the file's blocks: see formats.h

   Of 32 columns of 4 bits in 4 lines, word i has columns 4 i to 4 i + 3 in the lower halves of its bytes, and columns
   16 + 4 i to 16 + 4 i + 3 in the upper ones.

   Rounded activations. A tile of n tokens has a record for each 32 columns:

       f32 scale[n] | f32 scale * sum[n] | i32 -sum[n], or i16 [n][2]: of columns 0..15, of columns 16..31 | i8 [n][32]

   The records of a tile follow each other.

   A run, file by file:

       run.c          hk_run checks a program; all threads go through its steps (run_steps)
       pool.c         the threads
       run.c          run_mul_mat: quantize_parts or quantize_normalized (isa/elementwise.h), then mul_mat_rows
       isa/products.h   mul_mat_block: multiply_format, a superblock or some groups of 32 columns at a time
       isa/tiles.h      the same for many tokens with AMX, isa/panels.h for some and more with AVX2
       formats.h        where the bytes of each type lie
       run.c          run_attention: rope_and_store, attend, and merge_ranges where threads share the keys of a query
       isa/attention.h  scores, softmax and sums of values, a tile of keys at a time
       delta.c        hk_recur: isa/delta.h, layers that keep a state
       isa/NAME.c     the vector instructions of a set, around these; isa/plain.c has none; cpu.c chooses one
       pack.c         hk_pack and hk_unpack; limits.c: hk_read and hk_multiply */
#ifndef KERNELS_H
#define KERNELS_H
#include "headstart_kernels.h"
#include <stdint.h>
#include <string.h>

enum {
    MAX_ROWS = 48,       /* queries that share a walk over keys and values */
    MAX_HEAD = 512,      /* numbers of a head */
    TILE_BLOCKS = 8,     /* blocks of keys of a tile of attention */
    TILE_KEYS = TILE_BLOCKS * HK_BLOCK,
    RANGE_KEYS = 4 * TILE_KEYS, /* keys of a query that one thread takes, where threads share them */
    LINE = HK_BLOCK * 4, /* bytes */
    CACHE_LINE = 64,     /* bytes */
    STEP = 32,           /* columns that are multiplied at a time */
    MAX_TILE = 16,
    SUPERBLOCK = 256, /* columns */
    SPAN = 4, /* tiles that read a block together */
    MAX_SPAN = SPAN * MAX_TILE,
    INT8_HEADER = HK_BLOCK * 4,
    DELTA_PART = 32, /* values of a head that a thread takes at a time */
    RECURRENT_PART = 256, /* numbers of a convolution without heads that a thread takes at a time */
};

/* The rounded activations of `tokens` tokens. */
struct q8 {
    uint8_t *records;
    size_t record; /* bytes */
    int tokens, tile, steps;
};

/* The tokens of one sequence in a pass. */
struct sequence {
    int first, count;      /* of the pass */
    int past;              /* tokens before them */
    const int32_t *blocks; /* of the cache, in the order of the text */
    const int32_t *window_blocks; /* the same, of layers with a window */
    /* Which tokens of the pass each of them sees: [count][count]; NULL: those before it, and itself. */
    const uint8_t *mask;
};

struct kernels {
    int tile; /* most tokens of a tile */
    /* Round some steps of a token. `halves`: with sums of 16 columns, for weights that have factors for them. */
    void (*quantize)(const float *x, int steps, int halves, const struct q8 *out, int token, int first);
    /* 1 / sqrt(mean(x^2) + epsilon) */
    float (*inverse_rms)(const float *x, int width, float epsilon);
    /* out = x * by * gain */
    void (*scale)(const float *x, float by, const float *gain, int width, float *out);
    /* gate = activation(gate) * up */
    void (*gate)(int activation, float *gate, const float *up, int count);
    /* Products of a block with `tiles` tiles from `first` on, to out[token]. */
    void (*mul_mat)(int format, int group, const uint8_t *block, const struct q8 *x, int first, int tiles,
                     float (*out)[HK_BLOCK]);
    /* Normalize and rotate a token's queries and key, multiply the queries by a factor, and put the key and the value
       into the cache. No angles: they are not rotated. */
    void (*rope_and_store_kv)(const hk_attention *a, const struct sequence *s, int token, float *query, float *key,
                        const float *value, const float *cosine, const float *sine, float factor);
    /* Attention of some queries that share keys and values, over some ranges of keys: see attention.h. */
    void (*attend)(const hk_attention *a, const struct sequence *s, int kv_head, int first, int rows, int range, int last,
                   const float *query, float *out, float *results, uint8_t *scratch);
    void (*merge_ranges)(const hk_attention *a, const struct sequence *s, int token, int head, const float *results,
                         float *out);
    /* Copy a token's key and value from one record of the cache to another. */
    void (*move_kv)(const hk_attention *a, uint8_t *from, int slot, uint8_t *to, int new_slot);
    /* An item of a layer that keeps a state. Phase 0 convolves a head, or RECURRENT_PART numbers; phase 1 computes
       DELTA_PART values of a head. */
    void (*delta_rule)(const hk_recurrence *r, int phase, int item);
    /* Multiply in registers alone; returns the number of products. NULL: there are no vectors. */
    int64_t (*multiply_only)(int count);
};

/* Products of many tokens, in tiles of more. */
struct kernels_of_many {
    int tokens, tile; /* from so many on; most of a tile */
    void (*mul_mat)(int format, int group, const uint8_t *block, const struct q8 *x, int first, int tiles,
                    float (*out)[HK_BLOCK]);
};

extern const struct kernels plain_kernels, avx2_kernels, avxvnni_kernels, avx512vnni_kernels;
extern const struct kernels_of_many amx_kernels;

/* The instruction set in use. */
const struct kernels *kernels_in_use(void);
const struct kernels_of_many *kernels_of_many_in_use(void); /* NULL: none */

/* Whether the processor is one of AMD, whose own prefetch may do better than ours: see is_light. Intel's need ours. */
int reads_ahead(void);

#define INLINE static inline __attribute__((always_inline))

INLINE int smaller(int a, int b) { return a < b ? a : b; }

/* Set rounding and small numbers as the C standard has them, whatever the thread had set: that is returned. */
INLINE unsigned use_standard_floats(void)
{
#if defined(__x86_64__)
    unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1f80);
    return before;
#else
    return 0;
#endif
}

INLINE void use_floats(unsigned before)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(before);
#else
    (void)before;
#endif
}

INLINE int blocks_of(int rows) { return rows / HK_BLOCK + (rows % HK_BLOCK > 0); }

/* Numbers of a key that have 16 bits in a cache of 8. */
INLINE int wide_of(int size, int bits) { return bits == 8 ? size / 8 : 0; }

/* Groups of a key's numbers: each has a scale. */
INLINE int key_groups(int size, int bits) { return size / 32 + (wide_of(size, bits) + 31) / 32; }

/* Bytes of the keys and values of a block and head: see attention.h. */
INLINE size_t kv_record_size(int size, int bits)
{
    size_t of_token = (size_t)size * 2 * (bits / 8) + wide_of(size, bits);
    return (of_token + (size_t)(key_groups(size, bits) + 1) * sizeof(uint16_t)) * HK_BLOCK;
}

/* Bytes of scratch that `attend` takes. */
INLINE size_t attention_scratch(const hk_attention *a)
{
    size_t floats = TILE_KEYS + TILE_BLOCKS + key_groups(a->size, a->bits) + 3 * (a->size + 2), shorts = TILE_KEYS + a->size;
    return TILE_BLOCKS * kv_record_size(a->size, a->bits) + MAX_ROWS * (4 * floats + 2 * shorts);
}

/* The first key that a query sees which sees `end` keys, or would without the window. */
INLINE int begin_of(const hk_attention *a, int end) { return a->window > 0 && end > a->window ? end - a->window : 0; }

/* Ranges of keys that the tokens of a sequence see, by their numbers: from the first one on. */
INLINE int first_range_of(const hk_attention *a, const struct sequence *s) { return begin_of(a, s->past) / RANGE_KEYS; }
INLINE int ranges_of(const hk_attention *a, const struct sequence *s)
{
    return (s->past + s->count + RANGE_KEYS - 1) / RANGE_KEYS - first_range_of(a, s);
}

INLINE int tokens_of_tile(const struct q8 *x, int tile) { return smaller(x->tile, x->tokens - tile * x->tile); }

INLINE uint8_t *activations_of(const struct q8 *x, int tile, int step)
{
    return x->records + ((size_t)tile * x->steps + step) * x->record;
}

/* Parts of a record of n tokens. */
INLINE float *scales_of(uint8_t *record) { return (float *)record; }
INLINE float *scaled_sums_of(uint8_t *record, int n) { return (float *)record + n; }
INLINE int32_t *negative_sums_of(uint8_t *record, int n) { return (int32_t *)record + 2 * n; }
INLINE int8_t *values_of(uint8_t *record, int n) { return (int8_t *)record + 12 * n; }
INLINE size_t activations_size(int n) { return (size_t)(12 + STEP) * n; }

/* Bytes of a group of HK_INT4. */
INLINE int int4_group_size(int group) { return HK_BLOCK * 2 + group * HK_BLOCK / 2; }

INLINE uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINE float float_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
    if (exponent == 0) return float_of(bits_of((float)fraction * 0x1p-24f) | sign);
    if (exponent == 31) return float_of(sign | 0x7f800000 | fraction << 13);
    return float_of(sign | (exponent + 112) << 23 | fraction << 13);
}

INLINE uint16_t load_u16(const uint8_t *p)
{
    uint16_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

#endif
