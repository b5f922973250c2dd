/* route_figures.c - counts the usage of routes in a mapped file that others read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "egress/routes.h"

#define FIGURES_BYTES (ROUTES_MAX * sizeof(struct route_figures))

/* Where the file cannot be, they are counted all the same, and nobody sees them. */
struct route_figures *figures_map(const char *rules)
{
	size_t len = strlen(rules), end = sizeof ".rules" - 1;
	AUTO_FREE char *path =
		xasprintf("%.*s" EGRESS_FIGURES, (int)(len > end ? len - end : 0), rules);
	AUTO_CLOSE int fd =
		open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	void *at = MAP_FAILED;
	struct stat st;

	/* Its pages are taken now: a full disk would end us when one is written. */
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
		!posix_fallocate(fd, 0, FIGURES_BYTES))
		at = mmap(NULL, FIGURES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return at == MAP_FAILED ? xcalloc(ROUTES_MAX, sizeof(struct route_figures)) : at;
}

int route_read_figures(const char *name, struct route_figures *out, size_t *n, struct err *e)
{
	char path[EGRESS_PATH_MAX];
	int fd;
	ssize_t got;

	*n = 0;
	if (egress_place(name, EGRESS_FIGURES, path, e))
		return -1;
	fd = file_open(AT_FDCWD, path, O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return err_set(e, ERR_NOT_FOUND, "%s has no routes", name);
	if (fd < 0)
		return err_sys(e, errno, "cannot read %s", path);
	got = file_fill(fd, out, FIGURES_BYTES);
	close(fd);
	if (got < 0)
		return err_sys(e, errno, "cannot read %s", path);
	/* An end that an agent has got hold of could write what it likes there. */
	for (; *n < ROUTES_MAX && (*n + 1) * sizeof *out <= (size_t)got && *out[*n].name; ++*n) {
		char raw[sizeof out->name];

		snprintf(raw, sizeof raw, "%.*s", (int)sizeof raw - 1, out[*n].name);
		text_clean(out[*n].name, ROUTE_NAME_MAX, raw);
	}
	return 0;
}
