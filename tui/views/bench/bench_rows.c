/* bench_rows.c - builds the list of the Bench view: suites, with the cases of the run below them. */
#include "views/bench/bench_rows.h"

#include <stdio.h>
#include <string.h>

#include <berth/mem.h>

#include "widgets/widgets.h"

#define BAR_W 14
#define GROUPS_MAX 32

static const struct {
	const char *name, *about;
} suites[] = {
#define SUITE(name, about) {#name, about},
	SUITES(SUITE)
#undef SUITE
};

static struct bench_entry entries[COUNT(suites) + OWN_SUITES_MAX + GROUPS_MAX + LIVE_CASES_MAX];

static const struct bench_entry *bench_entry_of(const struct table_row *r)
{
	return r->item;
}

static const struct live_arm *judged_arm(const struct live_case *k)
{
	for (size_t i = 0; i < k->narms; i++)
		if (!k->arm[i].baseline)
			return &k->arm[i];
	return k->narms ? &k->arm[0] : NULL;
}

/* Columns. */

/* In full, so that a filter for a suite shows its cases too. */
static void case_name_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct bench_entry *n = bench_entry_of(r);

	*st = n->k ? STYLE(TEXT) : STYLE(STRONG);
	snprintf(buf, cap, "%s", n->k ? n->k->name : n->name);
}

static void case_name_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	static const struct {
		enum glyph glyph;
		uint8_t role;
	} look[] = {{GLYPH_RING, ROLE_DIM}, {GLYPH_RIGHT, ROLE_BUSY}, {GLYPH_TICK, ROLE_GOOD},
		{GLYPH_CROSS, ROLE_BAD}, {GLYPH_DASH, ROLE_DIM}};
	const struct live_case *k = bench_entry_of(r)->k;
	const char *slash;
	struct style st;
	char text[160];
	int x = a.x + (k ? 2 : 0);

	if (k) {
		canvas_glyph(c, x, a.y, (struct style){.role = look[k->state].role},
			look[k->state].glyph);
		x += 2;
	}
	case_name_text(r, text, sizeof text, &st);
	/* Below its suite the case's own name is enough; below a file its groups count. */
	slash = k && !*k->file ? strchr(text, '/') : NULL;
	canvas_clip(c, x, a.y, a.x + a.w - x, st, slash ? slash + 1 : text);
}

static void case_state_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct bench_entry *n = bench_entry_of(r);
	const struct live_arm *arm = n->k ? judged_arm(n->k) : NULL;

	*st = STYLE(DIM);
	buf[0] = '\0';
	if (!n->k && n->cases)
		snprintf(buf, cap, "%zu/%zu cases", n->done, n->cases);
	else if (!n->k)
		snprintf(buf, cap, "%s", n->about);
	else if (n->k && n->k->state == LIVE_RUNS)
		snprintf(buf, cap, "%ld of %ld", n->k->done, n->k->samples);
	else if (n->k && n->k->state == LIVE_OK && arm)
		live_value(buf, cap, n->k->unit, live_median(arm)), *st = STYLE(TEXT);
	else if (n->k)
		snprintf(buf, cap, "%s",
			n->k->state == LIVE_FAILED            ? "failed"
				: n->k->state == LIVE_NOT_RUN ? "not run"
							      : "waits");
	if (n->k && n->k->state == LIVE_FAILED)
		*st = STYLE(BAD);
}

static void state_draw(const struct table_row *r, struct canvas *c, struct area a)
{
	const struct live_case *k = bench_entry_of(r)->k;
	struct style st;
	char text[160];

	case_state_text(r, text, sizeof text, &st);
	/* What a suite is about may run over the empty cells to its right. */
	if (!k)
		a.w = c->columns - 1 - a.x;
	if (k && k->state == LIVE_RUNS && k->samples && a.w > BAR_W + 2) {
		meter_bar(c, a.x, a.y, BAR_W, ROLE_BAR, (double)k->done / (double)k->samples);
		canvas_clip(c, a.x + BAR_W + 1, a.y, a.w - BAR_W - 1, STYLE(TEXT), text);
		return;
	}
	canvas_clip(c, a.x, a.y, a.w, st, text);
}

static void ratio_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct live_case *k = bench_entry_of(r)->k;
	const struct live_arm *arm = k ? judged_arm(k) : NULL;

	(void)st;
	buf[0] = '\0';
	if (arm && arm->ratio.known)
		snprintf(buf, cap, "%.2fx [%.2f .. %.2f]", arm->ratio.point, arm->ratio.low,
			arm->ratio.high);
}

static void target_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct live_case *k = bench_entry_of(r)->k;
	size_t met = 0, missed = 0;

	for (size_t i = 0; k && i < k->ntargets; i++) {
		met += !strcmp(k->target[i].verdict, "met");
		missed += !strcmp(k->target[i].verdict, "MISSED") ||
			!strcmp(k->target[i].verdict, "FAILED");
	}
	buf[0] = '\0';
	*st = missed ? STYLE(BAD) : STYLE(GOOD);
	if (missed && met)
		snprintf(buf, cap, "%zu of %zu", met, met + missed);
	else if (missed || met)
		snprintf(buf, cap, "%s", missed ? "missed" : "met");
}

static void before_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	const struct live_case *k = bench_entry_of(r)->k;
	const struct live_arm *arm = k ? judged_arm(k) : NULL;

	buf[0] = '\0';
	for (size_t i = 0; k && i < k->narms; i++)
		if (!strcmp(k->arm[i].change_word, "SLOWER"))
			arm = &k->arm[i];
	if (!arm || !arm->change.known)
		return;
	*st = !strcmp(arm->change_word, "SLOWER")     ? STYLE(BAD)
		: !strcmp(arm->change_word, "faster") ? STYLE(GOOD)
						      : STYLE(DIM);
	snprintf(buf, cap, "%.2f %s", arm->change.point, arm->change_word);
}

/* clang-format off */
const struct table_column bench_columns[] = {
	{.name = "suite", .head = "SUITE AND CASE", .min = 16, .ideal = 30, .grow = 2, .text = case_name_text,
		.draw = case_name_draw},
	{.name = "state", .head = "MEDIAN", .min = 10, .ideal = BAR_W + 14, .text = case_state_text,
		.draw = state_draw},
	{.name = "ratio", .head = "RATIO [95 %]", .min = 20, .ideal = 24, .keep = 10, .text = ratio_text},
	{.name = "target", .head = "TARGET", .min = 7, .ideal = 8, .keep = 0, .text = target_text},
	{.name = "before", .head = "VS BEFORE", .min = 12, .ideal = 18, .keep = 20,
		.text = before_text},
};
/* clang-format on */
const size_t bench_ncolumns = COUNT(bench_columns);

/* Rows. */

static bool of_suite(const struct live_case *k, const char *suite)
{
	size_t n = suite ? strlen(suite) : 0;

	return n && !*k->file && !strncmp(k->name, suite, n) && k->name[n] == '/';
}

static bool built_in(const struct live_case *k)
{
	for (size_t i = 0; i < COUNT(suites); i++)
		if (of_suite(k, suites[i].name))
			return true;
	return false;
}

/* A head, and below it those of the run's cases that are its own. */
static void add_suite(struct table *t, const struct live_run *run, size_t *n, struct bench_entry of)
{
	struct bench_entry *head;

	if (*n == COUNT(entries))
		return;
	head = &entries[(*n)++];
	*head = of;
	table_add(t,
		(struct table_row){.engine = "", .id = of.word ? of.word : of.name, .item = head});
	for (size_t i = 0; i < run->ncases; i++) {
		const struct live_case *k = &run->cases[i];
		bool its = of.file ? !strcmp(k->file, of.word) : of_suite(k, of.name);

		if (!its || *n == COUNT(entries))
			continue;
		head->cases++;
		head->done += k->state == LIVE_OK || k->state == LIVE_FAILED;
		entries[*n] = of;
		entries[*n].k = k;
		table_add(t,
			(struct table_row){
				.engine = "case", .id = k->id, .item = &entries[*n], .depth = 1});
		(*n)++;
	}
}

void bench_rows(
	struct table *t, const struct live_run *run, const struct own_suite *own, size_t nown)
{
	static char groups[GROUPS_MAX][64]; /* of runs that did not say which file they are of */
	size_t n = 0, ngroups = 0;

	table_begin(t);
	for (size_t i = 0; i < nown; i++)
		add_suite(t, run, &n,
			(struct bench_entry){.word = own[i].path,
				.name = own[i].name,
				.about = *own[i].about ? own[i].about : own[i].path,
				.file = true});
	for (size_t i = 0; i < run->ncases && ngroups < GROUPS_MAX; i++) {
		const struct live_case *k = &run->cases[i];
		bool known = *k->file || built_in(k);

		for (size_t g = 0; g < ngroups && !known; g++)
			known = of_suite(k, groups[g]);
		if (known)
			continue;
		snprintf(groups[ngroups], sizeof groups[0], "%.*s", (int)strcspn(k->name, "/"),
			k->name);
		add_suite(t, run, &n,
			(struct bench_entry){.name = groups[ngroups], .about = "of a suite file"});
		ngroups++;
	}
	for (size_t i = 0; i < COUNT(suites); i++)
		add_suite(t, run, &n,
			(struct bench_entry){.word = suites[i].name,
				.name = suites[i].name,
				.about = suites[i].about});
	table_end(t);
}
