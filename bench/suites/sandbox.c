/* sandbox.c - measures an agent in gVisor against a minimal client with the same container, and against runc. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/str.h>

#include "container/container.h"
#include "suites/containers.h"
#include "suites/agents.h"

#define RUNTIME "runsc"

enum { IN_GVISOR, IN_RUNC, KINDS }; /* in the order of the arms, behind the minimal client */

struct sandbox_bench {
	struct crew crew;
	struct agent_up up[KINDS];
	struct str body; /* what the minimal client asks for: as berth does */
	bool is_up[KINDS];
};

static void teardown_sandbox(void *ctx)
{
	struct sandbox_bench *b = ctx;

	for (size_t i = 0; b->crew.host && i < KINDS; i++)
		crew_take_down(&b->crew, i);
	crew_close(&b->crew);
	str_release(&b->body);
	free(b);
}

/* The object behind "HostConfig":, with its braces; its end, NULL: there is none. */
static const char *end_of_object(const char *at)
{
	bool quoted = false;
	int depth = 0;

	for (; *at; at++) {
		if (*at == '\\' && at[1])
			at++;
		else if (*at == '"')
			quoted = !quoted;
		else if (!quoted && *at == '{')
			depth++;
		else if (!quoted && *at == '}' && !--depth)
			return at + 1;
	}
	return NULL;
}

/* Whatever berth asked for its container: the same. */
static int take_asked_body(struct sandbox_bench *b, struct err *e)
{
	static const char key[] = "\"HostConfig\":";
	AUTO_STR struct str target = STR_INIT, reply = STR_INIT;
	const char *at, *end;

	str_addf(&target, "/containers/%s/json", b->up[IN_GVISOR].id);
	if (mini_must(&b->crew.mini, 200, "GET", target.s, NULL, &reply, e) < 0)
		return -1;
	at = strstr(reply.s, key);
	end = at ? end_of_object(at + sizeof key - 1) : NULL;
	if (!end || !strstr(reply.s, "\"Runtime\":\"" RUNTIME "\""))
		return err_set(e, ERR_FAILED, "the agent does not run in " RUNTIME);
	at += sizeof key - 1;
	str_addf(&b->body,
		"{\"Image\":\"box:1\",\"Entrypoint\":[\"" LANE_GUEST_PATH "\",\"" LANE_GUEST_ALONE
		"\"],\"User\":\"1000:1000\",\"StopTimeout\":3,\"Labels\":{\"berth.bench\":\"%d\"},\"HostConfig\":%.*s}",
		(int)getpid(), (int)(end - at), at);
	return 0;
}

static int bring_up(struct sandbox_bench *b, int kind, struct err *e)
{
	if (agents_up(b->crew.host, &b->crew.team, &b->crew.team.agents[kind], &b->up[kind], e))
		return -1;
	b->is_up[kind] = true;
	return 0;
}

static int prepare_sandboxes(struct sandbox_bench *b, struct err *e)
{
	struct agents_options o = {.host = b->crew.url};
	AUTO_STR struct str text = STR_INIT;

	str_addf(&text,
		"agents:\n"
		"  benchg%d: {image: box:1, workspace: %s, memory: 256m, runtime: " RUNTIME "}\n"
		"  benchr%d: {image: box:1, workspace: %s, memory: 256m}\n",
		(int)getpid(), b->crew.workspace, (int)getpid(), b->crew.workspace);
	if (crew_read(&b->crew, text.s, e))
		return -1;
	b->crew.host = agents_open(&o, e);
	if (b->crew.host && sandbox_known(&b->crew.host->at.info, RUNTIME, "", NULL))
		return err_set(e, ERR_NOT_FOUND, "this engine has no runtime " RUNTIME);
	return !b->crew.host || bring_up(b, IN_GVISOR, e) || bring_up(b, IN_RUNC, e) ||
			take_asked_body(b, e)
		? -1
		: 0;
}

static void *setup_sandbox(struct bench_run *r, struct err *e)
{
	struct sandbox_bench *b = xcalloc(1, sizeof *b);

	(void)r;
	str_init(&b->body);
	if (crew_open(&b->crew, e)) {
		free(b);
		return NULL;
	}
	if (!prepare_sandboxes(b, e))
		return b;
	teardown_sandbox(b);
	return NULL;
}

/* --- up --- */

static int up_mini(void *ctx, struct sample *s, struct err *e)
{
	struct sandbox_bench *b = ctx;
	AUTO_STR struct str reply = STR_INIT, target = STR_INIT;
	double begun = now_s();
	char id[72];

	if (mini_must(&b->crew.mini, 201, "POST", "/containers/create", b->body.s, &reply, e) < 0)
		return -1;
	if (!mini_text(reply.s, "Id", id, sizeof id))
		return err_set(e, ERR_PROTOCOL, "the engine did not say the container's id");
	str_addf(&target, "/containers/%s/start", id);
	if (mini_must(&b->crew.mini, 204, "POST", target.s, NULL, NULL, e) < 0)
		return -1;
	s->seconds = now_s() - begun;
	s->digest = 1;
	str_clear(&target);
	str_addf(&target, "/containers/%s?force=1&v=1", id);
	return mini_must(&b->crew.mini, 204, "DELETE", target.s, NULL, NULL, e);
}

static int up_berth(void *ctx, struct sample *s, struct err *e)
{
	struct sandbox_bench *b = ctx;
	int kind = s->arm - 1;
	double begun;

	if (b->is_up[kind] && agents_down(b->crew.host, b->crew.team.agents[kind].container, e))
		return -1;
	b->is_up[kind] = false;
	begun = now_s();
	if (bring_up(b, kind, e))
		return -1;
	s->seconds = now_s() - begun;
	s->digest = 1;
	return 0;
}

/* --- exec --- */

static int exec_mini(void *ctx, struct sample *s, struct err *e)
{
	struct sandbox_bench *b = ctx;
	AUTO_STR struct str out = STR_INIT;
	double begun = now_s();
	int code;

	if (mini_exec(&b->crew.mini, b->up[IN_GVISOR].id, "[\"sh\",\"-c\",\"echo 42\"]", &out,
		    &code, e))
		return -1;
	s->seconds = now_s() - begun;
	s->digest = digest_bytes(0, out.s, out.len);
	return code ? err_set(e, ERR_FAILED, "the command exited with %d", code) : 0;
}

/* As the carrier of `berth exec` does, without its process. */
static int exec_berth(void *ctx, struct sample *s, struct err *e)
{
	static const char *const argv[] = {"sh", "-c", "echo 42"};
	AUTO_STR struct str out = STR_INIT;
	const struct sandbox_bench *b = ctx;
	struct run_request q = {.host = b->crew.url,
		.agent = b->crew.team.agents[s->arm - 1].container,
		.argv = argv,
		.argc = 3,
		.in = -1,
		.out = -1,
		.error = -1,
		.output = crew_output,
		.ctx = &out,
		.cancel_fd = -1,
		.resize_fd = -1};
	struct run_result r;
	double begun = now_s();

	if (agents_run_engine(&q, &r, e))
		return -1;
	s->seconds = now_s() - begun;
	s->digest = digest_bytes(0, out.s, out.len);
	return r.exit_code ? err_set(e, ERR_FAILED, "the command exited with %d", r.exit_code) : 0;
}

static const struct bench_case cases[] = {
	{.name = "up",
		.about = "an agent in gVisor: create, start, compare its mounts",
		.samples = 20,
		.smoke_samples = 1,
		.warmup = 1,
		.setup = setup_sandbox,
		.teardown = teardown_sandbox,
		.arms = {{"minimal client", up_mini}, {"berth", up_berth},
			{"berth, runc", up_berth}},
		.targets = {OVER_MINIMAL}},
	{.name = "exec",
		.about = "echo 42 in an agent in gVisor, through the engine",
		.samples = 30,
		.smoke_samples = 1,
		.warmup = 2,
		.setup = setup_sandbox,
		.teardown = teardown_sandbox,
		.arms = {{"minimal client", exec_mini}, {"berth", exec_berth},
			{"berth, runc", exec_berth}},
		.targets = {OVER_MINIMAL}},
	{.name = NULL},
};

const struct bench_suite suite_sandbox = {"sandbox", cases};
