/* verdict.h - decides what is a candidate for clean-up, and why. A pure function: lists in, a plan out. */
#ifndef CLEAN_VERDICT_H
#define CLEAN_VERDICT_H

#include <berth/clean.h>

#include "clean/world.h"

/* One line of the rules' table: the words of a reason, what policy calls its removal. */
enum operation clean_operation(enum clean_type t);

/* The judgement about one container of the world; CLEAN_NOTHING when it is no candidate. */
enum clean_reason rule_container(
	const struct world *w, const struct seen_container *c, bool foreign, bool *ret_ours);

/* Every candidate.  policy NULL: nothing is protected; read-only rules are not looked at, for a plan
 * changes nothing. */
void rules_plan(const struct world *w, const struct policy *policy, struct clean_plan *p,
	struct arena *mem);
/* Exactly these of one type, for a person chose them; what is used or protected has its `keep`. */
void rules_choose(const struct world *w, const struct policy *policy, struct clean_plan *p,
	enum clean_type type, const char *const *id, size_t n, struct arena *mem);
/* Who made what has these labels: "agent alpha", "compose web", "you", "not berth". */
const char *rules_owner(struct arena *mem, bool ours, const struct key_value *labels, size_t n);
bool rules_of_engine(const char *name); /* a network that nobody made */
bool rules_own_network(const struct world *w, const struct seen_network *n);
bool rules_own_volume(const struct world *w, const struct seen_volume *v);
bool rules_own_image(const struct world *w, const struct seen_image *i);
/* The candidate of this type and id in a plan, or NULL. */
const struct clean_item *plan_find(const struct clean_plan *p, enum clean_type t, const char *id);

#endif
