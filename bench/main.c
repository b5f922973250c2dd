/*
 * main.c - berth-bench: the program of `berth bench ...`.
 *
 * A process of its own, so that the console's loop is neither what is measured nor what disturbs; the
 * console starts it and follows its job.  Started by berth (tui/main.c) with the same argv, which is
 * read by the same tables; called by its own name the word `bench` may be left out.
 */
#include <string.h>

#include <berth/mem.h>

#define CLI_TABLE
#define IN_BENCH(f) f
#include "cli/commands.h"

/* berth-bench run ... is berth bench run ... */
static char **with_group(int *argc, char **argv)
{
	static char word[] = "bench";
	char **out;

	if (*argc < 2 || argv[1][0] == '-' || !strcmp(argv[1], word))
		return argv;
	out = xcalloc((size_t)*argc + 2, sizeof *out);
	out[0] = argv[0];
	out[1] = word;
	memcpy(out + 2, argv + 1, (size_t)(*argc)++ * sizeof *out);
	return out;
}

int main(int argc, char **argv)
{
	argv = with_group(&argc, argv);
	return cli_main(&cli_root, argc, argv);
}
