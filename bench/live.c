/* live.c - writes the lines of live.h, flushed after each, for a reader that follows. */
#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <berth/text.h>

#include "report.h"

int live_open(struct live *l, const char *path, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	l->f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!l->f)
		return err_sys(e, errno, "cannot write %s", path);
	fputs("berth-bench-live 1\n", l->f);
	return 0;
}

static const char *clean_or_dash(char *buf, size_t cap, const char *s)
{
	text_clean(buf, cap, s && *s ? s : "-");
	return buf;
}

void live_plan(
	struct live *l, const struct results *r, const struct plan *p, const struct run_options *o)
{
	char label[64], a[128], b[128];
	long total = 0;

	if (!l->f)
		return;
	for (size_t i = 0; i < p->n; i++)
		total += case_samples(p->items[i].what, o);
	run_label(&r->run, label, sizeof label);
	fprintf(l->f, "run\t%d\t%s\t%s\t%s\t%.9g\t%zu\t%ld\n", (int)getpid(),
		clean_or_dash(a, sizeof a, label), *r->run.commit ? r->run.commit : "-",
		clean_or_dash(b, sizeof b, r->baseline_word), r->threshold, p->n, total);
	for (size_t i = 0; i < p->n; i++) {
		const struct planned *k = &p->items[i];
		char name[256], about[256], file[PATH_MAX];

		snprintf(name, sizeof name, "%s/%s", k->suite->name, k->what->name);
		fprintf(l->f, "case\t%zu\t%s\t%s\t%s\t%d\t%s\n", i,
			clean_or_dash(a, sizeof a, name),
			clean_or_dash(about, sizeof about, k->what->about),
			k->what->unit ? k->what->unit : "s", case_samples(k->what, o),
			clean_or_dash(file, sizeof file, k->file));
	}
	fflush(l->f);
}

void live_begin(struct live *l, size_t index)
{
	l->arms_told = 0;
	if (!l->f)
		return;
	fprintf(l->f, "begin\t%zu\n", index);
	fflush(l->f);
}

void live_sample(struct live *l, size_t index, const struct bench_run *r, size_t arm, double value,
	uint64_t done)
{
	char name[128];

	if (!l->f)
		return;
	for (; l->arms_told < r->nseries; l->arms_told++)
		fprintf(l->f, "arm\t%zu\t%zu\t%s\t%s\n", index, l->arms_told,
			clean_or_dash(name, sizeof name, r->series[l->arms_told].name),
			!r->what->measure && (int)l->arms_told == r->what->baseline ? "baseline"
										    : "-");
	fprintf(l->f, "v\t%zu\t%zu\t%.9g\t%llu\n", index, arm, value, (unsigned long long)done);
	/* Whoever reads sees them within a sample of a case that takes long anyway. */
	if (value > 1e-3 || r->series[arm].n % 16 == 1)
		fflush(l->f);
}

static void print_interval(
	struct live *l, const char *what, size_t index, size_t arm, struct interval i)
{
	fprintf(l->f, "%s\t%zu\t%zu\t%.9g\t%.9g\t%.9g", what, index, arm, i.low, i.point, i.high);
}

void live_result(struct live *l, size_t index, const struct result *x)
{
	char text[600], figure[96];

	if (!l->f)
		return;
	for (size_t a = 0; a < x->c.narms; a++) {
		struct interval q = arm_ratio(&x->c, a);

		if (!isnan(q.point)) {
			print_interval(l, "ratio", index, a, q);
			fputc('\n', l->f);
		}
		if (x->compared) {
			print_interval(l, "change", index, a, x->changes[a].speed);
			fprintf(l->f, "\t%s\n",
				x->unconfirmed && x->changes[a].change == CHANGE_SLOWER
					? "slower once, not confirmed"
					: change_word(x->changes[a].change));
		}
		for (size_t i = 0; i < x->ntrend[a]; i++) {
			const struct trend_point *p = &x->trend[a][i];

			fprintf(l->f, "trend\t%zu\t%zu\t%s\t%.9g\t%.9g\t%.9g\n", index, a,
				clean_or_dash(text, 64, p->label), p->low, p->median, p->high);
		}
	}
	for (size_t i = 0; i < x->ntargets; i++)
		fprintf(l->f, "target\t%zu\t%s\t%s\t%s\n", index,
			verdict_word(x->targets[i].verdict),
			target_figure(figure, sizeof figure, &x->targets[i], x->c.unit),
			clean_or_dash(text, sizeof text, x->targets[i].requirement));
	if (*x->alert)
		fprintf(l->f, "alert\t%zu\t%s\n", index,
			clean_or_dash(text, sizeof text, x->alert));
	fprintf(l->f, "state\t%zu\t%s\t%s\n", index, x->c.state,
		clean_or_dash(text, sizeof text, *x->c.error ? x->c.error : x->c.notes));
	fflush(l->f);
}

void live_load(struct live *l, const struct load *load)
{
	if (!l->f)
		return;
	fprintf(l->f, "load\t%.3g\t%.3g\t%.3g\n", load->own_percent, load->others_percent,
		load->steal_percent);
	fflush(l->f);
}

void live_say(struct live *l, const char *text)
{
	char buf[600];

	if (!l->f)
		return;
	fprintf(l->f, "say\t%s\n", clean_or_dash(buf, sizeof buf, text));
	fflush(l->f);
}

void live_end(struct live *l, const char *state, const char *text)
{
	char buf[600];

	if (!l->f)
		return;
	fprintf(l->f, "end\t%s\t%s\n", state, clean_or_dash(buf, sizeof buf, text));
	fclose(l->f);
	l->f = NULL;
}
