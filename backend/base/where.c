/* where.c - parses and evaluates conditions. */
#include <berth/where.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/check.h>
#include <berth/config.h>
#include <berth/mem.h>
#include <berth/regex.h>

#define TESTS_MAX 64
#define DEPTH_MAX 32
#define WORD_MAX 64
#define FOR_MAX_MS (INT64_C(30) * 86400 * 1000)

enum where_op { OP_EQUAL, OP_OTHER, OP_LESS, OP_MOST, OP_MORE, OP_LEAST, OP_FITS, OP_FITS_NOT };

static const char *const op_words[] = {"=", "!=", "<", "<=", ">", ">=", "~", "!~"};

enum where_kind { JUDGE_TEST, JUDGE_AND, JUDGE_OR, JUDGE_NOT };

struct where_node {
	enum where_kind kind;
	struct where_node *left, *right; /* of NOT left alone */
	const struct where_column *column;
	enum where_op op;
	double number;
	char *text;
	struct regex *regex;
	bool open; /* where its number is not known */
};

struct where {
	struct where_node *root;
	bool reads_log;
	int64_t for_ms;
};

struct where_reader {
	const char *text, *at;
	const struct where_column *columns;
	enum where_use use;
	size_t tests;
	int depth;
	bool reads_log;
	struct err *e;
};

static void free_node(struct where_node *n)
{
	if (!n)
		return;
	free_node(n->left);
	free_node(n->right);
	free(n->text);
	regex_free(n->regex);
	free(n);
}

void where_free(struct where *w)
{
	if (w)
		free_node(w->root);
	free(w);
}

/* -- words ---------------------------------------------------------------------------------------------- */

static int character_of(const struct where_reader *r, const char *at)
{
	return (int)(at - r->text) + 1;
}

static const char *pass_blanks(const char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	return s;
}

static size_t name_length(const char *s)
{
	size_t n = 0;

	while (islower((unsigned char)s[n]) || (n && isdigit((unsigned char)s[n])) || s[n] == '_')
		n++;
	return n;
}

/* The longest operator that stands there; -1: none. */
static int op_at(const char *s, size_t *len)
{
	int found = -1;

	*len = 0;
	for (size_t i = 0; i < COUNT(op_words); i++) {
		size_t n = strlen(op_words[i]);

		if (n > *len && !strncmp(s, op_words[i], n)) {
			found = (int)i;
			*len = n;
		}
	}
	return found;
}

static const struct where_column *find_where_column(
	const struct where_column *columns, const char *s, size_t n)
{
	for (const struct where_column *k = columns; k->name; k++)
		if (strlen(k->name) == n && !strncmp(k->name, s, n))
			return k;
	return NULL;
}

bool where_is_meant(const char *text)
{
	size_t n, len;

	text = pass_blanks(text);
	while (*text == '(')
		text = pass_blanks(text + 1);
	if (!strncmp(text, "not ", 4))
		text = pass_blanks(text + 4);
	n = name_length(text);
	return find_where_column(where_columns, text, n) && op_at(pass_blanks(text + n), &len) >= 0;
}

/* Is `word` next?  Then it is taken. */
static bool take_where_word(struct where_reader *r, const char *word)
{
	size_t n = strlen(word);
	const char *s = pass_blanks(r->at);

	if (strncmp(s, word, n) != 0 || s[n] == '_' || isalnum((unsigned char)s[n]))
		return false;
	r->at = s + n;
	return true;
}

static int refuse_column(struct where_reader *r, const char *s, size_t n)
{
	const char *names[64], *near;
	char word[WORD_MAX];
	size_t k = 0;

	for (; r->columns[k].name && k < COUNT(names) - 1; k++)
		names[k] = r->columns[k].name;
	names[k] = NULL;
	snprintf(word, sizeof word, "%.*s", (int)n, s);
	if (!n)
		return err_set(
			r->e, ERR_USAGE, "at character %d: column missing", character_of(r, s));
	near = nearest_word(word, names);
	return err_set(r->e, ERR_USAGE, "at character %d: unknown column \"%s\"%s%s%s",
		character_of(r, s), word, near ? "; nearest known: \"" : "", near ? near : "",
		near ? "\"" : "");
}

/* A word, or a text in quotes, in which \" and \\ are what they show; ends in NUL. */
static int read_where_value(struct where_reader *r, char buf[WHERE_MAX], bool *ret_quoted)
{
	const char *s = pass_blanks(r->at), *from = s;
	size_t n = 0;

	*ret_quoted = *s == '"';
	if (!*ret_quoted) {
		while (*s && *s != ' ' && *s != '\t' && *s != ')' && *s != '(')
			buf[n++] = *s++;
	} else {
		for (s++; *s && *s != '"'; s++) {
			if (s[0] == '\\' && (s[1] == '"' || s[1] == '\\') && ++s && *s == '\\')
				buf[n++] = '\\'; /* a regular expression has its own use for it */
			buf[n++] = *s;
		}
		if (!*s)
			return err_set(r->e, ERR_USAGE,
				"the quoted text at character %d is not terminated",
				character_of(r, from));
		s++;
	}
	buf[n] = '\0';
	if (!n && !*ret_quoted)
		return err_set(
			r->e, ERR_USAGE, "at character %d: value missing", character_of(r, from));
	r->at = s;
	return 0;
}

/* -- values --------------------------------------------------------------------------------------------- */

static bool read_where_unit(enum where_type type, const char *s, double *factor)
{
	static const struct {
		enum where_type type;
		const char *unit;
		double factor;
	} units[] = {{WHERE_PERCENT, "%", 1}, {WHERE_BYTES, "k", 1024}, {WHERE_BYTES, "m", 1048576},
		{WHERE_BYTES, "g", 1073741824}, {WHERE_BYTES, "t", 1099511627776.0},
		{WHERE_SECONDS, "s", 1}, {WHERE_SECONDS, "m", 60}, {WHERE_SECONDS, "h", 3600},
		{WHERE_SECONDS, "d", 86400}};

	*factor = 1;
	if (!*s)
		return true;
	for (size_t i = 0; i < COUNT(units); i++)
		if (units[i].type == type && !strcasecmp(s, units[i].unit)) {
			*factor = units[i].factor;
			return true;
		}
	return false;
}

static bool read_where_number(enum where_type type, const char *s, double *ret)
{
	double whole = 0, factor, scale = 1;
	bool minus = *s == '-', digits = false;

	/* By hand: strtod knows the locale's comma, hexadecimal and infinity. */
	for (s += minus; isdigit((unsigned char)*s); s++, digits = true)
		whole = 10 * whole + (*s - '0');
	if (*s == '.')
		for (s++; isdigit((unsigned char)*s); s++, digits = true)
			whole += (*s - '0') * (scale /= 10);
	if (!digits || !read_where_unit(type, s, &factor))
		return false;
	*ret = (minus ? -whole : whole) * factor;
	return true;
}

static const char *number_words(enum where_type type)
{
	return type == WHERE_PERCENT    ? "a number such as 90 or 90%"
		: type == WHERE_BYTES   ? "an amount such as 512m or 2g"
		: type == WHERE_SECONDS ? "a duration such as 30s, 5m or 2h"
					: "a number";
}

static int set_value(
	struct where_reader *r, struct where_node *n, const char *value, const char *from)
{
	bool pattern = n->op == OP_FITS || n->op == OP_FITS_NOT;
	enum where_type type = n->column->type;
	bool text = type == WHERE_TEXT || type == WHERE_LOG, fold = true;
	char why[REGEX_WHY_MAX];

	if (type == WHERE_LOG && !pattern)
		return err_set(r->e, ERR_USAGE,
			"at character %d: \"log\" needs ~ or !~ and a regular expression",
			character_of(r, from));
	if (pattern && !text)
		return err_set(r->e, ERR_USAGE,
			"at character %d: \"%s\" is a number; ~ is for text", character_of(r, from),
			n->column->name);
	if (text && !pattern && n->op != OP_EQUAL && n->op != OP_OTHER)
		return err_set(r->e, ERR_USAGE, "at character %d: \"%s\" is text; use = != ~ or !~",
			character_of(r, from), n->column->name);
	n->text = xstrdup(value);
	if (pattern) {
		for (const char *p = value; *p; p++)
			fold &= !isupper((unsigned char)*p);
		n->regex = regex_new(value, fold ? REGEX_FOLD : 0, why);
		if (!n->regex)
			return err_set(r->e, ERR_USAGE,
				"\"%.60s\" is not a regular expression (%s)", value, why);
	} else if (!text && !read_where_number(type, value, &n->number)) {
		return err_set(r->e, ERR_USAGE, "at character %d: \"%s\" needs %s, not \"%.40s\"",
			character_of(r, from), n->column->name, number_words(type), value);
	}
	return 0;
}

/* -- grammar -------------------------------------------------------------------------------------------- */

static struct where_node *read_or(struct where_reader *r);

static struct where_node *make_where_node(
	enum where_kind kind, struct where_node *left, struct where_node *right)
{
	struct where_node *n = xcalloc(1, sizeof *n);

	n->kind = kind;
	n->left = left;
	n->right = right;
	return n;
}

static struct where_node *read_where_test(struct where_reader *r)
{
	const char *from = pass_blanks(r->at);
	size_t len = name_length(from), oplen;
	const struct where_column *column = find_where_column(r->columns, from, len);
	char value[WHERE_MAX];
	struct where_node *n;
	bool quoted;
	int op;

	if (!column)
		return err_null(refuse_column(r, from, len));
	if (column->type == WHERE_LOG && r->use != WHERE_ALERT)
		return err_null(err_set(r->e, ERR_USAGE, "\"log\" can only be used in alerts"));
	if (++r->tests > TESTS_MAX)
		return err_null(
			err_set(r->e, ERR_USAGE, "a condition has at most %d tests", TESTS_MAX));
	r->at = pass_blanks(from + len);
	op = op_at(r->at, &oplen);
	if (op < 0)
		return err_null(err_set(r->e, ERR_USAGE,
			"at character %d: comparison missing: = != < <= > >= ~ or !~",
			character_of(r, r->at)));
	r->at += oplen;
	if (read_where_value(r, value, &quoted) < 0)
		return NULL;
	n = make_where_node(JUDGE_TEST, NULL, NULL);
	n->column = column;
	n->op = (enum where_op)op;
	n->open = r->use == WHERE_CHECK;
	r->reads_log |= column->type == WHERE_LOG;
	if (set_value(r, n, value, from) == 0)
		return n;
	free_node(n);
	return NULL;
}

static struct where_node *read_where_part(struct where_reader *r)
{
	struct where_node *n;

	if (++r->depth > DEPTH_MAX)
		return err_null(err_set(
			r->e, ERR_USAGE, "a condition can be nested at most %d levels", DEPTH_MAX));
	if (take_where_word(r, "not")) {
		n = read_where_part(r);
		n = n ? make_where_node(JUDGE_NOT, n, NULL) : NULL;
	} else if (*pass_blanks(r->at) == '(') {
		const char *from = pass_blanks(r->at);

		r->at = from + 1;
		n = read_or(r);
		if (n && *pass_blanks(r->at) != ')') {
			free_node(n);
			return err_null(err_set(r->e, ERR_USAGE,
				"the parenthesis at character %d is not closed",
				character_of(r, from)));
		}
		if (n)
			r->at = pass_blanks(r->at) + 1;
	} else {
		n = read_where_test(r);
	}
	r->depth--;
	return n;
}

static struct where_node *read_chain(struct where_reader *r, enum where_kind kind, const char *word,
	struct where_node *(*part)(struct where_reader *r))
{
	struct where_node *left = part(r), *right;

	while (left && take_where_word(r, word)) {
		right = part(r);
		if (!right) {
			free_node(left);
			return NULL;
		}
		left = make_where_node(kind, left, right);
	}
	return left;
}

static struct where_node *read_and(struct where_reader *r)
{
	return read_chain(r, JUDGE_AND, "and", read_where_part);
}

static struct where_node *read_or(struct where_reader *r)
{
	return read_chain(r, JUDGE_OR, "or", read_and);
}

static int read_for(struct where_reader *r, int64_t *ret_ms)
{
	const char *from = pass_blanks(r->at);
	char value[WHERE_MAX];
	double seconds;
	bool quoted;

	if (!take_where_word(r, "for"))
		return 0;
	if (r->use != WHERE_ALERT)
		return err_set(r->e, ERR_USAGE, "\"for\" can only be used in alerts");
	if (r->reads_log)
		return err_set(r->e, ERR_USAGE,
			"a log line has no duration: remove \"for\" at character %d",
			character_of(r, from));
	if (read_where_value(r, value, &quoted) < 0)
		return -1;
	if (!read_where_number(WHERE_SECONDS, value, &seconds) || seconds <= 0 ||
		seconds * 1000 > (double)FOR_MAX_MS)
		return err_set(r->e, ERR_USAGE,
			"\"for\" at character %d needs a duration such as 30s, 5m or 2h, not \"%.40s\"",
			character_of(r, from), value);
	*ret_ms = (int64_t)(seconds * 1000);
	return 0;
}

struct where *where_new(const char *text, enum where_use use, struct err *e)
{
	return where_new_over(where_columns, text, use, e);
}

struct where *where_new_over(
	const struct where_column *columns, const char *text, enum where_use use, struct err *e)
{
	struct where_reader r = {.text = text, .at = text, .columns = columns, .use = use, .e = e};
	struct where_node *root;
	int64_t for_ms = 0;
	struct where *w;

	if (strlen(text) >= WHERE_MAX)
		return err_null(err_set(
			e, ERR_USAGE, "a condition has at most %d characters", WHERE_MAX - 1));
	root = read_or(&r);
	if (!root)
		return NULL;
	if (read_for(&r, &for_ms) < 0) {
		free_node(root);
		return NULL;
	}
	r.at = pass_blanks(r.at);
	if (*r.at) {
		free_node(root);
		return err_null(err_set(e, ERR_USAGE, "at character %d: unexpected \"%.40s\"",
			character_of(&r, r.at), r.at));
	}
	w = xcalloc(1, sizeof *w);
	*w = (struct where){.root = root, .reads_log = r.reads_log, .for_ms = for_ms};
	return w;
}

/* -- judging -------------------------------------------------------------------------------------------- */

enum where_verdict { VERDICT_NO, VERDICT_YES, VERDICT_OPEN /* a line would decide */ };

static bool judge_number(enum where_op op, double v, double than)
{
	switch (op) {
	case OP_EQUAL: return v == than;
	case OP_OTHER: return v != than;
	case OP_LESS: return v < than;
	case OP_MOST: return v <= than;
	case OP_MORE: return v > than;
	case OP_LEAST: return v >= than;
	default: return false;
	}
}

static bool judge_text(const struct where_node *n, const char *s, size_t len)
{
	int found = n->regex ? regex_find(n->regex, s, len, 0, NULL, NULL) : !strcmp(s, n->text);

	/* One that takes too many steps to tell fits: who writes it hides nothing by that. */
	return found < 0 || (found > 0) == (n->op == OP_EQUAL || n->op == OP_FITS);
}

static enum where_verdict judge_test(const struct where_node *n, const struct where_row *row)
{
	char text[WHERE_VALUE_MAX * 4];
	double v;

	if (n->column->type == WHERE_LOG)
		return !row->line                              ? VERDICT_OPEN
			: judge_text(n, row->line, row->nline) ? VERDICT_YES
							       : VERDICT_NO;
	if (n->column->text)
		return n->column->text(row, text, sizeof text) && judge_text(n, text, strlen(text))
			? VERDICT_YES
			: VERDICT_NO;
	if (!n->column->number(row, &v))
		return n->open ? VERDICT_OPEN : VERDICT_NO;
	return judge_number(n->op, v, n->number) ? VERDICT_YES : VERDICT_NO;
}

static enum where_verdict judge_node(const struct where_node *n, const struct where_row *row)
{
	enum where_verdict left, right;

	if (n->kind == JUDGE_TEST)
		return judge_test(n, row);
	left = judge_node(n->left, row);
	if (n->kind == JUDGE_NOT)
		return left == VERDICT_OPEN ? left : left == VERDICT_YES ? VERDICT_NO : VERDICT_YES;
	if (left == (n->kind == JUDGE_AND ? VERDICT_NO : VERDICT_YES))
		return left;
	right = judge_node(n->right, row);
	if (right == (n->kind == JUDGE_AND ? VERDICT_NO : VERDICT_YES))
		return right;
	return left == VERDICT_OPEN ? left : right;
}

bool where_holds(const struct where *w, const struct where_row *row)
{
	return judge_node(w->root, row) == VERDICT_YES;
}

bool where_may_hold(const struct where *w, const struct where_row *row)
{
	struct where_row open = *row;

	open.line = NULL;
	return judge_node(w->root, &open) != VERDICT_NO;
}

bool where_reads_log(const struct where *w)
{
	return w->reads_log;
}

int64_t where_for_ms(const struct where *w)
{
	return w->for_ms;
}

static bool uses_column(const struct where_node *n, const struct where_column *k)
{
	return n && (n->column == k || uses_column(n->left, k) || uses_column(n->right, k));
}

bool where_uses(const struct where *w, const struct where_column *k)
{
	return uses_column(w->root, k);
}

bool where_is_bound(
	const struct where *w, const struct where_column **column, const char **op, double *number)
{
	const struct where_node *n = w->root;

	if (n->kind != JUDGE_TEST || !n->column->number)
		return false;
	*column = n->column;
	*op = op_words[n->op];
	*number = n->number;
	return true;
}
