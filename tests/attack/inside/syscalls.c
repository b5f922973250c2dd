/*
 * syscalls.c - the seccomp profile, call by call.
 *
 * Trying a call for real has effects, and its own errors look like the profile's.  So a second filter is
 * put on top that answers SECCOMP_RET_TRACE to everything: without a tracer the kernel then skips the call
 * and returns ENOSYS, but an errno of the container's profile goes before it.  What comes back is the
 * profile's answer, and no call is ever made.  (clone3, which the profile answers with ENOSYS, is called for
 * real in identity.c.)
 *
 * Prints "NAME NUMBER ERRNO" for every call, and "socket:FAMILY", "clone:FLAG", "personality:VALUE", "ioctl:REQUEST",
 * "fcntl:COMMAND" for those
 * whose arguments count; the host compares with configs/seccomp.json.
 */
#include "inside.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
	const char *name;
	int number;
} names[] = {
#include "syscalls.inc"
};

#define CALLS 640
#define FAMILIES 64
static const unsigned long personalities[] = {
	0, 8, 0x20000, 0x20008, 0xffffffff, 0x0040000, 6, 0x0400000};
/* Out of a project; the same with bits that the kernel drops; and what differs in little. */
static const unsigned long requests[] = {0x401c5820, 0x40086602, 0x40046602, 0x1401c5820,
	0xff00000040086602, 0x801c581f, 0x401c5821, 0x401c5822, 0x40086603, 0x40086601, 0x400c6602,
	0x80086601, 0xc01c5820, 0x5401, 0x5413, 0x541b, 0x5421, 0x40049409, 0x4020940d, 0xffffffff};
#define REQUESTS (sizeof requests / sizeof *requests)
/* F_SETLEASE and F_SETDELEG, also with bits that the kernel drops; and what programs use. */
static const unsigned long commands[] = {1024, 1040, 0x100000400, 0xff00000000000410, 0, 1, 2, 3, 4,
	5, 6, 7, 8, 9, 10, 11, 15, 16, 36, 37, 38, 1025, 1026, 1027, 1028, 1030, 1031, 1032, 1033,
	1034, 1035, 1036, 1039, 0xffffffff};
#define COMMANDS (sizeof commands / sizeof *commands)

struct answers {
	int call[CALLS], socket[FAMILIES], clone[32], personality[8], ioctl[REQUESTS],
		fcntl[COMMANDS];
	bool complete;
};

/* Only exit_group is left to its own: the child must end. */
static int trace_everything(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
	};
	struct sock_fprog program = {4, code};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int ask_kernel(long number, unsigned long first)
{
	return syscall(number, first, 0, 0, 0, 0, 0) == -1 ? errno : 0;
}

/* x86's uretprobe and uprobe go by every filter (the kernel's own trampolines use them), and end whoever calls
 * them from elsewhere with SIGILL. */
static bool passes_filters(int number)
{
#if defined __x86_64__
	return number == 335 || number == 336;
#else
	(void)number;
	return false;
#endif
}

static void ask_all_calls(struct answers *a)
{
	if (trace_everything())
		return;
	for (int i = 0; i < CALLS; i++)
		a->call[i] = i == SYS_exit_group || passes_filters(i) ? ENOSYS : ask_kernel(i, 0);
	for (int i = 0; i < FAMILIES; i++)
		a->socket[i] = ask_kernel(SYS_socket, (unsigned long)i);
	for (int i = 0; i < 32; i++)
		a->clone[i] = ask_kernel(SYS_clone, 1UL << i);
	for (size_t i = 0; i < 8; i++)
		a->personality[i] = ask_kernel(SYS_personality, personalities[i]);
	for (size_t i = 0; i < REQUESTS; i++)
		a->ioctl[i] = syscall(SYS_ioctl, 0, requests[i], 0, 0, 0, 0) == -1 ? errno : 0;
	for (size_t i = 0; i < COMMANDS; i++)
		a->fcntl[i] = syscall(SYS_fcntl, 0, commands[i], 0, 0, 0, 0) == -1 ? errno : 0;
	a->complete = true;
}

static const char *errno_word(int e)
{
	return e ? strerrorname_np(e) : "0";
}

#if defined __x86_64__
/* The 32-bit entries: a profile for one architecture must not be walked around by another's numbers. */
static void other_entries(void)
{
	static const struct {
		const char *name;
		int eax;
	} calls[] = {{"i386:getpid", 20}, {"i386:mount", 21}};

	for (size_t i = 0; i < 2; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			long r;

			__asm__ volatile("int $0x80"
					 : "=a"(r)
					 : "a"((long)calls[i].eax), "b"(0), "c"(0), "d"(0)
					 : "memory");
			_exit(r >= 0 ? 1 : 0);
		}
		waitpid(pid, &status, 0);
		printf("%s %d %s\n", calls[i].name, calls[i].eax,
			WIFSIGNALED(status) || !WEXITSTATUS(status) ? "refused" : "WORKED");
	}
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(syscall(0x40000000 | 39) > 0);
	waitpid(pid, &status, 0);
	printf("x32:getpid 39 %s\n",
		WIFSIGNALED(status) || !WEXITSTATUS(status) ? "refused" : "WORKED");
}
#else
static void other_entries(void)
{
}
#endif

void syscalls(const struct words *w)
{
	struct answers *a =
		mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;
	int status = 0;

	(void)w;
	if (a == MAP_FAILED)
		abort();
	memset(a, 0, sizeof *a);
	pid = fork();
	if (pid == 0) {
		ask_all_calls(a);
		syscall(SYS_exit_group, 0);
	}
	waitpid(pid, &status, 0);
	if (!a->complete) {
		printf("incomplete: status %x\n", (unsigned)status);
		return;
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (names[i].number < CALLS)
			printf("%s %d %s\n", names[i].name, names[i].number,
				errno_word(a->call[names[i].number]));
	/* Calls newer than this program's headers have numbers only. */
	for (int i = 0; i < CALLS; i++) {
		bool named = false;

		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			named |= names[k].number == i;
		if (!named)
			printf("unnamed %d %s\n", i, errno_word(a->call[i]));
	}
	for (int i = 0; i < FAMILIES; i++)
		printf("socket:%d %d %s\n", i, SYS_socket, errno_word(a->socket[i]));
	for (int i = 0; i < 32; i++)
		printf("clone:%lu %d %s\n", 1UL << i, SYS_clone, errno_word(a->clone[i]));
	for (size_t i = 0; i < 8; i++)
		printf("personality:%lu %d %s\n", personalities[i], SYS_personality,
			errno_word(a->personality[i]));
	for (size_t i = 0; i < REQUESTS; i++)
		printf("ioctl:%lu %d %s\n", requests[i], SYS_ioctl, errno_word(a->ioctl[i]));
	for (size_t i = 0; i < COMMANDS; i++)
		printf("fcntl:%lu %d %s\n", commands[i], SYS_fcntl, errno_word(a->fcntl[i]));
	other_entries();
}
