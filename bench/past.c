/* past.c - `berth bench check|list|compare|report|trend|export|import`: works on suites and recorded runs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <berth/bench.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include <berth/jsonw.h>
#include "machine.h"
#include "plan.h"
#include "report.h"
#include "session.h"

#define RUNS_SHOWN 1000

struct history *bench_history(struct err *e)
{
	AUTO_STR struct str notice = STR_INIT;
	struct history *h = history_open(NULL, &notice, e);

	if (notice.len)
		fprintf(stderr, "berth: %s\n", notice.s);
	return h;
}

/* check */

struct faults {
	struct err *v;
	size_t n, cap;
};

static void add_fault(void *faults, const struct err *e)
{
	struct faults *f = faults;

	f->v = mem_grow(f->v, &f->cap, f->n + 1, sizeof *f->v);
	f->v[f->n++] = *e;
}

int bench_check(const struct cli *c, const struct settings *unused, struct err *e)
{
	struct faults f = {0};
	struct err why = ERR_INIT;
	struct plan p;
	int rc;

	(void)unused;
	(void)e;
	plan_init(&p);
	p.found = add_fault;
	p.found_ctx = &f;
	if (plan_add(&p, c->argv[0], &why) < 0)
		add_fault(&f, &why);
	rc = cli_conclude_check(c, "a benchmark suite", f.v, f.n, c->argv[0]);
	plan_release(&p);
	free(f.v);
	return rc;
}

/* list */

static int list_runs(const struct cli *c, struct err *e)
{
	struct history *h = bench_history(e);
	AUTO_FREE struct history_run *runs = NULL;
	char stamp[FORMAT_MAX];
	struct jsonw j;
	size_t n = 0;
	int rc = h ? history_runs(h, RUNS_SHOWN, &runs, &n, e) : -1;

	history_close(h);
	if (rc < 0)
		return -1;
	if (cli_flag(c, "json")) {
		jsonw_document(&j, "berth.bench_runs/1");
		jsonw_array(&j, "runs");
		for (size_t i = 0; i < n; i++) {
			jsonw_object(&j, NULL);
			jsonw_int(&j, "id", runs[i].id);
			jsonw_int(&j, "started_ms", runs[i].started_ms);
			jsonw_text(&j, "release", runs[i].release);
			jsonw_text(&j, "version", runs[i].version);
			jsonw_text(&j, "commit", runs[i].commit);
			jsonw_text(&j, "state", runs[i].state);
			jsonw_text(&j, "machine", runs[i].machine);
			jsonw_end(&j);
		}
		return jsonw_print(&j);
	}
	if (!n)
		puts("No benchmark has been run yet: berth bench run");
	else
		printf("%5s  %-16s %-14s %-14s %-11s %s\n", "RUN", "TIME (UTC)", "RELEASE",
			"COMMIT", "STATE", "MACHINE");
	for (size_t i = 0; i < n; i++)
		printf("%5s%lld  %.16s %-14s %-14s %-11s %s\n", "#", (long long)runs[i].id,
			format_stamp(stamp, runs[i].started_ms),
			*runs[i].release ? runs[i].release : "-",
			*runs[i].commit ? runs[i].commit : "-", runs[i].state, runs[i].machine);
	return cli_finish();
}

static void list_text(const struct own_suite *own, size_t nown)
{
	static const char *const abouts[] = {
#define SUITE(name, about) about,
		SUITES(SUITE)
#undef SUITE
	};
	const char *group = "";

	for (size_t i = 0; i < bench_nsuites; i++) {
		printf("%s  %s\n", bench_suites[i]->name, abouts[i]);
		for (const struct bench_case *k = bench_suites[i]->cases; k->name; k++)
			printf("  %s/%-*s %s\n", bench_suites[i]->name,
				34 - (int)strlen(bench_suites[i]->name), k->name, k->about);
	}
	puts("\ntests of suite files (configs/bench.yaml shows how)");
	for (const struct bench_test *t = bench_tests; t->name; t++) {
		if (strcmp(group, t->group) != 0)
			printf("%s\n", group = t->group);
		printf("  %-36s %s%s%s%s\n", t->name, t->about, t->param ? "; " : "",
			t->param ? t->param : "", t->param ? ": [N, ...]" : "");
	}
	printf("any other name\n  %-36s %s\n", "command", "any command against any other");
	if (!nown)
		return;
	puts("\nyour own suites");
	for (size_t i = 0; i < nown; i++)
		printf("  %-36s %s\n", own[i].name, *own[i].about ? own[i].about : own[i].path);
}

int bench_list(const struct cli *c, const struct settings *unused, struct err *e)
{
	static struct own_suite own[OWN_SUITES_MAX];
	size_t nown;
	struct jsonw j;

	(void)unused;
	if (cli_flag(c, "runs"))
		return list_runs(c, e);
	nown = own_suites(own, COUNT(own));
	if (!cli_flag(c, "json")) {
		list_text(own, nown);
		return cli_finish();
	}
	jsonw_document(&j, "berth.bench_list/1");
	jsonw_array(&j, "cases");
	for (size_t i = 0; i < bench_nsuites; i++)
		for (const struct bench_case *k = bench_suites[i]->cases; k->name; k++) {
			jsonw_object(&j, NULL);
			jsonw_text(&j, "suite", bench_suites[i]->name);
			jsonw_text(&j, "case", k->name);
			jsonw_text(&j, "about", k->about);
			jsonw_int(&j, "samples", k->samples ? k->samples : 30);
			jsonw_end(&j);
		}
	jsonw_end(&j);
	jsonw_array(&j, "tests");
	for (const struct bench_test *t = bench_tests; t->name; t++) {
		jsonw_object(&j, NULL);
		jsonw_text(&j, "group", t->group);
		jsonw_text(&j, "test", t->name);
		jsonw_text(&j, "about", t->about);
		jsonw_text(&j, "parameter", t->param);
		jsonw_end(&j);
	}
	jsonw_end(&j);
	jsonw_array(&j, "own");
	for (size_t i = 0; i < nown; i++) {
		jsonw_object(&j, NULL);
		jsonw_text(&j, "name", own[i].name);
		jsonw_text(&j, "about", own[i].about);
		jsonw_text(&j, "path", own[i].path);
		jsonw_end(&j);
	}
	return jsonw_print(&j);
}

/* compare */

static void print_changes(const struct results *r)
{
	char a[VALUE_MAX], b[VALUE_MAX], name[HISTORY_NAME_MAX * 2], now[64];

	printf("%s against %s: speed 1 is equal, below 1 slower; threshold %.2f\n\n",
		run_label(&r->run, now, sizeof now), r->baseline_word, r->threshold);
	printf("  %-34s %-26s %10s %10s  %-24s %s\n", "case", "arm", "before", "now",
		"speed [95 %]", "");
	for (size_t i = 0; i < r->n; i++)
		for (size_t k = 0; r->v[i].compared && k < r->v[i].c.narms; k++) {
			const struct result *x = &r->v[i];
			const struct compared *d = &x->changes[k];
			char speed[64] = "-";

			if (d->change != CHANGE_MISSING)
				snprintf(speed, sizeof speed, "%.3f [%.3f .. %.3f]", d->speed.point,
					d->speed.low, d->speed.high);
			snprintf(name, sizeof name, "%s/%s", x->c.suite, x->c.name);
			printf("  %-34s %-26s %10s %10s  %-24s %s\n", name, x->c.arms[k].name,
				report_value(a, x->c.unit, d->old_median),
				report_value(b, x->c.unit, d->new_median), speed,
				change_word(d->change));
		}
	for (size_t i = 0; i < r->n; i++) {
		if (*r->v[i].alert)
			printf("ALERT %s\n", r->v[i].alert);
		if (!strcmp(r->v[i].c.state, "failed"))
			printf("FAILED %s/%s: %s\n", r->v[i].c.suite, r->v[i].c.name,
				r->v[i].c.error);
	}
	printf("\n%zu slower, %zu faster\n", results_tally(r).slower, results_tally(r).faster);
}

/* The run that `word` names (NULL: the newest), of a machine like this one. */
static int find_run(struct history *h, const struct cli *c, const char *word, int64_t before,
	struct history_run *ret, struct err *e)
{
	struct history_run here = {0};
	struct err why = ERR_INIT;

	snprintf(here.commit, sizeof here.commit, "-"); /* git need not be asked */
	machine_fill(&here);
	if (history_find(h, word ? word : "last",
		    cli_flag(c, "any-machine") || (word && *word == '#') ? NULL : here.machine,
		    before, ret, &why) == 0)
		return 0;
	/* Exit code 1 is a regression. */
	if (why.kind == ERR_NOT_FOUND)
		why.kind = ERR_USAGE;
	return err_copy(e, &why);
}

int bench_compare(const struct cli *c, const struct settings *unused, struct err *e)
{
	struct history *h = bench_history(e);
	struct history_run run, baseline;
	struct results r;
	double threshold;
	int rc = -1;

	(void)unused;
	results_init(&r);
	if (h && bench_threshold(c, 0, &threshold, e) == 0 &&
		find_run(h, c, c->argv[0], 0, &baseline, e) == 0 &&
		find_run(h, c, c->argc > 1 ? c->argv[1] : NULL, 0, &run, e) == 0 &&
		(c->argc > 1 || find_run(h, c, c->argv[0], run.id, &baseline, e) == 0) &&
		results_load(&r, h, &run, &baseline, threshold, false, e) == 0) {
		if (cli_flag(c, "json"))
			report_json(stdout, &r, "berth.bench_compare/1");
		else
			print_changes(&r);
		rc = results_exit(&r);
		if (cli_finish())
			rc = 1;
	}
	results_release(&r);
	history_close(h);
	return rc;
}

/* report */

int bench_report(const struct cli *c, const struct settings *unused, struct err *e)
{
	struct history *h = bench_history(e);
	const char *to = cli_value(c, "compare-to"), *path = cli_value(c, "out");
	struct history_run run, baseline;
	unsigned formats = 0;
	struct results r;
	double threshold;
	FILE *out = stdout;
	int rc = -1;

	(void)unused;
	results_init(&r);
	if (!h || bench_threshold(c, 0, &threshold, e) < 0 ||
		parse_formats(cli_flag(c, "json")        ? "json"
				: cli_value(c, "format") ? cli_value(c, "format")
							 : "markdown",
			&formats, e) < 0 ||
		find_run(h, c, c->argc ? c->argv[0] : NULL, 0, &run, e) < 0 ||
		(to && find_run(h, c, to, run.id, &baseline, e) < 0) ||
		results_load(&r, h, &run, to ? &baseline : NULL, threshold, true, e) < 0)
		goto out;
	if (path && !(out = fopen(path, "we"))) {
		err_sys(e, errno, "cannot write the report %s", path);
		goto out;
	}
	if (formats & FORMAT_JSON)
		report_json(out, &r, "berth.bench_run/1");
	else if (formats & FORMAT_HTML)
		report_html(out, &r);
	else
		report_markdown(out, &r);
	rc = 0;
	if (out != stdout && (fflush(out) || ferror(out)))
		rc = err_sys(e, errno, "cannot write the report %s", path);
	if (out != stdout)
		fclose(out);
	else if (cli_finish())
		rc = 1;
out:
	results_release(&r);
	history_close(h);
	return rc;
}

/* trend */

#define CHART_W 60
#define CHART_H 10

/* One arm over the runs: the quartile band in light, the median in full blocks. */
static void draw_trend_chart(const struct result *x, size_t arm)
{
	const struct trend_point *p = x->trend[arm];
	size_t n = x->ntrend[arm], wide = n ? CHART_W / n : 1;
	double low = INFINITY, high = 0;
	char v[VALUE_MAX], runs[FORMAT_COUNTED_MAX];

	wide = wide < 1 ? 1 : wide > 8 ? 8 : wide;
	for (size_t i = 0; i < n; i++) {
		low = fmin(low, p[i].low);
		high = fmax(high, p[i].high);
	}
	/* A flat line should look flat. */
	low = fmin(low, 0.8 * high);
	printf("\n%s/%s  %s\n", x->c.suite, x->c.name, x->c.arms[arm].name);
	for (int row = CHART_H; row-- > 0;) {
		double bottom = low + (high - low) * row / CHART_H;
		double top = low + (high - low) * (row + 1) / CHART_H;

		printf("%10s ",
			row == CHART_H - 1 ? report_value(v, x->c.unit, high)
				: row == 0 ? report_value(v, x->c.unit, low)
					   : "");
		fputs(row == CHART_H - 1 || row == 0 ? "┤" : "│", stdout);
		for (size_t i = 0; i < n; i++) {
			bool mid =
				p[i].median >= bottom && (p[i].median < top || row == CHART_H - 1);
			bool band = p[i].high >= bottom && p[i].low < top;

			for (size_t k = 0; k < wide; k++)
				fputs(k + 1 == wide && wide > 1 ? " "
						: mid           ? "█"
						: band          ? "░"
								: " ",
					stdout);
		}
		putchar('\n');
	}
	printf("%10s └", "");
	for (size_t i = 0; i < n * wide; i++)
		fputs("─", stdout);
	printf("\n%12s%s", "", p[0].label);
	if (n > 1) {
		int pad = (int)(n * wide) - (int)strlen(p[0].label) - (int)strlen(p[n - 1].label);

		printf("%*s%s", pad > 2 ? pad : 2, "", p[n - 1].label);
	}
	printf("\n%12sfirst %s", "", report_value(v, x->c.unit, p[0].median));
	printf(", last %s", report_value(v, x->c.unit, p[n - 1].median));
	printf(" (%+.1f %%), %s\n", 100 * (p[n - 1].median / p[0].median - 1),
		format_counted(runs, n, "run", "runs"));
}

static bool asked_for(const struct cli *c, const struct history_case *k)
{
	for (int i = 0; i < c->argc; i++) {
		size_t len = strlen(k->suite);

		if (!strncmp(c->argv[i], k->suite, len) &&
			(!c->argv[i][len] ||
				(c->argv[i][len] == '/' && !strcmp(c->argv[i] + len + 1, k->name))))
			return true;
	}
	return c->argc == 0;
}

static void trend_json(struct jsonw *j, const struct result *x)
{
	for (size_t a = 0; a < x->c.narms; a++) {
		jsonw_object(j, NULL);
		jsonw_text(j, "suite", x->c.suite);
		jsonw_text(j, "case", x->c.name);
		jsonw_text(j, "arm", x->c.arms[a].name);
		jsonw_text(j, "unit", x->c.unit);
		jsonw_array(j, "points");
		for (size_t i = 0; i < x->ntrend[a]; i++) {
			const struct trend_point *p = &x->trend[a][i];

			jsonw_object(j, NULL);
			jsonw_int(j, "run", p->run);
			jsonw_int(j, "started_ms", p->started_ms);
			jsonw_text(j, "label", p->label);
			jsonw_number(j, "median", p->median, 9);
			jsonw_number(j, "low", p->low, 9);
			jsonw_number(j, "high", p->high, 9);
			jsonw_uint(j, "n", p->n);
			jsonw_end(j);
		}
		jsonw_end(j);
		jsonw_end(j);
	}
}

/* Every case that any run of this machine measured, each once, as its newest run has it. */
static int each_case(const struct cli *c, struct history *h, const char *machine, struct jsonw *j,
	size_t *shown, struct err *e)
{
	AUTO_FREE struct history_run *runs = NULL;
	struct results seen;
	size_t n;
	int rc = 0;

	results_init(&seen);
	if (history_runs(h, RUNS_SHOWN, &runs, &n, e) < 0)
		return -1;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct history_case *all;
		size_t ncases;

		if (strcmp(runs[i].machine, machine) != 0)
			continue;
		if (history_cases(h, runs[i].id, &all, &ncases, e) < 0) {
			rc = -1;
			break;
		}
		for (size_t k = 0; k < ncases; k++) {
			bool known = strcmp(all[k].state, "ok") != 0 || !asked_for(c, &all[k]);
			struct result *x;

			for (size_t s = 0; s < seen.n && !known; s++)
				known = !strcmp(seen.v[s].c.suite, all[k].suite) &&
					!strcmp(seen.v[s].c.name, all[k].name);
			if (known || rc < 0) {
				history_case_release(&all[k]);
				continue;
			}
			x = results_add(&seen, &all[k], NULL);
			rc = result_trend(x, h, machine, e);
			for (size_t a = 0; rc == 0 && a < x->c.narms; a++)
				*shown += x->ntrend[a] > 0;
			if (rc == 0 && j)
				trend_json(j, x);
			for (size_t a = 0; rc == 0 && !j && a < x->c.narms; a++)
				if (x->ntrend[a])
					draw_trend_chart(x, a);
		}
		free(all);
	}
	results_release(&seen);
	return rc;
}

int bench_trend(const struct cli *c, const struct settings *unused, struct err *e)
{
	struct history *h = bench_history(e);
	struct history_run last = {0};
	bool json = cli_flag(c, "json");
	struct jsonw j;
	size_t shown = 0;
	int rc = -1;

	(void)unused;
	jsonw_document(&j, "berth.bench_trend/1");
	jsonw_array(&j, "series");
	if (h && find_run(h, c, NULL, 0, &last, e) == 0)
		rc = each_case(c, h, last.machine, json ? &j : NULL, &shown, e);
	history_close(h);
	if (rc == 0 && !shown && c->argc)
		rc = err_set(e, ERR_NOT_FOUND,
			"no run of a machine like this measured %.80s; `berth bench list` names the cases.",
			c->argv[0]);
	jsonw_end(&j);
	jsonw_end(&j);
	if (rc == 0 && json)
		return jsonw_print(&j);
	jsonw_release(&j);
	return rc < 0 ? -1 : cli_finish();
}

/* export, import */

int bench_export(const struct cli *c, const struct settings *unused, struct err *e)
{
	const char *path = c->argc ? c->argv[0] : "-";
	struct history *h = bench_history(e);
	FILE *out = stdout;
	int rc = -1;

	(void)unused;
	if (!h)
		return -1;
	if (strcmp(path, "-") != 0 && !(out = fopen(path, "wxe")))
		err_sys(e, errno, "cannot write %s", path);
	else
		rc = history_export(h, out, e);
	if (rc == 0 && fflush(out))
		rc = err_sys(e, errno, "cannot write %s", path);
	if (out && out != stdout)
		fclose(out);
	history_close(h);
	return rc;
}

int bench_import(const struct cli *c, const struct settings *unused, struct err *e)
{
	const char *path = c->argv[0];
	struct history *h = bench_history(e);
	struct history_imported n;
	FILE *in = stdin;
	int rc = -1;

	(void)unused;
	if (!h)
		return -1;
	if (strcmp(path, "-") != 0 && !(in = fopen(path, "re")))
		err_sys(e, errno, "cannot read %s", path);
	else
		rc = history_import(h, in, path, &n, e);
	if (in && in != stdin)
		fclose(in);
	history_close(h);
	if (rc < 0)
		return -1;
	printf("%zu runs with %zu cases imported, %zu runs were already here\n", n.runs, n.cases,
		n.known);
	return cli_finish();
}
