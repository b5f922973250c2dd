/* filters.c - implements --filter KEY=VALUE for output that is printed row by row, as docker's. */
#include <string.h>

#include <berth/config.h>
#include <berth/mem.h>
#include <berth/regex.h>
#include <berth/str.h>
#include <berth/text.h>

#include "cli/run.h"

#define ID_DIGITS "0123456789abcdef"

static bool is_filter(const struct cli *c, size_t i)
{
	return strcmp(c->given[i].option->name, "filter") == 0;
}

/* The key of KEY=VALUE and the value; NULL: there is no such key. */
static const struct cli_filter *find_filter(
	const struct cli_filter *keys, const char *text, const char **ret_value)
{
	size_t n = strcspn(text, "=");

	*ret_value = text[n] ? text + n + 1 : NULL;
	for (const struct cli_filter *f = keys; f->key; f++)
		if (strlen(f->key) == n && !memcmp(f->key, text, n))
			return f;
	return NULL;
}

static int refuse_filter(const struct cli_filter *keys, const char *text, struct err *e)
{
	AUTO_STR struct str all = STR_INIT;
	char shown[64];

	for (const struct cli_filter *f = keys; f->key; f++)
		str_addf(&all, "%s%s", f == keys ? "" : f[1].key ? ", " : " or ", f->key);
	return err_set(e, ERR_USAGE, "--filter takes %s with = and a value, not \"%s\".", all.s,
		text_clean(shown, sizeof shown, text));
}

/* "health_status: healthy" is a health_status, too. */
static int check_action(const struct cli_filter *f, const char *value, struct err *e)
{
	AUTO_FREE char *action = xstrndup(value, strcspn(value, ":"));
	const char *nearest = nearest_word(action, f->values);
	char shown[64];

	for (size_t i = 0; f->values[i]; i++)
		if (!strcmp(f->values[i], action))
			return 0;
	return err_set(e, ERR_USAGE,
		"--filter %s= takes what happened, such as start or die, not \"%s\"%s%s%s.", f->key,
		text_clean(shown, sizeof shown, action), nearest ? " (nearest: " : "",
		nearest ? nearest : "", nearest ? ")" : "");
}

/* A value that nothing can have is a typing mistake, and would look like "none of them". */
static int check_value(const struct cli_filter *f, const char *value, struct err *e)
{
	AUTO_STR struct str all = STR_INIT;
	char why[REGEX_WHY_MAX], shown[64];
	struct regex *r;

	if (f->how == FIT_ACTION)
		return check_action(f, value, e);
	for (size_t i = 0; f->values && f->values[i]; i++) {
		if (!strcmp(f->values[i], value))
			return 0;
		str_addf(&all, "%s%s", !i ? "" : f->values[i + 1] ? ", " : " or ", f->values[i]);
	}
	text_clean(shown, sizeof shown, value);
	if (f->values)
		return err_set(
			e, ERR_USAGE, "--filter %s= takes %s, not \"%s\".", f->key, all.s, shown);
	if (f->how == FIT_ID && (!*value || value[strspn(value, ID_DIGITS)]))
		return err_set(e, ERR_USAGE,
			"--filter %s= takes the first digits (0-9, a-f) of an id, not \"%s\".",
			f->key, shown);
	if (f->how == FIT_CODE &&
		(!*value || strlen(value) > 3 || value[strspn(value, "0123456789")]))
		return err_set(e, ERR_USAGE, "--filter %s= takes an exit code, not \"%s\".", f->key,
			shown);
	if (f->how == FIT_LABEL && (!*value || *value == '='))
		return err_set(e, ERR_USAGE, "--filter %s= takes KEY or KEY=VALUE, not \"%s\".",
			f->key, shown);
	if (f->how != FIT_REGEX)
		return 0;
	r = regex_new(value, 0, why);
	regex_free(r);
	return r ? 0
		 : err_set(e, ERR_USAGE, "--filter %s=: `%s` is not a regular expression: %s.",
			   f->key, shown, why);
}

int cli_check_filters(const struct cli *c, const struct cli_filter *keys, struct err *e)
{
	for (size_t i = 0; i < c->ngiven; i++) {
		const struct cli_filter *f;
		const char *value;

		if (!is_filter(c, i))
			continue;
		f = find_filter(keys, c->given[i].value, &value);
		if (!f || !value)
			return refuse_filter(keys, c->given[i].value, e);
		if (check_value(f, value, e))
			return -1;
	}
	return 0;
}

bool cli_has_filter(const struct cli *c, const struct cli_filter *keys, const char *key)
{
	for (size_t i = 0; i < c->ngiven; i++) {
		const struct cli_filter *f;
		const char *value;

		f = is_filter(c, i) ? find_filter(keys, c->given[i].value, &value) : NULL;
		if (f && !strcmp(f->key, key))
			return true;
	}
	return false;
}

/* docker matches a name with and without the slash that the engine puts before it. */
static bool fits_regex(const char *name, const char *value)
{
	char why[REGEX_WHY_MAX];
	struct regex *r = regex_new(value, 0, why);
	AUTO_STR struct str slashed = STR_INIT;
	bool fits;

	str_addf(&slashed, "/%s", name);
	fits = r &&
		(regex_find(r, name, strlen(name), 0, NULL, NULL) == 1 ||
			regex_find(r, slashed.s, slashed.len, 0, NULL, NULL) == 1);
	regex_free(r);
	return fits;
}

static const char *skip_words(const char *s, const char *words)
{
	size_t n = strlen(words);

	return strncmp(s, words, n) ? s : s + n;
}

/* Without the registry that is meant where none is named. */
static const char *short_image(const char *image)
{
	const char *rest = skip_words(skip_words(image, "index."), "docker.io/");

	return rest == image || rest == image + 6 ? image : skip_words(rest, "library/");
}

/* A part of its name, with the tag that is meant where none is named. */
static bool fits_image(const char *image, const char *value)
{
	const char *name = short_image(image), *slash = strrchr(name, '/');
	AUTO_STR struct str whole = STR_INIT;

	str_adds(&whole, name);
	if (!strpbrk(slash ? slash : name, ":@"))
		str_adds(&whole, ":latest");
	return strstr(image, value) || strstr(whole.s, short_image(value));
}

static bool fits_value(const struct cli_filter *f, const void *row, const char *value)
{
	const char *field = f->field ? f->field(row) : "";

	switch (f->how) {
	case FIT_WHOLE: return !strcmp(field, value);
	case FIT_ID:
	case FIT_PREFIX: return !strncmp(field, value, strlen(value));
	case FIT_REGEX: return fits_regex(field, value);
	case FIT_IMAGE: return fits_image(field, value);
	case FIT_ACTION:
	case FIT_LABEL:
	case FIT_CODE: return f->fits(row, value);
	}
	return false;
}

bool cli_fits_filters(const struct cli *c, const struct cli_filter *keys, const void *row)
{
	for (size_t i = 0; i < c->ngiven; i++) {
		const struct cli_filter *key, *f;
		const char *value;
		bool fits = false;

		if (!is_filter(c, i))
			continue;
		key = find_filter(keys, c->given[i].value, &value);
		if (key->how == FIT_LABEL)
			fits = fits_value(key, row, value);
		for (size_t o = 0; o < c->ngiven && !fits && key->how != FIT_LABEL; o++) {
			f = is_filter(c, o) ? find_filter(keys, c->given[o].value, &value) : NULL;
			fits = f && (f == key || (f->field && f->field == key->field)) &&
				fits_value(f, row, value);
		}
		if (!fits)
			return false;
	}
	return true;
}
