/* egress_rules.c - finds the rule that decides on a target. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/egress.h>
#include <berth/mem.h>

const char *egress_origin_name(enum egress_origin o)
{
	static const char *const names[] = {"file", "session", "once"};

	return names[o];
}

int egress_parse_rule(const char *text, bool allow, struct egress_rule *ret, struct err *e)
{
	bool tls = !strncmp(text, EGRESS_TLS, sizeof EGRESS_TLS - 1), below;

	text += tls ? sizeof EGRESS_TLS - 1 : 0;
	below = !strncmp(text, "*.", 2);
	*ret = (struct egress_rule){.allow = allow, .below = below};
	text += below ? 2 : 0;
	if (egress_parse_target(text, strlen(text), EGRESS_TLS_PORT, &ret->at, e))
		return -1;
	if (below && ret->at.literal.family)
		return err_set(e, ERR_USAGE,
			"\"*.%s\" is not a rule: only host names have subdomains", ret->at.host);
	if (below && !strchr(ret->at.host, '.'))
		return err_set(e, ERR_USAGE,
			"\"*.%s\" would match a whole top-level domain; use a domain below it",
			ret->at.host);
	if (tls && (!allow || ret->at.literal.family))
		return err_set(e, ERR_USAGE,
			"tls: cannot be used with %s: a denial applies to every protocol, and TLS does not name addresses",
			ret->at.host);
	/* There it is asked for anyway. */
	ret->tls = tls && ret->at.port != EGRESS_TLS_PORT;
	return 0;
}

int egress_parse_file_rule(const char *text, bool allow, struct egress_rule *ret, struct err *e)
{
	size_t preset =
		strncmp(text, EGRESS_PRESET, sizeof EGRESS_PRESET - 1) ? 0 : strcspn(text, " ");
	const char *name = text + sizeof EGRESS_PRESET - 1;

	if (egress_parse_rule(text + preset + (preset && text[preset]), allow, ret, e))
		return -1;
	if (preset)
		snprintf(
			ret->preset, sizeof ret->preset, "%.*s", (int)(text + preset - name), name);
	return 0;
}

int egress_parse_upstream(const char *text, struct egress_rule *ret, struct err *e)
{
	static const char scheme[] = "http://";
	size_t len;

	*ret = (struct egress_rule){.upstream = EGRESS_UPSTREAM};
	if (strncmp(text, scheme, sizeof scheme - 1) != 0)
		return err_set(
			e, ERR_USAGE, "\"%.60s\" is not an upstream proxy: http://HOST:PORT", text);
	text += sizeof scheme - 1;
	len = strcspn(text, ",/");
	if (egress_parse_target(text, len, 0, &ret->at, e))
		return -1;
	if (strlen(ret->at.host) > EGRESS_UPSTREAM_HOST_MAX ||
		!strcmp(ret->at.host, EGRESS_OWN_HOST))
		return err_set(e, ERR_USAGE,
			"an upstream proxy must be an address, or a name of at most %d bytes that this machine can resolve",
			EGRESS_UPSTREAM_HOST_MAX);
	text += len;
	if (!strncmp(text, ",login", 6)) {
		ret->upstream |= EGRESS_UPSTREAM_LOGIN;
		text += 6;
	}
	if (!strncmp(text, ",trusted", 8)) {
		ret->upstream |= EGRESS_UPSTREAM_TRUSTED;
		text += 8;
	}
	return *text ? err_set(e, ERR_USAGE, "an upstream proxy needs a port") : 0;
}

const struct egress_rule *egress_upstream(const struct egress_rule *rules, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rules[i].upstream)
			return &rules[i];
	return NULL;
}

int egress_parse_network(const char *text, struct egress_rule *ret, struct err *e)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : 0;
	char host[EGRESS_HOST_MAX], *end = NULL;
	unsigned long bits = slash ? strtoul(slash + 1, &end, 10) : 0;

	*ret = (struct egress_rule){0};
	/* A port is asked for by all that is a target. */
	snprintf(host, sizeof host, strchr(text, ':') ? "[%.*s]" : "%.*s",
		(int)(len < 64 ? len : 64), text);
	if (!slash || egress_parse_target(host, strlen(host), 1, &ret->at, NULL) ||
		!ret->at.literal.family || !bits || *end ||
		bits > (ret->at.literal.family == AF_INET ? 32 : 128))
		return err_set(
			e, ERR_USAGE, "\"%.60s\" is not a network: expected ADDRESS/BITS", text);
	ret->net_bits = (uint8_t)bits;
	return 0;
}

static bool is_in_network(const struct egress_rule *r, const struct egress_address *a)
{
	const uint8_t *from = r->at.literal.v6.s6_addr,
		      *at = a->v6.s6_addr; /* v4 begins there, too */
	unsigned whole = r->net_bits / 8, rest = r->net_bits % 8;

	return r->net_bits && a->family == r->at.literal.family && !memcmp(from, at, whole) &&
		(!rest || (from[whole] ^ at[whole]) >> (8 - rest) == 0);
}

bool egress_of_engine(const struct egress_rule *rules, size_t n, const struct egress_address *a)
{
	const struct egress_address inside = egress_v4_inside(a);

	for (size_t i = 0; i < n; i++)
		if (is_in_network(&rules[i], a) || is_in_network(&rules[i], &inside))
			return true;
	return false;
}

static void write_upstream(const struct egress_rule *r, char out[EGRESS_RULE_MAX])
{
	bool v6 = r->at.literal.family == AF_INET6;

	snprintf(out, EGRESS_RULE_MAX, "http://%s%.*s%s:%u%s%s", v6 ? "[" : "",
		EGRESS_UPSTREAM_HOST_MAX, r->at.host, v6 ? "]" : "", r->at.port,
		r->upstream & EGRESS_UPSTREAM_LOGIN ? ",login" : "",
		r->upstream & EGRESS_UPSTREAM_TRUSTED ? ",trusted" : "");
}

void egress_write_rule(const struct egress_rule *r, char out[EGRESS_RULE_MAX])
{
	char target[EGRESS_HOST_MAX + 8];

	if (r->ask_s) {
		snprintf(out, EGRESS_RULE_MAX, "%u", r->ask_s);
		return;
	}
	if (r->upstream) {
		write_upstream(r, out);
		return;
	}
	if (r->rate) {
		snprintf(out, EGRESS_RULE_MAX, "%" PRIu64, r->rate);
		return;
	}
	if (r->net_bits) {
		snprintf(out, EGRESS_RULE_MAX, "%s/%u", r->at.host, r->net_bits);
		return;
	}
	egress_write_target(&r->at, target);
	snprintf(out, EGRESS_RULE_MAX, "%s%s%s", r->tls ? EGRESS_TLS : "", r->below ? "*." : "",
		target);
}

const char *egress_rule_verb(const struct egress_rule *r)
{
	if (r->ask_s)
		return "ask";
	if (r->upstream)
		return "upstream";
	if (r->rate)
		return "rate";
	if (r->net_bits)
		return "engine";
	return r->allow ? "allow" : "deny";
}

bool egress_same_target(const struct egress_target *a, const struct egress_target *b)
{
	return a->port == b->port && !strcmp(a->host, b->host);
}

uint64_t egress_rate(const struct egress_rule *rules, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rules[i].rate)
			return rules[i].rate;
	return 0;
}

uint16_t egress_asks(const struct egress_rule *rules, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rules[i].ask_s)
			return rules[i].ask_s;
	return 0;
}

static bool covers_target(const struct egress_rule *r, const struct egress_target *t)
{
	size_t host = strlen(t->host), name = strlen(r->at.host);

	if (!egress_rule_decides(r) || r->at.port != t->port)
		return false;
	if (!r->below)
		return !strcmp(r->at.host, t->host);
	return !t->literal.family && host > name + 1 && t->host[host - name - 1] == '.' &&
		!strcmp(t->host + host - name, r->at.host);
}

bool egress_reaches_host(const struct egress_rule *r)
{
	const struct egress_target own = {.host = EGRESS_OWN_HOST, .port = r->at.port};

	return r->allow &&
		(r->at.literal.family ? egress_this_machine(&r->at.literal)
				      : covers_target(r, &own));
}

const struct egress_rule *egress_judge(
	const struct egress_rule *rules, size_t n, const struct egress_target *t)
{
	const struct egress_rule *found = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!covers_target(&rules[i], t))
			continue;
		if (!rules[i].allow)
			return &rules[i];
		if (!found || (rules[i].tls && !found->tls))
			found = &rules[i];
	}
	return found;
}

size_t egress_registrable(const struct egress_target *t)
{
	size_t len = strlen(t->host), at[3], n = 0;

	for (size_t i = len; i-- > 0 && n < 3 && !t->literal.family;)
		if (t->host[i] == '.')
			at[n++] = i;
	if (n < 2)
		return 0;
	if (len - at[0] != 3 || at[0] - at[1] > 4)
		return at[1] + 1;
	return n == 3 ? at[2] + 1 : 0;
}

const struct egress_rule *egress_near(
	const struct egress_rule *rules, size_t n, const struct egress_target *t)
{
	const char *owner = t->host + egress_registrable(t);

	for (size_t i = 0; i < n; i++)
		if (egress_rule_decides(&rules[i]) && !covers_target(&rules[i], t) &&
			!strcmp(rules[i].at.host + egress_registrable(&rules[i].at), owner))
			return &rules[i];
	return NULL;
}

bool egress_wants_tls(const struct egress_rule *r, const struct egress_target *t)
{
	return (t->port == EGRESS_TLS_PORT || (r && r->tls)) && !t->literal.family;
}
