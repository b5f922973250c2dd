/* rules.c - fuzz target: any script is judged, in time, and what is refused says why. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

#include "policy/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const allow[] = {"git .*|cd( .*)?", "[a-z]+"};
	AUTO_FREE char *text = xmalloc(size + 1);
	const char *argv[] = {"sh", "-c", text};

	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t n = 0; n <= 2; n += 2) {
		struct rule_options o = {.workdir = "/srv/a",
			.writable = (const char *const[]){"/srv/a"},
			.nwritable = 1,
			.allow = allow,
			.nallow = n};
		struct err e = ERR_INIT;
		struct rule_set *r = rule_set_compile(&o, &e);

		if (!r)
			abort();
		if (rule_set_check(r, argv, 3, &e) && (e.kind != ERR_REFUSED || !e.msg[0]))
			abort();
		rule_set_free(r);
	}
	return 0;
}
