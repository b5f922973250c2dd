/* declared.c - keeps what a team file says of a terminal, for those who start it again or compare. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "terminals/terminals.h"

#define ENDING ".declared"
#define WORDS_MAX 1024
#define BYTES_MAX 65536

/* "COLUMNS ROWS RESTART", then its words: each ends with a NUL. */
int terminals_declare(
	const char *container, const char *name, const struct terminals_declared *d, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;
	char path[TERMINALS_PATH_MAX];

	if (terminals_file(container, name, ENDING, path, e))
		return -1;
	str_addf(&text, "%d %d %d", d->columns, d->rows, d->on_failure);
	str_add(&text, "", 1);
	for (size_t i = 0; i < d->argc; i++)
		str_add(&text, d->argv[i], strlen(d->argv[i]) + 1);
	return file_replace(path, text.s, text.len, false) < 0
		? err_sys(e, errno, "cannot write %s", path)
		: 0;
}

void terminals_undeclare(const char *container, const char *name)
{
	char path[TERMINALS_PATH_MAX];

	if (!terminals_file(container, name, ENDING, path, NULL))
		unlink(path);
}

int terminals_declared(
	const char *container, const char *name, struct terminals_declared *ret, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;
	char path[TERMINALS_PATH_MAX], *at, *end;
	size_t head = WORDS_MAX * sizeof(char *);
	int restart;

	if (terminals_file(container, name, ENDING, path, e))
		return -1;
	if (access(path, F_OK))
		return err_set(e, ERR_NOT_FOUND, "no team file defines a terminal %s of %s", name,
			container);
	if (file_read(AT_FDCWD, path, O_NOFOLLOW, BYTES_MAX, &text, e))
		return -1;
	*ret = (struct terminals_declared){0};
	if (!text.len || text.s[text.len - 1] ||
		sscanf(text.s, "%4d %4d %1d", &ret->columns, &ret->rows, &restart) != 3)
		return err_set(e, ERR_FAILED, "%s is damaged", path);
	ret->on_failure = restart == 1;
	ret->argv = xmalloc(head + text.len);
	at = (char *)ret->argv + head;
	memcpy(at, text.s, text.len);
	end = at + text.len;
	for (at += strlen(at) + 1; at < end && ret->argc < WORDS_MAX - 1; at += strlen(at) + 1)
		ret->argv[ret->argc++] = at;
	return 0;
}

void terminals_declared_release(struct terminals_declared *d)
{
	free(d->argv);
	*d = (struct terminals_declared){0};
}

bool terminals_same(const struct terminals_declared *a, const struct terminals_declared *b)
{
	bool same = a->columns == b->columns && a->rows == b->rows &&
		a->on_failure == b->on_failure && a->argc == b->argc;

	for (size_t i = 0; same && i < a->argc; i++)
		same = !strcmp(a->argv[i], b->argv[i]);
	return same;
}

size_t terminals_declared_names(const char *container, char (*out)[TERMINAL_NAME_MAX], size_t most)
{
	char dir[TERMINALS_PATH_MAX];
	const struct dirent *x;
	size_t n = 0;
	DIR *d;

	if (terminals_place(container, ".", dir, NULL))
		return 0;
	d = opendir(dir);
	while (d && n < most && (x = readdir(d))) {
		size_t len = strlen(x->d_name), end = sizeof ENDING - 1;

		if (len > end && len - end < TERMINAL_NAME_MAX &&
			!strcmp(x->d_name + len - end, ENDING))
			snprintf(out[n++], TERMINAL_NAME_MAX, "%.*s", (int)(len - end), x->d_name);
	}
	if (d)
		closedir(d);
	return n;
}
