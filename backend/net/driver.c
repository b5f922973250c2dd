/* driver.c - curl's multi interface on a uv loop: one uv_poll per socket, one uv_timer. */
#include "net/curl.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/check.h>
#include <berth/mem.h>

struct sock {
	uv_poll_t poll;
	struct driver *driver;
	curl_socket_t fd;
	int events; /* that curl waits for */
};

static void global_init(void)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		check_die("berth: libcurl cannot be initialised");
}

static void drive_socket(struct driver *d, curl_socket_t fd, int mask)
{
	int running;

	curl_multi_socket_action(d->multi, fd, mask, &running);
	d->reap(d->ctx);
}

static void on_socket_poll(uv_poll_t *poll, int status, int events)
{
	struct sock *s = poll->data;
	int mask = 0;

	/* An error of the socket stands behind what has arrived before it: an answer to a request that was
	 * not read to its end, say.  CURL_CSELECT_ERR would throw that away; a read gives it, then the error. */
	if (status < 0)
		events = UV_READABLE | UV_WRITABLE;
	if (events & UV_READABLE)
		mask |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		mask |= CURL_CSELECT_OUT;
	drive_socket(s->driver, s->fd, mask);
	/* With an error libuv has stopped watching; curl, which was not told of one, may want more. */
	if (status < 0 && !uv_is_closing((uv_handle_t *)poll) && s->events)
		uv_poll_start(poll, s->events, on_socket_poll);
}

static void on_curl_timer(uv_timer_t *timer)
{
	drive_socket(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static void handle_gone(struct driver *d)
{
	if (--d->handles == 0)
		d->closed(d->ctx);
}

static void sock_gone(uv_handle_t *handle)
{
	struct sock *s = handle->data;
	struct driver *d = s->driver;

	free(s);
	handle_gone(d);
}

static void on_driver_timer_gone(uv_handle_t *handle)
{
	handle_gone(handle->data);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *known)
{
	struct driver *d = ctx;
	struct sock *s = known;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (s) {
			curl_multi_assign(d->multi, fd, NULL);
			uv_poll_stop(&s->poll);
			uv_close((uv_handle_t *)&s->poll, sock_gone);
		}
		return 0;
	}
	if (!s) {
		s = xcalloc(1, sizeof *s);
		s->driver = d;
		s->fd = fd;
		s->poll.data = s;
		/* The kernel has no room to watch it: its request hears nothing, and ends as late. */
		if (uv_poll_init_socket(d->loop, &s->poll, fd)) {
			free(s);
			return 0;
		}
		d->handles++;
		curl_multi_assign(d->multi, fd, s);
	}
	s->events =
		(what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
	uv_poll_start(&s->poll, s->events, on_socket_poll);
	return 0;
}

static int on_timeout(CURLM *multi, long ms, void *ctx)
{
	struct driver *d = ctx;

	(void)multi;
	if (ms < 0)
		uv_timer_stop(&d->timer);
	else
		uv_timer_start(&d->timer, on_curl_timer, (uint64_t)ms, 0);
	return 0;
}

int driver_init(
	struct driver *d, uv_loop_t *loop, void (*reap)(void *ctx), void *ctx, struct err *e)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, global_init);
	d->loop = loop;
	d->reap = reap;
	d->ctx = ctx;
	d->multi = curl_multi_init();
	if (!d->multi)
		return err_set(e, ERR_FAILED, "libcurl cannot start (out of memory?)");
	uv_timer_init(loop, &d->timer);
	d->timer.data = d;
	d->handles = 1;
	curl_multi_setopt(d->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(d->multi, CURLMOPT_SOCKETDATA, d);
	curl_multi_setopt(d->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
	curl_multi_setopt(d->multi, CURLMOPT_TIMERDATA, d);
	curl_multi_setopt(d->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	curl_multi_setopt(d->multi, CURLMOPT_MAXCONNECTS, (long)HTTP_SHORT_MAX);
	return 0;
}

void driver_close(struct driver *d, void (*closed)(void *ctx))
{
	d->closed = closed;
	curl_multi_cleanup(d->multi);
	d->multi = NULL;
	uv_close((uv_handle_t *)&d->timer, on_driver_timer_gone);
}

/* The fixed part of every transfer.  No proxy is used whatever the environment says: an engine is
 * reached directly or not at all, and agents' proxies must not see its traffic. */
static void set_common(CURL *easy, char *errbuf)
{
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, errbuf);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	/* Names are looked up on a thread of curl's own: without this a transfer that is given up waits for it, and with it
	 * all others on this loop. */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "berth");
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)HTTP_CONNECT_MS);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 10L);
}

CURL *driver_easy(const struct http_server *s, const char *target, char *errbuf)
{
	AUTO_FREE char *url = NULL;
	CURL *easy = curl_easy_init();

	if (!easy)
		check_die("berth: out of memory");
	errbuf[0] = '\0';
	set_common(easy, errbuf);
	if (s->unix_path) {
		url = xasprintf("http://localhost%s", target);
		curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, s->unix_path);
	} else {
		bool six = strchr(s->host, ':');

		url = xasprintf("%s://%s%s%s:%u%s", s->tls ? "https" : "http", six ? "[" : "",
			s->host, six ? "]" : "", s->port, target);
	}
	curl_easy_setopt(easy, CURLOPT_URL, url);
	if (!s->tls)
		return easy;
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_SSL_ENABLE_ALPN, 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, s->tls_verify ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, s->tls_verify ? 2L : 0L);
	if (s->ca) { /* this one alone, not the system's as well */
		curl_easy_setopt(easy, CURLOPT_CAINFO, s->ca);
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
	if (s->cert)
		curl_easy_setopt(easy, CURLOPT_SSLCERT, s->cert);
	if (s->key)
		curl_easy_setopt(easy, CURLOPT_SSLKEY, s->key);
	return easy;
}

static const struct {
	CURLcode code;
	enum http_trouble trouble;
} troubles[] = {
	{CURLE_COULDNT_CONNECT, HTTP_NO_CONNECTION},
	{CURLE_COULDNT_RESOLVE_HOST, HTTP_NO_SUCH_HOST},
	{CURLE_OPERATION_TIMEDOUT, HTTP_SLOW},
	{CURLE_SSL_CONNECT_ERROR, HTTP_TLS},
	{CURLE_PEER_FAILED_VERIFICATION, HTTP_TLS},
	{CURLE_SSL_CIPHER, HTTP_TLS},
	{CURLE_SSL_ISSUER_ERROR, HTTP_TLS},
	{CURLE_SSL_CACERT_BADFILE, HTTP_TLS_FILES},
	{CURLE_SSL_CERTPROBLEM, HTTP_TLS_FILES},
	{CURLE_SSL_CLIENTCERT, HTTP_TLS},
	{CURLE_ABORTED_BY_CALLBACK, HTTP_SOURCE},
};

enum http_trouble driver_trouble(CURL *easy, CURLcode code, const char *errbuf, struct err *e)
{
	enum http_trouble t = HTTP_BROKEN;
	enum err_kind kind;
	long os = 0;

	for (size_t i = 0; i < COUNT(troubles); i++)
		if (troubles[i].code == code)
			t = troubles[i].trouble;
	curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &os);
	/* A TLS server that wants a certificate hangs up after the handshake: only the text tells.
	 */
	if (t == HTTP_BROKEN && (strstr(errbuf, "OpenSSL") || strstr(errbuf, "certificate")))
		t = HTTP_TLS;
	kind = t == HTTP_SLOW ? ERR_TIMEOUT : t == HTTP_SOURCE ? ERR_FAILED : ERR_UNREACHABLE;
	err_set(e, kind, "%s", errbuf[0] ? errbuf : curl_easy_strerror(code));
	e->sys = (int)os;
	return t;
}

void server_copy(struct http_server *to, const struct http_server *from)
{
	*to = *from;
	to->unix_path = xstrdup(from->unix_path);
	to->host = xstrdup(from->host);
	to->ca = xstrdup(from->ca);
	to->cert = xstrdup(from->cert);
	to->key = xstrdup(from->key);
}

void server_release(struct http_server *s)
{
	free((char *)s->unix_path);
	free((char *)s->host);
	free((char *)s->ca);
	free((char *)s->cert);
	free((char *)s->key);
}
