/* journal_verbs.c - `berth journal`: lists the commands of an agent, and exports them as a terminal recording. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/format.h>
#include <berth/journal.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "cli/run.h"

static const char *ended_word(const struct journal_command *k)
{
	return k->running ? "running" : k->lost ? "lost" : run_ended_name(k->ended);
}

static void put_command_json(struct jsonw *j, const struct journal_command *k)
{
	char at[FORMAT_MAX];

	jsonw_object(j, NULL);
	jsonw_uint(j, "seq", k->seq);
	jsonw_text(j, "at", format_stamp(at, k->started_wall_ms));
	jsonw_text(j, "command", k->argv);
	jsonw_text(j, "program", k->program);
	jsonw_text(j, "ended", ended_word(k));
	if (k->running || k->lost)
		jsonw_null(j, "exit_code");
	else
		jsonw_int(j, "exit_code", k->exit_code);
	jsonw_number(j, "duration_ms", k->duration_ms, 3);
	jsonw_text(j, "path", k->path == RUN_LANE ? "lane" : "engine");
	jsonw_bool(j, "terminal", k->terminal);
	jsonw_uint(j, "stdout_bytes", k->out_bytes);
	jsonw_uint(j, "stderr_bytes", k->error_bytes);
	jsonw_end(j);
}

static void print_journal_line(const struct journal_command *k, int columns)
{
	AUTO_STR struct str line = STR_INIT;
	char at[FORMAT_MAX], took[FORMAT_MAX], bytes[FORMAT_MAX], ended[32];

	if (k->running || k->lost)
		snprintf(ended, sizeof ended, "%s", ended_word(k));
	else
		snprintf(ended, sizeof ended, "%s %d", ended_word(k), k->exit_code);
	str_addf(&line, "%5llu  %s  %-10s %7s %7s  ", (unsigned long long)k->seq,
		format_wall(at, k->started_wall_ms), ended,
		format_age(took, (int64_t)k->duration_ms),
		format_bytes(bytes, k->out_bytes + k->error_bytes));
	text_neutralise(&line, k->argv, strlen(k->argv), false);
	cli_clip(&line, columns);
	printf("%s\n", line.s);
}

int cli_journal_list(const struct cli *c, const struct settings *s, struct err *e)
{
	AUTO_FREE struct journal_command *all = xcalloc(JOURNAL_COMMANDS_MAX, sizeof *all);
	size_t n = journal_list(c->argv[0], all, JOURNAL_COMMANDS_MAX);
	struct jsonw j;

	(void)s;
	if (!n)
		return err_set(e, ERR_NOT_FOUND,
			"%.200s has not run a command yet, or its commands are not kept.",
			c->argv[0]);
	if (!cli_flag(c, "json")) {
		for (size_t i = n; i--;)
			print_journal_line(&all[i], cli_columns());
		return cli_finish();
	}
	jsonw_document(&j, "berth.journal/1");
	jsonw_array(&j, "commands");
	for (size_t i = n; i--;)
		put_command_json(&j, &all[i]);
	return jsonw_print(&j);
}

int cli_journal_cast(const struct cli *c, const struct settings *s, struct err *e)
{
	AUTO_STR struct str cast = STR_INIT;
	const char *to = cli_value(c, "out"), *which = c->argc > 1 ? c->argv[1] : NULL;
	char *end = NULL;
	uint64_t seq = which ? strtoull(which, &end, 10) : 0;
	size_t n;

	(void)s;
	if (which && (*which < '0' || *which > '9' || *end))
		return err_set(e, ERR_USAGE,
			"COMMAND is a number from `berth journal list`, not \"%.40s\".", which);
	if (journal_cast(c->argv[0], which ? &seq : NULL, cli_flag(c, "raw"), &cast, &n, e) ||
		cli_put_document(to, cast.s, cast.len, e))
		return -1;
	if (to)
		printf("%zu %s; play them with: asciinema play FILE\n", n,
			n == 1 ? "command" : "commands");
	return cli_finish();
}
