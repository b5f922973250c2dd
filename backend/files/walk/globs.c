/* globs.c - parses the patterns that a caller gives: braces, exceptions, invalid ones. */
#include "files/walk/globs.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#define GLOBS_MAX 4096 /* with what braces stand for */
#define BRACES_MAX 16  /* of one pattern */
#define GLOB_MAX 4096

/* What the braces of all patterns stand for. */
struct expansion {
	struct slab *slab;
	const char **lines;
	size_t n, cap;
};

/* The next brace or comma of p that stands for itself neither by a backslash nor by brackets. */
static const char *find_brace(const char *p, const char *which)
{
	while (p && *p) {
		if (strchr(which, *p))
			return p;
		if (*p == '[')
			p = glob_skip_bracket(p); /* what is wrong with it glob_flaw says */
		else
			p += *p == '\\' && p[1] ? 2 : 1;
	}
	return NULL;
}

/* One line for each alternative of the first braces, each of them with those of the next ones.  What is wrong; NULL: nothing. */
static const char *expand_braces(struct expansion *x, const char *p, unsigned depth)
{
	const char *open = find_brace(p, "{"), *end, *next, *wrong = NULL;

	if (!open) {
		size_t len = strlen(p) + 1;

		if (x->n == GLOBS_MAX)
			return "its braces expand to more than 4096 patterns";
		x->lines = mem_grow(x->lines, &x->cap, x->n + 1, sizeof *x->lines);
		x->lines[x->n++] = memcpy(slab_alloc(x->slab, len), p, len);
		return NULL;
	}
	if (depth == BRACES_MAX)
		return "it has too many braces";
	end = find_brace(open + 1, "{}");
	if (!end)
		return "a { is not closed (\\{ is the character itself)";
	if (*end == '{')
		return "it has braces within braces";
	for (const char *at = open; at < end && !wrong; at = next) {
		AUTO_STR struct str one = STR_INIT;

		next = find_brace(at + 1, ",}");
		str_add(&one, p, (size_t)(open - p));
		str_add(&one, at + 1, (size_t)(next - at - 1));
		str_adds(&one, end + 1);
		wrong = expand_braces(x, one.s, depth + 1);
	}
	return wrong;
}

static const char *find_wrong(const char *line)
{
	const char *p = line + (*line == '!');
	size_t n = strlen(p);

	if (!n)
		return "it is empty";
	if (p[n - 1] == '/' && *line != '!')
		return "it ends with a slash (DIR/** is what is below DIR)";
	return glob_flaw(p);
}

static struct glob_pattern as_pattern(const char *line)
{
	bool path = strchr(line, '/') != NULL;

	if (strncmp(line, "./", 2) == 0)
		line++;
	return (struct glob_pattern){.pattern = line + (*line == '/'), .path = path};
}

static int expand_all(struct expansion *x, const struct files_filter *f, struct err *e)
{
	char shown[120];

	for (size_t i = 0; i < f->nglobs; i++) {
		size_t from = x->n;
		const char *wrong = strlen(f->globs[i]) > GLOB_MAX
			? "it is longer than a path"
			: expand_braces(x, f->globs[i], 0);

		for (; !wrong && from < x->n; from++)
			wrong = find_wrong(x->lines[from]);
		if (wrong)
			return err_set(e, ERR_USAGE, "the pattern \"%s\" can match nothing: %s.",
				text_clean(shown, sizeof shown, f->globs[i]), wrong);
	}
	for (size_t i = 0; i < f->nexcludes; i++) {
		const char *wrong = glob_flaw(f->excludes[i]);

		if (wrong)
			return err_set(e, ERR_USAGE,
				"the pattern \"%s\" to leave out can match nothing: %s.",
				text_clean(shown, sizeof shown, f->excludes[i]), wrong);
	}
	return 0;
}

int globs_compile(struct slab *slab, const struct files_filter *f, struct globs *out, struct err *e)
{
	struct expansion x = {.slab = slab};
	const char **leave = NULL;
	size_t nleave = 0;
	int rc;

	*out = (struct globs){0};
	if (!f->nglobs && !f->nexcludes)
		return 0;
	rc = expand_all(&x, f, e);
	if (!rc) {
		out->take = slab_alloc(slab, (x.n + 1) * sizeof *out->take);
		leave = xcalloc(x.n + f->nexcludes + 1, sizeof *leave);
		for (size_t i = 0; i < x.n; i++) {
			if (*x.lines[i] == '!')
				leave[nleave++] = x.lines[i] + 1;
			else
				out->take[out->n++] = as_pattern(x.lines[i]);
		}
		/* Behind those of the patterns: what must be left out nothing takes back. */
		for (size_t i = 0; i < f->nexcludes; i++)
			leave[nleave++] = f->excludes[i];
		if (nleave)
			out->leave = rules_from_list(slab, leave, nleave);
	}
	free(leave);
	free(x.lines);
	return rc;
}

bool globs_take(const struct globs *g, const char *path, const char *name)
{
	for (size_t i = 0; i < g->n; i++)
		if (glob_match(g->take[i].pattern, g->take[i].path ? path : name, g->take[i].path))
			return true;
	return g->n == 0;
}
