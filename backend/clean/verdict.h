/*
 * verdict.h - what is a candidate for clean-up, and why.  Asks nobody: a world in, a plan out.
 */
#ifndef CLEAN_VERDICT_H
#define CLEAN_VERDICT_H

#include <berth/clean.h>

#include "clean/world.h"

/* One line of the rules' table: the words of a reason, what policy calls its removal. */
enum deed clean_deed(enum clean_type t);

/* The judgement about one container of the world; CLEAN_NOTHING when it is no candidate. */
enum clean_reason rule_container(
	const struct world *w, const struct seen_container *c, bool foreign, bool *ret_ours);

/* Every candidate.  policy NULL: nothing is protected; read-only rules are not looked at, for a plan
 * changes nothing. */
void rules_plan(const struct world *w, const struct policy *policy, struct clean_plan *p,
	struct arena *mem);
/* The candidate of this type and id in a plan, or NULL. */
const struct clean_item *plan_find(const struct clean_plan *p, enum clean_type t, const char *id);

#endif
