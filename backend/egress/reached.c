/* reached.c - sums what an agent has reached, for each target: its names are its own to choose, so there is a last place
 * for all that have none. */
#include <berth/clock.h>

#include "egress/end.h"

struct egress_reached *reached_add(struct end *end, const struct egress_target *to)
{
	struct egress_reached *r = end->reached;
	const int64_t now = clock_wall_ms();
	size_t i = 0;

	while (i < end->nreached && !egress_same_target(&r[i].to, to))
		i++;
	if (i == end->nreached && i < EGRESS_REACHED_MAX)
		r[end->nreached++] = (struct egress_reached){.to = *to, .first_ms = now};
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
