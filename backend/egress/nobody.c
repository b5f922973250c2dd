/*
 * nobody.c - drops the privileges of the egress process, which reads an agent's data.
 *
 * Not root any more.  Files are read as a user who owns none, and where the kernel can tell (Landlock) only those by which
 * libc looks up names and libcurl knows certificates: nothing of a person's own, who may have started it.
 */
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <berth/confine.h>
#include <berth/mem.h>

#include "egress/end.h"

#define NOBODY 65534
#define FILES_MAX 8192

static int become_nobody(struct err *e)
{
	if (geteuid())
		return 0;
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
		setresuid(NOBODY, NOBODY, NOBODY))
		return err_sys(e, errno, "cannot become nobody");
	return 0;
}

/* /etc/resolv.conf is often a link to somewhere else. */
static int give_up_files(struct err *e)
{
	char resolver[PATH_MAX] = "/etc/resolv.conf";
	const char *dirs[] = {"/etc", "/usr", "/lib", "/lib64", "/nix/store", "/gnu/store",
		"/var/lib/ca-certificates", "/run/systemd/resolve", "/run/resolvconf",
		"/run/NetworkManager", resolver};

	if (!realpath("/etc/resolv.conf", resolver))
		strcpy(resolver, "/etc/resolv.conf");
	*strrchr(resolver, '/') = '\0';
	return confine_files(dirs, COUNT(dirs), e);
}

unsigned end_room_for(unsigned most, unsigned each)
{
	struct rlimit files;
	rlim_t n;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur <= END_SPARE_FDS)
		return 1;
	n = (files.rlim_cur - END_SPARE_FDS) / each;
	return n < most ? (n ? (unsigned)n : 1) : most;
}

int end_confine(struct err *e)
{
	struct rlimit files;

	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max < FILES_MAX ? files.rlim_max : FILES_MAX;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	return confine_begin(e) || become_nobody(e) || give_up_files(e) || confine_calls(true, e)
		? -1
		: 0;
}
