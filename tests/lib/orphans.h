/*
 * orphans.h - a test that gets its commands' orphans waits for their end, and tells which does not come.
 *
 * Header only.  What signs the log behind a command goes on for a moment; the test is its subreaper.
 */
#ifndef TESTS_LIB_ORPHANS_H
#define TESTS_LIB_ORPHANS_H

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* 0: all have ended within 45 s, of the minute that a test has. */
static inline int orphans_wait(void)
{
	char command[64];
	pid_t pid = 0;

	for (int i = 0; i < 45000 && pid == 0; i++) {
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid == 0)
			poll(NULL, 0, 1);
	}
	if (pid < 0)
		return 0;
	snprintf(command, sizeof command, "ps -o pid,etimes,stat,wchan:32,args --ppid %d",
		(int)getpid());
	return system(command) ? -2 : -1;
}

#endif
