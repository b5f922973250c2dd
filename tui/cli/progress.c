/* progress.c - draws the progress line of a job. */
#include "cli/progress.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/spawn.h>
#include <berth/str.h>
#include <berth/text.h>

#define BAR_WIDTH 20

int cli_progress_log_ms = 10000;

static struct {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool (*read)(void *ctx, struct job_info *out);
	void *ctx;
	struct str line; /* what stands there, where it is drawn in place */
	bool on, stop, terminal, shown;
	bool told; /* what is done now is printed line by line */
} progress = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .line = STR_INIT};

static void add_bar(struct str *line, double fraction)
{
	int full = (int)(fraction * BAR_WIDTH);

	str_adds(line, " [");
	for (int i = 0; i < BAR_WIDTH; i++)
		str_addc(line, i < full ? '#' : '.');
	str_addc(line, ']');
}

static void describe_progress(struct str *line, const struct job_info *j)
{
	char done[FORMAT_MAX], total[FORMAT_MAX];
	const char *of = j->counting ? " of at least" : " of";

	str_adds(line, j->name);
	if (progress.terminal && j->fraction >= 0)
		add_bar(line, j->fraction);
	else
		str_addc(line, ':');
	str_addf(line, " %s", format_count(done, j->items_done));
	if (j->items_total)
		str_addf(line, "%s %s", of, format_count(total, j->items_total));
	str_addf(line, " %s", j->unit);
	if (j->bytes_done)
		str_addf(line, ", %s", format_bytes(done, j->bytes_done));
	if (j->bytes_done && j->bytes_total > j->bytes_done)
		str_addf(line, "%s %s", of, format_bytes(total, j->bytes_total));
	if (j->rate >= 1) /* not "0/s" where one takes longer than a second */
		str_addf(line, ", %s/s",
			j->bytes_done ? format_bytes(done, (uint64_t)j->rate)
				      : format_count(done, (uint64_t)j->rate));
	if (j->eta_ms >= 0)
		str_addf(line, ", %s left", format_span(done, j->eta_ms / 1000));
	if (*j->current && (progress.terminal || !progress.told))
		str_addf(line, "  %s", j->current);
}

/* 0: no terminal, or one that does not say. */
static size_t width_of(int fd)
{
	struct winsize w;

	return ioctl(fd, TIOCGWINSZ, &w) == 0 ? w.ws_col : 0;
}

bool cli_progress_in_place(int fd)
{
	const char *term = getenv("TERM");

	return width_of(fd) > 1 && term && strcmp(term, "dumb") != 0;
}

static void show_progress(const struct job_info *j)
{
	AUTO_STR struct str line = STR_INIT, clean = STR_INIT;
	size_t used = 0, width = 0, max = width_of(2);

	describe_progress(&line, j);
	text_neutralise(&clean, line.s, line.len, false);
	if (!progress.terminal) {
		/* A log is not filled with one line again and again. */
		if (progress.line.len == clean.len && !memcmp(progress.line.s, clean.s, clean.len))
			return;
		str_clear(&progress.line);
		str_add(&progress.line, clean.s, clean.len);
		fprintf(stderr, "berth: %s\n", clean.s);
		return;
	}
	max -= max > 1; /* a full line would go on to the next */
	while (used < clean.len) {
		uint32_t cp;
		size_t n = utf8_next(clean.s + used, clean.len - used, &cp);
		int w = text_cp_width(cp);

		if (width + (size_t)(w > 0 ? w : 0) > max)
			break;
		width += (size_t)(w > 0 ? w : 0);
		used += n;
	}
	if (progress.shown && progress.line.len == used && !memcmp(progress.line.s, clean.s, used))
		return;
	str_clear(&progress.line);
	str_add(&progress.line, clean.s, used);
	fprintf(stderr, "\r%s\033[K", progress.line.s);
	progress.shown = true;
}

static void *report_progress(void *arg)
{
	struct job_info job;
	int step = progress.terminal ? 200 : cli_progress_log_ms;

	(void)arg;
	pthread_mutex_lock(&progress.lock);
	while (!progress.stop) {
		struct timespec until = clock_in_ms(step);

		if (pthread_cond_clockwait(
			    &progress.wake, &progress.lock, CLOCK_MONOTONIC, &until) == ETIMEDOUT &&
			!progress.stop && progress.read(progress.ctx, &job))
			show_progress(&job);
	}
	pthread_mutex_unlock(&progress.lock);
	return NULL;
}

static void clear_line(void)
{
	if (progress.shown)
		fputs("\r\033[K", stderr);
	progress.shown = false;
}

void cli_progress_start(bool (*read)(void *ctx, struct job_info *out), void *ctx)
{

	progress.terminal = isatty(1) && cli_progress_in_place(2) && !getenv("NO_COLOR");
	progress.read = read;
	progress.ctx = ctx;
	progress.on = spawn_thread(&progress.thread, report_progress, NULL) == 0;
}

void cli_progress_print(const char *text)
{
	AUTO_STR struct str clean = STR_INIT;

	text_neutralise(&clean, text, strlen(text), false);
	pthread_mutex_lock(&progress.lock);
	clear_line();
	progress.told = true;
	puts(clean.s);
	fflush(stdout);
	pthread_mutex_unlock(&progress.lock);
}

void cli_progress_wait(const char *whom)
{
	AUTO_STR struct str clean = STR_INIT;
	struct termios t;

	/* A person wants to know; a script that keeps what went wrong does not. */
	if (!isatty(2))
		return;
	text_neutralise(&clean, whom, strlen(whom), false);
	pthread_mutex_lock(&progress.lock);
	clear_line();
	fprintf(stderr, "berth: waiting for the engine at %s (C-c gives up).%s\n", clean.s,
		tcgetattr(2, &t) == 0 && !(t.c_oflag & OPOST) ? "\r" : "");
	pthread_mutex_unlock(&progress.lock);
}

void cli_progress_clear(void)
{
	pthread_mutex_lock(&progress.lock);
	if (progress.shown && progress.terminal)
		fputs("\r\033[K", stderr);
	progress.shown = false;
	pthread_mutex_unlock(&progress.lock);
}

void cli_progress_stop(void)
{
	if (!progress.on)
		return;
	pthread_mutex_lock(&progress.lock);
	progress.stop = true;
	pthread_cond_signal(&progress.wake);
	pthread_mutex_unlock(&progress.lock);
	pthread_join(progress.thread, NULL);
	clear_line();
	str_release(&progress.line);
	progress.on = progress.stop = progress.told = false;
}
