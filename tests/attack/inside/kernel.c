/* kernel.c - checks 10 to 21: the parts of the kernel that a tool has no business with. */
#include "inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

static void try_syscalls(void)
{
	char zero[256] = {0};
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), id;
	struct {
		struct file_handle h;
		char space[128];
	} handle = {.h = {.handle_bytes = 128}};

	refused(10, "bpf(BPF_MAP_CREATE)", syscall(SYS_bpf, 0, zero, sizeof zero), eperm);
	refused(10, "bpf(BPF_PROG_LOAD)", syscall(SYS_bpf, 5, zero, sizeof zero), eperm);
	refused(11, "perf_event_open", syscall(SYS_perf_event_open, zero, 0, -1, -1, 0), eperm);
	refused(12, "io_uring_setup", syscall(SYS_io_uring_setup, 8, zero), eperm);
	refused(12, "io_uring_enter", syscall(SYS_io_uring_enter, 0, 0, 0, 0, NULL, 0), eperm);
	refused(12, "io_uring_register", syscall(SYS_io_uring_register, 0, 0, NULL, 0), eperm);
	refused(13, "userfaultfd", syscall(SYS_userfaultfd, 1), eperm);
	refused(13, "/dev/userfaultfd", open("/dev/userfaultfd", O_RDWR), NULL);
	refused(14, "keyctl", syscall(SYS_keyctl, 0, -3, 1), eperm);
	refused(14, "add_key", syscall(SYS_add_key, "user", "berth", "x", 1, -3), eperm);
	refused(14, "request_key", syscall(SYS_request_key, "user", "berth", NULL, 0), eperm);
	refused(15, "init_module", syscall(SYS_init_module, zero, 1, ""), eperm);
	refused(15, "finit_module", syscall(SYS_finit_module, fd, "", 0), eperm);
	refused(15, "delete_module", syscall(SYS_delete_module, "none", 0), eperm);
	refused(15, "kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0), eperm);
	refused(15, "kexec_file_load", syscall(SYS_kexec_file_load, -1, -1, 0, "", 0), eperm);
	refused(15, "reboot", syscall(SYS_reboot, 0, 0, 0, NULL), eperm);
	refused(15, "swapon", syscall(SYS_swapon, "/tmp/x", 0), eperm);
	refused(15, "settimeofday", syscall(SYS_settimeofday, zero, NULL), eperm);
	refused(15, "syslog", syscall(SYS_syslog, 3, zero, sizeof zero), eperm);
	refused(16, "name_to_handle_at",
		syscall(SYS_name_to_handle_at, fd, "", &handle.h, &id, 0x1000), eperm);
	refused(16, "open_by_handle_at", syscall(SYS_open_by_handle_at, fd, &handle.h, O_RDONLY),
		eperm);
	close(fd);
}

/* Every family and kind; TCP, UDP, unix and netlink's inert ones are all that is left. */
static void try_sockets(void)
{
	static const struct {
		const char *name;
		int family, type, protocol;
	} known[] = {{"AF_ALG", 38, SOCK_SEQPACKET, 0}, {"AF_VSOCK", 40, SOCK_STREAM, 0},
		{"AF_PACKET raw", AF_PACKET, SOCK_RAW, 0x0300},
		{"AF_PACKET datagram", AF_PACKET, SOCK_DGRAM, 0x0300}, {"AF_KEY", 15, SOCK_RAW, 2},
		{"AF_BLUETOOTH", 31, SOCK_RAW, 1}, {"AF_CAN", 29, SOCK_RAW, 1},
		{"AF_TIPC", 30, SOCK_SEQPACKET, 0}, {"AF_XDP", 44, SOCK_RAW, 0},
		{"AF_RDS", 21, SOCK_SEQPACKET, 0}, {"AF_NFC", 39, SOCK_SEQPACKET, 0},
		{"AF_KCM", 41, SOCK_SEQPACKET, 0}, {"AF_SMC", 43, SOCK_STREAM, 0},
		{"raw IP", AF_INET, SOCK_RAW, 255}, {"raw ICMP", AF_INET, SOCK_RAW, 1},
		{"raw IPv6", AF_INET6, SOCK_RAW, 255}};
	char what[64];

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		snprintf(what, sizeof what, "socket %s", known[i].name);
		refused(17, what, socket(known[i].family, known[i].type, known[i].protocol), eperm);
	}
	for (int family = 0; family < 64; family++)
		if (family != AF_UNIX && family != AF_INET && family != AF_INET6 &&
			family != AF_NETLINK) {
			snprintf(what, sizeof what, "socket family %d", family);
			refused(17, what, socket(family, SOCK_DGRAM, 0),
				(const int[]){EPERM, EAFNOSUPPORT, 0});
		}
}

/* Process 1 is the guest; a process of another container has no number here at all. */
static void other_processes(const struct words *w)
{
	char byte;
	struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
	long fd = syscall(SYS_pidfd_open, 1, 0);

	refused(18, "ptrace(ATTACH) of process 1", ptrace(PTRACE_ATTACH, 1, 0, 0), eperm);
	refused(18, "ptrace(SEIZE) of process 1", ptrace(PTRACE_SEIZE, 1, 0, 0), eperm);
	refused(18, "process_vm_readv of process 1", process_vm_readv(1, &here, 1, &there, 1, 0),
		eperm);
	refused(18, "process_vm_writev of process 1", process_vm_writev(1, &here, 1, &there, 1, 0),
		eperm);
	refused(18, "/proc/1/mem", open("/proc/1/mem", O_RDWR), NULL);
	refused(18, "pidfd_getfd of process 1", syscall(SYS_pidfd_getfd, fd, 0, 0), eperm);
	refused(18, "kcmp with process 1", syscall(SYS_kcmp, getpid(), 1, 0, 0, 0), eperm);
	for (int i = 0; i < w->n; i++) {
		char path[64], what[96];
		int pid = atoi(w->word[i]);

		snprintf(path, sizeof path, "/proc/%d/ns/net", pid);
		snprintf(what, sizeof what, "process %d of another container", pid);
		refused(18, what, open(path, O_RDONLY), (const int[]){ENOENT, 0});
	}
}

static void read_masked_files(void)
{
	static const char *const empty[] = {"/proc/kcore", "/proc/keys", "/proc/timer_list",
		"/proc/sched_debug", "/proc/latency_stats", "/proc/timer_stats", "/proc/kmsg",
		"/proc/vmallocinfo", "/sys/kernel/debug/x", "/sys/firmware/memmap/0/start"};
	char text[64];

	for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
		int n = slurp(empty[i], text, sizeof text);

		report(19, n <= 0, "%s: %s", empty[i],
			n < 0       ? strerrorname_np(errno)
				: n ? "bytes"
				    : "empty");
	}
	static const char *const dirs[] = {
		"/sys/firmware", "/proc/acpi", "/proc/scsi", "/sys/devices/virtual/powercap"};
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		DIR *d = opendir(dirs[i]);
		int n = 0;

		for (struct dirent *e; d && (e = readdir(d));)
			n += e->d_name[0] != '.';
		report(19, n == 0, "%s: %d entries", dirs[i], n);
		if (d)
			closedir(d);
	}
}

static void write_knob(const char *path)
{
	char what[600];
	int fd = open(path, O_WRONLY);
	long n = fd;

	snprintf(what, sizeof what, "writing %s", path);
	if (fd >= 0)
		n = write(fd, "1", 1); /* some open for everybody and then look who writes */
	refused(20, what, n, NULL);
	if (fd >= 0)
		close(fd);
}

/* Every release_agent and every file of a cgroup that one might write. */
static void write_cgroups(const char *dir, int depth)
{
	DIR *d = opendir(dir);

	for (struct dirent *e; d && (e = readdir(d));) {
		char path[512];
		struct stat st;

		if (e->d_name[0] == '.' ||
			snprintf(path, sizeof path, "%s/%s", dir, e->d_name) >= (int)sizeof path ||
			lstat(path, &st))
			continue;
		if (S_ISDIR(st.st_mode) && depth < 3)
			write_cgroups(path, depth + 1);
		else if (!strcmp(e->d_name, "release_agent") ||
			!strcmp(e->d_name, "cgroup.procs") || !strcmp(e->d_name, "devices.allow") ||
			!strcmp(e->d_name, "notify_on_release") || strstr(e->d_name, "limit") ||
			strstr(e->d_name, ".max"))
			write_knob(path);
	}
	if (d)
		closedir(d);
}

static void write_knobs(void)
{
	static const char *const files[] = {"/proc/sys/kernel/core_pattern",
		"/proc/sys/kernel/modprobe", "/proc/sys/kernel/randomize_va_space",
		"/proc/sys/kernel/hostname", "/proc/sys/vm/overcommit_memory",
		"/proc/sys/fs/binfmt_misc/register", "/proc/sysrq-trigger",
		"/proc/self/attr/current", "/proc/1/oom_score_adj", "/proc/1/attr/exec",
		"/sys/kernel/uevent_helper", "/sys/kernel/mm/transparent_hugepage/enabled",
		"/sys/power/state", "/proc/irq/0/smp_affinity", "/sys/bus/pci/rescan",
		"/proc/sys/kernel/ns_last_pid"};

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		write_knob(files[i]);
	refused(20, "a new cgroup", mkdir("/sys/fs/cgroup/memory/x", 0755), NULL);
	refused(20, "a new cgroup (v2)", mkdir("/sys/fs/cgroup/x", 0755), NULL);
	write_cgroups("/sys/fs/cgroup", 0);
}

static void device_nodes(void)
{
	static const struct {
		const char *name;
		unsigned major, minor;
	} known[] = {{"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8},
		{"urandom", 1, 9}, {"tty", 5, 0}};
	static const char *const others[] = {
		"pts", "shm", "mqueue", "fd", "stdin", "stdout", "stderr", "ptmx", "core"};
	DIR *d = opendir("/dev");

	for (struct dirent *e; d && (e = readdir(d));) {
		bool fine = e->d_name[0] == '.';
		char path[300];
		struct stat st;

		snprintf(path, sizeof path, "/dev/%s", e->d_name);
		if (lstat(path, &st))
			continue;
		for (size_t i = 0; i < sizeof known / sizeof *known; i++)
			fine |= !strcmp(known[i].name, e->d_name) && S_ISCHR(st.st_mode) &&
				st.st_rdev == makedev(known[i].major, known[i].minor);
		for (size_t i = 0; i < sizeof others / sizeof *others; i++)
			fine |= !strcmp(others[i], e->d_name) &&
				(S_ISLNK(st.st_mode) || S_ISDIR(st.st_mode));
		if (e->d_name[0] != '.')
			report(21, fine, "/dev/%s", e->d_name);
	}
	if (d)
		closedir(d);
	refused(21, "a new file in /dev", open("/dev/x", O_WRONLY | O_CREAT, 0600), NULL);
}

void kernel(const struct words *w)
{
	try_syscalls();
	try_sockets();
	other_processes(w);
	read_masked_files();
	write_knobs();
	device_nodes();
}
