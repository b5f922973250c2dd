/* stamp.c - parses RFC 3339 time stamps. */
#include "engine/split.h"

#include <limits.h>

static bool parse_digits(const char *s, size_t n, size_t at, size_t count, int *ret)
{
	int v = 0;

	if (at + count > n)
		return false;
	for (size_t i = at; i < at + count; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		v = v * 10 + (s[i] - '0');
	}
	*ret = v;
	return true;
}

/* Days from 1970-01-01 in the proleptic Gregorian calendar; months counted from March, so that the
 * leap day is the year's last. */
static int64_t days_from_civil(int year, int month, int day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t m = month <= 2 ? month + 9 : month - 3;

	return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

static size_t parse_fraction(const char *s, size_t n, size_t at, int64_t *ns)
{
	int64_t unit = 100000000;
	size_t i = at + 1;

	*ns = 0;
	if (at >= n || s[at] != '.')
		return at;
	for (; i < n && s[i] >= '0' && s[i] <= '9'; i++) {
		*ns += unit * (s[i] - '0');
		unit /= 10;
	}
	return i == at + 1 ? 0 : i;
}

static size_t parse_offset(const char *s, size_t n, size_t at, int64_t *seconds)
{
	int hour, minute;

	*seconds = 0;
	if (at < n && (s[at] == 'Z' || s[at] == 'z'))
		return at + 1;
	if (at >= n || (s[at] != '+' && s[at] != '-'))
		return 0;
	if (!parse_digits(s, n, at + 1, 2, &hour) || !parse_digits(s, n, at + 4, 2, &minute) ||
		s[at + 3] != ':' || hour > 23 || minute > 59)
		return 0;
	*seconds = (s[at] == '-' ? -60 : 60) * (hour * 60 + minute);
	return at + 6;
}

size_t stamp_parse(const char *s, size_t n, int64_t *ret_ns)
{
	int year, month, day, hour, minute, second;
	int64_t ns, east, unix_s;
	size_t at;

	if (n < 20 || s[4] != '-' || s[7] != '-' || (s[10] != 'T' && s[10] != 't') ||
		s[13] != ':' || s[16] != ':')
		return 0;
	if (!parse_digits(s, n, 0, 4, &year) || !parse_digits(s, n, 5, 2, &month) ||
		!parse_digits(s, n, 8, 2, &day) || !parse_digits(s, n, 11, 2, &hour) ||
		!parse_digits(s, n, 14, 2, &minute) || !parse_digits(s, n, 17, 2, &second))
		return 0;
	if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 ||
		second > 60)
		return 0;
	at = parse_fraction(s, n, 19, &ns);
	if (!at)
		return 0;
	at = parse_offset(s, n, at, &east);
	if (!at)
		return 0;
	unix_s = days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second -
		east;
	if (unix_s < 0)
		*ret_ns = 0;
	else if (unix_s >= INT64_MAX / 1000000000)
		*ret_ns = INT64_MAX;
	else
		*ret_ns = unix_s * 1000000000 + ns;
	return at;
}
