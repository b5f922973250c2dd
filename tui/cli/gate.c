/* gate.c - applies the policy to a command line: settings and --read-only. */
#include "cli/gate.h"

#include <berth/record.h>
#include <berth/settings.h>

int cli_policy(const struct cli *c, struct policy *ret, struct arena *mem, struct err *e)
{
	struct settings s;

	if (settings_load_bare(cli_value(c, "settings"), &s, e))
		return -1;
	if (cli_flag(c, "read-only"))
		s.read_only = true;
	policy_from_settings(ret, &s, mem);
	if (s.read_only)
		ret->read_only_by = cli_flag(c, "read-only") ? "--read-only" : "berth.yaml";
	settings_release(&s);
	return 0;
}

int cli_recorded(int rc, int lost)
{
	struct err e = ERR_INIT;

	switch (record_state(&e)) {
	case RECORD_GAP: cli_fail(&e); return rc;
	case RECORD_LOST: cli_fail(&e); return lost;
	case RECORD_WHOLE:
	default: return rc;
	}
}
