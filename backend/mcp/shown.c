/* shown.c - formats a call for the console: arguments and answer, with likely secrets masked. */
#include <stdio.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "audit/audit.h"
#include "mcp/server.h"

#define SHOWN_VALUE 240   /* bytes of one argument */
#define SHOWN_RESULT 1024 /* of what was answered */
#define SHOWN_WORDS 64
#define SHOWN_HIDDEN "***"

static bool is_name_byte(char ch)
{
	return ch == '_' || ch == '-' || (ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') ||
		(ch >= 'a' && ch <= 'z');
}

/* What begins behind the name at `at` that ends at `end`: "=", ":", in quotes too.  0: nothing does. */
static size_t find_value_behind(const char *text, size_t n, size_t end)
{
	size_t i = end;

	while (i < n && strchr("\\\"'", text[i]) && text[i])
		i++;
	if (i == n || (text[i] != '=' && text[i] != ':'))
		return 0;
	i++;
	while (i < n && strchr(" \t\\\"'", text[i]) && text[i])
		i++;
	return i;
}

/* NAME=value and "NAME": "value", NAME telling a secret: up to the end of the line or of the quotes. */
static void show_masked(struct str *out, const char *text, size_t n)
{
	for (size_t at = 0; at < n;) {
		size_t end = at, value;
		char name[80];

		while (end < n && is_name_byte(text[end]))
			end++;
		if (end == at) {
			str_add(out, text + at++, 1);
			continue;
		}
		/* First what is quickly looked at: most words are followed by none. */
		value = find_value_behind(text, n, end);
		if (value) {
			snprintf(name, sizeof name, "%.*s", (int)(end - at < 79 ? end - at : 79),
				text + at);
			value = text_looks_secret(name) ? value : 0;
		}
		str_add(out, text + at, (value ? value : end) - at);
		at = value ? value : end;
		if (!value)
			continue;
		str_adds(out, SHOWN_HIDDEN);
		while (at < n && !strchr("\n\\\"'", text[at]))
			at++;
	}
}

static void show_cut(struct str *out, const char *text, size_t n)
{
	size_t most = n < SHOWN_VALUE ? n : SHOWN_VALUE;

	while (most < n && most && ((unsigned char)text[most] & 0xc0) == 0x80)
		most--;
	show_masked(out, text, most);
	if (most < n)
		str_addf(out, "\u2026 %zu bytes", n);
}

/* Words of a command: those that follow a name which tells a secret are not shown. */
static void show_words(struct str *out, const struct json *v)
{
	const char *argv[SHOWN_WORDS];
	size_t n = 0;

	for (const struct json *i = v->first; i && n < SHOWN_WORDS; i = i->next)
		if (i->type == JSON_STRING)
			argv[n++] = i->text;
	audit_argv(out, n, argv);
	if (v->n > n)
		str_addf(out, " \u2026 %zu in all", v->n);
}

static void show_line_of_words(struct str *out, struct arena *mem, const struct json *v)
{
	char *copy = arena_strndup(mem, v->text, v->len < 4096 ? v->len : 4096), *rest = NULL;
	const char *argv[SHOWN_WORDS];
	size_t n = 0;

	for (char *w = strtok_r(copy, " \t\n", &rest); w && n < SHOWN_WORDS;
		w = strtok_r(NULL, " \t\n", &rest))
		argv[n++] = w;
	audit_argv(out, n, argv);
}

/* By their paths, where they have one. */
static void show_objects(struct str *out, const struct json *v)
{
	const struct json *i = v->first;

	for (size_t n = 0; i && n < 8; i = i->next, n++) {
		const char *path = json_string(i, "path");

		str_addf(out, "%s%.200s", n ? " " : "", path ? path : "{\u2026}");
	}
	if (i)
		str_addf(out, " \u2026 %zu in all", v->n);
}

static void show_argument(struct str *out, struct arena *mem, const struct json *v)
{
	if (text_looks_secret(v->key))
		str_adds(out, SHOWN_HIDDEN);
	else if (v->type == JSON_STRING && !strcmp(v->key, "command"))
		show_line_of_words(out, mem, v);
	else if (v->type == JSON_ARRAY && v->first && v->first->type == JSON_STRING)
		show_words(out, v);
	else if (v->type == JSON_OBJECT)
		for (const struct json *i = v->first; i; i = i->next)
			str_addf(out, "%s%s=%s", i == v->first ? "" : " ", i->key,
				text_looks_secret(i->key) ? SHOWN_HIDDEN : "\u2026");
	else if (v->type == JSON_ARRAY)
		show_objects(out, v);
	else
		show_cut(out, v->text, v->len);
}

void call_show_arguments(struct call *c, struct str *out)
{
	for (const struct json *v = json_is(c->args, JSON_OBJECT) ? c->args->first : NULL;
		v && out->len < 4096; v = v->next) {
		str_addf(out, "%s%s: ", out->len ? "\n" : "", v->key);
		show_argument(out, &c->mem, v);
	}
}

void call_show_result(struct str *out, const char *text, size_t n)
{
	show_masked(out, text, n < SHOWN_RESULT ? n : SHOWN_RESULT);
}
