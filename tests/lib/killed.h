/*
 * killed.h - kill -9 at any system call: something runs in a child under ptrace and is ended there.
 *
 * Header only.  What is run must stay in one thread, and may become another program.
 */
#ifndef TESTS_LIB_KILLED_H
#define TESTS_LIB_KILLED_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether the call before which it stands may change a file system, or must have done so when it returns. */
static inline bool killed_before_change(pid_t pid)
{
	static const long changes[] = {SYS_write, SYS_pwrite64, SYS_writev, SYS_pwritev,
		SYS_mkdirat, SYS_mknodat, SYS_renameat2, SYS_unlinkat, SYS_linkat, SYS_symlinkat,
		SYS_ftruncate, SYS_fallocate, SYS_copy_file_range, SYS_fchmod, SYS_fchmodat,
		SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_fsync, SYS_fdatasync, SYS_syncfs,
		SYS_ioctl,
#ifdef SYS_rename
		SYS_rename, SYS_renameat, SYS_mkdir, SYS_unlink, SYS_rmdir, SYS_chmod,
#endif
		SYS_flock};
	struct __ptrace_syscall_info i;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof i, &i) <= 0 ||
		i.op != PTRACE_SYSCALL_INFO_ENTRY)
		return false;
	if (i.entry.nr == SYS_openat)
		return i.entry.args[2] & (O_CREAT | O_TRUNC);
	for (size_t k = 0; k < sizeof changes / sizeof *changes; k++)
		if (i.entry.nr == (uint64_t)changes[k])
			return true;
	return false;
}

static inline bool killed_somewhere(
	int k, bool (*counts)(pid_t pid), void (*what)(void), void (*before_kill)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		what();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (!WIFSTOPPED(status))
		abort();
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	for (bool entry = true; true;) {
		ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
		waitpid(pid, &status, 0);
		if (WIFEXITED(status) || WIFSIGNALED(status))
			return false;
		if (WSTOPSIG(status) != (SIGTRAP | 0x80))
			continue;
		/* Entries and exits alternate. */
		if (entry && (!counts || counts(pid)) && k-- == 0) {
			if (before_kill)
				before_kill();
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return true;
		}
		entry = !entry;
	}
}

/* Run `what` in a child and kill it before its k-th system call, after before_kill() (or NULL).  true: it
 * was killed, false: it came to its end first. */
static inline bool killed_at(int k, void (*what)(void), void (*before_kill)(void))
{
	return killed_somewhere(k, NULL, what, before_kill);
}

/* The same before the k-th call that changes something. */
static inline bool killed_at_change(int k, void (*what)(void))
{
	return killed_somewhere(k, killed_before_change, what, NULL);
}

#endif
