/* spawn.h - starting programs, detached children and threads.
 *
 * The one way in which berth starts programs that need nothing between fork and exec. What does need something there
 * (namespaces, user ids, descriptors at fixed numbers) forks by itself. Any thread.
 */
#ifndef BERTH_SPAWN_H
#define BERTH_SPAWN_H

#include <pthread.h>
#include <sys/types.h>

enum spawn_apart {
	SPAWN_TOGETHER,
	SPAWN_GROUP,  /* a group of its own: C-c on the terminal is not for it */
	SPAWN_SESSION /* nor can it ask at the terminal */
};

struct spawn {
	const char *path;        /* without a slash it is looked for in PATH */
	const char *const *argv; /* ends with NULL */
	char *const *env;        /* NULL: as here */
	int in, out, err;        /* descriptors; 0: /dev/null */
	int dir;                 /* descriptor of where it works; 0: as here */
	enum spawn_apart apart;
};

/* Signals are as at the start of a program. 0, or an errno: nothing was started then. The caller waits for it. */
int spawn_start(const struct spawn *p, pid_t *ret_pid);

/* fork, twice: 0 in a process of its own session that nobody waits for, with no signal blocked or handled; 1 in the caller, -1 with
 * errno where there can be none. In the new process, as after each fork beside threads, only what is async-signal-safe. */
int spawn_orphan(void);

/* fork, for a child that has something to do before it becomes another program. In the child handled signals have their
 * default action again, ignored ones stay ignored, and none is blocked. No handler of the parent's ever runs there: it
 * would write to a pipe that both share, and the parent would take that for a signal of its own. */
pid_t spawn_fork(void);

/* A thread that hears no signal: these are the main thread's. As pthread_create, with the usual attributes. */
int spawn_thread(pthread_t *ret, void *(*run)(void *), void *ctx);

#endif
