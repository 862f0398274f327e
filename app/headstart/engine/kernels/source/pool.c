/* Helpers spin for some 30 microseconds after a job, then sleep. They are never ended: the system does that with the
   process. */
#define _GNU_SOURCE
#include "pool.h"
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

typedef SRWLOCK mutex;
typedef CONDITION_VARIABLE condition;
#define MUTEX_INIT SRWLOCK_INIT
#define CONDITION_INIT CONDITION_VARIABLE_INIT

static void lock(mutex *m) { AcquireSRWLockExclusive(m); }
static void unlock(mutex *m) { ReleaseSRWLockExclusive(m); }
static void wait(condition *c, mutex *m) { SleepConditionVariableSRW(c, m, INFINITE, 0); }
static void wake_all(condition *c) { WakeAllConditionVariable(c); }
static void yield(void) { SwitchToThread(); }
#else
#include <pthread.h>
#include <sched.h>
#include <signal.h>

typedef pthread_mutex_t mutex;
typedef pthread_cond_t condition;
#define MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
#define CONDITION_INIT PTHREAD_COND_INITIALIZER

static void lock(mutex *m) { pthread_mutex_lock(m); }
static void unlock(mutex *m) { pthread_mutex_unlock(m); }
static void wait(condition *c, mutex *m) { pthread_cond_wait(c, m); }
static void wake_all(condition *c) { pthread_cond_broadcast(c); }
static void yield(void) { sched_yield(); }
#endif

enum { SPINS = 1000, TURNS_BEFORE_YIELD = 4000 };

static struct {
    mutex running;
    mutex sleeping; /* guards `turn` against a helper that falls asleep, and `asleep` */
    condition woken;
    atomic_uint turn; /* counts jobs */
    int asleep, helpers;
    atomic_int open;   /* threads of the job that may be entered; 0: none */
    atomic_int inside; /* helpers that look at the job, or work on it */
    void (*work)(void *, int);
    void *job;
} pool = {.running = MUTEX_INIT, .sleeping = MUTEX_INIT, .woken = CONDITION_INIT};

static void pause_processor(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void pool_pause(int *turns)
{
    pause_processor();
    if (++*turns > TURNS_BEFORE_YIELD) yield();
}

static unsigned next_turn(unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        unsigned turn = atomic_load_explicit(&pool.turn, memory_order_acquire);
        if (turn != seen) return turn;
        pause_processor();
    }
    lock(&pool.sleeping);
    pool.asleep++;
    while (pool.turn == seen) wait(&pool.woken, &pool.sleeping);
    pool.asleep--;
    unlock(&pool.sleeping);
    return pool.turn;
}

static void help(int number)
{
    for (unsigned turn = 0;;) {
        turn = next_turn(turn);
        /* The caller closes the job, then looks whether anyone is inside; this enters, then looks whether it is open.
           One sees the other. */
        atomic_fetch_add(&pool.inside, 1);
        if (number < atomic_load(&pool.open)) pool.work(pool.job, number);
        atomic_fetch_sub(&pool.inside, 1);
    }
}

#ifdef _WIN32
static DWORD WINAPI start(void *number)
{
    help((int)(intptr_t)number);
    return 0;
}

static int start_helper(int number)
{
    HANDLE thread = CreateThread(NULL, 0, start, (void *)(intptr_t)number, 0, NULL);
    return thread && CloseHandle(thread);
}
#else
#ifdef __linux__
/* OpenVINO ties its threads to processors, and a new thread inherits that: helpers would share one with the caller. */
static cpu_set_t processors;

__attribute__((constructor)) static void remember_processors(void)
{
    sched_getaffinity(0, sizeof processors, &processors);
}

static void use_all_processors(void) { sched_setaffinity(0, sizeof processors, &processors); }
#else
static void use_all_processors(void) {}
#endif

static void *start(void *number)
{
    use_all_processors();
    help((int)(intptr_t)number);
    return NULL;
}

/* A forked child has the calling thread alone. */
static void forget_helpers(void)
{
    pool.helpers = pool.asleep = 0;
    atomic_store(&pool.open, 0);
    atomic_store(&pool.inside, 0);
    pthread_mutex_init(&pool.running, NULL);
    pthread_mutex_init(&pool.sleeping, NULL);
    pthread_cond_init(&pool.woken, NULL);
}

static int start_helper(int number)
{
    static int handles_forks;
    if (!handles_forks) handles_forks = pthread_atfork(NULL, NULL, forget_helpers) == 0;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* helpers inherit it: signals go to the program's own threads */
    pthread_t thread;
    int failed = pthread_create(&thread, NULL, start, (void *)(intptr_t)number);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed) pthread_detach(thread);
    return !failed;
}
#endif

void pool_lock(void) { lock(&pool.running); }

void pool_unlock(void) { unlock(&pool.running); }

void pool_run(void (*work)(void *job, int number), void *job, int threads)
{
    while (pool.helpers < threads - 1 && start_helper(pool.helpers + 1)) pool.helpers++;
    pool.work = work;
    pool.job = job;
    atomic_store(&pool.open, threads);
    lock(&pool.sleeping);
    atomic_fetch_add(&pool.turn, 1);
    int asleep = pool.asleep;
    unlock(&pool.sleeping);
    if (asleep && threads > 1) wake_all(&pool.woken);
    work(job, 0);
    atomic_store(&pool.open, 0);
    for (int turns = 0; atomic_load(&pool.inside);) pool_pause(&turns);
}
