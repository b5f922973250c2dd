/* world.c - requests the engine's lists and validates them. */
#include "clean/world.h"

#include <ctype.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/container_id.h>
#include <berth/mem.h>

#define LIST_MS 30000   /* one list, and all lists of a plan together */
#define SIZES_MS 120000 /* the engine walks through every file of every container */

const char *world_label(const struct key_value *labels, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(labels[i].key, key))
			return labels[i].value;
	return "";
}

static int64_t seconds_ms(const cJSON *object, const char *name)
{
	int64_t s = ejson_i64(object, name, 0);

	return s > 0 && s < INT64_MAX / 1000 ? s * 1000 : 0;
}

static void volumes_of(const cJSON *row, struct seen_container *c, struct arena *mem)
{
	const cJSON *mounts = ejson_get(row, "Mounts"), *m;
	const char **name = arena_array(mem, ejson_count(mounts) + 1, sizeof *name);

	cJSON_ArrayForEach(m, mounts)
	{
		if (cJSON_IsObject(m) && !strcmp(ejson_string(m, "Type"), "volume"))
			name[c->nvolumes++] = ejson_keep(mem, m, "Name");
	}
	c->volumes = name;
}

static void networks_of(const cJSON *row, struct seen_container *c, struct arena *mem)
{
	const cJSON *all = ejson_path(row, "NetworkSettings", "Networks", NULL), *net;
	size_t most = 2 * ejson_count(all) + 1;
	const char **word = arena_array(mem, most, sizeof *word),
		   **address = arena_array(mem, most, sizeof *address);

	cJSON_ArrayForEach(net, all)
	{
		const char *at = ejson_keep(mem, net, "IPAddress");

		at = *at ? at : ejson_keep(mem, net, "GlobalIPv6Address");
		address[c->nnetworks] = address[c->nnetworks + 1] = at;
		/* One that was never started has only the name. */
		if (net->string)
			word[c->nnetworks++] = arena_strdup(mem, net->string);
		if (*ejson_string(net, "NetworkID"))
			word[c->nnetworks++] = ejson_keep(mem, net, "NetworkID");
	}
	c->networks = word;
	c->address = address;
}

static void take_containers(const cJSON *root, struct world *w, struct arena *mem)
{
	const cJSON *row;

	w->container = arena_array(mem, ejson_count(root) + 1, sizeof *w->container);
	cJSON_ArrayForEach(row, root)
	{
		struct seen_container *c = &w->container[w->ncontainers];

		if (!cJSON_IsObject(row) || !id_is_whole(ejson_string(row, "Id")))
			continue;
		*c = (struct seen_container){.id = ejson_keep(mem, row, "Id"),
			.name = parse_name(row, mem),
			.image = ejson_keep(mem, row, "Image"),
			.image_id = ejson_keep(mem, row, "ImageID"),
			.status = ejson_keep(mem, row, "Status"),
			.state = parse_state(ejson_string(row, "State")),
			.made_ms = seconds_ms(row, "Created"),
			.bytes = -1};
		c->labels = ejson_pairs(mem, ejson_get(row, "Labels"), &c->nlabels);
		volumes_of(row, c, mem);
		networks_of(row, c, mem);
		w->ncontainers++;
	}
}

static void take_networks(const cJSON *root, struct world *w, struct arena *mem)
{
	const cJSON *row;

	w->network = arena_array(mem, ejson_count(root) + 1, sizeof *w->network);
	cJSON_ArrayForEach(row, root)
	{
		struct seen_network *n = &w->network[w->nnetworks];

		if (!cJSON_IsObject(row) || !id_is_whole(ejson_string(row, "Id")))
			continue;
		*n = (struct seen_network){.id = ejson_keep(mem, row, "Id"),
			.name = ejson_keep(mem, row, "Name"),
			.driver = ejson_keep(mem, row, "Driver"),
			.made_ms = ejson_stamp_ms(row, "Created")};
		n->labels = ejson_pairs(mem, ejson_get(row, "Labels"), &n->nlabels);
		w->nnetworks++;
	}
}

static void take_volumes(const cJSON *root, struct world *w, struct arena *mem)
{
	const cJSON *all = ejson_get(root, "Volumes"), *row;

	w->volume = arena_array(mem, ejson_count(all) + 1, sizeof *w->volume);
	cJSON_ArrayForEach(row, all)
	{
		struct seen_volume *v = &w->volume[w->nvolumes];

		if (!cJSON_IsObject(row) || !*ejson_string(row, "Name"))
			continue;
		*v = (struct seen_volume){.name = ejson_keep(mem, row, "Name"),
			.driver = ejson_keep(mem, row, "Driver"),
			.made_ms = ejson_stamp_ms(row, "CreatedAt"),
			.bytes = -1};
		v->labels = ejson_pairs(mem, ejson_get(row, "Labels"), &v->nlabels);
		w->nvolumes++;
	}
}

static void take_images(const cJSON *root, struct world *w, struct arena *mem)
{
	struct seen_image *all = arena_array(mem, w->nimages + ejson_count(root) + 1, sizeof *all);
	const cJSON *row;

	if (w->nimages)
		memcpy(all, w->image, w->nimages * sizeof *all);
	w->image = all;
	cJSON_ArrayForEach(row, root)
	{
		struct seen_image *i = &w->image[w->nimages];
		const cJSON *tags = ejson_get(row, "RepoTags");
		const char *id = ejson_string(row, "Id"),
			   *tag = ejson_text(cJSON_GetArrayItem((cJSON *)(uintptr_t)tags, 0));

		if (!cJSON_IsObject(row) || strncmp(id, "sha256:", 7) || !id_is_whole(id + 7))
			continue;
		*i = (struct seen_image){.id = ejson_keep(mem, row, "Id"),
			.tag = strcmp(tag, "<none>:<none>") ? arena_strdup(mem, tag) : "",
			.made_ms = seconds_ms(row, "Created"),
			.bytes = ejson_i64(row, "Size", -1)};
		i->labels = ejson_pairs(mem, ejson_get(row, "Labels"), &i->nlabels);
		w->nimages++;
	}
}

/* What the engine measured, laid over the lists. */
void world_measured(const cJSON *root, struct world *w)
{
	const cJSON *row;

	cJSON_ArrayForEach(row, ejson_get(root, "Containers"))
	{
		for (size_t i = 0; cJSON_IsObject(row) && i < w->ncontainers; i++)
			if (!strcmp(w->container[i].id, ejson_string(row, "Id")))
				w->container[i].bytes = ejson_i64(row, "SizeRw", 0);
	}
	cJSON_ArrayForEach(row, ejson_get(root, "Volumes"))
	{
		for (size_t i = 0; cJSON_IsObject(row) && i < w->nvolumes; i++)
			if (!strcmp(w->volume[i].name, ejson_string(row, "Name")))
				w->volume[i].bytes =
					ejson_i64(ejson_get(row, "UsageData"), "Size", -1);
	}
	cJSON_ArrayForEach(row, ejson_get(root, "Images"))
	{
		int64_t size = cJSON_IsObject(row) ? ejson_i64(row, "Size", -1) : -1,
			shared = cJSON_IsObject(row) ? ejson_i64(row, "SharedSize", 0) : 0;

		/* Layers that other images have too stay on the disk. */
		for (size_t i = 0; size >= 0 && i < w->nimages; i++)
			if (!strcmp(w->image[i].id, ejson_string(row, "Id")))
				w->image[i].bytes =
					size > shared && shared > 0 ? size - shared : size;
	}
}

static cJSON *get_json(
	struct engine_sync *en, const char *what, const char *target, int ms, struct err *e)
{
	return sync_json(en, what, NULL, "GET", target, NULL, ms, e);
}

int world_container(
	struct engine_sync *en, const char *id, struct world *w, struct arena *mem, struct err *e)
{
	AUTO_STR struct str target = STR_INIT;
	AUTO_JSON cJSON *root = NULL;

	/* {"id":["..."]} */
	str_addf(&target, "/containers/json?all=1&filters=%%7B%%22id%%22%%3A%%5B%%22%s%%22%%5D%%7D",
		id);
	root = get_json(en, "look at the container", target.s, LIST_MS, e);
	if (!root)
		return -1;
	take_containers(root, w, mem);
	/* Whatever else was sent: this one, or none. */
	for (size_t i = 0; i < w->ncontainers; i++)
		if (!strcmp(w->container[i].id, id)) {
			w->container[0] = w->container[i];
			w->ncontainers = 1;
			return 0;
		}
	w->ncontainers = 0;
	return 0;
}

int world_containers(struct engine_sync *en, struct world *w, struct arena *mem, struct err *e)
{
	AUTO_JSON cJSON *root =
		get_json(en, "list the containers", "/containers/json?all=1", LIST_MS, e);

	if (!root)
		return -1;
	take_containers(root, w, mem);
	return 0;
}

/* What is left of the time for all lists: an engine that answers drop by drop is given up as a whole. */
static int left_ms(int64_t until)
{
	int64_t ms = (until - clock_mono_ns()) / 1000000;

	return ms > 0 ? (int)ms : 1;
}

int world_look(struct engine_sync *en, bool foreign, bool sizes, struct world *w, struct arena *mem,
	struct err *e)
{
	AUTO_JSON cJSON *networks = NULL, *volumes = NULL, *images = NULL, *ours = NULL, *df = NULL;
	int64_t until = clock_mono_ns() + LIST_MS * INT64_C(1000000);

	if (world_containers(en, w, mem, e))
		return -1;
	networks = get_json(en, "list the networks", "/networks", left_ms(until), e);
	volumes = networks ? get_json(en, "list the volumes", "/volumes", left_ms(until), e) : NULL;
	if (!volumes)
		return -1;
	take_networks(networks, w, mem);
	take_volumes(volumes, w, mem);
	/* {"label":["berth.prepared_proof"]}, {"dangling":["true"]} */
	ours = get_json(en, "list the images",
		"/images/json?filters=%7B%22label%22%3A%5B%22berth.prepared_proof%22%5D%7D",
		left_ms(until), e);
	if (!ours)
		return -1;
	take_images(ours, w, mem);
	if (foreign) {
		images = get_json(en, "list the images",
			"/images/json?filters=%7B%22dangling%22%3A%5B%22true%22%5D%7D",
			left_ms(until), e);
		if (!images)
			return -1;
		take_images(images, w, mem);
	}
	/* A plan without sizes is better than none. */
	df = sizes ? get_json(en, "measure", "/system/df", SIZES_MS, NULL) : NULL;
	if (df)
		world_measured(df, w);
	return 0;
}

cJSON *world_json(struct engine_sync *en, const char *what, const char *target, struct err *e)
{
	return get_json(en, what, target, LIST_MS, e);
}

/* Engines before API 1.42 take no heed of `type`, and measure everything. */
cJSON *world_measure(struct engine_sync *en, const char *type)
{
	AUTO_STR struct str target = STR_INIT;

	str_addf(&target, "/system/df?type=%s", type);
	return get_json(en, "measure", target.s, SIZES_MS, NULL);
}

void world_take(const cJSON *root, enum clean_type type, struct world *w, struct arena *mem)
{
	if (type == CLEAN_IMAGE)
		take_images(root, w, mem);
	else if (type == CLEAN_VOLUME)
		take_volumes(root, w, mem);
	else if (type == CLEAN_NETWORK)
		take_networks(root, w, mem);
}

int world_type(struct engine_sync *en, enum clean_type type, bool sizes, struct world *w,
	struct arena *mem, struct err *e)
{
	static const struct {
		const char *what, *target;
	} lists[CLEAN_TYPES] = {
		[CLEAN_IMAGE] = {"list the images", "/images/json"},
		[CLEAN_VOLUME] = {"list the volumes", "/volumes"},
		[CLEAN_NETWORK] = {"list the networks", "/networks"},
	};
	AUTO_JSON cJSON *root = NULL, *df = NULL;

	if (world_containers(en, w, mem, e))
		return -1;
	root = world_json(en, lists[type].what, lists[type].target, e);
	if (!root)
		return -1;
	world_take(root, type, w, mem);
	df = sizes && type != CLEAN_NETWORK ? world_measure(en, clean_type_name(type)) : NULL;
	if (df)
		world_measured(df, w);
	return 0;
}
