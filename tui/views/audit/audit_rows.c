/* audit_rows.c - loads records for the audit view, in small steps. */
#include "views/audit/audit_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/when.h>

#define STEP_BYTES ((size_t)8 << 20) /* some 10 ms of reading */

/* What goes to the worker and comes back; between them it is the worker's alone. */
struct audit_look {
	struct view_work look;
	struct audit_reader *reader; /* NULL: no log yet */
	char filter[AUDIT_FILTER_MAX];
	bool begin, checkpoints;
	size_t want_older, want_fresh;
	/* found, in mem */
	struct arena mem;
	const struct audit_record **older, **fresh;
	size_t nolder, older_cap, nfresh, fresh_cap;
	bool more, has_head;
	struct audit_head head;
	struct err problem;
};

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
	int64_t ms = when_ms(word, clock_wall_ms(), e);

	if (ms < 0)
		return -1;
	*to = ms;
	return 0;
}

struct filter_text {
	char words[AUDIT_FILTER_MAX], regex[AUDIT_FILTER_MAX];
};

/* The filter points into `t`.  Words that are no fields are one expression. */
static int parse_filter(
	const char *text, struct filter_text *t, struct audit_filter *f, struct err *e)
{
	char *save, *word;
	size_t len = 0;

	*f = (struct audit_filter){.text = t->regex};
	t->regex[0] = '\0';
	snprintf(t->words, sizeof t->words, "%s", text);
	for (word = strtok_r(t->words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *value = strchr(word, '=');
		size_t n = value ? (size_t)(value++ - word) : 0;
		int ret = 0;

		if (n == 5 && strncmp(word, "agent", n) == 0)
			f->agent = value;
		else if (n == 3 && strncmp(word, "act", n) == 0)
			f->operation = value;
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
			len += (size_t)snprintf(t->regex + len, sizeof t->regex - len, "%s%s",
				len ? " " : "", word);
		if (ret < 0)
			return -1;
	}
	return audit_filter_check(f, e);
}

/* ---- the worker's */

/* They come with every quiet moment and would be every second row. */
static bool is_left_out(const struct audit_look *l, const struct audit_record *rec)
{
	return rec->operation == OP_LOG_CHECKPOINT && !l->checkpoints && !strstr(l->filter, "log.");
}

static void add_older(void *ctx, const struct audit_record *rec, const char *line, size_t len)
{
	struct audit_look *l = ctx;

	(void)line;
	(void)len;
	if (is_left_out(l, rec))
		return;
	l->older = mem_grow(l->older, &l->older_cap, l->nolder + 1, sizeof *l->older);
	l->older[l->nolder++] = copy_record(&l->mem, rec);
}

static void add_fresh(void *ctx, const struct audit_record *rec, const char *line, size_t len)
{
	struct audit_look *l = ctx;

	(void)line;
	(void)len;
	if (is_left_out(l, rec))
		return;
	l->fresh = mem_grow(l->fresh, &l->fresh_cap, l->nfresh + 1, sizeof *l->fresh);
	l->fresh[l->nfresh++] = copy_record(&l->mem, rec);
}

static int open_reader(struct audit_look *l, struct err *e)
{
	struct filter_text words;
	struct audit_filter filter;

	audit_reader_close(l->reader);
	l->reader = NULL;
	if (parse_filter(l->filter, &words, &filter, e) < 0)
		return -1;
	l->reader = audit_reader_open(NULL, &filter, e);
	l->more = l->reader != NULL;
	return l->reader ? 0 : -1;
}

static void look_at_log(struct view_work *look)
{
	struct audit_look *l = (struct audit_look *)look;
	int ret = 0;

	l->has_head = audit_head_read(NULL, &l->head, NULL) == 0;
	/* The first operation makes the log. */
	if ((l->begin || !l->reader) && open_reader(l, &l->problem) < 0)
		return;
	if (l->more && l->want_older) {
		ret = audit_reader_older(
			l->reader, l->want_older, STEP_BYTES, add_older, l, &l->problem);
		l->more = ret > 0;
	}
	if (ret >= 0 && l->want_fresh)
		audit_reader_newer(l->reader, l->want_fresh, STEP_BYTES, add_fresh, l, &l->problem);
}

static void drop_audit_look(struct view_work *look)
{
	struct audit_look *l = (struct audit_look *)look;

	audit_reader_close(l->reader);
	arena_release(&l->mem);
	free(l->older);
	free(l->fresh);
	free(l);
}

/* ---- the view's */

static struct audit_look *new_look(void)
{
	struct audit_look *l = xcalloc(1, sizeof *l);

	l->look = (struct view_work){look_at_log, drop_audit_look};
	arena_init(&l->mem, 4096);
	return l;
}

int audit_rows_open(struct audit_rows *r, const char *text, struct err *e)
{
	struct filter_text words;
	struct audit_filter filter;

	if (parse_filter(text, &words, &filter, e) < 0)
		return -1;
	if (text != r->filter)
		snprintf(r->filter, sizeof r->filter, "%s", text);
	r->begin = r->more = true;
	return 0;
}

void audit_rows_release(struct audit_rows *r)
{
	if (r->look)
		drop_audit_look(&r->look->look);
	arena_release(&r->mem);
	free(r->older);
	free(r->fresh);
	free(r->awaited);
}

struct view_work *audit_rows_ask(struct audit_rows *r, size_t want)
{
	struct audit_look *l = r->look;
	size_t have = r->begin ? 0 : r->nolder;

	if (r->away)
		return NULL;
	if (want > AUDIT_ROWS_MAX)
		want = AUDIT_ROWS_MAX;
	if (!l)
		l = new_look();
	snprintf(l->filter, sizeof l->filter, "%s", r->filter);
	l->begin = r->begin;
	l->checkpoints = r->checkpoints;
	l->want_older = want > have ? want - have : 0;
	l->want_fresh = r->begin ? AUDIT_ROWS_MAX : AUDIT_ROWS_MAX - r->nfresh;
	r->begin = false;
	r->look = NULL;
	r->away = true;
	return &l->look;
}

static void forget_rows(struct audit_rows *r)
{
	r->nolder = r->nfresh = r->nawaited = 0;
	arena_release(&r->mem);
	arena_init(&r->mem, 65536);
}

/* An outcome says all that its intent did: both are one row. */
static void await_intent(struct audit_rows *r, uint64_t seq)
{
	r->awaited = mem_grow(r->awaited, &r->awaited_cap, r->nawaited + 1, sizeof *r->awaited);
	r->awaited[r->nawaited++] = seq;
}

static bool is_awaited(struct audit_rows *r, uint64_t seq)
{
	for (size_t i = r->nawaited; i-- > 0;)
		if (r->awaited[i] == seq) {
			r->awaited[i] = r->awaited[--r->nawaited];
			return true;
		}
	return false;
}

/* Take the record of that number out of what is sorted by it; false: it is not there. */
static bool drop_record(const struct audit_record **of, size_t *n, bool newest_first, uint64_t seq)
{
	size_t low = 0, high = *n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (newest_first ? of[mid]->seq > seq : of[mid]->seq < seq)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == *n || of[low]->seq != seq)
		return false;
	memmove(of + low, of + low + 1, (--*n - low) * sizeof(const struct audit_record *));
	return true;
}

static void take_found(struct audit_rows *r, const struct audit_look *l)
{
	r->older = mem_grow(r->older, &r->older_cap, r->nolder + l->nolder + 1, sizeof *r->older);
	for (size_t i = 0; i < l->nolder; i++) {
		const struct audit_record *rec = l->older[i];

		if (rec->phase == AUDIT_INTENT && is_awaited(r, rec->seq))
			continue;
		if (rec->intent)
			await_intent(r, rec->intent);
		r->older[r->nolder++] = copy_record(&r->mem, rec);
	}
	r->fresh = mem_grow(r->fresh, &r->fresh_cap, r->nfresh + l->nfresh + 1, sizeof *r->fresh);
	for (size_t i = 0; i < l->nfresh; i++) {
		const struct audit_record *rec = l->fresh[i];

		if (rec->intent && !drop_record(r->fresh, &r->nfresh, false, rec->intent) &&
			!drop_record(r->older, &r->nolder, true, rec->intent))
			await_intent(r, rec->intent);
		r->fresh[r->nfresh++] = copy_record(&r->mem, rec);
	}
}

uint64_t audit_rows_moved(const struct audit_rows *r, uint64_t seq)
{
	for (size_t i = 0; i < r->nfresh; i++)
		if (r->fresh[i]->intent == seq)
			return r->fresh[i]->seq;
	return seq;
}

bool audit_rows_take(struct audit_rows *r, struct view_work *look, size_t want)
{
	struct audit_look *l = (struct audit_look *)look;

	r->away = false;
	r->look = l;
	r->has_head = l->has_head;
	r->head = l->head;
	/* Of a filter that was left meanwhile nothing is taken. */
	if (!r->begin) {
		if (l->begin)
			forget_rows(r);
		take_found(r, l);
		r->more = l->more;
		snprintf(
			r->problem, sizeof r->problem, "%s", l->problem.kind ? l->problem.msg : "");
	}
	l->problem = (struct err)ERR_INIT;
	l->nolder = l->nfresh = 0;
	arena_release(&l->mem);
	arena_init(&l->mem, 4096);
	return r->begin || (r->more && r->nolder < want && r->nolder < AUDIT_ROWS_MAX);
}
