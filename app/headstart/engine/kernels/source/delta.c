/* The gated delta rule in some threads. */
#include "kernels.h"
#include "pool.h"
#include <stdatomic.h>

struct job {
    const hk_delta *delta;
    const struct kernels *kernels;
    atomic_int next;
};

/* Items are parts of the values of a head. */
static void take_parts(void *given, int thread)
{
    struct job *job = given;
    int parts = job->delta->size / DELTA_PART;
    unsigned before = use_standard_floats();
    (void)thread;
    for (int item; (item = atomic_fetch_add(&job->next, 1)) < job->delta->heads * parts;)
        job->kernels->delta_rule(job->delta, item / parts, item % parts * DELTA_PART);
    use_floats(before);
}

int hk_delta_rule(const hk_delta *d, int threads)
{
    if (d->size < DELTA_PART || d->size > MAX_HEAD || d->size % DELTA_PART || d->tokens < 0 || threads < 1) return -1;
    if (d->key_heads < 1 || d->heads < d->key_heads || d->heads % d->key_heads) return -1;
    if (!d->tokens) return 0;
    struct job job = {.delta = d, .kernels = kernels_in_use()};
    pool_lock();
    pool_run(take_parts, &job, threads);
    pool_unlock();
    return 0;
}
