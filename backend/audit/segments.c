/* segments.c - finds and names the segment files of the audit log. */
#include "audit/segments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/runtime.h>

char *segment_name(char buf[SEGMENT_NAME], uint64_t first)
{
	snprintf(buf, SEGMENT_NAME, "%020" PRIu64 ".jsonl", first);
	return buf;
}

/* The number in a segment's name; 0 for other names. */
static uint64_t parse_segment_name(const char *name)
{
	uint64_t n = 0;

	for (int i = 0; i < 20; i++) {
		if (name[i] < '0' || name[i] > '9')
			return 0;
		n = n * 10 + (uint64_t)(name[i] - '0');
	}
	return strcmp(name + 20, ".jsonl") == 0 && n <= INT64_MAX ? n : 0;
}

static int by_first(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

int segments_list(int dir, struct segments *ret, struct err *e)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	memset(ret, 0, sizeof *ret);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return err_sys(e, errno, "Cannot read the audit log's directory");
	}
	while ((entry = readdir(d)) && ret->n < SEGMENTS_MAX) {
		uint64_t first = parse_segment_name(entry->d_name);
		struct stat st;

		if (!first || fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISREG(st.st_mode))
			continue;
		ret->v = mem_grow(ret->v, &ret->cap, ret->n + 1, sizeof *ret->v);
		ret->v[ret->n++] = (struct segment){first, (uint64_t)st.st_size};
	}
	closedir(d);
	mem_sort(ret->v, ret->n, sizeof *ret->v, by_first);
	return 0;
}

void segments_release(struct segments *s)
{
	free(s->v);
	memset(s, 0, sizeof *s);
}

int segments_dir(const char *dir, bool make, char *ret_path, size_t cap, struct err *e)
{
	char state[PATH_MAX];
	struct stat st;
	int fd;

	if (dir) {
		if ((size_t)snprintf(ret_path, cap, "%s", dir) >= cap)
			return err_set(e, ERR_USAGE, "The path of the audit log is too long.");
		if (make && mkdir(ret_path, 0700) < 0 && errno != EEXIST)
			return err_sys(
				e, errno, "Cannot make the audit log's directory %s", ret_path);
	} else if (state_dir(state, sizeof state, e) < 0 ||
		runtime_subdir(ret_path, cap, state, "audit", e) < 0) {
		return -1;
	}
	fd = open(ret_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return err_set(e, ERR_NOT_FOUND, "There is no audit log in %s yet.", ret_path);
	if (fd < 0)
		return err_sys(e, errno, "Cannot open the audit log's directory %s", ret_path);
	if (make && (fstat(fd, &st) < 0 || st.st_uid != geteuid() || st.st_mode & 077)) {
		close(fd);
		return err_set(e, ERR_FAILED,
			"The audit log's directory %s must belong to you and have mode 0700.",
			ret_path);
	}
	return fd;
}
