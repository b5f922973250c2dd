/* past_format.c - computes sizes and positions in the history file, and validates its entries. */
#include "past/past_format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/hash.h>
#include <berth/runtime.h>

#define CODES_PER_DOUBLING 1024

const struct past_level past_levels[PAST_LEVELS] = {{1, 600}, {10, 2160}, {300, 8640}};

const char *past_what_name(enum past_what what)
{
	static const char *const names[PAST_WHATS] = {
		"started", "exited", "oom", "paused", "unpaused", "unhealthy", "healthy"};

	return what < PAST_WHATS ? names[what] : "";
}

uint16_t past_code(double v)
{
	double code = v > 0 ? log2(1 + v) * CODES_PER_DOUBLING + 0.5 : 0;

	return code >= UINT16_MAX ? UINT16_MAX : (uint16_t)code;
}

double past_decode(uint16_t code)
{
	return exp2((double)code / CODES_PER_DOUBLING) - 1;
}

void past_header_fill(struct past_header *h)
{
	memset(h, 0, sizeof *h);
	memcpy(h->magic, PAST_MAGIC, sizeof h->magic);
	h->version = PAST_VERSION;
	h->header = PAST_PAGE;
	h->row = sizeof(struct past_entry);
	h->event = sizeof(struct past_happened);
	h->record = sizeof(struct past_record);
	h->rows = PAST_ROWS;
	h->events = PAST_EVENTS;
	h->values = PAST_VALUES;
	memcpy(h->level, past_levels, sizeof h->level);
}

int64_t past_entry_at(size_t row)
{
	return PAST_PAGE + (int64_t)(row * sizeof(struct past_entry));
}

int64_t past_event_at(size_t slot)
{
	return past_entry_at(PAST_ROWS) + (int64_t)(slot * sizeof(struct past_happened));
}

static int64_t records_of_row(void)
{
	int64_t n = 0;

	for (size_t i = 0; i < PAST_LEVELS; i++)
		n += past_levels[i].len;
	return n;
}

int64_t past_record_at(size_t row, size_t level, uint32_t tick)
{
	int64_t n = (int64_t)row * records_of_row();

	for (size_t i = 0; i < level; i++)
		n += past_levels[i].len;
	n += tick % past_levels[level].len;
	return past_event_at(PAST_EVENTS) + n * (int64_t)sizeof(struct past_record);
}

int64_t past_size(void)
{
	return past_record_at(PAST_ROWS, 0, 0);
}

int past_check(int fd, const char *path, struct err *e)
{
	struct past_header want, h;
	struct stat st;

	past_header_fill(&want);
	if (pread(fd, &h, sizeof h, 0) != sizeof h || memcmp(h.magic, want.magic, 8) != 0)
		return err_set(e, ERR_CONFLICT, "%s is not a berth history file", path);
	if (h.version > PAST_VERSION) {
		err_set(e, ERR_CONFLICT,
			"%s was written by a newer berth (version %" PRIu32
			") and is left unchanged",
			path, h.version);
		return 1;
	}
	if (memcmp(&h, &want, sizeof h) != 0 || fstat(fd, &st) || st.st_size != past_size())
		return err_set(e, ERR_CONFLICT, "%s is damaged", path);
	return 0;
}

static bool ends_in_time(const char *s, size_t cap)
{
	return memchr(s, '\0', cap) != NULL;
}

bool past_entry_good(const struct past_entry *x)
{
	return x->used && x->sum == hash_more(HASH_START, x, offsetof(struct past_entry, sum)) &&
		ends_in_time(x->row.engine, sizeof x->row.engine) &&
		ends_in_time(x->row.name, sizeof x->row.name) &&
		ends_in_time(x->row.agent, sizeof x->row.agent);
}

bool past_event_good(const struct past_happened *x, size_t slot)
{
	return x->number && x->number % PAST_EVENTS == slot && x->what < PAST_WHATS &&
		x->sum == hash_more(HASH_START, x, offsetof(struct past_happened, sum)) &&
		ends_in_time(x->engine, sizeof x->engine) && ends_in_time(x->name, sizeof x->name);
}

int past_path(char *buf, size_t cap, struct err *e)
{
	size_t n;

	if (state_dir(buf, cap, e) < 0)
		return -1;
	n = strlen(buf);
	if (snprintf(buf + n, cap - n, "/history.ring") >= (int)(cap - n))
		return err_set(e, ERR_FAILED, "The path of the state directory is too long.");
	return 0;
}
