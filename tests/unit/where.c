/* where.c - conditions over the columns: what they mean, and what is said of wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <berth/where.h>

#define NOW INT64_C(1700000000000)

static struct container box = {.name = "shop-web-1",
	.id = "deadbeef",
	.image = "web:2",
	.command = "serve",
	.agent = "",
	.session = "",
	.role = "",
	.ports = "",
	.networks = "",
	.compose_project = "shop",
	.compose_service = "",
	.state = CONTAINER_RUNNING,
	.started_wall_ms = NOW - 7200000,
	.stats = {.source = STATS_CGROUP,
		.rates = true,
		.cpu_percent = 130.5,
		.throttles = true,
		.throttled_percent = 40,
		.memory_bytes = 950 << 20,
		.memory_limit_bytes = 1000 << 20,
		.memory_limited = true,
		.pids = 7}};

static bool fits_row(const char *text, const struct where_row *row)
{
	struct err e = ERR_INIT;
	struct where *w = where_new(text, WHERE_ALERT, &e);
	bool yes;

	if (!w)
		fail_msg("%s: %s", text, e.msg);
	yes = where_holds(w, row);
	where_free(w);
	return yes;
}

static void test_meaning(void **state)
{
	const struct where_row row = {.wall_ms = NOW, .c = &box};
	static const char *const yes[] = {"memory_percent > 90", "memory_percent>94.9%",
		"memory_percent = 95", "memory_bytes >= 950m and memory_bytes < 1g",
		"state = running", "state=running and (name ~ \"^shop-\" or name = x)",
		"not state = exited", "name ~ WEB or name ~ web", "name ~ \"-1$\"",
		"uptime_s >= 2h", "uptime_s = 7200s", "uptime_s < 1d", "compose_project = shop",
		"cpu_percent > 130 and cpu_percent < 131", "pids = 7", "image != \"web:1\"",
		"image !~ ^db", "oom_killed = false", "state = exited and pids = 7 or pids = 7",
		"throttled_percent > 39", "pids != -1", "  ( ( pids = 7 ) )  ", "not not pids = 7",
		"name = \"shop-web-1\""};
	static const char *const no[] = {"memory_percent > 95", "state = exited", "name ~ WEB",
		/* not known: it fits nothing */
		"exit_code != 0", "pids_percent < 100", "agent = \"\"", "agent !~ x",
		"attention ~ .", "log ~ .", "log !~ .", "idle_s > 0", "pressure_io >= 0",
		"state = running and not (pids = 7 or pids = 8)", "name = shop"};

	(void)state;
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		if (!fits_row(yes[i], &row))
			fail_msg("does not hold: %s", yes[i]);
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		if (fits_row(no[i], &row))
			fail_msg("holds: %s", no[i]);
}

static void test_agents_and_logs(void **state)
{
	struct agent_command last = {
		.ended = "exit 2", .started_wall_ms = NOW - 90000, .duration_ms = 30000};
	struct agent a = {.id = "fixer",
		.name = "berth-fixer",
		.role = "coder",
		.state = AGENT_UP,
		.container = &box,
		.last = &last,
		.ndrift = 1,
		.checked_wall_ms = NOW,
		.need_wall_ms = NOW - 61000};
	struct where_row row = {.wall_ms = NOW, .c = &box, .a = &a};
	struct where *w;
	struct err e = ERR_INIT;
	static char hard[4000];

	(void)state;
	assert_true(fits_row("agent = fixer and role = coder and idle_s = 1m", &row));
	assert_true(fits_row("attention ~ \"memory at 95\" and attention_s > 1m", &row));
	assert_true(fits_row("last != \"exit 0\" and drift > 0 and commands = 0", &row));
	w = where_new("name ~ web and log ~ \"ERR\\\"OR|\\d{3} x\"", WHERE_ALERT, &e);
	assert_non_null(w);
	assert_true(where_reads_log(w));
	/* Only what could hold has its log read. */
	assert_true(where_may_hold(w, &row));
	assert_false(where_holds(w, &row));
	row.line = "an ERR\"OR here";
	row.nline = strlen(row.line);
	assert_true(where_holds(w, &row));
	row.line = "of 123 x";
	row.nline = strlen(row.line);
	assert_true(where_holds(w, &row));
	row.nline = 4;
	assert_false(where_holds(w, &row));
	/* A line that is made to be hard for the expression. */
	memset(hard, 'e', sizeof hard);
	memcpy(hard, "curl evil ", 10);
	row.line = hard;
	row.nline = sizeof hard;
	assert_false(where_holds(w, &row));
	where_free(w);
	w = where_new("name ~ web and log ~ \"curl.*evil\"", WHERE_ALERT, &e);
	assert_non_null(w);
	assert_true(where_holds(w, &row));
	box.name = "db";
	assert_false(where_may_hold(w, &row));
	box.name = "shop-web-1";
	where_free(w);
	/* An agent whose container is gone. */
	row = (struct where_row){.wall_ms = NOW, .a = &a};
	a.state = AGENT_GONE;
	a.container = NULL;
	assert_true(fits_row("agent_state = gone and name = berth-fixer", &row));
	assert_false(fits_row("state = running or pids > 0", &row));
}

static void test_for(void **state)
{
	struct err e = ERR_INIT;
	struct where *w = where_new("pids > 3 or pids > 9 for 1.5m", WHERE_ALERT, &e);

	(void)state;
	assert_non_null(w);
	assert_int_equal(where_for_ms(w), 90000);
	where_free(w);
	/* A word that begins like one is none. */
	assert_null(where_new("pids > 3 forty", WHERE_ALERT, &e));
}

static void refuse_condition(const char *text, enum where_use use, const char *sentence)
{
	struct err e = ERR_INIT;

	if (where_new(text, use, &e))
		fail_msg("taken: %s", text);
	assert_string_equal(e.msg, sentence);
	assert_int_equal(err_exit_code(&e), 2);
}

static void test_wrong_conditions(void **state)
{
	char deep[WHERE_MAX], many[WHERE_MAX + 1];

	(void)state;
	refuse_condition("", WHERE_ALERT, "at character 1: column missing");
	refuse_condition("memry_percent > 1", WHERE_ALERT,
		"at character 1: unknown column \"memry_percent\"; nearest known: \"memory_percent\"");
	refuse_condition(
		"pids", WHERE_ALERT, "at character 5: comparison missing: = != < <= > >= ~ or !~");
	refuse_condition("pids >", WHERE_ALERT, "at character 7: value missing");
	refuse_condition("pids > many", WHERE_ALERT,
		"at character 1: \"pids\" needs a number, not \"many\"");
	refuse_condition("pids > 0x10", WHERE_ALERT,
		"at character 1: \"pids\" needs a number, not \"0x10\"");
	refuse_condition("memory_bytes > 5%", WHERE_ALERT,
		"at character 1: \"memory_bytes\" needs an amount such as 512m or 2g, not \"5%\"");
	refuse_condition(
		"pids ~ 3", WHERE_ALERT, "at character 1: \"pids\" is a number; ~ is for text");
	refuse_condition("state > running", WHERE_ALERT,
		"at character 1: \"state\" is text; use = != ~ or !~");
	refuse_condition(
		"name = \"x", WHERE_ALERT, "the quoted text at character 8 is not terminated");
	refuse_condition("(pids > 1", WHERE_ALERT, "the parenthesis at character 1 is not closed");
	refuse_condition("pids > 1 pids", WHERE_ALERT, "at character 10: unexpected \"pids\"");
	refuse_condition("pids > 1 and", WHERE_ALERT, "at character 13: column missing");
	refuse_condition("log = x", WHERE_ALERT,
		"at character 1: \"log\" needs ~ or !~ and a regular expression");
	refuse_condition("log ~ x for 3s", WHERE_ALERT,
		"a log line has no duration: remove \"for\" at character 9");
	refuse_condition("pids > 1 for ever", WHERE_ALERT,
		"\"for\" at character 10 needs a duration such as 30s, 5m or 2h, not \"ever\"");
	refuse_condition("log ~ x", WHERE_FILTER, "\"log\" can only be used in alerts");
	refuse_condition("pids > 1 for 3s", WHERE_FILTER, "\"for\" can only be used in alerts");
	memset(deep, '(', 40);
	strcpy(deep + 40, "pids > 1");
	refuse_condition(deep, WHERE_ALERT, "a condition can be nested at most 32 levels");
	memset(many, 'x', WHERE_MAX);
	many[WHERE_MAX] = '\0';
	refuse_condition(many, WHERE_ALERT, "a condition has at most 511 characters");
	*many = '\0';
	for (size_t i = 0; i < 45; i++)
		strcat(many, i ? "or pids=1 " : "pids=1 ");
	assert_true(fits_row("pids = 7", &(struct where_row){.c = &box}));
	where_free(where_new(many, WHERE_ALERT, NULL));
}

/* What a person types into the filter. */
static void test_meant(void **state)
{
	(void)state;
	assert_true(where_is_meant("state = exited"));
	assert_true(where_is_meant(" (not state=exited)"));
	assert_true(where_is_meant("memory_percent>x"));
	assert_false(where_is_meant("state"));
	assert_false(where_is_meant("web|db"));
	assert_false(where_is_meant("KEY=VALUE"));
	assert_false(where_is_meant(""));
}

static bool give_own(const struct where_row *row, double *ret)
{
	const double *own = row->own;

	return own && ((*ret = *own), true);
}

static const struct where_column own_columns[] = {{"disk", "", WHERE_PERCENT, NULL, give_own}, {0}};

/* Another table of columns; what is not known stays open. */
static void test_check(void **state)
{
	double value = 91;
	const struct where_row known = {.own = &value}, unknown = {0};
	static const struct {
		const char *text;
		bool holds, open;
	} rows[] = {{"disk > 90%", true, true}, {"disk > 95", false, true},
		{"not disk > 95", true, true}, {"disk > 90 or disk < 1", true, true}};
	const struct where_column *column;
	const char *op;
	double n;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct where *w = where_new_over(own_columns, rows[i].text, WHERE_CHECK, NULL);

		assert_non_null(w);
		assert_int_equal(where_holds(w, &known), rows[i].holds);
		assert_int_equal(where_may_hold(w, &known), rows[i].holds);
		assert_false(where_holds(w, &unknown));
		assert_int_equal(where_may_hold(w, &unknown), rows[i].open);
		assert_true(where_uses(w, own_columns));
		assert_int_equal(where_is_bound(w, &column, &op, &n), i < 2);
		where_free(w);
	}
	assert_ptr_equal(column, own_columns);
	assert_string_equal(op, ">");
	assert_true(n == 95);
	assert_null(where_new_over(own_columns, "state = up", WHERE_CHECK, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meaning),
		cmocka_unit_test(test_agents_and_logs),
		cmocka_unit_test(test_for),
		cmocka_unit_test(test_wrong_conditions),
		cmocka_unit_test(test_meant),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
