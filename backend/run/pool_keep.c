/*
 * pool_keep.c - keeps warm containers ready for the tools of a team file, on one thread.
 *
 * It owns what it has made until somebody takes it; the files of run/pool_registry.h say who has what, so it
 * talks to takers in no other way.  A taker that dies is noticed by its lock, and the keeper removes what it
 * had.  If the keeper itself is killed, its containers carry its label berth.owner and are found as orphans.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/pool.h>
#include <berth/spawn.h>

#include "container/container.h"
#include "run/pool.h"

#define TICK_MS 1000
#define RETRY_NS INT64_C(5000000000)
#define RETRY_MAX_NS INT64_C(60000000000)

struct kept {
	unsigned serial;
	struct tool_box *box;
	bool leaving; /* nobody can take it any more; it goes as soon as that can be recorded */
};

struct line { /* one pool */
	const struct tool_def *def;
	char key[POOL_KEY], image[80]; /* image: its id when the containers were made */
	struct pool_board *board;
	int fd;
	struct kept *kept;
	size_t n, cap;
	int64_t retry_ns, wait_ns;
};

struct pool {
	pthread_t thread;
	atomic_bool stop;
	int wake[2], notify;
	char host[512], context[128], guest[4096], file[PATH_MAX], cwd[PATH_MAX];
	struct policy policy;
	struct arena mem;
	/* the thread's */
	struct agents_host *h;
	struct team team;
	struct stat seen; /* of the team file, as it was read */
	bool read;
	struct line *line;
	size_t nlines;
	unsigned serial, left; /* left: could not be removed */
};

static bool is_pool_stopped(void *ctx)
{
	const struct pool *p = ctx;

	return atomic_load(&p->stop);
}

static void forget_box(struct tool_box *b)
{
	arena_release(&b->mem);
	free(b);
}

static int begin_record(struct pool *p, enum operation operation, const struct tool_def *d,
	struct recording *rec, struct err *e)
{
	const struct audit_record r = {
		.operation = operation, .target_type = "container", .name = d->name};

	const struct record_target t = {.secrets = operation == OP_POOL_FILL && d->secrets.n};

	return record_begin_on(rec, &p->h->at.recorder, &r, &t, e);
}

/* One that is ours again, or that its taker left behind.  false: that could not be recorded, so it stays. */
static bool drop_kept(struct pool *p, struct line *l, size_t i)
{
	struct kept k = l->kept[i];
	struct recording rec;
	struct err why = ERR_INIT;
	char id[65];

	l->kept[i].leaving = true;
	if (begin_record(p, OP_POOL_DRAIN, l->def, &rec, &why)) {
		snprintf(l->board->problem, sizeof l->board->problem, "%s", why.msg);
		return false;
	}
	l->kept[i] = l->kept[--l->n];
	snprintf(id, sizeof id, "%s", k.box->id);
	rec.r.target = id;
	p->left += tool_box_drop(p->h, k.box, &why) != 0;
	record_end(&rec, &why);
	registry_forget(l->key, k.serial);
	return true;
}

static void drain_line(struct pool *p, struct line *l)
{
	for (size_t i = l->n; i-- > 0;)
		if (l->kept[i].leaving || registry_withdraw(l->key, l->kept[i].serial))
			drop_kept(p, l, i);
}

/* It carries its label, by which `berth clean` finds it. */
static void leave_behind(struct pool *p, struct line *l, const struct kept *k)
{
	p->left++;
	registry_forget(l->key, k->serial);
}

/* What others have taken is theirs to remove. */
static void close_line(struct pool *p, struct line *l)
{
	drain_line(p, l);
	for (size_t i = 0; i < l->n; i++) {
		if (l->kept[i].leaving)
			leave_behind(p, l, &l->kept[i]);
		forget_box(l->kept[i].box);
	}
	if (l->board)
		registry_board_close(l->key, l->board, l->fd);
	free(l->kept);
}

static void close_lines(struct pool *p)
{
	for (size_t i = 0; i < p->nlines; i++)
		close_line(p, &p->line[i]);
	free(p->line);
	p->line = NULL;
	p->nlines = 0;
	if (p->read)
		team_release(&p->team);
	p->read = false;
}

/* A tool that works in its caller's workspace cannot be made before there is a caller. */
static bool wants_pool(const struct tool_def *d)
{
	return d->pool_size > 0 && (d->files != TOOL_WORKSPACE || d->workspace);
}

static void open_lines(struct pool *p)
{
	struct err e = ERR_INIT;

	if (stat(p->file, &p->seen) || team_read(p->file, p->cwd, &p->team, &e))
		return;
	p->read = true;
	p->line = xcalloc(p->team.ntools + 1, sizeof *p->line);
	for (size_t i = 0; i < p->team.ntools; i++) {
		const struct tool_def *d = &p->team.tools[i];
		struct line *l = &p->line[p->nlines];

		if (!wants_pool(d))
			continue;
		*l = (struct line){.def = d, .wait_ns = RETRY_NS};
		pool_key(p->h->at.info.id, &p->team, d, d->workspace, l->key);
		l->board = registry_board(l->key, &l->fd, &e);
		if (!l->board)
			continue;
		l->board->size = (uint32_t)d->pool_size;
		l->board->idle_ns = (int64_t)d->pool_idle_s * 1000000000;
		snprintf(l->board->tool, sizeof l->board->tool, "%s", d->name);
		p->nlines++;
	}
}

static bool has_file_changed(const struct pool *p)
{
	struct stat now;

	return !stat(p->file, &now) &&
		(now.st_ino != p->seen.st_ino || now.st_size != p->seen.st_size ||
			now.st_mtim.tv_sec != p->seen.st_mtim.tv_sec ||
			now.st_mtim.tv_nsec != p->seen.st_mtim.tv_nsec);
}

/* The image of that name is another one now: what was made from the old one goes. */
static void check_image(struct pool *p, struct line *l)
{
	AUTO_JSON cJSON *root = NULL;
	const char *id;

	if (sync_image(p->h->at.engine, l->def->image, 0, &root, NULL) <= 0)
		return;
	id = ejson_string(root, "Id");
	if (*l->image && strncmp(l->image, id, sizeof l->image - 1))
		drain_line(p, l);
	snprintf(l->image, sizeof l->image, "%s", id);
}

static int offer_box(struct pool *p, struct line *l, struct tool_box *b, struct err *e)
{
	struct pool_ticket t = {
		.guest = b->guest, .ready_ns = b->ready_ns, .idle_ns = l->board->idle_ns};

	snprintf(t.name, sizeof t.name, "%s", b->name);
	snprintf(t.id, sizeof t.id, "%s", b->id);
	snprintf(t.engine, sizeof t.engine, "%s", b->engine);
	snprintf(t.session, sizeof t.session, "%s", b->session);
	snprintf(t.network, sizeof t.network, "%s", b->network ? b->network : "");
	l->kept = mem_grow(l->kept, &l->cap, l->n + 1, sizeof *l->kept);
	l->kept[l->n] = (struct kept){p->serial, b, false};
	if (registry_offer(l->key, p->serial++, &t, e))
		return -1;
	l->n++;
	return 0;
}

static int make_one(struct pool *p, struct line *l)
{
	struct err why = ERR_INIT;
	struct recording rec;
	struct tool_box *b = NULL;
	int failed = begin_record(p, OP_POOL_FILL, l->def, &rec, &why);

	if (!failed) {
		failed = tool_box_make(p->h, &p->team, l->def, NULL, true, p->wake[0], &b, &why);
		if (!failed)
			rec.r.target = b->id;
		if (!failed && offer_box(p, l, b, &why))
			failed = -1;
		record_end(&rec, &why);
		p->left += failed == TOOL_BOX_LEFT;
		if (failed && b)
			p->left += tool_box_drop(p->h, b, NULL) != 0;
	}
	if (!failed) {
		atomic_fetch_add(&l->board->made, 1);
		l->board->problem[0] = '\0';
		l->wait_ns = RETRY_NS;
		return 0;
	}
	if (why.kind != ERR_CANCELLED) {
		atomic_fetch_add(&l->board->failed, 1);
		snprintf(l->board->problem, sizeof l->board->problem, "%s", why.msg);
	}
	l->retry_ns = clock_mono_ns() + l->wait_ns;
	l->wait_ns = l->wait_ns * 2 < RETRY_MAX_NS ? l->wait_ns * 2 : RETRY_MAX_NS;
	return -1;
}

/* How many are ready; those that died, are too old or were left behind go. */
static unsigned count_warm(struct pool *p, struct line *l)
{
	int64_t now = clock_mono_ns(), oldest = 0;
	unsigned warm = 0;

	for (size_t i = l->n; i-- > 0;) {
		struct kept k = l->kept[i];

		if (k.leaving) {
			drop_kept(p, l, i);
			continue;
		}
		switch (registry_look(l->key, k.serial)) {
		case TICKET_TAKEN: break;
		case TICKET_GONE:
			l->kept[i] = l->kept[--l->n];
			forget_box(k.box);
			break;
		case TICKET_ORPHANED: drop_kept(p, l, i); break;
		case TICKET_WARM:
			if (!tool_box_alive(k.box) || now - k.box->ready_ns > l->board->idle_ns) {
				if (registry_withdraw(l->key, k.serial))
					drop_kept(p, l, i);
				break;
			}
			warm++;
			if (!oldest || k.box->ready_ns < oldest)
				oldest = k.box->ready_ns;
		}
	}
	atomic_store(&l->board->warm, warm);
	atomic_store(&l->board->oldest_ns, oldest);
	return warm;
}

static void tend_line(struct pool *p, struct line *l)
{
	check_image(p, l);
	while (!atomic_load(&p->stop) && count_warm(p, l) < l->board->size &&
		clock_mono_ns() >= l->retry_ns)
		if (make_one(p, l))
			break;
	count_warm(p, l);
}

static void sleep_tick(struct pool *p)
{
	struct pollfd f[] = {{p->wake[0], POLLIN, 0}, {p->notify, POLLIN, 0}};
	char events[4096];

	if (poll(f, 2, TICK_MS) > 0 && f[1].revents && read(p->notify, events, sizeof events) < 0)
		f[1].revents = 0;
}

static void *keep_pool(void *arg)
{
	struct pool *p = arg;
	const struct agents_options o = {.host = *p->host ? p->host : NULL,
		.context = *p->context ? p->context : NULL,
		.guest = *p->guest ? p->guest : NULL,
		.program = "pool",
		.policy = &p->policy,
		.stop = is_pool_stopped,
		.stop_ctx = p};

	while (!atomic_load(&p->stop)) {
		struct err e = ERR_INIT;

		if (!p->h)
			p->h = agents_open(&o, &e);
		if (p->h && p->read && has_file_changed(p))
			close_lines(p);
		if (p->h && !p->read)
			open_lines(p);
		for (size_t i = 0; p->h && i < p->nlines; i++)
			tend_line(p, &p->line[i]);
		sleep_tick(p);
	}
	if (p->h) {
		close_lines(p);
		agents_close(p->h);
	}
	return NULL;
}

static bool any_wanted(const char *file, const char *cwd)
{
	struct team t;
	bool any = false;

	if (team_read(file, cwd, &t, NULL))
		return false;
	for (size_t i = 0; i < t.ntools; i++)
		any |= wants_pool(&t.tools[i]);
	team_release(&t);
	return any;
}

struct pool *pool_start(const struct agents_options *o, const char *team, struct err *e)
{
	static const struct policy nothing;
	struct pool *p = xcalloc(1, sizeof *p);
	char dir[PATH_MAX];
	int failed;

	p->notify = p->wake[0] = p->wake[1] = -1;
	if (!getcwd(p->cwd, sizeof p->cwd) || !any_wanted(team, p->cwd) || registry_dir(dir, e) ||
		pipe2(p->wake, O_CLOEXEC)) {
		free(p);
		return NULL;
	}
	snprintf(p->host, sizeof p->host, "%s", o->host ? o->host : "");
	snprintf(p->context, sizeof p->context, "%s", o->context ? o->context : "");
	snprintf(p->guest, sizeof p->guest, "%s", o->guest ? o->guest : "");
	/* The file that was judged; where a link on the way leads later is for the next start. */
	if (!realpath(team, p->file))
		snprintf(p->file, sizeof p->file, "%s", team);
	arena_init(&p->mem, 512);
	policy_copy(&p->policy, o->policy ? o->policy : &nothing, &p->mem);
	p->notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (p->notify >= 0)
		inotify_add_watch(p->notify, dir, IN_MOVED_FROM | IN_DELETE);
	failed = spawn_thread(&p->thread, keep_pool, p);
	if (!failed)
		return p;
	err_sys(e, failed, "cannot start the keeper of the pools");
	close(p->wake[0]);
	close(p->wake[1]);
	cleanup_close(&p->notify);
	arena_release(&p->mem);
	free(p);
	return NULL;
}

unsigned pool_stop(struct pool *p)
{
	unsigned left;

	if (!p)
		return 0;
	atomic_store(&p->stop, true);
	if (write(p->wake[1], "x", 1) < 0)
		atomic_store(&p->stop, true); /* it looks once a second anyway */
	pthread_join(p->thread, NULL);
	close(p->wake[0]);
	close(p->wake[1]);
	cleanup_close(&p->notify);
	arena_release(&p->mem);
	left = p->left;
	free(p);
	return left;
}
