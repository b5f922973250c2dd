/*
 * tools_verbs.c - implements tools that run a berth command: custom tools, and the agent's workspace.
 *
 * They need an engine or the store of checkpoints; a program of its own does that, with its own policy and record, and
 * this server stays small.  Its document (--json) is what is answered.
 */
#include "mcp/tools_verbs.h"

#include <string.h>

#include <berth/mem.h>
#include <berth/runtime.h>

#include "mcp/verbs.h"

/* -- custom tools ------------------------------------------------------------------------------------ */

int tool_list_tools(struct call *c, struct err *e)
{
	const struct team *t = call_options(c)->team;

	(void)e;
	jsonw_array(&c->out, "tools");
	for (size_t i = 0; i < t->ntools; i++) {
		const struct tool_def *d = &t->tools[i];

		if (!team_may_call(call_options(c)->agent, d))
			continue;
		jsonw_object(&c->out, NULL);
		jsonw_text(&c->out, "name", d->name);
		jsonw_text(&c->out, "image", d->image);
		jsonw_text(&c->out, "network", net_mode_name(d->network));
		jsonw_text(
			&c->out, "filesystem", d->files == TOOL_WORKSPACE ? "workspace" : "none");
		jsonw_int(&c->out, "timeout", d->limits.timeout_s);
		jsonw_array(&c->out, "command");
		for (size_t k = 0; k < d->command.n; k++)
			jsonw_text(&c->out, NULL, d->command.word[k]);
		jsonw_end(&c->out);
		jsonw_end(&c->out);
	}
	jsonw_end(&c->out);
	return 0;
}

int tool_run_tool(struct call *c, struct err *e)
{
	const struct mcp_options *o = call_options(c);
	const struct tool_def *d = team_tool(o->team, call_text(c, "tool"));
	int64_t timeout = call_number(c, "timeout", 0);
	const char *const *args;
	struct verb_words w;
	size_t n;

	if (!d || !team_may_call(o->agent, d))
		return err_set(e, ERR_NOT_FOUND, "Unknown tool \"%.100s\"; list_tools lists all.",
			call_text(c, "tool"));
	if (d->limits.timeout_s && timeout > d->limits.timeout_s)
		return err_set(e, ERR_REFUSED, "The timeout of the tool %.64s is at most %lld s.",
			d->name, (long long)d->limits.timeout_s);
	args = call_texts(c, "args", &n);
	if (n > VERB_ARGS_MOST)
		return err_set(e, ERR_USAGE, "\"args\" has more than %d words.", VERB_ARGS_MOST);
	verb_begin(c, &w);
	verb_word(&w, "-c");
	verb_word(&w, o->team->path);
	verb_word(&w, "tool");
	verb_word(&w, "run");
	verb_word(&w, "--json");
	if (timeout) {
		verb_word(&w, "--timeout");
		verb_word(&w, arena_printf(&c->mem, "%lld", (long long)timeout));
	}
	if (d->files == TOOL_WORKSPACE &&
		(!d->workspace ||
			(o->agent->runs[0] && !strcmp(d->workspace, o->agent->workspace)))) {
		verb_word(&w, "--workspace");
		verb_word(&w, o->agent->workspace);
	}
	verb_word(&w, d->name);
	verb_word(&w, "--");
	for (size_t i = 0; i < n; i++)
		verb_word(&w, args[i]);
	return verb_run(c, &w, e);
}

/* -- the workspace ----------------------------------------------------------------------------------- */

static const char *find_workspace_name(const char *home, struct err *e)
{
	char dir[4096];
	const char *rest;
	size_t n;

	if (data_dir(dir, sizeof dir, e))
		return NULL;
	n = strlen(dir);
	rest = !strncmp(home, dir, n) && !strncmp(home + n, "/workspaces/", 12) ? home + n + 12
										: NULL;
	if (!rest)
		err_set(e, ERR_REFUSED,
			"%.200s is not a berth workspace (`berth workspace create` creates one), so it has no checkpoints.",
			home);
	return rest;
}

const char *tool_workspace_name(struct call *c, struct err *e)
{
	return find_workspace_name(call_reach(c)->home, e);
}

unsigned tool_lacks(const struct server *s)
{
	const struct mcp_options *o = s->o;
	const char *workspace = find_workspace_name(s->reach.home, NULL);
	unsigned lacks = NEEDS_TOOLS;

	for (size_t i = 0; i < o->team->ntools; i++)
		if (team_may_call(o->agent, &o->team->tools[i]))
			lacks = 0;
	if (!workspace)
		lacks |= NEEDS_WORKSPACE;
	if (!workspace || strncmp(workspace, "tasks/", 6) != 0)
		lacks |= NEEDS_TASK;
	return o->agent->egress.on ? lacks : lacks | NEEDS_EGRESS;
}

static int run_workspace_verb(struct call *c, const char *verb, const char *name, struct err *e)
{
	const char *workspace = tool_workspace_name(c, e);
	struct verb_words w;

	if (!workspace)
		return -1;
	verb_begin(c, &w);
	verb_word(&w, "workspace");
	verb_word(&w, verb);
	verb_word(&w, "--json");
	verb_word(&w, workspace);
	if (name)
		verb_word(&w, name);
	return verb_run(c, &w, e);
}

/* A name that begins with a dash would be an option. */
static const char *checkpoint_name(struct call *c, struct err *e)
{
	const char *name = call_text(c, "checkpoint");

	return name && *name == '-'
		? err_null(err_set(e, ERR_USAGE, "A checkpoint's name must not begin with a dash."))
		: name;
}

int tool_workspace_info(struct call *c, struct err *e)
{
	return run_workspace_verb(c, "show", NULL, e);
}

int own_checkpoints(struct call *c, struct err *e)
{
	return run_workspace_verb(c, "checkpoints", NULL, e);
}

int tool_checkpoint(struct call *c, struct err *e)
{
	struct err why = ERR_INIT;
	const char *name = checkpoint_name(c, &why);

	return why.kind ? err_copy(e, &why) : run_workspace_verb(c, "checkpoint", name, e);
}

/* What changed since a checkpoint, or between two. */
int tool_workspace_diff(struct call *c, struct err *e)
{
	const char *workspace = tool_workspace_name(c, e), *from = call_text(c, "from"),
		   *to = call_text(c, "to");
	struct verb_words w;

	if (!workspace)
		return -1;
	if (*from == '-' || (to && *to == '-'))
		return err_set(e, ERR_USAGE, "A checkpoint's name must not begin with a dash.");
	verb_begin(c, &w);
	verb_word(&w, "workspace");
	verb_word(&w, "diff");
	verb_word(&w, "--json");
	verb_word(&w, arena_printf(&c->mem, "%s@%s", workspace, from));
	verb_word(&w, to ? arena_printf(&c->mem, "%s@%s", workspace, to) : workspace);
	return verb_run(c, &w, e);
}

int tool_restore(struct call *c, struct err *e)
{
	const char *name = checkpoint_name(c, e);

	return name ? run_workspace_verb(c, "restore", name, e) : -1;
}

/* -- between tasks ----------------------------------------------------------------------------------- */

/* A person may always; an agent by itself where its definition says so. */
static bool may_hand_over(const struct agent_def *a, const char *to)
{
	for (size_t i = 0; i < a->hand_over.n; i++)
		if (!strcmp(a->hand_over.word[i], "*") || !strcmp(a->hand_over.word[i], to))
			return true;
	return false;
}

static void begin_task_verb(struct call *c, struct verb_words *w, const char *verb)
{
	verb_begin(c, w);
	verb_word(w, "workspace");
	verb_word(w, verb);
	verb_word(w, "--json");
}

int tool_hand_over(struct call *c, struct err *e)
{
	const struct mcp_options *o = call_options(c);
	const char *task = tool_workspace_name(c, e), *to = call_text(c, "task");
	const char *const *paths;
	struct verb_words w;
	size_t n;

	if (!task)
		return -1;
	paths = call_texts(c, "paths", &n);
	if (n > VERB_ARGS_MOST)
		return err_set(e, ERR_USAGE, "\"paths\" has more than %d words.", VERB_ARGS_MOST);
	if (!may_hand_over(o->agent, to) &&
		call_ask_beyond(c, arena_printf(&c->mem, "hand files over to the task %.64s", to),
			arena_printf(&c->mem, "%zu of %.64s, the first: %.100s", n, task,
				n ? paths[0] : ""),
			arena_printf(&c->mem,
				"The agent %.64s may not hand over to the task %.64s: hand_over: in %.200s does not "
				"name it. A person can: berth workspace hand-over %.80s %.64s PATH...",
				o->agent->id, to, o->team->file, task, to),
			e))
		return -1;
	begin_task_verb(c, &w, "hand-over");
	verb_word(&w, "--");
	verb_word(&w, task);
	verb_word(&w, arena_printf(&c->mem, "tasks/%s", to));
	for (size_t i = 0; i < n; i++)
		verb_word(&w, paths[i]);
	return verb_run(c, &w, e);
}

int tool_put_result(struct call *c, struct err *e)
{
	const struct mcp_options *o = call_options(c);
	const char *task = tool_workspace_name(c, e), *text = call_text(c, "text"),
		   *path = call_text(c, "path");
	struct verb_words w;

	if (!task)
		return -1;
	if (!text == !path)
		return err_set(e, ERR_USAGE, "Give either \"text\" or \"path\".");
	if (call_flag(c, "shareable") && !may_hand_over(o->agent, "*") &&
		call_ask_beyond(c,
			arena_printf(&c->mem, "share the result %.64s with every task",
				call_text(c, "result")),
			arena_printf(&c->mem, "%.100s", text ? text : path),
			arena_printf(&c->mem,
				"The agent %.64s may not share results with every task: hand_over: in %.200s has no "
				"\"*\". A person can: berth workspace put-result --shareable %.80s %.64s ...",
				o->agent->id, o->team->file, task, call_text(c, "result")),
			e))
		return -1;
	begin_task_verb(c, &w, "put-result");
	if (call_flag(c, "shareable"))
		verb_word(&w, "--shareable");
	if (path)
		verb_word(&w, arena_printf(&c->mem, "--path=%s", path));
	verb_word(&w, "--");
	verb_word(&w, task);
	verb_word(&w, call_text(c, "result"));
	if (text)
		verb_word(&w, text);
	return verb_run(c, &w, e);
}

int tool_get_results(struct call *c, struct err *e)
{
	const char *task = tool_workspace_name(c, e), *of = call_text(c, "task"),
		   *name = call_text(c, "result");
	struct verb_words w;

	if (!task)
		return -1;
	if (name && !of)
		of = strchr(task, '/') ? strchr(task, '/') + 1 : task;
	begin_task_verb(c, &w, "results");
	verb_word(&w, "--as");
	verb_word(&w, task);
	verb_word(&w, "--");
	if (of)
		verb_word(&w, of);
	if (name)
		verb_word(&w, name);
	return verb_run(c, &w, e);
}

/* What its version of shared/ holds. */
int tool_list_shared(struct call *c, struct err *e)
{
	const char *task = tool_workspace_name(c, e);
	struct verb_words w;

	if (!task)
		return -1;
	begin_task_verb(c, &w, "shared");
	verb_word(&w, "--as");
	verb_word(&w, task);
	return verb_run(c, &w, e);
}
