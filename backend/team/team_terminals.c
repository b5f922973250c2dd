/* team_terminals.c - reads the terminals that an agent has as long as it is up. */
#include <stdio.h>
#include <string.h>

#include <berth/terminal.h>
#include <berth/text.h>

#include "team/team_forms.h"

#define DECLARED_MAX 16
#define WORDS_BYTES_MAX 8192

struct terminal_reading {
	struct terminal_def def;
	int restart;
};

static int read_terminal_name(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	const char **out = at;

	if (n->kind != NODE_SCALAR || !text_is_plain_name(n->value, TERMINAL_NAME_MAX - 1))
		return node_err(r->c, n, e,
			"a terminal's name has up to %d letters, digits, dots, hyphens and underscores.",
			TERMINAL_NAME_MAX - 1);
	*out = arena_strdup(r->mem, n->value);
	return 0;
}

/* A list is the program and its arguments; a line of several words is for a shell. */
static int read_terminal_command(
	const struct reader *r, const struct node *n, void *at, struct err *e)
{
	static const struct field words = {"command", FIELD_WORDS, 0, 0, 0, NULL, NULL};
	struct words *out = at;
	size_t bytes = 0;

	if (n->kind == NODE_SCALAR && strpbrk(n->value, " \t\n;|&<>()$`\"'*?")) {
		const char **argv = arena_array(r->mem, 3, sizeof *argv);

		argv[0] = "sh";
		argv[1] = "-c";
		argv[2] = arena_strdup(r->mem, n->value);
		*out = (struct words){3, argv};
	} else if (field_one(r, &words, n, out, e)) {
		return -1;
	}
	for (size_t i = 0; i < out->n; i++)
		bytes += strlen(out->word[i]) + 1;
	if (!out->n || !*out->word[0])
		return node_err(r->c, n, e, "expected a program, and its arguments if it has any.");
	return bytes <= WORDS_BYTES_MAX
		? 0
		: node_err(r->c, n, e, "a terminal's command has at most %d bytes, not %zu.",
			  WORDS_BYTES_MAX, bytes);
}

static int read_terminal_size(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	struct terminal_def *out = at;
	int end = 0;

	if (n->kind == NODE_SCALAR &&
		sscanf(n->value, "%4dx%4d%n", &out->columns, &out->rows, &end) == 2 &&
		!n->value[end] && out->columns >= TERMINAL_COLUMNS_MIN &&
		out->columns <= TERMINAL_COLUMNS_MAX && out->rows >= 1 &&
		out->rows <= TERMINAL_ROWS_MAX)
		return 0;
	return node_err(r->c, n, e,
		"expected COLUMNSxROWS such as 120x30: %d to %d columns and 1 to %d rows.",
		TERMINAL_COLUMNS_MIN, TERMINAL_COLUMNS_MAX, TERMINAL_ROWS_MAX);
}

static int read_terminal(
	const struct reader *r, const struct node *n, struct terminal_def *out, struct err *e)
{
	static const char *const restart_words[] = {"no", "on-failure", NULL};
	static const struct field fields[] = {
		{"name", FIELD_NESTED, AT(terminal_reading, def.name), 0, 0, NULL,
			read_terminal_name},
		{"command", FIELD_NESTED, AT(terminal_reading, def.command), 0, 0, NULL,
			read_terminal_command},
		{"size", FIELD_NESTED, AT(terminal_reading, def), 0, 0, NULL, read_terminal_size},
		{"restart", FIELD_CHOICE, AT(terminal_reading, restart), 0, 0, restart_words, NULL},
		{0},
	};
	struct terminal_reading t = {.def = {.columns = TERMINAL_COLUMNS, .rows = TERMINAL_ROWS}};

	if (field_read(r, n, fields, &t, e))
		return -1;
	*out = t.def;
	out->on_failure = t.restart == 1;
	out->at = (struct place){n->line, n->column};
	return 0;
}

static int refuse_twice(const struct reader *r, const struct node *item,
	const struct terminal_def *before, size_t n, const char *name, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(before[i].name, name))
			return node_err(r->c, item, e,
				"the name %s is that of the terminal in line %d, too.", name,
				before[i].at.line);
	return 0;
}

static int read_list(
	const struct reader *r, const struct node *n, struct terminals_choice *out, struct err *e)
{
	if (n->n > DECLARED_MAX)
		return node_err(
			r->c, n, e, "an agent has at most %d terminals in its file.", DECLARED_MAX);
	for (size_t i = 0; i < n->n; i++) {
		const struct node *item = n->child[i];
		struct terminal_def *t = &out->terminal[i];

		if (read_terminal(r, item, t, e))
			return -1;
		if (!t->name && n->n > 1)
			return node_err(r->c, item, e,
				"each of several terminals needs a name: of its own.");
		t->name = t->name ? t->name : "main";
		if (refuse_twice(r, item, out->terminal, i, t->name, e))
			return -1;
		out->n++;
	}
	return 0;
}

int team_read_terminals(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	struct node one = {
		.kind = NODE_LIST, .n = 1, .child = (struct node *[]){(struct node *)(uintptr_t)n}};
	struct terminals_choice *out = at;

	out->n = 0;
	out->terminal =
		arena_array(r->mem, n->kind == NODE_LIST ? n->n + 1 : 1, sizeof *out->terminal);
	return read_list(r, n->kind == NODE_LIST ? n : &one, out, e);
}
