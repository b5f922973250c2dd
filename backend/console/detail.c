/*
 * detail.c - collects the details of the container in focus.
 *
 * Inspected when it gets the focus and whenever its row is inspected again; its processes and the
 * limits in force are read every two seconds, on a worker thread from /proc where that is ours,
 * else from the engine.  A focus that was left lives on until its last request has ended.
 */
#include "console/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/message.h>
#include <berth/text.h>

#include "container/container.h"
#include "observe/observe.h"
#include "console/posture.h"

#define PROCESSES_EVERY_NS (2000 * 1000000LL)
#define SECRET_MASK "********"

struct focus {
	struct backend *b;
	struct site *at;
	char *engine, *id;
	bool left; /* no longer the one in focus */
	size_t under_way;
	bool inspecting, again;
	bool reading; /* processes are being read */
	int64_t read_ns;

	struct asked asked;
	struct detail d; /* what is shown: strings in `inspected` and `read` */
	char *problem;
	struct arena inspected, read;

	struct blocking_task work;
	struct process_list list; /* the worker's while `reading` */
};

static void maybe_free(struct focus *f)
{
	if (!f->left || f->under_way)
		return;
	process_list_release(&f->list);
	arena_release(&f->inspected);
	arena_release(&f->read);
	free(f->problem);
	free(f->engine);
	free(f->id);
	free(f);
}

static void leave_focus(struct backend *b)
{
	struct focus *f = STEAL(b->focus);

	if (!f)
		return;
	f->left = true;
	maybe_free(f);
}

/* ---- what the engine says */

struct pairs {
	struct arena *a;
	struct key_value *kv;
	size_t n, cap;
};

static void add_pair(struct pairs *p, const char *key, const char *value)
{
	if (p->n < p->cap && value && *value)
		p->kv[p->n++] =
			(struct key_value){copy_text(p->a, key), copy_text(p->a, value), false};
}

static void take_config(struct focus *f, const struct engine_container *c)
{
	struct arena *a = &f->inspected;
	struct pairs p = {a, NULL, 0, 16 + c->nports + c->nnetworks};

	p.kv = arena_array(a, p.cap, sizeof *p.kv);
	add_pair(&p, "image", c->image);
	add_pair(&p, "image id", c->image_id);
	add_pair(&p, "command", c->command);
	add_pair(&p, "user", c->user);
	add_pair(&p, "workdir", c->workdir);
	add_pair(&p, "hostname", c->hostname);
	add_pair(&p, "restart", c->restart_policy);
	add_pair(&p, "network mode", c->network_mode);
	for (size_t i = 0; i < c->nnetworks; i++)
		add_pair(&p, arena_printf(a, "network %s", c->networks[i].key),
			c->networks[i].value[0] ? c->networks[i].value : "no address");
	for (size_t i = 0; i < c->nports; i++)
		add_pair(&p, arena_printf(a, "port %s", c->ports[i].key),
			c->ports[i].value[0] ? c->ports[i].value : "not published");
	add_pair(&p, "runtime", c->runtime);
	add_pair(&p, "logs", c->log_driver);
	add_pair(&p, "init", c->init ? "yes" : NULL);
	add_pair(&p, "terminal", c->tty ? "yes" : NULL);
	add_pair(&p, "error", c->error);
	f->d.config = p.kv;
	f->d.nconfig = p.n;
}

static const struct key_value *take_pairs(
	struct focus *f, const struct key_value *from, size_t n, bool hide_secrets)
{
	struct arena *a = &f->inspected;
	struct key_value *kv = arena_array(a, n + 1, sizeof *kv);

	for (size_t i = 0; i < n; i++) {
		bool secret = hide_secrets && text_looks_secret(from[i].key);

		kv[i] = (struct key_value){copy_text(a, from[i].key),
			secret ? SECRET_MASK : copy_text(a, from[i].value), secret};
	}
	return kv;
}

static const struct mount_info *copy_mounts(struct focus *f, const struct engine_container *c)
{
	struct arena *a = &f->inspected;
	struct mount_info *m = arena_array(a, c->nmounts + 1, sizeof *m);

	for (size_t i = 0; i < c->nmounts; i++)
		m[i] = (struct mount_info){copy_text(a, c->mounts[i].type),
			copy_text(a, c->mounts[i].source), copy_text(a, c->mounts[i].target),
			c->mounts[i].read_only};
	return m;
}

/* Asked against in force, from what is known by now. */
static void weigh_posture(struct focus *f, const struct process_list *in_force)
{
	f->d.nlimits = limits_text(&f->asked, in_force, &f->read, &f->d.limits);
	f->d.nposture = posture_text(&f->asked, in_force, in_force && sandbox_is(in_force->pid),
		&f->read, &f->d.posture);
}

static void read_again(struct focus *f);
static void inspect_focus(struct focus *f);

static void set_focus_problem(struct focus *f, const char *sentence)
{
	free(f->problem);
	f->problem = xstrdup(sentence);
	f->d.problem = f->problem;
}

static void on_focus_inspected(void *ctx, const struct engine_container *c, const char *json,
	size_t len, const struct err *err)
{
	struct focus *f = ctx;
	bool first = !f->d.inspected;

	(void)json;
	(void)len;
	f->under_way--;
	f->inspecting = false;
	if (f->left || f->b->stopping) {
		maybe_free(f);
		return;
	}
	if (err) {
		if (err->kind != ERR_CANCELLED)
			set_focus_problem(f, err->msg);
		publish_soon(f->b);
		return;
	}
	set_focus_problem(f, NULL);
	arena_reset(&f->inspected);
	asked_take(&f->asked, c, &f->inspected);
	take_config(f, c);
	f->d.env = take_pairs(f, c->env, c->nenv, true);
	f->d.nenv = c->nenv;
	f->d.labels = take_pairs(f, c->labels, c->nlabels, false);
	f->d.nlabels = c->nlabels;
	f->d.mounts = copy_mounts(f, c);
	f->d.nmounts = c->nmounts;
	f->d.inspected = true;
	if (first)
		weigh_posture(f, NULL);
	if (f->again)
		inspect_focus(f);
	f->read_ns = 0;
	read_again(f);
	publish_soon(f->b);
}

static void inspect_focus(struct focus *f)
{
	f->again = f->inspecting;
	if (f->inspecting)
		return;
	f->inspecting = true;
	f->under_way++;
	engine_inspect(f->at->engine, f->id, on_focus_inspected, f);
}

/* ---- processes */

static void take_processes(struct focus *f, const struct process_info *p, size_t n)
{
	struct arena *a = &f->read;
	struct process_info *to = arena_array(a, n + 1, sizeof *to);

	for (size_t i = 0; i < n; i++) {
		to[i] = p[i];
		to[i].user = copy_text(a, p[i].user);
		to[i].state = copy_text(a, p[i].state);
		to[i].command = copy_text(a, p[i].command);
	}
	f->d.processes = to;
	f->d.nprocesses = n;
}

static void take_top(struct focus *f, const struct process_info *p, size_t n,
	const struct process_list *in_force)
{
	arena_reset(&f->read);
	take_processes(f, p, n);
	weigh_posture(f, in_force);
	publish_soon(f->b);
}

static void read_work(struct blocking_task *w)
{
	struct focus *f = w->data;

	/* The mounts do not change after the start. */
	process_list_read(&f->list, &f->at->sweep.mounts);
}

static void read_done(struct blocking_task *w)
{
	struct focus *f = w->data;

	f->under_way--;
	f->reading = false;
	if (f->left || f->b->stopping)
		maybe_free(f);
	else if (f->list.ok && f->d.inspected)
		take_top(f, f->list.process, f->list.n, &f->list);
}

static void on_focus_top(void *ctx, const struct process_info *p, size_t n, const struct err *err)
{
	struct focus *f = ctx;

	f->under_way--;
	f->reading = false;
	if (f->left || f->b->stopping)
		maybe_free(f);
	else if (!err && f->d.inspected)
		take_top(f, p, n < PROCESSES_MAX ? n : PROCESSES_MAX, NULL);
}

static void read_again(struct focus *f)
{
	struct backend *b = f->b;
	const struct row *r = model_find(&f->at->model, f->id);
	int64_t now = backend_now(b);

	if (f->reading || !f->d.inspected || now - f->read_ns < PROCESSES_EVERY_NS)
		return;
	f->read_ns = now;
	if (!r || !row_runs(r)) {
		if (f->d.nprocesses)
			take_top(f, NULL, 0, NULL);
		return;
	}
	if (r->cgroup_failed) {
		if (!f->at->watch.up)
			return;
		f->reading = true;
		f->under_way++;
		engine_top(f->at->engine, f->id, on_focus_top, f);
		return;
	}
	snprintf(f->list.id, sizeof f->list.id, "%s", f->id);
	f->list.pid = r->c.pid;
	f->reading = true;
	f->under_way++;
	f->work.data = f;
	if (!blocking_start(&b->loop, &f->work, read_work, read_done))
		return;
	/* no thread for it: as if nothing could be read */
	f->list.ok = false;
	read_done(&f->work);
}

/* ---- the module's interface */

void detail_focus(struct backend *b, const struct command *c)
{
	const struct target *t = c->ntargets ? c->targets : NULL;
	struct site *at = t ? site_of(b, t->engine) : NULL;
	struct focus *f = b->focus;

	if (t && f && strcmp(f->id, t->id) == 0 && strcmp(f->engine, t->engine) == 0)
		return;
	leave_focus(b);
	if (at) {
		f = b->focus = xcalloc(1, sizeof *f);
		f->b = b;
		f->at = at;
		f->engine = xstrdup(t->engine);
		f->id = xstrdup(t->id);
		f->d.engine = f->engine;
		f->d.id = f->id;
		arena_init(&f->inspected, 4096);
		arena_init(&f->read, 4096);
		process_list_init(&f->list);
		inspect_focus(f);
	}
	publish_soon(b);
}

void detail_row(struct site *at, const struct row *r)
{
	struct focus *f = at->b->focus;

	if (f && f->at == at && strcmp(f->id, r->c.id) == 0)
		inspect_focus(f);
}

void detail_pulse(struct backend *b)
{
	if (b->focus)
		read_again(b->focus);
}

const struct detail *detail_now(struct backend *b)
{
	struct focus *f = b->focus;
	const struct rate_history *h;
	const struct row *r;
	struct detail *d;

	if (!f)
		return NULL;
	d = &f->d;
	r = model_find(&f->at->model, f->id);
	h = r ? r->rates.history : NULL;
	d->interval_s = h && h->interval_s > 0 ? h->interval_s : 1 / b->hz;
	history_get(h, SERIES_CPU, &d->cpu_percent);
	history_get(h, SERIES_MEMORY, &d->memory_bytes);
	history_get(h, SERIES_NET_RX, &d->net_rx);
	history_get(h, SERIES_NET_TX, &d->net_tx);
	history_get(h, SERIES_BLOCK_READ, &d->block_read);
	history_get(h, SERIES_BLOCK_WRITE, &d->block_write);
	return d;
}

void detail_stop(struct backend *b)
{
	leave_focus(b);
}
