/* hosts.c - validates the names and endpoints of engines. */
#include <berth/hosts.h>

#include <ctype.h>
#include <string.h>

#include <berth/settings.h>
#include <berth/snapshot.h>

/* Words that mean something else where a host's name can stand. */
static const char *const taken[] = {"all", "auto", "default", "local"};

const char *host_name_fault(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
		if (!strcmp(name, taken[i]))
			return "this name is reserved: all, auto, default and local cannot be used.";
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && (i == 0 || !strchr("._+-", name[i])))
			return "an engine's name consists of letters, digits and . _ + -, and starts with a letter or a digit.";
	return !n || n > HOST_NAME_LONGEST ? "an engine's name has 1 to 63 characters." : NULL;
}

/* ":22" at `s`: its length; 0: it is not written as it is shown. */
static size_t port_length(const char *s)
{
	size_t n = *s == ':' ? strspn(s + 1, "0123456789") : 0;

	return n && n <= 5 && s[1] != '0' ? n + 1 : 0;
}

/* Where HOST or [HOST] at `s` ends; NULL: there is none. */
static const char *end_of_host(const char *s)
{
	size_t n = *s == '[' ? strcspn(s, "]/") : strcspn(s, ":/");

	if (*s == '[')
		return s[n] == ']' && n > 1 ? s + n + 1 : NULL;
	return n ? s + n : NULL;
}

static const char *fault_of_tcp(const char *s)
{
	const char *end = end_of_host(s);

	if (!end || !port_length(end) || end[port_length(end)])
		return "a tcp endpoint is tcp://HOST:PORT, with nothing after it.";
	return NULL;
}

static const char *fault_of_ssh(const char *s)
{
	size_t user = strcspn(s, "@/");
	const char *fault = host_ssh_fault(s),
		   *end = fault ? NULL : end_of_host(s[user] == '@' ? s + user + 1 : s);

	if (fault)
		return fault;
	if (end && *end == ':')
		end = port_length(end) ? end + port_length(end) : NULL;
	if (!end)
		return "an ssh endpoint is ssh://[USER@]HOST[:PORT][/SOCKET].";
	if (!strcmp(end, "/") || !strcmp(end, "/var/run/docker.sock"))
		return "leave out the socket of an ssh endpoint if it is the default one.";
	return NULL;
}

const char *host_endpoint_fault(const char *endpoint)
{
	for (const char *s = endpoint; *s; s++)
		if (!isascii((unsigned char)*s) || !isgraph((unsigned char)*s) || strchr("*?", *s))
			return "an endpoint must not contain spaces, control characters, * or ?.";
	if (!strncmp(endpoint, "unix:///", 8) && endpoint[8])
		return NULL;
	if (!strncmp(endpoint, "tcp://", 6))
		return fault_of_tcp(endpoint + 6);
	if (!strncmp(endpoint, "ssh://", 6))
		return fault_of_ssh(endpoint + 6);
	return "an endpoint is ssh://[USER@]HOST[:PORT][/SOCKET], tcp://HOST:PORT or unix:///PATH.";
}

const char *host_rule_fault(const struct host_rule *rules, size_t i)
{
	const struct host_rule *h = &rules[i];
	const char *fault;
	size_t named = 0;

	if (h->host && !h->name && !h->endpoint)
		return h->secrets
			? "secrets: can only be set for a named engine, not for a pattern."
			: NULL;
	if (!h->host && !h->name && !h->endpoint)
		return "found a rule without \"host\", expected the pattern of an endpoint or an engine's name.";
	if (h->host || !h->name || !h->endpoint)
		return "expected either \"name\" and \"endpoint\" of an engine, or \"host\" with the pattern "
		       "of some.";
	fault = host_name_fault(h->name);
	for (size_t k = 0; k < i && !fault; k++) {
		named += rules[k].name != NULL;
		if (rules[k].name && !strcmp(rules[k].name, h->name))
			fault = "two engines have this name.";
	}
	if (!fault && named >= HOSTS_MAX - 1)
		fault = "at most 63 engines can be shown together.";
	return fault ? fault : host_endpoint_fault(h->endpoint);
}
