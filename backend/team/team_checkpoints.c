/* team_checkpoints.c - reads the timed rules of an agent: checkpoints of its workspace, pausing. */
#include <stdlib.h>
#include <string.h>

#include "team/team_forms.h"

#define KEEP_USUAL 20
#define KEEP_MOST 1000
#define EVERY_MOST_S (30 * 86400)

/* 90s, 10m, 2h, 1d; 0: it is none. */
static int64_t read_period(const char *text)
{
	static const struct {
		char letter;
		int64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	size_t digits = strspn(text, "0123456789");

	if (!digits || digits > 7 || !text[digits] || text[digits + 1])
		return 0;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (units[i].letter == text[digits])
			return strtoll(text, NULL, 10) * units[i].seconds;
	return 0;
}

static int read_every(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	struct checkpoint_rule *out = at;

	out->commands = n->kind == NODE_SCALAR && !strcmp(n->value, "command");
	out->every_s = n->kind == NODE_SCALAR && !out->commands ? read_period(n->value) : 0;
	return out->commands || (out->every_s > 0 && out->every_s <= EVERY_MOST_S)
		? 0
		: node_err(r->c, n, e,
			  "expected command (before each of its commands), or a time from 1s to 30d "
			  "such as 10m or 2h.");
}

int team_read_checkpoints(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	static const struct field fields[] = {
		{"every", FIELD_NESTED, 0, 0, 0, NULL, read_every},
		{"keep", FIELD_INT, AT(checkpoint_rule, keep), 1, KEEP_MOST, NULL, NULL},
		{0},
	};
	struct checkpoint_rule *out = at;

	*out = (struct checkpoint_rule){.keep = KEEP_USUAL};
	if (field_read(r, n, fields, out, e))
		return -1;
	return out->commands || out->every_s
		? 0
		: node_err(r->c, n, e, "checkpoints: needs every: command, or a time such as 10m.");
}

static int read_pause(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	int64_t *out = at;

	*out = n->kind == NODE_SCALAR ? read_period(n->value) : 0;
	return *out > 0 && *out <= EVERY_MOST_S
		? 0
		: node_err(r->c, n, e, "expected a time from 1s to 30d such as 10m or 2h.");
}

int team_read_idle(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	static const struct field fields[] = {
		{"pause", FIELD_NESTED, 0, 0, 0, NULL, read_pause},
		{0},
	};
	int64_t *out = at;

	if (field_read(r, n, fields, out, e))
		return -1;
	return *out ? 0 : node_err(r->c, n, e, "idle: needs pause: with a time such as 10m.");
}
