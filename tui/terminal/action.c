/* action.c - builds the table of actions, and names the contexts in which they are available. */
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

int action_rows(enum action a, int shown)
{
	int page = shown > 2 ? shown - 1 : 1;

	switch (a) {
	case DO_UP: return -1;
	case DO_DOWN: return 1;
	case DO_PAGE_UP: return -page;
	case DO_PAGE_DOWN: return page;
	case DO_HALF_UP: return -(page + 1) / 2;
	case DO_HALF_DOWN: return (page + 1) / 2;
	case DO_TOP: return -(1 << 30);
	case DO_BOTTOM: return 1 << 30;
	default: return 0;
	}
}

const char *context_name(uint32_t context)
{
	static const char *const names[] = {
#define VIEW(id, name, ...) #name,
		VIEWS(VIEW, VIEW)
#undef VIEW
	};

	for (unsigned i = 0; i < VIEW_COUNT && context != IN_ANY; i++)
		if (context & 1u << i)
			return names[i];
	return "every view";
}
