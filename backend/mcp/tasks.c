/*
 * tasks.c - runs long calls as tasks: a handle immediately, the result on request.
 *
 * Only what a client has been told is kept: those that run, and of those that ended the last KEPT, up to a part of the
 * memory.  They end with the server, as all that it runs does.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <berth/check.h>
#include <berth/clock.h>
#include <berth/format.h>
#include <berth/hex.h>
#include <berth/mem.h>

#include "mcp/server.h"

#define KEPT 64
#define KEPT_PART 8 /* of the server's memory, for their results */
#define TTL_MS 3600000
#define POLL_MS 500

struct mcp_task {
	struct mcp_task *next;
	char id[33];
	struct call *call; /* while it runs */
	bool cancelled;
	int64_t created_ms, updated_ms;
	char *result; /* JSON, once it has ended */
};

struct tasks {
	struct server *server;
	struct mcp_task *first; /* the oldest */
	size_t ended, bytes;
};

struct tasks *tasks_new(struct server *s)
{
	struct tasks *t = xcalloc(1, sizeof *t);

	t->server = s;
	return t;
}

static void free_task(struct tasks *t, struct mcp_task *k)
{
	if (k->result) {
		t->ended--;
		t->bytes -= strlen(k->result);
	}
	free(k->result);
	free(k);
}

void tasks_free(struct tasks *t)
{
	while (t->first) {
		struct mcp_task *next = t->first->next;

		free_task(t, t->first);
		t->first = next;
	}
	free(t);
}

/* -- under the server's lock ------------------------------------------------------------------------- */

/* Those that ended, from the oldest on, while there are too many or they are too old. */
static void trim_tasks(struct tasks *t)
{
	int64_t now = clock_wall_ms();

	for (struct mcp_task **at = &t->first; *at;) {
		struct mcp_task *k = *at;

		if (!k->result ||
			(t->ended <= KEPT && t->bytes <= budget_total(t->server) / KEPT_PART &&
				now - k->created_ms < TTL_MS)) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		free_task(t, k);
	}
}

static struct mcp_task *find_mcp_task(struct tasks *t, const char *id)
{
	struct mcp_task *k = t->first;

	while (k && (!id || strcmp(k->id, id) != 0))
		k = k->next;
	return k;
}

static void put_task_time(struct jsonw *j, const char *key, int64_t ms)
{
	char text[FORMAT_MAX];

	jsonw_text(j, key, format_stamp(text, ms));
}

/* Neither input_required, for a person decides and not the client, nor failed: see TASKS in berth-mcp(1). */
static const char *task_status(const struct mcp_task *k)
{
	return !k->result ? "working" : k->cancelled ? "cancelled" : "completed";
}

static void put_task(const struct mcp_task *k, struct jsonw *j, bool whole)
{
	const char *waits = k->call ? atomic_load(&k->call->waits) : NULL;

	jsonw_text(j, "taskId", k->id);
	jsonw_text(j, "status", task_status(k));
	if (waits)
		jsonw_text(j, "statusMessage", waits);
	put_task_time(j, "createdAt", k->created_ms);
	put_task_time(j, "lastUpdatedAt", k->updated_ms);
	jsonw_int(j, "ttlMs", TTL_MS);
	jsonw_int(j, "pollIntervalMs", POLL_MS);
	if (whole && k->result && !k->cancelled)
		jsonw_raw(j, "result", k->result);
}

static struct mcp_task *add_task(struct tasks *t, struct call *c)
{
	struct mcp_task *k = xcalloc(1, sizeof *k), **at;
	unsigned char random[16];

	CHECK(getrandom(random, sizeof random, 0) == sizeof random);
	hex_text(k->id, random, sizeof random);
	k->call = c;
	k->created_ms = k->updated_ms = clock_wall_ms();
	for (at = &t->first; *at; at = &(*at)->next)
		;
	*at = k;
	return k;
}

void task_begin(struct tasks *t, struct call *c, struct str *out)
{
	struct jsonw j;

	trim_tasks(t);
	c->task = add_task(t, c);
	message_begin(&j, c->id, "result");
	jsonw_text(&j, "resultType", "task");
	put_task(c->task, &j, false);
	jsonw_end(&j);
	jsonw_end(&j);
	str_add(out, j.out.s, j.out.len);
	jsonw_release(&j);
}

/* -- of any thread ----------------------------------------------------------------------------------- */

void task_end(struct tasks *t, struct call *c, const char *result)
{
	struct server *s = t->server;
	struct mcp_task *k = c->task;
	struct jsonw j;
	char id[sizeof k->id];

	jsonw_init(&j, true);
	jsonw_object(&j, NULL);
	pthread_mutex_lock(&s->lock);
	k->cancelled = call_cancelled(c);
	k->result = xstrdup(result);
	k->call = NULL;
	k->updated_ms = clock_wall_ms();
	t->ended++;
	t->bytes += strlen(result);
	strcpy(id, k->id);
	put_task(k, &j, true);
	trim_tasks(t);
	pthread_mutex_unlock(&s->lock);
	jsonw_end(&j);
	j.out.s[--j.out.len] = '\0'; /* the newline */
	listen_tell_task(s->listeners, id, j.out.s);
	jsonw_release(&j);
}

bool task_known(struct tasks *t, const char *id)
{
	bool known;

	pthread_mutex_lock(&t->server->lock);
	known = find_mcp_task(t, id) != NULL;
	pthread_mutex_unlock(&t->server->lock);
	return known;
}

int task_put(struct tasks *t, const char *id, struct jsonw *j)
{
	struct mcp_task *k;

	pthread_mutex_lock(&t->server->lock);
	k = find_mcp_task(t, id);
	if (k)
		put_task(k, j, true);
	pthread_mutex_unlock(&t->server->lock);
	return k ? 0 : -1;
}

bool task_cancel(struct tasks *t, const char *id)
{
	struct mcp_task *k;

	pthread_mutex_lock(&t->server->lock);
	k = find_mcp_task(t, id);
	if (k && k->call)
		call_stop(k->call);
	pthread_mutex_unlock(&t->server->lock);
	calls_watch(t->server);
	return k != NULL;
}
