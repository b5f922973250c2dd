/* container_files.c - what a path in a container is, and its files as a tar: HEAD and GET /containers/ID/archive. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/evp.h>

#include <berth/mem.h>

#include "engine/call.h"
#include "engine/json.h"

#define STAT_HEADER "X-Docker-Container-Path-Stat"
#define STAT_MAX 16384 /* of that header: two paths of PATH_MAX, in JSON, in base64 */

/* Go's os.FileMode, which is what the engine sends. */
#define GO_DIR (UINT64_C(1) << 31)
#define GO_LINK (UINT64_C(1) << 27)
#define GO_DEVICE (UINT64_C(1) << 26)
#define GO_PIPE (UINT64_C(1) << 25)
#define GO_SOCKET (UINT64_C(1) << 24)

struct path_call {
	struct engine_call call;
	char *path;
	engine_path_fn found;
	engine_take_fn take;
	engine_done_fn done;
	void *ctx;
};

static void ask_about_path(struct engine_call *c, const char *method, enum http_lane lane)
{
	AUTO_STR struct str after = STR_INIT;

	str_adds(&after, "/archive?path=");
	url_escape(&after, ((struct path_call *)c)->path);
	call_send_to(c, method, after.s, lane, lane == HTTP_LANE_STREAM ? 0 : ENGINE_LOCKED_MS);
}

static void stat_start(struct engine_call *c)
{
	ask_about_path(c, "HEAD", HTTP_LANE_SLOW);
}

/* The header as text; NULL: it is not base64.  Docker uses the usual alphabet, podman the one for URLs. */
static char *decode_stat(char *header)
{
	size_t n = strlen(header);
	char *ret = xmalloc(n + 1);
	int len;

	for (char *at = header; *at; at++) {
		if (*at == '-')
			*at = '+';
		else if (*at == '_')
			*at = '/';
	}
	len = EVP_DecodeBlock((unsigned char *)ret, (const unsigned char *)header, (int)n);
	if (len < 0) {
		free(ret);
		return NULL;
	}
	ret[len] = '\0'; /* padding was decoded as NUL bytes */
	return ret;
}

static uint32_t path_mode(uint64_t go)
{
	uint32_t permissions = (uint32_t)go & 0777;

	if (go & GO_DIR)
		return S_IFDIR | permissions;
	if (go & GO_LINK)
		return S_IFLNK | permissions;
	if (go & (GO_DEVICE | GO_PIPE | GO_SOCKET))
		return permissions;
	return S_IFREG | permissions;
}

static void stat_reply(struct engine_call *c, const struct http_reply *r)
{
	struct path_call *p = (struct path_call *)c;
	AUTO_FREE char *json = NULL;
	AUTO_JSON cJSON *root = NULL;
	struct engine_path found = {.exists = true};
	struct err e = ERR_INIT;
	char header[STAT_MAX], name[65];

	http_header(r, STAT_HEADER, header, sizeof header);
	json = decode_stat(header);
	root = json ? ejson_parse(json, strlen(json), NULL) : NULL;
	if (!ejson_get(root, "mode")) {
		err_set(&e, ERR_PROTOCOL, "the engine did not describe the path in %s",
			short_id(c->subject, name));
		call_fail(c, &e);
		return;
	}
	found.target = ejson_string(root, "linkTarget");
	found.size = ejson_u64(root, "size");
	found.mode = path_mode(ejson_u64(root, "mode"));
	p->found(p->ctx, &found, NULL);
	call_free(c);
}

/* The path is missing, or the container has gone: what answers a HEAD has no text that says which. */
static bool stat_refused(struct engine_call *c, const struct http_reply *r)
{
	struct path_call *p = (struct path_call *)c;

	if (r->status != 404)
		return false;
	p->found(p->ctx, &(struct engine_path){.target = ""}, NULL);
	call_free(c);
	return true;
}

static void stat_failed(struct engine_call *c, const struct err *err)
{
	struct path_call *p = (struct path_call *)c;

	p->found(p->ctx, NULL, err);
}

static void path_release(struct engine_call *c)
{
	free(((struct path_call *)c)->path);
}

struct engine_call *engine_path(
	struct engine *en, const char *id, const char *path, engine_path_fn fn, void *ctx)
{
	static const struct call_ops ops = {.what = "look at a path in %s",
		.start = stat_start,
		.reply = stat_reply,
		.refused = stat_refused,
		.failed = stat_failed,
		.release = path_release};
	struct path_call *p = call_new(en, &ops, sizeof *p, id);

	p->path = xstrdup(path);
	p->found = fn;
	p->ctx = ctx;
	return &p->call;
}

static void fetch_start(struct engine_call *c)
{
	ask_about_path(c, "GET", HTTP_LANE_STREAM);
}

static void fetch_data(struct engine_call *c, const char *bytes, size_t n)
{
	struct path_call *p = (struct path_call *)c;

	if (!c->err.kind && p->take(p->ctx, bytes, n, &c->err))
		http_cancel(c->http);
}

static void fetch_eof(struct engine_call *c)
{
	struct path_call *p = (struct path_call *)c;

	p->done(p->ctx, NULL);
	call_free(c);
}

static void fetch_failed(struct engine_call *c, const struct err *err)
{
	struct path_call *p = (struct path_call *)c;

	p->done(p->ctx, err);
}

struct engine_call *engine_fetch(struct engine *en, const char *id, const char *path,
	engine_take_fn take, engine_done_fn fn, void *ctx)
{
	static const struct call_ops ops = {.what = "read files of %s",
		.start = fetch_start,
		.data = fetch_data,
		.eof = fetch_eof,
		.failed = fetch_failed,
		.release = path_release};
	struct path_call *p = call_new(en, &ops, sizeof *p, id);

	p->path = xstrdup(path);
	p->take = take;
	p->done = fn;
	p->ctx = ctx;
	return &p->call;
}
