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
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <berth/mem.h>

#include "egress/routes.h"
#include "egress/upstream.h"

/* By the rules that name the address itself: a person wrote it down. */
static const struct egress_rule *judge_address(const struct link *l, const struct egress_address *a)
{
	struct egress_target t = {.literal = *a, .port = l->ask.to.port};

	uv_inet_ntop(a->family, &a->v6, t.host, sizeof t.host);
	return egress_judge(l->end->rules, l->end->nrules, &t);
}

static struct egress_address read_address(const struct sockaddr *at)
{
	struct egress_address a = {.family = at ? at->sa_family : 0};

	if (a.family == AF_INET)
		a.v4 = ((const struct sockaddr_in *)(const void *)at)->sin_addr;
	else if (a.family == AF_INET6)
		a.v6 = ((const struct sockaddr_in6 *)(const void *)at)->sin6_addr;
	return a;
}

/* What an engine puts between its containers.  Not known: yes. */
static bool is_bridge(const char *interface)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq ask = {.ifr_data = (void *)&info};
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(ask.ifr_name, sizeof ask.ifr_name, "%s", interface);
	if (fd < 0)
		return true;
	/* Some drivers have no name to tell; a bridge's has. */
	return ioctl(fd, SIOCETHTOOL, &ask) ? errno != EOPNOTSUPP : !strcmp(info.driver, "bridge");
}

static bool is_beside(
	const struct ifaddrs *i, const struct egress_address *own, const struct egress_address *a)
{
	const struct egress_address mask = read_address(i->ifa_netmask);
	size_t len = own->family == AF_INET ? sizeof own->v4 : sizeof own->v6;

	if (!own->family || own->family != a->family || mask.family != own->family)
		return false;
	for (size_t k = 0; k < len; k++)
		if ((own->v6.s6_addr[k] ^ a->v6.s6_addr[k]) & mask.v6.s6_addr[k])
			return false;
	return true;
}

/* It is this machine's, or with `bridged` in a network of one of its bridges: as it stands or as the v4 address that it
 * carries. */
static bool is_own_or_bridged(const struct egress_address *a, bool bridged)
{
	const struct egress_address inside = egress_v4_inside(a);
	struct ifaddrs *all = NULL;
	bool found = false;

	if (getifaddrs(&all))
		return true; /* not known: no */
	for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
		const struct egress_address own = read_address(i->ifa_addr);

		found = egress_same_address(&own, a) || egress_same_address(&own, &inside) ||
			(bridged && (is_beside(i, &own, a) || is_beside(i, &own, &inside)) &&
				is_bridge(i->ifa_name));
	}
	freeifaddrs(all);
	return found;
}

/* Of these one that denies; NULL: none. */
static const struct egress_rule *find_denial(const struct link *l, const struct egress_address *a)
{
	const struct egress_address inside = egress_v4_inside(a);
	const struct egress_rule *r = judge_address(l, a);

	if (!r || r->allow)
		r = judge_address(l, &inside);
	return r && !r->allow ? r : NULL;
}

static bool may_dial(const struct link *l, const struct egress_address *a)
{
	return !find_denial(l, a) &&
		(judge_address(l, a) ||
			(!egress_special(a) && !is_own_or_bridged(a, true) &&
				!egress_of_engine(l->end->rules, l->end->nrules, a)));
}

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
	if (find_denial(l, a))
		return false;
	return l->by_rule ? may_dial(l, a)
			  : !is_by_name(l) || judge_address(l, a) ||
			!egress_of_engine(l->end->rules, l->end->nrules, a);
}

static void note_address(struct link *l, const struct egress_address *a)
{
	struct egress_event *e = end_event(l->end, l->id);

	l->at = *a;
	l->by_rule = is_by_name(l) && judge_address(l, a);
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

		if ((!l->by_proxy && find_denial(l, a)) || begin_dial(l, a))
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

/* NULL: it is this machine's, or everything is dialled from here. */
static const struct egress_rule *find_upstream(const struct link *l)
{
	const struct egress_address *a = l->naddresses ? &l->address[0] : NULL;

	return a && (egress_loopback(a) || is_own_or_bridged(a, false))
		? NULL
		: egress_upstream(l->end->rules, l->end->nrules);
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
	const struct egress_rule *proxy = l->naddresses ? find_upstream(l) : NULL;

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

static struct egress_address read_found(const struct addrinfo *i)
{
	struct egress_address a = {.family = i->ai_family};

	if (a.family == AF_INET) {
		a.v4 = ((const struct sockaddr_in *)(const void *)i->ai_addr)->sin_addr;
		return a;
	}
	a.v6 = ((const struct sockaddr_in6 *)(const void *)i->ai_addr)->sin6_addr;
	return IN6_IS_ADDR_V4MAPPED(&a.v6) ? egress_v4_inside(&a) : a;
}

/* The name is not known here. */
static void refuse_unknown_name(struct link *l)
{
	const struct egress_rule *proxy = find_upstream(l);

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
		struct egress_address a = read_found(i);

		if (l->by_proxy || may_dial(l, &a))
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
	denial = find_denial(l, &l->address[0]);
	if (denial)
		link_refuse_denied(l, denial);
	else
		dial_first(l);
}
