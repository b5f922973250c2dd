/* engine.c - `berth engine start|stop|status`: manages a private engine. */
#include <stdio.h>

#include <berth/agents.h>
#include <berth/arena.h>
#include <berth/mem.h>
#include <berth/private_engine.h>
#include <berth/record.h>
#include <berth/text.h>
#include <berth/jsonw.h>

#include "cli/gate.h"
#include "cli/run.h"

static void print_path(const char *head, const char *path)
{
	char shown[PATH_MAX];

	printf("%-8s %s\n", head, text_clean(shown, sizeof shown, path));
}

struct engine_operation {
	int (*act)(struct private_engine *ret, struct err *e);
	struct private_engine *en;
};

static int do_engine_act(void *ctx, struct audit_record *r, struct err *e)
{
	struct engine_operation *d = ctx;

	(void)r;
	return d->act(d->en, e);
}

/* Policy and the log around what does it. */
static int do_engine_operation(const struct cli *c, enum operation operation, const char *program,
	int (*act)(struct private_engine *ret, struct err *e), struct private_engine *en,
	struct err *e)
{
	AUTO_FREE char *endpoint = NULL;
	struct audit_record r = {.operation = operation, .target_type = "engine"};
	struct recorder by = {.program = program};
	struct engine_operation d = {act, en};
	struct policy policy;
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	int rc = -1;

	if (private_engine_status(en, e) < 0)
		return -1;
	r.name = endpoint = xasprintf("unix://%s", en->socket);
	by.endpoint = endpoint;
	by.policy = &policy;
	if (cli_policy(c, &policy, &mem, e) == 0)
		rc = record_act(&by, &r, NULL, do_engine_act, &d, e);
	recorder_close(&by);
	return rc;
}

int cli_engine_start(const struct cli *c, const struct settings *s, struct err *e)
{
	struct private_engine en;

	(void)s;
	if (do_engine_operation(c, OP_ENGINE_START, "engine start", private_engine_start, &en, e) <
		0)
		return -1;
	agents_offer_apparmor();
	printf("The private engine %s (process %d).\n",
		en.started ? "runs now" : "was running already", (int)en.pid);
	print_path("socket", en.socket);
	print_path("data", en.data);
	print_path("log", en.log);
	printf("For docker: export DOCKER_HOST=unix://%s\n", en.socket);
	return cli_finish();
}

int cli_engine_stop(const struct cli *c, const struct settings *s, struct err *e)
{
	struct private_engine en;

	(void)s;
	if (do_engine_operation(c, OP_ENGINE_STOP, "engine stop", private_engine_stop, &en, e) < 0)
		return -1;
	if (en.pid)
		printf("The private engine (process %d) is stopped; its images and containers stay in %s.\n",
			(int)en.pid, en.data);
	else
		puts("The private engine was not running.");
	return cli_finish();
}

/* Exit code 0 when it answers, else 1: for scripts. */
int cli_engine_status(const struct cli *c, const struct settings *s, struct err *e)
{
	struct private_engine en;
	struct jsonw j;
	int rc;

	(void)s;
	if (private_engine_status(&en, e) < 0)
		return -1;
	if (cli_flag(c, "json")) {
		jsonw_document(&j, "berth.engine/1");
		jsonw_bool(&j, "running", en.pid > 0);
		jsonw_bool(&j, "answers", en.answers);
		if (en.pid)
			jsonw_int(&j, "pid", en.pid);
		else
			jsonw_null(&j, "pid");
		jsonw_text(&j, "socket", en.socket);
		jsonw_text(&j, "data", en.data);
		jsonw_text(&j, "log", en.log);
		rc = jsonw_print(&j);
	} else {
		if (en.pid)
			printf("The private engine is running (process %d) and %s.\n", (int)en.pid,
				en.answers ? "answers" : "does not answer");
		else
			puts("The private engine is not running.");
		print_path("socket", en.socket);
		print_path("data", en.data);
		print_path("log", en.log);
		rc = cli_finish();
	}
	return rc ? rc : en.answers ? 0 : 1;
}
