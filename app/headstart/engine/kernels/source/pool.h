/* Threads that help the calling one. */
#ifndef POOL_H
#define POOL_H

/* One job at a time: hold this from before the job is made until its memory is given back. */
void pool_lock(void);
void pool_unlock(void);

/* Call work(job, number) here as number 0, and in at most `threads` - 1 helpers. A helper that wakes late may come in
   at any time before this work ends, or not at all; the job must not rely on it. Returns when all have left. */
void pool_run(void (*work)(void *job, int number), void *job, int threads);

/* Wait a moment in a loop; `turns` counts the loop. Lets other threads run after a while. */
void pool_pause(int *turns);

#endif
