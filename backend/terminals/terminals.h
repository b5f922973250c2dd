/*
 * terminals.h - the public header of this module: starting a terminal, and its files.
 *
 * An agent's terminals are kept by one process of the host, berth-terminal, started with the first and ended with the last
 * of them.  Whoever starts a terminal has checked and recorded it, starts its command over the lane, and hands over the
 * lane's descriptors and the file of the screen: that process opens nothing itself, and gives up all else before it reads
 * a byte of the agent's.  When it ends, the lane's connections do, and the container's init ends the commands.
 *
 * Below <runtime dir>/terminals/CONTAINER, mode 0700: NAME.screen (screen_file.h), and `sock`, where it listens.
 * Thread: any; these block for the time of a process's start, at most seconds.
 */
#ifndef TERMINALS_TERMINALS_H
#define TERMINALS_TERMINALS_H

#include <berth/terminal.h>

#include "lane/lane.h"

#define TERMINALS_MAX 32 /* of one agent, those that ended and were not removed included */
#define TERMINALS_PATH_MAX 320
#define TERMINALS_SCREEN ".screen"

/* What is in the folder of that container, which is made. */
int terminals_place(
	const char *container, const char *name, char path[TERMINALS_PATH_MAX], struct err *e);
/* A terminal's own file there: "main.screen".  ERR_USAGE: no terminal can have that name. */
int terminals_file(const char *container, const char *name, const char *ending,
	char path[TERMINALS_PATH_MAX], struct err *e);

struct terminals_wish {
	const char *name;
	const char *command; /* as it is recorded */
	int columns, rows;
	bool restart; /* only if it is in the list: nobody has stopped it since it ended */
};
/* Start `r` (LANE_TTY and the size are set here) as a terminal.  One of that name that has ended is replaced.
 * ERR_CONFLICT: one runs; ERR_REFUSED: there are too many; ERR_NOT_FOUND: there is no lane, or nothing to restart. */
int terminals_start(const struct lane_about *about, const struct terminals_wish *w,
	const struct lane_request *r, struct err *e);
/* A terminal as the team file has it, in NAME.declared: what starts it again needs no team file.  ERR_NOT_FOUND: none. */
struct terminals_declared {
	bool on_failure;
	int columns, rows;
	size_t argc;
	const char **argv; /* of one block, with the texts; none: a shell */
};
int terminals_declare(
	const char *container, const char *name, const struct terminals_declared *d, struct err *e);
void terminals_undeclare(const char *container, const char *name);
int terminals_declared(
	const char *container, const char *name, struct terminals_declared *ret, struct err *e);
void terminals_declared_release(struct terminals_declared *d);
bool terminals_same(const struct terminals_declared *a, const struct terminals_declared *b);
/* How many there are. */
size_t terminals_declared_names(const char *container, char (*out)[TERMINAL_NAME_MAX], size_t most);

/* The container is gone, and with it what they showed. */
void terminals_forget(const char *container);

/* --- between the two --- */

enum terminals_message {
	TERMINALS_SHOW_IN = 0x7400,
	TERMINALS_KEEP,
	TERMINALS_STOP,
	TERMINALS_SEND,
	TERMINALS_ATTACH,
	/* On the connection of one who is attached: of his, */
	TERMINALS_TYPE, /* bytes, at most TERMINALS_TYPE_MAX */
	TERMINALS_SIZE,
	TERMINALS_TAKE,
	/* and to him. */
	TERMINALS_PRINT,
	TERMINALS_ROLE
};

/* TERMINALS_SHOW_IN: the file, before TERMINALS_KEEP: the lane's connection, input and output. */
struct terminals_keep {
	char name[TERMINAL_NAME_MAX];
	char command[TERMINAL_TITLE_MAX];
	int32_t columns, rows;
	int32_t supervisor; /* of its processes, as the host numbers it; 0: not known */
};
/* A command that was started, and the file of its screen; both are still the caller's. */
int terminals_hand_over(const char *container, const struct terminals_keep *keep, int screen,
	const struct lane_command *c, struct err *e);
/* TERMINALS_STOP: a name.  All are answered by an errno, 0: done; TERMINALS_STOP when it has ended. */

/* TERMINALS_SEND: this, so many bytes of text, then names of keys with a NUL behind each.  Answered by terminals_sent, when it
 * has been taken or will not be; EBUSY: another one is not done yet. */
struct terminals_send {
	char name[TERMINAL_NAME_MAX];
	uint32_t text;
};
struct terminals_sent {
	int32_t error;
	uint32_t taken, all;
	uint32_t waiting; /* neither taken nor dropped: on their way to the terminal */
};

#define TERMINALS_TYPE_MAX 4096
struct terminals_size {
	int32_t columns, rows;
};
/* TERMINALS_ATTACH: this.  Answered by an errno; after 0 the connection is for the messages above, TERMINALS_ROLE first. */
struct terminals_attach {
	char name[TERMINAL_NAME_MAX];
	char who[TERMINAL_WHO_MAX];
	struct terminals_size size;
	uint8_t watches;
};
/* TERMINALS_ROLE: who types. */
struct terminals_role {
	uint8_t types; /* the one it is for */
	char who[TERMINAL_WHO_MAX];
};

/* What the process finds open. */
enum { TERMINALS_FD_CONTROL = 3, TERMINALS_FDS };

/* Connected to a container's process, or listening as it.  ERR_NOT_FOUND: there is none. */
int terminals_dial(const char *container, struct err *e);
int terminals_listen(const char *container, struct err *e);
/* Its answer. */
int terminals_hear(int conn, const char *container, struct err *e);

#endif
