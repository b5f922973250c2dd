/* audit_rows.c - loading records for the audit view, in small steps. */
#include "views/audit/audit_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/mem.h>

#include "views/audit/audit_text.h"

#define STEP_BYTES ((size_t)8 << 20) /* some 10 ms of reading */

static struct audit_record *copy_record(struct arena *mem, const struct audit_record *from)
{
	struct audit_record *to = arena_alloc(mem, sizeof *to);
	struct key_value *params = arena_array(mem, from->nparams + 1, sizeof *params);
	const char **texts[] = {&to->host, &to->boot, &to->program, &to->user, &to->agent,
		&to->session, &to->target_type, &to->engine, &to->target, &to->name, &to->error};

	*to = *from;
	for (size_t i = 0; i < COUNT(texts); i++)
		*texts[i] = arena_strdup(mem, *texts[i]);
	for (size_t i = 0; i < from->nparams; i++)
		params[i] = (struct key_value){arena_strdup(mem, from->params[i].key),
			arena_strdup(mem, from->params[i].value), false};
	to->params = params;
	return to;
}

/* They come with every quiet moment and would be every second row. */
static bool is_left_out(const struct audit_rows *r, const struct audit_record *rec)
{
	return rec->deed == DEED_LOG_CHECKPOINT && !r->checkpoints && !strstr(r->filter, "log.");
}

static void add_older(void *ctx, const struct audit_record *rec, const char *line, size_t len)
{
	struct audit_rows *r = ctx;

	(void)line;
	(void)len;
	if (is_left_out(r, rec))
		return;
	r->older = mem_grow(r->older, &r->older_cap, r->nolder + 1, sizeof *r->older);
	r->older[r->nolder++] = copy_record(&r->mem, rec);
}

static void add_fresh(void *ctx, const struct audit_record *rec, const char *line, size_t len)
{
	struct audit_rows *r = ctx;

	(void)line;
	(void)len;
	if (is_left_out(r, rec))
		return;
	r->fresh = mem_grow(r->fresh, &r->fresh_cap, r->nfresh + 1, sizeof *r->fresh);
	r->fresh[r->nfresh++] = copy_record(&r->mem, rec);
}

static int take_outcome(struct audit_filter *f, const char *word, struct err *e)
{
	f->by_result = true;
	f->not_result = *word == '!';
	word += f->not_result;
	for (int i = AUDIT_PENDING; i <= AUDIT_TIMEOUT; i++)
		if (strcmp(i ? audit_result_name((enum audit_result)i) : "none", word) == 0) {
			f->result = (enum audit_result)i;
			return 0;
		}
	return err_set(
		e, ERR_USAGE, "outcome= takes ok, failed, refused, cancelled, timeout or none.");
}

static int take_time(int64_t *to, const char *word, struct err *e)
{
	int64_t ms = audit_text_time(word, clock_wall_ms(), e);

	if (ms < 0)
		return -1;
	*to = ms;
	return 0;
}

/* `text` is cut into its words; the filter points into it. */
static int parse_filter(char *text, struct audit_filter *f, struct err *e)
{
	char *save, *word;

	*f = (struct audit_filter){0};
	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *value = strchr(word, '=');
		size_t n = value ? (size_t)(value++ - word) : 0;
		int ret = 0;

		if (n == 5 && strncmp(word, "agent", n) == 0)
			f->agent = value;
		else if (n == 3 && strncmp(word, "act", n) == 0)
			f->deed = value;
		else if (n == 6 && strncmp(word, "target", n) == 0)
			f->target = value;
		else if (n == 7 && strncmp(word, "outcome", n) == 0)
			ret = take_outcome(f, value, e);
		else if (n == 5 && strncmp(word, "since", n) == 0)
			ret = take_time(&f->since_ms, value, e);
		else if (n == 5 && strncmp(word, "until", n) == 0)
			ret = take_time(&f->until_ms, value, e);
		else if (value && n && strspn(word, "abcdefghijklmnopqrstuvwxyz") == n)
			ret = err_set(e, ERR_USAGE,
				"there is no field `%.*s`: agent, act, target, outcome, since, until",
				(int)n, word);
		else
			f->text = word;
		if (ret < 0)
			return -1;
	}
	return 0;
}

static void forget_records(struct audit_rows *r)
{
	audit_reader_close(r->reader);
	r->reader = NULL;
	r->nolder = r->nfresh = 0;
	r->more = false;
	r->problem[0] = '\0';
	arena_release(&r->mem);
	arena_init(&r->mem, 65536);
}

int audit_rows_open(struct audit_rows *r, const char *text, struct err *e)
{
	char words[AUDIT_FILTER_MAX];
	struct audit_filter filter;
	struct err why = ERR_INIT;

	snprintf(words, sizeof words, "%s", text);
	if (parse_filter(words, &filter, e) < 0)
		return -1;
	forget_records(r);
	snprintf(r->filter, sizeof r->filter, "%s", text);
	r->reader = audit_reader_open(NULL, &filter, &why);
	r->more = r->reader != NULL;
	if (!r->reader)
		snprintf(r->problem, sizeof r->problem, "%s", why.msg);
	return 0;
}

void audit_rows_release(struct audit_rows *r)
{
	forget_records(r);
	arena_release(&r->mem);
	free(r->older);
	free(r->fresh);
}

void audit_rows_step(struct audit_rows *r, size_t want)
{
	struct err why = ERR_INIT;
	int ret = 0;

	if (!r->reader) {
		char again[AUDIT_FILTER_MAX];

		/* The first deed makes the log. */
		snprintf(again, sizeof again, "%s", r->filter);
		audit_rows_open(r, again, NULL);
		if (!r->reader)
			return;
	}
	if (want > AUDIT_ROWS_MAX)
		want = AUDIT_ROWS_MAX;
	if (r->more && r->nolder < want) {
		ret = audit_reader_older(
			r->reader, want - r->nolder, STEP_BYTES, add_older, r, &why);
		r->more = ret > 0;
	}
	if (ret >= 0 && r->nfresh < AUDIT_ROWS_MAX)
		ret = audit_reader_newer(
			r->reader, AUDIT_ROWS_MAX - r->nfresh, STEP_BYTES, add_fresh, r, &why);
	if (ret < 0)
		snprintf(r->problem, sizeof r->problem, "%s", why.msg);
}
