/* How fast memory can be read, and how fast the processor multiplies: the limits of products. */
#include "kernels.h"
#include "pool.h"
#include <stdatomic.h>

struct reading {
    const uint8_t *data;
    size_t size;
    atomic_size_t next;
    _Atomic uint64_t bits;
};

enum {
    READ_AHEAD = 16384, /* bytes from what is read to what is prefetched: a processor's own prefetch ends at a page */
    AT_ONCE = 64,      /* bytes of a cache line */
    PART = 1 << 20,    /* small, so that threads end together; large, so that few begin without a prefetch */
};

typedef uint64_t vector __attribute__((vector_size(16), aligned(8), may_alias));

static uint64_t bits_of_all(const uint8_t *data, size_t size)
{
    vector bits = {0};
    for (size_t at = 0; at + AT_ONCE <= size; at += AT_ONCE) {
        const vector *line = (const vector *)(data + at);
        __builtin_prefetch(data + at + READ_AHEAD, 0, 2); /* as products do: "not to be kept" halves the speed on a Xeon */
        bits |= line[0] | line[1] | line[2] | line[3];
    }
    return bits[0] | bits[1];
}

static void read_parts(void *job, int thread)
{
    struct reading *reading = job;
    (void)thread;
    for (size_t at; (at = atomic_fetch_add(&reading->next, PART)) < reading->size;) {
        size_t left = reading->size - at;
        atomic_fetch_or(&reading->bits, bits_of_all(reading->data + at, left < PART ? left : PART));
    }
}

uint64_t hk_read(const uint8_t *data, size_t size, int threads)
{
    struct reading reading = {.data = data, .size = size};
    pool_lock();
    pool_run(read_parts, &reading, threads);
    pool_unlock();
    return reading.bits;
}

struct multiplying {
    int parts;
    atomic_int next;
    _Atomic int64_t products;
};

static void multiply_parts(void *job, int thread)
{
    enum { VECTORS_OF_PART = 1 << 14 }; /* of each sum: some hundredths of a millisecond */
    struct multiplying *multiplying = job;
    (void)thread;
    while (atomic_fetch_add(&multiplying->next, 1) < multiplying->parts)
        atomic_fetch_add(&multiplying->products, kernels_in_use()->multiply_only(VECTORS_OF_PART));
}

int64_t hk_multiply(int parts, int threads)
{
    struct multiplying multiplying = {.parts = parts};
    if (!kernels_in_use()->multiply_only) return 0;
    pool_lock();
    pool_run(multiply_parts, &multiplying, threads);
    pool_unlock();
    return multiplying.products;
}
