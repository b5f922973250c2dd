/*
 * commands.c - runs commands in the agent's container, in the foreground and in the background.
 *
 * Of each the last KEPT are kept with what they printed, so that a long output can be read in parts.  All end with the
 * server: nothing runs on unseen.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <openssl/evp.h>

#include <berth/agents.h>
#include <berth/clock.h>
#include <berth/file.h>
#include <berth/hex.h>
#include <berth/mem.h>
#include <berth/spawn.h>
#include <berth/text.h>

#include "journal/journal.h"
#include "mcp/output.h"
#include "mcp/tools_commands.h"

#define KEPT 64                       /* commands in the table, ended ones included */
#define RUNNING_MOST 32               /* beside calls */
#define OUTPUT_MOST ((size_t)1 << 20) /* of each stream */
#define OUTPUT_PART 8                 /* of the server's memory, for the output of all of them */
#define ANSWER_MOST 65536 /* of each stream, in one answer where no other is asked for */
#define ANSWER_BYTES 6    /* that one takes in an answer while it is made */
#define WRITE_MS 5000
#define NOTED_MOST 1000              /* bytes of a command, where it is written to */
#define LISTED_MOST 4096             /* in a list */
#define WORD_MOST 131071             /* Linux takes no longer argument or variable, */
#define WORDS_MOST ((size_t)6 << 20) /* and no more of them all */
#define END_MS 10000

struct command {
	struct command *next;
	int64_t id;
	char *text; /* for lists */
	int64_t started_ns, ended_ns;
	struct output out[3]; /* by stream */
	bool running, beside, ok;
	struct run_result result;
	struct err err; /* it did not run */
	int cancel[2];  /* of one that a call waits for only the end to write to */
	int input;      /* its standard input's write end; -1 */

	/* of one that runs beside: its thread's own */
	pthread_t thread;
	struct command_table *table;
	struct run_request request;
	struct arena mem; /* of what it is asked for, until it has ended */
	size_t held;      /* bytes of that */
	int input_from;
	unsigned users; /* calls that hold it; the last one frees it when it is not listed */
	bool listed;
};

struct command_table {
	struct server *server;
	pthread_mutex_t lock;  /* all below, and what is in the commands */
	pthread_cond_t change; /* output, or an end */
	struct command *first;
	size_t n, beside;
	size_t bytes; /* of output */
	size_t held;  /* of what those in the background are asked for */
	int64_t last_id;
};

static void free_command(struct command *c)
{
	for (int i = 0; i < 2; i++)
		cleanup_close(&c->cancel[i]);
	cleanup_close(&c->input);
	for (int i = 0; i < 3; i++)
		str_release(&c->out[i].kept);
	arena_release(&c->mem);
	free(c->text);
	free(c);
}

/* Under the lock. */
static void forget_command(struct command_table *t, struct command **at)
{
	struct command *c = *at;

	*at = c->next;
	t->n--;
	t->bytes -= c->out[1].kept.len + c->out[2].kept.len;
	t->held -= c->held;
}

/* Under the lock: the oldest ended ones make room, for another and for `bytes` of output. */
static void trim_table(struct command_table *t, size_t bytes)
{
	size_t most = budget_total(t->server) / OUTPUT_PART;

	for (struct command **at = &t->first; *at && (t->n >= KEPT || t->bytes + bytes > most);) {
		struct command *c = *at;

		if (c->running || c->users) {
			at = &c->next;
			continue;
		}
		forget_command(t, at);
		if (c->beside)
			pthread_join(c->thread, NULL);
		free_command(c);
	}
}

static struct command *add_command(struct command_table *t, const char *text)
{
	struct command *c = xcalloc(1, sizeof *c), **at;

	*c = (struct command){.table = t,
		.text = xstrdup(text),
		.running = true,
		.started_ns = clock_mono_ns(),
		.cancel = {-1, -1},
		.input = -1,
		.input_from = -1,
		.users = 1,
		.listed = true};
	for (int i = 0; i < 3; i++)
		str_init(&c->out[i].kept);
	arena_init(&c->mem, 1024);
	pthread_mutex_lock(&t->lock);
	trim_table(t, 0);
	c->id = ++t->last_id;
	for (at = &t->first; *at; at = &(*at)->next)
		;
	*at = c;
	t->n++;
	pthread_mutex_unlock(&t->lock);
	return c;
}

static void leave_command(struct command_table *t, struct command *c)
{
	bool last;

	pthread_mutex_lock(&t->lock);
	last = --c->users == 0 && !c->listed;
	pthread_mutex_unlock(&t->lock);
	if (last)
		free_command(c);
}

/* Leave one that left nothing to come back for: no other call finds it any more, but some may hold it still. */
static void remove_command(struct command_table *t, struct command *c)
{
	pthread_mutex_lock(&t->lock);
	for (struct command **at = &t->first; *at; at = &(*at)->next)
		if (*at == c) {
			forget_command(t, at);
			break;
		}
	c->listed = false;
	pthread_mutex_unlock(&t->lock);
	leave_command(t, c);
}

static struct command *find_command(struct call *call, struct err *e)
{
	struct command_table *t = call->server->commands;
	int64_t id = call_number(call, "command_id", 0);
	struct command *c;

	pthread_mutex_lock(&t->lock);
	for (c = t->first; c && c->id != id; c = c->next)
		;
	if (c)
		c->users++;
	pthread_mutex_unlock(&t->lock);
	return c ? c
		 : err_null(err_set(e, ERR_NOT_FOUND,
			   "There is no command %lld here; list_commands lists them.",
			   (long long)id));
}

/* -- running ---------------------------------------------------------------------------------------- */

static void take_output(void *ctx, int stream, const char *bytes, size_t n)
{
	struct command *c = ctx;
	struct command_table *t = c->table;
	size_t most = budget_total(t->server) / OUTPUT_PART, had, room;
	struct output *o;

	if (stream < 1 || stream > 2)
		return;
	o = &c->out[stream];
	pthread_mutex_lock(&t->lock);
	if (t->bytes + n > most)
		trim_table(t, n);
	had = o->kept.len;
	room = had + (t->bytes < most ? most - t->bytes : 0);
	output_add(o, bytes, n, room < OUTPUT_MOST ? room : OUTPUT_MOST);
	t->bytes = t->bytes - had + o->kept.len;
	pthread_cond_broadcast(&t->change);
	pthread_mutex_unlock(&t->lock);
}

/* What no kernel would take is not kept either. */
static int check_words(const struct json *list, const char *what, struct err *e)
{
	size_t sum = 0;

	for (const struct json *j = list ? list->first : NULL; j; j = j->next) {
		size_t n = j->len + (j->key ? strlen(j->key) + 1 : 0);

		sum += n + 1;
		if (n > WORD_MOST || sum > WORDS_MOST)
			return err_set(e, ERR_USAGE,
				"\"%s\" is too long: Linux allows at most 128 KiB per string, and 6 MiB in all. "
				"Write it to a file, or give it as standard input.",
				what);
	}
	return 0;
}

static int check_length(const struct json *argv, const struct json *env, const char *command,
	const char *dir, struct err *e)
{
	if (command && strlen(command) > WORD_MOST)
		return err_set(e, ERR_USAGE,
			"\"command\" is too long: Linux allows at most 128 KiB. Write it to a file, or give it as "
			"standard input.");
	if (dir && strlen(dir) >= PATH_MAX)
		return err_set(e, ERR_USAGE, "\"work_dir\" is too long.");
	return check_words(argv, "argv", e) || check_words(env, "env", e) ? -1 : 0;
}

/* Words, directory, environment and time of a call, in `mem`. */
static int fill_request(struct call *call, struct arena *mem, struct run_request *r, struct err *e)
{
	const struct mcp_options *o = call_options(call);
	const struct json *argv = call_value(call, "argv");
	const struct json *env = call_value(call, "env");
	const char *command = call_text(call, "command"), *dir = call_text(call, "work_dir");
	int64_t timeout = call_number(call, "timeout", 0), limit = o->agent->limits.timeout_s;
	const char **words;
	size_t n = 0;

	if (!command == !argv)
		return err_set(e, ERR_USAGE,
			"Give \"command\", a shell command line, or \"argv\", the words of one program.");
	if (check_length(argv, env, command, dir, e))
		return -1;
	words = arena_array(mem, argv ? argv->n + 1 : 4, sizeof *words);
	if (command) {
		words[n++] = "/bin/sh";
		words[n++] = "-c";
		words[n++] = arena_strdup(mem, command);
	}
	for (const struct json *j = argv ? argv->first : NULL; j; j = j->next)
		words[n++] = arena_strdup(mem, j->text);
	if (!n)
		return err_set(e, ERR_USAGE, "\"argv\" is empty.");
	*r = (struct run_request){.agent = o->agent->container,
		.program = "mcp",
		.def = o->agent,
		.argv = words,
		.argc = n,
		.cwd = arena_strdup(mem, dir ? dir : call_reach(call)->home),
		.timeout_ms = timeout ? timeout * 1000 : (limit ? limit : COMMAND_TIMEOUT_S) * 1000,
		.in = -1,
		.out = -1,
		.error = -1,
		.cancel_fd = -1,
		.resize_fd = -1,
		.output = take_output};
	if (limit && (timeout > limit))
		return err_set(e, ERR_REFUSED,
			"The timeout of this agent's commands is at most %lld s.",
			(long long)limit);
	words = arena_array(mem, (env ? env->n : 0) + 1, sizeof *words);
	for (const struct json *j = env ? env->first : NULL; j; j = j->next)
		words[r->envc++] = arena_printf(mem, "%s=%s", j->key, j->text);
	r->env = words;
	return 0;
}

static char *describe_words(const struct run_request *r)
{
	struct str text = STR_INIT;
	size_t n;

	if (r->argc == 3 && !strcmp(r->argv[0], "/bin/sh"))
		str_adds(&text, r->argv[2]);
	else
		for (size_t i = 0; i < r->argc && text.len < LISTED_MOST; i++)
			str_addf(&text, "%s%s", i ? " " : "", r->argv[i]);
	if (text.len <= LISTED_MOST)
		return str_detach(&text);
	n = utf8_whole(text.s, LISTED_MOST);
	text.len = n;
	str_adds(&text, "...");
	return str_detach(&text);
}

static void run_kept_command(struct command *c, struct recorder *by)
{
	struct command_table *t = c->table;
	struct run_result result;
	struct err why = ERR_INIT;
	bool ok;

	c->request.ctx = c;
	ok = agents_run_by(by, &c->request, &result, &why) == 0;
	pthread_mutex_lock(&t->lock);
	c->ok = ok;
	c->result = result;
	c->err = why;
	c->running = false;
	c->ended_ns = clock_mono_ns();
	if (c->beside)
		t->beside--;
	t->held -= c->held;
	c->held = 0;
	arena_release(&c->mem);
	pthread_cond_broadcast(&t->change);
	pthread_mutex_unlock(&t->lock);
}

/* -- what is told ----------------------------------------------------------------------------------- */

/* Under the lock. */
static void put_state(struct jsonw *j, const struct command *c)
{
	int64_t until = c->running ? clock_mono_ns() : c->ended_ns;

	jsonw_int(j, "command_id", c->id);
	jsonw_text(j, "state", c->running ? "running" : "ended");
	if (!c->running) {
		jsonw_bool(j, "success",
			c->ok && c->result.ended == ENDED_EXIT && !c->result.exit_code);
		jsonw_int(j, "exit_code", c->result.exit_code);
	}
	jsonw_text(j, "ended", c->running ? "" : run_ended_name(c->result.ended));
	jsonw_number(j, "execution_time", (double)(until - c->started_ns) / 1e9, 3);
	jsonw_uint(j, "stdout_bytes", output_len(&c->out[1]));
	jsonw_uint(j, "stderr_bytes", output_len(&c->out[2]));
	jsonw_uint(j, "dropped_bytes", c->out[1].gap + c->out[2].gap);
	jsonw_text(j, "error", c->running ? "" : c->result.err.msg);
}

static int tell_not_run(const struct command *c, struct err *e)
{
	const struct err *why = c->err.kind ? &c->err : &c->result.err;

	if (why->kind == ERR_NOT_FOUND)
		return err_set(e, ERR_NOT_FOUND,
			"The agent's container cannot be reached (%.300s); the operator starts it with "
			"`berth up`.",
			why->msg);
	return why->kind ? err_copy(e, why) : err_set(e, ERR_FAILED, "It did not run.");
}

/* No rule judges it: what it was can be told apart afterwards. */
static const char *describe_input(struct call *call, const struct json *text)
{
	unsigned char sum[32];
	char hex[2 * sizeof sum + 1];

	if (!EVP_Digest(text->text, text->len, sum, NULL, EVP_sha256(), NULL))
		return NULL;
	hex_text(hex, sum, sizeof sum);
	return arena_printf(&call->mem, "%zu bytes, SHA-256 %s", text->len, hex);
}

static int input_of_text(const struct json *text, struct err *e)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd < 0 || file_write(fd, text->text, text->len) < 0 || lseek(fd, 0, SEEK_SET) < 0) {
		err_sys(e, errno, "cannot keep the input of the command");
		cleanup_close(&fd);
		return -1;
	}
	return fd;
}

/* The output that fits, and whether there is more to come back for. */
static bool put_streams(struct call *call, const struct command *c)
{
	size_t most = (size_t)call_number(call, "max_output", ANSWER_MOST);
	struct err full = ERR_INIT;
	bool more = false;

	/* What does not fit beside other answers is left for read_command. */
	if (most > ANSWER_MOST &&
		budget_more(call, ANSWER_BYTES * (c->out[1].kept.len + c->out[2].kept.len), &full))
		most = ANSWER_MOST;
	for (int i = 1; i <= 2; i++) {
		struct output_part part = output_from(&c->out[i], 0, most, false);

		jsonw_textn(&call->out, i == 1 ? "stdout" : "stderr", part.bytes, part.n);
		more |= part.n < output_len(&c->out[i]);
	}
	jsonw_bool(&call->out, "truncated", more);
	return more;
}

/* kill_command ends it by the pipe that cancelling the call writes to, but the call is answered. */
static int let_others_kill(struct call *call, struct command *c, struct err *e)
{
	int fd = call->cancel[1] < 0 ? -1 : fcntl(call->cancel[1], F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return err_sys(e, errno, "cannot make a pipe");
	pthread_mutex_lock(&c->table->lock);
	c->cancel[1] = fd;
	pthread_mutex_unlock(&c->table->lock);
	return 0;
}

int tool_execute(struct call *call, struct err *e)
{
	const struct json *input = call_value(call, "stdin");
	struct command_table *t = call->server->commands;
	struct run_request r;
	struct command *c;
	AUTO_CLOSE int in = -1;
	AUTO_FREE char *text = NULL;
	bool more = false;
	int rc;

	if (fill_request(call, &call->mem, &r, e))
		return -1;
	if (input && (in = input_of_text(input, e)) < 0)
		return -1;
	text = describe_words(&r);
	c = add_command(t, text);
	c->request = r;
	c->request.in = in;
	c->request.in_note = input ? describe_input(call, input) : NULL;
	c->request.cancel_fd = call_cancel_fd(call);
	if (let_others_kill(call, c, e)) {
		remove_command(t, c);
		return -1;
	}
	run_kept_command(c, &call->worker->by);
	rc = c->ok || c->result.ended == ENDED_TIMEOUT ? 0 : tell_not_run(c, e);
	if (!rc) {
		put_state(&call->out, c);
		more = put_streams(call, c);
	}
	if (more)
		leave_command(t, c);
	else
		remove_command(t, c);
	return rc;
}

/* -- beside calls ----------------------------------------------------------------------------------- */

static void *run_beside(void *ctx)
{
	struct command *c = ctx;
	struct server *s = c->table->server;
	struct recorder by = {.program = "mcp", .policy = s->o->policy, .audit = s->audit};

	run_kept_command(c, &by);
	cleanup_close(&c->input_from);
	return NULL;
}

static int start_beside(struct call *call, struct command *c, struct err *e)
{
	struct command_table *t = c->table;
	int input[2];
	bool full, much;

	if (pipe2(c->cancel, O_CLOEXEC) < 0 || pipe2(input, O_CLOEXEC) < 0)
		return err_sys(e, errno, "cannot make a pipe");
	c->input = input[1];
	c->input_from = input[0];
	fcntl(c->input, F_SETFL, O_NONBLOCK);
	c->request.in = c->input_from;
	c->request.cancel_fd = c->cancel[0];
	if (!call_number(call, "timeout", 0) && !call_options(call)->agent->limits.timeout_s)
		c->request.timeout_ms = 0;
	pthread_mutex_lock(&t->lock);
	c->held = arena_bytes(&c->mem);
	t->held += c->held;
	full = t->beside >= RUNNING_MOST;
	much = t->held > budget_total(t->server) / OUTPUT_PART;
	c->beside = !full && !much;
	t->beside += c->beside;
	pthread_mutex_unlock(&t->lock);
	if (full)
		return err_set(e, ERR_REFUSED,
			"%d commands are already running in the background; end one with kill_command.",
			RUNNING_MOST);
	if (much)
		return err_set(e, ERR_REFUSED,
			"The commands that run in the background use too much memory; end one with kill_command.");
	if (spawn_thread(&c->thread, run_beside, c) == 0)
		return 0;
	pthread_mutex_lock(&t->lock);
	t->beside--;
	c->beside = false;
	pthread_mutex_unlock(&t->lock);
	return err_set(e, ERR_FAILED, "Cannot start a thread for this command.");
}

int tool_start(struct call *call, struct err *e)
{
	struct command_table *t = call->server->commands;
	struct command *c = add_command(t, "");
	AUTO_FREE char *text = NULL;

	/* Once it runs its words are its thread's. */
	if (!fill_request(call, &c->mem, &c->request, e))
		text = describe_words(&c->request);
	if (!text || start_beside(call, c, e)) {
		cleanup_close(&c->input_from);
		remove_command(t, c);
		return -1;
	}
	pthread_mutex_lock(&t->lock);
	free(c->text);
	c->text = text;
	text = NULL;
	put_state(&call->out, c);
	pthread_mutex_unlock(&t->lock);
	leave_command(t, c);
	return 0;
}

int tool_list_commands(struct call *call, struct err *e)
{
	struct command_table *t = call->server->commands;

	(void)e;
	jsonw_array(&call->out, "commands");
	pthread_mutex_lock(&t->lock);
	for (const struct command *c = t->first; c; c = c->next) {
		jsonw_object(&call->out, NULL);
		put_state(&call->out, c);
		jsonw_text(&call->out, "command", c->text);
		jsonw_end(&call->out);
	}
	pthread_mutex_unlock(&t->lock);
	jsonw_end(&call->out);
	return 0;
}

/* Waits until there is more of the stream than `offset`, or its end, at most `seconds`. */
static void wait_for_output(
	struct call *call, struct command *c, int stream, size_t offset, int64_t seconds)
{
	struct command_table *t = c->table;
	int64_t until = clock_mono_ns() + seconds * 1000000000;

	while (c->running && !output_from(&c->out[stream], offset, SIZE_MAX, true).n &&
		clock_mono_ns() < until && !call_cancelled(call)) {
		struct timespec at = clock_in_ms(100);

		pthread_cond_clockwait(&t->change, &t->lock, CLOCK_MONOTONIC, &at);
	}
}

int tool_read_command(struct call *call, struct err *e)
{
	const char *which = call_text(call, "stream");
	int stream = which && !strcmp(which, "stderr") ? 2 : 1;
	size_t offset = (size_t)call_number(call, "offset", 0);
	size_t limit = (size_t)call_number(call, "limit", ANSWER_MOST);
	struct output_part part;
	struct command *c = find_command(call, e);

	if (!c)
		return -1;
	pthread_mutex_lock(&c->table->lock);
	wait_for_output(call, c, stream, offset, call_number(call, "wait", 0));
	part = output_from(&c->out[stream], offset, limit, c->running);
	put_state(&call->out, c);
	jsonw_textn(&call->out, "data", part.bytes, part.n);
	jsonw_uint(&call->out, "next_offset", part.at + part.n);
	jsonw_uint(&call->out, "skipped_bytes", part.at > offset ? part.at - offset : 0);
	pthread_mutex_unlock(&c->table->lock);
	leave_command(c->table, c);
	return 0;
}

/* What a command that does not read leaves in the pipe is not waited for. */
static int feed_command(
	struct call *call, int fd, const struct json *text, size_t *done, struct err *e)
{
	int64_t until = clock_mono_ns() + WRITE_MS * 1000000ll;

	while (*done < text->len && clock_mono_ns() < until && !call_cancelled(call)) {
		struct pollfd p = {fd, POLLOUT, 0};
		ssize_t n = write(fd, text->text + *done, text->len - *done);

		if (n > 0)
			*done += (size_t)n;
		else if (errno == EAGAIN)
			poll(&p, 1, 100);
		else if (errno != EINTR)
			return err_sys(e, errno, "the command does not read its input");
	}
	return 0;
}

/* As `stdin` of a command that is waited for: its size and sum are in the log before the command can read it. */
static int feed_recorded(struct call *call, char *command, int fd, const struct json *text,
	size_t *done, struct err *e)
{
	const struct key_value kv[] = {{"tool", call->tool->name, false},
		{"command", command, false}, {"stdin", describe_input(call, text), false}};
	const struct audit_record r = {.operation = call->tool->operation,
		.target_type = "container",
		.name = call_options(call)->agent->container,
		.agent = call_options(call)->who,
		.params = kv,
		.nparams = COUNT(kv),
		.duration_us = -1};
	struct err why = ERR_INIT;
	struct recording rec;

	journal_mask(r.name, command, strlen(command));
	if (record_begin(&rec, &call->worker->by, &r, e))
		return -1;
	feed_command(call, fd, text, done, &why);
	record_end(&rec, &why);
	return why.kind ? err_copy(e, &why) : 0;
}

int tool_write_command(struct call *call, struct err *e)
{
	const struct json *text = json_member(call->args, "input");
	struct command *c = find_command(call, e);
	AUTO_CLOSE int fd = -1;
	char *command;
	size_t done = 0;
	int rc = -1;

	if (!c)
		return -1;
	pthread_mutex_lock(&c->table->lock);
	command = arena_strndup(&call->mem, c->text, NOTED_MOST);
	if (c->running && c->input >= 0)
		fd = fcntl(c->input, F_DUPFD_CLOEXEC, 0);
	if (call_flag(call, "close") && c->input >= 0)
		close(steal_fd(&c->input));
	pthread_mutex_unlock(&c->table->lock);
	if (fd < 0)
		err_set(e, ERR_REFUSED,
			"Command %lld takes no input: it has ended, or its input was closed.",
			(long long)c->id);
	else
		rc = feed_recorded(call, command, fd, text, &done, e);
	if (!rc)
		jsonw_uint(&call->out, "written", done);
	leave_command(c->table, c);
	return rc;
}

int tool_kill_command(struct call *call, struct err *e)
{
	struct command *c = find_command(call, e);

	if (!c)
		return -1;
	pthread_mutex_lock(&c->table->lock);
	if (c->running && c->cancel[1] >= 0)
		file_write(c->cancel[1], "", 1);
	wait_for_output(call, c, 0, 0, END_MS / 1000);
	put_state(&call->out, c);
	pthread_mutex_unlock(&c->table->lock);
	leave_command(c->table, c);
	return 0;
}

/* -- the table --------------------------------------------------------------------------------------- */

struct command_table *commands_new(struct server *s)
{
	struct command_table *t = xcalloc(1, sizeof *t);

	t->server = s;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->change, NULL);
	return t;
}

void commands_end(struct command_table *t)
{
	struct command *c, *next;

	pthread_mutex_lock(&t->lock);
	for (c = t->first; c; c = c->next)
		if (c->running && c->cancel[1] >= 0)
			file_write(c->cancel[1], "", 1);
	pthread_mutex_unlock(&t->lock);
	for (c = t->first; c; c = next) {
		next = c->next;
		if (c->beside)
			pthread_join(c->thread, NULL);
		free_command(c);
	}
	pthread_cond_destroy(&t->change);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
