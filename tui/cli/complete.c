/*
 * complete.c - generates shell completions.
 *
 * A shell hands over the words of its line and shows what comes back: a candidate a line, with a tab before what
 * there is to say about it; :f or :d where files or directories fit.  What may stand where is read from the
 * tables, as the parser does; names that only the machine knows are asked of `berth names`.
 */
#include <stdio.h>
#include <string.h>

#include <berth/mem.h>

#include "cli/commands.h"

/* A line as far as it goes before the word in hand. */
struct line {
	struct cli c;
	const struct cli_option *pending; /* its value is the next word */
	int operands;
	const char *first;     /* of these */
	bool ended, lost;      /* behind "--"; a word that is none of ours */
	const char *given[16]; /* which engine, which team file, as berth names needs them */
	char name[8][16];      /* of these options */
	int ngiven;
};

/* What a word of the tables stands for: a kind of `berth names`, files, directories. */
static const struct {
	const char *word, *kind;
	char path;
} meanings[] = {{"CONTAINER:", "sides", 0}, {"CONTAINER", "containers", 0},
	{"AGENT", "containers", 0}, {"TOOL", "tools", 0}, {"CONTEXT", "contexts", 0},
	{"THEME", "themes", 0}, {"SUITE", "suites", 0}, {"SHIPPED", "images", 0},
	{"IMAGE", "tags", 0}, {"VOLUME", "volumes", 0}, {"NETWORK", "networks", 0},
	{"WORKSPACE", "workspaces", 0}, {"CHECKPOINT", "checkpoints", 0},
	{"KEY=VALUE", "filters", 0}, {"FILE", NULL, 'f'}, {"PATH", NULL, 'f'}, {"FROM", NULL, 'f'},
	{"DIR", NULL, 'd'}};

static void keep_given(struct line *l, const struct cli_option *o, const char *value)
{
	static const char *const kept[] = {"team", "host", "context", "settings", NULL};

	for (const char *const *k = kept; *k; k++)
		if (!strcmp(o->name, *k) && l->ngiven + 2 < (int)COUNT(l->given)) {
			snprintf(l->name[l->ngiven / 2], sizeof *l->name, "--%s", o->name);
			l->given[l->ngiven] = l->name[l->ngiven / 2];
			l->given[l->ngiven + 1] = value;
			l->ngiven += 2;
		}
}

static void pass_option(struct line *l, const char *word)
{
	const struct cli_option *o;
	size_t n = strcspn(word + 2, "=");

	if (word[1] == '-') {
		o = cli_known_option(&l->c, 0, word + 2, n);
		if (o && o->arg && word[2 + n])
			keep_given(l, o, word + 3 + n);
		else if (o && o->arg)
			l->pending = o;
		return;
	}
	for (const char *p = word + 1; *p; p++) {
		o = cli_known_option(&l->c, *p, "", 0);
		if (!o || !o->arg)
			continue;
		if (p[1])
			keep_given(l, o, p + 1);
		else
			l->pending = o;
		return;
	}
}

static void pass_word(struct line *l, const char *word)
{
	if (l->pending) {
		keep_given(l, l->pending, word);
		l->pending = NULL;
	} else if (!l->ended && !strcmp(word, "--")) {
		l->ended = true;
	} else if (!l->ended && word[0] == '-' && word[1]) {
		pass_option(l, word);
	} else if (!l->c.command) {
		l->lost |= cli_find(&l->c, word, NULL) < 0;
	} else {
		l->first = l->operands++ ? l->first : word;
	}
}

static void offer_commands(const struct cli_command *k)
{
	for (; k->name; k++)
		printf("%s\t%s\n", k->name, k->help);
}

static void offer_options(const struct cli_command *k)
{
	char help[CLI_HELP_MAX];

	for (const struct cli_option *o = k->options; o && o->name; o++) {
		printf("--%s\t%s\n", o->name, cli_option_help(k, o, help));
		if (o->letter)
			printf("-%c\t%s\n", o->letter, help);
	}
}

/* What fits a word of the tables: "task|project" itself, FILE, SUITE.  Returns a kind of names, or NULL. */
static const char *offer_meaning(const char *text, size_t n, const char *prefix)
{
	const char *kind = NULL;
	char word[64], *rest;

	snprintf(word, sizeof word, "%.*s", (int)n, text);
	for (size_t i = 0; i < COUNT(meanings); i++) {
		if (!strstr(word, meanings[i].word))
			continue;
		kind = kind ? kind : meanings[i].kind;
		if (meanings[i].path)
			printf(":%c\n", meanings[i].path);
	}
	for (char *one = strtok_r(word, "|", &rest); one; one = strtok_r(NULL, "|", &rest))
		if (*one >= 'a' && *one <= 'z')
			printf("%s%s\n", prefix, one);
	return kind;
}

/* What is in a container is not known here. */
static bool is_in_container(const char *operands, const char *word)
{
	return strstr(operands, "CONTAINER:") && *word != '/' && *word != '.' && strchr(word, ':');
}

/* The n-th word of "FROM TO"; the last one again where there may be more. */
static const char *offer_operand(const struct line *l, const char *word)
{
	const struct cli_command *k = l->c.command;
	const char *at = k->operands;

	if ((k->max_operands >= 0 && l->operands >= k->max_operands) ||
		is_in_container(k->operands, word))
		return NULL;
	if (!strcmp(k->name, "help"))
		offer_commands(l->c.root->verbs);
	for (int i = 0; i < l->operands && strchr(at, ' '); i++)
		at = strchr(at, ' ') + 1;
	return offer_meaning(at, strcspn(at, " "), "");
}

/* The value of an option.  --agent ID is an agent wherever it is taken. */
static const char *offer_value(const struct cli_option *o, const char *prefix)
{
	return strcmp(o->name, "agent") ? offer_meaning(o->arg, strlen(o->arg), prefix)
					: "containers";
}

static const char *offer_next(struct line *l, const char *word)
{
	size_t n = strcspn(word, "=");
	const struct cli_option *o;
	char prefix[64];

	if (l->pending)
		return offer_value(l->pending, "");
	if (l->lost || (l->ended && l->c.command && l->c.command->takes_words))
		return NULL;
	if (!l->ended && !strncmp(word, "--", 2) && word[n]) {
		o = cli_known_option(&l->c, 0, word + 2, n - 2);
		snprintf(prefix, sizeof prefix, "%.*s=", (int)n, word);
		return o && o->arg ? offer_meaning(o->arg, strlen(o->arg), prefix) : NULL;
	}
	if (!l->ended && *word == '-') {
		if (l->c.command)
			offer_options(l->c.command);
		offer_options(l->c.root);
		return NULL;
	}
	if (l->c.command)
		return offer_operand(l, word);
	offer_commands((l->c.group ? l->c.group : l->c.root)->verbs);
	return NULL;
}

int cli_complete(const struct cli *c, const struct settings *s, struct err *e)
{
	struct line l = {.c = {.root = c->root}};
	const char *kind;
	const char *argv[COUNT(l.given) + 5];
	int n = 0;

	(void)s;
	for (int i = 0; i + 1 < c->nwords; i++)
		pass_word(&l, c->words[i]);
	kind = offer_next(&l, c->nwords ? c->words[c->nwords - 1] : "");
	if (cli_finish() || !kind)
		return 0;
	argv[n++] = c->line[0];
	for (int i = 0; i < l.ngiven; i++)
		argv[n++] = l.given[i];
	argv[n++] = "names";
	argv[n++] = kind;
	if (!strcmp(kind, "checkpoints") && l.first)
		argv[n++] = l.first;
	if (!strcmp(kind, "filters"))
		argv[n++] = l.c.command->name;
	argv[n] = NULL;
	return cli_become("berth-core", (char **)argv, e);
}

static const char bash_script[] =
	"# bash completion for berth\n"
	"_berth() {\n"
	"\tlocal words=() word cur typed rest i\n"
	"\tfor ((i = 1; i <= COMP_CWORD; i++)); do\n"
	"\t\tword=${COMP_WORDS[i]}\n"
	/* bash takes --team=a and unix://b apart, at = and : */
	"\t\tif ((${#words[@]})) && [[ $word == [=:]* || ${words[-1]} == *[=:] ]]; then\n"
	"\t\t\twords[-1]+=$word\n"
	"\t\telse\n"
	"\t\t\twords+=(\"$word\")\n"
	"\t\tfi\n"
	"\tdone\n"
	"\tcur=${words[-1]} typed=$word\n"
	"\t[[ $typed != [=:]* ]] || typed=''\n"
	"\trest=${cur%\"$typed\"}\n"
	"\tCOMPREPLY=()\n"
	"\twhile IFS=$'\\t' read -r word _; do\n"
	"\t\tcase $word in\n"
	/* Else an agent would become a directory of its name. */
	"\t\t:[fd]) compopt -o filenames 2>/dev/null\n"
	"\t\t\tmapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen \"-${word#:}\" -- \"$typed\") ;;\n"
	"\t\t\"$cur\"*) COMPREPLY+=(\"${word#\"$rest\"}\")\n"
	"\t\t\t[[ $word != *[=:] ]] || compopt -o nospace 2>/dev/null ;;\n"
	"\t\tesac\n"
	"\tdone < <(\"${COMP_WORDS[0]}\" complete -- \"${words[@]}\" 2>/dev/null)\n"
	"}\n"
	"complete -F _berth berth\n";

static const char zsh_script[] =
	"#compdef berth\n"
	"_berth() {\n"
	"\tlocal -a lines found\n"
	"\tlocal line paths=''\n"
	"\tlines=(\"${(@f)$(\"${(Q)words[1]}\" complete -- \"${(@Q)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
	"\tfor line in $lines; do\n"
	"\t\tcase $line in\n"
	"\t\t:f) paths=f ;;\n"
	"\t\t:d) paths=${paths:-d} ;;\n"
	"\t\t*) found+=(\"${${line//:/\\\\:}/$'\\t'/:}\") ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\t((!$#found)) || _describe word found\n"
	"\t[[ -z $paths || $words[CURRENT] != --*=* ]] || compset -P '*='\n"
	"\t[[ $paths != f ]] || _files\n"
	"\t[[ $paths != d ]] || _files -/\n"
	"}\n"
	/* Works as a file in $fpath and as `source <(berth completion zsh)`. */
	"if [ \"$funcstack[1]\" = _berth ]; then _berth \"$@\"; else compdef _berth berth; fi\n";

static const char fish_script[] =
	"# fish completion for berth\n"
	"function __berth_complete\n"
	"\tset -l words (commandline -opc)\n"
	"\tset -l cur (commandline -ct)\n"
	"\tfor line in ($words[1] complete -- $words[2..-1] \"$cur\" 2>/dev/null)\n"
	"\t\tswitch $line\n"
	"\t\t\tcase :f\n"
	"\t\t\t\t__fish_complete_path $cur\n"
	"\t\t\tcase :d\n"
	"\t\t\t\t__fish_complete_directories $cur ''\n"
	"\t\t\tcase '*'\n"
	"\t\t\t\techo $line\n"
	"\t\tend\n"
	"\tend\n"
	"end\n"
	"complete -c berth -f -a '(__berth_complete)'\n";

int cli_completion(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	(void)e;
	fputs(!strcmp(c->argv[0], "bash")            ? bash_script
			: !strcmp(c->argv[0], "zsh") ? zsh_script
						     : fish_script,
		stdout);
	return cli_finish();
}
