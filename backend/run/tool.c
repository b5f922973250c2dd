/* tool.c - runs a tool in its container, and records the call. */
#include <berth/tool.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/record.h>

#include "container/container.h"
#include "run/pool.h"
#include "audit/audit.h"

void tool_argv(const struct tool_def *d, const struct run_request *r, struct arena *mem,
	const char *const **argv, size_t *argc)
{
	const char **words = arena_array(mem, d->command.n + r->argc + 1, sizeof *words);

	for (size_t i = 0; i < d->command.n; i++)
		words[i] = d->command.word[i];
	for (size_t i = 0; i < r->argc; i++)
		words[d->command.n + i] = r->argv[i];
	*argv = words;
	*argc = d->command.n + r->argc;
}

int tool_box_run(
	struct tool_box *b, const struct run_request *r, struct run_result *ret, struct err *e)
{
	struct run_request q = *r;

	memset(ret, 0, sizeof *ret);
	ret->ended = ENDED_FAILED;
	ret->exit_code = 125;
	if (b->used) {
		err_set(&ret->err, ERR_USAGE, "the container %s has already been used for a call",
			b->name);
		return err_copy(e, &ret->err);
	}
	b->used = true;
	q.agent = b->name;
	tool_argv(b->def, r, &b->mem, &q.argv, &q.argc);
	if (!q.timeout_ms)
		q.timeout_ms = b->def->limits.timeout_s * 1000;
	q.output_max = b->def->limits.output_bytes;
	return agents_run(&q, ret, e);
}

static double ms_since(int64_t start)
{
	return (double)(clock_mono_ns() - start) / 1e6;
}

/* What the log says of the call; kv has room for six. */
static void describe_tool_call(const struct tool_def *d, const char *workspace,
	const struct run_request *r, struct str *command, struct str *secrets, struct key_value *kv,
	struct audit_record *out)
{
	AUTO_ARENA struct arena mem = ARENA_INIT(512);
	const char *const *argv;
	size_t argc;

	tool_argv(d, r, &mem, &argv, &argc);
	audit_argv(command, argc, argv);
	for (size_t i = 0; i < d->secrets.n; i++)
		str_addf(secrets, "%s%s", i ? ", " : "", d->secrets.word[i]);
	kv[0] = (struct key_value){"command", command->s, false};
	kv[1] = (struct key_value){"image", d->image, false};
	kv[2] = (struct key_value){"network", net_mode_name(d->network), false};
	kv[3] = (struct key_value){"workspace", workspace ? workspace : "", false};
	kv[4] = (struct key_value){"handed_over", secrets->s, false};
	*out = (struct audit_record){.operation = OP_TOOL_RUN,
		.target_type = "tool",
		.name = d->name,
		.agent = r->agent,
		.params = kv,
		.nparams = 6};
}

static void explain_end(const struct run_result *r, struct err *why)
{
	if (why->kind)
		return;
	if (r->err.kind)
		*why = r->err;
	else if (r->ended == ENDED_TIMEOUT)
		err_set(why, ERR_TIMEOUT, "timed out");
	else if (r->ended == ENDED_CANCELLED)
		err_set(why, ERR_CANCELLED, "cancelled");
	else if (r->ended != ENDED_EXIT || r->exit_code)
		err_set(why, ERR_FAILED, "%s %d", run_ended_name(r->ended), r->exit_code);
}

/* A caller may ask for less than the tool's own limit, not for more. */
static int check_time(const struct tool_def *d, const struct run_request *r, struct err *e)
{
	if (!d->limits.timeout_s || r->timeout_ms <= d->limits.timeout_s * 1000)
		return 0;
	return err_set(e, ERR_REFUSED,
		"the timeout of the tool %s is at most %lld s (timeout: in its definition)",
		d->name, (long long)d->limits.timeout_s);
}

static int call_tool(struct agents_host *h, const struct team *t, const struct tool_def *d,
	const char *workspace, const struct run_request *r, struct tool_ran *ran,
	struct run_result *result, struct err *e)
{
	struct err left = ERR_INIT;
	struct pool_claim claim;
	struct tool_box *b = pool_take(h->at.info.id, t, d, workspace, &claim);
	int64_t start;
	int failed, kept;

	ran->warm = b != NULL;
	if (!b && tool_box_make(h, t, d, workspace, false, r->cancel_fd, &b, e))
		return -1;
	snprintf(ran->name, sizeof ran->name, "%s", b->name);
	snprintf(ran->id, sizeof ran->id, "%s", b->id);
	ran->create_ms = (double)b->created_us / 1e3;
	ran->start_ms = (double)b->started_us / 1e3;
	ran->lane_ms = (double)b->lane_us / 1e3;
	failed = tool_box_run(b, r, result, e);
	start = clock_mono_ns();
	kept = tool_box_drop(h, b, &left);
	if (kept && !result->err.kind)
		result->err = left;
	/* What could not be removed goes back to its keeper, who tries again. */
	if (kept && claim.fd >= 0)
		close(claim.fd);
	else
		pool_done(&claim);
	ran->remove_ms = ms_since(start);
	return failed;
}

int tool_run(struct agents_host *h, const struct team *t, const struct tool_def *d,
	const char *workspace, const struct run_request *r, struct tool_ran *ran,
	struct run_result *result, struct err *e)
{
	AUTO_STR struct str command = STR_INIT, secrets = STR_INIT;
	struct err why = ERR_INIT;
	struct key_value kv[6];
	const struct record_target handed = {.secrets = d->secrets.n > 0};
	struct audit_record record;
	struct recording rec;
	int failed;

	memset(ran, 0, sizeof *ran);
	memset(result, 0, sizeof *result);
	result->ended = ENDED_FAILED;
	result->exit_code = 125;
	if (d->workspace)
		workspace = d->workspace;
	describe_tool_call(d, d->files == TOOL_WORKSPACE ? workspace : NULL, r, &command, &secrets,
		kv, &record);
	kv[5] = (struct key_value){"ended", "", false};
	if (check_time(d, r, &why))
		record_event(&h->at.recorder, &record, &why);
	else
		record_begin_on(&rec, &h->at.recorder, &record, &handed, &why);
	if (why.kind) {
		result->ended = why.kind == ERR_REFUSED ? ENDED_REFUSED : ENDED_FAILED;
		result->err = why;
		return err_copy(e, &why);
	}
	failed = call_tool(h, t, d, workspace, r, ran, result, &why);
	if (failed && why.kind == ERR_REFUSED)
		result->ended = ENDED_REFUSED;
	if (failed && why.kind == ERR_CANCELLED) {
		result->ended = ENDED_CANCELLED;
		result->exit_code = 143;
	}
	if (failed && !result->err.kind)
		result->err = why;
	kv[5].value = run_ended_name(result->ended);
	rec.r.target = ran->id;
	explain_end(result, &why);
	record_end(&rec, &why);
	return failed ? err_copy(e, &result->err) : 0;
}
