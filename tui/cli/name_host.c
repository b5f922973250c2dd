/* name_host.c - resolves -H NAME to a host of the settings. */
#include <string.h>

#include <berth/hosts.h>
#include <berth/mem.h>
#include <berth/settings.h>

#include "cli/cli.h"

int cli_name_host(struct cli *c, char **ret, struct err *e)
{
	const char *name = cli_value(c, "host");
	struct settings s;

	*ret = NULL;
	if (!name || host_name_fault(name))
		return 0;
	if (settings_load_bare(cli_value(c, "settings"), &s, e) < 0)
		return -1;
	for (size_t i = 0; i < s.nhosts && !*ret; i++)
		if (s.hosts[i].name && !strcmp(s.hosts[i].name, name))
			*ret = xstrdup(s.hosts[i].endpoint);
	settings_release(&s);
	for (size_t i = 0; i < c->ngiven && *ret; i++)
		if (!strcmp(c->given[i].option->name, "host"))
			c->given[i].value = *ret;
	return 0;
}
