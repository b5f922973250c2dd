/* agent_list.c - `berth agent list`: prints the agents, and why they need attention. */
#include <stdio.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/text.h>

#include "cli/run.h"

#define AGENTS_MS 10000 /* then those that were not looked at are printed as they are known */

/* NULL with *e: the engine failed, or a signal came. */
static const struct snapshot *wait_for_agents(struct backend *b, struct err *e)
{
	int64_t end = clock_mono_ns() + AGENTS_MS * INT64_C(1000000);

	for (;;) {
		const struct snapshot *s = cli_wait(b, true, e);

		if (!s || s->agents_done || clock_mono_ns() >= end)
			return s;
		snapshot_unref(s);
		if (!cli_pause(20))
			return err_null(err_set(e, ERR_CANCELLED, "cancelled"));
	}
}

static void json_word(struct jsonw *j, const char *key, const char *s)
{
	jsonw_text(j, key, s && *s ? s : NULL);
}

static void json_agent(struct jsonw *j, const struct agent *a)
{
	char why[ERR_MSG_MAX], stamp[FORMAT_MAX];
	bool needs = agent_attention(a, why, sizeof why) != ATTENTION_NONE;

	jsonw_object(j, NULL);
	jsonw_text(j, "id", a->id);
	json_word(j, "role", a->role);
	jsonw_text(j, "container", a->name);
	jsonw_text(j, "state", agent_state_name(a->state));
	jsonw_text(j, "path", agent_path(a));
	jsonw_text(j, "attention", needs ? why : NULL);
	jsonw_text(j, "attention_since",
		needs && a->need_wall_ms > 0 ? format_stamp(stamp, a->need_wall_ms) : NULL);
	jsonw_uint(j, "commands_running", a->nrunning);
	json_word(j, "image", a->image);
	json_word(j, "workspace", a->workspace);
	json_word(j, "file", a->file);
	jsonw_end(j);
}

static int print_agents_json(const struct snapshot *s)
{
	struct jsonw j;

	jsonw_document(&j, "berth.agents/1");
	jsonw_bool(&j, "complete", s->agents_done);
	jsonw_array(&j, "agents");
	for (size_t i = 0; i < s->nagents; i++)
		json_agent(&j, &s->agents[i]);
	return jsonw_print(&j);
}

static int print_agents(const struct snapshot *s)
{
	char id[64], why[ERR_MSG_MAX], shown[2 * ERR_MSG_MAX], span[FORMAT_MAX];

	printf("%-20s  %-9s  %-6s  %6s  %s\n", "AGENT", "STATE", "PATH", "SINCE", "ATTENTION");
	for (size_t i = 0; i < s->nagents; i++) {
		const struct agent *a = &s->agents[i];
		bool needs = agent_attention(a, why, sizeof why) != ATTENTION_NONE;
		const char *path = agent_path(a);
		int64_t age = (s->at_wall_ms - a->need_wall_ms) / 1000;

		printf("%-20s  %-9s  %-6s  %6s  %s\n", text_clean(id, sizeof id, a->id),
			agent_state_name(a->state), path ? path : "-",
			needs && a->need_wall_ms > 0 ? format_span(span, age > 0 ? age : 0) : "-",
			needs ? text_clean(shown, sizeof shown, why) : "-");
	}
	if (!s->agents_done)
		fprintf(stderr, "berth: not all agents were looked at within %d s.\n",
			AGENTS_MS / 1000);
	return cli_finish();
}

int cli_agent_list(const struct cli *c, const struct settings *s, struct err *e)
{
	const struct backend_options o = {.host = cli_value(c, "host"),
		.context = cli_value(c, "context"),
		.hz = 2,
		.read_only = true,
		.once = true,
		.agents = true,
		.team = cli_value(c, "team"),
		.program = "agent list"};
	struct backend *b = backend_start(&o, e);
	const struct snapshot *shot = b ? wait_for_agents(b, e) : NULL;
	int rc = -1;

	(void)s;
	if (shot)
		rc = cli_flag(c, "json") ? print_agents_json(shot) : print_agents(shot);
	snapshot_unref(shot);
	if (b)
		backend_stop(b);
	return rc;
}
