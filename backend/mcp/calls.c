/*
 * calls.c - runs each tool call on its own thread until it is answered.
 *
 * Threads are made as they are needed and stay.  Nothing is written to the client while `lock` is held; `out_lock` comes
 * first where both are.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/spawn.h>
#include <berth/text.h>

#include "files/files.h"
#include "mcp/server.h"

#define TICK_MS 200
#define TASK_AFTER_NS \
	1000000000ll /* a call that takes longer becomes a task, where the client knows them */
#define STAND_BACK \
	5 /* added to the niceness of long calls and of the file workers that they start */

/* -- the record ------------------------------------------------------------------------------------ */

/* The paths of a call: those arguments that are one, in the order of the tool's table. */
static size_t list_paths(struct call *c, const char ***ret)
{
	size_t n = 0, cap = 0;
	const char **list = NULL;

	for (const struct arg_def *a = c->tool->args; a && a->name; a++) {
		const struct json *v = json_member(c->args, a->name);

		list = mem_grow(list, &cap, n + 1, sizeof *list);
		if (json_is(v, JSON_STRING) && a->type == ARG_PATH)
			list[n++] = v->text;
		for (const struct json *i =
				v && (a->type == ARG_OBJECTS || !strcmp(a->name, "paths"))
				? v->first
				: NULL;
			i; i = i->next) {
			const char *path =
				i->type == JSON_STRING ? i->text : json_string(i, "path");

			list = mem_grow(list, &cap, n + 1, sizeof *list);
			if (path)
				list[n++] = path;
		}
	}
	*ret = list;
	return n;
}

static void describe_call(struct call *c, struct audit_record *r, struct key_value kv[2])
{
	const char **paths;
	size_t n = list_paths(c, &paths);
	struct str shown = STR_INIT;

	for (size_t i = 0; i < n && shown.len < 4096; i++)
		str_addf(&shown, "%s%s", i ? " " : "", paths[i]);
	kv[0] = (struct key_value){"tool", c->tool->name, false};
	kv[1] = (struct key_value){"paths", arena_strdup(&c->mem, shown.s), false};
	*r = (struct audit_record){.operation = c->tool->operation,
		.target_type = "file",
		.name = n ? arena_strdup(&c->mem, paths[0]) : c->server->reach.home,
		.agent = c->server->o->who,
		.params = kv,
		.nparams = 2,
		.duration_us = -1};
	/* Of every class: long names leave no room for others in a text that is clipped. */
	if (n > 1 || (n && operation_table[r->operation].flags & OP_CHANGES))
		record_manifest(r, n, paths);
	str_release(&shown);
	free(paths);
}

/* A refusal before anything began that would have recorded it. */
static void record_refusal(struct call *c, const struct err *why)
{
	const struct key_value kv[] = {{"tool", c->tool->name, false}};
	const struct audit_record r = {.operation = c->tool->operation,
		.target_type = "container",
		.name = c->server->o->agent ? c->server->o->agent->container : NULL,
		.agent = c->server->o->who,
		.params = kv,
		.nparams = COUNT(kv),
		.duration_us = -1};

	if (r.operation != OP_NONE)
		record_event(&c->worker->by, &r, why);
}

/* -- one call -------------------------------------------------------------------------------------- */

/* All of it or nothing: groups besides were given up at the start.  Neither call says whether it failed. */
static int become_user(const struct reach *r, struct err *e)
{
	setfsgid(r->gid);
	setfsuid(r->uid);
	if ((gid_t)setfsgid((gid_t)-1) == r->gid && (uid_t)setfsuid((uid_t)-1) == r->uid)
		return 0;
	return err_set(e, ERR_FAILED, "The server cannot act as the agent's user %u:%u.",
		(unsigned)r->uid, (unsigned)r->gid);
}

/* What root does here it does as the user of the container: it reaches no further, and what is made is his. */
static int run_tool_as_user(struct call *c, struct err *e)
{
	const struct reach *r = &c->server->reach;
	bool change = c->tool->group == MCP_FILES && geteuid() == 0;
	int rc;

	/* Before: that user does not see what berth has noted. */
	if (c->tool->group == MCP_FILES && !(c->tool->hints & HINT_READS))
		agents_check_room(call_options(c)->agent->container, &c->full);
	rc = change && become_user(r, e) ? -1 : c->tool->run(c, e);
	if (change) {
		setfsuid(0);
		setfsgid(getegid());
	}
	return rc;
}

static int run_recorded_tool(struct call *c, struct err *e)
{
	struct key_value kv[2];
	struct audit_record r;
	struct recording rec;
	struct err why = ERR_INIT;
	uint64_t last = c->worker->by.last;
	int rc;

	if (c->tool->operation == OP_NONE || c->tool->hints & HINT_RECORDS) {
		rc = run_tool_as_user(c, &why);
		if (rc && why.kind == ERR_REFUSED && !c->recorded && c->worker->by.last == last)
			record_refusal(c, &why);
		return rc ? err_copy(e, &why) : 0;
	}
	describe_call(c, &r, kv);
	if (record_begin(&rec, &c->worker->by, &r, e))
		return -1;
	rc = run_tool_as_user(c, &why);
	record_end(&rec, &why);
	return rc ? err_copy(e, &why) : 0;
}

/* Room for all of it at once: what grows bit by bit is copied again and again. */
static void quote_content(struct str *quoted, const char *text, size_t n, struct jsonw *j)
{
	str_reserve(quoted, n + n / 16 + 64);
	jsonw_quote(quoted, text, n);
	str_reserve(&j->out, 2 * quoted->len + 512);
}

static void put_content(struct call *c, struct jsonw *j, const struct err *err)
{
	AUTO_STR struct str quoted = STR_INIT;

	char why[2 * sizeof err->msg];

	if (err)
		text_clean(why, sizeof why, err->msg);
	if (err)
		jsonw_quote(&quoted, why, strlen(why));
	else if (c->tool->json)
		quote_content(&quoted, c->out.out.s, c->out.out.len, j);
	else
		quote_content(&quoted, c->text.s, c->text.len, j);
	jsonw_array(j, "content");
	if (!c->extra.len || err) {
		jsonw_object(j, NULL);
		jsonw_text(j, "type", "text");
		jsonw_raw(j, "text", quoted.s);
		jsonw_end(j);
		if (c->note && !err) {
			jsonw_object(j, NULL);
			jsonw_text(j, "type", "text");
			jsonw_text(j, "text", c->note);
			jsonw_end(j);
		}
	} else {
		jsonw_raw(j, NULL, c->extra.s);
	}
	jsonw_end(j);
	if (err) {
		jsonw_bool(j, "isError", true);
	} else if (c->tool->json) {
		jsonw_raw(j, "structuredContent", c->out.out.s);
	} else {
		jsonw_object(j, "structuredContent");
		jsonw_raw(j, "content", c->extra.len ? "\"\"" : quoted.s);
		jsonw_end(j);
	}
}

/* What a person sees of it (calls.h). */
static void show_end_of_call(struct call *c, const struct err *err, size_t out_bytes)
{
	AUTO_STR struct str shown = STR_INIT;
	enum call_state state = call_cancelled(c) ? CALL_CANCELLED : err ? CALL_FAILED : CALL_DONE;

	if (err)
		str_adds(&shown, err->msg);
	else if (c->tool->json)
		call_show_result(&shown, c->out.out.s, c->out.out.len);
	else
		call_show_result(&shown, c->text.s, c->text.len);
	callboard_end(c->server->shown, c->shown, state, shown.s, shown.len, out_bytes);
}

/* A resource is one text; a tool's answer is content. */
static void put_answer(struct call *c, struct jsonw *j, const struct err *err)
{
	if (!c->uri) {
		put_content(c, j, err);
	} else {
		jsonw_array(j, "contents");
		jsonw_object(j, NULL);
		jsonw_text(j, "uri", c->uri);
		jsonw_text(j, "mimeType", "application/json");
		jsonw_textn(j, "text", c->out.out.s, c->out.out.len);
		jsonw_end(j);
		jsonw_end(j);
		if (c->modern) {
			jsonw_int(j, "ttlMs", 0);
			jsonw_text(j, "cacheScope", "private");
		}
	}
	message_result(c->server, j, c->modern);
}

/* false: by then it has become a task, whose result this is. */
static bool send_answer(struct call *c, const struct str *line)
{
	struct server *s = c->server;
	bool task;

	pthread_mutex_lock(&s->out_lock);
	pthread_mutex_lock(&s->lock);
	/* From here on nobody tells its progress, or makes it a task. */
	c->worker->call = NULL;
	task = c->task != NULL;
	pthread_mutex_unlock(&s->lock);
	if (!task && !call_cancelled(c))
		message_write(s, line);
	pthread_mutex_unlock(&s->out_lock);
	return !task;
}

static void end_as_task(struct call *c, const struct err *err)
{
	struct jsonw j;

	jsonw_init(&j, true);
	jsonw_object(&j, NULL);
	put_answer(c, &j, err);
	jsonw_end(&j);
	j.out.s[--j.out.len] = '\0'; /* the newline */
	task_end(c->server->tasks, c, j.out.s);
	jsonw_release(&j);
}

static void answer_call(struct call *c, const struct err *err)
{
	struct server *s = c->server;
	struct jsonw j;

	if (c->tool->json && !err) {
		jsonw_end(&c->out);
		c->out.out.s[--c->out.out.len] = '\0'; /* the newline */
	}
	if (c->uri && err) {
		message_begin(&j, c->id, "error");
		jsonw_int(&j, "code", -32603);
		jsonw_text(&j, "message", err->msg);
	} else {
		message_begin(&j, c->id, "result");
		put_answer(c, &j, err);
	}
	jsonw_end(&j);
	jsonw_end(&j);
	if (s->shown)
		show_end_of_call(c, err, j.out.len);
	if (!send_answer(c, &j.out))
		end_as_task(c, err);
	jsonw_release(&j);
}

static void show_begin_of_call(struct call *c)
{
	AUTO_STR struct str shown = STR_INIT;

	call_show_arguments(c, &shown);
	c->shown = callboard_begin(
		c->server->shown, c->tool->name, shown.s, shown.len, c->message_bytes);
}

static void run_call(struct call *c)
{
	struct err e = ERR_INIT;
	int rc = 0;

	if (c->server->shown)
		show_begin_of_call(c);

	if (c->tool->json) {
		jsonw_init(&c->out, true);
		jsonw_object(&c->out, NULL);
	}
	if (call_cancelled(c))
		rc = err_set(&e, ERR_CANCELLED, "cancelled");
	else if (call_check(c->tool, c->args, &e) || budget_enter(c, &e) ||
		run_recorded_tool(c, &e) || budget_answer(c, &e))
		rc = -1;
	answer_call(c, rc ? &e : NULL);
	budget_leave(c);
	call_release(c);
}

/* -- threads --------------------------------------------------------------------------------------- */

/* Under the lock: nothing came for a while.  What the last calls took is given back: crews of file workers, and memory. */
static void rest_worker(struct worker *w)
{
	struct server *s = w->server;
	struct files *f = w->files;
	bool last;

	w->files = NULL;
	last = ++s->resting == s->nworkers;
	pthread_mutex_unlock(&s->lock);
	files_close(f);
	if (last)
		malloc_trim(0);
	pthread_mutex_lock(&s->lock);
}

/* Under the lock. */
static void wait_for_call(struct worker *w)
{
	struct server *s = w->server;
	struct call_queue *q = w->queue;
	struct timespec until = clock_in_ms(REST_S * 1000);
	bool rests = false;

	q->idle++;
	while (!q->first && !s->ending)
		if (rests)
			pthread_cond_wait(&q->work, &s->lock);
		else if (pthread_cond_clockwait(&q->work, &s->lock, CLOCK_MONOTONIC, &until) ==
				ETIMEDOUT &&
			!q->first) {
			rest_worker(w);
			rests = true;
		}
	s->resting -= rests;
	q->idle--;
}

void calls_rest_locked(struct worker *w, bool rests)
{
	if (rests)
		rest_worker(w);
	else
		w->server->resting--;
}

void calls_rest(struct worker *w, bool rests)
{
	pthread_mutex_lock(&w->server->lock);
	calls_rest_locked(w, rests);
	pthread_mutex_unlock(&w->server->lock);
}

/* Under the lock. */
static void begin_call(struct worker *w, struct call *c)
{
	w->server->busy++;
	w->queue->busy++;
	c->worker = w;
	w->call = c;
}

static void end_call(struct worker *w, size_t bytes)
{
	struct server *s = w->server;

	pthread_mutex_lock(&s->lock);
	s->busy--;
	w->queue->busy--;
	s->ended++;
	s->held -= bytes;
	pthread_cond_broadcast(&s->less);
	pthread_mutex_unlock(&s->lock);
}

void calls_run_here(struct worker *w, struct call *c)
{
	size_t bytes = c->bytes;

	pthread_mutex_lock(&w->server->lock);
	begin_call(w, c);
	pthread_mutex_unlock(&w->server->lock);
	run_call(c);
	end_call(w, bytes);
}

static struct call *take_call(struct worker *w)
{
	struct server *s = w->server;
	struct call_queue *q = w->queue;
	struct call *c;

	pthread_mutex_lock(&s->lock);
	wait_for_call(w);
	c = q->first;
	if (c) {
		q->first = c->next;
		if (!q->first)
			q->last = &q->first;
		q->waiting--;
		begin_call(w, c);
	}
	pthread_mutex_unlock(&s->lock);
	return c;
}

static void *serve_calls(void *ctx)
{
	struct worker *w = ctx;
	struct call *c;

	/* A thread's own, and of the threads that it starts; nobody takes it back. */
	if (w->queue == &w->server->queue[QUEUE_LONG])
		setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + STAND_BACK);
	while ((c = take_call(w)) != NULL) {
		size_t bytes = c->bytes;

		run_call(c);
		end_call(w, bytes);
	}
	return NULL;
}

struct worker *calls_start_thread(
	struct server *s, struct call_queue *q, void *(*run)(void *worker))
{
	struct worker *w = xcalloc(1, sizeof *w);

	w->server = s;
	w->queue = q;
	w->by = (struct recorder){.program = "mcp", .policy = s->o->policy, .audit = s->audit};
	if (spawn_thread(&s->thread[s->nworkers], run, w)) {
		free(w);
		return NULL;
	}
	s->worker[s->nworkers++] = w;
	return w;
}

/* Under the lock.  Where there can be no more threads the others do it, and without any nobody: */
static void start_call_thread(struct server *s, struct call_queue *q)
{
	q->workers += calls_start_thread(s, q, serve_calls) != NULL;
}

/* Under the lock: what only looks at files is left to the thread that read the message, if that may and nothing waits. */
static bool is_left_to_reader(const struct server *s, const struct call *c)
{
	return s->may_run && !s->here && s->reading.watched && c->tool->group == MCP_FILES &&
		(c->tool->hints & (HINT_READS | HINT_LONG)) == HINT_READS && !c->token &&
		!c->knows_tasks && !s->queue[QUEUE_SHORT].waiting;
}

/* Under the lock. */
static size_t calls_waiting(const struct server *s)
{
	size_t n = 0;

	for (size_t i = 0; i < COUNT(s->queue); i++)
		n += s->queue[i].waiting;
	return n;
}

static enum queue_kind find_kind(const struct call *c)
{
	unsigned hints = c->tool->hints;

	if (hints & HINT_LONG)
		return QUEUE_LONG;
	if (hints & HINT_RUNS)
		return QUEUE_RUNS;
	if (!(hints & HINT_WAITS))
		return QUEUE_SHORT;
	for (const struct arg_def *a = c->tool->args; a && a->name; a++)
		if (!strcmp(a->name, "wait") && call_number(c, "wait", 0) <= 0)
			return QUEUE_SHORT;
	return QUEUE_WAITS;
}

/* By the thread that read it: the client can do something about that, which a longer queue would hide. */
static void refuse_waiting(struct server *s, struct call *c)
{
	struct err e = ERR_INIT;
	struct jsonw j;

	err_set(&e, ERR_REFUSED,
		"%d calls are already waiting for a person or for output; retry when one of them has been answered, or cancel one.",
		MCP_WAITS_MAX);
	message_begin(&j, c->id, "result");
	put_answer(c, &j, &e);
	if (s->shown) {
		show_begin_of_call(c);
		show_end_of_call(c, &e, j.out.len);
	}
	message_send(s, &j);
	call_release(c);
}

/* Under the lock.  A thread for it is started where none is free and there may be more; -1: there is no thread at all. */
static int queue_call(struct server *s, struct call_queue *q, struct call *c, size_t most)
{
	if (q->waiting >= q->idle && q->workers < most)
		start_call_thread(s, q);
	if (!q->workers)
		return -1;
	*q->last = c;
	q->last = &c->next;
	q->waiting++;
	s->held += c->bytes;
	return 0;
}

/* Under the lock. */
static bool is_full_of_waiting(
	const struct server *s, const struct call_queue *q, const struct call *c)
{
	return q == &s->queue[QUEUE_WAITS] && !(c->tool->hints & HINT_BRIEF) &&
		q->waiting + q->busy >= MCP_WAITS_MAX;
}

void calls_add(struct server *s, struct call *c)
{
	enum queue_kind kind = find_kind(c);
	struct call_queue *q = &s->queue[kind];
	size_t most = kind == QUEUE_WAITS ? MCP_WAITS_MAX + WAITS_SPARE : MCP_CALLS_MAX;
	bool full, here;
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	while ((calls_waiting(s) >= MCP_WAITING_MAX ||
		       (s->held && s->held + c->bytes > budget_total(s) / 8)) &&
		!s->left(s))
		budget_wait(s);
	full = is_full_of_waiting(s, q, c);
	here = is_left_to_reader(s, c);
	if (here) {
		s->here = c;
		s->held += c->bytes;
	} else if (!full) {
		rc = queue_call(s, q, c, most);
	}
	pthread_mutex_unlock(&s->lock);
	if (full)
		refuse_waiting(s, c);
	else if (rc) {
		message_fail(s, c->id, -32603, "Cannot start a thread for this call.");
		call_release(c);
	} else if (!here) /* without the lock, or whoever wakes waits for that */
		pthread_cond_signal(&q->work);
}

bool calls_known(struct server *s, const char *id)
{
	bool known = false;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < COUNT(s->queue); i++)
		for (const struct call *c = s->queue[i].first; c; c = c->next)
			known |= !strcmp(c->id, id);
	for (size_t i = 0; i < s->nworkers; i++) {
		const struct call *c = s->worker[i]->call;

		known |= c && !c->task && !strcmp(c->id, id);
	}
	pthread_mutex_unlock(&s->lock);
	return known;
}

void call_stop(struct call *c)
{
	if (!atomic_exchange(&c->cancelled, true) && c->cancel[1] >= 0)
		file_write(c->cancel[1], "", 1);
	if (c->worker && c->worker->files)
		files_cancel(c->worker->files);
}

/* -- progress -------------------------------------------------------------------------------------- */

/* What is known of it: of files the job's own numbers, else how long it takes. */
static void put_progress(struct call *c, struct str *out)
{
	struct files *f = c->tool->group == MCP_FILES ? c->worker->files : NULL;
	struct job_info job;
	struct jsonw j;
	double done = (double)(clock_mono_ns() - c->started_ns) / 1e9, total = 0;
	const char *what = "";

	if (f && files_progress(f, &job)) {
		done = (double)job.items_done;
		total = (double)job.items_total;
		what = job.name;
	}
	if (done <= c->told)
		return;
	c->told = done;
	jsonw_init(&j, true);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "jsonrpc", "2.0");
	jsonw_text(&j, "method", "notifications/progress");
	jsonw_object(&j, "params");
	jsonw_raw(&j, "progressToken", c->token);
	jsonw_number(&j, "progress", done, 1);
	if (total >= done)
		jsonw_number(&j, "total", total, 0);
	if (*what)
		jsonw_text(&j, "message", what);
	jsonw_end(&j);
	jsonw_end(&j);
	str_add(out, j.out.s, j.out.len);
	jsonw_release(&j);
}

static int64_t runs_for(const struct call *c)
{
	return clock_mono_ns() - c->started_ns;
}

/* A cancellation may come before the operation has begun that it is to stop: it is repeated. */
static void tick_calls(struct server *s)
{
	AUTO_STR struct str out = STR_INIT;

	pthread_mutex_lock(&s->out_lock);
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->nworkers; i++) {
		struct call *c = s->worker[i]->call;

		if (c && call_cancelled(c))
			call_stop(c);
		else if (c && c->knows_tasks && !c->task && runs_for(c) > TASK_AFTER_NS)
			task_begin(s->tasks, c, &out);
		else if (c && c->token && !c->task && runs_for(c) > TICK_MS * 1000000ll)
			put_progress(c, &out);
	}
	pthread_mutex_unlock(&s->lock);
	if (out.len)
		message_write(s, &out);
	pthread_mutex_unlock(&s->out_lock);
}

static void *tell_progress(void *ctx)
{
	struct server *s = ctx;
	const struct timespec pause = {0, TICK_MS * 1000000l};
	bool on = true;

	while (on) {
		pthread_mutex_lock(&s->lock);
		while (!s->ending && !s->busy && !calls_waiting(s))
			pthread_cond_wait(&s->less, &s->lock);
		on = !s->ending;
		pthread_mutex_unlock(&s->lock);
		nanosleep(&pause, NULL);
		tick_calls(s);
	}
	return NULL;
}

/* Made for the first call that wants it. */
static void start_ticker(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	if (!s->ticks)
		s->ticks = spawn_thread(&s->ticker, tell_progress, s) == 0;
	pthread_mutex_unlock(&s->lock);
}

void calls_watch(struct server *s)
{
	start_ticker(s);
	pthread_cond_broadcast(&s->less);
}

void calls_cancel(struct server *s, const char *id)
{
	calls_watch(s);
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < COUNT(s->queue); i++)
		for (struct call *c = s->queue[i].first; c; c = c->next)
			if (!id || !strcmp(c->id, id))
				call_stop(c);
	for (size_t i = 0; i < s->nworkers; i++) {
		struct call *c = s->worker[i]->call;

		/* A task is cancelled as one: its request has been answered. */
		if (c && (!id || (!c->task && !strcmp(c->id, id))))
			call_stop(c);
	}
	pthread_mutex_unlock(&s->lock);
}

/* -- the end --------------------------------------------------------------------------------------- */

bool calls_idle(struct server *s, size_t *ended)
{
	bool idle;

	pthread_mutex_lock(&s->lock);
	while ((s->busy || calls_waiting(s)) && budget_wait(s) != ETIMEDOUT)
		;
	idle = !s->busy && !calls_waiting(s);
	*ended = s->ended;
	pthread_mutex_unlock(&s->lock);
	return idle;
}

void calls_end(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	for (size_t i = 0; i < COUNT(s->queue); i++)
		pthread_cond_broadcast(&s->queue[i].work);
	pthread_cond_broadcast(&s->less);
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < s->nworkers; i++)
		pthread_join(s->thread[i], NULL);
	if (s->ticks)
		pthread_join(s->ticker, NULL);
	for (size_t i = 0; i < s->nworkers; i++) {
		files_close(s->worker[i]->files);
		free(s->worker[i]);
	}
}
