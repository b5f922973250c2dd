/*
 * logs_fields.c - shows log lines that are JSON in columns.
 *
 * Programs name these members as they like; the names here are those of the usual libraries (zap, logrus, pino, bunyan,
 * structlog, slog, log4j, journald).  Strings are decoded, so what JSON hides as \u001b comes out here: all is
 * neutralised.
 */
#include "views/logs/logbuf.h"

#include <string.h>
#include <strings.h>

#include <berth/arena.h>
#include <berth/jsonr.h>
#include <berth/mem.h>
#include <berth/text.h>

#define LEVEL_WIDTH 5
#define TIME_WIDTH 12
#define MESSAGE_WIDTH 40 /* at least: what follows then stands in one column for short ones */

static const char *const level_names[] = {
	"level", "severity", "lvl", "loglevel", "log.level", "levelname", NULL};
static const char *const time_names[] = {
	"time", "ts", "timestamp", "@timestamp", "asctime", "datetime", NULL};
static const char *const message_names[] = {"message", "msg", "event", "text", "MESSAGE", NULL};

static const struct json *member_of(const struct json *o, const char *const *names)
{
	for (; *names; names++) {
		const struct json *m = json_member(o, *names);

		if (m && m->type != JSON_OBJECT && m->type != JSON_ARRAY)
			return m;
	}
	return NULL;
}

static void begin_run(struct log_fields *f, enum role role)
{
	if (f->n && f->run[f->n - 1].role == role)
		return;
	if (f->n < FIELD_RUNS) {
		f->run[f->n].at = f->text.len;
		f->run[f->n++].role = role;
	}
}

static void pad_column(struct log_fields *f, size_t from, int width)
{
	int w = text_width(f->text.s + from, f->text.len - from);

	do
		str_addc(&f->text, ' ');
	while (++w <= width);
}

/* pino and bunyan count them. */
static const char *level_word(struct arena *mem, const struct json *m)
{
	static const char *const words[] = {"trace", "debug", "info", "warn", "error", "fatal"};
	int64_t n;

	if (m->type == JSON_NUMBER && json_integer(m, &n) && n >= 10 && n < 70)
		return words[n / 10 - 1];
	/* Of all but strings it is a part of the line. */
	return m->type == JSON_STRING ? m->text : arena_printf(mem, "%.*s", (int)m->len, m->text);
}

static enum role role_of_level(const char *word)
{
	static const struct {
		const char *begin;
		enum role role;
	} roles[] = {{"err", ROLE_BAD}, {"fatal", ROLE_BAD}, {"crit", ROLE_BAD},
		{"panic", ROLE_BAD}, {"alert", ROLE_BAD}, {"emerg", ROLE_BAD}, {"warn", ROLE_WARN},
		{"debug", ROLE_DIM}, {"trace", ROLE_DIM}};

	for (size_t i = 0; i < COUNT(roles); i++)
		if (!strncasecmp(word, roles[i].begin, strlen(roles[i].begin)))
			return roles[i].role;
	return ROLE_TEXT;
}

static void add_level(
	struct arena *mem, struct log_fields *f, const struct json *m, enum role *ret_role)
{
	const char *word = m ? level_word(mem, m) : "";
	size_t from = f->text.len;

	*ret_role = role_of_level(word);
	begin_run(f, *ret_role);
	text_neutralise(&f->text, word, strnlen(word, LEVEL_WIDTH), false);
	pad_column(f, from, LEVEL_WIDTH);
}

/* "2026-11-20T21:45:02.123456Z": the time of day; what is no such thing as it is. */
static void add_own_time(struct log_fields *f, const struct json *m)
{
	const char *text = m ? m->text : "";
	size_t n = m ? m->len : 0, from = f->text.len;

	if (m && m->type == JSON_STRING && n > 11 && (text[10] == 'T' || text[10] == ' ')) {
		text += 11;
		n -= 11;
	}
	begin_run(f, ROLE_DIM);
	text_neutralise(&f->text, text, n < TIME_WIDTH ? n : TIME_WIDTH, false);
	pad_column(f, from, TIME_WIDTH);
}

static void add_message(struct log_fields *f, const struct json *m, enum role role)
{
	size_t from = f->text.len;

	begin_run(f, role);
	if (m)
		text_neutralise(&f->text, m->text, m->len, false);
	pad_column(f, from, MESSAGE_WIDTH);
}

static void add_rest(struct log_fields *f, const struct json *m)
{
	begin_run(f, ROLE_ACCENT);
	text_neutralise(&f->text, m->key, m->key_len, false);
	str_addc(&f->text, '=');
	begin_run(f, ROLE_DIM);
	text_neutralise(&f->text, m->text, m->len, false);
	str_addc(&f->text, ' ');
}

bool fields_unfold(const char *line, size_t n, bool times, struct log_fields *ret)
{
	const struct json *o, *level, *when, *message;
	struct err fault = ERR_INIT, none = ERR_INIT;
	enum role role;
	AUTO_ARENA struct arena mem = ARENA_INIT(4096);

	while (n && (*line == ' ' || *line == '\t'))
		line++, n--;
	if (!n || *line != '{')
		return false;
	o = json_parse(&mem, line, n, &fault, &none);
	if (!json_is(o, JSON_OBJECT) || fault.kind)
		return false;
	level = member_of(o, level_names);
	when = times ? member_of(o, time_names) : NULL;
	message = member_of(o, message_names);
	add_level(&mem, ret, level, &role);
	if (times)
		add_own_time(ret, when);
	add_message(ret, message, role);
	for (const struct json *m = o->first; m; m = m->next)
		if (m != level && m != when && m != message)
			add_rest(ret, m);
	while (ret->text.len && ret->text.s[ret->text.len - 1] == ' ')
		ret->text.s[--ret->text.len] = '\0';
	return true;
}

enum role fields_role(const struct log_fields *f, size_t at, size_t *stop)
{
	enum role role = ROLE_TEXT;

	for (size_t i = 0; i < f->n; i++) {
		if (f->run[i].at > at) {
			*stop = f->run[i].at < *stop ? f->run[i].at : *stop;
			break;
		}
		role = f->run[i].role;
	}
	return role;
}

void fields_release(struct log_fields *f)
{
	str_release(&f->text);
}
