/*
 * journal.h - reads the command logs of agents.
 *
 * Every command that berth runs in an agent's container is kept in the agent's journal, a ring of
 * `journal.commands` slots of `journal.output` bytes in the runtime directory (mode 0600).  Whoever runs
 * the command writes it while it runs; this side reads at any time, from any process, and never waits for
 * a writer.  It lives as long as the container.
 *
 * Texts are as the container printed them: neutralise before they reach a terminal (text.h).  Values of
 * the agent's secrets, and what argv gives as a password or a token, are masked.
 *
 * Thread: any; no state is shared.  Cost: a pread for each slot, no engine, no lock.
 */
#ifndef BERTH_JOURNAL_H
#define BERTH_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agents.h"
#include "err.h"
#include "str.h"

#define JOURNAL_ARGV_MAX 1600 /* bytes; longer command lines are clipped */
#define JOURNAL_COMMANDS_MAX 4096

struct journal_command {
	uint64_t seq; /* names it within its agent; grows */
	bool running; /* its berth process has it in hand; with `lost` false */
	bool lost;    /* that process died before the end was known: `ended` says nothing */
	bool terminal;
	enum run_ended ended; /* when neither running nor lost */
	enum run_path path;
	int exit_code;       /* by the contract of run_result */
	int32_t pid;         /* of the berth process */
	uint32_t uid;        /* who ran it, on the host */
	char program[24];    /* "exec", "mcp", "console" */
	char ended_note[96]; /* the sentence when it could not be run; "" */
	int64_t started_wall_ms;
	double duration_ms;              /* so far, while it runs */
	uint64_t out_bytes, error_bytes; /* printed so far */
	char argv[JOURNAL_ARGV_MAX];     /* as a shell would read it; one text, may hold anything */
};

/* Newest first, at most `max`; returns how many.  `name`: an agent or its container.  0 also when there is
 * no journal. */
size_t journal_list(const char *name, struct journal_command *out, size_t max);
/* The commands that run now, oldest first: what the agent is doing. */
size_t journal_running(const char *name, struct journal_command *out, size_t max);
/* ", and runs `make -j2` and 2 other commands", neutralised; nothing where none runs. */
void journal_add_running(const char *name, struct str *out);

struct journal_piece {
	int stream; /* 1 standard output, 2 standard error */
	/* When it was seen, after the command's start: within 20 ms, and no later than said where older output is no
	 * longer kept.  -1: not known. */
	int64_t at_ms;
	const char *bytes;
	size_t n;
};

struct journal_output {
	struct journal_command command;
	uint64_t missed; /* bytes printed before the first piece, no longer kept */
	size_t npieces;
	struct journal_piece *piece; /* in the order in which they were printed */
	char *mem;                   /* what the pieces point into */
};

/* What is kept of one command's output, now.  ERR_NOT_FOUND: it is not in the journal (any more). */
int journal_read(const char *name, uint64_t seq, struct journal_output *ret, struct err *e);
void journal_output_release(struct journal_output *o);

/*
 * What a program printed, for a terminal that shall show it and do nothing else: text, colours, cursor motion and
 * erasing pass.  Taken out are OSC, DCS, APC, PM and SOS strings, modes, reports and what asks for them, bells and all
 * other controls; what is no valid UTF-8 or changes the order of text becomes U+FFFD.  Of one stream, in pieces as
 * they come; a zeroed one is at the beginning.
 */
struct journal_tamer {
	unsigned char state, n;
	char held[32]; /* a sequence or a character that is not whole yet */
	size_t inside; /* bytes of a string so far */
};
void journal_tame(struct journal_tamer *t, const char *bytes, size_t n, struct str *out);

/*
 * What an agent ran as a recording of a terminal, asciicast v2 (docs.asciinema.org/manual/asciicast/v2): each command
 * line as at a prompt, then what it printed when it printed it, then how it ended.  Commands that ran beside each other
 * are mixed as they were.  `seq` points to the command to take, NULL: all that are kept.  Through journal_tame unless
 * `raw`.  Behind what `out` holds; *ret_commands may be NULL.  ERR_NOT_FOUND: there is none.
 */
int journal_cast(const char *name, const uint64_t *seq, bool raw, struct str *out,
	size_t *ret_commands, struct err *e);

#endif
