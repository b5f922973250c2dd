/*
 * complete.c - shell completions, printed from the tables.
 *
 * Only what is in the tables is completed, and files where an operand or value is one.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* Words of a table, separated by spaces. */
static void print_names(const struct cli_command *k)
{
	for (; k->name; k++)
		printf("%s%s", k->name, k[1].name ? " " : "");
}

static void print_options(const struct cli_option *o)
{
	for (; o && o->name; o++) {
		printf("--%s ", o->name);
		if (o->letter)
			printf("-%c ", o->letter);
	}
}

static void print_words(const char *const *w)
{
	for (; w && *w; w++)
		printf("%s ", *w);
}

static bool wants_file(const struct cli_command *k)
{
	return strstr(k->operands, "FILE") || strstr(k->operands, "PATH");
}

static void bash_case(const char *group, const struct cli_command *k)
{
	for (; k->name; k++) {
		if (k->verbs) {
			printf("\t'%s ') words='", k->name);
			print_names(k->verbs);
			puts(" --help' ;;");
			bash_case(k->name, k->verbs);
			continue;
		}
		printf("\t'%s%s%s ') words='", group, *group ? " " : "", k->name);
		print_options(k->options);
		print_words(k->words);
		if (!strcmp(k->name, "help"))
			print_names(cli_commands);
		printf(" --help'%s ;;\n", wants_file(k) ? " files=1" : "");
	}
}

/* Options with a value, as a case pattern; those whose value is a file, or the others. */
static void bash_valued(const struct cli_option *o, bool file, bool *first)
{
	for (; o && o->name; o++) {
		if (!o->arg || (strcmp(o->arg, "FILE") == 0) != file)
			continue;
		printf("%s--%s", *first ? "" : "|", o->name);
		if (o->letter)
			printf("|-%c", o->letter);
		*first = false;
	}
}

static void bash_valued_in(const struct cli_command *k, bool file, bool *first)
{
	for (; k->name; k++) {
		bash_valued(k->options, file, first);
		if (k->verbs)
			bash_valued_in(k->verbs, file, first);
	}
}

static void bash_all_valued(bool file)
{
	bool first = true;

	bash_valued(cli_globals, file, &first);
	bash_valued_in(cli_commands, file, &first);
}

static void bash(void)
{
	puts("# bash completion for berth\n"
	     "_berth() {\n"
	     "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path='' words files=0 i w\n"
	     "\tCOMPREPLY=()");
	printf("\tcase $prev in\n\t");
	bash_all_valued(true);
	puts(") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;");
	putchar('\t');
	bash_all_valued(false);
	puts(") return ;;\n\tesac");
	puts("\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	     "\t\tw=${COMP_WORDS[i]}\n"
	     "\t\tcase $w in");
	printf("\t\t");
	bash_all_valued(true);
	putchar('|');
	bash_all_valued(false);
	puts(") ((i++)) ;;\n"
	     "\t\t-*) ;;\n"
	     "\t\t*) path+=\"$w \" ;;\n"
	     "\t\tesac\n"
	     "\tdone\n"
	     "\tcase $path in");
	printf("\t'') words='");
	print_names(cli_commands);
	putchar(' ');
	print_options(cli_globals);
	puts("' ;;");
	bash_case("", cli_commands);
	puts("\t*) files=1 ;;\n"
	     "\tesac\n"
	     "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	     "\t((files)) && COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
	     "}\n"
	     "complete -o filenames -F _berth berth");
}

/* Text inside of zsh's '[...]' and fish's '...': no quote or bracket of its own. */
static void print_spec(const char *s)
{
	for (; *s; s++)
		putchar(*s == '\'' || *s == '[' || *s == ']' ? ' ' : *s);
}

static void zsh_options(const struct cli_option *o, const char *indent)
{
	for (; o && o->name; o++) {
		for (int letter = 0; letter < 2; letter++) {
			if (letter && !o->letter)
				continue;
			printf(" \\\n%s'", indent);
			if (letter)
				printf("-%c", o->letter);
			else
				printf("--%s", o->name);
			putchar('[');
			print_spec(o->help);
			putchar(']');
			if (o->arg)
				printf(":%s:%s", o->arg, !strcmp(o->arg, "FILE") ? "_files" : "");
			putchar('\'');
		}
	}
}

static void zsh_commands(const char *function, const char *group, const struct cli_command *k)
{
	const struct cli_command *first = k;

	printf("%s() {\n\tlocal -a names=(\n", function);
	for (; k->name; k++) {
		printf("\t\t'%s:", k->name);
		print_spec(k->help);
		puts("'");
	}
	printf("\t)\n\tlocal curcontext=$curcontext state\n\t_arguments -C");
	zsh_options(*group ? NULL : cli_globals, "\t\t");
	puts(" \\\n\t\t'1: :->name' '*:: :->rest'\n"
	     "\tcase $state in\n"
	     "\tname) _describe command names ;;\n"
	     "\trest) case $words[1] in");
	for (k = first; k->name; k++) {
		if (k->verbs) {
			printf("\t\t%s) _berth_%s ;;\n", k->name, k->name);
			continue;
		}
		printf("\t\t%s) _arguments", k->name);
		zsh_options(k->options, "\t\t\t");
		printf(" \\\n\t\t\t'--help[say what there is to say about it]'");
		if (k->words) {
			printf(" '1:word:(");
			print_words(k->words);
			printf(")'");
		} else if (!strcmp(k->name, "help")) {
			printf(" '1:command:(");
			print_names(cli_commands);
			printf(")'");
		} else if (wants_file(k)) {
			printf(" '*:file:_files'");
		}
		puts(" ;;");
	}
	puts("\t\tesac ;;\n\tesac\n}");
}

static void zsh(void)
{
	char function[64];

	puts("#compdef berth");
	for (const struct cli_command *k = cli_commands; k->name; k++) {
		if (!k->verbs)
			continue;
		snprintf(function, sizeof function, "_berth_%s", k->name);
		zsh_commands(function, k->name, k->verbs);
	}
	zsh_commands("_berth", "", cli_commands);
	/* Works as a file in $fpath and as `source <(berth completion zsh)`. */
	puts("if [ \"$funcstack[1]\" = _berth ]; then _berth \"$@\"; else compdef _berth berth; fi");
}

static void fish_options(const char *condition, const struct cli_option *o)
{
	for (; o && o->name; o++) {
		printf("complete -c berth -n '%s' -l %s", condition, o->name);
		if (o->letter)
			printf(" -s %c", o->letter);
		if (o->arg)
			printf(" %s", !strcmp(o->arg, "FILE") ? "-r -F" : "-x");
		printf(" -d '");
		print_spec(o->help);
		puts("'");
	}
}

static void fish_commands(const char *condition, const struct cli_command *k)
{
	for (; k->name; k++) {
		printf("complete -c berth -n '%s' -a %s -d '", condition, k->name);
		print_spec(k->help);
		puts("'");
	}
}

static void fish_operands(const char *condition, const struct cli_command *k)
{
	fish_options(condition, k->options);
	for (const char *const *w = k->words; w && *w; w++)
		printf("complete -c berth -n '%s' -a %s\n", condition, *w);
	if (wants_file(k))
		printf("complete -c berth -n '%s' -F\n", condition);
}

static void fish(void)
{
	puts("# fish completion for berth\ncomplete -c berth -f");
	fish_options("__fish_use_subcommand", cli_globals);
	fish_commands("__fish_use_subcommand", cli_commands);
	for (const struct cli_command *k = cli_commands; k->name; k++) {
		char condition[256];

		snprintf(condition, sizeof condition, "__fish_seen_subcommand_from %s", k->name);
		if (!k->verbs) {
			fish_operands(condition, k);
			continue;
		}
		snprintf(condition, sizeof condition,
			"__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from",
			k->name);
		for (const struct cli_command *v = k->verbs; v->name; v++)
			snprintf(condition + strlen(condition),
				sizeof condition - strlen(condition), " %s", v->name);
		fish_commands(condition, k->verbs);
		for (const struct cli_command *v = k->verbs; v->name; v++) {
			snprintf(condition, sizeof condition,
				"__fish_seen_subcommand_from %s; and __fish_seen_subcommand_from %s",
				k->name, v->name);
			fish_operands(condition, v);
		}
	}
}

int cli_completion(const char *shell)
{
	if (!strcmp(shell, "bash"))
		bash();
	else if (!strcmp(shell, "zsh"))
		zsh();
	else
		fish();
	return cli_finish();
}
