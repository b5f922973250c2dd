/*
 * sandbox.h - runtimes whose containers have a kernel of their own: gVisor's runsc.
 *
 * An additional isolation layer, and what it costs berth: no descriptor crosses it, so there is no lane (commands go by the engine's exec,
 * egress by a relay); its processes are not the host's to see, and what the host sees of its init is the sandbox.
 * What it has mounted is seen by its gofer, the process that serves it its files.
 *
 * Thread: any.
 */
#ifndef CONTAINER_SANDBOX_H
#define CONTAINER_SANDBOX_H

#include <stdbool.h>
#include <sys/types.h>

#include "engine/engine.h"

#define SANDBOX_PIDS \
	256 /* its own threads count as its processes; without another one the sandbox ends */

/* ERR_CONFIG, with what the engine has: it knows no runtime of that name.  `who` has it; NULL: the default is fine. */
int sandbox_known(
	const struct engine_info *engine, const char *runtime, const char *who, struct err *e);
/* By the program, or the kind, that the engine names; NULL: its default. */
bool sandbox_runtime(const struct engine_info *engine, const char *runtime);

/* Is this process of the host, an init as its engine says, a sandbox? */
bool sandbox_is(pid_t init);
/* Whose view of files container `id` has: its init, or the gofer of its sandbox; 0: that cannot be seen from here. */
pid_t sandbox_files(pid_t init, const char *id);

#endif
