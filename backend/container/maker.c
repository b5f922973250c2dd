/* maker.c - finds, creates and removes the containers of agents on an engine. */
#include "container/maker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/container_id.h>
#include <berth/file.h>
#include <berth/hash.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/settings.h>

#include "container/checked.h"
#include "container/own.h"
#include "lane/lane.h"

#define LANE_TRY_MS 10000 /* a container that is busy with itself may answer late */

const struct limits tool_limits_small = {.memory_bytes = (uint64_t)64 << 20,
	.cpus = 1,
	.pids = 16,
	.tmp_bytes = (uint64_t)1 << 20,
	.file_bytes = (uint64_t)64 << 20,
	.open_files = 64};

struct agents_defaults agents_defaults(const struct settings *s)
{
	return (struct agents_defaults){.journal_commands = (size_t)s->journal_commands,
		.journal_bytes = s->journal_bytes,
		.egress_ask_s = (uint16_t)s->egress_ask_s,
		.usual = {.bytes = s->workspace_bytes, .files = (uint64_t)s->workspace_files},
		.tasks = {.active = (size_t)s->workspaces_active, .bytes = s->workspaces_bytes}};
}

struct agents_host *agents_open(const struct agents_options *o, struct err *e)
{
	struct agents_host *h = xcalloc(1, sizeof *h);
	const struct engine_session_options how = {.host = o->host,
		.context = o->context,
		.program = o->program ? o->program : "agents",
		.policy = o->policy,
		.stop = o->stop,
		.ctx = o->stop_ctx};

	h->defaults = o->defaults;
	h->own_board = o->own_board;
	h->create = o->create;
	h->replace = o->replace;
	h->stop = o->stop;
	h->stop_ctx = o->stop_ctx;
	h->say = o->say;
	h->say_ctx = o->say_ctx;
	if (o->guest)
		snprintf(h->guest, sizeof h->guest, "%s", o->guest);
	if ((!o->guest && runtime_program("berth-guest", h->guest, e)) ||
		engine_session_open(&h->at, &how, e)) {
		free(h);
		return NULL;
	}
	return h;
}

void agents_close(struct agents_host *h)
{
	if (!h)
		return;
	engine_session_close(&h->at);
	free(h);
}

int host_look_whole(struct agents_host *h, const char *name, struct existing *ret,
	struct arena *mem, struct err *e)
{
	struct err asked = ERR_INIT;
	AUTO_JSON cJSON *root =
		sync_inspect(h->at.engine, "look for the container %s", "containers", name, &asked);
	struct session record;
	const cJSON *labels;
	const char *own_name;

	memset(ret, 0, sizeof *ret);
	if (!root)
		return asked.kind == ERR_NOT_FOUND ? 0 : err_copy(e, &asked);
	if (!id_is_whole(ejson_string(root, "Id")))
		return err_set(
			e, ERR_PROTOCOL, "the engine describes %.80s without its full id", name);
	labels = ejson_path(root, "Config", "Labels", NULL);
	own_name = ejson_string(root, "Name");
	own_name += *own_name == '/';
	snprintf(ret->id, sizeof ret->id, "%s", ejson_string(root, "Id"));
	snprintf(ret->spec, sizeof ret->spec, "%s", ejson_string(labels, "berth.spec"));
	snprintf(ret->session, sizeof ret->session, "%s", ejson_string(labels, "berth.session"));
	snprintf(ret->role, sizeof ret->role, "%s", ejson_string(labels, "berth.role"));
	snprintf(ret->network, sizeof ret->network, "%s",
		ejson_string(ejson_get(root, "HostConfig"), "NetworkMode"));
	snprintf(ret->runtime, sizeof ret->runtime, "%s",
		ejson_string(ejson_get(root, "HostConfig"), "Runtime"));
	snprintf(ret->apparmor, sizeof ret->apparmor, "%s", ejson_string(root, "AppArmorProfile"));
	ret->running = ejson_bool(ejson_path(root, "State", NULL), "Running");
	ret->pid = ejson_int(ejson_path(root, "State", NULL), "Pid", 0);
	ret->ours = own_proven(h->at.info.id, own_name, ret->session,
			    ejson_string(labels, "berth.proof")) ||
		(!session_load(own_name, &record, NULL) && !strcmp(record.id, ret->id) &&
			!strcmp(record.engine, h->at.info.id));
	if (mem) {
		ret->image = ejson_keep(mem, ejson_get(root, "Config"), "Image");
		ret->of = (struct record_target){.images = &ret->image, .nimages = 1};
		ret->of.labels = ejson_pairs(mem, labels, &ret->of.nlabels);
	}
	return 1;
}

int host_look(struct agents_host *h, const char *name, struct existing *ret, struct err *e)
{
	return host_look_whole(h, name, ret, NULL, e);
}

/* Named after what is in it: an older berth's containers were made with theirs. */
static int place_seccomp(
	const struct agents_host *h, const struct spec *s, char path[PATH_MAX], struct err *e)
{
	AUTO_STR struct str text = STR_INIT, there = STR_INIT;
	char dir[PATH_MAX - 64];

	if (h->at.endpoint.transport != TRANSPORT_UNIX)
		return err_set(e, ERR_REFUSED,
			"%s reads the seccomp filter from a file on its own machine, but this engine is "
			"reached over a network: run berth on the engine's machine.",
			s->product->name);
	if (state_dir(dir, sizeof dir, e))
		return -1;
	spec_seccomp(&text);
	snprintf(path, PATH_MAX, "%s/seccomp-%08x.json", dir, hash_short(text.s));
	if (file_read(AT_FDCWD, path, O_NOFOLLOW, text.len + 1, &there, NULL) >= 0 &&
		there.len == text.len && !memcmp(there.s, text.s, text.len))
		return 0;
	return file_replace(path, text.s, text.len, false) < 0
		? err_sys(e, errno, "cannot write the seccomp filter %s", path)
		: 0;
}

/* What a user's processes may be on this machine, for an engine that asks for more than it may by itself. */
static uint64_t processes_here(void)
{
	struct rlimit own;
	char text[32];
	uint64_t most = file_text("/proc/sys/kernel/pid_max", text, sizeof text) > 0
		? strtoull(text, NULL, 10)
		: 0;

	if (!getrlimit(RLIMIT_NPROC, &own) && own.rlim_max < most)
		most = own.rlim_max;
	return most;
}

int host_create(struct agents_host *h, const struct spec *asked, char id[65], struct err *e)
{
	AUTO_STR struct str body = STR_INIT;
	struct spec whole = *asked, *s = &whole;
	char seccomp[PATH_MAX];

	if (product_refuses(&h->at.info, e) || spec_refuses(s, e))
		return -1;
	if (s->product && s->product->seccomp_file) {
		if (place_seccomp(h, s, seccomp, e))
			return -1;
		s->seccomp_file = seccomp;
	}
	if (s->product && s->product->nproc)
		s->user_processes = processes_here();
	spec_body(s, &body);
	return sync_create(h->at.engine, s->name, body.s, id, e);
}

int host_start_and_wait(struct agents_host *h, const char *name, const char *id, struct err *e)
{
	AUTO_STR struct str target = STR_INIT;
	AUTO_JSON cJSON *root = NULL;

	if (sync_act(h->at.engine, ACT_START, id, false, false, -1, e))
		return -1;
	str_addf(&target, "/containers/%s/wait", id);
	root = sync_json(h->at.engine, "wait for %s", name, "POST", target.s, NULL, 60000, e);
	if (!root)
		return -1;
	if (ejson_int(root, "StatusCode", -1))
		return err_set(e, ERR_FAILED, "the helper %s failed (exit %d)", name,
			ejson_int(root, "StatusCode", -1));
	return 0;
}

int host_remove(struct agents_host *h, const char *id, struct err *e)
{
	struct err asked = ERR_INIT;

	lane_hold_release(id);
	if (sync_act(h->at.engine, ACT_REMOVE, id, true, true, -1, &asked) &&
		asked.kind != ERR_NOT_FOUND)
		return err_copy(e, &asked);
	checked_forget(id);
	return 0;
}

int host_try_lane(const char *name, const char *id, struct err *e)
{
	struct lane_about about;

	if (lane_find(name, &about, e))
		return -1;
	if (strcmp(about.id, id))
		return err_set(
			e, ERR_NOT_FOUND, "the lane of %s belongs to another container", name);
	return lane_try(&about, LANE_TRY_MS, e);
}

bool host_lane_dir_exists(const char *dir)
{
	struct stat st;

	return !lstat(dir, &st) && S_ISDIR(st.st_mode);
}
