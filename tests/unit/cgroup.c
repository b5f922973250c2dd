/* cgroup.c - the scanners, and readers pointed at recorded trees of both versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "observe/observe.h"
#include "observe/proc_scan.h"
#include "lib/paths.h"

#define ID "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* A copy without NUL in memory of exactly that size, so that the sanitizer sees every byte read
 * beyond it. */
static char *copy_exactly(const char *s, size_t n)
{
	char *p = xmalloc(n ? n : 1);

	memcpy(p, s, n);
	return p;
}

static void test_scan_numbers(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t v;
	} cases[] = {{"0\n", true, 0}, {"18446744073709551615", true, UINT64_MAX},
		{"18446744073709551616", true, UINT64_MAX}, {"max\n", true, 77}, {"", false, 0},
		{"-1", false, 0}, {"x1", false, 0}, {"  42 ", true, 42}, {"ma", false, 0}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t n = strlen(cases[i].text);
		char *p = copy_exactly(cases[i].text, n);
		uint64_t v = 5;

		assert_int_equal(scan_number(p, n, 77, &v), cases[i].ok);
		assert_int_equal(v, cases[i].ok ? cases[i].v : 5);
		free(p);
	}
}

/* Every prefix of a real file must be scanned without looking beyond its end. */
static void test_prefixes(void **state)
{
	static const char stat[] = "cache 1\ntotal_inactive_file 4000\nx 1\n";
	static const char blk[] = "254:0 Read 10\n254:0 Write 20\nTotal 30\n";
	static const char io[] = "254:0 rbytes=10 wbytes=20 rios=1\n";
	static const char net[] = " face |bytes\n lo: 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n"
				  "eth0:10 0 0 0 0 0 0 0 20 0 0 0 0 0 0 0\n";
	uint64_t a, b;

	(void)state;
	for (size_t n = 0; n < sizeof net; n++) {
		char *p = copy_exactly(net, n);

		scan_net_dev(p, n, &a, &b);
		assert_true((a == 0 && b == 0) || (a == 10 && b == 20));
		free(p);
	}
	for (size_t n = 0; n < sizeof stat; n++) {
		char *p = copy_exactly(stat, n);

		scan_key(p, n, "total_inactive_file ", 20, &a);
		free(p);
	}
	for (size_t n = 0; n < sizeof blk; n++) {
		char *p = copy_exactly(blk, n);

		scan_blkio(p, n, &a, &b);
		free(p);
	}
	for (size_t n = 0; n < sizeof io; n++) {
		char *p = copy_exactly(io, n);

		scan_io_stat(p, n, &a, &b);
		free(p);
	}
	scan_blkio(blk, sizeof blk - 1, &a, &b);
	assert_int_equal(a, 10);
	assert_int_equal(b, 20);
	scan_io_stat(io, sizeof io - 1, &a, &b);
	assert_int_equal(a, 10);
	assert_int_equal(b, 20);
}

static void test_scan_keys(void **state)
{
	static const char text[] = "xinactive_file 1\ninactive_file 2\ninactive_file 3\n";
	uint64_t v = 0;

	(void)state;
	assert_true(scan_key(text, sizeof text - 1, "inactive_file ", 14, &v));
	assert_int_equal(v, 2);
	assert_false(scan_key(text, sizeof text - 1, "active_file ", 12, &v));
	assert_false(scan_key("inactive_file x", 15, "inactive_file ", 14, &v));
}

static void test_cpu_line(void **state)
{
	static const char text[] = "cpu  10 1 2 100 5 0 3 4 0 0\ncpu0 1 1 1 1 1 1 1 1\n";
	uint64_t total, busy, steal;

	(void)state;
	assert_true(host_scan_cpu(text, sizeof text - 1, &total, &busy, &steal));
	assert_int_equal(total, 125);
	assert_int_equal(busy, 16);
	assert_int_equal(steal, 4);
	assert_false(host_scan_cpu("cpu 1 2", 7, &total, &busy, &steal));
	assert_false(host_scan_cpu("intr 1", 6, &total, &busy, &steal));
}

static void test_stat_line(void **state)
{
	char good[] = "42 (a) b (c)) S 1 42 42 0 -1 4194560 1 0 0 0 150 50 0 0 20 0 1 0 777 100 25 "
		      "184467";
	char cut[] = "42 (sh) S 1 42";
	char evil[] = "42 sh) (S";
	uint64_t ticks, started, rss;
	char state_char, *name;

	(void)state;
	assert_true(process_scan_stat(good, &state_char, &name, &ticks, &started, &rss));
	assert_string_equal(name, "a) b (c)");
	assert_int_equal(state_char, 'S');
	assert_int_equal(ticks, 200);
	assert_int_equal(started, 777);
	assert_int_equal(rss, 25);
	assert_false(process_scan_stat(cut, &state_char, &name, &ticks, &started, &rss));
	assert_false(process_scan_stat(evil, &state_char, &name, &ticks, &started, &rss));
}

static int open_in(const char *tree, pid_t pid, struct cgroup_mounts *m, struct cgroup_reader *r,
	struct err *e)
{
	char root[512];

	snprintf(root, sizeof root, "%s/cgroup/%s", test_data, tree);
	assert_int_equal(cgroup_mounts_read(m, root, e), 0);
	cgroup_reader_init(r);
	return cgroup_reader_open(r, m, ID, pid, true, e);
}

static void test_v1(void **state)
{
	struct cgroup_mounts m;
	struct cgroup_reader r;
	struct counters c;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(open_in("v1", 100, &m, &r, &e), 0);
	for (int again = 0; again < 70; again++) {
		assert_int_equal(cgroup_read(&r, &c), 0);
		assert_int_equal(c.cpu_ns, 76402082006);
		assert_int_equal(c.memory_bytes, 6000000);
		assert_int_equal(c.memory_limit, 67108864);
		assert_int_equal(c.block_read, 4097);
		assert_int_equal(c.block_write, 8194);
		assert_int_equal(c.pids, 7);
		assert_int_equal(c.pids_limit, 64);
		assert_true(c.cpu_limit_percent == 150);
		assert_true(c.net);
		assert_int_equal(c.net_rx, 1936);
		assert_int_equal(c.net_tx, 2070);
		assert_int_equal(c.system_ns, 0);
		assert_true(c.at_ns > 0);
	}
	cgroup_reader_close(&r);
	assert_int_equal(cgroup_read(&r, &c), -1);
	cgroup_mounts_release(&m);
}

static void test_v2(void **state)
{
	struct cgroup_mounts m;
	struct cgroup_reader r;
	struct counters c;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(open_in("v2", 100, &m, &r, &e), 0);
	assert_int_equal(cgroup_read(&r, &c), 0);
	assert_int_equal(c.cpu_ns, 2500000000);
	assert_int_equal(c.memory_bytes, 6000000);
	assert_int_equal(c.memory_limit, 0);
	assert_int_equal(c.block_read, 4097);
	assert_int_equal(c.block_write, 8194);
	assert_int_equal(c.pids, 3);
	assert_int_equal(c.pids_limit, 0);
	assert_true(c.cpu_limit_percent == 0);
	cgroup_reader_close(&r);
	cgroup_mounts_release(&m);
}

/* Recorded from a stock Debian 12: what the engine said of the same container at the same time. */
static void test_debian(void **state)
{
	struct cgroup_mounts m;
	struct cgroup_reader r;
	struct counters c;
	struct err e = ERR_INIT;
	char path[600];
	bool v2 = false;

	(void)state;
	assert_int_equal(open_in("debian12", 100, &m, &r, &e), 0);
	assert_int_equal(cgroup_read(&r, &c), 0);
	assert_int_equal(c.cpu_ns, 3960752000);
	assert_int_equal(c.memory_bytes, 12763136 - 10526720);
	assert_int_equal(c.memory_limit, 67108864);
	assert_int_equal(c.block_read, 10637312);
	assert_int_equal(c.block_write, 38010880);
	assert_int_equal(c.pids, 4);
	assert_int_equal(c.pids_limit, 64);
	assert_true(c.cpu_limit_percent == 50);
	assert_true(c.net);
	assert_int_equal(c.net_rx, 1182);
	assert_int_equal(c.net_tx, 0);
	assert_int_equal(cgroup_path(&m, ID, 100, "memory", "memory.oom_control", "memory.events",
				 path, sizeof path, &v2, &e),
		0);
	assert_true(v2);
	assert_int_equal(access(path, R_OK), 0);
	cgroup_reader_close(&r);
	cgroup_mounts_release(&m);
}

/* podman's containers move into a group below their scope; the scope is what is accounted. */
static void test_podman(void **state)
{
	struct cgroup_mounts m;
	struct cgroup_reader r;
	struct counters c;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(open_in("podman", 100, &m, &r, &e), 0);
	assert_int_equal(cgroup_read(&r, &c), 0);
	assert_int_equal(c.cpu_ns, 7000);
	assert_int_equal(c.memory_bytes, 4096);
	assert_int_equal(c.memory_limit, 1073741824);
	assert_int_equal(c.pids, 0);
	assert_false(c.net);
	cgroup_reader_close(&r);
	cgroup_mounts_release(&m);
}

static void test_not_ours(void **state)
{
	static const struct {
		const char *tree;
		pid_t pid;
	} cases[] = {{"v1", 101}, {"debian12", 101}, {"v1", 4242}, {"v1", 0}, {"v1", -1},
		{"hostile", 102}, {"hostile", 103}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cgroup_mounts m;
		struct cgroup_reader r;
		struct err e = ERR_INIT;

		assert_int_equal(open_in(cases[i].tree, cases[i].pid, &m, &r, &e), -1);
		assert_true(e.kind == ERR_NOT_FOUND || e.kind == ERR_SYS);
		assert_int_not_equal(strlen(e.msg), 0);
		assert_false(r.open);
		for (int f = 0; f < CGROUP_FILES; f++)
			assert_int_equal(r.fd[f], -1);
		cgroup_mounts_release(&m);
	}
}

static void test_hostile_cgroup(void **state)
{
	struct cgroup_mounts m;
	struct cgroup_reader r;
	struct counters c;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(open_in("hostile", 100, &m, &r, &e), 0);
	assert_int_equal(cgroup_read(&r, &c), 0);
	assert_int_equal(c.cpu_ns, UINT64_MAX);
	assert_int_equal(c.memory_bytes, 0);
	assert_int_equal(c.memory_limit, 0);
	assert_int_equal(c.block_read, UINT64_MAX);
	assert_int_equal(c.block_write, 9);
	assert_int_equal(c.pids, 0);
	cgroup_reader_close(&r);
	cgroup_mounts_release(&m);
}

/* A copy of a recorded tree whose files a test may write. */
struct tree {
	char root[32];
	struct cgroup_mounts mounts;
	struct cgroup_reader reader;
};

static void tree_open(struct tree *t, const char *from)
{
	char cmd[1024];

	snprintf(t->root, sizeof t->root, "/tmp/berth-unit-XXXXXX");
	assert_non_null(mkdtemp(t->root));
	snprintf(cmd, sizeof cmd, "cp -r '%s/cgroup/%s/.' %s", test_data, from, t->root);
	assert_int_equal(system(cmd), 0);
	assert_int_equal(cgroup_mounts_read(&t->mounts, t->root, NULL), 0);
	cgroup_reader_init(&t->reader);
	assert_int_equal(cgroup_reader_open(&t->reader, &t->mounts, ID, 100, false, NULL), 0);
}

static void write_cgroup_file(const struct tree *t, const char *file, const char *text)
{
	char path[600];
	FILE *f;

	snprintf(path, sizeof path, "%s/sys/fs/cgroup/%s", t->root, file);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void tree_close(struct tree *t)
{
	char cmd[64];

	cgroup_reader_close(&t->reader);
	cgroup_mounts_release(&t->mounts);
	snprintf(cmd, sizeof cmd, "rm -rf %s", t->root);
	assert_int_equal(system(cmd), 0);
}

/* While the usage stands still memory.stat is read now and then only, and at once when it moves. */
static void test_memory_moves(void **state)
{
#define GROUP "system.slice/docker-" ID ".scope/"
	struct counters c;
	struct tree t;

	(void)state;
	tree_open(&t, "v2");
	assert_int_equal(cgroup_read(&t.reader, &c), 0);
	assert_int_equal(c.memory_bytes, 6000000);
	write_cgroup_file(&t, GROUP "memory.stat", "inactive_file 1000000\n");
	/* in the 32nd reading at the latest */
	for (int i = 0; i < 32 && c.memory_bytes != 8000000; i++)
		assert_int_equal(cgroup_read(&t.reader, &c), 0);
	assert_int_equal(c.memory_bytes, 8000000);
	/* less than a 256th is shown, but is no move */
	write_cgroup_file(&t, GROUP "memory.stat", "inactive_file 500\n");
	write_cgroup_file(&t, GROUP "memory.current", "9001000\n");
	write_cgroup_file(&t, GROUP "cpu.stat", "usage_usec 2500001\n");
	assert_int_equal(cgroup_read(&t.reader, &c), 0);
	assert_int_equal(c.memory_bytes, 8001000);
	write_cgroup_file(&t, GROUP "memory.current", "10000500\n");
	assert_int_equal(cgroup_read(&t.reader, &c), 0);
	assert_int_equal(c.memory_bytes, 10000000);
	/* taken from one that does nothing: seen in the fourth reading at the latest */
	for (int i = 0; i < 10; i++)
		assert_int_equal(cgroup_read(&t.reader, &c), 0);
	write_cgroup_file(&t, GROUP "memory.current", "5000500\n");
	for (int i = 0; i < 4 && c.memory_bytes != 5000000; i++)
		assert_int_equal(cgroup_read(&t.reader, &c), 0);
	assert_int_equal(c.memory_bytes, 5000000);
	tree_close(&t);
#undef GROUP
}

/* Who uses CPU time is asked for the rest at once and once more, who does not now and then. */
static void test_quiet(void **state)
{
	static const char cpu[] = "cpu,cpuacct/docker/" ID "/cpuacct.usage";
	static const char blocks[] =
		"blk io/docker/" ID "/blkio.throttle.io_service_bytes_recursive";
	static const char pids[] = "pids/docker/" ID "/pids.current";
	struct counters c;
	struct tree t;

	(void)state;
	tree_open(&t, "v1");
	for (int i = 0; i < 40; i++)
		assert_int_equal(cgroup_read(&t.reader, &c), 0);
	write_cgroup_file(&t, cpu, "76402082007\n");
	write_cgroup_file(&t, blocks, "254:0 Read 5000\n254:0 Write 1\n");
	write_cgroup_file(&t, pids, "9\n");
	assert_int_equal(cgroup_read(&t.reader, &c), 0);
	assert_int_equal(c.block_read, 5000);
	assert_int_equal(c.block_write, 1);
	assert_int_equal(c.pids, 9);
	write_cgroup_file(&t, blocks, "254:0 Read 6000\n254:0 Write 2\n");
	assert_int_equal(cgroup_read(&t.reader, &c), 0);
	assert_int_equal(c.block_read, 6000);
	write_cgroup_file(&t, blocks, "254:0 Read 7000\n254:0 Write 3\n");
	for (int i = 0; i < 32 && c.block_read != 7000; i++)
		assert_int_equal(cgroup_read(&t.reader, &c), 0);
	assert_int_equal(c.block_read, 7000);
	assert_int_equal(c.block_write, 3);
	tree_close(&t);
}

/* Opened again, for what was not there before. */
static void open_tree_again(struct tree *t)
{
	cgroup_reader_close(&t->reader);
	assert_int_equal(cgroup_reader_open(&t->reader, &t->mounts, ID, 100, false, NULL), 0);
}

static void test_throttling(void **state)
{
	static const char v1[] = "cpu,cpuacct/docker/" ID "/cpu.stat";
	struct counters c;
	struct tree t;

	(void)state;
	tree_open(&t, "debian12");
	assert_int_equal(cgroup_read(&t.reader, &c), 0);
	assert_true(c.periods == 142 && c.throttled == 34 && !c.pressed);
	tree_close(&t);
	/* Version 1 has it in a file of its own, which may be missing. */
	tree_open(&t, "v1");
	assert_int_equal(cgroup_read(&t.reader, &c), 0);
	assert_true(c.periods == 0 && c.throttled == 0 && !c.pressed);
	write_cgroup_file(&t, v1, "nr_periods 50\nnr_throttled 20\nthrottled_time 99\n");
	open_tree_again(&t);
	assert_int_equal(cgroup_read(&t.reader, &c), 0);
	assert_true(c.periods == 50 && c.throttled == 20);
	tree_close(&t);
}

static void test_pressure(void **state)
{
#define GROUP "system.slice/docker-" ID ".scope/"
	static const char *const bad[] = {"", "some", "some avg10=", "some avg10=x\n",
		"some avg10=1\n", "full avg10=50.00 avg60=0.00\n"};
	struct counters c;
	struct tree t;

	(void)state;
	tree_open(&t, "v2");
	write_cgroup_file(&t, GROUP "cpu.pressure",
		"some avg10=12.34 avg60=1.00 avg300=0.00 total=99\n"
		"full avg10=99.00 avg60=0.00 avg300=0.00 total=0\n");
	write_cgroup_file(&t, GROUP "io.pressure", "some avg10=99999999999.99 avg60=0\n");
	open_tree_again(&t);
	assert_int_equal(cgroup_read(&t.reader, &c), 0);
	assert_true(c.pressed);
	assert_true(c.pressure_cpu > 12.33 && c.pressure_cpu < 12.35);
	assert_true(c.pressure_memory == 0 && c.pressure_io < 101);
	for (size_t i = 0; i < COUNT(bad); i++) {
		write_cgroup_file(&t, GROUP "cpu.pressure", bad[i]);
		open_tree_again(&t);
		assert_int_equal(cgroup_read(&t.reader, &c), 0);
		assert_true(c.pressure_cpu == 0);
	}
	tree_close(&t);
#undef GROUP
}

static void write_at(const char *root, const char *path, const char *text)
{
	AUTO_FREE char *whole = xasprintf("%s/%s", root, path);
	AUTO_FREE char *cmd = xasprintf("mkdir -p \"$(dirname '%s')\"", whole);
	FILE *f;

	assert_int_equal(system(cmd), 0);
	f = fopen(whole, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* What runs in groups that a container made below its own is listed like the rest, wherever its init is. */
static void test_processes_below(void **state)
{
#define GROUP "sys/fs/cgroup/c/" ID
	char root[] = "/tmp/groupsXXXXXX";
	AUTO_FREE char *rm = NULL, *one = NULL, *two = NULL, *own = NULL;
	AUTO_FREE struct process_list *l = xcalloc(1, sizeof *l);
	struct cgroup_mounts m;
	int pid = (int)getpid(), parent = (int)getppid();

	(void)state;
	assert_non_null(mkdtemp(root));
	rm = xasprintf("rm -rf %s", root);
	one = xasprintf("%d\n", pid);
	two = xasprintf("%d\n%d\n", parent, pid); /* one of them moved while it was looked */
	own = xasprintf("proc/%d/cgroup", pid);
	write_at(root, "proc/self/mountinfo",
		"30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	write_at(root, own, "0::/c/" ID "/init.scope\n");
	write_at(root, GROUP "/cgroup.procs", "");
	write_at(root, GROUP "/init.scope/cgroup.procs", one);
	write_at(root, GROUP "/system.slice/a.service/cgroup.procs", two);
	write_at(root, GROUP "/system.slice/a.service/deep/er/cgroup.procs", "1\n");
	assert_int_equal(cgroup_mounts_read(&m, root, NULL), 0);
	process_list_init(l);
	snprintf(l->id, sizeof l->id, ID);
	l->pid = pid;
	for (int again = 0; again < 2; again++) {
		process_list_read(l, &m);
		assert_true(l->ok);
		assert_int_equal(l->n, parent > 1 ? 3 : 2);
		assert_int_equal(l->process[0].pid, 1);
		for (size_t i = 1; i < l->n; i++)
			assert_true(l->process[i].pid > l->process[i - 1].pid);
	}
	process_list_release(l);
	cgroup_mounts_release(&m);
	assert_int_equal(system(rm), 0);
#undef GROUP
}

/* Used and free are those of df: blocks that are reserved for root are neither. */
static void test_disk_as_df(void **state)
{
	struct host_stats now = {0};
	struct statvfs a, b;

	(void)state;
	/* Others write, too: until nothing changed while it was read. */
	for (int i = 0; i < 100000; i++) {
		struct host h;

		host_init(&h);
		assert_int_equal(statvfs("/", &a), 0);
		host_read(&h, "/", &now);
		assert_int_equal(statvfs("/", &b), 0);
		if (a.f_bfree == b.f_bfree && a.f_bavail == b.f_bavail)
			break;
	}
	assert_true(now.disk_total_bytes == (uint64_t)a.f_blocks * a.f_frsize);
	assert_true(now.disk_used_bytes == (uint64_t)(a.f_blocks - a.f_bfree) * a.f_frsize);
	assert_true(now.disk_free_bytes == (uint64_t)a.f_bavail * a.f_frsize);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scan_numbers),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_scan_keys),
		cmocka_unit_test(test_cpu_line),
		cmocka_unit_test(test_stat_line),
		cmocka_unit_test(test_v1),
		cmocka_unit_test(test_v2),
		cmocka_unit_test(test_debian),
		cmocka_unit_test(test_podman),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_hostile_cgroup),
		cmocka_unit_test(test_memory_moves),
		cmocka_unit_test(test_quiet),
		cmocka_unit_test(test_throttling),
		cmocka_unit_test(test_pressure),
		cmocka_unit_test(test_disk_as_df),
		cmocka_unit_test(test_processes_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
