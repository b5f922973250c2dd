/*
 * link_dial.c - resolves a target and connects to it.
 *
 * The rule comes before the name is looked up, and every address that the name comes to is judged before one is dialled:
 * a name server hears of allowed names only, and an allowed name leads to nothing private.  An upstream proxy is asked for
 * the address that was judged.  A trusted one is given the name, and may know names that this machine does not.  Its own
 * address is nobody's but the team file's, and is not judged.
 */
#include "egress/link.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <berth/mem.h>

#include "egress/routes.h"
#include "egress/upstream.h"

/* What is asked for by its address, or as this machine, has a rule of its own. */
static bool is_by_name(const struct link *l)
{
	return !l->ask.to.literal.family && strcmp(l->ask.to.host, EGRESS_OWN_HOST) != 0;
}

/* The engine may have made a network since, and the rule for the address be gone.  The rest was looked at before. */
bool link_may_stay(const struct link *l)
{
	const struct egress_address *a = &l->at;

	if (!a->family)
		return true;
	if (address_denial(l->end, a, l->ask.to.port))
		return false;
	return l->by_rule ? address_may_be_dialled(l->end, a, l->ask.to.port)
			  : !is_by_name(l) || address_rule(l->end, a, l->ask.to.port) ||
			!egress_of_engine(l->end->rules, l->end->nrules, a);
}

static void note_address(struct link *l, const struct egress_address *a)
{
	struct egress_event *e = end_event(l->end, l->id);

	l->at = *a;
	l->by_rule = is_by_name(l) && address_rule(l->end, a, l->ask.to.port);
	if (e)
		uv_inet_ntop(a->family, &a->v6, e->address, sizeof e->address);
}

static int begin_dial(struct link *l, const struct egress_address *a)
{
	struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(l->port), .sin6_addr = a->v6};
	struct sockaddr_in v4 = {
		.sin_family = AF_INET, .sin_port = htons(l->port), .sin_addr = a->v4};
	bool is_v4 = a->family == AF_INET;
	int on = 1, fd = socket(a->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connect(fd, is_v4 ? (void *)&v4 : (void *)&v6, is_v4 ? sizeof v4 : sizeof v6) &&
		errno != EINPROGRESS) {
		close(fd);
		return -1;
	}
	l->server = fd;
	l->server_poll = xcalloc(1, sizeof *l->server_poll);
	uv_poll_init(&l->end->loop, l->server_poll, fd);
	l->server_poll->data = l;
	return 0;
}

void link_dial_next(struct link *l)
{
	while (l->tried < l->naddresses) {
		const struct egress_address *a = &l->address[l->tried++];

		if ((!l->by_proxy && address_denial(l->end, a, l->ask.to.port)) || begin_dial(l, a))
			continue;
		if (!l->by_proxy)
			note_address(l, a);
		l->state = LINK_DIAL;
		link_wait(l, LINK_HEAD_MS);
		return;
	}
	link_refuse_target(l, EGRESS_UNREACHABLE,
		l->by_proxy ? "the upstream proxy for %s does not answer" : "%s does not answer");
}

static void keep_address(struct link *l, const struct egress_address *a)
{
	for (size_t i = 0; i < l->naddresses; i++)
		if (egress_same_address(&l->address[i], a))
			return;
	if (l->naddresses < LINK_ADDRESSES_MAX)
		l->address[l->naddresses++] = *a;
}

static void look_up(struct link *l, const char *host);

static void find_proxy(struct link *l, const struct egress_rule *proxy)
{
	l->by_proxy = true;
	l->port = proxy->at.port;
	l->naddresses = 0;
	if (!proxy->at.literal.family) {
		look_up(l, proxy->at.host);
		return;
	}
	keep_address(l, &proxy->at.literal);
	link_dial_next(l);
}

/* Its addresses, if it has any, may be dialled: by this proxy. */
static void go_by_proxy(struct link *l, const struct egress_rule *proxy)
{
	const struct str *login =
		proxy->upstream & EGRESS_UPSTREAM_LOGIN ? &l->end->routes->login : NULL;
	const struct egress_address *a = l->naddresses ? &l->address[0] : NULL;
	char host[INET6_ADDRSTRLEN];

	if (login && !login->len) {
		link_refuse_target(l, EGRESS_UNREACHABLE,
			"the login of the upstream proxy for %s is missing; the operator must run berth up");
		return;
	}
	if (a && !(proxy->upstream & EGRESS_UPSTREAM_TRUSTED) &&
		!uv_inet_ntop(a->family, &a->v6, host, sizeof host))
		upstream_write(&l->via, host, l->ask.to.port, login);
	else
		upstream_write(&l->via, l->ask.to.host, l->ask.to.port, login);
	find_proxy(l, proxy);
}

static void dial_first(struct link *l)
{
	const struct egress_rule *proxy =
		l->naddresses ? address_upstream(l->end, &l->address[0]) : NULL;

	if (proxy) {
		note_address(l, &l->address[0]);
		go_by_proxy(l, proxy);
		return;
	}
	if (l->naddresses) {
		link_dial_next(l);
		return;
	}
	link_refuse_target(l, EGRESS_NO_ADDRESS,
		"%s resolves only to private or local addresses, and no rule allows them");
}

/* The name is not known here. */
static void refuse_unknown_name(struct link *l)
{
	const struct egress_rule *proxy = egress_upstream(l->end->rules, l->end->nrules);

	if (proxy && proxy->upstream & EGRESS_UPSTREAM_TRUSTED)
		go_by_proxy(l, proxy);
	else
		link_refuse_target(l, EGRESS_NO_ADDRESS,
			proxy ? "%s cannot be resolved here, and the upstream proxy is not trusted to "
				"resolve it; the operator can allow that (upstream: {trusted: true})"
			      : "the name of %s does not resolve");
}

static void on_looked_up(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
	struct link *l = req->data;

	l->looking_up = false;
	if (l->state == LINK_CLOSED) {
		uv_freeaddrinfo(found);
		link_give_back(l);
		return;
	}
	for (const struct addrinfo *i = found; i; i = i->ai_next) {
		struct egress_address a = address_read(i->ai_addr);

		if (l->by_proxy || address_may_be_dialled(l->end, &a, l->ask.to.port))
			keep_address(l, &a);
	}
	uv_freeaddrinfo(found);
	if (l->by_proxy)
		link_dial_next(l);
	else if (status)
		refuse_unknown_name(l);
	else
		dial_first(l);
	link_watch(l);
}

static void look_up(struct link *l, const char *host)
{
	const struct addrinfo want = {.ai_socktype = SOCK_STREAM};

	l->state = LINK_LOOKUP;
	l->lookup.data = l;
	link_wait(l, LINK_HEAD_MS);
	l->looking_up = !uv_getaddrinfo(&l->end->loop, &l->lookup, on_looked_up, host, NULL, &want);
	if (!l->looking_up)
		link_refuse_target(l, EGRESS_NO_ADDRESS, "the name of %s cannot be resolved now");
}

void link_locate(struct link *l)
{
	const struct egress_address here = {.family = AF_INET, .v4.s_addr = htonl(INADDR_LOOPBACK)};
	const struct egress_rule *denial;

	l->port = l->ask.to.port;
	if (l->ask.kind == FRONT_FORWARD && link_wants_tls(l)) {
		link_refuse_target(
			l, EGRESS_OTHER_NAME, "only TLS is allowed for %s: use https:// (CONNECT)");
		return;
	}
	if (!strcmp(l->ask.to.host, EGRESS_OWN_HOST))
		keep_address(l, &here);
	else if (l->ask.to.literal.family)
		keep_address(l, &l->ask.to.literal);
	else {
		look_up(l, l->ask.to.host);
		return;
	}
	denial = address_denial(l->end, &l->address[0], l->ask.to.port);
	if (denial)
		link_refuse_denied(l, denial);
	else
		dial_first(l);
}
