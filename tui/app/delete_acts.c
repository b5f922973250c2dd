/* delete_acts.c - `:delete`: looks up the named files on a worker, then asks for confirmation. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/text.h>
#include <berth/view_work.h>

#include "app/app_state.h"

#define ENTRIES_MAX 200000 /* then it is "at least" */
#define DEPTH_MAX 100

/* What the words of `delete` mean, and what is there. */
struct doomed {
	struct view_work look;
	char *line, *root; /* as typed; the directory that paths are relative to */
	bool whole;        /* directories, too */
	size_t n;
	char **path; /* as typed; found: in full, neutralised */
	uint64_t files, dirs, bytes, missing;
	size_t entries;
	bool more; /* there is more than was looked at */
};

static void drop_doomed(struct view_work *look)
{
	struct doomed *d = (struct doomed *)look;

	for (size_t i = 0; i < d->n; i++)
		free(d->path[i]);
	free(d->path);
	free(d->line);
	free(d->root);
	free(d);
}

/* ---- the worker's */

static void count_one(struct doomed *d, const struct stat *st)
{
	d->files += !S_ISDIR(st->st_mode);
	d->dirs += S_ISDIR(st->st_mode);
	d->bytes += S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
}

/* What is below an open directory, which it closes; links are not followed. */
static void count_below(struct doomed *d, int fd, int depth)
{
	AUTO_CLOSEDIR DIR *dir = depth < DEPTH_MAX ? fdopendir(fd) : NULL;
	struct dirent *entry;
	struct stat st;
	int below;

	if (!dir) {
		d->more = true;
		close(fd);
		return;
	}
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (d->entries++ >= ENTRIES_MAX) {
			d->more = true;
			break;
		}
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		count_one(d, &st);
		if (!S_ISDIR(st.st_mode))
			continue;
		below = openat(fd, entry->d_name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		if (below < 0)
			d->more = true;
		else
			count_below(d, below, depth + 1);
	}
}

/* Its directory without links, and its name: what is deleted is the link itself. */
static char *full_path(const char *path)
{
	AUTO_FREE char *dir = xstrdup(path), *real = NULL;
	char *slash;

	while ((slash = strrchr(dir, '/')) && slash != dir && !slash[1])
		*slash = '\0';
	if (!slash || slash == dir || !strcmp(slash, "/..") || !strcmp(slash, "/."))
		return realpath(path, NULL);
	*slash = '\0';
	real = realpath(dir, NULL);
	return real ? xasprintf("%s/%s", real[1] ? real : "", slash + 1) : NULL;
}

static void look_at_doomed(struct view_work *look)
{
	struct doomed *d = (struct doomed *)look;

	for (size_t i = 0; i < d->n; i++) {
		AUTO_FREE char *joined = *d->path[i] == '/'
			? xstrdup(d->path[i])
			: xasprintf("%s/%s", d->root, d->path[i]);
		AUTO_FREE char *full = full_path(joined);
		AUTO_STR struct str shown = STR_INIT;
		const char *path = full ? full : joined;
		struct stat st;
		int fd;

		if (lstat(path, &st)) {
			d->missing++;
		} else {
			count_one(d, &st);
			fd = S_ISDIR(st.st_mode) ? open(path,
							   O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
								   O_CLOEXEC | O_NONBLOCK)
						 : -1;
			if (fd >= 0)
				count_below(d, fd, 0);
		}
		text_neutralise(&shown, path, strlen(path), false);
		free(d->path[i]);
		d->path[i] = xstrdup(shown.s);
	}
}

/* ---- the console's */

/* Paths, and what `delete` itself takes. */
static void sort_words(struct doomed *d, const char *words[], int n)
{
	const char *root = NULL;
	bool options = true;

	d->path = xcalloc((size_t)n + 1, sizeof *d->path);
	for (int i = 0; i < n; i++) {
		const char *w = words[i];

		if (!options || *w != '-' || !w[1])
			d->path[d->n++] = xstrdup(w);
		else if (!strcmp(w, "--"))
			options = false;
		else if (!strncmp(w, "--root=", 7))
			root = w + 7;
		else if (!strcmp(w, "--root") && i + 1 < n)
			root = words[++i];
		else
			d->whole |= !strcmp(w, "-r") || !strcmp(w, "--recursive");
	}
	d->root = root ? xstrdup(root) : getcwd(NULL, 0);
	if (!d->root)
		d->root = xstrdup(".");
}

void delete_ask(struct app *a, const char *line)
{
	struct doomed *d = xcalloc(1, sizeof *d);
	AUTO_FREE char *copy = xstrdup(line);
	const char *words[TASK_WORDS_MAX];
	struct err e = ERR_INIT;
	struct command *c;
	int n = task_words(copy, words, &e);

	d->look = (struct view_work){look_at_doomed, drop_doomed};
	d->line = xstrdup(line);
	if (n < 0)
		app_say(a, ROLE_WARN, "delete: %s.", e.msg);
	else
		sort_words(d, words, n);
	if (n >= 0 && !d->n)
		app_say(a, ROLE_WARN, "Which files?  delete [-r] PATH");
	if (n < 0 || !d->n) {
		drop_doomed(&d->look);
		return;
	}
	c = command_new(CMD_WORK);
	command_work(c, &d->look);
	a->delete_id = app_send(a, c);
}

static void open_dialog(struct app *a, const struct doomed *d)
{
	char files[FORMAT_MAX * 2], dirs[FORMAT_MAX * 2], bytes[FORMAT_MAX * 2], missing[64] = "";
	AUTO_FREE char *title = NULL, *effect = NULL;
	struct dialog_ask ask = {.where = "on this machine",
		.verb = "Delete",
		.word = "delete",
		.danger = true,
		.nitems = d->n,
		.items = (const char *const *)d->path};

	title = d->n == 1 ? xstrdup(d->whole ? "Delete a file or tree" : "Delete a file")
			  : xasprintf("Delete %zu files%s", d->n, d->whole ? " or trees" : "");
	if (d->missing)
		snprintf(missing, sizeof missing, d->n == 1 ? "  Not found." : "  %llu not found.",
			(unsigned long long)d->missing);
	/* One path is never cut: it wraps. */
	effect = xasprintf("%s%s%s%s and %s, %s in all.%s\n%sThis cannot be undone.",
		d->n == 1 ? d->path[0] : "", d->n == 1 ? "\n" : "", d->more ? "At least " : "",
		format_counted(files, d->files, "file", "files"),
		format_counted(dirs, d->dirs, "directory", "directories"),
		d->bytes < 1000 ? format_counted(bytes, d->bytes, "byte", "bytes")
				: format_bytes(bytes, d->bytes),
		missing,
		d->whole          ? "Directories are deleted with everything in them.\n"
			: d->dirs ? "Directories are not deleted without -r.\n"
				  : "");
	if (d->n == 1)
		ask.nitems = 0;
	ask.title = title;
	ask.effect = effect;
	tasks_ask_about(a, DO_DELETE, d->line, &ask);
}

void delete_event(struct app *a, const struct event *e)
{
	struct view_work *look =
		e->id == a->delete_id && a->delete_id ? view_work_take(e->work) : NULL;

	if (!look)
		return;
	a->delete_id = 0;
	if (a->dialog.open)
		app_say(a, ROLE_WARN, "Nothing was deleted: another question was open.");
	else
		open_dialog(a, (struct doomed *)look);
	drop_doomed(look);
}
