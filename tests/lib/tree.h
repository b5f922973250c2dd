/*
 * tree.h - a scratch directory for the tests of the file engine: made, filled, looked at, removed.
 *
 * Header only, for test programs of one file.  Paths are relative to the scratch directory.
 */
#ifndef TESTS_LIB_TREE_H
#define TESTS_LIB_TREE_H

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <stdint.h>
#include <unistd.h>

static char tree_top[PATH_MAX];

static inline const char *tree_path(const char *name)
{
	static _Thread_local char paths[8][PATH_MAX];
	static _Thread_local unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, PATH_MAX, "%s/%s", tree_top, name);
	return path;
}

static inline void tree_make(const char *label)
{
	const char *base = getenv("BERTH_SCRATCH");

	snprintf(tree_top, sizeof tree_top, "%s/berth-%s.XXXXXX", base ? base : "/tmp", label);
	if (!mkdtemp(tree_top)) {
		perror(tree_top);
		exit(1);
	}
	/* Changes are noted there, out of the tree that they change. */
	setenv("XDG_STATE_HOME", tree_path("state"), 1);
}

/* By rm, which copes with trees deeper than PATH_MAX. */
static inline void tree_remove(void)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof command, "rm -rf '%s'", tree_top);
	if (system(command) != 0)
		fprintf(stderr, "%s is left behind\n", tree_top);
}

static inline void tree_mkdirs(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/%s", tree_top, name);
	for (char *at = path + strlen(tree_top) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0755);
		*at = '/';
	}
	mkdir(path, 0755);
}

/* Directories in one another, deeper than a path may be long and than a process has descriptors by default (1,024);
 * removing each waits for the disk, so no deeper.  The innermost, for the caller to close. */
enum { TREE_DEEP = 1100 };

static inline int tree_deep(const char *name)
{
	int at = (tree_mkdirs(name), open(tree_path(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	for (int i = 0; i < TREE_DEEP; i++) {
		int next;

		mkdirat(at, "below", 0755);
		next = openat(at, "below", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
	}
	return at;
}

static inline void tree_write(const char *name, const void *bytes, size_t n)
{
	const char *slash = strrchr(name, '/');
	char dir[PATH_MAX];
	int fd = open(tree_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 && slash) {
		snprintf(dir, sizeof dir, "%.*s", (int)(slash - name), name);
		tree_mkdirs(dir);
		fd = open(tree_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	}
	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n) {
		perror(name);
		exit(1);
	}
	close(fd);
}

static inline void tree_text(const char *name, const char *text)
{
	tree_write(name, text, strlen(text));
}

/* The file's content, NUL-terminated, for the caller to free; NULL when it cannot be read. */
static inline char *tree_read(const char *name)
{
	int fd = open(tree_path(name), O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *text;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return NULL;
	text = malloc((size_t)st.st_size + 1);
	n = read(fd, text, (size_t)st.st_size);
	text[n < 0 ? 0 : n] = '\0';
	close(fd);
	return text;
}

static inline int tree_has(const char *name, const char *text)
{
	char *got = tree_read(name);
	int same = got && strcmp(got, text) == 0;

	free(got);
	return same;
}

static inline int tree_exists(const char *name)
{
	struct stat st;

	return lstat(tree_path(name), &st) == 0;
}

/* How many entries, "." and ".." apart. */
static inline int tree_count(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *entry;
	int n = 0;

	while (d && (entry = readdir(d)))
		n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	if (d)
		closedir(d);
	return n;
}

/* The state directory's place for the changes of the directory `root`; it need not be there. */
static inline const char *tree_place(const char *root)
{
	static _Thread_local char path[PATH_MAX];
	struct statfs fs;
	struct stat st;
	uint64_t id = 0;

	if (statfs(tree_path(root), &fs) < 0 || stat(tree_path(root), &st) < 0)
		return "/nowhere";
	memcpy(&id, &fs.f_fsid, sizeof id);
	snprintf(path, sizeof path, "%s/berth/changes/%016llx-%llx", tree_path("state"),
		(unsigned long long)(id ? id : st.st_dev), (unsigned long long)st.st_ino);
	return path;
}

/* Transaction records of changes of `root` that are not done. */
static inline int tree_records(const char *root)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof path, "%s/journal", tree_place(root));
	return tree_count(path);
}

/* What is in the directories .berth-ID of `root`; *dirs: how many these are. */
static inline int tree_staged(const char *root, int *dirs)
{
	DIR *d = opendir(tree_path(root));
	struct dirent *entry;
	int n = 0;

	*dirs = 0;
	while (d && (entry = readdir(d))) {
		char path[2 * PATH_MAX];

		if (strncmp(entry->d_name, ".berth-", 7) != 0)
			continue;
		snprintf(path, sizeof path, "%s/%s", tree_path(root), entry->d_name);
		n += tree_count(path);
		++*dirs;
	}
	if (d)
		closedir(d);
	return n;
}

/* Nothing is left of changes of `root`: no directory in it, no place in the state directory. */
static inline int tree_is_clean(const char *root)
{
	struct stat st;
	int dirs;

	tree_staged(root, &dirs);
	return dirs == 0 && lstat(tree_place(root), &st) < 0;
}

static inline int tree_open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

#endif
