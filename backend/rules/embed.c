/* embed.c - the shell commands that stand, word for word, in a program given to an interpreter. */
#include "rules/harm.h"

#include <fnmatch.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>

static bool interpreter(const struct command *c)
{
	static const char *const names[] = {"python*", "node", "ruby*", "perl*", "php*"};

	for (size_t i = 0; i < COUNT(names); i++)
		if (!fnmatch(names[i], harm_name(c), 0))
			return true;
	return false;
}

/* A string of the language at s: 'it', "it" or `it`; its text to out, 0: it is none. */
static size_t string(const char *s, struct str *out)
{
	char quote = *s;
	size_t i = 1;

	if (!quote || !strchr("'\"`", quote))
		return 0;
	for (; s[i] && s[i] != quote; i++) {
		if (s[i] == '\\' && s[i + 1])
			i++;
		str_addc(out, s[i]);
	}
	return s[i] ? i + 1 : 0;
}

/* ["rm", "-rf", "x"]: the words, each in quotes */
static void list(const char *s, struct str *out)
{
	for (s++; *s && *s != ']'; s++) {
		AUTO_STR struct str one = STR_INIT;
		size_t used = string(s, &one);

		if (!used)
			continue;
		s += used - 1;
		if (!strchr(one.s, '\''))
			str_addf(out, "'%s' ", one.s);
	}
}

/* What stands behind system( and the like in a program. */
static void commands_in(const char *text, struct str *out)
{
	static const char *const calls[] = {"system", "popen", "Popen", "run", "call", "check_call",
		"check_output", "getoutput", "exec", "execSync", "spawn", "shell_exec"};

	for (size_t i = 0; i < COUNT(calls); i++)
		for (const char *at = text; (at = strstr(at, calls[i]));) {
			at += strlen(calls[i]);
			if (*at != '(' && *at != ' ')
				continue;
			at += strspn(at, "( \n\t");
			at += strspn(at, "rfb") == 1 && strchr("'\"", at[1]) ? 1 : 0;
			if (*at == '[')
				list(at, out);
			else
				string(at, out);
			str_addc(out, '\n');
		}
}

char *embed_commands(const struct command *c)
{
	struct str out = STR_INIT;

	if (!interpreter(c))
		return NULL;
	for (size_t i = 1; i + 1 < c->n; i++) {
		const char *t = c->word[i].text;

		if (t[0] != '-')
			break;
		if (t[1] != '-' && strpbrk(t, "ceEr"))
			commands_in(c->word[i + 1].text, &out);
	}
	if (c->input)
		commands_in(c->input, &out);
	if (out.len)
		return str_detach(&out);
	str_release(&out);
	return NULL;
}
