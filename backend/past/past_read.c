/* past_read.c - reads the history of containers. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>

#include "past/past_format.h"

struct past_reader {
	int fd;
	const char *path;
	struct past_entry entry[PAST_ROWS];
	struct past_record *level[PAST_LEVELS]; /* of the row in hand */
};

static void close_past_reader(struct past_reader *r)
{
	cleanup_close(&r->fd);
	for (size_t i = 0; i < PAST_LEVELS; i++)
		free(r->level[i]);
	free(r);
}

/* NULL without an error: there is no file yet. */
static struct past_reader *open_past_reader(const char *path, struct err *e)
{
	struct past_reader *r = xcalloc(1, sizeof *r);
	struct err why = ERR_INIT;

	r->path = path;
	r->fd = file_open(AT_FDCWD, path, O_NOFOLLOW);
	if (r->fd < 0) {
		if (errno != ENOENT)
			err_sys(e, errno, "Cannot read %s", path);
	} else if (past_check(r->fd, path, &why)) {
		err_set(e, why.kind, "%s.", why.msg);
	} else if (pread(r->fd, r->entry, sizeof r->entry, past_entry_at(0)) != sizeof r->entry) {
		err_sys(e, errno ? errno : EIO, "Cannot read %s", path);
	} else {
		for (size_t i = 0; i < PAST_ROWS; i++)
			r->entry[i].used = past_entry_good(&r->entry[i]);
		return r;
	}
	close_past_reader(r);
	return NULL;
}

static int order_rows(const void *a, const void *b)
{
	const struct past_row *x = a, *y = b;
	int order = strcmp(x->engine, y->engine);

	return order ? order : strcmp(x->name, y->name);
}

int past_list(const char *path, struct past_row **ret, size_t *n, struct err *e)
{
	struct err why = ERR_INIT;
	struct past_reader *r = open_past_reader(path, &why);

	*n = 0;
	*ret = xcalloc(PAST_ROWS, sizeof **ret);
	if (!r)
		return why.kind ? err_copy(e, &why) : 0;
	for (size_t i = 0; i < PAST_ROWS; i++)
		if (r->entry[i].used)
			(*ret)[(*n)++] = r->entry[i].row;
	mem_sort(*ret, *n, sizeof **ret, order_rows);
	close_past_reader(r);
	return 0;
}

/* By its name, else by its agent; of several the one seen last. */
static int find_past_row(const struct past_reader *r, const char *engine, const char *name)
{
	int found = -1;

	for (int by_agent = 0; by_agent < 2 && found < 0; by_agent++)
		for (int i = 0; i < PAST_ROWS; i++) {
			const struct past_row *x = &r->entry[i].row;

			if (!r->entry[i].used || (engine && strcmp(engine, x->engine) != 0) ||
				(by_agent && !*name) ||
				strcmp(name, by_agent ? x->agent : x->name) != 0)
				continue;
			if (found < 0 || x->last_ms > r->entry[found].row.last_ms)
				found = i;
		}
	return found;
}

static int load_levels(struct past_reader *r, size_t row, struct err *e)
{
	for (size_t l = 0; l < PAST_LEVELS; l++) {
		size_t n = past_levels[l].len * sizeof(struct past_record);

		r->level[l] = xcalloc(past_levels[l].len, sizeof(struct past_record));
		if (pread(r->fd, r->level[l], n, past_record_at(row, l, 0)) != (ssize_t)n)
			return err_sys(e, errno ? errno : EIO, "Cannot read %s", r->path);
	}
	return 0;
}

/* The record of that level for that tick, if it was written, and since this row has the place. */
static const struct past_record *record_of(
	const struct past_reader *r, const struct past_row *row, size_t level, uint32_t tick)
{
	const struct past_record *x = &r->level[level][tick % past_levels[level].len];
	int64_t ends_ms = ((int64_t)tick + 1) * past_levels[level].step_s * 1000;

	return x->tick == tick && ends_ms > row->since_ms ? x : NULL;
}

static bool keeps_highest(int v)
{
	return v == PAST_CPU_MAX || v == PAST_MEMORY_MAX || v == PAST_PIDS ||
		v == PAST_MEMORY_LIMIT || v == PAST_PIDS_LIMIT;
}

/* All records of a level that begin in the time of the point; of a coarser one that in which it lies. */
static bool gather_level(const struct past_reader *r, const struct past_row *row, size_t level,
	int64_t step_ms, struct past_point *p)
{
	int64_t each = (int64_t)past_levels[level].step_s * 1000;
	int64_t first = each > step_ms ? p->at_ms / each : (p->at_ms + each - 1) / each;
	int64_t end = each > step_ms ? first + 1 : (p->at_ms + step_ms + each - 1) / each;
	double sum[PAST_VALUES] = {0};
	uint32_t n = 0;

	/* Older ones than the ring has are gone. */
	if (end - first > past_levels[level].len)
		first = end - past_levels[level].len;
	for (int64_t t = first; t < end; t++) {
		const struct past_record *x = record_of(r, row, level, (uint32_t)t);

		if (!x)
			continue;
		n++;
		for (int i = 0; i < PAST_VALUES; i++) {
			double v = past_decode(x->v[i]);

			sum[i] = !keeps_highest(i) ? sum[i] + v : v > sum[i] ? v : sum[i];
		}
	}
	for (int i = 0; n && i < PAST_VALUES; i++)
		p->v[i] = (float)(keeps_highest(i) ? sum[i] : sum[i] / n);
	p->v[PAST_CPU] /= 100;
	p->v[PAST_CPU_MAX] /= 100;
	p->v[PAST_THROTTLED] /= 100;
	p->v[PAST_PIDS] = roundf(p->v[PAST_PIDS]);
	p->v[PAST_PIDS_LIMIT] = roundf(p->v[PAST_PIDS_LIMIT]);
	return n > 0;
}

/* Does a finer level than this one reach back so far that what it lacks is a gap?  Ten seconds may be told by one sample,
 * for of what is not on screen an engine is asked seldom. */
static bool is_gap(const struct past_row *row, size_t level, int64_t at_ms)
{
	const struct past_level *finer = &past_levels[level - 1];

	return level > 1 && at_ms >= row->last_ms - (int64_t)finer->len * finer->step_s * 1000;
}

/* From the coarsest that is fine enough, for it reaches back the farthest; then finer, then coarser ones. */
static void gather_point(const struct past_reader *r, const struct past_row *row, int64_t step_ms,
	struct past_point *p)
{
	size_t fit = 0;

	for (size_t l = 0; l < PAST_LEVELS; l++)
		if ((int64_t)past_levels[l].step_s * 1000 <= step_ms)
			fit = l;
	for (size_t l = fit + 1; l-- > 0 && !p->seen;)
		p->seen = gather_level(r, row, l, step_ms, p);
	for (size_t l = fit + 1; l < PAST_LEVELS && !p->seen && !is_gap(row, l, p->at_ms); l++)
		p->seen = gather_level(r, row, l, step_ms, p);
}

static int order_events(const void *a, const void *b)
{
	const struct past_event *x = a, *y = b;

	return x->at_ms < y->at_ms ? -1 : x->at_ms > y->at_ms;
}

static void gather_events(const struct past_reader *r, struct past *p)
{
	AUTO_FREE struct past_happened *all = xcalloc(PAST_EVENTS, sizeof *all);
	ssize_t got = pread(r->fd, all, PAST_EVENTS * sizeof *all, past_event_at(0));
	int64_t end = p->from_ms + p->step_ms * (int64_t)p->npoints;
	size_t n = got > 0 ? (size_t)got / sizeof *all : 0;

	p->event = xcalloc(n + 1, sizeof *p->event);
	for (size_t i = 0; i < n; i++) {
		const struct past_happened *h = &all[i];
		struct past_event *to = &p->event[p->nevents];

		if (!past_event_good(h, i) || strcmp(h->engine, p->row.engine) != 0 ||
			(*p->row.name && strcmp(h->name, p->row.name) != 0) ||
			h->at_ms < p->from_ms || h->at_ms >= end)
			continue;
		*to = (struct past_event){h->at_ms, (enum past_what)h->what, h->value, ""};
		memcpy(to->name, h->name, sizeof to->name);
		p->nevents++;
	}
	mem_sort(p->event, p->nevents, sizeof *p->event, order_events);
}

static int fill_past(
	struct past_reader *r, const char *engine, const char *name, struct past *p, struct err *e)
{
	int row = find_past_row(r, engine, name);

	if (row < 0)
		return err_set(e, ERR_NOT_FOUND,
			*name ? "No history of %.100s is recorded: `berth history` lists what is."
			      : "Nothing is kept yet%.0s: history is recorded while a console or the keeper runs.",
			name);
	p->row = r->entry[row].row;
	if (load_levels(r, (size_t)row, e))
		return -1;
	p->point = xcalloc(p->npoints + 1, sizeof *p->point);
	for (size_t i = 0; i < p->npoints; i++) {
		p->point[i].at_ms = p->from_ms + p->step_ms * (int64_t)i;
		gather_point(r, &p->row, p->step_ms, &p->point[i]);
	}
	gather_events(r, p);
	return 0;
}

int past_read(const char *path, const char *engine, const char *name, int64_t from_ms,
	int64_t step_ms, size_t npoints, struct past *ret, struct err *e)
{
	struct err why = ERR_INIT;
	struct past_reader *r;
	int rc;

	*ret = (struct past){.from_ms = from_ms, .step_ms = step_ms, .npoints = npoints};
	if (step_ms < 1000 || from_ms < 0 || npoints > PAST_POINTS_MAX)
		return err_set(e, ERR_USAGE,
			"Too many steps at once: ask for a shorter time or a longer step.");
	r = open_past_reader(path, &why);
	if (!r)
		return why.kind
			? err_copy(e, &why)
			: err_set(e, ERR_NOT_FOUND,
				  "Nothing is kept yet: history is recorded while a console or the keeper runs.");
	rc = fill_past(r, engine, name, ret, e);
	close_past_reader(r);
	return rc;
}

void past_release(struct past *p)
{
	free(p->point);
	free(p->event);
	*p = (struct past){0};
}
