/* checkpoint.c - checkpoints of a tree: everything comes back, the second costs little, damage is seen. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <cmocka.h>

#include <berth/checkpoint.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "lib/tree.h"

static struct checkpoint_store *store;
static int root;
static struct err e;

/* Once, when root/turns was listed, root/other takes its place. */
static bool turning;

ssize_t llistxattr(const char *path, char *list, size_t n)
{
	const char *leaf = strrchr(path, '/');
	ssize_t rc = syscall(SYS_llistxattr, path, list, n);
	int saved = errno;

	if (turning && leaf && strcmp(leaf, "/turns") == 0) {
		turning = false;
		assert_int_equal(renameat2(AT_FDCWD, tree_path("root/other"), AT_FDCWD,
					 tree_path("root/turns"), RENAME_EXCHANGE),
			0);
	}
	errno = saved;
	return rc;
}

static int setup(void **state)
{
	(void)state;
	tree_make("checkpoint");
	tree_mkdirs("root");
	root = open(tree_path("root"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	store = checkpoint_open(tree_path("store"), &e);
	assert_non_null(store);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	checkpoint_close(store);
	close(root);
	tree_remove();
	return 0;
}

/* Past the ticks in which a time of change vouches for nothing. */
static void let_settle(void)
{
	struct timespec tick, wait;

	clock_getres(CLOCK_REALTIME_COARSE, &tick);
	wait = (struct timespec){0, 4 * tick.tv_nsec};
	nanosleep(&wait, NULL);
}

static void make_point(const char *name)
{
	if (checkpoint_make(store, root, name, NULL, NULL, &e) < 0)
		fail_msg("%s: %s", name, e.msg);
}

static struct checkpoint_info make_told(const char *name)
{
	struct checkpoint_info i;

	if (checkpoint_make(store, root, name, NULL, &i, &e) < 0)
		fail_msg("%s: %s", name, e.msg);
	return i;
}

static struct checkpoint_restored restore_point(const char *name, const char *undo)
{
	struct checkpoint_restored r;

	if (checkpoint_restore(store, root, name, undo, NULL, &r, &e) < 0)
		fail_msg("%s: %s", name, e.msg);
	return r;
}

/* Another program's view of the whole tree: types, modes, owners, sizes, times, targets, links, contents. */
static char *describe_tree(const char *name)
{
	char command[PATH_MAX], buf[4096];
	AUTO_STR struct str text = STR_INIT;
	size_t n;
	FILE *p;

	snprintf(command, sizeof command,
		"cd '%s' && LC_ALL=C && export LC_ALL && "
		"{ find . -type d -printf '%%P|d|%%m|%%U|%%G|%%T@\\n'; "
		"find . ! -type d -printf '%%P|%%y|%%m|%%U|%%G|%%s|%%T@|%%l|%%n\\n'; "
		"find . -type f -exec sha256sum {} +; } | sort",
		tree_path(name));
	p = popen(command, "r");
	assert_non_null(p);
	while ((n = fread(buf, 1, sizeof buf, p)) > 0)
		str_add(&text, buf, n);
	assert_int_equal(pclose(p), 0);
	return str_detach(&text);
}

static void assert_tree(const char *name, const char *want)
{
	AUTO_FREE char *is = describe_tree(name);

	assert_string_equal(is, want);
}

static void set_mtime(const char *name, time_t s, long ns)
{
	struct timespec t[2] = {{s, ns}, {s, ns}};

	assert_int_equal(utimensat(AT_FDCWD, tree_path(name), t, AT_SYMLINK_NOFOLLOW), 0);
}

static void write_sparse(const char *name)
{
	int fd = open(tree_path(name), O_WRONLY | O_CREAT, 0640);

	assert_int_equal(pwrite(fd, "begin", 5, 0), 5);
	assert_int_equal(pwrite(fd, "end", 3, 64 << 20), 3);
	assert_int_equal(ftruncate(fd, 80 << 20), 0);
	close(fd);
}

static void write_large(const char *name, size_t n, unsigned seed)
{
	AUTO_FREE char *bytes = xmalloc(n);
	int fd = open(tree_path(name), O_WRONLY | O_CREAT | O_TRUNC, 0644);

	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)((seed = seed * 1103515245 + 12345) >> 16);
	assert_int_equal(write(fd, bytes, n), (ssize_t)n);
	close(fd);
}

/* One of each kind. */
static void fill_root(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd;

	tree_mkdirs("root/src/deep/er");
	tree_mkdirs("root/empty");
	tree_text("root/.gitignore", "*.log\n");
	tree_text("root/ignored.log", "ignored");
	tree_text("root/src/a.c", "int main;\n");
	tree_text("root/src/none", "");
	tree_text("root/src/deep/er/x", "x");
	tree_text("root/name with\nnewline \xff", "odd");
	tree_text("root/one", "linked");
	assert_int_equal(link(tree_path("root/one"), tree_path("root/src/two")), 0);
	assert_int_equal(link(tree_path("root/one"), tree_path("root/src/deep/three")), 0);
	assert_int_equal(symlink("../../outside", tree_path("root/src/link")), 0);
	assert_int_equal(symlink("nowhere", tree_path("root/dangling")), 0);
	assert_int_equal(mkfifo(tree_path("root/pipe"), 0600), 0);
	snprintf(at.sun_path, sizeof at.sun_path, "%s", tree_path("root/sock"));
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	close(fd);
	write_sparse("root/sparse");
	write_large("root/large", 3000001, 7);
	assert_int_equal(chmod(tree_path("root/src/a.c"), 04751), 0);
	assert_int_equal(chmod(tree_path("root/empty"), 01777), 0);
	assert_int_equal(chmod(tree_path("root/src/none"), 0), 0);
	assert_int_equal(setxattr(tree_path("root/one"), "user.berth.a", "1\0002", 3, 0), 0);
	assert_int_equal(setxattr(tree_path("root/src"), "user.berth.dir", "", 0, 0), 0);
	if (geteuid() == 0) {
		assert_int_equal(lchown(tree_path("root/dangling"), 12, 34), 0);
		assert_int_equal(chown(tree_path("root/src/deep/er/x"), 1000, 1001), 0);
	}
	set_mtime("root/src/a.c", 1000000000, 123456789);
	set_mtime("root/dangling", 1000000001, 5);
	set_mtime("root/large", -5, 999999999);
	set_mtime("root/src/deep", 1000000002, 1);
}

static void spoil_root(void)
{
	char command[PATH_MAX];

	assert_int_equal(chmod(tree_path("root/src/none"), 0600), 0);
	snprintf(command, sizeof command,
		"cd '%s' && rm -rf src/deep pipe dangling large && mkdir large pipe && echo n > large/n && "
		"echo changed >> one && rm src/two && echo own > src/two && mv src/a.c moved && "
		"rmdir empty && echo file > empty && ln -s /etc src/new && chmod 600 .gitignore && "
		"touch ignored.log && rm sparse && echo x > sparse",
		tree_path("root"));
	assert_int_equal(system(command), 0);
	assert_int_equal(removexattr(tree_path("root/src"), "user.berth.dir"), 0);
	assert_int_equal(setxattr(tree_path("root/src"), "user.berth.more", "m", 1, 0), 0);
}

static void test_round_trip(void **state)
{
	AUTO_FREE char *before = NULL, *spoiled = NULL;
	struct checkpoint_info made;
	struct stat was, is, holes;
	char value[8];

	(void)state;
	fill_root();
	before = describe_tree("root");
	assert_int_equal(fstat(root, &was), 0);
	made = make_told("first");
	assert_int_equal(made.files, 11);
	assert_int_equal(made.dirs, 5);
	assert_int_equal(made.others, 4);
	assert_false(made.synced);
	assert_int_equal(checkpoint_sync(store, "first", &e), 0);
	assert_int_equal(checkpoint_show(store, "first", &made, &e), 0);
	assert_true(made.synced);
	assert_tree("root", before); /* and it left no trace */
	spoil_root();
	spoiled = describe_tree("root");
	restore_point("first", "undo");
	assert_tree("root", before);
	assert_int_equal(fstat(root, &is), 0);
	assert_int_equal(is.st_ino, was.st_ino);
	assert_int_equal(stat(tree_path("root"), &is), 0);
	assert_int_equal(is.st_ino, was.st_ino);
	assert_int_equal(getxattr(tree_path("root/src/two"), "user.berth.a", value, 8), 3);
	assert_memory_equal(value, "1\0002", 3);
	assert_int_equal(getxattr(tree_path("root/src"), "user.berth.dir", value, 8), 0);
	assert_true(getxattr(tree_path("root/src"), "user.berth.more", value, 8) < 0);
	assert_int_equal(stat(tree_path("root/one"), &was), 0);
	assert_int_equal(stat(tree_path("root/src/deep/three"), &is), 0);
	assert_int_equal(was.st_ino, is.st_ino);
	assert_int_equal(stat(tree_path("root/sparse"), &holes), 0);
	assert_true(holes.st_blocks * 512 < 1 << 20);
	/* And back again: a restore can be undone. */
	restore_point("undo", NULL);
	assert_tree("root", spoiled);
	assert_int_equal(checkpoint_verify(store, "first", &e), 0);
	assert_int_equal(checkpoint_verify(store, "undo", &e), 0);
}

/* Nanoseconds of these times take more than 64 bits; a file system without such years gives others. */
static void test_far_times(void **state)
{
	static const time_t years[] = {
		-62135596800, -9300000000, 9300000000, 15032385535, 253402300799};
	struct stat before[COUNT(years)], after;
	char name[32];

	(void)state;
	for (size_t i = 0; i < COUNT(years); i++) {
		snprintf(name, sizeof name, "root/far%zu", i);
		tree_text(name, "far");
		set_mtime(name, years[i], 123456789);
		assert_int_equal(lstat(tree_path(name), &before[i]), 0);
	}
	make_point("far");
	for (size_t i = 0; i < COUNT(years); i++) {
		snprintf(name, sizeof name, "root/far%zu", i);
		if (i % 2)
			assert_int_equal(unlink(tree_path(name)), 0);
		else
			set_mtime(name, 5, 5);
	}
	restore_point("far", NULL);
	for (size_t i = 0; i < COUNT(years); i++) {
		snprintf(name, sizeof name, "root/far%zu", i);
		assert_int_equal(lstat(tree_path(name), &after), 0);
		assert_int_equal(after.st_mtim.tv_sec, before[i].st_mtim.tv_sec);
		assert_int_equal(after.st_mtim.tv_nsec, before[i].st_mtim.tv_nsec);
	}
}

static int fork_into(const char *name, int fd)
{
	struct checkpoint_target t = {.root = fd};
	int rc = checkpoint_fork(store, name, &t, 1, &e);

	if (rc == 0 && t.err.kind != ERR_NONE)
		rc = err_copy(&e, &t.err);
	return rc;
}

/* Names of one link in directories that several threads list: reading it changes its time of access, also for who looks
 * at another of its names. */
static void test_linked_links(void **state)
{
	enum { DIRS = 64, LINKS = 100 };
	const struct timespec old[2] = {{1000, 0}, {2000, 0}};
	AUTO_CLOSE int to = -1;
	char from[64], name[64];
	struct stat st;

	(void)state;
	for (int d = 0; d < DIRS; d++) {
		snprintf(name, sizeof name, "root/%d", d);
		tree_mkdirs(name);
		for (int i = 0; i < LINKS; i++) {
			snprintf(from, sizeof from, "0/%d", i);
			snprintf(name, sizeof name, "%d/%d", d, i);
			assert_int_equal(
				d ? linkat(root, from, root, name, 0) : symlinkat("x", root, name),
				0);
		}
	}
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < LINKS; i++) {
			snprintf(name, sizeof name, "0/%d", i);
			assert_int_equal(utimensat(root, name, old, AT_SYMLINK_NOFOLLOW), 0);
		}
		snprintf(name, sizeof name, "p%d", round);
		make_point(name);
		snprintf(from, sizeof from, "fork%d", round);
		tree_mkdirs(from);
		to = open(tree_path(from), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_int_equal(fork_into(name, to), 0);
		for (int i = 0; i < LINKS; i++) {
			snprintf(name, sizeof name, "%d/%d", i % DIRS, i);
			assert_int_equal(fstatat(to, name, &st, AT_SYMLINK_NOFOLLOW), 0);
			assert_int_equal(st.st_nlink, DIRS);
			assert_int_equal(st.st_atim.tv_sec, 1000);
		}
		close(steal_fd(&to));
	}
}

static void test_same_stays(void **state)
{
	struct checkpoint_restored r;
	struct stat was, is;

	(void)state;
	fill_root();
	make_point("a");
	assert_int_equal(stat(tree_path("root/large"), &was), 0);
	tree_text("root/src/deep/er/x", "y");
	r = restore_point("a", "b");
	assert_int_equal(r.written, 1);
	assert_int_equal(r.removed, 0);
	assert_int_equal(r.bytes, 1);
	assert_int_equal(stat(tree_path("root/large"), &is), 0);
	assert_int_equal(is.st_ino, was.st_ino);
	assert_int_equal(is.st_ctim.tv_nsec, was.st_ctim.tv_nsec);
}

/* A link from outside keeps what it shows; nothing stored is reached from the tree. */
static void test_outer_links(void **state)
{
	struct stat st;

	(void)state;
	tree_text("root/f", "old");
	assert_int_equal(link(tree_path("root/f"), tree_path("outside")), 0);
	make_point("a");
	assert_int_equal(chmod(tree_path("outside"), 0600), 0);
	restore_point("a", NULL);
	assert_int_equal(stat(tree_path("outside"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_nlink, 1);
	assert_true(tree_has("root/f", "old"));
	assert_int_equal(stat(tree_path("store/packs/1"), &st), 0);
	assert_int_equal(st.st_nlink, 1);
}

static void test_second_costs_little(void **state)
{
	struct checkpoint_info i;
	char name[64];

	(void)state;
	for (int k = 0; k < 200; k++) {
		snprintf(name, sizeof name, "root/f%d", k);
		write_large(name, 5000, (unsigned)k);
	}
	let_settle();
	i = make_told("a");
	assert_int_equal(i.stored, 200 * 5000);
	let_settle();
	tree_text("root/f7", "seven");
	tree_text("root/f8", "eight!");
	/* The same bytes elsewhere cost nothing. */
	assert_int_equal(rename(tree_path("root/f9"), tree_path("root/moved")), 0);
	write_large("root/copy", 5000, 10);
	i = make_told("b");
	assert_int_equal(i.stored, 11);
	assert_int_equal(i.bytes, 199 * 5000 + 11);
	i = make_told("c");
	assert_int_equal(i.stored, 0);
}

static void make_typed(const char *path, mode_t type)
{
	char inner[64];

	snprintf(inner, sizeof inner, "%s/inner", path);
	switch (type) {
	case S_IFREG: tree_text(path, "file\n"); break;
	case S_IFLNK: assert_int_equal(symlink("/etc/hostname", tree_path(path)), 0); break;
	case S_IFIFO: assert_int_equal(mkfifo(tree_path(path), 0600), 0); break;
	default: tree_text(inner, "in it\n");
	}
}

static void assert_type_saved(const char *point, mode_t from, mode_t to)
{
	AUTO_FREE char *clear =
		xasprintf("rm -rf %s %s", tree_path("root/turns"), tree_path("root/other"));
	AUTO_STR struct str text = STR_INIT;
	struct checkpoint_entry x = {0};
	struct checkpoint_tree *t;
	struct checkpoint_info i;

	assert_int_equal(system(clear), 0);
	make_typed("root/turns", from);
	make_typed("root/other", to);
	turning = true;
	i = make_told(point);
	assert_false(turning);
	assert_int_equal(i.unread + i.moving, 0);
	/* Another thread may have listed other/inner before it became turns/inner: that name is gone. */
	assert_in_range(i.gone, 0, to == S_IFDIR);
	t = checkpoint_tree_of(store, point, &e);
	assert_non_null(t);
	assert_true(checkpoint_lookup(t, "turns", &x));
	assert_int_equal(x.mode & S_IFMT, to);
	if (to == S_IFDIR)
		assert_true(checkpoint_lookup(t, "turns/inner", &x));
	if (to == S_IFREG || to == S_IFDIR)
		assert_int_equal(checkpoint_content(t, &x, 100, &text, &e), 0);
	checkpoint_tree_free(t);
}

/* What is of another type when it is read, or listed, is saved as what it is by then. */
static void test_types_change(void **state)
{
	static const mode_t types[] = {S_IFREG, S_IFLNK, S_IFIFO, S_IFDIR};
	char point[16];

	(void)state;
	for (size_t b = 0; b < COUNT(types); b++)
		for (size_t a = 0; a < COUNT(types); a++) {
			/* Of a link and a pipe nothing is read later. */
			if (a == b || types[a] == S_IFLNK || types[a] == S_IFIFO)
				continue;
			snprintf(point, sizeof point, "p%zu-%zu", a, b);
			assert_type_saved(point, types[a], types[b]);
		}
}

/* A file of ours, written through its mapping before the checkpoint a and after it. */
static char *write_mapped(void)
{
	char *at;
	int fd;

	tree_text("root/m", "0000");
	fd = open(tree_path("root/m"), O_RDWR);
	at = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	memcpy(at, "1111", 4);
	let_settle();
	make_point("a");
	let_settle();
	memcpy(at, "2222", 4);
	return at;
}

/* Written twice through a mapping: the second time changes neither time, nor does the end of the mapping. */
static void test_mapping_alive(void **state)
{
	char *at = write_mapped();

	(void)state;
	make_point("b");
	munmap(at, 4);
	restore_point("a", NULL);
	assert_true(tree_has("root/m", "1111"));
	restore_point("b", NULL);
	assert_true(tree_has("root/m", "2222"));
}

static void test_mapping_gone(void **state)
{
	char *at = write_mapped();

	(void)state;
	munmap(at, 4);
	make_point("b");
	restore_point("a", NULL);
	restore_point("b", NULL);
	assert_true(tree_has("root/m", "2222"));
}

static void test_damaged(void **state)
{
	AUTO_FREE char *good = NULL;
	struct checkpoint_info i;
	int fd;

	(void)state;
	write_large("root/f", 100000, 1);
	make_point("a");
	write_large("root/f", 100000, 2);
	good = describe_tree("root");
	fd = open(tree_path("store/packs/1"), O_WRONLY);
	assert_int_equal(pwrite(fd, "damage", 6, 5000), 6);
	close(fd);
	assert_int_equal(checkpoint_verify(store, "a", &e), -1);
	assert_int_equal(e.kind, ERR_FAILED);
	assert_non_null(strstr(e.msg, "its copy of f differs from what was stored"));
	assert_int_equal(checkpoint_restore(store, root, "a", "undo", NULL, NULL, &e), -1);
	assert_tree("root", good);
	fd = open(tree_path("store/checkpoints/undo"), O_WRONLY);
	assert_int_equal(pwrite(fd, "damage", 6, 300), 6);
	close(fd);
	assert_int_equal(checkpoint_restore(store, root, "undo", NULL, NULL, NULL, &e), -1);
	assert_non_null(strstr(e.msg, "undo is damaged"));
	assert_tree("root", good);
	assert_int_equal(truncate(tree_path("store/checkpoints/undo"), 100), 0);
	assert_int_equal(checkpoint_show(store, "undo", &i, &e), 0);
	assert_true(i.damaged);
	assert_int_equal(checkpoint_drop(store, "undo", NULL, &e), 0);
}

static void test_drop(void **state)
{
	struct checkpoint_info *all;
	uint64_t freed;
	struct stat st;
	size_t n;

	(void)state;
	write_large("root/gone", 2000000, 1);
	write_large("root/stays", 500000, 2);
	make_point("a");
	assert_int_equal(unlink(tree_path("root/gone")), 0);
	make_point("b");
	assert_int_equal(checkpoint_list(store, &all, &n, &e), 0);
	assert_int_equal(n, 2);
	assert_string_equal(all[0].name, "a");
	assert_string_equal(all[1].name, "b");
	free(all);
	/* b needs a part of a's pack: the rest is given back. */
	assert_int_equal(checkpoint_drop(store, "a", &freed, &e), 0);
	assert_true(freed > 1900000);
	assert_int_equal(checkpoint_verify(store, "b", &e), 0);
	write_large("root/stays", 10, 3);
	restore_point("b", NULL);
	assert_int_equal(stat(tree_path("root/stays"), &st), 0);
	assert_int_equal(st.st_size, 500000);
	assert_int_equal(checkpoint_drop(store, "b", &freed, &e), 0);
	assert_false(tree_exists("store/packs/1"));
	assert_int_equal(checkpoint_drop(store, "b", NULL, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
}

static void test_fork(void **state)
{
	AUTO_FREE char *before = NULL;
	char name[32];
	int fd;

	(void)state;
	fill_root();
	before = describe_tree("root");
	make_point("a");
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof name, "fork%d", i);
		tree_mkdirs(name);
		fd = open(tree_path(name), O_RDONLY | O_DIRECTORY);
		if (fork_into("a", fd) < 0)
			fail_msg("%s", e.msg);
		assert_tree(name, before);
		assert_int_equal(fork_into("a", fd), -1);
		assert_int_equal(e.kind, ERR_CONFLICT);
		close(fd);
	}
}

/* Many at once: one that cannot be is told, and is no hindrance to the others. */
static void test_forks_at_once(void **state)
{
	enum { FORKS = 7, BAD = 3 };
	struct checkpoint_target t[FORKS] = {0};
	AUTO_FREE char *before = NULL;
	char name[32];

	(void)state;
	fill_root();
	before = describe_tree("root");
	make_point("a");
	for (int i = 0; i < FORKS; i++) {
		snprintf(name, sizeof name, "fork%d", i);
		tree_mkdirs(name);
		t[i].root = open(tree_path(name), O_RDONLY | O_DIRECTORY);
		snprintf(name, sizeof name, "own%d", i);
		t[i].begins = checkpoint_open(tree_path(name), &e);
		assert_non_null(t[i].begins);
	}
	tree_text("fork3/mine", "x");
	assert_int_equal(checkpoint_fork(store, "none", t, FORKS, &e), -1);
	assert_int_equal(checkpoint_fork(store, "a", t, FORKS, &e), 0);
	for (int i = 0; i < FORKS; i++) {
		struct checkpoint_tree *start = checkpoint_tree_start(t[i].begins, t[i].root, NULL);

		snprintf(name, sizeof name, "fork%d", i);
		if (i == BAD) {
			assert_int_equal(t[i].err.kind, ERR_CONFLICT);
			assert_int_equal(tree_count(tree_path(name)), 1);
			assert_null(start);
		} else {
			assert_int_equal(t[i].err.kind, ERR_NONE);
			assert_tree(name, before);
			assert_string_equal(checkpoint_tree_name(start), "a");
		}
		checkpoint_tree_free(start);
		checkpoint_close(t[i].begins);
		close(t[i].root);
	}
}

static void test_deep_tree(void **state)
{
	char command[PATH_MAX];
	int fd;

	(void)state;
	fd = tree_deep("root/deep");
	assert_int_equal(mkdirat(fd, "last", 0700), 0);
	close(fd);
	make_point("a");
	snprintf(command, sizeof command, "cd '%s' && find . | wc -l > ../before && rm -rf deep",
		tree_path("root"));
	assert_int_equal(system(command), 0);
	restore_point("a", NULL);
	snprintf(command, sizeof command, "cd '%s' && find . | wc -l | cmp - ../before",
		tree_path("root"));
	assert_int_equal(system(command), 0);
	make_point("b");
}

static void test_names(void **state)
{
	static const char *const bad[] = {"", ".", "..", ".x", "a/b", "a b", "a\n",
		"12345678901234567890123456789012345678901234567890123456789012345"};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		assert_int_equal(checkpoint_make(store, root, bad[i], NULL, NULL, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
	}
	make_point("A-1_b.c");
	assert_int_equal(checkpoint_make(store, root, "A-1_b.c", NULL, NULL, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_int_equal(checkpoint_restore(store, root, "none", "u", NULL, NULL, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_false(tree_exists("store/checkpoints/u"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {CASE(test_round_trip), CASE(test_far_times),
		CASE(test_linked_links), CASE(test_same_stays), CASE(test_outer_links),
		CASE(test_second_costs_little), CASE(test_types_change), CASE(test_mapping_alive),
		CASE(test_mapping_gone), CASE(test_damaged), CASE(test_drop), CASE(test_fork),
		CASE(test_forks_at_once), CASE(test_deep_tree), CASE(test_names)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
