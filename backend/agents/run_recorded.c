/* run_recorded.c - one command with its entry in the log. */
#include <berth/agents.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/str.h>

#include "agents/rulebook.h"
#include "audit/audit.h"
#include "lane/lane.h"

static enum audit_result result_of(const struct run_result *r)
{
	switch (r->ended) {
	case ENDED_TIMEOUT: return AUDIT_TIMEOUT;
	case ENDED_CANCELLED: return AUDIT_CANCELLED;
	case ENDED_REFUSED: return AUDIT_REFUSED;
	case ENDED_EXIT: return r->exit_code ? AUDIT_FAILED : AUDIT_OK;
	default: return AUDIT_FAILED;
	}
}

static int write_entry(
	const struct run_request *q, const char *program, const struct run_result *r, struct err *e)
{
	const struct audit_options o = {.program = program};
	struct audit *a = audit_open(&o, e);
	AUTO_STR struct str command = STR_INIT;
	struct lane_about about = {0};
	char how[64];
	struct key_value kv[3];
	struct audit_record record = {.deed = DEED_CONTAINER_EXEC,
		.phase = AUDIT_EVENT,
		.result = result_of(r),
		.target_type = "container",
		.name = q->agent,
		.params = kv,
		.nparams = 3,
		.duration_us = (int64_t)(r->duration_ms * 1000),
		.error = r->err.kind ? r->err.msg : NULL};

	if (!a)
		return -1;
	if (!lane_find(q->agent, &about, NULL)) {
		record.target = about.id;
		record.name = about.name;
		record.agent = about.agent;
		record.session = about.session;
		record.engine = about.engine;
	}
	audit_argv(&command, q->argc, q->argv);
	snprintf(how, sizeof how, "%s %d", run_ended_name(r->ended), r->exit_code);
	kv[0] = (struct key_value){"command", command.s, false};
	kv[1] = (struct key_value){"ended", how, false};
	kv[2] = (struct key_value){"path", r->path == RUN_LANE ? "lane" : "engine", false};
	audit_submit(a, &record, 0, NULL, NULL, NULL);
	audit_close(a); /* waits until it is on the disk */
	return 0;
}

/*
 * Commands are on the disk within 50 ms of their end, but who waits for the command's exit code must not
 * wait for that: a child of ours, away from the caller's streams, commits and signs.
 */
static void record_apart(
	const struct run_request *q, const char *program, const struct run_result *r)
{
	struct err why = ERR_INIT;
	pid_t pid = fork();
	int null;

	if (pid > 0)
		return;
	if (pid == 0) {
		setsid();
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
	}
	if (write_entry(q, program, r, &why) && pid < 0)
		fprintf(stderr, "berth: the command is not in the audit log: %s\n", why.msg);
	if (pid == 0)
		_exit(0);
}

int agents_run_recorded(const struct run_request *r, const struct policy *policy,
	const char *program, struct run_result *ret, struct err *e)
{
	const struct policy_act act = {.deed = DEED_CONTAINER_EXEC,
		.name = r->agent,
		.id = "",
		.image = "",
		.labels = (const struct key_value[]){{"", "", false}}};
	struct lane_about about;
	struct err why = ERR_INIT;
	int result;

	if ((policy && policy_check(policy, &act, &why)) ||
		(!lane_find(r->agent, &about, NULL) &&
			rulebook_check(about.name, r->argv, r->argc, &why))) {
		memset(ret, 0, sizeof *ret);
		ret->ended = ENDED_REFUSED;
		ret->exit_code = 125;
		ret->err = why;
		result = err_copy(e, &why);
	} else {
		result = agents_run(r, ret, e);
	}
	record_apart(r, program, ret);
	return result;
}
