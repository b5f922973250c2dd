/* tty.c - handles the signals of a terminal program, and restores the terminal from any of them. */
#include "terminal/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <berth/check.h>
#include <berth/file.h>
#include <berth/mem.h>

static const int polled[] = {SIGWINCH, SIGCONT, SIGTSTP, SIGTERM, SIGHUP, SIGINT};
/* All else that ends a program unless it is caught; its parent still learns which it was. */
static const int fatal[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGTRAP, SIGSYS,
	SIGXCPU, SIGXFSZ, SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2};

static struct {
	struct termios modes;
	bool saved;
	char restore[512];
	size_t nrestore;
	int pipe[2];
	struct sigaction before[COUNT(polled)], before_fatal[COUNT(fatal)];
	volatile sig_atomic_t pending[COUNT(polled)];
	atomic_bool armed;              /* the terminal is ours and must be given back */
	_Alignas(16) char stack[65536]; /* a stack overflow must still be able to restore */
} own;

/* Async-signal-safe: nothing but write and tcsetattr. */
static void restore_terminal(void)
{
	int before = errno;

	if (!atomic_exchange(&own.armed, false))
		return;
	for (size_t done = 0; done < own.nrestore;) {
		ssize_t n = write(STDOUT_FILENO, own.restore + done, own.nrestore - done);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	if (own.saved)
		tcsetattr(STDIN_FILENO, TCSANOW, &own.modes);
	errno = before;
}

static void on_fatal(int sig)
{
	restore_terminal();
	/* SA_RESETHAND made the default action the next one. */
	raise(sig);
}

static void on_polled(int sig)
{
	int before = errno;

	for (size_t i = 0; i < COUNT(polled); i++)
		if (polled[i] == sig)
			own.pending[i] = 1;
	/* Full is as good as written: somebody is yet to read. */
	if (write(own.pipe[1], "", 1) < 0)
		errno = before;
	errno = before;
}

void terminal_open(void)
{
	struct sigaction poll_action = {.sa_handler = on_polled, .sa_flags = SA_RESTART};
	struct sigaction die_action = {
		.sa_handler = on_fatal, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER | SA_ONSTACK)};
	stack_t stack = {.ss_sp = own.stack, .ss_size = sizeof own.stack};

	own.saved = tcgetattr(STDIN_FILENO, &own.modes) == 0;
	own.nrestore = 0;
	CHECK(pipe2(own.pipe, O_CLOEXEC | O_NONBLOCK) == 0);
	sigemptyset(&poll_action.sa_mask);
	sigemptyset(&die_action.sa_mask);
	sigaltstack(&stack, NULL);
	for (size_t i = 0; i < COUNT(polled); i++) {
		own.pending[i] = 0;
		sigaction(polled[i], &poll_action, &own.before[i]);
	}
	for (size_t i = 0; i < COUNT(fatal); i++)
		sigaction(fatal[i], &die_action, &own.before_fatal[i]);
}

void terminal_close(void)
{
	stack_t none = {.ss_flags = SS_DISABLE};

	check_on_die(NULL);
	atomic_store(&own.armed, false);
	for (size_t i = 0; i < COUNT(fatal); i++)
		sigaction(fatal[i], &own.before_fatal[i], NULL);
	for (size_t i = 0; i < COUNT(polled); i++)
		sigaction(polled[i], &own.before[i], NULL);
	sigaltstack(&none, NULL);
	if (own.saved)
		tcsetattr(STDIN_FILENO, TCSANOW, &own.modes);
	close(own.pipe[0]);
	close(own.pipe[1]);
}

void terminal_restore_add(const char *bytes)
{
	/* Padding ($<5>) is for terminals of another time. */
	while (*bytes && own.nrestore < sizeof own.restore) {
		if (bytes[0] == '$' && bytes[1] == '<') {
			const char *end = strchr(bytes, '>');

			if (end) {
				bytes = end + 1;
				continue;
			}
		}
		own.restore[own.nrestore++] = *bytes++;
	}
}

void terminal_restore_arm(void)
{
	atomic_store(&own.armed, true);
	check_on_die(restore_terminal);
}

void terminal_write(const char *text)
{
	(void)file_write(STDOUT_FILENO, text, strlen(text));
}

void terminal_raw(void)
{
	struct termios t;

	if (!own.saved)
		return;
	t = own.modes;
	cfmakeraw(&t);
	tcsetattr(STDIN_FILENO, TCSANOW, &t);
}

void terminal_stop(void)
{
	struct sigaction stop = {.sa_handler = SIG_DFL}, ours;

	if (own.saved)
		tcsetattr(STDIN_FILENO, TCSANOW, &own.modes);
	sigaction(SIGTSTP, &stop, &ours);
	/* The group, as the terminal itself would: a script that started us stops too. */
	kill(0, SIGTSTP);
	sigaction(SIGTSTP, &ours, NULL);
}

int terminal_signal_fd(void)
{
	return own.pipe[0];
}

int terminal_signal(void)
{
	char drop[64];

	while (read(own.pipe[0], drop, sizeof drop) > 0)
		;
	for (size_t i = 0; i < COUNT(polled); i++) {
		if (own.pending[i]) {
			own.pending[i] = 0;
			return polled[i];
		}
	}
	return 0;
}
