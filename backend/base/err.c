/* err.c - fills in errors and maps them to exit codes. */
#define ERR_IMPLEMENTATION
#include <berth/err.h>

#include <stdio.h>
#include <string.h>

static void put_message(struct err *e, const char *fmt, va_list ap)
{
	int n = vsnprintf(e->msg, sizeof e->msg, fmt, ap);

	if (n >= (int)sizeof e->msg)
		memcpy(e->msg + sizeof e->msg - 4, "...", 4);
}

int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return -1;
	e->kind = kind;
	e->sys = 0;
	va_start(ap, fmt);
	put_message(e, fmt, ap);
	va_end(ap);
	return -1;
}

int err_sys(struct err *e, int errnum, const char *fmt, ...)
{
	const char *known = strerrordesc_np(errnum);
	va_list ap;
	size_t len;

	if (!e)
		return -1;
	e->kind = ERR_SYS;
	e->sys = errnum;
	va_start(ap, fmt);
	put_message(e, fmt, ap);
	va_end(ap);
	len = strlen(e->msg);
	if (len < sizeof e->msg - 1)
		snprintf(
			e->msg + len, sizeof e->msg - len, ": %s", known ? known : "unknown error");
	return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char old[ERR_MSG_MAX];
	va_list ap;
	size_t len;

	if (!e)
		return -1;
	memcpy(old, e->msg, sizeof old);
	va_start(ap, fmt);
	put_message(e, fmt, ap);
	va_end(ap);
	len = strlen(e->msg);
	if (len < sizeof e->msg - 1)
		snprintf(e->msg + len, sizeof e->msg - len, ": %s", old);
	return -1;
}

int err_copy(struct err *to, const struct err *from)
{
	if (to)
		*to = *from;
	return -1;
}

int err_exit_code(const struct err *e)
{
	switch (e->kind) {
	case ERR_NONE: return 0;
	case ERR_USAGE:
	case ERR_CONFIG: return 2;
	case ERR_UNREACHABLE: return 3;
	case ERR_REFUSED: return 4;
	default: return 1;
	}
}
