/* guest.c - attacks on the init and on what watches over a command, one at a time by its name. */
#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define NUMBER 0 /* the host knows these attacks by name */

static void wait_forever(void)
{
	for (;;)
		pause();
}

/* Something that does not want to go, in a session of its own. */
static void leave_child_behind(void)
{
	if (fork() == 0) {
		setsid();
		for (int sig = 1; sig < 65; sig++)
			signal(sig, SIG_IGN);
		wait_forever();
	}
}

static void every_signal(void)
{
	for (int sig = 1; sig < 65; sig++)
		kill(1, sig);
	usleep(300000); /* an init that takes one of them to heart would be gone by then, and we with it */
	report(NUMBER, kill(1, 0) == 0, "process 1 is there");
}

static void look_into(pid_t pid)
{
	static const char *const parts[] = {"mem", "environ", "maps", "auxv", "stack", "syscall",
		"io", "fd/3", "fd/4", "fd/5", "cwd/x", "root/x", "exe/x", "ns/mnt", "map_files"};
	char path[64], what[96];

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		char byte;

		snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, parts[i]);
		snprintf(what, sizeof what, "%s", path);
		refused(NUMBER, what,
			slurp(path, &byte, 1) < 0          ? -1
				: open(path, O_RDONLY) < 0 ? -1
							   : 0,
			NULL);
	}
	refused(NUMBER, "ptrace", ptrace(PTRACE_SEIZE, pid, 0, 0), NULL);
}

/* What the init has of the host, and where it looks for the host: speak as that would, take it away, put
 * something else in its place. */
static void berths_own(void)
{
	static const char *const names[] = {"/.berth/boot", "/.berth/init", "/.berth"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct sockaddr_un at = {.sun_family = AF_UNIX};
		int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

		snprintf(at.sun_path, sizeof at.sun_path, "%s", names[i]);
		refused(NUMBER, "connect", connect(fd, (struct sockaddr *)&at, sizeof at), NULL);
		refused(NUMBER, "unlink", unlink(names[i]), NULL);
		refused(NUMBER, "chmod", chmod(names[i], 0777), NULL);
		refused(NUMBER, "bind in its place", bind(fd, (struct sockaddr *)&at, sizeof at),
			NULL);
		snprintf(at.sun_path, sizeof at.sun_path, "/.berth/other%zu", i);
		refused(NUMBER, "bind beside it", bind(fd, (struct sockaddr *)&at, sizeof at),
			NULL);
		refused(NUMBER, "rename", rename(names[i], "/old"), NULL);
		refused(NUMBER, "rename over it", rename("/tmp", names[i]), NULL);
		refused(NUMBER, "exchange",
			renameat2(AT_FDCWD, "/tmp", AT_FDCWD, names[i], RENAME_EXCHANGE), NULL);
		refused(NUMBER, "write", open(names[i], O_WRONLY), NULL);
		refused(NUMBER, "mount over it", mount("/tmp", names[i], NULL, MS_BIND, NULL),
			NULL);
		refused(NUMBER, "unmount", umount2(names[i], MNT_DETACH), NULL);
		close(fd);
	}
	refused(NUMBER, "remove the directory", rmdir("/.berth"), NULL);
	refused(NUMBER, "a link in it", symlink("/tmp", "/.berth/lane"), NULL);
	report(NUMBER, !access("/.berth/init", X_OK), "the init is where it was");
}

/* Memory that no process owns: queues, segments, pipes in flight. */
static void hoard_memory(void)
{
	static char block[1 << 20];
	long n = 0;
	int pair[2];

	for (; n < 4096; n++) {
		int id = shmget(IPC_PRIVATE, 4 << 20, IPC_CREAT | 0600);
		char *p = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

		if (p == (void *)-1)
			break;
		memset(p, 1, 4 << 20);
		shmdt(p);
	}
	for (n = 0; n < 4096 && msgget(IPC_PRIVATE, IPC_CREAT | 0600) >= 0; n++)
		;
	while (!pipe(pair)) {
		fcntl(pair[1], F_SETPIPE_SZ, 1 << 20);
		fcntl(pair[1], F_SETFL, O_NONBLOCK);
		if (write(pair[1], block, sizeof block) < 0)
			break;
	}
	wait_forever();
}

/* Give the standard output to a process of another command: `keep NAME` waits for it, `give NAME` hands it over. */
static void pass_output(const char *path, bool give)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char byte = 'x', space[CMSG_SPACE(sizeof(int))];
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof space};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), one = 1;

	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	if (!give) {
		unlink(path);
		if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 1))
			exit(1);
		puts("ready");
		fflush(stdout);
		fd = accept(fd, NULL, NULL);
		if (recvmsg(fd, &m, 0) > 0)
			wait_forever();
		return;
	}
	if (connect(fd, (struct sockaddr *)&at, sizeof at))
		exit(1);
	memset(space, 0, sizeof space);
	CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
	CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
	CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &one, sizeof one);
	sendmsg(fd, &m, 0);
	puts("given");
}

void guest(const struct words *w)
{
	const char *what = word_or(w, 0, "");

	if (!strcmp(what, "signals")) {
		every_signal();
	} else if (!strcmp(what, "kill-all")) {
		kill(-1, SIGKILL);
		wait_forever();
	} else if (!strcmp(what, "kill-supervisor")) {
		leave_child_behind();
		kill(getppid(), SIGKILL);
		wait_forever();
	} else if (!strcmp(what, "stop-supervisor")) {
		leave_child_behind();
		for (;;)
			kill(getppid(), SIGSTOP);
	} else if (!strcmp(what, "stop-all")) {
		leave_child_behind();
		kill(-1, SIGSTOP);
		wait_forever();
	} else if (!strcmp(what, "chain")) {
		/* Kill the supervisor, then be always elsewhere. */
		kill(getppid(), SIGKILL);
		for (;;) {
			if (fork() > 0)
				_exit(0);
			setsid();
		}
	} else if (!strcmp(what, "look")) {
		look_into(1);
		look_into(getppid());
	} else if (!strcmp(what, "own")) {
		berths_own();
	} else if (!strcmp(what, "hoard")) {
		hoard_memory();
	} else if (!strcmp(what, "keep")) {
		pass_output(word_or(w, 1, "/tmp/pass"), false);
	} else if (!strcmp(what, "give")) {
		pass_output(word_or(w, 1, "/tmp/pass"), true);
	}
}
