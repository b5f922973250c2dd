/* confine.c - what an egress process gives up before it hears an agent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "egress/routes.h"

/* In a child, which has no way back: its exit code. */
static int after_confining(int (*try)(const char *file), const char *file)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(end_confine(NULL) ? 99 : try(file));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int errno_of_open(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? errno : 0;
}

static int look_up_here(const char *file)
{
	struct addrinfo *found = NULL;
	int r = getaddrinfo("localhost", NULL, NULL, &found);

	(void)file;
	if (!r)
		freeaddrinfo(found);
	return r ? 1 : 0;
}

static int errno_of_sockets(const char *file)
{
	(void)file;
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 ? 0 : errno;
}

static void files_are_given_up(void **state)
{
	char file[] = "/tmp/berth-confine-XXXXXX";
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0 && !fchmod(fd, 0644));
	close(fd);
	assert_int_equal(after_confining(errno_of_open, "/etc/passwd"), 0);
	assert_int_equal(after_confining(look_up_here, NULL), 0);
	assert_int_equal(after_confining(errno_of_sockets, NULL), EPERM);
	/* The first version is 1. */
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) < 1)
		print_message("this kernel has no Landlock: other files can be read\n");
	else
		assert_int_equal(after_confining(errno_of_open, file), EACCES);
	unlink(file);
}

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
		cmocka_unit_test(files_are_given_up),
		cmocka_unit_test(room_for_connections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
