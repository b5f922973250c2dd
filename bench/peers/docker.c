/* docker.c - speaks minimal HTTP/1.1 to dockerd. */
#include "peers/docker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/spawn.h>

#include "peers/engine.h"

#define HEAD_MAX 16384
#define BODY_MAX ((size_t)64 << 20)

static struct endpoint_options given; /* -H and --context */

void bench_engine_is(const char *host, const char *context)
{
	given.host = host;
	given.context = context;
}

int bench_endpoint(struct endpoint *ret, struct err *e)
{
	static const char *const named[] = {"BERTH_BENCH_ENGINE", "BERTH_TEST_ENGINE"};
	struct endpoint_options o = given;

	for (size_t i = 0; i < COUNT(named) && !o.host && !o.context; i++) {
		const char *url = getenv(named[i]);

		o.host = url && *url ? url : NULL;
	}
	if (endpoint_choose(&o, ret, e) < 0)
		return -1;
	if (ret->path && strlen(ret->path) < sizeof((struct mini *)0)->path)
		return 0;
	err_set(e, ERR_NOT_FOUND,
		"%s is not a unix socket: name an engine of this machine, berth -H unix:///path bench run",
		ret->url);
	endpoint_release(ret);
	return -1;
}

int mini_open(struct mini *m, struct err *e)
{
	struct endpoint ep;

	m->fd = -1;
	if (bench_endpoint(&ep, e) < 0)
		return -1;
	snprintf(m->path, sizeof m->path, "%s", ep.path);
	endpoint_release(&ep);
	if (mini_call(m, "GET", "/_ping", NULL, NULL, NULL) != 200)
		return err_set(e, ERR_NOT_FOUND, "no engine answers at unix://%s", m->path);
	return 0;
}

/* In the source tree that this was built in, else where the package puts it. */
static void find_box_maker(char path[PATH_MAX])
{
	char tree[PATH_MAX - 64];

	if (file_text(program_path("source-tree"), tree, sizeof tree) > 0)
		snprintf(path, PATH_MAX, "%s/configs/images/make-box", tree);
	else
		snprintf(path, PATH_MAX, "%s", program_path("../share/berth/images/make-box"));
}

/* A program to its end; 0: it ended well.  `out` 0: what it prints is of no interest. */
static int run_to_end(const char *path, const char *const *argv, int out)
{
	int status;
	pid_t pid;

	if (spawn_start(&(struct spawn){.path = path, .argv = argv, .out = out}, &pid))
		return -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* box:1, from busybox of this machine; imported as anybody would, under berth's policy. */
static int make_box(const struct mini *m, const char *maker)
{
	char file[] = "/tmp/berth-box.XXXXXX", import[PATH_MAX], url[128];
	const char *const make[] = {maker, NULL};
	const char *const take[] = {"berth-image", "-H", mini_url(m, url, sizeof url), "image",
		"import", file, BOX, NULL};
	AUTO_CLOSE int fd = mkostemp(file, O_CLOEXEC);
	int rc = -1;

	if (fd < 0)
		return -1;
	if (run_to_end(maker, make, fd) == 0 && runtime_program(take[0], import, NULL) == 0)
		rc = run_to_end(import, take, 0);
	unlink(file);
	return rc;
}

int mini_image(struct mini *m, const char *image, struct err *e)
{
	AUTO_STR struct str target = STR_INIT;
	char maker[PATH_MAX];
	int status;

	str_addf(&target, "/images/%s/json", image);
	status = mini_call(m, "GET", target.s, NULL, NULL, e);
	if (status < 0 || status == 200)
		return status < 0 ? -1 : 0;
	if (strcmp(image, BOX) != 0)
		return err_set(e, ERR_NOT_FOUND, "the engine has no image %s", image);
	find_box_maker(maker);
	if (make_box(m, maker) == 0 && mini_call(m, "GET", target.s, NULL, NULL, NULL) == 200)
		return 0;
	return err_set(e, ERR_NOT_FOUND,
		"the engine at unix://%s has no image %s, and making it failed; this does it by hand: %s | "
		"docker -H unix://%s import - %s",
		m->path, image, maker, m->path, image);
}

void mini_close(struct mini *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

const char *mini_url(const struct mini *m, char *buf, size_t cap)
{
	snprintf(buf, cap, "unix://%s", m->path);
	return buf;
}

static int dial_engine(struct mini *m, struct err *e)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	if (m->fd >= 0)
		return 0;
	snprintf(to.sun_path, sizeof to.sun_path, "%s", m->path);
	m->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (m->fd < 0 || connect(m->fd, (struct sockaddr *)&to, sizeof to) < 0) {
		int why = errno;

		mini_close(m);
		return err_sys(e, why, "cannot reach the engine at %s", m->path);
	}
	return 0;
}

static int send_request(int fd, const char *s, size_t n)
{
	while (n) {
		ssize_t done = send(fd, s, n, MSG_NOSIGNAL);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		s += done;
		n -= (size_t)done;
	}
	return 0;
}

struct in {
	int fd;
	char buf[65536];
	size_t at, n;
};

static int fill_input(struct in *in)
{
	ssize_t got;

	do
		got = read(in->fd, in->buf, sizeof in->buf);
	while (got < 0 && errno == EINTR);
	in->at = 0;
	in->n = got > 0 ? (size_t)got : 0;
	return got > 0 ? 0 : -1;
}

static int read_http_line(struct in *in, char *buf, size_t cap)
{
	size_t n = 0;

	for (;;) {
		char c;

		if (in->at == in->n && fill_input(in) < 0)
			return -1;
		c = in->buf[in->at++];
		if (c == '\n')
			break;
		if (c != '\r' && n + 1 < cap)
			buf[n++] = c;
	}
	buf[n] = '\0';
	return 0;
}

static int take_body(struct in *in, size_t n, struct str *out)
{
	while (n) {
		size_t have;

		if (in->at == in->n && fill_input(in) < 0)
			return -1;
		have = in->n - in->at < n ? in->n - in->at : n;
		if (out && out->len < BODY_MAX)
			str_add(out, in->buf + in->at, have);
		in->at += have;
		n -= have;
	}
	return 0;
}

static int read_chunks(struct in *in, struct str *out)
{
	char text[64];

	for (;;) {
		size_t n;

		if (read_http_line(in, text, sizeof text) < 0)
			return -1;
		n = strtoul(text, NULL, 16);
		if (n > BODY_MAX || take_body(in, n, out) < 0 ||
			read_http_line(in, text, sizeof text) < 0)
			return -1;
		if (!n)
			return 0;
	}
}

static int read_answer(struct mini *m, struct str *reply)
{
	struct in in = {.fd = m->fd};
	char text[HEAD_MAX];
	bool chunked = false, closes = false, sized = false;
	size_t length = 0;
	int status, rc;

	if (read_http_line(&in, text, sizeof text) < 0 ||
		sscanf(text, "HTTP/1.%*d %d", &status) != 1)
		return -1;
	while (read_http_line(&in, text, sizeof text) == 0 && *text) {
		if (!strncasecmp(text, "content-length:", 15)) {
			length = strtoul(text + 15, NULL, 10);
			sized = true;
		} else if (!strncasecmp(text, "transfer-encoding: chunked", 26)) {
			chunked = true;
		} else if (!strncasecmp(text, "connection: close", 17)) {
			closes = true;
		}
	}
	if (chunked)
		rc = read_chunks(&in, reply);
	else if (sized)
		rc = take_body(&in, length, reply);
	else if (status == 204 || status == 304)
		rc = 0;
	else {
		take_body(&in, (size_t)-1, reply); /* until it closes */
		rc = 0;
		closes = true;
	}
	if (rc < 0 || closes)
		mini_close(m);
	return rc < 0 ? -1 : status;
}

int mini_call(struct mini *m, const char *method, const char *target, const char *body,
	struct str *reply, struct err *e)
{
	AUTO_STR struct str request = STR_INIT;
	bool was_open = m->fd >= 0;
	int status;

	str_addf(&request,
		"%s /v1.41%s HTTP/1.1\r\nHost: engine\r\nContent-Type: application/json\r\n"
		"Content-Length: %zu\r\n\r\n%s",
		method, target, body ? strlen(body) : 0, body ? body : "");
	if (dial_engine(m, e) < 0)
		return -1;
	if (send_request(m->fd, request.s, request.len) == 0 &&
		(status = read_answer(m, reply)) > 0)
		return status;
	/* It may have closed the connection since the last call. */
	mini_close(m);
	if (was_open)
		return mini_call(m, method, target, body, reply, e);
	return err_set(e, ERR_PROTOCOL, "the engine gave no answer to %s %s", method, target);
}

int mini_must(struct mini *m, int wanted, const char *method, const char *target, const char *body,
	struct str *reply, struct err *e)
{
	AUTO_STR struct str own = STR_INIT;
	struct str *to = reply ? reply : &own;
	int status = mini_call(m, method, target, body, to, e);

	if (status < 0)
		return -1;
	return status == wanted ? 0
				: err_set(e, status == 404 ? ERR_NOT_FOUND : ERR_FAILED,
					  "%s %s: %d %.200s", method, target, status, to->s);
}

bool mini_text(const char *json, const char *key, char *buf, size_t cap)
{
	char look[64];
	const char *at, *end;

	snprintf(look, sizeof look, "\"%s\":\"", key);
	at = strstr(json, look);
	if (!at || !(end = strchr(at += strlen(look), '"')))
		return false;
	snprintf(buf, cap, "%.*s", (int)(end - at), at);
	return true;
}

int mini_exec(struct mini *m, const char *id, const char *argv_json, struct str *out, int *code,
	struct err *e)
{
	AUTO_STR struct str reply = STR_INIT, raw = STR_INIT, target = STR_INIT, body = STR_INIT;
	char exec[80];
	const char *at;

	str_addf(&target, "/containers/%s/exec", id);
	str_addf(&body, "{\"AttachStdout\":true,\"AttachStderr\":true,\"Cmd\":%s}", argv_json);
	if (mini_must(m, 201, "POST", target.s, body.s, &reply, e) < 0)
		return -1;
	if (!mini_text(reply.s, "Id", exec, sizeof exec))
		return err_set(e, ERR_PROTOCOL, "the engine did not say the exec's id");
	str_clear(&target);
	str_addf(&target, "/exec/%s/start", exec);
	if (mini_must(m, 200, "POST", target.s, "{\"Detach\":false,\"Tty\":false}", &raw, e) < 0)
		return -1;
	/* Frames of 8 bytes and content: stream, 0 0 0, length big-endian. */
	for (size_t i = 0; i + 8 <= raw.len;) {
		const unsigned char *h = (const unsigned char *)raw.s + i;
		size_t n = (size_t)h[4] << 24 | (size_t)h[5] << 16 | (size_t)h[6] << 8 | h[7];

		if (n > raw.len - i - 8)
			n = raw.len - i - 8;
		str_add(out, raw.s + i + 8, n);
		i += 8 + n;
	}
	str_clear(&target);
	str_clear(&reply);
	str_addf(&target, "/exec/%s/json", exec);
	if (mini_must(m, 200, "GET", target.s, NULL, &reply, e) < 0)
		return -1;
	at = strstr(reply.s, "\"ExitCode\":");
	*code = at ? atoi(at + 11) : -1;
	return 0;
}

void mini_sweep(struct mini *m)
{
	AUTO_STR struct str reply = STR_INIT, target = STR_INIT;
	const char *at;
	int pid;

	if (mini_call(m, "GET",
		    "/containers/json?all=1&filters=%7B%22label%22%3A%5B%22berth.bench%22%5D%7D",
		    NULL, &reply, NULL) != 200)
		return;
	for (at = reply.s; (at = strstr(at, "\"/berth-bench-")); at++) {
		char name[MINI_NAME_MAX];

		snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 2, "\""), at + 2);
		if (sscanf(name, "berth-bench-%d-", &pid) != 1 || pid <= 0 ||
			(kill(pid, 0) == 0 || errno != ESRCH))
			continue;
		str_clear(&target);
		str_addf(&target, "/containers/%s?force=1&v=1", name);
		mini_call(m, "DELETE", target.s, NULL, NULL, NULL);
	}
}
