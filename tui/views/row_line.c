/* row_line.c - turns a line such as memory=512m cpus=1.5 into `berth limit`, a signal's name into `berth kill`. */
#include "views/row_line.h"

#include <stdio.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/signals.h>
#include <berth/str.h>
#include <berth/text.h>

#include "widgets/widgets.h"

static void write_limits_line(const struct container_stats *s, char *buf, size_t cap)
{
	uint64_t m = s->memory_limited ? s->memory_limit_bytes : 0;
	int n = 0;

	*buf = '\0';
	/* Exactly: what is not changed must not change. */
	if (m)
		n = m % (1 << 20)
			? snprintf(buf, cap, "memory=%llu ", (unsigned long long)m)
			: snprintf(buf, cap, "memory=%llum ", (unsigned long long)(m >> 20));
	if (s->cpu_limit_percent > 0)
		n += snprintf(buf + n, cap - (size_t)n, "cpus=%.4g ", s->cpu_limit_percent / 100);
	if (s->pids_limit)
		n += snprintf(
			buf + n, cap - (size_t)n, "pids=%llu ", (unsigned long long)s->pids_limit);
	if (n)
		buf[n - 1] = '\0';
}

void row_line_ask(struct view *v, struct row_line *l, enum action a, const struct container *c)
{
	struct err e = ERR_INIT;
	AUTO_FREE char *label = NULL;

	l->signal = a == DO_SIGNAL;
	if (!c || c->state != CONTAINER_RUNNING) {
		app_say(v->app, ROLE_WARN,
			l->signal ? "Only a running container can be sent a signal."
				  : "Only the limits of a running container can be changed.");
		return;
	}
	if (app_may(v->app, l->signal ? OP_CONTAINER_KILL : OP_CONTAINER_LIMIT, c, &e) < 0) {
		app_say(v->app, ROLE_WARN, "%s", e.msg);
		return;
	}
	snprintf(l->id, sizeof l->id, "%s", c->id);
	snprintf(l->engine, sizeof l->engine, "%s",
		snapshot_engine(app_snapshot(v->app), c->engine)->endpoint);
	text_clean(l->name, sizeof l->name, c->name);
	*l->was = '\0';
	if (!l->signal)
		write_limits_line(&c->stats, l->was, sizeof l->was);
	label = xasprintf("%s %s", l->signal ? "signal to" : "limits of", l->name);
	app_ask(v->app, label, l->was,
		l->signal ? "its name: TERM, INT, HUP, USR1, KILL, RTMIN+3 ..."
			  : "memory=512m cpus=1.5 pids=100; what is left out stays");
}

struct limits_line {
	const char *argv[16];
	size_t argc;
	char option[3][48];
	size_t n;
	struct str changes; /* for the dialog */
};

/* One of the words; false, and it was said: it is none. */
static bool add_limit_word(
	struct view *v, const struct row_line *l, struct limits_line *a, const char *word)
{
	static const char *const names[] = {"memory=", "cpus=", "pids="};
	AUTO_FREE char *was = xasprintf(" %s ", l->was), *now = xasprintf(" %s ", word);
	size_t i = 0;

	while (i < COUNT(names) && strncmp(word, names[i], strlen(names[i])) != 0)
		i++;
	if (i == COUNT(names) || !word[strlen(names[i])] || strlen(word) > 40 ||
		a->n == COUNT(a->option)) {
		app_say(v->app, ROLE_WARN,
			"A limit is memory=SIZE, cpus=N or pids=N, each once, not \"%.40s\".",
			word);
		return false;
	}
	if (strstr(was, now))
		return true;
	snprintf(a->option[a->n], sizeof a->option[0], "--%s", word);
	a->argv[a->argc++] = a->option[a->n++];
	str_addf(&a->changes, "%s%s", a->changes.len ? ", " : "", word);
	return true;
}

static void confirm_limits(struct view *v, const struct row_line *l, struct limits_line *a)
{
	AUTO_FREE char *title = xasprintf("Limit %s", l->name),
		       *where = xasprintf("%s  (now: %s)", a->changes.s, *l->was ? l->was : "none");

	a->argv[a->argc++] = "--foreign";
	a->argv[a->argc++] = "--";
	a->argv[a->argc++] = l->id;
	app_confirm_task(v,
		&(struct dialog_ask){.title = title,
			.where = where,
			.effect =
				"Until it is recreated. Less memory than it uses makes the kernel\n"
				"reclaim some, or kill processes in it.",
			.verb = "Limit"},
		&(struct app_task){title, a->argv, false});
}

static void limits_typed(struct view *v, const struct row_line *l, const char *text)
{
	struct limits_line a = {.argv = {"berth-core", "-H", l->engine, "limit"}, .argc = 4};
	AUTO_FREE char *words = xstrdup(text);
	char *rest = NULL;
	bool good = true;

	str_init(&a.changes);
	for (char *w = strtok_r(words, " ", &rest); w && good; w = strtok_r(NULL, " ", &rest))
		good = add_limit_word(v, l, &a, w);
	if (good && !a.n)
		app_say(v->app, ROLE_DIM, "No limit was changed.");
	else if (good)
		confirm_limits(v, l, &a);
	str_release(&a.changes);
}

static void signal_typed(struct view *v, const struct row_line *s, const char *text)
{
	char name[SIGNAL_NAME_MAX];
	const char *argv[] = {"berth-core", "-H", s->engine, "kill", "--signal", name, "--foreign",
		"--", s->id, NULL};
	AUTO_FREE char *title = NULL;
	struct err e = ERR_INIT;
	int number;

	if (!*text) {
		app_say(v->app, ROLE_DIM, "No signal was sent.");
		return;
	}
	number = signal_number(text, &e);
	if (number < 0) {
		app_say(v->app, ROLE_WARN, "%s", e.msg);
		return;
	}
	signal_name(number, name);
	title = xasprintf("Send %s to %s", name, s->name);
	app_confirm_task(v,
		&(struct dialog_ask){.title = title,
			.where = s->engine,
			.effect =
				"Its first process gets it, as by `docker kill`. The init of an agent\n"
				"ends the container on TERM, INT and QUIT, and passes HUP, USR1,\n"
				"USR2 and WINCH on to all that runs in it.",
			.verb = "Send"},
		&(struct app_task){title, argv, false});
}

void row_line_typed(struct view *v, const struct row_line *l, const char *text)
{
	if (l->signal)
		signal_typed(v, l, text);
	else
		limits_typed(v, l, text);
}
