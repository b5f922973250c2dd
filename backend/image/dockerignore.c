/*
 * dockerignore.c - .dockerignore: what of a directory does not belong to a build's context.
 *
 * One pattern a line, from the context's root: * ? [a-z] within a component, ** any number of components,
 * ! takes back.  What matches a directory matches all below it; the last line that matches decides.
 * Source: Docker's build reference, "dockerignore files".
 */
#include "image/image.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

#define PATTERNS_MAX 4096
#define PARTS_MAX 64

struct pattern {
	bool back; /* ! */
	size_t n;
	char *part[PARTS_MAX];
};

struct ignore {
	size_t n, cap;
	struct pattern *pattern;
	bool turns;
};

static void add_pattern(struct ignore *g, const char *line, size_t n)
{
	struct pattern p = {.back = n && *line == '!'};

	for (line += p.back, n -= p.back; n && p.n < PARTS_MAX;) {
		size_t len = 0;

		while (len < n && line[len] != '/')
			len++;
		if (len == 2 && !memcmp(line, "..", 2)) { /* upwards: to the root at most */
			if (p.n)
				free(p.part[--p.n]);
		} else if (len && !(len == 1 && *line == '.')) {
			p.part[p.n++] = xstrndup(line, len);
		}
		line += len;
		n -= len;
		if (n) {
			line++;
			n--;
		}
	}
	if (!p.n)
		return;
	g->turns |= p.back;
	g->pattern = mem_grow(g->pattern, &g->cap, g->n + 1, sizeof *g->pattern);
	g->pattern[g->n++] = p;
}

struct ignore *ignore_parse(const char *text, size_t n)
{
	struct ignore *g = xcalloc(1, sizeof *g);
	const char *end = text + n;

	if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		text += 3;
	while (text < end && g->n < PATTERNS_MAX) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t len = (size_t)((newline ? newline : end) - text), at = 0;

		/* A comment begins in the first column. */
		if (!len || *text != '#') {
			while (at < len && strchr(" \t\r", text[at]))
				at++;
			while (len > at && strchr(" \t\r", text[len - 1]))
				len--;
			add_pattern(g, text + at, len - at);
		}
		text = newline ? newline + 1 : end;
	}
	return g;
}

void ignore_free(struct ignore *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->n; i++)
		for (size_t k = 0; k < g->pattern[i].n; k++)
			free(g->pattern[i].part[k]);
	free(g->pattern);
	free(g);
}

/*
 * Does the pattern match the path, or a directory above it?  A table, for ** tried at every place would
 * take exponential time: reach[k] says that the first k parts match what was read so far.
 */
static bool matches_path(const struct pattern *p, const char *path)
{
	bool reach[PARTS_MAX + 1] = {true};
	char name[256];

	for (;;) {
		size_t len = strcspn(path, "/");
		bool next[PARTS_MAX + 1] = {false};

		for (size_t k = 0; k < p->n && !strcmp(p->part[k], "**"); k++)
			reach[k + 1] |= reach[k];
		memcpy(name, path, len < sizeof name ? len : sizeof name - 1);
		name[len < sizeof name ? len : sizeof name - 1] = '\0';
		for (size_t k = 0; k < p->n; k++) {
			if (!reach[k])
				continue;
			if (!strcmp(p->part[k], "**"))
				next[k] = next[k + 1] = true;
			else
				next[k + 1] |= !fnmatch(p->part[k], name, 0);
		}
		for (size_t k = 0; k < p->n; k++)
			if (next[k] && !strcmp(p->part[k], "**"))
				next[k + 1] = true;
		if (next[p->n])
			return true;
		memcpy(reach, next, sizeof reach);
		if (!path[len])
			return false;
		path += len + 1;
	}
}

bool ignore_matches(const struct ignore *g, const char *path)
{
	bool out = false;

	for (size_t i = 0; g && i < g->n; i++)
		if (g->pattern[i].back == out && matches_path(&g->pattern[i], path))
			out = !out;
	return out;
}

bool ignore_may_turn(const struct ignore *g)
{
	return g && g->turns;
}
