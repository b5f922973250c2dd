/*
 * plan.h - describes the containers of a team file without creating anything: `berth config check`.
 *
 * Derived by the same functions that make containers, from the definition and what this machine's
 * files say now (the workspace's owner, whether a path may be mounted); no engine is asked.
 *
 * Thread: any; everything lives in the arena given.
 */
#ifndef BERTH_PLAN_H
#define BERTH_PLAN_H

#include "arena.h"
#include "team.h"

struct plan_mount {
	const char *source, *target;
	bool read_only;
	const char *what; /* "workspace", "context path", "protected", "home volume" ... */
};

struct plan_loose {
	const char *what, *because;
};

/* Something about this machine: it stops `up` as things are (a path that is not there yet), or it
 * never can be (a path that is never mounted). */
struct plan_note {
	bool never;
	const char *text;
};

struct plan {
	bool tool;
	const char *id, *container, *image;
	bool user_known;
	unsigned uid, gid;
	const struct limits *limits;
	const char *network; /* "none", "bridge", "internal: team" */
	bool read_only_root, new_privileges;
	size_t ncaps;
	const char *const *caps;
	const char *seccomp, *apparmor;
	const char *runtime; /* NULL: the engine's default */
	size_t nmounts;
	struct plan_mount *mounts;
	size_t nloose;
	struct plan_loose *loose;
	size_t nnotes;
	struct plan_note *notes;
	struct place at;
};

void plan_agent(
	const struct team *t, const struct agent_def *a, struct arena *mem, struct plan *ret);
void plan_tool(const struct team *t, const struct tool_def *d, struct arena *mem, struct plan *ret);

#endif
