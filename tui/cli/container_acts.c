/* container_acts.c - `berth stop|start|restart|kill|pause|unpause|rm`: performs operations on containers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/arena.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/signals.h>
#include <berth/text.h>

#include "cli/look.h"

/* What a person would not expect berth to touch is named, unless --foreign says that it is meant. */
static int refuse_foreign(const struct cli *c, const struct container *const *chosen, struct err *e)
{
	char shown[128];

	for (int i = 0; i < c->argc && !cli_flag(c, "foreign"); i++)
		if (!agents_made(chosen[i]))
			return err_set(e, ERR_USAGE,
				"berth did not create %s: give --foreign to %s it anyway.",
				text_clean(shown, sizeof shown, chosen[i]->name), c->command->name);
	return 0;
}

/* 1: go on, 0: the person said no, -1: nobody can be asked. */
static int ask_removal(const struct cli *c, const struct container *const *chosen, struct err *e)
{
	char line[64], want[32], shown[128];

	if (cli_flag(c, "yes"))
		return 1;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(e, ERR_USAGE,
			"nothing was removed: there is no terminal to ask on, so give --yes.");
	for (int i = 0; i < c->argc; i++)
		printf("%s  %.12s  %s\n", text_clean(shown, sizeof shown, chosen[i]->name),
			chosen[i]->id, container_state_name(chosen[i]->state));
	printf("Type %d to remove %s, or just Enter to change nothing: ", c->argc,
		c->argc == 1 ? "it" : "them");
	fflush(stdout);
	snprintf(want, sizeof want, "%d\n", c->argc);
	if (fgets(line, sizeof line, stdin) && !strcmp(line, want))
		return 1;
	puts("Nothing was removed.");
	return 0;
}

static int set_grace(const struct cli *c, int *ret, struct err *e)
{
	const char *text = cli_value(c, "time");
	char *end;
	long s;

	if (!text)
		return 0;
	s = strtol(text, &end, 10);
	if (end == text || *end || s < 0 || s > 86400)
		return err_set(
			e, ERR_USAGE, "--time takes seconds from 0 to 86400, not \"%.40s\".", text);
	*ret = (int)s;
	return 0;
}

static int set_signal(const struct cli *c, int *ret, struct err *e)
{
	const char *text = cli_value(c, "signal");

	return !text || (*ret = signal_number(text, e)) > 0 ? 0 : -1;
}

static int act_on_chosen(struct look *l, struct err *e)
{
	const struct cli *c = l->c;
	struct command *cmd = command_new(CMD_ACT);
	struct event *ev;
	char shown[128];
	int rc;

	cmd->act.what = (enum act)c->command->what;
	cmd->act.force = cli_flag(c, "force");
	cmd->act.volumes = cli_flag(c, "volumes");
	if (set_grace(c, &cmd->act.timeout_s, e) || set_signal(c, &cmd->act.signal, e)) {
		command_free(cmd);
		return -1;
	}
	cli_target_all(cmd, l->chosen, (size_t)c->argc);
	ev = cli_answer(l->b, backend_send(l->b, cmd), e);
	if (!ev)
		return -1;
	rc = ev->err.kind ? err_copy(e, &ev->err) : 0;
	event_free(ev);
	for (int i = 0; i < c->argc && rc == 0; i++)
		puts(text_clean(shown, sizeof shown, l->chosen[i]->name));
	return rc ? rc : cli_finish();
}

static int ask_and_act(struct look *l, struct err *e)
{
	int go = 1;

	if (refuse_foreign(l->c, l->chosen, e))
		return -1;
	if (l->c->command->what == ACT_REMOVE)
		go = ask_removal(l->c, l->chosen, e);
	return go > 0 ? act_on_chosen(l, e) : go;
}

int cli_act(const struct cli *c, const struct settings *s, struct err *e)
{
	int ignored;

	/* Before the engine is asked anything. */
	return set_signal(c, &ignored, e) ? -1 : cli_look(c, s, ask_and_act, e);
}
