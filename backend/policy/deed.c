/* deed.c - the table of deeds, generated from the list in the header. */
#include <berth/deed.h>

#include <string.h>

const struct deed_info deed_table[DEED_COUNT] = {[DEED_NONE] = {"", "", DEED_INTERNAL, 0},
#define X(symbol, name, class, flags, words) [DEED_##symbol] = {name, words, DEED_##class, flags},
	DEEDS(X)
#undef X
};

enum deed deed_named(const char *name)
{
	for (int d = DEED_NONE + 1; d < DEED_COUNT; d++)
		if (strcmp(deed_table[d].name, name) == 0)
			return (enum deed)d;
	return DEED_NONE;
}

enum deed deed_of_act(enum act a)
{
	static const enum deed of[ACT_COUNT] = {
		[ACT_START] = DEED_CONTAINER_START,
		[ACT_STOP] = DEED_CONTAINER_STOP,
		[ACT_RESTART] = DEED_CONTAINER_RESTART,
		[ACT_PAUSE] = DEED_CONTAINER_PAUSE,
		[ACT_UNPAUSE] = DEED_CONTAINER_UNPAUSE,
		[ACT_KILL] = DEED_CONTAINER_KILL,
		[ACT_REMOVE] = DEED_CONTAINER_REMOVE,
	};

	return (size_t)a < ACT_COUNT ? of[a] : DEED_NONE;
}
