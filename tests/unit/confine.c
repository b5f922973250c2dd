/* confine.c - what an egress process gives up before it hears an agent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "egress/end.h"

static void room_for_connections(void **state)
{
	static const unsigned rooms[][2] = {{1, 1}, {END_SPARE_FDS, 1}, {END_SPARE_FDS + 1, 1},
		{END_SPARE_FDS + 6 * 20, 20}, {END_SPARE_FDS + 6 * 1000 - 1, 999}, {100000, 1024}};
	struct rlimit was, files;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
		files = was;
		files.rlim_cur = rooms[i][0];
		if (files.rlim_cur > was.rlim_max)
			continue;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
		assert_int_equal(end_room_for(END_LINKS_MAX, END_LINK_FDS), rooms[i][1]);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(room_for_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
