/* check.c - handles failed assertions: restores the terminal, prints one line, aborts. */
#include <berth/check.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic(void (*)(void)) restore_hook;

void check_on_die(void (*restore)(void))
{
	atomic_store(&restore_hook, restore);
}

void check_die(const char *sentence)
{
	/* The exchange lets only the first of several dying threads run the hook. */
	void (*restore)(void) = atomic_exchange(&restore_hook, NULL);
	char line[512];
	int n;

	if (restore)
		restore();
	n = snprintf(line, sizeof line, "%s\n", sentence);
	if (n > (int)sizeof line - 1)
		n = (int)sizeof line - 1;
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		abort();
	abort();
}

void check_failed(const char *cond, const char *file, int line)
{
	char msg[400];

	snprintf(msg, sizeof msg, "berth: internal error at %s:%d: assertion failed: %s", file,
		line, cond);
	check_die(msg);
}
