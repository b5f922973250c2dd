/* tool_call.c - provides what a tool may use during a call, and ends the call. */
#include "mcp/tool_call.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <berth/file.h>

#include "files/files.h"
#include "mcp/server.h"

const struct reach *call_reach(const struct call *c)
{
	return &c->server->reach;
}

const struct mcp_options *call_options(const struct call *c)
{
	return c->server->o;
}

static int hold_names_for_call(void *ctx, size_t bytes, struct err *e)
{
	struct worker *w = ctx;

	return w->call ? budget_names(w->call, bytes, e) : 0;
}

struct files *call_files(struct call *c)
{
	struct worker *w = c->worker;
	const struct mcp_options *o = c->server->o;
	const struct files_options fo = {.program = "mcp",
		.owner = o->who,
		.io_depth = o->io_depth,
		.io_uring = o->io_uring,
		.hold = hold_names_for_call,
		.hold_ctx = w};

	if (!w->files) {
		struct files *f = files_open_on(c->server->board, &fo);

		pthread_mutex_lock(&c->server->lock);
		w->files = f;
		pthread_mutex_unlock(&c->server->lock);
	}
	return w->files;
}

int call_cancel_fd(struct call *c)
{
	pthread_mutex_lock(&c->server->lock);
	if (c->cancel[0] < 0 && pipe2(c->cancel, O_CLOEXEC | O_NONBLOCK) == 0 && c->cancelled)
		file_write(c->cancel[1], "", 1);
	pthread_mutex_unlock(&c->server->lock);
	return c->cancel[0];
}

bool call_cancelled(const struct call *c)
{
	return atomic_load(&c->cancelled);
}

#define ASK_MS 300000 /* a person may be away; a client seldom waits for longer */
#define ASKS_MOST 4   /* at once: a console is no place to be flooded */

int call_ask(struct call *c, const char *what, const char *about, struct err *e)
{
	struct server *s = c->server;
	struct job *j = NULL;
	int rc = -1;

	if (atomic_fetch_add(&s->asking, 1) >= ASKS_MOST)
		err_set(e, ERR_REFUSED, "%d questions are already waiting for a person.",
			ASKS_MOST);
	else if (!(j = job_ask(s->board, what, s->o->who, about)))
		err_set(e, ERR_REFUSED, "Approval is not possible: there is no job board.");
	if (j) {
		atomic_store(&c->waits, "A person is asked in the console.");
		rc = job_ask_wait(j, ASK_MS, call_cancel_fd(c), e);
		atomic_store(&c->waits, NULL);
	}
	atomic_fetch_sub(&s->asking, 1);
	return rc;
}

int call_ask_beyond(
	struct call *c, const char *what, const char *about, const char *lacks, struct err *e)
{
	struct err why = ERR_INIT;

	return call_ask(c, what, about, &why) ? err_set(e, ERR_REFUSED, "%s %.200s", lacks, why.msg)
					      : 0;
}

void call_release(struct call *c)
{
	for (int i = 0; i < 2; i++)
		if (c->cancel[i] >= 0)
			close(c->cancel[i]);
	free(c->id);
	free(c->token);
	str_release(&c->text);
	str_release(&c->extra);
	jsonw_release(&c->out);
	arena_release(&c->mem);
	free(c);
}
