/* writers.c - finds processes that have a file below a directory open for writing. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/container_id.h>
#include <berth/freeze.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "lane/lane.h"

struct look {
	const struct freeze *f;
	char root[PATH_MAX];
	size_t len;
	dev_t dev;
};

/* "flags:	0100002" */
static bool is_for_writing(const char *pid, const char *fd)
{
	char path[64], text[512];
	const char *at;

	snprintf(path, sizeof path, "/proc/%.20s/fdinfo/%.20s", pid, fd);
	if (file_text(path, text, sizeof text) <= 0 || !(at = strstr(text, "flags:")))
		return false;
	return (strtol(at + 6, NULL, 8) & O_ACCMODE) != O_RDONLY;
}

static bool is_of_root(const struct look *l, const char *path)
{
	/* What the file engine keeps there while it works is berth's own. */
	return !strncmp(path, l->root, l->len) && path[l->len] == '/' &&
		strncmp(path + l->len, "/.berth/", 8) != 0;
}

static int name_writer(const char *pid, const char *path, struct err *e)
{
	char proc[64], comm[64], what[48], file[200];

	snprintf(proc, sizeof proc, "/proc/%.20s/comm", pid);
	file_text(proc, comm, sizeof comm);
	comm[strcspn(comm, "\n")] = '\0';
	return err_set(e, ERR_CONFLICT,
		"%s (process %s) has %s open for writing; end it, or have it close the file.",
		text_clean(what, sizeof what, comm), pid, text_clean(file, sizeof file, path));
}

static int look_at_writer(const struct look *l, const char *pid, struct err *e)
{
	char dir[64], path[PATH_MAX];
	struct dirent *at;
	int rc = 0;
	AUTO_CLOSEDIR DIR *d = NULL;

	snprintf(dir, sizeof dir, "/proc/%.20s/fd", pid);
	d = opendir(dir);
	while (d && rc == 0 && (at = readdir(d))) {
		struct stat st;
		ssize_t n = readlinkat(dirfd(d), at->d_name, path, sizeof path - 1);

		if (n <= 0)
			continue;
		path[n] = '\0';
		if (is_of_root(l, path) && !fstatat(dirfd(d), at->d_name, &st, 0) &&
			S_ISREG(st.st_mode) && st.st_dev == l->dev &&
			is_for_writing(pid, at->d_name))
			rc = name_writer(pid, path, e);
	}
	return rc;
}

/* Who is in one of the containers runs there, which is another question. */
static bool runs_inside(const struct freeze *f, const char *pid)
{
	char groups[8192];

	if (proc_file(atoi(pid), "cgroup", groups, sizeof groups))
		return false;
	for (size_t i = 0; i < f->n; i++)
		if (id_in_cgroup(groups, f->box[i].id))
			return true;
	return false;
}

int freeze_writer(const struct freeze *f, int root, struct err *e)
{
	struct look l = {.f = f};
	char link[32];
	struct dirent *at;
	struct stat st;
	ssize_t n;
	int rc = 0;
	AUTO_CLOSEDIR DIR *d = NULL;

	snprintf(link, sizeof link, "/proc/self/fd/%d", root);
	n = readlink(link, l.root, sizeof l.root - 1);
	if (n < 0 || fstat(root, &st) < 0)
		return err_sys(e, errno, "cannot determine the path of the directory");
	l.root[n] = '\0';
	l.len = (size_t)n;
	l.dev = st.st_dev;
	d = opendir("/proc");
	while (d && rc == 0 && (at = readdir(d)))
		if (isdigit((unsigned char)at->d_name[0]) && !runs_inside(f, at->d_name))
			rc = look_at_writer(&l, at->d_name, e);
	return rc;
}
