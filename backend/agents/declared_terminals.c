/* declared_terminals.c - starts an agent's terminals as its team file says, and finds where they differ from it. */
#include "agents/declared_terminals.h"

#include <stdio.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/record.h>
#include <berth/text.h>

#include "terminals/terminals.h"

/* Its words are the team's. */
static struct terminals_declared convert_def(const struct terminal_def *t)
{
	return (struct terminals_declared){.on_failure = t->on_failure,
		.columns = t->columns,
		.rows = t->rows,
		.argc = t->command.n,
		.argv = (const char **)(uintptr_t)t->command.word};
}

static bool is_known(const char *container, const char *name, struct terminals_declared *was)
{
	*was = (struct terminals_declared){0};
	return !terminals_declared(container, name, was, NULL);
}

/* NULL: it has no screen. */
static const struct terminal_row *find_row(
	const struct terminal_row *row, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(row[i].name, name))
			return &row[i];
	return NULL;
}

static bool has_failed(const struct terminal_screen *s)
{
	return s->status == TERMINAL_LOST || (s->status == TERMINAL_ENDED && s->exit_code);
}

static bool is_wanted(const struct terminal_def *t, const struct terminals_declared *was,
	const struct terminal_row *row, bool known)
{
	const struct terminals_declared now = convert_def(t);

	if (row && row->screen.status == TERMINAL_RUNS)
		return false;
	if (!known || !terminals_same(&now, was))
		return true;
	return row && t->on_failure && has_failed(&row->screen);
}

/* It is noted before it is started, which reads the note.  One that did not start is as it was, so that it is tried
 * again, and differs from the file until then. */
static int start_noted(struct recorder *by, const struct agent_def *a, const struct terminal_def *t,
	const struct terminals_declared *was, struct err *e)
{
	const struct run_request q = {.agent = a->container, .program = by->program};
	const struct terminals_declared now = convert_def(t);

	if (!terminals_declare(a->container, t->name, &now, e) &&
		!agents_start_terminal_by(by, &q, t->name, e))
		return 0;
	if (!was || terminals_declare(a->container, t->name, was, NULL))
		terminals_undeclare(a->container, t->name);
	return err_wrap(e, "the terminal %s of %s", t->name, a->id);
}

static int start_one(struct recorder *by, const struct agent_def *a, const struct terminal_def *t,
	const struct terminal_row *row, bool fresh, struct err *e)
{
	struct terminals_declared was;
	bool known = !fresh && is_known(a->container, t->name, &was);
	int rc = 0;

	if (fresh || is_wanted(t, &was, row, known))
		rc = start_noted(by, a, t, known ? &was : NULL, e);
	if (known)
		terminals_declared_release(&was);
	return rc;
}

int declared_start(struct recorder *by, const struct agent_def *a, bool fresh, struct err *e)
{
	AUTO_FREE struct terminal_row *row =
		a->nterminals ? xcalloc(TERMINALS_MAX, sizeof *row) : NULL;
	size_t n = row ? terminals_list(a->container, row, TERMINALS_MAX) : 0;

	for (size_t i = 0; i < a->nterminals; i++)
		if (start_one(by, a, &a->terminals[i], find_row(row, n, a->terminals[i].name),
			    fresh, e))
			return -1;
	return 0;
}

static void describe_terminal(
	const char *name, const struct terminals_declared *d, char *buf, size_t cap)
{
	AUTO_STR struct str words = STR_INIT;
	char clean[32];

	for (size_t i = 0; i < d->argc; i++)
		str_addf(&words, "%s%.40s", i ? " " : "", d->argv[i]);
	text_clean(clean, sizeof clean, words.len ? words.s : "a shell");
	snprintf(buf, cap, "%.12s: %s %dx%d%s", name, clean, d->columns, d->rows,
		d->on_failure ? " on-failure" : "");
}

static void add_difference(struct enforced *item, const char *name,
	const struct terminals_declared *asked, const struct terminals_declared *is)
{
	item->what = "terminal";
	item->same = false;
	if (asked)
		describe_terminal(name, asked, item->asked, sizeof item->asked);
	else
		snprintf(item->asked, sizeof item->asked, "%.32s: none", name);
	if (is)
		describe_terminal(name, is, item->actual, sizeof item->actual);
	else
		snprintf(item->actual, sizeof item->actual, "%.32s: not from the file", name);
}

static bool is_defined(const struct agent_def *a, const char *name)
{
	for (size_t i = 0; i < a->nterminals; i++)
		if (!strcmp(a->terminals[i].name, name))
			return true;
	return false;
}

size_t declared_check(const struct agent_def *a, struct enforced *out, size_t max)
{
	char name[TERMINALS_MAX][TERMINAL_NAME_MAX];
	size_t n = 0, known = terminals_declared_names(a->container, name, TERMINALS_MAX);

	for (size_t i = 0; i < a->nterminals && n < max; i++) {
		const struct terminals_declared asked = convert_def(&a->terminals[i]);
		struct terminals_declared is;
		bool there = is_known(a->container, a->terminals[i].name, &is);

		if (!there || !terminals_same(&asked, &is))
			add_difference(&out[n++], a->terminals[i].name, &asked, there ? &is : NULL);
		if (there)
			terminals_declared_release(&is);
	}
	for (size_t i = 0; i < known && n < max; i++) {
		struct terminals_declared is;

		if (is_defined(a, name[i]) || !is_known(a->container, name[i], &is))
			continue;
		add_difference(&out[n++], name[i], NULL, &is);
		terminals_declared_release(&is);
	}
	if (!n && a->nterminals && max) {
		out[n].what = "terminals";
		out[n].same = true;
		snprintf(out[n].asked, sizeof out[n].asked, "%zu", a->nterminals);
		snprintf(out[n].actual, sizeof out[n].actual, "%zu as in the file", a->nterminals);
		n++;
	}
	return n;
}
