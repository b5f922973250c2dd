/* progress.c - the line that says how far a job is: where it is drawn in place, and how often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdatomic.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/progress.h"

static void test_in_place(void **state)
{
	struct winsize size = {.ws_row = 24, .ws_col = 80};
	int side, tty, ends[2];

	(void)state;
	assert_int_equal(openpty(&side, &tty, NULL, NULL, NULL), 0);
	assert_int_equal(pipe(ends), 0);
	setenv("TERM", "vt220", 1);
	assert_false(cli_progress_in_place(ends[1]));
	assert_false(cli_progress_in_place(tty)); /* no size: a serial console */
	assert_int_equal(ioctl(side, TIOCSWINSZ, &size), 0);
	assert_true(cli_progress_in_place(tty));
	setenv("TERM", "dumb", 1);
	assert_false(cli_progress_in_place(tty));
	unsetenv("TERM");
	assert_false(cli_progress_in_place(tty));
	close(ends[0]);
	close(ends[1]);
	close(side);
	close(tty);
}

static atomic_int reads;

/* Half done, and then nothing moves until it is almost done. */
static bool read_job(void *ctx, struct job_info *out)
{
	(void)ctx;
	*out = (struct job_info){.items_total = 4, .eta_ms = -1};
	out->items_done = atomic_fetch_add(&reads, 1) < 4 ? 2 : 3;
	out->fraction = (double)out->items_done / 4;
	snprintf(out->name, sizeof out->name, "up");
	snprintf(out->unit, sizeof out->unit, "agents");
	return true;
}

/* Somebody still counts. */
static bool read_counted_job(void *ctx, struct job_info *out)
{
	(void)ctx;
	*out = (struct job_info){.items_done = 3,
		.items_total = 20,
		.bytes_done = 1024,
		.bytes_total = 8192,
		.counting = true,
		.rate = -1,
		.eta_ms = -1,
		.fraction = -1};
	snprintf(out->name, sizeof out->name, "copy site");
	snprintf(out->unit, sizeof out->unit, "entries");
	return true;
}

/* What has come out, waiting for the first bytes only. */
static size_t drain_progress(int fd, char *buf, size_t cap)
{
	struct pollfd p = {fd, POLLIN, 0};
	size_t len = 0;

	while (len < cap - 1 && poll(&p, 1, len ? 0 : 20000) > 0) {
		ssize_t n = read(fd, buf + len, cap - 1 - len);

		if (n <= 0)
			break;
		len += (size_t)n;
	}
	buf[len] = '\0';
	return len;
}

static int count_drawings(const char *text, const char *what)
{
	int n = 0;

	for (const char *s = text; (s = strstr(s, what)); s++)
		n++;
	return n;
}

/* What has not changed is not drawn again. */
static void test_drawn_once(void **state)
{
	struct winsize size = {.ws_row = 24, .ws_col = 60};
	int side, tty, out = dup(1), err = dup(2);
	char text[8192];

	(void)state;
	assert_int_equal(openpty(&side, &tty, NULL, NULL, &size), 0);
	setenv("TERM", "vt220", 1);
	unsetenv("NO_COLOR");
	dup2(tty, 1);
	dup2(tty, 2);
	cli_progress_start(read_job, NULL);
	while (atomic_load(&reads) < 8)
		poll(NULL, 0, 10);
	cli_progress_stop();
	dup2(out, 1);
	dup2(err, 2);
	drain_progress(side, text, sizeof text);
	assert_int_equal(
		count_drawings(text, "\rup [##########..........] 2 of 4 agents\033[K"), 1);
	assert_int_equal(
		count_drawings(text, "\rup [###############.....] 3 of 4 agents\033[K"), 1);
	assert_int_equal(count_drawings(text, "\r"), 3); /* and taken away */
	close(out);
	close(err);
	close(side);
	close(tty);
}

/* A total that grows still is told as "at least", without a bar. */
static void test_counted(void **state)
{
	struct winsize size = {.ws_row = 24, .ws_col = 80};
	int side, tty, out = dup(1), err = dup(2);
	char text[4096];

	(void)state;
	assert_int_equal(openpty(&side, &tty, NULL, NULL, &size), 0);
	setenv("TERM", "vt220", 1);
	dup2(tty, 1);
	dup2(tty, 2);
	cli_progress_start(read_counted_job, NULL);
	drain_progress(side, text, sizeof text);
	cli_progress_stop();
	dup2(out, 1);
	dup2(err, 2);
	assert_non_null(
		strstr(text, "\rcopy site: 3 of at least 20 entries, 1.0K of at least 8.0K\033[K"));
	close(out);
	close(err);
	close(side);
	close(tty);
}

static bool read_step(void *ctx, struct job_info *out)
{
	read_job(ctx, out);
	snprintf(out->current, sizeof out->current, "RUN make");
	return true;
}

/* In a log each line stands once, and what is printed line by line is not told again. */
static void test_in_a_log(void **state)
{
	int ends[2], out = dup(1), err = dup(2);
	char text[4096];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], 1);
	dup2(ends[1], 2);
	cli_progress_log_ms = 20;
	atomic_store(&reads, 0);
	cli_progress_start(read_step, NULL);
	while (atomic_load(&reads) < 3)
		poll(NULL, 0, 5);
	cli_progress_print("Step 1/4 : RUN make");
	while (atomic_load(&reads) < 9)
		poll(NULL, 0, 5);
	cli_progress_stop();
	cli_progress_log_ms = 10000;
	dup2(out, 1);
	dup2(err, 2);
	close(ends[1]);
	drain_progress(ends[0], text, sizeof text);
	assert_int_equal(count_drawings(text, "berth: up: 2 of 4 agents  RUN make\n"), 1);
	assert_int_equal(count_drawings(text, "Step 1/4 : RUN make\n"), 1);
	assert_int_equal(count_drawings(text, "berth: up: 3 of 4 agents\n"), 1);
	assert_int_equal(count_drawings(text, "RUN make"), 2);
	close(ends[0]);
	close(out);
	close(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_drawn_once),
		cmocka_unit_test(test_counted),
		cmocka_unit_test(test_in_a_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
