/* wrap.c - tables of programs that run others: what their inner command is. */
#include "rules/harm.h"

#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>

/* Programs whose operand is a command. */
static const struct wrapper {
	const char *name;
	int skip;             /* operands before it */
	const char *takes;    /* letters of options with a value of their own */
	const char *words;    /* the same for long options, each with a blank behind it */
	const char *attached; /* letters of options whose value, if any, is in the same word */
} wrappers[] = {
	{"env", 0, "uSC", "unset chdir split-string ", ""},
	{"nice", 0, "n", "adjustment ", ""},
	{"ionice", 0, "cnpPu", "class classdata pid pgid uid ", ""},
	{"nohup", 0, "", "", ""},
	{"setsid", 0, "", "", ""},
	{"stdbuf", 0, "ioe", "input output error ", ""},
	{"timeout", 1, "ks", "kill-after signal ", ""},
	{"time", 0, "fo", "format output ", ""},
	{"command", 0, "", "", ""},
	{"builtin", 0, "", "", ""},
	{"exec", 0, "a", "", ""},
	{"xargs", 0, "adEILnPs",
		"arg-file delimiter max-args max-chars max-procs process-slot-var ", "eil"},
	{"busybox", 0, "", "", ""},
	{"toybox", 0, "", "", ""},
	{"chronic", 0, "", "", ""},
	{"unbuffer", 0, "", "", ""},
	{"chroot", 1, "", "groups userspec ", ""},
	{"watch", 0, "nq", "interval equexit ", "d"},
	{"strace", 0, "aAbeEoOpPsSuUXI",
		"attach columns const-print-style env interruptible output string-limit "
		"summary-columns summary-sort-by trace trace-path user ",
		""},
	{"ltrace", 0, "aADeFlnopsuwxX", "align config indent library output where ", ""},
	{"flock", 1, "wE", "conflict-exit-code timeout wait ", ""},
	{"sudo", 0, "ugChpTRDrtU",
		"chdir chroot close-from command-timeout group host other-user prompt role type "
		"user ",
		""},
	{"doas", 0, "uC", "", ""},
	{"script", 0, "", "", ""},
	{"parallel", 0, "jPnIaNdCS",
		"arg-file colsep delay delimiter jobs joblog max-args max-procs retries sshlogin "
		"timeout tmpdir ",
		""},
	{"taskset", 1, "", "", ""},
	{"chrt", 1, "TPDp", "sched-runtime sched-period sched-deadline pid ", ""},
	{"setpriv", 0, "",
		"inh-caps ambient-caps bounding-set ruid euid rgid egid reuid regid groups securebits "
		"pdeathsig selinux-label apparmor-profile ",
		""},
	{"unshare", 0, "SGRw", "setgroups setuid setgid root wd propagation map-user map-group ",
		""},
	{"nsenter", 0, "tSGw", "target setuid setgid ", "muinpCUTrw"},
	{"setarch", 0, "", "", ""},
	{"linux32", 0, "", "", ""},
	{"linux64", 0, "", "", ""},
	{"i386", 0, "", "", ""},
	{"x86_64", 0, "", "", ""},
	{"prlimit", 0, "po", "pid output ", ""},
	{"choom", 0, "np", "adjust pid ", ""},
	{"numactl", 0, "ipmNCwSLo", "interleave preferred membind cpunodebind physcpubind ", ""},
	{"fakeroot", 0, "lsib", "lib faked unknown-is-real ", ""},
	{"eatmydata", 0, "", "", ""},
	{"valgrind", 0, "", "", ""},
	{"catchsegv", 0, "", "", ""},
	{"tini", 0, "pe", "", ""},
	{"dumb-init", 0, "r", "rewrite ", ""},
};

static const struct wrapper *wrapper_of(const struct command *c)
{
	/* `command -v NAME` only looks. */
	if (harm_is(c, "command") && c->n > 1 &&
		(!strcmp(c->word[1].text, "-v") || !strcmp(c->word[1].text, "-V")))
		return NULL;
	for (size_t i = 0; i < COUNT(wrappers); i++)
		if (harm_is(c, wrappers[i].name))
			return &wrappers[i];
	return NULL;
}

static const char *const shells[] = {
	"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "busybox-sh", "rbash", "fish", NULL};

/* Is the value of this option the next word?  -n 5 and -0n 5, not -n5; --max-args 5, or an
 * abbreviation of it, not --max-args=5 */
static bool takes_next(const struct wrapper *w, const char *t)
{
	if (t[1] == '-') {
		size_t n = strlen(t + 2);

		for (const char *at = w->words; *at; at = strchr(at, ' ') + 1)
			if (!strncmp(at, t + 2, n))
				return true;
		return false;
	}
	for (t++; *t; t++) {
		if (strchr(w->attached, *t))
			return false;
		if (strchr(w->takes, *t))
			return !t[1];
	}
	return false;
}

static size_t operand(const struct wrapper *w, const struct command *c)
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
		} else if (!strcmp(w->name, "env") && (strchr(t, '=') || !strcmp(t, "-"))) {
			continue;
		} else {
			options = false;
			if (skip-- <= 0)
				break;
		}
	}
	return i;
}

static char *join(const struct command *c, size_t from)
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
		if (t[1] == '-')
			continue;
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
	if (harm_one_of(harm_name(c), shells))
		return read_call(c).text != NULL;
	return wrapper_of(c) && !harm_is(c, "sudo") && !harm_is(c, "doas") && !harm_is(c, "chroot");
}

bool wrap_reads_script(const struct command *c)
{
	return harm_one_of(harm_name(c), shells) && !read_call(c).file;
}

/* The value of an option before `end` that is a script: -S TEXT, -STEXT, -iS TEXT,
 * --split-string=TEXT */
static const char *option_text(const struct command *c, size_t end, char letter, const char *word)
{
	for (size_t i = 1; i < c->n && i < end; i++) {
		const char *t = c->word[i].text, *next = i + 1 < c->n ? c->word[i + 1].text : NULL;
		const char *at = t[0] == '-' && t[1] != '-' ? strchr(t, letter) : NULL;
		size_t n = strcspn(t, "=");

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

static void open_shell(const struct command *c, struct wrapped *w)
{
	static const char *const bash[] = {"bash", "rbash", NULL},
				 *const posix[] = {"sh", "dash", "ash", "busybox-sh", NULL};
	struct call call = read_call(c);

	w->bash = harm_one_of(harm_name(c), bash);
	w->sh = !w->bash;
	w->foreign = w->sh && !harm_one_of(harm_name(c), posix);
	w->errexit = call.errexit;
	w->nounset = call.nounset;
	if (call.text) {
		w->script = call.text->text;
		w->dynamic = call.text->dynamic;
	} else if (!call.file) {
		w->script = c->input;
	}
}

static void open_find(const struct command *c, struct wrapped *w)
{
	for (size_t i = 1; i + 1 < c->n; i++) {
		size_t end = i + 1;

		if (strncmp(c->word[i].text, "-exec", 5) && strncmp(c->word[i].text, "-ok", 3))
			continue;
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): every word has text */
		while (end < c->n && strcmp(c->word[end].text, ";") &&
			strcmp(c->word[end].text, "+"))
			end++;
		add_inner(c, i + 1, end - i - 1, w);
	}
}

/* Text that is read as a script: by eval, trap, watch, env -S, su -c ... */
static void open_text(const struct command *c, const struct wrapper *how, struct wrapped *w)
{
	size_t end = how ? operand(how, c) : 1;

	if (harm_is(c, "eval") || harm_is(c, "watch")) {
		w->script = w->made = join(c, end);
	} else if (harm_is(c, "trap")) {
		size_t at = 1 + (c->n > 1 && !strcmp(c->word[1].text, "--"));

		if (at + 1 < c->n && c->word[at].text[0] != '-')
			w->script = c->word[at].text;
	} else if (harm_is(c, "env")) {
		w->script = option_text(c, end, 'S', "split-string");
	} else if (harm_is(c, "su") || harm_is(c, "script") || harm_is(c, "flock") ||
		harm_is(c, "runuser")) {
		/* what flock runs may have a -c of its own */
		w->script = option_text(c, harm_is(c, "flock") ? end + 1 : c->n, 'c', "command");
	}
	w->sh = w->script && !harm_is(c, "eval") && !harm_is(c, "trap");
	for (size_t i = 1; w->script && i < c->n; i++)
		w->dynamic |= c->word[i].dynamic;
}

void wrap_open(const struct command *c, struct wrapped *w)
{
	const struct wrapper *how = wrapper_of(c);
	size_t at;

	memset(w, 0, sizeof *w);
	if (harm_one_of(harm_name(c), shells)) {
		open_shell(c, w);
		return;
	}
	w->script = w->made = embed_commands(c);
	if (w->script) {
		w->harm_only = w->sh = true;
		return;
	}
	open_text(c, how, w);
	if (harm_is(c, "find"))
		open_find(c, w);
	if (!how || (w->script && !harm_is(c, "env")))
		return;
	at = operand(how, c);
	/* taskset -c 0 cmd; setarch takes an architecture, or goes on to its options */
	if (harm_is(c, "setarch") && at < c->n && strpbrk(c->word[at].text, "0123456789_")) {
		struct command rest = {.word = c->word + at, .n = c->n - at};

		at += operand(how, &rest);
	}
	for (size_t i = 1; i < at && i < c->n; i++)
		w->loose |= c->word[i].loose;
	if (at < c->n)
		add_inner(c, at, c->n - at, w);
}

void wrap_release(struct wrapped *w)
{
	cleanup_free(&w->made);
}
