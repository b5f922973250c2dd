/* config_check.h - what the two files of `berth config check` share: what was found, and saying it. */
#ifndef CLI_CONFIG_CHECK_H
#define CLI_CONFIG_CHECK_H

#include <berth/config.h>
#include <berth/plan.h>

struct findings {
	const char *kind; /* of file */
	size_t n, cap;
	struct err *problem;
	bool has_team; /* the next three are filled in */
	struct team team;
	size_t nplans;
	struct plan *plan;
	struct arena mem;
};

/* What the team's definitions become; verbose: each ignored key, too. */
void findings_print(const struct findings *f, bool verbose);
int findings_json(const struct findings *f, const char *file);

#endif
