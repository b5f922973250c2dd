/* run_terminal.c - starts an agent's terminal: rules, record, then its command, which outlives this process. */
#include <string.h>

#include <berth/agents.h>
#include <berth/record.h>
#include <berth/str.h>

#include "audit/audit.h"
#include "journal/journal.h"
#include "lane/lane.h"
#include "run/rulebook.h"
#include "run/run.h"
#include "run/save.h"
#include "terminals/terminals.h"

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

int agents_start_terminal(
	const struct run_request *q, const char *name, const struct policy *policy, struct err *e)
{
	struct start_terminal s = {.q = q, .policy = policy};
	struct recorder by = {.program = q->program, .policy = policy, .direct = true};
	AUTO_STR struct str command = STR_INIT;
	struct key_value kv[3];
	struct audit_record r = {
		.operation = OP_TERMINAL_START, .target_type = "container", .params = kv};
	int result;

	if (terminal_check_name(name, e) || lane_find(q->agent, &s.about, e))
		return -1;
	if (lane_is_none(s.about.name))
		return err_set(e, ERR_REFUSED,
			"%s has no lane, which terminals need: its runtime provides its own kernel",
			s.about.name);
	audit_argv(&command, q->argc, q->argv);
	journal_mask(s.about.name, command.s, command.len);
	s.wish = (struct terminals_wish){name, command.s, q->columns, q->rows};
	r.target = s.about.id;
	r.name = s.about.name;
	r.agent = s.about.agent;
	r.session = s.about.session;
	r.engine = s.about.engine;
	kv[r.nparams++] = (struct key_value){"terminal", name, false};
	kv[r.nparams++] = (struct key_value){"command", command.s, false};
	if (q->cwd)
		kv[r.nparams++] = (struct key_value){"directory", q->cwd, false};
	result = record_act(&by, &r, NULL, do_start_terminal, &s, e);
	recorder_settle(&by);
	return result;
}
