/* clean_hosts.c - `berth clean --all-hosts`: one plan for each host, shown together and carried out together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/format.h>
#include <berth/hosts.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/snapshot.h>
#include <berth/text.h>

#include "cli/clean_verbs.h"
#include "cli/run.h"

struct several {
	const struct cli *c;
	const struct settings *settings;
	struct clean_site site[HOSTS_MAX];
	char *url[HOSTS_MAX]; /* of each site; NULL: its address is wrong */
	bool read_only[HOSTS_MAX];
	bool reported[HOSTS_MAX]; /* its error was said */
	size_t n;
	struct arena mem;
	bool json;
};

/* ---- which */

static void add_site(struct several *a, const struct clean_site *s, char *url, bool read_only)
{
	a->site[a->n] = *s;
	arena_init(&a->site[a->n].mem, 4096);
	a->url[a->n] = url;
	a->read_only[a->n++] = read_only;
}

static bool is_known(const struct several *a, const char *url, size_t from)
{
	for (size_t i = from; i < a->n; i++)
		if (a->url[i] && !strcmp(a->url[i], url))
			return true;
	return false;
}

static bool has_name(const struct host_spec *hosts, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(hosts[i].name, name))
			return true;
	return false;
}

/* The engine that is meant without --all-hosts is the first, as in the console; called by where it is, or where a host
 * has that name, by its address. */
static int add_home(struct several *a, const struct host_spec *hosts, size_t nhosts, struct err *e)
{
	const char *host = cli_value(a->c, "host"), *context = cli_value(a->c, "context");
	char *url, *name;
	bool nowhere;

	if (host_describe(host, context, &url, &name, &nowhere, e))
		return -1;
	if (nowhere && nhosts)
		free(url);
	else
		add_site(a,
			&(struct clean_site){.name = arena_strdup(&a->mem,
						     has_name(hosts, nhosts, name) ? url : name),
				.host = host,
				.context = context},
			url, a->settings->read_only);
	free(name);
	return 0;
}

static void add_host(struct several *a, const struct host_spec *h)
{
	struct clean_site s = {
		.name = h->name, .host = h->endpoint, .context = h->context, .prefixed = true};
	char *url = NULL, *name = NULL;
	bool nowhere;

	host_describe(h->endpoint, h->endpoint ? NULL : h->context, &url, &name, &nowhere, &s.err);
	free(name);
	if (url && is_known(a, url, 0)) {
		/* The first one by another name. */
		if (a->n && !a->site[0].prefixed && !strcmp(a->url[0], url)) {
			a->site[0].name = h->name;
			a->read_only[0] |= h->read_only;
		}
		free(url);
		return;
	}
	add_site(a, &s, url, h->read_only || a->settings->read_only);
}

static int choose_sites(struct several *a, struct err *e)
{
	const struct host_spec *hosts;
	size_t n = cli_hosts(a->c, a->settings, &a->mem, &hosts);

	if (add_home(a, hosts, n, e))
		return -1;
	for (size_t i = 0; i < n && a->n < HOSTS_MAX; i++)
		add_host(a, &hosts[i]);
	return 0;
}

/* Only the hosts that the saved plan names. */
static int take_saved_plan(struct several *a, const char *path, struct err *e)
{
	struct clean_named_plan plan[HOSTS_MAX];
	AUTO_STR struct str text = STR_INIT;
	bool named[HOSTS_MAX] = {false};
	char shown[80];
	size_t n, kept = 0;

	if (cli_clean_read(path, &text, e) ||
		clean_plans_parse(text.s, text.len, plan, HOSTS_MAX, &n, &a->mem, e))
		return -1;
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < a->n && strcmp(a->site[k].name, plan[i].name) != 0)
			k++;
		if (k == a->n)
			return err_set(e, ERR_USAGE,
				"The plan names the host %s, which is not known here: see `berth host list`.",
				text_clean(shown, sizeof shown, plan[i].name));
		named[k] = true;
		a->site[k].plan = plan[i].plan;
		if (!plan[i].plan && !a->site[k].err.kind)
			err_set(&a->site[k].err, ERR_UNREACHABLE,
				"The plan was made without this host: make another one.");
	}
	for (size_t i = 0; i < a->n; i++) {
		if (named[i]) {
			struct clean_site moved = a->site[i];
			char *url = a->url[i];

			a->read_only[kept] = a->read_only[i];
			a->site[i] = a->site[kept];
			a->url[i] = a->url[kept];
			a->site[kept] = moved;
			a->url[kept++] = url;
		}
	}
	for (size_t i = kept; i < a->n; i++) {
		arena_release(&a->site[i].mem);
		free(a->url[i]);
	}
	a->n = kept;
	return 0;
}

/* ---- what is shown */

static size_t count_marked(const struct several *a, struct clean_totals *sum)
{
	*sum = (struct clean_totals){0};
	for (size_t i = 0; i < a->n; i++) {
		struct clean_totals t = {0};

		if (!a->site[i].plan || a->read_only[i])
			continue;
		t = clean_totals(a->site[i].plan);
		sum->marked += t.marked;
		sum->kept += t.kept;
		sum->running += t.running;
		sum->bytes += t.bytes;
		sum->bytes_unknown |= t.bytes_unknown;
	}
	return sum->marked;
}

static void print_plans(const struct several *a)
{
	int columns = cli_columns(), w = 0;
	struct clean_totals t;
	char bytes[FORMAT_MAX];
	size_t items = 0;

	for (size_t i = 0; i < a->n; i++) {
		int n = (int)strlen(a->site[i].name) + 2;

		w = n > w ? n : w;
	}
	for (size_t i = 0; i < a->n; i++) {
		const struct clean_site *s = &a->site[i];

		if (!s->plan)
			continue;
		items += s->plan->n;
		printf("Plan %s for %s%s\n", s->plan->name, s->name,
			a->read_only[i]      ? ", which is read-only: nothing is removed there"
				: s->plan->n ? ""
					     : ": nothing to clean up");
		for (size_t k = 0; k < s->plan->n; k++)
			cli_clean_item(&s->plan->item[k], s->name, w, columns);
	}
	if (!items)
		return;
	printf("%zu to remove", count_marked(a, &t));
	if (t.bytes)
		printf(", %s%s", t.bytes_unknown ? "at least " : "", format_bytes(bytes, t.bytes));
	if (t.running)
		printf("; %zu of them still running", t.running);
	if (t.kept)
		printf("; %zu protected and kept", t.kept);
	putchar('\n');
}

static int print_plans_json(const struct several *a)
{
	AUTO_STR struct str json = STR_INIT;

	str_adds(&json, "{\"schema\": \"berth.clean_plans/1\", \"hosts\": [");
	for (size_t i = 0; i < a->n; i++) {
		const struct clean_site *s = &a->site[i];

		str_adds(&json, i ? ",\n{\"host\": " : "\n{\"host\": ");
		jsonw_quote(&json, s->name, strlen(s->name));
		str_adds(&json, ", \"problem\": ");
		if (s->err.kind)
			jsonw_quote(&json, s->err.msg, strlen(s->err.msg));
		else
			str_adds(&json, "null");
		str_adds(&json, ", \"plan\": ");
		if (s->plan)
			clean_plan_json(s->plan, &json);
		else
			str_adds(&json, "null");
		str_addc(&json, '}');
	}
	str_adds(&json, "]}\n");
	fwrite(json.s, 1, json.len, stdout);
	return cli_finish();
}

/* One line for each item that ended, as it ends. */
static void on_site_changed(void *ctx, size_t i, const struct clean_outcome *o)
{
	const struct clean_site *s = ctx;
	const struct clean_item *it = &s->plan->item[i];
	char name[128], said[256];

	if (!clean_ended(o->state))
		return;
	text_clean(name, sizeof name, it->name);
	text_clean(said, sizeof said, o->said);
	printf("%-8s %-9s %s on %s%s%s\n", clean_state_name(o->state), clean_type_name(it->type),
		name, s->name, *said ? ": " : "", said);
	fflush(stdout);
}

static void add_sums(const struct several *a, struct clean_sum *ret)
{
	*ret = (struct clean_sum){0};
	for (size_t i = 0; i < a->n; i++) {
		const struct clean_sum *s = &a->site[i].sum;

		ret->done += s->done;
		ret->gone += s->gone;
		ret->skipped += s->skipped;
		ret->refused += s->refused;
		ret->kept += s->kept;
		ret->failed += s->failed;
		ret->bytes += s->bytes;
	}
}

static int print_result_json(const struct several *a)
{
	struct jsonw j;

	jsonw_document(&j, "berth.clean_hosts/1");
	jsonw_array(&j, "hosts");
	for (size_t i = 0; i < a->n; i++) {
		const struct clean_site *s = &a->site[i];

		jsonw_object(&j, NULL);
		jsonw_text(&j, "host", s->name);
		jsonw_text(&j, "plan", s->plan ? s->plan->name : NULL);
		jsonw_text(&j, "engine", s->plan ? s->plan->engine : NULL);
		cli_clean_result(&j, s->plan, s->outcome, &s->sum, &s->err);
		jsonw_end(&j);
	}
	return jsonw_print(&j);
}

/* Each host that was not reached, or where something failed, once; the exit code of the gravest. */
static int report_sites(struct several *a)
{
	int code = 0;
	char why[ERR_MSG_MAX];

	fflush(stdout);
	for (size_t i = 0; i < a->n; i++) {
		const struct clean_site *s = &a->site[i];
		int own = s->err.kind ? err_exit_code(&s->err) : 0;

		if (!own)
			continue;
		if (!a->reported[i])
			fprintf(stderr, "berth: %s: %s\n", s->name,
				text_clean(why, sizeof why, s->err.msg));
		a->reported[i] = true;
		/* 1 failed, then 4 refused, then 3 unreachable. */
		code = code == 1 || own == 1 ? 1 : own > code ? own : code;
	}
	return code;
}

/* ---- what is done */

static int run_sites(struct several *a, struct err *e)
{
	struct clean_run how = {.grace_s = -1,
		.cancelled = cli_clean_stops,
		.changed = a->json ? NULL : on_site_changed};
	struct clean_sum sum;
	int code, printed;

	if (cli_timeout(a->c, &how.limit_ms, e))
		return -1;
	clean_run_sites(a->site, a->n, "clean", &how);
	add_sums(a, &sum);
	if (a->json)
		printed = print_result_json(a);
	else if (sum.done + sum.gone + sum.skipped + sum.refused + sum.kept + sum.failed)
		cli_clean_sum(&sum);
	printed = a->json ? printed : cli_finish();
	code = report_sites(a);
	return code ? code : printed;
}

static int show_and_run(struct several *a, struct err *e)
{
	bool told = cli_value(a->c, "plan") || cli_flag(a->c, "yes");
	struct clean_totals t;
	int code, printed = 0;

	if (a->json && !told)
		printed = print_plans_json(a);
	else if (!a->json)
		print_plans(a);
	if (told)
		return run_sites(a, e);
	code = report_sites(a);
	if (cli_flag(a->c, "dry-run") || !count_marked(a, &t))
		return code ? code : printed ? printed : cli_finish();
	if (a->json || !isatty(0) || !isatty(1)) {
		fprintf(stderr,
			"berth: nothing was done: give --yes, or save the plan (--dry-run --json) and give it to --plan.\n");
		return cli_finish() ? 1 : 2;
	}
	if (cli_clean_confirm(t.marked) && !cli_clean_stops(NULL))
		return run_sites(a, e);
	if (cli_clean_stops(NULL)) {
		putchar('\n');
		return cli_clean_cancelled();
	}
	puts("Nothing was done.");
	return code ? code : cli_finish();
}

static void close_sites(struct several *a)
{
	clean_close_sites(a->site, a->n);
	for (size_t i = 0; i < a->n; i++)
		free(a->url[i]);
	arena_release(&a->mem);
	free(a);
}

int cli_clean_hosts(const struct cli *c, const struct settings *s, struct err *e)
{
	struct several *a = xcalloc(1, sizeof *a);
	struct policy policy;
	const struct clean_options o = {
		.program = "clean", .policy = &policy, .stop = cli_clean_stops};
	int rc = -1;

	a->c = c;
	a->settings = s;
	a->json = cli_flag(c, "json");
	arena_init(&a->mem, 4096);
	policy_from_settings(&policy, s, &a->mem);
	if (s->read_only)
		policy.read_only_by = cli_flag(c, "read-only") ? "--read-only" : "berth.yaml";
	if (choose_sites(a, e) == 0 &&
		(!cli_value(c, "plan") || take_saved_plan(a, cli_value(c, "plan"), e) == 0)) {
		cli_clean_heed();
		clean_open_sites(a->site, a->n, &o, cli_flag(c, "foreign"));
		rc = cli_clean_stops(NULL) ? cli_clean_cancelled() : show_and_run(a, e);
	}
	close_sites(a);
	return rc;
}
