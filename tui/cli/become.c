/* become.c - replaces this process by another program of berth. */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/arena.h>
#include <berth/runtime.h>
#include <berth/spawn.h>

#include "cli/cli.h"

#define FILES_NEEDED 32u /* descriptors: the event loop, the engine, the log, the lanes */
#define FILES_WANTED 1024u

/* The programs of the engine cannot do anything useful with a handful of descriptors, and their
 * libraries end them where they get none. */
static int secure_descriptors(struct err *e)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FILES_WANTED)
		return 0;
	limit.rlim_cur = limit.rlim_max < FILES_WANTED ? limit.rlim_max : FILES_WANTED;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur >= FILES_NEEDED)
		return 0;
	return err_set(e, ERR_FAILED,
		"berth needs %u open files at once, and this process may have %lu (ulimit -n): "
		"too many open files. Raise the limit and try again.",
		FILES_NEEDED, (unsigned long)limit.rlim_cur);
}

static bool is_own_option(const char *name)
{
	static const char *const own[] = {"team", "script", "demo", "help", "version", NULL};

	for (const char *const *o = own; *o; o++)
		if (!strcmp(*o, name))
			return true;
	return false;
}

static bool is_global_option(const struct cli *c, const struct cli_option *o)
{
	for (const struct cli_option *g = c->root->options; g->name; g++)
		if (g == o)
			return true;
	return false;
}

const char **cli_call_words(const struct cli *c, const char *program, struct arena *mem, size_t *n)
{
	const char **words = arena_array(mem, c->ngiven + 1, sizeof *words);

	*n = 0;
	words[(*n)++] = program;
	for (size_t i = 0; i < c->ngiven; i++) {
		const struct cli_given *g = &c->given[i];

		if (is_global_option(c, g->option) && !is_own_option(g->option->name))
			words[(*n)++] = arena_printf(mem, "--%s%s%s", g->option->name,
				g->value ? "=" : "", g->value ? g->value : "");
	}
	return words;
}

char **cli_call_line(const struct cli *c, const char *const *words, struct arena *mem)
{
	size_t n, more = 0;
	const char **own = cli_call_words(c, "berth", mem, &n), **all;

	while (words[more])
		more++;
	all = arena_array(mem, n + more + 1, sizeof *all);
	memcpy(all, own, n * sizeof *all);
	memcpy(all + n, words, more * sizeof *all);
	return (char **)(uintptr_t)all;
}

int cli_call(const struct cli *c, const char *program, const char *const *words, int out)
{
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	int status = 1;
	char **argv;
	pid_t pid;

	argv = cli_call_line(c, words, &mem);
	fflush(NULL);
	pid = spawn_fork();
	if (pid == 0) {
		struct err why = ERR_INIT;

		dup2(out, STDOUT_FILENO);
		cli_become(program, argv, &why);
		_exit(cli_fail(&why));
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && status == 0 ? 0 : -1;
}

int cli_become(const char *program, char **argv, struct err *e)
{
	char path[PATH_MAX];

	if ((strcmp(program, "berth-files") && secure_descriptors(e) < 0) ||
		runtime_program(program, path, e) < 0)
		return -1;
	execv(path, argv);
	return err_sys(e, errno, "cannot start %s", path);
}
