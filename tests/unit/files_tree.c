/* files_tree.c - copying, moving and deleting trees. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "lib/rooted.h"

#define STAGE_LIKE ".berth-0123456789abcdef0123456789abcdef"

static enum err_kind copy_tree(const char *from, const char *to, const struct files_copy_options *o,
	struct files_tree_totals *t)
{
	struct files_tree_totals mine;
	struct err e = ERR_INIT;

	files_copy(f, root, from, root, to, o, t ? t : &mine, &e);
	return e.kind;
}

static enum err_kind delete_tree(const char *path, bool recursive)
{
	struct files_tree_totals t;
	struct err e = ERR_INIT;

	files_delete(f, root, path, recursive, &t, &e);
	return e.kind;
}

static enum err_kind move_tree(const char *from, const char *to, bool overwrite)
{
	struct files_tree_totals t;
	struct err e = ERR_INIT;

	files_move(f, root, from, to, overwrite, &t, &e);
	return e.kind;
}

/* Equal in names, types, content, modes, times, links: as find and diff see it. */
/* Calls of the copy under test: before each the source grows, and how far is written is noted. */
static struct {
	int source; /* -1: nothing grows */
	unsigned left;
	off_t far;
} growing = {.source = -1};

static void grow_source(void)
{
	struct stat st;

	if (growing.source < 0 || !growing.left)
		return;
	growing.left--;
	assert_int_equal(fstat(growing.source, &st), 0);
	assert_int_equal(
		syscall(SYS_pwrite64, growing.source, "more", 4, st.st_size + (1 << 20)), 4);
}

ssize_t copy_file_range(int in, off_t *at_in, int out, off_t *at_out, size_t n, unsigned flags)
{
	grow_source();
	if (growing.source >= 0 && *at_out + (off_t)n > growing.far)
		growing.far = *at_out + (off_t)n;
	return syscall(SYS_copy_file_range, in, at_in, out, at_out, n, flags);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
	grow_source();
	if (growing.source >= 0 && at + (off_t)n > growing.far)
		growing.far = at + (off_t)n;
	return syscall(SYS_pwrite64, fd, bytes, n, at);
}

/* Who may rename there while the copy is made: once, behind a name that it made, `with` takes the place of that, or of
 * `at`; both below the scratch directory. */
static struct {
	const char *with, *at;
} swapping;

static void swap_made(int dir, const char *name)
{
	const char *with = swapping.with;

	if (!with)
		return;
	swapping.with = NULL;
	if (swapping.at) {
		dir = AT_FDCWD;
		name = tree_path(swapping.at);
	}
	assert_int_equal(renameat(dir, name, AT_FDCWD, tree_path("root/away")), 0);
	assert_int_equal(renameat(AT_FDCWD, tree_path(with), dir, name), 0);
}

int symlinkat(const char *target, int dir, const char *name)
{
	int rc = (int)syscall(SYS_symlinkat, target, dir, name);

	if (rc == 0)
		swap_made(dir, name);
	return rc;
}

int mkdirat(int dir, const char *name, mode_t mode)
{
	int rc = (int)syscall(SYS_mkdirat, dir, name, mode);

	if (rc == 0 && !swapping.at)
		swap_made(dir, name);
	return rc;
}

static const char *vanishing; /* the name of a link that is gone when it is read */

/* Once, when that path is opened or read by its last part, root/other takes its place. */
static struct {
	const char *name;
} changing;

static void change_type(const char *name)
{
	const char *leaf = changing.name ? strrchr(changing.name, '/') + 1 : NULL;

	if (!leaf || strcmp(name, leaf) != 0)
		return;
	assert_int_equal(
		renameat(AT_FDCWD, tree_path(changing.name), AT_FDCWD, tree_path("root/was")), 0);
	assert_int_equal(
		renameat(AT_FDCWD, tree_path("root/other"), AT_FDCWD, tree_path(changing.name)), 0);
	changing.name = NULL;
}

int openat(int dir, const char *name, int flags, ...)
{
	va_list rest;
	mode_t mode;

	va_start(rest, flags);
	mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	change_type(name);
	return (int)syscall(SYS_openat, dir, name, flags, mode);
}

ssize_t readlinkat(int dir, const char *name, char *buf, size_t n)
{
	if (vanishing && strcmp(name, vanishing) == 0)
		unlinkat(dir, name, 0);
	change_type(name);
	return syscall(SYS_readlinkat, dir, name, buf, n);
}

static void assert_same(const char *a, const char *b)
{
	char command[8 * PATH_MAX];

	snprintf(command, sizeof command,
		"a=%s; b=%s; diff -r --no-dereference $a $b && "
		"[ \"$(cd $a && find . -printf '%%p %%y %%m %%s %%l %%n %%T@\\n' | sort)\" = "
		"\"$(cd $b && find . -printf '%%p %%y %%m %%s %%l %%n %%T@\\n' | sort)\" ]",
		tree_path(a), tree_path(b));
	if (system(command) != 0)
		fail_msg("%s and %s differ", a, b);
}

static void build_tree(void)
{
	char name[64], *hole = calloc(1, 300000);

	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "root/src/d%d/e%d/f%d", i % 5, i % 3, i);
		tree_text(name, name);
	}
	memset(hole, 'x', 300000);
	tree_write("root/src/large", hole, 300000);
	free(hole);
	tree_text("root/src/empty", "");
	tree_mkdirs("root/src/nothing");
	chmod(tree_path("root/src/nothing"), 0555);
	chmod(tree_path("root/src/large"), 0640);
	int fd = open(tree_path("root/src/sparse"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(pwrite(fd, "end", 3, 5 << 20), 3);
	close(fd);
	assert_int_equal(link(tree_path("root/src/large"), tree_path("root/src/d1/again")), 0);
	assert_int_equal(symlink("../../outside", tree_path("root/src/d1/out")), 0);
	assert_int_equal(symlink("large", tree_path("root/src/in")), 0);
	assert_int_equal(symlink("gone", tree_path("root/src/dangling")), 0);
}

static void test_copy_tree(void **state)
{
	struct files_copy_options o = {0};
	struct files_tree_totals t;
	struct stat st;

	(void)state;
	tree_text("outside", "outside");
	build_tree();
	assert_int_equal(copy_tree("src", "dst", &o, &t), ERR_NONE);
	assert_int_equal(t.files, 304);
	assert_int_equal(t.links, 3);
	assert_int_equal(t.errors, 0);
	assert_same("root/src", "root/dst");
	assert_int_equal(stat(tree_path("root/dst/sparse"), &st), 0);
	assert_true(st.st_blocks * 512 < 1 << 20);
	assert_int_equal(copy_tree("src", "dst", &o, &t), ERR_CONFLICT);
	/* Resume: what is whole stays, what is half or gone is made good. */
	tree_text("root/dst/large", "half");
	unlink(tree_path("root/dst/d1/e1/f1"));
	o.resume = true;
	assert_int_equal(copy_tree("src", "dst", &o, &t), ERR_NONE);
	assert_true(t.skipped > 250);
	assert_true(tree_has("root/dst/d1/e1/f1", "root/src/d1/e1/f1"));
	assert_int_equal(
		copy_tree("src/empty", "one", &(struct files_copy_options){0}, &t), ERR_NONE);
	assert_int_equal(
		copy_tree("src/in", "link", &(struct files_copy_options){.durable = true}, &t),
		ERR_NONE);
	assert_int_equal(lstat(tree_path("root/link"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static ino_t inode_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(tree_path(name), &st), 0);
	return st.st_ino;
}

/* The second name of a file where the copy has something else: an older file, or a link. */
static void test_copy_names(void **state)
{
	static const struct files_copy_options resume = {.resume = true},
					       overwrite = {.overwrite = true};
	struct files_tree_totals t;

	(void)state;
	tree_text("root/two/a", "new");
	assert_int_equal(link(tree_path("root/two/a"), tree_path("root/two/b")), 0);
	for (int i = 0; i < 2; i++) {
		const struct files_copy_options *o = i ? &overwrite : &resume;

		tree_text("root/names/a", "older");
		tree_text("root/names/b", "older still");
		assert_int_equal(copy_tree("two", "names", o, &t), ERR_NONE);
		assert_true(tree_has("root/names/a", "new") && tree_has("root/names/b", "new"));
		assert_int_equal(inode_of("root/names/a"), inode_of("root/names/b"));
		assert_int_equal(copy_tree("two", "names", o, &t), ERR_NONE);
		assert_int_equal(inode_of("root/names/a"), inode_of("root/names/b"));
		assert_int_equal(delete_tree("names", true), ERR_NONE);
		/* Whichever comes second. */
		tree_mkdirs("root/names");
		assert_int_equal(symlink("x", tree_path("root/names/a")), 0);
		assert_int_equal(symlink("x", tree_path("root/names/b")), 0);
		if (o->overwrite) { /* the links, not what they point to */
			tree_text("root/names/x", "pointed to");
			assert_int_equal(copy_tree("two", "names", o, &t), ERR_NONE);
			assert_true(tree_has("root/names/a", "new") &&
				tree_has("root/names/x", "pointed to"));
			assert_int_equal(inode_of("root/names/a"), inode_of("root/names/b"));
		} else {
			assert_int_equal(copy_tree("two", "names", o, &t), ERR_CONFLICT);
			assert_int_equal(t.errors, 2);
			assert_int_equal(readlink(tree_path("root/names/a"), (char[9]){0}, 9), 1);
			assert_int_equal(readlink(tree_path("root/names/b"), (char[9]){0}, 9), 1);
		}
		assert_int_equal(delete_tree("names", true), ERR_NONE);
	}
	assert_int_equal(delete_tree("two", true), ERR_NONE);
}

/* One of two names is taken, whichever comes first: the other is a copy, never a link to that. */
static void test_copy_name_taken(void **state)
{
	static const char *const names[] = {"a", "b"};
	struct files_copy_options o = {0};
	struct files_tree_totals t;
	struct files_root *from, *to;
	struct err e = ERR_INIT;
	char path[16];

	(void)state;
	tree_text("two/a", "new");
	assert_int_equal(link(tree_path("two/a"), tree_path("two/b")), 0);
	from = files_root_open(f, tree_path("two"), NULL);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "taken%d/%s", i, names[i]);
		tree_text(path, "another's");
		*strchr(path, '/') = '\0';
		to = files_root_open(f, tree_path(path), NULL);
		assert_int_equal(files_copy(f, from, ".", to, ".", &o, &t, &e), -1);
		assert_int_equal(e.kind, ERR_CONFLICT);
		assert_int_equal(t.errors, 1);
		snprintf(path, sizeof path, "taken%d/%s", i, names[i]);
		assert_true(tree_has(path, "another's"));
		snprintf(path, sizeof path, "taken%d/%s", i, names[!i]);
		assert_true(tree_has(path, "new"));
		files_root_close(to);
	}
	files_root_close(from);
}

static _Atomic int no_data; /* errno with which SEEK_DATA fails; 0: it does not */

/* Takes the place of the C library's. */
off_t lseek(int fd, off_t at, int whence)
{
	if (whence == SEEK_DATA && no_data) {
		errno = no_data;
		return -1;
	}
	if (whence == SEEK_DATA)
		grow_source();
	return syscall(SYS_lseek, fd, at, whence);
}

/* A file system that cannot tell where the data are: they are copied all the same. */
static void test_copy_no_data(void **state)
{
	char *bytes = xcalloc(1, 1 << 20);

	(void)state;
	memcpy(bytes + 700000, "middle", 6);
	tree_text("root/holes", "");
	assert_int_equal(truncate(tree_path("root/holes"), 1 << 20), 0);
	int fd = open(tree_path("root/holes"), O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, "middle", 6, 700000), 6);
	close(fd);
	no_data = EINVAL;
	assert_int_equal(
		copy_tree("holes", "filled", &(struct files_copy_options){0}, NULL), ERR_NONE);
	no_data = 0;
	char *got = tree_read("root/filled");

	assert_memory_equal(got, bytes, 1 << 20);
	free(got);
	free(bytes);
}

/* A whole root into a new directory of another, and onto another root. */
static void test_copy_whole(void **state)
{
	struct files_copy_options o = {0};
	struct files_tree_totals t;
	struct err e = ERR_INIT;
	struct files_root *from, *to;

	(void)state;
	tree_mkdirs("other");
	from = files_root_open(f, tree_path("root/src"), NULL);
	to = files_root_open(f, tree_path("other"), NULL);
	assert_int_equal(files_copy(f, from, ".", to, "copy", &o, &t, &e), 0);
	assert_same("root/src", "other/copy");
	files_root_close(to);
	/* It came over as it was, read-only, which only root may pass over. */
	assert_int_equal(chmod(tree_path("other/copy/nothing"), 0755), 0);
	to = files_root_open(f, tree_path("other/copy/nothing"), NULL);
	assert_int_equal(files_copy(f, from, ".", to, ".", &o, &t, &e), 0);
	assert_same("root/src", "other/copy/nothing");
	assert_int_equal(files_copy(f, from, "", to, "./", &o, &t, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	o.overwrite = true;
	assert_int_equal(files_copy(f, from, ".", to, ".", &o, &t, &e), 0);
	assert_int_equal(files_copy(f, from, "large", to, ".", &o, &t, &e), -1);
	assert_int_equal(files_copy(f, from, ".", from, ".", &o, &t, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(files_copy(f, from, ".", from, "inner", &o, &t, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	files_root_close(from);
	files_root_close(to);
}

/* A link that is gone when it is read is left out and counted, as a file is. */
static void test_copy_vanishing(void **state)
{
	struct files_copy_options o = {0};
	struct files_tree_totals t;

	(void)state;
	tree_text("root/passing/stays", "x");
	assert_int_equal(symlink("stays", tree_path("root/passing/goes")), 0);
	vanishing = "goes";
	assert_int_equal(copy_tree("passing", "passed", &o, &t), ERR_NONE);
	vanishing = NULL;
	assert_int_equal(t.errors, 0);
	assert_int_equal(t.gone, 1);
	assert_int_equal(t.links, 0);
	assert_true(tree_exists("root/passed/stays"));
	assert_false(tree_exists("root/passed/goes"));
}

static const char types[] = "fldp";

static void make_typed(const char *path, char type)
{
	switch (type) {
	case 'f': tree_text(path, "file\n"); break;
	case 'l': assert_int_equal(symlink("/etc/hostname", tree_path(path)), 0); break;
	case 'd': tree_mkdirs(path); break;
	default: assert_int_equal(mkfifo(tree_path(path), 0600), 0);
	}
}

/* One of type `from` is of type `to` when it is its turn: what is there by now is copied, nothing is followed; where that
 * cannot be, it is an error of its own. */
static void assert_changed_type(char from, char to)
{
	struct files_copy_options o = {0};
	struct files_tree_totals t;
	struct err e = ERR_INIT;
	struct stat st;
	bool lost = from == 'd' || to == 'd';
	int rc;

	delete_tree("turning", true);
	delete_tree("turned", true);
	delete_tree("was", true);
	tree_text("root/turning/stays", "x");
	make_typed("root/turning/turns", from);
	make_typed("root/other", to);
	changing.name = "root/turning/turns";
	rc = files_copy(f, root, "turning", root, "turned", &o, &t, &e);
	assert_null(changing.name);
	assert_true(tree_exists("root/turned/stays"));
	assert_int_equal(t.errors, lost);
	assert_int_equal(rc, lost ? -1 : 0);
	if (lost) {
		assert_int_equal(e.kind, ERR_CONFLICT);
		assert_non_null(
			strstr(e.msg, "turning/turns: it was replaced in the meantime; the rest"));
		assert_false(tree_exists("root/turned/turns"));
		return;
	}
	assert_int_equal(lstat(tree_path("root/turned/turns"), &st), 0);
	assert_int_equal(S_ISREG(st.st_mode), to == 'f');
	assert_int_equal(S_ISLNK(st.st_mode), to == 'l');
	if (to == 'f')
		assert_int_equal(st.st_size, 5);
}

static void test_copy_changed_types(void **state)
{
	(void)state;
	for (const char *a = types; *a; a++)
		for (const char *b = types; *b; b++)
			if (*a != *b && *a != 'p')
				assert_changed_type(*a, *b);
}

static void test_copy_refused(void **state)
{
	struct files_copy_options o = {0};
	struct files_tree_totals t;

	(void)state;
	assert_int_equal(copy_tree("src", "src/inner", &o, NULL), ERR_REFUSED);
	assert_int_equal(copy_tree("src", "src/d1/inner", &o, NULL), ERR_REFUSED);
	assert_int_equal(
		copy_tree("src", "src", &(struct files_copy_options){.overwrite = true}, NULL),
		ERR_REFUSED);
	assert_int_equal(copy_tree("src", "../dst", &o, NULL), ERR_REFUSED);
	assert_int_equal(copy_tree("../outside", "x", &o, NULL), ERR_REFUSED);
	assert_int_equal(copy_tree("gone", "x", &o, NULL), ERR_NOT_FOUND);
	assert_int_equal(copy_tree("src", "gone/x", &o, NULL), ERR_NOT_FOUND);
	/* A symlink where a directory of the copy should go is not followed. */
	tree_mkdirs("root/trap");
	tree_mkdirs("victim");
	assert_int_equal(symlink(tree_path("victim"), tree_path("root/trap/d1")), 0);
	copy_tree("src", "trap", &(struct files_copy_options){.overwrite = true}, &t);
	assert_true(t.errors > 0);
	DIR *d = opendir(tree_path("victim"));
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	assert_int_equal(n, 2);
}

/* As cp -a and rsync: a pipe is made anew; a socket and a device are left out, and counted. */
static void test_copy_special(void **state)
{
	struct files_copy_options o = {0};
	struct files_tree_totals t;
	struct stat st;

	(void)state;
	tree_text("root/special/fine", "fine");
	assert_int_equal(mkfifo(tree_path("root/special/fifo"), 0600), 0);
	chmod(tree_path("root/special/fifo"), 0640);
	assert_int_equal(mknod(tree_path("root/special/socket"), S_IFSOCK | 0600, 0), 0);
	assert_int_equal(copy_tree("special", "special2", &o, &t), ERR_NONE);
	assert_int_equal(t.errors, 0);
	assert_int_equal(t.special, 1);
	assert_int_equal(t.files, 2);
	assert_true(tree_has("root/special2/fine", "fine"));
	assert_int_equal(lstat(tree_path("root/special2/fifo"), &st), 0);
	assert_true(S_ISFIFO(st.st_mode) && (st.st_mode & 0777) == 0640);
	assert_false(tree_exists("root/special2/socket"));
	assert_int_equal(copy_tree("special/fifo", "fifo", &o, &t), ERR_NONE);
	assert_int_equal(copy_tree("special/socket", "socket", &o, &t), ERR_REFUSED);
	o.resume = true;
	assert_int_equal(copy_tree("special", "special2", &o, &t), ERR_NONE);
	/* What stands in its place stays, unless it is to be replaced. */
	assert_int_equal(unlink(tree_path("root/special2/fifo")), 0);
	tree_text("root/special2/fifo", "mine");
	assert_int_equal(copy_tree("special", "special2", &o, &t), ERR_CONFLICT);
	assert_true(tree_has("root/special2/fifo", "mine"));
	o.overwrite = true;
	assert_int_equal(copy_tree("special", "special2", &o, &t), ERR_NONE);
	assert_int_equal(lstat(tree_path("root/special2/fifo"), &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
}

/* Exactly these attributes, in any order. */
static void assert_attrs(const char *name, const char *const *want, size_t n)
{
	char names[16384];
	ssize_t len = listxattr(tree_path(name), names, sizeof names);
	size_t have = 0;

	for (char *at = names; at < names + len; at += strlen(at) + 1)
		have++;
	assert_int_equal(have, n);
	for (size_t i = 0; i < n; i++)
		assert_true(getxattr(tree_path(name), want[i], NULL, 0) >= 0);
}

/* Access lists for a user of number 1001, as the kernel has them. */
static const unsigned char some_list[] = {2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 5, 0,
	233, 3, 0, 0, 4, 0, 5, 0, 255, 255, 255, 255, 16, 0, 5, 0, 255, 255, 255, 255, 32, 0, 0, 0,
	255, 255, 255, 255};
#define ACCESS_LIST "system.posix_acl_access"
#define DEFAULT_LIST "system.posix_acl_default"

static void test_copy_attributes(void **state)
{
	static const char *const lists[] = {ACCESS_LIST, DEFAULT_LIST, "user.a"};
	const struct files_copy_options o = {0};
	char long_name[300], value[5000] = "";
	const char *many[24];

	(void)state;
	tree_mkdirs("root/attrs/listed/below");
	tree_mkdirs("root/attrs/plain");
	tree_mkdirs("root/gives");
	tree_text("root/attrs/listed/below/file", "x");
	tree_text("root/attrs/plain/file", "x");
	assert_int_equal(mkfifo(tree_path("root/attrs/fifo"), 0600), 0);
	assert_int_equal(mkfifo(tree_path("root/attrs/plain/fifo"), 0600), 0);
	if (setxattr(tree_path("root/attrs/listed"), DEFAULT_LIST, some_list, sizeof some_list, 0) <
			0 ||
		setxattr(tree_path("root/attrs/listed"), "user.a", "1", 1, 0) < 0) {
		print_message("no access lists or attributes here: %s\n", strerror(errno));
		skip();
	}
	setxattr(tree_path("root/attrs/listed"), ACCESS_LIST, some_list, sizeof some_list, 0);
	setxattr(tree_path("root/attrs/fifo"), ACCESS_LIST, some_list, sizeof some_list, 0);
	/* The place of the copy gives lists to what is made in it. */
	setxattr(tree_path("root/gives"), DEFAULT_LIST, some_list, sizeof some_list, 0);
	assert_int_equal(copy_tree("attrs", "gives/copy", &o, NULL), ERR_NONE);
	assert_attrs("root/gives/copy", NULL, 0);
	assert_attrs("root/gives/copy/listed", lists, 3);
	assert_attrs("root/gives/copy/listed/below", NULL, 0);
	assert_attrs("root/gives/copy/listed/below/file", NULL, 0);
	assert_attrs("root/gives/copy/plain", NULL, 0);
	assert_attrs("root/gives/copy/plain/file", NULL, 0);
	assert_attrs("root/gives/copy/plain/fifo", NULL, 0);
	assert_attrs("root/gives/copy/fifo", lists, 1);
	assert_int_equal(copy_tree("attrs/plain/file", "gives/file", &o, NULL), ERR_NONE);
	assert_attrs("root/gives/file", NULL, 0);
	assert_int_equal(copy_tree("attrs/plain/fifo", "gives/fifo", &o, NULL), ERR_NONE);
	assert_attrs("root/gives/fifo", NULL, 0);
	/* Their names are more than 4 KiB. */
	tree_mkdirs("root/many");
	for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
		snprintf(long_name, sizeof long_name, "user.%02zu%0200d", i, 0);
		many[i] = xstrdup(long_name);
		setxattr(tree_path("root/many"), many[i], value, 1, 0);
	}
	if (getxattr(tree_path("root/many"), many[23], NULL, 0) == 1) {
		assert_int_equal(copy_tree("many", "many2", &o, NULL), ERR_NONE);
		assert_attrs("root/many2", many, sizeof many / sizeof *many);
	}
	for (size_t i = 0; i < sizeof many / sizeof *many; i++)
		free((void *)many[i]);
}

/* Names of one link or pipe are that in the copy, whoever reads the link: its times are from before. */
static void test_copy_other_names(void **state)
{
	static const char *const names[] = {"link", "pipe"};
	const struct timespec old[2] = {{1, 5}, {2, 6}};
	struct files_copy_options o = {0};
	struct files_tree_totals t;
	struct stat st[3];
	char name[64];

	(void)state;
	tree_mkdirs("root/others/d");
	assert_int_equal(symlink("nowhere", tree_path("root/others/link")), 0);
	assert_int_equal(mkfifo(tree_path("root/others/pipe"), 0640), 0);
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof name, "root/others/%s", names[i]);
		for (int n = 1; n < 3; n++) {
			char other[64];

			snprintf(other, sizeof other, "root/others/d/%s%d", names[i], n);
			assert_int_equal(
				linkat(AT_FDCWD, tree_path(name), AT_FDCWD, tree_path(other), 0),
				0);
		}
		assert_int_equal(utimensat(AT_FDCWD, tree_path(name), old, AT_SYMLINK_NOFOLLOW), 0);
	}
	for (int round = 0; round < 2; round++) {
		assert_int_equal(copy_tree("others", "others2", &o, &t), ERR_NONE);
		assert_int_equal(t.links, 3);
		for (int i = 0; i < 2; i++) {
			snprintf(name, sizeof name, "root/others2/%s", names[i]);
			assert_int_equal(lstat(tree_path(name), &st[0]), 0);
			assert_int_equal(st[0].st_nlink, 3);
			assert_int_equal(st[0].st_mtim.tv_nsec, 6);
			if (round == 0) /* a link that is there already is read */
				assert_int_equal(st[0].st_atim.tv_sec, 1);
			for (int n = 1; n < 3; n++) {
				snprintf(name, sizeof name, "root/others2/d/%s%d", names[i], n);
				assert_int_equal(lstat(tree_path(name), &st[n]), 0);
				assert_int_equal(st[n].st_ino, st[0].st_ino);
			}
		}
		o.overwrite = true;
	}
}

/* Also of a file that is read in one piece otherwise. */
static void test_copy_holes(void **state)
{
	static const off_t sizes[] = {12288, 100000, 131072, 131073, 4 << 20};
	struct files_copy_options o = {0};
	char name[64], copy[64];
	struct stat st;

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		snprintf(name, sizeof name, "root/hole%zu", i);
		tree_text(name, "begin");
		int fd = open(tree_path(name), O_WRONLY | O_CLOEXEC);

		assert_int_equal(pwrite(fd, "end", 3, sizes[i] - 3), 3);
		close(fd);
		assert_int_equal(lstat(tree_path(name), &st), 0);
		if (st.st_blocks * 512 >= sizes[i]) {
			print_message("no holes here\n");
			skip();
		}
		snprintf(copy, sizeof copy, "root/hole%zu.copy", i);
		assert_int_equal(copy_tree(name + 5, copy + 5, &o, NULL), ERR_NONE);
		assert_int_equal(lstat(tree_path(copy), &st), 0);
		assert_true(st.st_size == sizes[i] && st.st_blocks * 512 < sizes[i]);
		char *was = tree_read(name), *is = tree_read(copy);

		assert_memory_equal(was, is, (size_t)sizes[i]);
		free(was);
		free(is);
	}
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(tree_path(name), &st), 0);
	return st.st_mode & 07777;
}

/* What gives rights goes with the owner only; the rest of a mode always. */
static void test_copy_modes(void **state)
{
	static const mode_t modes[] = {0640, 01777, 02775, 03770, 06755, 07777};
	char name[64], copy[64];

	(void)state;
	for (int keep = 0; keep < 2; keep++) {
		const struct files_copy_options o = {.keep_owner = keep};

		for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
			mode_t as = keep ? modes[i] : modes[i] & ~(mode_t)(S_ISUID | S_ISGID);

			snprintf(name, sizeof name, "root/modes%d/d%zu", keep, i);
			tree_mkdirs(name);
			assert_int_equal(chmod(tree_path(name), modes[i]), 0);
			snprintf(name, sizeof name, "root/modes%d/f%zu", keep, i);
			tree_text(name, "x");
			assert_int_equal(chmod(tree_path(name), modes[i]), 0);
			snprintf(name, sizeof name, "root/modes%d/p%zu", keep, i);
			assert_int_equal(mkfifo(tree_path(name), 0600), 0);
			assert_int_equal(chmod(tree_path(name), modes[i]), 0);
			snprintf(name, sizeof name, "modes%d", keep);
			snprintf(copy, sizeof copy, "copy%d.%zu", keep, i);
			assert_int_equal(copy_tree(name, copy, &o, NULL), ERR_NONE);
			snprintf(name, sizeof name, "root/%s/d%zu", copy, i);
			assert_int_equal(mode_of(name), as | (modes[i] & S_ISGID));
			snprintf(name, sizeof name, "root/%s/f%zu", copy, i);
			assert_int_equal(mode_of(name), as);
			snprintf(name, sizeof name, "root/%s/p%zu", copy, i);
			assert_int_equal(mode_of(name), as);
		}
	}
}

/* Where no link is yet: a file is replaced where that was asked for, and else said to be there. */
static void test_copy_link_over(void **state)
{
	struct files_copy_options o = {.resume = true};
	struct files_tree_totals t;
	char to[8] = "";

	(void)state;
	assert_int_equal(symlink("fine", tree_path("root/a_link")), 0);
	tree_text("root/a_file", "text");
	tree_mkdirs("root/a_dir");
	assert_int_equal(copy_tree("a_link", "a_file", &o, &t), ERR_CONFLICT);
	assert_true(tree_has("root/a_file", "text"));
	o = (struct files_copy_options){.overwrite = true};
	assert_int_equal(copy_tree("a_link", "a_file", &o, &t), ERR_NONE);
	assert_int_equal(readlink(tree_path("root/a_file"), to, sizeof to - 1), 4);
	assert_string_equal(to, "fine");
	assert_int_not_equal(copy_tree("a_link", "a_dir", &o, &t), ERR_NONE);
	/* A file and a pipe over a link: what it points to is left alone. */
	tree_text("root/fine", "pointed to");
	tree_text("root/other", "other");
	assert_int_equal(copy_tree("other", "a_link", &o, &t), ERR_NONE);
	assert_true(tree_has("root/a_link", "other") && tree_has("root/fine", "pointed to"));
	assert_int_equal(mkfifo(tree_path("root/a_pipe"), 0600), 0);
	assert_int_equal(copy_tree("a_pipe", "a_link", &o, &t), ERR_NONE);
	assert_int_equal(copy_tree("other", "a_pipe", &o, &t), ERR_NONE);
	assert_true(tree_has("root/a_pipe", "other"));
	assert_int_not_equal(copy_tree("a_link", "a_dir", &o, &t), ERR_NONE);
	assert_int_equal(remove(tree_path("root/a_link")) | remove(tree_path("root/a_pipe")), 0);
	assert_int_equal(rmdir(tree_path("root/a_dir")), 0);
}

static void test_delete(void **state)
{
	(void)state;
	assert_int_equal(symlink("../../outside", tree_path("root/dst/d2/leads_out")), 0);
	assert_int_equal(delete_tree("dst", false), ERR_REFUSED);
	assert_int_equal(delete_tree("dst", true), ERR_NONE);
	assert_false(tree_exists("root/dst"));
	assert_true(tree_has("outside", "outside"));
	assert_int_equal(delete_tree("dst", true), ERR_NOT_FOUND);
	assert_int_equal(delete_tree("link", false), ERR_NONE);
	assert_true(tree_exists("root/src/large"));
	assert_int_equal(delete_tree("..", true), ERR_USAGE);
	assert_int_equal(delete_tree(".", true), ERR_USAGE);
	assert_int_equal(delete_tree("../outside", true), ERR_REFUSED);
	assert_int_equal(delete_tree("src/d1/out/", false), ERR_USAGE);
	assert_int_equal(delete_tree(STAGE_LIKE, true), ERR_REFUSED);
	assert_int_equal(delete_tree("./" STAGE_LIKE "/x", true), ERR_REFUSED);
	assert_int_equal(delete_tree("src/nothing", false), ERR_NONE);
	tree_mkdirs("root/src/nothing");
	/* Deeper than descriptors, and than a path may be long. */
	close(tree_deep("root/deep"));
	assert_int_equal(delete_tree("deep", true), ERR_NONE);
	assert_false(tree_exists("root/deep"));
	int dirs;

	assert_int_equal(tree_staged("root", &dirs), 0);
}

/* A deletion on another file system that was killed: the next change goes on with it, and a note
 * that names anything else is only removed. */
static void test_noted(void **state)
{
	static const char *const notes[] = {
		"d/.berth.0123456789abcdef.0", "other", "../.berth.out"};
	char path[PATH_MAX];
	struct files_root *r;

	(void)state;
	tree_text("noted/d/.berth.0123456789abcdef.0/0/deep/er/f", "x");
	tree_text("noted/d/.berth.0123456789abcdef.0/0123456789abcdef.7/f", "x");
	tree_text("noted/d/kept", "x");
	tree_text("noted/other", "x");
	tree_text(".berth.out/f", "x");
	for (size_t i = 0; i < COUNT(notes); i++) {
		snprintf(path, sizeof path, "%s/notes/0123456789abcdef0123456789abcdef.%zu",
			tree_place("noted") + strlen(tree_top) + 1, i);
		tree_text(path, notes[i]);
	}
	r = files_root_open(f, tree_path("noted"), NULL);
	struct files_tree_totals t;

	assert_int_equal(files_delete(f, r, "d/kept", false, &t, NULL), 0);
	files_root_close(r);
	assert_false(tree_exists("noted/d/.berth.0123456789abcdef.0"));
	assert_true(tree_exists("noted/d"));
	assert_true(tree_exists("noted/other"));
	assert_true(tree_exists(".berth.out/f"));
	assert_true(tree_is_clean("noted"));
}

static void test_move(void **state)
{
	(void)state;
	tree_text("root/m/a", "a");
	tree_text("root/m/b", "b");
	assert_int_equal(move_tree("m/a", "m/c", false), ERR_NONE);
	assert_true(tree_has("root/m/c", "a"));
	assert_int_equal(move_tree("m/c", "m/b", false), ERR_CONFLICT);
	assert_true(tree_has("root/m/b", "b"));
	assert_int_equal(move_tree("m/c", "m/b", true), ERR_NONE);
	assert_true(tree_has("root/m/b", "a"));
	/* Names of one file: the old one goes, as mv has it; its own name stays. */
	assert_int_equal(link(tree_path("root/m/b"), tree_path("root/m/d")), 0);
	assert_int_equal(move_tree("m/d", "m/b", false), ERR_CONFLICT);
	assert_true(tree_exists("root/m/d"));
	assert_int_equal(move_tree("m/d", "m/b", true), ERR_NONE);
	assert_false(tree_exists("root/m/d"));
	assert_int_equal(move_tree("m/b", "./m/b", true), ERR_NONE);
	assert_true(tree_has("root/m/b", "a"));
	assert_int_equal(move_tree("m", "m/inside", false), ERR_REFUSED);
	assert_int_equal(move_tree("m/b", "../stolen", false), ERR_REFUSED);
	assert_int_equal(move_tree("../outside", "stolen", false), ERR_REFUSED);
	assert_int_equal(move_tree("m", "moved", false), ERR_NONE);
	assert_true(tree_has("root/moved/b", "a"));
	assert_int_equal(move_tree(STAGE_LIKE, "x", false), ERR_REFUSED);
	assert_int_equal(move_tree("gone", "x", false), ERR_NOT_FOUND);
}

/* Of a move that copies: what is not as it was copied stays where it is, and so does what came meanwhile. */
static void test_take_away(void **state)
{
	struct copied_list noted = {0};
	struct files_copy_options o = {0};
	struct files_tree_totals t;
	const char *first;

	(void)state;
	tree_text("root/far/same", "same");
	tree_text("root/far/d/changed", "old");
	tree_text("root/far/e/same", "same");
	tree_text("root/far/twice", "twice");
	assert_int_equal(link(tree_path("root/far/twice"), tree_path("root/far/e/twice")), 0);
	assert_int_equal(symlink("same", tree_path("root/far/link")), 0);
	assert_int_equal(mkfifo(tree_path("root/far/fifo"), 0600), 0);
	assert_int_equal(files_copy_noting(f, root, "far", root, "near", &o, &noted, &t, NULL), 0);
	tree_text("root/far/d/changed", "new, and longer");
	tree_text("root/far/new", "new");
	assert_int_equal(copied_take_away(root, &noted, &first), 1);
	assert_string_equal(first, "far/d/changed");
	copied_release(&noted);
	assert_true(tree_has("root/far/d/changed", "new, and longer"));
	assert_true(tree_has("root/far/new", "new"));
	assert_false(tree_exists("root/far/same") || tree_exists("root/far/e") ||
		tree_exists("root/far/twice") || tree_exists("root/far/link") ||
		tree_exists("root/far/fifo"));
	assert_true(tree_has("root/near/d/changed", "old"));
	/* The whole of it. */
	assert_int_equal(files_move_between(f, root, "far", root, "near2", &o, &t, NULL), 0);
	assert_false(tree_exists("root/far"));
	assert_true(tree_has("root/near2/d/changed", "new, and longer"));
	/* Only what came meanwhile. */
	assert_int_equal(
		files_copy_noting(f, root, "near2", root, "near3", &o, &noted, &t, NULL), 0);
	tree_text("root/near2/d/new", "new");
	assert_int_equal(copied_take_away(root, &noted, &first), 1);
	assert_string_equal(first, "near2/d");
	copied_release(&noted);
	assert_true(tree_has("root/near2/d/new", "new"));
}

static int setup(void **state)
{
	(void)state;
	rooted_make("files-tree");
	return 0;
}

/* One that grows while it is copied is copied as long as it was: a writer does not keep the copy for ever. */
static void test_growing(void **state)
{
	static const struct {
		off_t size;
		bool filled;
	} of[] = {{1 << 20, false}, {1 << 20, true}, {128 << 10, true}, {5, true}};

	(void)state;
	for (size_t i = 0; i < COUNT(of); i++) {
		AUTO_CLOSE int fd = -1;
		AUTO_FREE char *to = xasprintf("grown%zu", i), *there = xasprintf("root/%s", to);
		AUTO_FREE char *text = xcalloc(1, (size_t)of[i].size);
		struct stat st;

		tree_text("root/grows", "");
		fd = open(tree_path("root/grows"), O_RDWR | O_TRUNC | O_CLOEXEC);
		assert_true(fd >= 0);
		memset(text, 'x', (size_t)of[i].size);
		assert_int_equal(of[i].filled ? write(fd, text, (size_t)of[i].size) < 0
					      : ftruncate(fd, of[i].size),
			0);
		growing.source = fd;
		growing.left = 16;
		growing.far = 0;
		assert_int_equal(
			copy_tree("grows", to, &(struct files_copy_options){0}, NULL), ERR_NONE);
		growing.source = -1;
		assert_int_equal(stat(tree_path(there), &st), 0);
		assert_int_equal(st.st_size, of[i].size);
		assert_true(growing.far <= of[i].size);
	}
}

/* Nothing of root's that takes the place of what a copy made gets the owner of what was copied. */
static void test_copy_owner_swapped(void **state)
{
	static const struct {
		const char *from, *to, *with, *at, *lies;
	} cases[] = {
		{"given/sub/link", "swapped1", "root/file", NULL, "root/swapped1"},
		{"given", "swapped2", "root/tree", NULL, "root/swapped2"},
		{"given", "swapped3", "root/file", "root/swapped3/sub/link",
			"root/swapped3/sub/link"},
		{"given", "swapped4", "root/tree", "root/swapped4/sub", "root/swapped4/sub"},
	};
	const struct files_copy_options o = {.keep_owner = true};
	struct files_tree_totals t;
	char clear[2 * PATH_MAX];

	(void)state;
	if (geteuid() != 0)
		skip();
	tree_mkdirs("root/given/sub");
	assert_int_equal(symlink("x", tree_path("root/given/sub/link")), 0);
	assert_int_equal(chown(tree_path("root/given"), 1000, 1000), 0);
	assert_int_equal(chown(tree_path("root/given/sub"), 1000, 1000), 0);
	assert_int_equal(lchown(tree_path("root/given/sub/link"), 1000, 1000), 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct stat st;

		tree_text("root/file", "root's");
		tree_text("root/tree/file", "root's");
		swapping.at = cases[i].at;
		swapping.with = cases[i].with;
		if (copy_tree(cases[i].from, cases[i].to, &o, NULL) != ERR_CONFLICT)
			fail_msg("%s: copied", cases[i].to);
		assert_null(swapping.with);
		assert_int_equal(lstat(tree_path(cases[i].lies), &st), 0);
		if (st.st_uid != 0 || st.st_gid != 0)
			fail_msg("%s was given away", cases[i].lies);
		assert_false(S_ISLNK(st.st_mode));
		snprintf(clear, sizeof clear, "cd %s && rm -rf away file tree", tree_path("root"));
		assert_int_equal(system(clear), 0);
	}
	/* Nor is it taken for the half of a move that failed, which is removed. */
	for (int late = 0; late < 2; late++) {
		const char *to = late ? "swapped6" : "swapped5";

		tree_text("root/tree/file", "root's");
		swapping.at = late ? "root/swapped6" : NULL;
		swapping.with = "root/tree";
		assert_int_equal(files_move_between(f, root, "given", root, to, &o, &t, NULL), -1);
		assert_null(swapping.with);
		assert_true(tree_has(late ? "root/swapped6/file" : "root/swapped5/file", "root's"));
		snprintf(clear, sizeof clear, "rm -rf %s", tree_path("root/away"));
		assert_int_equal(system(clear), 0);
	}
	swapping.at = NULL;
	assert_int_equal(copy_tree("given", "kept", &o, NULL), ERR_NONE);
	assert_same("root/given", "root/kept");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copy_tree),
		cmocka_unit_test(test_copy_names),
		cmocka_unit_test(test_copy_name_taken),
		cmocka_unit_test(test_copy_no_data),
		cmocka_unit_test(test_copy_whole),
		cmocka_unit_test(test_copy_vanishing),
		cmocka_unit_test(test_copy_changed_types),
		cmocka_unit_test(test_copy_refused),
		cmocka_unit_test(test_copy_special),
		cmocka_unit_test(test_copy_attributes),
		cmocka_unit_test(test_copy_other_names),
		cmocka_unit_test(test_copy_holes),
		cmocka_unit_test(test_copy_modes),
		cmocka_unit_test(test_copy_link_over),
		cmocka_unit_test(test_delete),
		cmocka_unit_test(test_noted),
		cmocka_unit_test(test_move),
		cmocka_unit_test(test_take_away),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_copy_owner_swapped),
	};

	return cmocka_run_group_tests(tests, setup, rooted_remove);
}
