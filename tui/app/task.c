/* task.c - runs a command as a process and reads its output. */
#include "app/task.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/spawn.h>

/* One word in place: `*in` goes on behind it.  NULL: a quote is not closed. */
static char *cut_word(char **in)
{
	char *from = *in, *to = from, *at = from, quote = '\0';

	for (; *at && (quote || *at != ' '); at++) {
		if (quote && *at == quote)
			quote = '\0';
		else if (!quote && (*at == '"' || *at == '\''))
			quote = *at;
		else if (*at == '\\' && quote != '\'' && at[1])
			*to++ = *++at;
		else
			*to++ = *at;
	}
	*in = *at ? at + 1 : at;
	*to = '\0';
	return quote ? NULL : from;
}

int task_words(char *line, const char *words[TASK_WORDS_MAX], struct err *e)
{
	int n = 0;

	for (char *at = line + strspn(line, " "); *at; at += strspn(at, " ")) {
		if (n == TASK_WORDS_MAX)
			return err_set(e, ERR_USAGE, "more than %d words", TASK_WORDS_MAX);
		words[n] = cut_word(&at);
		if (!words[n++])
			return err_set(e, ERR_USAGE, "a quote is not closed");
	}
	return n;
}

static int spawn_task(struct task *t, const char *const *argv, int out, struct err *e)
{
	char path[PATH_MAX];
	/* A group of its own: what the terminal sends to us is not for it. */
	struct spawn p = {.path = path, .argv = argv, .out = out, .err = out, .apart = SPAWN_GROUP};
	int rc;

	if (runtime_program(argv[0], path, e) < 0)
		return -1;
	rc = spawn_start(&p, &t->pid);
	if (rc == 0) {
		t->end = pidfd_open(t->pid, 0);
		return 0;
	}
	t->pid = 0;
	return err_sys(e, rc, "cannot start %s", path);
}

struct task *task_start(const char *title, const char *const *argv, struct err *e)
{
	struct task *t;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0) {
		err_sys(e, errno, "cannot make a pipe");
		return NULL;
	}
	t = xcalloc(1, sizeof *t);
	t->users = 1;
	t->fd = ends[0];
	t->end = -1;
	str_init(&t->text);
	snprintf(t->title, sizeof t->title, "%s", title);
	fcntl(t->fd, F_SETFL, O_NONBLOCK);
	if (spawn_task(t, argv, ends[1], e) < 0)
		task_unref(STEAL(t));
	close(ends[1]);
	return t;
}

bool task_ended(const struct task *t)
{
	return t->pid == 0 && t->fd < 0;
}

int task_fd(const struct task *t)
{
	return t->fd >= 0 ? t->fd : t->end;
}

bool task_read(struct task *t)
{
	bool was = task_ended(t), any = false;
	char buf[65536];
	int status;

	for (int i = 0; i < 16 && t->fd >= 0; i++) {
		ssize_t n = read(t->fd, buf, sizeof buf);
		size_t room = TASK_TEXT_MAX - t->text.len;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n <= 0) {
			close(t->fd);
			t->fd = -1;
			break;
		}
		any = true;
		t->cut |= (size_t)n > room;
		str_add(&t->text, buf, (size_t)n < room ? (size_t)n : room);
	}
	if (t->fd < 0 && t->pid && waitpid(t->pid, &status, WNOHANG) == t->pid) {
		t->pid = 0;
		t->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return any || was != task_ended(t);
}

void task_stop(struct task *t)
{
	if (t->pid)
		kill(t->pid, SIGTERM);
}

struct task *task_ref(struct task *t)
{
	t->users++;
	return t;
}

void task_unref(struct task *t)
{
	if (!t || --t->users > 0)
		return;
	task_stop(t);
	if (t->fd >= 0)
		close(t->fd);
	if (t->end >= 0)
		close(t->end);
	str_release(&t->text);
	free(t->line);
	free(t);
}
