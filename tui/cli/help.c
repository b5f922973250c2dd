/* help.c - prints help from the tables, and reports errors on stderr. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <berth/config.h>
#include <berth/jsonw.h>
#include <berth/settings.h>
#include <berth/text.h>

#include "cli/commands.h"

#define LEFT_W 26

const char *cli_option_help(
	const struct cli_command *k, const struct cli_option *o, char buf[CLI_HELP_MAX])
{
	bool json = k->schema && !strcmp(o->name, "json");

	snprintf(buf, CLI_HELP_MAX, "%s%s%s", o->help, json ? ", " : "", json ? k->schema : "");
	return buf;
}

static void print_option_help(const struct cli_command *k)
{
	for (const struct cli_option *o = k->options; o && o->name; o++) {
		char left[64], letter[8] = "   ", help[CLI_HELP_MAX];

		if (o->letter)
			snprintf(letter, sizeof letter, "-%c,", o->letter);
		snprintf(left, sizeof left, "%s --%s%s%s", letter, o->name, o->arg ? " " : "",
			o->arg ? o->arg : "");
		printf("  %-24s %s\n", left, cli_option_help(k, o, help));
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

static void help_all(const struct cli_command *root)
{
	puts("berth - an operations console for the containers in which AI agents run\n\n"
	     "Usage: berth [OPTION...]                       the console\n"
	     "       berth [OPTION...] COMMAND [OPTION...] [OPERAND...]\n\n"
	     "Commands:");
	print_commands("", root->verbs);
	puts("\nOptions:");
	print_option_help(root);
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

/* Pages about one subject: configs/pages/NAME.SECTION.txt, which the man pages are made of, too.  The first line is
 * "NAME(SECTION) - what it is about". */
#define PAGES "configs/pages/"

static void print_pages(void)
{
	const char *file;

	puts("\nPages (berth help PAGE, or man PAGE):");
	for (size_t i = 0; (file = embedded_name(PAGES, i)) != NULL; i++) {
		const char *text = embedded_file(file, NULL),
			   *about = strchr(text, ' ') + strlen(" - ");

		printf("  %-*.*s %.*s\n", LEFT_W, (int)strcspn(text, "("), text,
			(int)strcspn(about, "\n"), about);
	}
}

static const char *find_page(const char *name)
{
	size_t n = strlen(name);
	const char *file;

	for (size_t i = 0; (file = embedded_name(PAGES, i)) != NULL; i++) {
		const char *text = embedded_file(file, NULL);

		if (strncmp(text, name, n) == 0 && text[n] == '(')
			return text;
	}
	return NULL;
}

static bool print_page(const char *name)
{
	const char *text = find_page(name), *next;

	for (const char *at = text; at && *at; at = next) {
		next = strchrnul(at, '\n');
		next += *next == '\n';
		at += strncmp(at, "# ", 2) == 0 ? 2 : 0;
		fwrite(at, 1, (size_t)(next - at), stdout);
	}
	if (text && !strcmp(name, "berth.yaml"))
		printf("\nALL SETTINGS AND THEIR DEFAULTS\n%s",
			embedded_file(SETTINGS_DEFAULTS, NULL));
	return text != NULL;
}

int cli_help(const struct cli *c)
{
	const struct cli_command *group = c->group, *command = c->command;

	if (!group && !command) {
		help_all(c->root);
		print_pages();
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
			print_option_help(command);
		}
	}
	return cli_finish();
}

int cli_help_for(const struct cli *c, const struct settings *s, struct err *e)
{
	struct cli of = {.root = c->root};

	(void)s;
	if (c->argc == 1 && print_page(c->argv[0]))
		return cli_finish();
	if (c->argc > 0 && cli_find(&of, c->argv[0], e) < 0)
		return -1;
	if (c->argc > 1 && of.group && cli_find(&of, c->argv[1], e) < 0)
		return -1;
	return cli_help(&of);
}

int cli_fail(const struct err *e)
{
	char sentence[ERR_MSG_MAX * 3];

	fflush(stdout);
	fprintf(stderr, "berth: %s\n", text_clean(sentence, sizeof sentence, e->msg));
	return err_exit_code(e);
}

int cli_fail_command(const struct cli *c, const struct err *e)
{
	char sentence[ERR_MSG_MAX * 3];

	if (!c->command || !(c->command->needs & IS_PLUGIN))
		return cli_fail(e);
	text_clean(sentence, sizeof sentence, e->msg);
	for (char *bar = sentence; (bar = strchr(bar, '|'));)
		*bar = '/'; /* it ends the text */
	printf("BERTH UNKNOWN - %s\n", sentence);
	fflush(stdout);
	return 3;
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

int jsonw_print(struct jsonw *j)
{
	while (j->depth)
		jsonw_end(j);
	fwrite(j->out.s, 1, j->out.len, stdout);
	jsonw_release(j);
	return cli_finish();
}
