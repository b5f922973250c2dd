/* target.c - finds the container that a name stands for. */
#include "run/target.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/container_id.h>
#include <berth/mem.h>

#include "container/container.h"
#include "run/rulebook.h"
#include "run/run.h"
#include "lane/lane.h"

static int inspect_target(struct exec_target *t, const char *name, struct str *reply, struct err *e)
{
	AUTO_STR struct str target = STR_INIT;

	str_adds(&target, "/containers/");
	url_escape(&target, name);
	str_adds(&target, "/json");
	return sync_ask(t->at.engine, "look for the container %s", name, "GET", target.s, NULL, 0,
		reply, e);
}

/* "web" of {"Names": ["/web"]}, and of {"Name": "/web"}. */
static const char *bare_name(const cJSON *one)
{
	const cJSON *names = ejson_get(one, "Names");
	const char *name =
		names ? ejson_text(cJSON_GetArrayItem(names, 0)) : ejson_string(one, "Name");

	return name + (*name == '/');
}

static int rank_of(const struct exec_target *t, const cJSON *one)
{
	const cJSON *labels = ejson_get(one, "Labels");
	bool made = own_made(t->at.info.id, bare_name(one), ejson_string(one, "Id"),
		ejson_string(labels, "berth.session"), ejson_string(labels, "berth.proof"));

	return agents_rank(!strcmp(ejson_string(one, "State"), "running"),
		ejson_string(labels, "berth.role"), made);
}

/* agent: b's, or NULL. */
static int refuse_two(
	const char *word, const cJSON *a, const cJSON *b, const char *agent, struct err *e)
{
	return err_set(e, ERR_USAGE,
		"%s is ambiguous: use %.12s for the container %s, or %.12s for the container %s%s%s.",
		word, ejson_string(a, "Id"), bare_name(a), ejson_string(b, "Id"), bare_name(b),
		agent ? " of the agent " : "", agent ? agent : "");
}

/* The container of an agent, which is in *list.  1: there is one, 0: none. */
static int find_agent(
	struct exec_target *t, const char *agent, cJSON **list, const cJSON **ret, struct err *e)
{
	AUTO_STR struct str target = STR_INIT, filter = STR_INIT;
	const cJSON *one, *other = NULL;
	int best = 0;

	str_adds(&filter, "{\"label\":[");
	{
		AUTO_FREE char *label = xasprintf("berth.agent=%s", agent);

		str_add_json(&filter, label);
	}
	str_adds(&filter, "]}");
	str_adds(&target, "/containers/json?all=1&filters=");
	url_escape(&target, filter.s);
	*list = sync_json(
		t->at.engine, "look for the agent %s", agent, "GET", target.s, NULL, 0, e);
	if (!*list)
		return -1;
	cJSON_ArrayForEach(one, *list)
	{
		int rank;

		if (strcmp(ejson_string(ejson_get(one, "Labels"), "berth.agent"), agent) != 0 ||
			!id_is_whole(ejson_string(one, "Id")))
			continue;
		rank = rank_of(t, one);
		if (rank < best)
			continue;
		other = rank == best ? *ret : NULL;
		*ret = one;
		best = rank;
	}
	if (other)
		return refuse_two(agent, other, *ret, agent, e);
	return best > 0;
}

#define ID_MIN 4 /* digits of an id that can be meant, as everywhere on the command line */

/* How an engine refuses the beginning of several ids: dockerd 400, before version 23 and podman 500. */
static bool may_be_several(const struct err *why)
{
	return why->sys == 400 || why->sys == 500;
}

/* `why` is what the engine said about the name.  If several ids begin with it, name two. */
static int refuse_beginning(
	struct exec_target *t, const char *name, const struct err *why, struct err *e)
{
	AUTO_STR struct str reply = STR_INIT;
	AUTO_JSON cJSON *list = NULL;
	const cJSON *one, *first = NULL;

	if (sync_ask(t->at.engine, "look for the container %s", name, "GET",
		    "/containers/json?all=1", NULL, 0, &reply, NULL) == 0)
		list = ejson_parse(reply.s, reply.len, NULL);
	cJSON_ArrayForEach(one, list)
	{
		const char *id = ejson_string(one, "Id");

		if (!id_is_whole(id) || strncmp(id, name, strlen(name)) != 0)
			continue;
		if (first)
			return refuse_two(name, first, one, NULL, e);
		first = one;
	}
	return err_copy(e, why);
}

/* The engine takes a single digit for an id: `exec a` must not reach the only container whose id begins with it. */
static bool is_by_chance(const char *name, const struct str *reply)
{
	AUTO_JSON cJSON *root = ejson_parse(reply->s, reply->len, NULL);

	return strcmp(bare_name(root), name) != 0;
}

/* The container of that id or name, or the agent's: what is both is neither. */
static int find_exec_target(
	struct exec_target *t, const char *name, struct str *reply, struct err *e)
{
	AUTO_JSON cJSON *list = NULL, *found = NULL;
	const cJSON *agent = NULL;
	struct err why = ERR_INIT;
	bool few = strlen(name) < ID_MIN;
	int rc;

	if (inspect_target(t, name, reply, &why) == 0) {
		if (few && is_by_chance(name, reply))
			str_clear(reply);
	} else if (why.kind != ERR_NOT_FOUND && !(few && may_be_several(&why))) {
		return may_be_several(&why) ? refuse_beginning(t, name, &why, e)
					    : err_copy(e, &why);
	} else {
		str_clear(reply);
	}
	rc = find_agent(t, name, &list, &agent, e);
	if (rc < 0)
		return -1;
	if (reply->len) {
		found = agent ? ejson_parse(reply->s, reply->len, NULL) : NULL;
		return !found || !strcmp(ejson_string(found, "Id"), ejson_string(agent, "Id"))
			? 0
			: refuse_two(name, found, agent, name, e);
	}
	if (!agent)
		return err_set(e, ERR_NOT_FOUND,
			"there is no container and no agent named %s on %s.", name,
			t->at.endpoint.url);
	return inspect_target(t, ejson_string(agent, "Id"), reply, e);
}

static int check_policy(
	const struct exec_target *t, const struct run_request *r, const cJSON *root, struct err *e)
{
	const cJSON *labels = ejson_path(root, "Config", "Labels", NULL), *one;
	struct policy_act act = {.operation = OP_CONTAINER_EXEC,
		.endpoint = t->at.endpoint.url,
		.engine_name = t->at.info.name,
		.name = t->name,
		.id = t->id,
		.image = ejson_string(ejson_get(root, "Config"), "Image")};
	size_t n = labels ? (size_t)cJSON_GetArraySize(labels) : 0;
	AUTO_FREE struct key_value *kv = xcalloc(n + 1, sizeof *kv);

	cJSON_ArrayForEach(one, labels)
	{
		kv[act.nlabels++] = (struct key_value){
			one->string, cJSON_IsString(one) ? one->valuestring : "", false};
	}
	act.labels = kv;
	if (policy_check(&t->at.policy, &act, e))
		return -1;
	return rulebook_check(t->name, NULL, r, NULL, e);
}

static int check_running(const struct exec_target *t, const cJSON *root, struct err *e)
{
	const cJSON *state = ejson_get(root, "State");

	if (ejson_bool(state, "Paused"))
		return err_set(e, ERR_CONFLICT,
			"the container of %s is paused, so nothing runs in it; unpause it first (docker "
			"unpause %.12s).",
			t->name, t->id);
	if (!ejson_bool(state, "Running"))
		return err_set(e, ERR_CONFLICT,
			"the container %s is not running (it is %s); start it first.", t->name,
			ejson_string(state, "Status"));
	return 0;
}

/* A container of ours runs nothing in mounts that nobody has looked at since it was started; nor does another
 * one that took its name, or calls itself its agent. */
static int check_mounts(struct exec_target *t, const char *asked, const cJSON *root, struct err *e)
{
	const cJSON *labels = ejson_path(root, "Config", "Labels", NULL);

	t->mounts = checked_look(t->id, t->pid, &t->start, e);
	if (t->mounts == MOUNTS_CHECKED)
		return 0;
	if (t->mounts != MOUNTS_STRANGER)
		return -1;
	if (session_elsewhere(t->name, asked, t->id, t->at.info.id))
		return err_set(e, ERR_REFUSED,
			"%s is not the container that was brought up as %s, so nothing runs in it; remove "
			"or rename it, then: berth up FILE",
			t->name, asked);
	if (!t->local ||
		!own_proven(t->at.info.id, t->name, ejson_string(labels, "berth.session"),
			ejson_string(labels, "berth.proof")))
		return 0;
	t->mounts = MOUNTS_UNKNOWN;
	return err_set(e, ERR_REFUSED,
		"the mounts of %s since its start are unknown, so nothing runs in it; "
		"recreate it: berth up FILE",
		t->name);
}

/* Another user inside than the one that a container of berth's has would have what its definition did not
 * give; also for one that only calls itself so. */
static int check_user(
	const struct exec_target *t, const char *user, const cJSON *root, struct err *e)
{
	const cJSON *config = ejson_get(root, "Config");
	const char *own = ejson_string(config, "User");
	size_t n = strcspn(own, ":");

	if (!user || !strcmp(user, own) || (n && strlen(user) == n && !memcmp(user, own, n)))
		return 0;
	if (t->mounts == MOUNTS_STRANGER &&
		!*ejson_string(ejson_get(config, "Labels"), "berth.session"))
		return 0;
	return err_set(e, ERR_REFUSED,
		"%s runs as %s; its commands cannot run as another user (%.60s). With enable_sudo in its definition, use sudo inside.",
		t->name, *own ? own : "root", user);
}

static void describe_place(const struct exec_target *t, const cJSON *root, struct run_result *ret)
{
	const cJSON *labels = ejson_path(root, "Config", "Labels", NULL);
	struct lane_about about = {0};

	snprintf(about.id, sizeof about.id, "%s", t->id);
	snprintf(about.name, sizeof about.name, "%s", t->name);
	snprintf(about.agent, sizeof about.agent, "%s", ejson_string(labels, "berth.agent"));
	snprintf(about.session, sizeof about.session, "%s", ejson_string(labels, "berth.session"));
	snprintf(about.engine, sizeof about.engine, "%s", t->at.info.id);
	run_where(ret, &about);
}

static bool is_run_cancelled(void *ctx)
{
	const struct run_request *r = ctx;
	struct pollfd p = {r->cancel_fd, POLLIN, 0};

	return r->cancel_fd >= 0 && poll(&p, 1, 0) > 0;
}

int target_find(
	struct exec_target *t, const struct run_request *r, struct run_result *ret, struct err *e)
{
	const struct engine_session_options how = {.host = r->host,
		.context = r->context,
		.policy = r->policy,
		.stop = is_run_cancelled,
		.ctx = (void *)r};
	AUTO_STR struct str reply = STR_INIT;
	AUTO_JSON cJSON *root = NULL;
	struct lane_about about;

	if (engine_session_open(&t->at, &how, e))
		return -1;
	if (find_exec_target(t, r->agent, &reply, e))
		return -1;
	root = ejson_parse(reply.s, reply.len, e);
	if (!root)
		return -1;
	if (!id_is_whole(ejson_string(root, "Id")))
		return err_set(e, ERR_PROTOCOL,
			"the engine describes the container %.80s without its full id, so nothing runs in it.",
			r->agent);
	snprintf(t->name, sizeof t->name, "%s", bare_name(root));
	snprintf(t->id, sizeof t->id, "%s", ejson_string(root, "Id"));
	t->pid = ejson_int(ejson_get(root, "State"), "Pid", 0);
	/* An engine elsewhere could name a container of this host. */
	t->local = t->at.endpoint.transport == TRANSPORT_UNIX && tree_is_here(t->pid, t->id);
	t->sandbox = t->local && sandbox_is(t->pid);
	describe_place(t, root, ret);
	if (check_policy(t, r, root, e)) {
		ret->ended = ENDED_REFUSED;
		return -1;
	}
	if (check_running(t, root, e))
		return -1;
	if (check_mounts(t, r->agent, root, e)) {
		ret->mounts = t->mounts;
		ret->ended = ENDED_REFUSED;
		return -1;
	}
	ret->mounts = t->mounts;
	if (check_user(t, r->user, root, e)) {
		ret->ended = ENDED_REFUSED;
		return -1;
	}
	t->lane = !r->user && (r->host || r->context) && r->fall_back &&
		!lane_find(t->name, &about, NULL) && !strcmp(about.id, t->id) &&
		!lane_is_none(t->name);
	return 0;
}

void target_release(struct exec_target *t)
{
	engine_session_close(&t->at);
	*t = (struct exec_target){0};
}

/* The engine's own record of it; `until` makes the stream end at once. */
static uint64_t ooms_by_events(struct exec_target *t, int64_t since_ns)
{
	AUTO_STR struct str target = STR_INIT, reply = STR_INIT;
	int64_t now_ms = clock_wall_ms(), ago_ms = (clock_mono_ns() - since_ns) / 1000000 + 1000;

	str_addf(&target,
		"/events?since=%lld&until=%lld.%03lld&filters=%%7B%%22event%%22%%3A%%5B%%22oom%%22%%5D%%2C"
		"%%22container%%22%%3A%%5B%%22%s%%22%%5D%%7D",
		(long long)((now_ms - ago_ms) / 1000), (long long)(now_ms / 1000),
		(long long)(now_ms % 1000), t->id);
	if (sync_ask(t->at.engine, "ask what happened to %s", t->name, "GET", target.s, NULL, 3000,
		    &reply, NULL))
		return 0;
	return strstr(reply.s, "oom") != NULL;
}

uint64_t target_ooms(struct exec_target *t, int64_t since_ns)
{
	if (t->local)
		return oom_kills(t->pid, t->id);
	return since_ns ? ooms_by_events(t, since_ns) : 0;
}
