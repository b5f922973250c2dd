/* holdings.c - reads the engine's images, volumes and networks, with the containers that use them. */
#include <berth/holdings.h>

#include <string.h>

#include <berth/mem.h>

#include "clean/planner.h"

static const struct {
	const char *name, *one;
	enum clean_type type;
} kinds[HOLDING_KINDS] = {
	[HOLDING_IMAGES] = {"images", "image", CLEAN_IMAGE},
	[HOLDING_VOLUMES] = {"volumes", "volume", CLEAN_VOLUME},
	[HOLDING_NETWORKS] = {"networks", "network", CLEAN_NETWORK},
};

const char *holding_kind_name(enum holding_kind k)
{
	return k < HOLDING_KINDS ? kinds[k].name : "";
}

const char *holding_kind_one(enum holding_kind k)
{
	return k < HOLDING_KINDS ? kinds[k].one : "";
}

enum clean_type holding_clean_type(enum holding_kind k)
{
	return kinds[k].type;
}

struct holding_look {
	struct world w;
	enum holding_kind kind;
	struct arena *mem;
	struct holding *item;
	size_t n;
};

static size_t clip_count(size_t n)
{
	return n < HOLDING_WORDS_MAX ? n : HOLDING_WORDS_MAX;
}

/* Of the words one that is meant; its index, or n. */
static size_t find_word(const char *const *word, size_t n, const char *id, const char *name)
{
	size_t i = 0;

	while (i < n && strcmp(word[i], id) != 0 && strcmp(word[i], name) != 0)
		i++;
	return i;
}

static bool is_user(const struct holding_look *k, const struct seen_container *c,
	const struct holding *h, const char **ret_address)
{
	size_t i;

	*ret_address = "";
	if (k->kind == HOLDING_IMAGES)
		return !strcmp(c->image_id, h->id);
	if (k->kind == HOLDING_VOLUMES)
		return find_word(c->volumes, c->nvolumes, h->id, h->id) < c->nvolumes;
	i = find_word(c->networks, c->nnetworks, h->id, h->name);
	if (i < c->nnetworks)
		*ret_address = c->address[i];
	return i < c->nnetworks;
}

static void add_users(struct holding_look *k, struct holding *h)
{
	struct holding_user *user;
	const char *address;
	size_t n = 0;

	for (size_t i = 0; i < k->w.ncontainers; i++)
		n += is_user(k, &k->w.container[i], h, &address);
	n = clip_count(n);
	user = arena_array(k->mem, n + 1, sizeof *user);
	for (size_t i = 0; i < k->w.ncontainers && h->nusers < n; i++) {
		const struct seen_container *c = &k->w.container[i];

		if (is_user(k, c, h, &address))
			user[h->nusers++] = (struct holding_user){
				c->id, c->name, address, container_is_up(c->state)};
	}
	h->users = user;
}

static struct holding *add_holding(struct holding_look *k, const char *id)
{
	struct holding *h = &k->item[k->n++];

	*h = (struct holding){.id = id,
		.name = id,
		.driver = "",
		.owner = "",
		.place = "",
		.bytes = -1,
		.shared = -1};
	return h;
}

static void look_at_names(struct holding_look *k, const cJSON *row, struct holding *h)
{
	const cJSON *tags = ejson_get(row, "RepoTags"), *tag;
	const char **name = arena_array(k->mem, ejson_count(tags) + 1, sizeof *name);

	cJSON_ArrayForEach(tag, tags)
	{
		const char *s = ejson_text(tag);

		if (*s && strcmp(s, "<none>:<none>") != 0 && h->nnames < HOLDING_WORDS_MAX)
			name[h->nnames++] = arena_strdup(k->mem, s);
	}
	h->names = name;
	h->name = h->nnames ? name[0] : "";
}

/* "made by berth" is what its labels claim, and stands behind what is proven. */
static const char *name_maker(struct holding_look *k, const struct holding *h)
{
	const char *shipped = world_label(h->labels, h->nlabels, "berth.image"),
		   *vendor = world_label(h->labels, h->nlabels, "org.opencontainers.image.vendor");

	if (k->kind == HOLDING_NETWORKS && rules_of_engine(h->name))
		return "engine";
	if (!h->ours && k->kind == HOLDING_IMAGES && *shipped)
		return arena_printf(k->mem, "berth (%.40s)", shipped);
	if (!h->ours && k->kind == HOLDING_IMAGES && *vendor)
		return arena_printf(k->mem, "%.40s", vendor);
	return rules_owner(k->mem, h->ours, h->labels, h->nlabels);
}

/* Lists of one engine are in one order: the search goes on where the last one ended, once round.  `key`: "Id". */
static const cJSON *find_listed(
	const cJSON *rows, const char *key, const char *id, const cJSON **at)
{
	const cJSON *first = rows ? rows->child : NULL, *row;

	for (row = *at ? (*at)->next : first; row; row = row->next)
		if (!strcmp(ejson_string(row, key), id))
			return *at = row;
	for (row = *at ? first : NULL; row; row = row == *at ? NULL : row->next)
		if (!strcmp(ejson_string(row, key), id))
			return *at = row;
	return NULL;
}

static void take_image(struct holding_look *k, const struct seen_image *i, const cJSON *row)
{
	struct holding *h = add_holding(k, i->id);

	look_at_names(k, row, h);
	h->labels = i->labels;
	h->nlabels = clip_count(i->nlabels);
	h->ours = rules_own_image(&k->w, i);
	h->made_ms = i->made_ms;
	h->bytes = ejson_i64(row, "Size", -1);
	h->shared = ejson_i64(row, "SharedSize", -1);
}

static void take_volume(struct holding_look *k, const struct seen_volume *v, const cJSON *row)
{
	struct holding *h = add_holding(k, v->name);

	h->labels = v->labels;
	h->nlabels = clip_count(v->nlabels);
	h->ours = rules_own_volume(&k->w, v);
	h->driver = v->driver;
	h->place = ejson_keep(k->mem, row, "Mountpoint");
	h->made_ms = v->made_ms;
	h->bytes = v->bytes;
}

static void take_network(struct holding_look *k, const struct seen_network *net, const cJSON *row)
{
	struct holding *h = add_holding(k, net->id);
	const cJSON *config = ejson_path(row, "IPAM", "Config", NULL), *one;
	const char **subnet = arena_array(k->mem, ejson_count(config) + 1, sizeof *subnet);

	cJSON_ArrayForEach(one, config)
	{
		const char *gateway = ejson_string(one, "Gateway"),
			   *range = ejson_string(one, "Subnet");

		if (*range && h->nsubnets < HOLDING_WORDS_MAX)
			subnet[h->nsubnets++] = arena_printf(
				k->mem, "%.60s%s%.60s", range, *gateway ? " via " : "", gateway);
	}
	h->name = net->name;
	h->subnets = subnet;
	h->labels = net->labels;
	h->nlabels = clip_count(net->nlabels);
	h->ours = rules_own_network(&k->w, net);
	h->driver = net->driver;
	h->place = ejson_keep(k->mem, row, "Scope");
	h->internal = ejson_bool(row, "Internal");
	h->made_ms = net->made_ms;
}

/* The list once more, for what plans do not need. */
static void take_holdings(struct holding_look *k, const cJSON *rows, const char *id)
{
	const char *key = k->kind == HOLDING_VOLUMES ? "Name" : "Id";
	const struct world *w = &k->w;
	const cJSON *at = NULL;
	size_t n = k->kind == HOLDING_IMAGES ? w->nimages
		: k->kind == HOLDING_VOLUMES ? w->nvolumes
					     : w->nnetworks;

	n = n < HOLDINGS_MAX ? n : HOLDINGS_MAX;
	k->item = arena_array(k->mem, n + 1, sizeof *k->item);
	for (size_t i = 0; i < n; i++) {
		const char *one = k->kind == HOLDING_IMAGES ? w->image[i].id
			: k->kind == HOLDING_VOLUMES        ? w->volume[i].name
							    : w->network[i].id;
		const cJSON *row =
			!id || !strcmp(id, one) ? find_listed(rows, key, one, &at) : NULL;

		if (!row)
			continue;
		if (k->kind == HOLDING_IMAGES)
			take_image(k, &w->image[i], row);
		else if (k->kind == HOLDING_VOLUMES)
			take_volume(k, &w->volume[i], row);
		else
			take_network(k, &w->network[i], row);
	}
	for (size_t i = 0; i < k->n; i++) {
		k->item[i].owner = name_maker(k, &k->item[i]);
		add_users(k, &k->item[i]);
	}
}

static int add_layers(struct engine_sync *en, struct holding *h, struct arena *mem, struct err *e)
{
	AUTO_STR struct str target = STR_INIT;
	AUTO_JSON cJSON *root = NULL;
	struct holding_layer *layer;
	const cJSON *row;

	str_addf(&target, "/images/%s/history", h->id);
	root = world_json(en, "read the history of the image", target.s, e);
	if (!root)
		return -1;
	layer = arena_array(mem, clip_count(ejson_count(root)) + 1, sizeof *layer);
	cJSON_ArrayForEach(row, root)
	{
		int64_t made = ejson_i64(row, "Created", 0);

		if (!cJSON_IsObject(row) || h->nlayers == HOLDING_WORDS_MAX)
			continue;
		layer[h->nlayers++] = (struct holding_layer){ejson_keep(mem, row, "CreatedBy"),
			ejson_i64(row, "Size", -1),
			made > 0 && made < INT64_MAX / 1000 ? made * 1000 : 0};
	}
	h->layers = layer;
	return 0;
}

/* Of an image the part in shared layers; of a volume its size is in the world already. */
static void take_shared(struct holding_look *k, const cJSON *df)
{
	const cJSON *rows = ejson_get(df, "Images"), *at = NULL;

	for (size_t i = 0; k->kind == HOLDING_IMAGES && i < k->n; i++) {
		const cJSON *row = find_listed(rows, "Id", k->item[i].id, &at);

		if (row)
			k->item[i].shared = ejson_i64(row, "SharedSize", -1);
	}
}

struct holdings *holdings_look(struct clean_host *h, enum holding_kind kind, const char *id,
	bool measure, struct arena *mem, struct err *e)
{
	static const char *const lists[HOLDING_KINDS] = {"/images/json", "/volumes", "/networks"};
	struct holding_look k = {.w = {.engine = h->at.info.id}, .kind = kind, .mem = mem};
	AUTO_JSON cJSON *root = NULL, *df = NULL;
	struct engine_sync *en = h->at.engine;
	struct holdings *all = arena_alloc(mem, sizeof *all);

	if (world_containers(en, &k.w, mem, e))
		return NULL;
	root = world_json(en, "list what the engine holds", lists[kind], e);
	if (!root)
		return NULL;
	world_take(root, kinds[kind].type, &k.w, mem);
	df = measure && kind != HOLDING_NETWORKS ? world_measure(en, kinds[kind].one) : NULL;
	if (df)
		world_measured(df, &k.w);
	take_holdings(&k, kind == HOLDING_VOLUMES ? ejson_get(root, "Volumes") : root, id);
	if (df)
		take_shared(&k, df);
	if (id && k.n && kind == HOLDING_IMAGES && add_layers(en, &k.item[0], mem, e))
		return NULL;
	*all = (struct holdings){.kind = kind,
		.measured = df != NULL || kind == HOLDING_NETWORKS,
		.one = id != NULL,
		.n = k.n,
		.item = k.item};
	return all;
}

/* Copies. */

static const char *const *copy_words(const char *const *word, size_t n, struct arena *mem)
{
	const char **to = arena_array(mem, n + 1, sizeof *to);

	for (size_t i = 0; i < n; i++)
		to[i] = arena_strdup(mem, word[i]);
	return to;
}

static const struct key_value *copy_held_labels(const struct holding *h, struct arena *mem)
{
	struct key_value *to = arena_array(mem, h->nlabels + 1, sizeof *to);

	for (size_t i = 0; i < h->nlabels; i++)
		to[i] = (struct key_value){arena_strdup(mem, h->labels[i].key),
			arena_strdup(mem, h->labels[i].value), h->labels[i].secret};
	return to;
}

static void copy_holding(struct holding *to, const struct holding *h, struct arena *mem)
{
	struct holding_user *user = arena_array(mem, h->nusers + 1, sizeof *user);
	struct holding_layer *layer = arena_array(mem, h->nlayers + 1, sizeof *layer);

	*to = *h;
	to->id = arena_strdup(mem, h->id);
	to->name = arena_strdup(mem, h->name);
	to->driver = arena_strdup(mem, h->driver);
	to->owner = arena_strdup(mem, h->owner);
	to->place = arena_strdup(mem, h->place);
	to->names = copy_words(h->names, h->nnames, mem);
	to->subnets = copy_words(h->subnets, h->nsubnets, mem);
	to->labels = copy_held_labels(h, mem);
	for (size_t i = 0; i < h->nusers; i++)
		user[i] = (struct holding_user){arena_strdup(mem, h->users[i].id),
			arena_strdup(mem, h->users[i].name), arena_strdup(mem, h->users[i].address),
			h->users[i].running};
	for (size_t i = 0; i < h->nlayers; i++)
		layer[i] = (struct holding_layer){arena_strdup(mem, h->layers[i].made_by),
			h->layers[i].bytes, h->layers[i].made_ms};
	to->users = user;
	to->layers = layer;
}

struct holdings *holdings_copy(const struct holdings *h, struct arena *mem)
{
	struct holdings *to = arena_alloc(mem, sizeof *to);
	struct holding *item = arena_array(mem, h->n + 1, sizeof *item);

	*to = *h;
	for (size_t i = 0; i < h->n; i++)
		copy_holding(&item[i], &h->item[i], mem);
	to->item = item;
	return to;
}

void holdings_keep_sizes(struct holdings *h, const struct holdings *old)
{
	struct holding *item = (struct holding *)(uintptr_t)h->item;
	size_t at = 0;

	if (h->measured)
		return;
	for (size_t i = 0; i < h->n; i++)
		for (size_t k = 0; k < old->n; k++) {
			const struct holding *was = &old->item[(at + k) % old->n];

			if (strcmp(was->id, item[i].id) != 0)
				continue;
			item[i].bytes = item[i].bytes < 0 ? was->bytes : item[i].bytes;
			item[i].shared = item[i].shared < 0 ? was->shared : item[i].shared;
			at = (at + k + 1) % old->n;
			break;
		}
}
