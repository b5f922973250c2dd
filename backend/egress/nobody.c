/*
 * nobody.c - drops the privileges of the egress process, which reads an agent's data.
 *
 * Not root any more.  Files are read, for names are looked up by libc, as a user who owns none.
 */
#include <errno.h>
#include <grp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <berth/confine.h>

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
	return confine_begin(e) || become_nobody(e) || confine_calls(true, e) ? -1 : 0;
}
