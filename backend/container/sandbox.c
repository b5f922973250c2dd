/* sandbox.c - detects runtimes that provide their own kernel. */
#include "container/sandbox.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>

#include "container/tree.h"
#include "lane/lane.h"

#define PROGRAM "runsc"
#define SANDBOX \
	"runsc-sandbox" /* how it calls its processes: gVisor, runsc/sandbox/sandbox.go, runsc/container/container.go */
#define GOFER "runsc-gofer"

static const struct key_value *find_runtime(const struct engine_info *engine, const char *name)
{
	for (size_t i = 0; name && i < engine->nruntimes; i++)
		if (!strcmp(engine->runtimes[i].key, name))
			return &engine->runtimes[i];
	return NULL;
}

int sandbox_known(
	const struct engine_info *engine, const char *runtime, const char *who, struct err *e)
{
	AUTO_STR struct str all = STR_INIT;

	if (!runtime || find_runtime(engine, runtime))
		return 0;
	for (size_t i = 0; i < engine->nruntimes; i++)
		str_addf(&all, "%s%.64s", i ? ", " : "", engine->runtimes[i].key);
	return err_set(e, ERR_CONFIG,
		"%s: this engine has no runtime %s, only %s; add it to the engine's daemon.json (runtimes:), or "
		"remove runtime:.",
		who, runtime, all.len ? all.s : "its default");
}

/* "/usr/bin/runsc", "io.containerd.runsc.v1", "runsc". */
bool sandbox_runtime(const struct engine_info *engine, const char *runtime)
{
	const struct key_value *r =
		find_runtime(engine, runtime ? runtime : engine->default_runtime);
	const char *slash = r ? strrchr(r->value, '/') : NULL;

	return r &&
		(!strcmp(slash ? slash + 1 : r->value, PROGRAM) ||
			!strncmp(r->value, "io.containerd.runsc.", 20));
}

static bool is_called(pid_t pid, const char *name)
{
	char text[4096];

	return pid > 0 && !proc_file(pid, "cmdline", text, sizeof text) && !strcmp(text, name);
}

bool sandbox_is(pid_t init)
{
	return is_called(init, SANDBOX);
}

pid_t sandbox_files(pid_t init, const char *id)
{
	const struct dirent *x;
	pid_t found = 0;
	AUTO_CLOSEDIR DIR *proc = NULL;

	if (!sandbox_is(init))
		return init;
	/* What runs in a container can call itself anything, but not be in another one's cgroup, which is asked first: the
	 * command line of another agent's process may be in a page that never comes. */
	proc = opendir("/proc");
	while (proc && !found && (x = readdir(proc))) {
		pid_t pid = (pid_t)atoi(x->d_name);

		if (pid > 0 && tree_is_here(pid, id) && is_called(pid, GOFER))
			found = pid;
	}
	return found;
}
