/* workspace_names.c - how `berth workspace` shows names that an agent chose: likely secrets in them masked. */
#include <string.h>

#include <berth/text.h>

#include "cli/workspace.h"

void workspace_cli_quote(struct str *out, const char *name, size_t n)
{
	AUTO_STR struct str masked = STR_INIT;

	workspace_add_masked(&masked, name, n);
	text_quote_name(out, masked.s, masked.len);
}

void workspace_cli_json_name(struct jsonw *j, const char *key, const char *name)
{
	AUTO_STR struct str masked = STR_INIT;

	workspace_add_masked(&masked, name, strlen(name));
	jsonw_text(j, key, masked.s);
}
