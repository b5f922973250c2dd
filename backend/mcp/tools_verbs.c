/*
 * tools_verbs.c - tools that are a command line of berth: custom tools, and the agent's workspace.
 *
 * They need an engine or the store of checkpoints; a program of its own does that, with its own policy and record, and
 * this server stays small.  Its document (--json) is what is answered.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/runtime.h>

#include "mcp/tools_verbs.h"

#define WORDS_MOST 300
#define DOCUMENT_MOST ((size_t)16 << 20)
#define SENTENCE_MOST ((size_t)65536)

extern char **environ;

struct words_of {
	const char *v[WORDS_MOST + 1];
	size_t n;
};

static void add_verb_word(struct words_of *w, const char *word)
{
	if (w->n < WORDS_MOST)
		w->v[w->n++] = word;
}

struct verb_run {
	pid_t pid;
	int out[2], error[2];
	struct str document, sentence;
	int status;
};

static int spawn_verb(struct verb_run *v, const struct words_of *w, struct err *e)
{
	posix_spawn_file_actions_t a;
	int rc;

	if (pipe2(v->out, O_CLOEXEC) < 0 || pipe2(v->error, O_CLOEXEC) < 0)
		return err_sys(e, errno, "cannot make a pipe");
	posix_spawn_file_actions_init(&a);
	posix_spawn_file_actions_addopen(&a, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&a, v->out[1], 1);
	posix_spawn_file_actions_adddup2(&a, v->error[1], 2);
	rc = posix_spawn(&v->pid, w->v[0], &a, NULL, (char **)w->v, environ);
	posix_spawn_file_actions_destroy(&a);
	close(steal_fd(&v->out[1]));
	close(steal_fd(&v->error[1]));
	return rc ? err_sys(e, rc, "cannot start %s", w->v[0]) : 0;
}

/* false: it has ended. */
static bool read_part(int *fd, struct str *to, size_t most)
{
	char buf[16384];
	ssize_t n = read(*fd, buf, sizeof buf);

	if (n > 0)
		str_add(to, buf, to->len + (size_t)n <= most ? (size_t)n : 0);
	else if (n == 0 || errno != EINTR)
		close(steal_fd(fd));
	return *fd >= 0;
}

static void read_verb(struct call *c, struct verb_run *v)
{
	int cancel = call_cancel_fd(c);

	while (v->out[0] >= 0 || v->error[0] >= 0) {
		struct pollfd p[3] = {
			{v->out[0], POLLIN, 0}, {v->error[0], POLLIN, 0}, {cancel, POLLIN, 0}};

		if (poll(p, 3, -1) < 0)
			continue;
		if (p[0].revents)
			read_part(&v->out[0], &v->document, DOCUMENT_MOST);
		if (p[1].revents)
			read_part(&v->error[0], &v->sentence, SENTENCE_MOST);
		if (p[2].revents) {
			kill(v->pid, SIGTERM);
			cancel = -1;
		}
	}
}

/* Its last line, without "berth: ". */
static const char *last_sentence(struct str *s)
{
	char *p;

	while (s->len && s->s[s->len - 1] == '\n')
		s->s[--s->len] = '\0';
	p = strrchr(s->s, '\n');
	p = p ? p + 1 : s->s;
	return strncmp(p, "berth: ", 7) ? p : p + 7;
}

static void put_value(struct jsonw *j, const char *key, const struct json *v, int depth)
{
	struct str word = STR_INIT;

	switch (v->type) {
	case JSON_STRING: jsonw_textn(j, key, v->text, v->len); return;
	case JSON_ARRAY: jsonw_array(j, key); break;
	case JSON_OBJECT: jsonw_object(j, key); break;
	case JSON_NULL:
	case JSON_FALSE:
	case JSON_TRUE:
	case JSON_NUMBER:
	default:
		str_add(&word, v->text, v->len);
		jsonw_raw(j, key, word.s);
		str_release(&word);
		return;
	}
	for (const struct json *m = depth < JSON_DEPTH_MAX - 4 ? v->first : NULL; m; m = m->next)
		put_value(j, v->type == JSON_OBJECT ? m->key : NULL, m, depth + 1);
	jsonw_end(j);
}

/* The members of the document, into the answer. */
static int put_document(struct call *c, const struct verb_run *v, struct err *e)
{
	struct err fault;
	const struct json *d = json_parse(&c->mem, v->document.s, v->document.len, &fault, e);

	if (!d || !json_is(d, JSON_OBJECT))
		return d ? err_set(e, ERR_PROTOCOL, "berth printed no document.") : -1;
	for (const struct json *m = d->first; m; m = m->next)
		put_value(&c->out, m->key, m, 0);
	return 0;
}

static int run_verb_words(struct call *c, const struct words_of *w, struct err *e)
{
	struct verb_run v = {
		.out = {-1, -1}, .error = {-1, -1}, .document = STR_INIT, .sentence = STR_INIT};
	int rc = spawn_verb(&v, w, e);

	if (!rc) {
		read_verb(c, &v);
		while (waitpid(v.pid, &v.status, 0) < 0 && errno == EINTR)
			;
		if (v.document.len)
			rc = put_document(c, &v, e);
		else if (!WIFEXITED(v.status) || WEXITSTATUS(v.status))
			rc = err_set(e,
				WIFEXITED(v.status) && WEXITSTATUS(v.status) == 4 ? ERR_REFUSED
										  : ERR_FAILED,
				"%.480s", last_sentence(&v.sentence));
	}
	for (int i = 0; i < 2; i++) {
		cleanup_close(&v.out[i]);
		cleanup_close(&v.error[i]);
	}
	str_release(&v.document);
	str_release(&v.sentence);
	return rc;
}

static void begin_words(struct call *c, struct words_of *w)
{
	*w = (struct words_of){.n = 0};
	add_verb_word(w, call_options(c)->verbs);
}

/* -- custom tools ------------------------------------------------------------------------------------ */

int tool_list_tools(struct call *c, struct err *e)
{
	const struct team *t = call_options(c)->team;

	(void)e;
	jsonw_array(&c->out, "tools");
	for (size_t i = 0; i < t->ntools; i++) {
		const struct tool_def *d = &t->tools[i];

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
	struct words_of w;
	size_t n;

	if (!d)
		return err_set(e, ERR_NOT_FOUND,
			"There is no tool \"%.100s\"; list_tools tells which there are.",
			call_text(c, "tool"));
	args = call_texts(c, "args", &n);
	if (n > WORDS_MOST - 20)
		return err_set(e, ERR_USAGE, "\"args\" has more than %d words.", WORDS_MOST - 20);
	begin_words(c, &w);
	add_verb_word(&w, "-c");
	add_verb_word(&w, o->team->path);
	add_verb_word(&w, "tool");
	add_verb_word(&w, "run");
	add_verb_word(&w, "--json");
	if (timeout) {
		add_verb_word(&w, "--timeout");
		add_verb_word(&w, arena_printf(&c->mem, "%lld", (long long)timeout));
	}
	if (d->files == TOOL_WORKSPACE && !d->workspace) {
		add_verb_word(&w, "--workspace");
		add_verb_word(&w, o->agent->workspace);
	}
	add_verb_word(&w, d->name);
	add_verb_word(&w, "--");
	for (size_t i = 0; i < n; i++)
		add_verb_word(&w, args[i]);
	return run_verb_words(c, &w, e);
}

/* -- the workspace ----------------------------------------------------------------------------------- */

/* "tasks/ID", where the agent works in one of berth's workspaces; NULL: it does not. */
static const char *workspace_name(struct call *c, struct err *e)
{
	char dir[4096];
	const char *home = call_reach(c)->home, *rest;
	size_t n;

	if (data_dir(dir, sizeof dir, e))
		return NULL;
	n = strlen(dir);
	rest = !strncmp(home, dir, n) && !strncmp(home + n, "/workspaces/", 12) ? home + n + 12
										: NULL;
	if (!rest)
		err_set(e, ERR_REFUSED,
			"%.200s is no workspace of berth's tree (`berth workspace create` makes one), so "
			"it has no checkpoints.",
			home);
	return rest;
}

static int run_workspace_verb(struct call *c, const char *verb, const char *name, struct err *e)
{
	const char *workspace = workspace_name(c, e);
	struct words_of w;

	if (!workspace)
		return -1;
	begin_words(c, &w);
	add_verb_word(&w, "workspace");
	add_verb_word(&w, verb);
	add_verb_word(&w, "--json");
	add_verb_word(&w, workspace);
	if (name)
		add_verb_word(&w, name);
	return run_verb_words(c, &w, e);
}

/* A name that begins with a dash would be an option. */
static const char *checkpoint_name(struct call *c, struct err *e)
{
	const char *name = call_text(c, "checkpoint");

	return name && *name == '-'
		? err_null(err_set(e, ERR_USAGE, "A checkpoint's name does not begin with a dash."))
		: name;
}

int tool_workspace_info(struct call *c, struct err *e)
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
	const char *workspace = workspace_name(c, e), *from = call_text(c, "from"),
		   *to = call_text(c, "to");
	struct words_of w;

	if (!workspace)
		return -1;
	if (*from == '-' || (to && *to == '-'))
		return err_set(e, ERR_USAGE, "A checkpoint's name does not begin with a dash.");
	begin_words(c, &w);
	add_verb_word(&w, "workspace");
	add_verb_word(&w, "diff");
	add_verb_word(&w, "--json");
	add_verb_word(&w, arena_printf(&c->mem, "%s@%s", workspace, from));
	add_verb_word(&w, to ? arena_printf(&c->mem, "%s@%s", workspace, to) : workspace);
	return run_verb_words(c, &w, e);
}

int tool_restore(struct call *c, struct err *e)
{
	const char *name = checkpoint_name(c, e);

	return name ? run_workspace_verb(c, "restore", name, e) : -1;
}
