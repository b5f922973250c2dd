/* plan.c - describes the container that a definition becomes. */
#include <berth/plan.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/str.h>
#include "container/container.h"

struct making {
	const struct team *team;
	struct arena *mem;
	struct plan *plan;
	struct mount_list checked;
	const char *const *writable;
	size_t nwritable, nplaces; /* of these, all and the ones that a workspace is judged by */
};

static void add_note(struct making *m, bool never, const char *text)
{
	struct plan_note *all = arena_array(m->mem, m->plan->nnotes + 1, sizeof *all);

	if (m->plan->nnotes)
		memcpy(all, m->plan->notes, m->plan->nnotes * sizeof *all);
	all[m->plan->nnotes++] = (struct plan_note){never, arena_strdup(m->mem, text)};
	m->plan->notes = all;
}

static void add_loose(struct making *m, const char *what, const char *because)
{
	struct plan_loose *all = arena_array(m->mem, m->plan->nloose + 1, sizeof *all);

	if (m->plan->nloose)
		memcpy(all, m->plan->loose, m->plan->nloose * sizeof *all);
	all[m->plan->nloose++] = (struct plan_loose){what, because};
	m->plan->loose = all;
}

static void show_mount(
	struct making *m, const char *source, const char *target, bool read_only, const char *what)
{
	struct plan_mount *all = arena_array(m->mem, m->plan->nmounts + 1, sizeof *all);

	if (m->plan->nmounts)
		memcpy(all, m->plan->mounts, m->plan->nmounts * sizeof *all);
	all[m->plan->nmounts++] = (struct plan_mount){
		arena_strdup(m->mem, source), arena_strdup(m->mem, target), read_only, what};
	m->plan->mounts = all;
}

/* Of the definition's own: judged as `up` will judge it. */
static void show_declared(struct making *m, const char *path, bool read_only, const char *what,
	const char *const *writable, size_t nwritable)
{
	struct err e = ERR_INIT;

	show_mount(m, path, path, read_only, what);
	if (access(path, F_OK) && errno == ENOENT) {
		if (mounts_foresee(MOUNT_DECLARED, path, &e))
			add_note(m, true, e.msg);
		else
			add_note(m, false,
				arena_printf(m->mem, "%s (%s) does not exist yet.", path, what));
	} else if (mounts_add(&m->checked, MOUNT_DECLARED, path, path, read_only, writable,
			   nwritable, &e))
		add_note(m, e.kind == ERR_REFUSED || e.kind == ERR_CONFIG || e.sys == ELOOP, e.msg);
}

static void show_credentials(struct making *m, const struct credentials *c)
{
	struct mount_list l = {0};
	struct err e = ERR_INIT;
	char odd[512];

	if (secrets_odd_lines(c, odd, sizeof odd))
		add_note(m, false, arena_strdup(m->mem, odd));
	/* A file that is not there may come yet; one that is there lacks something. */
	if (secrets_foresee(c, &e))
		add_note(m, access(c->env_file, F_OK) == 0, e.msg);
	if (secrets_absent(c, odd, sizeof odd))
		add_note(m, false, arena_strdup(m->mem, odd));
	for (size_t i = 0; !c->lenient && i < c->env.n; i++)
		if (!getenv(c->env.word[i]))
			add_note(m, false,
				arena_printf(m->mem,
					"the variable %.200s is not set; `berth up` needs it.",
					c->env.word[i]));
	e = (struct err)ERR_INIT;
	if (secrets_mounts(c, &l, &e))
		add_note(m, e.kind == ERR_REFUSED, e.msg);
	for (size_t i = 0; i < l.n; i++)
		show_mount(m, l.mount[i].source, l.mount[i].target, true, "credentials");
	mounts_release(&l);
}

static void choose_user(struct making *m, const char *who, const char *workspace)
{
	struct err e = ERR_INIT;
	uid_t uid;
	gid_t gid;

	if (ready_user(who, workspace, &uid, &gid, &e)) {
		/* That it is not there, or is never mounted, is said of the mount. */
		if (!access(workspace, F_OK) && !mounts_foresee(MOUNT_DECLARED, workspace, NULL))
			add_note(m, e.kind == ERR_CONFIG, e.msg);
		return;
	}
	m->plan->user_known = true;
	m->plan->uid = uid;
	m->plan->gid = gid;
}

static const char *explain_loose(
	const struct spec *s, const char *network, size_t i, struct arena *mem)
{
	/* spec_loosened tells what sudo loosens first, the network last. */
	if (s->sudo && i < 4)
		return "sudo is requested";
	if (s->apparmor_optional && i == (s->sudo ? 4 : 0))
		return "apparmor: optional";
	if (s->own_host)
		return arena_printf(mem, "network: %s", s->own_host);
	return arena_printf(mem, "network: %s", network);
}

static void show_isolation(struct making *m, const struct spec *s, const char *net_name)
{
	struct plan *p = m->plan;
	const char *loose[8];
	char rate[FORMAT_MAX];
	size_t n = spec_loosened(s, loose);

	p->network = s->network == NET_INTERNAL ? arena_printf(m->mem, "internal: %s", net_name)
						: net_mode_name(s->network);
	if (s->proxy)
		p->network = "none; what allow: names, through a proxy on the host";
	p->read_only_root = !s->sudo;
	p->new_privileges = s->sudo;
	p->ncaps = spec_caps(s, &p->caps);
	p->seccomp = "berth's own profile (configs/seccomp.json)";
	p->apparmor = s->apparmor_optional ? "optional" : "required where the kernel supports it";
	for (size_t i = 0; i < n; i++)
		add_loose(m, loose[i], explain_loose(s, p->network, i, m->mem));
	if (s->net_rate)
		p->network = arena_printf(m->mem, "%s, at most %s/s in each direction", p->network,
			format_bytes(rate, s->net_rate));
}

static void begin_plan(struct making *m, const struct team *t, struct arena *mem, struct plan *p)
{
	*m = (struct making){.team = t, .mem = mem, .plan = p};
	m->nwritable = ready_writable(t, mem, &m->writable, &m->nplaces);
}

static void show_packages(struct making *m, const struct agent_def *a)
{
	const struct words *list[] = {&a->system, &a->python, &a->npm};
	static const char *const name[] = {"system", "python", "npm"};
	AUTO_STR struct str text = STR_INIT;

	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < list[i]->n; k++)
			str_addf(&text, "%s%s %s",
				k                  ? ""
					: text.len ? ", "
						   : "",
				k ? "" : name[i], list[i]->word[k]);
	if (text.len)
		add_note(m, false,
			arena_printf(m->mem,
				"installed once before it starts, with network access: %s",
				text.s));
}

/* What the machine will not give, or only a part of. */
static void show_limits(struct making *m, const struct limits *l, unsigned tmp_part)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	char asked[FORMAT_MAX], given[FORMAT_MAX];

	if (cores > 0 && l->cpus > (double)cores)
		add_note(m, false,
			arena_printf(m->mem,
				"%.10g CPUs are more than this machine has; it gets %ld.", l->cpus,
				cores));
	if (l->memory_bytes && l->tmp_bytes > l->memory_bytes / tmp_part)
		add_note(m, false,
			arena_printf(m->mem,
				"/tmp is in memory: %s was requested, it gets %s, 1/%u of the memory limit.",
				format_bytes(asked, l->tmp_bytes),
				format_bytes(given, l->memory_bytes / tmp_part), tmp_part));
}

/* What is not there, or is never mounted, was said already. */
static void show_pins(struct making *m, const struct agent_def *a)
{
	for (size_t i = 0; i < a->npaths; i++)
		for (size_t k = 0; a->paths[i].write && k < a->paths[i].protected_paths.n; k++) {
			size_t n = m->checked.n;
			struct err e = ERR_INIT;

			mounts_pin(&m->checked, a->paths[i].path,
				a->paths[i].protected_paths.word[k], &e);
			for (; n < m->checked.n; n++)
				show_mount(m, m->checked.mount[n].source,
					m->checked.mount[n].target, false,
					"leads to a protected path");
		}
}

void plan_agent(
	const struct team *t, const struct agent_def *a, struct arena *mem, struct plan *ret)
{
	const struct spec s = {.role = SPEC_AGENT,
		.network = a->network,
		.proxy = a->egress.on,
		.own_host = a->egress.own_host,
		.net_rate = a->egress.on ? 0 : a->net_rate_bytes,
		.sudo = a->sudo,
		.apparmor_optional = a->apparmor_optional};
	struct making m;

	*ret = (struct plan){.id = a->id,
		.container = a->container,
		.image = a->image,
		.limits = &a->limits,
		.at = a->at};
	begin_plan(&m, t, mem, ret);
	ret->runtime = a->runtime;
	choose_user(&m, a->id, a->workspace);
	show_declared(&m, a->workspace, false, "workspace", m.writable, m.nplaces);
	for (size_t i = 0; i < a->npaths; i++) {
		const struct path_grant *g = &a->paths[i];

		if (g->handed && access(g->source ? g->source : g->path, F_OK))
			continue; /* it is made with the task */
		show_declared(&m, g->path, !g->write,
			g->source           ? "shared by all tasks"
				: g->handed ? "handed over by other tasks"
					    : "context path",
			m.writable, m.nwritable);
		for (size_t k = 0; g->write && k < g->protected_paths.n; k++)
			show_declared(&m, g->protected_paths.word[k], true, "protected", NULL, 0);
		if (g->write)
			add_loose(&m, arena_printf(mem, "write access to %s", g->path),
				"permission: write");
	}
	if (a->temporary)
		show_declared(&m, a->temporary, true, "other agents' outputs", NULL, 0);
	for (size_t i = 0; i < a->ports.n; i++)
		add_loose(&m,
			arena_printf(mem, "port %s on this machine's loopback, whenever it asks",
				a->ports.word[i]),
			"ports");
	show_limits(&m, &a->limits, 2);
	show_credentials(&m, &a->credentials);
	show_packages(&m, a);
	show_pins(&m, a);
	show_mount(&m, arena_printf(mem, "berth-home-%s", a->container), SPEC_HOME, false,
		"home volume");
	show_mount(&m, "berth-guest", LANE_GUEST_PATH, true, "berth's init");
	show_mount(&m, "lane", LANE_DIR, true, "berth's lane");
	show_isolation(&m, &s, a->net_name);
	mounts_release(&m.checked);
}

static void show_script(struct making *m, const struct tool_def *d)
{
	struct err e = ERR_INIT;

	if (!d->script)
		return;
	show_mount(m, d->script, d->script_target, true, "script");
	if (ready_script(d, &m->checked, m->writable, m->nwritable,
		    m->plan->user_known ? m->plan->uid : getuid(),
		    m->plan->user_known ? m->plan->gid : getgid(), &e))
		add_note(m, true, e.msg);
}

void plan_tool(const struct team *t, const struct tool_def *d, struct arena *mem, struct plan *ret)
{
	const struct spec s = {.role = SPEC_TOOL,
		.network = d->network,
		.apparmor_optional = d->apparmor_optional};
	struct making m;

	*ret = (struct plan){.tool = true,
		.id = d->name,
		.container = "one for each call",
		.image = d->image,
		.limits = &d->limits,
		.at = d->at};
	begin_plan(&m, t, mem, ret);
	ret->runtime = d->runtime;
	show_limits(&m, &d->limits, 4);
	if (d->files != TOOL_WORKSPACE) { /* nothing of the host is mounted */
		ret->user_known = true;
		ret->uid = ret->gid = 1000;
	}
	if (d->files == TOOL_WORKSPACE && d->workspace) {
		choose_user(&m, d->name, d->workspace);
		show_declared(&m, d->workspace, false, "workspace", m.writable, m.nplaces);
		add_loose(&m, arena_printf(mem, "write access to %s", d->workspace),
			"filesystem: workspace");
	}
	show_script(&m, d);
	show_mount(&m, "berth-guest", LANE_GUEST_PATH, true, "berth's init");
	show_mount(&m, "lane", LANE_DIR, true, "berth's lane");
	show_isolation(&m, &s, d->net_name);
	mounts_release(&m.checked);
}
