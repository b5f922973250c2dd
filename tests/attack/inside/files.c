/* files.c - checks 22 to 33: what can be written, filled and reached through the file system. */
#include "inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static const int closed[] = {EROFS, EACCES, EPERM, 0};
static const int erofs[] = {EROFS, 0};

static void root_is_closed(void)
{
	static const char *const dirs[] = {"/", "/usr", "/etc", "/bin", "/sbin", "/root", "/home",
		"/.berth", "/.berth/lane", "/sys", "/proc"};
	char what[300], path[200];
	struct statvfs v;

	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		snprintf(path, sizeof path, "%s/attack-x", dirs[i]);
		snprintf(what, sizeof what, "a new file in %s", dirs[i]);
		refused(22, what, open(path, O_WRONLY | O_CREAT, 0600),
			(const int[]){EROFS, EACCES, EPERM, ENOENT, 0});
	}
	/* Everybody may write to it, so only the read-only mount is in the way. */
	refused(22, "a file in a directory of the image with mode 1777",
		open("/attack/open/x", O_WRONLY | O_CREAT, 0600), erofs);
	refused(22, "the image's file with mode 0666", open("/attack/open/file", O_WRONLY), erofs);
	refused(22, "/.berth/init", open("/.berth/init", O_WRONLY), closed);
	refused(22, "a new directory in /.berth", mkdir("/.berth/x", 0700), closed);
	refused(22, "rename /bin/sh", rename("/bin/sh", "/bin/sh2"), closed);
	refused(22, "/etc/hosts", open("/etc/hosts", O_WRONLY | O_TRUNC), closed);
	refused(22, "/etc/resolv.conf", open("/etc/resolv.conf", O_WRONLY | O_TRUNC), closed);
	report(22, !statvfs("/", &v) && v.f_flag & ST_RDONLY, "the root is mounted read-only");
}

/* Every unix socket of the file system, and whether one can speak to it. */
static void look_for_sockets(const char *dir, int depth)
{
	DIR *d = opendir(dir);

	for (struct dirent *e; d && (e = readdir(d));) {
		char path[PATH_MAX];
		struct stat st;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
			snprintf(path, sizeof path, "%s/%s", strcmp(dir, "/") ? dir : "",
				e->d_name) >= (int)sizeof path ||
			lstat(path, &st) || !strcmp(path, "/proc"))
			continue;
		if (S_ISDIR(st.st_mode) && depth < 12)
			look_for_sockets(path, depth + 1);
		if (S_ISSOCK(st.st_mode)) {
			struct sockaddr_un to = {.sun_family = AF_UNIX};
			int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
			char what[PATH_MAX + 20];

			report(29, !strncmp(path, "/.berth/lane/", 13), "the socket %s", path);
			snprintf(to.sun_path, sizeof to.sun_path, "%.100s", path);
			snprintf(what, sizeof what, "speaking to %s", path);
			refused(29, what, connect(fd, (struct sockaddr *)&to, sizeof to), NULL);
			close(fd);
		}
	}
	if (d)
		closedir(d);
}

static void engine_sockets(void)
{
	static const char *const known[] = {"/var/run/docker.sock", "/run/docker.sock",
		"/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/crio/crio.sock",
		"/run/systemd/private", "/run/dbus/system_bus_socket"};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		refused(29, known[i], access(known[i], F_OK), NULL);
	look_for_sockets("/", 0);
}

/* A file of the host, by its own path and through everything that might lead out of here. */
static void way_out(int number, const char *secret)
{
	static const char *const doors[] = {"", "/proc/1/root", "/proc/self/root", "/proc/1/cwd",
		"/proc/self/cwd/../../../../../../../..", "/proc/self/cwd",
		"../../../../../../../../../../..", "/dev/shm/../..", "/.berth/lane/../../..",
		"/home/agent/../../../../.."};
	char path[PATH_MAX], what[PATH_MAX + 20];

	for (size_t i = 0; i < sizeof doors / sizeof *doors; i++) {
		snprintf(path, sizeof path, "%s%s", doors[i], secret);
		snprintf(what, sizeof what, "%s", path);
		refused(number, what, open(path, O_RDONLY), NULL);
	}
	for (int fd = 0; fd < 64; fd++) {
		snprintf(path, sizeof path, "/proc/self/fd/%d/../../../../../../..%s", fd, secret);
		if (open(path, O_RDONLY) >= 0)
			report(number, false, "%s", path);
		snprintf(path, sizeof path, "/proc/1/fd/%d", fd);
		if (open(path, O_RDONLY) >= 0)
			report(number, false, "%s", path);
	}
	report(number, true, "the descriptors 0 to 63 of this process and of process 1");
}

/* What a command is given besides its three pipes. */
static void report_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");

	for (struct dirent *e; d && (e = readdir(d));) {
		int fd = atoi(e->d_name);

		if (e->d_name[0] != '.' && fd != dirfd(d))
			report(31, fd < 3, "descriptor %d is open", fd);
	}
	if (d)
		closedir(d);
}

static void reach_secrets(const char *secret)
{
	char text[4096];

	refused(30, "/etc/shadow", open("/etc/shadow", O_RDONLY), NULL);
	refused(30, "/root/.ssh", open("/root/.ssh", O_RDONLY), NULL);
	refused(30, "/root", access("/root/attack", W_OK), NULL);
	refused(30, "/proc/1/environ", slurp("/proc/1/environ", text, sizeof text), NULL);
	refused(30, "/proc/1/maps", slurp("/proc/1/maps", text, sizeof text) > 0 ? 0 : -1, NULL);
	way_out(30, secret);
	way_out(31, secret);
	report_descriptors();
}

static void core_dumps(const char *dir)
{
	struct rlimit r;
	pid_t pid;
	int status;

	getrlimit(RLIMIT_CORE, &r);
	report(32, r.rlim_max == 0, "the hard limit of core files is %ld", (long)r.rlim_max);
	r.rlim_cur = r.rlim_max = RLIM_INFINITY;
	refused(32, "raising it", setrlimit(RLIMIT_CORE, &r), eperm);
	pid = fork();
	if (pid == 0) {
		if (chdir(dir))
			_exit(1);
		abort();
	}
	waitpid(pid, &status, 0);
	report(32, WIFSIGNALED(status) && !WCOREDUMP(status), "a crash leaves no core");
}

static void report_sizes(const char *dir)
{
	char path[PATH_MAX];
	struct rlimit r;
	int fd;

	snprintf(path, sizeof path, "%s/attack-sparse", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &r);
	report(28, r.rlim_max != RLIM_INFINITY, "files end at %ld bytes", (long)r.rlim_max);
	r.rlim_cur = r.rlim_max = RLIM_INFINITY;
	refused(28, "raising it", setrlimit(RLIMIT_FSIZE, &r), eperm);
	refused(28, "a sparse file of 1 TiB", ftruncate(fd, 1L << 40), (const int[]){EFBIG, 0});
	refused(28, "fallocate of 1 TiB", fallocate(fd, 0, 0, 1L << 40),
		(const int[]){EFBIG, EOPNOTSUPP, 0});
	refused(28, "one byte at 1 TiB", pwrite(fd, "x", 1, 1L << 40), (const int[]){EFBIG, 0});
	close(fd);
	unlink(path);
}

void files(const struct words *w)
{
	const char *secret = word_or(w, 0, "/nothing"), *workspace = word_or(w, 1, "/tmp"),
		   *theirs = word_or(w, 2, "/nothing");

	root_is_closed();
	report_sizes(workspace);
	engine_sockets();
	reach_secrets(secret);
	core_dumps(workspace);
	refused(33, "another agent's workspace", access(theirs, F_OK), (const int[]){ENOENT, 0});
}

/* DIR/mine belongs to this user and has mode 0666: only the mount is in the way. */
static void closed_tree(int number, const char *dir)
{
	char file[PATH_MAX], other[PATH_MAX], sub[PATH_MAX];
	struct stat st;

	snprintf(file, sizeof file, "%s/mine", dir);
	snprintf(other, sizeof other, "%s/other", dir);
	snprintf(sub, sizeof sub, "%s/newdir", dir);
	if (stat(file, &st) || st.st_uid != getuid()) {
		report(number, false, "%s is not this user's, so nothing was tried", file);
		return;
	}
	refused(number, "open to write", open(file, O_WRONLY), erofs);
	refused(number, "open to append", open(file, O_WRONLY | O_APPEND), erofs);
	refused(number, "O_TRUNC", open(file, O_RDONLY | O_TRUNC), erofs);
	refused(number, "O_TMPFILE", open(dir, O_WRONLY | O_TMPFILE, 0600), erofs);
	refused(number, "truncate", truncate(file, 0), erofs);
	refused(number, "chmod", chmod(file, 0777), erofs);
	refused(number, "chown", chown(file, getuid(), getgid()), erofs);
	refused(number, "unlink", unlink(file), erofs);
	refused(number, "rename", rename(file, other), erofs);
	refused(number, "link", link(file, other), erofs);
	refused(number, "symlink", symlink("x", other), erofs);
	refused(number, "mkdir", mkdir(sub, 0755), erofs);
	refused(number, "mkfifo", mkfifo(other, 0600), erofs);
	refused(number, "utimes", utimes(file, NULL), erofs);
	refused(number, "setxattr", setxattr(file, "user.x", "y", 1, 0), erofs);
	refused(number, "remount", mount(NULL, dir, NULL, MS_REMOUNT | MS_BIND, NULL), eperm);
	refused(number, "remount of its file system", mount(NULL, dir, NULL, MS_REMOUNT, NULL),
		eperm);
	refused(number, "umount", umount2(dir, MNT_DETACH), eperm);
}

/* read-only NUMBER DIR...; with "hidden" as DIR's last part gone, the sub-mount is not there: as good. */
void read_only(const struct words *w)
{
	int number = atoi(word_or(w, 0, "0"));

	for (int i = 1; i < w->n; i++) {
		char file[PATH_MAX];

		snprintf(file, sizeof file, "%s/mine", w->word[i]);
		if (number == 26 && access(file, F_OK)) {
			report(26, true, "the sub-mount %s is not there at all", w->word[i]);
			snprintf(file, sizeof file, "%s/x", w->word[i]);
			refused(26, "a file in its place", open(file, O_WRONLY | O_CREAT, 0600),
				NULL);
		} else {
			closed_tree(number, w->word[i]);
		}
	}
}

static void fill_disk(int number, const char *dir, long limit)
{
	char path[PATH_MAX], *block = calloc(1, 65536);
	long total = 0;
	ssize_t n = 0;
	int fd, error;

	snprintf(path, sizeof path, "%s/attack-fill", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	while (fd >= 0 && total <= limit && (n = write(fd, block, 65536)) > 0)
		total += n;
	error = errno;
	close(fd);
	unlink(path);
	free(block);
	report(number, n < 0 && error == ENOSPC && total <= limit, "%s took %ld bytes, then %s",
		dir, total, n < 0 ? strerrorname_np(error) : "more");
}

static void make_many_files(int number, const char *dir, long most)
{
	char path[PATH_MAX];
	long n = 0;
	int fd = -1, error = 0;

	for (; n <= most; n++) {
		snprintf(path, sizeof path, "%s/attack-%ld", dir, n);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd < 0) {
			error = errno;
			break;
		}
		close(fd);
	}
	for (long i = 0; i < n; i++) {
		snprintf(path, sizeof path, "%s/attack-%ld", dir, i);
		unlink(path);
	}
	report(number, fd < 0 && (error == ENOSPC || error == EDQUOT), "%s took %ld files, then %s",
		dir, n, error ? strerrorname_np(error) : "more");
}

/* flood NUMBER bytes|files DIR LIMIT */
void flood(const struct words *w)
{
	int number = atoi(word_or(w, 0, "0"));
	const char *dir = word_or(w, 2, "/tmp");
	long limit = atol(word_or(w, 3, "1048576"));

	if (!strcmp(word_or(w, 1, ""), "bytes"))
		fill_disk(number, dir, limit);
	else
		make_many_files(number, dir, limit);
}
