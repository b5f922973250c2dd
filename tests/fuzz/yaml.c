/* yaml.c - fuzz target: any bytes as a configuration file, then as settings. */
#include <stdint.h>
#include <stdlib.h>

#include <berth/config.h>
#include <berth/settings.h>
#include <berth/text.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Walk the whole tree: its expanded size is bounded, and every text is terminated. */
static size_t walk_nodes(const struct node *n)
{
	size_t seen = 1;

	for (size_t i = 0; i < n->n; i++)
		seen += walk_nodes(n->child[i]);
	for (const char *p = n->value; *p; p++)
		seen += 0;
	return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct settings s;
	struct config c;
	struct err e = ERR_INIT;

	text_init();
	if (config_parse("fuzz.yaml", (const char *)data, size, &c, &e) < 0) {
		if (e.kind != ERR_CONFIG || !e.msg[0])
			abort();
		return 0;
	}
	if (walk_nodes(c.root) > 100001)
		abort();
	if (settings_from(&c, &s, &e) == 0)
		settings_release(&s);
	else
		config_release(&c);
	return 0;
}
