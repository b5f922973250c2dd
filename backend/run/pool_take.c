/* pool_take.c - finds the pool of a call and takes a container from it. */
#include "run/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/hash.h>
#include <berth/mem.h>

#include "lane/lane.h"

static void mix_hash(uint64_t *h, const char *text)
{
	*h = hash_string(*h, text ? text : "\x01");
}

static void mix_words(uint64_t *h, const struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		mix_hash(h, w->word[i]);
	mix_hash(h, NULL);
}

/* Where each secret of the tool comes from: the same name elsewhere is another secret. */
static void mix_secrets(uint64_t *h, const struct team *t, const struct tool_def *d)
{
	static const char *const from[] = {"env", "file", "command"};

	mix_words(h, &d->secrets);
	for (size_t i = 0; i < d->secrets.n; i++)
		for (size_t k = 0; k < t->nsecrets; k++)
			if (!strcmp(t->secrets[k].name, d->secrets.word[i])) {
				mix_hash(h, from[t->secrets[k].from]);
				mix_hash(h, t->secrets[k].source);
				mix_words(h, &t->secrets[k].command);
			}
}

/* What is mounted stays the file that it was, also when another takes its name. */
static void mix_script(uint64_t *h, const char *script)
{
	char which[64] = "";
	struct stat st;

	if (script && !stat(script, &st))
		snprintf(which, sizeof which, "%llu %llu", (unsigned long long)st.st_dev,
			(unsigned long long)st.st_ino);
	mix_hash(h, script);
	mix_hash(h, which);
}

/* Everything that shapes the container; not the command, which comes with the call.  Its secrets and its network
 * are the team's: no other team file finds it. */
void pool_key(const char *engine, const struct team *t, const struct tool_def *d,
	const char *workspace, char key[POOL_KEY])
{
	uint64_t h = HASH_START;
	char limits[256];

	snprintf(limits, sizeof limits, "%llu %.4f %lld %llu %llu %lld %d %d",
		(unsigned long long)d->limits.memory_bytes, d->limits.cpus,
		(long long)d->limits.pids, (unsigned long long)d->limits.tmp_bytes,
		(unsigned long long)d->limits.file_bytes, (long long)d->limits.open_files,
		(int)d->network, (int)d->files);
	mix_hash(&h, engine);
	mix_hash(&h, t->path);
	mix_hash(&h, t->base);
	mix_hash(&h, d->name);
	mix_hash(&h, d->image);
	mix_hash(&h, limits);
	mix_hash(&h, d->net_name);
	mix_hash(&h, d->files == TOOL_WORKSPACE ? workspace : NULL);
	mix_words(&h, &d->env);
	mix_script(&h, d->script);
	mix_secrets(&h, t, d);
	snprintf(key, POOL_KEY, "%016llx", (unsigned long long)h);
}

struct tool_box *pool_take(const char *engine, const struct team *t, const struct tool_def *d,
	const char *workspace, struct pool_claim *claim)
{
	char key[POOL_KEY];
	struct pool_ticket ticket;

	claim->fd = -1;
	if (d->pool_size <= 0)
		return NULL;
	pool_key(engine, t, d, workspace, key);
	while (registry_take(key, &ticket, &claim->fd, claim->path)) {
		struct tool_box *b = xcalloc(1, sizeof *b);
		struct lane_about about;

		*b = (struct tool_box){.team = t,
			.def = d,
			.ready_ns = ticket.ready_ns,
			.pool = true,
			.asked = true,
			.guest = ticket.guest};
		arena_init(&b->mem, 512);
		memcpy(b->name, ticket.name, sizeof b->name);
		memcpy(b->id, ticket.id, sizeof b->id);
		memcpy(b->session, ticket.session, sizeof b->session);
		b->network = *ticket.network ? arena_strdup(&b->mem, ticket.network) : NULL;
		snprintf(b->engine, sizeof b->engine, "%s", ticket.engine);
		/* The lane proves by the cgroup whose init answers; one that died is its keeper's to
		 * remove, once the claim is let go. */
		if (tool_box_alive(b) && !lane_find(b->name, &about, NULL) &&
			!strcmp(about.id, b->id))
			return b;
		arena_release(&b->mem);
		free(b);
		close(claim->fd);
		claim->fd = -1;
	}
	return NULL;
}

void pool_done(struct pool_claim *claim)
{
	if (claim->fd >= 0)
		registry_done(claim->fd, claim->path);
	claim->fd = -1;
}
