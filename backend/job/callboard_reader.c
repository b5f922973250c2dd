/* callboard_reader.c - everybody's calls, read without trusting any of the files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/runtime.h>

#include "job/board.h"
#include "job/board_layout.h"

#define SERVERS_MAX 256 /* more files than this in the folder are not ours to read */
#define TORN_RETRIES 3

struct call_list {
	struct call_info *call;
	size_t n, cap;
};

static DIR *open_calls_folder(void)
{
	char top[PATH_MAX], dir[PATH_MAX];
	int fd;
	DIR *d;

	if (runtime_dir(top, sizeof top, NULL) < 0 ||
		runtime_subdir(dir, sizeof dir, top, CALLS_FOLDER, NULL) < 0)
		return NULL;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* A regular file of ours, of exactly the right size. */
static int open_calls(int folder, const char *name, struct calls_header *h)
{
	AUTO_CLOSE int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		st.st_size != (off_t)CALLS_BYTES || pread(fd, h, sizeof *h, 0) != sizeof *h ||
		memcmp(h->magic, CALLS_MAGIC, sizeof h->magic) != 0 ||
		h->version != CALLS_VERSION || h->slots != CALLS_KEPT ||
		h->slot_size != sizeof(struct call_slot) || h->pid <= 0)
		return -1;
	h->agent[sizeof h->agent - 1] = '\0';
	return steal_fd(&fd);
}

static bool is_server_alive(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

/* false: it has been dead for long enough, and its file is away. */
static bool keep_dead_server(int folder, const char *name, int fd, struct calls_header *h)
{
	int64_t now = clock_wall_ms(), since = atomic_load(&h->dead_since);

	if (since <= 0 || since > now) {
		since = now;
		if (pwrite(fd, &since, sizeof since, offsetof(struct calls_header, dead_since)) < 0)
			return false;
	}
	if (now - since < CALLS_SHOWN_MS)
		return true;
	unlinkat(folder, name, 0);
	return false;
}

static void take_call_text(char *to, const char *from, size_t cap)
{
	memcpy(to, from, cap);
	to[cap - 1] = '\0';
}

static bool convert_call(
	const struct call_slot *s, const struct calls_header *h, bool dead, struct call_info *c)
{
	int64_t end = s->state == CALL_RUNS ? clock_mono_ns() : s->ended_mono_ns;

	if (!s->serial || s->state > CALL_CANCELLED)
		return false;
	*c = (struct call_info){.pid = h->pid,
		.serial = s->serial,
		.state = dead && s->state == CALL_RUNS ? CALL_LOST : (enum call_state)s->state,
		.started_wall_ms = s->started_wall_ms,
		.in_bytes = s->in_bytes,
		.out_bytes = s->out_bytes};
	c->duration_us =
		c->state == CALL_LOST || s->started_mono_ns <= 0 || end < s->started_mono_ns
		? -1
		: (end - s->started_mono_ns) / 1000;
	take_call_text(c->agent, h->agent, sizeof c->agent);
	take_call_text(c->tool, s->tool, sizeof c->tool);
	take_call_text(c->arguments, s->arguments, sizeof c->arguments);
	take_call_text(c->result, s->result, sizeof c->result);
	return true;
}

static bool is_call_whole(const struct call_slot *before, const struct call_slot *after)
{
	uint64_t seq = atomic_load(&before->seq);

	return !(seq & 1) && seq == atomic_load(&after->seq);
}

static void read_server_calls(
	int fd, const struct calls_header *h, bool dead, struct call_list *out)
{
	size_t bytes = CALLS_KEPT * sizeof(struct call_slot), left = CALLS_KEPT;
	AUTO_FREE struct call_slot *before = xmalloc(bytes), *slots = xmalloc(bytes),
				   *after = xmalloc(bytes);
	bool taken[CALLS_KEPT] = {false};

	for (int attempt = 0; left > 0 && attempt < TORN_RETRIES; attempt++) {
		/* Three readings, so that whatever order one reading copies in does not matter. */
		if (pread(fd, before, bytes, CALLS_HEADER) != (ssize_t)bytes ||
			pread(fd, slots, bytes, CALLS_HEADER) != (ssize_t)bytes ||
			pread(fd, after, bytes, CALLS_HEADER) != (ssize_t)bytes)
			return;
		for (size_t i = 0; i < CALLS_KEPT; i++) {
			if (taken[i] || !(is_call_whole(&before[i], &after[i]) || dead))
				continue;
			taken[i] = true;
			left--;
			out->call = mem_grow(out->call, &out->cap, out->n + 1, sizeof *out->call);
			out->n += convert_call(&slots[i], h, dead, &out->call[out->n]);
		}
	}
}

/* As read in one piece; else with no call that runs. */
static void read_calls_state(int fd, struct calls_state *ret)
{
	struct calls_header h[3];

	for (int attempt = 0; attempt < TORN_RETRIES; attempt++) {
		for (int i = 0; i < 3; i++)
			if (pread(fd, &h[i], sizeof h[i], 0) != sizeof h[i])
				return;
		*ret = h[1].now;
		ret->tool[sizeof ret->tool - 1] = '\0';
		if (!(atomic_load(&h[0].seq) & 1) &&
			atomic_load(&h[0].seq) == atomic_load(&h[2].seq))
			return;
	}
	*ret = (struct calls_state){0};
}

static uint32_t calls_last_minute(const struct calls_state *now)
{
	int64_t second = clock_mono_ns() / 1000000000;
	uint32_t n = 0;

	if (now->second <= 0 || now->second > second)
		return 0;
	for (int64_t i = second - now->second; i < CALLS_SECONDS; i++)
		n += now->made[(second - i) % CALLS_SECONDS];
	return n;
}

static void add_server(
	const struct calls_header *h, const struct calls_state *now, struct call_totals *t)
{
	t->servers++;
	t->calls += atomic_load(&h->calls);
	t->failed += atomic_load(&h->failed);
	t->in_bytes += atomic_load(&h->in_bytes);
	t->out_bytes += atomic_load(&h->out_bytes);
	t->running += now->running;
	t->minute += calls_last_minute(now);
}

/* A server's file, where it is to be read; *alive says whether it runs. */
static int open_server(int folder, const char *name, struct calls_header *h, bool *alive)
{
	AUTO_CLOSE int fd = open_calls(folder, name, h);

	*alive = fd >= 0 && is_server_alive(fd);
	return fd < 0 || (!*alive && !keep_dead_server(folder, name, fd, h)) ? -1 : steal_fd(&fd);
}

static void read_server(int folder, const char *name, const char *agent, struct call_list *out,
	struct call_totals *t)
{
	struct calls_header h;
	struct calls_state now = {0};
	bool alive;
	AUTO_CLOSE int fd = open_server(folder, name, &h, &alive);

	if (fd < 0 || (agent && strcmp(agent, h.agent) != 0))
		return;
	if (alive) {
		read_calls_state(fd, &now);
		add_server(&h, &now, t);
	}
	read_server_calls(fd, &h, !alive, out);
}

static int order_calls(const void *left, const void *right)
{
	const struct call_info *a = left, *b = right;

	if (a->started_wall_ms != b->started_wall_ms)
		return a->started_wall_ms < b->started_wall_ms ? 1 : -1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? 1 : -1;
	return (a->serial < b->serial) - (a->serial > b->serial);
}

/* The next file of the folder that could be a server's; NULL: no more. */
static const char *next_server(DIR *d, size_t *servers)
{
	struct dirent *x;

	while (d && *servers < SERVERS_MAX && (x = readdir(d))) {
		size_t len = strlen(x->d_name), suffix = strlen(CALLS_SUFFIX);

		if (x->d_name[0] == '.' || len <= suffix ||
			strcmp(x->d_name + len - suffix, CALLS_SUFFIX) != 0)
			continue;
		++*servers;
		return x->d_name;
	}
	return NULL;
}

/* The oldest call is what an agent is at. */
static void take_current_call(struct calls_now *to, const struct calls_state *now)
{
	if (!now->serial || (*to->tool && to->started_wall_ms <= now->started_wall_ms))
		return;
	take_call_text(to->tool, now->tool, sizeof to->tool);
	to->started_wall_ms = now->started_wall_ms;
}

size_t calls_read_now(struct calls_of *ret, size_t max)
{
	AUTO_CLOSEDIR DIR *d = open_calls_folder();
	size_t servers = 0, n = 0, i;
	const char *name;

	while ((name = next_server(d, &servers))) {
		struct calls_header h;
		struct calls_state now = {0};
		bool alive;
		AUTO_CLOSE int fd = open_server(dirfd(d), name, &h, &alive);

		if (fd < 0 || !alive)
			continue;
		for (i = 0; i < n && strcmp(ret[i].agent, h.agent) != 0; i++)
			;
		if (i == max)
			continue;
		if (i == n) {
			ret[n] = (struct calls_of){0};
			take_call_text(ret[n++].agent, h.agent, sizeof h.agent);
		}
		read_calls_state(fd, &now);
		add_server(&h, &now, &ret[i].now.totals);
		take_current_call(&ret[i].now, &now);
	}
	return n;
}

size_t calls_read(const char *agent, struct call_info *ret, size_t max, struct call_totals *totals)
{
	AUTO_CLOSEDIR DIR *d = open_calls_folder();
	struct call_list found = {0};
	size_t servers = 0, n;
	const char *name;

	*totals = (struct call_totals){0};
	while ((name = next_server(d, &servers)))
		read_server(dirfd(d), name, agent, &found, totals);
	mem_sort(found.call, found.n, sizeof *found.call, order_calls);
	n = found.n < max ? found.n : max;
	if (n)
		memcpy(ret, found.call, n * sizeof *ret);
	free(found.call);
	return n;
}
