/* limit.c - `berth limit`: changes memory, CPU and process limits of a running container. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/agents.h>
#include <berth/arena.h>
#include <berth/config.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/limits.h>
#include <berth/text.h>

#include "cli/look.h"

static int read_limit_memory(const char *text, uint64_t *ret, struct err *e)
{
	const struct node n = {.kind = NODE_SCALAR, .value = text};

	if (node_bytes(&(const struct config){.file = "--memory"}, &n, ret, NULL) ||
		*ret < LIMITS_MEMORY_LEAST || *ret > INT64_MAX)
		return err_set(e, ERR_USAGE,
			"--memory takes an amount of at least 6m (512m, 2g), not \"%.40s\".", text);
	return 0;
}

static int read_limit_number(const char *option, const char *text, double least, double most,
	const char *such, double *ret, struct err *e)
{
	char *end;

	*ret = strtod(text, &end);
	if (end == text || *end || strspn(text, "0123456789.") != strlen(text) || *ret < least ||
		*ret > most)
		return err_set(e, ERR_USAGE, "--%s takes %s, not \"%.40s\".", option, such, text);
	return 0;
}

static int read_wanted_limits(const struct cli *c, struct container_limits *ret, struct err *e)
{
	const char *memory = cli_value(c, "memory"), *cpus = cli_value(c, "cpus"),
		   *pids = cli_value(c, "pids");
	double n = 0;

	*ret = (struct container_limits){0};
	if (!memory && !cpus && !pids)
		return err_set(e, ERR_USAGE, "give at least one of --memory, --cpus and --pids.");
	if ((memory && read_limit_memory(memory, &ret->memory_bytes, e)) ||
		(cpus &&
			read_limit_number("cpus", cpus, LIMITS_CPUS_LEAST, 4096,
				"a number of processors from 0.01 (1.5)", &ret->cpus, e)) ||
		(pids &&
			read_limit_number(
				"pids", pids, 1, LIMITS_PIDS_MOST, "a number of processes", &n, e)))
		return -1;
	if (n != floor(n))
		return err_set(
			e, ERR_USAGE, "--pids takes a number of processes, not \"%.40s\".", pids);
	ret->pids = (int64_t)n;
	return 0;
}

static int print_limits_now(const struct cli *c, const struct container *k,
	const struct container_limits *l, bool kernel)
{
	char name[128], memory[FORMAT_MAX] = "none", cpus[24] = "none", pids[24] = "none";
	struct jsonw j;

	if (cli_flag(c, "json")) {
		jsonw_document(&j, "berth.limit/1");
		jsonw_text(&j, "id", k->id);
		jsonw_text(&j, "name", k->name);
		if (l->memory_bytes)
			jsonw_uint(&j, "memory_limit_bytes", l->memory_bytes);
		else
			jsonw_null(&j, "memory_limit_bytes");
		if (l->cpus > 0)
			jsonw_number(&j, "cpus", l->cpus, 2);
		else
			jsonw_null(&j, "cpus");
		if (l->pids)
			jsonw_int(&j, "pids_limit", l->pids);
		else
			jsonw_null(&j, "pids_limit");
		jsonw_text(&j, "read_from", kernel ? "kernel" : "engine");
		return jsonw_print(&j);
	}
	if (l->memory_bytes)
		format_bytes(memory, l->memory_bytes);
	if (l->cpus > 0)
		snprintf(cpus, sizeof cpus, "%.4g", l->cpus);
	if (l->pids)
		snprintf(pids, sizeof pids, "%lld", (long long)l->pids);
	printf("%s: memory %s, cpus %s, pids %s, as the %s says\n",
		text_clean(name, sizeof name, k->name), memory, cpus, pids,
		kernel ? "kernel" : "engine");
	return cli_finish();
}

static int limit_chosen(struct look *l, struct err *e)
{
	const struct cli *c = l->c;
	const struct container *k = l->chosen[0];
	struct limits_change change = {.host = cli_value(c, "host"),
		.context = cli_value(c, "context"),
		.policy = &l->policy,
		.container = k};
	struct container_limits now;
	char name[128];
	bool kernel;

	if (!cli_flag(c, "foreign") && !agents_made(k))
		return err_set(e, ERR_USAGE,
			"berth did not create %s: give --foreign to limit it anyway.",
			text_clean(name, sizeof name, k->name));
	if (read_wanted_limits(c, &change.want, e) || limits_set(&change, &now, &kernel, e))
		return -1;
	return print_limits_now(c, k, &now, kernel);
}

int cli_limit(const struct cli *c, const struct settings *s, struct err *e)
{
	struct container_limits want;

	return read_wanted_limits(c, &want, e) ? -1 : cli_look(c, s, limit_chosen, e);
}
