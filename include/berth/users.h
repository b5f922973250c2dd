/*
 * users.h - the users that /etc/passwd lists, read as a file.
 *
 * Never through NSS (getpwnam and its kind): its modules cannot be loaded by a static program, and
 * getpwent keeps one place in the list for all threads.  A user that only a directory service knows
 * is therefore a number here, which is enough for everything but reading it.
 *
 * A line that is not an entry, or is longer than 16 KiB, is passed over.
 *
 * Thread: any; a `struct users` belongs to one at a time.
 */
#ifndef BERTH_USERS_H
#define BERTH_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "err.h"

#define USERS_FILE "/etc/passwd"
#define USER_NAME_MAX 64 /* bytes with the final 0; useradd(8) takes 32 characters */

struct user {
	uint32_t uid;
	const char *name, *home; /* valid until the next users_next */
};

struct users {
	FILE *file; /* NULL: there is no such file, so no users */
	char line[16384];
};

/* A file that is not there has no users in it; any other reason not to read it is an error. */
int users_open(struct users *u, const char *file, struct err *e);
/* False: there are no more (0 in *e), or reading failed. */
bool users_next(struct users *u, struct user *ret, struct err *e);
void users_release(struct users *u);

/* What to call a user: the name, if it is one that can be shown anywhere, else the number. */
char *user_name(uint32_t uid, char buf[USER_NAME_MAX]);
/* The home directory, an absolute path for the caller to free; NULL: not known. */
char *user_home(uint32_t uid);

#endif
