/* confine.c - installs system call filters for processes that read an agent's data. */
#include <berth/confine.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <berth/mem.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0 /* its calls are not known here: confine_calls refuses */
#endif

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define END_IT BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define EQUALS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define REFUSED(call) EQUALS(SYS_##call, 0, 1), REFUSE

/* What begins a filter: another architecture's calls have other numbers, and x86's own second set has none of ours. */
#define BEGIN LOAD(arch), EQUALS(ARCHITECTURE, 1, 0), END_IT, LOAD(nr)
#ifdef __x86_64__
#define X32 BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), END_IT
/* What none of them has a use for: the calls that x86 alone has, and those of all. */
#define NEVER_X86 REFUSED(fork), REFUSED(vfork), REFUSED(symlink), REFUSED(chown), REFUSED(mknod)
#endif
#define NEVER                                                                            \
	REFUSED(execve), REFUSED(execveat), REFUSED(openat2), REFUSED(ptrace),           \
		REFUSED(process_vm_readv), REFUSED(process_vm_writev), REFUSED(kill),    \
		REFUSED(tkill), REFUSED(pidfd_send_signal), REFUSED(pidfd_getfd),        \
		REFUSED(symlinkat), REFUSED(mknodat), REFUSED(fchownat), REFUSED(mount), \
		REFUSED(unshare), REFUSED(setns), REFUSED(io_uring_setup), REFUSED(bpf), \
		REFUSED(perf_event_open), REFUSED(userfaultfd), REFUSED(keyctl), REFUSED(add_key)
/* Nor who has no network. */
#define NEVER_ALONE                                                                             \
	REFUSED(socket), REFUSED(socketpair), REFUSED(clone), REFUSED(clone3), REFUSED(chroot), \
		REFUSED(fchown), REFUSED(setxattr), REFUSED(fsetxattr), REFUSED(removexattr),   \
		REFUSED(open_by_handle_at)

static const struct sock_filter filter[] = {
	BEGIN,
#ifdef __x86_64__
	X32,
	NEVER_X86,
	REFUSED(open),
	REFUSED(creat),
	REFUSED(unlink),
	REFUSED(rename),
	REFUSED(link),
	REFUSED(mkdir),
	REFUSED(rmdir),
	REFUSED(chmod),
#endif
	NEVER,
	REFUSED(unlinkat),
	REFUSED(renameat2),
	REFUSED(linkat),
	REFUSED(mkdirat),
	REFUSED(fchmodat),
	/* Files: to be read. */
	EQUALS(SYS_openat, 0, 4),
	LOAD(args[2]),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1),
	REFUSE,
	ALLOW,
	/* Sockets: of the internet, and the kernel's own that lists addresses. */
	EQUALS(SYS_socket, 0, 5),
	LOAD(args[0]),
	EQUALS(AF_INET, 3, 0),
	EQUALS(AF_INET6, 2, 0),
	EQUALS(AF_NETLINK, 1, 0),
	REFUSE,
	ALLOW,
};

/* What a process without a network has no use for, either.  The one above holds, too. */
static const struct sock_filter alone[] = {
	LOAD(nr),
	NEVER_ALONE,
	REFUSED(truncate),
	REFUSED(ftruncate),
	REFUSED(fchmod),
	REFUSED(utimensat),
	ALLOW,
};

/* Who writes files in a directory that it cannot leave: these, and nothing else of the above. */
static const struct sock_filter writer[] = {
	BEGIN,
#ifdef __x86_64__
	X32,
	NEVER_X86,
	REFUSED(lchown),
#endif
	NEVER,
	NEVER_ALONE,
	REFUSED(lsetxattr),
	ALLOW,
};

static int install_filter(const struct sock_filter *f, size_t n, struct err *e)
{
	const struct sock_fprog program = {(unsigned short)n, (struct sock_filter *)f};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0)
		? err_sys(e, errno, "cannot filter system calls")
		: 0;
}

int confine_begin(struct err *e)
{
	const struct rlimit none = {0, 0};

	if (!ARCHITECTURE)
		return err_set(e, ERR_FAILED,
			"berth has no system call filter for this machine's architecture");
	if (setrlimit(RLIMIT_CORE, &none) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err_sys(e, errno, "cannot give up privileges");
	return 0;
}

static void let_read(int rules, const char *dir)
{
	AUTO_CLOSE int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct landlock_path_beneath_attr below = {
		.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
		.parent_fd = fd};

	if (fd >= 0)
		syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
}

int confine_files(const char *const *dirs, size_t n, struct err *e)
{
	/* All that the first version of Landlock knows. */
	const struct landlock_ruleset_attr all = {
		.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1};
	AUTO_CLOSE int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);

	if (rules < 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		let_read(rules, dirs[i]);
	return syscall(SYS_landlock_restrict_self, rules, 0)
		? err_sys(e, errno, "cannot give up its files")
		: 0;
}

int confine_calls(bool internet, struct err *e)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return err_sys(e, errno, "cannot protect its memory");
	return install_filter(filter, COUNT(filter), e) ||
			(!internet && install_filter(alone, COUNT(alone), e))
		? -1
		: 0;
}

int confine_writer(struct err *e)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return err_sys(e, errno, "cannot protect its memory");
	return install_filter(writer, COUNT(writer), e);
}
