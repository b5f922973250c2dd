/* logs_page.h - the page of the Logs view: content, position, appearance. */
#ifndef LOGS_PAGE_H
#define LOGS_PAGE_H

#include "terminal/terminal.h"
#include "views/logs/logbuf.h"

#define FILTER_PARTS 8

struct source {
	char *engine, *id, *name;
	uint8_t streams;         /* bits of the streams seen */
	int64_t started_wall_ms; /* of the start whose lines were asked for */
	bool was_stopped;        /* when last looked at */
};

/* A place in the text: line, and row of it when it is wrapped. */
struct place {
	size_t line, row;
};

struct logs {
	bool lost;               /* the engine cannot be asked now */
	struct logbuf *buf;      /* what is shown: one of the next two */
	struct logbuf all, some; /* all lines; those that the filter lets through */
	struct source *source;
	size_t nsources;
	uint64_t subscription; /* 0: none */
	bool ended;
	bool of_agent; /* a container in which an agent's commands run */
	char why[160]; /* the log ended: how */

	char period[80]; /* as typed; "": the last lines, and what follows */
	struct log_span span;
	bool asked_period; /* the prompt is for that, not for the filter */

	bool follow, wrap, stamps;
	bool fields;        /* JSON lines in columns; then nothing is wrapped */
	bool bare;          /* text alone, as it was written */
	struct log_key top; /* when not following */
	size_t top_row;
	struct log_key cursor;
	uint64_t seen; /* last serial when following stopped */
	int shift;     /* columns scrolled to the right */

	struct pattern find;
	uint64_t hits;       /* lines with a hit, among those looked at */
	struct log_key upto; /* lines before this were */
	char filter[PATTERN_MAX];
	struct pattern part[FILTER_PARTS]; /* a line is shown when each of them lets it through */
	size_t nparts;
	bool filling; /* `some` is: lines before `filled` were looked at */
	struct log_key filled;
	enum { IDLE, FORWARD, BACK } search;
	bool wrapped; /* the search went round once */
	struct log_key search_at;

	/* Of the last drawing: */
	int rows, width, columns; /* width: of the text */
	size_t last_line;
};

struct log_key key_of(const struct logs *s, size_t line); /* beyond the last: after all */

/* Places: arithmetic in rows of the screen. */
size_t rows_of(const struct logs *s, size_t line);
struct place place_back(const struct logs *s, struct place p, size_t rows);
struct place place_forth(const struct logs *s, struct place p, size_t rows);
bool place_before(struct place a, struct place b);
struct place last_top(const struct logs *s); /* the highest top at which the end shows */
struct place top_of(const struct logs *s);
void set_top(struct logs *s, struct place p);

/* Sources and state in the first row, lines below. */
void logs_page_draw(struct logs *s, struct canvas *c, struct area a);

#endif
