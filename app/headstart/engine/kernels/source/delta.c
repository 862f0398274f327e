/* Layers that keep a state, in some threads. */
#include "kernels.h"
#include "pool.h"
#include <stdatomic.h>

enum { FEW_NUMBERS = 1 << 15 }; /* that one thread convolves in the time in which another one wakes */

struct job {
    const hk_recurrence *layer;
    const struct kernels *kernels;
    int phase, items;
    atomic_int next;
};

static void take_items(void *given, int thread)
{
    struct job *job = given;
    unsigned before = use_standard_floats();
    (void)thread;
    for (int item; (item = atomic_fetch_add(&job->next, 1)) < job->items;)
        job->kernels->delta_rule(job->layer, job->phase, item);
    use_floats(before);
}

static int is_supported(const hk_recurrence *r)
{
    if (r->tokens < 0 || r->width < 1 || r->taps < 2) return 0;
    if (!r->heads) return !r->key_heads && !r->size;
    if (r->size < DELTA_PART || r->size > MAX_HEAD || r->size % DELTA_PART) return 0;
    if (r->key_heads < 1 || r->heads < r->key_heads || r->heads % r->key_heads) return 0;
    return r->width % r->size == 0 && r->width / r->size - r->heads == 2 * r->key_heads;
}

int hk_recur(const hk_recurrence *r, int threads)
{
    if (!is_supported(r) || threads < 1) return -1;
    if (!r->tokens) return 0;
    int is_few = r->tokens < FEW_NUMBERS / r->width;
    int parts = r->heads ? r->width / r->size : (r->width + RECURRENT_PART - 1) / RECURRENT_PART;
    pool_lock();
    struct job job = {.layer = r, .kernels = kernels_in_use(), .items = parts};
    pool_run(take_items, &job, is_few ? 1 : threads);
    if (r->heads) {
        struct job second = {.layer = r, .kernels = job.kernels, .phase = 1, .items = r->heads * (r->size / DELTA_PART)};
        pool_run(take_items, &second, threads);
    }
    pool_unlock();
    return 0;
}
