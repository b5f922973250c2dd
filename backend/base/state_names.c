/* state_names.c - names states and actions. */
#include <berth/agents.h>
#include <berth/mem.h>
#include <berth/snapshot.h>

static const char *pick_word(const char *const *words, size_t n, size_t i)
{
	return i < n ? words[i] : "unknown";
}

bool container_is_up(enum container_state s)
{
	return s == CONTAINER_RUNNING || s == CONTAINER_PAUSED || s == CONTAINER_RESTARTING;
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

const char *run_ended_name(enum run_ended r)
{
	static const char *const names[] = {
		"exit", "signal", "timeout", "oom", "cancelled", "refused", "failed"};

	return names[r];
}
