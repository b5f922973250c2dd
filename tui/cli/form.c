/* form.c - --format: lines of the person's own form. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "cli/form.h"

#define FIELD_MAX 512 /* bytes between two braces */
#define TABLE "table "

static bool is_table(const struct form *f)
{
	return !f->no_table && !strncmp(f->text, TABLE, sizeof TABLE - 1);
}

/* What is between the braces, without blanks around it: its name, and whether it is asked for as JSON. */
static char *read_field(char buf[FIELD_MAX], const char *from, const char *end, bool *json)
{
	char *name = buf, *last;

	snprintf(buf, FIELD_MAX, "%.*s", (int)(end - from), from);
	name += strspn(name, " ");
	*json = !strncmp(name, "json ", 5);
	if (*json)
		name += 4 + strspn(name + 4, " ");
	last = name + strlen(name);
	while (last > name && last[-1] == ' ')
		last--;
	*last = '\0';
	return name;
}

/* One line of the text; with row NULL its fields are only checked. */
static int expand(const struct form *f, const void *row, struct str *out, struct err *e)
{
	char buf[FIELD_MAX];

	for (const char *p = f->text + (is_table(f) ? sizeof TABLE - 1 : 0), *end; *p; p = end) {
		bool tab = p[0] == '\\' && p[1] == 't', line = p[0] == '\\' && p[1] == 'n', json;
		char *name;

		if (strncmp(p, "{{", 2) != 0) {
			str_addc(out, tab ? '\t' : line ? '\n' : *p);
			end = p + 1 + (tab || line);
			continue;
		}
		end = strstr(p, "}}");
		if (!end || end - p >= FIELD_MAX)
			return err_set(e, ERR_USAGE, "--format has {{ without }}: \"%.60s\".", p);
		name = read_field(buf, p + 2, end, &json);
		if (*name != '.')
			return err_set(e, ERR_USAGE,
				"--format takes fields such as {{.Name}} and {{json .Name}}, not {{%.60s}}.",
				name);
		if (f->cell(out, name + 1, json, row, e))
			return -1;
		end += 2;
	}
	return 0;
}

int form_read(struct form *f, const char *text, struct err *e)
{
	AUTO_STR struct str words = STR_INIT, none = STR_INIT;

	f->text = NULL;
	for (size_t i = 0; text && i < COUNT(f->words) && f->words[i]; i++) {
		if (!strcmp(text, f->words[i]))
			return 0;
		str_addf(&words, "%s, ", f->words[i]);
	}
	f->text = text;
	if (!text || strstr(text, "{{"))
		return text ? expand(f, NULL, &none, e) : 0;
	return err_set(e, ERR_USAGE,
		"--format takes %sor text with fields such as {{.Name}}, not \"%.60s\".", words.s,
		text);
}

int form_line(const struct form *f, const void *row, struct str *out, struct err *e)
{
	int rc = expand(f, row, out, e);

	str_addc(out, '\n');
	return rc;
}

int form_text(struct str *out, const char *text, bool json)
{
	if (json)
		jsonw_quote(out, text, strlen(text));
	else
		str_adds(out, *text ? text : "-");
	return 0;
}

int form_no_field(const char *name, const char *fields, struct err *e)
{
	char shown[64];

	return err_set(e, ERR_USAGE, "--format has no field {{.%s}}, only %s.",
		text_clean(shown, sizeof shown, name), fields);
}

int form_field(const char *const *names, const char *name, struct err *e)
{
	AUTO_STR struct str all = STR_INIT;

	for (int i = 0; names[i]; i++) {
		if (!strcmp(names[i], name))
			return i;
		str_addf(&all, "%s.%s", !i ? "" : names[i + 1] ? ", " : " and ", names[i]);
	}
	return form_no_field(name, all.s, e);
}

/* The names of the fields in capitals, and what is between them. */
static void add_heading(const struct form *f, struct str *out)
{
	char buf[FIELD_MAX];

	for (const char *p = f->text + sizeof TABLE - 1, *end; *p; p = end) {
		bool tab = p[0] == '\\' && p[1] == 't', json;

		end = strncmp(p, "{{", 2) != 0 ? NULL : strstr(p, "}}");
		if (!end) {
			str_addc(out, tab ? '\t' : *p);
			end = p + 1 + tab;
			continue;
		}
		for (const char *c = read_field(buf, p + 2, end, &json) + 1; *c; c++)
			str_addc(out, (char)toupper((unsigned char)*c));
		end += 2;
	}
	str_addc(out, '\n');
}

/* Each cell as wide as the widest of its column; the last of a line is not filled up. */
static void print_columns(const struct str *lines)
{
	enum { COLUMNS_MAX = 64 };
	int width[COLUMNS_MAX] = {0};

	for (int print = 0; print < 2; print++) {
		size_t column = 0;

		for (const char *p = lines->s, *end; *p; p = end + 1) {
			int w;

			end = p + strcspn(p, "\t\n");
			w = text_width(p, (size_t)(end - p));
			if (print)
				printf("%.*s", (int)(end - p), p);
			if (*end == '\t' && print)
				printf("%*s", column < COLUMNS_MAX ? width[column] - w + 3 : 3, "");
			else if (column < COLUMNS_MAX && w > width[column])
				width[column] = w;
			column = *end == '\t' ? column + 1 : 0;
			if (*end != '\t' && print)
				putchar('\n');
			if (!*end)
				break;
		}
	}
}

void form_print(const struct form *f, const struct str *lines)
{
	AUTO_STR struct str all = STR_INIT;

	if (!is_table(f)) {
		fwrite(lines->s, 1, lines->len, stdout);
		return;
	}
	add_heading(f, &all);
	str_add(&all, lines->s, lines->len);
	print_columns(&all);
}
