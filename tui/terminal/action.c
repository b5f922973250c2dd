/* action.c - the list of actions as a table, and the names of the places where they exist. */
#include "terminal/action.h"

#include <string.h>

const struct action_info action_info[DO_COUNT] = {[DO_NONE] = {"", "", 0, 0, "", ""},
#define ACTION(id, ...) [DO_##id] = {__VA_ARGS__},
	ACTIONS(ACTION)
#undef ACTION
};

enum action action_by_name(const char *name)
{
	for (int a = 1; a < DO_COUNT; a++)
		if (strcmp(action_info[a].name, name) == 0)
			return (enum action)a;
	return DO_NONE;
}

const char *context_name(uint16_t context)
{
	static const struct {
		uint16_t bit;
		const char *name;
	} names[] = {{IN_CONTAINERS, "containers"}, {IN_LOGS, "logs"}, {IN_JOBS, "jobs"},
		{IN_EVENTS, "events"}, {IN_HOST, "host"}, {IN_HELP, "help"},
		{IN_INSPECT, "inspect"}, {IN_AUDIT, "audit"}, {IN_AGENTS, "agents"},
		{IN_JOURNAL, "journal"}, {IN_CLEAN, "clean"}, {IN_BENCH, "bench"}};

	for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
		if (context & names[i].bit)
			return names[i].name;
	return "every view";
}
