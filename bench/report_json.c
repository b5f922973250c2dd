/* report_json.c - writes all measurements as one JSON document. */
#include <math.h>
#include <string.h>

#include <berth/mem.h>

#include <berth/jsonw.h>
#include "report.h"

#define DIGITS 9

static void write_interval(struct jsonw *j, const char *key, struct interval i)
{
	jsonw_object(j, key);
	jsonw_number(j, "low", i.low, DIGITS);
	jsonw_number(j, "point", i.point, DIGITS);
	jsonw_number(j, "high", i.high, DIGITS);
	jsonw_end(j);
}

static void write_run(struct jsonw *j, const char *key, const struct history_run *h)
{
	jsonw_object(j, key);
	jsonw_int(j, "id", h->id);
	jsonw_text(j, "uuid", h->uuid);
	jsonw_text(j, "state", h->state);
	jsonw_int(j, "started_ms", h->started_ms);
	jsonw_int(j, "ended_ms", h->ended_ms);
	jsonw_text(j, "version", h->version);
	jsonw_text(j, "commit", h->commit);
	jsonw_text(j, "release", h->release);
	jsonw_uint(j, "seed", h->seed);
	jsonw_text(j, "machine", h->machine);
	jsonw_text(j, "cpu", h->cpu);
	jsonw_int(j, "cores", h->cores);
	jsonw_int(j, "memory_bytes", h->memory_bytes);
	jsonw_text(j, "kernel", h->kernel);
	jsonw_text(j, "file_system", h->fs);
	jsonw_text(j, "engine", h->engine);
	jsonw_text(j, "programs", h->versions);
	jsonw_number(j, "load_start", h->load_start, 2);
	jsonw_number(j, "load_end", h->load_end, 2);
	jsonw_number(j, "others_percent", h->others_percent, 1);
	jsonw_number(j, "steal_percent", h->steal_percent, 1);
	write_interval(j, "noise", (struct interval){h->noise_low, h->noise_point, h->noise_high});
	jsonw_end(j);
}

static void write_usage(struct jsonw *j, const struct history_arm *a)
{
	struct history_sample sum = {0};

	for (size_t i = 0; i < a->n; i++) {
		const struct history_sample *v = &a->v[i];

		sum.user_s += v->user_s;
		sum.system_s += v->system_s;
		sum.minor_faults += v->minor_faults;
		sum.major_faults += v->major_faults;
		sum.read_bytes += v->read_bytes;
		sum.write_bytes += v->write_bytes;
		sum.syscalls_rw += v->syscalls_rw;
		if (v->peak_bytes > sum.peak_bytes)
			sum.peak_bytes = v->peak_bytes;
	}
	jsonw_object(j, "used");
	jsonw_number(j, "user_s", sum.user_s, DIGITS);
	jsonw_number(j, "system_s", sum.system_s, DIGITS);
	jsonw_uint(j, "minor_faults", sum.minor_faults);
	jsonw_uint(j, "major_faults", sum.major_faults);
	jsonw_uint(j, "read_bytes", sum.read_bytes);
	jsonw_uint(j, "write_bytes", sum.write_bytes);
	jsonw_uint(j, "syscalls_read_write", sum.syscalls_rw);
	jsonw_uint(j, "peak_bytes", sum.peak_bytes);
	jsonw_end(j);
}

static void write_arm(struct jsonw *j, const struct result *x, size_t i)
{
	const struct history_arm *a = &x->c.arms[i];
	struct summary s;

	arm_summary(a, &s);
	if (!s.n)
		s.mean = s.median = s.min = s.max = s.sd = s.mad = s.p95 = s.p99 = NAN;
	jsonw_object(j, NULL);
	jsonw_text(j, "name", a->name);
	jsonw_bool(j, "baseline", (int)i == x->c.baseline);
	jsonw_uint(j, "n", s.n);
	jsonw_number(j, "mean", s.mean, DIGITS);
	jsonw_number(j, "median", s.median, DIGITS);
	jsonw_number(j, "min", s.min, DIGITS);
	jsonw_number(j, "max", s.max, DIGITS);
	jsonw_number(j, "sd", s.sd, DIGITS);
	jsonw_number(j, "mad", s.mad, DIGITS);
	jsonw_number(j, "p95", s.p95, DIGITS);
	jsonw_number(j, "p99", s.p99, DIGITS);
	write_interval(j, "ratio", arm_ratio(&x->c, i));
	write_usage(j, a);
	if (x->compared) {
		const struct compared *k = &x->changes[i];

		jsonw_object(j, "change");
		jsonw_text(j, "verdict",
			x->unconfirmed && k->change == CHANGE_SLOWER ? "not confirmed"
								     : change_word(k->change));
		jsonw_number(j, "median_before", k->old_median, DIGITS);
		write_interval(j, "speed", k->speed);
		write_interval(j, "speed_against_baseline_arm", k->relative);
		jsonw_number(j, "p", k->p, DIGITS);
		jsonw_end(j);
	} else {
		jsonw_null(j, "change");
	}
	jsonw_array(j, "samples");
	for (size_t k = 0; k < a->n; k++)
		jsonw_number(j, NULL, a->v[k].value, DIGITS);
	jsonw_end(j);
	jsonw_end(j);
}

static void write_case(struct jsonw *j, const struct result *x)
{
	jsonw_object(j, NULL);
	jsonw_text(j, "suite", x->c.suite);
	jsonw_text(j, "case", x->c.name);
	jsonw_text(j, "unit", x->c.unit);
	jsonw_text(j, "state", x->c.state);
	jsonw_text(j, "error", *x->c.error ? x->c.error : NULL);
	jsonw_text(j, "notes", x->c.notes);
	jsonw_bool(j, "higher_is_better", x->c.higher);
	jsonw_text(j, "alert", *x->alert ? x->alert : NULL);
	jsonw_array(j, "arms");
	for (size_t i = 0; i < x->c.narms; i++)
		write_arm(j, x, i);
	jsonw_end(j);
	jsonw_array(j, "targets");
	for (size_t i = 0; i < x->ntargets; i++) {
		const struct target_result *t = &x->targets[i];
		static const char *const words[] = {"not_run", "met", "missed", "failed", "none"};

		jsonw_object(j, NULL);
		jsonw_text(j, "requirement", t->requirement);
		jsonw_text(j, "arm", *t->arm ? t->arm : NULL);
		jsonw_text(j, "verdict", words[t->verdict]);
		jsonw_number(j, "figure", t->figure, DIGITS);
		write_interval(j, "interval", t->interval);
		jsonw_uint(j, "n", t->n);
		jsonw_end(j);
	}
	jsonw_end(j);
	jsonw_end(j);
}

void report_json(FILE *out, const struct results *r, const char *schema)
{
	struct tally t = results_tally(r);
	struct jsonw j;

	jsonw_document(&j, schema);
	write_run(&j, "run", &r->run);
	if (r->baseline.id)
		write_run(&j, "baseline", &r->baseline);
	else
		jsonw_null(&j, "baseline");
	jsonw_number(&j, "threshold", r->threshold, 4);
	jsonw_object(&j, "tally");
	jsonw_uint(&j, "measured", t.ok);
	jsonw_uint(&j, "failed", t.failed);
	jsonw_uint(&j, "not_run", t.not_run);
	jsonw_uint(&j, "met", t.met);
	jsonw_uint(&j, "missed", t.missed);
	jsonw_uint(&j, "slower", t.slower);
	jsonw_uint(&j, "faster", t.faster);
	jsonw_uint(&j, "alerts", t.alerts);
	jsonw_end(&j);
	jsonw_array(&j, "cases");
	for (size_t i = 0; i < r->n; i++)
		write_case(&j, &r->v[i]);
	jsonw_end(&j);
	jsonw_end(&j);
	fwrite(j.out.s, 1, j.out.len, out);
	jsonw_release(&j);
}
