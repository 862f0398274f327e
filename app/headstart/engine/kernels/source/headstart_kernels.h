/* Matrix products of quantized weights for a few tokens, and the steps of a decoder layer around them. */
#ifndef HEADSTART_KERNELS_H
#define HEADSTART_KERNELS_H
#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#define HK_API __declspec(dllexport)
#else
#define HK_API __attribute__((visibility("default")))
#endif

enum { HK_ABI = 9, HK_BLOCK = 32 /* rows of a block */, HK_OUTPUTS = 4 };

/* How weights are stored. Activations are rounded to INT8 in groups of 32 columns. */
enum hk_format {
    HK_INT8 = 1,     /* a scale (f16) and a zero point (0..255) a row: w = scale * (u - zero); group 0 */
    HK_INT4 = 2,     /* symmetric, a scale (f16) a group of 32, 64 or 128: w = scale * (u - 8) */
    HK_INT4_MIN = 3, /* a scale and a minimum (f16) a group of 32: w = scale * u + minimum */
    /* The types of GGUF files, with the numbers of their blocks; group 0. */
    HK_Q4_0 = 16,
    HK_Q4_1,
    HK_Q5_0,
    HK_Q5_1,
    HK_Q8_0,
    HK_IQ4_NL,
    HK_IQ4_XS,
    HK_Q2_K,
    HK_Q3_K,
    HK_Q4_K,
    HK_Q5_K,
    HK_Q6_K,
    HK_F16,
    HK_BF16
};

typedef struct hk_matrix {
    int32_t format, group, rows, cols;
    const uint8_t *data;
} hk_matrix;

enum hk_kind {
    HK_LINEAR = 1, /* outputs = matrix * input (+ bias) (+ residual) */
    HK_GATED = 2,  /* output = activation(gate) * up; the matrix alternates: a block of gate rows, a block of up rows */
    HK_NORM = 3,   /* output = input * gain / sqrt(mean(input^2) + epsilon) */
    HK_ADD = 4,    /* output = input + residual */
    HK_ATTENTION = 5, /* output = attention of input, a buffer of queries */
    HK_GATE = 6       /* output = activation(input) * residual */
};
enum hk_activation { HK_SILU = 1, HK_GELU_TANH = 2 };

/* Attention of `heads` queries a token over `kv_heads` keys and values of `size` numbers, a multiple of 32. The cache
   has blocks of HK_BLOCK tokens: [blocks, kv_heads, hk_kv_record_size(size, bits)] bytes. */
typedef struct hk_attention {
    int32_t heads, kv_heads, size;
    int32_t key, value; /* buffers [tokens, kv_heads * size] */
    /* Buffers [tokens, size] of angles by which queries and keys are rotated where they lie; -1: they are not. */
    int32_t cosine, sine;
    int32_t factor; /* buffer [tokens, 1] of numbers by which queries are multiplied; -1: they are not */
    int32_t bits;   /* of a number in the cache: 16 or 8 */
    int32_t window; /* keys that a query sees, its own among them; 0: all before it */
    float scale;
    float cap;     /* scores become cap * tanh(score / cap); 0: they stay */
    float epsilon; /* of the norms */
    /* f32 [size]: normalize each head of queries or keys first (RMS); NULL: take them as they are */
    const float *query_gain, *key_gain;
    const float *sinks; /* f32 [heads]: a score of each head that has no value; NULL: none */
    /* [kv_heads, size]: the numbers of a head, those last that the cache keeps in 16 bits when it has 8; NULL: as they
       lie */
    const int16_t *key_order;
    void *cache;
    int32_t blocks; /* of the cache: a run that names another one is refused before it writes */
} hk_attention;

/* The sequences that the tokens of a pass belong to, as OpenVINO's PagedAttention has them. */
typedef struct hk_sequences {
    int32_t count;
    const int32_t *past;                  /* [count] tokens in the cache */
    const int32_t *begins;                /* [count + 1] tokens of the pass */
    const int32_t *blocks, *block_begins; /* [..], [count + 1] */
    /* [..], [count + 1]: which tokens of the pass each of them sees; none: those before it, and itself. */
    const uint8_t *mask;
    const int32_t *mask_begins;
    /* [..], as `blocks`, of layers with a window: a block that fell out of it is not read. NULL: the same blocks. */
    const int32_t *window_blocks;
} hk_sequences;

typedef struct hk_step {
    int32_t kind, activation;
    int32_t input, residual;     /* buffers; residual -1: none */
    int32_t count;               /* outputs */
    int32_t outputs[HK_OUTPUTS]; /* buffers */
    int32_t rows[HK_OUTPUTS];    /* widths of the outputs; each begins a new block of the matrix */
    float epsilon;
    const float *gain; /* [cols]: normalize the input first (RMS); NULL: take it as it is */
    const float *bias; /* [sum of rows, each rounded up to HK_BLOCK]; NULL: none */
    hk_matrix matrix;
    const hk_attention *attention;
} hk_step;

/* Buffers are f32 [tokens, width]. The first `externals` of them belong to the caller, the others are scratch. */
typedef struct hk_program {
    const hk_step *steps;
    int32_t step_count;
    const int32_t *widths;
    int32_t buffer_count, externals;
    const hk_sequences *sequences; /* for HK_ATTENTION */
    /* The ticket of a run: another thread makes it 1 to end the run within some milliseconds, before it begins or while
       it is under way. NULL: the run cannot be cancelled. */
    const int32_t *cancelled;
} hk_program;

HK_API int hk_abi(void);
/* Instruction sets by number: 0 plain C, 1 AVX2, 2 AVX-VNNI, 3 AVX512-VNNI, 4 AMX. */
HK_API const char *hk_isa_name(int isa); /* NULL: no such number */
HK_API int hk_isa_supported(int isa);    /* this processor and this build have it */
HK_API int hk_isa(void);                 /* in use; at first the best supported one; -1: none but plain C */
HK_API int hk_set_isa(int isa);          /* 0: not supported */

/* Bytes of a packed block of rows, a multiple of 64; 0: these sizes are not supported. A matrix has a block for each
   HK_BLOCK rows that were begun. */
HK_API size_t hk_block_size(int format, int group, int cols);
/* Pack blocks first..last-1 of `rows` rows to out + block * stride. Rows beyond the last are zero.

   HK_INT8      weights int8 [rows, cols], or with zero points uint8; scales f16 [rows]; zeros uint8 [rows], or NULL
   HK_INT4      weights of 4 bits, two a byte, the lower half first: signed; scales f16 [rows, cols / group]
   HK_INT4_MIN  weights as above, unsigned; scales f16 [rows, cols / 32]; zeros: minimums, f16 [rows, cols / 32]
   HK_Q4_0 ..   weights are the file's blocks; no scales

   Returns 0, or -1 for sizes that are not supported. */
HK_API int hk_pack(int format, int group, int rows, int cols, const void *weights, const void *scales,
                   const void *zeros, int first, int last, uint8_t *out, size_t stride);
/* Unpack one row to f32 [cols]: the numbers that gguf-py gives for a type of GGUF files. */
HK_API int hk_unpack(const hk_matrix *matrix, int row, float *out);

/* Bytes of the keys and values of a block and head, a multiple of 64; 0: these sizes are not supported. */
HK_API size_t hk_kv_record_size(int size, int bits);
/* Copy a token's keys and values from one place of a cache to another one. */
HK_API void hk_move_kv(const hk_attention *attention, int block, int slot, int new_block, int new_slot);

/* A layer that keeps a state, for some tokens: a convolution over time and, if it has heads, a gated delta rule.

   Each of `width` numbers becomes a weighted sum of itself and of those of the tokens before it. For a delta rule SiLU
   makes of them queries and keys of `key_heads`, which are normalized, and values of `heads`, of `size` numbers each. A
   head has a memory of values by keys: it decays by exp(decay * softplus(x + bias)), then what it has for the token's
   key is corrected towards the value by a share, sigmoid(x), then it is read by the query. Head h reads the queries and
   keys of h % key_heads. */
typedef struct hk_recurrence {
    int32_t tokens, width, taps;    /* taps: tokens that are summed, at least 2 */
    int32_t heads, key_heads, size; /* of the delta rule, its size a multiple of 32; 0: there is none */
    const float *weights;           /* [taps, width], of the newest token last */
    const float *decays, *biases;   /* [heads] */
    const float *x;      /* [tokens, width + 2 * heads]: behind the width what gives decays, then shares */
    const float *before; /* the state: the tokens before, [taps - 1, width], then memories, [heads, size, size] */
    float *after;        /* the state behind the tokens, elsewhere */
    float *mixed;        /* scratch of the size of x, for heads */
    float *out;          /* [tokens, heads * size], or [tokens, width] without heads */
} hk_recurrence;

/* Returns 0, or -1 for sizes that are not supported. A token's result has the same bits for every number of tokens and
   threads, and for every instruction set. */
HK_API int hk_recur(const hk_recurrence *layer, int threads);

/* Run all steps for `tokens` tokens in `threads` threads, one run at a time in a process. Every result depends on its
   row and token alone: it has the same bits for every number of tokens and threads, and for every instruction set.
   Returns 0, -1 when the steps or sequences do not fit together, -2 when memory runs out, or -3 when it was cancelled:
   then outputs hold anything. */
HK_API int hk_run(const hk_program *program, int tokens, float *const *externals, int threads);
/* Read memory in `threads` threads, to see what its speed allows. The result means nothing. */
HK_API uint64_t hk_read(const uint8_t *data, size_t size, int threads);
/* Multiply numbers in registers in `threads` threads, `parts` times some hundredths of a millisecond, to see what the
   instruction set in use allows. Returns how many products that were; 0: it has no vectors. */
HK_API int64_t hk_multiply(int parts, int threads);
#endif
