/* users.c - the list of users: what counts as an entry, and many threads at it at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/users.h>

static char place[] = "/tmp/berth-users-XXXXXX";
static char *list;

static int make_list(void **state)
{
	FILE *f;

	(void)state;
	if (!mkdtemp(place))
		return -1;
	list = xasprintf("%s/passwd", place);
	f = fopen(list, "w");
	fputs("root:x:0:0:root:/root:/bin/sh\n"
	      "+nis::::::\n"
	      "no fields\n"
	      "\n"
	      "minus:x:-1:0::/minus:/bin/sh\n"
	      "huge:x:4294967296:0::/huge:/bin/sh\n"
	      "word:x:12a:0::/word:/bin/sh\n"
	      ":x:7:7::/nameless:/bin/sh\n"
	      "last:x:4294967295:0::/last:/bin/sh\n",
		f);
	fputs("long:x:8:8:", f);
	for (int i = 0; i < 40000; i++)
		fputc('a' + i % 26, f);
	fputs(":/long:/bin/sh\n"
	      "ann:x:1000:1000:Ann,,,:/home/ann:/bin/bash\n"
	      "end:x:1001:1001::/home/end:", /* no shell, no end of line */
		f);
	return fclose(f);
}

static int drop_list(void **state)
{
	(void)state;
	unlink(list);
	free(list);
	return rmdir(place);
}

static void test_entries(void **state)
{
	static const struct user want[] = {{0, "root", "/root"}, {UINT32_MAX, "last", "/last"},
		{1000, "ann", "/home/ann"}, {1001, "end", "/home/end"}};
	struct err e = ERR_INIT;
	struct users all;
	struct user u;
	size_t n = 0;

	(void)state;
	assert_int_equal(users_open(&all, list, &e), 0);
	for (; users_next(&all, &u, &e); n++) {
		assert_true(n < COUNT(want));
		assert_int_equal(u.uid, want[n].uid);
		assert_string_equal(u.name, want[n].name);
		assert_string_equal(u.home, want[n].home);
	}
	users_release(&all);
	assert_int_equal(n, COUNT(want));
	assert_int_equal(e.kind, ERR_NONE);
}

/* Nobody is listed where there is no list; a list that cannot be read is not an empty one. */
static void test_no_list(void **state)
{
	AUTO_FREE char *missing = xasprintf("%s/none", place), *fifo = xasprintf("%s/fifo", place);
	struct err e = ERR_INIT;
	struct users all;
	struct user u;

	(void)state;
	assert_int_equal(users_open(&all, missing, &e), 0);
	assert_false(users_next(&all, &u, &e));
	users_release(&all);
	assert_int_equal(e.kind, ERR_NONE);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(users_open(&all, fifo, &e), -1);
	assert_non_null(strstr(e.msg, "list of users"));
	users_release(&all);
	unlink(fifo);
}

static void *read_often(void *arg)
{
	intptr_t wrong = 0;

	(void)arg;
	for (int i = 0; i < 200; i++) {
		struct users all;
		struct user u;
		size_t n = 0;

		if (users_open(&all, list, NULL))
			return (void *)-1;
		while (users_next(&all, &u, NULL))
			n++;
		users_release(&all);
		wrong += n != 4;
	}
	return (void *)wrong;
}

/* Each thread sees all of them: with getpwent they shared one place in the list. */
static void test_user_threads(void **state)
{
	pthread_t t[4];
	void *wrong;

	(void)state;
	for (size_t i = 0; i < COUNT(t); i++)
		assert_int_equal(pthread_create(&t[i], NULL, read_often, NULL), 0);
	for (size_t i = 0; i < COUNT(t); i++) {
		assert_int_equal(pthread_join(t[i], &wrong), 0);
		assert_null(wrong);
	}
}

/* The file of this machine: root is in every one of them. */
static void test_here(void **state)
{
	char name[USER_NAME_MAX];
	AUTO_FREE char *home = user_home(0), *none = user_home(4123456789);

	(void)state;
	assert_string_equal(user_name(0, name), "root");
	assert_non_null(home);
	assert_string_equal(user_name(4123456789, name), "4123456789");
	assert_null(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_no_list),
		cmocka_unit_test(test_user_threads),
		cmocka_unit_test(test_here),
	};

	return cmocka_run_group_tests(tests, make_list, drop_list);
}
