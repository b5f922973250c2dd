/*
 * past_format.h - the layout of the history file (past/past.h), shared by reader and writer.
 *
 * Thread: any.
 */
#ifndef PAST_PAST_FORMAT_H
#define PAST_PAST_FORMAT_H

#include <berth/past.h>

#define PAST_MAGIC "berthrng"
#define PAST_VERSION 1
#define PAST_LEVELS 3
#define PAST_PAGE 4096

struct past_level {
	uint32_t step_s, len;
};
extern const struct past_level past_levels[PAST_LEVELS];

struct past_header {
	char magic[8];
	uint32_t version;
	uint32_t header, row, event, record; /* sizes */
	uint32_t rows, events, values;
	struct past_level level[PAST_LEVELS];
};

/* `sum` is over all before it: an entry that was torn is none. */
struct past_entry {
	uint32_t used;
	uint32_t unused;
	struct past_row row;
	int64_t started_ms, ended_ms; /* the newest that is told of */
	uint8_t rest[136];
	uint64_t sum;
};
_Static_assert(sizeof(struct past_entry) == 512, "sectors are not torn");

/* `number` counts from 1; 0: never written. */
struct past_happened {
	uint64_t number;
	int64_t at_ms;
	uint32_t what;
	int32_t value;
	char engine[PAST_ENGINE_MAX];
	char name[PAST_NAME_MAX];
	uint64_t sum;
};

struct past_record {
	uint32_t tick; /* Unix time over the step */
	uint16_t v[PAST_VALUES];
};
_Static_assert(sizeof(struct past_record) == 28, "64 MB in all");

uint16_t past_code(double v);
double past_decode(uint16_t code);

void past_header_fill(struct past_header *h);
/* Where things lie. */
int64_t past_entry_at(size_t row);
int64_t past_event_at(size_t slot);
int64_t past_record_at(size_t row, size_t level, uint32_t tick);
int64_t past_size(void);

/* 1 and a sentence: it is whole, but of a newer berth.  -1: it is not ours, or damaged. */
int past_check(int fd, const char *path, struct err *e);
bool past_entry_good(const struct past_entry *x);
bool past_event_good(const struct past_happened *x, size_t slot);

#endif
