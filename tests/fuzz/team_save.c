/*
 * team_save.c - fuzz target: any bytes as a team file that a rule is added to: refused with a reason, or every byte of it is
 * there in its order, with little more, and once more is no more.  The first byte says which rule, and to which list.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>
#include <berth/team.h>
#include <berth/text.h>

#define MORE_MAX 512 /* the rule in quotes, and what leads to it */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool holds_in_order(const struct str *text, const char *bytes, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < text->len && found < n; i++)
		found += text->s[i] == bytes[found];
	return found == n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const rules[] = {
		"x.org", "*.x.org:22", "[2001:db8::1]:80", "10.0.0.1", "a.org", "tls://x.org:1"};
	const char *rule = rules[size ? data[0] % COUNT(rules) : 0];
	bool allow = size && data[0] & 0x80;
	AUTO_STR struct str text = STR_INIT, again = STR_INIT;
	const char *before = (const char *)data + 1;
	struct err e = ERR_INIT;

	if (!size--)
		return 0;
	text_init();
	str_add(&text, before, size);
	if (team_add_rules(&text, "fuzz.yaml", "one", allow, &rule, 1, &e)) {
		if (!e.msg[0])
			abort();
		return 0;
	}
	if (text.len > size + MORE_MAX || !holds_in_order(&text, before, size))
		abort();
	str_add(&again, text.s, text.len);
	if (team_add_rules(&again, "fuzz.yaml", "one", allow, &rule, 1, &e) ||
		again.len != text.len || memcmp(again.s, text.s, text.len) != 0)
		abort();
	return 0;
}
