/* save.c - runs `berth workspace checkpoint`, so that programs that must start fast need not link the store. */
#include "run/save.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/spawn.h>

#define SAID_MAX 1024

/* The end of what it says, which is its sentence. */
static void read_said(int fd, char said[SAID_MAX])
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, said + len, SAID_MAX - 1 - len)) > 0 || (n < 0 && errno == EINTR)) {
		len += n > 0 ? (size_t)n : 0;
		if (len > SAID_MAX / 2) {
			memmove(said, said + len - SAID_MAX / 2, SAID_MAX / 2);
			len = SAID_MAX / 2;
		}
	}
	while (len && said[len - 1] == '\n')
		len--;
	said[len] = '\0';
}

static const char *find_sentence(const char *said)
{
	const char *line = strrchr(said, '\n');

	line = line ? line + 1 : said;
	return strncmp(line, "berth: ", 7) ? line : line + 7;
}

int save_workspace(
	const struct rulebook_save *s, const char *host, const char *context, struct err *e)
{
	char path[PATH_MAX], keep[16], said[SAID_MAX];
	const char *argv[] = {"berth", "workspace", "checkpoint", "--auto", keep, s->workspace,
		host              ? "--host"
			: context ? "--context"
				  : NULL,
		host ? host : context, NULL};
	int status = 1, rc, p[2];
	AUTO_CLOSE int from = -1;
	pid_t pid;

	if (runtime_program("berth-files", path, e))
		return -1;
	if (pipe2(p, O_CLOEXEC) < 0)
		return err_sys(e, errno, "cannot make a pipe");
	snprintf(keep, sizeof keep, "%u", s->keep);
	from = p[0];
	rc = spawn_start(&(struct spawn){.path = path, .argv = argv, .err = p[1]}, &pid);
	close(p[1]);
	if (rc)
		return err_sys(e, rc, "cannot start %s", path);
	read_said(from, said);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && !WEXITSTATUS(status)
		? 0
		: err_set(e, ERR_FAILED,
			  "it was not run because no checkpoint of %s could be created before it: %.400s",
			  s->workspace, *said ? find_sentence(said) : "it was ended.");
}
