/* typed_paths.c - completes a path that is being typed, on a worker thread because disks may be slow. */
#include "console/core.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/message.h>

#define NAMES_MAX 512     /* told */
#define ENTRIES_MAX 20000 /* looked at */

struct paths_look {
	struct blocking_task work;
	struct backend *b;
	char *begin;
	struct event *ev;
};

static bool is_directory_entry(int dir, const struct dirent *f)
{
	struct stat st;

	if (f->d_type != DT_UNKNOWN && f->d_type != DT_LNK)
		return f->d_type == DT_DIR;
	return fstatat(dir, f->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void take_entries(struct paths_look *l, DIR *d, const char *begin)
{
	size_t len = strlen(begin), looked = 0;
	struct event *ev = l->ev;
	struct dirent *f;

	ev->names = arena_array(&ev->mem, NAMES_MAX, sizeof *ev->names);
	while (ev->nnames < NAMES_MAX && looked++ < ENTRIES_MAX && (f = readdir(d))) {
		if (strncmp(f->d_name, begin, len) != 0 || !strcmp(f->d_name, ".") ||
			!strcmp(f->d_name, "..") || (*f->d_name == '.' && *begin != '.'))
			continue;
		ev->names[ev->nnames++] = arena_printf(
			&ev->mem, "%s%s", f->d_name, is_directory_entry(dirfd(d), f) ? "/" : "");
	}
	mem_sort(ev->names, ev->nnames, sizeof *ev->names, compare_names);
}

static void paths_work(struct blocking_task *w)
{
	struct paths_look *l = w->data;
	char *slash = strrchr(l->begin, '/');
	AUTO_FREE char *dir = slash ? xstrndup(l->begin, (size_t)(slash - l->begin) + 1) : NULL;
	int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK) : -1;
	AUTO_CLOSEDIR DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	take_entries(l, d, slash + 1);
}

static void on_paths_read(struct blocking_task *w)
{
	struct paths_look *l = w->data;

	if (l->b->stopping)
		event_free(l->ev);
	else
		backend_up(l->b, l->ev);
	free(l->begin);
	free(l);
}

void paths_command(struct backend *b, const struct command *c)
{
	struct paths_look *l = xcalloc(1, sizeof *l);

	l->work.data = l;
	l->b = b;
	l->begin = xstrdup(c->paths.begin ? c->paths.begin : "");
	l->ev = event_new(EV_PATHS);
	l->ev->id = c->id;
	/* Without a thread nothing is offered, and typing goes on. */
	if (blocking_start(&b->loop, &l->work, paths_work, on_paths_read))
		on_paths_read(&l->work);
}
