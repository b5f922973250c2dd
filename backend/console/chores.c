/* chores.c - handles small commands: inspect, save, an agent's command log, import an image, cancel a job. */
#include "console/core.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/journal.h>
#include <berth/mem.h>
#include <berth/message.h>

/* ---- inspect */

struct chore {
	struct site *at;
	uint64_t id;
	char *engine, *target, *name;
};

static void take_inspected(struct event *ev, const char *json, size_t n)
{
	char *copy = arena_alloc(&ev->mem, n + 1);

	memcpy(copy, json, n);
	ev->bytes = copy;
	ev->nbytes = n;
}

static void on_inspected(void *ctx, const struct engine_container *ec, const char *json, size_t len,
	const struct err *err)
{
	struct chore *c = ctx;
	struct event *ev = event_new(err ? EV_RESULT : EV_INSPECT);
	const struct target t = {c->engine, c->target, c->name};
	struct record_target of;
	const struct audit_record r = record_of_container(c->at, OP_CONTAINER_INSPECT, &t, &of);

	(void)ec;
	gate_note(gate_of(c->at), &r, err);
	ev->id = c->id;
	if (err)
		ev->err = *err;
	ev->target = (struct target){arena_strdup(&ev->mem, c->engine),
		arena_strdup(&ev->mem, c->target), arena_strdup(&ev->mem, c->name)};
	if (!err)
		take_inspected(ev, json, len);
	backend_up(c->at->b, ev);
	free(c->engine);
	free(c->target);
	free(c->name);
	free(c);
}

void chores_inspect(struct backend *b, const struct command *c)
{
	struct site *at = c->ntargets ? site_of(b, c->targets[0].engine) : NULL;
	struct err e = ERR_INIT;
	struct chore *chore;

	if (!c->ntargets) {
		err_set(&e, ERR_USAGE, "There is nothing to inspect.");
		backend_result(b, c->id, &e);
		return;
	}
	if (!at) {
		err_set(&e, ERR_CONFLICT,
			"%s belongs to a different engine than the one connected now.",
			c->targets[0].name);
		backend_result(b, c->id, &e);
		return;
	}
	if (recording_may_read(b, &e) < 0) {
		backend_result(b, c->id, &e);
		return;
	}
	chore = xcalloc(1, sizeof *chore);
	*chore = (struct chore){at, c->id, xstrdup(c->targets[0].engine), xstrdup(c->targets[0].id),
		xstrdup(c->targets[0].name)};
	engine_inspect(at->engine, chore->target, on_inspected, chore);
}

/* ---- save: disks may be slow, so it happens on a worker thread */

struct save {
	struct blocking_task work;
	struct backend *b;
	uint64_t id;
	char *path, *bytes;
	size_t nbytes;
	struct gate_ticket *ticket;
	struct err err;
};

static void save_work(struct blocking_task *w)
{
	struct save *s = w->data;
	/* O_EXCL follows no link in the last component and overwrites nothing. */
	int fd = open(s->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST) {
		err_set(&s->err, ERR_CONFLICT, "%s already exists: choose another name.", s->path);
		return;
	}
	if (fd < 0) {
		err_sys(&s->err, errno, "Cannot make %s", s->path);
		return;
	}
	if (file_write(fd, s->bytes, s->nbytes) < 0)
		err_sys(&s->err, errno, "Cannot write %s", s->path);
	if (close(fd) < 0 && !s->err.kind)
		err_sys(&s->err, errno, "Cannot write %s", s->path);
	if (s->err.kind)
		unlink(s->path); /* ours: made above */
}

static void end_save(struct save *s)
{
	gate_end(s->ticket, &s->err);
	backend_result(s->b, s->id, s->err.kind ? &s->err : NULL);
	free(s->path);
	free(s->bytes);
	free(s);
}

static void save_done(struct blocking_task *w)
{
	end_save(w->data);
}

static void on_save_intent(void *ctx, const struct err *err)
{
	struct save *s = ctx;
	int refused;

	if (err) {
		s->err = *err;
		end_save(s);
		return;
	}
	refused = blocking_start(&s->b->loop, &s->work, save_work, save_done);
	if (!refused)
		return;
	err_sys(&s->err, refused, "%s was not written: cannot start a thread", s->path);
	end_save(s);
}

void chores_save(struct backend *b, const struct command *c)
{
	struct save *s = xcalloc(1, sizeof *s);
	struct audit_record r = {.operation = OP_FILE_WRITE, .target_type = "file"};
	struct err e = ERR_INIT;

	s->work.data = s;
	s->b = b;
	s->id = c->id;
	s->path = xstrdup(c->save.path ? c->save.path : "");
	s->nbytes = c->save.n;
	s->bytes = xmalloc(c->save.n + 1);
	if (c->save.n)
		memcpy(s->bytes, c->save.bytes, c->save.n);
	r.name = s->path;
	/* A file of the person's, outside what policy looks after: read-only forbids nobody to keep a log. */
	s->ticket = gate_intent(gate_of(b->home), &r, on_save_intent, s, &e);
	if (!s->ticket)
		on_save_intent(s, &e);
}

/* ---- files that are read for an event: on a worker thread */

struct look *look_new(struct backend *b, const struct command *c, struct event *ev)
{
	struct look *l = xcalloc(1, sizeof *l);

	l->work.data = l;
	l->b = b;
	l->name = c->ntargets ? xstrdup(c->targets[0].name) : NULL;
	l->ev = ev;
	l->ev->id = c->id;
	return l;
}

static void work_on_look(struct blocking_task *w)
{
	struct look *l = w->data;

	l->read(l);
}

static void post_look(struct blocking_task *w)
{
	struct look *l = w->data;

	if (l->b->stopping)
		event_free(l->ev);
	else
		backend_up(l->b, l->ev);
	free(l->name);
	free(l);
}

void look_start(struct look *l, void (*read)(struct look *l), const char *what)
{
	l->read = read;
	if (!blocking_start(&l->b->loop, &l->work, work_on_look, post_look))
		return;
	backend_notice(l->b, "Cannot start a thread to read the %s (see ulimit -u).", what);
	post_look(&l->work);
}

/* ---- an agent's journal */

#define JOURNAL_SHOWN 512

static void list_commands(struct look *l)
{
	struct journal_command *all = xcalloc(JOURNAL_SHOWN, sizeof *all), *kept;

	l->ev->ncommands = journal_list(l->name, all, JOURNAL_SHOWN);
	kept = arena_array(&l->ev->mem, l->ev->ncommands + 1, sizeof *kept);
	memcpy(kept, all, l->ev->ncommands * sizeof *kept);
	l->ev->commands = kept;
	free(all);
}

static void take_journal_output(struct look *l)
{
	struct journal_command *about = arena_alloc(&l->ev->mem, sizeof *about);
	struct journal_output out;
	struct journal_piece *pieces;

	if (journal_read(l->name, l->seq - 1, &out, &l->ev->err))
		return;
	*about = out.command;
	pieces = arena_array(&l->ev->mem, out.npieces + 1, sizeof *pieces);
	for (size_t i = 0; i < out.npieces; i++) {
		char *bytes = arena_alloc(&l->ev->mem, out.piece[i].n + 1);

		memcpy(bytes, out.piece[i].bytes, out.piece[i].n);
		pieces[i] = (struct journal_piece){
			out.piece[i].stream, out.piece[i].at_ms, bytes, out.piece[i].n};
	}
	l->ev->ncommands = 1;
	l->ev->commands = about;
	l->ev->npieces = out.npieces;
	l->ev->pieces = pieces;
	l->ev->missed = out.missed;
	journal_output_release(&out);
}

static void read_journal(struct look *l)
{
	if (l->seq)
		take_journal_output(l);
	else
		list_commands(l);
}

void chores_journal(struct backend *b, const struct command *c)
{
	struct look *l;

	if (!c->ntargets)
		return;
	l = look_new(b, c, event_new(EV_JOURNAL));
	l->seq = c->journal.output_of;
	l->ev->target = (struct target){"", "", arena_strdup(&l->ev->mem, l->name)};
	look_start(l, read_journal, "journal");
}

/* ---- calls that agents make of their server: files of several processes */

#define CALLS_SHOWN 512

static void gather_calls(struct look *l)
{
	struct call_info *all = xcalloc(CALLS_SHOWN, sizeof *all), *kept;

	l->ev->ncalls = calls_read(l->name, all, CALLS_SHOWN, &l->ev->call_totals);
	kept = arena_array(&l->ev->mem, l->ev->ncalls + 1, sizeof *kept);
	memcpy(kept, all, l->ev->ncalls * sizeof *kept);
	l->ev->calls = kept;
	free(all);
}

/* Of one agent or, without a target, of all. */
void chores_calls(struct backend *b, const struct command *c)
{
	look_start(look_new(b, c, event_new(EV_CALLS)), gather_calls, "calls");
}

/* ---- import */

struct import {
	struct import *next;
	struct backend *b;
	uint64_t id;
	struct engine_call *call;
	struct job *job;
	uint64_t sent;
	struct gate_ticket *ticket;
	char *path, *reference;
};

static void on_import_progress(void *ctx, uint64_t sent, uint64_t total)
{
	struct import *im = ctx;

	if (!im->sent)
		job_total(im->job, 1, total);
	if (sent > im->sent)
		job_add(im->job, 0, sent - im->sent, 0);
	im->sent = sent;
}

static void on_imported(void *ctx, const struct err *err)
{
	struct import *im = ctx, **p = &im->b->imports;
	bool cancelled = job_cancelled(im->job);
	struct err told = ERR_INIT;
	char result[JOB_TEXT_MAX];

	if (err && err->kind == ERR_CANCELLED) {
		err_set(&told, ERR_CANCELLED, "The import of %s was cancelled: no image was made.",
			im->reference);
		err = &told;
	}
	gate_end(im->ticket, err);
	if (err)
		snprintf(result, sizeof result, "%s", err->msg);
	else
		snprintf(result, sizeof result, "%s is ready.", im->reference);
	job_add(im->job, err ? 0 : 1, 0, 0);
	job_end(im->job, !err ? JOB_DONE : cancelled ? JOB_CANCELLED : JOB_FAILED, result);
	backend_result(im->b, im->id, err);
	while (*p != im)
		p = &(*p)->next;
	*p = im->next;
	free(im->path);
	free(im->reference);
	free(im);
}

/* The intent is in the log, or it is known why it is not. */
static void on_import_intent(void *ctx, const struct err *err)
{
	struct import *im = ctx;
	struct err e = ERR_INIT;

	if (!err && (im->b->stopping || !im->b->home->engine))
		err = (err_set(&e, ERR_CANCELLED, "berth ended before it."), &e);
	if (err)
		on_imported(im, err);
	else
		im->call = engine_import(im->b->home->engine, im->path, im->reference,
			on_import_progress, on_imported, im);
}

void chores_import(struct backend *b, const struct command *c)
{
	const struct key_value param = {"path", c->import.path, false};
	const struct audit_record r = {.operation = OP_IMAGE_IMPORT,
		.target_type = "image",
		.engine = b->home->model.engine,
		.name = c->import.reference,
		.nparams = 1,
		.params = &param};
	struct err e = ERR_INIT;
	struct import *im;
	char name[JOB_TEXT_MAX];

	im = xcalloc(1, sizeof *im);
	if (!c->import.path || !c->import.reference || !*c->import.path || !*c->import.reference)
		err_set(&e, ERR_USAGE, "An import needs a tar file and a name for the image.");
	else if (site_may_change(b->home, "import the image", &e) == 0)
		im->ticket = gate_begin(gate_of(b->home), &r, NULL, on_import_intent, im, &e);
	if (!im->ticket) {
		backend_result(b, c->id, &e);
		free(im);
		return;
	}
	im->b = b;
	im->id = c->id;
	im->path = xstrdup(c->import.path);
	im->reference = xstrdup(c->import.reference);
	snprintf(name, sizeof name, "image import %.100s", im->reference);
	im->job = job_new(backend_board(b), name, b->user, "images", true);
	job_current(im->job, im->path);
	im->next = b->imports;
	b->imports = im;
}

void chores_pulse(struct backend *b)
{
	for (struct import *im = b->imports; im; im = im->next)
		if (job_cancelled(im->job))
			engine_cancel(im->call);
}

/* ---- jobs */

void chores_cancel_job(struct backend *b, const struct command *c)
{
	struct err first = ERR_INIT;
	char which[64];

	for (size_t i = 0; i < c->jobs.n; i++) {
		struct err e = ERR_INIT;

		jobs_cancel(&c->jobs.id[i], &e);
		snprintf(which, sizeof which, "%d.%u", (int)c->jobs.id[i].pid,
			(unsigned)c->jobs.id[i].serial);
		gate_note(gate_of(b->home),
			&(struct audit_record){
				.operation = OP_JOB_CANCEL, .target_type = "job", .name = which},
			e.kind ? &e : NULL);
		/* One that ended meanwhile needs no stopping. */
		if (e.kind && (c->jobs.n == 1 || e.kind != ERR_NOT_FOUND) && !first.kind)
			first = e;
	}
	backend_result(b, c->id, first.kind ? &first : NULL);
	act_pulse(b);
	chores_pulse(b);
	roster_pulse(b);
	b->jobs_ns = 0;
	publish_jobs(b);
}

/* Only what is shown changes, so there is nothing to record. */
void chores_dismiss_job(struct backend *b, const struct command *c)
{
	for (size_t i = 0; i < c->jobs.n; i++)
		jobs_dismiss(&c->jobs.id[i], NULL);
	backend_result(b, c->id, NULL);
	b->jobs_ns = 0;
	publish_jobs(b);
}

/* What is asked, from the last look at the boards: for the record. */
static const struct job_info *find_asking_job(const struct backend *b, const struct job_id *id)
{
	for (size_t i = 0; i < b->njobs; i++)
		if (b->jobs[i].id.pid == id->pid && b->jobs[i].id.started == id->started &&
			b->jobs[i].id.serial == id->serial && b->jobs[i].asks)
			return &b->jobs[i];
	return NULL;
}

struct allowance {
	struct backend *b;
	uint64_t id;
	struct job_id job;
	struct gate_ticket *ticket;
};

static void end_allowance(struct allowance *a, const struct err *err)
{
	struct backend *b = a->b;

	gate_end(a->ticket, err);
	backend_result(b, a->id, err);
	free(a);
	b->jobs_ns = 0;
	publish_jobs(b);
}

static void on_allow_intent(void *ctx, const struct err *err)
{
	struct allowance *a = ctx;
	struct err e = ERR_INIT;

	if (!err && jobs_allow(&a->job, &e))
		err = &e;
	end_allowance(a, err);
}

/* One at a time: each is looked at by a person, as it is shown. */
void chores_allow_job(struct backend *b, const struct command *c)
{
	const struct job_info *j = c->jobs.n == 1 ? find_asking_job(b, &c->jobs.id[0]) : NULL;
	struct err e = ERR_INIT;
	struct allowance *a;

	if (!j) {
		err_set(&e, ERR_NOT_FOUND, "This question is no longer open.");
		backend_result(b, c->id, &e);
		return;
	}
	a = xcalloc(1, sizeof *a);
	*a = (struct allowance){.b = b, .id = c->id, .job = j->id};
	a->ticket = gate_begin(gate_of(b->home),
		&(struct audit_record){.operation = OP_JOB_ALLOW,
			.target_type = "job",
			.name = j->name,
			.params = (const struct key_value[]){{"asked_by", j->owner, false},
				{"about", j->current, false}},
			.nparams = 2},
		NULL, on_allow_intent, a, &e);
	if (!a->ticket)
		end_allowance(a, &e);
}
