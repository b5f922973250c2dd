/* limit.c - changes limits of a running container and reads them back. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <berth/format.h>
#include <berth/limits.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "observe/observe.h"
#include "engine_session/engine_session.h"

#define UPDATE_MS 30000
#define NANO 1e9

struct limiting {
	const struct limits_change *c;
	struct engine_session at;
	struct container_limits now;
	bool kernel;
};

/* The engine's record of it; the caller's to free. */
static cJSON *ask_limits(struct limiting *l, struct err *e)
{
	AUTO_FREE char *target = xasprintf("/containers/%s/json", l->c->container->id);

	return sync_json(
		l->at.engine, "look at %s", l->c->container->name, "GET", target, NULL, 0, e);
}

/* Swap that is counted with memory keeps its distance: of berth's containers that is none. */
static void add_memory(struct str *body, const cJSON *host, uint64_t memory)
{
	uint64_t was = ejson_u64(host, "Memory"), swap = ejson_u64(host, "MemorySwap");
	bool unlimited = ejson_i64(host, "MemorySwap", 0) < 0;

	str_addf(body, "\"Memory\":%llu,", (unsigned long long)memory);
	if (unlimited)
		str_adds(body, "\"MemorySwap\":-1,");
	else
		str_addf(body, "\"MemorySwap\":%llu,",
			(unsigned long long)(memory +
				(swap > was && was    ? swap - was
						: was ? 0
						      : memory)));
}

/* An engine takes the one form or the other, as the container was made. */
static void add_cpus(struct str *body, const cJSON *host, double cpus)
{
	uint64_t period = ejson_u64(host, "CpuPeriod");

	if (ejson_i64(host, "CpuQuota", 0) > 0)
		str_addf(body, "\"CpuPeriod\":%llu,\"CpuQuota\":%.0f,",
			(unsigned long long)(period ? period : 100000),
			cpus * (double)(period ? period : 100000));
	else
		str_addf(body, "\"NanoCpus\":%.0f,", cpus * NANO);
}

static int update_limits(struct limiting *l, const cJSON *host, struct err *e)
{
	const struct container_limits *w = &l->c->want;
	AUTO_FREE char *target = xasprintf("/containers/%s/update", l->c->container->id);
	AUTO_STR struct str body = STR_INIT;

	str_addc(&body, '{');
	if (w->memory_bytes)
		add_memory(&body, host, w->memory_bytes);
	if (w->cpus > 0)
		add_cpus(&body, host, w->cpus);
	if (w->pids)
		str_addf(&body, "\"PidsLimit\":%lld,", (long long)w->pids);
	body.s[body.len - 1] = '}';
	return sync_ask(l->at.engine, "set limits of %s", l->c->container->name, "POST", target,
		body.s, UPDATE_MS, NULL, e);
}

static struct container_limits limits_on_record(const cJSON *host)
{
	double period = (double)ejson_u64(host, "CpuPeriod"),
	       quota = (double)ejson_i64(host, "CpuQuota", 0);
	int64_t pids = ejson_i64(host, "PidsLimit", 0);

	return (struct container_limits){.memory_bytes = ejson_u64(host, "Memory"),
		.cpus = quota > 0 ? quota / (period > 0 ? period : 100000)
				  : (double)ejson_u64(host, "NanoCpus") / NANO,
		.pids = pids > 0 ? pids : 0};
}

/* false: it is not of this machine, or does not run. */
static bool read_kernel_limits(const char *id, int pid, struct container_limits *ret)
{
	struct cgroup_mounts mounts;
	struct cgroup_reader r;
	bool found;

	if (pid <= 0 || cgroup_mounts_read(&mounts, "", NULL))
		return false;
	cgroup_reader_init(&r);
	found = !cgroup_reader_open(&r, &mounts, id, pid, false, NULL);
	if (found)
		*ret = (struct container_limits){
			r.memory_limit, r.cpu_limit_percent / 100, (int64_t)r.pids_limit};
	cgroup_reader_close(&r);
	cgroup_mounts_release(&mounts);
	return found;
}

static int check_limits(const struct limiting *l, struct err *e)
{
	const struct container_limits *w = &l->c->want, *n = &l->now;
	const char *who = l->kernel ? "the kernel" : "the engine";
	char is[FORMAT_MAX], asked[FORMAT_MAX];

	/* The kernel counts pages. */
	if (w->memory_bytes &&
		(n->memory_bytes > w->memory_bytes || w->memory_bytes - n->memory_bytes > 65536))
		return err_set(e, ERR_FAILED, "%s limits the memory of %.100s to %s, not to %s.",
			who, l->c->container->name,
			n->memory_bytes ? format_bytes(is, n->memory_bytes) : "nothing",
			format_bytes(asked, w->memory_bytes));
	if (w->cpus > 0 && fabs(n->cpus - w->cpus) > 0.005)
		return err_set(e, ERR_FAILED, "%s limits %.100s to %.2f processors, not to %.2f.",
			who, l->c->container->name, n->cpus, w->cpus);
	if (w->pids && n->pids != w->pids)
		return err_set(e, ERR_FAILED, "%s limits %.100s to %lld processes, not to %lld.",
			who, l->c->container->name, (long long)n->pids, (long long)w->pids);
	return 0;
}

static int do_set_limits(void *ctx, struct audit_record *r, struct err *e)
{
	struct limiting *l = ctx;
	AUTO_JSON cJSON *before = ask_limits(l, e), *after = NULL;
	int pid;

	(void)r;
	if (!before || update_limits(l, ejson_get(before, "HostConfig"), e))
		return -1;
	after = ask_limits(l, e);
	if (!after)
		return -1;
	pid = ejson_int(ejson_get(after, "State"), "Pid", 0);
	l->kernel = read_kernel_limits(l->c->container->id, pid, &l->now);
	if (!l->kernel)
		l->now = limits_on_record(ejson_get(after, "HostConfig"));
	return check_limits(l, e);
}

int limits_set(const struct limits_change *c, struct container_limits *ret, bool *ret_kernel,
	struct err *e)
{
	const struct container *k = c->container;
	struct limiting l = {.c = c};
	char memory[24], cpus[24], pids[24];
	struct key_value kv[3];
	struct audit_record r = {.operation = OP_CONTAINER_LIMIT,
		.target_type = "container",
		.engine = k->engine,
		.target = k->id,
		.name = k->name,
		.agent = *k->agent ? k->agent : NULL,
		.session = *k->session ? k->session : NULL,
		.params = kv};
	const struct record_target of = {.nimages = 1, .images = &k->image};
	int rc;

	snprintf(memory, sizeof memory, "%llu", (unsigned long long)c->want.memory_bytes);
	snprintf(cpus, sizeof cpus, "%.2f", c->want.cpus);
	snprintf(pids, sizeof pids, "%lld", (long long)c->want.pids);
	if (c->want.memory_bytes)
		kv[r.nparams++] = (struct key_value){"memory_bytes", memory, false};
	if (c->want.cpus > 0)
		kv[r.nparams++] = (struct key_value){"cpus", cpus, false};
	if (c->want.pids)
		kv[r.nparams++] = (struct key_value){"pids", pids, false};
	if (engine_session_open(&l.at,
		    &(struct engine_session_options){.host = c->host,
			    .context = c->context,
			    .program = "limit",
			    .policy = c->policy},
		    e))
		return -1;
	rc = strcmp(l.at.info.id, k->engine) != 0
		? err_set(e, ERR_CONFLICT, "%s belongs to another engine: nothing was done.",
			  k->name)
		: record_act(&l.at.recorder, &r, &of, do_set_limits, &l, e);
	engine_session_close(&l.at);
	*ret = l.now;
	*ret_kernel = l.kernel;
	return rc;
}
