/* filters.c - --filter KEY=VALUE of what is printed row by row. */
#include <string.h>

#include "cli/run.h"

static bool is_filter(const struct cli *c, size_t i)
{
	return strcmp(c->given[i].option->name, "filter") == 0;
}

int cli_check_filters(const struct cli *c, const struct cli_filters *f, struct err *e)
{
	for (size_t i = 0; i < c->ngiven; i++) {
		const char *text = c->given[i].value;
		size_t n;

		if (!is_filter(c, i))
			continue;
		n = strcspn(text, "=");
		if (!text[n] || !f->field(f->none, text, n))
			return err_set(e, ERR_USAGE,
				"--filter takes %s with = and a value, not \"%.60s\".", f->keys,
				text);
	}
	return 0;
}

/* A name, an id and an image fit by a part of them, as docker's; the others as a whole. */
static bool fits_filter(const struct cli_filters *f, const void *row, const char *filter)
{
	size_t n = strcspn(filter, "=");
	const char *value = filter + n + 1, *field = f->field(row, filter, n);

	if (!strncmp(filter, "id=", 3))
		return !strncmp(field, value, strlen(value));
	return !strncmp(filter, "name=", 5) || !strncmp(filter, "image=", 6)
		? strstr(field, value) != NULL
		: !strcmp(field, value);
}

bool cli_fits_filters(const struct cli *c, const struct cli_filters *f, const void *row)
{
	for (size_t i = 0; i < c->ngiven; i++) {
		const char *text = c->given[i].value;
		bool fits = false;

		if (!is_filter(c, i))
			continue;
		for (size_t o = 0; o < c->ngiven && !fits; o++)
			fits = is_filter(c, o) &&
				!strncmp(c->given[o].value, text, strcspn(text, "=") + 1) &&
				fits_filter(f, row, c->given[o].value);
		if (!fits)
			return false;
	}
	return true;
}
