/*
 * keeper.c - enforces workspace limits in the background by pausing containers, and restarts egress processes
 * (kept_ends.c).
 *
 * Who writes is hostile: names and depth may be anything.  What the watches cannot hold the file engine counts, what
 * the kernel lost is counted anew, and what it does not tell of is found within a second, by counting all of it.
 */
#include "keeper/keeper_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/live.h>
#include <berth/mem.h>
#include <berth/sum.h>

#include "keeper/kept_ends.h"
#include "keeper/kept_idle.h"
#include "keeper/kept_past.h"
#include "keeper/kept_terminals.h"
#include "keeper/watched.h"
#include "lane/lane.h"

#define PACE_NS INT64_C(20000000) /* between looks at what changes */
#define LONGEST_NS INT64_C(1000000000)
#define RARELY_NS (10 * LONGEST_NS) /* who lets it go meanwhile must not be overlooked for long */
#define BYTES_PER_NS 2              /* nothing here writes faster */
#define NS_PER_FILE 5000            /* nor makes files */
#define SHARE 2                     /* counting has a third of one processor at most */
#define ALIVE_MS 5000
#define ALIVE_NS (INT64_C(1000000) * (ALIVE_MS - 100))
#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS 1000000
#define TELL_NS (LONGEST_NS / 2) /* between two writes of what is counted */
#define END_MS 2000
#define DONE 'd'

struct kept {
	struct workspace_info info;
	struct workspace_limits limits;
	struct watched_tree tree;
	struct workspace_amount used;
	struct freeze of; /* its containers, as of the last look */
	bool told;        /* that it is over its limit */
	bool anew;        /* not judged since it is known, or something was said of it */
	int64_t next_ns;  /* not counted before */
	int64_t again_ns; /* what failed was tried again after that; 0: nothing did */
	int64_t sure_ns;  /* nor all of it */
	bool unsure;      /* since then parts alone were counted */
	bool known;       /* it was counted */
	struct kept_flags flags;
	int64_t flags_ns,
		look_ns;    /* Unix time of the last look for them; the next one, not before */
	int64_t changed_ns; /* Unix time of the last change that was seen; 0: none */
	int64_t every_ns, keep,
		save_ns; /* checkpoints, the next one not before; every_ns 0: none */
	pid_t saver;     /* makes one now; 0: none does */
};

struct keeper {
	const struct keeper_options *o;
	struct workspaces *all;
	struct kept *kept;
	size_t n;
	struct watched watched;
	struct kept_ends ends;
	struct kept_past past;
	struct kept_idle idle;
	struct kept_terminals terminals;
	int records; /* readable: who has what, or what was said, changed */
	int stops;   /* readable: it shall end */
	bool stop;
	int live;        /* the lock of what others read (live.h) */
	bool news;       /* not in there yet */
	int64_t tell_ns; /* nor written before */
};

/* -- what is kept ------------------------------------------------------------------------------------ */

static void release_kept(struct kept *kept, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		close(kept[i].tree.root);
		kept_flags_release(&kept[i].flags);
	}
	free(kept);
}

/* Who has what, and what was said, are files of the tree: both are looked at again when one changes. */
static int watch_records(const struct keeper *k)
{
	static const char *const records[] = {".held", ".limits"};
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	for (size_t i = 0; i < COUNT(records) && fd >= 0; i++) {
		AUTO_FREE char *path = xasprintf("%s/%s", k->o->tree, records[i]);

		mkdir(path, 0700); /* there may be none yet */
		inotify_add_watch(fd, path, IN_CREATE | IN_DELETE | IN_MODIFY | IN_MOVED_TO);
	}
	return fd;
}

/* Of several containers that ask for it the one that does so most often. */
static void set_saving(struct kept *w, const struct workspace_holder *by, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t every = by[i].every_s > 0 && by[i].every_s < INT32_MAX && by[i].keep > 0
			? by[i].every_s * NS_PER_S
			: 0;

		if (every && (!w->every_ns || every < w->every_ns)) {
			w->every_ns = every;
			w->keep = by[i].keep;
		}
	}
	w->save_ns = clock_mono_ns() + w->every_ns;
}

static void take_over_kept(struct kept *w, const struct kept *old)
{
	w->told = old->told;
	w->saver = old->saver;
	w->changed_ns = old->changed_ns;
	w->flags.since_ns = old->flags.since_ns;
	w->flags.sums.small = old->flags.sums.small;
	w->flags.sums.small_ns = old->flags.sums.small_ns;
	if (w->every_ns == old->every_ns)
		w->save_ns = old->save_ns;
}

static void add_kept(
	struct keeper *k, const struct workspace_info *i, const struct kept *old, size_t nold)
{
	struct workspace_holder by[WORKSPACE_HOLDERS_MAX];
	struct err ignored = ERR_INIT;
	struct kept w = {.info = *i, .limits = k->o->usual, .anew = true};
	size_t held = workspace_holders(k->all, i, by);

	if (!held)
		return;
	w.tree.root = workspace_enter(k->all, i->kind, i->name, &ignored);
	if (w.tree.root < 0)
		return;
	w.tree.anew = w.tree.changed = true;
	workspace_limits(k->all, i, &w.limits);
	set_saving(&w, by, held);
	for (size_t n = 0; n < nold; n++)
		if (old[n].info.kind == i->kind && old[n].info.inode == i->inode)
			take_over_kept(&w, &old[n]);
	k->kept[k->n++] = w;
}

static void close_watches(struct keeper *k)
{
	watched_close(&k->watched);
	if (k->records >= 0)
		close(k->records);
	k->records = -1;
}

/* All watches are made anew: seldom, when an agent goes up or down or a person says something. */
static int load_kept(struct keeper *k, struct err *e)
{
	AUTO_FREE struct workspace_info *list = NULL;
	struct kept *old = k->kept;
	size_t n, nold = k->n;

	close_watches(k);
	if (watched_open(&k->watched, e))
		return -1;
	k->records = watch_records(k);
	if (workspace_list(k->all, &list, &n, e))
		return -1;
	k->n = 0;
	k->news = true;
	k->kept = xcalloc(n + 1, sizeof *k->kept);
	for (size_t i = 0; i < n; i++)
		add_kept(k, &list[i], old, nold);
	release_kept(old, nold);
	return 0;
}

/* -- what is done ------------------------------------------------------------------------------------- */

struct breaching {
	struct keeper *k;
	struct kept *w;
	struct freeze f;
	char why[256];
};

static void describe_breach(struct breaching *b)
{
	char used[FORMAT_MAX], most[FORMAT_MAX], files[FORMAT_MAX], many[FORMAT_MAX];
	const struct kept *w = b->w;
	bool bytes = w->limits.bytes && w->used.bytes > w->limits.bytes;

	if (bytes)
		snprintf(b->why, sizeof b->why, "the %s %.64s holds %s, and its limit is %s",
			workspace_kind_name(w->info.kind), w->info.name,
			format_bytes(used, w->used.bytes), format_bytes(most, w->limits.bytes));
	else
		snprintf(b->why, sizeof b->why, "the %s %.64s holds %s files, and its limit is %s",
			workspace_kind_name(w->info.kind), w->info.name,
			format_count(files, w->used.files), format_count(many, w->limits.files));
}

static int do_breach(void *ctx, struct audit_record *r, struct err *e)
{
	struct breaching *b = ctx;

	(void)r;
	switch (b->w->limits.breach) {
	case WORKSPACE_FREEZE: return freeze_hold(&b->f, b->why, e);
	/* Who stands still, for it was another thing that should happen, cannot die. */
	case WORKSPACE_KILL:
		return freeze_thaw(&b->f, e) < 0 || freeze_end_busy(&b->f, END_MS, e) ? -1 : 0;
	case WORKSPACE_REFUSE:
		return freeze_thaw(&b->f, e) < 0 || freeze_refuse(&b->f, b->why, e) ? -1 : 0;
	default: return 0;
	}
}

static int do_let_go(void *ctx, struct audit_record *r, struct err *e)
{
	struct breaching *b = ctx;

	(void)r;
	return freeze_thaw(&b->f, e) < 0 ? -1 : 0;
}

static void record_kept(struct breaching *b, enum operation operation, record_act_fn *act)
{
	AUTO_FREE char *path =
		xasprintf("%s/%s", workspace_kind_folder(b->w->info.kind), b->w->info.name);
	char bytes[24], files[24];
	struct key_value kv[] = {{.key = "bytes", .value = bytes}, {.key = "files", .value = files},
		{.key = "action", .value = workspace_breach_name(b->w->limits.breach)}};
	struct audit_record r = {.operation = operation,
		.target_type = "workspace",
		.name = path,
		.nparams = COUNT(kv),
		.params = kv};
	struct err why = ERR_INIT;

	snprintf(bytes, sizeof bytes, "%" PRIu64, b->w->used.bytes);
	snprintf(files, sizeof files, "%" PRIu64, b->w->used.files);
	if (record_act(b->k->o->by, &r, NULL, act, b, &why))
		fprintf(stderr, "berth: %s\n", why.msg);
	recorder_settle_on(b->k->o->by);
}

static bool stands_already(const struct freeze *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (!lane_frozen(f->box[i].init, f->box[i].id))
			return false;
	return true;
}

static bool refuses_already(const struct freeze *f)
{
	char why[256];

	for (size_t i = 0; i < f->n; i++)
		if (!freeze_refuses(&f->box[i], why, sizeof why))
			return false;
	return true;
}

static bool is_frozen_here(const struct freeze *f)
{
	struct lane_hold h;

	for (size_t i = 0; i < f->n; i++)
		if (lane_hold_read(f->box[i].id, &h) && !h.brief && h.by == getpid())
			return true;
	return false;
}

static bool is_held_here(const struct freeze *f)
{
	char why[256];

	for (size_t i = 0; i < f->n; i++)
		if (freeze_refuses(&f->box[i], why, sizeof why))
			return true;
	return is_frozen_here(f);
}

/* What was done is not done again, unless it is needed again. */
static bool needs_no_more(const struct kept *w)
{
	const struct freeze_box *box;

	switch (w->limits.breach) {
	case WORKSPACE_FREEZE: return stands_already(&w->of);
	case WORKSPACE_REFUSE: return refuses_already(&w->of) && !is_frozen_here(&w->of);
	case WORKSPACE_KILL: return w->told && !freeze_busy(&w->of, &box);
	default: return w->told;
	}
}

/* The engine could not be asked, say; and what stands still changes nothing that would be looked at. */
static void try_again(struct kept *w)
{
	w->told = w->tree.changed = true;
	w->again_ns = w->again_ns ? w->again_ns * 2 : LONGEST_NS;
	if (w->again_ns > RARELY_NS)
		w->again_ns = RARELY_NS;
	w->next_ns = clock_mono_ns() + w->again_ns;
}

/* By the limits as they are now: a person who lets it go on says first that it may. */
static bool is_over_now(const struct keeper *k, struct kept *w)
{
	w->limits = k->o->usual;
	workspace_limits(k->all, &w->info, &w->limits);
	return workspace_over(&w->limits, &w->used);
}

static void judge_kept(struct keeper *k, struct kept *w)
{
	struct breaching b = {.k = k, .w = w, .f = w->of};
	bool over = workspace_over(&w->limits, &w->used);

	if (!over && !w->told && !w->anew)
		return;
	w->anew = false;
	if (!over) {
		if (is_held_here(&b.f))
			record_kept(&b, OP_WORKSPACE_THAW, do_let_go);
		w->told = false;
		if (is_held_here(&b.f))
			try_again(w);
		else
			w->again_ns = 0;
	} else if (!needs_no_more(w) && is_over_now(k, w)) {
		describe_breach(&b);
		record_kept(&b, OP_WORKSPACE_BREACH, do_breach);
		w->told = true;
	}
}

/* -- when -------------------------------------------------------------------------------------------- */

static uint64_t pick_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t subtract_used(uint64_t most, uint64_t used)
{
	return most > used ? most - used : 0;
}

/* How long it takes until a limit can be reached. */
static int64_t headroom_ns(const struct kept *w)
{
	const struct workspace_limits *l = &w->limits;
	uint64_t bytes = l->let_bytes > l->bytes ? l->let_bytes : l->bytes;
	uint64_t files = l->let_files > l->files ? l->let_files : l->files;
	uint64_t ns = LONGEST_NS;

	if (l->bytes)
		ns = pick_least(ns, subtract_used(bytes, w->used.bytes) / BYTES_PER_NS);
	if (l->files && subtract_used(files, w->used.files) < ns / NS_PER_FILE)
		ns = subtract_used(files, w->used.files) * NS_PER_FILE;
	return (int64_t)ns;
}

/* By the file engine, where watches are not enough. */
static void count_blind(struct kept *w)
{
	struct err ignored = ERR_INIT;

	workspace_amount(w->tree.root, &w->used, NULL, NULL, &ignored);
	w->tree.changed = true;
}

static void count_kept(struct keeper *k, struct kept *w)
{
	struct err ignored = ERR_INIT;
	int64_t start = clock_mono_ns(), least, wait;
	bool all = w->unsure && start >= w->sure_ns;

	if (all)
		watched_doubt(&k->watched, &w->tree);
	watched_count(&k->watched, &w->tree);
	w->unsure = !all;
	w->tree.changed |= w->unsure;
	w->used = w->tree.sum;
	if (w->tree.blind)
		count_blind(w);
	w->of = (struct freeze){.pause = k->o->pause, .ctx = k->o->ctx};
	if (!freeze_find(&w->of, w->tree.root, &ignored))
		sum_add(&w->used.bytes, keeper_unlinked(&w->of, w->tree.root));
	w->known = k->news = true;
	least = (clock_mono_ns() - start) * SHARE;
	if (least < PACE_NS)
		least = PACE_NS;
	if (all)
		w->sure_ns = start + least + LONGEST_NS;
	wait = headroom_ns(w);
	w->next_ns = clock_mono_ns() + (wait < least ? least : wait);
	judge_kept(k, w);
}

static void look_for_flags(struct keeper *k, struct kept *w)
{
	AUTO_FREE char *place = xasprintf(
		"%s/%s/%s", k->o->tree, workspace_kind_folder(w->info.kind), w->info.name);
	int64_t start = clock_mono_ns(), least;

	kept_flags_look(&w->flags, &k->watched, &w->tree, place, live_since(k->all, &w->info));
	w->flags_ns = clock_wall_ms() * NS_PER_MS;
	k->news = true;
	least = (clock_mono_ns() - start) * SHARE;
	w->look_ns = clock_mono_ns() + (least < LONGEST_NS ? LONGEST_NS : least);
}

static void look_due(struct keeper *k)
{
	for (size_t i = 0; i < k->n; i++) {
		struct kept *w = &k->kept[i];

		if (w->tree.fresh && !w->tree.blind && clock_mono_ns() >= w->look_ns)
			look_for_flags(k, w);
	}
	malloc_trim(0);
}

/* What is seen to happen is noted here; what it comes to when it is counted. */
static void note_changes(struct keeper *k)
{
	for (size_t i = 0; i < k->n; i++) {
		if (k->kept[i].tree.touched)
			k->kept[i].changed_ns = clock_wall_ms() * NS_PER_MS;
		k->kept[i].tree.touched = false;
	}
}

static void describe_kept(const struct kept *w, struct live *ret)
{
	const struct watched_tree *t = &w->tree;

	*ret = (struct live){.kind = w->info.kind,
		.inode = w->info.inode,
		.amount = w->used,
		.bytes = t->sizes > UINT64_MAX ? UINT64_MAX : (uint64_t)t->sizes,
		.files = t->files,
		.partly = t->blind,
		.changed_ns = w->changed_ns,
		.flags = w->flags.sums,
		.flags_ns = w->flags_ns};
	if (t->blind)
		ret->flags = (struct flag_sums){.unread = 1};
	snprintf(ret->name, sizeof ret->name, "%s", w->info.name);
}

/* For who shows it.  A disk that takes nothing more costs no more than that. */
static void tell_others(struct keeper *k)
{
	AUTO_FREE struct live *all = NULL;
	struct err ignored = ERR_INIT;
	size_t n = 0;

	if (!k->news || k->live < 0 || clock_mono_ns() < k->tell_ns)
		return;
	all = xcalloc(k->n + 1, sizeof *all);
	for (size_t i = 0; i < k->n; i++)
		if (k->kept[i].known)
			describe_kept(&k->kept[i], &all[n++]);
	live_write(k->all, all, n, &ignored);
	k->news = false;
	k->tell_ns = clock_mono_ns() + TELL_NS;
}

static bool any_dirty(const struct keeper *k)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->kept[i].tree.changed || (k->kept[i].tree.fresh && !k->kept[i].tree.blind))
			return true;
	return false;
}

static void count_due(struct keeper *k)
{
	int64_t now = clock_mono_ns();

	for (size_t i = 0; i < k->n; i++) {
		struct kept *w = &k->kept[i];

		if (w->tree.changed && now >= w->next_ns)
			count_kept(k, w);
	}
}

/* One at a time of each; who makes it tells the log, and drops what is too old. */
static void save_due(struct keeper *k)
{
	for (size_t i = 0; i < k->n; i++) {
		struct kept *w = &k->kept[i];
		char path[16 + WORKSPACE_NAME_MAX];

		if (!w->every_ns || clock_mono_ns() < w->save_ns || w->saver)
			continue;
		snprintf(path, sizeof path, "%s/%s", workspace_kind_folder(w->info.kind),
			w->info.name);
		w->saver = k->o->save(k->o->ctx, path, w->keep);
		if (w->saver < 0)
			w->saver = 0;
		w->save_ns = clock_mono_ns() + w->every_ns;
	}
}

/* Also those of workspaces that nobody has any more. */
static void reap_savers(struct keeper *k)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->kept[i].saver > 0 && waitpid(k->kept[i].saver, NULL, WNOHANG) != 0)
			k->kept[i].saver = 0;
}

static int64_t pick_sooner(int64_t ms, int64_t left)
{
	return left >= ms ? ms : left < 0 ? 0 : left;
}

/* Until something has to be looked at, whether or not anything changes. */
static int wait_ms(const struct keeper *k)
{
	int64_t ms = kept_past_wait_ms(&k->past), now = clock_mono_ns();

	if (kept_idle_wait_ms(&k->idle) < ms)
		ms = kept_idle_wait_ms(&k->idle);
	ms = pick_sooner(ms, kept_terminals_wait_ms(&k->terminals));
	if (ms > ALIVE_MS)
		ms = ALIVE_MS;
	if (k->news && k->live >= 0)
		ms = pick_sooner(ms, (k->tell_ns - now) / NS_PER_MS + 1);

	for (size_t i = 0; i < k->n; i++) {
		if (k->kept[i].every_ns && !k->kept[i].saver)
			ms = pick_sooner(ms, (k->kept[i].save_ns - now) / NS_PER_MS + 1);
	}
	return (int)ms;
}

/* What the kernel lost may have been anywhere. */
static void count_all_anew(struct keeper *k)
{
	for (size_t i = 0; i < k->n; i++)
		k->kept[i].tree.anew = k->kept[i].tree.changed = true;
}

/* The containers may have gone in another way than by `down`. */
static bool nobody_is_there(struct keeper *k)
{
	if (kept_ends_any(&k->ends) || kept_idle_any(&k->idle) || kept_terminals_any(&k->terminals))
		return false;
	for (size_t i = 0; i < k->n; i++) {
		struct freeze f = {0};
		struct err ignored = ERR_INIT;

		if (freeze_find(&f, k->kept[i].tree.root, &ignored) || f.n)
			return false;
	}
	return true;
}

static int open_ends(void)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGHUP);
	signal(SIGPIPE, SIG_IGN); /* the watcher may be gone before it is told */
	sigprocmask(SIG_BLOCK, &ends, NULL);
	return signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int keep_going(struct keeper *k, struct err *e)
{
	unsigned missed = 0;
	int64_t look_ns = clock_mono_ns() + ALIVE_NS;

	kept_idle_go_on(&k->idle);
	kept_terminals_go_on(&k->terminals);
	while ((k->n || kept_ends_any(&k->ends) || kept_idle_any(&k->idle) ||
		       kept_terminals_any(&k->terminals)) &&
		!k->stop && missed < 2) {
		bool busy = any_dirty(k);
		int long_ms = busy ? (int)(PACE_NS / NS_PER_MS) : wait_ms(k),
		    ends_ms = kept_ends_wait_ms(&k->ends);
		/* While something changes it is let happen for a moment: a wake for each write would cost more than
		 * counting. */
		struct pollfd p[] = {{k->stops, POLLIN, 0}, {k->records, POLLIN, 0},
			{busy ? -1 : k->watched.fd, POLLIN, 0}, {k->ends.fd, POLLIN, 0}};
		int n = poll(p, COUNT(p), ends_ms < 0 || ends_ms > long_ms ? long_ms : ends_ms);

		k->stop = p[0].revents != 0;
		if (watched_drain(&k->watched))
			count_all_anew(k);
		note_changes(k);
		if (p[1].revents && load_kept(k, e))
			return -1;
		count_due(k);
		look_due(k);
		tell_others(k);
		kept_ends_go_on(&k->ends);
		kept_past_go_on(&k->past);
		kept_idle_go_on(&k->idle);
		kept_terminals_go_on(&k->terminals);
		reap_savers(k);
		save_due(k);
		if (n == 0 && !busy && clock_mono_ns() >= look_ns) {
			missed = nobody_is_there(k) ? missed + 1 : 0;
			look_ns = clock_mono_ns() + ALIVE_NS;
		}
	}
	return 0;
}

/* -- the process -------------------------------------------------------------------------------------- */

static void let_go_all(const struct keeper_options *o, pid_t by)
{
	struct freeze f = {.pause = o->pause, .ctx = o->ctx};

	freeze_left(&f, by);
	lane_wake_all(by);
}

/* A child that outlives it, and thaws what it had frozen.  What ends a terminal's processes is not for it: the
 * signals are blocked by now, and its session is its own. */
static int start_watcher(const struct keeper_options *o)
{
	pid_t self = getpid(), pid;
	char word = 0;
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid > 0) {
		close(p[0]);
		return p[1];
	}
	if (pid < 0) {
		close(p[0]);
		close(p[1]);
		return -1;
	}
	setsid();
	dup2(p[0], 3);
	close_range(4, ~0u, 0);
	while (read(3, &word, 1) < 0 && errno == EINTR)
		;
	if (word != DONE)
		let_go_all(o, self);
	_exit(0);
}

int keeper_run(const struct keeper_options *o, struct err *e)
{
	AUTO_CLOSE int place = keeper_take_place(e);
	AUTO_CLOSE int ends = place < 0 ? -1 : open_ends();
	struct keeper k = {.o = o,
		.watched.fd = -1,
		.ends = {.fd = -1, .files = -1},
		.records = -1,
		.live = -1,
		.terminals = {.start = o->start_terminal, .ctx = o->ctx},
		.stops = ends};
	AUTO_CLOSE int guard = place < 0 ? -1 : start_watcher(o);
	struct err ignored = ERR_INIT;
	const char done = DONE;
	int rc = -1;

	if (place < 0)
		return -1;
	if (guard < 0)
		return err_sys(e, errno, "cannot start the process that would thaw what is frozen");
	kept_past_open(&k.past);
	kept_idle_open(&k.idle, o->by);
	k.all = workspaces_open(o->tree, e);
	if (k.all)
		k.live = live_start(k.all, &ignored); /* without it limits are kept as well */
	if (k.all && !load_kept(&k, e) && !kept_ends_open(&k.ends, o->by, e))
		rc = keep_going(&k, e);
	kept_terminals_close(&k.terminals);
	kept_idle_close(&k.idle);
	kept_past_close(&k.past);
	kept_ends_close(&k.ends);
	let_go_all(o, getpid());
	if (write(guard, &done, 1) < 0 && rc == 0)
		rc = err_sys(
			e, errno, "the process that would thaw what is frozen was gone before");
	release_kept(k.kept, k.n);
	close_watches(&k);
	if (k.live >= 0)
		close(k.live);
	workspaces_close(k.all);
	return rc;
}
