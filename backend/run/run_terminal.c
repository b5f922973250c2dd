/* run_terminal.c - starts an agent's terminal: rules, record, then its command, which outlives this process. */
#include <string.h>

#include <berth/agents.h>
#include <berth/mem.h>
#include <berth/record.h>
#include <berth/str.h>
#include <berth/text.h>

#include "audit/audit.h"
#include "journal/journal.h"
#include "lane/lane.h"
#include "run/rulebook.h"
#include "run/run.h"
#include "run/save.h"
#include "terminals/terminals.h"

#define TYPED_RECORDED 512 /* bytes of what was typed that are in the record */
#define LIVES_MS 500

struct start_terminal {
	const struct run_request *q;
	const struct policy *policy;
	struct lane_about about;
	struct terminals_wish wish;
};

static int do_start_terminal(void *ctx, struct audit_record *r, struct err *e)
{
	const struct start_terminal *s = ctx;
	const struct run_request *q = s->q;
	const struct lane_request request = {
		.argv = q->argv, .argc = q->argc, .env = q->env, .envc = q->envc, .cwd = q->cwd};
	struct rulebook_save save = {0};

	(void)r;
	if (rulebook_check(s->about.name, s->policy, q, &save, e) ||
		run_check_room(s->about.id, s->about.name, e) ||
		(*save.workspace && save_workspace(&save, NULL, NULL, e)))
		return -1;
	return terminals_start(&s->about, &s->wish, &request, e);
}

static const char *call_command(const struct run_request *q, const char *command)
{
	return q->argc == 3 && !strcmp(q->argv[1], "-c") && !strcmp(q->argv[2], TERMINAL_SHELL)
		? TERMINAL_SHELL_NAME
		: command;
}

static int start_recorded(struct recorder *by, struct start_terminal *s, struct err *e)
{
	AUTO_STR struct str command = STR_INIT;
	struct key_value kv[3];
	struct audit_record r = {.operation = OP_TERMINAL_START,
		.target_type = "container",
		.target = s->about.id,
		.name = s->about.name,
		.agent = s->about.agent,
		.session = s->about.session,
		.engine = s->about.engine,
		.params = kv};

	audit_argv(&command, s->q->argc, s->q->argv);
	journal_mask(s->about.name, command.s, command.len);
	s->wish.command = call_command(s->q, command.s);
	kv[r.nparams++] = (struct key_value){"terminal", s->wish.name, false};
	kv[r.nparams++] = (struct key_value){"command", command.s, false};
	if (s->q->cwd)
		kv[r.nparams++] = (struct key_value){"directory", s->q->cwd, false};
	return record_act(by, &r, NULL, do_start_terminal, s, e);
}

/* What is to run, where it was not said: what the team file says of that name, else the better shell that there is. */
static int complete_request(struct run_request *q, const char *container, const char *name,
	struct terminals_declared *d, struct err *e)
{
	static const char *const shell[] = {"sh", "-c", TERMINAL_SHELL};
	static const char *const env[] = {"TERM=xterm-256color", "COLORTERM=truecolor"};
	struct err why = ERR_INIT;

	if (!q->argc && terminals_declared(container, name, d, &why) && why.kind != ERR_NOT_FOUND)
		return err_copy(e, &why);
	if (!q->argc && d->argc) {
		q->argv = d->argv;
		q->argc = d->argc;
	} else if (!q->argc) {
		q->argv = shell;
		q->argc = COUNT(shell);
	}
	if (!q->columns) {
		q->columns = d->columns ? d->columns : TERMINAL_COLUMNS;
		q->rows = d->columns ? d->rows : TERMINAL_ROWS;
	}
	q->env = env;
	q->envc = COUNT(env);
	return 0;
}

/* What cannot be restarted any more is not recorded as a failure: a person stopped it, or its container has ended. */
static int check_restart(const struct lane_about *about, const char *name, struct err *e)
{
	struct terminal_screen s = {0};
	struct err why = ERR_INIT;

	if (terminals_read(about->name, name, &s, e))
		return -1;
	terminal_screen_release(&s);
	return lane_try(about, LIVES_MS, &why) && why.kind == ERR_NOT_FOUND ? err_copy(e, &why) : 0;
}

int agents_start_terminal_by(
	struct recorder *by, const struct run_request *r, const char *name, struct err *e)
{
	struct run_request q = *r;
	struct terminals_declared d = {0};
	struct start_terminal s = {.q = &q, .policy = by->policy};
	int result;

	if (terminal_check_name(name, e) || lane_find(q.agent, &s.about, e))
		return -1;
	if (lane_is_none(s.about.name))
		return err_set(e, ERR_REFUSED,
			"%s has no lane, which terminals need: its runtime provides its own kernel",
			s.about.name);
	if ((q.restart && check_restart(&s.about, name, e)) ||
		complete_request(&q, s.about.name, name, &d, e))
		return -1;
	s.wish = (struct terminals_wish){
		.name = name, .columns = q.columns, .rows = q.rows, .restart = q.restart};
	result = start_recorded(by, &s, e);
	terminals_declared_release(&d);
	return result;
}

bool agents_restarts_terminal(const char *agent, const char *name)
{
	struct terminals_declared d = {0};
	struct lane_about about;
	bool restarts = !lane_find(agent, &about, NULL) &&
		!terminals_declared(about.name, name, &d, NULL) && d.on_failure;

	terminals_declared_release(&d);
	return restarts;
}

int agents_start_terminal(
	const struct run_request *q, const char *name, const struct policy *policy, struct err *e)
{
	struct recorder by = {.program = q->program, .policy = policy, .direct = true};
	int result = agents_start_terminal_by(&by, q, name, e);

	recorder_settle(&by);
	return result;
}

int agents_act_on_terminal(const char *agent, const struct audit_record *r,
	const struct policy *policy, record_act_fn *act, void *ctx, struct err *e)
{
	struct recorder by = {.program = "terminal", .policy = policy, .direct = true};
	struct audit_record whole = *r;
	struct lane_about about;
	int result;

	if (lane_find(agent, &about, e))
		return -1;
	whole.target_type = "container";
	whole.target = about.id;
	whole.name = about.name;
	whole.agent = about.agent;
	whole.session = about.session;
	whole.engine = about.engine;
	result = record_act(&by, &whole, NULL, act, ctx, e);
	recorder_settle(&by);
	return result;
}

struct type_terminal {
	const char *name;
	const struct terminal_typing *typing;
};

static int do_type_terminal(void *ctx, struct audit_record *r, struct err *e)
{
	const struct type_terminal *t = ctx;

	return terminals_type(r->name, t->name, t->typing, e);
}

/* What is recorded of it: bounded, nothing that a terminal would obey, secrets masked. */
static void describe_typing(
	const char *container, const struct terminal_typing *t, struct str *text, struct str *keys)
{
	AUTO_FREE char *masked = xstrndup(t->n ? t->text : "", t->n);
	size_t n = t->n;

	journal_mask(container, masked, t->n);
	if (n > TYPED_RECORDED)
		n = utf8_whole(masked, TYPED_RECORDED);
	text_neutralise(text, masked, n, false);
	if (n < t->n)
		str_addf(text, "... (%zu bytes)", t->n);
	for (size_t i = 0; i < t->nkeys && keys->len < TYPED_RECORDED; i++)
		str_addf(keys, "%s%s", i ? " " : "", t->keys[i]);
	if (keys->len >= TYPED_RECORDED)
		str_addf(keys, "... (%zu keys)", t->nkeys);
}

int agents_type_terminal(const char *agent, const char *name, const struct terminal_typing *t,
	const struct policy *policy, struct err *e)
{
	AUTO_STR struct str text = STR_INIT, keys = STR_INIT;
	struct lane_about about;
	struct type_terminal type = {name, t};
	struct key_value kv[3] = {{"terminal", name, false}};
	struct audit_record r = {.operation = OP_TERMINAL_SEND, .params = kv, .nparams = 1};

	if (terminal_check_name(name, e) || terminals_check_typing(t, e) ||
		lane_find(agent, &about, e))
		return -1;
	describe_typing(about.name, t, &text, &keys);
	if (text.len)
		kv[r.nparams++] = (struct key_value){"text", text.s, false};
	if (keys.len)
		kv[r.nparams++] = (struct key_value){"pressed", keys.s, false};
	return agents_act_on_terminal(about.name, &r, policy, do_type_terminal, &type, e);
}
