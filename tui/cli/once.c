/* once.c - shared code of commands that query the engine once and print. */
#include <errno.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <berth/arena.h>
#include <berth/clock.h>
#include <berth/when.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/runtime.h>
#include <berth/str.h>
#include <berth/text.h>

#include "cli/run.h"

#define LIST_MS 20000 /* the engine's own time-outs come first */
#define STATS_MS 3000 /* then a container without statistics is printed without */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* They are of no other use, and are many. */
static bool filters_labels(const struct cli *c)
{
	for (size_t i = 0; i < c->ngiven; i++)
		if (!strcmp(c->given[i].option->name, "filter") &&
			!strncmp(c->given[i].value, "label=", 6))
			return true;
	return false;
}

struct backend *cli_backend(const struct cli *c, const char *program, const struct policy *policy,
	bool once, struct err *e)
{
	struct backend_options o = {
		.host = cli_value(c, "host"),
		.context = cli_value(c, "context"),
		.hz = 1, /* two samples are enough, and the backend knows when */
		.read_only = !policy || policy->read_only,
		.policy = policy,
		.once = once,
		.unmeasured = !c->command || !(c->command->needs & PRINTS_USE),
		.labels = filters_labels(c),
		.program = program,
	};

	/* Of logs it is each log's. */
	if (!strcmp(program, "events") && cli_value(c, "since"))
		o.since_ns = when_ns(cli_value(c, "since"), clock_wall_ms(), NULL);
	if (!strcmp(program, "events") && cli_value(c, "until"))
		o.until_ns = when_ns(cli_value(c, "until"), clock_wall_ms(), NULL);
	return backend_start(&o, e);
}

struct backend *cli_backend_hosts(const struct cli *c, const struct settings *s,
	const char *program, bool once, struct err *e)
{
	struct backend_options o = {
		.host = cli_value(c, "host"),
		.context = cli_value(c, "context"),
		.together = true,
		.hz = 1,
		.read_only = s->read_only,
		.once = once,
		.labels = filters_labels(c),
		.program = program,
	};
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);

	o.nhosts = cli_hosts(c, s, &mem, &o.hosts);
	return backend_start(&o, e);
}

void cli_catch_interrupts(void)
{
	const struct sigaction act = {.sa_handler = on_interrupt};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

bool cli_pause(int ms)
{
	cli_catch_interrupts();
	return !interrupted && !poll(NULL, 0, ms);
}

/* What happens on the engine answers nobody: `id` is 0. */
static bool is_answer(const struct event *ev, uint64_t id)
{
	return id ? ev->id == id : ev->kind == EV_ENGINE;
}

struct event *cli_answer(struct backend *b, uint64_t id, struct err *e)
{
	struct pollfd fd = {.fd = backend_fd(b), .events = POLLIN};

	cli_catch_interrupts();
	while (!interrupted) {
		struct event *ev;

		while ((ev = backend_next(b)) && !is_answer(ev, id)) {
			bool bad = ev->kind == EV_NOTICE && ev->err.kind != ERR_NONE;

			if (bad)
				err_copy(e, &ev->err);
			event_free(ev);
			if (bad)
				return NULL;
		}
		if (ev)
			return ev;
		poll(&fd, 1, 1000); /* a signal between the look and this is met a second later */
	}
	return err_null(err_set(e, ERR_CANCELLED, "cancelled"));
}

/* A failure with `once` is final and comes as an event. */
static int drain_events(struct backend *b, struct cli_early *early, struct err *e)
{
	struct event *ev;
	int rc = 0;

	while ((ev = backend_next(b))) {
		if (rc == 0 && ev->kind == EV_NOTICE && ev->err.kind != ERR_NONE)
			rc = err_copy(e, &ev->err);
		if (early && ev->kind == EV_ENGINE) {
			early->event = mem_grow(
				early->event, &early->cap, early->n + 1, sizeof *early->event);
			early->event[early->n++] = ev;
		} else {
			event_free(ev);
		}
	}
	return rc;
}

/* Of several each was listed, or has failed: none of them keeps the others waiting for good.  Who an engine is may come
 * later than what it has, a second later of podman, more on a busy machine; before that nothing can be done to it. */
static bool hosts_settled(const struct snapshot *s)
{
	for (size_t i = 0; i < s->nhosts; i++)
		if (!s->hosts[i].ended && s->hosts[i].engine.phase != ENGINE_LOST &&
			!(s->hosts[i].listed && s->hosts[i].engine.phase == ENGINE_UP))
			return false;
	return s->nhosts || (s->listed && s->engine.phase == ENGINE_UP);
}

const struct snapshot *cli_wait(struct backend *b, bool stats, struct err *e)
{
	return cli_wait_early(b, stats, NULL, e);
}

const struct snapshot *cli_wait_early(
	struct backend *b, bool stats, struct cli_early *early, struct err *e)
{
	int64_t begun = clock_mono_ns(), listed = 0;
	int64_t late = begun + RUNTIME_LATE_MS * INT64_C(1000000);
	struct pollfd fd = {.fd = backend_fd(b), .events = POLLIN};

	for (;;) {
		const struct snapshot *s;
		int64_t now = clock_mono_ns(), end;

		if (drain_events(b, early, e) < 0)
			return NULL;
		/* It may have been caught before: then it ends nothing else. */
		if (interrupted)
			return err_null(err_set(e, ERR_CANCELLED, "cancelled"));
		s = backend_snapshot(b);
		if (hosts_settled(s) && !listed)
			listed = now;
		end = listed ? listed + STATS_MS * 1000000LL : begun + LIST_MS * 1000000LL;
		if (listed && (!stats || s->stats_done || now >= end))
			return s;
		if (!listed && late && now >= late) {
			runtime_waits(s->engine.endpoint);
			late = 0;
		}
		if (now >= end && s->nhosts)
			return s;
		snapshot_unref(s);
		if (now >= end)
			return err_null(err_set(e, ERR_UNREACHABLE,
				"The engine did not list its containers within %d s.",
				LIST_MS / 1000));
		if (!listed && late && late < end)
			end = late;
		poll(&fd, 1, (int)((end - now) / 1000000) + 1);
	}
}

int cli_put_document(const char *to, const char *text, size_t n, struct err *e)
{
	if (!to) {
		fwrite(text, 1, n, stdout);
		return 0;
	}
	return file_replace(to, text, n, false) < 0 ? err_sys(e, errno, "Cannot write %s", to) : 0;
}

void cli_clip(struct str *line, int columns)
{
	size_t at = 0, fits = 0;
	int used = 0;

	while (columns > 1 && at < line->len) {
		uint32_t cp;
		size_t n = utf8_next(line->s + at, line->len - at, &cp);
		int w = text_cp_width(cp);

		used += w > 0 ? w : 0;
		if (used > columns) {
			line->len = fits;
			str_adds(line, strcmp(nl_langinfo(CODESET), "UTF-8") ? "~" : "\u2026");
			return;
		}
		at += n;
		if (used < columns)
			fits = at;
	}
}

int cli_columns(void)
{
	struct winsize w;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0)
		return 0;
	return w.ws_col;
}
