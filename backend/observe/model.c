/* model.c - keeps the table of containers, by id and in order. */
#include "observe/observe.h"

#include <stdlib.h>
#include <string.h>

#include <berth/hash.h>
#include <berth/mem.h>
#include <berth/str.h>

void model_init(struct model *m)
{
	memset(m, 0, sizeof *m);
	m->engine = xstrdup("");
}

static void row_free(struct model *m, struct row *r)
{
	row_stop_stats(m, r);
	rates_clear(&r->rates);
	arena_release(&r->mem);
	free(r->problem);
	free(r);
}

static void remove_all(struct model *m)
{
	for (size_t i = 0; i < m->n; i++)
		row_free(m, m->row[i]);
	m->n = 0;
	if (m->nslots)
		memset(m->slot, 0, m->nslots * sizeof *m->slot);
}

void model_release(struct model *m)
{
	remove_all(m);
	free(m->row);
	free(m->slot);
	free(m->engine);
	memset(m, 0, sizeof *m);
}

void model_clear(struct model *m, const char *engine)
{
	remove_all(m);
	free(m->engine);
	m->engine = xstrdup(engine);
}

void model_name(struct model *m, const char *engine)
{
	free(m->engine);
	m->engine = xstrdup(engine);
	for (size_t i = 0; i < m->n; i++)
		m->row[i]->c.engine = m->engine;
}

/* Ids are hashes already, but they come from outside. */
static size_t hash_id(const char *id)
{
	uint64_t h = hash_more(HASH_START, id, strlen(id));

	return (size_t)(h ^ (h >> 32));
}

static size_t find_slot(const struct model *m, const char *id)
{
	size_t at = hash_id(id) & (m->nslots - 1);

	while (m->slot[at] && strcmp(m->slot[at]->c.id, id) != 0)
		at = (at + 1) & (m->nslots - 1);
	return at;
}

static void rehash_rows(struct model *m)
{
	memset(m->slot, 0, m->nslots * sizeof *m->slot);
	for (size_t i = 0; i < m->n; i++)
		m->slot[find_slot(m, m->row[i]->c.id)] = m->row[i];
}

struct row *model_find(const struct model *m, const char *id)
{
	return m->nslots ? m->slot[find_slot(m, id)] : NULL;
}

static struct row *add_container_row(struct model *m, const char *id)
{
	struct row *r = xcalloc(1, sizeof *r);

	arena_init(&r->mem, 0);
	cgroup_reader_init(&r->cgroup);
	r->c.id = arena_strdup(&r->mem, id);
	r->c.engine = m->engine;
	r->dirty = true;
	m->row = mem_grow(m->row, &m->cap, m->n + 1, sizeof(struct row *));
	m->row[m->n++] = r;
	m->unsorted = true;
	if (m->n * 2 > m->nslots) {
		m->nslots = m->nslots ? m->nslots * 2 : 64;
		m->slot = xreallocarray(m->slot, m->nslots, sizeof(struct row *));
		rehash_rows(m);
	} else {
		m->slot[find_slot(m, id)] = r;
	}
	return r;
}

void model_remove(struct model *m, struct row *r)
{
	for (size_t i = 0; i < m->n; i++) {
		if (m->row[i] != r)
			continue;
		memmove(&m->row[i], &m->row[i + 1], (m->n - i - 1) * sizeof(struct row *));
		m->n--;
		break;
	}
	row_free(m, r);
	rehash_rows(m);
}

int row_order(const struct row *a, const struct row *b)
{
	int order = strcmp(a->c.name, b->c.name);

	return order ? order : strcmp(a->c.id, b->c.id);
}

static int compare_containers(const void *a, const void *b)
{
	return row_order(*(struct row *const *)a, *(struct row *const *)b);
}

void model_sort(struct model *m)
{
	if (m->unsorted && m->n)
		mem_sort(m->row, m->n, sizeof(struct row *), compare_containers);
	m->unsorted = false;
}

static const char *find_label(const struct key_value *labels, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(labels[i].key, key) == 0)
			return labels[i].value;
	return "";
}

/* What a row shows beyond its state, new strings in a new arena. */
struct looks {
	const char *name, *image, *image_id, *command;
	const struct key_value *labels;
	size_t nlabels;
	const struct key_value *ports, *networks; /* as engine_container has them */
	size_t nports, nnetworks;
	const struct mount_info *mounts;
	size_t nmounts;
};

static const char *copy_or_empty(struct arena *a, const char *s)
{
	return s && *s ? arena_strdup(a, s) : "";
}

/* "0.0.0.0:8080" and "80/tcp": 8080→80/tcp; every address is what nobody needs to be told. */
static void add_port(struct str *out, const struct key_value *p)
{
	const char *at = p->value;

	if (strncmp(at, "0.0.0.0:", 8) == 0)
		at += 8;
	else if (strncmp(at, ":::", 3) == 0 || strncmp(at, "[::]:", 5) == 0)
		return; /* the same port of the other protocol */
	str_addf(out, "%s%s%s%s", out->len ? " " : "", at, *at ? "\u2192" : "", p->key);
}

static const char *copy_ports(struct arena *a, const struct looks *l)
{
	AUTO_STR struct str text = STR_INIT;

	for (size_t i = 0; i < l->nports; i++)
		add_port(&text, &l->ports[i]);
	return copy_or_empty(a, text.s);
}

static const char *copy_networks(struct arena *a, const struct looks *l)
{
	AUTO_STR struct str text = STR_INIT;

	for (size_t i = 0; i < l->nnetworks; i++)
		str_addf(&text, "%s%s", i ? " " : "", l->networks[i].key);
	return copy_or_empty(a, text.s);
}

/* A path with a line break in it is nothing that berth mounts. */
static const char *copy_binds(struct arena *a, const struct looks *l)
{
	AUTO_STR struct str text = STR_INIT;

	for (size_t i = 0; i < l->nmounts; i++)
		if (!strcmp(l->mounts[i].type, "bind") && !strchr(l->mounts[i].source, '\n'))
			str_addf(&text, "%s%s", text.len ? "\n" : "", l->mounts[i].source);
	return copy_or_empty(a, text.s);
}

static const struct key_value *copy_labels(struct arena *a, const struct looks *l)
{
	struct key_value *to = arena_array(a, l->nlabels + 1, sizeof *to);

	for (size_t i = 0; i < l->nlabels; i++)
		to[i] = (struct key_value){copy_or_empty(a, l->labels[i].key),
			copy_or_empty(a, l->labels[i].value), false};
	return to;
}

static void update_looks(struct model *m, struct row *r, const struct looks *l)
{
	struct arena mem;
	struct container *c = &r->c;

	if (!c->name || strcmp(c->name, l->name) != 0)
		m->unsorted = true;
	arena_init(&mem, 1024);
	c->id = arena_strdup(&mem, c->id);
	c->name = copy_or_empty(&mem, l->name);
	c->image = copy_or_empty(&mem, l->image);
	c->image_id = copy_or_empty(&mem, l->image_id);
	c->command = copy_or_empty(&mem, l->command);
	c->ports = copy_ports(&mem, l);
	c->networks = copy_networks(&mem, l);
	c->binds = copy_binds(&mem, l);
	c->agent = copy_or_empty(&mem, find_label(l->labels, l->nlabels, "berth.agent"));
	c->session = copy_or_empty(&mem, find_label(l->labels, l->nlabels, "berth.session"));
	c->role = copy_or_empty(&mem, find_label(l->labels, l->nlabels, "berth.role"));
	c->proof = copy_or_empty(&mem, find_label(l->labels, l->nlabels, "berth.proof"));
	c->compose_project = copy_or_empty(
		&mem, find_label(l->labels, l->nlabels, "com.docker.compose.project"));
	c->compose_service = copy_or_empty(
		&mem, find_label(l->labels, l->nlabels, "com.docker.compose.service"));
	r->labels = copy_labels(&mem, l);
	r->nlabels = l->nlabels;
	arena_release(&r->mem);
	r->mem = mem;
}

void model_take_list(struct model *m, const struct engine_summary *list, size_t n, int64_t now_ns)
{
	m->list_mark++;
	for (size_t i = 0; i < n; i++) {
		const struct engine_summary *s = &list[i];
		struct row *r = model_find(m, s->id);

		if (!r)
			r = add_container_row(m, s->id);
		/* Inspections know more; a list only tells that something is different. */
		if (!r->inspected) {
			struct looks l = {.name = s->name,
				.image = s->image,
				.image_id = s->image_id,
				.command = s->command,
				.labels = s->labels,
				.nlabels = s->nlabels};

			update_looks(m, r, &l);
			r->c.state = s->state;
			r->c.created_wall_ms = s->created_wall_ms;
			r->c.started_wall_ms = r->c.finished_wall_ms = -1;
		} else if (r->c.state != s->state || strcmp(r->c.name, s->name) != 0) {
			r->dirty = true;
		}
		r->dirty |= r->retry;
		r->retry = false;
		r->list_mark = m->list_mark;
		r->c.seen_ns = now_ns;
	}
	for (size_t i = m->n; i-- > 0;)
		if (m->row[i]->list_mark != m->list_mark)
			model_remove(m, m->row[i]);
}

struct row *model_take_inspection(
	struct model *m, const struct engine_container *ec, int64_t now_ns)
{
	struct row *r = model_find(m, ec->id);
	struct looks l = {ec->name, ec->image, ec->image_id, ec->command, ec->labels, ec->nlabels,
		ec->ports, ec->networks, ec->nports, ec->nnetworks, ec->mounts, ec->nmounts};
	struct container *c;
	bool anew;

	if (!r) {
		r = add_container_row(m, ec->id);
		r->list_mark = m->list_mark;
		r->dirty = false;
	}
	c = &r->c;
	update_looks(m, r, &l);
	anew = c->pid != ec->pid || c->started_wall_ms != ec->started_wall_ms;
	c->state = ec->state;
	c->health = ec->health;
	c->own_health = ec->own_health;
	c->exit_code = ec->exit_code;
	c->oom_killed = ec->oom_killed;
	c->created_wall_ms = ec->created_wall_ms;
	c->started_wall_ms = ec->started_wall_ms;
	c->finished_wall_ms = ec->finished_wall_ms;
	c->restarts = ec->restarts;
	c->pid = ec->pid;
	c->seen_ns = now_ns;
	r->tty = ec->tty;
	r->no_net = strcmp(ec->network_mode, "host") == 0 || strcmp(ec->network_mode, "none") == 0;
	r->inspected = true;
	if (r->settling) {
		r->settling = false;
		c->pending = ACT_NONE;
	}
	if (anew || !row_runs(r))
		row_stop_stats(m, r);
	return r;
}

void row_set_problem(struct row *r, const char *sentence)
{
	free(r->problem);
	r->problem = xstrdup(sentence);
	r->c.problem = r->problem;
}

bool row_runs(const struct row *r)
{
	return r->inspected && r->c.pid > 0 &&
		(r->c.state == CONTAINER_RUNNING || r->c.state == CONTAINER_PAUSED);
}

void row_stop_stats(struct model *m, struct row *r)
{
	if (r->cgroup.open)
		m->fds -= CGROUP_FDS;
	cgroup_reader_close(&r->cgroup);
	r->cgroup_failed = r->brief = false;
	r->stats_failed = 0;
	r->first_ns = 0;
	rates_restart(&r->rates);
	if (!row_runs(r)) {
		rates_clear(&r->rates);
		memset(&r->c.stats, 0, sizeof r->c.stats);
	}
}
