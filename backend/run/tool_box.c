/*
 * tool_box.c - creates, uses and removes the container of one tool call.
 *
 * Whatever happens between create and drop, the name is enough to find the container again: it holds
 * 40 random bits and its label proves that it is ours.  So a create whose answer never came, for the
 * engine died, is taken away as surely as one that was answered.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <berth/tool.h>
#include <berth/clock.h>
#include <berth/images.h>
#include <berth/mem.h>

#include "container/container.h"
#include "lane/lane.h"

struct making {
	struct agents_host *h;
	struct tool_box *box;
	struct spec spec;
	struct lane_offer offer;
	struct secret_values secrets;
	struct str owner;
	char proof[PROOF_MAX];
	int cancel_fd;
};

static uint64_t elapsed_us(int64_t start)
{
	return (uint64_t)((clock_mono_ns() - start) / 1000);
}

static int refuse_cancelled(const struct making *m, struct err *e)
{
	struct pollfd p = {m->cancel_fd, POLLIN, 0};

	if (m->cancel_fd >= 0 && poll(&p, 1, 0) > 0)
		return err_set(e, ERR_CANCELLED, "the call of %s was cancelled before it ran",
			m->box->def->name);
	return 0;
}

static int name_it(struct making *m, struct err *e)
{
	struct tool_box *b = m->box;
	struct session s;

	if (session_new(&s, e))
		return -1;
	snprintf(b->session, sizeof b->session, "%s", s.session);
	snprintf(b->engine, sizeof b->engine, "%s", m->h->at.info.id);
	snprintf(b->name, sizeof b->name, "berth-tool-%.24s-%.10s", b->def->name, s.session);
	own_label(&m->owner);
	return own_proof(b->engine, b->name, b->session, m->proof, e);
}

static int choose_workspace(struct making *m, const char *workspace, struct err *e)
{
	struct tool_box *b = m->box;

	/* Nothing of the host is mounted, so nobody's files have this owner. */
	m->spec.uid = m->spec.gid = 1000;
	if (b->def->files != TOOL_WORKSPACE)
		return 0;
	b->workspace = b->def->workspace ? b->def->workspace : workspace;
	if (!b->workspace)
		return err_set(e, ERR_USAGE,
			"the tool %s works in a workspace, but neither its definition nor this call gives one.",
			b->def->name);
	b->workspace = arena_strdup(&b->mem, b->workspace);
	m->spec.workdir = b->workspace;
	return ready_user(b->def->name, b->workspace, &m->spec.uid, &m->spec.gid, e);
}

static int describe_box(struct making *m, const char *workspace, struct err *e)
{
	struct tool_box *b = m->box;
	const struct tool_def *d = b->def;

	if (product_refuses(&m->h->at.info, e))
		return -1;
	m->spec = (struct spec){.role = b->pool ? SPEC_POOL : SPEC_TOOL,
		.product = m->h->at.info.kind,
		.name = b->name,
		.session = b->session,
		.engine = b->engine,
		.proof = m->proof,
		.image = d->image,
		.limits = d->limits,
		.network = d->network,
		.env = &d->env,
		.apparmor = armour_of(&m->h->at.info, d->apparmor_optional),
		.runtime = d->runtime,
		.secrets = d->secrets.n > 0,
		.apparmor_optional = d->apparmor_optional};
	m->spec.limits.cpus = spec_cpus(d->limits.cpus, m->h->at.info.cpus);
	if (choose_workspace(m, workspace, e) || name_it(m, e))
		return -1;
	m->spec.owner = m->owner.s;
	for (size_t i = 0; i < d->secrets.n; i++)
		for (size_t k = 0; k < b->team->nsecrets; k++)
			if (!strcmp(b->team->secrets[k].name, d->secrets.word[i]) &&
				secrets_add(&m->secrets, &b->team->secrets[k], e))
				return -1;
	if (d->network == NET_INTERNAL &&
		network_make(m->h, b->team, d->net_name, &b->mem, &m->spec.net_id, e))
		return -1;
	b->network = m->spec.net_id;
	return 0;
}

static int add_box_mounts(struct making *m, struct err *e)
{
	struct tool_box *b = m->box;
	const char *const *writable;
	size_t places, n = ready_writable(b->team, &b->mem, &writable, &places);

	if (b->workspace && mounts_within(b->team->path, b->workspace))
		return err_set(e, ERR_REFUSED,
			"the workspace %s holds %s, which the tool %s could rewrite; "
			"move that file elsewhere, or use a subfolder.",
			b->workspace, b->team->path, b->def->name);
	if (b->workspace &&
		mounts_add(&m->spec.mounts, MOUNT_DECLARED, b->workspace, b->workspace, false,
			writable, places, e))
		return -1;
	if (b->def->script &&
		ready_script(b->def, &m->spec.mounts, writable, n, m->spec.uid, m->spec.gid, e))
		return -1;
	return mounts_add(&m->spec.mounts, MOUNT_OURS, m->h->guest, LANE_GUEST_PATH, true, NULL, 0,
		       e) ||
			mounts_add(&m->spec.mounts, MOUNT_OURS, m->offer.dir, LANE_DIR, true, NULL,
				0, e)
		? -1
		: 0;
}

static int create_box(struct making *m, struct err *e)
{
	struct tool_box *b = m->box;
	struct err why = ERR_INIT;
	char remedy[ERR_MSG_MAX / 2];

	b->asked = true;
	if (!host_create(m->h, &m->spec, b->id, &why))
		return 0;
	if (why.kind != ERR_NOT_FOUND)
		return err_copy(e, &why);
	images_remedy(b->def->image, remedy, sizeof remedy);
	return err_set(e, ERR_NOT_FOUND, "the image %s of the tool %s is not on this engine; %s.",
		b->def->image, b->def->name, remedy);
}

/* A tool's command goes over the lane, and its secrets before it. */
static int refuse_box_runtime(const struct making *m, struct err *e)
{
	const struct tool_def *d = m->box->def;
	const struct engine_info *engine = &m->h->at.info;

	if (sandbox_known(engine, d->runtime, d->name, e))
		return -1;
	return sandbox_runtime(engine, d->runtime)
		? err_set(e, ERR_CONFIG,
			  "the tool %s: its runtime %s provides its own kernel, where the lane that tools need is not available; agents can use it.",
			  d->name, d->runtime ? d->runtime : engine->default_runtime)
		: 0;
}

static int make_box(struct making *m, const char *workspace, struct err *e)
{
	struct tool_box *b = m->box;
	struct lane_about about = {0};
	int64_t start;

	if (refuse_box_runtime(m, e) || describe_box(m, workspace, e) ||
		lane_prepare(b->name, &m->offer, e) || add_box_mounts(m, e) ||
		refuse_cancelled(m, e))
		return -1;
	start = clock_mono_ns();
	if (create_box(m, e) || refuse_cancelled(m, e))
		return -1;
	b->created_us = elapsed_us(start);
	start = clock_mono_ns();
	if (sync_act(m->h->at.engine, ACT_START, b->id, false, false, -1, e) ||
		refuse_cancelled(m, e))
		return -1;
	b->started_us = elapsed_us(start);
	start = clock_mono_ns();
	snprintf(about.name, sizeof about.name, "%s", b->name);
	snprintf(about.id, sizeof about.id, "%s", b->id);
	snprintf(about.engine, sizeof about.engine, "%s", b->engine);
	snprintf(about.session, sizeof about.session, "%s", b->session);
	if (ready_lane(m->h, &m->offer, &about, &m->spec, &m->secrets, e))
		return -1;
	b->guest = m->offer.guest;
	b->lane_us = elapsed_us(start);
	b->ready_ns = clock_mono_ns();
	return refuse_cancelled(m, e);
}

int tool_box_make(struct agents_host *h, const struct team *t, const struct tool_def *d,
	const char *workspace, bool pool, int cancel_fd, struct tool_box **ret, struct err *e)
{
	struct tool_box *b = xcalloc(1, sizeof *b);
	struct making m = {.h = h,
		.box = b,
		.offer = {.boot = -1, .lane = -1},
		.owner = STR_INIT,
		.cancel_fd = cancel_fd};
	struct err why = ERR_INIT, left = ERR_INIT;
	int result;

	*ret = NULL;
	*b = (struct tool_box){.team = t, .def = d, .pool = pool};
	arena_init(&b->mem, 512);
	result = make_box(&m, workspace, &why);
	lane_offer_release(&m.offer);
	secrets_release(&m.secrets);
	mounts_release(&m.spec.mounts);
	str_release(&m.owner);
	if (!result) {
		*ret = b;
		return 0;
	}
	tool_box_drop(h, b, &left);
	/* What went wrong first is the reason; what is left behind must be said too. */
	if (left.kind) {
		err_set(e, why.kind, "%s; and %s", why.msg, left.msg);
		return TOOL_BOX_LEFT;
	}
	return err_copy(e, &why);
}

bool tool_box_alive(const struct tool_box *b)
{
	return proc_in_container((pid_t)b->guest, b->id);
}

/* The init's end is the end of its PID namespace.  Held by a descriptor, so that the number cannot
 * become another process between the look and the signal. */
static void kill_init(const struct tool_box *b)
{
	AUTO_CLOSE int fd = b->guest > 0 ? (int)syscall(SYS_pidfd_open, (pid_t)b->guest, 0) : -1;

	if (fd >= 0 && tool_box_alive(b))
		syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
}

static int remove_box(struct agents_host *h, struct tool_box *b, struct err *e)
{
	struct existing x;
	int found;

	if (!b->asked)
		return 0;
	if (*b->id)
		return host_remove(h, b->id, e);
	found = host_look(h, b->name, &x, e);
	return found <= 0 || !x.ours ? found : host_remove(h, x.id, e);
}

int tool_box_drop(struct agents_host *h, struct tool_box *b, struct err *e)
{
	struct err why = ERR_INIT;
	int result = 0;

	if (!b)
		return 0;
	sync_take_back(h->at.engine, true);
	if (remove_box(h, b, &why)) {
		kill_init(b);
		result = err_set(e, why.kind,
			"the container %s could not be removed (%s); it is stopped, and `berth clean` "
			"finds it once this process has ended",
			b->name, why.msg);
	}
	if (!result && b->network)
		network_tidy(h, b->network);
	sync_take_back(h->at.engine, false);
	if (*b->name)
		lane_forget(b->name);
	arena_release(&b->mem);
	free(b);
	return result;
}
