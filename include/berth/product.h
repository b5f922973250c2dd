/*
 * product.h - the table of features that berth needs and an engine lacks.
 *
 * A row applies where the engine's own answers say so (engine/product.c), never by a guess: `berth doctor`
 * lists those of the engine that it finds, the manual page lists all.  A missing isolation layer without a substitute
 * is REFUSED: nothing is created there, and the row's text is the reason. The others are MENDED: berth provides it
 * itself; or TOLD: it is only reported, and no isolation is missing.
 *
 * Source: podman 4.3.1, pkg/api/handlers/compat and pkg/specgenutil; each tried by tests/engine/podman.sh.
 *
 * Thread: constants.
 */
#ifndef BERTH_PRODUCT_H
#define BERTH_PRODUCT_H

#include <stdint.h>

enum lack_end { LACK_MENDED, LACK_TOLD, LACK_REFUSED };

/* X(symbol, end, what it cannot do, what follows) */
#define LACKS(X)                                                                                     \
	X(SECCOMP_TEXT, MENDED, "accepts a seccomp filter only as a file on its own machine",        \
		"berth writes that file; an engine on another machine is refused")                   \
	X(TMPFS_FILES, MENDED, "cannot limit the number of files in a tmpfs or set its owner",       \
		"berth sets both as root on the engine's machine before anything runs, or refuses")  \
	X(READ_ONLY_ROOT, MENDED, "adds a writable /var/tmp to a read-only root",                    \
		"berth has it mounted read-only")                                                    \
	X(MOUNT_WORDS, MENDED, "cannot mount a path with a comma, a quotation mark or a newline",    \
		"such a path is refused")                                                            \
	X(NPROC, MENDED, "requests more processes per user than the machine allows",                 \
		"berth requests what the machine allows; a container's own limit is separate")       \
	X(ENGINE_ID, MENDED, "has no id of its own",                                                 \
		"berth tells it from others by its host and its storage")                            \
	X(DETACH_KEYS, MENDED,                                                                       \
		"detaches from a command run through it when the input contains Ctrl-P Ctrl-Q",      \
		"berth sets a key sequence that no one types")                                       \
	X(REMOVE_STOPS, MENDED, "waits for the stop timeout even on a forced removal",               \
		"berth kills it first")                                                              \
	X(EXEC_ZERO, MENDED, "reports exit code 0 for a command that has not started",               \
		"berth checks the rest of the answer")                                               \
	X(IMPORT_CHECK, TOLD, "also imports files that are not archives",                            \
		"containers of such an image fail")                                                  \
	X(EXEC_INPUT, TOLD,                                                                          \
		"hangs if a program that runs through it in a terminal does not read its input",     \
		"berth's own containers have the lane, which does not hang")                         \
	X(SERIAL, TOLD, "handles requests about one container one at a time",                        \
		"commands that run through it in the same container wait for each other")            \
	X(HEALTH_CHECKS, TOLD, "has systemd run health checks",                                      \
		"without systemd they stay at \"starting\"; berth's own health is unaffected")       \
	X(ROOTLESS, REFUSED,                                                                         \
		"runs without root, where it drops the limits of open files and of file sizes, and " \
		"with cgroup version 1 those of memory, CPU and processes",                          \
		"run it as root for agents and tools (podman system service, as root)")

enum lack {
#define LACK_SYMBOL(symbol, end, what, follows) LACK_##symbol,
	LACKS(LACK_SYMBOL)
#undef LACK_SYMBOL
		LACK_COUNT
};

struct lack_row {
	enum lack_end end;
	const char *what, *follows; /* after the engine's name; a clause */
};
#define LACK_ROW(symbol, end, what, follows) {LACK_##end, what, follows},

#endif
