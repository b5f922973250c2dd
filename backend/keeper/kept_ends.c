/* kept_ends.c - lists the egress processes of agents, and restarts those that died. */
#include "keeper/kept_ends.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/keeper.h>
#include <berth/mem.h>
#include <berth/spawn.h>

#include "egress/egress.h"
#include "lane/lane.h"

#define ENDS_MAX 1024
#define FINDERS_MAX 16                /* at once */
#define COMES_NS INT64_C(300000000)   /* `up` has written the rules, and is about to start it */
#define AGAIN_NS INT64_C(500000000)   /* the second try; then twice that, and so on */
#define LIVES_NS INT64_C(60000000000) /* who lived for so long has begun well */
#define TRIES 8

struct found_end {                       /* by the child; plain bytes */
	int32_t end, init;               /* 0: there is none, and `why` says why */
	uint32_t started, gone, missing; /* gone: its container is */
	char why[256];
};

struct kept_end {
	char name[64];
	int watch, init; /* pidfds; -1: not known */
	int child;       /* a pipe that its finder answers on; -1: none runs */
	pid_t finder;
	int64_t next_ns, since_ns; /* to be looked for; found */
	unsigned tries;
	bool left; /* to the next `up` */
};

/* -- the child ----------------------------------------------------------------------------------------- */

static int note_found(const struct egress_usage *u, struct found_end *f)
{
	f->end = u->self;
	f->init = u->init;
	return 0;
}

/* With the routes that it had. */
static int start_found(const char *name, struct found_end *f, struct err *e)
{
	AUTO_STR struct str text = STR_INIT, routes = STR_INIT;
	struct lane_about about;
	int r;

	if (lane_find(name, &about, e) || egress_kept_routes(name, &text, e))
		return -1;
	if (strcmp(about.name, name) != 0)
		return err_set(e, ERR_NOT_FOUND, "%s is not up", name);
	keeper_resolve_routes(text.s, &routes, &f->missing);
	r = egress_start_again(name, about.id, routes.s, routes.len, e);
	explicit_bzero(routes.s, routes.len);
	f->started = r == 0;
	return r < 0 ? -1 : 0;
}

/* Finds it, or starts it.  One that is there and does not answer in time is not another one's to replace. */
static int find_end(const char *name, struct found_end *f, struct err *e)
{
	struct err why = ERR_INIT;
	struct egress_usage u;

	if (!egress_ask_usage(name, &u, &why))
		return note_found(&u, f);
	if (why.kind != ERR_NOT_FOUND)
		return err_copy(e, &why);
	why = (struct err)ERR_INIT;
	if (start_found(name, f, &why)) {
		f->gone = why.kind == ERR_NOT_FOUND;
		return err_copy(e, &why);
	}
	return egress_ask_usage(name, &u, e) ? -1 : note_found(&u, f);
}

/* Nothing of the keeper's stays open in it: its place above all. */
static void become_finder(const char *name, int out)
{
	struct found_end f = {0};
	struct err why = ERR_INIT;

	dup2(out, 3);
	close_range(4, ~0u, 0);
	if (find_end(name, &f, &why))
		snprintf(f.why, sizeof f.why, "%.255s", why.msg);
	_exit(write(3, &f, sizeof f) == (ssize_t)sizeof f ? 0 : 1);
}

/* -- one end ------------------------------------------------------------------------------------------- */

static void watch_end_fd(const struct kept_ends *k, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN};

	epoll_ctl(k->fd, EPOLL_CTL_ADD, fd, &ev);
}

static bool is_ready(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};

	return fd >= 0 && poll(&p, 1, 0) > 0;
}

static void forget_end_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void reap_finder(struct kept_end *x)
{
	forget_end_fd(&x->child);
	while (waitpid(x->finder, NULL, 0) < 0 && errno == EINTR)
		;
}

static void release_end(struct kept_end *x)
{
	forget_end_fd(&x->watch);
	forget_end_fd(&x->init);
	if (x->child < 0)
		return;
	kill(x->finder, SIGKILL);
	reap_finder(x);
}

/* By a number that was true a moment ago: it must be one of ours by now, too. */
static int open_end_process(pid_t pid)
{
	AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	char comm[32] = "";

	if (fd < 0 || proc_file(pid, "comm", comm, sizeof comm))
		return -1;
	return strncmp(comm, EGRESS_PROGRAM, strlen(EGRESS_PROGRAM)) ? -1 : steal_fd(&fd);
}

/* At once; then later each time, and at last not at all. */
static void try_end_again(struct kept_end *x)
{
	x->next_ns = clock_mono_ns() + (x->tries ? AGAIN_NS << (x->tries - 1) : 0);
	x->left = x->tries++ == TRIES;
}

static void begin_find(const struct kept_ends *k, struct kept_end *x)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC)) {
		try_end_again(x);
		return;
	}
	x->finder = spawn_fork();
	if (!x->finder)
		become_finder(x->name, p[1]);
	close(p[1]);
	if (x->finder < 0) {
		close(p[0]);
		try_end_again(x);
		return;
	}
	x->child = p[0];
	watch_end_fd(k, x->child);
}

static int tell_end_again(void *ctx, struct audit_record *r, struct err *e)
{
	const struct found_end *f = ctx;

	(void)r;
	return f->end ? 0 : err_set(e, ERR_FAILED, "%s", f->why);
}

static void record_end_again(
	const struct kept_ends *k, const struct kept_end *x, struct found_end *f)
{
	char missing[16];
	const struct key_value kv = {"unresolved", missing, false};
	const struct audit_record r = {.operation = OP_NET_RESTART,
		.target_type = "container",
		.name = x->name,
		.params = &kv,
		.nparams = 1};
	struct err why = ERR_INIT;

	snprintf(missing, sizeof missing, "%u", f->missing);
	if (record_act(k->by, &r, NULL, tell_end_again, f, &why))
		fprintf(stderr, "berth: %s\n", why.msg);
	recorder_settle_on(k->by);
}

static void take_found_end(const struct kept_ends *k, struct kept_end *x, struct found_end *f)
{
	if (f->end) {
		x->init = (int)syscall(SYS_pidfd_open, f->init, 0);
		x->watch = open_end_process(f->end);
	}
	x->since_ns = clock_mono_ns();
	if (x->watch >= 0)
		watch_end_fd(k, x->watch);
	else if (f->gone)
		x->left = true;
	else
		try_end_again(x);
	if (f->started || (x->left && !f->gone))
		record_end_again(k, x, f);
}

static void hear_finder(const struct kept_ends *k, struct kept_end *x)
{
	struct found_end f;

	if (read(x->child, &f, sizeof f) != (ssize_t)sizeof f)
		f = (struct found_end){.why = "the process that should start it has died"};
	f.why[sizeof f.why - 1] = '\0';
	reap_finder(x);
	take_found_end(k, x, &f);
}

/* With its init it ends as it should. */
static void take_death(struct kept_end *x)
{
	bool ended = x->init < 0 || is_ready(x->init);

	forget_end_fd(&x->watch);
	forget_end_fd(&x->init);
	if (clock_mono_ns() - x->since_ns > LIVES_NS)
		x->tries = 0;
	try_end_again(x);
	x->left |= ended;
}

static bool is_due(const struct kept_end *x)
{
	return !x->left && x->watch < 0 && x->child < 0;
}

/* -- all of them --------------------------------------------------------------------------------------- */

static struct kept_end *find_kept_end(const struct kept_ends *k, const char *name)
{
	for (size_t i = 0; i < k->n; i++)
		if (!strcmp(k->end[i].name, name))
			return &k->end[i];
	return NULL;
}

/* Who is there by now; those that have gone are forgotten. */
static void list_ends(struct kept_ends *k, int64_t wait_ns)
{
	char(*names)[64] = xcalloc(ENDS_MAX, sizeof *names);
	size_t n = egress_names(names, ENDS_MAX);
	struct kept_end *all = xcalloc(n + 1, sizeof *all);

	for (size_t i = 0; i < n; i++) {
		struct kept_end *old = find_kept_end(k, names[i]);

		if (old) {
			all[i] = *old;
			*old = k->end[--k->n];
			continue;
		}
		all[i] = (struct kept_end){.watch = -1, .init = -1, .child = -1};
		all[i].next_ns = clock_mono_ns() + wait_ns;
		memcpy(all[i].name, names[i], sizeof all[i].name);
	}
	while (k->n)
		release_end(&k->end[--k->n]);
	free(k->end);
	free(names);
	k->end = all;
	k->n = n;
}

/* Rules that are new: `up` is at it, or a person. */
static void take_rules_event(const struct kept_ends *k, const char *file)
{
	static const char rules[] = ".rules";
	size_t len = strlen(file), end = sizeof rules - 1;
	struct kept_end *x;
	char name[64];

	if (len <= end || len - end >= sizeof name || strcmp(file + len - end, rules) != 0)
		return;
	snprintf(name, sizeof name, "%.*s", (int)(len - end), file);
	x = find_kept_end(k, name);
	if (!x || !x->left)
		return;
	x->left = false;
	x->tries = 0;
	x->next_ns = clock_mono_ns() + COMES_NS;
}

static void look_at_files(struct kept_ends *k)
{
	_Alignas(struct inotify_event) char buf[8192];
	bool any = false;
	ssize_t n;

	while ((n = read(k->files, buf, sizeof buf)) > 0)
		for (const char *at = buf; at < buf + n;) {
			const struct inotify_event *ev = (const void *)at;

			any = true;
			if (ev->len)
				take_rules_event(k, ev->name);
			at += sizeof *ev + ev->len;
		}
	if (any)
		list_ends(k, COMES_NS);
}

void kept_ends_go_on(struct kept_ends *k)
{
	size_t finders = 0;
	int64_t now;

	look_at_files(k);
	now = clock_mono_ns();
	for (size_t i = 0; i < k->n; i++) {
		struct kept_end *x = &k->end[i];

		if (is_ready(x->watch))
			take_death(x);
		if (is_ready(x->child))
			hear_finder(k, x);
		finders += x->child >= 0;
	}
	for (size_t i = 0; i < k->n && finders < FINDERS_MAX; i++)
		if (is_due(&k->end[i]) && now >= k->end[i].next_ns) {
			begin_find(k, &k->end[i]);
			finders++;
		}
}

int kept_ends_wait_ms(const struct kept_ends *k)
{
	int64_t least = INT64_MAX, now = clock_mono_ns();
	size_t finders = 0;

	for (size_t i = 0; i < k->n; i++) {
		const struct kept_end *x = &k->end[i];

		finders += x->child >= 0;
		if (is_due(x) && x->next_ns < least)
			least = x->next_ns;
	}
	if (least == INT64_MAX || finders >= FINDERS_MAX)
		return -1;
	return least <= now ? 0 : (int)((least - now) / 1000000) + 1;
}

bool kept_ends_any(const struct kept_ends *k)
{
	for (size_t i = 0; i < k->n; i++)
		if (!k->end[i].left)
			return true;
	return false;
}

int kept_ends_open(struct kept_ends *k, struct recorder *by, struct err *e)
{
	char path[EGRESS_PATH_MAX];

	*k = (struct kept_ends){.by = by, .fd = -1, .files = -1};
	if (egress_place("x", "", path, e))
		return -1;
	*strrchr(path, '/') = '\0';
	k->fd = epoll_create1(EPOLL_CLOEXEC);
	k->files = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (k->fd < 0 || k->files < 0 ||
		inotify_add_watch(k->files, path, IN_MOVED_TO | IN_CREATE | IN_DELETE) < 0)
		return err_sys(e, errno, "%s cannot be watched", path);
	watch_end_fd(k, k->files);
	list_ends(k, 0);
	return 0;
}

void kept_ends_close(struct kept_ends *k)
{
	while (k->n)
		release_end(&k->end[--k->n]);
	free(k->end);
	forget_end_fd(&k->fd);
	forget_end_fd(&k->files);
}
