/*
 * up.c - from a definition to a running container, and back.
 *
 * Straight-line code: each step either succeeds or everything made so far is taken away again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/apparmor.h>
#include <berth/clock.h>
#include <berth/mem.h>

#include "container/container.h"
#include "agents/prepare.h"
#include "run/rulebook.h"
#include "journal/journal.h"
#include "lane/lane.h"

struct bringing { /* what has been made so far */
	struct agents_host *h;
	const struct team *team;
	const struct agent_def *def;
	struct spec spec;
	struct session session;
	struct lane_offer offer;
	struct secret_values secrets;
	struct arena mem;
	char proof[PROOF_MAX], home[96];
	bool offered, created, home_made;
};

static uint64_t measure_us(int64_t start)
{
	return (uint64_t)((clock_mono_ns() - start) / 1000);
}

/* What the definition declares: here it is refused, if it is. */
static int add_declared(struct bringing *b, struct err *e)
{
	const struct agent_def *a = b->def;
	struct mount_list *l = &b->spec.mounts;
	const char *const *writable;
	size_t n = ready_writable(b->team, &b->mem, &writable);

	if (mounts_add(l, MOUNT_DECLARED, a->workspace, a->workspace, false, writable, n, e))
		return -1;
	for (size_t i = 0; i < a->npaths; i++) {
		const struct path_grant *g = &a->paths[i];

		if (mounts_add(l, MOUNT_DECLARED, g->path, g->path, !g->write, writable, n, e))
			return -1;
		/* What is protected inside a writable grant is mounted once more, read-only, over it. */
		for (size_t k = 0; g->write && k < g->protected_paths.n; k++)
			if (mounts_add(l, MOUNT_DECLARED, g->protected_paths.word[k],
				    g->protected_paths.word[k], true, NULL, 0, e))
				return -1;
	}
	if (a->temporary &&
		mounts_add(l, MOUNT_DECLARED, a->temporary, a->temporary, true, NULL, 0, e))
		return -1;
	return secrets_mounts(&a->credentials, l, e);
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
	return journal_make(
		b->spec.name, b->h->journal_commands, b->h->journal_bytes, secret, b->secrets.n, e);
}

/* What was found mounted holds for this init. */
static int keep_checked(struct bringing *b, const char *id, pid_t init, struct err *e)
{
	const struct checked_of of = {
		id, b->spec.name, b->team->path, b->spec.net_rate, b->secrets.n > 0};

	return checked_save(&of, init, &b->spec.mounts, e);
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
	b->offer.apparmor = b->spec.apparmor;
	if (ready_lane(&b->offer, &about, &b->spec.mounts, &b->secrets, e))
		return -1;
	return keep_checked(b, id, b->offer.guest, e);
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

/* Before anything runs in it; and again for one that is up, for a restart loses it. */
static int limit_rate(struct bringing *b, const char *id, struct err *e)
{
	struct existing x;

	if (!b->spec.net_rate)
		return 0;
	if (host_look(b->h, id, &x, e) < 0)
		return -1;
	if (!tree_is_here(x.pid, id))
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
	if (!session_load(b->session.name, &known, NULL) && !strcmp(known.id, x->id) &&
		!strcmp(known.engine, b->session.engine))
		return 0;
	return session_save(&b->session, e);
}

/* What is in the agent's way; it may be protected, and it is in the log that it went. */
struct removal {
	struct agents_host *h;
	const struct existing *x;
};

static int do_replace(void *ctx, struct audit_record *r, struct err *e)
{
	struct removal *rm = ctx;

	(void)r;
	return host_remove(rm->h, rm->x->id, e);
}

static int replace_container(struct bringing *b, const struct existing *x, struct err *e)
{
	const struct audit_record r = {.deed = DEED_CONTAINER_REMOVE,
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
	if (x.running && !strcmp(x.spec, hash) && is_profile_held(b, &x)) {
		if (limit_rate(b, x.id, e))
			return -1;
		ret->was_up = !host_try_lane(b->spec.name, x.id, &why);
		/* An init that does not answer does not ask for another lane either. */
		if (!ret->was_up && why.kind == ERR_NOT_FOUND)
			ret->offered_again = offer_again(b, &x);
		else if (!ret->was_up && b->h->say)
			b->h->say(b->h->say_ctx, b->spec.name, why.msg);
		/* A lane that answers was handed over after the comparison. */
		if (ret->was_up && !checked_known(x.id) && keep_checked(b, x.id, x.pid, e))
			return -1;
		if (ret->was_up || ret->offered_again) {
			snprintf(ret->id, sizeof ret->id, "%s", x.id);
			return remember_again(b, &x, e) ? -1 : 1;
		}
	}
	/* It would be refused when the old one is gone. */
	if (b->spec.net_rate && x.running && !tree_is_here(x.pid, x.id))
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
	return 0;
}

/* What the definition says by itself; user, mounts and network follow from what is there. */
static void begin_spec(struct bringing *b)
{
	const struct agent_def *a = b->def;

	snprintf(b->home, sizeof b->home, "berth-home-%s", a->container);
	b->spec = (struct spec){.role = SPEC_AGENT,
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
		.net_rate = a->net_rate_bytes,
		.sudo = a->sudo,
		.apparmor = armour_of(&b->h->at.info, a->apparmor_optional),
		.apparmor_optional = a->apparmor_optional,
		.env = &a->env,
		.secrets = a->secrets.n || a->credentials.env.n,
		.handed = {&a->secrets, &a->credentials.env}};
	b->spec.limits.cpus = spec_cpus(a->limits.cpus, b->h->at.info.cpus);
}

static int bring_agent_up(struct bringing *b, struct agent_up *ret, struct err *e)
{
	const struct agent_def *a = b->def;
	char hash[17];
	int there, made = 0;

	agents_offer_apparmor();
	begin_spec(b);
	ret->nloosened = spec_loosened(&b->spec, ret->loosened);
	if (session_here(a->container, b->h->at.info.id, e) ||
		(b->h->create && (made = ready_make(a->workspace, e)) < 0) ||
		ready_user(a->id, a->workspace, &b->spec.uid, &b->spec.gid, e) ||
		add_declared(b, e) || secrets_gather(b->team, a, &b->secrets, e) ||
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
	/* The rules are no part of the container: they may have changed under one that stays. */
	if (there)
		return there < 0 ? -1
				 : rulebook_write(a, b->h->at.endpoint.url, b->h->at.info.name, e);
	mounts_release(&b->spec.mounts);
	if (lane_prepare(a->container, &b->offer, e))
		return -1;
	b->offered = true;
	/* Once more: it is these that are compared with what the container sees. */
	if (add_declared(b, e) || add_own_mounts(b, e))
		return -1;
	spec_hash(&b->spec, b->session.spec);
	return run_it(b, ret, e);
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
	*r = (struct audit_record){.deed = DEED_AGENT_UP,
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
	struct raising up = {b, ret};
	struct audit_record r;

	describe_agent(b->def, &b->mem, &r);
	return record_act(&b->h->at.recorder, &r, NULL, do_up, &up, e);
}

/* Waits for who else brings it up or takes it down, which may take the minutes of an installation. */
static int hold_session(struct agents_host *h, const char *container, struct err *e)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	bool told = false;

	for (;;) {
		struct err why = ERR_INIT;
		int fd = session_hold(container, &why);

		if (fd >= 0)
			return fd;
		if (why.kind != ERR_CONFLICT)
			return err_copy(e, &why);
		if (h->stop && h->stop(h->stop_ctx))
			return err_set(e, ERR_CANCELLED, "%s; cancelled while waiting.", why.msg);
		if (h->say && !told)
			h->say(h->say_ctx, container, "waiting for another berth");
		told = true;
		nanosleep(&pause, NULL);
	}
}

int agents_up(struct agents_host *h, const struct team *t, const struct agent_def *a,
	struct agent_up *ret, struct err *e)
{
	struct bringing b = {.h = h, .team = t, .def = a, .offer = {.boot = -1, .lane = -1}};
	AUTO_CLOSE int held = hold_session(h, a->container, e),
		       making = held < 0 ? -1 : sessions_enter(e);
	int result;

	memset(ret, 0, sizeof *ret);
	if (making < 0)
		return -1;
	arena_init(&b.mem, 2048);
	result = up_recorded(&b, ret, e);
	if (b.offered)
		lane_offer_release(&b.offer);
	if (result && b.created) {
		host_remove(h, ret->id, NULL);
		session_forget(a->container);
	}
	if (result && b.home_made)
		home_unmake(h, b.home);
	if (result && (b.created || b.offered)) {
		lane_forget(a->container);
		journal_forget(a->container);
		rulebook_forget(a->container);
	}
	secrets_release(&b.secrets);
	mounts_release(&b.spec.mounts);
	arena_release(&b.mem);
	return result;
}

static int do_take_down(void *ctx, struct audit_record *r, struct err *e)
{
	struct removal *rm = ctx;

	(void)r;
	if (host_remove(rm->h, rm->x->id, e))
		return -1;
	network_tidy(rm->h, rm->x->network);
	return 0;
}

static int take_agent_down(
	struct agents_host *h, const char *container, const struct existing *x, struct err *e)
{
	const struct audit_record r = {.deed = DEED_AGENT_DOWN,
		.target_type = "container",
		.target = x->id,
		.name = container,
		.session = x->session};
	struct removal rm = {h, x};

	if (!x->ours)
		return err_set(e, ERR_CONFLICT,
			"the container %s was not created by berth here, so it is left alone.",
			container);
	return record_act(&h->at.recorder, &r, &x->of, do_take_down, &rm, e);
}

int agents_down(struct agents_host *h, const char *container, struct err *e)
{
	AUTO_CLOSE int held = hold_session(h, container, e);
	struct existing x;
	struct arena mem;
	int found;

	if (held < 0)
		return -1;
	arena_init(&mem, 2048);
	found = host_look_whole(h, container, &x, &mem, e);
	if (found > 0 && take_agent_down(h, container, &x, e))
		found = -1;
	arena_release(&mem);
	if (found < 0)
		return -1;
	if (!session_here(container, h->at.info.id, NULL)) {
		lane_forget(container);
		journal_forget(container);
		rulebook_forget(container);
		session_forget(container);
	}
	return found ? 0 : err_set(e, ERR_NOT_FOUND, "%s is not up.", container);
}

/* The image that the name stands for now against the one that the container was made of. */
static void check_made_of(
	struct agents_host *h, const struct spec *s, const char *id, struct agent_checked *ret)
{
	AUTO_STR struct str image = STR_INIT, container = STR_INIT, target = STR_INIT;
	AUTO_JSON cJSON *i = NULL, *c = NULL;
	struct enforced *item = &ret->item[ret->n];
	const char *now = "", *was;

	str_addf(&target, "/containers/%s/json", id);
	if (sync_ask(h->at.engine, "look at %s", s->name, "GET", target.s, NULL, 0, &container,
		    NULL))
		return;
	str_clear(&target);
	str_addf(&target, "/images/%s/json", s->image);
	if (!sync_ask(h->at.engine, "look for the image %s", s->image, "GET", target.s, NULL, 0,
		    &image, NULL) &&
		(i = ejson_parse(image.s, image.len, NULL)))
		now = ejson_string(i, "Id");
	c = ejson_parse(container.s, container.len, NULL);
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

size_t agents_sessions(char names[][64], size_t max)
{
	struct session *all = xcalloc(max, sizeof *all);
	size_t n = session_all(all, max);

	for (size_t i = 0; i < n; i++)
		snprintf(names[i], 64, "%s", all[i].name);
	free(all);
	return n;
}
