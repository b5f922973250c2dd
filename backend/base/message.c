/* message.c - making and freeing messages. */
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/message.h>

struct command *command_new(enum command_kind kind)
{
	struct command *c = xcalloc(1, sizeof *c);

	c->kind = kind;
	if (kind == CMD_ACT)
		c->act.timeout_s = -1;
	if (kind == CMD_LOGS_OPEN)
		c->logs.tail = -1;
	arena_init(&c->mem, 512);
	return c;
}

void command_free(struct command *c)
{
	if (!c)
		return;
	arena_release(&c->mem);
	free(c);
}

struct event *event_new(enum event_kind kind)
{
	struct event *e = xcalloc(1, sizeof *e);

	e->kind = kind;
	arena_init(&e->mem, 512);
	return e;
}

void event_free(struct event *e)
{
	if (!e)
		return;
	arena_release(&e->mem);
	free(e);
}

void command_target(struct command *c, const char *engine, const char *id, const char *name)
{
	/* Doubling at powers of two keeps the count as the only state. */
	if ((c->ntargets & (c->ntargets - 1)) == 0) {
		struct target *more =
			arena_array(&c->mem, c->ntargets ? c->ntargets * 2 : 1, sizeof *more);

		if (c->ntargets)
			memcpy(more, c->targets, c->ntargets * sizeof *more);
		c->targets = more;
	}
	c->targets[c->ntargets++] = (struct target){arena_strdup(&c->mem, engine),
		arena_strdup(&c->mem, id), arena_strdup(&c->mem, name)};
}
