/* report.c - figures with n and spread, ratios with their interval, targets with a verdict. */
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <berth/format.h>
#include <berth/mem.h>

#define VALUE_MAX 32

/* A value in the unit of its case; seconds are scaled. */
static const char *value(char buf[VALUE_MAX], const char *unit, double v)
{
	if (isnan(v))
		snprintf(buf, VALUE_MAX, "-");
	else if (unit && strcmp(unit, "s"))
		snprintf(buf, VALUE_MAX, fabs(v) < 100 ? "%.3g %s" : "%.0f %s", v, unit);
	else if (fabs(v) >= 1)
		snprintf(buf, VALUE_MAX, "%.3g s", v);
	else if (fabs(v) >= 1e-3)
		snprintf(buf, VALUE_MAX, "%.3g ms", v * 1e3);
	else
		snprintf(buf, VALUE_MAX, "%.3g us", v * 1e6);
	return buf;
}

static void first_line(const char *path, const char *prefix, char *buf, size_t cap)
{
	FILE *f = fopen(path, "re");
	char line[512];

	snprintf(buf, cap, "unknown");
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, prefix, strlen(prefix))) {
			char *v = strchr(line, ':');

			v = v && *prefix ? v + 1 : line;
			snprintf(buf, cap, "%s", v + strspn(v, " \t"));
			buf[strcspn(buf, "\n")] = '\0';
			break;
		}
	if (f)
		fclose(f);
}

void report_machine(FILE *out)
{
	char cpu[128], load[64];
	struct utsname u;

	uname(&u);
	first_line("/proc/cpuinfo", "model name", cpu, sizeof cpu);
	first_line("/proc/loadavg", "", load, sizeof load);
	fprintf(out, "berth %s, %s, %ld cores (%s), load %s\n", BERTH_VERSION, u.release,
		sysconf(_SC_NPROCESSORS_ONLN), cpu, load);
}

void report_case(FILE *out, const struct bench_run *run)
{
	struct bench_run *r = (struct bench_run *)run;
	const struct bench_case *c = r->what;
	char a[VALUE_MAX], b[VALUE_MAX], m[VALUE_MAX], p[VALUE_MAX], x[VALUE_MAX];
	const struct series_of *base = r->nseries ? &r->series[c->measure ? 0 : c->baseline] : NULL;

	fprintf(out, "\n%s/%s  %s\n", r->suite->name, c->name, c->about);
	if (r->err.kind) {
		fprintf(out, "  %s: %s\n", r->failed ? "FAILED" : "not run", r->err.msg);
		return;
	}
	fprintf(out, "  %-28s %5s %10s %10s %10s %10s %10s  %s\n", "arm", "n", "median", "MAD",
		"min", "p95", "p99", c->measure ? "" : "ratio to baseline [95 %]");
	for (size_t i = 0; i < r->nseries; i++) {
		struct series_of *s = &r->series[i];
		struct summary sum;

		summarise(s->v, s->n, &sum);
		fprintf(out, "  %-28s %5zu %10s %10s %10s %10s %10s", s->name, sum.n,
			value(a, c->unit, sum.median), value(b, c->unit, sum.mad),
			value(m, c->unit, sum.min), value(p, c->unit, sum.p95),
			value(x, c->unit, sum.p99));
		if (!c->measure && s != base && base->n && s->n) {
			struct interval q =
				ratio_interval(base->v, base->n, s->v, s->n, 1, r->seed);

			fprintf(out, "  %.2fx [%.2f .. %.2f]", q.point, q.low, q.high);
		}
		fputc('\n', out);
	}
	if (r->notes.len)
		fprintf(out, "  %s\n", r->notes.s);
}

void report_targets(FILE *out, const struct bench_run *r)
{
	for (size_t i = 0; i < TARGETS_MAX && r->what->targets[i].requirement; i++) {
		const struct goal *t = &r->what->targets[i];
		struct interval q;
		double figure;
		enum verdict v = target_judge(r, t, &figure, &q);
		char text[96], f[VALUE_MAX];
		const struct series_of *s =
			t->arm ? bench_series((struct bench_run *)r, t->arm) : &r->series[0];

		if (v == NOT_RUN || v == FAILED)
			snprintf(text, sizeof text, "-");
		else if (t->on == ON_RATIO)
			snprintf(text, sizeof text, "%.2fx [%.2f .. %.2f]", q.point, q.low, q.high);
		else
			snprintf(text, sizeof text, "%s", value(f, r->what->unit, figure));
		fprintf(out, "  %-8s %-24s n=%-5zu %s/%s: %s\n", verdict_word(v), text,
			s ? s->n : 0, r->suite->name, r->what->name, t->requirement);
	}
}

static void json_number(FILE *out, const char *name, double v)
{
	if (isfinite(v))
		fprintf(out, ",\"%s\":%.9g", name, v);
	else
		fprintf(out, ",\"%s\":null", name);
}

/* Names and notes are ours, but errors may quote anything. */
static void json_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7F)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

void report_json(FILE *out, const struct bench_run *r)
{
	fprintf(out,
		"{\"schema\":\"berth.bench.case/1\",\"suite\":\"%s\",\"case\":\"%s\","
		"\"unit\":\"%s\",\"state\":\"%s\",\"seed\":%llu,\"error\":",
		r->suite->name, r->what->name, r->what->unit ? r->what->unit : "s",
		r->err.kind ? (r->failed ? "failed" : "not_run") : "ok",
		(unsigned long long)r->seed);
	json_string(out, r->err.msg);
	fputs(",\"notes\":", out);
	json_string(out, r->notes.s);
	fputs(",\"arms\":[", out);
	for (size_t i = 0; i < r->nseries; i++) {
		const struct series_of *s = &r->series[i];
		struct summary sum;

		summarise(s->v, s->n, &sum);
		fprintf(out, "%s{\"name\":\"%s\",\"n\":%zu", i ? "," : "", s->name, sum.n);
		json_number(out, "mean", sum.mean);
		json_number(out, "median", sum.median);
		json_number(out, "mad", sum.mad);
		json_number(out, "sd", sum.sd);
		json_number(out, "min", sum.min);
		json_number(out, "max", sum.max);
		json_number(out, "p95", sum.p95);
		json_number(out, "p99", sum.p99);
		json_number(out, "user_seconds", s->usage.user_s);
		json_number(out, "system_seconds", s->usage.system_s);
		json_number(out, "read_bytes", (double)s->usage.read_bytes);
		json_number(out, "write_bytes", (double)s->usage.write_bytes);
		fputs(",\"samples\":[", out);
		for (size_t k = 0; k < s->n; k++)
			fprintf(out, "%s%.9g", k ? "," : "", s->v[k]);
		fputs("]}", out);
	}
	fputs("],\"targets\":[", out);
	for (size_t i = 0; i < TARGETS_MAX && r->what->targets[i].requirement; i++) {
		struct interval q;
		double figure;
		enum verdict v = target_judge(r, &r->what->targets[i], &figure, &q);

		fprintf(out, "%s{\"requirement\":", i ? "," : "");
		json_string(out, r->what->targets[i].requirement);
		fprintf(out, ",\"verdict\":\"%s\"", verdict_word(v));
		json_number(out, "figure", figure);
		json_number(out, "low", q.low);
		json_number(out, "high", q.high);
		fputc('}', out);
	}
	fputs("]}\n", out);
}
