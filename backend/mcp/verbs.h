/*
 * verbs.h - builds a berth command for a tool, and runs it in one of three ways.
 *
 * Each waits for its end, or ends it when the call is cancelled.  -1 or NULL: its last sentence; ERR_REFUSED, where it
 * exited so.
 */
#ifndef MCP_VERBS_H
#define MCP_VERBS_H

#include "mcp/server.h"

#define VERB_ARGS_MOST 280 /* of a call, among the words */
#define VERB_WORDS_MOST 400

struct verb_words {
	const char *v[VERB_WORDS_MOST + 1];
	size_t n;
};

/* With all that this server was started with.  For whom it is, is in the environment (AUDIT_FOR_AGENT). */
void verb_begin(struct call *c, struct verb_words *w);
void verb_word(struct verb_words *w, const char *word); /* of the caller's until it has run */

int verb_run(
	struct call *c, const struct verb_words *w, struct err *e); /* its members are answered */
/* Its document, in the call's memory. */
const struct json *verb_ask(struct call *c, const struct verb_words *w, struct err *e);
/* Whatever it printed, at most 16 MiB. */
int verb_print(struct call *c, const struct verb_words *w, struct str *out, struct err *e);
/* A value of such a document, with all that is in it. */
void verb_put(struct jsonw *j, const char *key, const struct json *v);

#endif
