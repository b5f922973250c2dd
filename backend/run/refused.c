/* refused.c - refuses commands while a workspace exceeds its limit. */
#include <berth/agents.h>

#include "run/run.h"
#include "lane/lane.h"

int run_check_room(const char *id, const char *name, struct err *e)
{
	char why[256];

	switch (lane_room(id, why, sizeof why)) {
	case LANE_REFUSED:
		return err_set(e, ERR_REFUSED,
			"%s, so no command starts and no file is written in %s: remove files, raise the "
			"limit (berth workspace limit) or thaw it (berth workspace thaw).",
			why, name);
	case LANE_ASLEEP: return lane_wake(id, e) < 0 ? -1 : 0;
	default: return 0;
	}
}

int agents_check_room(const char *agent, struct err *e)
{
	struct lane_about about;

	return lane_find(agent, &about, NULL) ? 0 : run_check_room(about.id, about.name, e);
}
