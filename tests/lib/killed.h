/*
 * killed.h - kill -9 at any system call: something runs in a child under ptrace and is ended there.
 *
 * Header only.  What is run must stay in one thread.
 */
#ifndef TESTS_LIB_KILLED_H
#define TESTS_LIB_KILLED_H

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* Run `what` in a child and kill it before its k-th system call, after before_kill() (or NULL).  true: it
 * was killed, false: it came to its end first. */
static inline bool killed_at(int k, void (*what)(void), void (*before_kill)(void))
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
	for (int stops = 0;;) {
		ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
		waitpid(pid, &status, 0);
		if (WIFEXITED(status) || WIFSIGNALED(status))
			return false;
		/* Entries and exits alternate; k counts entries. */
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) && stops++ == 2 * k) {
			if (before_kill)
				before_kill();
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return true;
		}
	}
}

#endif
