/* leak_blocks.c - searches content that arrives in blocks for likely secrets. */
#include <berth/leak_blocks.h>

#include <string.h>

#include <berth/mem.h>

#define WINDOW (1u << 20)
#define OVERLAP 4096 /* of a line longer than a window, looked at twice */

void leak_search_init(struct leak_search *s, const char *path, workspace_secret_fn *tell, void *ctx)
{
	*s = (struct leak_search){.path = path, .tell = tell, .ctx = ctx, .window = STR_INIT};
}

void leak_search_release(struct leak_search *s)
{
	str_release(&s->window);
}

static void pass_leak_on(void *ctx, const char *path, unsigned line, const char *what)
{
	struct leak_search *s = ctx;

	line += line ? s->line : 0;
	if (line && line == s->last)
		return; /* of a long line, in the window before */
	s->last = line;
	if (s->told++ < LEAKS_TOLD)
		s->tell(s->ctx, *path ? path : s->path, line, what);
}

static unsigned count_lines_in(const char *bytes, size_t n)
{
	const char *end = bytes + n, *nl;
	unsigned lines = 0;

	while ((nl = memchr(bytes, '\n', (size_t)(end - bytes))) != NULL) {
		lines++;
		bytes = nl + 1;
	}
	return lines;
}

static void search_lines_held(struct leak_search *s, bool all)
{
	struct str *w = &s->window;
	const char *nl = all || !w->len ? NULL : memrchr(w->s, '\n', w->len);
	size_t n = nl ? (size_t)(nl + 1 - w->s) : w->len, keep;

	if (!n)
		return;
	/* By its name it is judged once. */
	workspace_find_secrets(s->begun ? "" : s->path, w->s, n, pass_leak_on, s);
	s->begun = true;
	s->line += count_lines_in(w->s, n);
	keep = nl ? w->len - n : all ? 0 : OVERLAP;
	memmove(w->s, w->s + w->len - keep, keep);
	w->len = keep;
	w->s[keep] = '\0';
}

bool leak_search_add(struct leak_search *s, const char *bytes, size_t n)
{
	str_add(&s->window, bytes, n);
	if (s->window.len >= WINDOW)
		search_lines_held(s, false);
	return s->told < LEAKS_TOLD;
}

void leak_search_end(struct leak_search *s)
{
	search_lines_held(s, true);
}
