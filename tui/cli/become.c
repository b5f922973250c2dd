/* become.c - one program of berth turns into another. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

int cli_become(const char *program, char **argv, struct err *e)
{
	static const char *const places[] = {"", "../libexec/berth/"};
	char self[PATH_MAX - 64], path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash;

	if (n < 0)
		return err_sys(e, errno, "cannot tell where berth is installed (/proc/self/exe)");
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		slash[1] = '\0';
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		snprintf(path, sizeof path, "%s%s%s", self, places[i], program);
		execv(path, argv);
		if (errno != ENOENT && errno != ENOTDIR)
			return err_sys(e, errno, "cannot start %s", path);
	}
	return err_set(e, ERR_FAILED,
		"%s is missing, it should be in %s or %s../libexec/berth: install berth again.",
		program, self, self);
}
