/* interpreter.c - finds shell commands in a program that is passed to an interpreter. */
#include "policy/harm.h"

#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>

static bool judge_interpreter(const struct command *c)
{
	static const char *const names[] = {
		"python*", "pypy*", "node", "nodejs", "deno", "bun", "ruby*", "perl*", "php*"};

	for (size_t i = 0; i < COUNT(names); i++)
		if (harm_like(names[i], harm_name(c)))
			return true;
	return false;
}

/* A string of the language at s: 'it', "it" or `it`; its text to out, 0: it is none. */
static size_t read_quoted_string(const char *s, struct str *out)
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
static void read_string_list(const char *s, struct str *out)
{
	for (s++; *s && *s != ']'; s++) {
		AUTO_STR struct str one = STR_INIT;
		size_t used = read_quoted_string(s, &one);

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
				read_string_list(at, out);
			else
				read_quoted_string(at, out);
			str_addc(out, '\n');
		}
}

/* What stands for a directory in several languages, in the shell's words. */
static const struct expression {
	const char *text, *word;
} expressions[] = {
	{"os.getcwd()", "."},
	{"process.cwd()", "."},
	{"Deno.cwd()", "."},
	{"pathlib.Path.cwd()", "."},
	{"Path.cwd()", "."},
	{"Dir.pwd", "."},
	{"os.environ['PWD']", "."},
	{"Path.home()", "$HOME"},
	{"os.homedir()", "$HOME"},
	{"os.path.expanduser('~')", "$HOME"},
};

/* They give back the path that they are given. */
static const char *const keeping[] = {"os.path.abspath(", "os.path.realpath(", "pathlib.Path(",
	"Path(", "path.resolve(", "Dir.glob(", "Dir[", "glob.glob(", "glob("};

/* The path at s, behind the name of a call, as a word of a shell; false: it is not known. */
static bool path_argument(const char *s, struct str *out)
{
	AUTO_STR struct str path = STR_INIT;
	bool again = true;

	while (again) {
		again = false;
		s += strspn(s, "( \n\t");
		for (size_t i = 0; i < COUNT(keeping) && !again; i++) {
			again = !strncmp(s, keeping[i], strlen(keeping[i]));
			s += again ? strlen(keeping[i]) : 0;
		}
	}
	for (size_t i = 0; i < COUNT(expressions); i++)
		if (!strncmp(s, expressions[i].text, strlen(expressions[i].text))) {
			str_adds(out, expressions[i].word);
			return true;
		}
	if (!read_quoted_string(s, &path) || strpbrk(path.s, "' ;&|<>()$`\"\\\n"))
		return false;
	str_adds(out, path.s);
	return true;
}

/* rmtree(PATH) and the like */
static void removals_in(const char *text, struct str *out)
{
	static const char *const calls[] = {"rmtree", "remove_tree", "rm_rf", "rm_r", "rmSync",
		"rmdirSync", "removeSync", "rimraf", "rimrafSync"};

	for (size_t i = 0; i < COUNT(calls); i++)
		for (const char *at = text; (at = strstr(at, calls[i]));) {
			AUTO_STR struct str path = STR_INIT;

			at += strlen(calls[i]);
			if ((*at == '(' || *at == ' ') && path_argument(at, &path))
				str_addf(out, "rimraf %s\n", path.s);
		}
}

static bool has_one(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (strstr(text, *list))
			return true;
	return false;
}

/* Does it go through all that is here, and delete what it finds there, whatever it is?  `text` is
 * without blanks, its quotes are '. */
static bool deletes_all(const char *text)
{
	static const char *const all[] = {"os.listdir()", "os.listdir('.')", "os.scandir()",
		"os.scandir('.')", "os.walk('.'", "os.walk(os.getcwd()", "glob.glob('*'",
		"glob.glob('**/*'", "(glob('*'", ",glob('*'", "inglob('*'", "linkglob'*'",
		"linkglob('*'", "<*>", "Path('.').rglob('*')", "Path().rglob('*')",
		"Path('.').iterdir()", "Path().iterdir()", "Path.cwd().iterdir()",
		"readdirSync('.')", "readdirSync(process.cwd())", "Dir['*']", "Dir.glob('*')",
		"Dir.children('.')", "Dir.entries('.')", NULL};
	static const char *const removes[] = {"os.remove(", "unlink", "rmtree(", "rmSync(",
		"File.delete(", "rm_rf", "rm_r(", NULL};
	static const char *const picks[] = {"if", "with(", "With(", "suffix", "==", "filter",
		"unless", "match", "=~", "grep", "&&", "?", NULL};

	return has_one(text, all) && has_one(text, removes) && !has_one(text, picks);
}

/* "if it is a file" leaves next to nothing out. */
static void drop_file_tests(char *text)
{
	static const char *const tests[] = {".is_file()", "isfile("};

	for (char *at = text; (at = strstr(at, "if")); at += 2) {
		size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz_.()") + (size_t)(at - text);
		char kept = text[n];

		text[n] = '\0';
		if (strstr(at, tests[0]) || strstr(at, tests[1]))
			memcpy(at, "  ", 2);
		text[n] = kept;
	}
}

static void read_program(const char *text, struct str *out)
{
	AUTO_STR struct str bare = STR_INIT;

	commands_in(text, out);
	removals_in(text, out);
	for (const char *at = text; *at; at++)
		if (!strchr(" \t\n", *at))
			str_addc(&bare, *at == '"' ? '\'' : *at);
	drop_file_tests(bare.s);
	if (deletes_all(bare.s))
		str_adds(out, "rimraf *\n");
}

char *embed_commands(const struct command *c)
{
	struct str out = STR_INIT;

	if (!judge_interpreter(c))
		return NULL;
	for (size_t i = 1; i + 1 < c->n; i++) {
		const char *t = c->word[i].text;

		if (!strcmp(t, "eval")) /* deno */
			read_program(c->word[i + 1].text, &out);
		if (t[0] != '-')
			break;
		/* -e, -c, -pe; node --eval */
		if (t[1] != '-' ? strpbrk(t, "ceEr") != NULL : !strncmp(t, "--eval", 6))
			read_program(c->word[i + 1].text, &out);
	}
	if (c->input)
		read_program(c->input, &out);
	if (out.len)
		return str_detach(&out);
	str_release(&out);
	return NULL;
}
