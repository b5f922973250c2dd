/*
 * err.h - errors as values.
 *
 * Every function that can fail takes `struct err *e` last, returns 0 / -1 (or a pointer / NULL) and
 * leaves *e untouched on success.  `e` may be NULL when the caller does not care.  The message is a
 * finished sentence for the person at the screen: what failed, on what, and what to do about it.
 *
 * Thread: any; an err is plain data and may be copied.
 */
#ifndef BERTH_ERR_H
#define BERTH_ERR_H

#include <stdarg.h>

#define ERR_MSG_MAX 512

enum err_kind {
	ERR_NONE,
	ERR_FAILED,      /* it was tried and did not work                      exit 1 */
	ERR_SYS,         /* a system call failed; .sys holds errno             exit 1 */
	ERR_USAGE,       /* wrong arguments                                    exit 2 */
	ERR_CONFIG,      /* wrong configuration: file:line:column in the text  exit 2 */
	ERR_UNREACHABLE, /* no engine answered                                 exit 3 */
	ERR_REFUSED,     /* policy said no                                     exit 4 */
	ERR_NOT_FOUND,   /* the thing named does not exist                     exit 1 */
	ERR_CONFLICT,    /* it exists already, or changed since it was read    exit 1 */
	ERR_TIMEOUT,     /*                                                    exit 1 */
	ERR_CANCELLED,   /* cancelled on request                               exit 1 */
	ERR_PROTOCOL,    /* the other side sent something we do not accept     exit 1 */
};

struct err {
	enum err_kind kind;
	int sys; /* errno, or the HTTP status where an engine refused; 0 when neither applies */
	char msg[ERR_MSG_MAX]; /* always terminated, clipped with "..." when too long */
};

#define ERR_INIT                \
	{                       \
		ERR_NONE, 0, "" \
	}

/* Fill *e.  Always returns -1, so that `return err_set(e, ...)` is one line. */
int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As err_set with ERR_SYS; appends ": " and the text of `errnum`. */
int err_sys(struct err *e, int errnum, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Put "text: " before the message that *e already holds; kind and sys stay. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Copy *from into *to (to may be NULL).  Always returns -1. */
int err_copy(struct err *to, const struct err *from);

/* The process exit code that the command line's contract gives this kind. */
int err_exit_code(const struct err *e);

/* A pointer that a function can return together with err_set: `return err_null(err_set(...))`. */
static inline void *err_null(int minus_one)
{
	(void)minus_one;
	return (void *)0;
}

/* The static analyser sees one file at a time; this declares that these always return -1. */
#if defined(__clang_analyzer__) && !defined(ERR_IMPLEMENTATION)
#define err_set(...) ((void)(err_set)(__VA_ARGS__), -1)
#define err_sys(...) ((void)(err_sys)(__VA_ARGS__), -1)
#define err_wrap(...) ((void)(err_wrap)(__VA_ARGS__), -1)
#define err_copy(...) ((void)(err_copy)(__VA_ARGS__), -1)
#endif

#endif
