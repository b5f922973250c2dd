/* up.c - creates the containers of agents and compares them with their file.  Straight-line code: each step either succeeds
 * or everything made so far is taken away again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/apparmor.h>
#include <berth/clock.h>
#include <berth/journal.h>
#include <berth/mem.h>
#include <berth/port.h>

#include "container/container.h"
#include "agents/bind.h"
#include "agents/declared_terminals.h"
#include "agents/down.h"
#include "agents/prepare.h"
#include "agents/route_keys.h"
#include "run/rulebook.h"
#include "egress/egress.h"
#include "journal/journal.h"
#include "lane/lane.h"
#include "terminals/terminals.h"

struct bringing { /* what has been made so far */
	struct agents_host *h;
	const struct team *team;
	const struct agent_def *def;
	struct spec spec;
	struct session session;
	struct lane_offer offer;
	struct secret_values secrets;
	struct route_text routes;
	struct arena mem;
	char proof[PROOF_MAX], home[96];
	bool offered, created, home_made, bound;
	struct bind_turn turn;
};

static uint64_t measure_us(int64_t start)
{
	return (uint64_t)((clock_mono_ns() - start) / 1000);
}

static int refuse_missing(const char *what, const char *who, const char *path, struct err *e)
{
	if (access(path, F_OK) == 0 || errno != ENOENT)
		return 0;
	return err_set(e, ERR_CONFIG,
		"the %s %s of %s does not exist; create it first (mkdir -p %s; berth up --create does).",
		what, path, who, path);
}

/* What the definition declares: here it is refused, if it is. */
static int add_declared(struct bringing *b, struct err *e)
{
	const struct agent_def *a = b->def;
	struct mount_list *l = &b->spec.mounts;
	const char *const *writable;
	size_t places, n = ready_writable(b->team, &b->mem, &writable, &places);

	if (mounts_add(l, MOUNT_DECLARED, a->workspace, a->workspace, false, writable, places, e))
		return -1;
	for (size_t i = 0; i < a->npaths; i++) {
		const struct path_grant *g = &a->paths[i];
		/* A link of berth's own, beside the tasks, says which version. */
		AUTO_FREE char *real = g->source ? realpath(g->source, NULL) : NULL;

		if (g->source && !real)
			return err_sys(e, errno, "cannot find what %s shows", g->path);
		if (!g->source && refuse_missing("context path", a->id, g->path, e))
			return -1;
		if (mounts_add(l, MOUNT_DECLARED, real ? real : g->path, g->path, !g->write,
			    writable, n, e))
			return -1;
		/* What is protected inside a writable grant is mounted once more, read-only, over it. */
		for (size_t k = 0; g->write && k < g->protected_paths.n; k++)
			if (refuse_missing(
				    "protected path", a->id, g->protected_paths.word[k], e) ||
				mounts_add(l, MOUNT_DECLARED, g->protected_paths.word[k],
					g->protected_paths.word[k], true, NULL, 0, e))
				return -1;
	}
	if (a->temporary && refuse_missing("agent_temporary_workspace", a->id, a->temporary, e))
		return -1;
	if (a->temporary &&
		mounts_add(l, MOUNT_DECLARED, a->temporary, a->temporary, true, NULL, 0, e))
		return -1;
	if (secrets_mounts(&a->credentials, l, e))
		return -1;
	for (size_t i = 0; i < a->npaths; i++)
		for (size_t k = 0; a->paths[i].write && k < a->paths[i].protected_paths.n; k++)
			if (mounts_pin(l, a->paths[i].path, a->paths[i].protected_paths.word[k], e))
				return -1;
	return 0;
}

/* What berth adds; the lane's directory must be there. */
static int add_own_mounts(struct bringing *b, struct err *e)
{
	struct mount_list *l = &b->spec.mounts;

	return mounts_add(l, MOUNT_OURS, b->h->guest, LANE_GUEST_PATH, true, NULL, 0, e) ||
			mounts_add(l, MOUNT_OURS, b->offer.dir, LANE_DIR, true, NULL, 0, e)
		? -1
		: 0;
}

/* Of what is handed over everything is a secret, whether it becomes a file or a variable. */
static int make_journal(struct bringing *b, struct err *e)
{
	struct journal_secret *secret = arena_array(&b->mem, b->secrets.n + 1, sizeof *secret);

	for (size_t i = 0; i < b->secrets.n; i++)
		secret[i] = (struct journal_secret){
			b->secrets.secret[i].value, b->secrets.secret[i].len};
	return journal_make(b->spec.name, b->h->defaults.journal_commands,
		b->h->defaults.journal_bytes, secret, b->secrets.n, e);
}

/* What was found mounted holds for this init. */
static int keep_checked(struct bringing *b, const char *id, pid_t init, struct err *e)
{
	const struct checked_of of = {id, b->spec.name, b->team->path, b->spec.net_rate,
		b->secrets.n > 0, memory_fs_needed(&b->spec), b->spec.no_lane};

	return checked_save(&of, init, &b->spec.mounts, e);
}

/* How its clients come to that: also when it is started again. */
static int keep_egress_way(const struct bringing *b, const char *id, struct err *e)
{
	struct egress_relay r = {.init = b->offer.guest};

	snprintf(r.id, sizeof r.id, "%s", id);
	snprintf(r.user, sizeof r.user, "%u:%u", (unsigned)b->spec.uid, (unsigned)b->spec.gid);
	if (b->spec.relay)
		snprintf(r.socket, sizeof r.socket, "%s", b->h->at.endpoint.path);
	return egress_keep_relay(b->spec.name, b->spec.relay ? &r : NULL, e);
}

/* By the engine's own socket: where there is none, nobody could wake it. */
static int keep_idle(struct bringing *b, const char *id, pid_t init, struct err *e)
{
	const struct endpoint *at = &b->h->at.endpoint;
	struct lane_idle i = {.init = init, .after_s = b->def->idle_pause_s};

	if (i.after_s && b->spec.no_lane)
		return err_set(e, ERR_REFUSED,
			"idle: of the agent %s: with its runtime, commands go through the engine, which cannot resume it; remove idle:.",
			b->def->id);
	if (i.after_s && (at->transport != TRANSPORT_UNIX || strlen(at->path) >= sizeof i.socket))
		return err_set(e, ERR_REFUSED,
			"idle: of the agent %s: its engine is not on a local socket, so it could not be resumed; remove idle:.",
			b->def->id);
	snprintf(i.name, sizeof i.name, "%s", b->spec.name);
	snprintf(i.id, sizeof i.id, "%s", id);
	snprintf(i.socket, sizeof i.socket, "%s", i.after_s ? at->path : "");
	return lane_idle_save(&i, e);
}

/* Its end on the host, with the rules of the file as it is now. */
static int open_egress(struct bringing *b, const char *id, struct err *e)
{
	const struct egress_def *d = &b->def->egress;
	const struct str *told = &b->routes.told, *kept = &b->routes.kept;
	uint16_t ask_s = b->h->defaults.egress_ask_s ? b->h->defaults.egress_ask_s : EGRESS_ASK_S;
	struct egress_file_rules rules = {.allow = d->allow.word,
		.nallow = d->allow.n,
		.deny = d->deny.word,
		.ndeny = d->deny.n,
		.ask_s = d->ask ? ask_s : 0,
		.upstream = d->upstream,
		.rate = b->def->net_rate_bytes};

	if (!d->on)
		return 0;
	if (network_subnets(b->h, &b->mem, &rules.networks, &rules.nnetworks, e) ||
		egress_end_silent(b->spec.name, e) || keep_egress_way(b, id, e) ||
		egress_put_file_rules(b->spec.name, &rules, e))
		return -1;
	return egress_keep_routes(b->spec.name, kept->s, kept->len, e) ||
			egress_start(b->spec.name, id, e) ||
			egress_tell_routes(b->spec.name, told->s, told->len, e)
		? -1
		: 0;
}

static int do_open_lost(void *ctx, struct audit_record *r, struct err *e)
{
	(void)r;
	return port_open_lost(ctx, e);
}

/* Ports that a person opened, and whose process or container has gone.  One that cannot be is said, and stays lost. */
static void open_lost_ports(struct bringing *b, const char *id)
{
	struct port_row row[PORTS_MAX];
	size_t n = port_list(b->spec.name, row, PORTS_MAX);

	for (size_t i = 0; i < n; i++) {
		char port[8], where[PORT_WHERE_MAX];
		const struct key_value kv[] = {{"port", port, false}, {"at", where, false}};
		const struct audit_record r = {.operation = OP_PORT_OPEN,
			.target_type = "container",
			.target = id,
			.name = b->spec.name,
			.agent = b->def->id,
			.session = b->session.session,
			.params = kv,
			.nparams = COUNT(kv)};
		struct err why = ERR_INIT;

		snprintf(port, sizeof port, "%u", row[i].port);
		port_write_where(&row[i], where);
		if (row[i].lost &&
			record_act(&b->h->at.recorder, &r, NULL, do_open_lost, &row[i], &why) &&
			b->h->say)
			b->h->say(b->h->say_ctx, b->spec.name, why.msg);
	}
}

/* Its lane; or what a container without one needs in its place: its mounts are compared from this side alone. */
static int open_lane(struct bringing *b, const struct lane_about *about, struct err *e)
{
	struct existing x;

	if (!b->spec.no_lane)
		return ready_lane(b->h, &b->offer, about, &b->spec, &b->secrets, e);
	if (host_look(b->h, about->id, &x, e) < 0)
		return -1;
	if (!sandbox_is(x.pid) || !tree_is_here(x.pid, about->id))
		return err_set(e, ERR_REFUSED,
			"%s: its runtime %s should provide its own kernel, but its init process is not in a sandbox.",
			b->def->id, x.runtime);
	b->offer.guest = x.pid;
	return keep_checked(b, about->id, x.pid, e) || lane_do_without(&b->offer, about, e) ? -1
											    : 0;
}

/* Lane and journal of the container `id`, which runs. */
static int open_lane_and_journal(struct bringing *b, const char *id, struct err *e)
{
	struct lane_about about = {0};

	snprintf(about.name, sizeof about.name, "%s", b->spec.name);
	snprintf(about.id, sizeof about.id, "%s", id);
	snprintf(about.agent, sizeof about.agent, "%s", b->def->id);
	snprintf(about.engine, sizeof about.engine, "%s", b->h->at.info.id);
	snprintf(about.session, sizeof about.session, "%s", b->session.session);
	if (make_journal(b, e))
		return -1;
	b->offered = false; /* the hand-over closes it */
	b->offer.proxy = b->spec.proxy && !b->spec.relay;
	if (open_lane(b, &about, e) || open_egress(b, id, e))
		return -1;
	open_lost_ports(b, id);
	if (!b->spec.no_lane && keep_checked(b, id, b->offer.guest, e))
		return -1;
	return keep_idle(b, id, b->offer.guest, e);
}

/* A container that was started again, by hand or by the engine, has lost lane and secrets, and nothing
 * else: it gets them anew. */
static bool offer_again(struct bringing *b, const struct existing *x)
{
	struct session mine = b->session;
	struct err why = ERR_INIT; /* then it is replaced, which needs no reason */

	snprintf(b->session.session, sizeof b->session.session, "%s", x->session);
	if (!lane_prepare_again(b->spec.name, &b->offer, &why) &&
		!open_lane_and_journal(b, x->id, &why))
		return true;
	b->session = mine;
	return false;
}

static int rate_refused(const struct bringing *b, struct err *e)
{
	return err_set(e, ERR_REFUSED,
		"the network rate limit of %s cannot be set: its engine is not on this "
		"machine; berth never ignores a limit: remove network_rate:.",
		b->def->id);
}

/* The word of an engine elsewhere for a process of this machine is not taken: it could be another container's. */
static bool is_rate_settable(const struct bringing *b, pid_t init, const char *id)
{
	return b->h->at.endpoint.transport == TRANSPORT_UNIX && tree_is_here(init, id);
}

/* Before anything runs in it; and again for one that is up, for a restart loses it. */
static int limit_rate(struct bringing *b, const char *id, struct err *e)
{
	struct existing x;

	if (!b->spec.net_rate)
		return 0;
	if (host_look(b->h, id, &x, e) < 0)
		return -1;
	if (!is_rate_settable(b, x.pid, id))
		return rate_refused(b, e);
	return rate_set(x.pid, b->spec.net_rate, e);
}

/* Without its session's record a container that runs would be an orphan, and cleaned up. */
static int remember_again(struct bringing *b, const struct existing *x, struct err *e)
{
	struct session known;

	snprintf(b->session.session, sizeof b->session.session, "%s", x->session);
	snprintf(b->session.id, sizeof b->session.id, "%s", x->id);
	snprintf(b->session.spec, sizeof b->session.spec, "%s", x->spec);
	if (session_load(b->session.name, &known, NULL) || strcmp(known.id, x->id) != 0 ||
		strcmp(known.engine, b->session.engine) != 0)
		return session_save(&b->session, e);
	if (*known.endpoint)
		return 0;
	memcpy(known.endpoint, b->session.endpoint, sizeof known.endpoint);
	return session_save(&known, e);
}

/* What is in the agent's way; it may be protected, and it is in the log that it went. */
static int do_replace(void *ctx, struct audit_record *r, struct err *e)
{
	struct removal *rm = ctx;

	(void)r;
	return host_remove(rm->h, rm->x->id, e);
}

static int replace_container(struct bringing *b, const struct existing *x, struct err *e)
{
	const struct audit_record r = {.operation = OP_CONTAINER_REMOVE,
		.target_type = "container",
		.target = x->id,
		.name = b->spec.name,
		.agent = b->def->id,
		.session = x->session};
	struct removal rm = {b->h, x};

	if (record_act(&b->h->at.recorder, &r, &x->of, do_replace, &rm, e))
		return -1;
	lane_forget(b->spec.name);
	return 0;
}

/* A profile that was taken out of the kernel under a container that runs leaves it without one. */
static bool is_profile_held(const struct bringing *b, const struct existing *x)
{
	char label[APPARMOR_LABEL_MAX];

	if (!b->spec.apparmor)
		return true;
	apparmor_label(x->pid, label);
	return apparmor_holds(label, b->spec.apparmor);
}

/* As made, whatever the engine's configuration says by now. */
static bool is_runtime_held(const struct bringing *b, const struct existing *x)
{
	return (!b->spec.runtime || !strcmp(b->spec.runtime, x->runtime)) &&
		b->spec.no_lane == sandbox_is(x->pid);
}

/* Its init answers on its lane.  Where there is none: this start is one that was looked at, now or before. */
static bool is_answering(struct bringing *b, const struct existing *x, struct err *why)
{
	struct start at;

	if (!b->spec.no_lane)
		return !host_try_lane(b->spec.name, x->id, why);
	if (!lane_is_none(b->spec.name) || checked_look(x->id, x->pid, &at, why) != MOUNTS_CHECKED)
		return false;
	return true;
}

/* What stands under the agent's name: 0 nothing (any more), 1 up as asked. */
static int clear_name(struct bringing *b, const char *hash, struct agent_up *ret, struct err *e)
{
	struct existing x;
	struct err why = ERR_INIT;
	int found = host_look_whole(b->h, b->spec.name, &x, &b->mem, e);

	if (found <= 0)
		return found;
	if (!x.ours)
		return err_set(e, ERR_CONFLICT,
			"a container named %s already exists and was not created by "
			"berth here; rename or remove it yourself (docker rm %s): "
			"berth does not touch it.",
			b->spec.name, b->spec.name);
	if (x.running && !strcmp(x.spec, hash) && is_profile_held(b, &x) &&
		is_runtime_held(b, &x)) {
		if (limit_rate(b, x.id, e))
			return -1;
		b->offer.guest = x.pid;
		ret->was_up = is_answering(b, &x, &why);
		/* An init that does not answer does not ask for another lane either. */
		if (!ret->was_up && why.kind == ERR_NOT_FOUND && !b->spec.no_lane)
			ret->offered_again = offer_again(b, &x);
		else if (!ret->was_up && b->h->say)
			b->h->say(b->h->say_ctx, b->spec.name, why.msg);
		if (ret->was_up && open_egress(b, x.id, e))
			return -1;
		if (ret->was_up && keep_idle(b, x.id, x.pid, e))
			return -1;
		if (ret->was_up)
			open_lost_ports(b, x.id);
		/* A lane that answers was handed over after the comparison. */
		if (ret->was_up && !checked_known(x.id) && keep_checked(b, x.id, x.pid, e))
			return -1;
		if (ret->was_up || ret->offered_again) {
			snprintf(ret->id, sizeof ret->id, "%s", x.id);
			return remember_again(b, &x, e) ? -1 : 1;
		}
	}
	/* It would be refused when the old one is gone. */
	if (b->spec.net_rate && x.running && !is_rate_settable(b, x.pid, x.id))
		return rate_refused(b, e);
	ret->replaced = true;
	return replace_container(b, &x, e);
}

static int run_it(struct bringing *b, struct agent_up *ret, struct err *e)
{
	int64_t start = clock_mono_ns();

	if (host_create(b->h, &b->spec, ret->id, e))
		return -1;
	b->created = true;
	ret->created_us = measure_us(start);
	/* From here on a crash of ours leaves a container whose id is in the record. */
	snprintf(b->session.id, sizeof b->session.id, "%s", ret->id);
	if (session_save(&b->session, e))
		return -1;
	start = clock_mono_ns();
	/* Nobody can reach it before its rules are there. */
	if (rulebook_write(b->def, b->h->at.endpoint.url, b->h->at.info.name, e) ||
		sync_act(b->h->at.engine, ACT_START, ret->id, false, false, -1, e))
		return -1;
	ret->started_us = measure_us(start);
	if (limit_rate(b, ret->id, e))
		return -1;
	start = clock_mono_ns();
	if (open_lane_and_journal(b, ret->id, e))
		return -1;
	ret->ready_us = measure_us(start);
	ret->nenforced = enforce_read(b->h, &b->spec, ret->id, ret->enforced, ENFORCED_MAX);
	enforce_note_asked(ret->enforced, ret->nenforced, b->def->limits.cpus);
	return 0;
}

/* The rule by which it reaches this machine's loopback, of the definition or by a person since; NULL: none. */
static const char *find_own_host(struct bringing *b)
{
	const struct egress_def *d = &b->def->egress;
	AUTO_FREE struct egress_rule *rules = NULL;
	char text[EGRESS_RULE_MAX];
	size_t n = 0;

	if (d->own_host || !d->on)
		return d->own_host;
	rules = xcalloc(EGRESS_RULES_MAX, sizeof *rules);
	if (egress_load_rules(b->def->container, rules, &n, NULL))
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (rules[i].origin != EGRESS_FILE && egress_reaches_host(&rules[i])) {
			egress_write_rule(&rules[i], text);
			return arena_strdup(&b->mem, text);
		}
	return NULL;
}

/* What the definition says by itself; user, mounts and network follow from what is there. */
static void begin_spec(struct bringing *b)
{
	const struct agent_def *a = b->def;
	bool no_lane = sandbox_runtime(&b->h->at.info, a->runtime);

	snprintf(b->home, sizeof b->home, "berth-home-%s", a->container);
	b->spec = (struct spec){.role = SPEC_AGENT,
		.product = b->h->at.info.kind,
		.name = a->container,
		.agent = a->id,
		.session = b->session.session,
		.engine = b->h->at.info.id,
		.proof = b->proof,
		.image = a->image,
		.workdir = a->workspace,
		.home = b->home,
		.limits = a->limits,
		.network = a->network,
		.proxy = a->egress.on,
		.own_host = find_own_host(b),
		.net_rate = a->egress.on ? 0 : a->net_rate_bytes, /* then its end limits it */
		.sudo = a->sudo,
		.relay = a->egress.on && (no_lane || a->egress.relay),
		.runtime = a->runtime,
		.no_lane = no_lane,
		.apparmor = no_lane ? NULL : armour_of(&b->h->at.info, a->apparmor_optional),
		.apparmor_optional = a->apparmor_optional,
		.route_env = &a->egress.env,
		.env = &a->env,
		.secrets = a->secrets.n || a->credentials.env.n,
		.handed = {&a->secrets, &a->credentials.env}};
	b->spec.limits.cpus = spec_cpus(a->limits.cpus, b->h->at.info.cpus);
}

/* Two files may name their agents alike; the second would take the first one's container for its own that is
 * stale.  A file that is gone was moved, or is not missed. */
static int refuse_other_file(struct bringing *b, struct err *e)
{
	const char *name = b->def->container;
	char here[sizeof b->session.file];
	AUTO_STR struct str busy = STR_INIT;
	struct session up;
	struct existing x;
	int found;

	if (b->h->replace)
		return 0;
	snprintf(here, sizeof here, "%s", b->team->path);
	if (session_load(name, &up, NULL) || !*up.file || !strcmp(up.file, here) ||
		access(up.file, F_OK))
		return 0;
	found = host_look(b->h, name, &x, e);
	if (found <= 0 || !x.ours)
		return found < 0 ? -1 : 0;
	journal_add_running(name, &busy);
	return err_set(e, ERR_CONFLICT,
		"%s is up from another file, %s%s: take it down first (`berth down` with that file), give "
		"this agent another name, or end the other one with --replace.",
		name, up.file, busy.s);
}

/* What this engine does not have, and what cannot be had with the runtime that the definition names. */
static int refuse_runtime(const struct bringing *b, struct err *e)
{
	const struct agent_def *a = b->def;
	const char *runtime = a->runtime ? a->runtime : b->h->at.info.default_runtime;
	bool secrets = a->secrets.n || a->credentials.env.n || a->credentials.env_file;

	if (sandbox_known(&b->h->at.info, a->runtime, a->id, e))
		return -1;
	if (b->spec.no_lane && (secrets || a->sudo))
		return err_set(e, ERR_CONFIG,
			"%s: its runtime %s provides its own kernel, which supports neither secrets nor sudo; remove %s, or runtime:.",
			a->id, runtime, secrets ? "its secrets" : "sudo:");
	if (b->spec.no_lane && a->limits.pids < SANDBOX_PIDS)
		return err_set(e, ERR_CONFIG,
			"%s: pids: %lld is too low for its runtime %s, whose own threads count, too (about 100 when idle): use %d or more.",
			a->id, (long long)a->limits.pids, runtime, SANDBOX_PIDS);
	if (b->spec.relay && b->h->at.endpoint.transport != TRANSPORT_UNIX)
		return err_set(e, ERR_CONFIG,
			"%s: network: allow: through a relay needs the engine's local socket, but this engine is at %s.",
			a->id, b->h->at.endpoint.url);
	return 0;
}

/* Its workspace, where that is missing and may be made.  One of berth's own is held from here on. */
static int make_workspace_of(struct bringing *b, struct err *e)
{
	const struct agent_def *a = b->def;
	int made = !b->h->create ? 0
		: a->bound       ? bind_make(a, e)
				 : ready_make(a->workspace, e),
	    held;

	if (made >= 0 && b->h->create && ready_make_folders(a, e))
		return -1;
	if (made < 0 || !a->bound)
		return made;
	if (bind_look(a, e) ||
		(held = bind_hold(a, b->h->at.info.id, &b->h->defaults.usual, e)) < 0)
		return -1;
	b->bound = held;
	bind_waited(&b->turn); /* the next one's */
	return made;
}

static int refuse_terminals(const struct bringing *b, struct err *e)
{
	if (!b->def->nterminals || !b->spec.no_lane)
		return 0;
	return err_set(e, ERR_REFUSED,
		"terminal: of the agent %s: with its runtime there is no lane, which terminals need; remove terminal:.",
		b->def->id);
}

static int bring_agent_up(struct bringing *b, struct agent_up *ret, struct err *e)
{
	const struct agent_def *a = b->def;
	char hash[17];
	int there, made;

	agents_offer_apparmor();
	begin_spec(b);
	ret->nloosened = spec_loosened(&b->spec, ret->loosened);
	secrets_warning(&a->credentials, ret->warning, sizeof ret->warning);
	if (product_refuses(&b->h->at.info, e) || refuse_runtime(b, e) || refuse_terminals(b, e) ||
		session_here(a->container, b->h->at.info.id, e) || refuse_other_file(b, e) ||
		(made = make_workspace_of(b, e)) < 0 ||
		ready_user(a->id, a->workspace, &b->spec.uid, &b->spec.gid, e) ||
		add_declared(b, e) || secrets_gather(b->team, a, &b->secrets, e) ||
		routes_gather(b->team, a, &b->secrets, &b->routes, e) ||
		prepare_image(b->h, a, true, &b->mem, &b->spec.image, e))
		return -1;
	ret->created = made;
	if (a->network == NET_INTERNAL &&
		network_make(b->h, b->team, a->net_name, &b->mem, &b->spec.net_id, e))
		return -1;
	snprintf(b->session.name, sizeof b->session.name, "%s", a->container);
	snprintf(b->session.engine, sizeof b->session.engine, "%s", b->h->at.info.id);
	snprintf(b->session.agent, sizeof b->session.agent, "%s", a->id);
	snprintf(b->session.file, sizeof b->session.file, "%s", b->team->path);
	snprintf(b->session.base, sizeof b->session.base, "%s", b->team->base);
	snprintf(b->session.endpoint, sizeof b->session.endpoint, "%s", b->h->at.endpoint.url);
	if (own_proof(b->h->at.info.id, a->container, b->session.session, b->proof, e))
		return -1;
	/* The lane's directory is part of what is mounted, so of what is compared. */
	if (lane_place(a->container, b->offer.dir, e) ||
		home_make(b->h, &b->spec, b->def->id, b->session.session, &b->home_made, e))
		return -1;
	if (host_lane_dir_exists(b->offer.dir) && !add_own_mounts(b, NULL)) {
		spec_hash(&b->spec, hash);
		there = clear_name(b, hash, ret, e);
	} else {
		there = clear_name(b, "", ret, e);
	}
	/* The rules are no part of the container, nor are its terminals: they may have changed under one that stays. */
	if (there)
		return there < 0 ||
				rulebook_write(a, b->h->at.endpoint.url, b->h->at.info.name, e) ||
				declared_start(&b->h->at.recorder, a, false, e)
			? -1
			: 0;
	mounts_release(&b->spec.mounts);
	if (lane_prepare(a->container, &b->offer, e))
		return -1;
	b->offered = true;
	/* Once more: it is these that are compared with what the container sees. */
	if (add_declared(b, e) || add_own_mounts(b, e))
		return -1;
	spec_hash(&b->spec, b->session.spec);
	terminals_forget(a->container); /* of one before it */
	return run_it(b, ret, e) || declared_start(&b->h->at.recorder, a, true, e) ? -1 : 0;
}

/* What the log should know: what runs, as whom, what it sees of the host, and what is loosened. */
static void describe_agent(const struct agent_def *a, struct arena *mem, struct audit_record *r)
{
	struct key_value *kv = arena_array(mem, 6, sizeof *kv);
	AUTO_STR struct str mounts = STR_INIT, secrets = STR_INIT;

	str_addf(&mounts, "%s rw", a->workspace);
	for (size_t i = 0; i < a->npaths; i++)
		str_addf(&mounts, ", %s %s", a->paths[i].path, a->paths[i].write ? "rw" : "ro");
	if (a->temporary)
		str_addf(&mounts, ", %s ro", a->temporary);
	for (size_t i = 0; i < a->secrets.n; i++)
		str_addf(&secrets, "%s%s", i ? ", " : "", a->secrets.word[i]);
	for (size_t i = 0; i < a->credentials.env.n; i++)
		str_addf(&secrets, "%s%s", secrets.len ? ", " : "", a->credentials.env.word[i]);
	kv[0] = (struct key_value){"image", a->image, false};
	kv[1] = (struct key_value){"network", net_mode_name(a->network), false};
	kv[2] = (struct key_value){"sudo", a->sudo ? "yes" : "no", false};
	kv[3] = (struct key_value){"mounts", arena_strdup(mem, mounts.s), false};
	kv[4] = (struct key_value){"handed_over", arena_strdup(mem, secrets.s), false};
	*r = (struct audit_record){.operation = OP_AGENT_UP,
		.target_type = "container",
		.name = a->container,
		.agent = a->id,
		.params = kv,
		.nparams = secrets.len ? 5 : 4};
}

struct raising {
	struct bringing *b;
	struct agent_up *ret;
};

static int do_up(void *ctx, struct audit_record *r, struct err *e)
{
	struct raising *up = ctx;
	struct bringing *b = up->b;
	int result = session_new(&b->session, e) || bring_agent_up(b, up->ret, e) ? -1 : 0;

	r->target = up->ret->id;
	r->session = b->session.session;
	return result;
}

static int up_recorded(struct bringing *b, struct agent_up *ret, struct err *e)
{
	const struct agent_def *a = b->def;
	const struct record_target t = {.secrets = a->secrets.n || a->credentials.mount.n ||
			a->credentials.nfiles || a->credentials.env.n || a->credentials.env_file ||
			a->egress.nroutes || a->egress.upstream_secret};
	struct raising up = {b, ret};
	struct audit_record r;

	describe_agent(a, &b->mem, &r);
	return record_act(&b->h->at.recorder, &r, &t, do_up, &up, e);
}

int agents_up(struct agents_host *h, const struct team *t, const struct agent_def *a,
	struct agent_up *ret, struct err *e)
{
	struct bringing b = {.h = h,
		.team = t,
		.def = a,
		.routes = {STR_INIT, STR_INIT},
		.offer = {.boot = -1, .lane = -1}};
	AUTO_CLOSE int held = agent_hold(h, a->container, e), making = -1;
	int result;

	memset(ret, 0, sizeof *ret);
	/* Nothing waits for what waits in line: that may take hours. */
	if (held < 0 || bind_wait(h, a, &b.turn, e) || (making = sessions_enter(e)) < 0) {
		bind_waited(&b.turn);
		return -1;
	}
	arena_init(&b.mem, 2048);
	result = up_recorded(&b, ret, e);
	if (b.offered)
		lane_offer_release(&b.offer);
	sync_take_back(h->at.engine, true);
	if (result && b.created) {
		host_remove(h, ret->id, NULL);
		session_forget(a->container);
	}
	if (result && b.home_made)
		home_unmake(h, b.home, b.def->id);
	sync_take_back(h->at.engine, false);
	if (result && b.bound)
		agents_unbind(a->container, h->at.info.id, NULL);
	if (result && (b.created || b.offered)) {
		lane_forget(a->container);
		egress_forget(a->container);
		terminals_forget(a->container);
		journal_forget(a->container);
		rulebook_forget(a->container);
	}
	bind_waited(&b.turn);
	secrets_release(&b.secrets);
	routes_wipe(&b.routes);
	mounts_release(&b.spec.mounts);
	arena_release(&b.mem);
	return result;
}

/* The image that the name stands for now against the one that the container was made of. */
static void check_made_of(
	struct agents_host *h, const struct spec *s, const char *id, struct agent_checked *ret)
{
	AUTO_FREE char *target = xasprintf("/containers/%s/json", id);
	AUTO_JSON cJSON *i = NULL;
	AUTO_JSON cJSON *c =
		sync_json(h->at.engine, "look at %s", s->name, "GET", target, NULL, 0, NULL);
	struct enforced *item = &ret->item[ret->n];
	const char *now = "", *was;

	if (!c)
		return;
	if (sync_image(h->at.engine, s->image, 0, &i, NULL) > 0)
		now = ejson_string(i, "Id");
	was = ejson_string(c, "Image");
	now += strncmp(now, "sha256:", 7) ? 0 : 7;
	was += strncmp(was, "sha256:", 7) ? 0 : 7;
	item->what = "image";
	snprintf(item->asked, sizeof item->asked, "%.40s %.12s", s->image, *now ? now : "missing");
	snprintf(item->actual, sizeof item->actual, "%.12s", was);
	item->same = *now && !strcmp(now, was);
	ret->n++;
}

static int check_agent(struct bringing *b, const char *id, struct agent_checked *ret, struct err *e)
{
	const struct agent_def *a = b->def;
	struct enforced *item = &ret->item[0];
	struct existing x;
	char hash[17];
	int found;

	begin_spec(b);
	if (ready_user(a->id, a->workspace, &b->spec.uid, &b->spec.gid, e) ||
		lane_place(a->container, b->offer.dir, e))
		return -1;
	prepare_image(b->h, a, false, &b->mem, &b->spec.image, NULL); /* a missing base is drift */
	if (a->network == NET_INTERNAL) {
		found = network_find(b->h, b->team, a->net_name, &b->mem, &b->spec.net_id, e);
		if (found < 0)
			return -1;
		b->spec.net_id = found ? b->spec.net_id : "";
	}
	if (add_declared(b, e) || add_own_mounts(b, e) || (found = host_look(b->h, id, &x, e)) < 0)
		return -1;
	if (!found)
		return err_set(e, ERR_NOT_FOUND, "%s does not exist.", a->container);
	spec_hash(&b->spec, hash);
	item->what = "definition";
	item->same = !strcmp(hash, x.spec);
	snprintf(item->asked, sizeof item->asked, "%.8s", hash);
	snprintf(item->actual, sizeof item->actual, "%.8s", x.spec);
	ret->n = 1;
	check_made_of(b->h, &b->spec, id, ret);
	ret->n += enforce_read(b->h, &b->spec, id, ret->item + ret->n, ENFORCED_MAX - ret->n);
	ret->n += declared_check(a, ret->item + ret->n, ENFORCED_MAX - ret->n);
	ret->nloosened = spec_loosened(&b->spec, ret->loosened);
	return 0;
}

int agents_check(struct agents_host *h, const struct team *t, const struct agent_def *a,
	const char *id, struct agent_checked *ret, struct err *e)
{
	struct bringing b = {.h = h, .team = t, .def = a, .offer = {.boot = -1, .lane = -1}};
	int result;

	memset(ret, 0, sizeof *ret);
	arena_init(&b.mem, 2048);
	result = check_agent(&b, id, ret, e);
	mounts_release(&b.spec.mounts);
	arena_release(&b.mem);
	return result;
}
