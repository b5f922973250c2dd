/*
 * text.h - making untrusted text safe to display.
 *
 * Names, labels, logs and engine messages are hostile: escape sequences, C1 controls, bidi
 * overrides (Unicode TR 36 and "Trojan Source", CVE-2021-42574), invalid UTF-8.  Nothing of that
 * may reach a terminal.  Widths follow glibc's C.UTF-8 tables whatever the user's locale is.
 *
 * Thread: any, after text_init() ran once at start.
 */
#ifndef BERTH_TEXT_H
#define BERTH_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "str.h"

void text_init(void);

#define TEXT_BAD 0xFFFD /* what an undecodable byte or a forbidden character becomes */

/* Decode one code point of s[0..n), n >= 1.  Returns bytes used (>= 1); *cp is TEXT_BAD for a byte
 * that is not valid UTF-8 (overlong forms and surrogates included). */
size_t utf8_next(const char *s, size_t n, uint32_t *cp);
bool utf8_valid(const char *s, size_t n);
/* How many bytes from here on JSON takes as they are and a terminal shows: nearly all of most texts. */
size_t text_plain_span(const char *s, size_t n);
size_t utf8_put(uint32_t cp, char out[4]);  /* returns bytes written */
size_t utf8_whole(const char *s, size_t n); /* n, less the beginning of a character at the end */

/* Columns of one code point: 0 combining, 1, 2 wide; -1 must not be shown (control, bidi, ...). */
int text_cp_width(uint32_t cp);

/* Columns that `s` takes after neutralising. */
int text_width(const char *s, size_t n);

/* As strcmp, but runs of digits by their number: "web-2" comes before "web-10". */
int text_natural(const char *a, const char *b);

/* Append a neutralised copy: one line, valid UTF-8, no control, no bidi.  TAB becomes a space,
 * other controls ^X, C1 and forbidden ones U+FFFD.  With `ascii` every non-ASCII character becomes
 * '?'. */
void text_neutralise(struct str *out, const char *s, size_t n, bool ascii);

/* Append a name so that it stays in its line, looks like no other and can be given back: as it is, or where it holds a
 * control character, a double quote, a backslash or what may not be shown, as git does: in double quotes, with C's
 * escapes. */
void text_quote_name(struct str *out, const char *s, size_t n);

/* As text_neutralise, into a fixed buffer; returns buf.  Clipped on a character, always terminated. */
char *text_clean(char *buf, size_t cap, const char *s);

/* 1 to `max` of A-Z a-z 0-9 . _ - and no dot in front: a name that may become that of a file. */
bool text_is_plain_name(const char *s, size_t max);

/* Does this name look like a secret (PASSWORD, TOKEN, KEY, SECRET, CREDENTIAL ...)? */
bool text_looks_secret(const char *env_name);

/* Decodes \040 and its like, as in /proc/self/mountinfo (proc(5)), in place. */
void text_undo_octal(char *s);

#endif
