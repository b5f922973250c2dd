/*
 * tools_own.c - implements the tools about the agent itself: limits, connections, commands, forks of its workspace,
 * ports.
 */
#include "mcp/tools_own.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <unistd.h>

#include <berth/egress.h>
#include <berth/file.h>
#include <berth/journal.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/text.h>

#include "mcp/tools_commands.h"
#include "mcp/tools_verbs.h"
#include "mcp/verbs.h"

#define JOURNAL_SHOWN 50
#define LOG_SHOWN 50
#define LOG_MOST 512
#define FORKS_MOST 100
#define FORKS_LOCK ".forking" /* below the directory of all workspaces, where no agent can write */
#define LOCK_TRY_MS 20

/* -- limits ------------------------------------------------------------------------------------------ */

/* The agent's container as `ps` sees it; NULL: it is not up, or no engine answers, which `why` says. */
static const struct json *look_at_container(struct call *c, struct err *why)
{
	const struct agent_def *a = call_options(c)->agent;
	struct verb_words w;
	const struct json *d, *all;

	verb_begin(c, &w);
	verb_word(&w, "ps");
	verb_word(&w, "--json");
	verb_word(&w, "-f");
	verb_word(&w, arena_printf(&c->mem, "name=%s", a->container));
	d = verb_ask(c, &w, why);
	all = json_member(d, "containers");
	for (const struct json *j = json_is(all, JSON_ARRAY) ? all->first : NULL; j; j = j->next)
		if (json_string(j, "name") && !strcmp(json_string(j, "name"), a->container))
			return j;
	if (d)
		err_set(why, ERR_NOT_FOUND, "The agent's container is not up.");
	return NULL;
}

/* What the engine was asked to enforce for it: HostConfig.  NULL: not known. */
static const struct json *look_at_settings(struct call *c, const struct json *box)
{
	struct err ignored = ERR_INIT;
	struct verb_words w;

	if (!json_string(box, "id"))
		return NULL;
	verb_begin(c, &w);
	verb_word(&w, "inspect");
	verb_word(&w, "--format");
	verb_word(&w, "{{json .HostConfig}}");
	verb_word(&w, json_string(box, "id"));
	return verb_ask(c, &w, &ignored);
}

/* A limit, and how much of it is used.  Below 0: nobody asked for it, or not known. */
struct limit_row {
	const char *what;
	double asked, enforced, used;
	const char *note; /* why there is no usage, or nothing enforced; NULL */
};

static double read_number(const struct json *v)
{
	return json_is(v, JSON_NUMBER) ? strtod(v->text, NULL) : -1;
}

/* 0 stands for no limit. */
static double read_limit(const struct json *v)
{
	double n = read_number(v);

	return n > 0 ? n : -1;
}

static void put_amount(struct jsonw *j, const char *key, double v)
{
	if (v < 0)
		jsonw_null(j, key);
	else
		jsonw_number(j, key, v, v > 1e15 || v == (double)(int64_t)v ? 0 : 3);
}

static void put_limit(struct call *c, const struct limit_row *r)
{
	struct jsonw *j = &c->out;

	jsonw_object(j, NULL);
	jsonw_text(j, "what", r->what);
	put_amount(j, "asked", r->asked);
	put_amount(j, "enforced", r->enforced);
	if (r->note)
		jsonw_text(j, "note", r->note);
	if (!c->looks && (!r->note || r->used >= 0))
		put_amount(j, "used", r->used);
	jsonw_end(j);
}

/* The hard limit of that name; podman spells nofile RLIMIT_NOFILE. */
static double read_ulimit(const struct json *settings, const char *name)
{
	const struct json *all = json_member(settings, "Ulimits");

	for (const struct json *i = json_is(all, JSON_ARRAY) ? all->first : NULL; i; i = i->next) {
		const char *of = json_string(i, "Name");

		if (of && !strncmp(of, "RLIMIT_", 7))
			of += 7;
		if (of && !strcasecmp(of, name))
			return read_limit(json_member(i, "Hard"));
	}
	return -1;
}

/* Of the file system in memory at /tmp: "rw,nosuid,size=1048576,mode=1777". */
static double read_tmp_size(const struct json *settings)
{
	const char *options = json_string(json_member(settings, "Tmpfs"), "/tmp");
	const char *at = options ? strstr(options, "size=") : NULL;
	char *end;
	double n;

	if (!at || (at != options && at[-1] != ','))
		return -1;
	n = strtod(at + 5, &end);
	return n > 0 && (!*end || *end == ',') ? n : -1;
}

static double either(double a, double b)
{
	return a >= 0 ? a : b;
}

/* As `berth up` sets them, or as `berth limit` does where there is a quota. */
static double read_cpus(const struct json *settings)
{
	double quota = read_limit(json_member(settings, "CpuQuota")),
	       period = read_limit(json_member(settings, "CpuPeriod")),
	       nano = read_limit(json_member(settings, "NanoCpus"));

	if (quota > 0)
		return quota / (period > 0 ? period : 100000);
	return nano > 0 ? nano / 1e9 : -1;
}

static void put_container_limits(struct call *c, const struct json *box)
{
	const struct limits *l = &call_options(c)->agent->limits;
	const struct json *set = c->looks ? NULL : look_at_settings(c, box);
	double percent = read_number(json_member(box, "cpu_percent"));
	const struct limit_row rows[] = {
		{"memory_bytes", (double)l->memory_bytes,
			either(read_limit(json_member(box, "memory_limit_bytes")),
				read_limit(json_member(set, "Memory"))),
			read_number(json_member(box, "memory_bytes")), NULL},
		{"cpus", l->cpus,
			either(read_limit(json_member(box, "cpus_limit")), read_cpus(set)),
			percent >= 0 ? percent / 100 : -1, NULL},
		{"pids", (double)l->pids,
			either(read_limit(json_member(box, "pids_limit")),
				read_limit(json_member(set, "PidsLimit"))),
			read_number(json_member(box, "pids")), NULL},
		{"tmp_bytes", (double)l->tmp_bytes, read_tmp_size(set), -1,
			"Files in /tmp count as memory: see memory_bytes."},
		{"file_bytes", (double)l->file_bytes, read_ulimit(set, "fsize"), -1,
			"The maximum size of each file, not a total."},
		{"open_files", (double)l->open_files, read_ulimit(set, "nofile"), -1,
			"For each process, not a total."},
		{"command_timeout_s", l->timeout_s ? (double)l->timeout_s : -1,
			l->timeout_s ? (double)l->timeout_s : COMMAND_TIMEOUT_S, -1,
			l->timeout_s
				? "Of each command."
				: "Applies to execute_command without \"timeout\"; start_command has no time limit."},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		put_limit(c, &rows[i]);
}

static void put_counted(struct call *c, const char *what, const struct json *limits,
	const char *most, const char *used)
{
	double asked = read_limit(json_member(limits, most));
	bool enforced = json_is(json_member(limits, "enforced"), JSON_TRUE);

	put_limit(c,
		&(struct limit_row){what, asked, enforced ? asked : -1,
			read_number(json_member(limits, used)),
			limits && asked > 0 && !enforced
				? "Not enforced at present: it is counted while the container is up and a keeper runs."
				: NULL});
}

/* What is counted of a workspace of berth's; of any other directory nothing is. */
static void put_workspace_limits(struct call *c)
{
	struct err why = ERR_INIT;
	const char *workspace = tool_workspace_name(c, &why);
	const struct json *limits;
	struct verb_words w;

	if (!workspace)
		return;
	verb_begin(c, &w);
	verb_word(&w, "workspace");
	verb_word(&w, "show");
	verb_word(&w, "--json");
	verb_word(&w, workspace);
	limits = json_member(verb_ask(c, &w, &why), "limits");
	put_counted(c, "workspace_bytes", limits, "bytes", "used_bytes");
	put_counted(c, "workspace_files", limits, "files", "used_files");
}

int own_limits(struct call *c, struct err *e)
{
	struct err why = ERR_INIT;
	const struct json *box = look_at_container(c, &why);
	char said[2 * sizeof why.msg];

	(void)e;
	jsonw_array(&c->out, "limits");
	put_container_limits(c, box);
	put_workspace_limits(c);
	jsonw_end(&c->out);
	jsonw_bool(&c->out, "up", box != NULL);
	jsonw_text(&c->out, "note", box ? "" : text_clean(said, sizeof said, why.msg));
	return 0;
}

int tool_own_limits(struct call *c, struct err *e)
{
	return own_limits(c, e);
}

/* -- the network ------------------------------------------------------------------------------------- */

static int run_net_verb(struct call *c, const char *verb, int64_t last, struct err *e)
{
	const struct agent_def *a = call_options(c)->agent;
	struct verb_words w;

	if (!a->egress.on)
		return err_set(e, ERR_REFUSED,
			"This agent's network is %s: berth cannot see where it connects.  With `network: {allow: [...]}` in the team file it can.",
			net_mode_name(a->network));
	verb_begin(c, &w);
	verb_word(&w, "net");
	verb_word(&w, verb);
	verb_word(&w, "--json");
	if (last) {
		verb_word(&w, "--last");
		verb_word(&w, arena_printf(&c->mem, "%lld", (long long)last));
	}
	verb_word(&w, a->id);
	return verb_run(c, &w, e);
}

int tool_network_log(struct call *c, struct err *e)
{
	int64_t last = call_number(c, "limit", LOG_SHOWN);

	if (last < 1 || last > LOG_MOST)
		return err_set(e, ERR_USAGE, "\"limit\" must be from 1 to %d.", LOG_MOST);
	return run_net_verb(c, "log", last, e);
}

/* What it wants to reach, by the one parser of targets. */
static int read_wanted_target(struct call *c, struct egress_target *to, struct err *e)
{
	const char *host = call_text(c, "host");
	int64_t port = call_number(c, "port", EGRESS_TLS_PORT);
	bool v6 = strchr(host, ':') != NULL;
	const char *text;

	if (port < 1 || port > UINT16_MAX)
		return err_set(e, ERR_USAGE, "\"port\" must be from 1 to %d.", UINT16_MAX);
	if (strlen(host) >= EGRESS_HOST_MAX)
		return err_set(e, ERR_USAGE, "\"host\" is too long for a host name.");
	text = arena_printf(
		&c->mem, v6 && *host != '[' ? "[%s]:%lld" : "%s:%lld", host, (long long)port);
	return egress_parse_target(text, strlen(text), 0, to, e);
}

static void put_reply(struct call *c, const struct egress_target *to, const struct egress_reply *r)
{
	jsonw_text(&c->out, "host", to->host);
	jsonw_uint(&c->out, "port", to->port);
	jsonw_bool(&c->out, "allowed", r->verdict == EGRESS_ALLOWED);
	jsonw_text(&c->out, "verdict", egress_verdict_name(r->verdict));
	jsonw_bool(&c->out, "once", r->once);
	jsonw_text(&c->out, "message", r->why);
}

/* A rule decides, or a person who is there to be asked; nothing that the agent says does. */
int tool_request_egress(struct call *c, struct err *e)
{
	const struct agent_def *a = call_options(c)->agent;
	const char *reason = call_text(c, "reason");
	char shown[EGRESS_REASON_MAX];
	struct egress_reply reply;
	struct egress_target to;
	int rc;

	if (!a->egress.on)
		return err_set(e, ERR_REFUSED,
			"This agent's network is %s, and no person decides where it may connect.  With "
			"`network: {allow: [...], ask: true}` in the team file a person does.",
			net_mode_name(a->network));
	if (read_wanted_target(c, &to, e))
		return -1;
	atomic_store(&c->waits, "Waiting for a person: the Network view, or berth net ask.");
	rc = egress_request(a->container, &to, text_clean(shown, sizeof shown, reason),
		call_cancel_fd(c), &reply, e);
	atomic_store(&c->waits, NULL);
	if (!rc)
		put_reply(c, &to, &reply);
	return rc;
}

int own_connections(struct call *c, struct err *e)
{
	const struct agent_def *a = call_options(c)->agent;

	if (a->egress.on)
		return run_net_verb(c, c->looks ? "usage" : "log", c->looks ? 0 : LOG_SHOWN, e);
	jsonw_text(&c->out, "network", net_mode_name(a->network));
	return 0;
}

static bool may_expose(const struct agent_def *a, const char *port)
{
	for (size_t i = 0; i < a->ports.n; i++)
		if (!strcmp(a->ports.word[i], port))
			return true;
	return false;
}

/* A person's word for a port that the file does not name. */
static int ask_for_port(struct call *c, const char *port, struct err *e)
{
	const struct agent_def *a = call_options(c)->agent;
	const char *reason = call_text(c, "reason");

	if (may_expose(a, port))
		return 0;
	return call_ask_beyond(c, arena_printf(&c->mem, "open its port %s on this machine", port),
		arena_printf(&c->mem, "On loopback; ports: in the file does not name it. %.60s",
			reason ? reason : ""),
		arena_printf(&c->mem,
			"ports: of the agent %.64s does not list %s; other ports need approval.",
			a->id, port),
		e);
}

/* Which port of this machine is not the agent's choice: it might be one that others trust. */
int tool_expose_port(struct call *c, struct err *e)
{
	const struct agent_def *a = call_options(c)->agent;
	int64_t n = call_number(c, "port", 0);
	struct verb_words w;
	const char *port;

	if (n < 1 || n > 65535)
		return err_set(e, ERR_USAGE, "\"port\" must be from 1 to 65535.");
	port = arena_printf(&c->mem, "%lld", (long long)n);
	if (ask_for_port(c, port, e))
		return -1;
	verb_begin(c, &w);
	verb_word(&w, "port");
	verb_word(&w, "open");
	verb_word(&w, "--json");
	verb_word(&w, a->id);
	verb_word(&w, arena_printf(&c->mem, "%s:0", port));
	return verb_run(c, &w, e);
}

/* -- what it ran ------------------------------------------------------------------------------------- */

static void put_journal_command(struct jsonw *j, const struct journal_command *k)
{
	jsonw_object(j, NULL);
	jsonw_uint(j, "seq", k->seq);
	jsonw_text(j, "command", k->argv);
	jsonw_text(j, "program", k->program);
	jsonw_text(j, "ended",
		k->running        ? "running"
			: k->lost ? "lost"
				  : run_ended_name(k->ended));
	jsonw_int(j, "exit_code", k->running ? -1 : k->exit_code);
	jsonw_int(j, "started_ms", k->started_wall_ms);
	if (!k->running)
		jsonw_number(j, "duration_ms", k->duration_ms, 0);
	jsonw_uint(j, "stdout_bytes", k->out_bytes);
	jsonw_uint(j, "stderr_bytes", k->error_bytes);
	jsonw_end(j);
}

int own_journal(struct call *c, struct err *e)
{
	AUTO_FREE struct journal_command *all = xcalloc(JOURNAL_SHOWN, sizeof *all);
	size_t n =
		journal_list(call_options(c)->agent->container, all, c->looks ? 4 : JOURNAL_SHOWN);

	(void)e;
	jsonw_array(&c->out, "commands");
	for (size_t i = 0; i < n; i++)
		put_journal_command(&c->out, &all[i]);
	jsonw_end(&c->out);
	return 0;
}

/* -- the workspace ----------------------------------------------------------------------------------- */

int own_workspace(struct call *c, struct err *e)
{
	struct err why = ERR_INIT;

	if (tool_workspace_name(c, &why))
		return c->looks ? own_checkpoints(c, e) : tool_workspace_info(c, e);
	jsonw_text(&c->out, "path", call_reach(c)->home);
	return 0;
}

static bool is_fork_of(const char *task, const char *name)
{
	size_t n = strlen(task);

	return name && !strncmp(name, task, n) && name[n] == '-' &&
		strspn(name + n + 1, "0123456789") == strlen(name + n + 1) && name[n + 1];
}

/* How many there are already; -1: it cannot be told. */
static int count_forks(struct call *c, const char *task, struct err *e)
{
	struct verb_words w;
	const struct json *all, *d;
	int n = 0;

	verb_begin(c, &w);
	verb_word(&w, "workspace");
	verb_word(&w, "list");
	verb_word(&w, "--json");
	d = verb_ask(c, &w, e);
	all = json_member(d, "workspaces");
	for (const struct json *j = json_is(all, JSON_ARRAY) ? all->first : NULL; j; j = j->next)
		n += is_fork_of(task, json_string(j, "name"));
	return d ? n : -1;
}

/* A person's word for more than the file allows. */
static int ask_for_forks(struct call *c, const char *workspace, int64_t n, int have, struct err *e)
{
	const struct agent_def *a = call_options(c)->agent;
	const char *reason = call_text(c, "reason");

	return call_ask_beyond(c,
		arena_printf(&c->mem, "fork %.60s into %lld", workspace, (long long)n),
		arena_printf(&c->mem, "%d there already, forks: %lld in the file. %.60s", have,
			(long long)a->forks, reason ? reason : ""),
		arena_printf(&c->mem,
			"there are %d forks of %.80s, and forks: of the agent %.64s is %lld; more need approval.",
			have, workspace, a->id, (long long)a->forks),
		e);
}

/* Counting and forking are one: no other server of this user, and no other call, forks between.  -1, or the lock. */
static int lock_forks(struct call *c, struct err *e)
{
	char tree[PATH_MAX], path[PATH_MAX + sizeof FORKS_LOCK + 1];
	struct pollfd p = {call_cancel_fd(c), POLLIN, 0};
	AUTO_CLOSE int fd = -1;

	if (workspaces_dir(tree, sizeof tree, e))
		return -1;
	snprintf(path, sizeof path, "%s/" FORKS_LOCK, tree);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_sys(e, errno, "cannot lock %s", path);
		if (poll(&p, 1, LOCK_TRY_MS) > 0)
			return err_set(e, ERR_CANCELLED, "cancelled");
	}
	return fd < 0 ? err_sys(e, errno, "cannot open %s", path) : steal_fd(&fd);
}

/* Is it within what the file allows?  Else a person is asked, and no lock held meanwhile.  -1, or the lock. */
static int lock_allowed_forks(struct call *c, const char *workspace, int64_t n, struct err *e)
{
	const char *slash = strchr(workspace, '/');
	AUTO_CLOSE int lock = lock_forks(c, e);
	int have = lock < 0 ? -1 : count_forks(c, slash ? slash + 1 : workspace, e);

	if (have < 0)
		return -1;
	if (have + n <= call_options(c)->agent->forks)
		return steal_fd(&lock);
	close(steal_fd(&lock));
	return ask_for_forks(c, workspace, n, have, e) ? -1 : lock_forks(c, e);
}

int tool_fork(struct call *c, struct err *e)
{
	const char *workspace = tool_workspace_name(c, e);
	int64_t n = call_number(c, "count", 1);
	AUTO_CLOSE int lock = -1;
	struct verb_words w;

	if (!workspace)
		return -1;
	if (n < 1 || n > FORKS_MOST)
		return err_set(e, ERR_USAGE, "\"count\" must be from 1 to %d.", FORKS_MOST);
	lock = lock_allowed_forks(c, workspace, n, e);
	if (lock < 0)
		return -1;
	verb_begin(c, &w);
	verb_word(&w, "workspace");
	verb_word(&w, "fork");
	verb_word(&w, "--json");
	verb_word(&w, workspace);
	verb_word(&w, arena_printf(&c->mem, "%lld", (long long)n));
	return verb_run(c, &w, e);
}
