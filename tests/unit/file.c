/* file.c - files read and written whole: what is regular, the limit, no waiting; bytes as digits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/hex.h>
#include <berth/mem.h>

static int make_place(void **state)
{
	const char *tmp = getenv("TMPDIR");

	*state = xasprintf("%s/file-XXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(*state) && !chdir(*state) ? 0 : -1;
}

static int remove_place(void **state)
{
	unlink("a");
	unlink("link");
	unlink("fifo");
	(void)!chdir("/");
	rmdir(*state);
	free(*state);
	return 0;
}

static void test_limit(void **state)
{
	AUTO_STR struct str text = STR_INIT;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(file_replace("a", "12345", 5, true), 0);
	str_adds(&text, ">");
	assert_int_equal(file_read(AT_FDCWD, "a", 0, 5, &text, &e), 0);
	assert_string_equal(text.s, ">12345");
	assert_int_equal(file_read(AT_FDCWD, "a", 0, 4, &text, &e), -1);
	assert_int_equal(errno, EFBIG);
	assert_string_equal(e.msg, "a is longer than 4 bytes.");
	assert_int_equal(e.kind, ERR_CONFIG);
	assert_int_equal(file_read(AT_FDCWD, "none", 0, 4, &text, &e), -1);
	assert_int_equal(errno, ENOENT);
	assert_string_equal(e.msg, "Cannot open none: No such file or directory");
}

/* A FIFO without a writer would hold who opens it, a directory be read as something else. */
static void test_other_kinds(void **state)
{
	AUTO_STR struct str text = STR_INIT;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(file_read(AT_FDCWD, "fifo", 0, 100, &text, &e), -1);
	assert_string_equal(e.msg, "fifo is not a regular file: name one.");
	assert_int_equal(file_read(AT_FDCWD, "/", 0, 100, &text, &e), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(symlink("fifo", "link"), 0);
	assert_int_equal(file_read(AT_FDCWD, "link", O_NOFOLLOW, 100, &text, &e), -1);
	assert_int_equal(errno, ELOOP);
}

/* The kernel's files have no size, and give a page at a time. */
static void test_kernel(void **state)
{
	AUTO_STR struct str whole = STR_INIT;
	char few[5], all[1 << 14];

	(void)state;
	assert_int_equal(file_read(AT_FDCWD, "/proc/self/smaps", 0, 1 << 20, &whole, NULL), 0);
	assert_true(whole.len > 4096 && whole.s[whole.len - 1] == '\n');
	assert_int_equal(file_text("/proc/version", few, sizeof few), 4);
	assert_string_equal(few, "Linu");
	assert_true(file_text("/proc/self/smaps", all, sizeof all) > 4096);
	assert_int_equal(file_text("/proc/none", few, sizeof few), -1);
	assert_string_equal(few, "");
}

/* What reads a pipe in pieces, and fills one that does not wait. */
static void test_pipe(void **state)
{
	AUTO_STR struct str text = STR_INIT;
	AUTO_FREE char *much = xcalloc(1, 300000);
	struct err e = ERR_INIT;
	int p[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		close(p[0]);
		_exit(fcntl(p[1], F_SETFL, O_NONBLOCK) || file_write(p[1], much, 300000));
	}
	close(p[1]);
	assert_int_equal(file_rest(p[0], "it", 300000, &text, &e), 0);
	assert_int_equal(text.len, 300000);
	close(p[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The old bytes stay where the new ones cannot be written, and nothing stays beside them. */
static void test_replace(void **state)
{
	AUTO_STR struct str text = STR_INIT;
	char fresh[64];
	struct stat st;

	(void)state;
	assert_int_equal(file_replace("a", "old", 3, false), 0);
	assert_int_equal(stat("a", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	snprintf(fresh, sizeof fresh, "a.%d", (int)gettid());
	assert_int_equal(access(fresh, F_OK), -1);
	assert_int_equal(symlink("elsewhere", fresh), 0);
	assert_int_equal(file_replace("a", "new", 3, false), -1);
	assert_int_equal(errno, ELOOP);
	assert_int_equal(unlink(fresh), 0);
	assert_int_equal(access("elsewhere", F_OK), -1);
	assert_int_equal(file_read(AT_FDCWD, "a", 0, 3, &text, NULL), 0);
	assert_string_equal(text.s, "old");
}

static void test_hex(void **state)
{
	uint8_t bytes[33], back[33];
	char out[67];

	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 37 + 0xa0);
	for (size_t n = 0; n <= sizeof bytes; n++) {
		char want[67] = "";

		for (size_t i = 0; i < n; i++)
			sprintf(want + 2 * i, "%02x", bytes[i]);
		assert_string_equal(hex_text(out, bytes, n), want);
		assert_true(hex_parse(back, out, n));
		assert_memory_equal(back, bytes, n);
	}
	assert_false(hex_parse(back, "0G", 1));
	assert_false(hex_parse(back, "AB", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_limit, make_place, remove_place),
		cmocka_unit_test_setup_teardown(test_other_kinds, make_place, remove_place),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_pipe),
		cmocka_unit_test_setup_teardown(test_replace, make_place, remove_place),
		cmocka_unit_test(test_hex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
