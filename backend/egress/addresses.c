/*
 * addresses.c - judges the addresses that a name comes to.
 *
 * One that a rule names itself was written down by a person.  Any other must be public, and neither this machine's nor in
 * a network of its engine.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <berth/mem.h>

#include "egress/end.h"

static struct egress_address read_address(const struct sockaddr *at)
{
	struct egress_address a = {.family = at ? at->sa_family : 0};

	if (a.family == AF_INET)
		a.v4 = ((const struct sockaddr_in *)(const void *)at)->sin_addr;
	else if (a.family == AF_INET6)
		a.v6 = ((const struct sockaddr_in6 *)(const void *)at)->sin6_addr;
	return a;
}

static struct egress_address unmap_v4(const struct egress_address *a)
{
	return a->family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&a->v6) ? egress_v4_inside(a) : *a;
}

struct egress_address address_read(const struct sockaddr *at)
{
	const struct egress_address a = read_address(at);

	return unmap_v4(&a);
}

int address_parse(const char *text, struct egress_address *ret)
{
	struct egress_address a = {.family = strchr(text, ':') ? AF_INET6 : AF_INET};

	if (uv_inet_pton(a.family, text, &a.v6))
		return -1;
	*ret = unmap_v4(&a);
	return 0;
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

const struct egress_rule *address_rule(
	const struct end *end, const struct egress_address *a, uint16_t port)
{
	struct egress_target t = {.literal = *a, .port = port};

	uv_inet_ntop(a->family, &a->v6, t.host, sizeof t.host);
	return egress_judge(end->rules, end->nrules, &t);
}

const struct egress_rule *address_denial(
	const struct end *end, const struct egress_address *a, uint16_t port)
{
	const struct egress_address inside = egress_v4_inside(a);
	const struct egress_rule *r = address_rule(end, a, port);

	if (!r || r->allow)
		r = address_rule(end, &inside, port);
	return r && !r->allow ? r : NULL;
}

bool address_may_be_dialled(const struct end *end, const struct egress_address *a, uint16_t port)
{
	return !address_denial(end, a, port) &&
		(address_rule(end, a, port) ||
			(!egress_special(a) && !is_own_or_bridged(a, true) &&
				!egress_of_engine(end->rules, end->nrules, a)));
}

const struct egress_rule *address_upstream(const struct end *end, const struct egress_address *a)
{
	return a && (egress_loopback(a) || is_own_or_bridged(a, false))
		? NULL
		: egress_upstream(end->rules, end->nrules);
}
