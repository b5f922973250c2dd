/* config_check.h - shared by the two files of `berth config check`: findings and printing them. */
#ifndef CLI_CONFIG_CHECK_H
#define CLI_CONFIG_CHECK_H

#include <berth/config.h>
#include <berth/err.h>
#include <berth/team.h>

struct plan;

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
void findings_add(void *findings, const struct err *e);
/* Print them as `--json` and `--verbose` ask; the exit code. */
struct cli;
int findings_conclude(const struct cli *cli, const struct findings *f, const char *file);

#endif
