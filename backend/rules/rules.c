/* rules.c - unwrapping a command line down to what would run, and judging each of that. */
#include "rules/rules.h"

#include <ctype.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#include "rules/harm.h"
#include "rules/shell.h"

#define DEPTH_MAX 16

struct pattern {
	char *text;
	size_t word; /* length of the plain word it begins with */
	regex_t re;
};

struct rule_set {
	struct harm_options harm;
	char *home;
	size_t nallow, nblock;
	struct pattern *allow, *block;
};

/* Is there a | that is in no parentheses?  Then the pattern has no one word to begin with. */
static bool alternatives(const char *re)
{
	int depth = 0;

	for (; *re; re++) {
		if (*re == '\\' && re[1]) {
			re++;
		} else if (*re == '[') {
			re += re[1] == '^' ? 2 : 1;
			re += *re == ']'; /* here it is one of the list */
			while (*re && *re != ']') {
				/* [:alpha:], [.x.], [=x=] */
				const char *end = re[0] == '[' && re[1] && strchr(":.=", re[1])
					? strchr(re + 2, ']')
					: NULL;

				re = end ? end + 1 : re + 1;
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

static int compile(
	const char *const *text, size_t n, struct pattern **out, size_t *nout, struct err *e)
{
	*out = xcalloc(n, sizeof **out);
	for (size_t i = 0; i < n; i++) {
		struct pattern *p = &(*out)[i];
		AUTO_FREE char *whole = xasprintf("^(%s)$", text[i]);
		const char *body = text[i] + (*text[i] == '^');
		int bad = regcomp(&p->re, whole, REG_EXTENDED | REG_NOSUB);

		if (bad) {
			char why[128];

			regerror(bad, &p->re, why, sizeof why);
			return err_set(e, ERR_CONFIG,
				"the command pattern \"%s\" is no regular expression: %s.", text[i],
				why);
		}
		p->text = xstrdup(text[i]);
		while (isalnum((unsigned char)body[p->word]) ||
			(p->word && strchr("_-", body[p->word]) && body[p->word]))
			p->word++;
		/* A letter that a quantifier follows is not sure to be there; an alternative has no
		 * one word. */
		if (p->word && strchr("*?{", body[p->word]) && body[p->word])
			p->word--;
		if (alternatives(text[i]))
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
	r->harm = (struct harm_options){o->sudo, r->home, writable, o->nwritable};
	if (compile(o->allow, o->nallow, &r->allow, &r->nallow, e) ||
		compile(o->block, o->nblock, &r->block, &r->nblock, e)) {
		rule_set_free(r);
		return NULL;
	}
	return r;
}

static void free_patterns(struct pattern *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		regfree(&p[i].re);
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
	free(r);
}

static bool matches(const struct pattern *p, const char *joined)
{
	const char *body = p->text + (*p->text == '^');
	size_t name = strcspn(joined, " ");

	if (p->word) {
		size_t version = p->word;

		if (name < p->word || strncmp(joined, body, p->word))
			return false;
		while (version < name &&
			(isdigit((unsigned char)joined[version]) || joined[version] == '.'))
			version++;
		if (version != name && strspn(body + p->word, ".*+?") != 0 && body[p->word] != '[')
			return false;
	}
	return !regexec(&p->re, joined, 0, NULL, 0);
}

static int check_lists(const struct rule_set *r, const struct command *c, struct err *e)
{
	AUTO_STR struct str joined = STR_INIT;
	char shown[200];

	str_adds(&joined, harm_name(c));
	for (size_t i = 1; i < c->n; i++)
		str_addf(&joined, " %s", c->word[i].text);
	text_clean(shown, sizeof shown, joined.s);
	for (size_t i = 0; i < r->nblock; i++)
		if (matches(&r->block[i], joined.s))
			return err_set(e, ERR_REFUSED,
				"`%s` is refused: the definition blocks it (%s).", shown,
				r->block[i].text);
	for (size_t i = 0; i < r->nallow; i++)
		if (matches(&r->allow[i], joined.s))
			return 0;
	if (r->nallow)
		return err_set(e, ERR_REFUSED,
			"`%s` is refused: the definition allows other commands only.", shown);
	return 0;
}

static int check_command(
	const struct rule_set *r, const struct command *c, int depth, struct err *e);

static int check_script(const struct rule_set *r, const char *text, int depth, struct err *e)
{
	struct shell_script s;
	int result = 0;

	shell_parse(text, &(struct shell_options){.home = r->home}, &s);
	if (s.problem)
		result = err_set(e, ERR_REFUSED, "the script is refused: %s.", s.problem);
	else if (s.unclear && (r->nallow || r->nblock))
		result = err_set(e, ERR_REFUSED,
			"the script is refused: it has %s, and what that runs cannot be told; the "
			"definition allows or blocks certain commands.",
			s.unclear);
	if (!result)
		result = harm_script(&s, e);
	for (size_t i = 0; !result && i < s.n; i++) {
		struct command c = {s.command[i].word, s.command[i].n};

		result = harm_writes(&s.command[i], e);
		if (!result && c.n)
			result = check_command(r, &c, depth + 1, e);
	}
	shell_release(&s);
	return result;
}

/* The command itself, then what it would run. */
static int check_command(
	const struct rule_set *r, const struct command *c, int depth, struct err *e)
{
	struct command inner[HARM_INNER_MAX];
	const char *script = NULL;
	AUTO_FREE char *made = NULL;
	size_t n = 0;

	if (depth > DEPTH_MAX)
		return err_set(e, ERR_REFUSED, "the command is refused: it is nested too deeply.");
	if (!harm_is_wrapper(c) && check_lists(r, c, e))
		return -1;
	if (harm_command(&r->harm, c, e))
		return -1;
	harm_unwrap(c, inner, &n, &script, &made);
	for (size_t i = 0; i < n; i++)
		if (check_command(r, &inner[i], depth + 1, e))
			return -1;
	return script ? check_script(r, script, depth + 1, e) : 0;
}

int rule_set_check(const struct rule_set *r, const char *const *argv, size_t argc, struct err *e)
{
	AUTO_FREE struct shell_word *word = xcalloc(argc + 1, sizeof *word);
	struct command c = {word, argc};

	if (!argc)
		return err_set(e, ERR_USAGE, "no command was given.");
	for (size_t i = 0; i < argc; i++)
		word[i] = (struct shell_word){.text = argv[i], .quoted = true};
	return check_command(r, &c, 0, e);
}
