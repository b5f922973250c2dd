/*
 * log_place.c - remembers the position in a container's log, so that reading can continue over another stream.
 *
 * Engines know no position, only a time, and times are no order: clocks step back, and lines share a stamp.  So the
 * stream is asked for again from the stamp of the last line, included, and what comes is dropped up to that line.
 */
#include "console/core.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define EARLIER_NS \
	(10 * 1000000000LL) /* a first line may be older than the start that the engine tells */

static uint64_t key_of_line(const struct log_line *l)
{
	return XXH3_64bits_withSeed(l->text, l->len, (uint64_t)l->wall_ns ^ l->stream);
}

/* Lines as this one among those of its stamp that are known. */
static size_t count_alike(const struct log_place *p, uint64_t key)
{
	size_t n = 0;

	for (size_t i = 0; i < p->nkeys; i++)
		n += p->key[i] == key;
	return n;
}

void log_place_resume(struct log_place *p, int64_t started_ns, struct log_span *span)
{
	span->tail = -1;
	span->since_ns = p->last_ns;
	/* It was started anew in the past of its log: the clock stepped back. */
	if (started_ns && started_ns < p->last_ns)
		span->since_ns = started_ns > EARLIER_NS ? started_ns - EARLIER_NS : 1;
	p->skip = count_alike(p, p->last);
}

bool log_place_take(struct log_place *p, const struct log_line *line)
{
	uint64_t key = key_of_line(line);

	/* The last line may not be in the log any more: logs are rotated. */
	if (p->skip && line->wall_ns <= p->newest_ns) {
		p->skip -= line->wall_ns == p->last_ns && key == p->last;
		return false;
	}
	p->skip = 0;
	if (line->wall_ns != p->last_ns || p->nkeys == LOG_ALIKE_MAX)
		p->nkeys = 0;
	p->key[p->nkeys++] = key;
	p->last = key;
	p->last_ns = line->wall_ns;
	if (line->wall_ns > p->newest_ns)
		p->newest_ns = line->wall_ns;
	return true;
}
