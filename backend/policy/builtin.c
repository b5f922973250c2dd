/* builtin.c - evaluates shell builtins such as cd, read, export and set. */
#include "policy/parser.h"

#include <string.h>

#include <berth/arena.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "policy/harm.h"

static void change_directory(
	struct parser *p, const struct shell_word *word, size_t n, bool checked)
{
	const char *before = p->cwd, *to = p->o->home;
	size_t i = 1;

	while (i < n && word[i].text[0] == '-' && word[i].text[1])
		i++;
	p->or_cwd = NULL;
	if (i < n)
		to = word[i].text;
	if (i < n && (word[i].dynamic || word[i].glob || !strcmp(to, "-")))
		p->cwd = NULL;
	else if (*to == '/')
		p->cwd = to;
	else if (before && *to)
		p->cwd = arena_printf(&p->out->mem, "%s/%s", before, to);
	if (!checked && !p->errexit)
		p->or_cwd = before;
	if (checked && !p->errexit && !p->behind_cwd) {
		p->behind_cwd = before;
		p->behind_frames = p->nframes;
	}
	/* mkdir before it: then it is there */
	for (size_t k = 0; k < p->out->n; k++)
		if (p->out->command[k].n && !strcmp(p->out->command[k].word[0].text, "mkdir"))
			p->or_cwd = p->behind_cwd = NULL;
}

/* Builtins that run text, or change how what follows is read. */
static const struct doubtful {
	const char *name, *option; /* an option, or an operand, begins with this; NULL: always */
	const char *construct;
} doubtfuls[] = {
	{"alias", NULL, "alias"},
	{"enable", NULL, "enable"},
	{"compgen", NULL, "compgen"},
	{"complete", NULL, "complete"},
	{"fc", NULL, "fc"},
	{"hash", "-p", "hash -p"},
	{"jobs", "-x", "jobs -x"},
	{"mapfile", "-C", "mapfile -C"},
	{"readarray", "-C", "readarray -C"},
	{"declare", "-n", "declare -n"},
	{"typeset", "-n", "typeset -n"},
	{"local", "-n", "local -n"},
	{"shopt", "extglob", "shopt -s extglob"},
	{"shopt", "expand_aliases", "shopt -s expand_aliases"},
	{"set", "-H", "set -H"},
	{"set", "histexpand", "set -o histexpand"},
	{"set", "posix", "set -o posix"},
	{"source", "/dev/", "source of a device or of a process"},
	{".", "/dev/", "source of a device or of a process"},
	{"source", "/proc/", "source of a device or of a process"},
	{".", "/proc/", "source of a device or of a process"},
};

/* Those that take a name which may have a subscript, and evaluate that. */
static const char *const evaluating[] = {"let", "unset", "read", "declare", "typeset", "local",
	"export", "readonly", "mapfile", "readarray", "getopts", "wait", NULL};

static void doubt_variables(struct parser *p, const struct shell_word *word, size_t n)
{
	const char *name = word[0].text;
	bool by_option = !strcmp(name, "test") || !strcmp(name, "[") || !strcmp(name, "printf");

	p->out->evaluates |= harm_one_of(word[0].text, evaluating);
	for (size_t i = 1; i < n && by_option; i++)
		p->out->evaluates |= !strncmp(word[i].text, "-v", 2);
	for (const struct doubtful *d = doubtfuls; d < doubtfuls + COUNT(doubtfuls); d++) {
		bool found = !d->option;

		if (!harm_same(name, d->name))
			continue;
		for (size_t i = 1; i < n && !found; i++)
			found = !strncmp(word[i].text, d->option, strlen(d->option));
		if (found)
			parser_unclear(p, d->construct);
	}
}

void builtin_command(struct parser *p, const struct shell_word *word, size_t n, bool checked)
{
	static const char *const declare[] = {
		"export", "readonly", "local", "declare", "typeset", NULL};
	static const char *const read[] = {
		"read", "getopts", "mapfile", "readarray", "unset", NULL};
	static const char *const change[] = {"cd", "pushd", "chdir", NULL};

	if (!n || word[0].dynamic)
		return;
	doubt_variables(p, word, n);
	if (harm_one_of(word[0].text, change))
		change_directory(p, word, n, checked);
	if (!strcmp(word[0].text, "popd"))
		p->cwd = p->or_cwd = NULL;
	if (!strcmp(word[0].text, "set"))
		for (size_t i = 1; i < n && word[i].text[0] == '-' && strcmp(word[i].text, "--");
			i++) {
			const char *name = i + 1 < n ? word[i + 1].text : "";
			bool named = !strcmp(word[i].text, "-o");

			p->errexit |= named ? !strcmp(name, "errexit")
					    : strchr(word[i].text, 'e') != NULL;
			p->out->nounset |= named ? !strcmp(name, "nounset")
						 : strchr(word[i].text, 'u') != NULL;
			i += strchr(word[i].text, 'o') != NULL;
		}
	for (size_t i = 1; i < n; i++) {
		const char *eq = strchr(word[i].text, '=');

		if (eq && word[i].assigns &&
			(harm_one_of(word[0].text, declare) || !strcmp(word[0].text, "env")))
			variable_set(p, word[i].text, (size_t)(eq - word[i].text),
				word[i].dynamic ? NULL : eq + 1, false);
		else if (name_char(word[i].text[0]) && harm_one_of(word[0].text, read))
			variable_set(p, word[i].text,
				strspn(word[i].text,
					"abcdefghijklmnopqrstuvwxyz"
					"ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"),
				NULL, false);
	}
}
