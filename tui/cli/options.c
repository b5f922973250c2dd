/* options.c - parses argv by the tables: options anywhere before "--", suggestions for misspelt words. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/config.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "cli/cli.h"

#define WORDS_MAX 64
#define SHOWN 80

/* "berth --help" or, inside of a command, "berth ps --help". */
static const char *name_help(const struct cli *c, char buf[SHOWN])
{
	char path[SHOWN - 16];

	cli_path(c, path, sizeof path);
	snprintf(buf, SHOWN, "berth %s%s--help", path, *path ? " " : "");
	return buf;
}

static int refuse_unknown_word(const struct cli *c, struct err *e, const char *what,
	const char *word, const char *const *known)
{
	char shown[SHOWN], help[SHOWN];
	const char *near;
	size_t dashes = strspn(word, "-");

	text_clean(shown, sizeof shown, word);
	near = nearest_word(word + dashes, known);
	if (near)
		return err_set(e, ERR_USAGE, "unknown %s \"%s\"; did you mean \"%.*s%s\"?", what,
			shown, (int)dashes, word, near);
	return err_set(
		e, ERR_USAGE, "unknown %s \"%s\": see `%s`.", what, shown, name_help(c, help));
}

static size_t add_names(const char *names[WORDS_MAX], size_t n, const struct cli_option *o)
{
	for (; o && o->name && n + 1 < WORDS_MAX; o++)
		names[n++] = o->name;
	names[n] = NULL;
	return n;
}

static const struct cli_option *find_cli_option(
	const struct cli_option *o, char letter, const char *name, size_t len)
{
	for (; o && o->name; o++) {
		if (letter ? o->letter == letter : !strncmp(o->name, name, len) && !o->name[len])
			return o;
	}
	return NULL;
}

/* What may be given here: the command's own before those of all, which may stand anywhere. */
const struct cli_option *cli_known_option(
	const struct cli *c, char letter, const char *name, size_t len)
{
	const struct cli_option *o =
		c->command ? find_cli_option(c->command->options, letter, name, len) : NULL;

	return o ? o : find_cli_option(c->root->options, letter, name, len);
}

static int unknown_option(const struct cli *c, const char *word, size_t len, struct err *e)
{
	const char *names[WORDS_MAX];
	char shown[SHOWN];
	size_t n = add_names(names, 0, c->command ? c->command->options : NULL);

	add_names(names, n, c->root->options);
	snprintf(shown, sizeof shown, "%.*s", (int)(len < 60 ? len : 60), word);
	return refuse_unknown_word(c, e, "option", shown, names);
}

static int take_option(struct cli *c, const struct cli_option *o, const char *value, struct err *e)
{
	if (!strcmp(o->name, "help"))
		c->help = true;
	else if (!strcmp(o->name, "version"))
		c->version = true;
	else if (c->ngiven == CLI_GIVEN_MAX)
		return err_set(e, ERR_USAGE, "more than %d options are too many.", CLI_GIVEN_MAX);
	else
		c->given[c->ngiven++] = (struct cli_given){o, value};
	return 0;
}

static int refuse_missing(const struct cli_option *o, const char *word, struct err *e)
{
	return err_set(e, ERR_USAGE, "%s needs a value: %s %s.", word, word, o->arg);
}

/* --name, --name=VALUE, --name VALUE.  Returns how many words it took, or -1. */
static int long_option(struct cli *c, int argc, char **argv, struct err *e)
{
	const char *name = argv[0] + 2, *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct cli_option *o = cli_known_option(c, 0, name, len);
	char word[SHOWN];

	if (!o)
		return unknown_option(c, argv[0], len + 2, e);
	snprintf(word, sizeof word, "--%s", o->name);
	if (!o->arg && equals)
		return err_set(e, ERR_USAGE, "%s takes no value.", word);
	if (!o->arg || equals)
		return take_option(c, o, equals ? equals + 1 : NULL, e) < 0 ? -1 : 1;
	if (argc < 2)
		return refuse_missing(o, word, e);
	return take_option(c, o, argv[1], e) < 0 ? -1 : 2;
}

/* -c VALUE, -cVALUE, -ah (flags together).  Returns how many words it took, or -1. */
static int short_options(struct cli *c, int argc, char **argv, struct err *e)
{
	for (const char *p = argv[0] + 1; *p; p++) {
		const struct cli_option *o = cli_known_option(c, *p, "", 0);
		char word[3] = {'-', *p, '\0'};

		if (!o)
			return unknown_option(c, p == argv[0] + 1 ? argv[0] : word,
				p == argv[0] + 1 ? strlen(argv[0]) : 2, e);
		if (!o->arg) {
			if (take_option(c, o, NULL, e) < 0)
				return -1;
			continue;
		}
		if (p[1])
			return take_option(c, o, p + 1, e) < 0 ? -1 : 1;
		if (argc < 2)
			return refuse_missing(o, word, e);
		return take_option(c, o, argv[1], e) < 0 ? -1 : 2;
	}
	return 1;
}

static bool looks_like_option(const char *word)
{
	return word[0] == '-' && word[1];
}

int cli_find(struct cli *c, const char *name, struct err *e)
{
	const struct cli_command *k = (c->group ? c->group : c->root)->verbs;
	const char *names[WORDS_MAX];
	char what[SHOWN];
	size_t n = 0;

	for (; k->name; k++) {
		if (!strcmp(k->name, name) || (k->former && !strcmp(k->former, name))) {
			*(k->verbs ? &c->group : &c->command) = k;
			return 0;
		}
		if (n + 1 < WORDS_MAX)
			names[n++] = k->name;
	}
	names[n] = NULL;
	snprintf(what, sizeof what, "%s%ssubcommand", c->group ? c->group->name : "",
		c->group ? " " : "");
	return refuse_unknown_word(c, e, what, name, names);
}

/* Some groups have a verb that need not be said: it is meant by a word that is none.  true: it is. */
static bool take_default(struct cli *c, const char *word)
{
	const struct cli_command *usual = NULL;

	for (const struct cli_command *k = c->group ? c->group->verbs : NULL; k && k->name; k++) {
		if (!strcmp(k->name, word))
			return false;
		if (c->group->usual && !strcmp(k->name, c->group->usual))
			usual = k;
	}
	c->command = usual;
	return usual;
}

/* With the line as it should have been, as far as there is room. */
static int refuse_no_dashes(const struct cli *c, int argc, char **argv, struct err *e)
{
	char path[SHOWN], first[SHOWN] = "", line[2 * SHOWN] = "", shown[SHOWN], rest[SHOWN];

	cli_path(c, path, sizeof path);
	for (int i = 0; i < argc && strlen(line) < SHOWN; i++)
		snprintf(line + strlen(line), sizeof line - strlen(line), " %.40s", argv[i]);
	if (c->argc)
		text_clean(first, sizeof first, c->argv[0]);
	return err_set(e, ERR_USAGE, "`berth %s` needs -- before \"%s\": berth %s%s%s --%s", path,
		text_clean(shown, sizeof shown, argv[0]), path, *first ? " " : "", first,
		text_clean(rest, sizeof rest, line));
}

static int check_operands(struct cli *c, struct err *e)
{
	const struct cli_command *k = c->command;
	char shown[SHOWN], path[SHOWN];

	cli_path(c, path, sizeof path);
	if (k->max_operands >= 0 && c->argc > k->max_operands)
		return err_set(e, ERR_USAGE, "`berth %s` does not take \"%s\".", path,
			text_clean(shown, sizeof shown, c->argv[k->max_operands]));
	if (c->argc < k->min_operands || (k->takes_words == CLI_WORDS_NEEDED && !c->nwords))
		return err_set(e, ERR_USAGE, "`berth %s` needs %s.", path, k->operands);
	if (k->words && c->argc) {
		for (const char *const *w = k->words; *w; w++)
			if (!strcmp(*w, c->argv[0]))
				return 0;
		return refuse_unknown_word(c, e, "operand", c->argv[0], k->words);
	}
	return 0;
}

/* An operand.  argv stays as it is, for the launcher hands it on. */
static void add_operand(struct cli *c, int argc, char *word)
{
	static char **operands;

	if (!c->argc) {
		free(operands); /* of a line read before, in tests */
		operands = xcalloc((size_t)argc + 1, sizeof *operands);
		c->argv = operands;
	}
	c->argv[c->argc++] = word;
}

/* The word at argv[0], which is none behind "--".  Returns how many were taken, or -1. */
static int take_word(struct cli *c, int argc, char **argv, struct err *e)
{
	char *word = argv[0];

	if (looks_like_option(word))
		return word[1] == '-' ? long_option(c, argc, argv, e)
				      : short_options(c, argc, argv, e);
	if (!c->command && !take_default(c, word))
		return cli_find(c, word, e) < 0 ? -1 : 1;
	if (c->command->takes_words && c->argc == c->command->max_operands)
		return refuse_no_dashes(c, argc, argv, e);
	add_operand(c, argc, word);
	return 1;
}

/* The words behind "--": the command's to run, or plain operands. */
static int take_rest(struct cli *c, int argc, char **argv, struct err *e)
{
	while (argc && !c->command && !take_default(c, *argv)) {
		if (cli_find(c, *argv++, e) < 0)
			return -1;
		argc--;
	}
	if (c->command && c->command->takes_words) {
		c->words = argv;
		c->nwords = argc;
		return 0;
	}
	while (argc--) {
		add_operand(c, argc + 1, *argv);
		argv++;
	}
	return 0;
}

int cli_parse(const struct cli_command *root, int argc, char **argv, struct cli *ret, struct err *e)
{
	struct cli *c = ret;
	int at = 1;

	*c = (struct cli){.root = root, .argv = argv + argc, .words = argv + argc, .line = argv};
	while (at < argc) {
		int took;

		if (!strcmp(argv[at], "--")) {
			if (take_rest(c, argc - at - 1, argv + at + 1, e) < 0)
				return -1;
			break;
		}
		took = take_word(c, argc - at, argv + at, e);
		if (took < 0)
			return -1;
		if (c->help || c->version)
			return 0;
		at += took;
	}
	if (c->group && !c->command)
		return err_set(e, ERR_USAGE,
			"`berth %s` needs a subcommand: see `berth %s --help`.", c->group->name,
			c->group->name);
	return c->command ? check_operands(c, e) : 0;
}

bool cli_flag(const struct cli *c, const char *name)
{
	for (size_t i = 0; i < c->ngiven; i++)
		if (!strcmp(c->given[i].option->name, name))
			return true;
	return false;
}

const char *cli_value(const struct cli *c, const char *name)
{
	for (size_t i = c->ngiven; i-- > 0;)
		if (!strcmp(c->given[i].option->name, name))
			return c->given[i].value;
	return NULL;
}

const char *cli_path(const struct cli *c, char *buf, size_t cap)
{
	snprintf(buf, cap, "%s%s%s", c->group ? c->group->name : "",
		c->group && c->command ? " " : "", c->command ? c->command->name : "");
	return buf;
}

int cli_number(
	const struct cli *c, const char *name, uint64_t otherwise, uint64_t *ret, struct err *e)
{
	static const char units[] = "KMGT";
	const char *text = cli_value(c, name), *unit;
	char *end;
	unsigned long long v;
	int shift = 0;

	*ret = otherwise;
	if (!text)
		return 0;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (end != text && *end && (unit = strchr(units, *end)) != NULL && !end[1]) {
		shift = 10 * (int)(unit - units + 1);
		end++;
	}
	if (*text < '0' || *text > '9' || *end || errno || v > (UINT64_MAX >> shift))
		return err_set(e, ERR_USAGE, "--%s takes a number, not \"%.40s\".", name, text);
	*ret = (uint64_t)v << shift;
	return 0;
}
