/*
 * relay_start.c - starts a relay in the container where descriptors cannot cross (gVisor); it carries connections over
 * its input and output (lane/mux.h).
 *
 * By hand and over the engine's unix socket alone, for the keeper, who starts ends again, has no HTTP library.  What the end is
 * given is that one connection, on which the engine reads no request any more.
 *
 * Sources: Engine API, ContainerExec and ExecStart ("Upgrade: tcp"); RFC 9112.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>

#include "egress/egress.h"
#include "lane/lane.h"
#include "lane/mux.h"

#define ANSWER_MAX 8192
#define ANSWER_S 10
#define GREET_MS 10000

int egress_keep_relay(const char *name, const struct egress_relay *r, struct err *e)
{
	char path[EGRESS_PATH_MAX], text[512];
	int n;

	if (egress_place(name, EGRESS_RELAY, path, e))
		return -1;
	if (!r)
		return unlink(path) && errno != ENOENT ? err_sys(e, errno, "cannot remove %s", path)
						       : 0;
	n = snprintf(
		text, sizeof text, "%s\n%s\n%s\n%d\n", r->socket, r->id, r->user, (int)r->init);
	return file_replace(path, text, (size_t)n, false)
		? err_sys(e, errno, "cannot write %s", path)
		: 0;
}

int egress_kept_relay(const char *name, struct egress_relay *ret, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;
	char path[EGRESS_PATH_MAX];
	int init;

	if (egress_place(name, EGRESS_RELAY, path, e))
		return -1;
	if (access(path, F_OK) && errno == ENOENT)
		return 0;
	if (file_read(AT_FDCWD, path, O_NOFOLLOW, 512, &text, e))
		return -1;
	if (sscanf(text.s, "%107[^\n]\n%64[0-9a-f]\n%23[0-9:]\n%d", ret->socket, ret->id, ret->user,
		    &init) != 4 ||
		strlen(ret->id) != 64)
		return err_set(e, ERR_CONFIG, "%s is damaged; run berth up", path);
	ret->init = init;
	return 1;
}

static int reach_engine(const char *socket_path, struct err *e)
{
	const struct timeval limit = {ANSWER_S, 0};
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(to.sun_path, sizeof to.sun_path, "%s", socket_path);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) ||
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) ||
		connect(fd, (struct sockaddr *)&to, sizeof to))
		return err_sys(e, errno, "cannot reach the engine at %s", socket_path);
	return steal_fd(&fd);
}

static int post_to_engine(int fd, const char *target, const char *body, struct err *e)
{
	AUTO_STR struct str out = STR_INIT;

	str_addf(&out,
		"POST %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: berth\r\nContent-Type: application/json\r\n"
		"Content-Length: %zu\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n%s",
		target, strlen(body), body);
	return send(fd, out.s, out.len, MSG_NOSIGNAL) == (ssize_t)out.len
		? 0
		: err_sys(e, errno, "cannot ask the engine");
}

/* A byte at a time: what comes behind the head is not ours to read.  Its status; -1. */
static int read_engine_head(int fd, struct err *e)
{
	char head[ANSWER_MAX];
	size_t n = 0;

	while (n < sizeof head - 1) {
		ssize_t got = recv(fd, head + n, 1, 0);

		if (got <= 0)
			return err_sys(e, got ? errno : ECONNRESET, "the engine does not answer");
		head[++n] = '\0';
		if (n >= 4 && !memcmp(head + n - 4, "\r\n\r\n", 4))
			return strncmp(head, "HTTP/1.", 7)
				? err_set(e, ERR_PROTOCOL, "the engine's answer is not HTTP")
				: atoi(head + 9);
	}
	return err_set(e, ERR_PROTOCOL, "the engine's answer is too long");
}

/* "{"Id":"..."}", all that is wanted of it. */
static int read_exec_id(int fd, char id[65], struct err *e)
{
	static const char key[] = "\"Id\":\"";
	char body[ANSWER_MAX] = "";
	const char *at = NULL;
	size_t n = 0;

	while (n < sizeof body - 1 && !(at && strlen(at) >= sizeof key - 1 + 65)) {
		ssize_t got = recv(fd, body + n, sizeof body - 1 - n, 0);

		if (got <= 0)
			break;
		body[n += (size_t)got] = '\0';
		at = strstr(body, key);
	}
	if (!at || sscanf(at + sizeof key - 1, "%64[0-9a-f]\"", id) != 1 || strlen(id) != 64)
		return err_set(e, ERR_PROTOCOL, "the engine returned no id for the relay");
	return 0;
}

static int make_exec(const struct egress_relay *r, char id[65], struct err *e)
{
	AUTO_CLOSE int fd = reach_engine(r->socket, e);
	char target[128], body[512];
	int status;

	if (fd < 0)
		return -1;
	snprintf(target, sizeof target, "/containers/%s/exec", r->id);
	snprintf(body, sizeof body,
		"{\"AttachStdin\":true,\"AttachStdout\":true,\"AttachStderr\":true,\"Tty\":false,\"User\":\"%s\","
		"\"WorkingDir\":\"/\",\"Cmd\":[\"" LANE_GUEST_PATH "\",\"" LANE_GUEST_RELAY "\"]}",
		r->user);
	if (post_to_engine(fd, target, body, e) || (status = read_engine_head(fd, e)) < 0)
		return -1;
	if (status == 404 || status == 409)
		return err_set(e, ERR_NOT_FOUND, "the container %.12s is not running", r->id);
	return status == 201
		? read_exec_id(fd, id, e)
		: err_set(e, ERR_FAILED, "the engine did not create the relay (HTTP %d)", status);
}

int egress_open_relay(const char *name, const struct egress_relay *r, struct err *e)
{
	static const char start[] = "{\"Detach\":false,\"Tty\":false}";
	AUTO_CLOSE int fd = -1;
	char id[65], target[128];
	int status;

	if (make_exec(r, id, e) || (fd = reach_engine(r->socket, e)) < 0)
		return -1;
	snprintf(target, sizeof target, "/exec/%s/start", id);
	if (post_to_engine(fd, target, start, e) || (status = read_engine_head(fd, e)) < 0)
		return -1;
	if (status != 101 && status != 200)
		return err_set(e, ERR_FAILED, "the engine does not start the relay of %s (HTTP %d)",
			name, status);
	if (!mux_greet(fd, GREET_MS))
		return steal_fd(&fd);
	if (errno == EADDRINUSE)
		return err_set(e, ERR_CONFLICT,
			"the relay of %s cannot listen: something in it has taken port %d of its loopback",
			name, LANE_PROXY_PORT);
	return err_sys(e, errno, "the relay of %s does not start", name);
}
