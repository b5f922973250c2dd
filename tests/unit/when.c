/* when.c - moments as people write them: what they are, compared with GNU date's answers, and what is refused. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/when.h>

#define S INT64_C(1000000000)
#define NOW_S INT64_C(1795207502) /* 2026-11-20T20:45:02Z, 21:45:02 in this test's zone */
#define NOW_MS (NOW_S * 1000)

static int use_zone(void **state)
{
	(void)state;
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	return 0;
}

static void test_meaning(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} of[] = {
		{"2026-11-20T20:45:02Z", NOW_S * S},
		{"2026-11-20t20:45:02.123z", NOW_S * S + 123000000},
		{"2026-11-20T20:45:02.123456789Z", NOW_S * S + 123456789},
		{"2026-11-20T20:45:02.1234567891Z", NOW_S * S + 123456789},
		{"2026-11-20T22:45:02+02:00", NOW_S * S},
		{"2026-11-20T15:15:02.5-05:30", NOW_S * S + S / 2},
		{"2026-11-20 20:45:02Z", NOW_S * S},
		{"2026-11-20T20:45Z", (NOW_S - 2) * S},
		{"2026-11-20T21:45", (NOW_S - 2) * S},
		{"2026-11-20 21:45:02", NOW_S * S},
		{"2026-11-20", INT64_C(1795129200) * S},
		{"2026-11-20Z", INT64_C(1795132800) * S},
		{"2026-07-20T12:00:00", INT64_C(1784541600) * S}, /* summer time */
		{"2028-02-29", INT64_C(1835391600) * S},
		{"2000-02-29T00:00:00Z", INT64_C(951782400) * S},
		{"11-20 21:45:02", NOW_S * S},
		{"11-20T21:45:03", (NOW_S + 1 - 365 * 86400) * S}, /* has not come this year */
		{"02-29 13:00:00", INT64_C(1709208000) * S},       /* 2024 */
		{"21:45:02", NOW_S * S},
		{"21:45", (NOW_S - 2) * S},
		{"21:45:03", (NOW_S + 1 - 86400) * S},
		{"1795207502", NOW_S * S},
		{"1795207502.000000001", NOW_S * S + 1},
		{"0", 1},
		{"2026", 2026 * S},
		{"1960-01-01", 1},
		{"9999-12-31", INT64_MAX},
		{"0s", NOW_S * S},
		{"90s", (NOW_S - 90) * S},
		{"10m", (NOW_S - 600) * S},
		{"1h30m", (NOW_S - 5400) * S},
		{"1.5h", (NOW_S - 5400) * S},
		{"2d04h", (NOW_S - 52 * 3600) * S},
		{"3d", (NOW_S - 3 * 86400) * S},
		{"300ms", NOW_S * S - 300000000},
		{".5h", (NOW_S - 1800) * S},
		{"1.h", (NOW_S - 3600) * S},
		{"0.0000000001h", NOW_S * S - 360},
		{"1.123456789123456789h", NOW_S * S - INT64_C(4044444440844)},
		{"0.999999999999999999d", NOW_S * S - INT64_C(86399999999999)},
		{"9223372036.854775807", INT64_MAX},
		{"9223372036.5", INT64_C(9223372036500000000)},
		{"2262-04-11T23:47:16.854775808Z", INT64_MAX},
		{"1s5us", NOW_S * S - S - 5000},
		{"1\u00b5s1ns", NOW_S * S - 1001},
		{"99999999999d", 1},
		{"99999999999999h99999999999999h", 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(of); i++) {
		struct err e = ERR_INIT;
		int64_t ns = when_ns(of[i].text, NOW_MS, &e);

		if (ns != of[i].ns)
			fail_msg("%s: %" PRId64 ", not %" PRId64 " %s", of[i].text, ns, of[i].ns,
				e.msg);
	}
}

static void test_refused(void **state)
{
	static const char *const no[] = {"", " ", "yesterday", "2026-11", "2026-13-01",
		"2026-00-10", "2026-11-00", "2026-11-32", "2026-1-2", "2026-11-20T",
		"2026-11-20T24:00", "2026-11-20T21:60", "2026-11-20T21:45:60",
		"2026-11-20T21:45:02.", "2026-11-20T21", "2026-11-20T21:45:02+2:00",
		"2026-11-20T21:45:02+02:60", "2026-11-20T21:45:02+0200", "2026-11-20T21:45:02ZZ",
		"2026-11-20 21:45 ", " 2026-11-20", "11-20", "11-20 21:45Z", "21:45Z", "24:00",
		"5x", "1h30", "h", "-1h", "+1h", ".h", "1..h", ".5", "5.", "1e3", "0x10", "1h 30m",
		"99999999999999999999s", "1.2.3", "-5", "20 Nov"};
	static const char *const no_day[] = {"2026-02-30", "2026-02-29", "2100-02-29T10:00:00Z",
		"2026-04-31T00:00", "2026-06-31 10:00:00.5+02:00", "02-30 10:00:00", "11-31 10:00"};

	(void)state;
	for (size_t i = 0; i < COUNT(no) + COUNT(no_day); i++) {
		const char *text = i < COUNT(no) ? no[i] : no_day[i - COUNT(no)];
		struct err e = ERR_INIT;
		int64_t ns = when_ns(text, NOW_MS, &e);

		if (ns != -1 || e.kind != ERR_USAGE)
			fail_msg("\"%s\" is taken for %" PRId64, text, ns);
		if (i >= COUNT(no) && !strstr(e.msg, "does not exist"))
			fail_msg("%s: %s", text, e.msg);
	}
}

/* Whatever berth prints can be given back, to the precision that is printed. */
static void test_printed(void **state)
{
	char text[FORMAT_MAX];

	(void)state;
	for (int64_t ms = NOW_MS; ms > 0; ms -= ms / 7 + 11) {
		assert_int_equal(when_ms(format_stamp(text, ms), NOW_MS, NULL), ms);
		if (NOW_MS - ms < 86000000)
			assert_int_equal(
				when_ms(format_wall(text, ms), NOW_MS, NULL), ms / 1000 * 1000);
	}
	for (int64_t s = 1; s < 100 * 86400; s += s / 3 + 1) {
		int64_t unit = s < 60 ? 1 : s < 3600 ? 1 : s < 86400 ? 60 : 3600;

		assert_int_equal(
			when_ns(format_span(text, s), NOW_MS, NULL), (NOW_S - s / unit * unit) * S);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meaning),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_printed),
	};

	return cmocka_run_group_tests(tests, use_zone, NULL);
}
