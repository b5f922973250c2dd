/* programs.c - reads the patterns of known programs, and looks for them on a terminal's screen. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/config.h>
#include <berth/mem.h>
#include <berth/regex.h>
#include <berth/runtime.h>
#include <berth/terminal_status.h>
#include <berth/text.h>

#define FILE_NAME "terminals.yaml"
#define PROGRAMS_MAX 256
#define WORDS_MAX 32

/* Where a pattern is looked for, and what it says.  The first that matches counts. */
static const struct {
	const char *key;
	bool cursor; /* in the line of the cursor, up to it; else in the last lines */
	enum terminal_shows shows;
} kinds[] = {{"question", false, TERMINAL_SHOWS_QUESTION}, {"work", false, TERMINAL_SHOWS_WORK},
	{"prompt", false, TERMINAL_SHOWS_PROMPT},
	{"question_at_cursor", true, TERMINAL_SHOWS_QUESTION},
	{"prompt_at_cursor", true, TERMINAL_SHOWS_PROMPT}};

struct known_program {
	size_t nnames, npatterns[COUNT(kinds)];
	const char **name;
	struct regex **pattern[COUNT(kinds)];
};

struct terminal_programs {
	struct arena mem;
	size_t n;
	struct known_program program[PROGRAMS_MAX];
};

void terminal_programs_free(struct terminal_programs *p)
{
	for (size_t i = 0; p && i < p->n; i++)
		for (size_t k = 0; k < COUNT(kinds); k++)
			for (size_t m = 0; m < p->program[i].npatterns[k]; m++)
				regex_free(p->program[i].pattern[k][m]);
	if (p)
		arena_release(&p->mem);
	free(p);
}

static int expect_words(const struct config *c, const struct node *n, struct err *e)
{
	if (n->kind != NODE_LIST || !n->n || n->n > WORDS_MAX)
		return node_err(c, n, e, "expected a list of 1 to %d words.", WORDS_MAX);
	for (size_t i = 0; i < n->n; i++)
		if (n->child[i]->kind != NODE_SCALAR || !*n->child[i]->value)
			return node_err(c, n->child[i], e, "expected a word.");
	return 0;
}

static int read_patterns(struct terminal_programs *p, struct known_program *to, size_t kind,
	const struct config *c, const struct node *n, struct err *e)
{
	char why[REGEX_WHY_MAX];

	if (expect_words(c, n, e))
		return -1;
	to->pattern[kind] = arena_array(&p->mem, n->n, sizeof *to->pattern[kind]);
	for (size_t i = 0; i < n->n; i++) {
		struct regex *r = regex_new(n->child[i]->value, REGEX_LINES, why);

		if (!r)
			return node_err(c, n->child[i], e,
				"`%.40s` is not a regular expression: %s.", n->child[i]->value,
				why);
		to->pattern[kind][to->npatterns[kind]++] = r;
	}
	return 0;
}

static int read_names(struct terminal_programs *p, struct known_program *to, const struct config *c,
	const struct node *n, struct err *e)
{
	if (expect_words(c, n, e))
		return -1;
	to->name = arena_array(&p->mem, n->n, sizeof *to->name);
	for (size_t i = 0; i < n->n; i++)
		to->name[to->nnames++] = arena_strdup(&p->mem, n->child[i]->value);
	return 0;
}

static int read_program(
	struct terminal_programs *p, const struct config *c, const struct node *n, struct err *e)
{
	const char *known[COUNT(kinds) + 2] = {"names"};
	struct known_program *to = &p->program[p->n++];

	*to = (struct known_program){0};
	for (size_t i = 0; i < COUNT(kinds); i++)
		known[i + 1] = kinds[i].key;
	if (n->kind != NODE_MAP || !node_get(n, "names"))
		return node_err(c, n, e, "expected a map with names: of the program.");
	if (node_unknown(c, n, known, e) || read_names(p, to, c, node_get(n, "names"), e))
		return -1;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		const struct node *list = node_get(n, kinds[i].key);

		if (list && read_patterns(p, to, i, c, list, e))
			return -1;
	}
	return 0;
}

static int add_programs(struct terminal_programs *p, const struct config *c, struct err *e)
{
	const char *known[] = {"programs", NULL};
	const struct node *all = node_get(c->root, known[0]);

	if (node_unknown(c, c->root, known, e))
		return -1;
	if (!all || all->kind != NODE_MAP || p->n + all->n > PROGRAMS_MAX)
		return node_err(
			c, c->root, e, "expected programs: with at most %d of them.", PROGRAMS_MAX);
	for (size_t i = 0; i < all->n; i++)
		if (read_program(p, c, all->child[i], e))
			return -1;
	return 0;
}

static int add_shipped(struct terminal_programs *p, struct err *e)
{
	size_t n;
	const char *text = embedded_file("configs/" FILE_NAME, &n);
	struct config c;
	int rc;

	if (config_parse(FILE_NAME, text, n, &c, e))
		return -1;
	rc = add_programs(p, &c, e);
	config_release(&c);
	return rc;
}

static int add_own(struct terminal_programs *p, struct err *e)
{
	char dir[PATH_MAX], path[PATH_MAX + sizeof FILE_NAME];
	struct config c;
	int rc;

	if (config_dir(dir, sizeof dir, NULL))
		return 0;
	snprintf(path, sizeof path, "%s/" FILE_NAME, dir);
	if (access(path, F_OK))
		return 0;
	if (config_read(path, &c, e))
		return -1;
	rc = add_programs(p, &c, e);
	config_release(&c);
	return rc;
}

struct terminal_programs *terminal_programs_open(struct err *e)
{
	struct terminal_programs *p = xcalloc(1, sizeof *p);

	arena_init(&p->mem, 4096);
	if (!add_own(p, e) && !add_shipped(p, e))
		return p;
	terminal_programs_free(p);
	return NULL;
}

static const struct known_program *find_program(
	const struct terminal_programs *p, const char *const *names, size_t n)
{
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->program[i].nnames; k++)
			for (size_t m = 0; m < n; m++)
				if (!strcmp(p->program[i].name[k], names[m]))
					return &p->program[i];
	return NULL;
}

/* The last rows that hold something. */
static void add_last_rows(const struct terminal_screen *s, struct str *out)
{
	AUTO_STR struct str line = STR_INIT;
	int first = s->rows, found = 0;

	for (int y = s->rows; y-- > 0 && found < TERMINAL_SHOWN_ROWS;) {
		str_clear(&line);
		terminal_row_text(s, y, false, &line);
		if (!line.len)
			continue;
		first = y;
		found++;
	}
	for (int y = first; y < s->rows; y++) {
		terminal_row_text(s, y, false, out);
		str_addc(out, '\n');
	}
}

static void add_cursor_row(const struct terminal_screen *s, struct str *out)
{
	terminal_cells_text(
		s->cells + (size_t)s->cursor_y * (size_t)s->columns, s->cursor_x, false, out);
	/* The blank behind a prompt. */
	if (s->cursor_x &&
		!s->cells[(size_t)s->cursor_y * (size_t)s->columns + (size_t)s->cursor_x - 1].ch[0])
		str_addc(out, ' ');
}

/* The line of the match, so that it can be read alone. */
static void quote_line(const struct str *in, size_t start, char *text, size_t cap)
{
	const char *from = in->s + start, *end;
	AUTO_FREE char *line = NULL;

	while (from > in->s && from[-1] != '\n')
		from--;
	while (*from == ' ')
		from++;
	end = strchrnul(from, '\n');
	while (end > from && end[-1] == ' ')
		end--;
	line = xstrndup(from, (size_t)(end - from));
	text_clean(text, cap, line);
}

enum terminal_shows terminal_programs_look(const struct terminal_programs *p,
	const char *const *names, size_t n, const struct terminal_screen *s, char *text, size_t cap)
{
	const struct known_program *of = find_program(p, names, n);
	AUTO_STR struct str last = STR_INIT, at_cursor = STR_INIT;

	*text = '\0';
	if (!of || !s->cells)
		return TERMINAL_SHOWS_NOTHING;
	add_last_rows(s, &last);
	add_cursor_row(s, &at_cursor);
	for (size_t i = 0; i < COUNT(kinds); i++) {
		const struct str *in = kinds[i].cursor ? &at_cursor : &last;

		for (size_t k = 0; in->len && k < of->npatterns[i]; k++) {
			size_t start;

			if (regex_find(of->pattern[i][k], in->s, in->len, 0, &start, NULL) == 1) {
				quote_line(in, start, text, cap);
				return kinds[i].shows;
			}
		}
	}
	return TERMINAL_SHOWS_NOTHING;
}
