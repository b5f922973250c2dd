/* inspect.c - inspects one container. */
#include <string.h>

#include <berth/container_id.h>
#include <berth/mem.h>

#include "engine/call.h"
#include "engine/parse.h"

static enum health parse_health(const char *word)
{
	if (strcmp(word, "starting") == 0)
		return HEALTH_STARTING;
	if (strcmp(word, "healthy") == 0)
		return HEALTH_HEALTHY;
	return strcmp(word, "unhealthy") == 0 ? HEALTH_UNHEALTHY : HEALTH_NONE;
}

/* "CMD", the guest's program, "health": it is ours (container/spec.c), and tells of ours. */
static bool is_own_check(const cJSON *config)
{
	const cJSON *test = ejson_path(config, "Healthcheck", "Test", NULL);

	return !strcmp(ejson_text(cJSON_GetArrayItem(test, 1)), "/.berth/init") &&
		!strcmp(ejson_text(cJSON_GetArrayItem(test, 2)), "health");
}

/* docker calls a container unhealthy from the moment that it is paused until its next check, which for one of ours is up
 * to an hour away (moby's Health.CloseMonitorChannel, "for compatibility reasons").  No check has failed then. */
static enum health own_health_of(const cJSON *health, enum health said)
{
	const cJSON *streak = ejson_get(health, "FailingStreak");

	if (said != HEALTH_UNHEALTHY || !cJSON_IsNumber(streak) || streak->valuedouble > 0)
		return said;
	return ejson_count(ejson_get(health, "Log")) ? HEALTH_HEALTHY : HEALTH_STARTING;
}

static void read_state(const cJSON *state, bool own, struct arena *a, struct engine_container *c)
{
	c->state = parse_state(ejson_string(state, "Status"));
	c->health = parse_health(ejson_text(ejson_path(state, "Health", "Status", NULL)));
	if (c->health == HEALTH_NONE) /* podman 4's name for it */
		c->health =
			parse_health(ejson_text(ejson_path(state, "Healthcheck", "Status", NULL)));
	if (own) {
		c->own_health = own_health_of(ejson_get(state, "Health"), c->health);
		c->health = HEALTH_NONE;
	}
	c->exit_code = ejson_int(state, "ExitCode", 0);
	c->pid = ejson_int(state, "Pid", 0);
	c->oom_killed = ejson_bool(state, "OOMKilled");
	c->error = ejson_keep(a, state, "Error");
	c->started_wall_ms = ejson_stamp_ms(state, "StartedAt");
	c->finished_wall_ms = ejson_stamp_ms(state, "FinishedAt");
}

static const char *join_command(const cJSON *root, struct arena *a)
{
	AUTO_STR struct str s = STR_INIT;
	const cJSON *arg;

	str_adds(&s, ejson_string(root, "Path"));
	cJSON_ArrayForEach(arg, ejson_get(root, "Args"))
	{
		if (s.len > 0)
			str_addc(&s, ' ');
		str_adds(&s, ejson_text(arg));
	}
	return arena_strndup(a, s.s, s.len);
}

static const struct key_value *read_env(const cJSON *array, struct arena *a, size_t *ret_n)
{
	struct key_value *env;
	const cJSON *item;
	size_t n = 0;

	*ret_n = 0;
	if (!cJSON_IsArray(array) || ejson_count(array) == 0)
		return NULL;
	env = arena_array(a, ejson_count(array), sizeof *env);
	cJSON_ArrayForEach(item, array)
	{
		const char *s = ejson_text(item), *eq = strchr(s, '=');

		if (!*s)
			continue;
		env[n].key = arena_strndup(a, s, eq ? (size_t)(eq - s) : strlen(s));
		env[n++].value = eq ? arena_strdup(a, eq + 1) : "";
	}
	*ret_n = n;
	return env;
}

static void read_mounts(const cJSON *array, struct arena *a, struct engine_container *c)
{
	struct mount_info *mounts;
	const cJSON *m;

	if (!cJSON_IsArray(array) || ejson_count(array) == 0)
		return;
	c->mounts = mounts = arena_array(a, ejson_count(array), sizeof *mounts);
	cJSON_ArrayForEach(m, array)
	{
		struct mount_info *to = &mounts[c->nmounts++];
		const char *name = ejson_string(m, "Name");

		to->type = ejson_keep(a, m, "Type");
		to->source = *name && strcmp(to->type, "volume") == 0 ? arena_strdup(a, name)
								      : ejson_keep(a, m, "Source");
		to->target = ejson_keep(a, m, "Destination");
		to->read_only = cJSON_IsFalse(ejson_get(m, "RW"));
	}
}

static void read_endpoints(const cJSON *object, struct arena *a, struct engine_container *c)
{
	struct key_value *networks;
	const cJSON *n;

	if (!cJSON_IsObject(object) || ejson_count(object) == 0)
		return;
	c->networks = networks = arena_array(a, ejson_count(object), sizeof *networks);
	cJSON_ArrayForEach(n, object)
	{
		struct key_value *to = &networks[c->nnetworks++];
		const char *address = ejson_string(n, "IPAddress");

		to->key = arena_strdup(a, n->string ? n->string : "");
		to->value =
			*address ? arena_strdup(a, address) : ejson_keep(a, n, "GlobalIPv6Address");
	}
}

/* {"80/tcp": [{"HostIp": "::", "HostPort": "8080"}, ...], "90/tcp": null} */
static void read_ports(const cJSON *object, struct arena *a, struct engine_container *c)
{
	struct key_value *ports;
	const cJSON *port, *to;
	size_t n = 0;

	cJSON_ArrayForEach(port, object) n += ejson_count(port) ? ejson_count(port) : 1;
	if (!cJSON_IsObject(object) || n == 0)
		return;
	c->ports = ports = arena_array(a, n, sizeof *ports);
	cJSON_ArrayForEach(port, object)
	{
		const char *key = arena_strdup(a, port->string ? port->string : "");

		if (ejson_count(port) == 0)
			ports[c->nports++] = (struct key_value){.key = key, .value = ""};
		cJSON_ArrayForEach(to, port)
		{
			const char *ip = ejson_string(to, "HostIp");
			bool six = strchr(ip, ':');

			ports[c->nports++] = (struct key_value){.key = key,
				.value = arena_printf(a, "%s%s%s:%s", six ? "[" : "", ip,
					six ? "]" : "", ejson_string(to, "HostPort"))};
		}
	}
}

/* The value of option NAME in "NAME", "NAME:value" or "NAME=value"; NULL when it is another. */
static const char *find_option(const char *s, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(s, name, n) != 0)
		return NULL;
	if (!s[n])
		return "true";
	return s[n] == ':' || s[n] == '=' ? s + n + 1 : NULL;
}

static void read_security(const cJSON *host, struct engine_container *c)
{
	const cJSON *item;

	c->seccomp = c->privileged ? "unconfined" : "default";
	cJSON_ArrayForEach(item, ejson_get(host, "SecurityOpt"))
	{
		const char *s = ejson_text(item), *v;

		if ((v = find_option(s, "no-new-privileges")))
			c->no_new_privileges = strcmp(v, "false") != 0;
		if ((v = find_option(s, "seccomp")))
			c->seccomp = strcmp(v, "unconfined") == 0 ? "unconfined"
				: strcmp(v, "builtin") == 0       ? "default"
								  : "custom";
	}
}

static void read_host_config(const cJSON *host, struct arena *a, struct engine_container *c)
{
	const cJSON *restart = ejson_get(host, "RestartPolicy");
	int retries = ejson_int(restart, "MaximumRetryCount", 0);
	int64_t swap = ejson_i64(host, "MemorySwap", 0);

	c->restart_policy = ejson_keep(a, restart, "Name");
	if (retries > 0)
		c->restart_policy = arena_printf(a, "%s:%d", c->restart_policy, retries);
	c->network_mode = ejson_keep(a, host, "NetworkMode");
	c->runtime = ejson_keep(a, host, "Runtime");
	c->log_driver = ejson_keep(a, ejson_get(host, "LogConfig"), "Type");
	c->privileged = ejson_bool(host, "Privileged");
	c->read_only_root = ejson_bool(host, "ReadonlyRootfs");
	c->init = ejson_bool(host, "Init");
	c->host_pid = strcmp(ejson_string(host, "PidMode"), "host") == 0;
	c->host_ipc = strcmp(ejson_string(host, "IpcMode"), "host") == 0;
	c->memory_limit = ejson_u64(host, "Memory");
	c->memory_swap_limit = swap < 0 ? UINT64_MAX : (uint64_t)swap;
	c->nano_cpus = ejson_u64(host, "NanoCpus");
	c->cpu_quota = ejson_u64(host, "CpuQuota");
	c->cpu_period = ejson_u64(host, "CpuPeriod");
	c->pids_limit = ejson_i64(host, "PidsLimit", 0);
	c->cap_add = ejson_words(a, ejson_get(host, "CapAdd"), &c->ncap_add);
	c->cap_drop = ejson_words(a, ejson_get(host, "CapDrop"), &c->ncap_drop);
	c->ndevices = ejson_count(ejson_get(host, "Devices"));
	read_security(host, c);
}

int parse_inspect(const cJSON *root, struct arena *a, struct engine_container *c, struct err *e)
{
	const cJSON *config = ejson_get(root, "Config");
	const cJSON *network = ejson_get(root, "NetworkSettings");
	const char *name = ejson_string(root, "Name");

	*c = (struct engine_container){0};
	if (!id_is_whole(ejson_string(root, "Id")))
		return err_set(
			e, ERR_PROTOCOL, "the engine describes the container without its full id");
	c->id = ejson_keep(a, root, "Id");
	c->name = arena_strdup(a, name + (*name == '/'));
	c->image = ejson_keep(a, config, "Image");
	c->image_id = ejson_keep(a, root, "Image");
	c->command = join_command(root, a);
	c->user = ejson_keep(a, config, "User");
	c->workdir = ejson_keep(a, config, "WorkingDir");
	c->hostname = ejson_keep(a, config, "Hostname");
	c->tty = ejson_bool(config, "Tty");
	c->stop_timeout_s = ejson_int(config, "StopTimeout", 10);
	c->env = read_env(ejson_get(config, "Env"), a, &c->nenv);
	c->labels = ejson_pairs(a, ejson_get(config, "Labels"), &c->nlabels);
	c->restarts = ejson_int(root, "RestartCount", 0);
	c->created_wall_ms = ejson_stamp_ms(root, "Created");
	c->apparmor = ejson_keep(a, root, "AppArmorProfile");
	read_state(ejson_get(root, "State"), is_own_check(config), a, c);
	read_host_config(ejson_get(root, "HostConfig"), a, c);
	read_mounts(ejson_get(root, "Mounts"), a, c);
	read_endpoints(ejson_get(network, "Networks"), a, c);
	read_ports(ejson_get(network, "Ports"), a, c);
	return 0;
}

struct inspect {
	struct engine_call call;
	engine_inspect_fn fn;
	void *ctx;
};

static void start_inspect(struct engine_call *c)
{
	call_send_to(c, "GET", "/json", HTTP_LANE_SHORT, 0);
}

static void take_inspect(struct engine_call *c, const struct http_reply *r)
{
	struct inspect *i = (struct inspect *)c;
	AUTO_JSON cJSON *root = call_json(c, r);
	struct engine_container container;
	struct err e = ERR_INIT;
	AUTO_ARENA struct arena mem = ARENA_INIT(8192);

	if (!root)
		return;
	if (parse_inspect(root, &mem, &container, &e))
		i->fn(i->ctx, NULL, NULL, 0, &e);
	else
		i->fn(i->ctx, &container, r->body, r->len, NULL);
	call_free(c);
}

static void inspect_failed(struct engine_call *c, const struct err *err)
{
	struct inspect *i = (struct inspect *)c;

	i->fn(i->ctx, NULL, NULL, 0, err);
}

static const struct call_ops inspect_ops = {
	.what = "inspect %s",
	.start = start_inspect,
	.reply = take_inspect,
	.failed = inspect_failed,
};

struct engine_call *engine_inspect(
	struct engine *en, const char *id, engine_inspect_fn fn, void *ctx)
{
	struct inspect *i = call_new(en, &inspect_ops, sizeof *i, id);

	i->fn = fn;
	i->ctx = ctx;
	return &i->call;
}
