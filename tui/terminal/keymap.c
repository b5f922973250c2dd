/* keymap.c - parses keys, binds them and reports conflicting bindings. */
#include "terminal/keymap.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <berth/check.h>
#include <berth/mem.h>
#include <berth/text.h>

static const struct {
	const char *name;
	uint32_t code;
} names[] = {{"Enter", NAMED_ENTER}, {"Esc", NAMED_ESC}, {"Tab", NAMED_TAB}, {"Space", ' '},
	{"Backspace", NAMED_BACKSPACE}, {"Del", NAMED_DELETE}, {"Ins", NAMED_INSERT},
	{"Up", NAMED_UP}, {"Down", NAMED_DOWN}, {"Left", NAMED_LEFT}, {"Right", NAMED_RIGHT},
	{"Home", NAMED_HOME}, {"End", NAMED_END}, {"PgUp", NAMED_PAGE_UP},
	{"PgDn", NAMED_PAGE_DOWN}, {"Return", NAMED_ENTER}, {"Escape", NAMED_ESC},
	{"Delete", NAMED_DELETE}, {"Insert", NAMED_INSERT}, {"PageUp", NAMED_PAGE_UP},
	{"PageDown", NAMED_PAGE_DOWN}};

static const char *nearest_key(const char *word)
{
	const char *list[COUNT(names) + 1];

	for (size_t i = 0; i < COUNT(names); i++)
		list[i] = names[i].name;
	list[COUNT(names)] = NULL;
	return nearest_word(word, list);
}

static bool key_by_name(const char *text, size_t n, uint32_t *code)
{
	unsigned number;
	char end;

	for (size_t i = 0; i < COUNT(names); i++) {
		if (strlen(names[i].name) == n && strncasecmp(names[i].name, text, n) == 0) {
			*code = names[i].code;
			return true;
		}
	}
	if ((text[0] == 'F' || text[0] == 'f') && n >= 2 && n <= 3) {
		char digits[4] = {0};

		memcpy(digits, text + 1, n - 1);
		if (sscanf(digits, "%2u%c", &number, &end) == 1 && number >= 1 && number <= 12) {
			*code = NAMED_F1 + number - 1;
			return true;
		}
	}
	return false;
}

/* What a terminal cannot tell apart must not be bound as if it could. */
static int check_possible(const char *text, size_t n, struct key *k, struct err *e)
{
	static const struct {
		char letter;
		const char *same;
	} twins[] = {
		{'i', "Tab"}, {'m', "Enter"}, {'j', "Enter"}, {'h', "Backspace"}, {'[', "Esc"}};

	if (k->mods & MOD_CTRL && k->code < 0x80) {
		if (isupper((int)k->code))
			k->code = (uint32_t)tolower((int)k->code);
		for (size_t i = 0; i < COUNT(twins); i++)
			if (k->code == (uint32_t)twins[i].letter)
				return err_set(e, ERR_CONFIG,
					"a terminal cannot tell key `%.*s` from `%s`", (int)n, text,
					twins[i].same);
		if (!isalpha((int)k->code) && !strchr(" \\]^_", (int)k->code))
			return err_set(e, ERR_CONFIG, "key `%.*s` cannot be typed on a terminal",
				(int)n, text);
	}
	if (k->mods & MOD_SHIFT && k->code < KEYS_NAMED) {
		if (!islower((int)(k->code < 0x80 ? k->code : 0)))
			return err_set(e, ERR_CONFIG,
				"key `%.*s`: write the shifted character itself", (int)n, text);
		k->code = (uint32_t)toupper((int)k->code);
		k->mods &= (uint8_t)~MOD_SHIFT;
	}
	return 0;
}

int key_parse(const char *text, size_t n, struct key *ret, struct err *e)
{
	const char *all = text;
	size_t all_n = n, used;
	struct key k = {0};

	while (n > 2 && text[1] == '-') {
		uint8_t mod = text[0] == 'C' ? MOD_CTRL
			: text[0] == 'M'     ? MOD_ALT
			: text[0] == 'S'     ? MOD_SHIFT
					     : 0;

		if (!mod)
			break;
		k.mods |= mod;
		text += 2;
		n -= 2;
	}
	if (n == 0)
		return err_set(e, ERR_CONFIG, "an empty key name");
	used = utf8_next(text, n, &k.code);
	if (used != n || k.code == TEXT_BAD) {
		if (!key_by_name(text, n, &k.code)) {
			char word[32];
			const char *near;

			snprintf(word, sizeof word, "%.*s", (int)n, text);
			near = nearest_key(word);
			return err_set(e, ERR_CONFIG,
				"unknown key `%.*s`%s%s%s; keys are written like D, "
				"C-s, M-x, S-Tab, F1, Enter, Space",
				(int)all_n, all, near ? " (did you mean `" : "", near ? near : "",
				near ? "`?)" : "");
		}
	} else if (text_cp_width(k.code) < 1) {
		return err_set(e, ERR_CONFIG, "that character cannot be typed");
	}
	if (check_possible(all, all_n, &k, e) < 0)
		return -1;
	*ret = k;
	return 0;
}

char *key_format(char buf[KEY_TEXT_MAX], struct key k)
{
	char name[8] = {0};
	const char *text = name;

	if (k.code >= NAMED_F1 && k.code <= NAMED_F12)
		snprintf(name, sizeof name, "F%u", k.code - NAMED_F1 + 1);
	else if (k.code == ' ' || k.code > KEYS_NAMED) {
		for (size_t i = COUNT(names); i-- > 0;)
			if (names[i].code == k.code)
				text = names[i].name;
	} else {
		utf8_put(k.code, name);
	}
	snprintf(buf, KEY_TEXT_MAX, "%s%s%s%s", k.mods & MOD_CTRL ? "C-" : "",
		k.mods & MOD_ALT ? "M-" : "", k.mods & MOD_SHIFT ? "S-" : "", text);
	return buf;
}

uint32_t key_char(struct key k)
{
	return k.mods || k.code >= KEYS_NAMED || k.code < 0x20 || k.code == 0x7F ? 0 : k.code;
}

static void bind_key(struct keymap *k, struct key key, enum action a)
{
	CHECK(k->n < KEYMAP_MAX);
	k->bound[k->n].key = key;
	k->bound[k->n++].action = (uint16_t)a;
}

static void bind_default(struct keymap *k, enum action a)
{
	const char *at = action_info[a].keys;

	while (*at) {
		size_t n = strcspn(at, " ");
		struct key key;

		CHECK(key_parse(at, n, &key, NULL) == 0);
		bind_key(k, key, a);
		at += n;
		at += strspn(at, " ");
	}
}

void keymap_defaults(struct keymap *k)
{
	k->n = 0;
	for (int a = 1; a < DO_COUNT; a++)
		bind_default(k, (enum action)a);
}

/* One reading of a settings file. */
struct applying {
	struct keymap *map;
	const struct config *file;
	keymap_problem_fn *problem;
	void *ctx;
	size_t problems;
};

static void tell_problem(struct applying *ap, const struct err *e)
{
	ap->problems++;
	if (ap->problem)
		ap->problem(ap->ctx, e);
}

/* The bound action that owns `key` in one of the contexts of `a`; DO_NONE: it is free. */
static enum action find_clash(
	const struct keymap *k, struct key key, enum action a, uint32_t *where)
{
	for (size_t i = 0; i < k->n; i++) {
		uint32_t both = action_info[k->bound[i].action].where & action_info[a].where;

		if (both && k->bound[i].action != a && key_same(k->bound[i].key, key)) {
			*where = both;
			return (enum action)k->bound[i].action;
		}
	}
	return DO_NONE;
}

static void bind_checked(
	struct applying *ap, enum action a, const struct node *at, const char *text, size_t n)
{
	struct err e = ERR_INIT, placed = ERR_INIT;
	struct key key;
	uint32_t where;
	enum action other;

	if (key_parse(text, n, &key, &e) < 0) {
		node_err(ap->file, at, &placed, "%s", e.msg);
		tell_problem(ap, &placed);
		return;
	}
	if (action_info[a].flags & ACTION_DESTRUCTIVE && key.mods == 0 && key.code >= 'a' &&
		key.code <= 'z') {
		node_err(ap->file, at, &placed,
			"`%s` cannot be undone and is never bound to a bare lower-case letter: "
			"`%c` is left out",
			action_info[a].name, (int)key.code);
		tell_problem(ap, &placed);
		return;
	}
	other = find_clash(ap->map, key, a, &where);
	if (other) {
		node_err(ap->file, at, &placed,
			"key `%.*s` is bound to both `%s` and `%s` in view %s; it stays with `%s`",
			(int)n, text, action_info[other].name, action_info[a].name,
			context_name(where), action_info[other].name);
		tell_problem(ap, &placed);
		return;
	}
	if (ap->map->n < KEYMAP_MAX)
		bind_key(ap->map, key, a);
}

static void bind_words(struct applying *ap, enum action a, const struct node *at)
{
	const char *text = at->value;

	if (at->kind != NODE_SCALAR) {
		struct err e = ERR_INIT;

		node_err(ap->file, at, &e, "keys are text, as in `%s: \"%s\"`", action_info[a].name,
			action_info[a].keys);
		tell_problem(ap, &e);
		return;
	}
	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t n = strcspn(text, " ");

		bind_checked(ap, a, at, text, n);
		text += n;
	}
}

static void unknown_action(struct applying *ap, const struct node *n)
{
	const char *list[DO_COUNT];
	struct err e = ERR_INIT;
	struct node at = *n;
	const char *near;

	for (int a = 1; a < DO_COUNT; a++)
		list[a - 1] = action_info[a].name;
	list[DO_COUNT - 1] = NULL;
	near = nearest_word(n->key, list);
	at.line = n->key_line;
	at.column = n->key_column;
	node_err(ap->file, &at, &e, "unknown action `%s`%s%s%s", n->key,
		near ? " (did you mean `" : "", near ? near : "", near ? "`?)" : "");
	tell_problem(ap, &e);
}

size_t keymap_apply(struct keymap *k, const struct config *c, const struct node *keys,
	keymap_problem_fn *problem, void *ctx)
{
	struct applying ap = {.map = k, .file = c, .problem = problem, .ctx = ctx};
	bool given[DO_COUNT] = {false};

	if (!keys)
		return 0;
	if (keys->kind != NODE_MAP) {
		struct err e = ERR_INIT;

		node_err(c, keys, &e, "`keys` is a map of actions to keys, as in `remove: D`");
		tell_problem(&ap, &e);
		return ap.problems;
	}
	/* The file's bindings replace an action's defaults, and win over nobody else's. */
	for (size_t i = 0; i < keys->n; i++)
		given[action_by_name(keys->child[i]->key)] = true;
	k->n = 0;
	for (int a = 1; a < DO_COUNT; a++)
		if (!given[a])
			bind_default(k, (enum action)a);
	for (size_t i = 0; i < keys->n; i++) {
		const struct node *n = keys->child[i];
		enum action a = action_by_name(n->key);

		if (a == DO_NONE)
			unknown_action(&ap, n);
		else if (n->kind == NODE_LIST)
			for (size_t j = 0; j < n->n; j++)
				bind_words(&ap, a, n->child[j]);
		else
			bind_words(&ap, a, n);
	}
	return ap.problems;
}

enum action keymap_find(const struct keymap *k, struct key key, uint32_t context)
{
	for (size_t i = 0; i < k->n; i++)
		if (key_same(k->bound[i].key, key) &&
			action_info[k->bound[i].action].where & context)
			return (enum action)k->bound[i].action;
	return DO_NONE;
}

char *keymap_first(const struct keymap *k, enum action a, char buf[KEY_TEXT_MAX])
{
	buf[0] = '\0';
	for (size_t i = 0; i < k->n; i++)
		if (k->bound[i].action == a)
			return key_format(buf, k->bound[i].key);
	return buf;
}

char *keymap_all(const struct keymap *k, enum action a, char *buf, size_t cap)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < k->n && used < cap; i++) {
		char text[KEY_TEXT_MAX];

		if (k->bound[i].action == a)
			used += (size_t)snprintf(buf + used, cap - used, "%s%s", used ? " " : "",
				key_format(text, k->bound[i].key));
	}
	return buf;
}
