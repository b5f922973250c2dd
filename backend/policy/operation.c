/* operation.c - generates the table of operations from the list in the header. */
#include <berth/operation.h>

#include <string.h>

const struct operation_info operation_table[OP_COUNT] = {[OP_NONE] = {"", "", OP_INTERNAL, 0},
#define X(symbol, name, class, flags, words) [OP_##symbol] = {name, words, OP_##class, flags},
	OPERATIONS(X)
#undef X
};

enum operation operation_named(const char *name)
{
	for (int d = OP_NONE + 1; d < OP_COUNT; d++)
		if (strcmp(operation_table[d].name, name) == 0)
			return (enum operation)d;
	return OP_NONE;
}

enum operation operation_of_act(enum act a)
{
	static const enum operation of[ACT_COUNT] = {
		[ACT_START] = OP_CONTAINER_START,
		[ACT_STOP] = OP_CONTAINER_STOP,
		[ACT_RESTART] = OP_CONTAINER_RESTART,
		[ACT_PAUSE] = OP_CONTAINER_PAUSE,
		[ACT_UNPAUSE] = OP_CONTAINER_UNPAUSE,
		[ACT_KILL] = OP_CONTAINER_KILL,
		[ACT_REMOVE] = OP_CONTAINER_REMOVE,
	};

	return (size_t)a < ACT_COUNT ? of[a] : OP_NONE;
}
