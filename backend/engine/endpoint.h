/*
 * endpoint.h - chooses the engine to talk to, by the same rules as the docker CLI.
 *
 * Order: --context, --host, DOCKER_HOST, DOCKER_CONTEXT, currentContext of config.json (in DOCKER_CONFIG or ~/.docker), the
 * default sockets: /var/run/docker.sock, $XDG_RUNTIME_DIR/docker.sock (rootless), /run/podman/podman.sock,
 * $XDG_RUNTIME_DIR/podman/podman.sock, and berth's own private engine (private.c).
 *
 * Contexts: ~/.docker/contexts/meta/<sha256(name)>/meta.json.
 * Source: docker/cli cli/command/cli.go and cli/context/store, read 2026.
 */
#ifndef BERTH_ENDPOINT_H
#define BERTH_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include <berth/err.h>

#define ENDPOINT_DEFAULT "default socket" /* the source of one that nobody named */

enum transport { TRANSPORT_UNIX, TRANSPORT_TCP, TRANSPORT_TLS, TRANSPORT_SSH };

struct endpoint {
	enum transport transport;
	char *url;    /* as shown to the person: "unix:///var/run/docker.sock" */
	char *source; /* "--host", "DOCKER_HOST", "context NAME (config.json)", "default socket" */
	char *path;   /* unix socket path, or NULL; ssh: that of ours, which ssh forwards */
	char *host;   /* of tcp and ssh, or NULL */
	char *user, *far_path; /* of ssh; user NULL: as its configuration says */
	uint16_t port;         /* ssh: 0 as its configuration says */
	int wait_s;            /* ssh: how long connecting may take where nobody is asked */
	char *ca, *cert, *key; /* TLS files, NULL when absent */
	bool tls_verify;
};

struct endpoint_options {
	const char *host, *context; /* NULL when not given */
	const char *source;         /* what named `host`; NULL: --host */
};

/* Reads files and the environment: call before threads start.  0 or -1 with a sentence that names
 * the source; npipe:// is refused with what to do instead. */
int endpoint_choose(const struct endpoint_options *o, struct endpoint *ret, struct err *e);
struct endpoint_reach {
	bool ask; /* a person is at the terminal, whom ssh may ask */
	bool (*stop)(
		void *ctx); /* asked every ENDPOINT_BEAT_MS, on the caller's thread; NULL: never */
	void *ctx;
};

#define ENDPOINT_BEAT_MS 50

/* What must be done before an engine can be talked to: ssh, if it is behind that; else nothing.  ERR_UNREACHABLE: why not;
 * ERR_CANCELLED: `stop` returned true: ssh and what it started is then killed by berth-ssh, which may take two seconds more;
 * one that connected at that very moment ends when it is idle.  Thread: any; blocks, 45 s at most (or BERTH_SSH_TIMEOUT says
 * how long) unless ssh asks. */
int endpoint_reach(const struct endpoint *ep, const struct endpoint_reach *how, struct err *e);
/* What it is called among several where nothing else names it: by where it is.  Valid as long as it is. */
const char *endpoint_name(const struct endpoint *ep);
/* Nobody named an engine, and none is here. */
bool endpoint_is_nowhere(const struct endpoint *ep);
void endpoint_copy(const struct endpoint *from, struct endpoint *ret);
void endpoint_release(struct endpoint *ep);

#endif
