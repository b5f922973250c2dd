/*
 * alert_acts.c - commands and webhooks of alerts: through policy and the log, then on a worker, a few at once.
 *
 * What is told never becomes part of a command's text: it is in its environment, neutralised and cut, BERTH_ALERT,
 * BERTH_WHEN, BERTH_AT, BERTH_LINE and one for each column.  A command has a session of its own and half a minute.
 */
#include "console/alerts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/spawn.h>
#include <berth/str.h>
#include <berth/text.h>
#include <berth/trace.h>

#include "net/http.h"

#define WORKING_MOST 2
#define COMMAND_MS 30000
#define LINE_MOST 1024

extern char **environ;

struct alert_act {
	struct blocking_task work;
	struct alert_act *next;
	struct alerts *of;
	const struct alert_rule *rule;
	bool hook;
	int stop_fd;
	size_t nvalues;
	char **values; /* NAME=VALUE */
	char *body;    /* of the webhook */
	size_t nbody;
	struct gate_ticket *ticket;
	struct err err;
	struct arena mem;
};

/* ---- what it is about */

static void add_value(struct alert_act *a, const char *name, const char *value, size_t most)
{
	AUTO_STR struct str clean = STR_INIT;
	char *at;

	text_neutralise(&clean, value, strnlen(value, most), false);
	a->values[a->nvalues] = at = arena_printf(&a->mem, "BERTH_%s=%s", name, clean.s);
	a->nvalues++;
	for (at += 6; *at && *at != '='; at++)
		*at = (char)toupper((unsigned char)*at);
}

static void add_json(struct jsonw *j, const struct where_column *k, const char *value)
{
	if (k->text)
		jsonw_text(j, k->name, value);
	else
		jsonw_number(j, k->name, strtod(value, NULL), 2);
}

static void describe_alert(struct alert_act *a, const struct where_row *row)
{
	char value[WHERE_VALUE_MAX], at[FORMAT_MAX];
	size_t columns = 0;
	struct jsonw j;

	while (where_columns[columns].name)
		columns++;
	a->values = arena_array(&a->mem, columns + 8, sizeof *a->values);
	jsonw_document(&j, "berth.alert/1");
	jsonw_text(&j, "at", format_stamp(at, clock_wall_ms()));
	jsonw_text(&j, "alert", a->rule->name);
	jsonw_text(&j, "when", a->rule->when);
	jsonw_text(&j, "engine", a->of->b->home->state.name);
	add_value(a, "alert", a->rule->name, LINE_MOST);
	add_value(a, "when", a->rule->when, LINE_MOST);
	add_value(a, "at", at, LINE_MOST);
	add_value(a, "engine", a->of->b->home->state.name, LINE_MOST);
	for (const struct where_column *k = where_columns; k->name; k++) {
		if (!where_value(k, row, value))
			continue;
		/* A program's arguments may hold a password, and this goes to others. */
		if (k->text && trace_hides(value))
			snprintf(value, sizeof value, "***");
		add_value(a, k->name, value, sizeof value);
		add_json(&j, k, value);
	}
	if (row->line) {
		AUTO_FREE char *line =
			xstrndup(row->line, row->nline < LINE_MOST ? row->nline : LINE_MOST);

		add_value(
			a, "line", line, LINE_MOST); /* BERTH_LOG is where berth itself traces to */
		jsonw_text(&j, "log", line);
	}
	jsonw_end(&j);
	a->body = arena_strdup(&a->mem, j.out.s);
	a->nbody = strlen(a->body);
	jsonw_release(&j);
}

/* ---- the worker's */

static char **make_environment(const struct alert_act *a)
{
	size_t n = 0, to = 0;
	char **all;

	while (environ[n])
		n++;
	all = xcalloc(n + a->nvalues + 1, sizeof *all);
	/* What is not known of this row has no value of somebody else's either. */
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "BERTH_", 6) != 0)
			all[to++] = environ[i];
	for (size_t i = 0; i < a->nvalues; i++)
		all[to++] = a->values[i];
	return all;
}

static int spawn_alert_command(const struct alert_act *a, pid_t *ret)
{
	const char *argv[] = {"sh", "-c", a->rule->command, NULL};
	char **env = make_environment(a);
	int rc;

	rc = spawn_start(
		&(struct spawn){
			.path = "/bin/sh", .argv = argv, .env = env, .apart = SPAWN_SESSION},
		ret);
	free(env);
	return rc;
}

/* Until it ends, its time is over, or the console quits: then its whole group ends. */
static void wait_for_alert_command(struct alert_act *a, pid_t pid)
{
	AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p[] = {{fd, POLLIN, 0}, {a->stop_fd, POLLIN, 0}};
	int64_t until = clock_mono_ns() + COMMAND_MS * INT64_C(1000000), left = COMMAND_MS;
	int status = 0;

	while (fd >= 0 && left > 0 && !p[0].revents && !p[1].revents) {
		if (poll(p, 2, (int)left) < 0 && errno != EINTR)
			break;
		left = (until - clock_mono_ns()) / 1000000;
	}
	if (!(p[0].revents & POLLIN)) {
		kill(-pid, SIGKILL);
		if (p[1].revents)
			err_set(&a->err, ERR_CANCELLED,
				"The command of the alert %.80s was stopped.", a->rule->name);
		else
			err_set(&a->err, ERR_TIMEOUT,
				"The command of the alert %.80s was killed after %d s.",
				a->rule->name, COMMAND_MS / 1000);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!a->err.kind && (!WIFEXITED(status) || WEXITSTATUS(status)))
		err_set(&a->err, ERR_FAILED, "The command of the alert %.80s ended with %s %d.",
			a->rule->name, WIFEXITED(status) ? "exit" : "signal",
			WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static void work_on_alert(struct blocking_task *x)
{
	struct alert_act *a = x->data;
	pid_t pid;
	int rc;

	if (a->hook) {
		if (http_post(a->rule->webhook, a->body, a->nbody, a->stop_fd, &a->err) < 0)
			err_wrap(&a->err, "The webhook of the alert %.80s could not be called",
				a->rule->name);
		return;
	}
	rc = spawn_alert_command(a, &pid);
	if (rc)
		err_sys(&a->err, rc, "Cannot run the command of the alert %.80s", a->rule->name);
	else
		wait_for_alert_command(a, pid);
}

/* ---- the loop's */

static void end_alert_act(struct alert_act *a)
{
	gate_end(a->ticket, &a->err);
	if (a->err.kind && !a->of->b->stopping)
		backend_notice(a->of->b, "%s", a->err.msg);
	arena_release(&a->mem);
	free(a);
}

static void start_alert_acts(struct alerts *k);

static void on_alert_act_done(struct blocking_task *x)
{
	struct alert_act *a = x->data;
	struct alerts *k = a->of;

	k->working--;
	end_alert_act(a);
	start_alert_acts(k);
}

static void start_alert_acts(struct alerts *k)
{
	while (k->acts && k->working < WORKING_MOST) {
		struct alert_act *a = k->acts;
		int rc;

		k->acts = a->next;
		k->nacts--;
		a->work.data = a;
		rc = k->b->stopping
			? ECANCELED
			: blocking_start(&k->b->loop, &a->work, work_on_alert, on_alert_act_done);
		if (rc) {
			err_sys(&a->err, rc, "The alert %.80s could not be reported",
				a->rule->name);
			end_alert_act(a);
		} else {
			k->working++;
		}
	}
}

static void on_alert_recorded(void *ctx, const struct err *err)
{
	struct alert_act *a = ctx, **p = &a->of->acts;

	if (err) {
		a->err = *err;
		end_alert_act(a);
		return;
	}
	while (*p)
		p = &(*p)->next;
	*p = a;
	a->of->nacts++;
	start_alert_acts(a->of);
}

/* A path may hold what lets anybody post there. */
static const char *hook_host(struct alert_act *a)
{
	const char *url = a->rule->webhook, *from = strstr(url, "://") + 3;
	size_t n = strcspn(from, "/?#");
	const char *at = memrchr(from, '@', n);

	if (at) {
		n -= (size_t)(at + 1 - from);
		from = at + 1;
	}
	return arena_printf(&a->mem, "%.*s", (int)n, from);
}

void alert_act(
	struct alerts *k, const struct alert_rule *rule, bool hook, const struct where_row *row)
{
	struct alert_act *a = xcalloc(1, sizeof *a);
	struct key_value kv[] = {{"rule", rule->name, false}, {"when", rule->when, false},
		{hook ? "host" : "command", rule->command, false}};
	struct audit_record r = {.operation = hook ? OP_ALERT_POST : OP_ALERT_COMMAND,
		.target_type = "container",
		.engine = k->b->home->model.engine,
		.target = row->c ? row->c->id : NULL,
		.name = row->c ? row->c->name : row->a->name,
		.agent = row->a ? row->a->id : row->c->agent,
		.nparams = COUNT(kv),
		.params = kv};
	struct err e = ERR_INIT;

	*a = (struct alert_act){.of = k, .rule = rule, .hook = hook, .stop_fd = k->stop_fd};
	arena_init(&a->mem, 4096);
	if (hook)
		kv[2].value = hook_host(a);
	describe_alert(a, row);
	a->ticket = gate_begin(gate_of(k->b->home), &r, NULL, on_alert_recorded, a, &e);
	if (a->ticket)
		return;
	backend_notice(k->b, "The alert %.80s: %s", rule->name, e.msg);
	arena_release(&a->mem);
	free(a);
}

void alert_acts_stop(struct alerts *k)
{
	const uint64_t one = 1;

	if (k->stop_fd >= 0 && write(k->stop_fd, &one, sizeof one) < 0)
		return; /* a worker waits for as long as it may */
	while (k->acts) {
		struct alert_act *a = k->acts;

		k->acts = a->next;
		k->nacts--;
		err_set(&a->err, ERR_CANCELLED, "The console quit before.");
		end_alert_act(a);
	}
}
