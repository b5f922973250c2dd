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
	X(SECCOMP_TEXT, MENDED, "takes a seccomp filter as a file of its own machine only",          \
		"berth writes that file; an engine on another machine is refused")                   \
	X(TMPFS_FILES, MENDED, "cannot limit the number of files in a tmpfs, nor set its owner",     \
		"berth sets both before anything runs, as root on the engine's machine, or refuses") \
	X(READ_ONLY_ROOT, MENDED, "adds a writable /var/tmp to a read-only root",                    \
		"berth has it mounted read-only")                                                    \
	X(MOUNT_WORDS, MENDED, "cannot mount a path with a comma, a quotation mark or a newline",    \
		"such a path is refused")                                                            \
	X(NPROC, MENDED, "asks for more processes of a user than the machine may have",              \
		"berth asks for what there is; the limit of a container is another")                 \
	X(ENGINE_ID, MENDED, "has no id of its own", "its host and its store tell it from others")   \
	X(DETACH_KEYS, MENDED,                                                                       \
		"detaches from a command of the engine path when Ctrl-P Ctrl-Q is in its input",     \
		"berth gives it a sequence that no one types")                                       \
	X(REMOVE_STOPS, MENDED, "waits for the stop timeout even on a forced removal",               \
		"berth kills it first")                                                              \
	X(EXEC_ZERO, MENDED, "reports exit code 0 for a command that has not started",               \
		"berth looks at what else it says")                                                  \
	X(IMPORT_CHECK, TOLD, "also imports files that are not archives",                            \
		"what uses such an image fails")                                                     \
	X(EXEC_INPUT, TOLD,                                                                          \
		"hangs if a program on a terminal of the engine path does not read its input",       \
		"what berth makes has the lane, which does")                                         \
	X(SERIAL, TOLD, "handles requests about one container one at a time",                        \
		"many commands of the engine path at once in one wait for each other")               \
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
