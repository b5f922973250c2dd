/* rules.c - unwraps a command line to the commands that would run, and judges each. */
#include "policy/rules.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/regex.h>
#include <berth/str.h>
#include <berth/text.h>

#include "policy/harm.h"
#include "policy/shell_reader.h"

#define DEPTH_MAX 16

struct pattern {
	char *text;
	size_t word; /* length of the plain word it begins with */
	struct regex *re;
};

struct rule_set {
	struct harm_options harm;
	char *home, *workdir;
	size_t nallow, nblock;
	struct pattern *allow, *block;
};

/* Is there a | that is in no parentheses?  Then the pattern has no one word to begin with. */
static bool has_alternatives(const char *re)
{
	int depth = 0;

	for (; *re; re++) {
		if (*re == '\\' && re[1] == 'Q') {
			const char *end = strstr(re, "\\E");

			if (!end)
				return false;
			re = end + 1;
		} else if (*re == '\\' && re[1]) {
			re++;
		} else if (*re == '[') {
			re += re[1] == '^' ? 2 : 1;
			re += *re == ']'; /* here it is one of the list */
			while (*re && *re != ']') {
				size_t class = 0; /* [:alpha:] */

				if (re[0] == '[' && re[1] == ':')
					class = 2 + strspn(re + 2, "^abcdefghijklmnopqrstuvwxyz");
				if (class && !strncmp(re + class, ":]", 2))
					re += class + 2;
				else
					re += re[0] == '\\' && re[1] ? 2 : 1;
			}
			if (!*re)
				return true;
		} else if (*re == '(') {
			depth++;
		} else if (*re == ')') {
			depth--;
		} else if (*re == '|' && depth <= 0) {
			return true;
		}
	}
	return false;
}

static int compile_patterns(
	const char *const *text, size_t n, struct pattern **out, size_t *nout, struct err *e)
{
	*out = xcalloc(n, sizeof **out);
	for (size_t i = 0; i < n; i++) {
		struct pattern *p = &(*out)[i];
		const char *body = text[i] + (*text[i] == '^');
		char why[REGEX_WHY_MAX];

		p->re = regex_new(text[i], REGEX_WHOLE, why);
		if (!p->re)
			return err_set(e, ERR_CONFIG,
				"the command pattern \"%s\" is not a regular expression: %s.",
				text[i], why);
		p->text = xstrdup(text[i]);
		while (isalnum((unsigned char)body[p->word]) ||
			(p->word && strchr("_-", body[p->word]) && body[p->word]))
			p->word++;
		/* A letter that a quantifier follows is not sure to be there; an alternative has no
		 * one word. */
		if (p->word && strchr("*?{", body[p->word]) && body[p->word])
			p->word--;
		if (has_alternatives(text[i]))
			p->word = 0;
		*nout = i + 1;
	}
	return 0;
}

struct rule_set *rule_set_compile(const struct rule_options *o, struct err *e)
{
	struct rule_set *r = xcalloc(1, sizeof *r);
	char **writable = xcalloc(o->nwritable, sizeof *writable);

	for (size_t i = 0; i < o->nwritable; i++)
		writable[i] = xstrdup(o->writable[i]);
	r->home = xstrdup(o->home ? o->home : "/root");
	r->workdir = o->workdir ? xstrdup(o->workdir) : NULL;
	r->harm = (struct harm_options){o->sudo, r->home, writable, o->nwritable};
	if (compile_patterns(o->allow, o->nallow, &r->allow, &r->nallow, e) ||
		compile_patterns(o->block, o->nblock, &r->block, &r->nblock, e)) {
		rule_set_free(r);
		return NULL;
	}
	return r;
}

static void free_patterns(struct pattern *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		regex_free(p[i].re);
		free(p[i].text);
	}
	free(p);
}

void rule_set_free(struct rule_set *r)
{
	if (!r)
		return;
	free_patterns(r->allow, r->nallow);
	free_patterns(r->block, r->nblock);
	for (size_t i = 0; i < r->harm.nwritable; i++)
		free(r->harm.writable[i]);
	free(r->harm.writable);
	free(r->home);
	free(r->workdir);
	free(r);
}

/* As regex_find. */
static int matches_command(const struct pattern *p, const char *joined)
{
	const char *body = p->text + (*p->text == '^');
	size_t name = strcspn(joined, " ");

	if (p->word) {
		size_t version = p->word;

		if (name < p->word || strncmp(joined, body, p->word))
			return 0;
		while (version < name &&
			(isdigit((unsigned char)joined[version]) || joined[version] == '.'))
			version++;
		if (version != name && strspn(body + p->word, ".*+?") != 0 && body[p->word] != '[')
			return 0;
	}
	return regex_find(p->re, joined, strlen(joined), 0, NULL, NULL);
}

/* One of the readings of a command line, and what is asked of it. */
struct judge {
	const struct rule_set *r;
	enum shell_reading reading;
	bool allow, block, harm;
	/* of the script that is read */
	bool bash, nounset;
	int depth;
};

/* x"$(true)" is x where the substitution gives nothing. */
static char *name_without(const struct command *c)
{
	struct str name = STR_INIT;

	for (const char *at = harm_name(c); *at; at++) {
		if (!strncmp(at, "$()", 3))
			at += 2;
		else
			str_addc(&name, *at);
	}
	return str_detach(&name);
}

/* Is it named by a path, and not one of the system's directories, which an agent cannot write? */
static bool is_placed(const struct command *c)
{
	static const char *const dirs[] = {
		"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"};
	const char *path = c->word[0].text;
	size_t n = (size_t)(harm_name(c) - path);

	for (size_t i = 0; n && i < COUNT(dirs); i++)
		if (n - 1 == strlen(dirs[i]) && !memcmp(path, dirs[i], n - 1))
			return false;
	return n > 0;
}

static void join_command(const struct command *c, const char *name, struct str *out)
{
	str_adds(out, name);
	for (size_t i = 1; i < c->n; i++) {
		str_addc(out, ' ');
		str_adds(out, c->word[i].text);
	}
}

static int check_lists(const struct judge *j, const struct command *c, struct err *e)
{
	const struct rule_set *r = j->r;
	AUTO_STR struct str joined = STR_INIT, placed = STR_INIT;
	AUTO_FREE char *name = NULL;
	bool by_path = is_placed(c);
	char shown[200];

	if (!j->block && !j->allow)
		return 0;
	name = name_without(c);
	join_command(c, name, &joined);
	if (by_path)
		join_command(c, c->word[0].text, &placed);
	for (size_t i = 0; j->block && i < r->nblock; i++) {
		int found = matches_command(&r->block[i], joined.s);

		if (!found && by_path)
			found = matches_command(&r->block[i], placed.s);
		if (found)
			return err_set(e, ERR_REFUSED, "`%s` is refused: the definition %s (%s).",
				text_clean(shown, sizeof shown, joined.s),
				found > 0 ? "blocks it"
					  : "may block it, but matching takes too many steps",
				r->block[i].text);
	}
	for (size_t i = 0; j->allow && i < r->nallow; i++)
		if (matches_command(&r->allow[i], by_path ? placed.s : joined.s) > 0)
			return 0;
	if (j->allow)
		return err_set(e, ERR_REFUSED,
			"`%s` is refused: the definition allows other commands only%s.",
			text_clean(shown, sizeof shown, by_path ? placed.s : joined.s),
			by_path ? ", and a program outside the system's directories only by its path"
				: "");
	return 0;
}

/* What runs here must be sure, under an allow list. */
static int check_sure(const struct command *c, const struct wrapped *w, struct err *e)
{
	const struct shell_word *name = &c->word[0];
	const char *why = NULL;
	char shown[200];

	if (name->dynamic && (name->loose || strpbrk(harm_name(c), "${}`()")))
		why = "its name is only known at run time";
	else if (name->glob && strcmp(name->text, "["))
		why = "its name is a wildcard";
	else if (w->script && w->dynamic)
		why = "it runs a script that is only known at run time";
	else if (w->startup)
		why = "with -i or -l a shell runs a start-up file first";
	else if (w->loose)
		why = "what comes before the inner command may become several words; put it in quotes";
	else if (w->changes)
		why = "it sets a variable that can make a command run another program";
	if (!why)
		return 0;
	return err_set(e, ERR_REFUSED,
		"`%s` is refused: %s, and the definition allows certain commands only.",
		text_clean(shown, sizeof shown, name->text), why);
}

static int refuse_variable(const struct command *c, struct err *e)
{
	char shown[200];

	return err_set(e, ERR_REFUSED,
		"`%s` is refused: it sets a variable that runs a program of its own, and the definition "
		"blocks certain commands.",
		text_clean(shown, sizeof shown, c->word[0].text));
}

static int check_command(const struct judge *j, const struct command *c, struct err *e);

/* echo TEXT | sh, cat <<E | sh: what the next one reads */
static const char *piped_text(
	const struct shell_command *from, struct shell_script *s, bool *dynamic)
{
	struct command c = {.word = from->word, .n = from->n};
	AUTO_STR struct str text = STR_INIT;
	size_t i = 1;

	if (!from->piped || !from->n)
		return NULL;
	if (harm_is(&c, "cat") && c.n == 1)
		return from->input;
	if (!harm_is(&c, "echo") && !harm_is(&c, "printf"))
		return NULL;
	while (i < c.n && c.word[i].text[0] == '-')
		i++;
	for (; i < c.n; i++) {
		*dynamic |= c.word[i].dynamic;
		for (const char *at = c.word[i].text; *at; at++) {
			bool line = at[0] == '\\' && at[1] == 'n';

			str_addc(&text, line ? '\n' : *at);
			at += line;
		}
		str_addc(&text, harm_is(&c, "echo") ? ' ' : '\n');
	}
	return arena_strndup(&s->mem, text.s, text.len);
}

/* set -- rm x; "$@": the words of the last set, and what stands behind */
static void put_arguments(
	struct command *c, const struct shell_command *set, struct shell_script *s)
{
	struct shell_word *words;

	if (!set || (strcmp(c->word[0].text, "$@") && strcmp(c->word[0].text, "$*")) || set->n < 3)
		return;
	words = arena_array(&s->mem, set->n + c->n, sizeof *words);
	memcpy(words, set->word + 2, (set->n - 2) * sizeof *words);
	memcpy(words + set->n - 2, c->word + 1, (c->n - 1) * sizeof *words);
	c->word = words;
	c->n += set->n - 3;
}

static int check_commands(const struct judge *j, struct shell_script *s, struct err *e)
{
	const struct shell_command *set = NULL;

	if (j->harm && harm_script(s, e))
		return -1;
	for (size_t i = 0; i < s->n; i++) {
		const struct shell_command *from = &s->command[i];
		struct command c = {.word = from->word,
			.n = from->n,
			.cwd = from->cwd,
			.or_cwd = from->or_cwd,
			.input = from->input};
		bool dynamic = false;

		if (j->harm && harm_writes(&j->r->harm, from, e))
			return -1;
		if (!c.n)
			continue;
		if (i && !c.input && wrap_reads_script(&c))
			c.input = piped_text(from - 1, s, &dynamic);
		if (i && from[-1].piped)
			c.listing = listing_of(from[-1].word, from[-1].n, &s->mem);
		if (j->reading != SHELL_CERTAIN)
			put_arguments(&c, set, s);
		if (c.n > 1 && harm_is(&c, "set") && !strcmp(c.word[1].text, "--"))
			set = from;
		if (check_command(j, &c, e))
			return -1;
	}
	return 0;
}

static int check_script(
	const struct judge *j, const struct command *c, const struct wrapped *w, struct err *e)
{
	struct judge inner = *j;
	struct shell_script s;
	struct shell_options o = {
		.home = j->r->home, .cwd = c->cwd, .errexit = w->errexit, .reading = j->reading};
	int result = 0;

	inner.depth++;
	if (w->harm_only)
		inner.allow = inner.block = false;
	if (w->bash || w->sh)
		inner.bash = w->bash;
	o.bash = inner.bash;
	if ((inner.allow || inner.block) && w->foreign)
		return err_set(e, ERR_REFUSED,
			"the script is refused: it is for %s, and only those of sh and bash can be checked.",
			harm_name(c));
	shell_parse(w->script, &o, &s);
	inner.nounset |= w->nounset || s.nounset;
	if (j->reading == SHELL_EMPTY && inner.nounset)
		inner.harm = false;
	if (s.problem)
		result = err_set(e, ERR_REFUSED, "the script is refused: %s.", s.problem);
	else if (s.unclear && (inner.allow || inner.block))
		result = err_set(e, ERR_REFUSED,
			"the script is refused: it has %s, and what that runs cannot be determined; the "
			"definition allows or blocks certain commands.",
			s.unclear);
	else
		result = check_commands(&inner, &s, e);
	shell_release(&s);
	if (result && w->harm_only && e->kind == ERR_REFUSED) {
		struct err why = *e;

		return err_set(e, ERR_REFUSED, "%s (That is what the program for %s amounts to.)",
			why.msg, harm_name(c));
	}
	return result;
}

/* The command itself, then what it would run. */
static int check_command(const struct judge *j, const struct command *c, struct err *e)
{
	struct judge inner = *j;
	struct wrapped w;
	int result = 0;

	if (j->depth > DEPTH_MAX)
		return err_set(e, ERR_REFUSED, "the command is refused: it is nested too deeply.");
	inner.depth++;
	wrap_open(c, &w);
	if (w.harm_only)
		inner.allow = inner.block = false;
	if (j->allow)
		result = check_sure(c, &w, e);
	else if (j->block && w.runs)
		result = refuse_variable(c, e);
	/* A file of the agent's own may have the name of a wrapper. */
	if (!result && (!wrap_is_wrapper(c) || (j->allow && is_placed(c))))
		result = check_lists(j, c, e);
	if (!result && j->harm)
		result = harm_command(&j->r->harm, c, e);
	for (size_t i = 0; !result && i < w.n; i++)
		result = check_command(&inner, &w.inner[i], e);
	if (!result && w.script)
		result = check_script(j, c, &w, e);
	wrap_release(&w);
	return result;
}

/* An unset variable is empty: rm -rf with "$DIR" and a bare wildcard in it */
static int check_empty(const struct rule_set *r, const struct command *c, struct err *e)
{
	struct judge j = {.r = r, .reading = SHELL_EMPTY, .harm = true};
	struct err why = ERR_INIT;

	if (!check_command(&j, c, &why))
		return 0;
	return err_set(e, ERR_REFUSED,
		"%s (It does so if a variable in it is unset; write ${NAME:?}, and the shell stops "
		"there.)",
		why.msg);
}

int rule_set_check_env(const struct rule_set *r, const char *const *env, size_t envc, struct err *e)
{
	for (size_t i = 0; i < envc && (r->nallow || r->nblock); i++) {
		size_t n = strcspn(env[i], "=");

		if (shell_variable_changes(env[i], n) || (n == 3 && !memcmp(env[i], "IFS", n)))
			return err_set(e, ERR_REFUSED,
				"the environment variable %.*s can make a command run another program, so it is not "
				"taken where allow: or block: lists commands.",
				n < 64 ? (int)n : 64, env[i]);
	}
	return 0;
}

int rule_set_check(const struct rule_set *r, const char *const *argv, size_t argc, struct err *e)
{
	AUTO_FREE struct shell_word *word = xcalloc(argc + 1, sizeof *word);
	struct command c = {.word = word, .n = argc, .cwd = r->workdir};
	struct judge guess = {.r = r, .reading = SHELL_GUESS, .block = r->nblock > 0, .harm = true};
	struct judge certain = {.r = r, .reading = SHELL_CERTAIN, .allow = true};
	bool expands = false;

	if (!argc)
		return err_set(e, ERR_USAGE, "no command was given.");
	for (size_t i = 0; i < argc; i++) {
		word[i] = (struct shell_word){.text = argv[i], .quoted = true};
		expands |= strchr(argv[i], '$') != NULL;
	}
	if (check_command(&guess, &c, e) || (r->nallow && check_command(&certain, &c, e)))
		return -1;
	return expands ? check_empty(r, &c, e) : 0;
}
