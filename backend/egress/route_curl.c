/*
 * route_curl.c - requests that berth makes itself, by libcurl on the end's loop.
 *
 * The library and the dozen that it needs are opened when there are routes: an end without any is smaller by them.
 * What an agent says never becomes a URL: that is made of the team file's parts, and the target goes into the request line as it is.
 */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <berth/mem.h>

#include "egress/routes.h"

#define LIBRARY "libcurl.so.4"
#define CONNECT_MS 10000L
#define IDLE_CONNECTIONS 16L
#define LEAST_PIECE 1024 /* libcurl's smallest buffer */

#define CALLS(x)                                                                                  \
	x(curl_global_init) x(curl_easy_init) x(curl_easy_setopt) x(curl_easy_getinfo)            \
		x(curl_easy_cleanup) x(curl_easy_pause) x(curl_easy_strerror) x(curl_multi_init)  \
			x(curl_multi_setopt) x(curl_multi_add_handle) x(curl_multi_remove_handle) \
				x(curl_multi_socket_action) x(curl_multi_info_read)               \
					x(curl_multi_assign) x(curl_slist_append)                 \
						x(curl_slist_free_all)

/* NOLINTNEXTLINE(bugprone-macro-parentheses): the name of a member has none */
#define MEMBER(name) __typeof__(&(name)) name;
struct curl_calls {
	CALLS(MEMBER)
};

struct route_curl {
	struct curl_calls call;
	CURLM *multi;
	uv_loop_t *loop;
	uv_timer_t timer;
};

struct curl_socket {
	uv_poll_t poll;
	struct route_curl *curl;
	curl_socket_t fd;
};

static int find_calls(struct curl_calls *calls, struct err *e)
{
#define PLACE(name) {#name, offsetof(struct curl_calls, name)},
	static const struct {
		const char *name;
		size_t at;
	} places[] = {CALLS(PLACE)};
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return err_set(e, ERR_FAILED, "routes need %s, which is not installed", LIBRARY);
	for (size_t i = 0; i < COUNT(places); i++) {
		void *found = dlsym(library, places[i].name);

		if (!found)
			return err_set(e, ERR_FAILED, "%s has no %s", LIBRARY, places[i].name);
		memcpy((char *)calls + places[i].at, &found, sizeof found);
	}
	return 0;
}

static void reap_transfers(struct route_curl *c)
{
	CURLMsg *m;
	int left;

	while ((m = c->call.curl_multi_info_read(c->multi, &left))) {
		struct transfer *t = NULL;

		if (m->msg != CURLMSG_DONE ||
			c->call.curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t) || !t)
			continue;
		t->done(t->ctx, m->data.result ? c->call.curl_easy_strerror(m->data.result) : NULL);
	}
}

static void on_curl_socket_ready(uv_poll_t *p, int status, int events)
{
	struct curl_socket *s = p->data;
	struct route_curl *c = s->curl;
	int running,
		what = (events & UV_READABLE ? CURL_CSELECT_IN : 0) |
		(events & UV_WRITABLE ? CURL_CSELECT_OUT : 0) | (status < 0 ? CURL_CSELECT_ERR : 0);

	c->call.curl_multi_socket_action(c->multi, s->fd, what, &running);
	reap_transfers(c);
}

static void on_curl_time(uv_timer_t *t)
{
	struct route_curl *c = t->data;
	int running;

	c->call.curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	reap_transfers(c);
}

static void on_curl_socket_closed(uv_handle_t *h)
{
	free(h->data);
}

static int watch_curl_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *of)
{
	struct route_curl *c = ctx;
	struct curl_socket *s = of;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (s)
			uv_close((uv_handle_t *)&s->poll, on_curl_socket_closed);
		c->call.curl_multi_assign(c->multi, fd, NULL);
		return 0;
	}
	if (!s) {
		s = xcalloc(1, sizeof *s);
		s->curl = c;
		s->fd = fd;
		if (uv_poll_init_socket(c->loop, &s->poll, fd)) {
			free(s);
			return -1;
		}
		s->poll.data = s;
		c->call.curl_multi_assign(c->multi, fd, s);
	}
	uv_poll_start(&s->poll,
		(what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0),
		on_curl_socket_ready);
	return 0;
}

static int set_curl_timer(CURLM *multi, long ms, void *ctx)
{
	struct route_curl *c = ctx;

	(void)multi;
	if (ms < 0)
		uv_timer_stop(&c->timer);
	else
		uv_timer_start(&c->timer, on_curl_time, (uint64_t)ms, 0);
	return 0;
}

struct route_curl *route_curl_load(uv_loop_t *loop, struct err *e)
{
	AUTO_FREE struct route_curl *c = xcalloc(1, sizeof *c);

	if (find_calls(&c->call, e))
		return NULL;
	c->loop = loop;
	c->multi = c->call.curl_global_init(CURL_GLOBAL_ALL) ? NULL : c->call.curl_multi_init();
	if (!c->multi || uv_timer_init(loop, &c->timer)) {
		err_set(e, ERR_FAILED, "%s does not start", LIBRARY);
		return NULL;
	}
	c->timer.data = c;
	c->call.curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, watch_curl_socket);
	c->call.curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	c->call.curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, set_curl_timer);
	c->call.curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	c->call.curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, IDLE_CONNECTIONS);
	return STEAL(c);
}

static size_t on_transfer_give(char *out, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	size_t given = t->give(t->ctx, out, size * n);

	if (given == TRANSFER_LATER)
		return CURL_READFUNC_PAUSE;
	return given == TRANSFER_FAIL ? CURL_READFUNC_ABORT : given;
}

static size_t on_transfer_head(char *line, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;

	return t->head(t->ctx, line, size * n) ? 0 : size * n;
}

static size_t on_transfer_body(char *bytes, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	size_t taken = t->body(t->ctx, bytes, size * n);

	if (taken == TRANSFER_LATER)
		return CURL_WRITEFUNC_PAUSE;
	return taken == TRANSFER_FAIL ? 0 : taken;
}

/* For each address that the server's name comes to. */
static curl_socket_t open_curl_socket(void *ctx, curlsocktype what, struct curl_sockaddr *at)
{
	struct transfer *t = ctx;
	const struct egress_address a = address_read(&at->addr);

	(void)what;
	if (!t->proxy && !t->reach(t->ctx, &a, false))
		return CURL_SOCKET_BAD;
	return socket(at->family, at->socktype | SOCK_CLOEXEC, at->protocol);
}

static int on_curl_connected(void *ctx, char *server, char *own, int port, int own_port)
{
	struct transfer *t = ctx;
	struct egress_address a;

	(void)own;
	(void)port;
	(void)own_port;
	if (t->proxy)
		return CURL_PREREQFUNC_OK;
	return !address_parse(server, &a) && t->reach(t->ctx, &a, true) ? CURL_PREREQFUNC_OK
									: CURL_PREREQFUNC_ABORT;
}

/* -1: the library is too old to ask. */
static int set_reach(struct transfer *t)
{
	const struct curl_calls *c = &t->curl->call;

	return c->curl_easy_setopt(t->easy, CURLOPT_OPENSOCKETFUNCTION, open_curl_socket) ||
			c->curl_easy_setopt(t->easy, CURLOPT_OPENSOCKETDATA, t) ||
			c->curl_easy_setopt(t->easy, CURLOPT_PREREQFUNCTION, on_curl_connected) ||
			c->curl_easy_setopt(t->easy, CURLOPT_PREREQDATA, t)
		? -1
		: 0;
}

static void append_line(const struct transfer *t, void **list, const char *line)
{
	*list = t->curl->call.curl_slist_append(*list, line);
	if (!*list)
		abort();
}

/* The agent's that may pass, none of curl's own, and the key. */
static void make_headers(struct transfer *t, const struct route *r, const struct route_ask *a)
{
	AUTO_FREE char *copy = xstrndup(a->headers.s ? a->headers.s : "", a->headers.len),
		       *key = NULL;
	bool accepts = false;
	char *save = NULL;

	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		size_t name = strcspn(line, ":");

		accepts |= route_same_header(line, name, "accept");
		if (!route_same_header(line, name, r->header.name))
			append_line(t, &t->headers, line);
	}
	if (!accepts)
		append_line(t, &t->headers, "Accept:");
	append_line(t, &t->headers, "Expect:");
	key = xasprintf("%s: %s%s%s", r->header.name, r->header.before, r->key, r->header.after);
	append_line(t, &t->headers, key);
	explicit_bzero(key, strlen(key));
}

static void set_transfer_body(struct transfer *t, const struct route_ask *a)
{
	const struct curl_calls *c = &t->curl->call;
	CURL *easy = t->easy;

	if (!strcmp(a->method, "HEAD"))
		c->curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	if (a->has_body) {
		c->curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
		c->curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_transfer_give);
		c->curl_easy_setopt(easy, CURLOPT_READDATA, t);
		c->curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE,
			a->chunked ? (curl_off_t)-1 : (curl_off_t)a->body);
	}
	c->curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, a->method);
}

static void set_trust(struct transfer *t, const struct route *r)
{
	const struct curl_calls *c = &t->curl->call;
	struct curl_blob ca = {r->ca.s, r->ca.len, CURL_BLOB_COPY};

	c->curl_easy_setopt(t->easy, CURLOPT_PROTOCOLS_STR, r->to.tls ? "https" : "http");
	c->curl_easy_setopt(t->easy, CURLOPT_SSL_VERIFYPEER, 1L);
	c->curl_easy_setopt(t->easy, CURLOPT_SSL_VERIFYHOST, 2L);
	if (!r->ca.len)
		return;
	c->curl_easy_setopt(t->easy, CURLOPT_CAINFO_BLOB, &ca);
	c->curl_easy_setopt(t->easy, CURLOPT_CAPATH, NULL);
}

/* TLS stays with the name. */
static void set_via(struct transfer *t)
{
	bool v6 = t->at.family == AF_INET6;
	char host[INET6_ADDRSTRLEN], via[INET6_ADDRSTRLEN + 8];

	if (!t->at.family || uv_inet_ntop(t->at.family, &t->at.v6, host, sizeof host))
		return;
	snprintf(via, sizeof via, "::%s%s%s:", v6 ? "[" : "", host, v6 ? "]" : "");
	append_line(t, &t->via, via);
	t->curl->call.curl_easy_setopt(t->easy, CURLOPT_CONNECT_TO, t->via);
}

/* The key's header goes to the server alone; what the proxy says of itself is not the agent's. */
static void set_proxy(struct transfer *t)
{
	const struct curl_calls *c = &t->curl->call;
	const struct egress_rule *proxy = t->proxy;
	char url[EGRESS_RULE_MAX] = "";

	if (proxy)
		egress_write_rule(proxy, url);
	url[strcspn(url, ",")] = '\0';
	c->curl_easy_setopt(t->easy, CURLOPT_PROXY, url);
	if (!proxy)
		return;
	c->curl_easy_setopt(t->easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
	c->curl_easy_setopt(t->easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
	c->curl_easy_setopt(t->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	c->curl_easy_setopt(t->easy, CURLOPT_PROXYAUTH, (long)CURLAUTH_BASIC);
	if (proxy->upstream & EGRESS_UPSTREAM_LOGIN)
		c->curl_easy_setopt(t->easy, CURLOPT_PROXYUSERPWD, t->login);
}

static void set_address(struct transfer *t, const struct route *r, const struct route_ask *a)
{
	const struct curl_calls *c = &t->curl->call;
	bool v6 = r->to.at.literal.family == AF_INET6;
	char url[EGRESS_HOST_MAX + 32];

	snprintf(url, sizeof url, "%s://%s%s%s:%u/", r->to.tls ? "https" : "http", v6 ? "[" : "",
		r->to.at.host, v6 ? "]" : "", r->to.at.port);
	c->curl_easy_setopt(t->easy, CURLOPT_URL, url);
	c->curl_easy_setopt(t->easy, CURLOPT_REQUEST_TARGET, a->target.s);
	set_proxy(t);
	set_via(t);
	c->curl_easy_setopt(t->easy, CURLOPT_FOLLOWLOCATION, 0L);
	c->curl_easy_setopt(t->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	c->curl_easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	c->curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
}

/* What comes cannot be cut in two: ten milliseconds of the rate. */
static long piece_of_rate(uint64_t rate)
{
	uint64_t piece = rate / 100;

	return (long)(piece < LEAST_PIECE             ? LEAST_PIECE
			: piece < CURL_MAX_WRITE_SIZE ? piece
						      : CURL_MAX_WRITE_SIZE);
}

int transfer_begin(
	struct transfer *t, const struct route *r, const struct route_ask *a, struct err *e)
{
	const struct curl_calls *c = &t->curl->call;

	t->easy = c->curl_easy_init();
	if (!t->easy)
		return err_set(e, ERR_FAILED, "libcurl has no memory for a request");
	make_headers(t, r, a);
	set_address(t, r, a);
	set_trust(t, r);
	set_transfer_body(t, a);
	c->curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
	c->curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_transfer_head);
	c->curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
	c->curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_transfer_body);
	c->curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
	c->curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
	if (t->rate)
		c->curl_easy_setopt(t->easy, CURLOPT_BUFFERSIZE, piece_of_rate(t->rate));
	if (!set_reach(t) && !c->curl_multi_add_handle(t->curl->multi, t->easy))
		return 0;
	transfer_end(t);
	return err_set(e, ERR_FAILED, "libcurl rejected a request");
}

int64_t transfer_length(const struct transfer *t)
{
	curl_off_t length = -1;

	t->curl->call.curl_easy_getinfo(t->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	return length;
}

void transfer_go_on(struct transfer *t)
{
	if (t->easy)
		t->curl->call.curl_easy_pause(t->easy, CURLPAUSE_CONT);
}

void transfer_end(struct transfer *t)
{
	if (t->easy) {
		t->curl->call.curl_multi_remove_handle(t->curl->multi, t->easy);
		t->curl->call.curl_easy_cleanup(t->easy);
	}
	if (t->headers)
		t->curl->call.curl_slist_free_all(t->headers);
	if (t->via)
		t->curl->call.curl_slist_free_all(t->via);
	t->easy = t->headers = t->via = NULL;
}
