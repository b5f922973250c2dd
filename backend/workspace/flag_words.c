/* flag_words.c - keeps what looks suspicious in a workspace, and says it in lines for a person. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/flags.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>
#include <berth/workspace.h>

static void keep_flag(void *ctx, enum flag flag, const char *path, unsigned line, const char *what)
{
	struct flags *f = ctx;
	struct str shown = STR_INIT, of = STR_INIT;

	if (f->nnamed[flag] == FLAGS_NAMED)
		return;
	workspace_add_masked(&shown, path, strlen(path));
	workspace_add_masked(&of, what, strlen(what));
	f->named[flag][f->nnamed[flag]++] =
		(struct flagged){str_detach(&shown), str_detach(&of), line};
}

int flags_find(int dir, const char *place, const struct checkpoint_info *points, size_t npoints,
	struct flags *ret, struct err *e)
{
	int64_t since = 0;

	*ret = (struct flags){0};
	for (size_t i = 0; i < npoints; i++)
		if (!points[i].damaged && points[i].made_ns > since) {
			since = points[i].made_ns;
			snprintf(ret->since, sizeof ret->since, "%s", points[i].name);
		}
	return flags_look(dir, place, since, &ret->sums, keep_flag, ret, e);
}

void flags_release(struct flags *f)
{
	for (int k = 0; k < FLAG_KINDS; k++)
		for (size_t i = 0; i < f->nnamed[k]; i++) {
			free(f->named[k][i].path);
			free(f->named[k][i].what);
		}
	*f = (struct flags){0};
}

/* ": a, b, c and 12 more" */
static void add_named(struct str *out, const struct flags *f, int flag, uint64_t n)
{
	for (size_t i = 0; i < f->nnamed[flag]; i++) {
		const struct flagged *at = &f->named[flag][i];

		str_adds(out, i ? ", " : ": ");
		text_quote_name(out, at->path, strlen(at->path));
		if (at->line)
			str_addf(out, ":%u", at->line);
		if (flag == FLAG_LINK) {
			str_adds(out, " to ");
			text_quote_name(out, at->what, strlen(at->what));
		} else if (*at->what) {
			str_addf(out, " (%s)", at->what);
		}
	}
	if (n > f->nnamed[flag])
		str_addf(out, " and %" PRIu64 " more", n - f->nnamed[flag]);
}

size_t flags_lines(const struct flags *f, int64_t now_ms, flag_line_fn *tell, void *ctx)
{
	const struct flag_sums *s = &f->sums;
	char since[CHECKPOINT_NAME_MAX + 32] = "", when[FORMAT_MAX + 8], age[FORMAT_MAX];
	int64_t ago_ms = now_ms - s->small_ns / 1000000;
	/* clang-format off */
	const struct {
		int flag; /* -1: none of it has a name */
		uint64_t n;
		const char *one, *many, *behind;
	} lines[] = {
		{FLAG_EXECUTABLE, s->executables, "executable file", "executable files", since},
		{FLAG_LINK, s->links, "link leads out of it", "links lead out of it", ""},
		{-1, s->small < FLAG_FLOOD ? 0 : s->small, "", "files of at most 4 KiB within a minute", when},
		{FLAG_SECRET, s->secrets, "likely secret", "likely secrets", since},
		{-1, s->unsearched, "file was not searched for secrets: too large, too many, or not readable",
			"files were not searched for secrets: too large, too many, or not readable", ""},
	};
	/* clang-format on */
	size_t told = 0;

	if (*f->since)
		snprintf(since, sizeof since, " since checkpoint %s", f->since);
	snprintf(when, sizeof when, ", %s ago", format_age(age, ago_ms > 0 ? ago_ms : 0));
	for (size_t i = 0; i < COUNT(lines); i++) {
		AUTO_STR struct str line = STR_INIT;
		char n[FORMAT_MAX];

		if (!lines[i].n)
			continue;
		str_addf(&line, "%s %s%s", format_count(n, lines[i].n),
			lines[i].n == 1 ? lines[i].one : lines[i].many, lines[i].behind);
		if (lines[i].flag >= 0)
			add_named(&line, f, lines[i].flag, lines[i].n);
		tell(ctx, line.s);
		told++;
	}
	return told;
}
