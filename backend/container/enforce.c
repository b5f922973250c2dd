/* enforce.c - reads back the limits and privileges that are in force. */
#include "container/enforce.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/apparmor.h>
#include <berth/format.h>
#include <berth/mem.h>

#include "container/mountinfo.h"
#include "container/rate.h"
#include "container/sandbox.h"
#include "container/tree.h"
#include "lane/lane.h"
#include "observe/observe.h"

struct list {
	struct enforced *out;
	size_t n, max;
};

static void add_enforced(
	struct list *l, const char *what, const char *asked, const char *actual, bool same)
{
	struct enforced *e;

	if (l->n == l->max)
		return;
	e = &l->out[l->n++];
	e->what = what;
	snprintf(e->asked, sizeof e->asked, "%s", asked);
	snprintf(e->actual, sizeof e->actual, "%s", actual);
	e->same = same;
}

static void add_bytes(struct list *l, const char *what, uint64_t asked, int64_t actual)
{
	char a[FORMAT_MAX], b[FORMAT_MAX] = "unknown";

	if (actual == 0)
		strcpy(b, "none");
	else if (actual > 0)
		format_bytes(b, (uint64_t)actual);
	/* The kernel rounds down to whole pages. */
	add_enforced(l, what, format_bytes(a, asked), b,
		actual > 0 && (uint64_t)actual / 4096 == asked / 4096);
}

static void add_count(struct list *l, const char *what, int64_t asked, int64_t actual)
{
	char a[FORMAT_MAX], b[FORMAT_MAX] = "unknown";

	if (actual >= 0)
		snprintf(b, sizeof b, "%" PRId64, actual);
	snprintf(a, sizeof a, "%" PRId64, asked);
	add_enforced(l, what, a, b, asked == actual);
}

/* "Max open files            1024                 1024                 files" : the hard limit */
static int64_t rlimit_of(const char *limits, const char *name)
{
	const char *at = strstr(limits, name);
	char soft[32], hard[32];

	if (!at || sscanf(at + strlen(name), " %31s %31s", soft, hard) != 2)
		return -1;
	return strcmp(hard, "unlimited") ? (int64_t)strtoll(hard, NULL, 10) : 0;
}

/* Of a sandbox its gofer is looked at: that a mount is read-only is for the kernel inside to enforce. */
static void compare_mounts(struct list *l, const struct spec *s, pid_t pid, bool own_kernel)
{
	const char *asked = s->sudo ? "writable" : "read-only";
	const struct mountinfo_line *at;
	struct mountinfo table;
	char declared[64], actual[64];
	size_t loose = 0;

	if (mountinfo_read(pid, &table) || !(at = mountinfo_at(&table, "/"))) {
		add_enforced(l, "root file system", asked, "unknown", false);
		mountinfo_release(&table);
		return;
	}
	add_enforced(l, "root file system", asked,
		mountinfo_read_only(at) ? "read-only" : "writable",
		mountinfo_read_only(at) == !s->sudo);
	for (size_t i = 0; i < s->mounts.n; i++) {
		const struct mount *m = &s->mounts.mount[i];

		at = mountinfo_at(&table, m->target);
		loose += !at || (m->read_only && !own_kernel && !mountinfo_read_only(at));
	}
	mountinfo_release(&table);
	snprintf(declared, sizeof declared, "%zu as declared", s->mounts.n);
	snprintf(actual, sizeof actual, loose ? "%zu of them not" : "%zu as declared",
		loose ? loose : s->mounts.n);
	add_enforced(l, "mounts", declared, actual, loose == 0);
}

static void add_network(struct list *l, const struct spec *s, pid_t pid)
{
	char dev[8192];
	size_t others = 0;

	proc_file(pid, "net/dev", dev, sizeof dev);
	for (char *at = strchr(dev, ':'); at; at = strchr(at + 1, ':'))
		others += !(at - dev >= 2 && !memcmp(at - 2, "lo", 2));
	if (s->network == NET_NONE)
		add_enforced(l, "network", "none", others ? "more than loopback" : "none",
			!others && *dev);
	else
		add_enforced(l, "network", net_mode_name(s->network),
			others ? net_mode_name(s->network) : "none", others > 0);
}

/* tc rounds what it shows. */
static void add_rate(struct list *l, uint64_t asked, int64_t actual)
{
	char a[FORMAT_MAX], b[FORMAT_MAX] = "unknown", per_s[2][64];

	if (actual > 0)
		format_bytes(b, (uint64_t)actual);
	snprintf(per_s[0], sizeof per_s[0], "%s/s", format_bytes(a, asked));
	snprintf(per_s[1], sizeof per_s[1], actual > 0 ? "%s/s" : "%s", actual ? b : "none");
	add_enforced(l, "network rate", per_s[0], per_s[1],
		actual > 0 && fabs((double)actual - (double)asked) <= (double)asked * 0.01);
}

static bool is_declared(const struct spec *s, const struct existing *x)
{
	if (!s->apparmor)
		return true;
	return *s->apparmor ? !strcmp(x->apparmor, s->apparmor)
			    : *x->apparmor && strcmp(x->apparmor, "unconfined");
}

/* Of an engine elsewhere only what it says of the container is known. */
static void add_apparmor(struct list *l, const struct spec *s, const struct existing *x, bool here)
{
	char label[APPARMOR_LABEL_MAX], actual[sizeof x->apparmor + 16];
	const char *asked = s->apparmor ? *s->apparmor ? s->apparmor : "the engine's"
		: s->apparmor_optional  ? "optional"
					: "none";

	if (here && apparmor_here()) {
		apparmor_label(x->pid, label);
		add_enforced(l, "AppArmor", asked, *label ? label : "unknown",
			!s->apparmor || apparmor_holds(label, s->apparmor));
	} else if (here) {
		add_enforced(l, "AppArmor", asked, "not on this machine", !s->apparmor);
	} else {
		snprintf(actual, sizeof actual, "%s, as declared",
			*x->apparmor ? x->apparmor : "none");
		add_enforced(l, "AppArmor", asked, actual, is_declared(s, x));
	}
}

/* As the host sees its init; of a sandbox that would be the sandbox. */
static void add_inside(
	struct list *l, const struct spec *s, const struct process_list *p, pid_t pid)
{
	char limits[4096], text[64];
	uint64_t caps = 0;

	add_count(l, s->sudo ? "user of the init" : "user", s->sudo ? 0 : (int64_t)s->uid, p->uid);
	if (s->sudo)
		caps = 0x1 | 0x2 | 0x8 | 0x10 | 0x20 | 0x40 |
			0x80; /* spec.c's list, capabilities(7) */
	snprintf(limits, sizeof limits, "%016" PRIx64, caps);
	snprintf(text, sizeof text, "%016" PRIx64, (uint64_t)p->cap_bounding);
	add_enforced(l, "capabilities", limits, text, !strcmp(limits, text));
	add_enforced(l, "new privileges", s->sudo ? "allowed" : "no",
		p->no_new_privileges == 1 ? "no" : "allowed",
		(p->no_new_privileges == 1) == !s->sudo);
	add_enforced(l, "seccomp", "filter", p->seccomp == 2 ? "filter" : "off", p->seccomp == 2);
	proc_file(pid, "limits", limits, sizeof limits);
	add_count(l, "open files", s->limits.open_files, rlimit_of(limits, "Max open files"));
	add_bytes(l, "file size", s->limits.file_bytes, rlimit_of(limits, "Max file size"));
}

static void add_runtime(struct list *l, const struct spec *s, const struct existing *x)
{
	bool own_kernel = sandbox_is(x->pid);
	char actual[sizeof x->runtime + 40];

	if (!s->runtime && !own_kernel)
		return;
	snprintf(actual, sizeof actual, "%s%s", x->runtime,
		own_kernel ? ", a kernel of its own" : "");
	add_enforced(l, "runtime", s->runtime ? s->runtime : "the engine's", actual,
		(!s->runtime || !strcmp(s->runtime, x->runtime)) && own_kernel == s->no_lane);
}

size_t enforce_read(struct agents_host *h, const struct spec *s, const char *id,
	struct enforced *out, size_t max)
{
	struct list l = {out, 0, max};
	struct cgroup_mounts mounts;
	struct process_list *p;
	struct existing x;
	char text[64], limits[64];

	if (host_look(h, id, &x, NULL) <= 0 || !x.pid || cgroup_mounts_read(&mounts, "", NULL))
		return 0;
	p = xcalloc(1, sizeof *p);
	process_list_init(p);
	memcpy(p->id, id, sizeof p->id);
	p->pid = x.pid;
	process_list_read(p, &mounts);
	if (p->ok) {
		add_bytes(&l, "memory", s->limits.memory_bytes, p->memory_limit);
		add_bytes(&l, "memory and swap", s->limits.memory_bytes, p->memory_swap_limit);
		snprintf(text, sizeof text, "%.2f", p->cpus);
		snprintf(limits, sizeof limits, "%.2f", s->limits.cpus);
		add_enforced(&l, "cpus", limits, text, !strcmp(limits, text));
		add_count(&l, "processes", s->limits.pids, p->pids_limit);
		if (!sandbox_is(x.pid))
			add_inside(&l, s, p, x.pid);
		compare_mounts(&l, s, sandbox_files(x.pid, id), sandbox_is(x.pid));
		add_network(&l, s, x.pid);
		if (s->net_rate)
			add_rate(&l, s->net_rate, rate_get(x.pid));
	}
	add_runtime(&l, s, &x);
	if (!s->no_lane)
		add_apparmor(&l, s, &x, tree_is_here(x.pid, id));
	process_list_release(p);
	free(p);
	cgroup_mounts_release(&mounts);
	return l.n;
}

void enforce_note_asked(struct enforced *v, size_t n, double cpus)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(v[i].what, "cpus") && cpus > strtod(v[i].asked, NULL) + 0.005) {
			snprintf(v[i].asked, sizeof v[i].asked, "%.2f", cpus);
			v[i].same = false;
		}
}
