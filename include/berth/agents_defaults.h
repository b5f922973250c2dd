/* agents_defaults.h - what the settings say of agents that come up. */
#ifndef BERTH_AGENTS_DEFAULTS_H
#define BERTH_AGENTS_DEFAULTS_H

#include <stddef.h>
#include <stdint.h>

#include "workspace.h"

struct agents_defaults {
	/* Of the journal of each (journal.h): commands, and bytes of output of each; commands 0: none. */
	size_t journal_commands;
	uint64_t journal_bytes;
	uint16_t egress_ask_s; /* how long a person is asked about an unknown target; 0: 30 s */
	struct workspace_limits usual; /* of a workspace of berth's of which nothing was said */
	struct workspace_most
		tasks; /* of berth's that have a container: `up` of one more waits in line */
};

struct settings;
struct agents_defaults agents_defaults(const struct settings *s);

#endif
