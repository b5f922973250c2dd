/* undo.c - saves the description of a removed container and recreates it. */
#include <berth/undo.h>

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/container_id.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/text.h>

#include "engine_session/engine_session.h"

#define INSPECT_MOST ((size_t)1 << 20)
#define ID_DIGITS CONTAINER_ID_DIGITS
#define SHORT_ID 12
#define CREATE_MS 60000

static int undo_dir(char dir[PATH_MAX])
{
	char base[PATH_MAX / 2];

	return runtime_dir(base, sizeof base, NULL) ||
			runtime_subdir(dir, PATH_MAX, base, "undo", NULL)
		? -1
		: 0;
}

void undo_keep(const char *endpoint, const char *engine, const char *id, const char *json, size_t n)
{
	AUTO_STR struct str text = STR_INIT;
	AUTO_FREE struct undo_item *old = xcalloc(UNDO_MOST + 1, sizeof *old);
	char dir[PATH_MAX], path[PATH_MAX + ID_DIGITS + 2];

	if (n > INSPECT_MOST || !id_is_whole(id) || undo_dir(dir))
		return;
	str_adds(&text, "{\"endpoint\":");
	str_add_json(&text, endpoint);
	str_adds(&text, ",\"engine\":");
	str_add_json(&text, engine);
	str_addf(&text, ",\"removed_ms\":%lld,\"inspect\":", (long long)clock_wall_ms());
	str_add(&text, json, n);
	str_addc(&text, '}');
	snprintf(path, sizeof path, "%s/%s", dir, id);
	file_replace(path, text.s, text.len, false);
	/* Room for it. */
	if (undo_list(old, UNDO_MOST + 1) > UNDO_MOST) {
		snprintf(path, sizeof path, "%s/%s", dir, old[UNDO_MOST].id);
		unlink(path);
	}
}

/* NULL: it is none, or too old, and removed then. */
static cJSON *load_removed(const char *dir, const char *id)
{
	AUTO_STR struct str text = STR_INIT;
	char path[PATH_MAX + ID_DIGITS + 2];
	cJSON *root = NULL;
	int64_t age;

	snprintf(path, sizeof path, "%s/%s", dir, id);
	if (!file_read(AT_FDCWD, path, O_NOFOLLOW, INSPECT_MOST + 1024, &text, NULL))
		root = ejson_parse(text.s, text.len, NULL);
	age = clock_wall_ms() - ejson_i64(root, "removed_ms", 0);
	if (root && age >= 0 && age < UNDO_MS)
		return root;
	cJSON_Delete(root);
	unlink(path);
	return NULL;
}

static void describe_kept(const cJSON *root, const char *id, struct undo_item *ret)
{
	const cJSON *inspect = ejson_get(root, "inspect"), *config = ejson_get(inspect, "Config");
	const char *name = ejson_string(inspect, "Name");

	*ret = (struct undo_item){.removed_ms = ejson_i64(root, "removed_ms", 0),
		.ran = ejson_bool(ejson_get(inspect, "State"), "Running"),
		.ours = *ejson_string(ejson_get(config, "Labels"), "berth.role") != '\0'};
	snprintf(ret->id, sizeof ret->id, "%s", id);
	snprintf(ret->endpoint, sizeof ret->endpoint, "%s", ejson_string(root, "endpoint"));
	snprintf(ret->engine, sizeof ret->engine, "%s", ejson_string(root, "engine"));
	snprintf(ret->name, sizeof ret->name, "%s", name + (*name == '/'));
	snprintf(ret->image, sizeof ret->image, "%s", ejson_string(config, "Image"));
}

static int compare_removed(const void *a, const void *b)
{
	const struct undo_item *x = a, *y = b;

	return (x->removed_ms < y->removed_ms) - (x->removed_ms > y->removed_ms);
}

size_t undo_list(struct undo_item *out, size_t max)
{
	char dir[PATH_MAX];
	struct dirent *entry;
	size_t n = 0;
	AUTO_CLOSEDIR DIR *d = NULL;

	if (undo_dir(dir) || !(d = opendir(dir)))
		return 0;
	while (n < max && (entry = readdir(d))) {
		AUTO_JSON cJSON *root =
			id_is_whole(entry->d_name) ? load_removed(dir, entry->d_name) : NULL;

		if (root)
			describe_kept(root, entry->d_name, &out[n++]);
	}
	mem_sort(out, n, sizeof *out, compare_removed);
	return n;
}

/* What `create` takes, out of what `inspect` gave. */

static bool is_mounted_there(const cJSON *host, const char *target)
{
	const cJSON *bind, *mount;

	cJSON_ArrayForEach(bind, ejson_get(host, "Binds"))
	{
		const char *at = strchr(ejson_text(bind), ':');

		if (at && !strncmp(at + 1, target, strlen(target)) &&
			strchr(":", at[1 + strlen(target)]))
			return true;
	}
	cJSON_ArrayForEach(mount, ejson_get(host, "Mounts"))
	{
		if (!strcmp(ejson_string(mount, "Target"), target))
			return true;
	}
	return false;
}

/* An anonymous volume has no place in HostConfig: without this it would get a new, empty one. */
static void add_anonymous_volumes(cJSON *host, const cJSON *mounts)
{
	const cJSON *mount;

	cJSON_ArrayForEach(mount, mounts)
	{
		const char *name = ejson_string(mount, "Name"),
			   *target = ejson_string(mount, "Destination");
		cJSON *binds = cJSON_GetObjectItemCaseSensitive(host, "Binds");

		if (strcmp(ejson_string(mount, "Type"), "volume") || !*name || !*target ||
			is_mounted_there(host, target))
			continue;
		if (!cJSON_IsArray(binds)) {
			cJSON_DeleteItemFromObjectCaseSensitive(host, "Binds");
			binds = cJSON_AddArrayToObject(host, "Binds");
		}
		{
			AUTO_FREE char *bind = xasprintf(
				"%s:%s%s", name, target, ejson_bool(mount, "RW") ? "" : ":ro");

			cJSON_AddItemToArray(binds, cJSON_CreateString(bind));
		}
	}
}

/* The name and addresses by which it was known in a network; not what the engine had given it by itself. */
static cJSON *endpoint_of(const cJSON *network, const char *id)
{
	cJSON *endpoint = cJSON_CreateObject(), *aliases = cJSON_CreateArray();
	const cJSON *alias, *ipam = ejson_get(network, "IPAMConfig");

	cJSON_ArrayForEach(alias, ejson_get(network, "Aliases"))
	{
		if (strncmp(ejson_text(alias), id, SHORT_ID) != 0)
			cJSON_AddItemToArray(aliases, cJSON_CreateString(ejson_text(alias)));
	}
	cJSON_AddItemToObject(endpoint, "Aliases", aliases);
	if (cJSON_IsObject(ipam))
		cJSON_AddItemToObject(endpoint, "IPAMConfig", cJSON_Duplicate(ipam, true));
	return endpoint;
}

static bool is_user_network(const char *name)
{
	return strcmp(name, "default") && strcmp(name, "bridge") && strcmp(name, "host") &&
		strcmp(name, "none");
}

static char *body_of_create(const cJSON *inspect, const char *id)
{
	AUTO_JSON cJSON *body = cJSON_Duplicate(ejson_get(inspect, "Config"), true);
	cJSON *host = cJSON_Duplicate(ejson_get(inspect, "HostConfig"), true);
	const char *mode = ejson_string(host, "NetworkMode");
	const cJSON *networks = ejson_path(inspect, "NetworkSettings", "Networks", NULL),
		    *first = is_user_network(mode) ? ejson_get(networks, mode) : NULL;

	if (!cJSON_IsObject(body) || !cJSON_IsObject(host)) {
		cJSON_Delete(host);
		return NULL;
	}
	/* Named after its id, it would keep the name of what is gone. */
	if (!strncmp(ejson_string(body, "Hostname"), id, SHORT_ID))
		cJSON_DeleteItemFromObjectCaseSensitive(body, "Hostname");
	add_anonymous_volumes(host, ejson_get(inspect, "Mounts"));
	if (first) {
		cJSON *all = cJSON_AddObjectToObject(
			cJSON_AddObjectToObject(body, "NetworkingConfig"), "EndpointsConfig");

		cJSON_AddItemToObject(all, mode, endpoint_of(first, id));
	}
	cJSON_AddItemToObject(body, "HostConfig", host);
	return cJSON_PrintUnformatted(body);
}

struct remaking {
	const struct undo_request *q;
	struct engine_session at;
	cJSON *kept;
	char *id; /* of 65 bytes */
};

/* A container is created in one network; it joins the others. */
static int join_networks(struct remaking *m, const cJSON *inspect, struct err *e)
{
	const char *mode = ejson_string(ejson_get(inspect, "HostConfig"), "NetworkMode");
	const cJSON *network;

	cJSON_ArrayForEach(network, ejson_path(inspect, "NetworkSettings", "Networks", NULL))
	{
		AUTO_STR struct str target = STR_INIT;
		AUTO_JSON cJSON *body = cJSON_CreateObject();
		AUTO_FREE char *text = NULL;

		if (!network->string || !strcmp(network->string, mode) ||
			!is_user_network(network->string))
			continue;
		cJSON_AddStringToObject(body, "Container", m->id);
		cJSON_AddItemToObject(body, "EndpointConfig", endpoint_of(network, m->q->item->id));
		text = cJSON_PrintUnformatted(body);
		str_adds(&target, "/networks/");
		url_escape(&target, network->string);
		str_adds(&target, "/connect");
		if (sync_ask(m->at.engine, "join the network %s", network->string, "POST", target.s,
			    text, CREATE_MS, NULL, e))
			return -1;
	}
	return 0;
}

static int do_remake(void *ctx, struct audit_record *r, struct err *e)
{
	struct remaking *m = ctx;
	const cJSON *inspect = ejson_get(m->kept, "inspect");
	AUTO_FREE char *body = body_of_create(inspect, m->q->item->id);

	if (!body)
		return err_set(e, ERR_PROTOCOL, "The saved description of %s is damaged.",
			m->q->item->name);
	if (sync_create(m->at.engine, m->q->item->name, body, m->id, e))
		return -1;
	r->target = m->id;
	if (!join_networks(m, inspect, e) &&
		(!m->q->item->ran ||
			!sync_act(m->at.engine, ACT_START, m->id, false, false, -1, e)))
		return 0;
	/* Whole or not at all: what is in the way may go, and then it can be tried again. */
	sync_act(m->at.engine, ACT_REMOVE, m->id, true, false, -1, NULL);
	return -1;
}

static int remake_recorded(struct remaking *m, struct err *e)
{
	const struct undo_item *it = m->q->item;
	const char *image = it->image;
	const struct record_target of = {.nimages = 1, .images = &image};
	const struct key_value kv[] = {{"image", it->image, false}, {"undo", it->id, false}};
	const struct audit_record r = {.operation = OP_CONTAINER_CREATE,
		.target_type = "container",
		.engine = m->at.info.id,
		.name = it->name,
		.params = kv,
		.nparams = COUNT(kv)};

	/* One that calls itself as another does would have a container of its own making made there. */
	if (strcmp(m->at.info.id, it->engine) != 0 || strcmp(m->at.endpoint.url, it->endpoint) != 0)
		return err_set(e, ERR_CONFLICT,
			"%s was on another engine, %.200s: name that with --host; nothing was done.",
			it->name, it->endpoint);
	return record_act(&m->at.recorder, &r, &of, do_remake, m, e);
}

int undo_make(const struct undo_request *q, char ret_id[65], struct err *e)
{
	struct remaking m = {.q = q, .id = ret_id};
	char dir[PATH_MAX], path[PATH_MAX + ID_DIGITS + 2];
	int rc;

	ret_id[0] = '\0';
	if (q->item->ours)
		return err_set(e, ERR_REFUSED,
			"berth made %s: `berth up` with its team file recreates it.",
			q->item->name);
	if (undo_dir(dir) || !(m.kept = load_removed(dir, q->item->id)))
		return err_set(e, ERR_NOT_FOUND, "%s was removed too long ago.", q->item->name);
	rc = engine_session_open(&m.at,
		&(struct engine_session_options){.host = q->host,
			.context = q->context,
			.program = "undo",
			.policy = q->policy},
		e);
	if (!rc) {
		rc = remake_recorded(&m, e);
		engine_session_close(&m.at);
	}
	cJSON_Delete(m.kept);
	if (rc)
		return -1;
	snprintf(path, sizeof path, "%s/%s", dir, q->item->id);
	unlink(path);
	return 0;
}
