/* become.c - one program of berth turns into another. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <berth/runtime.h>

#include "cli/cli.h"

#define FILES_NEEDED 32u /* descriptors: the event loop, the engine, the log, the lanes */
#define FILES_WANTED 1024u

/* The programs of the engine cannot do anything useful with a handful of descriptors, and their
 * libraries end them where they get none. */
static int secure_descriptors(struct err *e)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FILES_WANTED)
		return 0;
	limit.rlim_cur = limit.rlim_max < FILES_WANTED ? limit.rlim_max : FILES_WANTED;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur >= FILES_NEEDED)
		return 0;
	return err_set(e, ERR_FAILED,
		"berth needs %u open files at once, and this process may have %lu (ulimit -n): "
		"too many open files. Raise the limit and try again.",
		FILES_NEEDED, (unsigned long)limit.rlim_cur);
}

int cli_become(const char *program, char **argv, struct err *e)
{
	char path[PATH_MAX];

	if ((strcmp(program, "berth-files") && secure_descriptors(e) < 0) ||
		runtime_program(program, path, e) < 0)
		return -1;
	execv(path, argv);
	return err_sys(e, errno, "cannot start %s", path);
}
