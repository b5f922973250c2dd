/* tabs.c - the app with more views than there are keys for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/settings.h>
#include <berth/str.h>

#include "app/app.h"
#include "golden/fixture/fixture.h"

#define TABS 12

static struct view_ops ops[TABS];
static char names[TABS][8];
static const struct view_ops *views[TABS + 1];

static void draw_name(struct view *v, struct canvas *c, struct area a)
{
	canvas_printf(c, a.x, a.y, a.w, STYLE(TEXT), "this is %s.", v->ops->name);
}

static struct {
	int snapshots, pulses;
	const struct snapshot *had; /* by the view, which is on screen or not */
} told[TABS];

static size_t index_of_view(const struct view *v)
{
	return (size_t)(v->ops - ops);
}

static void count_snapshot(struct view *v, const struct snapshot *s)
{
	size_t i = index_of_view(v);

	assert_true(!told[i].had || told[i].had->seq < s->seq);
	told[i].had = s;
	told[i].snapshots++;
}

static void count_pulse(struct view *v, const struct snapshot *s)
{
	assert_ptr_equal(s, app_snapshot(v->app));
	told[index_of_view(v)].pulses++;
}

static int setup(void **state)
{
	(void)state;
	for (int i = 0; i < TABS; i++) {
		snprintf(names[i], sizeof names[i], "view%c", 'A' + i);
		ops[i] = (struct view_ops){.name = names[i],
			.tab = names[i],
			.tab_short = names[i] + 3,
			.context = IN_HOST,
			.draw = draw_name,
			.snapshot = count_snapshot,
			.pulse = count_pulse};
		views[i] = &ops[i];
	}
	return 0;
}

static void run_tab_script(const char *text)
{
	char path[] = "/tmp/berth-tabs-XXXXXX";
	int fd = mkstemp(path);
	struct settings settings;
	AUTO_STR struct str out = STR_INIT;
	struct app_options o = {.views = views, .settings = &settings, .script = path, .out = &out};
	struct backend_options bo = {.program = "console"};
	struct err e = ERR_INIT;
	int code;

	memset(told, 0, sizeof told);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(settings_from(NULL, &settings, &e), 0);
	assert_int_equal(fixture_choose("empty"), 0);
	clock_freeze(1000000000000, 1795211102000);
	o.backend = backend_start(&bo, &e);
	code = app_run(&o, &e);
	backend_stop(o.backend);
	settings_release(&settings);
	unlink(path);
	if (code < 0)
		fail_msg("%s", e.msg);
}

/* The first ten have keys, all have names and a place to click on. */
static void test_tabs(void **state)
{
	(void)state;
	run_tab_script(
		"size 150 24\n"
		"key 9\nexpect this is viewI.\n"
		"expect 9\xe2\x96\xb8viewI  0 viewJ  viewK  viewL\n"
		"key 0\nexpect this is viewJ.\nexpect 0\xe2\x96\xb8viewJ  viewK\nkey 9\n"
		"key :\ntype viewL\nkey Enter\nexpect this is viewL.\nexpect \xe2\x96\xb8viewL\n"
		"key Esc\nexpect this is viewI.\n"
		"click 92 1\nexpect this is viewK.\n"
		"key 1\nexpect this is viewA.\n");
}

/* Where not all tabs have room the one on screen has. */
static void test_narrow_tabs(void **state)
{
	(void)state;
	run_tab_script(
		"size 60 24\nexpect 8 wH\n"
		"key :\ntype viewL\nkey Enter\nexpect this is viewL.\nexpect \xe2\x96\xb8wL\n"
		"size 40 24\nexpect \xe2\x96\xb8wL\nrefuse 1 wA\n");
}

/* A view that is not on screen has the newest snapshot when it comes back, and none before. */
static void test_hidden_views(void **state)
{
	(void)state;
	run_tab_script("key r\nkey r\nkey r\nkey 2\nkey r\nkey 1\nkey 2\nkey 1\n");
	assert_int_equal(told[0].snapshots, 1 + 3 + 1);
	assert_int_equal(told[1].snapshots, 1 + 1);
	assert_int_equal(told[2].snapshots, 0);
	for (int i = 0; i < TABS; i++)
		assert_int_equal(told[i].pulses, 4);
}

static const char *run_something(struct view *v)
{
	return index_of_view(v) == 3 ? "a long run" : NULL;
}

/* Leaving asks while a view has something running, whichever is on screen. */
static void test_quit_asks(void **state)
{
	(void)state;
	for (int i = 0; i < TABS; i++)
		ops[i].runs = run_something;
	run_tab_script("key C-c\nexpect Quit berth\nexpect a long run\nkey Esc\n"
		       "expect this is viewA.\n");
	for (int i = 0; i < TABS; i++)
		ops[i].runs = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tabs),
		cmocka_unit_test(test_narrow_tabs),
		cmocka_unit_test(test_hidden_views),
		cmocka_unit_test(test_quit_asks),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
