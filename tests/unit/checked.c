/* checked.c - what was found mounted is kept for one start, and holds for no other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/container_id.h>
#include <berth/file.h>
#include <berth/mem.h>

#include "container/container.h"
#include "container/mountinfo.h"
#include "container/tree.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char top[] = "/tmp/berth-XXXXXX";

static int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(top));
	return setenv("XDG_STATE_HOME", top, 1);
}

static int teardown(void **state)
{
	AUTO_FREE char *rm = xasprintf("rm -rf %s", top);

	(void)state;
	return system(rm);
}

static enum mounts_state look_at_checked(pid_t pid, char *why)
{
	struct err e = ERR_INIT;
	struct start s;
	enum mounts_state m = checked_look(ID, pid, &s, &e);

	strcpy(why, e.msg);
	return m;
}

/* This process stands in for an init: /proc is mounted in its sight, as everywhere. */
static bool secrets; /* are handed over by the next save */

static int save_checked(const char *target, ino_t other, struct err *e)
{
	const struct checked_of of = {ID, "berth-x", "/srv/team.yaml", 0, secrets, false, false};
	struct stat st;
	struct mount one = {.target = xstrdup(target)};
	const struct mount_list list = {1, 1, &one};
	int result;

	assert_int_equal(stat(target, &st), 0);
	one.dev = st.st_dev;
	one.ino = st.st_ino + other;
	result = checked_save(&of, getpid(), &list, e);
	free(one.target);
	return result;
}

static pid_t other_process(void)
{
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	return pid;
}

static void test_start(void **state)
{
	char why[ERR_MSG_MAX];
	struct start s;
	pid_t pid;

	(void)state;
	checked_forget(ID);
	assert_int_equal(look_at_checked(getpid(), why), MOUNTS_STRANGER);
	assert_false(checked_known(ID));
	assert_int_equal(save_checked("/proc", 0, NULL), 0);
	assert_true(checked_known(ID));
	assert_int_equal(look_at_checked(getpid(), why), MOUNTS_CHECKED);
	assert_string_equal(why, "");
	/* Another process is another start, and this one is in no such container. */
	pid = other_process();
	assert_int_equal(look_at_checked(pid, why), MOUNTS_UNKNOWN);
	assert_non_null(strstr(why, "berth up /srv/team.yaml"));
	assert_int_equal(start_read(pid, &s), 0);
	assert_true(start_lives(&s));
	s.since++;
	assert_false(start_lives(&s));
	s.since--;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_false(start_lives(&s));
	/* There is none at all. */
	assert_int_equal(look_at_checked(0, why), MOUNTS_UNKNOWN);
	/* It did not spoil what is known. */
	assert_int_equal(look_at_checked(getpid(), why), MOUNTS_CHECKED);
	checked_forget(ID);
	assert_false(checked_known(ID));
}

/* That they go with a foreign start takes a container: tests/attack/restarted.sh. */
static void test_secrets(void **state)
{
	char why[ERR_MSG_MAX];

	(void)state;
	assert_int_equal(checked_secrets(ID, NULL), 0);
	secrets = true;
	assert_int_equal(save_checked("/proc", 0, NULL), 0);
	secrets = false;
	assert_int_equal(look_at_checked(getpid(), why), MOUNTS_CHECKED);
	assert_int_equal(checked_secrets(ID, NULL), 0);
	checked_forget(ID);
}

/* Of a berth before this one: nothing in it tells of secrets. */
static void test_old_record(void **state)
{
	AUTO_FREE char *path = xasprintf("%s/berth/checked/" ID, top);
	char text[4096], why[ERR_MSG_MAX], *numbers, *end;
	size_t n;
	FILE *f;

	(void)state;
	assert_int_equal(save_checked("/proc", 0, NULL), 0);
	f = fopen(path, "r");
	n = fread(text, 1, sizeof text, f);
	fclose(f);
	numbers = text + strlen(text) + 1;
	numbers += strlen(numbers) + 1;
	end = numbers + strlen(numbers);
	assert_string_equal(end - 2, " 0");
	memmove(end - 2, end, (size_t)(text + n - end));
	f = fopen(path, "w");
	assert_int_equal(fwrite(text, 1, n - 2, f), n - 2);
	fclose(f);
	assert_int_equal(look_at_checked(getpid(), why), MOUNTS_CHECKED);
	assert_int_equal(checked_secrets(ID, NULL), 0);
	checked_forget(ID);
}

static void test_liar(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(save_checked("/proc", 1, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_non_null(strstr(e.msg, "/proc"));
	assert_false(checked_known(ID));
}

/* Whatever stands in the file, it is read within its bounds, and what is torn is not trusted. */
static void test_torn_checked(void **state)
{
	AUTO_FREE char *path = xasprintf("%s/berth/checked/" ID, top);
	char whole[4096], why[ERR_MSG_MAX];
	struct stat st;
	FILE *f;

	(void)state;
	assert_int_equal(save_checked("/proc", 0, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	f = fopen(path, "r");
	assert_int_equal(fread(whole, 1, sizeof whole, f), st.st_size);
	fclose(f);
	for (off_t n = 0; n < st.st_size; n++) {
		assert_int_equal(truncate(path, n), 0);
		assert_int_equal(look_at_checked(getpid(), why), MOUNTS_UNKNOWN);
		f = fopen(path, "w");
		assert_int_equal(fwrite(whole, 1, (size_t)st.st_size, f), st.st_size);
		fclose(f);
	}
	assert_int_equal(look_at_checked(getpid(), why), MOUNTS_CHECKED);
	checked_forget(ID);
}

/* A blank, a tab, a newline and a backslash in a path are octal digits in the kernel's table. */
static void test_mount_table(void **state)
{
	static const char text[] =
		"22 1 8:1 / / ro,relatime - ext4 /dev/sda1 rw\n"
		"23 22 8:2 /a\\040b /srv/a\\040b\\011c\\012d\\134e ro - ext4 /dev/sdb1 rw\n"
		"24 22 8:2 /x /srv/x rw,nosuid shared:1 - ext4 /dev/sdb1 rw\n"
		"25 24 0:40 / /srv/x ro,nosuid - tmpfs none rw\n"
		"26 22 0:41 / /srv/ro rw - tmpfs none ro\n";
	const struct mountinfo_line *l;
	struct mountinfo m;

	(void)state;
	assert_int_equal(mountinfo_parse(text, &m), 0);
	assert_int_equal(m.n, 5);
	l = mountinfo_at(&m, "/srv/a b\tc\nd\\e");
	assert_non_null(l);
	assert_true(mountinfo_read_only(l));
	assert_string_equal(l->device, "8:2");
	assert_string_equal(l->root, "/a\\040b");
	assert_null(mountinfo_at(&m, "/srv/a\\040b"));
	/* The upper one of two. */
	l = mountinfo_at(&m, "/srv/x");
	assert_non_null(l);
	assert_string_equal(l->device, "0:40");
	assert_true(mountinfo_read_only(l));
	l = mountinfo_at(&m, "/srv/ro");
	assert_non_null(l);
	assert_false(mountinfo_read_only(l));
	assert_true(mountinfo_read_only(mountinfo_at(&m, "/")));
	assert_null(mountinfo_at(&m, "/srv"));
	mountinfo_release(&m);
	/* One line that is none: not all can be judged. */
	assert_int_equal(mountinfo_parse("22 1 8:1 / / ro -\n23 22 8:2 /\n", &m), -1);
	assert_int_equal(mountinfo_parse("", &m), 0);
	assert_null(mountinfo_at(&m, "/"));
	mountinfo_release(&m);
}

/* An id from an engine names a container only as a whole part of a cgroup's path. */
static void test_cgroup_names(void **state)
{
	static const char *const yes[] = {"/docker/" ID, "/system.slice/docker-" ID ".scope", ID,
		"0::/machine.slice/libpod-" ID ".scope/container\n",
		"4:memory:/\n0::/docker/" ID "\n", "/docker/" ID "/berth-1",
		"/libpod-conmon-" ID ".scope/" ID};
	static const char *const no[] = {"", "/", "0::/\n", "/docker/x" ID, "/docker/" ID "0",
		"/docker/" ID ".scope0", "/docker/docker-" ID "-1", "/x/libpod-conmon-" ID ".scope",
		"/x/crio-conmon-" ID, "/docker/0123456789ab"};
	static const char *const bad[] = {"", "/", ":", "0", "docker", "0123456789ab", ID "0",
		"0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef"};

	(void)state;
	for (size_t i = 0; i < COUNT(yes); i++)
		assert_non_null(id_in_cgroup(yes[i], ID));
	for (size_t i = 0; i < COUNT(no); i++)
		assert_null(id_in_cgroup(no[i], ID));
	assert_string_equal(id_in_cgroup(yes[3], ID), "/container\n");
	for (size_t i = 0; i < COUNT(bad); i++) {
		AUTO_FREE char *path = xasprintf("0::/docker/%s\n", bad[i]);

		assert_false(id_is_whole(bad[i]));
		assert_null(id_in_cgroup(path, bad[i]));
		assert_false(tree_is_here(getpid(), bad[i]));
	}
}

/* A process that the engine calls the command's, but which is not in the container, is neither moved nor let go. */
static void test_stranger_at_gate(void **state)
{
	struct tree_group g = {.id = ID};
	char procs[CGROUP_PATH_MAX + 32], text[64];
	pid_t pid = other_process();
	int status;

	(void)state;
	snprintf(g.path, sizeof g.path, "%s", top);
	snprintf(procs, sizeof procs, "%s/cgroup.procs", top);
	assert_int_equal(file_replace(procs, "", 0, false), 0);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_int_equal(tree_group_take(&g, pid), -1);
	assert_int_equal(tree_at_gate(pid), 1);
	assert_int_equal(file_text(procs, text, sizeof text), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_old_record),
		cmocka_unit_test(test_liar),
		cmocka_unit_test(test_torn_checked),
		cmocka_unit_test(test_mount_table),
		cmocka_unit_test(test_cgroup_names),
		cmocka_unit_test(test_stranger_at_gate),
	};

	return cmocka_run_group_tests_name("checked", tests, setup, teardown);
}
