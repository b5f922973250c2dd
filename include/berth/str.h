/*
 * str.h - a growable byte string, always NUL-terminated.
 *
 * STR_INIT or str_init, then any add, then str_release.  .s is never NULL (an empty str points at a
 * static NUL); .len excludes the NUL.  Bytes may contain NUL.  Thread: one owner at a time.
 */
#ifndef BERTH_STR_H
#define BERTH_STR_H

#include <stdarg.h>
#include <stddef.h>

struct str {
	char *s;
	size_t len;
	size_t cap; /* 0: s is the static empty string */
};

extern char str_empty[1];
#define STR_INIT                \
	{                       \
		str_empty, 0, 0 \
	}

void str_init(struct str *s);
void str_release(struct str *s); /* frees and leaves it initialised; NULL is fine */
void str_clear(struct str *s);   /* length 0, memory kept */
void str_reserve(struct str *s, size_t more);
void str_add(struct str *s, const void *bytes, size_t n);
void str_adds(struct str *s, const char *text);
void str_addc(struct str *s, char c);
void str_addf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_addv(struct str *s, const char *fmt, va_list ap);
void str_add_base64(struct str *s, const void *bytes, size_t n); /* padded */
void str_add_json(struct str *s, const char *text); /* as a JSON string, its bytes as they are */
void str_remove_front(struct str *s, size_t n);
char *str_detach(struct str *s); /* caller owns the malloc'ed text; s is empty again */
void str_cleanup(struct str *s);
#define AUTO_STR __attribute__((cleanup(str_cleanup)))

#endif
