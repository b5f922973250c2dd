/* message.c - making and freeing messages; the words for states. */
#include <berth/mem.h>
#include <berth/message.h>

#include <stdlib.h>
#include <string.h>

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

static const char *pick_word(const char *const *words, size_t n, size_t i)
{
	return i < n ? words[i] : "unknown";
}

const char *container_state_name(enum container_state s)
{
	static const char *const words[] = {"created", "running", "paused", "restarting",
		"removing", "exited", "dead", "unknown"};

	return pick_word(words, COUNT(words), s);
}

const char *mounts_state_name(enum mounts_state m)
{
	return m == MOUNTS_CHECKED ? "checked" : m == MOUNTS_CHANGED ? "changed" : "not checked";
}

const char *health_name(enum health h)
{
	static const char *const words[] = {"", "starting", "healthy", "unhealthy"};

	return pick_word(words, COUNT(words), h);
}

const char *agent_act_name(enum agent_act a)
{
	static const char *const names[] = {
		"leave", "bring up", "take down", "recreate", "run a command in"};

	return names[a];
}

const char *agent_act_doing(enum agent_act a)
{
	static const char *const names[] = {
		"", "coming up", "going down", "recreating", "running a command"};

	return names[a];
}

const char *agent_state_name(enum agent_state s)
{
	static const char *const names[] = {"down", "up", "stopped", "gone", "not ours"};

	return names[s];
}

const char *act_name(enum act a)
{
	static const char *const words[] = {
		"", "start", "stop", "restart", "pause", "unpause", "kill", "remove"};

	return pick_word(words, COUNT(words), a);
}

const char *act_doing(enum act a)
{
	static const char *const words[] = {"", "starting", "stopping", "restarting", "pausing",
		"unpausing", "killing", "removing"};

	return pick_word(words, COUNT(words), a);
}

const char *job_state_name(enum job_state s)
{
	static const char *const words[] = {
		"queued", "running", "done", "failed", "cancelled", "orphaned"};

	return pick_word(words, COUNT(words), s);
}
