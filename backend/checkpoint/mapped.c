/* mapped.c - finds files that are mapped writable, whose timestamps do not show every change. */
#include "checkpoint/capture.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>

static int order_inodes(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* "FROM-TO rw-s OFFSET DEV INODE PATH": the inode alone counts, for on some file systems the device is
 * not the one that stat says; one file too many read does no harm. */
static void note_mapping(struct mapped *m, const char *line)
{
	char flags[5] = "";
	unsigned long long inode = 0;

	if (sscanf(line, "%*s %4s %*s %*s %llu", flags, &inode) != 2 || inode == 0)
		return;
	if (flags[1] != 'w' || flags[3] != 's')
		return;
	m->inode = mem_grow(m->inode, &m->cap, m->n + 1, sizeof *m->inode);
	m->inode[m->n++] = inode;
}

static void read_mappings(struct mapped *m, const char *pid)
{
	AUTO_FREE char *line = NULL;
	size_t cap = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%.20s/maps", pid);
	f = fopen(path, "re");
	errno = 0;
	while (f && getline(&line, &cap, f) > 0)
		note_mapping(m, line);
	if (!f ? access(path, F_OK) == 0 : errno == EACCES || errno == EPERM)
		m->blind = true;
	if (f)
		fclose(f);
}

void mapped_read(struct mapped *m, const struct checkpoint_options *o)
{
	struct dirent *entry;
	char pid[24];
	DIR *d;

	*m = (struct mapped){0};
	if (o && o->pids) {
		for (size_t i = 0; i < o->npids; i++) {
			snprintf(pid, sizeof pid, "%ld", (long)o->pids[i]);
			read_mappings(m, pid);
		}
	} else if ((d = opendir("/proc"))) {
		while ((entry = readdir(d)))
			if (isdigit((unsigned char)entry->d_name[0]))
				read_mappings(m, entry->d_name);
		closedir(d);
	} else {
		m->blind = true;
	}
	mem_sort(m->inode, m->n, sizeof *m->inode, order_inodes);
}

bool mapped_holds(const struct mapped *m, uint64_t inode)
{
	return m->n && bsearch(&inode, m->inode, m->n, sizeof *m->inode, order_inodes);
}

void mapped_release(struct mapped *m)
{
	free(m->inode);
	*m = (struct mapped){0};
}
