/* harm.c - lists destructive commands. */
#include "policy/harm.h"

#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

const char *harm_name(const struct command *c)
{
	const char *slash = strrchr(c->word[0].text, '/');

	return slash ? slash + 1 : c->word[0].text;
}

bool harm_is(const struct command *c, const char *name)
{
	return harm_same(harm_name(c), name);
}

bool harm_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (harm_same(word, *list))
			return true;
	return false;
}

int harm_refuse(const struct command *c, struct err *e, const char *why)
{
	AUTO_STR struct str line = STR_INIT;
	char shown[200];

	for (size_t i = 0; i < c->n; i++)
		str_addf(&line, "%s%s", i ? " " : "", c->word[i].text);
	return err_set(e, ERR_REFUSED, "`%s` is refused: %s.",
		text_clean(shown, sizeof shown, line.s), why);
}

/* Is one of the operands a place of this kind? */
static bool names_place(const struct harm_options *o, const struct command *c, enum place_kind kind)
{
	for (size_t i = 1; i < c->n; i++)
		if (place_of(o, c, &c->word[i]).kind == kind)
			return true;
	return false;
}

static int judge_dd(const struct harm_options *o, const struct command *c, struct err *e)
{
	(void)o;
	for (size_t i = 1; i < c->n; i++)
		if (!strncmp(c->word[i].text, "of=", 3) && place_is_device(c->word[i].text + 3))
			return harm_refuse(c, e, "it overwrites a device");
	return 0;
}

static int onto_device(const struct harm_options *o, const struct command *c, struct err *e)
{
	(void)o;
	/* tee and shred write all operands, cp and mv and install the last. */
	bool last = harm_is(c, "cp") || harm_is(c, "mv") || harm_is(c, "install");

	for (size_t i = last ? c->n - 1 : 1; i && i < c->n; i++)
		if (place_is_device(c->word[i].text))
			return harm_refuse(c, e, "it overwrites a device");
	return 0;
}

/* A mode that takes the directories from their owner: 644, 000, a-x, -rwx, u=rw */
static bool shuts_out(const char *mode)
{
	size_t digits = strspn(mode, "01234567");
	char op;

	if (digits && !mode[digits])
		return digits < 3 || (mode[digits - 3] - '0') % 2 == 0;
	mode += strspn(mode, "ugoa");
	op = *mode;
	if (op != '-' && op != '=')
		return false;
	return !strchr(mode, ',') && (strpbrk(mode, "xX") != NULL) == (op == '-');
}

static int recursive_change(const struct harm_options *o, const struct command *c, struct err *e)
{
	if (!harm_option(c, 'R', "recursive", 1))
		return 0;
	if (names_place(o, c, PLACE_SYSTEM))
		return harm_refuse(c, e, "it changes a whole system directory");
	if (!harm_is(c, "chmod") || !names_place(o, c, PLACE_WORKSPACE))
		return 0;
	for (size_t i = 1; i < c->n; i++) {
		const char *t = c->word[i].text;

		/* the first that is no option is the mode; -x and -rwx are modes too */
		if (t[0] == '-' && strspn(t + 1, "rwxXst") != strlen(t + 1))
			continue;
		return shuts_out(t)
			? harm_refuse(c, e,
				  "it makes the workspace's directories inaccessible; use u+rwX,go-w")
			: 0;
	}
	return 0;
}

static int refuse_always(const struct harm_options *o, const struct command *c, struct err *e)
{
	(void)o;
	return harm_refuse(c, e, "it destroys file systems or partitions, or stops the machine");
}

static int needs_sudo(const struct harm_options *o, const struct command *c, struct err *e)
{
	if (o->sudo)
		return 0;
	return harm_refuse(c, e, "this agent runs without sudo (enable it in the definition)");
}

static int kill_all(const struct harm_options *o, const struct command *c, struct err *e)
{
	size_t i = 1;

	(void)o;
	if (i < c->n && (!strcmp(c->word[i].text, "-s") || !strcmp(c->word[i].text, "-n")))
		i += 2;
	else if (i < c->n &&
		(!strcmp(c->word[i].text, "-0") || c->word[i].text[1] == 'l' ||
			c->word[i].text[1] == 'L'))
		return 0;
	else if (i < c->n && c->word[i].text[0] == '-' && strcmp(c->word[i].text, "--"))
		i++;
	if (i < c->n && !strcmp(c->word[i].text, "--"))
		i++;
	for (; i < c->n; i++) {
		if (!strcmp(c->word[i].text, "1"))
			return harm_refuse(c, e, "it kills the container's init");
		if (!strcmp(c->word[i].text, "-1"))
			return harm_refuse(c, e, "it kills all processes");
	}
	return 0;
}

static const struct rule {
	const char *name; /* see harm_like */
	int (*check)(const struct harm_options *o, const struct command *c, struct err *e);
} rules[] = {
	{"rm", harm_rm},
	{"unlink", onto_device},
	{"dd", judge_dd},
	{"tee", onto_device},
	{"shred", onto_device},
	{"cp", onto_device},
	{"install", onto_device},
	{"mv", harm_mv},
	{"mv", onto_device},
	{"chmod", recursive_change},
	{"chown", recursive_change},
	{"chgrp", recursive_change},
	{"chattr", recursive_change},
	{"find", harm_find},
	{"rsync", harm_rsync},
	{"tar", harm_archive},
	{"zip", harm_archive},
	{"7z*", harm_archive},
	{"git", harm_git},
	{"mkfs", refuse_always},
	{"mkfs.*", refuse_always},
	{"mke2fs", refuse_always},
	{"mkswap", refuse_always},
	{"wipefs", refuse_always},
	{"blkdiscard", refuse_always},
	{"fdisk", refuse_always},
	{"sfdisk", refuse_always},
	{"cfdisk", refuse_always},
	{"gdisk", refuse_always},
	{"sgdisk", refuse_always},
	{"parted", refuse_always},
	{"shutdown", refuse_always},
	{"reboot", refuse_always},
	{"halt", refuse_always},
	{"poweroff", refuse_always},
	{"telinit", refuse_always},
	{"sudo", needs_sudo},
	{"sudoedit", needs_sudo},
	{"doas", needs_sudo},
	{"su", needs_sudo},
	{"pkexec", needs_sudo},
	{"runuser", needs_sudo},
	{"kill", kill_all},
};

int harm_command(const struct harm_options *o, const struct command *c, struct err *e)
{
	const char *name = harm_name(c);

	if (c->word[0].dynamic)
		return 0;
	for (size_t i = 0; i < COUNT(rules); i++)
		if (harm_like(rules[i].name, name) && rules[i].check(o, c, e))
			return -1;
	return harm_remover(o, c, e);
}

int harm_writes(const struct harm_options *o, const struct shell_command *c, struct err *e)
{
	struct command as = {.word = c->word, .n = c->n, .cwd = c->cwd, .or_cwd = c->or_cwd};

	for (size_t i = 0; i < c->nwrites; i++) {
		struct place p = place_of(o, &as, &c->writes[i]);

		if (p.kind && p.all && !c->writes[i].appends)
			return err_set(e, ERR_REFUSED,
				"a redirection is refused: it empties every file in the directory, one after the other.");
		if (place_is_device(c->writes[i].text)) {
			if (c->n)
				return harm_refuse(&as, e, "it writes onto a device");
			return err_set(e, ERR_REFUSED,
				"a redirection is refused: it writes onto a device.");
		}
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
