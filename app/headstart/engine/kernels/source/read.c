/* How fast memory can be read: the limit for whatever multiplies by what is read. */
#include "kernels.h"
#include "pool.h"
#include <stdatomic.h>

struct reading {
    const uint8_t *data;
    size_t size;
    atomic_int next; /* part */
    int parts;
    _Atomic uint64_t sum;
};

enum { WORDS = 8 };

static uint64_t sum_of(const uint8_t *data, size_t size)
{
    uint64_t sums[WORDS] = {0}, words[WORDS], sum = 0;
    for (size_t at = 0; at + sizeof words <= size; at += sizeof words) {
        memcpy(words, data + at, sizeof words);
        for (int i = 0; i < WORDS; i++) sums[i] += words[i];
    }
    for (int i = 0; i < WORDS; i++) sum += sums[i];
    return sum;
}

static void read_parts(void *job, int thread)
{
    struct reading *reading = job;
    (void)thread;
    for (int part; (part = atomic_fetch_add(&reading->next, 1)) < reading->parts;) {
        size_t first = reading->size / WORDS * part / reading->parts * WORDS,
               last = reading->size / WORDS * (part + 1) / reading->parts * WORDS;
        atomic_fetch_add(&reading->sum, sum_of(reading->data + first, last - first));
    }
}

uint64_t hk_read(const uint8_t *data, size_t size, int threads)
{
    struct reading reading = {.data = data, .size = size, .parts = threads * 4};
    pool_lock();
    pool_run(read_parts, &reading, threads);
    pool_unlock();
    return reading.sum;
}
