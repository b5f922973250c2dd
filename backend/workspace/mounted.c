/* mounted.c - checks whether a directory is mounted in any process that may be inspected. */
#include "workspace/workspace_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#define TABLE_MAX ((size_t)16 << 20)

/* A directory as tables name it: the device, and its path in there.  Where it is the top of what is mounted at its own
 * place (an image of ours), that mount keeps it from nothing, nor do copies of it, which go with it, or which whoever
 * copied the whole table has at the same place below the same root: that is no container. */
struct sought {
	char device[32];
	struct str path;
	char *place;   /* NULL: it is none */
	int id, peers; /* of that mount; peers: to whom it is passed on, 0: nobody */
	struct str root;
};

struct mount_line {
	const char *device, *root, *target;
	int id, peers;
};

/* "id parent major:minor root target options [shared:N] [master:N] ... -", proc(5). */
static bool next_mount(char **rest, struct mount_line *ret)
{
	char *line = strtok_r(NULL, "\n", rest), *save = NULL, *field[5], *more;

	if (!line)
		return false;
	*ret = (struct mount_line){.device = "", .root = "", .target = ""};
	field[0] = strtok_r(line, " ", &save);
	for (int i = 1; i < 5 && field[i - 1]; i++)
		field[i] = strtok_r(NULL, " ", &save);
	for (int i = 0; i < 5; i++)
		if (!field[i])
			return true;
	text_undo_octal(field[3]);
	text_undo_octal(field[4]);
	*ret = (struct mount_line){field[2], field[3], field[4], atoi(field[0]), 0};
	while ((more = strtok_r(NULL, " ", &save)) && strcmp(more, "-") != 0)
		if (!strncmp(more, "shared:", 7) || !strncmp(more, "master:", 7))
			ret->peers = atoi(more + 7);
	return true;
}

static void add_root(struct str *out, const struct mount_line *l)
{
	str_addf(out, "%s %s", l->device, l->root);
}

static int read_mount_id(int dir)
{
	char path[64], text[256];
	const char *at;

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", dir);
	if (file_text(path, text, sizeof text) < 0)
		return -1;
	at = strstr(text, "mnt_id:");
	return at ? atoi(at + strlen("mnt_id:")) : -1;
}

static void note_place(struct sought *s, const struct mount_line *l, const char *path)
{
	const char *below = path + (strcmp(l->target, "/") ? strlen(l->target) : 0);

	snprintf(s->device, sizeof s->device, "%s", l->device);
	str_adds(&s->path, strcmp(l->root, "/") ? l->root : "");
	str_adds(&s->path, below);
	if (!*below)
		s->place = xstrdup(path);
	s->id = l->id;
	s->peers = l->peers;
}

static bool find_sought(int dir, struct sought *s)
{
	AUTO_STR struct str table = STR_INIT;
	char link[64], path[PATH_MAX], *rest;
	int id = read_mount_id(dir);
	struct mount_line l;
	bool found = false;
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
	n = readlink(link, path, sizeof path - 1);
	if (n < 0 || id < 0 ||
		file_read(AT_FDCWD, "/proc/self/mountinfo", 0, TABLE_MAX, &table, NULL) < 0)
		return false;
	path[n] = '\0';
	for (rest = table.s; next_mount(&rest, &l);) {
		if (!strcmp(l.target, "/")) {
			str_clear(&s->root);
			add_root(&s->root, &l);
		}
		if (l.id != id || found ||
			(strcmp(l.target, "/") && strncmp(path, l.target, strlen(l.target)) != 0))
			continue;
		note_place(s, &l, path);
		found = true;
	}
	return found;
}

static bool lies_within_sought(const struct sought *s, const struct mount_line *l)
{
	return !strcmp(l->device, s->device) && !strncmp(l->root, s->path.s, s->path.len) &&
		(l->root[s->path.len] == '\0' || l->root[s->path.len] == '/');
}

/* Numbers of mounts are the same for all who see them. */
static bool is_own_place(const struct sought *s, const struct mount_line *l)
{
	return s->place && !strcmp(l->target, s->place) &&
		(l->id == s->id || (s->peers && l->peers == s->peers));
}

static int tell_holder(const char *pid, const char *path, struct err *e)
{
	char name[64], command[64], shown[200], *end;

	snprintf(name, sizeof name, "/proc/%.20s/comm", pid);
	if (file_text(name, command, sizeof command) < 0)
		snprintf(command, sizeof command, "?");
	end = strchr(command, '\n');
	if (end)
		*end = '\0';
	text_clean(shown, sizeof shown, command);
	return err_set(e, ERR_CONFLICT,
		"%s is in use: process %.20s (%s) has it mounted; stop its container first", path,
		pid, shown);
}

static int look_at_process(const struct sought *s, const char *pid, const char *path, struct err *e)
{
	AUTO_STR struct str table = STR_INIT, root = STR_INIT;
	char name[64], *rest;
	struct mount_line l;
	bool copied = false;

	snprintf(name, sizeof name, "/proc/%.20s/mountinfo", pid);
	if (file_read(AT_FDCWD, name, 0, TABLE_MAX, &table, NULL) < 0)
		return 0;
	for (rest = table.s; next_mount(&rest, &l);) {
		bool there = s->place && !strcmp(l.target, s->place);

		if (!strcmp(l.target, "/")) {
			str_clear(&root);
			add_root(&root, &l);
		}
		if (!lies_within_sought(s, &l) || is_own_place(s, &l))
			continue;
		copied |= there;
		if (!there)
			return tell_holder(pid, path, e);
	}
	return copied && strcmp(root.s ? root.s : "", s->root.s ? s->root.s : "") != 0
		? tell_holder(pid, path, e)
		: 0;
}

/* Many processes see the same table. */
static bool is_seen(ino_t **seen, size_t *n, size_t *cap, const char *pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%.20s/ns/mnt", pid);
	if (stat(path, &st) < 0)
		return false;
	for (size_t i = 0; i < *n; i++)
		if ((*seen)[i] == st.st_ino)
			return true;
	*seen = mem_grow(*seen, cap, *n + 1, sizeof **seen);
	(*seen)[(*n)++] = st.st_ino;
	return false;
}

int workspace_check_mounted(int dir, const char *path, struct err *e)
{
	struct sought s = {.path = STR_INIT, .root = STR_INIT};
	AUTO_FREE ino_t *seen = NULL;
	size_t n = 0, cap = 0;
	DIR *proc = opendir("/proc");
	struct dirent *at;
	int rc = proc && find_sought(dir, &s)
		? 0
		: err_set(e, ERR_FAILED, "cannot determine whether %s is mounted in a container",
			  path);

	while (rc == 0 && (at = readdir(proc)) != NULL)
		if (isdigit((unsigned char)*at->d_name) && !is_seen(&seen, &n, &cap, at->d_name))
			rc = look_at_process(&s, at->d_name, path, e);
	if (proc)
		closedir(proc);
	str_release(&s.path);
	str_release(&s.root);
	free(s.place);
	return rc;
}
