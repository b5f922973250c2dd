/*
 * kept_terminals.h - starts terminals again that failed, if their team file says so.
 *
 * A terminal with restart: on-failure whose command failed, or was lost, is started again after 1, 2, 4, 8 and 16 s.  After
 * KEPT_STARTS starts in a row, none of which ran for KEPT_RUNS_MS, it is left as it is: until `berth up`, or a person starts it.
 *
 * Thread: one, and no other in the process.
 */
#ifndef KEEPER_KEPT_TERMINALS_H
#define KEEPER_KEPT_TERMINALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define KEPT_STARTS 5
#define KEPT_RUNS_MS 60000

struct kept_terminal;
struct kept_terminals {
	/* Begins it in a process of its own; -1: none. */
	pid_t (*start)(void *ctx, const char *container, const char *name);
	void *ctx;
	struct kept_terminal *terminal;
	size_t n, cap;
	int64_t next_ns; /* to be looked at then */
};

void kept_terminals_go_on(struct kept_terminals *k); /* when it is time */
int kept_terminals_wait_ms(const struct kept_terminals *k);
bool kept_terminals_any(const struct kept_terminals *k); /* as of the last look */
void kept_terminals_close(struct kept_terminals *k);

#endif
