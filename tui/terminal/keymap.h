/*
 * keymap.h - key bindings per view.
 *
 * Keys are written as people write them: "a", "D", "?", "é", "C-s" (Ctrl), "M-x" (Alt), "S-Tab",
 * "F1".."F12", "Enter", "Esc", "Tab", "Space", "Backspace", "Del", "Ins", "Up", "Down", "Left",
 * "Right", "Home", "End", "PgUp", "PgDn".
 *
 * berth.yaml re-binds by action, in every view where the action exists:
 *     keys:
 *       remove: D          # one key, several ("D Del"), a list, or "" for none
 * A binding that clashes with another in some view is reported with its place and only that key is
 * left out.
 *
 * Thread: main.
 */
#ifndef TERMINAL_KEYMAP_H
#define TERMINAL_KEYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/config.h>
#include <berth/err.h>

#include "terminal/action.h"

enum { MOD_CTRL = 1, MOD_ALT = 2, MOD_SHIFT = 4 };

/* Named keys lie above Unicode. */
enum named_key {
	KEYS_NAMED = 0x110000,
	NAMED_ENTER,
	NAMED_ESC,
	NAMED_TAB,
	NAMED_BACKSPACE,
	NAMED_DELETE,
	NAMED_INSERT,
	NAMED_UP,
	NAMED_DOWN,
	NAMED_LEFT,
	NAMED_RIGHT,
	NAMED_HOME,
	NAMED_END,
	NAMED_PAGE_UP,
	NAMED_PAGE_DOWN,
	NAMED_F1,
	NAMED_F12 = NAMED_F1 + 11,
	NAMED_END_OF_LIST,
};

struct key {
	uint32_t code; /* a Unicode character or a named_key; 0: none */
	uint8_t mods;
};

#define KEY_TEXT_MAX 24
int key_parse(const char *text, size_t n, struct key *ret, struct err *e);
char *key_format(char buf[KEY_TEXT_MAX], struct key k); /* "C-s" */
static inline bool key_same(struct key a, struct key b)
{
	return a.code == b.code && a.mods == b.mods;
}
/* The character this key types into a prompt; 0: none. */
uint32_t key_char(struct key k);

#define KEYMAP_MAX 320
struct keymap {
	size_t n;
	struct {
		struct key key;
		uint16_t action;
	} bound[KEYMAP_MAX];
};

void keymap_defaults(struct keymap *k);

/* Apply the map `keys` of a settings file (NULL: nothing).  Every problem is handed to `problem`
 * and leaves out only what it is about; returns how many there were. */
typedef void keymap_problem_fn(void *ctx, const struct err *e);
size_t keymap_apply(struct keymap *k, const struct config *c, const struct node *keys,
	keymap_problem_fn *problem, void *ctx);

enum action keymap_find(const struct keymap *k, struct key key, uint32_t context);
/* The first key of an action as text; "" when it has none. */
char *keymap_first(const struct keymap *k, enum action a, char buf[KEY_TEXT_MAX]);
/* All keys of an action, separated by spaces. */
char *keymap_all(const struct keymap *k, enum action a, char *buf, size_t cap);

#endif
