/* path.c - where paths lead, and what is in which directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/arena.h>
#include <berth/mem.h>
#include <berth/path.h>

static char *top; /* without links, and the working directory */

/* real/home is where things are; home and real/home/.config are links on the way to them. */
static int make_place(void **state)
{
	const char *tmp = getenv("TMPDIR");
	AUTO_FREE char *made = xasprintf("%s/path-XXXXXX", tmp ? tmp : "/tmp");

	(void)state;
	if (!mkdtemp(made) || chdir(made))
		return -1;
	top = getcwd(NULL, 0);
	return mkdir("real", 0700) || mkdir("real/home", 0700) || mkdir("dot", 0700) ||
		symlink("real/../real/home", "home") || symlink("../../dot", "real/home/.config") ||
		symlink("loop", "loop");
}

static int remove_place(void **state)
{
	AUTO_FREE char *rm = xasprintf("rm -rf '%s'", top);

	(void)state;
	free(top);
	return chdir("/") || system(rm);
}

static void what_is_in_a_directory(void **state)
{
	static const struct {
		const char *path, *dir;
		bool in;
	} table[] = {{"/a", "/a", true}, {"/a/b", "/a", true}, {"/a/b", "/a/", true},
		{"/ab", "/a", false}, {"/a", "/a/b", false}, {"/a", "/", true}, {"/", "/", true},
		{"/", "/a", false}, {"a/b", "a", true}, {"b", "a", false}};

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++)
		assert_int_equal(path_is_in(table[i].path, table[i].dir), table[i].in);
}

static void where_a_path_is(void **state)
{
	/* Below top, but for what begins with a slash. */
	static const struct {
		const char *path;
		bool through;
		const char *is;
	} table[] = {{"home/a", true, "/real/home/a"}, {"home", true, "/real/home"},
		{"home", false, "/home"}, {"home/", true, "/real/home"},
		{"home/.config/x/y", true, "/dot/x/y"},
		{"home/.config", false, "/real/home/.config"}, {"none/a", true, "/none/a"}};

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		AUTO_FREE char *is = xasprintf("%s%s", top, table[i].is),
			       *full = xasprintf("%s/%s", top, table[i].path);
		AUTO_FREE char *one = path_place(table[i].path, table[i].through),
			       *other = path_place(full, table[i].through);

		assert_string_equal(one, is);
		assert_string_equal(other, is);
	}
}

/* The places of a path below top, as words; "." for top. */
static void expect_places(const char *path, const char *expected)
{
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	AUTO_FREE char *full = xasprintf("%s/%s", top, path);
	const char *place[PATH_PLACES];
	size_t n = path_places(&mem, full, place);
	const char *said = "";

	for (size_t i = 0; i < n; i++) {
		assert_true(path_is_in(place[i], top));
		said = arena_printf(&mem, "%s.%s ", said, place[i] + strlen(top));
	}
	assert_string_equal(said, expected);
}

static void all_that_a_path_goes_through(void **state)
{
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	const char *place[PATH_PLACES];

	(void)state;
	expect_places("real/home/new", "./real/home/new ");
	expect_places("real/.//home/x/../new", "./real/home/new ");
	expect_places("home/new", "./home/new ./real/home/new ");
	expect_places("home/.config/berth",
		"./home/.config/berth ./real/home/.config/berth ./dot/berth ");
	assert_int_equal(path_places(&mem, "/..", place), 1);
	assert_string_equal(place[0], "/");
	assert_int_equal(path_places(&mem, arena_printf(&mem, "%s/loop", top), place), PATH_PLACES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_in_a_directory),
		cmocka_unit_test(where_a_path_is),
		cmocka_unit_test(all_that_a_path_goes_through),
	};

	return cmocka_run_group_tests(tests, make_place, remove_place);
}
