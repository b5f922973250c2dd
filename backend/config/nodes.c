/* nodes.c - reads a node as a number, a word or an amount; errors have a position. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <berth/config.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#include "config/node.h"

int config_verr(
	const struct config *c, int line, int column, struct err *e, const char *fmt, va_list ap)
{
	char sentence[ERR_MSG_MAX], file[256];

	vsnprintf(sentence, sizeof sentence, fmt, ap);
	return err_set(e, ERR_CONFIG, "%s:%d:%d: %s", text_clean(file, sizeof file, c->file), line,
		column, sentence);
}

int config_err(const struct config *c, int line, int column, struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	config_verr(c, line, column, e, fmt, ap);
	va_end(ap);
	return -1;
}

int node_err(const struct config *c, const struct node *n, struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	config_verr(c, n->line, n->column, e, fmt, ap);
	va_end(ap);
	return -1;
}

const struct node *node_get(const struct node *map, const char *key)
{
	if (!map || map->kind != NODE_MAP)
		return NULL;
	for (size_t i = 0; i < map->n; i++)
		if (!strcmp(map->child[i]->key, key))
			return map->child[i];
	return NULL;
}

/* How a message names what stands there: `"abc"`, `a list`, `nothing`. */
#define FOUND_MAX 80
static const char *describe_found(const struct node *n, char buf[FOUND_MAX])
{
	char value[60];

	if (n->kind == NODE_MAP)
		return "keys with values";
	if (n->kind == NODE_LIST)
		return "a list";
	if (!*n->value && !n->quoted)
		return "nothing";
	text_clean(value, sizeof value, n->value);
	snprintf(buf, FOUND_MAX, "\"%s%s\"%s", value, strlen(n->value) >= sizeof value ? "..." : "",
		n->quoted ? " in quotes" : "");
	return buf;
}

/* Does a number without quotes stand there? */
static bool is_bare_scalar(const struct node *n)
{
	return n->kind == NODE_SCALAR && !n->quoted && *n->value;
}

/* 010 is eight to some and ten to others. */
static bool is_octal_to_some(const struct node *n)
{
	const char *digits = n->value + (*n->value == '-');

	return is_bare_scalar(n) && digits[0] == '0' && digits[1] &&
		!digits[strspn(digits, "0123456789")];
}

int node_int(const struct config *c, const struct node *n, int64_t min, int64_t max, int64_t *out,
	struct err *e)
{
	char buf[FOUND_MAX], *end;
	const char *digits = n->value + (*n->value == '-');
	long long v;

	if (is_bare_scalar(n) && digits[0] == '0' && digits[1]) /* 0x10, too */
		return node_err(c, n, e,
			"found %s, expected a whole number from %lld to %lld without leading zeros.",
			describe_found(n, buf), (long long)min, (long long)max);
	errno = 0;
	v = strtoll(n->value, &end, 10);
	if (!is_bare_scalar(n) || *digits < '0' || *digits > '9' || *end || errno || v < min ||
		v > max)
		return node_err(c, n, e, "found %s, expected a whole number from %lld to %lld.",
			describe_found(n, buf), (long long)min, (long long)max);
	*out = v;
	return 0;
}

static locale_t c_locale;

static void make_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* A decimal number at the start of `s`, in no locale but C; *end behind it, or at s for none. */
static double read_decimal(const char *s, const char **end)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const char *p = s + (*s == '-');
	size_t whole = strspn(p, "0123456789"), part = 0, power;
	char buf[64];

	*end = s;
	p += whole;
	if (*p == '.') {
		part = strspn(p + 1, "0123456789");
		p += part + 1;
	}
	if (!whole && !part)
		return 0;
	if (*p == 'e' || *p == 'E') {
		power = 1 + (p[1] == '-' || p[1] == '+');
		if (p[power] >= '0' && p[power] <= '9')
			p += power + strspn(p + power, "0123456789");
	}
	if ((size_t)(p - s) >= sizeof buf)
		return 0;
	memcpy(buf, s, (size_t)(p - s));
	buf[p - s] = '\0';
	pthread_once(&once, make_locale);
	*end = p;
	return strtod_l(buf, NULL, c_locale);
}

int node_double(const struct config *c, const struct node *n, double min, double max, double *out,
	struct err *e)
{
	char buf[FOUND_MAX];
	const char *end = n->value;
	double v = is_bare_scalar(n) ? read_decimal(n->value, &end) : 0;

	if (is_octal_to_some(n))
		return node_err(c, n, e,
			"found %s, expected a number from %g to %g without leading zeros.",
			describe_found(n, buf), min, max);
	if (end == n->value || *end || !isfinite(v) || v < min || v > max)
		return node_err(c, n, e, "found %s, expected a number from %g to %g.",
			describe_found(n, buf), min, max);
	*out = v;
	return 0;
}

int node_bool(const struct config *c, const struct node *n, bool *out, struct err *e)
{
	static const char *const yes[] = {"true", "yes", "on"},
				 *const no[] = {"false", "no", "off"};
	char buf[FOUND_MAX];

	for (size_t i = 0; i < COUNT(yes) && is_bare_scalar(n); i++) {
		if (!strcasecmp(n->value, yes[i]) || !strcasecmp(n->value, no[i])) {
			*out = !strcasecmp(n->value, yes[i]);
			return 0;
		}
	}
	return node_err(c, n, e, "found %s, expected true or false.", describe_found(n, buf));
}

/* As docker reads sizes: a number, then b, k, m, g or t, then "b" or "ib" if one likes. */
int node_bytes(const struct config *c, const struct node *n, uint64_t *out, struct err *e)
{
	static const char units[] = "bkmgt";
	char buf[FOUND_MAX], letter;
	const char *end = n->value, *unit;
	double v = n->kind == NODE_SCALAR ? read_decimal(n->value, &end) : -1;
	int power = 0;

	if (end == n->value || v < 0)
		goto bad;
	if (is_octal_to_some(n))
		return node_err(c, n, e,
			"found %s, expected an amount such as 512m or 2g without leading zeros.",
			describe_found(n, buf));
	letter = (char)(*end | 0x20);
	if (*end && (unit = memchr(units, letter, sizeof units - 1))) {
		power = (int)(unit - units);
		end++;
		if (power && !strcasecmp(end, "ib"))
			end += 2;
		else if (power && !strcasecmp(end, "b"))
			end++;
	}
	v = ldexp(v, 10 * power);
	if (*end || !(v < 0x1p63))
		goto bad;
	*out = (uint64_t)v;
	return 0;
bad:
	return node_err(c, n, e, "found %s, expected an amount such as 512m or 2g.",
		describe_found(n, buf));
}

static void join_choices(struct str *s, const char *const *words)
{
	for (size_t i = 0; words[i]; i++)
		str_addf(s, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
}

int node_choice(const struct config *c, const struct node *n, const char *const *words, int *out,
	struct err *e)
{
	AUTO_STR struct str all = STR_INIT;
	char buf[FOUND_MAX];
	const char *near;

	for (int i = 0; words[i] && n->kind == NODE_SCALAR; i++) {
		if (!strcmp(n->value, words[i])) {
			*out = i;
			return 0;
		}
	}
	join_choices(&all, words);
	near = n->kind == NODE_SCALAR ? nearest_word(n->value, words) : NULL;
	if (near)
		str_addf(&all, " (did you mean \"%s\"?)", near);
	return node_err(c, n, e, "found %s, expected %s.", describe_found(n, buf), all.s);
}

int node_unknown(
	const struct config *c, const struct node *map, const char *const *known, struct err *e)
{
	for (size_t i = 0; i < map->n; i++) {
		const struct node *n = map->child[i];
		AUTO_STR struct str all = STR_INIT;
		const char *near;
		char shown[60];
		size_t k = 0;

		while (known[k] && strcmp(known[k], n->key) != 0)
			k++;
		if (known[k])
			continue;
		text_clean(shown, sizeof shown, n->key);
		near = nearest_word(n->key, known);
		if (near)
			return config_err(c, n->key_line, n->key_column, e,
				"unknown key \"%s\"; did you mean \"%s\"?", shown, near);
		join_choices(&all, known);
		return config_err(c, n->key_line, n->key_column, e,
			"unknown key \"%s\", expected %s.", shown, all.s);
	}
	return 0;
}
