/*
 * foreground.h - the foreground processes of a terminal, read from the host's /proc.
 *
 * Which system call a process is in, and of which files, only those may see who could trace it; for others it is unknown.
 * Everything read is what an agent's process arranged: it can deceive about itself, and about nothing else.
 *
 * Limits: FOREGROUND_TREE processes below a terminal's supervisor, FOREGROUND_THREADS threads of each.  Thread: any.
 */
#ifndef TERMINALS_FOREGROUND_H
#define TERMINALS_FOREGROUND_H

#include <berth/terminal_status.h>

#define FOREGROUND_TREE 128
#define FOREGROUND_THREADS 64
#define FOREGROUND_NAME_MAX 64
#define FOREGROUND_NAMES 3

struct foreground {
	enum terminal_front front;
	size_t n; /* names that the program is known by: of its process, of its file, of the script that it runs */
	char name[FOREGROUND_NAMES][FOREGROUND_NAME_MAX]; /* neutralised */
	bool shell;                                       /* it is a shell that runs no script */
};

/* Below `supervisor`, a process of the container whose full id is `id`.  Within a second; what could not be read by then is
 * unknown, until it has been read. */
void foreground_look(pid_t supervisor, const char *id, struct foreground *ret);
/* The same, whatever it is in, within that time; and for however long it takes. */
void foreground_below(pid_t supervisor, int limit_ms, struct foreground *ret);
void foreground_read(pid_t supervisor, struct foreground *ret);

#endif
