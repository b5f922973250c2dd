/*
 * workers.h - worker threads, started once and parked, and a way to share one piece of work.
 *
 * crew_run calls fn(ctx, 0) on the calling thread and fn(ctx, 1 .. width-1) on others at the same
 * time, and returns when all have returned.  fn takes its share from a queue of its own and returns
 * when nothing is left; a worker that comes late, or never, must not matter.  crew_widen may be
 * called from inside fn, once it shows that more threads pay.
 *
 * Why not libuv's pool: it is of one fixed size, ends the process where no thread can be had, and its caller waits
 * where ours works along.
 *
 * No more threads than RLIMIT_NOFILE and RLIMIT_AS leave room for, as they were at pool_new.
 */
#ifndef FILES_WORKERS_H
#define FILES_WORKERS_H

#include <stdbool.h>

#define POOL_MAX 64 /* threads, the calling one included */

struct pool;
struct crew;

struct pool *pool_new(void);
void pool_free(struct pool *p); /* no crew may be running */

typedef void crew_fn(void *ctx, unsigned worker, struct crew *c);
void crew_run(struct pool *p, unsigned width, crew_fn *fn, void *ctx);
void crew_widen(struct crew *c, unsigned width);
unsigned crew_width(const struct crew *c); /* widest so far */

/* Call fn(arg) so many times, each on a worker when one is free, and before pool_free returns.
 * false: there is no worker and none can be had; fn will not be called. */
bool pool_later(struct pool *p, unsigned times, void (*fn)(void *), void *arg);

/* Processors this process may use: affinity, and the cgroup's cpu.max rounded up. */
unsigned pool_processors(void);

#endif
