/* attrs.h - extended attributes and access lists of copied files. */
#ifndef BERTH_FILES_ATTRS_H
#define BERTH_FILES_ATTRS_H

#include <stdbool.h>

#include <berth/str.h>

/* A descriptor; one of O_PATH by its name in /proc, for attributes cannot be had of that itself. */
struct attributed {
	int fd;
	bool by_path;
};
#define ATTRS_SELF_MAX 32
const char *attrs_self(char buf[ATTRS_SELF_MAX], int fd);

/* Those that a copy has, too, in a form for attrs_give; with `rights` also what gives rights, as capabilities do. */
void attrs_read(struct attributed a, bool rights, struct str *out);
/* What the file system does not take is not kept.  false: it has no access list, though `attrs` hold one. */
bool attrs_give(struct attributed a, const struct str *attrs);

/* Access lists that it has from the directory that it is in; those of a directory would go on to all that is made in it. */
void attrs_drop_list(struct attributed a);
void attrs_drop_inherited(int dir);
/* What is made in the directory has an access list from it. */
bool attrs_are_inherited(struct attributed dir);

#endif
