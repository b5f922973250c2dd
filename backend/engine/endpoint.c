/*
 * endpoint.c - determines the engine from options, environment, contexts and default sockets.
 *
 * As the docker CLI: --host beats everything, then --context, DOCKER_HOST, DOCKER_CONTEXT and the
 * current context of config.json; the context "default" means DOCKER_HOST or the default socket.
 * Unlike it, the default is the first of several sockets on which something listens.
 * Contexts are found by the Name in their meta.json, which is what the folder is a hash of.
 */
#include "engine/endpoint.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/hosts.h>
#include <berth/mem.h>
#include <berth/private_engine.h>
#include <berth/str.h>
#include <berth/text.h>

#include "engine/choose.h"
#include "engine/json.h"
#include "engine/ssh.h"

enum { FILE_MAX = 1 << 20, CONTEXTS_MAX = 1000, PORT_PLAIN = 2375, PORT_TLS = 2376 };

static const char *env_or_null(const char *name)
{
	const char *v = getenv(name);

	return v && *v ? v : NULL;
}

static char *docker_dir(void)
{
	const char *dir = env_or_null("DOCKER_CONFIG"), *home = env_or_null("HOME");

	return dir ? xstrdup(dir) : xasprintf("%s/.docker", home ? home : "");
}

static bool file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* 0 with the file, 1 when there is none, -1 when it cannot be read. */
static int read_config_file(const char *path, struct str *ret, struct err *e)
{
	struct err why = ERR_INIT;

	if (!file_read(AT_FDCWD, path, 0, FILE_MAX, ret, &why))
		return 0;
	return why.sys == ENOENT || why.sys == ENOTDIR ? 1 : err_copy(e, &why);
}

static cJSON *read_json(const char *path, int *ret_found, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;
	cJSON *root;

	*ret_found = read_config_file(path, &text, e);
	if (*ret_found)
		return NULL;
	root = ejson_parse(text.s, text.len, e);
	if (!root)
		err_wrap(e, "%s", path);
	if (!root && e)
		e->kind = ERR_CONFIG;
	return root;
}

/* URLs */

static int parse_unix(const char *path, struct endpoint *ep, struct err *e)
{
	if (!*path)
		path = "/var/run/docker.sock";
	if (*path != '/')
		return err_set(e, ERR_USAGE, "%s: the path of a unix socket must begin with /",
			ep->source);
	if (strlen(path) >= sizeof((struct sockaddr_un *)0)->sun_path)
		return err_set(e, ERR_USAGE,
			"%s: the socket's path is longer than the %zu bytes that a unix socket may "
			"have",
			ep->source, sizeof((struct sockaddr_un *)0)->sun_path - 1);
	ep->transport = TRANSPORT_UNIX;
	ep->path = xstrdup(path);
	ep->url = xasprintf("unix://%s", path);
	return 0;
}

/* host, host:port, [v6], [v6]:port; a path after it is refused: dockerd serves none */
static int parse_tcp(const char *s, bool tls, struct endpoint *ep, struct err *e)
{
	const char *host = s, *rest;
	size_t len;
	unsigned long port = tls ? PORT_TLS : PORT_PLAIN;
	bool six = *s == '[';

	if (six) {
		host = s + 1;
		len = strcspn(host, "]/");
		rest = host + len;
		if (*rest++ != ']')
			return err_set(
				e, ERR_USAGE, "%s: the address is missing its ]", ep->source);
	} else {
		len = strcspn(s, ":/");
		rest = s + len;
	}
	if (*rest == ':') {
		char *end;

		port = isdigit((unsigned char)rest[1]) ? strtoul(rest + 1, &end, 10) : 0;
		if (port == 0 || port > 65535)
			return err_set(e, ERR_USAGE, "%s: the port is not a number from 1 to 65535",
				ep->source);
		rest = end;
	}
	if (strcmp(rest, "") != 0 && strcmp(rest, "/") != 0)
		return err_set(
			e, ERR_USAGE, "%s: expected tcp://HOST:PORT without a path", ep->source);
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)host[i]) && !strchr(six ? ":.%-_" : ".-_", host[i]))
			return err_set(e, ERR_USAGE,
				"%s: the host name contains an invalid character", ep->source);
	ep->transport = tls ? TRANSPORT_TLS : TRANSPORT_TCP;
	ep->host = len ? xstrndup(host, len) : xstrdup("localhost");
	ep->port = (uint16_t)port;
	ep->url = xasprintf("tcp://%s%s%s:%u", six ? "[" : "", ep->host, six ? "]" : "", ep->port);
	return 0;
}

static int parse_url(const char *url, bool tls, struct endpoint *ep, struct err *e)
{
	char shown[200];
	size_t scheme = strcspn(url, ":");

	text_clean(shown, sizeof shown, url);
	for (const char *at = url; *at; at++)
		if (iscntrl((unsigned char)*at))
			return err_set(e, ERR_USAGE,
				"%s names %s: an address must not contain control characters",
				ep->source, shown);
	if (strncmp(url + scheme, "://", 3) != 0)
		return parse_tcp(url, tls, ep, e); /* "host:2375", as the docker CLI reads it */
	if (strncmp(url, "unix:", 5) == 0)
		return parse_unix(url + 7, ep, e);
	if (strncmp(url, "tcp:", 4) == 0)
		return parse_tcp(url + 6, tls, ep, e);
	if (strncmp(url, "ssh:", 4) == 0)
		return ssh_parse(url + 6, ep, e);
	if (strncmp(url, "npipe:", 6) == 0)
		return err_set(e, ERR_USAGE,
			"%s names %s: named pipes exist on Windows only; use unix:// or tcp://",
			ep->source, shown);
	if (strncmp(url, "fd:", 3) == 0)
		return err_set(e, ERR_USAGE,
			"%s names %s: fd:// is for the engine itself; use unix:// or tcp://",
			ep->source, shown);
	return err_set(e, ERR_USAGE,
		"%s names %s: expected unix:///PATH, tcp://HOST:PORT or ssh://HOST", ep->source,
		shown);
}

/* TLS */

static char *find_pem(const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s.pem", dir, name);

	if (file_exists(path))
		return path;
	free(path);
	return NULL;
}

/* TLS by environment: DOCKER_TLS_VERIFY or DOCKER_TLS, files in DOCKER_CERT_PATH or ~/.docker. */
static int env_tls(struct endpoint *ep, struct err *e)
{
	AUTO_FREE char *dir = env_or_null("DOCKER_CERT_PATH")
		? xstrdup(env_or_null("DOCKER_CERT_PATH"))
		: docker_dir();

	ep->tls_verify = env_or_null("DOCKER_TLS_VERIFY") != NULL;
	ep->ca = find_pem(dir, "ca");
	ep->cert = find_pem(dir, "cert");
	ep->key = find_pem(dir, "key");
	if (ep->tls_verify && !ep->ca)
		return err_set(e, ERR_CONFIG,
			"%s: DOCKER_TLS_VERIFY is set, but there is no %s/ca.pem: set "
			"DOCKER_CERT_PATH to where the certificates are",
			ep->source, dir);
	if (!ep->cert != !ep->key)
		return err_set(
			e, ERR_CONFIG, "%s: cert.pem or key.pem is missing in %s", ep->source, dir);
	return 0;
}

/* Contexts */

static int context_endpoint(const char *dir, const char *folder, const cJSON *meta,
	const char *name, struct endpoint *ep, struct err *e)
{
	const cJSON *docker = ejson_path(meta, "Endpoints", "docker", NULL);
	const char *host = ejson_string(docker, "Host");
	AUTO_FREE char *tls = xasprintf("%s/contexts/tls/%s/docker", dir, folder);
	bool skip = ejson_bool(docker, "SkipTLSVerify");

	ep->ca = find_pem(tls, "ca");
	ep->cert = find_pem(tls, "cert");
	ep->key = find_pem(tls, "key");
	ep->tls_verify = !skip;
	if (!*host)
		return err_set(e, ERR_CONFIG, "context %s names no Docker endpoint", name);
	return parse_url(host, skip || ep->ca || ep->cert || ep->key, ep, e);
}

static int from_context(const char *name, struct endpoint *ep, struct err *e)
{
	AUTO_FREE char *dir = docker_dir(), *metas = xasprintf("%s/contexts/meta", dir);
	char shown[100];
	struct dirent *d;
	int rc = 1;
	AUTO_CLOSEDIR DIR *list = opendir(metas);

	for (int i = 0; list && rc == 1 && i < CONTEXTS_MAX && (d = readdir(list)); i++) {
		AUTO_FREE char *path = xasprintf("%s/%s/meta.json", metas, d->d_name);
		AUTO_JSON cJSON *meta = NULL;
		int found;

		if (d->d_name[0] == '.')
			continue;
		meta = read_json(path, &found, NULL);
		if (meta && strcmp(ejson_string(meta, "Name"), name) == 0)
			rc = context_endpoint(dir, d->d_name, meta, name, ep, e);
	}
	if (rc == 1)
		return err_set(e, ERR_CONFIG,
			"context %s (from %s) not found in %s: docker context ls lists them",
			text_clean(shown, sizeof shown, name), ep->source, metas);
	return rc;
}

void docker_contexts(bool (*each)(void *ctx, const char *name), void *ctx)
{
	AUTO_FREE char *dir = docker_dir(), *metas = xasprintf("%s/contexts/meta", dir);
	AUTO_CLOSEDIR DIR *list = opendir(metas);
	struct dirent *d;
	bool more = true;

	for (int i = 0; list && more && i < CONTEXTS_MAX && (d = readdir(list)); i++) {
		AUTO_FREE char *path = xasprintf("%s/%s/meta.json", metas, d->d_name);
		AUTO_JSON cJSON *meta = NULL;
		int found;

		if (d->d_name[0] == '.')
			continue;
		meta = read_json(path, &found, NULL);
		if (meta && *ejson_string(meta, "Name"))
			more = each(ctx, ejson_string(meta, "Name"));
	}
}

/* Default sockets */

bool choose_listens(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || strlen(path) >= sizeof address.sun_path)
		return false;
	strcpy(address.sun_path, path);
	return connect(fd, (struct sockaddr *)&address, sizeof address) == 0 || errno == EAGAIN;
}

const char *choose_socket(const char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (*paths[i] && choose_listens(paths[i]))
			return paths[i];
	for (size_t i = 0; i < n; i++)
		if (*paths[i] && file_exists(paths[i]))
			return paths[i];
	return paths[0];
}

static int from_defaults(struct endpoint *ep, struct err *e)
{
	const char *run = env_or_null("XDG_RUNTIME_DIR");
	AUTO_FREE char *rootless = run ? xasprintf("%s/docker.sock", run) : xstrdup("");
	AUTO_FREE char *podman = run ? xasprintf("%s/podman/podman.sock", run) : xstrdup("");
	char own[108];
	const char *paths[] = {
		"/var/run/docker.sock", rootless, "/run/podman/podman.sock", podman, own};
	const char *chosen;

	if (private_engine_socket(own, sizeof own))
		own[0] = '\0';
	chosen = choose_socket(paths, COUNT(paths));
	ep->source = xstrdup(chosen == own ? "berth engine start" : ENDPOINT_DEFAULT);
	return parse_unix(chosen, ep, e);
}

static int from_url(const char *url, const char *source, struct endpoint *ep, struct err *e)
{
	bool tls = env_or_null("DOCKER_TLS_VERIFY") || env_or_null("DOCKER_TLS");
	AUTO_FREE char *trimmed = NULL;
	size_t n;

	url += strspn(url, " \t\r\n");
	n = strlen(url);
	while (n > 0 && isspace((unsigned char)url[n - 1]))
		n--;
	trimmed = xstrndup(url, n);
	ep->source = xstrdup(source);
	if (!*trimmed)
		return err_set(e, ERR_USAGE,
			"%s is empty: expected unix:///PATH or tcp://HOST:PORT", source);
	if (parse_url(trimmed, tls, ep, e))
		return -1;
	return ep->transport == TRANSPORT_TLS ? env_tls(ep, e) : 0;
}

/* The context named by config.json, NULL when it names none. */
static int current_context(char **ret_name, struct err *e)
{
	AUTO_FREE char *dir = docker_dir(), *path = xasprintf("%s/config.json", dir);
	int found;
	AUTO_JSON cJSON *config = read_json(path, &found, e);

	*ret_name = NULL;
	if (!config)
		return found == 1 ? 0 : -1;
	if (*ejson_string(config, "currentContext"))
		*ret_name = xstrdup(ejson_string(config, "currentContext"));
	return 0;
}

static int choose_default(struct endpoint *ep, struct err *e)
{
	if (env_or_null("DOCKER_HOST"))
		return from_url(env_or_null("DOCKER_HOST"), "DOCKER_HOST", ep, e);
	return from_defaults(ep, e);
}

static int choose_context(const char *name, const char *from, struct endpoint *ep, struct err *e)
{
	if (strcmp(name, "default") == 0)
		return choose_default(ep, e);
	ep->source = strcmp(from, "") == 0 ? xasprintf("--context %s", name)
					   : xasprintf("context %s (%s)", name, from);
	return from_context(name, ep, e);
}

static int choose_endpoint(const struct endpoint_options *o, struct endpoint *ep, struct err *e)
{
	AUTO_FREE char *current = NULL;

	if (o->host && o->context)
		return err_set(e, ERR_USAGE, "--host and --context cannot be combined: give one");
	if (o->context)
		return choose_context(o->context, "", ep, e);
	if (o->host)
		return from_url(o->host, o->source ? o->source : "--host", ep, e);
	if (env_or_null("DOCKER_HOST"))
		return choose_default(ep, e);
	if (env_or_null("DOCKER_CONTEXT"))
		return choose_context(env_or_null("DOCKER_CONTEXT"), "DOCKER_CONTEXT", ep, e);
	if (current_context(&current, e))
		return -1;
	return current ? choose_context(current, "config.json", ep, e) : choose_default(ep, e);
}

int endpoint_choose(const struct endpoint_options *o, struct endpoint *ret, struct err *e)
{
	static const struct endpoint_options none;
	struct endpoint ep = {0};

	if (choose_endpoint(o ? o : &none, &ep, e)) {
		endpoint_release(&ep);
		return -1;
	}
	*ret = ep;
	return 0;
}

const char *endpoint_name(const struct endpoint *ep)
{
	return ep->host ? ep->host : "local";
}

bool endpoint_is_nowhere(const struct endpoint *ep)
{
	return ep->transport == TRANSPORT_UNIX && !strcmp(ep->source, ENDPOINT_DEFAULT) &&
		!file_exists(ep->path);
}

int endpoint_reach(const struct endpoint *ep, const struct endpoint_reach *how, struct err *e)
{
	return ep->transport == TRANSPORT_SSH ? ssh_forward(ep, how, e) : 0;
}

int host_describe(const char *endpoint, const char *context, char **ret_url, char **ret_name,
	bool *ret_nowhere, struct err *e)
{
	const struct endpoint_options o = {.host = endpoint, .context = context};
	struct endpoint ep;

	if (endpoint_choose(&o, &ep, e))
		return -1;
	*ret_url = xstrdup(ep.url);
	*ret_name = xstrdup(endpoint_name(&ep));
	*ret_nowhere = endpoint_is_nowhere(&ep);
	endpoint_release(&ep);
	return 0;
}

int host_forget(const char *endpoint, const char *context, struct err *e)
{
	const struct endpoint_options o = {
		.host = endpoint, .context = endpoint ? NULL : context, .source = "hosts"};
	struct endpoint ep;
	int rc;

	if (endpoint_choose(&o, &ep, e))
		return -1;
	rc = ep.transport == TRANSPORT_SSH ? ssh_forget(&ep, e) : 0;
	endpoint_release(&ep);
	return rc;
}

void endpoint_copy(const struct endpoint *from, struct endpoint *ret)
{
	*ret = *from;
	ret->url = xstrdup(from->url);
	ret->source = xstrdup(from->source);
	ret->path = xstrdup(from->path);
	ret->host = xstrdup(from->host);
	ret->user = xstrdup(from->user);
	ret->far_path = xstrdup(from->far_path);
	ret->ca = xstrdup(from->ca);
	ret->cert = xstrdup(from->cert);
	ret->key = xstrdup(from->key);
}

void endpoint_release(struct endpoint *ep)
{
	free(ep->url);
	free(ep->source);
	free(ep->path);
	free(ep->host);
	free(ep->user);
	free(ep->far_path);
	free(ep->ca);
	free(ep->cert);
	free(ep->key);
	*ep = (struct endpoint){0};
}
