/* resources.c - checks 45 to 49: one of them at a time, by its name. */
#include "inside.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Forks until it cannot, every child too; the most at once is told by whoever sees the refusal. */
static void fork_bomb(void)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	puts("bomb");
	fflush(stdout);
	for (;;) {
		pid_t pid = fork();

		if (pid == 0)
			setsid();
		else if (pid < 0)
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
	}
}

static void eat_memory(void)
{
	for (;;) {
		char *p = mmap(
			NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return;
		memset(p, 1, 1 << 20);
	}
}

static void spin_cpus(double seconds)
{
	double until = now() + seconds;

	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			break;
	while (now() < until)
		;
	while (wait(NULL) > 0)
		;
}

void resources(const struct words *w)
{
	const char *what = word_or(w, 0, "");

	if (!strcmp(what, "fork-bomb"))
		fork_bomb();
	else if (!strcmp(what, "eat"))
		eat_memory();
	else if (!strcmp(what, "spin"))
		spin_cpus(atof(word_or(w, 1, "1")));
}
