/*
 * pattern.h - a search pattern that was typed, compiled to a regular expression.
 *
 * Of berth's one dialect (berth/regex.h); small letters match capitals too until the pattern has a capital of its own
 * (as in less); a leading ! inverts.  A pattern without special characters is searched as plain
 * bytes, which is what most are and what a scan of megabytes needs.
 *
 * Thread: main.
 */
#ifndef TUI_VIEWS_PATTERN_H
#define TUI_VIEWS_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include <berth/err.h>

#define PATTERN_MAX 256

struct pattern {
	bool set, inverse, literal, fold;
	char text[PATTERN_MAX]; /* without the ! */
	size_t len;
	struct regex *regex; /* NULL: literal */
};

/* Zero it first, or pass one that was compiled before.  An empty text unsets it.  ERR_USAGE names
 * what is wrong with the expression; the pattern then stays as it was. */
int pattern_compile(struct pattern *p, const char *text, struct err *e);
void pattern_release(struct pattern *p);

/* The next hit in s[from..n): *start and *end in bytes.  Never an empty hit. */
bool pattern_next(
	const struct pattern *p, const char *s, size_t n, size_t from, size_t *start, size_t *end);

/* Is this text one of those asked for?  An unset pattern asks for all. */
bool pattern_match(const struct pattern *p, const char *s, size_t n);

#endif
