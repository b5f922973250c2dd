/* suites.c - finds the user's own benchmark suites (berth/bench.h). */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/bench.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/text.h>

#define FOLDER "bench"

static const char *const endings[] = {".yaml", ".yml"};

/* Bytes of the name before .yaml; 0: it does not end so. */
static size_t stem_length(const char *file)
{
	size_t n = strlen(file);

	for (size_t i = 0; i < COUNT(endings); i++) {
		size_t len = strlen(endings[i]);

		if (n > len && !strcmp(file + n - len, endings[i]))
			return n - len;
	}
	return 0;
}

static int suites_folder(char *buf, size_t cap)
{
	char dir[PATH_MAX];

	return config_dir(dir, sizeof dir, NULL) < 0 ||
			snprintf(buf, cap, "%s/" FOLDER, dir) >= (int)cap
		? -1
		: 0;
}

/* "# What it is for" in the first line. */
static void read_about(struct own_suite *s)
{
	AUTO_CLOSE int fd = file_open(AT_FDCWD, s->path, 0);
	char line[sizeof s->about];
	ssize_t n;
	size_t at;

	n = fd < 0 ? -1 : file_fill(fd, line, sizeof line - 1);
	if (n <= 0 || line[0] != '#')
		return;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	at = strspn(line, "# ");
	text_clean(s->about, sizeof s->about, line + at);
}

void own_suite_at(struct own_suite *ret, const char *path)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	char name[sizeof ret->name];
	size_t n = stem_length(file);

	memset(ret, 0, sizeof *ret);
	/* As a run names it; one that is not there keeps the name it was given. */
	if (!realpath(path, ret->path))
		snprintf(ret->path, sizeof ret->path, "%s", path);
	snprintf(name, sizeof name, "%.*s", (int)(n ? n : strlen(file)), file);
	text_clean(ret->name, sizeof ret->name, name);
	read_about(ret);
}

static int compare_suites(const void *a, const void *b)
{
	const struct own_suite *x = a, *y = b;

	return text_natural(x->name, y->name);
}

size_t own_suites(struct own_suite *ret, size_t max)
{
	char dir[PATH_MAX - NAME_MAX - 2], path[PATH_MAX];
	struct dirent *f;
	size_t n = 0;
	AUTO_CLOSEDIR DIR *d = NULL;

	if (suites_folder(dir, sizeof dir) < 0 || !(d = opendir(dir)))
		return 0;
	while (n < max && (f = readdir(d))) {
		if (f->d_name[0] == '.' || !stem_length(f->d_name))
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, f->d_name);
		own_suite_at(&ret[n++], path);
	}
	mem_sort(ret, n, sizeof *ret, compare_suites);
	return n;
}

bool own_suite_path(const char *name, char *buf, size_t cap)
{
	char dir[PATH_MAX];

	if (!*name || *name == '.' || strchr(name, '/') || suites_folder(dir, sizeof dir) < 0)
		return false;
	for (size_t i = 0; i <= COUNT(endings); i++)
		if (snprintf(buf, cap, "%s/%s%s", dir, name, i ? endings[i - 1] : "") < (int)cap &&
			(i || stem_length(name)) && access(buf, R_OK) == 0)
			return true;
	return false;
}
