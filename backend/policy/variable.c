/* variable.c - tracks the variables that a script assigns. */
#include "policy/parser.h"

#include <string.h>
#include <strings.h>

#include <berth/arena.h>
#include <berth/mem.h>
#include <berth/str.h>

/* How often the name stands in the script without a $ before it: as something that may assign it. */
static size_t count_mentions(const char *text, const char *name, size_t n)
{
	size_t found = 0;

	for (const char *at = text; (at = strstr(at, name)); at += n) {
		char before = at > text ? at[-1] : '\0', twice = at > text + 1 ? at[-2] : '\0';

		if (name_char(before) || name_char(at[n]))
			continue;
		if (before == '$')
			continue;
		if (before == '{' && twice == '$' && at[n] != '=' && at[n] != '[' &&
			!(at[n] == ':' && at[n + 1] == '='))
			continue;
		found++;
	}
	return found;
}

/* The shell itself gives these their values. */
static bool is_special(const char *name)
{
	static const char *const names[] = {"RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID",
		"GROUPS", "DIRSTACK", "FUNCNAME", "HOME", "PWD", "OLDPWD", "IFS", "SRANDOM",
		"OPTARG", "OPTIND", "REPLY", "COLUMNS", "LINES", "_", NULL};

	for (const char *const *at = names; *at; at++)
		if (!strcmp(name, *at))
			return true;
	return !strncmp(name, "BASH", 4) || !strncmp(name, "EPOCH", 5) ||
		!strncmp(name, "COMP_", 5);
}

static bool has_name(const char *const *names, const char *name, size_t n)
{
	for (const char *const *at = names; *at; at++)
		if (strlen(*at) == n && !memcmp(name, *at, n))
			return true;
	return false;
}

bool shell_variable_runs(const char *name, size_t n)
{
	static const char *const names[] = {"BASH_ENV", "LD_PRELOAD", "LD_AUDIT", "PS4",
		"PROMPT_COMMAND", "SHELLOPTS", "BASHOPTS", NULL};

	return has_name(names, name, n);
}

static bool has_beginning(const char *const *begins, const char *name, size_t n)
{
	for (const char *const *at = begins; *at; at++)
		if (strlen(*at) <= n && !memcmp(name, *at, strlen(*at)))
			return true;
	return false;
}

bool shell_variable_changes(const char *name, size_t n)
{
	static const char *const names[] = {"PATH", "ENV", "GCONV_PATH", "PYTHONSTARTUP",
		"PYTHONPATH", "PYTHONHOME", "PYTHONBREAKPOINT", "PERL5OPT", "PERL5LIB", "PERL5DB",
		"RUBYOPT", "RUBYLIB", "NODE_OPTIONS", "NODE_PATH", "LUA_INIT", "R_PROFILE_USER",
		"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "DOTNET_STARTUP_HOOKS",
		"MAKEFLAGS", "GNUMAKEFLAGS", "GOFLAGS", "RUSTC_WRAPPER", "LESSOPEN", "EDITOR",
		"VISUAL", "PAGER", "MANPAGER", "BROWSER", "SSH_ASKPASS", NULL};
	static const char *const begins[] = {"LD_", "BASH_FUNC_", "GIT_", NULL};
	static const char npm[] = "npm_config_"; /* to npm small letters are capitals */
	static const char *const harmless[] = {
		"GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_TERMINAL_PROMPT", NULL};

	return shell_variable_runs(name, n) || has_name(names, name, n) ||
		(n >= sizeof npm - 1 && !strncasecmp(name, npm, sizeof npm - 1)) ||
		(has_beginning(begins, name, n) && !has_beginning(harmless, name, n));
}

const struct variable *variable_find(const struct parser *p, const char *name, size_t n)
{
	for (size_t i = p->nvariables; i--;)
		if (!strncmp(p->variable[i].name, name, n) && !p->variable[i].name[n])
			return &p->variable[i];
	return NULL;
}

void variable_set(struct parser *p, const char *name, size_t n, const char *value, bool certain)
{
	struct variable *v = (struct variable *)variable_find(p, name, n);

	if (shell_variable_runs(name, n))
		parser_unclear(p, "an assignment to a variable that runs a program of its own");
	else if (p->o->reading == SHELL_CERTAIN && shell_variable_changes(name, n))
		parser_unclear(p,
			"an assignment to a variable that can make a command run another program");
	if (!v && p->nvariables == VARIABLES_MAX) {
		parser_fail(p, "it has too many variables");
		return;
	}
	if (!v) {
		p->variable = mem_grow(
			p->variable, &p->variables_room, p->nvariables + 1, sizeof *p->variable);
		v = &p->variable[p->nvariables++];
		*v = (struct variable){0};
		v->name = arena_strndup(&p->out->mem, name, n);
	}
	v->value = value;
	v->each = false;
	v->certain = certain && value && p->linear && !is_special(v->name) &&
		count_mentions(p->text, v->name, n) == 1;
}

void variable_loop(struct parser *p, const char *name, size_t n, const char *pattern)
{
	variable_set(p, name, n, pattern, false);
	if (pattern && variable_find(p, name, n))
		((struct variable *)variable_find(p, name, n))->each = true;
}

void variable_end_loops(struct parser *p)
{
	for (size_t i = 0; i < p->nvariables; i++)
		if (p->variable[i].each) {
			p->variable[i].each = false;
			p->variable[i].value = NULL;
		}
}

const char *variable_value(struct parser *p, const char *name, size_t n, bool *each)
{
	const struct variable *v = variable_find(p, name, n);
	bool sure = p->o->reading == SHELL_CERTAIN;
	bool fields = sure && count_mentions(p->text, "IFS", 3);

	*each = v && v->each;
	if (v)
		return sure && (!v->certain || fields) ? NULL : v->value;
	if (n == 4 && !memcmp(name, "HOME", 4))
		return p->o->home;
	if (n == 3 && !memcmp(name, "IFS", 3))
		return fields ? NULL : " ";
	if (n == 3 && !memcmp(name, "PWD", 3))
		return sure ? NULL : p->cwd;
	/* Others than these are not sure to be in the environment. */
	if (p->o->reading == SHELL_EMPTY && !isdigit((unsigned char)*name) &&
		!is_special(arena_strndup(&p->out->mem, name, n)))
		return "";
	return NULL;
}
