/* reach.c - explains why the engine did not answer: which one, where it was configured, and what to do. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/private_engine.h>
#include <berth/text.h>

#include "engine/call.h"

static bool is_private_engine(const char *path)
{
	static const char tail[] = "/engine/docker.sock";
	size_t n = path ? strlen(path) : 0;
	char own[PATH_MAX];

	/* Its name is only asked for where it could be: that makes its folder. */
	return n >= sizeof tail && !strcmp(path + n - (sizeof tail - 1), tail) &&
		!private_engine_socket(own, sizeof own) && !strcmp(path, own);
}

/* The socket of the engine that systemd starts as "docker"; any other belongs to an engine that somebody started. */
static bool is_of_docker_service(const char *path)
{
	return path && (!strcmp(path, "/var/run/docker.sock") || !strcmp(path, "/run/docker.sock"));
}

static const char *no_unix(const char *path, int errnum)
{
	if ((errnum == ENOENT || errnum == ECONNREFUSED) && is_private_engine(path))
		return "berth's private engine is not running: start it with berth engine start";
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
		if (!is_of_docker_service(path))
			return "no such socket: start the engine that listens there, or name another with "
			       "--host or DOCKER_HOST";
		return "no such socket: start the engine (systemctl start docker, or a private one "
		       "with berth engine start), or name another with --host or DOCKER_HOST";
	case EACCES:
	case EPERM:
		return "permission denied: join the group that owns the socket (usermod -aG docker "
		       "USER, then log in again), or use a rootless engine";
	case ECONNREFUSED:
		if (!is_of_docker_service(path))
			return "the socket exists, but no engine listens on it: start the engine that "
			       "uses it, or name another with --host or DOCKER_HOST";
		return "the socket exists, but no engine listens on it: start it (systemctl start "
		       "docker, or a private one with berth engine start)";
	case ENOTSOCK: return "this is not a socket: correct the path";
	}
	return NULL;
}

static const char *no_tcp(int errnum)
{
	switch (errnum) {
	case ECONNREFUSED:
		return "nothing listens there: start the engine with that address, or correct the port";
	case EHOSTUNREACH:
	case ENETUNREACH: return "there is no route to that host: check the network";
	}
	return NULL;
}

/* The near end of what ssh forwards is there; the far one is opened with each connection. */
static bool explain_far_end(
	const struct endpoint *ep, enum http_trouble trouble, char *buf, size_t cap)
{
	if (ep->transport != TRANSPORT_SSH ||
		(trouble != HTTP_BROKEN && trouble != HTTP_NO_CONNECTION))
		return false;
	snprintf(buf, cap,
		"the ssh connection was lost, or nothing answers at %s there: check that the engine runs and that this user may open its socket",
		ep->far_path);
	return true;
}

static void explain_trouble(const struct endpoint *ep, const struct http_reply *r,
	const struct err *from, char *buf, size_t cap)
{
	const char *known = NULL;
	enum http_trouble trouble = r->trouble;
	char said[ERR_MSG_MAX / 2];

	text_clean(said, sizeof said, from->msg);
	/* With TLS 1.3 a server refuses our certificate after the handshake, by hanging up. */
	if (trouble == HTTP_BROKEN && ep->transport == TRANSPORT_TLS && r->status == 0)
		trouble = HTTP_TLS;
	if (explain_far_end(ep, trouble, buf, cap))
		return;
	switch (trouble) {
	case HTTP_NO_CONNECTION:
		known = ep->transport == TRANSPORT_UNIX ? no_unix(ep->path, from->sys)
							: no_tcp(from->sys);
		if (!known && from->sys)
			known = strerrordesc_np(from->sys);
		break;
	case HTTP_NO_SUCH_HOST: known = "that host name does not resolve: correct it"; break;
	case HTTP_SLOW: known = "it did not answer in time: it is hung or overloaded"; break;
	case HTTP_TLS:
		snprintf(buf, cap, "TLS failed (%s): check the certificates in %s", said,
			ep->ca ? ep->ca : "DOCKER_CERT_PATH");
		return;
	case HTTP_TLS_FILES:
		snprintf(buf, cap, "the TLS files cannot be used (%s): check %s", said,
			ep->ca ? ep->ca : "DOCKER_CERT_PATH");
		return;
	case HTTP_BROKEN: snprintf(buf, cap, "the connection was lost (%s)", said); return;
	default: break;
	}
	snprintf(buf, cap, "%s", known ? known : said);
}

int reach_explain(const struct endpoint *ep, const struct http_reply *r, const struct err *from,
	struct err *e)
{
	char reason[ERR_MSG_MAX];

	if (r->trouble == HTTP_CANCELLED)
		return err_copy(e, from);
	if (r->trouble == HTTP_TOO_LONG)
		return err_set(e, ERR_PROTOCOL, "the engine at %s: %s", ep->url, from->msg);
	explain_trouble(ep, r, from, reason, sizeof reason);
	err_set(e, r->trouble == HTTP_SLOW ? ERR_TIMEOUT : ERR_UNREACHABLE,
		"cannot reach the engine at %s (from %s): %s", ep->url, ep->source, reason);
	if (e)
		e->sys = from->sys;
	return -1;
}
