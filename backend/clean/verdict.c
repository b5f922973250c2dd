/*
 * verdict.c - decides for each item whether it may be removed.
 *
 * Ours is what is proven ours.  What carries berth's labels without a proof that holds here was made by
 * another berth (another user, another state directory), and is for that one to clean up.
 */
#include "clean/verdict.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>

#define HOME_PREFIX "berth-home-"
#define DAY_MS (INT64_C(86400) * 1000)

static const struct {
	const char *name;
	enum operation operation;
} types[CLEAN_TYPES] = {
	[CLEAN_CONTAINER] = {"container", OP_CONTAINER_REMOVE},
	[CLEAN_NETWORK] = {"network", OP_NETWORK_REMOVE},
	[CLEAN_VOLUME] = {"volume", OP_VOLUME_REMOVE},
	[CLEAN_IMAGE] = {"image", OP_IMAGE_REMOVE},
	[CLEAN_LEFTOVER] = {"leftover", OP_SESSION_FORGET},
};

/* What "%s" is for a container: the engine's words about its state. */
static const struct {
	const char *name, *why;
} reasons[CLEAN_REASONS] = {
	[CLEAN_NOTHING] = {"nothing", ""},
	[CLEAN_OWNER_DEAD] = {"owner_dead", "%s; the process that made it is dead"},
	[CLEAN_SESSION_ENDED] = {"session_ended", "%s; its session ended"},
	[CLEAN_UNFINISHED] = {"unfinished", "%s; bringing it up was interrupted"},
	[CLEAN_EXITED] = {"exited", "%s"},
	[CLEAN_DEAD] = {"dead", "%s; the engine failed to remove it"},
	[CLEAN_UNUSED] = {"unused", "no container uses it"},
	[CLEAN_DANGLING] = {"dangling", "has no name, and no container uses it"},
	[CLEAN_LEFT] = {"left_behind", "%s"},
	[CLEAN_CHOSEN] = {"chosen", "chosen by name"},
};

const char *clean_type_name(enum clean_type t)
{
	return t < CLEAN_TYPES ? types[t].name : "unknown";
}

const char *clean_reason_name(enum clean_reason r)
{
	return r < CLEAN_REASONS ? reasons[r].name : "unknown";
}

enum operation clean_operation(enum clean_type t)
{
	return types[t].operation;
}

struct planning {
	const struct world *w;
	const struct policy *policy;
	struct clean_plan *p;
	struct arena *mem;
	bool *going; /* per container: it is marked */
	size_t most; /* items that there is space for */
};

/* Containers. */

static const struct session *find_record(const struct world *w, const char *name)
{
	for (size_t i = 0; i < w->nsessions; i++)
		if (!strcmp(w->session[i].name, name) && !strcmp(w->session[i].engine, w->engine))
			return &w->session[i];
	return NULL;
}

static enum clean_reason reason_of_end(enum container_state s)
{
	return s == CONTAINER_EXITED  ? CLEAN_EXITED
		: s == CONTAINER_DEAD ? CLEAN_DEAD
				      : CLEAN_NOTHING;
}

/* An agent's container belongs to its session, not to a process. */
static enum clean_reason rule_agent(
	const struct world *w, const struct seen_container *c, const struct session *record)
{
	if (record && !strcmp(record->id, c->id))
		return c->state != CONTAINER_CREATED ? reason_of_end(c->state)
			: w->making                  ? CLEAN_NOTHING
						     : CLEAN_UNFINISHED;
	return w->making ? CLEAN_NOTHING : CLEAN_SESSION_ENDED;
}

enum clean_reason rule_container(
	const struct world *w, const struct seen_container *c, bool foreign, bool *ret_ours)
{
#define LABEL(key) world_label(c->labels, c->nlabels, key)
	const struct session *record = find_record(w, c->name);

	bool recorded = record && !strcmp(record->id, c->id);

	*ret_ours = recorded ||
		own_proven(w->engine, c->name, LABEL("berth.session"), LABEL("berth.proof"));
	if (!*ret_ours)
		return foreign ? reason_of_end(c->state) : CLEAN_NOTHING;
	if (c->state == CONTAINER_REMOVING)
		return CLEAN_NOTHING;
	if (recorded || !strcmp(LABEL("berth.role"), "agent"))
		return rule_agent(w, c, record);
	return own_alive(LABEL("berth.owner")) ? CLEAN_NOTHING : CLEAN_OWNER_DEAD;
#undef LABEL
}

/* The plan. */

static bool is_berth_labelled(const struct key_value *labels, size_t n)
{
	for (size_t i = 0; labels && i < n; i++)
		if (!strncmp(labels[i].key, "berth.", 6))
			return true;
	return false;
}

/* Why it may not go: policy, or whose it is. */
static const char *explain_kept(const struct planning *g, const struct clean_item *it,
	const char *image, const struct key_value *labels, size_t n)
{
	static const struct key_value none = {"", "", false};
	struct policy p;
	struct policy_host hosts[64];
	struct policy_act act = {.operation = clean_operation(it->type),
		.endpoint = g->p->endpoint,
		.engine_name = g->p->engine_name,
		.name = it->name,
		.id = it->id,
		.image = image,
		.labels = labels ? labels : &none,
		.nlabels = n};
	struct err why = ERR_INIT;

	/* An image that was committed from a container carries its labels, whoever committed it. */
	if (it->foreign && it->type != CLEAN_IMAGE && is_berth_labelled(labels, n))
		return "another berth created it, and cleans it up itself";
	if (!g->policy)
		return NULL;
	/* A plan changes nothing: whether anything may be changed is asked when it is carried out. */
	p = *g->policy;
	p.read_only = false;
	p.nhosts = p.nhosts < COUNT(hosts) ? p.nhosts : COUNT(hosts);
	for (size_t i = 0; i < p.nhosts; i++) {
		hosts[i] = p.hosts[i];
		hosts[i].read_only = false;
	}
	p.hosts = hosts;
	return policy_check(&p, &act, &why) ? arena_strdup(g->mem, why.msg) : NULL;
}

static struct clean_item *append_item(
	struct planning *g, enum clean_type type, enum clean_reason reason)
{
	struct clean_item *it;

	if (g->p->n == g->most)
		return NULL;
	it = &g->p->item[g->p->n++];
	*it = (struct clean_item){.type = type,
		.reason = reason,
		.owner = "you",
		.why = reasons[reason].why,
		.bytes = -1,
		.marked = true};
	return it;
}

const char *rules_owner(struct arena *mem, bool ours, const struct key_value *labels, size_t n)
{
	const char *agent = world_label(labels, n, "berth.agent"),
		   *owner = world_label(labels, n, "berth.owner"),
		   *project = world_label(labels, n, "com.docker.compose.project"),
		   *pid = strstr(owner, "\"pid\":");
	long number = 0;

	if (ours && *agent)
		return arena_printf(mem, "agent %s", agent);
	if (ours && pid && sscanf(pid, "\"pid\":%ld", &number) == 1)
		return arena_printf(mem, "process %ld", number);
	if (ours)
		return "you";
	return *project ? arena_printf(mem, "compose %s", project) : "not berth";
}

/* "Exited (137) 2 days ago" -> "exited (137) 2 days ago" */
static const char *status_of(struct planning *g, const struct seen_container *c)
{
	char *text = arena_strdup(g->mem, *c->status ? c->status : container_state_name(c->state));

	*text = (char)tolower((unsigned char)*text);
	return text;
}

static void plan_container(struct planning *g, size_t i)
{
	const struct seen_container *c = &g->w->container[i];
	bool ours;
	enum clean_reason why = rule_container(g->w, c, g->p->foreign, &ours);
	struct clean_item *it = why ? append_item(g, CLEAN_CONTAINER, why) : NULL;
	/* The packages installed in it are in it: offered, and the person's to mark. */
	bool waits = ours && why == CLEAN_EXITED;
	/* A lost record must not cost an agent that works. */
	bool lives = why == CLEAN_SESSION_ENDED && container_is_up(c->state);

	if (!it)
		return;
	it->id = c->id;
	it->name = c->name;
	it->foreign = !ours;
	it->running = container_is_up(c->state);
	it->owner = rules_owner(g->mem, ours, c->labels, c->nlabels);
	it->why = arena_printf(g->mem,
		waits           ? "%s; its session lasts until `berth down`"
			: lives ? "%s; no session of it is recorded here"
				: reasons[why].why,
		status_of(g, c));
	it->bytes = c->bytes;
	it->made_ms = c->made_ms;
	it->keep = explain_kept(g, it, c->image, c->labels, c->nlabels);
	it->marked = !it->keep && !waits && !lives;
	g->going[i] = it->marked;
}

static bool list_has(const char *const *list, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], word))
			return true;
	return false;
}

/* Does a container that stays use it? */
static bool network_used(const struct planning *g, const struct seen_network *net)
{
	for (size_t i = 0; i < g->w->ncontainers; i++) {
		const struct seen_container *c = &g->w->container[i];

		if (!g->going[i] &&
			(list_has(c->networks, c->nnetworks, net->id) ||
				list_has(c->networks, c->nnetworks, net->name)))
			return true;
	}
	return false;
}

static bool volume_used(const struct planning *g, const char *name)
{
	for (size_t i = 0; i < g->w->ncontainers; i++)
		if (!g->going[i] &&
			list_has(g->w->container[i].volumes, g->w->container[i].nvolumes, name))
			return true;
	return false;
}

static bool image_used(const struct planning *g, const char *id)
{
	for (size_t i = 0; i < g->w->ncontainers; i++)
		if (!g->going[i] && !strcmp(g->w->container[i].image_id, id))
			return true;
	return false;
}

bool rules_of_engine(const char *name)
{
	static const char *const engines[] = {
		"bridge", "host", "none", "ingress", "docker_gwbridge", "podman"};

	return list_has(engines, COUNT(engines), name);
}

bool rules_own_network(const struct world *w, const struct seen_network *n)
{
	return own_proven(
		w->engine, n->name, OWN_NETWORK, world_label(n->labels, n->nlabels, "berth.proof"));
}

static void plan_network(struct planning *g, const struct seen_network *n)
{
	bool ours = rules_own_network(g->w, n);
	struct clean_item *it;

	if ((!ours && !g->p->foreign) || (ours && g->w->making) || rules_of_engine(n->name) ||
		network_used(g, n))
		return;
	it = append_item(g, CLEAN_NETWORK, CLEAN_UNUSED);
	if (!it)
		return;
	it->id = n->id;
	it->name = n->name;
	it->foreign = !ours;
	it->owner = rules_owner(g->mem, ours, n->labels, n->nlabels);
	it->made_ms = n->made_ms;
	it->bytes = 0;
	it->keep = explain_kept(g, it, "", n->labels, n->nlabels);
	it->marked = !it->keep;
}

/* Of a foreign one; NULL: nobody named it.  Unsure means kept: 64 hex digits can be a person's name for it, too. */
static const char *why_volume_stays(const struct world *w, const struct seen_volume *v)
{
	size_t n = strspn(v->name, "0123456789abcdef");
	bool told = false;

	if (n != 64 || v->name[n] || strcmp(v->driver, "local"))
		return "named volumes are kept";
	for (size_t i = 0; i < v->nlabels; i++) {
		if (strcmp(v->labels[i].key, "com.docker.volume.anonymous"))
			return "it has labels: labelled volumes are kept";
		told = true;
	}
	return told || !w->labels_anonymous
		? NULL
		: "the engine does not report it as anonymous: it is kept";
}

bool rules_own_volume(const struct world *w, const struct seen_volume *v)
{
	return own_proven(
		w->engine, v->name, OWN_HOME, world_label(v->labels, v->nlabels, "berth.proof"));
}

/* The home of a session that lives stays, whatever its container does. */
static bool is_lived_in(const struct planning *g, const struct seen_volume *v)
{
	return g->w->making || strncmp(v->name, HOME_PREFIX, strlen(HOME_PREFIX)) ||
		find_record(g->w, v->name + strlen(HOME_PREFIX));
}

/* What was in use a moment ago may be wanted again: a person marks it, or time does. */
static bool is_home_young(struct planning *g, const struct seen_volume *v, const char **ret_why)
{
	int64_t days = g->policy ? g->policy->home_days : 0;
	int64_t used = v->used_ms > v->made_ms ? v->used_ms : v->made_ms;
	int64_t age = g->w->now_ms > used ? g->w->now_ms - used : 0;
	bool young = g->w->now_ms && used && age / DAY_MS < days;
	char text[FORMAT_MAX];

	*ret_why = "home of an ended session: its files and the packages it installed";
	if (g->w->now_ms && used)
		*ret_why = arena_printf(g->mem,
			"home of an ended session, last used %s ago%s: its files and the packages it installed",
			format_age(text, age),
			young ? arena_printf(g->mem, ", marked after %lld days (clean.home_days)",
					(long long)days)
			      : "");
	return young;
}

static void plan_volume(struct planning *g, const struct seen_volume *v)
{
	bool ours = rules_own_volume(g->w, v), young = false;
	struct clean_item *it;

	if (ours && is_lived_in(g, v))
		return;
	if ((!ours && !g->p->foreign) || volume_used(g, v->name))
		return;
	it = append_item(g, CLEAN_VOLUME, CLEAN_UNUSED);
	if (!it)
		return;
	it->id = it->name = v->name;
	it->foreign = !ours;
	it->owner = rules_owner(g->mem, ours, v->labels, v->nlabels);
	if (ours)
		young = is_home_young(g, v, &it->why);
	it->made_ms = v->made_ms;
	it->bytes = v->bytes;
	it->keep = explain_kept(g, it, "", v->labels, v->nlabels);
	if (!it->keep && it->foreign)
		it->keep = why_volume_stays(g->w, v);
	it->marked = !it->keep && !young;
}

bool rules_own_image(const struct world *w, const struct seen_image *i)
{
	return *i->tag &&
		own_proven(w->engine, i->tag, OWN_IMAGE,
			world_label(i->labels, i->nlabels, "berth.prepared_proof"));
}

static void plan_image(struct planning *g, const struct seen_image *i)
{
	bool ours = rules_own_image(g->w, i);
	bool dangling = !*i->tag && g->p->foreign;
	struct clean_item *it;

	if ((!ours && !dangling) || (ours && g->w->making) || image_used(g, i->id) ||
		plan_find(g->p, CLEAN_IMAGE, i->id))
		return;
	it = append_item(g, CLEAN_IMAGE, ours ? CLEAN_UNUSED : CLEAN_DANGLING);
	if (!it)
		return;
	it->id = i->id;
	it->name = *i->tag ? i->tag : arena_printf(g->mem, "%.12s", i->id + strlen("sha256:"));
	it->foreign = !ours;
	it->owner = rules_owner(g->mem, ours, i->labels, i->nlabels);
	if (ours)
		it->why = "prepared for an agent that is not up; `berth up` prepares it again";
	it->made_ms = i->made_ms;
	it->bytes = i->bytes;
	it->keep = explain_kept(g, it, *i->tag ? i->tag : i->id, i->labels, i->nlabels);
	it->marked = !it->keep;
}

static bool container_exists(const struct world *w, const struct seen_files *f)
{
	for (size_t i = 0; i < w->ncontainers; i++)
		if (!strcmp(*f->id ? w->container[i].id : w->container[i].name,
			    *f->id ? f->id : f->name))
			return true;
	return false;
}

static void plan_files(struct planning *g, const struct seen_files *f)
{
	struct clean_item *it;

	if (g->w->making || f->young || (*f->engine && strcmp(f->engine, g->w->engine)) ||
		container_exists(g->w, f))
		return;
	it = append_item(g, CLEAN_LEFTOVER, CLEAN_LEFT);
	if (!it)
		return;
	it->id = it->name = f->name;
	it->why = f->record && f->lane ? "session record and lane of a container that is gone"
		: f->record            ? "session record of a container that is gone"
				       : "lane of a container that is gone";
	it->made_ms = f->made_ms;
	it->bytes = 0;
	it->keep = explain_kept(g, it, "", NULL, 0);
	it->marked = !it->keep;
}

static void begin_plan(struct planning *g, size_t most)
{
	g->most = most < CLEAN_ITEMS_MAX ? most : CLEAN_ITEMS_MAX;
	g->p->item = arena_array(g->mem, g->most + 1, sizeof *g->p->item);
	g->p->n = 0;
}

void rules_plan(
	const struct world *w, const struct policy *policy, struct clean_plan *p, struct arena *mem)
{
	struct planning g = {.w = w,
		.policy = policy,
		.p = p,
		.mem = mem,
		.going = arena_array(mem, w->ncontainers + 1, sizeof(bool))};

	begin_plan(&g, w->ncontainers + w->nnetworks + w->nvolumes + w->nimages + w->nfiles);
	for (size_t i = 0; i < w->ncontainers; i++)
		plan_container(&g, i);
	for (size_t i = 0; i < w->nnetworks; i++)
		plan_network(&g, &w->network[i]);
	for (size_t i = 0; i < w->nvolumes; i++)
		plan_volume(&g, &w->volume[i]);
	for (size_t i = 0; i < w->nimages; i++)
		plan_image(&g, &w->image[i]);
	for (size_t i = 0; i < w->nfiles; i++)
		plan_files(&g, &w->files[i]);
}

/* What a person chose. */

/* The first container that has it, running ones before others; NULL: none. */
static const struct seen_container *find_holder(
	const struct world *w, enum clean_type type, const char *id, const char *name)
{
	const struct seen_container *found = NULL;

	for (size_t i = 0; i < w->ncontainers; i++) {
		const struct seen_container *c = &w->container[i];
		bool uses = type == CLEAN_IMAGE ? !strcmp(c->image_id, id)
			: type == CLEAN_VOLUME  ? list_has(c->volumes, c->nvolumes, id)
						: list_has(c->networks, c->nnetworks, id) ||
				list_has(c->networks, c->nnetworks, name);

		if (uses &&
			(!found || (container_is_up(c->state) && !container_is_up(found->state))))
			found = c;
	}
	return found;
}

/* `lived`: why it may not go whoever uses it, or NULL. */
static void add_chosen(struct planning *g, const struct clean_item *what, const char *image,
	const struct key_value *labels, size_t n, const char *lived)
{
	struct clean_item *it = append_item(g, what->type, CLEAN_CHOSEN);
	const struct seen_container *user;

	if (!it)
		return;
	user = find_holder(g->w, what->type, what->id, what->name);
	it->id = what->id;
	it->name = what->name;
	it->foreign = what->foreign;
	it->bytes = what->bytes;
	it->made_ms = what->made_ms;
	it->owner = rules_owner(g->mem, !it->foreign, labels, n);
	g->p->foreign |= it->foreign;
	if (lived)
		it->keep = lived;
	else if (user)
		it->keep = arena_printf(g->mem, "the container %s%s has it", user->name,
			container_is_up(user->state) ? "" : ", which is stopped,");
	else if (!it->foreign && g->w->making)
		it->keep = "an agent is being brought up at this moment; try again";
	else
		it->keep = explain_kept(g, it, image, labels, n);
	it->marked = !it->keep;
}

static void choose_image(struct planning *g, const struct seen_image *i)
{
	const struct clean_item what = {.type = CLEAN_IMAGE,
		.id = i->id,
		.name = *i->tag ? i->tag : arena_printf(g->mem, "%.12s", i->id + strlen("sha256:")),
		.foreign = !rules_own_image(g->w, i),
		.bytes = i->bytes,
		.made_ms = i->made_ms};

	add_chosen(g, &what, *i->tag ? i->tag : i->id, i->labels, i->nlabels, NULL);
}

static void choose_volume(struct planning *g, const struct seen_volume *v)
{
	const struct clean_item what = {.type = CLEAN_VOLUME,
		.id = v->name,
		.name = v->name,
		.foreign = !rules_own_volume(g->w, v),
		.bytes = v->bytes,
		.made_ms = v->made_ms};

	add_chosen(g, &what, "", v->labels, v->nlabels,
		!what.foreign && !g->w->making && is_lived_in(g, v)
			? "it is the home of a session that lasts until `berth down`"
			: NULL);
}

static void choose_network(struct planning *g, const struct seen_network *n)
{
	const struct clean_item what = {.type = CLEAN_NETWORK,
		.id = n->id,
		.name = n->name,
		.foreign = !rules_own_network(g->w, n),
		.made_ms = n->made_ms};

	add_chosen(g, &what, "", n->labels, n->nlabels,
		rules_of_engine(n->name) ? "it is the engine's own" : NULL);
}

/* An engine may list one thing many times: the first is it. */
static void choose(struct planning *g, enum clean_type type, const char *id)
{
	const struct world *w = g->w;
	size_t i = 0;

	if (type == CLEAN_IMAGE) {
		while (i < w->nimages && strcmp(w->image[i].id, id) != 0)
			i++;
		if (i < w->nimages)
			choose_image(g, &w->image[i]);
	} else if (type == CLEAN_VOLUME) {
		while (i < w->nvolumes && strcmp(w->volume[i].name, id) != 0)
			i++;
		if (i < w->nvolumes)
			choose_volume(g, &w->volume[i]);
	} else if (type == CLEAN_NETWORK) {
		while (i < w->nnetworks && strcmp(w->network[i].id, id) != 0)
			i++;
		if (i < w->nnetworks)
			choose_network(g, &w->network[i]);
	}
}

void rules_choose(const struct world *w, const struct policy *policy, struct clean_plan *p,
	enum clean_type type, const char *const *id, size_t n, struct arena *mem)
{
	struct planning g = {.w = w, .policy = policy, .p = p, .mem = mem};

	begin_plan(&g, n);
	for (size_t k = 0; k < n; k++)
		choose(&g, type, id[k]);
}

void clean_plan_only(struct clean_plan *p, enum clean_type type)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->item[i].type == type)
			p->item[n++] = p->item[i];
	p->n = n;
}

const struct clean_item *plan_find(const struct clean_plan *p, enum clean_type t, const char *id)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->item[i].type == t && !strcmp(p->item[i].id, id))
			return &p->item[i];
	return NULL;
}

struct clean_totals clean_totals(const struct clean_plan *p)
{
	struct clean_totals t = {0};

	for (size_t i = 0; i < p->n; i++) {
		const struct clean_item *it = &p->item[i];

		t.orphans += clean_orphan(it->reason);
		t.kept += it->keep != NULL;
		if (!it->marked)
			continue;
		t.marked++;
		t.running += it->running;
		if (it->bytes >= 0)
			t.bytes += (uint64_t)it->bytes;
		else
			t.bytes_unknown = true;
	}
	return t;
}
