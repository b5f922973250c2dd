/* when.c - parses dates, times and durations. */
#include <berth/when.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <berth/mem.h>
#include <berth/text.h>

#define NS_PER_S INT64_C(1000000000)
#define NOT_A_TIME (-1)
#define NO_SUCH_DAY (-2)

struct moment {
	int year, month, day, hour, minute, second; /* year 0, month 0: not written */
	int64_t fraction, east_s;                   /* of a second, in 1e-18 */
	bool zone;
};

/* Exactly so many digits, up to `most`. */
static bool take_when_digits(const char **at, int digits, int most, int *ret)
{
	*ret = 0;
	for (int i = 0; i < digits; i++, (*at)++) {
		if (**at < '0' || **at > '9')
			return false;
		*ret = *ret * 10 + (**at - '0');
	}
	return *ret <= most;
}

/* ".123" in 1e-18, or 0; what is finer is dropped.  How many digits there are. */
static size_t take_fraction(const char **at, int64_t *ret)
{
	int64_t unit = NS_PER_S * NS_PER_S / 10;
	const char *start = *at + 1;

	*ret = 0;
	if (**at != '.')
		return 0;
	for (*at = start; **at >= '0' && **at <= '9'; (*at)++, unit /= 10)
		*ret += unit * (**at - '0');
	return (size_t)(*at - start);
}

static int64_t whole_ns(int64_t s, int64_t fraction)
{
	int64_t ns;

	return __builtin_mul_overflow(s, NS_PER_S, &ns) ||
			__builtin_add_overflow(ns, fraction / NS_PER_S, &ns)
		? INT64_MAX
		: ns;
}

static bool take_date(const char **at, struct moment *m)
{
	const char *from = *at;

	if (take_when_digits(at, 4, 9999, &m->year) && **at == '-')
		(*at)++;
	else
		*at = from, m->year = 0;
	return take_when_digits(at, 2, 12, &m->month) && m->month && *(*at)++ == '-' &&
		take_when_digits(at, 2, 31, &m->day) && m->day;
}

static bool take_clock(const char **at, struct moment *m)
{
	if (!take_when_digits(at, 2, 23, &m->hour) || *(*at)++ != ':' ||
		!take_when_digits(at, 2, 59, &m->minute))
		return false;
	if (**at != ':')
		return true;
	(*at)++;
	return take_when_digits(at, 2, 59, &m->second) &&
		(**at != '.' || take_fraction(at, &m->fraction));
}

/* Only behind a whole date: what is printed without a year is local. */
static bool take_zone(const char **at, struct moment *m)
{
	int hours, minutes, sign = **at == '-' ? -1 : 1;

	if (!**at)
		return true;
	m->zone = true;
	if (**at == 'Z' || **at == 'z') {
		(*at)++;
		return m->year;
	}
	if (!m->year || (**at != '+' && **at != '-'))
		return false;
	(*at)++;
	if (!take_when_digits(at, 2, 23, &hours) || *(*at)++ != ':' ||
		!take_when_digits(at, 2, 59, &minutes))
		return false;
	m->east_s = sign * (hours * 3600 + minutes * 60);
	return true;
}

static bool day_exists(const struct moment *m)
{
	struct tm tm = {.tm_year = m->year - 1900, .tm_mon = m->month - 1, .tm_mday = m->day};

	timegm(&tm);
	return tm.tm_mon == m->month - 1 && tm.tm_mday == m->day;
}

static int64_t moment_ns(const struct moment *m)
{
	struct tm tm = {.tm_year = m->year - 1900,
		.tm_mon = m->month - 1,
		.tm_mday = m->day,
		.tm_hour = m->hour,
		.tm_min = m->minute,
		.tm_sec = m->second,
		.tm_isdst = -1};
	int64_t s = m->zone ? (int64_t)timegm(&tm) - m->east_s : (int64_t)mktime(&tm);

	return s < 0 ? 0 : whole_ns(s, m->fraction);
}

/* Without a year, or a day: the last one that has passed. */
static int64_t last_passed(struct moment *m, int64_t now_ns)
{
	time_t now = (time_t)(now_ns / NS_PER_S), yesterday = now - 86400;
	bool clock_only = !m->month;
	struct tm tm = {0};

	localtime_r(&now, &tm);
	for (int back = 0; back < 9; back++) { /* 29 February: eight years, around 2100 */
		if (clock_only) {
			if (back)
				localtime_r(&yesterday, &tm);
			m->month = tm.tm_mon + 1;
			m->day = tm.tm_mday;
		}
		m->year = tm.tm_year + 1900 - (clock_only ? 0 : back);
		if (day_exists(m) && (moment_ns(m) <= now_ns || (clock_only && back)))
			return moment_ns(m);
	}
	return NO_SUCH_DAY;
}

static int64_t parse_moment(const char *text, int64_t now_ns)
{
	struct moment m = {0};
	const char *at = text;

	if (text[0] && text[1] && text[2] == ':') {
		if (!take_clock(&at, &m) || *at)
			return NOT_A_TIME;
		return last_passed(&m, now_ns);
	}
	if (!take_date(&at, &m))
		return NOT_A_TIME;
	if (*at == 'T' || *at == 't' || *at == ' ') {
		at++;
		if (!take_clock(&at, &m))
			return NOT_A_TIME;
	} else if (!m.year) {
		return NOT_A_TIME; /* 11-20 may be anything */
	}
	if (!take_zone(&at, &m) || *at)
		return NOT_A_TIME;
	if (!m.year)
		return last_passed(&m, now_ns);
	return day_exists(&m) ? moment_ns(&m) : NO_SUCH_DAY;
}

/* Digits; false: more than fit. */
static bool take_whole(const char **at, int64_t *ret)
{
	for (*ret = 0; **at >= '0' && **at <= '9'; (*at)++) {
		if (*ret > INT64_MAX / 10 - 1)
			return false;
		*ret = *ret * 10 + (**at - '0');
	}
	return true;
}

static int64_t take_unit(const char **at)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"\u00b5s", 1000}, {"\u03bcs", 1000}, {"ms", 1000000},
		{"s", NS_PER_S}, {"m", 60 * NS_PER_S}, {"h", 3600 * NS_PER_S},
		{"d", 86400 * NS_PER_S}};

	for (size_t i = 0; i < COUNT(units); i++)
		if (!strncmp(*at, units[i].name, strlen(units[i].name))) {
			*at += strlen(units[i].name);
			return units[i].ns;
		}
	return 0;
}

/* "1h30m": so long ago.  As in Go, ".5h" and "1.h" are amounts, too. */
static int64_t parse_ago(const char *text, int64_t now_ns)
{
	__extension__ typedef __int128 wide;
	int64_t ago = 0, whole, fraction, unit, one;
	const char *at = text, *from;

	do {
		from = at;
		if (!take_whole(&at, &whole) ||
			(!take_fraction(&at, &fraction) && (from == at || *from == '.')) ||
			!(unit = take_unit(&at)))
			return NOT_A_TIME;
		/* unit * fraction takes 107 bits, and doubles lose the ninth digit of hours. */
		if (__builtin_mul_overflow(whole, unit, &one) ||
			__builtin_add_overflow(one,
				(int64_t)((wide)unit * fraction / (NS_PER_S * NS_PER_S)), &one) ||
			__builtin_add_overflow(ago, one, &ago))
			ago = INT64_MAX;
	} while (*at);
	return ago < now_ns ? now_ns - ago : 0;
}

static int64_t parse_epoch(const char *text)
{
	int64_t seconds, fraction;
	const char *at = text;

	if (*at < '0' || *at > '9' || !take_whole(&at, &seconds) ||
		(!take_fraction(&at, &fraction) && at[-1] == '.') || *at)
		return NOT_A_TIME;
	return whole_ns(seconds, fraction);
}

int64_t when_ns(const char *text, int64_t now_ms, struct err *e)
{
	int64_t now_ns = now_ms * 1000000, ns = parse_epoch(text);
	char shown[64];

	if (ns == NOT_A_TIME)
		ns = parse_ago(text, now_ns);
	if (ns == NOT_A_TIME)
		ns = parse_moment(text, now_ns);
	if (ns == NO_SUCH_DAY)
		return err_set(e, ERR_USAGE, "\"%s\" is not a valid time: that day does not exist.",
			text_clean(shown, sizeof shown, text));
	if (ns == NOT_A_TIME)
		return err_set(e, ERR_USAGE,
			"\"%s\" is not a valid time: write 2026-11-20, 2026-11-20T21:45:02 (local; of "
			"another zone with Z or +02:00), seconds since 1970, or 90s, 1h30m, 2d for that "
			"long ago.",
			text_clean(shown, sizeof shown, text));
	return ns > 0 ? ns : 1;
}

int64_t when_ms(const char *text, int64_t now_ms, struct err *e)
{
	int64_t ns = when_ns(text, now_ms, e);

	return ns < 0 ? -1 : ns < 1000000 ? 1 : ns / 1000000;
}
