/* doctor_engine.c - checks the engine and finds other sockets that could be one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/format.h>
#include <berth/mem.h>

#include "cli/doctor.h"
#include "cli/run.h"

static void check_engine(const struct patient *p, struct answer *a)
{
	const struct engine_state *en;
	char dockerd[256], podman[256];

	if (p->snapshot) {
		en = &p->snapshot->engine;
		answer(a, FINE, NULL, "%s %s (API %s) at %s, from %s", en->product, en->version,
			en->api, en->endpoint, en->source);
	} else if (cli_value(p->cli, "host") || cli_value(p->cli, "context") ||
		getenv("DOCKER_HOST") || getenv("DOCKER_CONTEXT")) {
		answer(a, MISSING, "Correct what names this engine, or leave it out.", "%s",
			p->engine_err.msg);
	} else if (in_path("dockerd", dockerd, sizeof dockerd)) {
		answer(a, MISSING,
			geteuid() == 0
				? "Run `berth engine start`: it starts a private engine with this "
				  "machine's dockerd."
				: "Start the machine's docker service, or run `berth engine start` as root.",
			"%s", p->engine_err.msg);
	} else if (in_path("podman", podman, sizeof podman)) {
		answer(a, MISSING,
			"Run `podman system service --time=0 &` for podman's socket, or install docker.io.",
			"%s", p->engine_err.msg);
	} else {
		answer(a, MISSING, "Install an engine: apt-get install docker.io", "%s",
			p->engine_err.msg);
	}
}

static void check_lacks(const struct patient *p, struct answer *a)
{
	static const struct lack_row rows[] = {LACKS(LACK_ROW)};
	const struct engine_state *en = p->snapshot ? &p->snapshot->engine : NULL;
	const struct lack_row *refused = NULL;

	if (!en) {
		answer(a, NOTED, NULL, "not checked: no engine answered");
		return;
	}
	a->lacks = en->lacks;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (en->lacks >> i & 1 && rows[i].end == LACK_REFUSED)
			refused = &rows[i];
	if (refused)
		answer(a, NOTED, refused->follows, "agents and tools are refused on this %s: it %s",
			en->product, refused->what);
	else if (en->lacks)
		answer(a, FINE, NULL, "%s differs from docker:", en->product);
	else
		answer(a, FINE, NULL, "it does everything that berth needs");
}

static void check_containers(const struct patient *p, struct answer *a)
{
	size_t running = 0;

	if (!p->snapshot) {
		answer(a, NOTED, NULL, "not checked: no engine answered");
		return;
	}
	for (size_t i = 0; i < p->snapshot->ncontainers; i++)
		running += p->snapshot->containers[i].state == CONTAINER_RUNNING;
	answer(a, FINE, NULL, "%zu, of which %zu running", p->snapshot->ncontainers, running);
}

static void check_statistics(const struct patient *p, struct answer *a)
{
	size_t direct = 0, asked = 0, none = 0;

	if (!p->snapshot) {
		answer(a, NOTED, NULL, "not checked: no engine answered");
		return;
	}
	for (size_t i = 0; i < p->snapshot->ncontainers; i++) {
		const struct container *c = &p->snapshot->containers[i];

		if (c->state != CONTAINER_RUNNING)
			continue;
		direct += c->stats.source == STATS_CGROUP;
		asked += c->stats.source == STATS_ENGINE;
		none += c->stats.source == STATS_NONE;
	}
	if (none)
		answer(a, NOTED,
			"Look at the engine's own log: it does not report their statistics.",
			"%zu running containers have no statistics", none);
	else if (asked)
		answer(a, NOTED,
			"Run berth on the engine's host, as a user who may read /proc/PID/cgroup and the "
			"cgroup files, for cheaper statistics.",
			"of %zu running containers, %zu are read through the engine",
			direct + asked, asked);
	else if (direct)
		answer(a, FINE, NULL, "read from the cgroup files of %zu running containers",
			direct);
	else
		answer(a, FINE, NULL, "there is no running container");
}

static void check_runtimes(const struct patient *p, struct answer *a)
{
	if (!p->snapshot)
		answer(a, NOTED, NULL, "not checked: no engine answered");
	else if (!*p->snapshot->engine.runtimes)
		answer(a, NOTED, NULL, "the engine does not report which it has");
	else
		answer(a, FINE, NULL, "%s", p->snapshot->engine.runtimes);
}

static void check_cgroups(const struct patient *p, struct answer *a)
{
	(void)p;
	if (access("/sys/fs/cgroup/cgroup.controllers", R_OK) == 0)
		answer(a, FINE, NULL, "version 2");
	else if (access("/sys/fs/cgroup/memory", X_OK) == 0)
		answer(a, FINE, NULL, "version 1");
	else
		answer(a, NOTED,
			"Mount the cgroup file system: statistics come from the engine until then.",
			"none at /sys/fs/cgroup");
}

static void check_program(const char *name, const char *what, const char *remedy, struct answer *a)
{
	char where[256];

	if (in_path(name, where, sizeof where))
		answer(a, FINE, NULL, "%s", where);
	else
		answer(a, NOTED, remedy, "not installed: %s", what);
}

static void check_dockerd(const struct patient *p, struct answer *a)
{
	(void)p;
	check_program("dockerd", "`berth engine start` cannot work",
		"Only needed for a private engine: apt-get install docker.io", a);
}

static void check_podman(const struct patient *p, struct answer *a)
{
	(void)p;
	check_program(
		"podman", "there is no podman engine here", "Only needed instead of docker.", a);
}

const struct question doctor_engine[] = {
	{"engine", check_engine},
	{"engine_differs", check_lacks},
	{"containers", check_containers},
	{"statistics", check_statistics},
	{"runtimes", check_runtimes},
	{"cgroups", check_cgroups},
	{"dockerd", check_dockerd},
	{"podman", check_podman},
	{0},
};
