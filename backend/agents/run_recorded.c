/* run_recorded.c - one command with its entry in the log. */
#include <berth/agents.h>
#include <berth/record.h>

#include <stdio.h>
#include <string.h>

#include <berth/str.h>

#include "agents/host.h"
#include "agents/journalled.h"
#include "agents/rulebook.h"
#include "agents/run.h"
#include "audit/audit.h"
#include "journal/journal.h"
#include "lane/lane.h"

struct entry {
	const struct run_request *q;
	const struct run_result *r;
};

/* In a child: commands are on the disk within 50 ms of their end, but who waits for the command's exit
 * code does not wait for that. */
static void write_entry(struct recorder *by, void *ctx)
{
	const struct entry *x = ctx;
	const struct run_result *r = x->r;
	AUTO_STR struct str command = STR_INIT;
	struct err err = r->err;
	char how[64];
	struct key_value kv[3];
	struct audit_record record = {.deed = DEED_CONTAINER_EXEC,
		.target_type = "container",
		.name = x->q->agent,
		.params = kv,
		.nparams = 3,
		.duration_us = (int64_t)(r->duration_ms * 1000)};

	if (*r->id) {
		record.target = r->id;
		record.name = r->name;
		record.agent = r->agent;
		record.session = r->session;
		record.engine = r->engine;
	}
	audit_argv(&command, x->q->argc, x->q->argv);
	/* By its name a secret is not always known: sh -c 'curl -H "X: VALUE"'. */
	journal_mask(record.name, command.s, command.len);
	journal_mask(record.name, err.msg, strlen(err.msg));
	snprintf(how, sizeof how, "%s %d", run_ended_name(r->ended), r->exit_code);
	kv[0] = (struct key_value){"command", command.s, false};
	kv[1] = (struct key_value){"ended", how, false};
	kv[2] = (struct key_value){"path", r->path == RUN_LANE ? "lane" : "engine", false};
	if (!err.kind && r->ended == ENDED_TIMEOUT)
		err_set(&err, ERR_TIMEOUT, "timed out");
	else if (!err.kind && r->ended == ENDED_CANCELLED)
		err_set(&err, ERR_CANCELLED, "cancelled");
	else if (!err.kind && (r->ended != ENDED_EXIT || r->exit_code))
		err_set(&err, ERR_FAILED, "%s", how);
	record_event(by, &record, &err);
}

/* The rules first, then the command, in the container that the rules were looked up for. */
static int run_checked(
	struct run_request *q, const struct policy *policy, struct run_result *ret, struct err *e)
{
	struct lane_about about;
	struct err why = ERR_INIT;
	const char *asked = q->agent;
	int result;

	q->policy = policy;
	if (q->host || q->context || lane_find(q->agent, &about, NULL))
		return agents_run(q, ret, e);
	if (!rulebook_check(about.name, policy, q->def, q->argv, q->argc, &why)) {
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
	struct recorder by = {.program = program};
	struct run_request q = *r;
	struct entry entry = {&q, ret};
	int result = run_checked(&q, policy, ret, e);

	/* Who talked to the engine has threads, and has waited longer than the disk takes. */
	if (ret->path == RUN_ENGINE) {
		write_entry(&by, &entry);
		recorder_close(&by);
	} else {
		recorder_apart(&by, write_entry, &entry);
	}
	return result;
}

int agents_run_hosted(
	struct agents_host *h, const struct run_request *r, struct run_result *ret, struct err *e)
{
	struct run_request q = *r;
	struct entry entry = {&q, ret};
	int result = run_checked(&q, &h->policy, ret, e);

	write_entry(&h->recorder, &entry);
	return result;
}
