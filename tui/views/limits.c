/* limits.c - turns a line such as memory=512m cpus=1.5 pids=100 into `berth limit`. */
#include "views/limits.h"

#include <stdio.h>
#include <string.h>

#include <berth/mem.h>
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

void limits_ask_for(struct view *v, struct limits_ask *l, const struct container *c)
{
	struct err e = ERR_INIT;
	AUTO_FREE char *label = NULL;
	char name[64];

	if (!c || c->state != CONTAINER_RUNNING) {
		app_say(v->app, ROLE_WARN, "Limits are changed of a container that runs.");
		return;
	}
	if (app_may(v->app, OP_CONTAINER_LIMIT, c, &e) < 0) {
		app_say(v->app, ROLE_WARN, "%s", e.msg);
		return;
	}
	snprintf(l->id, sizeof l->id, "%s", c->id);
	snprintf(l->engine, sizeof l->engine, "%s",
		snapshot_engine(app_snapshot(v->app), c->engine)->endpoint);
	text_clean(l->name, sizeof l->name, c->name);
	write_limits_line(&c->stats, l->was, sizeof l->was);
	label = xasprintf("limits of %s", text_clean(name, sizeof name, c->name));
	app_ask(v->app, label, l->was, "memory=512m cpus=1.5 pids=100; what is left out stays");
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
	struct view *v, const struct limits_ask *l, struct limits_line *a, const char *word)
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

static void confirm_limits(struct view *v, const struct limits_ask *l, struct limits_line *a)
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

void limits_typed(struct view *v, const struct limits_ask *l, const char *text)
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
