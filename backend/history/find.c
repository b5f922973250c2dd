/* find.c - finds benchmark runs by name, and cases with their samples. */
#include "history/database.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/text.h>

#define RUN_COLUMNS                                                                                    \
	"id, uuid, started_ms, ended_ms, pid, state, version, commit_id, release, seed, machine, cpu," \
	" kernel, fs, engine, versions, cores, memory_bytes, load_start, load_end, steal_percent,"     \
	" others_percent, noise_low, noise_point, noise_high"

/* A history may be somebody else's: what is in it goes to terminals. */
static void read_clean_text(sqlite3_stmt *s, int at, char *buf, size_t cap)
{
	const char *t = (const char *)sqlite3_column_text(s, at);

	text_clean(buf, cap, t ? t : "");
}

static double number_of(sqlite3_stmt *s, int at)
{
	return sqlite3_column_type(s, at) == SQLITE_NULL ? NAN : sqlite3_column_double(s, at);
}

void history_run_of(sqlite3_stmt *s, history_text_fn *text, struct history_run *r)
{
	memset(r, 0, sizeof *r);
	r->id = sqlite3_column_int64(s, 0);
	text(s, 1, r->uuid, sizeof r->uuid);
	r->started_ms = sqlite3_column_int64(s, 2);
	r->ended_ms = sqlite3_column_int64(s, 3);
	r->pid = sqlite3_column_int(s, 4);
	text(s, 5, r->state, sizeof r->state);
	text(s, 6, r->version, sizeof r->version);
	text(s, 7, r->commit, sizeof r->commit);
	text(s, 8, r->release, sizeof r->release);
	r->seed = (uint64_t)sqlite3_column_int64(s, 9);
	text(s, 10, r->machine, sizeof r->machine);
	text(s, 11, r->cpu, sizeof r->cpu);
	text(s, 12, r->kernel, sizeof r->kernel);
	text(s, 13, r->fs, sizeof r->fs);
	text(s, 14, r->engine, sizeof r->engine);
	text(s, 15, r->versions, sizeof r->versions);
	r->cores = sqlite3_column_int64(s, 16);
	r->memory_bytes = sqlite3_column_int64(s, 17);
	r->load_start = number_of(s, 18);
	r->load_end = number_of(s, 19);
	r->steal_percent = number_of(s, 20);
	r->others_percent = number_of(s, 21);
	r->noise_low = number_of(s, 22);
	r->noise_point = number_of(s, 23);
	r->noise_high = number_of(s, 24);
	if (!strcmp(r->state, "running") && kill(r->pid, 0) < 0 && errno == ESRCH)
		snprintf(r->state, sizeof r->state, "interrupted");
}

void history_case_of(sqlite3_stmt *s, int at, history_text_fn *text, struct history_case *c)
{
	memset(c, 0, sizeof *c);
	text(s, at, c->suite, sizeof c->suite);
	text(s, at + 1, c->name, sizeof c->name);
	text(s, at + 2, c->unit, sizeof c->unit);
	text(s, at + 3, c->state, sizeof c->state);
	text(s, at + 4, c->error, sizeof c->error);
	text(s, at + 5, c->notes, sizeof c->notes);
	c->baseline = sqlite3_column_int(s, at + 6);
	c->higher = sqlite3_column_int(s, at + 7) != 0;
}

void history_sample_of(sqlite3_stmt *s, int at, struct history_sample *v)
{
	v->value = sqlite3_column_double(s, at);
	v->user_s = sqlite3_column_double(s, at + 1);
	v->system_s = sqlite3_column_double(s, at + 2);
	v->minor_faults = (uint64_t)sqlite3_column_int64(s, at + 3);
	v->major_faults = (uint64_t)sqlite3_column_int64(s, at + 4);
	v->read_bytes = (uint64_t)sqlite3_column_int64(s, at + 5);
	v->write_bytes = (uint64_t)sqlite3_column_int64(s, at + 6);
	v->syscalls_rw = (uint64_t)sqlite3_column_int64(s, at + 7);
	v->peak_bytes = (uint64_t)sqlite3_column_int64(s, at + 8);
}

int history_runs(struct history *h, size_t max, struct history_run **ret, size_t *n, struct err *e)
{
	AUTO_STMT sqlite3_stmt *s =
		history_prepare(h, "SELECT " RUN_COLUMNS " FROM run ORDER BY id DESC LIMIT ?", e);
	size_t cap = 0;
	int rc;

	*ret = NULL;
	*n = 0;
	if (!s)
		return -1;
	sqlite3_bind_int64(s, 1, (int64_t)max);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		*ret = mem_grow(*ret, &cap, *n + 1, sizeof **ret);
		history_run_of(s, read_clean_text, *ret + (*n)++);
	}
	if (rc == SQLITE_DONE)
		return 0;
	free(*ret);
	*ret = NULL;
	*n = 0;
	return history_failed(h, "read", e);
}

static bool is_day(const char *w)
{
	for (int i = 0; i < 10; i++)
		if (i == 4 || i == 7 ? w[i] != '-' : !isdigit((unsigned char)w[i]))
			return false;
	return !w[10];
}

static bool is_hex(const char *w)
{
	return strlen(w) >= 4 && strspn(w, "0123456789abcdef") == strlen(w);
}

/* What there is to compare with, for the sentence of an error. */
static void offer_runs(struct history *h, const char *machine, char *buf, size_t cap)
{
	sqlite3_stmt *s = history_prepare(h,
		"SELECT coalesce(nullif(release, ''), version), max(id) FROM run"
		" WHERE (?1 IS NULL OR machine = ?1) GROUP BY 1 ORDER BY 2 DESC LIMIT 6",
		NULL);
	char name[HISTORY_NAME_MAX];
	size_t used = 0;

	buf[0] = '\0';
	if (s && machine)
		sqlite3_bind_text(s, 1, machine, -1, SQLITE_TRANSIENT);
	while (s && sqlite3_step(s) == SQLITE_ROW && used < cap) {
		read_clean_text(s, 0, name, sizeof name);
		used += (size_t)snprintf(buf + used, cap - used, "%s%s", used ? ", " : "", name);
	}
	sqlite3_finalize(s);
}

int history_find(struct history *h, const char *word, const char *machine, int64_t before,
	struct history_run *ret, struct err *e)
{
	/* A run counts when it has a figure; which of them decides `condition` on ?3.  For a release or version it
	 * is one that ended: what was cancelled has only some of the figures, and would stand for it for good. */
	static const char *const form =
		"SELECT " RUN_COLUMNS " FROM run WHERE (?1 IS NULL OR machine = ?1)"
		" AND (?2 = 0 OR id < ?2) AND EXISTS (SELECT 1 FROM result WHERE run = run.id AND result.state = 'ok')"
		" AND (%s) ORDER BY id DESC LIMIT 1";
	const char *bare = word[0] == 'v' && isdigit((unsigned char)word[1]) ? word + 1 : word;
	const char *condition[4] = {0};
	char sql[1024], there[160];
	size_t n = 0;

	if (!strcmp(word, "last"))
		condition[n++] = "?3 <> ''";
	else if (!strcmp(word, "previous"))
		condition[n++] = "?2 <> 0 OR id < (SELECT max(id) FROM run)";
	else if (word[0] == '#')
		condition[n++] = "id = CAST(?4 AS INTEGER)";
	else if (word[0] == '!' && word[1])
		condition[n++] = "release NOT IN ('', substr(?3, 2)) AND state = 'done'";
	else if (is_day(word))
		condition[n++] = "strftime('%Y-%m-%d', started_ms / 1000, 'unixepoch') = ?3";
	else {
		condition[n++] = "release IN (?3, 'v' || ?3) AND state = 'done'";
		condition[n++] = "version = ?3 AND release = '' AND state = 'done'";
		if (is_hex(word))
			condition[n++] = "substr(commit_id, 1, length(?3)) = ?3";
	}
	for (size_t i = 0; i < n; i++) {
		AUTO_STMT sqlite3_stmt *s = NULL;

		snprintf(sql, sizeof sql, form, condition[i]);
		if (!(s = history_prepare(h, sql, e)))
			return -1;
		if (machine)
			sqlite3_bind_text(s, 1, machine, -1, SQLITE_TRANSIENT);
		sqlite3_bind_int64(s, 2, before);
		if (sqlite3_bind_parameter_count(s) >= 3)
			sqlite3_bind_text(s, 3, bare, -1, SQLITE_TRANSIENT);
		if (sqlite3_bind_parameter_count(s) >= 4)
			sqlite3_bind_text(s, 4, word + 1, -1, SQLITE_TRANSIENT);
		if (sqlite3_step(s) == SQLITE_ROW) {
			history_run_of(s, read_clean_text, ret);
			return 0;
		}
	}
	offer_runs(h, machine, there, sizeof there);
	return err_set(e, ERR_NOT_FOUND, "the benchmark history has no run `%s`%s%s%s%s.", word,
		machine ? " of this machine" : "", *there ? "; it has " : " (it is empty",
		*there ? there : ")",
		*there ? ", and `berth bench list --runs` shows them all" : "");
}

/* Cases. */

static int samples_of(struct history *h, int64_t result, struct history_case *c, struct err *e)
{
	AUTO_STMT sqlite3_stmt *arms = history_prepare(
		h, "SELECT place, name FROM arm WHERE result = ? ORDER BY place", e);
	AUTO_STMT sqlite3_stmt *s = history_prepare(h,
		"SELECT place, value, user_s, system_s, minor_faults, major_faults, read_bytes,"
		" write_bytes, syscalls_rw, peak_bytes FROM sample WHERE result = ? ORDER BY place, n",
		e);
	size_t cap[HISTORY_ARMS_MAX] = {0};
	int rc;

	if (!arms || !s)
		return -1;
	sqlite3_bind_int64(arms, 1, result);
	while ((rc = sqlite3_step(arms)) == SQLITE_ROW && c->narms < HISTORY_ARMS_MAX)
		read_clean_text(arms, 1, c->arms[c->narms++].name, sizeof c->arms[0].name);
	sqlite3_bind_int64(s, 1, result);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		int64_t place = sqlite3_column_int64(s, 0);
		struct history_arm *a;

		if (place < 0 || (size_t)place >= c->narms)
			continue;
		a = &c->arms[place];
		if (a->n >= HISTORY_SAMPLES_MAX)
			continue;
		a->v = mem_grow(a->v, &cap[place], a->n + 1, sizeof *a->v);
		history_sample_of(s, 1, &a->v[a->n++]);
	}
	return rc == SQLITE_DONE ? 0 : history_failed(h, "read", e);
}

/* `suite` NULL: all. */
static int read_cases(struct history *h, int64_t run, const char *suite, const char *name,
	struct history_case **ret, size_t *n, struct err *e)
{
	AUTO_STMT sqlite3_stmt *s = history_prepare(h,
		"SELECT id, suite, name, unit, state, error, notes, baseline, higher FROM result"
		" WHERE run = ?1 AND (?2 IS NULL OR (suite = ?2 AND name = ?3)) ORDER BY id",
		e);
	size_t cap = 0;
	int rc;

	*ret = NULL;
	*n = 0;
	if (!s)
		return -1;
	sqlite3_bind_int64(s, 1, run);
	if (suite) {
		sqlite3_bind_text(s, 2, suite, -1, SQLITE_TRANSIENT);
		sqlite3_bind_text(s, 3, name, -1, SQLITE_TRANSIENT);
	}
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		struct history_case *c;

		*ret = mem_grow(*ret, &cap, *n + 1, sizeof **ret);
		c = *ret + (*n)++;
		history_case_of(s, 1, read_clean_text, c);
		if (samples_of(h, sqlite3_column_int64(s, 0), c, e) < 0)
			goto fail;
		if (c->baseline >= (int)c->narms)
			c->baseline = -1;
	}
	if (rc == SQLITE_DONE)
		return 0;
	history_failed(h, "read", e);
fail:
	for (size_t i = 0; i < *n; i++)
		history_case_release(*ret + i);
	free(*ret);
	*ret = NULL;
	*n = 0;
	return -1;
}

int history_cases(
	struct history *h, int64_t run, struct history_case **ret, size_t *n, struct err *e)
{
	return read_cases(h, run, NULL, NULL, ret, n, e);
}

int history_case(struct history *h, int64_t run, const char *suite, const char *name,
	struct history_case *ret, struct err *e)
{
	struct history_case *all;
	size_t n;

	if (read_cases(h, run, suite, name, &all, &n, e) < 0)
		return -1;
	for (size_t i = 0; i + 1 < n; i++)
		history_case_release(&all[i]);
	if (n)
		*ret = all[n - 1];
	free(all);
	return n ? 0 : err_set(e, ERR_NOT_FOUND, "that run did not measure %s/%s.", suite, name);
}
