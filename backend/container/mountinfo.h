/*
 * mountinfo.h - the mounts that a process sees.
 *
 * Thread: any; a table belongs to who read it.
 */
#ifndef CONTAINER_MOUNTINFO_H
#define CONTAINER_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <berth/str.h>

struct mountinfo_line {
	const char *device; /* "8:1" */
	const char *root;   /* the path in it, written as the kernel does */
	char *target;       /* in plain characters */
	const char *options;
};

struct mountinfo {
	char *text;
	size_t n, cap;
	struct mountinfo_line *line;
};

/* The table of process `pid`; -1, and nothing is held: it cannot be read, is so large (256 KiB) that not all of it
 * can be judged, or has a line of another form. */
int mountinfo_read(pid_t pid, struct mountinfo *ret);
/* The same of a text, which is copied. */
int mountinfo_parse(const char *text, struct mountinfo *ret);
void mountinfo_release(struct mountinfo *m);

/* What lies uppermost at `target`; NULL: nothing is mounted there. */
const struct mountinfo_line *mountinfo_at(const struct mountinfo *m, const char *target);
bool mountinfo_read_only(const struct mountinfo_line *l);

/* The place itself, as a path (O_PATH) below the container's root `root`. */
int mountinfo_open(int root, const char *target);

#endif
