/* processes.c - check 51: the trees that a time-out must end, one by its name; and 53, short children. */
#include "inside.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void sleep_forever(void)
{
	for (;;)
		pause();
}

/* A grandchild in a session of its own whose parent is gone. */
static void start_daemon(void)
{
	if (fork() == 0) {
		setsid();
		if (fork() == 0)
			sleep_forever();
		_exit(0);
	}
	wait(NULL);
}

static void ignore_all(void)
{
	for (int sig = 1; sig < 65; sig++)
		signal(sig, SIG_IGN);
}

static void short_children(int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			if (fork() == 0) /* nobody of ours waits for this one */
				_exit(0);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	printf("%d children\n", n);
}

void trees(const struct words *w)
{
	const char *what = word_or(w, 0, "");

	if (!strcmp(what, "children")) {
		short_children(atoi(word_or(w, 1, "1000")));
		return;
	}
	if (!strcmp(what, "sleep")) {
		;
	} else if (!strcmp(what, "child")) {
		if (fork() == 0)
			sleep_forever();
	} else if (!strcmp(what, "setsid")) {
		if (fork() == 0) {
			setsid();
			sleep_forever();
		}
	} else if (!strcmp(what, "double-fork")) {
		start_daemon();
	} else if (!strcmp(what, "ignores")) {
		ignore_all();
		start_daemon();
	} else if (!strcmp(what, "stopped")) {
		if (fork() == 0) {
			raise(SIGSTOP);
			sleep_forever();
		}
	} else if (!strcmp(what, "stops-itself")) {
		raise(SIGSTOP);
	} else if (!strcmp(what, "subreaper")) {
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		start_daemon();
	} else if (!strcmp(what, "refork")) {
		/* A chain that is always elsewhere: each one lives just long enough to make the next. */
		if (fork() == 0)
			for (;;) {
				if (fork() > 0)
					_exit(0);
				setsid();
			}
	} else if (!strcmp(what, "holds-stdout")) {
		/* The command ends at once; a child of it keeps the output open. */
		if (fork() == 0) {
			setsid();
			sleep_forever();
		}
		return;
	}
	sleep_forever();
}
