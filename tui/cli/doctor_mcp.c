/*
 * doctor_mcp.c - starts the MCP server as the clients here are configured to, and gets an answer to `initialize`.
 *
 * Client files come with repositories, so only this berth is ever started, and only to serve: never another program, never
 * another command.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/arena.h>
#include <berth/clock.h>
#include <berth/file.h>
#include <berth/jsonr.h>
#include <berth/mem.h>
#include <berth/spawn.h>
#include <berth/team.h>

#include "cli/doctor.h"

#define CLIENT_FILE_MOST ((size_t)16 << 20)
#define ENTRIES_MOST 4
#define WORDS_MOST 16
#define ANSWER_MOST 65536
#define ANSWER_MS 10000
#define LEAVE_MS 2000 /* after the end of its input; then it is killed */

static const char request[] =
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
	"\"capabilities\":{},\"clientInfo\":{\"name\":\"berth doctor\",\"version\":\"1\"}}}\n";

/* Where clients keep their servers, as berth-mcp(1) has them. */
static const struct {
	const char *path, *key;
	bool home;
} client_files[] = {
	{".mcp.json", "mcpServers", false},
	{".cursor/mcp.json", "mcpServers", false},
	{".gemini/settings.json", "mcpServers", false},
	{".vscode/mcp.json", "servers", false},
	{"opencode.json", "mcp", false},
	{".claude.json", "mcpServers", true},
	{".cursor/mcp.json", "mcpServers", true},
	{".gemini/settings.json", "mcpServers", true},
};

struct entry {
	const char *where;                /* `.mcp.json, server "berth"` */
	const char *argv[WORDS_MOST + 1]; /* the program first */
};

struct entries {
	struct arena mem;
	struct entry all[ENTRIES_MOST];
	size_t n;
};

/* ---- what is configured */

/* Of the words behind the program: does it serve, and nothing else? */
static bool only_serves(const char *const *word)
{
	static const char *const takes[] = {
		"-c", "--team", "--settings", "--agent", "--tools", "--workspace"};
	static const char *const alone[] = {"--operator", "--allow-changes"};
	unsigned verbs = 0;

	for (; *word; word++) {
		bool known = !strcmp(*word, "mcp");

		verbs += known;
		for (size_t i = 0; i < COUNT(alone); i++)
			known |= !strcmp(*word, alone[i]);
		for (size_t i = 0; !known && i < COUNT(takes); i++) {
			size_t len = strlen(takes[i]);

			if (i && !strncmp(*word, takes[i], len) && (*word)[len] == '=') {
				known = true;
			} else if (!strcmp(*word, takes[i]) && word[1]) {
				known = true;
				word++;
				break;
			}
		}
		if (!known)
			return false;
	}
	return verbs == 1;
}

static bool is_called_berth(const char *program)
{
	const char *slash = strrchr(program, '/');

	return !strcmp(slash ? slash + 1 : program, "berth");
}

/* An array of strings behind what the entry has; false: it is none, or too long. */
static bool add_words(struct entry *x, size_t *n, const struct json *words)
{
	for (const struct json *j = json_is(words, JSON_ARRAY) ? words->first : NULL; j;
		j = j->next) {
		if (*n == WORDS_MOST || !json_is(j, JSON_STRING) || strlen(j->text) != j->len)
			return false;
		x->argv[(*n)++] = j->text;
	}
	return true;
}

/* {"command": "berth", "args": [...]} or {"command": ["berth", ...]} */
static void add_server(struct entries *e, const char *file, const struct json *server)
{
	struct entry x = {
		.where = arena_printf(&e->mem, "%s, server \"%.60s\"", file, server->key)};
	const char *program = json_string(server, "command");
	size_t n = 0;

	if (program)
		x.argv[n++] = program;
	else if (!add_words(&x, &n, json_member(server, "command")))
		return;
	if (e->n < ENTRIES_MOST && n && is_called_berth(x.argv[0]) &&
		add_words(&x, &n, json_member(server, "args")) && only_serves(x.argv + 1))
		e->all[e->n++] = x;
}

static void read_client_file(
	struct entries *e, const char *path, const char *shown, const char *key)
{
	AUTO_STR struct str text = STR_INIT;
	struct err fault, why = ERR_INIT;
	const struct json *all, *servers;

	if (file_read(AT_FDCWD, path, 0, CLIENT_FILE_MOST, &text, NULL))
		return;
	/* The entry points into it. */
	all = json_parse(&e->mem, arena_strndup(&e->mem, text.s, text.len), text.len, &fault, &why);
	servers = json_member(all, key);
	for (const struct json *j = json_is(servers, JSON_OBJECT) ? servers->first : NULL; j;
		j = j->next)
		if (json_is(j, JSON_OBJECT))
			add_server(e, shown, j);
}

static void find_entries(struct entries *e)
{
	const char *home = getenv("HOME");

	for (size_t i = 0; i < COUNT(client_files); i++) {
		const char *path = client_files[i].path;
		AUTO_FREE char *at = NULL, *shown = NULL;

		if (client_files[i].home && (!home || *home != '/'))
			continue;
		at = client_files[i].home ? xasprintf("%s/%s", home, path) : xstrdup(path);
		shown = xasprintf("%s%s", client_files[i].home ? "~/" : "", path);
		read_client_file(e, at, shown, client_files[i].key);
	}
}

/* `berth -c FILE doctor`: the server of its first agent. */
static int add_team(struct entries *e, const char *file, const char *program, struct err *why)
{
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	struct entry *x = &e->all[e->n];
	struct team t;

	if (team_read(file, cwd ? cwd : "/", &t, why))
		return -1;
	x->where = arena_strdup(&e->mem, file);
	x->argv[0] = arena_strdup(&e->mem, program);
	x->argv[1] = "-c";
	x->argv[2] = file;
	x->argv[3] = "mcp";
	x->argv[4] = t.nagents ? "--agent" : NULL;
	x->argv[5] = t.nagents ? arena_strdup(&e->mem, t.agents[0].id) : NULL;
	team_release(&t);
	e->n++;
	return 0;
}

/* ---- starting it */

struct asked_server {
	pid_t pid;
	int in, out, err;
	struct str said, complained;
};

static int start_asked(
	struct asked_server *s, const char *program, const char *const *argv, struct err *e)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, failed = 0;

	/* It is in the pipe before anybody could close that. */
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) ||
		file_write(in[1], request, sizeof request - 1) < 0)
		failed = errno;
	else
		failed = spawn_start(&(struct spawn){.path = program,
					     .argv = argv,
					     .in = in[0],
					     .out = out[1],
					     .err = err[1],
					     .apart = SPAWN_SESSION},
			&s->pid);
	cleanup_close(&in[0]);
	cleanup_close(&out[1]);
	cleanup_close(&err[1]);
	s->in = in[1];
	s->out = out[0];
	s->err = err[0];
	return failed ? err_sys(e, failed, "it cannot be started") : 0;
}

/* false: there is no more. */
static bool hear(int *fd, struct str *into)
{
	char buf[4096];
	ssize_t n = read(*fd, buf, sizeof buf);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n > 0 && into->len < ANSWER_MOST)
		str_add(into, buf, (size_t)n);
	if (n <= 0) {
		cleanup_close(fd);
		*fd = -1;
	}
	return n > 0;
}

/* Until a line, its end, or the time is up; false: that. */
static bool hear_answer(struct asked_server *s)
{
	int64_t until = clock_real_ms() + ANSWER_MS, left;

	while (s->out >= 0 && !strchr(s->said.s, '\n') && s->said.len < ANSWER_MOST) {
		struct pollfd p[2] = {{s->out, POLLIN, 0}, {s->err, POLLIN, 0}};

		left = until - clock_real_ms();
		if (left <= 0)
			return false;
		if (poll(p, 2, (int)left) <= 0)
			continue;
		if (p[1].revents)
			hear(&s->err, &s->complained);
		if (p[0].revents)
			hear(&s->out, &s->said);
	}
	/* What it has to say of its end was written before that. */
	while (s->out < 0 && s->err >= 0 && clock_real_ms() < until)
		if (poll(&(struct pollfd){s->err, POLLIN, 0}, 1, 100) > 0)
			hear(&s->err, &s->complained);
	return true;
}

static void end_asked(struct asked_server *s)
{
	cleanup_close(&s->in);
	if (s->pid > 0) {
		AUTO_CLOSE int fd = pidfd_open(s->pid, 0);

		if (fd < 0 || poll(&(struct pollfd){fd, POLLIN, 0}, 1, LEAVE_MS) <= 0)
			kill(s->pid, SIGKILL);
		while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	cleanup_close(&s->out);
	cleanup_close(&s->err);
	str_release(&s->said);
	str_release(&s->complained);
}

/* The sentence behind "berth: ". */
static int say_complaint(struct asked_server *s, struct err *e)
{
	char *text = s->complained.s;

	text[strcspn(text, "\n")] = '\0';
	if (!strncmp(text, "berth: ", 7))
		text += 7;
	return err_set(e, ERR_FAILED, "%.200s", *text ? text : "it ended without an answer");
}

static int judge_answer(struct asked_server *s, struct arena *mem, const char **ret, struct err *e)
{
	struct err fault, why = ERR_INIT;
	const struct json *m = NULL, *who;

	if (s->said.len)
		m = json_parse(mem, s->said.s, s->said.len, &fault, &why);
	who = json_member(json_member(m, "result"), "serverInfo");
	*ret = json_string(who, "version");
	if (!s->said.len)
		return say_complaint(s, e);
	if (*ret)
		return 0;
	m = json_member(json_member(m, "error"), "message");
	return err_set(e, ERR_FAILED, "its answer to initialize is %.200s",
		m ? m->text : "not one of a server");
}

static int ask_entry(const char *program, const struct entry *x, struct arena *mem,
	const char **ret, struct err *e)
{
	struct asked_server s = {.in = -1, .out = -1, .err = -1};
	int rc = -1;

	str_init(&s.said);
	str_init(&s.complained);
	if (start_asked(&s, program, x->argv, e))
		;
	else if (!hear_answer(&s))
		err_set(e, ERR_TIMEOUT, "no answer to initialize within %d s", ANSWER_MS / 1000);
	else
		rc = judge_answer(&s, mem, ret, e);
	end_asked(&s);
	return rc;
}

/* ---- the answer */

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int check_entry(struct entries *all, const struct entry *x, const char *theirs,
	const char *own, char *found, size_t cap, const char **remedy, struct err *e)
{
	const char *program = x->argv[0], *version;
	struct err why = ERR_INIT;

	*remedy = DOCTOR_IN_PATH;
	if (!strchr(program, '/') && !theirs)
		return err_set(e, ERR_NOT_FOUND, "%.120s: `%s` is not in PATH", x->where, program);
	program = strchr(program, '/') ? program : theirs;
	*remedy = "Run that program's own doctor, or correct the entry.";
	if (!is_same_file(program, own))
		return err_set(
			e, ERR_FAILED, "%.120s: %.120s is not this berth", x->where, program);
	*remedy = "Correct what the message says; until then the client has no server.";
	if (ask_entry(own, x, &all->mem, &version, &why))
		return err_set(e, ERR_FAILED, "%.100s: %s", x->where, why.msg);
	snprintf(found, cap, "%.120s: the server answers, berth %.40s", x->where, version);
	return 1;
}

int doctor_try_mcp(const char *team, const char *theirs, const char *own, char *found, size_t cap,
	const char **remedy, struct err *e)
{
	struct entries all = {.n = 0};
	int rc = 0;

	arena_init(&all.mem, 4096);
	*remedy = "Correct the file.";
	if (team)
		rc = add_team(&all, team, own, e);
	else
		find_entries(&all);
	for (size_t i = 0; i < all.n && rc >= 0; i++)
		rc = check_entry(&all, &all.all[i], theirs, own, found, cap, remedy, e);
	arena_release(&all.mem);
	return rc;
}
