/* recorder.c - asking, recording, and not waiting for the disk. */
#include <berth/record.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/check.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "audit/audit.h"
#include "audit/seal.h"

static enum audit_result result_of(const struct err *err)
{
	switch (err ? err->kind : ERR_NONE) {
	case ERR_NONE: return AUDIT_OK;
	case ERR_REFUSED: return AUDIT_REFUSED;
	case ERR_CANCELLED: return AUDIT_CANCELLED;
	case ERR_TIMEOUT: return AUDIT_TIMEOUT;
	default: return AUDIT_FAILED;
	}
}

/* Opened at the first deed: what only looks pays nothing. */
static int open_log(struct recorder *by, struct err *e)
{
	const struct audit_options o = {
		.program = by->program, .linger_ms = by->apart ? AUDIT_LINGER_MS : 0};

	if (!by->audit)
		by->audit = audit_open(&o, e);
	return by->audit ? 0 : err_wrap(e, "nothing was done, for it could not be recorded");
}

void record_event(struct recorder *by, const struct audit_record *r, const struct err *err)
{
	struct audit_record out = *r;

	out.phase = AUDIT_EVENT;
	out.result = result_of(err);
	out.error = err && err->kind ? err->msg : NULL;
	if (!open_log(by, NULL))
		audit_submit(by->audit, &out, 0, NULL, NULL, NULL);
}

static int ask_policy(const struct recorder *by, const struct audit_record *r,
	const struct record_target *t, struct err *e)
{
	static const struct policy nothing;
	static const struct key_value none = {"", "", false}; /* "" is a known nothing */
	struct policy_act act = {.deed = r->deed,
		.endpoint = by->endpoint,
		.engine_name = by->engine_name,
		.name = r->name,
		.id = r->target ? r->target : "",
		.image = "",
		.labels = t && t->labels ? t->labels : &none,
		.nlabels = t ? t->nlabels : 0};
	size_t i = 0;

	do {
		if (t && i < t->nimages)
			act.image = t->images[i];
		if (policy_check(by->policy ? by->policy : &nothing, &act, e))
			return -1;
	} while (t && ++i < t->nimages);
	return 0;
}

int record_begin_on(struct recording *rec, struct recorder *by, const struct audit_record *r,
	const struct record_target *t, struct err *e)
{
	struct err why = ERR_INIT;

	*rec = (struct recording){.by = by, .r = *r, .start_ns = clock_mono_ns()};
	rec->r.engine = by->engine;
	rec->r.duration_us = -1;
	if (ask_policy(by, r, t, &why)) {
		record_event(by, &rec->r, &why);
		return err_copy(e, &why);
	}
	if (deed_table[r->deed].class != DEED_GUARDED)
		return 0;
	rec->r.phase = AUDIT_INTENT;
	if (open_log(by, e))
		return -1;
	return audit_write(by->audit, &rec->r, &rec->intent, e)
		? err_wrap(e, "nothing was done, for it could not be recorded")
		: 0;
}

int record_begin(
	struct recording *rec, struct recorder *by, const struct audit_record *r, struct err *e)
{
	return record_begin_on(rec, by, r, NULL, e);
}

void record_end(struct recording *rec, const struct err *err)
{
	rec->r.duration_us = (clock_mono_ns() - rec->start_ns) / 1000;
	if (!rec->intent) {
		record_event(rec->by, &rec->r, err);
		return;
	}
	rec->r.phase = AUDIT_OUTCOME;
	rec->r.intent = rec->intent;
	rec->r.result = result_of(err);
	rec->r.error = err && err->kind ? err->msg : NULL;
	audit_submit(rec->by->audit, &rec->r, 0, NULL, NULL, NULL);
}

void record_manifest(struct audit_record *r, size_t n, const char *const *word)
{
	AUTO_STR struct str all = STR_INIT;

	for (size_t i = 0; i < n; i++)
		str_add(&all, word[i], strlen(word[i]) + 1);
	seal_hash(all.s, all.len, r->manifest);
	r->has_manifest = true;
	if (!r->items)
		r->items = n;
}

void recorder_close(struct recorder *by)
{
	audit_close(by->audit);
	by->audit = NULL;
}

void recorder_apart(struct recorder *by, void (*write)(struct recorder *by, void *ctx), void *ctx)
{
	pid_t pid;
	int null;

	CHECK(!by->audit); /* its thread would not be in the child */
	pid = fork();
	if (pid > 0)
		return;
	if (pid == 0) {
		by->apart = true;
		setsid();
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		close_range(
			3, ~0u, 0); /* whoever waits for the end of a pipe does not wait for this */
	}
	write(by, ctx);
	if (!by->audit && pid < 0)
		fputs("berth: what was done is not in the audit log, which cannot be written\n",
			stderr);
	/* No file system is kept busy meanwhile. */
	if (pid == 0 && chdir("/"))
		_exit(1);
	recorder_close(by);
	if (pid == 0)
		_exit(0);
}
