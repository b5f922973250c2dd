/* wrapper.c - lists programs that run other commands, such as sudo, env and xargs, and finds the inner command. */
#include "policy/harm.h"

#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>

/* What a program that runs others does with its words. */
enum how {
	RUNS_OPERAND, /* its first operands are a command */
	RUNS_OPTION,  /* the value of an option is a script, see `script` */
	RUNS_EITHER,  /* the one or the other; env: both */
	RUNS_JOINED,  /* its operands, joined by blanks, are a script */
	RUNS_FIRST,   /* its first operand is a script */
	RUNS_FOUND    /* find: what stands behind -exec */
};

/* Whom the lists of a definition judge. */
enum judged {
	JUDGED_INNER, /* the command inside */
	JUDGED_BOTH,  /* that, and the program itself */
	JUDGED_OUTER  /* the program: what it runs is looked at for harm alone */
};

static const struct wrapper {
	const char *name;
	enum how how;
	enum judged judged;
	int skip;             /* operands before the command */
	const char *takes;    /* letters of options with a value of their own */
	const char *words;    /* the same for long options, each with a blank behind it */
	const char *attached; /* letters of options whose value, if any, is in the same word */
	char letter;          /* the option whose value is a script, short and long */
	const char *script;
} wrappers[] = {
	{.name = "env",
		.how = RUNS_EITHER,
		.takes = "uSC",
		.words = "unset chdir split-string ",
		.letter = 'S',
		.script = "split-string"},
	{.name = "nice", .takes = "n", .words = "adjustment "},
	{.name = "ionice", .takes = "cnpPu", .words = "class classdata pid pgid uid "},
	{.name = "nohup"},
	{.name = "setsid"},
	{.name = "stdbuf", .takes = "ioe", .words = "input output error "},
	{.name = "timeout", .skip = 1, .takes = "ks", .words = "kill-after signal "},
	{.name = "time", .takes = "fo", .words = "format output "},
	{.name = "command"},
	{.name = "builtin"},
	{.name = "exec", .takes = "a"},
	{.name = "xargs",
		.takes = "adEILnPs",
		.words = "arg-file delimiter max-args max-chars max-procs process-slot-var ",
		.attached = "eil"},
	{.name = "parallel",
		.takes = "jPnIaNdCS",
		.words = "arg-file colsep delay delimiter jobs joblog max-args max-procs retries "
			 "sshlogin timeout tmpdir "},
	{.name = "busybox"},
	{.name = "toybox"},
	{.name = "chronic"},
	{.name = "unbuffer"},
	{.name = "chroot", .judged = JUDGED_BOTH, .skip = 1, .words = "groups userspec "},
	{.name = "watch",
		.how = RUNS_JOINED,
		.takes = "nq",
		.words = "interval equexit ",
		.attached = "d"},
	{.name = "strace",
		.takes = "aAbeEoOpPsSuUXI",
		.words = "attach columns const-print-style env interruptible output string-limit "
			 "summary-columns summary-sort-by trace trace-path user "},
	{.name = "ltrace",
		.takes = "aADeFlnopsuwxX",
		.words = "align config indent library output where "},
	{.name = "flock",
		.how = RUNS_EITHER,
		.skip = 1,
		.takes = "wE",
		.words = "conflict-exit-code timeout wait ",
		.letter = 'c',
		.script = "command"},
	{.name = "sudo",
		.judged = JUDGED_BOTH,
		.takes = "ugChpTRDrtU",
		.words =
			"chdir chroot close-from command-timeout group host other-user prompt role "
			"type user "},
	{.name = "doas", .judged = JUDGED_BOTH, .takes = "uC"},
	{.name = "script", .how = RUNS_EITHER, .letter = 'c', .script = "command"},
	{.name = "taskset", .skip = 1},
	{.name = "chrt",
		.skip = 1,
		.takes = "TPDp",
		.words = "sched-runtime sched-period sched-deadline pid "},
	{.name = "setpriv",
		.words =
			"inh-caps ambient-caps bounding-set ruid euid rgid egid reuid regid groups "
			"securebits pdeathsig selinux-label apparmor-profile "},
	{.name = "unshare",
		.takes = "SGRw",
		.words = "setgroups setuid setgid root wd propagation map-user map-group "},
	{.name = "nsenter",
		.takes = "tSGw",
		.words = "target setuid setgid ",
		.attached = "muinpCUTrw"},
	{.name = "setarch"},
	{.name = "linux32"},
	{.name = "linux64"},
	{.name = "i386"},
	{.name = "x86_64"},
	{.name = "prlimit", .takes = "po", .words = "pid output "},
	{.name = "choom", .takes = "np", .words = "adjust pid "},
	{.name = "numactl",
		.takes = "ipmNCwSLo",
		.words = "interleave preferred membind cpunodebind physcpubind "},
	{.name = "fakeroot", .takes = "lsib", .words = "lib faked unknown-is-real "},
	{.name = "eatmydata"},
	{.name = "valgrind"},
	{.name = "catchsegv"},
	{.name = "tini", .takes = "pe"},
	{.name = "dumb-init", .takes = "r", .words = "rewrite "},
	{.name = "npx", .judged = JUDGED_OUTER, .takes = "pc", .words = "package call "},
	{.name = "bunx", .judged = JUDGED_OUTER},
	{.name = "pnpx", .judged = JUDGED_OUTER},
	{.name = "shx", .judged = JUDGED_OUTER},
	{.name = "su",
		.how = RUNS_OPTION,
		.judged = JUDGED_BOTH,
		.letter = 'c',
		.script = "command"},
	{.name = "runuser",
		.how = RUNS_OPTION,
		.judged = JUDGED_BOTH,
		.letter = 'c',
		.script = "command"},
	{.name = "eval", .how = RUNS_JOINED, .judged = JUDGED_BOTH},
	{.name = "trap", .how = RUNS_FIRST, .judged = JUDGED_BOTH},
	{.name = "find", .how = RUNS_FOUND, .judged = JUDGED_BOTH},
};

static const struct wrapper *wrapper_of(const struct command *c)
{
	const char *name = harm_name(c);

	/* `command -v NAME` only looks. */
	if (harm_is(c, "command") && c->n > 1 &&
		(!strcmp(c->word[1].text, "-v") || !strcmp(c->word[1].text, "-V")))
		return NULL;
	for (size_t i = 0; i < COUNT(wrappers); i++)
		if (harm_same(name, wrappers[i].name))
			return &wrappers[i];
	return NULL;
}

static const struct shell {
	const char *name;
	enum { SHELL_SH, SHELL_BASH, SHELL_FOREIGN } kind;
} shells[] = {
	{"sh", SHELL_SH},
	{"dash", SHELL_SH},
	{"ash", SHELL_SH},
	{"busybox-sh", SHELL_SH},
	{"bash", SHELL_BASH},
	{"rbash", SHELL_BASH},
	{"zsh", SHELL_FOREIGN},
	{"ksh", SHELL_FOREIGN},
	{"mksh", SHELL_FOREIGN},
	{"fish", SHELL_FOREIGN},
};

static const struct shell *shell_of(const struct command *c)
{
	const char *name = harm_name(c);

	for (size_t i = 0; i < COUNT(shells); i++)
		if (harm_same(name, shells[i].name))
			return &shells[i];
	return NULL;
}

/* Is the value of this option the next word?  -n 5 and -0n 5, not -n5; --max-args 5, or an
 * abbreviation of it, not --max-args=5 */
static bool takes_next(const struct wrapper *w, const char *t)
{
	if (t[1] == '-') {
		size_t n = strlen(t + 2);

		for (const char *at = w->words ? w->words : ""; *at; at = strchr(at, ' ') + 1)
			if (!strncmp(at, t + 2, n))
				return true;
		return false;
	}
	for (t++; *t; t++) {
		if (w->attached && strchr(w->attached, *t))
			return false;
		if (w->takes && strchr(w->takes, *t))
			return !t[1];
	}
	return false;
}

/* NAME=VALUE in front of the command */
static bool takes_variables(const struct wrapper *w)
{
	return !strcmp(w->name, "env") || !strcmp(w->name, "sudo");
}

static size_t find_operand(const struct wrapper *w, const struct command *c)
{
	bool options = true;
	int skip = w->skip;
	size_t i = 1;

	for (; i < c->n; i++) {
		const char *t = c->word[i].text;

		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): every word has text */
		if (options && !strcmp(t, "--")) {
			options = false;
		} else if (options && t[0] == '-' && t[1]) {
			i += takes_next(w, t);
		} else if (takes_variables(w) && (strchr(t, '=') || !strcmp(t, "-"))) {
			continue;
		} else {
			options = false;
			if (skip-- <= 0)
				break;
		}
	}
	return i;
}

static char *join_words_from(const struct command *c, size_t from)
{
	struct str s = STR_INIT;

	for (size_t i = from; i < c->n; i++)
		str_addf(&s, "%s%s", i > from ? " " : "", c->word[i].text);
	return str_detach(&s);
}

/* How a shell was called. */
struct call {
	const struct shell_word *text; /* sh -c TEXT */
	bool file, errexit, nounset;
	bool startup; /* it reads a start-up file first: ~/.profile, ~/.bashrc, the one that is given */
};

/* sh -c TEXT, sh -ec TEXT, sh -o errexit -c TEXT, bash -euo pipefail -c -- TEXT, sh -s, sh FILE */
static struct call read_call(const struct command *c)
{
	struct call call = {0};
	bool text = false, input = false;
	size_t i = 1;

	for (; i < c->n; i++) {
		const char *t = c->word[i].text;

		if (!strcmp(t, "--") || !strcmp(t, "-")) {
			i++;
			break;
		}
		if (t[0] != '-' && t[0] != '+')
			break;
		if (!strcmp(t, "--rcfile") || !strcmp(t, "--init-file"))
			i++;
		if (t[1] == '-') {
			call.startup |= !strncmp(t, "--l", 3) || !strcmp(t, "--interactive");
			continue;
		}
		call.startup |= t[0] == '-' && strpbrk(t, "il");
		text |= t[0] == '-' && strchr(t, 'c');
		input |= t[0] == '-' && strchr(t, 's');
		call.errexit |= t[0] == '-' && strchr(t, 'e');
		call.nounset |= t[0] == '-' && strchr(t, 'u');
		if (strpbrk(t, "oO") && ++i < c->n) {
			call.errexit |= !strcmp(c->word[i].text, "errexit");
			call.nounset |= !strcmp(c->word[i].text, "nounset");
		}
	}
	if (text)
		call.text = i < c->n ? &c->word[i] : NULL;
	call.file = text || (!input && i < c->n && strcmp(c->word[i].text, "/dev/stdin"));
	return call;
}

/* A shell that gets its script as text is one too: the script's commands are judged. */
bool wrap_is_wrapper(const struct command *c)
{
	const struct wrapper *w = wrapper_of(c);

	if (shell_of(c))
		return read_call(c).text != NULL;
	return w && w->judged == JUDGED_INNER;
}

bool wrap_reads_script(const struct command *c)
{
	return shell_of(c) && !read_call(c).file;
}

/* The value of an option before `end` that is a script: -S TEXT, -STEXT, -iS TEXT,
 * --split-string=TEXT */
static const char *option_text(const struct command *c, size_t end, char letter, const char *word)
{
	for (size_t i = 1; i < c->n && i < end; i++) {
		const char *t = c->word[i].text, *next = i + 1 < c->n ? c->word[i + 1].text : NULL;
		const char *at = NULL;
		size_t n;

		if (!t)
			continue;
		if (t[0] == '-' && t[1] != '-')
			at = strchr(t, letter);
		n = strcspn(t, "=");
		if (at && (at[1] || next))
			return at[1] ? at + 1 : next;
		if (n > 2 && !strncmp(t, "--", 2) && !strncmp(t + 2, word, n - 2) && (t[n] || next))
			return t[n] ? t + n + 1 : next;
	}
	return NULL;
}

static void add_inner(const struct command *c, size_t from, size_t n, struct wrapped *w)
{
	struct command inner = *c;

	if (w->n == HARM_INNER_MAX || !n)
		return;
	inner.word = c->word + from;
	inner.n = n;
	w->inner[w->n++] = inner;
}

static void open_shell(const struct command *c, const struct shell *shell, struct wrapped *w)
{
	struct call call = read_call(c);

	w->bash = shell->kind == SHELL_BASH;
	w->sh = !w->bash;
	w->foreign = shell->kind == SHELL_FOREIGN;
	w->errexit = call.errexit;
	w->nounset = call.nounset;
	if (call.text) {
		w->script = call.text->text;
		w->dynamic = call.text->dynamic;
		w->startup = call.startup;
	} else if (!call.file) {
		w->script = c->input;
	}
}

/* The command with room for one word more, all of them its own to change. */
static struct command own_words(const struct command *c, struct wrapped *w)
{
	struct command copy = *c;

	w->words = xcalloc(c->n + 1, sizeof *w->words);
	memcpy(w->words, c->word, c->n * sizeof *w->words);
	copy.word = w->words;
	return copy;
}

/* {} stands for what is found: where that is all there is, for a wildcard. */
static void open_find(const struct command *c, struct wrapped *w)
{
	const char *all = search_all(c->word, c->n, &w->mem);
	struct command own = own_words(c, w);

	for (size_t i = 1; i < c->n && all; i++)
		if (!strcmp(w->words[i].text, "{}"))
			w->words[i] = (struct shell_word){.text = all, .glob = true};
	for (size_t i = 1; i + 1 < c->n; i++) {
		size_t end = i + 1;

		if (strncmp(c->word[i].text, "-exec", 5) && strncmp(c->word[i].text, "-ok", 3))
			continue;
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): every word has text */
		while (end < c->n && strcmp(c->word[end].text, ";") &&
			strcmp(c->word[end].text, "+"))
			end++;
		add_inner(&own, i + 1, end - i - 1, w);
	}
}

/* Text that is read as a script: by eval, trap, watch, env -S, su -c ... */
static void open_text(const struct command *c, const struct wrapper *how, struct wrapped *w)
{
	size_t end = find_operand(how, c);

	if (how->how == RUNS_JOINED) {
		w->script = w->made = join_words_from(c, end);
	} else if (how->how == RUNS_FIRST) {
		size_t at = 1 + (c->n > 1 && !strcmp(c->word[1].text, "--"));

		if (at + 1 < c->n && c->word[at].text[0] != '-')
			w->script = c->word[at].text;
	} else if (how->script) {
		/* what env and flock run may have such an option of its own */
		w->script = option_text(c,
			how->how == RUNS_OPTION      ? c->n
				: how->letter == 'S' ? end
						     : end + how->skip,
			how->letter, how->script);
	}
	w->sh = w->script && !harm_is(c, "eval") && !harm_is(c, "trap");
	for (size_t i = 1; w->script && i < c->n; i++)
		w->dynamic |= c->word[i].dynamic;
}

/* The operands of xargs and parallel, and what they read. */
static void add_operands(const struct command *c, size_t at, struct wrapped *w)
{
	struct command own;

	if (!c->listing || (!harm_is(c, "xargs") && !harm_is(c, "parallel"))) {
		add_inner(c, at, c->n - at, w);
		return;
	}
	own = own_words(c, w);
	w->words[own.n++] = (struct shell_word){.text = c->listing, .glob = true};
	own.listing = NULL;
	add_inner(&own, at, own.n - at, w);
}

/* env and sudo NAME=VALUE, strace -E NAME=VALUE; fakeroot -l LIBRARY is LD_PRELOAD.  A name that is not known could be any. */
static void note_variables(const struct command *c, size_t end, struct wrapped *w)
{
	for (size_t i = 1; i < end && i < c->n; i++) {
		const char *name = c->word[i].text, *equals;
		size_t n;

		if (harm_is(c, "fakeroot") &&
			(!strncmp(name, "-l", 2) || !strncmp(name, "--lib", 5)))
			w->runs = w->changes = true;
		if (!strncmp(name, "--env=", 6))
			name += 6;
		else if (!strncmp(name, "-E", 2))
			name += 2;
		equals = strchr(name, '=');
		n = equals ? (size_t)(equals - name) : 0;
		w->runs |= equals && shell_variable_runs(name, n);
		w->changes |= equals &&
			(shell_variable_changes(name, n) ||
				(c->word[i].dynamic && strcspn(name, "${}`()") < n));
	}
}

/* env, nice, timeout ...: the operands are a command. */
static void open_operands(const struct command *c, const struct wrapper *how, struct wrapped *w)
{
	size_t at = find_operand(how, c);

	/* taskset -c 0 cmd; setarch takes an architecture, or goes on to its options */
	if (harm_is(c, "setarch") && at < c->n && strpbrk(c->word[at].text, "0123456789_")) {
		struct command rest = {.word = c->word + at, .n = c->n - at};

		at += find_operand(how, &rest);
	}
	for (size_t i = 1; i < at && i < c->n && how->judged != JUDGED_OUTER; i++)
		w->loose |= c->word[i].loose;
	note_variables(c, at, w);
	if (at < c->n)
		add_operands(c, at, w);
}

void wrap_open(const struct command *c, struct wrapped *w)
{
	const struct shell *shell = shell_of(c);
	const struct wrapper *how = wrapper_of(c);

	memset(w, 0, sizeof *w);
	arena_init(&w->mem, 256);
	if (shell) {
		open_shell(c, shell, w);
		return;
	}
	w->script = w->made = embed_commands(c);
	if (w->script) {
		w->harm_only = w->sh = true;
		return;
	}
	if (!how)
		return;
	w->harm_only = how->judged == JUDGED_OUTER;
	if (how->how == RUNS_FOUND)
		open_find(c, w);
	else if (how->how != RUNS_OPERAND)
		open_text(c, how, w);
	if (how->how == RUNS_OPERAND ||
		(how->how == RUNS_EITHER && (!w->script || how->letter == 'S')))
		open_operands(c, how, w);
}

void wrap_release(struct wrapped *w)
{
	cleanup_free(&w->made);
	cleanup_free(&w->words);
	arena_release(&w->mem);
}
