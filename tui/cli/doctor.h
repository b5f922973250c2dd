/* doctor.h - the questions `berth doctor` asks, and how an answer looks. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <berth/product.h>
#include <berth/settings.h>

#include "cli/cli.h"

enum verdict {
	FINE,
	NOTED,   /* works, but not as well as it could */
	MISSING, /* berth needs it: exit code 1 */
};

struct answer {
	enum verdict verdict;
	char found[320]; /* what is there */
	char remedy[ERR_MSG_MAX];
	uint64_t lacks; /* of the engine: bits of enum lack, a line each */
};

struct patient {
	const struct cli *cli;
	const struct snapshot *snapshot; /* NULL: no engine answered */
	struct err engine_err;           /* why not */
};

struct question {
	const char *name; /* of the JSON's checks[]: part of the contract */
	void (*ask)(const struct patient *p, struct answer *a);
};

extern const struct question doctor_engine[], doctor_machine[],
	doctor_person[]; /* NULL name ends */

#define DOCTOR_IN_PATH "Put it there, or write its whole path into the client's configuration."

/* doctor_mcp.c: start the MCP server `own` as the clients here, or with `team` that file's, have it.  1: it answers, and
 * `found` says whose; 0: nothing is configured; -1: *e is what is wrong, *remedy what to do.  `theirs`: the `berth` that
 * clients find; NULL: none. */
int doctor_try_mcp(const char *team, const char *theirs, const char *own, char *found, size_t cap,
	const char **remedy, struct err *e);

/* Fill in an answer; `remedy` NULL when it is fine.  Text from outside is neutralised when shown.
 */
void answer(struct answer *a, enum verdict v, const char *remedy, const char *found, ...)
	__attribute__((format(printf, 4, 5)));
/* Is there an executable of that name in PATH or the system's sbin directories? */
bool in_path(const char *name, char *where, size_t cap);

#endif
