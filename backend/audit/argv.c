/* argv.c - formats command lines for the audit log: masks secrets, quotes for a shell. */
#include "audit/audit.h"

#include <string.h>
#include <strings.h>

#include <berth/str.h>
#include <berth/text.h>

#define NAME_MAX_BYTES 128

/* Does the part of `arg` before its '=' (or all of it) look like the name of a secret? */
static bool names_secret(const char *arg, size_t n)
{
	char name[NAME_MAX_BYTES];

	if (n == 0 || n >= sizeof name)
		return false;
	memcpy(name, arg, n);
	name[n] = '\0';
	return text_looks_secret(name);
}

static void quote_word(struct str *out, const char *s, size_t n)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "_-./:=@%+,*";

	if (n && strspn(s, safe) >= n) {
		str_add(out, s, n);
		return;
	}
	str_addc(out, '\'');
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\'')
			str_adds(out, "'\\''");
		else
			str_addc(out, s[i]);
	}
	str_addc(out, '\'');
}

/* user:password@ in a URL. */
static bool quote_url(struct str *out, const char *s)
{
	const char *scheme = strstr(s, "://"), *at, *colon, *slash;

	if (!scheme)
		return false;
	slash = strchrnul(scheme + 3, '/');
	at = memrchr(scheme + 3, '@', (size_t)(slash - scheme - 3));
	colon = at ? memchr(scheme + 3, ':', (size_t)(at - scheme - 3)) : NULL;
	if (!colon)
		return false;
	quote_word(out, s, (size_t)(colon + 1 - s));
	str_adds(out, "***");
	quote_word(out, at, strlen(at));
	return true;
}

void audit_argv(struct str *out, size_t argc, const char *const *argv)
{
	bool mask_next = false;

	for (size_t i = 0; i < argc; i++) {
		const char *arg = argv[i], *eq = strchr(arg, '=');

		if (i)
			str_addc(out, ' ');
		if (mask_next) {
			str_adds(out, "***");
			mask_next = false;
		} else if (eq && names_secret(arg, (size_t)(eq - arg))) {
			quote_word(out, arg, (size_t)(eq + 1 - arg));
			str_adds(out, "***");
		} else if (!quote_url(out, arg)) {
			quote_word(out, arg, strlen(arg));
			mask_next = arg[0] == '-' && !eq && names_secret(arg, strlen(arg));
		}
	}
}
