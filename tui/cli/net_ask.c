/* net_ask.c - `berth net ask` and `berth net test`: decides what agents may reach, and tests rules. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/arena.h>
#include <berth/clock.h>
#include <berth/egress.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/record.h>
#include <berth/text.h>

#include "cli/commands.h"
#include "cli/gate.h"

#define AGENTS_MAX 256
#define LOOK_MS 1000 /* for agents that came up */
#define LINE_MAX_BYTES 512

/* ---- deciding */

struct deciding {
	const char *name; /* of the container */
	const struct egress_target *to;
	enum egress_answer answer;
};

static int do_answer(void *ctx, struct audit_record *r, struct err *e)
{
	const struct deciding *d = ctx;

	(void)r;
	return egress_decide(d->name, d->to, d->answer, e);
}

static int answer_recorded(
	const struct cli *c, const char *agent, const struct deciding *d, struct err *e)
{
	char rule[EGRESS_HOST_MAX + 8];
	const struct key_value kv[] = {
		{"rules", rule, false}, {"for", egress_answer_name(d->answer), false}};
	struct policy policy;
	struct recorder by = {.program = "net", .policy = &policy, .direct = true};
	struct audit_record r = {
		.operation = d->answer == EGRESS_ANSWER_DENY ? OP_NET_DENY : OP_NET_ALLOW,
		.target_type = "container",
		.name = d->name,
		.agent = agent,
		.params = kv,
		.nparams = COUNT(kv)};
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	int rc;

	egress_write_target(d->to, rule);
	rc = cli_policy(c, &policy, &mem, e);
	if (!rc) {
		rc = record_act(&by, &r, NULL, do_answer, (void *)(uintptr_t)d, e);
		recorder_settle_on(&by);
	}
	return rc;
}

static int answer_words(const struct cli *c, const char *who, const char *target,
	enum egress_answer a, struct err *e)
{
	struct egress_target to;
	char name[64];
	struct deciding d = {name, &to, a};

	if (egress_parse_target(target, strlen(target), EGRESS_TLS_PORT, &to, e) ||
		egress_container(who, name, e))
		return -1;
	return answer_recorded(c, who, &d, e);
}

/* ---- looking */

struct asked_agent {
	char name[64];
	int watch; /* -1: its end is away */
	bool fresh, gone;
	struct egress_queue q;
	struct egress_rule rule[EGRESS_RULES_MAX + 1];
	size_t nrules;
};

struct asked_crew {
	const struct cli *c;
	const char *only; /* a container's name; NULL: all */
	bool json;
	struct asked_agent *agent[AGENTS_MAX];
	size_t n;
	int64_t looked_ns;
	char line[LINE_MAX_BYTES]; /* of input, so far */
	size_t nline;
	bool closed; /* no more input comes */
};

static struct asked_agent *crew_member(struct asked_crew *k, const char *name)
{
	for (size_t i = 0; i < k->n; i++)
		if (!strcmp(k->agent[i]->name, name))
			return k->agent[i];
	if (k->n == AGENTS_MAX)
		return NULL;
	k->agent[k->n] = xcalloc(1, sizeof **k->agent);
	snprintf(k->agent[k->n]->name, 64, "%s", name);
	k->agent[k->n]->watch = -1;
	return k->agent[k->n++];
}

/* Those that came up, and those whose end came back. */
static void look_for_agents(struct asked_crew *k)
{
	char(*names)[64] = xcalloc(AGENTS_MAX, 64);
	size_t n = k->only ? 1 : egress_names(names, AGENTS_MAX);

	if (k->only)
		snprintf(names[0], 64, "%s", k->only);
	for (size_t i = 0; i < n; i++) {
		struct asked_agent *a = crew_member(k, names[i]);

		if (a && a->watch < 0)
			a->watch = egress_watch(a->name, NULL);
	}
	free(names);
	k->looked_ns = clock_mono_ns();
}

static void take_queue(struct asked_agent *a)
{
	int r = a->watch < 0 ? 0 : egress_watched(a->watch, &a->q);

	if (r < 0) {
		close(a->watch);
		a->watch = -1;
		a->q.n = 0;
	}
	a->fresh |= r != 0;
	if (r > 0 && egress_load_rules(a->name, a->rule, &a->nrules, NULL))
		a->nrules = 0;
}

static void write_near(const struct asked_agent *a, const struct egress_target *to, char out[300])
{
	const struct egress_rule *r = egress_near(a->rule, a->nrules, to);
	char text[EGRESS_RULE_MAX];

	*out = '\0';
	if (!r)
		return;
	egress_write_rule(r, text);
	snprintf(out, 300, "%s %s", egress_rule_verb(r), text);
}

static void print_asked(
	const struct asked_agent *a, const struct egress_asked *x, size_t number, int64_t now_ms)
{
	char target[EGRESS_HOST_MAX + 8], process[16], quoted[64], reason[EGRESS_REASON_MAX * 3],
		age[FORMAT_MAX], near[300];
	const char *where;
	int64_t s = (now_ms - x->first_ms) / 1000;

	egress_write_target(&x->to, target);
	egress_client(a->q.usage.init, x->port, process);
	write_near(a, &x->to, near);
	where = egress_leads_to(a->rule, a->nrules, &x->to);
	printf("%3zu  %-20s %-40s %ux, since %s, %s", number, a->name, target, x->count,
		format_span(age, s > 0 ? s : 0), x->held ? "waits" : "was refused");
	if (where)
		printf(", leads to %s", where);
	if (*process)
		printf(", by \"%s\"", text_clean(quoted, sizeof quoted, process));
	if (*x->reason)
		printf(", it says \"%s\"", text_clean(reason, sizeof reason, x->reason));
	if (*near)
		printf(" (near: %s)", near);
	putchar('\n');
}

static void put_asked_json(
	struct jsonw *j, const struct asked_agent *a, const struct egress_asked *x)
{
	char process[16], near[300];

	egress_client(a->q.usage.init, x->port, process);
	write_near(a, &x->to, near);
	jsonw_object(j, NULL);
	jsonw_text(j, "host", x->to.host);
	jsonw_uint(j, "port", x->to.port);
	jsonw_int(j, "first", x->first_ms);
	jsonw_int(j, "last", x->last_ms);
	jsonw_uint(j, "count", x->count);
	jsonw_uint(j, "held", x->held);
	jsonw_text(j, "process", *process ? process : NULL);
	jsonw_text(j, "reason", *x->reason ? x->reason : NULL);
	jsonw_text(j, "near", *near ? near : NULL);
	jsonw_text(j, "leads_to", egress_leads_to(a->rule, a->nrules, &x->to));
	jsonw_end(j);
}

static void print_queue_json(const struct asked_agent *a)
{
	struct jsonw j;

	jsonw_init(&j, true);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "schema", "berth.net_ask/1");
	jsonw_text(&j, "container", a->name);
	jsonw_bool(&j, "reached", a->watch >= 0);
	jsonw_uint(&j, "ask_seconds", a->q.ask_s);
	jsonw_array(&j, "asked");
	for (size_t i = 0; i < a->q.n; i++)
		put_asked_json(&j, a, &a->q.asked[i]);
	jsonw_print(&j);
}

/* What changed: of one agent as JSON, or the whole list. */
static void print_crew(struct asked_crew *k)
{
	int64_t now = clock_wall_ms();
	bool fresh = false;
	size_t number = 0;

	for (size_t i = 0; i < k->n; i++) {
		fresh |= k->agent[i]->fresh;
		if (k->agent[i]->fresh && k->json)
			print_queue_json(k->agent[i]);
		k->agent[i]->fresh = false;
	}
	if (!fresh || k->json) {
		fflush(stdout);
		return;
	}
	for (size_t i = 0; i < k->n; i++)
		for (size_t m = 0; m < k->agent[i]->q.n; m++)
			print_asked(k->agent[i], &k->agent[i]->q.asked[m], ++number, now);
	puts(number ? "a N allow once, s N for the session, x N deny, q quit" : "nothing is asked");
	fflush(stdout);
}

/* ---- what is typed */

static struct egress_asked *asked_by_number(
	struct asked_crew *k, const char *text, const char **name)
{
	size_t number = strtoul(text, NULL, 10);

	for (size_t i = 0; i < k->n; i++) {
		if (number && number <= k->agent[i]->q.n) {
			*name = k->agent[i]->name;
			return &k->agent[i]->q.asked[number - 1];
		}
		number -= number < k->agent[i]->q.n ? number : k->agent[i]->q.n;
	}
	return NULL;
}

static int answer_typed_line(struct asked_crew *k, char *line, struct err *e)
{
	static const char letters[] = "asx";
	char *save = NULL, *verb = strtok_r(line, " \t\r", &save),
	     *first = strtok_r(NULL, " \t\r", &save), *second = strtok_r(NULL, " \t\r", &save);
	const char *letter = verb && !verb[1] ? strchr(letters, *verb) : NULL;
	int answer = verb ? egress_answer_of(verb) : -1;
	struct deciding d = {0};
	struct egress_target to;

	if (answer >= 0 && second)
		return answer_words(k->c, first, second, (enum egress_answer)answer, e);
	if (letter && first && !second) {
		const struct egress_asked *x = asked_by_number(k, first, &d.name);

		if (!x)
			return err_set(e, ERR_NOT_FOUND, "number %.10s is not on the list", first);
		to = x->to;
		d.to = &to;
		d.answer = (enum egress_answer)(letter - letters);
		return answer_recorded(k->c, d.name, &d, e);
	}
	return err_set(e, ERR_USAGE,
		"a line is a, s or x and a number from the list, or once, session or deny with agent and target");
}

static bool obey_answer(struct asked_crew *k, char *line)
{
	struct err why = ERR_INIT;

	if (!strcmp(line, "q"))
		return false;
	if (!line[strspn(line, " \t\r")])
		return true;
	if (answer_typed_line(k, line, &why))
		fprintf(stderr, "berth: %s\n", why.msg);
	return true;
}

/* False: that was the end. */
static bool read_answers(struct asked_crew *k)
{
	ssize_t n = read(0, k->line + k->nline, sizeof k->line - 1 - k->nline);
	char *end;

	if (n <= 0) {
		k->closed = true;
		return !isatty(0);
	}
	k->nline += (size_t)n;
	k->line[k->nline] = '\0';
	while ((end = strchr(k->line, '\n'))) {
		size_t used = (size_t)(end - k->line) + 1;

		*end = '\0';
		if (!obey_answer(k, k->line))
			return false;
		memmove(k->line, k->line + used, k->nline - used + 1);
		k->nline -= used;
	}
	if (k->nline == sizeof k->line - 1)
		k->nline = 0;
	return true;
}

static void wait_for_change(struct asked_crew *k, struct pollfd *p)
{
	p[0] = (struct pollfd){.fd = k->closed ? -1 : 0, .events = POLLIN};
	p[1] = (struct pollfd){.fd = 1}; /* a reader that went away */
	for (size_t i = 0; i < k->n; i++)
		p[i + 2] = (struct pollfd){.fd = k->agent[i]->watch, .events = POLLIN};
	poll(p, k->n + 2, LOOK_MS);
}

static int stay_asked(struct asked_crew *k)
{
	struct pollfd p[AGENTS_MAX + 2];

	do {
		if (clock_mono_ns() - k->looked_ns >= LOOK_MS * INT64_C(1000000))
			look_for_agents(k);
		for (size_t i = 0; i < k->n; i++)
			take_queue(k->agent[i]);
		print_crew(k);
		wait_for_change(k, p);
		if (p[0].revents && !read_answers(k))
			break;
	} while (!(p[1].revents & POLLERR));
	return cli_finish();
}

static int list_queues(struct asked_crew *k, struct err *e)
{
	char(*names)[64] = xcalloc(AGENTS_MAX, 64);
	size_t n = k->only ? 1 : egress_names(names, AGENTS_MAX);
	int rc = 0;

	if (k->only)
		snprintf(names[0], 64, "%s", k->only);
	for (size_t i = 0; i < n && !rc; i++) {
		struct asked_agent *a = crew_member(k, names[i]);

		/* Of all agents those whose end is away are left out. */
		rc = egress_ask_queue(a->name, &a->q, k->only ? e : NULL) && k->only ? -1 : 0;
		a->fresh = true;
		if (!rc && egress_load_rules(a->name, a->rule, &a->nrules, NULL))
			a->nrules = 0;
	}
	free(names);
	if (rc)
		return -1;
	print_crew(k);
	return cli_finish();
}

int cli_net_ask(const struct cli *c, const struct settings *s, struct err *e)
{
	AUTO_FREE struct asked_crew *k = xcalloc(1, sizeof *k);
	const char *answer = cli_value(c, "answer");
	char name[64];
	int rc;

	(void)s;
	if (answer && (c->argc != 2 || egress_answer_of(answer) < 0))
		return err_set(e, ERR_USAGE,
			"--answer once, session or deny needs the agent and the target: berth net ask alpha github.com --answer once.");
	if (!answer && c->argc == 2)
		return err_set(e, ERR_USAGE,
			"what is the answer for %.80s?  --answer once, session or deny.",
			c->argv[1]);
	if (answer) {
		rc = answer_words(
			c, c->argv[0], c->argv[1], (enum egress_answer)egress_answer_of(answer), e);
		return rc < 0 ? -1 : cli_recorded(cli_finish() ? 1 : rc, 1);
	}
	if (c->argc && egress_container(c->argv[0], name, e))
		return -1;
	k->c = c;
	k->only = c->argc ? name : NULL;
	k->json = cli_flag(c, "json");
	rc = cli_flag(c, "list") ? list_queues(k, e) : stay_asked(k);
	for (size_t i = 0; i < k->n; i++)
		free(k->agent[i]);
	return rc;
}

/* ---- testing */

static const char *tested_word(const struct egress_rule *r, uint16_t ask_s)
{
	if (r)
		return r->allow ? "allowed" : "denied";
	return ask_s ? "asked" : "refused";
}

static void print_test(const char *target, const struct egress_rule *r, uint16_t ask_s)
{
	char text[EGRESS_RULE_MAX] = "";

	if (r) {
		egress_write_rule(r, text);
		printf("%s is %s: %s %s (%s)\n", target, tested_word(r, ask_s), egress_rule_verb(r),
			text,
			r->origin == EGRESS_FILE ? "team file" : egress_origin_name(r->origin));
	} else if (ask_s) {
		printf("%s: no rule decides; a person is asked, for at most %u s\n", target, ask_s);
	} else {
		printf("%s is refused: no rule allows it\n", target);
	}
}

static int print_test_json(const char *name, const struct egress_target *to,
	const struct egress_rule *r, uint16_t ask_s)
{
	char text[EGRESS_RULE_MAX] = "";
	struct jsonw j;

	if (r)
		egress_write_rule(r, text);
	jsonw_document(&j, "berth.net_test/1");
	jsonw_text(&j, "container", name);
	jsonw_text(&j, "host", to->host);
	jsonw_uint(&j, "port", to->port);
	jsonw_text(&j, "verdict", tested_word(r, ask_s));
	jsonw_text(&j, "rule", r ? text : NULL);
	jsonw_text(&j, "origin", r ? egress_origin_name(r->origin) : NULL);
	jsonw_bool(&j, "tls", egress_wants_tls(r, to));
	return jsonw_print(&j);
}

int cli_net_test(const struct cli *c, const struct settings *s, struct err *e)
{
	AUTO_FREE struct egress_rule *rules = xcalloc(EGRESS_RULES_MAX, sizeof *rules);
	char name[64], target[EGRESS_HOST_MAX + 8];
	const struct egress_rule *r;
	struct egress_target to;
	size_t n;

	(void)s;
	if (egress_parse_target(c->argv[1], strlen(c->argv[1]), EGRESS_TLS_PORT, &to, e) ||
		egress_container(c->argv[0], name, e) || egress_load_rules(name, rules, &n, e))
		return -1;
	r = egress_judge(rules, n, &to);
	if (cli_flag(c, "json"))
		return print_test_json(name, &to, r, egress_asks(rules, n));
	egress_write_target(&to, target);
	print_test(target, r, egress_asks(rules, n));
	return cli_finish();
}
