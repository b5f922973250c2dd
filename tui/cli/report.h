/*
 * report.h - the data of a report: from the audit log, the command logs of running agents and their egress processes.
 *
 * Thread: main.
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <stdio.h>

#include <berth/arena.h>
#include <berth/audit.h>
#include <berth/egress.h>
#include <berth/journal.h>
#include <berth/past.h>
#include <berth/template.h>

/* Pieces of the page, with slots and without. */
#define REPORT_PAGE "configs/report.html"
#define fill(out, piece, ...) \
	template_fill(out, REPORT_PAGE, piece, (const struct slot[]){__VA_ARGS__, {0}})
#define plain(out, piece) template_fill(out, REPORT_PAGE, piece, NULL)

#define REPORT_ROWS ((size_t)20000) /* records on the page; older ones are counted */
#define REPORT_AGENTS 64
#define REPORT_OUTPUTS 20 /* commands of an agent of which the end is shown */

/* A record of the log; an intent and its outcome are one. */
struct report_row {
	uint64_t seq, intent, items;
	int64_t at_ms, duration_us; /* of its beginning; negative: not known */
	enum operation operation;
	enum audit_phase phase;
	enum audit_result result;
	const char *who;   /* the agent, else the user */
	const char *agent; /* "" none */
	const char *name, *about, *error;
	const char *image, *network; /* of an agent that came up; else "" */
	bool told;                   /* an intent whose outcome is another row: that one counts */
};

struct report_agent {
	const char *name, *container, *image, *network;
	int64_t first_ms, last_ms;
	size_t commands, failed, refused;
};

struct report_output { /* one command of an agent that is up */
	const char *agent;
	struct journal_output kept;
};

struct report_connection { /* of one agent to one target, with one end */
	const char *agent;
	struct egress_target to;
	uint8_t verdict;
	size_t n;
	uint64_t up, down;
	int64_t last_ms;
};

struct report_curve {
	const char *agent;
	struct past past;
};

struct report {
	struct arena mem;
	const char *what, *host; /* "session 7f3a", "berth here" */
	int64_t since_ms, until_ms;
	size_t nrows, rows_cap, older; /* rows by sequence; older ones that were left out */
	struct report_row *row;
	size_t nagents;
	struct report_agent agent[REPORT_AGENTS];
	size_t noutputs, outputs_cap;
	struct report_output *output;
	size_t nconnections, connections_cap;
	uint64_t connections_lost;    /* at most so many older ones, which ends do not keep */
	int64_t connections_known_ms; /* 0: those before it are not lost otherwise, either */
	struct report_connection *connection;
	struct err no_curves; /* kind not ERR_NONE: why what is kept could not be read */
	size_t ncurves;
	struct report_curve curve[REPORT_AGENTS];
	struct audit_verdict verdict;
	struct err unverified; /* kind not ERR_NONE: why that could not be found out */
};

bool report_is_command(const struct report_row *r);
bool report_is_decision(const struct report_row *r); /* of network or of approval */

void report_read_curves(struct report *r); /* when its times and agents are known */
void report_print_curves(FILE *out, const struct report *r);

void report_print(FILE *out, const struct report *r);

#endif
