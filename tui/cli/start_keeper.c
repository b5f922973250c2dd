/* start_keeper.c - starts the keeper from `berth up` and `berth terminal start`. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include <berth/keeper.h>
#include <berth/mem.h>
#include <berth/spawn.h>

#include "cli/run.h"

#define START_ROUNDS 400
#define START_ROUND_MS 5

static void become_keeper(const struct cli *c)
{
	static const char *const words[] = {"workspace", "keep", NULL};
	struct err ignored = ERR_INIT;
	struct arena mem; /* until the end of this program */
	int fd = open("/dev/null", O_RDWR);

	arena_init(&mem, 1024);
	for (int to = 0; to < 3 && fd >= 0; to++)
		dup2(fd, to);
	close_range(3, ~0u, 0);
	cli_become("berth-files", cli_call_line(c, words, &mem), &ignored);
}

void cli_start_keeper(const struct cli *c)
{
	if (keeper_find())
		return;
	/* Nobody's child: it ends by itself. */
	if (spawn_orphan() == 0) {
		become_keeper(c);
		_exit(0);
	}
	for (int i = 0; i < START_ROUNDS && !keeper_find(); i++)
		poll(NULL, 0, START_ROUND_MS);
	if (!keeper_find())
		fprintf(stderr,
			"berth: nothing watches workspace limits or the egress and terminals of agents: `berth workspace keep` shows why.\n");
}
