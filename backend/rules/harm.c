/* harm.c - tables of what destroys and of what wraps. */
#include "rules/harm.h"

#include <fnmatch.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

const char *harm_name(const struct command *c)
{
	const char *slash = strrchr(c->word[0].text, '/');

	return slash ? slash + 1 : c->word[0].text;
}

static bool is(const struct command *c, const char *name)
{
	return !strcmp(harm_name(c), name);
}

static bool one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(word, *list))
			return true;
	return false;
}

static int refuse(const struct command *c, struct err *e, const char *why)
{
	AUTO_STR struct str line = STR_INIT;
	char shown[200];

	for (size_t i = 0; i < c->n; i++)
		str_addf(&line, "%s%s", i ? " " : "", c->word[i].text);
	return err_set(e, ERR_REFUSED, "`%s` is refused: %s.",
		text_clean(shown, sizeof shown, line.s), why);
}

/* "//usr/./../etc/" becomes "/etc"; only for absolute paths. */
static void normalise(const char *path, struct str *out)
{
	AUTO_FREE char *copy = xstrdup(path);
	char *save = NULL;

	str_clear(out);
	for (char *part = strtok_r(copy, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
		if (!strcmp(part, "."))
			continue;
		if (!strcmp(part, "..")) {
			char *slash = strrchr(out->s, '/');

			if (slash) {
				*slash = '\0';
				out->len = (size_t)(slash - out->s);
			}
			continue;
		}
		str_addf(out, "/%s", part);
	}
	if (!out->len)
		str_addc(out, '/');
}

static const char *const system_dirs[] = {"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib",
	"/lib32", "/lib64", "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/usr",
	"/usr/bin", "/usr/lib", "/usr/local", "/usr/sbin", "/usr/share", "/var", "/var/lib", NULL};

static bool below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return !strncmp(path, dir, n) && (path[n] == '/' || (n && dir[n - 1] == '/'));
}

/* Does the path name the root, a directory of the system, a home, or all that is in one of them? */
static bool vital(const struct harm_options *o, const struct shell_word *w)
{
	AUTO_STR struct str path = STR_INIT;
	char *last;

	if (w->text[0] != '/')
		return false;
	normalise(w->text, &path);
	for (size_t i = 0; i < o->nwritable; i++)
		if (!strcmp(path.s, o->writable[i]) || below(path.s, o->writable[i]))
			return false;
	/* Everything in it is as good as itself: /etc/ followed by a bare wildcard */
	last = strrchr(path.s, '/');
	if (last[1] && w->glob && strspn(last + 1, "*?.") == strlen(last + 1) &&
		strpbrk(last + 1, "*?")) {
		last[last == path.s] = '\0';
		path.len = strlen(path.s);
	}
	if (one_of(path.s, system_dirs) || !strcmp(path.s, o->home))
		return true;
	/* A glob such as /[a-z]* or /e?c may stand for one of them. */
	for (const char *const *d = system_dirs; w->glob && *d; d++)
		if (!fnmatch(path.s, *d, FNM_PATHNAME))
			return true;
	return false;
}

static bool device(const char *path)
{
	static const char *const harmless[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/stdin",
		"/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/random", "/dev/urandom", NULL};
	/* below tcp and udp are connections that the shell makes */
	static const char *const harmless_dirs[] = {
		"/dev/fd", "/dev/shm", "/dev/pts", "/dev/tcp", "/dev/udp"};
	AUTO_STR struct str p = STR_INIT;

	if (path[0] != '/')
		return false;
	normalise(path, &p);
	for (size_t i = 0; i < COUNT(harmless_dirs); i++)
		if (below(p.s, harmless_dirs[i]))
			return false;
	return below(p.s, "/dev") && !one_of(p.s, harmless);
}

/* Is the short option letter or the long option (or an abbreviation of it) there? */
static bool option(const struct command *c, char letter, const char *word, size_t least)
{
	for (size_t i = 1; i < c->n; i++) {
		const char *t = c->word[i].text;
		size_t n = strlen(t);

		if (!strcmp(t, "--"))
			return false;
		if (t[0] == '-' && t[1] == '-') {
			if (word && n >= least + 2 && n <= strlen(word) + 2 &&
				!strncmp(t + 2, word, n - 2))
				return true;
		} else if (letter && t[0] == '-' && strchr(t + 1, letter)) {
			return true;
		}
	}
	return false;
}

static bool any_vital(const struct harm_options *o, const struct command *c, size_t from)
{
	for (size_t i = from; i < c->n; i++)
		if (vital(o, &c->word[i]))
			return true;
	return false;
}

static int rm(const struct harm_options *o, const struct command *c, struct err *e)
{
	if (option(c, 0, "no-preserve-root", 3))
		return refuse(c, e, "it asks to delete the root directory");
	if ((option(c, 'r', "recursive", 1) || option(c, 'R', NULL, 0)) && any_vital(o, c, 1))
		return refuse(
			c, e, "it deletes a system directory, or a home, with all that is in it");
	return 0;
}

static int dd(const struct harm_options *o, const struct command *c, struct err *e)
{
	(void)o;
	for (size_t i = 1; i < c->n; i++)
		if (!strncmp(c->word[i].text, "of=", 3) && device(c->word[i].text + 3))
			return refuse(c, e, "it overwrites a device");
	return 0;
}

static int onto_device(const struct harm_options *o, const struct command *c, struct err *e)
{
	(void)o;
	/* tee and shred write all operands, cp and mv and install the last. */
	bool last = is(c, "cp") || is(c, "mv") || is(c, "install");

	for (size_t i = last ? c->n - 1 : 1; i && i < c->n; i++)
		if (device(c->word[i].text))
			return refuse(c, e, "it overwrites a device");
	return 0;
}

static int mv(const struct harm_options *o, const struct command *c, struct err *e)
{
	for (size_t i = 1; i + 1 < c->n; i++)
		if (vital(o, &c->word[i]))
			return refuse(c, e, "it moves a system directory away");
	if (c->n > 2 && !strcmp(c->word[c->n - 1].text, "/dev/null"))
		return refuse(c, e, "it moves files into nothing");
	return onto_device(o, c, e);
}

static int recursive_change(const struct harm_options *o, const struct command *c, struct err *e)
{
	if ((option(c, 'R', "recursive", 1)) && any_vital(o, c, 1))
		return refuse(c, e, "it changes a whole system directory");
	return 0;
}

static int find(const struct harm_options *o, const struct command *c, struct err *e)
{
	bool deletes = false, narrowed = false, at_vital = false;

	for (size_t i = 1; i < c->n; i++) {
		const char *t = c->word[i].text;

		if (!strcmp(t, "-delete") ||
			((!strcmp(t, "-exec") || !strcmp(t, "-execdir")) && i + 1 < c->n &&
				!strcmp(c->word[i + 1].text, "rm")))
			deletes = true;
		if (!strncmp(t, "-name", 5) || !strncmp(t, "-iname", 6) ||
			!strncmp(t, "-path", 5) || !strncmp(t, "-regex", 6) ||
			!strcmp(t, "-user") || !strcmp(t, "-newer"))
			narrowed = true;
		if (t[0] == '/')
			at_vital |= vital(o, &c->word[i]);
	}
	return deletes && at_vital && !narrowed
		? refuse(c, e, "it deletes all that is below a system directory")
		: 0;
}

static int always(const struct harm_options *o, const struct command *c, struct err *e)
{
	(void)o;
	return refuse(c, e, "it destroys file systems or partitions, or stops the machine");
}

static int needs_sudo(const struct harm_options *o, const struct command *c, struct err *e)
{
	if (o->sudo)
		return 0;
	return refuse(c, e, "this agent runs without sudo (enable it in the definition)");
}

static int kill_all(const struct harm_options *o, const struct command *c, struct err *e)
{
	(void)o;
	for (size_t i = 1; i < c->n; i++)
		if (!strcmp(c->word[i].text, "1") && i == c->n - 1)
			return refuse(c, e, "it kills the container's init");
	if (c->n >= 2 && !strcmp(c->word[c->n - 1].text, "-1") &&
		(c->n >= 3 || !strcmp(harm_name(c), "kill")) && c->n != 2)
		return refuse(c, e, "it kills every process there is");
	return 0;
}

static int interpreter(const struct harm_options *o, const struct command *c, struct err *e)
{
	static const char *const calls[] = {"rmtree('/')", "rmtree(\"/\")", "rmtree('/',",
		"rmtree(\"/\",", "rmSync('/'", "rmSync(\"/\"", "rm_rf('/')", "rm_rf(\"/\")",
		"rm_rf '/'", NULL};

	(void)o;
	for (size_t i = 1; i < c->n; i++)
		for (const char *const *call = calls; *call; call++)
			if (strstr(c->word[i].text, *call))
				return refuse(c, e, "it deletes the root directory");
	return 0;
}

static int rsync(const struct harm_options *o, const struct command *c, struct err *e)
{
	bool deletes = false;

	for (size_t i = 1; i < c->n; i++)
		deletes |= !strncmp(c->word[i].text, "--del", 5);
	return deletes && vital(o, &c->word[c->n - 1])
		? refuse(c, e, "it deletes what is in a system directory")
		: 0;
}

static const struct rule {
	const char *name; /* may be a pattern */
	int (*check)(const struct harm_options *o, const struct command *c, struct err *e);
} rules[] = {
	{"rm", rm},
	{"unlink", onto_device},
	{"dd", dd},
	{"tee", onto_device},
	{"shred", onto_device},
	{"cp", onto_device},
	{"install", onto_device},
	{"mv", mv},
	{"chmod", recursive_change},
	{"chown", recursive_change},
	{"chgrp", recursive_change},
	{"chattr", recursive_change},
	{"find", find},
	{"rsync", rsync},
	{"mkfs", always},
	{"mkfs.*", always},
	{"mke2fs", always},
	{"mkswap", always},
	{"wipefs", always},
	{"blkdiscard", always},
	{"fdisk", always},
	{"sfdisk", always},
	{"cfdisk", always},
	{"gdisk", always},
	{"sgdisk", always},
	{"parted", always},
	{"shutdown", always},
	{"reboot", always},
	{"halt", always},
	{"poweroff", always},
	{"telinit", always},
	{"sudo", needs_sudo},
	{"sudoedit", needs_sudo},
	{"doas", needs_sudo},
	{"su", needs_sudo},
	{"pkexec", needs_sudo},
	{"runuser", needs_sudo},
	{"kill", kill_all},
	{"python*", interpreter},
	{"node", interpreter},
	{"ruby*", interpreter},
	{"perl*", interpreter},
};

int harm_command(const struct harm_options *o, const struct command *c, struct err *e)
{
	const char *name = harm_name(c);

	if (c->word[0].dynamic)
		return 0;
	for (size_t i = 0; i < COUNT(rules); i++)
		if (!fnmatch(rules[i].name, name, 0) && rules[i].check(o, c, e))
			return -1;
	return 0;
}

int harm_writes(const struct shell_command *c, struct err *e)
{
	struct command as = {c->word, c->n};

	for (size_t i = 0; i < c->nwrites; i++)
		if (device(c->writes[i].text)) {
			if (c->n)
				return refuse(&as, e, "it writes onto a device");
			return err_set(e, ERR_REFUSED,
				"a redirection is refused: it writes onto a device.");
		}
	return 0;
}

int harm_script(const struct shell_script *s, struct err *e)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct shell_command *a = &s->command[i];
		const struct shell_command *last = NULL;
		bool at_once = false;
		size_t calls = 0;

		/* f() { f & f & }: two or more of itself, without end, at least one in the
		 * background, or side by side in a pipe */
		for (size_t k = 0; a->function && k < s->n; k++) {
			const struct shell_command *b = &s->command[k];

			if (!b->function || !b->n || strcmp(b->function, a->function) ||
				strcmp(b->word[0].text, a->function))
				continue;
			calls += b->background ? 2 : 1;
			at_once |= b->background || (last && last + 1 == b && last->piped);
			last = b;
		}
		if (calls >= 3 && at_once)
			return err_set(e, ERR_REFUSED,
				"the script is refused: its function %s starts itself twice, over and over "
				"(a fork bomb).",
				a->function);
	}
	return 0;
}

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
	{"tini", 0, "pe", "", ""},
	{"dumb-init", 0, "r", "rewrite ", ""},
};

static const struct wrapper *wrapper_of(const struct command *c)
{
	/* `command -v NAME` only looks. */
	if (is(c, "command") && c->n > 1 &&
		(!strcmp(c->word[1].text, "-v") || !strcmp(c->word[1].text, "-V")))
		return NULL;
	for (size_t i = 0; i < COUNT(wrappers); i++)
		if (is(c, wrappers[i].name))
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

/* sh -c TEXT, sh -ec TEXT, sh -o errexit -c TEXT, bash -euo pipefail -c -- TEXT */
static const char *shell_text(const struct command *c)
{
	bool text = false;

	for (size_t i = 1; i < c->n; i++) {
		const char *t = c->word[i].text;

		if (!strcmp(t, "--") || !strcmp(t, "-"))
			return text && i + 1 < c->n ? c->word[i + 1].text : NULL;
		if (t[0] != '-' && t[0] != '+')
			return text ? t : NULL;
		if (!strcmp(t, "--rcfile") || !strcmp(t, "--init-file"))
			i++;
		if (t[1] == '-')
			continue;
		text |= t[0] == '-' && strchr(t, 'c');
		i += strpbrk(t, "oO") != NULL;
	}
	return NULL;
}

/* A shell that gets its script as text is one too: the script's commands are judged. */
bool harm_is_wrapper(const struct command *c)
{
	if (one_of(harm_name(c), shells))
		return shell_text(c) != NULL;
	return wrapper_of(c) && !is(c, "sudo") && !is(c, "doas") && !is(c, "chroot");
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

void harm_unwrap(const struct command *c, struct command inner[HARM_INNER_MAX], size_t *n,
	const char **script, char **made)
{
	const struct wrapper *w = wrapper_of(c);
	size_t at;

	*n = 0;
	if (one_of(harm_name(c), shells)) {
		*script = shell_text(c);
		return;
	}
	if (is(c, "eval") || is(c, "watch")) {
		at = w ? operand(w, c) : 1;
		*script = *made = join(c, at);
		return;
	}
	if (is(c, "env"))
		*script = option_text(c, operand(w, c), 'S', "split-string");
	if (is(c, "su") || is(c, "script") || is(c, "flock")) {
		/* what flock runs may have a -c of its own */
		*script = option_text(c, is(c, "flock") ? operand(w, c) + 1 : c->n, 'c', "command");
		if (*script)
			return;
	}
	if (is(c, "find"))
		for (size_t i = 1; i + 1 < c->n && *n < HARM_INNER_MAX; i++)
			if (!strncmp(c->word[i].text, "-exec", 5) ||
				!strncmp(c->word[i].text, "-ok", 3)) {
				size_t end = i + 1;

				/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): as above */
				while (end < c->n && strcmp(c->word[end].text, ";") &&
					strcmp(c->word[end].text, "+"))
					end++;
				if (end > i + 1)
					inner[(*n)++] =
						(struct command){c->word + i + 1, end - i - 1};
			}
	if (w && (at = operand(w, c)) < c->n)
		inner[(*n)++] = (struct command){c->word + at, c->n - at};
}
