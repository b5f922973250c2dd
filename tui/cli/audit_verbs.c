/* audit_verbs.c - `berth audit`: lists, verifies and exports the audit log. */
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <berth/arena.h>
#include <berth/audit.h>
#include <berth/clock.h>
#include <berth/config.h>
#include <berth/format.h>
#include <berth/hex.h>
#include <berth/mem.h>
#include <berth/jsonw.h>
#include <berth/record.h>
#include <berth/text.h>
#include <berth/when.h>

#include "views/audit/audit_text.h"
#include "cli/audit_decisions.h"
#include "cli/gate.h"
#include "cli/run.h"

#define FOLLOW_MS 200
#define STEP_RECORDS 4096
#define NARROW 110
#define OUTCOME_W 14

/* ---- list */

struct listing {
	bool json, broken; /* broken: stdout takes no more */
	int columns;       /* of the terminal; 0: none */
	size_t shown;
	struct str *kept; /* --last: lines in the order they were found, newest first */
	size_t nkept, cap;
	bool keep;
};

static void put_json(struct str *out, const struct audit_record *r)
{
	char hex[AUDIT_HEX], at[FORMAT_MAX];
	struct jsonw j;

	format_stamp(at, r->wall_ms);
	jsonw_init(&j, true);
	jsonw_object(&j, NULL);
	jsonw_uint(&j, "seq", r->seq);
	jsonw_text(&j, "at", at);
	jsonw_text(&j, "act", operation_table[r->operation].name);
	jsonw_text(&j, "phase", audit_phase_name(r->phase));
	if (r->intent)
		jsonw_uint(&j, "intent", r->intent);
	else
		jsonw_null(&j, "intent");
	jsonw_text(&j, "outcome", r->result == AUDIT_PENDING ? NULL : audit_result_name(r->result));
	jsonw_text(&j, "host", r->host);
	jsonw_text(&j, "boot", r->boot);
	jsonw_uint(&j, "pid", r->pid);
	jsonw_text(&j, "program", r->program);
	jsonw_uint(&j, "uid", r->uid);
	jsonw_text(&j, "user", r->user);
	jsonw_text(&j, "agent", *r->agent ? r->agent : NULL);
	jsonw_text(&j, "session", *r->session ? r->session : NULL);
	jsonw_text(&j, "target_type", *r->target_type ? r->target_type : NULL);
	jsonw_text(&j, "engine", *r->engine ? r->engine : NULL);
	jsonw_text(&j, "id", *r->target ? r->target : NULL);
	jsonw_text(&j, "name", *r->name ? r->name : NULL);
	jsonw_uint(&j, "items", r->items);
	jsonw_text(&j, "manifest", r->has_manifest ? hex_text(hex, r->manifest, AUDIT_HASH) : NULL);
	if (r->duration_us < 0)
		jsonw_null(&j, "duration_us");
	else
		jsonw_int(&j, "duration_us", r->duration_us);
	jsonw_text(&j, "error", *r->error ? r->error : NULL);
	jsonw_object(&j, "params");
	for (size_t i = 0; i < r->nparams; i++)
		jsonw_text(&j, r->params[i].key, r->params[i].value);
	jsonw_end(&j);
	jsonw_text(&j, "hash", hex_text(hex, r->hash, AUDIT_HASH));
	jsonw_end(&j);
	str_add(out, j.out.s, j.out.len);
	jsonw_release(&j);
}

/* At least `width` columns (exactly, where `cut`), and two blanks to what follows. */
static void put_cell(struct str *out, void (*put)(struct str *out, const struct audit_record *r),
	const struct audit_record *r, size_t width, bool cut)
{
	AUTO_STR struct str cell = STR_INIT;

	put(&cell, r);
	if (cut)
		cli_clip(&cell, (int)width);
	str_add(out, cell.s, cell.len);
	for (size_t w = (size_t)text_width(cell.s, cell.len); w < width; w++)
		str_addc(out, ' ');
	str_adds(out, "  ");
}

static void put_operation(struct str *out, const struct audit_record *r)
{
	str_adds(out, operation_table[r->operation].name);
}

/* For a person at a terminal: local time, and the outcome within 80 columns. */
static void local_stamp(char buf[FORMAT_MAX], int64_t wall_ms, bool narrow)
{
	time_t t = (time_t)(wall_ms / 1000);
	struct tm tm;

	if (!localtime_r(&t, &tm) ||
		!strftime(buf, FORMAT_MAX, narrow ? "%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M:%S", &tm))
		format_stamp(buf, wall_ms);
}

/* `columns`: of the terminal; 0: it is none, and every field is whole. */
static void put_line(struct str *out, const struct audit_record *r, int columns)
{
	bool narrow = columns && columns < NARROW;
	size_t taken, target;
	char at[FORMAT_MAX];

	if (columns)
		local_stamp(at, r->wall_ms, narrow);
	else
		format_stamp(at, r->wall_ms);
	str_addf(out, "%*llu  %s  ", narrow ? 5 : 7, (unsigned long long)r->seq, at);
	/* However long a name is, how it ended is on the line. */
	put_cell(out, audit_text_who, r, narrow ? 8 : 12, columns);
	put_cell(out, put_operation, r, narrow ? 17 : 18, columns);
	taken = (size_t)text_width(out->s, out->len) + OUTCOME_W + 2;
	target = !narrow                       ? 24
		: taken + 8 > (size_t)columns  ? 8
		: (size_t)columns - taken > 24 ? 24
					       : (size_t)columns - taken;
	put_cell(out, audit_text_target, r, target, columns);
	put_cell(out, audit_text_outcome, r, OUTCOME_W, false);
	audit_text_detail(out, r);
	while (out->len && out->s[out->len - 1] == ' ')
		out->s[--out->len] = '\0';
	cli_clip(out, columns);
	str_addc(out, '\n');
}

static void on_record(void *ctx, const struct audit_record *r, const char *line, size_t len)
{
	struct listing *l = ctx;
	AUTO_STR struct str text = STR_INIT;

	(void)line;
	(void)len;
	l->shown++;
	if (l->json)
		put_json(&text, r);
	else
		put_line(&text, r, l->columns);
	if (l->keep) {
		l->kept = mem_grow(l->kept, &l->cap, l->nkept + 1, sizeof *l->kept);
		l->kept[l->nkept++] = text;
		str_init(&text);
	} else if (fwrite(text.s, 1, text.len, stdout) != text.len) {
		l->broken = true;
	}
}

static enum audit_result find_result(const char *name)
{
	for (int i = AUDIT_OK; i <= AUDIT_TIMEOUT; i++)
		if (strcmp(audit_result_name((enum audit_result)i), name) == 0)
			return (enum audit_result)i;
	return AUDIT_PENDING;
}

/* One that no record can have would look like "none of them". */
static int check_operation(const char *pattern, struct err *e)
{
	const char *names[OP_COUNT + 1] = {NULL}, *nearest;
	char shown[64];
	size_t n = 0;

	for (size_t i = 0; i < OP_COUNT; i++)
		if (*operation_table[i].name)
			names[n++] = operation_table[i].name;
	for (size_t i = 0; i < n; i++)
		if (policy_match(pattern, names[i]))
			return 0;
	nearest = nearest_word(pattern, names);
	return err_set(e, ERR_USAGE, "--act: no operation is called \"%s\"%s%s%s.",
		text_clean(shown, sizeof shown, pattern), nearest ? " (nearest: " : "",
		nearest ? nearest : "", nearest ? ")" : "");
}

static int read_filter(const struct cli *c, struct audit_filter *f, struct err *e)
{
	const char *outcome = cli_value(c, "outcome"), *since = cli_value(c, "since"),
		   *until = cli_value(c, "until");
	int64_t now = clock_wall_ms();

	*f = (struct audit_filter){.agent = cli_value(c, "agent"),
		.operation = cli_value(c, "act"),
		.target = cli_value(c, "target"),
		.text = cli_value(c, "text")};
	if (outcome) {
		f->by_result = true;
		f->not_result = outcome[0] == '!';
		f->result = find_result(outcome + f->not_result);
		if (f->result == AUDIT_PENDING && strcmp(outcome + f->not_result, "none") != 0)
			return err_set(e, ERR_USAGE,
				"--outcome takes ok, failed, refused, cancelled, "
				"timeout or none (an intent); a leading ! means every other outcome.");
	}
	if (f->operation && *f->operation && check_operation(f->operation, e))
		return -1;
	if (since && (f->since_ms = when_ms(since, now, e)) < 0)
		return -1;
	if (until && (f->until_ms = when_ms(until, now, e)) < 0)
		return -1;
	return 0;
}

/* The newest N, oldest of them first. */
static int list_last(struct audit_reader *r, struct listing *l, size_t n, struct err *e)
{
	int more = 1;

	l->keep = true;
	while (more > 0 && l->nkept < n)
		more = audit_reader_older(r, n - l->nkept, 0, on_record, l, e);
	l->keep = false;
	while (l->nkept) {
		struct str *line = &l->kept[--l->nkept];

		l->broken |= fwrite(line->s, 1, line->len, stdout) != line->len;
		str_release(line);
	}
	free(l->kept);
	return more < 0 ? -1 : 0;
}

static int list_all(struct audit_reader *r, struct listing *l, struct err *e)
{
	int more = 1;

	while (more > 0 && !l->broken)
		more = audit_reader_forward(r, STEP_RECORDS, 0, on_record, l, e);
	return more < 0 ? -1 : 0;
}

static int follow_log(struct audit_reader *r, struct listing *l, struct err *e)
{
	while (!l->broken) {
		/* A reader that went away is noticed even when nothing happens. */
		struct pollfd out = {.fd = 1};

		if (audit_reader_newer(r, STEP_RECORDS, 0, on_record, l, e) < 0)
			return -1;
		if (fflush(stdout) != 0)
			break;
		if (poll(&out, 1, FOLLOW_MS) > 0 && out.revents & POLLERR)
			break;
	}
	return 0;
}

static void put_summary(const struct listing *l)
{
	struct jsonw j;

	jsonw_init(&j, true);
	jsonw_object(&j, NULL);
	jsonw_object(&j, "summary");
	jsonw_text(&j, "schema", "berth.audit/1");
	jsonw_uint(&j, "records", l->shown);
	jsonw_print(&j);
}

int cli_audit_list(const struct cli *c, const struct settings *s, struct err *e)
{
	struct listing l = {.json = cli_flag(c, "json"), .columns = cli_columns()};
	const char *last = cli_value(c, "last");
	struct audit_filter filter;
	struct audit_reader *r;
	char *end = NULL;
	long n = last ? strtol(last, &end, 10) : 0;
	int rc;

	(void)s;
	if (last && (n < 1 || *end))
		return err_set(e, ERR_USAGE, "--last takes a number of records, at least 1.");
	if (read_filter(c, &filter, e) < 0)
		return -1;
	r = audit_reader_open(NULL, &filter, e);
	if (!r)
		return -1;
	rc = last ? list_last(r, &l, (size_t)n, e) : list_all(r, &l, e);
	if (rc == 0 && cli_flag(c, "follow"))
		rc = follow_log(r, &l, e);
	audit_reader_close(r);
	if (rc < 0)
		return -1;
	if (l.json && !l.broken)
		put_summary(&l);
	return cli_finish();
}

/* ---- verify */

static void print_verdict_json(const struct audit_verdict *v)
{
	struct jsonw j;

	jsonw_document(&j, "berth.audit_verify/1");
	jsonw_bool(&j, "clean", v->fault == AUDIT_CLEAN);
	jsonw_text(&j, "fault", v->fault == AUDIT_CLEAN ? NULL : audit_fault_name(v->fault));
	jsonw_text(&j, "sentence", v->fault == AUDIT_CLEAN ? NULL : v->sentence);
	jsonw_uint(&j, "at_seq", v->at_seq);
	jsonw_text(&j, "file", v->fault == AUDIT_CLEAN ? NULL : v->file);
	jsonw_uint(&j, "line", v->line);
	jsonw_uint(&j, "records", v->records);
	jsonw_uint(&j, "bytes", v->bytes);
	jsonw_uint(&j, "checkpoints", v->checkpoints);
	jsonw_uint(&j, "first_seq", v->first_seq);
	jsonw_uint(&j, "last_seq", v->last_seq);
	jsonw_uint(&j, "signed_seq", v->signed_seq);
	jsonw_uint(&j, "torn", v->torn);
	jsonw_uint(&j, "unacknowledged_bytes", v->unacknowledged_bytes);
	jsonw_text(&j, "head", v->head);
	jsonw_text(&j, "first_key", v->first_key);
	jsonw_print(&j);
}

static void print_verdict(const struct audit_verdict *v)
{
	AUTO_STR struct str text = STR_INIT;

	audit_text_verdict(&text, v);
	printf("%s\n", text.s);
	if (v->fault != AUDIT_CLEAN && v->file[0])
		printf("where  %s, line %llu\n", v->file, (unsigned long long)v->line);
	if (v->head_found)
		printf("kept   the head you gave is record %llu; %llu were added since\n",
			(unsigned long long)v->head_seq,
			(unsigned long long)(v->last_seq - v->head_seq));
	if (v->fault == AUDIT_CLEAN)
		printf("head   %s\nkey    %s\n", v->head, v->first_key);
}

int cli_audit_verify(const struct cli *c, const struct settings *s, struct err *e)
{
	struct audit_verify what = {.path = c->argc ? c->argv[0] : NULL,
		.head = cli_value(c, "head"),
		.key = cli_value(c, "key")};
	struct audit_verdict v;
	int rc;

	(void)s;
	if (audit_verify(&what, &v, e) < 0)
		return -1;
	if (cli_flag(c, "json"))
		print_verdict_json(&v);
	else
		print_verdict(&v);
	rc = cli_finish();
	return rc ? rc : v.fault != AUDIT_CLEAN;
}

/* ---- export, head */

/* Afterwards: a log that takes no more can still be exported. */
static void record_export(const struct cli *c, const char *what)
{
	char full[PATH_MAX];
	const char *file = c->argc ? c->argv[0] : "-"; /* standard output */
	const struct key_value param = {"what", what, false};
	struct audit_record r = {.operation = OP_LOG_EXPORT,
		.target_type = "file",
		.name = c->argc && realpath(file, full) ? full : file,
		.nparams = 1,
		.params = &param};
	struct recorder by = {.program = "audit export"};
	struct policy policy;
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	struct err none = ERR_INIT;

	by.policy = cli_policy(c, &policy, &mem, &none) ? NULL : &policy;
	record_event(&by, &r, NULL);
	recorder_close(&by);
}

int cli_audit_export(const struct cli *c, const struct settings *s, struct err *e)
{
	uint64_t records;
	char n[FORMAT_MAX];
	int rc;

	(void)s;
	if (cli_flag(c, "decisions")) {
		rc = audit_decisions(c, e);
		if (rc >= 0)
			record_export(c, "decisions");
		return rc;
	}
	if (cli_value(c, "since") || cli_value(c, "until"))
		return err_set(e, ERR_USAGE,
			"A bundle holds the whole log: --since and --until need --decisions.");
	if (!c->argc)
		return err_set(e, ERR_USAGE, "audit export needs FILE, the bundle to write.");
	if (audit_export(NULL, c->argv[0], &records, e) < 0)
		return -1;
	record_export(c, "log");
	printf("%s records; check them anywhere with: berth audit verify FILE\n",
		format_count(n, records));
	return cli_finish();
}

int cli_audit_head(const struct cli *c, const struct settings *s, struct err *e)
{
	struct audit_head h;
	char n[FORMAT_MAX], size[FORMAT_MAX];
	struct jsonw j;

	(void)s;
	if (audit_head_read(NULL, &h, e) < 0)
		return -1;
	if (!cli_flag(c, "json")) {
		printf("%s\n", h.hash);
		fprintf(stderr,
			"record %s of %s in %u segments; keep the line above elsewhere, and later: berth audit "
			"verify --head HASH\n",
			format_count(n, h.seq), format_bytes(size, h.bytes), h.segments);
		return cli_finish();
	}
	jsonw_document(&j, "berth.audit_head/1");
	jsonw_uint(&j, "seq", h.seq);
	jsonw_text(&j, "head", h.hash);
	jsonw_uint(&j, "first_seq", h.first);
	jsonw_uint(&j, "signed_seq", h.signed_seq);
	jsonw_uint(&j, "checkpoints", h.checkpoints);
	jsonw_uint(&j, "bytes", h.bytes);
	jsonw_uint(&j, "segments", h.segments);
	jsonw_text(&j, "next_key", h.next_key);
	return jsonw_print(&j);
}
