/*
 * tool_call.h - one call of a tool: arguments, context and answer.
 *
 * Thread: the call's own, one of many (calls.c).
 */
#ifndef MCP_TOOL_CALL_H
#define MCP_TOOL_CALL_H

#include <stdatomic.h>
#include <stdbool.h>

#include <berth/operation.h>
#include <berth/jsonr.h>
#include <berth/jsonw.h>
#include <berth/mcp.h>
#include <berth/record.h>

#include "mcp/areas.h"

struct server;
struct call;
struct call_queue;

/* 0, or -1 with the sentence that the model reads. */
typedef int tool_fn(struct call *c, struct err *e);

#define ARG_NUMBER_MAX 1000000000 /* so that seconds and bytes of it fit everywhere */

enum arg_type {
	ARG_TEXT,
	ARG_PATH,   /* a string without NUL */
	ARG_NUMBER, /* whole, not negative */
	ARG_FLAG,
	ARG_TEXTS,   /* array of strings without NUL */
	ARG_OBJECTS, /* array of objects with `fields` */
	ARG_MAP,     /* object of strings without NUL */
};

struct arg_def {
	const char *name; /* NULL ends a table */
	enum arg_type type;
	bool required;
	const char *help;
	const struct arg_def *fields;
	const char *const *words; /* one of these; NULL: any */
};

/* What a client may be told of it beforehand. */
#define HINT_READS 1u
#define HINT_REPEATS 2u /* twice is as once */
#define HINT_DESTROYS 4u
/* Not told: it may take every processor for long, and stands back behind the calls that do not. */
#define HINT_LONG 8u
/* It records by itself; its operation is for what is refused before it does. */
#define HINT_RECORDS 16u
/* Not told: what keeps it is another process, or a person or a command (with an argument "wait": only where that is given).
 * Of the latter only some run at once, and more are refused, but for those that wait for seconds at most (HINT_BRIEF). */
#define HINT_RUNS 32u
#define HINT_WAITS 64u
#define HINT_BRIEF 128u
/* Told: it may reach beyond this machine. */
#define HINT_OPEN (1u << 16)
/* What the agent must have, or the tool could only refuse and is not listed. */
#define NEEDS_WORKSPACE (1u << 12) /* one that berth manages */
#define NEEDS_TASK (1u << 13)      /* one that is a task */
#define NEEDS_EGRESS (1u << 14)    /* a network whose connections berth sees */
#define NEEDS_TOOLS (1u << 15)     /* a custom tool */

/* What a call may answer, before which it waits for memory (budget.c); with the hints. */
enum answers {
	ANSWERS_LITTLE,
	ANSWERS_FILES = 1 << 8,   /* those that its paths name, or a directory's names */
	ANSWERS_TREE = 2 << 8,    /* names below a directory, without a limit of its own */
	ANSWERS_ENTRIES = 3 << 8, /* "limit" of them */
	ANSWERS_MATCHES = 4 << 8, /* "limit" of them, with "context" */
	ANSWERS_TRANSFORM =
		5 << 8, /* a quarter of the budget, for what it holds until it has written it */
	ANSWERS_MASK = 7 << 8
};

enum answer_type {
	ANSWER_STRING,
	ANSWER_INTEGER,
	ANSWER_NUMBER,
	ANSWER_BOOLEAN,
	ANSWER_ARRAY,
	ANSWER_OBJECT,
	ANSWER_TYPE = 7,
	ANSWER_SOMETIMES = 8 /* or-ed: it may be missing */
};

struct answer_member {
	const char *name; /* NULL ends a table */
	unsigned type;    /* enum answer_type */
};

struct tool {
	const char *name; /* NULL ends the table */
	unsigned group;   /* MCP_FILES ... */
	unsigned hints;
	enum operation operation; /* OP_NONE: there is nothing to record */
	tool_fn *run;
	bool json; /* answers an object of `outputs`; else text, which is its one member "content" */
	const struct answer_member *outputs;
	const char *title, *help;
	const struct arg_def *args;
};

extern const struct tool tool_table[];

struct worker {
	struct server *server;
	struct files *files; /* made by the first call that needs it */
	struct recorder by;
	struct call_queue *queue;  /* whose calls it takes */
	struct call *_Atomic call; /* in hand */
};

struct call {
	struct call *next;
	struct err full; /* why nothing is written in the workspace; none: it may be */
	struct server *server;
	struct worker *worker;
	const struct tool *tool;
	const struct json *args; /* checked against the tool's table; may be NULL */
	char *id;                /* as it was written */
	char *token;             /* of progress, likewise; NULL: none asked for */
	uint64_t shown;          /* on the list of calls */
	size_t message_bytes;
	size_t bytes;                      /* of the message: what waits is bounded by their sum */
	size_t reserved, estimated, names; /* of the budget; at first; names of trees so far */
	bool modern;                       /* of the stateless revision */
	bool looks;            /* nobody asked: whether something changed is looked at (listen.c) */
	bool recorded;         /* the command of berth's that ran for it has recorded its refusal */
	bool knows_tasks;      /* the client does: it may become one */
	struct mcp_task *task; /* it has become one */
	const char *_Atomic waits; /* for what, if for a person; constant */
	const char *uri;           /* not a tool: this resource is read; NULL */
	_Atomic bool cancelled;
	int cancel[2]; /* a pipe for who waits in poll, -1: not made */
	int64_t started_ns;
	double told; /* progress that was told last */
	struct arena mem;
	struct str text;  /* plain: what it answers */
	struct jsonw out; /* json: the open object */
	struct str extra; /* a content block in place of the text's: JSON */
	const char *note; /* a sentence in a block of its own behind the text; NULL: none */
};

/* Arguments; what is not given, or is null, is NULL, false or `otherwise`. */
const struct json *call_value(const struct call *c, const char *name);
const char *call_text(const struct call *c, const char *name);
bool call_flag(const struct call *c, const char *name);
int64_t call_number(const struct call *c, const char *name, int64_t otherwise);
/* An array of strings; *n 0 when not given.  In the call's memory. */
const char *const *call_texts(struct call *c, const char *name, size_t *n);
const struct json *call_array(const struct call *c, const char *name); /* its first element */

const struct reach *call_reach(const struct call *c);
const struct mcp_options *call_options(const struct call *c);
/* Files are worked on as the user of the container. */
struct files *call_files(struct call *c);
/* A descriptor that becomes readable when the call is cancelled. */
int call_cancel_fd(struct call *c);
bool call_cancelled(const struct call *c);
/* So many bytes more than was estimated: ERR_REFUSED, where they do not fit. */
int budget_more(struct call *c, size_t bytes, struct err *e);
/* A person's word for it, in a console, or ERR_REFUSED: waits some minutes. */
int call_ask(struct call *c, const char *what, const char *about, struct err *e);
/* The same for what the team file does not allow; where it is refused `lacks` stands before the reason. */
int call_ask_beyond(
	struct call *c, const char *what, const char *about, const char *lacks, struct err *e);

/* Check against the table: 0, or -1 with what is wrong. */
int call_check(const struct tool *t, const struct json *args, struct err *e);
/* Both schemas, as members of the open object. */
void tool_schemas(struct jsonw *j, const struct tool *t);

#endif
