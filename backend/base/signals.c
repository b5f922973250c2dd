/* signals.c - converts between signal numbers and names. */
#include <berth/signals.h>

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Those of Linux, whatever the C library keeps of them for itself. */
#define REAL_TIME_FIRST 34
#define REAL_TIME_LAST 64

static int plain_number(const char *s)
{
	size_t n = strspn(s, "0123456789");

	return n && n <= 2 && !s[n] ? atoi(s) : -1;
}

int signal_number(const char *text, struct err *e)
{
	const char *s = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text, *known;
	int n = plain_number(s), more;

	if (n > 0 && n <= REAL_TIME_LAST)
		return n;
	for (n = 1; n < REAL_TIME_FIRST; n++)
		if ((known = sigabbrev_np(n)) && strcasecmp(s, known) == 0)
			return n;
	if (strcasecmp(s, "RTMIN") == 0)
		return REAL_TIME_FIRST;
	more = strncasecmp(s, "RTMIN+", 6) == 0 ? plain_number(s + 6) : -1;
	if (more >= 0 && REAL_TIME_FIRST + more <= REAL_TIME_LAST)
		return REAL_TIME_FIRST + more;
	return err_set(
		e, ERR_USAGE, "unknown signal \"%.40s\": use TERM, INT, HUP, USR1, KILL ...", text);
}

char *signal_name(int number, char buf[SIGNAL_NAME_MAX])
{
	const char *known = number > 0 && number < REAL_TIME_FIRST ? sigabbrev_np(number) : NULL;

	if (known)
		snprintf(buf, SIGNAL_NAME_MAX, "SIG%s", known);
	else if (number >= REAL_TIME_FIRST)
		snprintf(buf, SIGNAL_NAME_MAX, "SIGRTMIN+%d", number - REAL_TIME_FIRST);
	else
		snprintf(buf, SIGNAL_NAME_MAX, "%d", number);
	return buf;
}
