/*
 * main.c - berth-bench: the program of `berth bench ...`.
 *
 * A process of its own, so that the console's loop is neither what is measured nor what disturbs; the
 * console starts it and follows its job.  Started by berth (tui/main.c) with the same argv, which is
 * read by the same tables; called by its own name the word `bench` may be left out.
 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/standard.h>
#include <berth/text.h>

#include "cli/gate.h"
#include "session.h"

static const struct {
	const char *path;
	int (*run)(const struct cli *c, struct err *e);
} commands[] = {
	{"bench list", bench_list},
	{"bench run", bench_run_command},
	{"bench compare", bench_compare},
	{"bench report", bench_report},
	{"bench trend", bench_trend},
	{"bench export", bench_export},
	{"bench import", bench_import},
};

static int dispatch_bench(const struct cli *c, struct err *e)
{
	char path[64];

	cli_path(c, path, sizeof path);
	for (size_t i = 0; i < COUNT(commands); i++)
		if (!strcmp(commands[i].path, path))
			return commands[i].run(c, e);
	return err_set(
		e, ERR_USAGE, "`berth %s` is not part of this program: install berth again.", path);
}

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
	struct err e = ERR_INIT;
	struct cli c;
	int rc;

	standard_open();
	setlocale(LC_CTYPE, "");
	text_init();
	argv = with_group(&argc, argv);
	if (cli_parse(argc, argv, &c, &e) < 0)
		return cli_fail(&e);
	if (c.help)
		return cli_help(c.group, c.command);
	rc = dispatch_bench(&c, &e);
	rc = rc < 0 ? cli_fail(&e) : rc;
	return cli_recorded(rc, rc ? rc : 1);
}
