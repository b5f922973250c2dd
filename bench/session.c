/*
 * session.c - `berth bench run`: runs the cases of a plan, and reports to the history, the job board, the console, the
 * terminal and the report files.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <berth/arena.h>
#include <berth/build.h>
#include <berth/clock.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/record.h>
#include <berth/text.h>
#include <berth/users.h>

#include "cli/gate.h"
#include "job/board.h"
#include "live.h"
#include "peers/docker.h"
#include "report.h"
#include "session.h"

#define NOISE_SAMPLES 60

static volatile sig_atomic_t stopped;

struct session {
	struct plan plan;
	struct run_options options;
	struct results results;
	struct history *history; /* NULL: --no-history */
	struct live live;
	struct load_mark mark, whole;
	struct board *board;
	struct job *job;
	size_t index; /* of the case that runs */
	uint64_t total, samples_told;
	size_t counted; /* the series of a measurement whose values are counted */
	bool once_more; /* it is measured again: those samples are no part of the job */
	int64_t painted_ns;
	unsigned formats;
	char out_dir[PATH_MAX];
	int cwd; /* suites may go elsewhere; the next one starts from here */
	bool json, quiet;
};

static void on_stop_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static bool is_session_cancelled(void *ctx)
{
	struct session *s = ctx;

	return stopped || job_cancelled(s->job);
}

/* Of a measurement's series the first of each phase is counted: a new one, when the one before is full.  The
 * last sample counts when the case has ended: what is behind it takes time, too. */
static void count_sample(struct session *s, const struct bench_run *r, size_t arm, uint64_t all)
{
	if (r->what->measure && arm != s->counted) {
		if (r->series[arm].n != 1 || r->series[s->counted].n < (size_t)bench_samples(r))
			return;
		s->counted = arm;
	}
	if (s->once_more || s->samples_told + 1 >= all)
		return;
	s->samples_told++;
	job_add(s->job, 1, 0, 0);
}

static void on_sample(void *ctx, const struct bench_run *r, size_t arm, double value)
{
	struct session *s = ctx;
	uint64_t all = (uint64_t)case_samples(r->what, &s->options);
	int64_t now = clock_mono_ns();
	char text[JOB_TEXT_MAX];

	count_sample(s, r, arm, all);
	live_sample(&s->live, s->index, r, arm, value, s->samples_told);
	if (now - s->painted_ns < 100000000)
		return;
	s->painted_ns = now;
	if (s->once_more)
		snprintf(text, sizeof text, "%s/%s  measuring once more", r->suite->name,
			r->what->name);
	else
		snprintf(text, sizeof text, "%s/%s  %llu of %llu", r->suite->name, r->what->name,
			(unsigned long long)s->samples_told, (unsigned long long)all);
	job_current(s->job, text);
	if (!s->quiet)
		fprintf(stderr, "\r\033[K[%zu/%zu] %s", s->index + 1, s->plan.n, text);
}

/* The work. */

static void measure_case(
	struct session *s, const struct planned *k, struct history_case *ret, bool *was_cancelled)
{
	struct run_options o = s->options;
	struct bench_run r;

	if (!o.samples)
		o.samples = k->repetitions;
	bench_case_run(k->suite, k->what, &o, &r);
	case_of_run(&r, ret);
	*was_cancelled = r.cancelled;
	bench_run_release(&r);
	if (s->cwd >= 0 && fchdir(s->cwd) < 0)
		close(steal_fd(&s->cwd));
}

/* What looks slower is measured once more before it is called so: a machine has bad minutes.  Where
 * that is cancelled or fails, what was seen first stands. */
static void confirm_slower(struct session *s, const struct planned *k, struct result *x,
	const struct history_case *old, bool *was_cancelled)
{
	struct history_case again = {0};

	live_say(&s->live, "It looks slower, so it is measured again.");
	s->once_more = true;
	measure_case(s, k, &again, was_cancelled);
	s->once_more = false;
	x->unconfirmed = !*was_cancelled && !strcmp(again.state, "ok");
	for (size_t a = 0; a < again.narms && a < x->c.narms; a++) {
		struct compared second;

		compare_arm(old, &again, a, s->results.threshold, 0, &second);
		if (x->changes[a].change == CHANGE_SLOWER && second.change == CHANGE_SLOWER)
			x->unconfirmed = false;
	}
	if (x->unconfirmed) {
		if (x->alert_slower)
			x->alert[0] = '\0';
		for (size_t a = 0; a < x->c.narms; a++)
			x->changes[a].alert = false;
	}
	history_case_release(&again);
}

static int run_case(struct session *s, const struct planned *k, struct err *e)
{
	uint64_t all = (uint64_t)case_samples(k->what, &s->options);
	struct history_case c = {0}, old = {0};
	struct result *x;
	struct load load;
	bool was_cancelled;
	char name[JOB_TEXT_MAX];

	s->samples_told = s->counted = 0;
	snprintf(name, sizeof name, "%s/%s", k->suite->name, k->what->name);
	job_current(s->job, name);
	live_begin(&s->live, s->index);
	measure_case(s, k, &c, &was_cancelled);
	if (was_cancelled) {
		history_case_release(&c);
		return err_set(e, ERR_CANCELLED, "cancelled");
	}
	if (strcmp(c.state, "not_run") != 0)
		job_add(s->job, all - s->samples_told, 0, !strcmp(c.state, "failed"));
	else
		job_total(s->job, s->total -= all - s->samples_told, 0);
	if (s->history && history_add_case(s->history, s->results.run.id, &c, e) < 0) {
		history_case_release(&c);
		return -1;
	}
	x = results_add(&s->results, &c, k->what);
	if (s->results.baseline.id) {
		bool has = history_case(s->history, s->results.baseline.id, x->c.suite, x->c.name,
				   &old, NULL) == 0 &&
			!strcmp(old.state, "ok");

		result_compare(&s->results, x, has ? &old : NULL);
		if (result_slower(x))
			confirm_slower(s, k, x, &old, &was_cancelled);
		history_case_release(&old);
	}
	if (s->history && (s->live.f || s->formats & FORMAT_HTML))
		result_trend(x, s->history, s->results.run.machine, NULL);
	live_result(&s->live, s->index, x);
	load = load_since(&s->mark);
	live_load(&s->live, &load);
	if (!s->quiet)
		fputs("\r\033[K", stderr);
	if (!s->json) {
		report_case(stdout, &s->results, x);
		fflush(stdout);
	}
	return was_cancelled ? err_set(e, ERR_CANCELLED, "cancelled") : 0;
}

/* Two equal arms, first of all: how far apart this machine puts what is the same. */
static void measure_noise(struct session *s)
{
	struct run_options o = {.samples = NOISE_SAMPLES, .seed = s->options.seed};
	const struct bench_case *c = bench_find("self", "a-a");
	static const struct bench_suite self = {"self", NULL};
	struct history_run *h = &s->results.run;
	struct bench_run r;

	h->noise_low = h->noise_point = h->noise_high = NAN;
	if (s->options.smoke)
		return;
	bench_case_run(&self, c, &o, &r);
	if (!r.err.kind && r.series[0].n) {
		struct interval i = ratio_interval(
			r.series[0].v, r.series[0].n, r.series[1].v, r.series[1].n, 1, h->seed);

		h->noise_low = i.low;
		h->noise_point = i.point;
		h->noise_high = i.high;
	}
	bench_run_release(&r);
}

/* Reports. */

static int write_report(struct session *s, const char *name,
	void (*print)(FILE *out, const struct results *r), struct err *e)
{
	char path[PATH_MAX + 32];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", s->out_dir, name);
	if (!(f = fopen(path, "we")))
		return err_sys(e, errno, "cannot write the report %s", path);
	print(f, &s->results);
	if (fflush(f) || ferror(f)) {
		fclose(f);
		return err_sys(e, errno, "cannot write the report %s", path);
	}
	fclose(f);
	if (!s->json)
		printf("report: %s\n", path);
	return 0;
}

static void print_run_json(FILE *out, const struct results *r)
{
	report_json(out, r, "berth.bench_run/1");
}

static int write_reports(struct session *s, struct err *e)
{
	static const struct {
		enum report_format format;
		const char *name;
		void (*print)(FILE *out, const struct results *r);
	} all[] = {{FORMAT_MARKDOWN, "report.md", report_markdown},
		{FORMAT_JSON, "report.json", print_run_json},
		{FORMAT_HTML, "report.html", report_html}};

	for (size_t i = 0; i < COUNT(all); i++)
		if (s->formats & all[i].format && write_report(s, all[i].name, all[i].print, e) < 0)
			return -1;
	return 0;
}

/* Reading the command line. */

static int read_number_option(
	const struct cli *c, const char *name, uint64_t max, uint64_t *ret, struct err *e)
{
	const char *text = cli_value(c, name);
	unsigned long long v;
	char *end;

	if (!text)
		return 0;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || v < 1 || v > max)
		return err_set(e, ERR_USAGE, "--%s takes a number from 1 to %llu, not \"%.40s\".",
			name, (unsigned long long)max, text);
	*ret = v;
	return 0;
}

int bench_threshold(const struct cli *c, double otherwise, double *ret, struct err *e)
{
	const char *text = cli_value(c, "threshold");
	char *end;

	*ret = otherwise > 0 ? otherwise : THRESHOLD;
	if (!text)
		return 0;
	*ret = strtod(text, &end);
	if (end == text || *end || !(*ret >= 0.01 && *ret <= 1))
		return err_set(e, ERR_USAGE,
			"--threshold takes a number from 0.01 to 1 (0.95: 5 %% slower is too slow), not "
			"\"%.40s\".",
			text);
	return 0;
}

/* Names are compared with again: what would not survive a report has no place in one. */
static int take_name(const struct cli *c, const char *option, char *buf, size_t cap, struct err *e)
{
	const char *text = cli_value(c, option);

	if (!text)
		return 0;
	if (!*text || strlen(text) > 60 ||
		strspn(text,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_+/") !=
			strlen(text))
		return err_set(e, ERR_USAGE,
			"--%s takes a name of letters, digits and .-_+/, at most 60 of them.",
			option);
	snprintf(buf, cap, "%s", text);
	return 0;
}

static int read_run_options(struct session *s, const struct cli *c, struct err *e)
{
	struct history_run *h = &s->results.run;
	uint64_t v = 0;

	s->options.seed = (uint64_t)time(NULL);
	if (read_number_option(c, "samples", REPETITIONS_MAX, &v, e) < 0 ||
		read_number_option(c, "seed", UINT64_MAX / 2, &s->options.seed, e) < 0 ||
		take_name(c, "release", h->release, sizeof h->release, e) < 0 ||
		take_name(c, "commit", h->commit, sizeof h->commit, e) < 0)
		return -1;
	s->options.samples = (int)v;
	s->options.smoke = cli_flag(c, "smoke");
	for (int i = 0; i < c->argc; i++)
		if (plan_add(&s->plan, c->argv[i], e) < 0)
			return -1;
	if (!c->argc)
		plan_all(&s->plan);
	s->formats = s->plan.formats;
	if (cli_value(c, "format")) {
		s->formats = 0;
		if (parse_formats(cli_value(c, "format"), &s->formats, e) < 0)
			return -1;
	}
	if (cli_value(c, "out") && !s->formats)
		s->formats = FORMAT_MARKDOWN | FORMAT_JSON | FORMAT_HTML;
	s->json = cli_flag(c, "json");
	s->quiet = s->json || !isatty(STDERR_FILENO);
	return bench_threshold(c, s->plan.threshold, &s->results.threshold, e);
}

/* Where reports go; made only when everything else was found to be right. */
static int out_dir(struct session *s, const struct cli *c, struct err *e)
{
	const char *dir = cli_value(c, "out");

	if (!s->formats)
		return 0;
	if (dir && mkdir(dir, 0777) < 0 && errno != EEXIST)
		return err_sys(e, errno, "cannot make the directory %s", dir);
	if (!realpath(dir ? dir : ".", s->out_dir))
		return err_sys(e, errno, "cannot write reports to %s", dir ? dir : ".");
	return 0;
}

/* The run to compare with: asked for on the command line it must be there; one that a suite file names
 * may be missing the first time; a release is compared with the one before it. */
static int find_baseline(struct session *s, const struct cli *c, struct err *e)
{
	const char *asked = cli_value(c, "compare-to");
	const char *word = asked ? asked : s->plan.compare_to;
	struct history_run *h = &s->results.run;
	char before[HISTORY_NAME_MAX + 1], say[400];
	struct err why = ERR_INIT;

	if (!word && *h->release) {
		snprintf(before, sizeof before, "!%s", h->release);
		word = before;
	}
	if (!word)
		return 0;
	if (!s->history)
		return err_set(e, ERR_USAGE, "--no-history leaves nothing to compare with.");
	if (history_find(s->history, word, h->machine, 0, &s->results.baseline, &why) == 0) {
		run_label(&s->results.baseline, s->results.baseline_word,
			sizeof s->results.baseline_word);
		return 0;
	}
	if (asked || why.kind != ERR_NOT_FOUND)
		return err_copy(e, &why);
	if (s->plan.compare_to)
		snprintf(say, sizeof say,
			"There are no figures of %.60s of a machine like this yet: this run is compared with "
			"nothing.",
			word);
	else
		snprintf(say, sizeof say,
			"There is no release before %s in the history: it is recorded as the first.",
			h->release);
	fprintf(stderr, "berth: %s\n", say);
	return 0;
}

static void handle_signals(void)
{
	struct sigaction sa = {.sa_handler = on_stop_signal};

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
}

static void open_job(struct session *s)
{
	char user[USER_NAME_MAX];
	char name[JOB_TEXT_MAX];

	for (size_t i = 0; i < s->plan.n; i++)
		s->total += (uint64_t)case_samples(s->plan.items[i].what, &s->options);
	if (s->plan.n == 1)
		snprintf(name, sizeof name, "bench %s/%s", s->plan.items[0].suite->name,
			s->plan.items[0].what->name);
	else
		snprintf(name, sizeof name, "bench %s, %zu cases", s->plan.items[0].suite->name,
			s->plan.n);
	s->board = board_open("bench", NULL);
	s->job = job_new(s->board, name, user_name(geteuid(), user), "samples", true);
	job_total(s->job, s->total, 0);
}

/* One line of a narrow screen: what there is none of is not said. */
static void say_tally(char *buf, size_t cap, const struct tally *t)
{
	const struct {
		size_t n;
		const char *one, *many;
	} parts[] = {{t->failed, "failed", "failed"}, {t->not_run, "not run", "not run"},
		{t->missed, "target missed", "targets missed"}, {t->slower, "slower", "slower"}};
	size_t used = (size_t)snprintf(buf, cap, "%zu measured", t->ok);

	for (size_t i = 0; i < COUNT(parts) && used < cap; i++)
		if (parts[i].n)
			used += (size_t)snprintf(buf + used, cap - used, ", %zu %s", parts[i].n,
				parts[i].n == 1 ? parts[i].one : parts[i].many);
}

static void finish_session(struct session *s, int rc, struct err *e)
{
	struct history_run *h = &s->results.run;
	struct load whole = load_since(&s->whole);
	struct tally t = results_tally(&s->results);
	bool stop = rc < 0 && e->kind == ERR_CANCELLED, failed = rc < 0 || !t.ok;
	char text[JOB_TEXT_MAX];

	h->ended_ms = clock_wall_ms();
	h->load_end = load_average();
	h->others_percent = whole.others_percent;
	h->steal_percent = whole.steal_percent;
	snprintf(h->state, sizeof h->state, "%s", stop ? "cancelled" : failed ? "failed" : "done");
	if (s->history && h->id && history_end(s->history, h, rc < 0 ? NULL : e) < 0 && rc == 0)
		snprintf(h->state, sizeof h->state, "failed");
	say_tally(text, sizeof text, &t);
	job_end(s->job,
		stop                         ? JOB_CANCELLED
			: failed || t.failed ? JOB_FAILED
					     : JOB_DONE,
		rc < 0 && !stop ? e->msg : text);
	board_close(s->board);
	live_end(&s->live, h->state, rc < 0 && !stop ? e->msg : text);
}

static int run_cases(struct session *s, struct err *e)
{
	struct history_run *h = &s->results.run;
	int rc = 0;

	handle_signals();
	open_job(s);
	load_begin(&s->whole);
	s->mark = s->whole;
	measure_noise(s);
	if (s->history)
		rc = history_begin(s->history, h, e);
	if (!s->json && rc == 0)
		report_machine(stdout, h);
	live_plan(&s->live, &s->results, &s->plan, &s->options);
	for (s->index = 0; rc == 0 && s->index < s->plan.n; s->index++)
		rc = run_case(s, &s->plan.items[s->index], e);
	finish_session(s, rc, e);
	return rc;
}

static int run_planned(struct session *s, const struct cli *c, struct err *e)
{
	struct history_run *h = &s->results.run;
	struct endpoint engine;

	snprintf(h->version, sizeof h->version, "%s", berth_build.version);
	h->seed = s->options.seed;
	h->started_ms = clock_wall_ms();
	machine_fill(h);
	machine_versions(h->versions, sizeof h->versions);
	bench_engine_is(cli_value(c, "host"), cli_value(c, "context"));
	if (bench_endpoint(&engine, NULL) == 0) {
		snprintf(h->engine, sizeof h->engine, "%s", engine.url);
		endpoint_release(&engine);
	}
	s->options.ctx = s;
	s->options.sampled = on_sample;
	s->options.cancelled = is_session_cancelled;
	if (!cli_flag(c, "no-history") && !(s->history = bench_history(e)))
		return -1;
	if (find_baseline(s, c, e) < 0 || out_dir(s, c, e) < 0 ||
		(cli_value(c, "follow") && live_open(&s->live, cli_value(c, "follow"), e) < 0))
		return -1;
	if (run_cases(s, e) < 0) {
		if (e->kind == ERR_CANCELLED)
			err_set(e, ERR_CANCELLED,
				"cancelled: the history keeps what was complete (%zu of %zu cases).",
				s->results.n, s->plan.n);
		return -1;
	}
	if (s->json)
		print_run_json(stdout, &s->results);
	else
		report_targets(stdout, &s->results);
	return write_reports(s, e) < 0 ? -1 : results_exit(&s->results);
}

int bench_run_command(const struct cli *c, const struct settings *unused, struct err *e)
{
	struct recorder recorder = {.program = "bench"};
	struct recording recording;
	struct session s = {.cwd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)};
	struct policy policy;
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	int rc;

	(void)unused;
	plan_init(&s.plan);
	results_init(&s.results);
	recorder.policy = &policy;
	rc = cli_policy(c, &policy, &mem, e);
	if (rc == 0)
		rc = read_run_options(&s, c, e);
	if (rc == 0) {
		struct audit_record r = {.operation = OP_BENCH_RUN, .target_type = "benchmark"};
		struct err failed = ERR_INIT;

		r.name = c->argc ? c->argv[0] : "all";
		rc = record_begin(&recording, &recorder, &r, e);
		if (rc == 0) {
			rc = run_planned(&s, c, e);
			if (rc > 0)
				err_set(&failed, ERR_FAILED,
					"a case failed or was slower, or nothing was measured");
			record_end(&recording, rc < 0 ? e : rc ? &failed : NULL);
		}
	}
	recorder_close(&recorder);
	if (s.cwd >= 0)
		close(s.cwd);
	history_close(s.history);
	results_release(&s.results);
	plan_release(&s.plan);
	return rc;
}
