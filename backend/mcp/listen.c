/*
 * listen.c - notifies subscribed clients when resources or tasks change.
 *
 * A session subscribes to URIs; a request `subscriptions/listen` stays open until it is cancelled, and what it is told
 * carries its id.  The thread is made for the first of them, and looks only at what somebody listens to.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/spawn.h>

#include "mcp/server.h"

#define LISTENERS_MOST 64
#define RESOURCES_MOST 8
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

struct listener {
	char *id; /* as it was written; NULL: the session */
	unsigned resources;
	char **tasks;
	size_t ntasks;
};

struct listeners {
	struct server *server;
	pthread_mutex_t lock; /* all below; taken before out_lock, never with server's */
	pthread_cond_t change;
	struct listener all[LISTENERS_MOST];
	size_t n;
	bool ending, runs;
	pthread_t thread;
	uint64_t stamp[RESOURCES_MOST];
	int64_t looked_ns[RESOURCES_MOST]; /* 0: nobody listens */
};

struct listeners *listeners_new(struct server *s)
{
	struct listeners *l = xcalloc(1, sizeof *l);

	l->server = s;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->change, NULL);
	return l;
}

static void begin_notification(struct jsonw *j, const char *method, const char *id)
{
	jsonw_init(j, true);
	jsonw_object(j, NULL);
	jsonw_text(j, "jsonrpc", "2.0");
	jsonw_text(j, "method", method);
	jsonw_object(j, "params");
	if (!id)
		return;
	jsonw_object(j, "_meta");
	jsonw_raw(j, META_SUBSCRIPTION, id);
	jsonw_end(j);
}

/* -- looking ----------------------------------------------------------------------------------------- */

/* Under the lock. */
static unsigned resources_listened(const struct listeners *l)
{
	unsigned all = 0;

	for (size_t i = 0; i < l->n; i++)
		all |= l->all[i].resources;
	return all;
}

/* Under the lock. */
static void tell_resource(struct listeners *l, size_t i)
{
	char uri[RESOURCE_URI_MAX];

	resource_uri(l->server, i, uri);
	for (size_t k = 0; k < l->n; k++) {
		struct jsonw j;

		if (!(l->all[k].resources & 1u << i))
			continue;
		begin_notification(&j, "notifications/resources/updated", l->all[k].id);
		jsonw_text(&j, "uri", uri);
		message_send(l->server, &j);
	}
}

/* Under the lock, which is given up while it looks. */
static void look_at_resource(struct listeners *l, size_t i)
{
	bool first = !l->looked_ns[i];
	uint64_t now;

	pthread_mutex_unlock(&l->lock);
	now = resource_stamp(l->server, i);
	pthread_mutex_lock(&l->lock);
	l->looked_ns[i] = clock_mono_ns();
	if (!first && now != l->stamp[i])
		tell_resource(l, i);
	l->stamp[i] = now;
}

/* Under the lock.  When the next one is due. */
static int64_t look_at_resources(struct listeners *l)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < resource_count(); i++) {
		if (!(resources_listened(l) & 1u << i)) {
			l->looked_ns[i] = 0;
			continue;
		}
		if (clock_mono_ns() - l->looked_ns[i] >= resource_period_ns(i))
			look_at_resource(l, i);
		if (l->looked_ns[i] + resource_period_ns(i) < next)
			next = l->looked_ns[i] + resource_period_ns(i);
	}
	return next;
}

static void *watch_resources(void *ctx)
{
	struct listeners *l = ctx;

	pthread_mutex_lock(&l->lock);
	while (!l->ending) {
		int64_t wait = look_at_resources(l) - clock_mono_ns();
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		wait = wait < 20000000 ? 20000000 : wait > 60000000000 ? 60000000000 : wait;
		until.tv_nsec += wait % 1000000000;
		until.tv_sec += wait / 1000000000 + until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (!l->ending)
			pthread_cond_timedwait(&l->change, &l->lock, &until);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* -- who listens ------------------------------------------------------------------------------------- */

static void release_listener(struct listener *x)
{
	free(x->id);
	for (size_t i = 0; i < x->ntasks; i++)
		free(x->tasks[i]);
	free(x->tasks);
}

/* Under the lock.  NULL: there is none. */
static struct listener *find_listener(struct listeners *l, const char *id)
{
	for (size_t i = 0; i < l->n; i++)
		if (id ? l->all[i].id && !strcmp(l->all[i].id, id) : !l->all[i].id)
			return &l->all[i];
	return NULL;
}

/* Under the lock. */
static void start_watching(struct listeners *l, unsigned resources)
{
	if (!l->runs && resources)
		l->runs = spawn_thread(&l->thread, watch_resources, l) == 0;
	pthread_cond_broadcast(&l->change);
}

/* Under the lock, before anything else is told. */
static void acknowledge_listener(struct listeners *l, const struct listener *x)
{
	char uri[RESOURCE_URI_MAX];
	struct jsonw j;

	begin_notification(&j, "notifications/subscriptions/acknowledged", x->id);
	jsonw_object(&j, "notifications");
	if (x->resources) {
		jsonw_array(&j, "resourceSubscriptions");
		for (size_t i = 0; i < resource_count(); i++) {
			resource_uri(l->server, i, uri);
			if (x->resources & 1u << i)
				jsonw_text(&j, NULL, uri);
		}
		jsonw_end(&j);
	}
	if (x->ntasks) {
		jsonw_array(&j, "taskIds");
		for (size_t i = 0; i < x->ntasks; i++)
			jsonw_text(&j, NULL, x->tasks[i]);
		jsonw_end(&j);
	}
	jsonw_end(&j);
	message_send(l->server, &j);
}

bool listen_add(
	struct listeners *l, const char *id, unsigned resources, char **tasks, size_t ntasks)
{
	struct listener *x;

	pthread_mutex_lock(&l->lock);
	x = find_listener(l, id);
	if (!x && l->n < LISTENERS_MOST) {
		x = &l->all[l->n++];
		*x = (struct listener){
			.id = id ? xstrdup(id) : NULL, .tasks = tasks, .ntasks = ntasks};
	}
	if (x) {
		x->resources |= resources;
		if (id)
			acknowledge_listener(l, x);
		start_watching(l, resources);
	}
	pthread_mutex_unlock(&l->lock);
	return x != NULL;
}

void listen_drop_resource(struct listeners *l, unsigned resource)
{
	struct listener *x;

	pthread_mutex_lock(&l->lock);
	x = find_listener(l, NULL);
	if (x)
		x->resources &= ~resource;
	pthread_mutex_unlock(&l->lock);
}

bool listen_known(struct listeners *l, const char *id)
{
	bool known;

	pthread_mutex_lock(&l->lock);
	known = find_listener(l, id) != NULL;
	pthread_mutex_unlock(&l->lock);
	return known;
}

void listen_cancel(struct listeners *l, const char *id)
{
	struct listener *x;

	pthread_mutex_lock(&l->lock);
	x = find_listener(l, id);
	if (x) {
		release_listener(x);
		*x = l->all[--l->n];
	}
	pthread_mutex_unlock(&l->lock);
}

void listen_tell_task(struct listeners *l, const char *task, const char *json)
{
	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < l->all[i].ntasks; k++) {
			AUTO_STR struct str line = STR_INIT;

			if (strcmp(l->all[i].tasks[k], task) != 0)
				continue;
			str_addf(&line,
				"{\"jsonrpc\": \"2.0\", \"method\": \"notifications/tasks\", \"params\": "
				"{\"_meta\": {\"" META_SUBSCRIPTION "\": %s}, %s}\n",
				l->all[i].id, json + 1);
			message_line(l->server, &line);
		}
	pthread_mutex_unlock(&l->lock);
}

/* A request that stays open is answered when the server ends it. */
static void answer_listener(struct listeners *l, const struct listener *x)
{
	struct jsonw j;

	message_begin(&j, x->id, "result");
	jsonw_text(&j, "resultType", "complete");
	jsonw_object(&j, "_meta");
	jsonw_raw(&j, META_SUBSCRIPTION, x->id);
	jsonw_end(&j);
	message_send(l->server, &j);
}

void listeners_end(struct listeners *l)
{
	pthread_mutex_lock(&l->lock);
	l->ending = true;
	pthread_cond_broadcast(&l->change);
	pthread_mutex_unlock(&l->lock);
	if (l->runs)
		pthread_join(l->thread, NULL);
	for (size_t i = 0; i < l->n; i++) {
		if (l->all[i].id)
			answer_listener(l, &l->all[i]);
		release_listener(&l->all[i]);
	}
	pthread_cond_destroy(&l->change);
	pthread_mutex_destroy(&l->lock);
	free(l);
}
