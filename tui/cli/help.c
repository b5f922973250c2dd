/* help.c - `berth --help` and its kin, from the tables; the last word on stderr and stdout. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <berth/config.h>
#include <berth/text.h>

#include "cli/cli.h"

#define LEFT_W 26

static void print_option_help(const struct cli_option *o)
{
	for (; o && o->name; o++) {
		char left[64], letter[8] = "   ";

		if (o->letter)
			snprintf(letter, sizeof letter, "-%c,", o->letter);
		snprintf(left, sizeof left, "%s --%s%s%s", letter, o->name, o->arg ? " " : "",
			o->arg ? o->arg : "");
		printf("  %-24s %s\n", left, o->help);
	}
}

static void print_commands(const char *group, const struct cli_command *k)
{
	for (; k->name; k++) {
		char left[64];

		if (k->verbs) {
			print_commands(k->name, k->verbs);
			continue;
		}
		snprintf(left, sizeof left, "%s%s%s%s%s", group, *group ? " " : "", k->name,
			*k->operands ? " " : "", k->operands);
		if (strlen(left) > LEFT_W)
			printf("  %s\n  %*s %s\n", left, LEFT_W, "", k->help);
		else
			printf("  %-*s %s\n", LEFT_W, left, k->help);
	}
}

static void help_all(void)
{
	puts("berth - an operations console for the containers in which AI agents run\n\n"
	     "Usage: berth [OPTION...]                       the console\n"
	     "       berth [OPTION...] COMMAND [OPTION...] [OPERAND...]\n\n"
	     "Commands:");
	print_commands("", cli_commands);
	puts("\nOptions, before any command:");
	print_option_help(cli_globals);
	puts("\nExit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 engine unreachable,\n"
	     "4 refused by policy.  More: berth help COMMAND, man berth.");
}

/* Words wrapped at 78 columns. */
static void print_wrapped(const char *text)
{
	size_t column = 0;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (column && column + 1 + word > 78) {
			putchar('\n');
			column = 0;
		}
		column += (size_t)printf("%s%.*s", column ? " " : "", (int)word, text);
		text += word;
		text += strspn(text, " ");
	}
	putchar('\n');
}

int cli_help(const struct cli_command *group, const struct cli_command *command)
{
	if (!group && !command) {
		help_all();
	} else if (!command) {
		printf("Usage: berth %s COMMAND\n\n", group->name);
		print_commands(group->name, group->verbs);
	} else {
		printf("Usage: berth %s%s%s%s%s%s\n\n", group ? group->name : "", group ? " " : "",
			command->name, command->options ? " [OPTION...]" : "",
			*command->operands ? " " : "", command->operands);
		printf("%c%s.\n", command->help[0] & ~0x20, command->help + 1);
		if (command->about) {
			putchar('\n');
			print_wrapped(command->about);
		}
		if (command->options) {
			puts("\nOptions:");
			print_option_help(command->options);
		}
	}
	return cli_finish();
}

int cli_help_for(int argc, char **argv, struct err *e)
{
	struct cli c = {.group = NULL};

	if (argc > 0 && cli_find(&c, argv[0], e) < 0)
		return -1;
	if (argc > 1 && c.group && cli_find(&c, argv[1], e) < 0)
		return -1;
	return cli_help(c.group, c.command);
}

int cli_fail(const struct err *e)
{
	char sentence[ERR_MSG_MAX * 3];

	fflush(stdout);
	fprintf(stderr, "berth: %s\n", text_clean(sentence, sizeof sentence, e->msg));
	return err_exit_code(e);
}

int cli_finish(void)
{
	struct err e = ERR_INIT;

	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	if (errno == EPIPE) /* the reader had enough: `berth ps | head -1` */
		return 1;
	err_sys(&e, errno, "Cannot write to standard output");
	return cli_fail(&e);
}
