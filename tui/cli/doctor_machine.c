/* doctor_machine.c - questions about the kernel and its limits. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <berth/apparmor.h>
#include <berth/snapshot.h>
#include <berth/build.h>
#include <berth/clock.h>
#include <berth/format.h>
#include <berth/mem.h>

#include "cli/doctor.h"

/* Parts that are built where their library is. */
static void check_parts(const struct patient *p, struct answer *a)
{
	(void)p;
	if (berth_build.io_uring && berth_build.bench_console)
		answer(a, FINE, NULL, "berth %s, with all its parts", berth_build.version);
	else
		answer(a, NOTED, "Install the library and build berth again, if you want it.",
			"berth %s, built without%s%s%s", berth_build.version,
			berth_build.io_uring ? "" : " io_uring (Debian: liburing-dev)",
			berth_build.io_uring || berth_build.bench_console ? "" : " and",
			berth_build.bench_console
				? ""
				: " terminals of agents and the measuring of the console (Debian: libvterm-dev)");
}

static void check_kernel(const struct patient *p, struct answer *a)
{
	struct utsname u;

	(void)p;
	if (uname(&u) == 0)
		answer(a, FINE, NULL, "%s %s %s", u.sysname, u.release, u.machine);
	else
		answer(a, NOTED, NULL, "unknown");
}

static void check_openat2(const struct patient *p, struct answer *a)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH};
	AUTO_CLOSE int fd = (int)syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof how);

	(void)p;
	if (fd >= 0)
		answer(a, FINE, NULL, "works: the kernel keeps paths below a directory");
	else
		answer(a, MISSING, "Use Linux 5.6 or later, without a filter that forbids openat2.",
			"%s", strerrordesc_np(errno));
}

static void check_pidfd(const struct patient *p, struct answer *a)
{
	AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	(void)p;
	if (fd >= 0)
		answer(a, FINE, NULL, "works: a process is never mistaken for a later one");
	else
		answer(a, MISSING,
			"Use Linux 5.3 or later, without a filter that forbids pidfd_open.", "%s",
			strerrordesc_np(errno));
}

static void io_uring(const struct patient *p, struct answer *a)
{
	/* A null pointer: EFAULT means that it would work. */
	long rc = syscall(SYS_io_uring_setup, 1, NULL);

	(void)p;
	if (rc < 0 && errno == EFAULT && berth_build.io_uring)
		answer(a, FINE, NULL, "works");
	else if (rc < 0 && errno == EFAULT)
		answer(a, NOTED, "Not needed: threads do the same work.",
			"works here, but this berth was built without it");
	else
		answer(a, NOTED, "Not needed: threads do the same work where it is forbidden.",
			"%s", strerrordesc_np(errno));
}

static void check_seccomp(const struct patient *p, struct answer *a)
{
	(void)p;
	if (access("/proc/sys/kernel/seccomp/actions_avail", R_OK) == 0)
		answer(a, FINE, NULL, "containers can be filtered");
	else
		answer(a, MISSING, "Use a kernel with CONFIG_SECCOMP_FILTER.",
			"this kernel cannot filter system calls");
}

/* What holds the containers of berth's, on the engine's machine.  An engine that has our profile to give is not asked
 * whether it does: a dockerd's first answer was seen to leave that out, and `up` reads it back. */
static void check_apparmor(const struct patient *p, struct answer *a)
{
	const struct engine_state *en = p->snapshot ? &p->snapshot->engine : NULL;
	bool here = apparmor_here(), ours = apparmor_loaded(APPARMOR_POLICY, APPARMOR_OURS);

	if (!here && en && en->apparmor)
		answer(a, FINE, NULL, "not on this host; on the engine's, as it declares");
	else if (!here)
		answer(a, NOTED,
			"Additional isolation for containers where the kernel has it; not needed.",
			"not on this host");
	else if (ours)
		answer(a, FINE, NULL, "enabled: berth's containers are confined by " APPARMOR_OURS);
	else if (en && !en->apparmor && !strncmp(en->endpoint, "unix:", 5))
		answer(a, NOTED,
			"Install the package apparmor and restart the engine; for a rootless one "
			"use `apparmor: optional` in the definitions.",
			"enabled, but the engine applies no profile to containers");
	else
		answer(a, NOTED,
			"Run `sudo berth doctor --fix` to load " APPARMOR_OURS
			", which is stricter; containers get it from their next `berth up` on.",
			"enabled: berth's containers are confined by the engine's own "
			"profile (docker: " APPARMOR_DOCKERS ")");
}

static void check_descriptors(const struct patient *p, struct answer *a)
{
	struct rlimit r;

	(void)p;
	if (getrlimit(RLIMIT_NOFILE, &r) < 0)
		answer(a, NOTED, NULL, "unknown");
	else if (r.rlim_cur < 1024)
		answer(a, NOTED,
			"Run `ulimit -n 4096`: statistics keep about six files open per container.",
			"%llu", (unsigned long long)r.rlim_cur);
	else
		answer(a, FINE, NULL, "%llu", (unsigned long long)r.rlim_cur);
}

static void clock_check(const struct patient *p, struct answer *a)
{
	struct timex t = {.modes = 0};
	char stamp[FORMAT_MAX];
	int state = adjtimex(&t);

	(void)p;
	format_stamp(stamp, clock_wall_ms());
	if (clock_wall_ms() < 1700000000000LL)
		answer(a, NOTED, "Set the clock: logs and events are ordered by it.", "%s", stamp);
	else if (state == TIME_ERROR || (t.status & STA_UNSYNC))
		answer(a, NOTED,
			"Only matters with other hosts: the times of their logs may not match.",
			"%s, not synchronised", stamp);
	else
		answer(a, FINE, NULL, "%s, synchronised", stamp);
}

const struct question doctor_machine[] = {
	{"build", check_parts},
	{"kernel", check_kernel},
	{"openat2", check_openat2},
	{"pidfd", check_pidfd},
	{"io_uring", io_uring},
	{"seccomp", check_seccomp},
	{"apparmor", check_apparmor},
	{"file_descriptors", check_descriptors},
	{"clock", clock_check},
	{0},
};
