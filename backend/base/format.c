/* format.c - formats numbers for people. */
#include <berth/format.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

char *format_bytes(char *buf, uint64_t bytes)
{
	static const char unit[] = "BKMGTPE";
	double v = (double)bytes;
	int u = 0;

	/* 999.5 would print as "1000": move up one unit before that. */
	while (v >= 999.5 && u < 6) {
		v /= 1024;
		u++;
	}
	if (u == 0)
		snprintf(buf, FORMAT_MAX, "%u", (unsigned)bytes);
	else if (v < 9.95)
		snprintf(buf, FORMAT_MAX, "%.1f%c", v, unit[u]);
	else
		snprintf(buf, FORMAT_MAX, "%.0f%c", v, unit[u]);
	return buf;
}

char *format_count(char *buf, uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), at = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = '\0';
	return buf;
}

char *format_counted(char *buf, uint64_t n, const char *one, const char *many)
{
	char digits[FORMAT_MAX];

	snprintf(buf, FORMAT_COUNTED_MAX, "%s %s", format_count(digits, n), n == 1 ? one : many);
	return buf;
}

char *format_percent(char *buf, double percent)
{
	if (!(percent >= 0))
		percent = 0;
	if (percent > 9999999)
		percent = 9999999;
	snprintf(buf, FORMAT_MAX, percent < 999.95 ? "%.1f" : "%.0f", percent);
	return buf;
}

char *format_span(char *buf, int64_t s)
{
	if (s < 0)
		s = 0;
	if (s < 60)
		snprintf(buf, FORMAT_MAX, "%ds", (int)s);
	else if (s < 3600)
		snprintf(buf, FORMAT_MAX, "%dm%02ds", (int)(s / 60), (int)(s % 60));
	else if (s < 86400)
		snprintf(buf, FORMAT_MAX, "%dh%02dm", (int)(s / 3600), (int)(s / 60 % 60));
	else
		snprintf(buf, FORMAT_MAX, "%lldd%02dh", (long long)(s / 86400),
			(int)(s / 3600 % 24));
	return buf;
}

char *format_age(char *buf, int64_t ms)
{
	if (ms < 0)
		ms = 0;
	if (ms < 9950)
		snprintf(buf, FORMAT_MAX, "%.1f s", (double)ms / 1000);
	else if (ms < 120000)
		snprintf(buf, FORMAT_MAX, "%d s", (int)(ms / 1000));
	else if (ms < 7200000)
		snprintf(buf, FORMAT_MAX, "%d m", (int)(ms / 60000));
	else if (ms < 172800000)
		snprintf(buf, FORMAT_MAX, "%d h", (int)(ms / 3600000));
	else
		snprintf(buf, FORMAT_MAX, "%lld d", (long long)(ms / 86400000));
	return buf;
}

char *format_wall(char *buf, int64_t wall_ms)
{
	time_t t = (time_t)(wall_ms / 1000);
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(buf, FORMAT_MAX, "%H:%M:%S", &tm))
		strcpy(buf, "--:--:--");
	return buf;
}

char *format_stamp(char *buf, int64_t wall_ms)
{
	time_t t = (time_t)(wall_ms / 1000);
	struct tm tm;
	size_t n;

	if (!gmtime_r(&t, &tm) || !(n = strftime(buf, FORMAT_MAX, "%Y-%m-%dT%H:%M:%S", &tm)))
		return strcpy(buf, "?");
	snprintf(buf + n, FORMAT_MAX - n, ".%03dZ", (int)(wall_ms % 1000));
	return buf;
}
