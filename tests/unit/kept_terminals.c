/* kept_terminals.c - terminals that failed are started again, with pauses and a bound; the clocks are this test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <berth/clock.h>
#include <berth/text.h>

#include "keeper/kept_terminals.h"
#include "terminals/screen_file.h"
#include "terminals/terminals.h"

#define BOX "box"
#define LOOK_MS 500 /* at least as often as it looks */
#define STARTS_MAX 16

static int64_t now_ms;

static struct {
	struct screen_file f; /* of the one that runs, which it keeps locked */
	bool runs;
	int64_t started_ms;
	enum terminal_status next; /* what becomes of one that is started again */
	int64_t at[STARTS_MAX];
	int starts;
} world;

static void let_go(void)
{
	if (world.runs)
		screen_file_close(&world.f);
	world.runs = false;
}

static void place_file(const char *ending, char path[TERMINALS_PATH_MAX])
{
	char file[64];

	snprintf(file, sizeof file, "main%s", ending);
	assert_int_equal(terminals_place(BOX, file, path, NULL), 0);
}

static void show(enum terminal_status status, int exit_code)
{
	struct terminal_cell cells[2] = {{.width = 1}, {.width = 1}};
	const struct terminal_screen s = {.columns = 2,
		.rows = 1,
		.status = status,
		.exit_code = exit_code,
		.started_ms = world.started_ms,
		.changed_ms = now_ms,
		.cells = cells};
	char path[TERMINALS_PATH_MAX];

	let_go();
	place_file(TERMINALS_SCREEN, path);
	assert_int_equal(screen_file_open(&world.f, path, NULL), 0);
	assert_int_equal(screen_file_write(&world.f, &s, NULL), 0);
	world.runs = true;
	if (status != TERMINAL_RUNS)
		let_go();
}

static void start_now(enum terminal_status becomes)
{
	world.started_ms = now_ms;
	show(becomes, becomes == TERMINAL_ENDED ? 3 : 0);
}

/* It has begun, and its starter has ended, when this returns. */
static pid_t start_again(void *ctx, const char *container, const char *name)
{
	siginfo_t info;
	pid_t starter;

	(void)ctx;
	assert_string_equal(container, BOX);
	assert_string_equal(name, "main");
	assert_in_range(world.starts, 0, STARTS_MAX - 1);
	world.at[world.starts++] = now_ms;
	start_now(world.next);
	starter = fork();
	if (!starter)
		_exit(0);
	assert_true(starter > 0);
	assert_int_equal(waitid(P_PID, (id_t)starter, &info, WEXITED | WNOWAIT), 0);
	return starter;
}

static void declare(bool on_failure)
{
	const struct terminals_declared d = {.on_failure = on_failure, .columns = 80, .rows = 24};

	assert_int_equal(terminals_declare(BOX, "main", &d, NULL), 0);
}

static void pass(struct kept_terminals *k, int64_t ms)
{
	for (int64_t until = now_ms + ms; now_ms < until;) {
		now_ms += LOOK_MS;
		clock_hold(now_ms * 1000000, now_ms);
		kept_terminals_go_on(k);
	}
}

static struct kept_terminals begin(void)
{
	struct kept_terminals k = {.start = start_again};

	now_ms += 1000000;
	clock_hold(now_ms * 1000000, now_ms);
	memset(&world, 0, sizeof world);
	world.next = TERMINAL_ENDED;
	return k;
}

static void finish(struct kept_terminals *k)
{
	kept_terminals_close(k);
	let_go();
	terminals_forget(BOX);
	clock_let_go();
}

/* The pause before start `i`, of which a look or two may be more. */
static void expect_pause(int64_t since_ms, int64_t at_ms, int i)
{
	assert_in_range(at_ms - since_ms, 1000 << i, (1000 << i) + 2 * LOOK_MS);
}

static void one_that_fails_is_started_so_many_times(void **state)
{
	struct kept_terminals k = begin();
	int64_t begun_ms;

	(void)state;
	declare(true);
	start_now(TERMINAL_ENDED);
	kept_terminals_go_on(&k);
	begun_ms = now_ms;
	/* Whoever keeps nothing else goes on until then. */
	while (world.starts < KEPT_STARTS && now_ms < begun_ms + 120000) {
		assert_true(kept_terminals_any(&k));
		pass(&k, LOOK_MS);
	}
	pass(&k, 120000);
	assert_int_equal(world.starts, KEPT_STARTS);
	expect_pause(begun_ms, world.at[0], 0);
	for (int i = 1; i < KEPT_STARTS; i++)
		expect_pause(world.at[i - 1], world.at[i], i);
	assert_false(kept_terminals_any(&k));
	/* A person starts it. */
	start_now(TERMINAL_ENDED);
	pass(&k, 2000);
	assert_int_equal(world.starts, KEPT_STARTS + 1);
	finish(&k);
}

static void one_that_ran_for_long_begins_anew(void **state)
{
	struct kept_terminals k = begin();
	int64_t failed_ms;

	(void)state;
	declare(true);
	start_now(TERMINAL_ENDED);
	kept_terminals_go_on(&k);
	pass(&k, 5000);
	assert_int_equal(world.starts, 2);
	world.next = TERMINAL_RUNS;
	pass(&k, 5000);
	assert_int_equal(world.starts, 3);
	pass(&k, KEPT_RUNS_MS);
	assert_int_equal(world.starts, 3);
	assert_true(kept_terminals_any(&k));
	failed_ms = now_ms;
	show(TERMINAL_ENDED, 1);
	pass(&k, 5000);
	assert_int_equal(world.starts, 4);
	expect_pause(failed_ms, world.at[3], 0);
	finish(&k);
}

/* What was killed with the process that kept it has failed, too. */
static void one_that_is_lost_is_started_again(void **state)
{
	struct kept_terminals k = begin();

	(void)state;
	declare(true);
	world.next = TERMINAL_RUNS;
	start_now(TERMINAL_RUNS);
	kept_terminals_go_on(&k);
	pass(&k, 5000);
	assert_int_equal(world.starts, 0);
	let_go();
	pass(&k, 5000);
	assert_int_equal(world.starts, 1);
	finish(&k);
}

static void others_are_left(void **state)
{
	struct kept_terminals k = begin();
	char path[TERMINALS_PATH_MAX];

	(void)state;
	/* Not of a team file; of one that does not want it; it succeeded. */
	start_now(TERMINAL_ENDED);
	kept_terminals_go_on(&k);
	pass(&k, 20000);
	declare(false);
	pass(&k, 20000);
	show(TERMINAL_ENDED, 0);
	declare(true);
	pass(&k, 20000);
	assert_int_equal(world.starts, 0);
	assert_false(kept_terminals_any(&k));
	/* A person stopped it before it was started. */
	show(TERMINAL_ENDED, 1);
	for (int i = 0; i < 100 && !kept_terminals_any(&k); i++)
		pass(&k, LOOK_MS);
	assert_true(kept_terminals_any(&k));
	place_file(TERMINALS_SCREEN, path);
	assert_int_equal(unlink(path), 0);
	pass(&k, 20000);
	assert_int_equal(world.starts, 0);
	assert_false(kept_terminals_any(&k));
	finish(&k);
}

static int make_runtime(void **state)
{
	static char dir[300];

	(void)state;
	snprintf(dir, sizeof dir, "%s/kXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	return !mkdtemp(dir) || setenv("XDG_RUNTIME_DIR", dir, 1) ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_fails_is_started_so_many_times),
		cmocka_unit_test(one_that_ran_for_long_begins_anew),
		cmocka_unit_test(one_that_is_lost_is_started_again),
		cmocka_unit_test(others_are_left),
	};

	text_init();
	return cmocka_run_group_tests(tests, make_runtime, NULL);
}
