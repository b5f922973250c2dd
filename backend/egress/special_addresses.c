/*
 * special_addresses.c - addresses that a name of the world has no business to mean.
 *
 * IANA IPv4 and IPv6 Special-Purpose Address Registries, without the blocks that are globally reachable, with multicast,
 * the former site-local block, all of v6 that IANA has not given out for global unicast (2000::/3 is), the one public
 * address that a cloud keeps for its own host (Azure's WireServer), and the v4 addresses that a v6 one may carry.
 */
#include <string.h>

#include <berth/egress.h>
#include <berth/mem.h>

struct block4 {
	uint32_t from;
	int bits;
	const char *what;
};

struct block6 {
	uint8_t from[16];
	int bits;
	const char *what;
};

#define PRIVATE "a private network"
#define THIS_MACHINE "this machine"
#define LINK "this link, where clouds keep their credentials"
#define NOT_ROUTED "nothing in the world"

static const struct block4 blocks4[] = {
	{0x00000000, 8, THIS_MACHINE},
	{0x0a000000, 8, PRIVATE},
	{0x64400000, 10, "a provider's own network"},
	{0x7f000000, 8, THIS_MACHINE},
	{0xa9fe0000, 16, LINK},
	{0xa83f8110, 32, LINK}, /* 168.63.129.16, Azure */
	{0xac100000, 12, PRIVATE},
	{0xc0000000, 24, NOT_ROUTED},
	{0xc0000200, 24, NOT_ROUTED},
	{0xc0586300, 24, NOT_ROUTED},
	{0xc0a80000, 16, PRIVATE},
	{0xc6120000, 15, PRIVATE},
	{0xc6336400, 24, NOT_ROUTED},
	{0xcb007100, 24, NOT_ROUTED},
	{0xe0000000, 4, "many machines at once"},
	{0xf0000000, 4, NOT_ROUTED},
};

static const struct block6 blocks6[] = {
	{{0}, 127, THIS_MACHINE},
	{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, PRIVATE},
	{{0x20, 0x01, 0x00, 0x00}, 23, NOT_ROUTED},
	{{0x20, 0x01, 0x0d, 0xb8}, 32, NOT_ROUTED},
	{{0x3f, 0xff}, 20, NOT_ROUTED},
	{{0xfc}, 7, PRIVATE},
	{{0xfe, 0x80}, 10, LINK},
	{{0xfe, 0xc0}, 10, PRIVATE},
	{{0xff}, 8, "many machines at once"},
};

static const char *find_block4(uint32_t address)
{
	for (size_t i = 0; i < COUNT(blocks4); i++)
		if ((address ^ blocks4[i].from) >> (32 - blocks4[i].bits) == 0)
			return blocks4[i].what;
	return NULL;
}

static uint32_t read_v4(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool shares_prefix(const uint8_t *address, const uint8_t *from, int bits)
{
	int whole = bits / 8, rest = bits % 8;

	return !memcmp(address, from, (size_t)whole) &&
		(!rest || (address[whole] ^ from[whole]) >> (8 - rest) == 0);
}

/* Where in a v6 address a v4 one stands, NULL: nowhere. */
static const uint8_t *find_v4_inside(const uint8_t *a)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff},
			     nat64[12] = {0x00, 0x64, 0xff, 0x9b}, six_to_four[2] = {0x20, 0x02};

	if (shares_prefix(a, mapped, 96) || shares_prefix(a, nat64, 96))
		return a + 12;
	return shares_prefix(a, six_to_four, 16) ? a + 2 : NULL;
}

struct egress_address egress_v4_inside(const struct egress_address *a)
{
	const uint8_t *inside = a->family == AF_INET6 ? find_v4_inside(a->v6.s6_addr) : NULL;
	struct egress_address v4 = {.family = AF_INET};

	if (!inside)
		return *a;
	memcpy(&v4.v4, inside, sizeof v4.v4);
	return v4;
}

const char *egress_special(const struct egress_address *a)
{
	static const uint8_t unicast[1] = {0x20};
	const uint8_t *bytes = a->v6.s6_addr, *inside;

	if (a->family == AF_INET)
		return find_block4(ntohl(a->v4.s_addr));
	for (size_t i = 0; i < COUNT(blocks6); i++)
		if (shares_prefix(bytes, blocks6[i].from, blocks6[i].bits))
			return blocks6[i].what;
	inside = find_v4_inside(bytes);
	if (inside)
		return find_block4(read_v4(inside));
	return shares_prefix(bytes, unicast, 3) ? NULL : NOT_ROUTED;
}

const char *egress_leads_to(
	const struct egress_rule *rules, size_t n, const struct egress_target *t)
{
	const char *what = t->literal.family ? egress_special(&t->literal) : NULL;

	if (!strcmp(t->host, EGRESS_OWN_HOST))
		return THIS_MACHINE;
	return what || !t->literal.family || !egress_of_engine(rules, n, &t->literal)
		? what
		: "a network of the engine";
}

bool egress_this_machine(const struct egress_address *a)
{
	const char *what = egress_special(a);

	return what && !strcmp(what, THIS_MACHINE);
}

bool egress_same_address(const struct egress_address *a, const struct egress_address *b)
{
	return a->family == b->family &&
		(a->family == AF_INET
				? a->v4.s_addr == b->v4.s_addr
				: a->family == AF_INET6 && !memcmp(&a->v6, &b->v6, sizeof a->v6));
}

bool egress_loopback(const struct egress_address *a)
{
	return (a->family == AF_INET && ntohl(a->v4.s_addr) >> 24 == IN_LOOPBACKNET) ||
		(a->family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&a->v6));
}
