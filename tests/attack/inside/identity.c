/* identity.c - checks 1 to 9: who one is inside, and what one cannot become. */
#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static bool status_number(const char *file, const char *name, int base, uint64_t *out)
{
	char text[8192], want[32], *at;

	snprintf(want, sizeof want, "\n%s:", name);
	if (slurp(file, text, sizeof text) <= 0 || !(at = strstr(text, want)))
		return false;
	*out = strtoull(at + strlen(want), NULL, base);
	return true;
}

/* Of this process, and of process 1, which everything here comes from. */
static void report_privileges(const char *file)
{
	static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
	uint64_t v;

	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
		bool there = status_number(file, sets[i], 16, &v);

		report(1, there && v == 0, "%s %s %" PRIx64, file, sets[i], there ? v : UINT64_MAX);
	}
	report(2, status_number(file, "NoNewPrivs", 10, &v) && v == 1, "%s NoNewPrivs", file);
	report(3, status_number(file, "Seccomp", 10, &v) && v == 2, "%s Seccomp", file);
}

static void regain_privileges(void)
{
	struct {
		uint32_t version;
		int pid;
	} head = {0x20080522, 0};
	struct {
		uint32_t effective, permitted, inheritable;
	} all[2] = {{~0u, ~0u, 0}, {~0u, ~0u, 0}};

	refused(1, "capset of everything", syscall(SYS_capset, &head, all), eperm);
	refused(1, "ambient CAP_CHOWN", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 0, 0, 0),
		eperm);
	refused(2, "no_new_privs off", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0), NULL);
	refused(3, "seccomp off", prctl(PR_SET_SECCOMP, 0, 0, 0, 0), NULL);
}

static void report_ids(void)
{
	gid_t groups[64];
	int n = getgroups(64, groups);
	uid_t r, e, s;
	gid_t gr, ge, gs;

	getresuid(&r, &e, &s);
	getresgid(&gr, &ge, &gs);
	report(4, r && e && s, "uid %d %d %d", (int)r, (int)e, (int)s);
	report(4, gr && ge && gs, "gid %d %d %d", (int)gr, (int)ge, (int)gs);
	for (int i = 0; i < n; i++)
		report(4, groups[i] != 0, "group %d", (int)groups[i]);
	refused(4, "setuid(0)", setuid(0), eperm);
	refused(4, "setgid(0)", setgid(0), eperm);
	refused(4, "setgroups(0)", setgroups(1, &(gid_t){0}), eperm);
}

/* The image brings a setuid-root copy of this program, and one with setgid. */
static void set_id(const char *path)
{
	char text[32] = "";
	struct stat st;
	int p[2];
	pid_t pid;

	if (stat(path, &st) || st.st_uid != 0 || !(st.st_mode & S_ISUID)) {
		report(5, false, "%s is no setuid-root program, so nothing was tried", path);
		return;
	}
	if (pipe(p))
		return;
	pid = fork();
	if (pid == 0) {
		dup2(p[1], 1);
		execl(path, path, "euid", (char *)NULL);
		_exit(1);
	}
	close(p[1]);
	if (read(p[0], text, sizeof text - 1) <= 0)
		strcpy(text, "nothing");
	text[strcspn(text, "\n")] = '\0';
	close(p[0]);
	waitpid(pid, NULL, 0);
	report(5, atoi(text) == (int)getuid() && getuid(), "%s runs as %.8s", path, text);
}

static long raw_clone(unsigned long flags)
{
	long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return pid;
}

static void enter_namespaces(void)
{
	static const struct {
		const char *name, *file;
		unsigned long flag;
	} kinds[] = {{"user", "user", CLONE_NEWUSER}, {"mnt", "mnt", CLONE_NEWNS},
		{"pid", "pid", CLONE_NEWPID}, {"net", "net", CLONE_NEWNET},
		{"ipc", "ipc", CLONE_NEWIPC}, {"uts", "uts", CLONE_NEWUTS},
		{"cgroup", "cgroup", CLONE_NEWCGROUP}};
	char what[64];

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		int fd;

		snprintf(what, sizeof what, "unshare %s", kinds[i].name);
		refused(6, what, syscall(SYS_unshare, kinds[i].flag), eperm);
		snprintf(what, sizeof what, "clone with a new %s namespace", kinds[i].name);
		refused(6, what, raw_clone(kinds[i].flag), eperm);
		snprintf(what, sizeof what, "/proc/self/ns/%s", kinds[i].file);
		fd = open(what, O_RDONLY | O_CLOEXEC);
		snprintf(what, sizeof what, "setns %s", kinds[i].name);
		refused(6, what, syscall(SYS_setns, fd, kinds[i].flag), eperm);
		close(fd);
	}
	/* Its flags lie in memory, where a filter cannot look: it must not be there at all. */
	refused(6, "clone3", syscall(SYS_clone3, NULL, 0), (const int[]){ENOSYS, 0});
}

static void try_mounts(const char *dir)
{
	refused(7, "mount tmpfs", mount("none", dir, "tmpfs", 0, NULL), eperm);
	refused(7, "mount proc", mount("none", dir, "proc", 0, NULL), eperm);
	refused(7, "bind mount", mount("/", dir, NULL, MS_BIND | MS_REC, NULL), eperm);
	refused(7, "remount / writable", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL), eperm);
	refused(7, "umount /proc/keys", umount2("/proc/keys", MNT_DETACH), eperm);
	refused(7, "fsopen", syscall(SYS_fsopen, "tmpfs", 0), eperm);
	refused(7, "open_tree", syscall(SYS_open_tree, -100, "/", 1), eperm);
	refused(7, "move_mount", syscall(SYS_move_mount, -100, "/", -100, dir, 0), eperm);
	refused(7, "mount_setattr", syscall(SYS_mount_setattr, -100, "/", 0, NULL, 0), eperm);
}

/* A block device, memory, and a terminal: made nowhere, or made and not to be opened. */
static void make_devices(const struct words *w)
{
	static const struct {
		const char *name;
		mode_t mode;
		unsigned major, minor;
	} nodes[] = {{"disk", S_IFBLK, 8, 0}, {"disk2", S_IFBLK, 254, 0}, {"mem", S_IFCHR, 1, 1},
		{"kmsg", S_IFCHR, 1, 11}, {"tty0", S_IFCHR, 4, 0}, {"fuse", S_IFCHR, 10, 229}};

	for (int i = 0; i < w->n; i++)
		for (size_t k = 0; k < sizeof nodes / sizeof *nodes; k++) {
			char path[512], what[600];
			long fd = -1;

			snprintf(path, sizeof path, "%s/%s", w->word[i], nodes[k].name);
			snprintf(what, sizeof what, "node %s", path);
			if (!mknod(path, nodes[k].mode | 0666,
				    makedev(nodes[k].major, nodes[k].minor))) {
				fd = open(path, O_RDWR);
				unlink(path);
			}
			refused(8, what, fd, (const int[]){EPERM, EACCES, EROFS, 0});
		}
}

void identity(const struct words *w)
{
	report_privileges("/proc/self/status");
	report_privileges("/proc/1/status");
	report_ids();
	set_id("/attack/suid");
	enter_namespaces();
	try_mounts("/tmp");
	make_devices(w);
	refused(9, "chroot", chroot("/tmp"), eperm);
	refused(9, "pivot_root", syscall(SYS_pivot_root, "/tmp", "/tmp"), eperm);
	regain_privileges();
}
