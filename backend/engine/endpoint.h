/*
 * endpoint.h - which engine to talk to, chosen exactly as the docker CLI chooses.
 *
 * Order: --context, --host, DOCKER_HOST, DOCKER_CONTEXT, currentContext of config.json (in
 * DOCKER_CONFIG or ~/.docker), the default sockets: /var/run/docker.sock,
 * $XDG_RUNTIME_DIR/docker.sock (rootless), /run/podman/podman.sock,
 * $XDG_RUNTIME_DIR/podman/podman.sock, and berth's own private engine (private.h).  Contexts:
 * ~/.docker/contexts/meta/<sha256(name)>/meta.json. Source: docker/cli cli/command/cli.go and
 * cli/context/store, read 2026.
 */
#ifndef BERTH_ENDPOINT_H
#define BERTH_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include <berth/err.h>

enum transport { TRANSPORT_UNIX, TRANSPORT_TCP, TRANSPORT_TLS };

struct endpoint {
	enum transport transport;
	char *url;    /* as shown to the person: "unix:///var/run/docker.sock" */
	char *source; /* "--host", "DOCKER_HOST", "context NAME (config.json)", "default socket" */
	char *path;   /* unix socket path, or NULL */
	char *host;   /* tcp host, or NULL */
	uint16_t port;
	char *ca, *cert, *key; /* TLS files, NULL when absent */
	bool tls_verify;
};

struct endpoint_options {
	const char *host, *context; /* NULL when not given */
};

/* Reads files and the environment: call before threads start.  0 or -1 with a sentence that names
 * the source; ssh:// and npipe:// are refused with what to do instead. */
int endpoint_choose(const struct endpoint_options *o, struct endpoint *ret, struct err *e);
void endpoint_copy(const struct endpoint *from, struct endpoint *ret);
void endpoint_release(struct endpoint *ep);

#endif
