/* clean_verbs.c - `berth clean`: shows the plan, asks for confirmation, carries it out. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/clean.h>
#include <berth/clock.h>
#include <berth/file.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include <berth/jsonw.h>
#include "cli/clean_verbs.h"
#include "cli/run.h"

struct work {
	const struct cli *c;
	const struct clean_plan *plan;
	struct clean_outcome *outcome;
	struct clean_sum sum;
	bool json;
};

static atomic_int interrupted; /* the signal, or 0: set by the handler, read by the workers */

static void on_clean_signal(int sig)
{
	interrupted = sig;
}

void cli_clean_heed(void)
{
	const struct sigaction stop = {
		.sa_handler = on_clean_signal, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
}

bool cli_clean_stops(void *ctx)
{
	(void)ctx;
	return interrupted != 0;
}

int cli_clean_cancelled(void)
{
	fflush(stdout);
	fputs("berth: cancelled: nothing was done\n", stderr);
	return 128 + interrupted;
}

static const char *bytes_text(char buf[FORMAT_MAX], int64_t bytes)
{
	return bytes < 0 ? "?" : bytes == 0 ? "-" : format_bytes(buf, (uint64_t)bytes);
}

void cli_clean_item(const struct clean_item *it, const char *host, int host_w, int columns)
{
	char name[96], why[512], owner[64], bytes[FORMAT_MAX], line[1024];
	int fixed;

	text_clean(name, sizeof name, it->name);
	if (strlen(name) == 64 && strspn(name, "0123456789abcdef") == 64)
		name[28] = '\0'; /* nobody gave it a name: as much as tells it apart */
	text_clean(owner, sizeof owner, it->owner);
	text_clean(why, sizeof why, it->keep ? it->keep : it->why);
	fixed = snprintf(line, sizeof line, "  %-*s%-6s %-9s %-28s %7s  %-16s ", host_w, host,
		it->keep             ? "keep"
			: it->marked ? "remove"
				     : "-",
		clean_type_name(it->type), name, bytes_text(bytes, it->bytes), owner);
	if (it->running)
		snprintf(line + fixed, sizeof line - (size_t)fixed, "stopped first: %s", why);
	else
		snprintf(line + fixed, sizeof line - (size_t)fixed, "%s%s",
			it->keep ? "protected: " : "", why);
	/* Nobody should have to say yes to a reason that is cut off. */
	if (columns > 20 && text_width(line, strlen(line)) > columns)
		printf("%.*s\n         %s\n", fixed - 1, line, line + fixed);
	else
		printf("%s\n", line);
}

static void print_clean_plan(const struct clean_plan *p)
{
	struct clean_totals t = clean_totals(p);
	char bytes[FORMAT_MAX], where[128];
	int columns = cli_columns();

	if (!p->n) {
		puts(p->foreign ? "There is nothing to clean up."
				: "There is nothing of berth's to clean up.");
		return;
	}
	text_clean(where, sizeof where, *p->engine_name ? p->engine_name : p->endpoint);
	printf("Plan %s for %s\n", p->name, where);
	for (size_t i = 0; i < p->n; i++)
		cli_clean_item(&p->item[i], "", 0, columns);
	printf("%zu to remove", t.marked);
	if (t.bytes)
		printf(", %s%s", t.bytes_unknown ? "at least " : "", format_bytes(bytes, t.bytes));
	if (t.running)
		printf("; %zu of them still running", t.running);
	if (t.kept)
		printf("; %zu protected and kept", t.kept);
	putchar('\n');
}

/* False: a signal that is heeded came first. */
static bool await_answer(void)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	sigset_t both, before;

	sigemptyset(&both);
	sigaddset(&both, SIGINT);
	sigaddset(&both, SIGTERM);
	/* It may come at any time, and interrupts nothing but this. */
	pthread_sigmask(SIG_BLOCK, &both, &before);
	while (!interrupted && ppoll(&in, 1, NULL, &before) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !interrupted;
}

bool cli_clean_confirm(size_t n)
{
	char line[64], want[32];

	printf("Type %zu to remove %s, or just Enter to change nothing: ", n,
		n == 1 ? "it" : "them");
	fflush(stdout);
	snprintf(want, sizeof want, "%zu\n", n);
	return await_answer() && fgets(line, sizeof line, stdin) && !strcmp(line, want);
}

int cli_clean_read(const char *path, struct str *text, struct err *e)
{
	int failed = strcmp(path, "-") ? file_read(AT_FDCWD, path, 0, CLEAN_JSON_MAX, text, e)
				       : file_rest(0, "Standard input", CLEAN_JSON_MAX, text, e);

	if (!failed)
		return 0;
	err_wrap(e, "The plan cannot be read");
	if (e)
		e->kind = ERR_USAGE;
	return -1;
}

static struct clean_plan *read_plan(const char *path, struct arena *mem, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;

	return cli_clean_read(path, &text, e) ? NULL : clean_plan_parse(text.s, text.len, mem, e);
}

/* One line for each item that ended, as it ends. */
static void on_changed(void *ctx, size_t i, const struct clean_outcome *o)
{
	const struct work *w = ctx;
	const struct clean_item *it = &w->plan->item[i];
	char name[128], said[256];

	if (w->json || !clean_ended(o->state))
		return;
	text_clean(name, sizeof name, it->name);
	text_clean(said, sizeof said, o->said);
	printf("%-8s %-9s %s%s%s\n", clean_state_name(o->state), clean_type_name(it->type), name,
		*said ? ": " : "", said);
	fflush(stdout);
}

void cli_clean_sum(const struct clean_sum *s)
{
	char bytes[FORMAT_MAX];

	printf("%zu removed", s->done);
	if (s->bytes)
		printf(", %s freed", format_bytes(bytes, s->bytes));
	if (s->gone)
		printf("; %zu already gone", s->gone);
	if (s->skipped)
		printf("; %zu changed in the meantime and were left alone", s->skipped);
	if (s->refused)
		printf("; %zu refused", s->refused);
	if (s->kept)
		printf("; %zu kept", s->kept);
	if (s->failed)
		printf("; %zu failed", s->failed);
	putchar('\n');
}

void cli_clean_result(struct jsonw *j, const struct clean_plan *p,
	const struct clean_outcome *outcome, const struct clean_sum *sum, const struct err *e)
{
	jsonw_uint(j, "removed", sum->done);
	jsonw_uint(j, "gone", sum->gone);
	jsonw_uint(j, "skipped", sum->skipped);
	jsonw_uint(j, "refused", sum->refused);
	jsonw_uint(j, "kept", sum->kept);
	jsonw_uint(j, "failed", sum->failed);
	jsonw_uint(j, "bytes", sum->bytes);
	jsonw_text(j, "error", e->kind ? e->msg : NULL);
	jsonw_array(j, "items");
	for (size_t i = 0; outcome && i < p->n; i++) {
		const struct clean_item *it = &p->item[i];

		if (!it->marked)
			continue;
		jsonw_object(j, NULL);
		jsonw_text(j, "type", clean_type_name(it->type));
		jsonw_text(j, "id", it->id);
		jsonw_text(j, "name", it->name);
		jsonw_text(j, "outcome", clean_state_name(outcome[i].state));
		jsonw_text(j, "message", *outcome[i].said ? outcome[i].said : NULL);
		jsonw_end(j);
	}
	jsonw_end(j);
}

static void json_result(const struct work *w, const struct err *e)
{
	struct jsonw j;

	jsonw_document(&j, "berth.clean/1");
	jsonw_text(&j, "plan", w->plan->name);
	jsonw_text(&j, "engine", w->plan->engine);
	cli_clean_result(&j, w->plan, w->outcome, &w->sum, e);
	jsonw_print(&j);
}

static int carry_out_clean(struct work *w, struct clean_host *h, struct err *e)
{
	struct clean_run how = {
		.grace_s = -1, .cancelled = cli_clean_stops, .changed = on_changed, .ctx = w};
	struct err why = ERR_INIT;
	int result;

	if (cli_timeout(w->c, &how.limit_ms, e))
		return -1;
	cli_clean_heed();
	w->outcome = xcalloc(w->plan->n + 1, sizeof *w->outcome);
	result = clean_carry_out(h, w->plan, &how, w->outcome, &w->sum, &why);
	if (w->json)
		json_result(w, &why);
	else if (w->sum.done + w->sum.gone + w->sum.skipped + w->sum.refused + w->sum.kept +
		w->sum.failed)
		cli_clean_sum(&w->sum);
	free(w->outcome);
	return result ? err_copy(e, &why) : cli_finish();
}

int cli_carry_out(const struct cli *c, struct clean_host *h, const struct clean_plan *p,
	const char *hint, struct err *e)
{
	struct work w = {.c = c, .plan = p, .json = cli_flag(c, "json")};
	bool told = cli_value(c, "plan") || cli_flag(c, "yes"), dry = cli_flag(c, "dry-run");
	AUTO_STR struct str json = STR_INIT;

	if (!told && w.json) {
		clean_plan_json(p, &json);
		fwrite(json.s, 1, json.len, stdout);
	} else if (!w.json) {
		print_clean_plan(p);
	}
	if (dry || (!told && !clean_totals(p).marked))
		return cli_finish();
	if (told)
		return carry_out_clean(&w, h, e);
	if (w.json || !isatty(0) || !isatty(1)) {
		fflush(stdout);
		fprintf(stderr, "berth: nothing was done: %s.\n", hint);
		return cli_finish() ? 1 : 2;
	}
	if (cli_clean_confirm(clean_totals(p).marked))
		return carry_out_clean(&w, h, e);
	puts("Nothing was done.");
	return cli_finish();
}

static int make_and_carry_out(
	const struct cli *c, struct clean_host *h, struct arena *mem, struct err *e)
{
	const char *file = cli_value(c, "plan");
	const struct clean_plan *p = file
		? read_plan(file, mem, e)
		: clean_plan_make(h, cli_flag(c, "foreign"), true, mem, e);

	return p ? cli_carry_out(c, h, p,
			   "give --yes, or save the plan (--dry-run --json) and give it to --plan",
			   e)
		 : -1;
}

int cli_with_clean_host(
	const struct cli *c, const struct settings *s, cli_clean_fn *run, struct err *e)
{
	char program[64];
	struct policy policy;
	const struct clean_options o = {.host = cli_value(c, "host"),
		.context = cli_value(c, "context"),
		.program = cli_path(c, program, sizeof program),
		.policy = &policy};
	struct clean_host *h;
	AUTO_ARENA struct arena mem = ARENA_INIT(4096);
	int rc = -1;

	policy_from_settings(&policy, s, &mem);
	if (s->read_only)
		policy.read_only_by = cli_flag(c, "read-only") ? "--read-only" : "berth.yaml";
	h = clean_open(&o, e);
	if (h)
		rc = run(c, h, &mem, e);
	clean_close(h);
	return rc;
}

int cli_clean(const struct cli *c, const struct settings *s, struct err *e)
{
	if (cli_flag(c, "dry-run") + cli_flag(c, "yes") + (cli_value(c, "plan") != NULL) > 1)
		return err_set(e, ERR_USAGE, "clean takes one of --dry-run, --plan and --yes.");
	if (cli_value(c, "plan") && cli_flag(c, "foreign"))
		return err_set(e, ERR_USAGE, "--foreign is for making a plan; %s is already made.",
			cli_value(c, "plan"));
	return cli_flag(c, "all-hosts") ? cli_clean_hosts(c, s, e)
					: cli_with_clean_host(c, s, make_and_carry_out, e);
}

/* Said by others at their start; nothing where it cannot be found out. */
void cli_orphans(const struct cli *c)
{
	const struct clean_options o = {.host = cli_value(c, "host"),
		.context = cli_value(c, "context"),
		.program = "clean"};
	struct clean_host *h = clean_open(&o, NULL);
	int n = h ? clean_orphans(h) : 0;

	if (n > 0)
		fprintf(stderr,
			"berth: %d orphan%s of dead processes and ended sessions: `berth clean` "
			"shows %s.\n",
			n, n == 1 ? "" : "s", n == 1 ? "it" : "them");
	clean_close(h);
}
