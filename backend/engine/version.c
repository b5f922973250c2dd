/* version.c - connects: /_ping, API version, /version and /info. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/arena.h>
#include <berth/mem.h>

#include "engine/call.h"
#include "engine/parse.h"

int version_negotiate(struct engine *en, const struct http_reply *r, struct err *e)
{
	char version[32], libpod[32], *end;
	long minor;

	http_header(r, "Api-Version", version, sizeof version);
	if (strncmp(version, "1.", 2) != 0)
		return err_set(e, ERR_PROTOCOL,
			"the server at %s (from %s) is not a Docker engine: it reports no API version",
			en->ep.url, en->ep.source);
	minor = strtol(version + 2, &end, 10);
	if (end == version + 2 || *end || minor < 0 || minor > 9999)
		return err_set(e, ERR_PROTOCOL,
			"the server at %s (from %s) reports an API version that is not a number",
			en->ep.url, en->ep.source);
	if (minor < ENGINE_API_FLOOR)
		return err_set(e, ERR_PROTOCOL,
			"the engine at %s (from %s) is too old: it supports API 1.%ld, but 1.%d is needed (Docker 20.10, Podman 4)",
			en->ep.url, en->ep.source, minor, ENGINE_API_FLOOR);
	en->minor = minor < ENGINE_API_OURS ? (int)minor : ENGINE_API_OURS;
	en->product = product_named(
		*http_header(r, "Libpod-Api-Version", libpod, sizeof libpod) ? "podman" : "docker");
	return 0;
}

struct hello {
	struct engine_call call;
	engine_info_fn fn;
	void *ctx;
	struct arena mem;
	struct engine_info info;
};

/* /version costs the engine 10 to 20 ms (it runs its runtimes to ask theirs), and /info says what is
 * wanted of it: it is asked only where /info does not. */
enum { PING_HEAD, PING_GET, INFO, VERSION };

static void hello_start(struct engine_call *c)
{
	struct hello *h = (struct hello *)c;

	arena_init(&h->mem, 4096);
	call_send(c, "HEAD", "/_ping", NULL, HTTP_LANE_SHORT, 0);
}

static void hello_next(struct engine_call *c, const char *target)
{
	c->step++;
	call_send(c, "GET", target, NULL, HTTP_LANE_SHORT, 0);
}

static void hello_pinged(struct engine_call *c, const struct http_reply *r)
{
	struct err e = ERR_INIT;
	char version[32];

	if (c->step == PING_HEAD && !*http_header(r, "Api-Version", version, sizeof version)) {
		hello_next(c, "/_ping");
		return;
	}
	c->step = PING_GET;
	if (version_negotiate(c->en, r, &e))
		call_fail(c, &e);
	else
		hello_next(c, "/info");
}

static void hello_reply(struct engine_call *c, const struct http_reply *r)
{
	struct hello *h = (struct hello *)c;
	cJSON *root;

	if (c->step < INFO) {
		hello_pinged(c, r);
		return;
	}
	root = call_json(c, r);
	if (!root)
		return;
	(c->step == INFO ? parse_info : parse_version)(root, &h->mem, &h->info);
	cJSON_Delete(root);
	if (c->step == INFO && !*h->info.version) {
		hello_next(c, "/version");
		return;
	}
	h->info.api = arena_printf(&h->mem, "1.%d", c->en->minor);
	h->info.kind = c->en->product;
	h->info.product = h->info.kind->name;
	if (h->info.kind->new_ids) { /* rows are known by the engine's id */
		char id[100];

		snprintf(id, sizeof id, "%s:%s", h->info.product, h->info.name);
		h->info.id = identify_engine(&h->mem, id, h->info.root_dir);
	}
	h->info.lacks = product_lacks(&h->info);
	h->info.copies_mounts = product_copies_mounts(&h->info);
	h->info.sends_owners = !h->info.kind->one_owner;
	h->fn(h->ctx, &h->info, NULL);
	call_free(c);
}

/* HEAD may be forbidden by a proxy; an engine that has outlived our version says so in words. */
static bool hello_refused(struct engine_call *c, const struct http_reply *r)
{
	struct err e = ERR_INIT;

	if (c->step == PING_HEAD) {
		hello_next(c, "/_ping");
		return true;
	}
	if (r->status != 400 || !strstr(r->body, "is too old"))
		return false;
	err_set(&e, ERR_PROTOCOL,
		"the engine at %s (from %s) no longer supports API 1.%d, the newest that this berth knows: update berth",
		c->en->ep.url, c->en->ep.source, c->en->minor);
	e.sys = r->status;
	call_fail(c, &e);
	return true;
}

static void hello_failed(struct engine_call *c, const struct err *err)
{
	struct hello *h = (struct hello *)c;
	struct err e = *err;

	if (e.kind == ERR_TIMEOUT) /* nobody is there who could be late */
		e.kind = ERR_UNREACHABLE;
	h->fn(h->ctx, NULL, &e);
}

static void hello_release(struct engine_call *c)
{
	arena_release(&((struct hello *)c)->mem);
}

static const struct call_ops hello_ops = {
	.what = "ask the engine who it is",
	.start = hello_start,
	.reply = hello_reply,
	.refused = hello_refused,
	.failed = hello_failed,
	.release = hello_release,
};

struct engine_call *engine_hello(struct engine *en, engine_info_fn fn, void *ctx)
{
	struct hello *h = call_new_bare(en, &hello_ops, sizeof *h);

	h->fn = fn;
	h->ctx = ctx;
	return &h->call;
}
