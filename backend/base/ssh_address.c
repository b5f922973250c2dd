/* ssh_address.c - checks the address of an engine behind ssh. */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <berth/hosts.h>

static bool is_spelled_of(const char *s, size_t n, const char *more)
{
	for (size_t i = 0; i < n; i++)
		if (!isascii((unsigned char)s[i]) ||
			(!isalnum((unsigned char)s[i]) && !strchr(more, s[i])))
			return false;
	return n && *s != '-';
}

/* ":22" at *at, or nothing, and moves behind it. */
static bool is_ssh_port(const char **at)
{
	size_t n = **at == ':' ? strspn(*at + 1, "0123456789") : 0;
	unsigned long port = n && n <= 5 ? strtoul(*at + 1, NULL, 10) : 0;

	if (**at != ':')
		return true;
	*at += n + 1;
	return port > 0 && port <= 65535;
}

const char *host_ssh_fault(const char *s)
{
	size_t user = strcspn(s, "@/"), host;
	bool six;

	if (s[user] == '@') {
		if (!is_spelled_of(s, user, "._-+"))
			return "the user name contains characters that are not allowed (passwords are not taken).";
		s += user + 1;
	}
	six = *s == '[';
	s += six;
	host = strcspn(s, six ? "]" : ":/");
	if (!is_spelled_of(s, host, six ? ":." : "._-") || (six && s[host] != ']'))
		return "the host name is missing or contains characters that are not allowed.";
	s += host + six;
	if (!is_ssh_port(&s))
		return "the port is not a number from 1 to 65535.";
	if (*s && *s != '/')
		return "the host name contains characters that are not allowed.";
	if (*s && !is_spelled_of(s, strlen(s), "/._-+@=,"))
		return "the socket's path contains characters that are not allowed.";
	return NULL;
}
