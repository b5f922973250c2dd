/* posture.c - formats limits and isolation of a container as text. */
#include "console/posture.h"

#include <stdlib.h>
#include <string.h>

#include <berth/apparmor.h>
#include <berth/check.h>
#include <berth/format.h>

#include "observe/observe.h"

#define ITEMS_MAX 16

static bool ends_with(const char *s, const char *tail)
{
	size_t n = strlen(s), t = strlen(tail);

	return n >= t && strcmp(s + n - t, tail) == 0;
}

static bool is_engine_socket(const char *source)
{
	return ends_with(source, "/docker.sock") || ends_with(source, "/podman.sock") ||
		ends_with(source, "/containerd.sock");
}

void asked_take(struct asked *to, const struct engine_container *c, struct arena *a)
{
	memset(to, 0, sizeof *to);
	to->memory = c->memory_limit;
	to->memory_swap = c->memory_swap_limit;
	to->pids = c->pids_limit > 0 ? c->pids_limit : 0;
	if (c->nano_cpus)
		to->cpus = (double)c->nano_cpus / 1e9;
	else if (c->cpu_quota && c->cpu_period)
		to->cpus = (double)c->cpu_quota / (double)c->cpu_period;
	else if (c->cpu_quota) /* the kernel's own period */
		to->cpus = (double)c->cpu_quota / 100000.0;
	to->privileged = c->privileged;
	to->read_only_root = c->read_only_root;
	to->no_new_privileges = c->no_new_privileges;
	to->host_pid = c->host_pid;
	to->host_ipc = c->host_ipc;
	to->ncap_add = c->ncap_add;
	to->ndevices = c->ndevices;
	for (size_t i = 0; i < c->ncap_drop; i++)
		if (strcasecmp(c->cap_drop[i], "ALL") == 0)
			to->no_caps = c->ncap_add == 0;
	for (size_t i = 0; i < c->nmounts; i++)
		if (is_engine_socket(c->mounts[i].source))
			to->engine_socket = true;
	to->user = copy_text(a, c->user);
	to->seccomp = copy_text(a, c->seccomp);
	to->apparmor = copy_text(a, c->apparmor);
	to->network = copy_text(a, c->network_mode);
	to->runtime = copy_text(a, c->runtime);
}

/* "2.0G, enforced", "2.0G declared, 1.0G actual", "none". */
static const char *compare_limits(
	struct arena *a, const char *asked, const char *in_force, bool same)
{
	if (!in_force)
		return arena_printf(a, "%s", asked);
	if (same)
		return strcmp(asked, "none") == 0 ? "none" : arena_printf(a, "%s, enforced", asked);
	return arena_printf(a, "%s declared, %s actual", asked, in_force);
}

static const char *bytes_line(struct arena *a, uint64_t asked, int64_t in_force)
{
	char x[FORMAT_MAX], y[FORMAT_MAX];
	/* The kernel rounds down to whole pages. */
	bool same = in_force >= 0 && (uint64_t)in_force / 4096 == asked / 4096;

	return compare_limits(a, asked ? format_bytes(x, asked) : "none",
		in_force < 0           ? NULL
			: in_force > 0 ? format_bytes(y, (uint64_t)in_force)
				       : "none",
		same);
}

static const char *write_count_line(struct arena *a, int64_t asked, int64_t in_force)
{
	char x[FORMAT_MAX], y[FORMAT_MAX];

	return compare_limits(a, asked > 0 ? format_count(x, (uint64_t)asked) : "none",
		in_force < 0           ? NULL
			: in_force > 0 ? format_count(y, (uint64_t)in_force)
				       : "none",
		asked == in_force);
}

static const char *write_cores(struct arena *a, double n)
{
	return n > 0 ? arena_printf(a, "%.2f", n) : "none";
}

size_t limits_text(const struct asked *as, const struct process_list *l, struct arena *a,
	const struct key_value **ret)
{
	struct key_value *kv = arena_array(a, 4, sizeof *kv);
	double diff = l ? as->cpus - l->cpus : 0;

	kv[0] = (struct key_value){
		"memory", bytes_line(a, as->memory, l ? l->memory_limit : -1), false};
	kv[1] = (struct key_value){"memory + swap",
		bytes_line(a, as->memory_swap, l ? l->memory_swap_limit : -1), false};
	kv[2] = (struct key_value){"cpu",
		compare_limits(a, write_cores(a, as->cpus),
			l && l->cpus >= 0 ? write_cores(a, l->cpus) : NULL,
			diff < 0.005 && diff > -0.005),
		false};
	kv[3] = (struct key_value){
		"pids", write_count_line(a, as->pids, l ? l->pids_limit : -1), false};
	*ret = kv;
	return 4;
}

struct lines {
	struct arena *a;
	struct posture_item *item;
	size_t n;
};

static void add_verdict(struct lines *l, bool good, const char *what)
{
	CHECK(l->n < ITEMS_MAX);
	l->item[l->n].verdict = good ? POSTURE_GOOD : POSTURE_LOOSE;
	l->item[l->n++].what = what;
}

static void user_line(struct lines *out, const struct asked *as, const struct process_list *l)
{
	bool root = as->user[0] == '\0' || strcmp(as->user, "root") == 0 ||
		strcmp(as->user, "0") == 0 || strncmp(as->user, "0:", 2) == 0 ||
		strncmp(as->user, "root:", 5) == 0;

	if (l && l->uid >= 0)
		root = l->uid == 0;
	if (root)
		add_verdict(out, false, "root inside");
	else
		add_verdict(out, true,
			as->user[0] ? arena_printf(out->a, "non-root %s", as->user)
				    : arena_printf(out->a, "non-root %d", l ? l->uid : -1));
}

static void capabilities_line(
	struct lines *out, const struct asked *as, const struct process_list *l)
{
	if (as->privileged) {
		add_verdict(out, false, "privileged");
	} else if (l && l->cap_bounding >= 0) {
		int n = __builtin_popcountll((unsigned long long)l->cap_bounding);

		/* What is not in use can be regained by a set-uid program, unless that is off. */
		if (n == 0 || (l->cap_effective == 0 && l->no_new_privileges == 1))
			add_verdict(out, true, "no capabilities");
		else
			add_verdict(out, false, arena_printf(out->a, "%d capabilities", n));
	} else if (as->no_caps) {
		add_verdict(out, true, "no capabilities");
	} else {
		add_verdict(out, false,
			as->ncap_add ? arena_printf(out->a, "%zu capabilities added", as->ncap_add)
				     : "default capabilities");
	}
}

static void seccomp_line(struct lines *out, const struct asked *as, const struct process_list *l)
{
	bool off = strcmp(as->seccomp, "unconfined") == 0 || as->privileged;

	if (l && l->seccomp >= 0)
		off = l->seccomp != 2;
	add_verdict(
		out, !off, off ? "no seccomp" : arena_printf(out->a, "seccomp %s", as->seccomp));
}

static void apparmor_line(struct lines *out, const struct asked *as, const struct process_list *l)
{
	const char *label = l ? l->apparmor : "";

	if (*label) {
		bool held = apparmor_holds(label, "");

		add_verdict(out, held,
			held ? arena_printf(
				       out->a, "AppArmor %.*s", (int)strcspn(label, " "), label)
			     : arena_printf(out->a, "no AppArmor (%s)", label));
	} else if (as->apparmor[0] == '\0') {
		add_verdict(out, false, "no AppArmor on this host");
		out->item[out->n - 1].verdict = POSTURE_UNKNOWN;
	} else if (strcmp(as->apparmor, "unconfined") == 0) {
		add_verdict(out, false, "no AppArmor");
	} else {
		add_verdict(
			out, true, arena_printf(out->a, "AppArmor %s, as declared", as->apparmor));
	}
}

size_t posture_text(const struct asked *as, const struct process_list *in_force, bool own_kernel,
	struct arena *a, const struct posture_item **ret)
{
	struct lines out = {a, arena_array(a, ITEMS_MAX, sizeof *out.item), 0};
	const struct process_list *l = own_kernel ? NULL : in_force;
	bool nnp =
		l && l->no_new_privileges >= 0 ? l->no_new_privileges == 1 : as->no_new_privileges;

	if (own_kernel)
		add_verdict(&out, true,
			arena_printf(a, "runtime %s, a kernel of its own", as->runtime));
	user_line(&out, as, l);
	capabilities_line(&out, as, l);
	seccomp_line(&out, as, l);
	add_verdict(&out, nnp, nnp ? "no new privileges" : "new privileges allowed");
	add_verdict(
		&out, as->read_only_root, as->read_only_root ? "read-only root" : "writable root");
	add_verdict(&out, strcmp(as->network, "none") == 0,
		arena_printf(a, "network %s", as->network[0] ? as->network : "default"));
	apparmor_line(&out, as, l);
	if (as->host_pid)
		add_verdict(&out, false, "sees the host's processes");
	if (as->host_ipc)
		add_verdict(&out, false, "shares the host's IPC");
	if (as->ndevices)
		add_verdict(&out, false, arena_printf(a, "%zu host devices", as->ndevices));
	if (as->engine_socket)
		add_verdict(&out, false, "engine socket inside");
	*ret = out.item;
	return out.n;
}
