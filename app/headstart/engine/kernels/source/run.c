/* Runs the steps of a program. Each step is a phase of work or two; all threads go through the phases in order. A
   phase's items are shared out in ranges, one a thread. A thread takes chunks of its own range, then of the others',
   and goes on when every item is done. So no phase waits for a thread that is not working on it. */
#include "formats.h"
#include "pool.h"
#include <stdatomic.h>
#include <stdlib.h>

enum {
    MAX_THREADS = 256,
    MAX_TOKENS = 1 << 16,
    MAX_CONTEXT = 1 << 24,
    MAX_ITEMS = 1 << 30, /* of a phase: threads count a little beyond it */
    CHUNK_BYTES = 32 << 10,          /* weights that a thread takes at a time */
    CHUNK_BYTES_OF_MANY = 192 << 10, /* with more tokens they stay in the second-level cache from span to span */
    QUANTIZED_STEPS = 4,               /* steps of a token that are rounded at a time */
    PHASES = 3,          /* of a step, at most */
    ITEMS_OF_THREAD = 2, /* of attention: with fewer, threads share the keys of a query */
    KEPT_BYTES = 64 << 20,           /* scratch that the next run finds again, however little it needs */
};

/* A counter with a cache line of its own. */
struct counter {
    _Alignas(CACHE_LINE) atomic_int value;
};

struct phase {
    int items, chunk;
    struct counter *done;  /* items */
    struct counter *taken; /* items of each thread's range */
};

struct run {
    const hk_program *program;
    const struct kernels *kernels;
    const struct kernels_of_many *many; /* NULL: there are none, or the run has few tokens */
    int tokens, threads;
    float **buffers;
    uint8_t *q8;
    uint8_t *attention;         /* scratch of each thread */
    size_t attention_size;
    float *results;           /* of ranges of keys, where threads share those of a query */
    struct counter *counters; /* 1 + threads for each phase of each step */
};

static size_t aligned(size_t bytes) { return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE; }

static int most_of_tile(const struct run *run) { return run->many ? run->many->tile : run->kernels->tile; }

/* The input of a step, rounded: tokens in tiles of even size. */
static struct q8 q8_of(const struct run *run, const hk_matrix *matrix)
{
    int most = most_of_tile(run), tiles = (run->tokens + most - 1) / most;
    struct q8 x = {.records = run->q8, .tokens = run->tokens, .steps = matrix->cols / STEP};
    x.tile = (run->tokens + tiles - 1) / tiles;
    x.record = aligned(activations_size(x.tile));
    return x;
}

static size_t q8_bytes(const struct q8 *x)
{
    return (size_t)((x->tokens + x->tile - 1) / x->tile) * x->steps * x->record;
}

static float *row_of(const struct run *run, int buffer, int token)
{
    return run->buffers[buffer] + (size_t)token * run->program->widths[buffer];
}

/* Rounding takes so many steps of a token at a time. */
static int parts_of(const struct q8 *x) { return (x->steps + QUANTIZED_STEPS - 1) / QUANTIZED_STEPS; }

static void quantize(const struct run *run, const hk_step *step, const struct q8 *x, int token, int part,
                     const float *values)
{
    int first = part * QUANTIZED_STEPS;
    run->kernels->quantize(values, smaller(QUANTIZED_STEPS, x->steps - first), has_scaled_halves(step->matrix.format), x,
                           token, first);
}

/* Items are parts of tokens: token * parts + part. */
static void quantize_parts(const struct run *run, const hk_step *step, int first, int last, int thread)
{
    (void)thread;
    struct q8 x = q8_of(run, &step->matrix);
    int parts = parts_of(&x);
    for (int i = first; i < last; i++)
        quantize(run, step, &x, i / parts, i % parts,
                 row_of(run, step->input, i / parts) + i % parts * QUANTIZED_STEPS * STEP);
}

/* Items are tokens. */
static void quantize_normalized(const struct run *run, const hk_step *step, int first, int last, int thread)
{
    (void)thread;
    struct q8 x = q8_of(run, &step->matrix);
    for (int token = first; token < last; token++) {
        const float *row = row_of(run, step->input, token);
        float by = run->kernels->inverse_rms(row, step->matrix.cols, step->epsilon);
        for (int part = 0; part < parts_of(&x); part++) {
            float values[QUANTIZED_STEPS * STEP];
            int column = part * QUANTIZED_STEPS * STEP, count = smaller(QUANTIZED_STEPS * STEP, step->matrix.cols - column);
            run->kernels->scale(row + column, by, step->gain + column, count, values);
            quantize(run, step, &x, token, part, values);
        }
    }
}

static void add_to(float *out, const float *in, int count)
{
    for (int i = 0; i < count; i++) out[i] += in[i];
}

/* Add the bias, and the residual, and store `count` columns from `column` on. */
static void store(const struct run *run, const hk_step *step, int token, int output, int column, int count, float *sums)
{
    if (step->residual >= 0) add_to(sums, row_of(run, step->residual, token) + column, count);
    memcpy(row_of(run, step->outputs[output], token) + column, sums, (size_t)count * sizeof *sums);
}

static void mul_mat(const struct run *run, const hk_step *step, int block, const struct q8 *x, int first,
                     int tiles, float (*sums)[HK_BLOCK])
{
    const hk_matrix *matrix = &step->matrix;
    size_t size = hk_block_size(matrix->format, matrix->group, matrix->cols);
    (run->many ? run->many->mul_mat : run->kernels->mul_mat)(matrix->format, matrix->group, matrix->data + block * size, x,
                                                             first, tiles, sums);
    int tokens = smaller(tiles * x->tile, x->tokens - first * x->tile);
    if (step->bias)
        for (int t = 0; t < tokens; t++) add_to(sums[t], step->bias + (size_t)block * HK_BLOCK, HK_BLOCK);
}

/* Items are blocks of rows; of HK_GATED, pairs of them. */
static void mul_mat_rows(const struct run *run, const hk_step *step, int first, int last, int thread)
{
    (void)thread;
    struct q8 x = q8_of(run, &step->matrix);
    int tiles = (x.tokens + x.tile - 1) / x.tile;
    for (int tile = 0; tile < tiles; tile += SPAN) {
        int span = smaller(SPAN, tiles - tile), token = tile * x.tile,
            tokens = smaller(span * x.tile, x.tokens - token);
        for (int item = first; item < last; item++) {
            _Alignas(CACHE_LINE) float sums[MAX_SPAN][HK_BLOCK], up[MAX_SPAN][HK_BLOCK];
            if (step->kind == HK_GATED) {
                mul_mat(run, step, 2 * item, &x, tile, span, sums);
                mul_mat(run, step, 2 * item + 1, &x, tile, span, up);
                run->kernels->gate(step->activation, sums[0], up[0], tokens * HK_BLOCK);
            } else {
                mul_mat(run, step, item, &x, tile, span, sums);
            }
            int output = 0, block = item;
            while (block >= blocks_of(step->rows[output])) block -= blocks_of(step->rows[output++]);
            int column = block * HK_BLOCK, count = smaller(HK_BLOCK, step->rows[output] - column);
            for (int t = 0; t < tokens; t++) store(run, step, token + t, output, column, count, sums[t]);
        }
    }
}

/* Items are tokens. */
static void normalize(const struct run *run, const hk_step *step, int first, int last, int thread)
{
    (void)thread;
    int width = run->program->widths[step->input];
    for (int token = first; token < last; token++) {
        const float *row = row_of(run, step->input, token);
        float by = run->kernels->inverse_rms(row, width, step->epsilon);
        run->kernels->scale(row, by, step->gain, width, row_of(run, step->outputs[0], token));
    }
}

/* Items are tokens. */
static void add_rows(const struct run *run, const hk_step *step, int first, int last, int thread)
{
    (void)thread;
    int width = run->program->widths[step->input];
    for (int token = first; token < last; token++) {
        const float *a = row_of(run, step->input, token), *b = row_of(run, step->residual, token);
        float *out = row_of(run, step->outputs[0], token);
        for (int i = 0; i < width; i++) out[i] = a[i] + b[i];
    }
}

static struct sequence sequence_at(const hk_sequences *given, int number)
{
    int first = given->begins[number], mask = given->mask_begins[number], block = given->block_begins[number];
    return (struct sequence){.first = first,
                             .count = given->begins[number + 1] - first,
                             .past = given->past[number],
                             .blocks = given->blocks + block,
                             .window_blocks = (given->window_blocks ? given->window_blocks : given->blocks) + block,
                             .mask = given->mask_begins[number + 1] > mask ? given->mask + mask : NULL};
}

static int sequence_of(const hk_sequences *given, int token)
{
    int number = 0;
    while (token >= given->begins[number + 1]) number++;
    return number;
}

/* Items are tokens. */
static void rope_and_store(const struct run *run, const hk_step *step, int first, int last, int thread)
{
    const hk_attention *a = step->attention;
    (void)thread;
    for (int token = first; token < last; token++) {
        const hk_sequences *given = run->program->sequences;
        struct sequence s = sequence_at(given, sequence_of(given, token));
        const float *cosine = a->cosine < 0 ? NULL : row_of(run, a->cosine, token),
                    *sine = cosine ? row_of(run, a->sine, token) : NULL;
        run->kernels->rope_and_store_kv(a, &s, token - s.first, row_of(run, step->input, token), row_of(run, a->key, token),
                                  row_of(run, a->value, token), cosine, sine,
                                  a->factor < 0 ? 1.0f : *row_of(run, a->factor, token));
    }
}

static int items_of(const struct sequence *s, const hk_attention *a)
{
    int queries = s->count * (a->heads / a->kv_heads);
    return a->kv_heads * ((queries + MAX_ROWS - 1) / MAX_ROWS);
}

/* The items of a sequence are some queries that share keys and values, the last ones, which see most, first; or a range
   of keys for these. */
static int items_of_attention(const struct run *run, const hk_attention *a, int shares_keys)
{
    int items = 0;
    for (int i = 0; i < run->program->sequences->count; i++) {
        struct sequence s = sequence_at(run->program->sequences, i);
        items += items_of(&s, a) * (shares_keys ? ranges_of(a, &s) : 1);
    }
    return items;
}

static int shares_keys(const struct run *run, const hk_attention *a)
{
    return items_of_attention(run, a, 0) < ITEMS_OF_THREAD * run->threads;
}

/* Numbers of the results of the first `count` sequences. */
static size_t numbers_of_results(const struct run *run, const hk_attention *a, int count)
{
    size_t numbers = 0;
    for (int i = 0; i < count; i++) {
        struct sequence s = sequence_at(run->program->sequences, i);
        numbers += (size_t)s.count * a->heads * ranges_of(a, &s) * (a->size + 2);
    }
    return numbers;
}

static void attend(const struct run *run, const hk_step *step, int first, int last, int thread)
{
    const hk_attention *a = step->attention;
    int shared = shares_keys(run, a);
    for (int item = first; item < last; item++) {
        int sequence = 0, number = item;
        struct sequence s = sequence_at(run->program->sequences, 0);
        for (int items; number >= (items = items_of(&s, a) * (shared ? ranges_of(a, &s) : 1)); number -= items)
            s = sequence_at(run->program->sequences, ++sequence);
        int ranges = shared ? ranges_of(a, &s) : 1, range = first_range_of(a, &s) + number % ranges;
        int head = number / ranges % a->kv_heads, queries = s.count * (a->heads / a->kv_heads),
            row = (items_of(&s, a) / a->kv_heads - 1 - number / ranges / a->kv_heads) * MAX_ROWS;
        run->kernels->attend(a, &s, head, row, smaller(MAX_ROWS, queries - row), range, shared ? range + 1 : INT32_MAX,
                             row_of(run, step->input, s.first), row_of(run, step->outputs[0], s.first),
                             shared ? run->results + numbers_of_results(run, a, sequence) : NULL,
                             run->attention + thread * run->attention_size);
    }
}

/* Items are queries: token * heads + head. */
static void merge_ranges(const struct run *run, const hk_step *step, int first, int last, int thread)
{
    const hk_attention *a = step->attention;
    (void)thread;
    for (int item = first; item < last; item++) {
        int token = item / a->heads, head = item % a->heads, sequence = sequence_of(run->program->sequences, token);
        struct sequence s = sequence_at(run->program->sequences, sequence);
        size_t query = (size_t)(token - s.first) * a->heads + head;
        const float *results = run->results + numbers_of_results(run, a, sequence) + query * ranges_of(a, &s) * (a->size + 2);
        run->kernels->merge_ranges(a, &s, token - s.first, head, results,
                                  row_of(run, step->outputs[0], token) + head * a->size);
    }
}

/* Items are tokens. */
static void gate_rows(const struct run *run, const hk_step *step, int first, int last, int thread)
{
    int width = run->program->widths[step->input];
    (void)thread;
    for (int token = first; token < last; token++) {
        float *out = row_of(run, step->outputs[0], token);
        memcpy(out, row_of(run, step->input, token), width * sizeof *out);
        run->kernels->gate(step->activation, out, row_of(run, step->residual, token), width);
    }
}

/* The range of a thread starts at the items of the threads before it, rounded up. */
static int range_start(const struct phase *phase, int thread, int threads)
{
    return (int)(((int64_t)phase->items * thread + threads - 1) / threads);
}

typedef void work(const struct run *run, const hk_step *step, int first, int last, int thread);

/* What is left of a cancelled run is skipped. */
static int is_cancelled(const hk_program *program)
{
    return program->cancelled && __atomic_load_n(program->cancelled, __ATOMIC_RELAXED);
}

static void take_part(const struct run *run, const hk_step *step, const struct phase *phase, work *work, int thread)
{
    for (int i = 0; i < run->threads; i++) {
        int owner = (thread + i) % run->threads;
        int start = range_start(phase, owner, run->threads),
            count = range_start(phase, owner + 1, run->threads) - start;
        atomic_int *taken = &phase->taken[owner].value;
        while (atomic_load_explicit(taken, memory_order_relaxed) < count) {
            int first = atomic_fetch_add_explicit(taken, phase->chunk, memory_order_relaxed);
            int last = smaller(first + phase->chunk, count);
            if (first >= last) break;
            if (!is_cancelled(run->program)) work(run, step, start + first, start + last, thread);
            atomic_fetch_add_explicit(&phase->done->value, last - first, memory_order_release);
        }
    }
    for (int turns = 0; atomic_load_explicit(&phase->done->value, memory_order_acquire) < phase->items;)
        pool_pause(&turns);
}

static int blocks_of_step(const hk_step *step)
{
    int blocks = 0;
    for (int i = 0; i < step->count; i++) blocks += blocks_of(step->rows[i]);
    return blocks;
}

static void run_mul_mat(const struct run *run, const hk_step *step, struct phase *phases, int thread)
{
    const hk_matrix *matrix = &step->matrix;
    struct q8 x = q8_of(run, matrix);
    phases[0].items = step->gain ? run->tokens : run->tokens * parts_of(&x);
    phases[0].chunk = step->gain ? 1 : 16;
    take_part(run, step, &phases[0], step->gain ? quantize_normalized : quantize_parts, thread);

    size_t bytes = hk_block_size(matrix->format, matrix->group, matrix->cols) * (step->kind == HK_GATED ? 2 : 1);
    size_t chunk = (run->tokens > SPAN * most_of_tile(run) ? CHUNK_BYTES_OF_MANY : CHUNK_BYTES) / bytes;
    phases[1].items = blocks_of_step(step);
    phases[1].chunk = chunk ? (int)chunk : 1;
    take_part(run, step, &phases[1], mul_mat_rows, thread);
}

static void run_attention(const struct run *run, const hk_step *step, struct phase *phases, int thread)
{
    take_part(run, step, &phases[0], rope_and_store, thread);
    int shared = shares_keys(run, step->attention);
    phases[1].chunk = 1;
    phases[1].items = items_of_attention(run, step->attention, shared);
    take_part(run, step, &phases[1], attend, thread);
    if (!shared) return;
    phases[2].chunk = step->attention->heads / step->attention->kv_heads;
    phases[2].items = run->tokens * step->attention->heads;
    take_part(run, step, &phases[2], merge_ranges, thread);
}

static void run_steps(void *job, int thread)
{
    const struct run *run = job;
    for (int i = 0; i < run->program->step_count; i++) {
        const hk_step *step = &run->program->steps[i];
        struct phase phases[PHASES] = {{.items = run->tokens, .chunk = 1}};
        for (int phase = 0; phase < PHASES; phase++) {
            phases[phase].done = run->counters + ((size_t)i * PHASES + phase) * (1 + run->threads);
            phases[phase].taken = phases[phase].done + 1;
        }
        if (step->kind == HK_NORM)
            take_part(run, step, &phases[0], normalize, thread);
        else if (step->kind == HK_ADD)
            take_part(run, step, &phases[0], add_rows, thread);
        else if (step->kind == HK_GATE)
            take_part(run, step, &phases[0], gate_rows, thread);
        else if (step->kind == HK_ATTENTION)
            run_attention(run, step, phases, thread);
        else
            run_mul_mat(run, step, phases, thread);
    }
}

static void run_in_thread(void *job, int thread)
{
    unsigned before = use_standard_floats();
    run_steps(job, thread);
    use_floats(before);
}

static int is_buffer(const hk_program *program, int buffer, int width)
{
    return buffer >= 0 && buffer < program->buffer_count && program->widths[buffer] == width;
}

static int is_activation(int activation) { return activation == HK_SILU || activation == HK_GELU_TANH; }

static int product_fits(const hk_program *program, const hk_step *step)
{
    const hk_matrix *matrix = &step->matrix;
    if (!matrix->data || !hk_block_size(matrix->format, matrix->group, matrix->cols)) return 0;
    if (!is_buffer(program, step->input, matrix->cols) || step->count < 1 || step->count > HK_OUTPUTS) return 0;
    int64_t blocks = 0;
    for (int i = 0; i < step->count; i++) {
        if (step->rows[i] < 1 || !is_buffer(program, step->outputs[i], step->rows[i])) return 0;
        blocks += ((int64_t)step->rows[i] + HK_BLOCK - 1) / HK_BLOCK;
    }
    if (step->residual >= 0 && (step->count > 1 || !is_buffer(program, step->residual, step->rows[0]))) return 0;
    if (step->kind == HK_GATED) {
        if (step->count > 1 || !is_activation(step->activation)) return 0;
        blocks *= 2;
    }
    return blocks <= ((int64_t)matrix->rows + HK_BLOCK - 1) / HK_BLOCK;
}

/* The width of the buffer of some heads; 0, which no buffer has: they do not fit an int. */
static int width_of(int heads, int size)
{
    int64_t width = (int64_t)heads * size;
    return width <= INT32_MAX ? (int)width : 0;
}

static int attention_fits(const hk_program *program, const hk_step *step)
{
    const hk_attention *a = step->attention;
    if (!a || !a->cache || !program->sequences || step->count != 1) return 0;
    if (!hk_kv_record_size(a->size, a->bits) || a->window < 0) return 0;
    if (a->kv_heads < 1 || a->heads < a->kv_heads || a->heads % a->kv_heads) return 0;
    if (a->cosine >= 0 && !(is_buffer(program, a->cosine, a->size) && is_buffer(program, a->sine, a->size))) return 0;
    if (a->factor >= 0 && !is_buffer(program, a->factor, 1)) return 0;
    int queries = width_of(a->heads, a->size), keys = width_of(a->kv_heads, a->size);
    if (!is_buffer(program, step->input, queries) || !is_buffer(program, step->outputs[0], queries)) return 0;
    if (!is_buffer(program, a->key, keys) || !is_buffer(program, a->value, keys)) return 0;
    for (int i = 0; a->key_order && i < keys; i++)
        if (a->key_order[i] < 0 || a->key_order[i] >= a->size) return 0;
    return 1;
}

static int step_fits(const hk_program *program, const hk_step *step)
{
    if (step->kind == HK_LINEAR || step->kind == HK_GATED) return product_fits(program, step);
    if (step->kind == HK_ATTENTION) return attention_fits(program, step);
    if (step->input < 0 || step->input >= program->buffer_count || step->count != 1) return 0;
    int width = program->widths[step->input];
    if (!is_buffer(program, step->outputs[0], width)) return 0;
    switch (step->kind) {
    case HK_NORM: return step->gain != NULL;
    case HK_ADD: return is_buffer(program, step->residual, width);
    case HK_GATE: return is_buffer(program, step->residual, width) && is_activation(step->activation);
    default: return 0;
    }
}

/* Items of the longest phase of a step. */
static int64_t most_items(const hk_step *step, int tokens)
{
    if (step->kind == HK_ATTENTION) return (int64_t)tokens * step->attention->heads;
    if (step->kind == HK_LINEAR || step->kind == HK_GATED) return (int64_t)tokens * (step->matrix.cols / STEP);
    return tokens;
}

static int program_fits(const hk_program *program, int tokens)
{
    int64_t widths = 0;
    if (program->step_count < 0 || program->externals < 0 || program->externals > program->buffer_count) return 0;
    for (int i = 0; i < program->buffer_count; i++) {
        if (program->widths[i] < 1) return 0;
        widths += program->widths[i];
        if (widths > INT32_MAX) return 0;
    }
    for (int i = 0; i < program->step_count; i++)
        if (!step_fits(program, &program->steps[i]) || most_items(&program->steps[i], tokens) > MAX_ITEMS) return 0;
    return 1;
}

/* Blocks that the caches of all steps have. */
static int blocks_of_caches(const hk_program *program)
{
    int blocks = INT32_MAX;
    for (int i = 0; i < program->step_count; i++)
        if (program->steps[i].kind == HK_ATTENTION) blocks = smaller(blocks, program->steps[i].attention->blocks);
    return blocks;
}

static int sequences_fit(const hk_program *program, int tokens)
{
    const hk_sequences *s = program->sequences;
    if (!s) return 1;
    if (s->count < 1 || s->begins[0] != 0 || s->begins[s->count] != tokens) return 0;
    int blocks_of_cache = blocks_of_caches(program);
    for (int i = 0; i < s->count; i++) {
        int64_t count = (int64_t)s->begins[i + 1] - s->begins[i],
                masked = (int64_t)s->mask_begins[i + 1] - s->mask_begins[i],
                blocks = (int64_t)s->block_begins[i + 1] - s->block_begins[i];
        if (count < 0 || count > tokens || s->past[i] < 0 || s->past[i] > MAX_CONTEXT) return 0;
        if (s->mask_begins[i] < 0 || (masked && masked != count * count)) return 0;
        int needed = blocks_of(s->past[i] + (int)count);
        if (s->block_begins[i] < 0 || blocks < needed) return 0;
        for (int block = s->block_begins[i]; block < s->block_begins[i] + needed; block++) {
            int number = s->blocks[block], other = s->window_blocks ? s->window_blocks[block] : number;
            if (number < 0 || number >= blocks_of_cache || other < 0 || other >= blocks_of_cache) return 0;
        }
    }
    return 1;
}

/* At least `bytes` bytes, as the last run left them; NULL when memory runs out. Much more is given back first. */
static uint8_t *scratch(size_t bytes)
{
    static void *kept;
    static size_t size;
    if (bytes > size || (size > KEPT_BYTES && bytes < size / 4)) {
        free(kept);
        kept = malloc(bytes + CACHE_LINE);
        size = kept ? bytes : 0;
    }
    return kept ? (uint8_t *)aligned((uintptr_t)kept) : NULL;
}

/* Scratch for attention. With `from` NULL, count the bytes only. */
static size_t lay_out_attention(struct run *run, uint8_t *from)
{
    const hk_program *program = run->program;
    size_t most = 0, results = 0;
    for (int i = 0; i < program->step_count; i++) {
        const hk_attention *a = program->steps[i].attention;
        if (program->steps[i].kind != HK_ATTENTION) continue;
        size_t size = aligned(attention_scratch(a)),
               of_results = shares_keys(run, a) ? numbers_of_results(run, a, program->sequences->count) * sizeof(float) : 0;
        most = size > most ? size : most;
        results = of_results > results ? of_results : results;
    }
    run->attention = from;
    run->attention_size = most;
    run->results = (float *)(from ? from + run->threads * most : NULL);
    return run->threads * most + aligned(results);
}

/* Share scratch out to the parts of a run. With `from` NULL, count the bytes only. */
static size_t lay_out(struct run *run, float *const *externals, uint8_t *from)
{
    const hk_program *program = run->program;
    size_t counters = (size_t)program->step_count * PHASES * (1 + run->threads) * sizeof(struct counter);
    size_t at = counters + aligned(program->buffer_count * sizeof(float *)), most = 0;
    if (from) {
        run->counters = memset(from, 0, counters);
        run->buffers = (float **)(from + counters);
    }
    for (int i = 0; i < program->buffer_count; i++) {
        if (from) run->buffers[i] = i < program->externals ? externals[i] : (float *)(from + at);
        if (i >= program->externals) at += aligned((size_t)run->tokens * program->widths[i] * sizeof(float));
    }
    at += lay_out_attention(run, from ? from + at : NULL);
    run->q8 = from ? from + at : NULL;
    for (int i = 0; i < program->step_count; i++) {
        const hk_step *step = &program->steps[i];
        if (step->kind != HK_LINEAR && step->kind != HK_GATED) continue;
        struct q8 x = q8_of(run, &step->matrix);
        size_t bytes = q8_bytes(&x);
        most = bytes > most ? bytes : most;
    }
    return at + most;
}

size_t hk_kv_record_size(int size, int bits)
{
    return size >= 32 && size <= MAX_HEAD && size % 32 == 0 && (bits == 16 || bits == 8) ? kv_record_size(size, bits) : 0;
}

void hk_move_kv(const hk_attention *attention, int block, int slot, int new_block, int new_slot)
{
    size_t size = kv_record_size(attention->size, attention->bits), stride = size * attention->kv_heads;
    uint8_t *from = (uint8_t *)attention->cache + block * stride, *to = (uint8_t *)attention->cache + new_block * stride;
    for (int head = 0; head < attention->kv_heads; head++)
        kernels_in_use()->move_kv(attention, from + head * size, slot, to + head * size, new_slot);
}

int hk_run(const hk_program *program, int tokens, float *const *externals, int threads)
{
    if (tokens < 1 || tokens > MAX_TOKENS || threads < 1 || !program_fits(program, tokens) || !sequences_fit(program, tokens))
        return -1;
    struct run run = {
        .program = program, .kernels = kernels_in_use(), .tokens = tokens, .threads = smaller(threads, MAX_THREADS)};
    const struct kernels_of_many *many = kernels_of_many_in_use();
    if (many && tokens >= many->tokens) run.many = many;
    pool_lock();
    uint8_t *memory = scratch(lay_out(&run, externals, NULL));
    if (memory) {
        lay_out(&run, externals, memory);
        pool_run(run_in_thread, &run, run.threads);
    }
    int result = !memory ? -2 : is_cancelled(program) ? -3 : 0;
    pool_unlock();
    return result;
}
