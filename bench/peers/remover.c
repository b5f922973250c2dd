/* remover.c - sends raw requests on unix sockets, one connection per thread. */
#include "peers/remover.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/str.h>

#define WIDTH_MAX 32
#define REPLY_MAX 65536

struct shared {
	struct removing *r;
	atomic_size_t next;
	pthread_mutex_t lock;
	struct err err;
};

static int dial_socket(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int send_whole(int fd, const char *bytes, size_t n)
{
	while (n > 0) {
		ssize_t k = write(fd, bytes, n);

		if (k <= 0)
			return -1;
		bytes += k;
		n -= (size_t)k;
	}
	return 0;
}

/* One reply with a Content-Length or without a body; the status, or -1. */
static int read_reply(int fd, char *buf, char **body)
{
	size_t have = 0, want = 0;
	char *end = NULL, *length;

	while (!end || have < want) {
		ssize_t k = read(fd, buf + have, REPLY_MAX - 1 - have);

		if (k <= 0)
			return -1;
		have += (size_t)k;
		buf[have] = '\0';
		if (!end && (end = strstr(buf, "\r\n\r\n"))) {
			length = strcasestr(buf, "\r\nContent-Length:");
			want = (size_t)(end + 4 - buf) +
				(length && length < end ? strtoul(length + 17, NULL, 10) : 0);
			if (want >= REPLY_MAX - 1)
				return -1;
		}
	}
	*body = end + 4;
	return (int)strtol(buf + 9, NULL, 10);
}

static void write_request(const struct removing *r, size_t i, struct str *out)
{
	str_clear(out);
	if (!r->body) {
		str_addf(out, "DELETE /v1.41/containers/%s?v=1 HTTP/1.1\r\nHost: e\r\n\r\n",
			r->id[i]);
		return;
	}
	str_addf(out,
		"POST /v1.41/containers/create?name=%s HTTP/1.1\r\nHost: e\r\nContent-Type: "
		"application/json\r\nContent-Length: %zu\r\n\r\n",
		r->name[i], strlen(r->body[i]));
	str_adds(out, r->body[i]);
}

static void *send_requests(void *ctx)
{
	struct shared *s = ctx;
	struct removing *r = s->r;
	int fd = dial_socket(r->socket), status = 0, want = r->body ? 201 : 204;
	AUTO_STR struct str text = STR_INIT;
	char *buf = xmalloc(REPLY_MAX), *body = NULL, *id;
	size_t i;

	while (fd >= 0 && (i = atomic_fetch_add(&s->next, 1)) < r->n) {
		write_request(r, i, &text);
		status = send_whole(fd, text.s, text.len) ? -1 : read_reply(fd, buf, &body);
		if (status != want)
			break;
		if (r->body && (id = strstr(body, "\"Id\":\"")))
			snprintf(r->id[i], sizeof r->id[i], "%.64s", id + 6);
	}
	if (fd < 0 || (status && status != want)) {
		pthread_mutex_lock(&s->lock);
		err_set(&s->err, ERR_FAILED, "the peer got %d from %s: %.200s", status, r->socket,
			status > 0 ? body : strerrordesc_np(errno));
		pthread_mutex_unlock(&s->lock);
	}
	if (fd >= 0)
		close(fd);
	free(buf);
	return NULL;
}

int remover_run(struct removing *r, struct err *e)
{
	struct shared s = {.r = r};
	pthread_t thread[WIDTH_MAX];
	int width = r->width < WIDTH_MAX ? r->width : WIDTH_MAX, started = 0;

	pthread_mutex_init(&s.lock, NULL);
	while (started < width && !pthread_create(&thread[started], NULL, send_requests, &s))
		started++;
	for (int i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	pthread_mutex_destroy(&s.lock);
	return s.err.kind ? err_copy(e, &s.err) : 0;
}
