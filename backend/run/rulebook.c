/* rulebook.c - saves an agent's command rules and applies them. */
#include "run/rulebook.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "container/container.h"
#include "lane/lane.h"
#include "policy/rules.h"

#define BOOK_MAX ((size_t)256 << 10)

static int make_rules_path(const char *container, char path[LANE_PATH_MAX + 8], struct err *e)
{
	char dir[LANE_PATH_MAX];

	if (lane_place(container, dir, e))
		return -1;
	snprintf(path, LANE_PATH_MAX + 8, "%s.rules", dir);
	return 0;
}

/* Words with a newline in them could pose as other lines. */
static int add_rule_line(struct str *out, const char *word, const char *value, struct err *e)
{
	if (strchr(value, '\n'))
		return err_set(e, ERR_CONFIG, "the %s pattern \"%s\" has a line break in it.", word,
			value);
	str_addf(out, "%s %s\n", word, value);
	return 0;
}

/* Of a bound workspace kind and name are known to be plain. */
static void add_save_line(struct str *out, const struct agent_def *a)
{
	const char *name = a->bound && a->checkpoints.commands ? strchr(a->bound, ':') : NULL;

	if (name)
		str_addf(out, "save %u %.*ss/%s\n", (unsigned)a->checkpoints.keep,
			(int)(name - a->bound), a->bound, name + 1);
}

int rulebook_write(
	const struct agent_def *a, const char *endpoint, const char *engine_name, struct err *e)
{
	char path[LANE_PATH_MAX + 8];
	AUTO_STR struct str text = STR_INIT;

	if (make_rules_path(a->container, path, e) ||
		add_rule_line(&text, "endpoint", endpoint, e) ||
		add_rule_line(&text, "engine_name", engine_name, e) ||
		add_rule_line(&text, "sudo", a->sudo ? "1" : "0", e) ||
		add_rule_line(&text, "writable", a->workspace, e))
		return -1;
	for (size_t i = 0; i < a->npaths; i++)
		if (a->paths[i].write && add_rule_line(&text, "writable", a->paths[i].path, e))
			return -1;
	for (size_t i = 0; i < a->allow.n; i++)
		if (add_rule_line(&text, "allow", a->allow.word[i], e))
			return -1;
	for (size_t i = 0; i < a->block.n; i++)
		if (add_rule_line(&text, "block", a->block.word[i], e))
			return -1;
	add_save_line(&text, a);
	if (file_replace(path, text.s, text.len, false) < 0)
		return err_sys(e, errno, "cannot write the command rules %s", path);
	return 0;
}

void rulebook_forget(const char *container)
{
	char path[LANE_PATH_MAX + 8];

	if (!make_rules_path(container, path, NULL))
		unlink(path);
}

struct lists {
	const char **writable, **allow, **block;
	size_t nwritable, nallow, nblock;
	const char *endpoint, *engine_name, *save;
	bool sudo;
};

static void append_pattern(const char ***list, size_t *n, const char *value)
{
	*list = xreallocarray(*list, *n + 1, sizeof **list);
	(*list)[(*n)++] = value;
}

static void read_lists(char *text, struct lists *l)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *value = strchr(line, ' ');

		if (!value)
			continue;
		*value++ = '\0';
		if (!strcmp(line, "sudo"))
			l->sudo = *value == '1';
		else if (!strcmp(line, "endpoint"))
			l->endpoint = value;
		else if (!strcmp(line, "engine_name"))
			l->engine_name = value;
		else if (!strcmp(line, "writable"))
			append_pattern(&l->writable, &l->nwritable, value);
		else if (!strcmp(line, "allow"))
			append_pattern(&l->allow, &l->nallow, value);
		else if (!strcmp(line, "block"))
			append_pattern(&l->block, &l->nblock, value);
		else if (!strcmp(line, "save"))
			l->save = value;
	}
}

/* A definition in hand takes the place of what was written down when the agent came up. */
static void take_definition(const struct agent_def *def, struct lists *l)
{
	l->nwritable = l->nallow = l->nblock = 0;
	l->sudo = def->sudo;
	append_pattern(&l->writable, &l->nwritable, def->workspace);
	for (size_t i = 0; i < def->npaths; i++)
		if (def->paths[i].write)
			append_pattern(&l->writable, &l->nwritable, def->paths[i].path);
	for (size_t i = 0; i < def->allow.n; i++)
		append_pattern(&l->allow, &l->nallow, def->allow.word[i]);
	for (size_t i = 0; i < def->block.n; i++)
		append_pattern(&l->block, &l->nblock, def->block.word[i]);
}

static void take_save(const struct lists *l, struct rulebook_save *ret)
{
	*ret = (struct rulebook_save){0};
	if (l->save && sscanf(l->save, "%u %79s", &ret->keep, ret->workspace) != 2)
		ret->workspace[0] = '\0';
}

/* Without a book there are no rules; one that cannot be read may hold some. */
static int read_book(const char *container, struct str *text, struct err *e)
{
	char path[LANE_PATH_MAX + 8];
	struct err why = ERR_INIT;

	if (make_rules_path(container, path, e))
		return -1;
	return file_read(AT_FDCWD, path, O_NOFOLLOW, BOOK_MAX, text, &why) < 0 && why.sys != ENOENT
		? err_copy(e, &why)
		: 0;
}

int rulebook_saves(const char *container, struct rulebook_save *ret, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;
	struct lists l = {0};

	if (read_book(container, &text, e))
		return -1;
	read_lists(text.s, &l);
	take_save(&l, ret);
	free(l.writable);
	free(l.allow);
	free(l.block);
	return 0;
}

int rulebook_check(const char *container, const struct policy *policy, const struct run_request *q,
	struct rulebook_save *save, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;
	struct rule_options o = {.home = SPEC_HOME};
	struct policy_act act = {.operation = OP_CONTAINER_EXEC,
		.name = container,
		.id = "",
		.image = "",
		.labels = (const struct key_value[]){{"", "", false}}};
	struct lists l = {0};
	struct rule_set *rules;
	int result = -1;

	if (read_book(container, &text, e))
		return -1;
	read_lists(text.s, &l);
	if (save)
		take_save(&l, save);
	/* Files would be changed here, and commands would run there. */
	if (q->def && q->def->runs[0] && l.nwritable &&
		strcmp(l.writable[0], q->def->workspace) != 0) {
		err_set(e, ERR_CONFLICT,
			"%s is up with the workspace %s, of another run of MassGen than %s: `berth up` with "
			"its file follows.",
			container, l.writable[0], q->def->workspace);
		goto out;
	}
	if (q->def)
		take_definition(q->def, &l);
	act.endpoint = l.endpoint;
	act.engine_name = l.engine_name;
	if (policy && policy_check(policy, &act, e))
		goto out;
	o.sudo = l.sudo;
	o.writable = l.writable;
	o.nwritable = l.nwritable;
	o.workdir = l.nwritable ? l.writable[0] : NULL; /* the workspace */
	o.allow = l.allow;
	o.nallow = l.nallow;
	o.block = l.block;
	o.nblock = l.nblock;
	rules = rule_set_compile(&o, e);
	if (rules && !rule_set_check_env(rules, q->env, q->envc, e))
		result = rule_set_check(rules, q->argv, q->argc, e);
	rule_set_free(rules);
out:
	free(l.writable);
	free(l.allow);
	free(l.block);
	return result;
}
