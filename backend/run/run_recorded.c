/* run_recorded.c - runs one command and records it. */
#include <stdio.h>
#include <string.h>

#include <berth/agents.h>
#include <berth/record.h>
#include <berth/str.h>

#include "container/container.h"
#include "run/rulebook.h"
#include "run/run.h"
#include "run/save.h"
#include "audit/audit.h"
#include "journal/journal.h"
#include "lane/lane.h"

/* One command: its intent is in the log before it starts, its outcome before its exit code is told. */
struct entry {
	const struct run_request *q;
	struct recorder *by;
	struct recording rec;
	struct str command;
	struct key_value kv[7];
	struct str env; /* names: a value may be a secret */
	char how[64];
	struct rulebook_save save;
	bool looked, saved;  /* save is filled in; done */
	bool begun, refused; /* refused: it could not be recorded */
	int (*fall_back)(const struct run_request *r, struct run_result *ret, struct err *e);
};

static struct audit_record describe_command(struct entry *x, const struct run_result *where)
{
	struct audit_record r = {.operation = OP_CONTAINER_EXEC,
		.target_type = "container",
		.name = x->q->agent,
		.params = x->kv,
		.duration_us = -1};

	if (*where->id) {
		r.target = where->id;
		r.name = where->name;
		r.agent = where->agent;
		r.session = where->session;
		r.engine = where->engine;
	}
	str_clear(&x->command);
	audit_argv(&x->command, x->q->argc, x->q->argv);
	/* By its name a secret is not always known: sh -c 'curl -H "X: VALUE"'. */
	journal_mask(r.name, x->command.s, x->command.len);
	x->kv[r.nparams++] = (struct key_value){"command", x->command.s, false};
	x->kv[r.nparams++] =
		(struct key_value){"path", where->path == RUN_LANE ? "lane" : "engine", false};
	if (x->q->user)
		x->kv[r.nparams++] = (struct key_value){"user", x->q->user, false};
	if (x->q->cwd)
		x->kv[r.nparams++] = (struct key_value){"directory", x->q->cwd, false};
	if (x->q->in_note)
		x->kv[r.nparams++] = (struct key_value){"stdin", x->q->in_note, false};
	if (x->env.len)
		x->kv[r.nparams++] = (struct key_value){"variables", x->env.s, false};
	return r;
}

/* What its workspace held before it, where that was asked for. */
static int save_before(struct entry *x, const struct run_result *where, struct err *e)
{
	if (!x->looked && rulebook_saves(where->name, &x->save, e))
		return -1;
	x->looked = true;
	if (x->saved || !*x->save.workspace)
		return 0;
	if (save_workspace(&x->save, x->q->host, x->q->context, e))
		return -1;
	x->saved = true;
	return 0;
}

static int begin_entry(void *by, const struct run_result *where, struct err *e)
{
	struct entry *x = by;
	struct audit_record r;

	/* A lane that did not answer: the engine is asked for the same command. */
	if (x->begun)
		return 0;
	if (run_check_room(where->id, where->name, e) || save_before(x, where, e))
		return -1;
	r = describe_command(x, where);
	x->refused = record_intent(&x->rec, x->by, &r, e) < 0;
	x->begun = !x->refused;
	return x->refused ? -1 : 0;
}

/* Its end is when the log is synced, and what began must not wait for that. */
static void settle_intent(void *by)
{
	struct entry *x = by;

	recorder_settle_on(x->by);
}

/* The engine is asked by another program, or by threads of this one. */
static int fall_back(const struct run_request *q, struct run_result *ret, struct err *e)
{
	struct entry *x = q->by;
	struct run_request on = *q;
	struct err why = ERR_INIT;

	if (x->begun) {
		err_set(&why, ERR_FAILED, "its lane does not answer; using the engine instead");
		record_end(&x->rec, &why);
		recorder_settle_on(x->by);
		x->begun = false;
	}
	x->by->direct = false;
	/* Only a direct log is settled by a child while the command runs. */
	on.lasts = NULL;
	on.fall_back = x->fall_back;
	return x->fall_back(&on, ret, e);
}

static int end_entry(struct entry *x, struct run_result *r, int result, struct err *e)
{
	struct err err = r->err;
	struct audit_record event;

	journal_mask(*r->id ? r->name : x->q->agent, err.msg, strlen(err.msg));
	snprintf(x->how, sizeof x->how, "%s %d", run_ended_name(r->ended), r->exit_code);
	if (!err.kind && r->ended == ENDED_TIMEOUT)
		err_set(&err, ERR_TIMEOUT, "timed out");
	else if (!err.kind && r->ended == ENDED_CANCELLED)
		err_set(&err, ERR_CANCELLED, "cancelled");
	else if (!err.kind && (r->ended != ENDED_EXIT || r->exit_code))
		err_set(&err, ERR_FAILED, "%s", x->how);
	if (x->begun) {
		x->kv[x->rec.r.nparams++] = (struct key_value){"ended", x->how, false};
		if (record_end(&x->rec, &err) == 0)
			return result;
		/* Who is told an exit code may rely on its record. */
		record_state(&r->err);
		r->ended = ENDED_FAILED;
		r->exit_code = 125;
		return err_copy(e, &r->err);
	}
	if (!x->refused) {
		event = describe_command(x, r);
		x->kv[event.nparams++] = (struct key_value){"ended", x->how, false};
		record_event(x->by, &event, &err);
	}
	return result;
}

static void init_entry(struct entry *x, struct run_request *q, struct recorder *by)
{
	*x = (struct entry){
		.q = q, .by = by, .command = STR_INIT, .env = STR_INIT, .fall_back = q->fall_back};
	for (size_t i = 0; i < q->envc; i++)
		str_addf(&x->env, "%s%.*s", i ? " " : "", (int)strcspn(q->env[i], "="), q->env[i]);
	q->begin = begin_entry;
	q->lasts = by->direct ? settle_intent : NULL;
	q->by = x;
	if (q->fall_back)
		q->fall_back = fall_back;
}

/* The rules first, then the command, in the container that the rules were looked up for. */
static int run_checked(struct entry *x, struct run_request *q, const struct policy *policy,
	struct run_result *ret, struct err *e)
{
	struct lane_about about;
	struct err why = ERR_INIT;
	const char *asked = q->agent;
	int result;

	q->policy = policy;
	if (q->host || q->context || lane_find(q->agent, &about, NULL))
		return agents_run(q, ret, e);
	if (!rulebook_check(about.name, policy, q, &x->save, &why)) {
		x->looked = true;
		q->agent = about.name;
		result = agents_run(q, ret, e);
		q->agent = asked;
		return result;
	}
	memset(ret, 0, sizeof *ret);
	ret->ended = ENDED_REFUSED;
	ret->exit_code = 125;
	ret->err = why;
	run_where(ret, &about);
	journal_end(journal_open_for(q, &about), ret);
	return err_copy(e, &why);
}

int agents_run_recorded(const struct run_request *r, const struct policy *policy,
	const char *program, struct run_result *ret, struct err *e)
{
	struct recorder by = {.program = program, .policy = policy, .direct = true};
	struct run_request q = *r;
	struct entry x;
	int result;

	init_entry(&x, &q, &by);
	result = end_entry(&x, ret, run_checked(&x, &q, policy, ret, e), e);
	/* Who talked to the engine has threads, and has waited longer than the disk takes. */
	if (by.direct)
		recorder_settle(&by);
	else
		recorder_close(&by);
	str_release(&x.command);
	str_release(&x.env);
	return result;
}

int agents_run_by(
	struct recorder *by, const struct run_request *r, struct run_result *ret, struct err *e)
{
	struct run_request q = *r;
	struct entry x;
	int result;

	init_entry(&x, &q, by);
	result = end_entry(&x, ret, run_checked(&x, &q, by->policy, ret, e), e);
	str_release(&x.command);
	str_release(&x.env);
	return result;
}

int agents_run_hosted(
	struct agents_host *h, const struct run_request *r, struct run_result *ret, struct err *e)
{
	return agents_run_by(&h->at.recorder, r, ret, e);
}
