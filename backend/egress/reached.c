/*
 * reached.c - sums what an agent has reached, for each target.
 *
 * What a rule or a route names, or a person allowed once, always has a place of its own.  Names below a domain are the
 * agent's to choose: each rule for these has places for a few, the others are counted under the domain ("*.example.org").
 */
#include <stdio.h>
#include <string.h>

#include <berth/clock.h>

#include "egress/end.h"

#define BELOW_MAX 16 /* names by one rule */
#define NAMES_MAX (EGRESS_REACHED_MAX - EGRESS_RULES_MAX)

static size_t find_place(const struct end *end, const struct egress_target *to)
{
	size_t i = 0;

	while (i < end->nreached && !egress_same_target(&end->reached[i].to, to))
		i++;
	return i;
}

/* The rule for names below a domain by which it may be reached; NULL: one that names it, or a person. */
static const struct egress_rule *find_wide_rule(
	const struct end *end, const struct egress_target *to)
{
	const struct egress_rule *wide = NULL;

	for (size_t i = 0; i < end->nrules; i++) {
		const struct egress_rule *r = egress_judge(&end->rules[i], 1, to);

		if (r && !r->below)
			return NULL;
		wide = r ? r : wide;
	}
	return wide;
}

static bool has_room_below(const struct end *end, const struct egress_rule *wide)
{
	size_t n = 0;

	for (size_t i = 0; i < end->nreached; i++)
		n += egress_judge(wide, 1, &end->reached[i].to) != NULL;
	return n < BELOW_MAX && end->nreached < NAMES_MAX;
}

struct egress_reached *reached_add(struct end *end, const struct egress_target *to, bool by_route)
{
	struct egress_reached *r = end->reached;
	const int64_t now = clock_wall_ms();
	size_t i = find_place(end, to);
	struct egress_target at = *to;

	if (i == end->nreached) {
		const struct egress_rule *wide = by_route ? NULL : find_wide_rule(end, to);

		if (wide && !has_room_below(end, wide)) {
			snprintf(at.host, sizeof at.host, "*.%.*s", EGRESS_HOST_MAX - 3,
				wide->at.host);
			i = find_place(end, &at);
		}
	}
	if (i == end->nreached && i < EGRESS_REACHED_MAX)
		r[end->nreached++] = (struct egress_reached){.to = at, .first_ms = now};
	if (i == EGRESS_REACHED_MAX && !r[i].connections)
		r[i].first_ms = now;
	r[i].connections++;
	r[i].last_ms = now;
	return &r[i];
}

void reached_count(struct egress_reached *r, uint64_t up, uint64_t down)
{
	if (!r || !(up || down))
		return;
	r->up += up;
	r->down += down;
	r->last_ms = clock_wall_ms();
}
