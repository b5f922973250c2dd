/*
 * egress_client.c - finds which process in a container made a connection, for the record only.
 *
 * The container's /proc is read through the root of its init, which an agent may fill with what it likes: it must be a
 * /proc, and no link is followed in it.  Where this user may not look, there is no answer.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <berth/beneath.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "egress/egress.h"

#define TABLE_BYTES ((size_t)1 << 20)
#define PROCESSES_MAX 4096
#define DESCRIPTORS_MAX 1024
#define ESTABLISHED 1

/* The inode of the socket with that local port; 0: none. */
static uint64_t find_socket(pid_t init, const char *table, uint16_t port)
{
	AUTO_STR struct str text = STR_INIT;
	char path[64], *save = NULL;
	unsigned local, state;
	uint64_t inode;

	snprintf(path, sizeof path, "/proc/%d/net/%s", init, table);
	if (file_read(AT_FDCWD, path, 0, TABLE_BYTES, &text, NULL))
		return 0;
	for (char *line = strtok_r(text.s, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (sscanf(line,
			    " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*s %*s %" SCNu64,
			    &local, &state, &inode) == 3 &&
			local == port && state == ESTABLISHED)
			return inode;
	return 0;
}

static DIR *open_proc_folder(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !d)
		close(fd);
	return d;
}

static bool holds_socket(int process, const char *want)
{
	AUTO_CLOSEDIR DIR *d = open_proc_folder(process, "fd");
	const struct dirent *x;
	bool found = false;

	for (int n = 0; d && !found && n < DESCRIPTORS_MAX && (x = readdir(d)); n++) {
		char link[64];
		ssize_t len = readlinkat(dirfd(d), x->d_name, link, sizeof link - 1);

		found = len > 0 && (size_t)len == strlen(want) && !memcmp(link, want, (size_t)len);
	}
	return found;
}

static bool read_holder(int proc, const char *pid, const char *want, char out[16])
{
	AUTO_CLOSE int process = openat(proc, pid, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_CLOSE int comm = -1;
	ssize_t n;

	if (process < 0 || !holds_socket(process, want))
		return false;
	comm = openat(process, "comm", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	n = comm < 0 ? -1 : read(comm, out, 15);
	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return true;
}

void egress_client(pid_t init, uint16_t port, char out[16])
{
	uint64_t inode = init && port ? find_socket(init, "tcp", port) : 0;
	AUTO_CLOSE int root = -1;
	struct statfs fs;
	char want[48];
	const struct dirent *x;
	AUTO_CLOSEDIR DIR *d = NULL;

	*out = '\0';
	if (init && port && !inode)
		inode = find_socket(init, "tcp6", port);
	if (!inode)
		return;
	snprintf(want, sizeof want, "/proc/%d/root", init);
	root = open(want, O_PATH | O_DIRECTORY | O_CLOEXEC);
	d = root < 0 ? NULL : open_proc_folder(root, "proc");
	if (!d)
		return;
	snprintf(want, sizeof want, "socket:[%" PRIu64 "]", inode);
	if (!fstatfs(dirfd(d), &fs) && fs.f_type == PROC_SUPER_MAGIC)
		for (int n = 0; n < PROCESSES_MAX && (x = readdir(d)); n++)
			if (isdigit((unsigned char)*x->d_name) &&
				read_holder(dirfd(d), x->d_name, want, out))
				break;
}
