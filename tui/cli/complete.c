/*
 * complete.c - shell completions, printed from the tables.
 *
 * Only what is in the tables is completed, and files where an operand or value is one.
 */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"

/* Words of a table, separated by spaces. */
static void print_names(const struct cli_command *k)
{
	for (; k->name; k++)
		printf("%s%s", k->name, k[1].name ? " " : "");
}

static void print_option_words(const struct cli_option *o)
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

/* What an option's value or a command's operands are: 'f' files, 'd' directories, 0 neither. */
static char path_kind(const char *words)
{
	if (strstr(words, "FILE") || strstr(words, "PATH") || strstr(words, "FROM"))
		return 'f';
	return strstr(words, "DIR") ? 'd' : 0;
}

/* " --file=f --tag=": options with a value, and how compgen finds it. */
static void bash_valued(const struct cli_option *o)
{
	printf("' valued='");
	for (; o && o->name; o++) {
		char kind[2] = {o->arg ? path_kind(o->arg) : '\0', '\0'};

		if (!o->arg)
			continue;
		printf(" --%s=%s", o->name, kind);
		if (o->letter)
			printf(" -%c=%s", o->letter, kind);
	}
	putchar('\'');
}

static void bash_case(
	const struct cli_command *root, const char *group, const struct cli_command *k)
{
	for (; k->name; k++) {
		char kind[2] = {path_kind(k->operands), '\0'};

		if (k->verbs) {
			printf("\t'%s ') words='", k->name);
			print_names(k->verbs);
			puts(" --help' ;;");
			bash_case(root, k->name, k->verbs);
			continue;
		}
		printf("\t'%s%s%s ') most=%d paths='%s' words='", group, *group ? " " : "", k->name,
			k->max_operands, kind);
		print_option_words(k->options);
		print_words(k->words);
		if (!strcmp(k->name, "help"))
			print_names(root->verbs);
		printf(" --help");
		bash_valued(k->options);
		puts(" ;;");
	}
}

static void print_bash(const struct cli_command *root)
{
	puts("# bash completion for berth\n"
	     "# What may follow the words of a command; most: operands, empty before there is a command.\n"
	     "_berth_after() {\n"
	     "\twords='' valued='' paths='' most=''\n"
	     "\tcase $1 in");
	printf("\t'') words='");
	print_names(root->verbs);
	putchar(' ');
	print_option_words(root->options);
	bash_valued(root->options);
	puts(" ;;");
	bash_case(root, "", root->verbs);
	puts("\tesac\n"
	     "}\n"
	     "_berth() {\n"
	     "\tlocal cur=${COMP_WORDS[COMP_CWORD]} path='' words valued paths most n=0 i w\n"
	     "\tCOMPREPLY=()\n"
	     "\t_berth_after ''\n"
	     "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	     "\t\tw=${COMP_WORDS[i]}\n"
	     "\t\tif [[ $valued == *\" $w=\"* ]]; then\n"
	     /* bash takes --team=a and unix://b apart, at = and : */
	     "\t\t\t[[ ${COMP_WORDS[i+1]-} == [:=]* ]] || ((i++))\n"
	     "\t\t\twhile [[ ${COMP_WORDS[i+1]-} == [:=]* ]]; do ((i += 2)); done\n"
	     "\t\t\t((i >= COMP_CWORD)) || continue\n"
	     "\t\t\tpaths=${valued#*\" $w=\"} paths=${paths%% *} words=''\n"
	     "\t\t\t[[ $cur != = ]] || cur=''\n"
	     "\t\telif [[ -z $most && $w != -* ]]; then\n"
	     "\t\t\tpath+=\"$w \"\n"
	     "\t\t\t_berth_after \"$path\"\n"
	     "\t\telif [[ $w == -- ]]; then\n"
	     "\t\t\twords='' valued=''\n"
	     "\t\telif [[ $w != -* ]]; then\n"
	     "\t\t\t((++n != most)) || paths=''\n"
	     "\t\tfi\n"
	     "\tdone\n"
	     "\tmapfile -t COMPREPLY < <(\n"
	     "\t\tcompgen -W \"$words\" -- \"$cur\"\n"
	     "\t\t[[ -z $paths ]] || compgen -\"$paths\" -- \"$cur\")\n"
	     "}\n"
	     "complete -o filenames -F _berth berth");
}

static const char *zsh_paths(char kind)
{
	return kind == 'f' ? "_files" : kind == 'd' ? "_files -/" : "";
}

/* Text inside of zsh's '[...]' and fish's '...': no quote or bracket of its own. */
static void print_spec(const char *s)
{
	for (; *s; s++)
		putchar(*s == '\'' || *s == '[' || *s == ']' ? ' ' : *s);
}

static void zsh_options(const struct cli_command *k, const char *indent)
{
	char help[CLI_HELP_MAX];

	for (const struct cli_option *o = k->options; o && o->name; o++) {
		for (int letter = 0; letter < 2; letter++) {
			if (letter && !o->letter)
				continue;
			printf(" \\\n%s'", indent);
			if (letter)
				printf("-%c", o->letter);
			else
				printf("--%s", o->name);
			putchar('[');
			print_spec(cli_option_help(k, o, help));
			putchar(']');
			if (o->arg) {
				putchar(':');
				/* A bare : would end the name of the value. */
				for (const char *p = o->arg; *p; p++)
					printf("%s%c", *p == ':' ? "\\" : "", *p);
				printf(":%s", zsh_paths(path_kind(o->arg)));
			}
			putchar('\'');
		}
	}
}

static void zsh_commands(
	const struct cli_command *root, const char *function, const struct cli_command *group)
{
	const struct cli_command *k;

	printf("%s() {\n\tlocal -a names=(\n", function);
	for (k = group->verbs; k->name; k++) {
		printf("\t\t'%s:", k->name);
		print_spec(k->help);
		puts("'");
	}
	printf("\t)\n\tlocal curcontext=$curcontext state\n\t_arguments -C");
	zsh_options(group, "\t\t");
	puts(" \\\n\t\t'1: :->name' '*:: :->rest'\n"
	     "\tcase $state in\n"
	     "\tname) _describe command names ;;\n"
	     "\trest) case $words[1] in");
	for (k = group->verbs; k->name; k++) {
		if (k->verbs) {
			printf("\t\t%s) _berth_%s ;;\n", k->name, k->name);
			continue;
		}
		printf("\t\t%s) _arguments", k->name);
		zsh_options(k, "\t\t\t");
		printf(" \\\n\t\t\t'--help[show help for it]'");
		if (k->words) {
			printf(" '1:word:(");
			print_words(k->words);
			printf(")'");
		} else if (!strcmp(k->name, "help")) {
			printf(" '1:command:(");
			print_names(root->verbs);
			printf(")'");
		} else if (path_kind(k->operands)) {
			printf(" '*:file:%s'", zsh_paths(path_kind(k->operands)));
		}
		puts(" ;;");
	}
	puts("\t\tesac ;;\n\tesac\n}");
}

static void print_zsh(const struct cli_command *root)
{
	char function[64];

	puts("#compdef berth");
	for (const struct cli_command *k = root->verbs; k->name; k++) {
		if (!k->verbs)
			continue;
		snprintf(function, sizeof function, "_berth_%s", k->name);
		zsh_commands(root, function, k);
	}
	zsh_commands(root, "_berth", root);
	/* Works as a file in $fpath and as `source <(berth completion zsh)`. */
	puts("if [ \"$funcstack[1]\" = _berth ]; then _berth \"$@\"; else compdef _berth berth; fi");
}

/* What `complete` is to offer. */
static const char *fish_paths(char kind)
{
	return kind == 'f' ? " -F" : kind == 'd' ? " -a '(__fish_complete_directories)'" : "";
}

static void fish_options(const char *condition, const struct cli_command *k)
{
	char help[CLI_HELP_MAX];

	for (const struct cli_option *o = k->options; o && o->name; o++) {
		printf("complete -c berth -n '%s' -l %s", condition, o->name);
		if (o->letter)
			printf(" -s %c", o->letter);
		if (o->arg)
			printf(" %s%s", path_kind(o->arg) == 'f' ? "-r" : "-x",
				fish_paths(path_kind(o->arg)));
		printf(" -d '");
		print_spec(cli_option_help(k, o, help));
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
	fish_options(condition, k);
	for (const char *const *w = k->words; w && *w; w++)
		printf("complete -c berth -n '%s' -a %s\n", condition, *w);
	if (path_kind(k->operands))
		printf("complete -c berth -n '%s'%s\n", condition,
			fish_paths(path_kind(k->operands)));
}

static void print_fish(const struct cli_command *root)
{
	puts("# fish completion for berth\ncomplete -c berth -f");
	fish_options("__fish_use_subcommand", root);
	fish_commands("__fish_use_subcommand", root->verbs);
	for (const struct cli_command *k = root->verbs; k->name; k++) {
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

int cli_completion(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	(void)e;
	if (!strcmp(c->argv[0], "bash"))
		print_bash(c->root);
	else if (!strcmp(c->argv[0], "zsh"))
		print_zsh(c->root);
	else
		print_fish(c->root);
	return cli_finish();
}
