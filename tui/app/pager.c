/*
 * pager.c - `|`: shows the view's text in the user's pager, which has the terminal until it exits.
 *
 * It reads a file that lies in memory alone, and text without anything that a terminal obeys, so `less -R` is as safe
 * as `less`.  It is a group of its own in the foreground: C-c is for it, not for us.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/check.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/spawn.h>
#include <berth/text.h>

#include "app/app_state.h"

#define STOPPED_MS 200 /* how soon one that was stopped by C-z goes on */

/* Line by line without what a terminal obeys; a descriptor at its beginning, -1 with errno. */
static int write_paged_text(const struct str *text)
{
	AUTO_CLOSE int fd = memfd_create("berth", MFD_CLOEXEC);
	AUTO_STR struct str clean = STR_INIT;

	for (size_t at = 0; at < text->len;) {
		const char *line = text->s + at, *end = memchr(line, '\n', text->len - at);
		size_t n = end ? (size_t)(end - line) : text->len - at;

		text_neutralise(&clean, line, n, false);
		str_addc(&clean, '\n');
		at += n + 1;
	}
	if (fd < 0 || file_write(fd, clean.s, clean.len) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return steal_fd(&fd);
}

/* What the view would save; -1: there is nothing, and that is said. */
static int open_paged_text(struct app *a)
{
	struct view *v = &app_top(a)->view;
	AUTO_STR struct str text = STR_INIT;
	struct err e = ERR_INIT;
	int fd;

	if (!v->ops->save || !v->ops->save(v, &text) || !text.len) {
		app_say(a, ROLE_DIM, "There is nothing here to show in a pager.");
		return -1;
	}
	fd = write_paged_text(&text);
	if (fd < 0) {
		err_sys(&e, errno, "The text cannot be handed to a pager");
		app_say(a, ROLE_BAD, "%s", e.msg);
	}
	return fd;
}

/* Whose C-c, C-z and input it is. */
static void give_terminal(pid_t group)
{
	sigset_t stop, before;

	/* Who is not in the foreground would be stopped for this. */
	sigemptyset(&stop);
	sigaddset(&stop, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &stop, &before);
	tcsetpgrp(STDIN_FILENO, group);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* true: it has ended. */
static bool has_pager_ended(pid_t pid, int *status)
{
	pid_t got = waitpid(pid, status, WNOHANG | WUNTRACED);

	if (got == pid && WIFSTOPPED(*status)) {
		/* Nobody could bring it back. */
		kill(-pid, SIGCONT);
		return false;
	}
	return got == pid || (got < 0 && errno != EINTR);
}

static void wait_for_pager(struct app *a, pid_t pid, int *status)
{
	AUTO_CLOSE int ended = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd fds[3] = {{.fd = ended, .events = POLLIN},
		{.fd = screen_signal_fd(a->screen), .events = POLLIN},
		{.fd = backend_fd(a->o->backend), .events = POLLIN}};
	struct input in;

	while (!has_pager_ended(pid, status)) {
		if (poll(fds, COUNT(fds), STOPPED_MS) < 0 && errno != EINTR)
			check_die("berth: cannot wait for a pager");
		if (fds[2].revents)
			app_drain(a);
		while (fds[1].revents && !a->quit && screen_signal(a->screen, true, &in))
			if (in.kind == INPUT_END) {
				a->quit = true;
				kill(-pid, SIGTERM);
			}
	}
}

void pager_run(struct app *a)
{
	static const char *const argv[] = {"sh", "-c", "exec ${PAGER:-less}", NULL};
	AUTO_CLOSE int text = open_paged_text(a);
	const struct spawn p = {.path = "sh",
		.argv = argv,
		.in = text,
		.out = STDOUT_FILENO,
		.err = STDERR_FILENO,
		.apart = SPAWN_GROUP};
	struct input size = {.kind = INPUT_RESIZE};
	int status = 0, bad;
	pid_t pid;

	a->paging = false;
	if (text < 0)
		return;
	screen_lend(a->screen);
	bad = spawn_start(&p, &pid);
	if (!bad) {
		give_terminal(pid);
		wait_for_pager(a, pid, &status);
		give_terminal(getpgrp());
	}
	screen_return(a->screen);
	screen_size(a->screen, &size.x, &size.y);
	app_input(a, &size);
	if (bad || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
		app_say(a, ROLE_WARN, "There is no pager: %s was not found; set $PAGER.",
			bad                       ? "sh"
				: getenv("PAGER") ? "what $PAGER says"
						  : "less");
}
