/*
 * team_shared.c - finds agents that share a writable path and therefore share network access.
 *
 * Rules are one agent's.  Where another one can write what it reads, or read what it writes, the other can have
 * fetched, and sent, what its own rules do not let it: neither berth nor a kernel can see whose wish it was.
 */
#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>

#include "team/mounts.h"
#include "team/team_forms.h"

#define SHARERS_NAMED 8

struct shown_path {
	const char *path;
	bool write;
};

/* The agent's paths by number: its workspace, then what it was granted; false: there are no more. */
static bool find_shown_path(const struct agent_def *a, size_t i, struct shown_path *ret)
{
	const struct path_grant *g = i && i <= a->npaths ? &a->paths[i - 1] : NULL;

	if (i > a->npaths)
		return false;
	*ret = g ? (struct shown_path){g->source ? g->source : g->path, g->write || g->final}
		 : (struct shown_path){a->workspace, true};
	return true;
}

/* What both see and one can write; NULL: nothing. */
static const char *find_shared_path(const struct agent_def *a, const struct agent_def *b)
{
	struct shown_path x, y;

	for (size_t i = 0; find_shown_path(a, i, &x); i++)
		for (size_t k = 0; find_shown_path(b, k, &y); k++) {
			if (!x.path || !y.path || !(x.write || y.write))
				continue;
			if (mounts_within(x.path, y.path))
				return x.path;
			if (mounts_within(y.path, x.path))
				return y.path;
		}
	return NULL;
}

/* "two, three"; n: how many. */
static const char *list_sharers(
	const struct team *t, const struct agent_def *a, struct str *names, size_t *n)
{
	const char *first = NULL;

	*n = 0;
	for (size_t i = 0; i < t->nagents; i++) {
		const struct agent_def *b = &t->agents[i];
		const char *path = b == a ? NULL : find_shared_path(a, b);

		if (!path)
			continue;
		first = first ? first : path;
		if (++*n <= SHARERS_NAMED)
			str_addf(names, "%s%s", *n > 1 ? ", " : "", b->id);
	}
	if (*n > SHARERS_NAMED)
		str_addf(names, " and %zu more", *n - SHARERS_NAMED);
	return first;
}

void team_note_shared(struct team *t)
{
	struct ignored_key *all = arena_array(&t->mem, t->nignored + t->nagents + 1, sizeof *all);

	if (t->nignored)
		memcpy(all, t->ignored, t->nignored * sizeof *all);
	t->ignored = all;
	for (size_t i = 0; i < t->nagents; i++) {
		const struct agent_def *a = &t->agents[i];
		AUTO_STR struct str names = STR_INIT;
		const char *path;
		size_t n;

		path = a->egress.on ? list_sharers(t, a, &names, &n) : NULL;
		if (path)
			all[t->nignored++] = (struct ignored_key){
				arena_printf(&t->mem, "agents.%s.network", a->id),
				arena_printf(&t->mem,
					"%s shares %s, which can be written, with %s: agents that share a "
					"writable path share their egress",
					a->id, path, names.s),
				a->at};
	}
}
