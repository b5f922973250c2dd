/*
 * check.h - assertions that stay on in release builds.
 *
 * A failed CHECK (or out of memory) may happen on any thread.  It first runs the restore hook,
 * which must be async-signal-safe and not touch curses (the screen prepares bytes and termios
 * beforehand), then says what failed on stderr, then aborts.
 */
#ifndef BERTH_CHECK_H
#define BERTH_CHECK_H

#define CHECK(cond)                                              \
	do {                                                     \
		if (__builtin_expect(!(cond), 0))                \
			check_failed(#cond, __FILE__, __LINE__); \
	} while (0)

void check_failed(const char *cond, const char *file, int line) __attribute__((noreturn));
void check_die(const char *sentence) __attribute__((noreturn)); /* out of memory and its kin */

/* Called once before the process dies of a CHECK; NULL takes the hook away. */
void check_on_die(void (*restore)(void));

#endif
