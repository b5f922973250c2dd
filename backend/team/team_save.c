/*
 * team_save.c - adds a rule to a user's team file, leaving every other byte unchanged.
 *
 * The file is theirs, with its comments and its layout, so nothing is printed anew: the place is found in the text, and what
 * came of it is read again and compared.  What is not plainly one item more is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/config.h>
#include <berth/egress.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "team/team_forms.h"

#define FILE_MOST ((size_t)1 << 20)

/* -- places in the text ------------------------------------------------------------------------------ */

/* libyaml counts lines from newlines and columns in characters.  SIZE_MAX: there is no such place. */
static size_t find_offset(const struct str *text, int line, int column)
{
	size_t at = 0;
	uint32_t cp;

	while (--line > 0) {
		const char *end = memchr(text->s + at, '\n', text->len - at);

		if (!end)
			return SIZE_MAX;
		at = (size_t)(end - text->s) + 1;
	}
	while (--column > 0 && at < text->len)
		at += utf8_next(text->s + at, text->len - at, &cp);
	return at < text->len ? at : SIZE_MAX;
}

static size_t find_line_start(const struct str *text, size_t at)
{
	while (at && text->s[at - 1] != '\n')
		at--;
	return at;
}

static size_t find_line_end(const struct str *text, size_t at)
{
	while (at < text->len && text->s[at] != '\n')
		at++;
	return at;
}

static void insert_at(struct str *text, size_t at, const char *more)
{
	AUTO_STR struct str whole = STR_INIT;

	str_add(&whole, text->s, at);
	str_adds(&whole, more);
	str_add(&whole, text->s + at, text->len - at);
	str_clear(text);
	str_add(text, whole.s, whole.len);
}

static void write_rule_item(const char *rule, struct str *out)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
	const char *quote = strspn(rule, plain) == strlen(rule) ? "" : "\"";

	str_addf(out, "%s%s%s", quote, rule, quote);
}

/* -- lists --------------------------------------------------------------------------------------------- */

/* Of "[...]" that begins at `from`: *last is behind the last byte that is neither blank nor comment, the bracket itself where
 * it is empty.  -1: another list is in it, or maps in maps, or it does not end. */
static int scan_brackets(const struct str *text, size_t from, size_t *last)
{
	char quote = 0;
	bool map = false;

	*last = from + 1;
	for (size_t i = from + 1; i < text->len; i++) {
		char c = text->s[i];
		bool blank = c == ' ' || c == '\t' || c == '\n',
		     after = strchr(" \t\n", text->s[i - 1]);

		if (quote) {
			i += quote == '"' && c == '\\';
			quote = c == quote ? 0 : quote;
		} else if (c == ']' && !map) {
			return 0;
		} else if (strchr("[]{}", c)) {
			if (c != (map ? '}' : '{'))
				return -1;
			map = !map;
		} else if (c == '#' && after) {
			i = find_line_end(text, i) - 1;
			continue;
		} else if (c == '"' || c == '\'') {
			quote = c;
		}
		if (!blank)
			*last = i + 1;
	}
	return -1;
}

/* In brackets: behind the last item; where that has a line to itself, in the next one. */
static int add_in_brackets(struct str *text, size_t from, const char *rule)
{
	AUTO_STR struct str item = STR_INIT;
	size_t last, line, indent;
	bool comma;

	if (scan_brackets(text, from, &last))
		return -1;
	comma = text->s[last - 1] == ',';
	line = find_line_start(text, last);
	indent = strspn(text->s + line, " ");
	if (last == from + 1) {
		write_rule_item(rule, &item);
	} else if (line <= from) {
		str_adds(&item, comma ? " " : ", ");
		write_rule_item(rule, &item);
	} else {
		str_addf(&item, "\n%*s", (int)indent, "");
		write_rule_item(rule, &item);
		str_adds(&item, comma ? "," : "");
		insert_at(text, find_line_end(text, last), item.s);
		if (!comma)
			insert_at(text, last, ",");
		return 0;
	}
	insert_at(text, last, item.s);
	return 0;
}

/* With dashes: a line after that of the last item. */
static int add_with_dash(struct str *text, const struct node *list, const char *rule)
{
	const struct node *item = list->child[list->n - 1];
	size_t at = find_offset(text, item->line, item->column), start, end, indent;
	AUTO_STR struct str line = STR_INIT;

	if (at == SIZE_MAX)
		return -1;
	start = find_line_start(text, at);
	end = find_line_end(text, at);
	indent = strspn(text->s + start, " ");
	if (text->s[start + indent] != '-' ||
		start + indent + 1 + strspn(text->s + start + indent + 1, " ") != at)
		return -1;
	str_addf(&line, "%s%.*s", end == text->len ? "\n" : "", (int)(at - start), text->s + start);
	write_rule_item(rule, &line);
	if (end < text->len)
		str_addc(&line, '\n');
	insert_at(text, end + (end < text->len), line.s);
	return 0;
}

/* -- what came of it ----------------------------------------------------------------------------------- */

struct tree_change {
	const struct node *list; /* of the old tree */
	const char *rule;        /* that it has now as its last */
	size_t seen;             /* so often: an alias is the list once more */
};

/* All as it was, but for that. */
static bool is_same_tree(const struct node *a, const struct node *b, struct tree_change *t)
{
	size_t more = a == t->list;

	t->seen += more;
	if (a->kind != b->kind || a->n + more != b->n || a->quoted != b->quoted ||
		!a->key != !b->key || (a->key && strcmp(a->key, b->key) != 0) ||
		(a->kind == NODE_SCALAR && strcmp(a->value, b->value) != 0))
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!is_same_tree(a->child[i], b->child[i], t))
			return false;
	return !more ||
		(b->child[a->n]->kind == NODE_SCALAR && !strcmp(b->child[a->n]->value, t->rule));
}

static const struct node *find_rule_list(
	const struct config *c, const char *agent, const char *verb, struct err *e)
{
	const struct node *agents = node_get(c->root, "agents"),
			  *a = agents && agents->kind == NODE_MAP ? node_get(agents, agent) : NULL,
			  *net = a && a->kind == NODE_MAP ? node_get(a, "network") : NULL,
			  *list = net && net->kind == NODE_MAP ? node_get(net, verb) : NULL;

	if (!a)
		return err_null(err_set(e, ERR_CONFIG,
			"%s has no agent %.64s under agents:, so the rule is not saved there.",
			c->file, agent));
	if (!list || list->kind != NODE_LIST)
		return err_null(err_set(e, ERR_CONFIG,
			"network: of %.64s in %s has no list %s:, so there is no place to save the rule; "
			"write `%s: []` there once.",
			agent, c->file, verb, verb));
	return list;
}

static int refuse_shape(const struct config *c, const struct node *list, struct err *e)
{
	return node_err(c, list, e,
		"this list is not written in a way that berth can add to without touching the rest "
		"of the file; add the rule by hand.");
}

/* As it is written here, or as {host: ..., tls: true}. */
static bool is_rule_item(const struct config *c, const struct node *n, const char *rule)
{
	size_t begins = sizeof EGRESS_TLS - 1;
	bool tls = false;
	const struct node *host = n->kind == NODE_MAP ? node_get(n, "host") : n,
			  *asks = n->kind == NODE_MAP ? node_get(n, "tls") : NULL;

	if (!host || host->kind != NODE_SCALAR || (asks && node_bool(c, asks, &tls, NULL)) ||
		(tls && strncmp(rule, EGRESS_TLS, begins) != 0))
		return false;
	return !strcmp(host->value, rule + (tls ? begins : 0));
}

/* One rule.  0, also where it is there. */
static int add_rule_text(struct str *text, const char *name, const char *agent, const char *verb,
	const char *rule, struct err *e)
{
	struct config old = {0}, fresh = {0};
	struct tree_change change = {.rule = rule};
	const struct node *list;
	size_t at;
	int rc = -1;

	if (config_parse(name, text->s, text->len, &old, e))
		return -1;
	list = find_rule_list(&old, agent, verb, e);
	for (size_t i = 0; list && i < list->n; i++)
		if (is_rule_item(&old, list->child[i], rule)) {
			config_release(&old);
			return 0;
		}
	if (list) {
		change.list = list;
		at = find_offset(text, list->line, list->column);
		if (at == SIZE_MAX || memchr(text->s, '\r', text->len))
			rc = refuse_shape(&old, list, e);
		else if (text->s[at] == '[')
			rc = add_in_brackets(text, at, rule);
		else if (list->n)
			rc = add_with_dash(text, list, rule);
		if (rc || config_parse(name, text->s, text->len, &fresh, NULL) ||
			!is_same_tree(old.root, fresh.root, &change) || change.seen != 1)
			rc = refuse_shape(&old, list, e);
		config_release(&fresh);
	}
	config_release(&old);
	return rc;
}

int team_add_rules(struct str *text, const char *name, const char *agent, bool allow,
	const char *const *rules, size_t n, struct err *e)
{
	struct egress_rule r;
	char rule[EGRESS_RULE_MAX];

	for (size_t i = 0; i < n; i++) {
		if (egress_parse_rule(rules[i], allow, &r, e))
			return -1;
		egress_write_rule(&r, rule);
		if (add_rule_text(text, name, agent, allow ? "allow" : "deny", rule, e))
			return -1;
	}
	return 0;
}

/* -- the file ------------------------------------------------------------------------------------------ */

static bool is_same_version(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
		a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Under a name of its own beside it, then in its place: unless somebody else wrote it meanwhile. */
static int replace_team_file(
	const char *real, const struct stat *was, const struct str *text, struct err *e)
{
	AUTO_FREE char *fresh = xasprintf("%s.%d", real, (int)getpid());
	AUTO_CLOSE int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat now;
	int rc = 0;

	if (fd < 0)
		return err_sys(e, errno, "cannot write a temporary file next to %s", real);
	if (fchown(fd, was->st_uid, was->st_gid) || fchmod(fd, was->st_mode & 07777) ||
		file_write(fd, text->s, text->len) || fdatasync(fd))
		rc = err_sys(e, errno, "cannot write %s", fresh);
	else if (stat(real, &now) || !is_same_version(&now, was))
		rc = err_set(e, ERR_CONFLICT, "%s was changed in the meantime; nothing was saved.",
			real);
	else if (rename(fresh, real))
		rc = err_sys(e, errno, "cannot replace %s", real);
	if (rc)
		unlink(fresh);
	return rc;
}

/* It must still be a team file. */
static int check_saved_team(
	const char *real, const char *base, const struct str *text, struct err *e)
{
	struct team team;

	if (team_parse(real, text->s, text->len, base, &team, e))
		return -1;
	team_release(&team);
	return 0;
}

int team_save_rules(const char *file, const char *agent, bool allow, const char *const *rules,
	size_t n, struct err *e)
{
	AUTO_FREE char *real = realpath(file, NULL), *base = NULL;
	AUTO_STR struct str text = STR_INIT, old = STR_INIT;
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (!real)
		return err_sys(e, errno, "cannot read %s", file);
	if (team_check_owner(real, e))
		return -1;
	fd = file_open(AT_FDCWD, real, O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st))
		return err_sys(e, errno, "cannot read %s", real);
	if (file_rest(fd, real, FILE_MOST, &old, e))
		return -1;
	base = xstrndup(real, (size_t)(strrchr(real, '/') - real) + (strrchr(real, '/') == real));
	str_add(&text, old.s, old.len);
	if (team_add_rules(&text, real, agent, allow, rules, n, e) ||
		check_saved_team(real, base, &text, e))
		return -1;
	if (text.len == old.len)
		return 0;
	return replace_team_file(real, &st, &text, e);
}
