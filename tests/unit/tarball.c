/* tarball.c - a tree as one file: everything comes back, damage is seen, what may not pass does not. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <cmocka.h>

#include <berth/checkpoint.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "checkpoint/restore.h"
#include "lib/tree.h"

static const struct checkpoint_archiving usual = {.name = "t", .threads = 1};
static int root, file;
static struct err e;

static int set_up(void **state)
{
	(void)state;
	tree_make("tarball");
	tree_mkdirs("root");
	root = open(tree_path("root"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	file = open(tree_path("a.tar.zst"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close(root);
	close(file);
	tree_remove();
	return 0;
}

static void in_tree(const char *what)
{
	AUTO_FREE char *command = xasprintf("cd '%s' && %s", tree_path("root"), what);

	assert_int_equal(system(command), 0);
}

static void archive_it(const struct checkpoint_archiving *o)
{
	struct checkpoint_tree *t = checkpoint_archive(root, file, o, &e);

	if (!t)
		fail_msg("%s", e.msg);
	assert_int_equal(checkpoint_unchanged(t, root, &e), 0);
	checkpoint_tree_free(t);
	assert_int_equal(checkpoint_archive_verify(file, "t", &e), 0);
}

static void note_drop(void *ctx, const char *path, const char *what)
{
	struct str *text = ctx;

	str_addf(text, "%s: %s\n", path, what);
}

static int unpack_into(const char *name, struct str *drops)
{
	AUTO_CLOSE int to = -1;

	tree_mkdirs(name);
	to = open(tree_path(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return checkpoint_unarchive(file, "t", to, drops ? note_drop : NULL, drops, NULL, &e);
}

/* Another program's view: types, modes, owners, sizes, times, targets, links, contents, attributes. */
static char *describe_unpacked(const char *name)
{
	AUTO_FREE char *command = xasprintf(
		"cd '%s' && export LC_ALL=C && { find . -type d -printf '%%P|d|%%m|%%U|%%G|%%T@\\n'; "
		"find . ! -type d -printf '%%P|%%y|%%m|%%U|%%G|%%s|%%T@|%%l|%%n\\n'; "
		"find . -type f -exec sha256sum {} +; } | sort",
		tree_path(name));
	AUTO_STR struct str text = STR_INIT;
	char buf[4096];
	size_t n;
	FILE *p = popen(command, "r");

	while ((n = fread(buf, 1, sizeof buf, p)) > 0)
		str_add(&text, buf, n);
	assert_int_equal(pclose(p), 0);
	return str_detach(&text);
}

static void assert_unpacked(const char *a, const char *b)
{
	AUTO_FREE char *x = describe_unpacked(a), *y = describe_unpacked(b);

	assert_string_equal(x, y);
}

static void fill_tree(void)
{
	char odd[300];

	in_tree("mkdir -p src/deep empty closed 'a b' && echo one > src/one && echo two > src/deep/two && "
		": > nothing && ln src/one src/deep/again && ln -s /etc/passwd link && ln -s nowhere src/dangling && "
		"head -c 3000000 /dev/urandom > large && mkfifo pipe && chmod 0640 src/one && chmod 0 closed && "
		"touch -d '2001-02-03 04:05:06.789' src/deep/two && touch -d '1960-01-01' 'a b' && "
		"touch -h -d '2010-01-01' link && printf 'x' > '-rf' && truncate -s 300M holes && "
		"truncate -s 5M ends && printf end >> ends && truncate -s 9M middle && "
		"printf mid | dd of=middle bs=1 seek=4194304 conv=notrunc status=none");
	snprintf(odd, sizeof odd, "root/%0250d", 7);
	close(open(tree_path(odd), O_WRONLY | O_CREAT, 0600));
	close(open(
		tree_path("root/\xff\xfe nl\n\t\x1b[31m\xe2\x80\xae"), O_WRONLY | O_CREAT, 0600));
	assert_int_equal(setxattr(tree_path("root/large"), "user.note", "v\0w", 3, 0), 0);
}

static void test_round(void **state)
{
	(void)state;
	char value[8];

	fill_tree();
	archive_it(&usual);
	assert_int_equal(unpack_into("back", NULL), 0);
	assert_unpacked("root", "back");
	assert_int_equal(getxattr(tree_path("back/large"), "user.note", value, sizeof value), 3);
}

/* Nothing runs beside: the same. */
static void test_alone(void **state)
{
	(void)state;
	fill_tree();
	archive_it(&(struct checkpoint_archiving){.name = "t", .level = 1});
	assert_int_equal(unpack_into("back", NULL), 0);
	assert_unpacked("root", "back");
}

static void test_nothing_in_it(void **state)
{
	(void)state;
	archive_it(&usual);
	assert_int_equal(unpack_into("back", NULL), 0);
	assert_unpacked("root", "back");
}

static void test_deep_tarball(void **state)
{
	(void)state;
	int at = tree_deep("root/down"), f = openat(at, "file", O_WRONLY | O_CREAT, 0600);

	assert_int_equal(write(f, "deep", 4), 4);
	close(f);
	close(at);
	archive_it(&usual);
	assert_int_equal(unpack_into("back", NULL), 0);
	in_tree("find . -printf '%P %y %s\\n' > ../was && cd ../back && find . -printf '%P %y %s\\n' | cmp - ../was");
}

static void test_holes_stay(void **state)
{
	(void)state;
	struct stat st;

	in_tree("truncate -s 900G huge && printf x | dd of=huge bs=1 seek=1000000000 conv=notrunc status=none");
	archive_it(&usual);
	assert_int_equal(fstat(file, &st), 0);
	assert_true(st.st_size < 1 << 20);
	assert_int_equal(unpack_into("back", NULL), 0);
	assert_int_equal(stat(tree_path("back/huge"), &st), 0);
	assert_int_equal(st.st_size, 900ll << 30);
	assert_true(st.st_blocks < 100);
}

/* Any tar reads it, and finds the same. */
static void test_other_programs(void **state)
{
	(void)state;
	fill_tree();
	in_tree("rm -rf holes ends middle pipe $'\\xff'*; true");
	archive_it(&usual);
	in_tree("cd .. && mkdir out && tar --zstd -xf a.tar.zst -C out && zstd -qt < a.tar.zst && "
		"sed -i s/x/x/ root/-rf 2>/dev/null; "
		"diff -r --no-dereference $([ -r root/closed ] || echo --exclude=closed) root out");
}

static void test_same_tree(void **state)
{
	(void)state;
	static const char *const changes[] = {"echo more >> src/one", "rm nothing", "touch new",
		"chmod 0600 large", "touch -d 2002-02-02 nothing", "mv src other",
		"printf y | dd of=large bs=1 seek=77 conv=notrunc status=none; touch -r src/one large"};

	for (size_t i = 0; i < COUNT(changes); i++) {
		struct checkpoint_tree *t;

		in_tree("chmod 700 closed 2>/dev/null; rm -rf ./* ; true");
		fill_tree();
		assert_int_equal(ftruncate(file, 0), 0);
		lseek(file, 0, SEEK_SET);
		t = checkpoint_archive(root, file, &usual, &e);
		assert_non_null(t);
		in_tree(changes[i]);
		if (checkpoint_unchanged(t, root, &e) == 0)
			fail_msg("not seen: %s", changes[i]);
		assert_int_equal(e.kind, ERR_CONFLICT);
		checkpoint_tree_free(t);
	}
}

static void test_drops(void **state)
{
	(void)state;
	AUTO_STR struct str drops = STR_INIT;
	struct stat st;

	if (geteuid() != 0)
		skip();
	in_tree("echo x > run && chmod 6755 run && mkdir group && chmod 2755 group && mknod null c 1 3 && "
		"echo y > theirs && chown 12345:54321 theirs && echo z > able && mkdir bin && mknod bin/disk b 8 0");
	assert_int_equal(setxattr(tree_path("root/able"), "security.capability",
				 "\1\0\0\2\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, 0),
		0);
	archive_it(&usual);
	assert_int_equal(unpack_into("back", &drops), 0);
	assert_non_null(strstr(drops.s, "run: its set-id bits\n"));
	assert_non_null(strstr(drops.s, "group: its set-id bits\n"));
	assert_non_null(strstr(drops.s, "null: a device\n"));
	assert_non_null(strstr(drops.s, "bin/disk: a device\n"));
	assert_non_null(strstr(drops.s, "theirs: its owner\n"));
	assert_non_null(strstr(drops.s, "able: its attributes"));
	assert_int_equal(lstat(tree_path("back/null"), &st), -1);
	assert_int_equal(lstat(tree_path("back/bin/disk"), &st), -1);
	assert_int_equal(lstat(tree_path("back/run"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(lstat(tree_path("back/theirs"), &st), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(st.st_gid, 0);
	assert_int_equal(getxattr(tree_path("back/able"), "security.capability", NULL, 0), -1);
}

/* One byte is another, anywhere: it is never taken for sound where a content or a name differs. */
static void test_damaged_tarball(void **state)
{
	(void)state;
	AUTO_FREE char *whole = NULL, *was = NULL;
	struct stat st;
	unsigned seen = 0, tried = 0;

	in_tree("mkdir d && echo one > d/one && head -c 20000 /dev/urandom > noise && ln -s d sym");
	archive_it(&usual);
	was = describe_unpacked("root");
	assert_int_equal(fstat(file, &st), 0);
	whole = xmalloc((size_t)st.st_size);
	assert_int_equal(pread(file, whole, (size_t)st.st_size, 0), st.st_size);
	for (off_t at = 0; at < st.st_size; at += 61, tried++) {
		char other = whole[at] ^ 0x20;

		assert_int_equal(pwrite(file, &other, 1, at), 1);
		if (checkpoint_archive_verify(file, "t", &e) < 0) {
			seen++;
			assert_int_equal(e.kind, ERR_FAILED);
		} else if (unpack_into("back", NULL) == 0) { /* in what nobody reads */
			AUTO_FREE char *is = describe_unpacked("back");

			assert_string_equal(is, was);
		}
		in_tree("rm -rf ../back");
		assert_int_equal(pwrite(file, whole + at, 1, at), 1);
	}
	assert_true(seen > tried * 9 / 10);
	for (off_t n = 0; n < st.st_size; n += 499) {
		assert_int_equal(ftruncate(file, n), 0);
		assert_int_equal(checkpoint_archive_verify(file, "t", &e), -1);
		assert_int_equal(unpack_into("back", NULL), -1);
		in_tree("rm -rf ../back");
		assert_int_equal(pwrite(file, whole, (size_t)st.st_size, 0), st.st_size);
	}
}

static void expect_content(struct checkpoint_tree *t, const char *path, const char *want, size_t n)
{
	AUTO_STR struct str got = STR_INIT;
	struct checkpoint_entry x;

	str_adds(&got, "before");
	assert_true(checkpoint_lookup(t, path, &x));
	if (checkpoint_content(t, &x, 1 << 20, &got, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(got.len, n + 6);
	assert_memory_equal(got.s + 6, want, n);
}

/* Some contents, in whatever order, a further name's and one with holes, too; nothing else. */
static void test_fetch(void **state)
{
	static const char *const wanted[] = {"z", "a/b", "further", "hole", "empty"};
	struct checkpoint_entry x[COUNT(wanted)];
	const struct checkpoint_entry *list[COUNT(wanted)];
	AUTO_FREE char *hole = xcalloc(1, 300004);
	AUTO_CLOSE int scratch = memfd_create("scratch", MFD_CLOEXEC);
	struct checkpoint_tree *t;
	AUTO_STR struct str none = STR_INIT;

	(void)state;
	in_tree("mkdir a && echo deep > a/b && echo last > z && echo other > y && : > empty && "
		"echo linked > first && ln first further && truncate -s 300000 hole && echo end >> hole");
	memcpy(hole + 300000, "end\n", 4);
	archive_it(&usual);
	t = checkpoint_archive_open(file, "t", &e);
	assert_non_null(t);
	for (size_t i = 0; i < COUNT(wanted); i++) {
		assert_true(checkpoint_lookup(t, wanted[i], &x[i]));
		list[i] = &x[i];
	}
	assert_int_equal(checkpoint_content(t, &x[0], 100, &none, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_int_equal(checkpoint_archive_fetch(t, file, scratch, list, COUNT(wanted), &e), 0);
	expect_content(t, "a/b", "deep\n", 5);
	expect_content(t, "z", "last\n", 5);
	expect_content(t, "further", "linked\n", 7);
	expect_content(t, "first", "linked\n", 7); /* the same file */
	expect_content(t, "hole", hole, 300004);
	expect_content(t, "empty", "", 0);
	assert_true(checkpoint_lookup(t, "y", &x[0]));
	assert_int_equal(checkpoint_content(t, &x[0], 100, &none, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_true(checkpoint_lookup(t, "z", &x[0]));
	assert_int_equal(checkpoint_content(t, &x[0], 4, &none, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	checkpoint_tree_free(t);
}

static void test_tarball_full_disk(void **state)
{
	(void)state;
	AUTO_CLOSE int full = open("/dev/full", O_RDWR | O_CLOEXEC);

	in_tree("head -c 100000 /dev/urandom > noise");
	assert_null(checkpoint_archive(root, full, &usual, &e));
	assert_int_equal(e.sys, ENOSPC);
	assert_non_null(
		strstr(e.msg, "not enough space for the archive of t; nothing was changed"));
}

static void see_text(void *ctx, const char *path, const char *bytes, size_t n)
{
	str_addf(ctx, "%s=%.*s;", path, (int)n, n > 20 ? "long" : bytes);
}

static void test_look(void **state)
{
	(void)state;
	AUTO_STR struct str seen = STR_INIT;

	in_tree("echo secret > a && printf 'x\\0y' > b && : > c && head -c 3000000 /dev/zero | tr '\\0' z > d");
	archive_it(&(struct checkpoint_archiving){
		.name = "t", .threads = 1, .look = see_text, .ctx = &seen});
	assert_non_null(strstr(seen.s, "a=secret\n;"));
	assert_non_null(strstr(seen.s, "b=x;"));
	assert_null(strstr(seen.s, "c="));
	assert_non_null(strstr(seen.s, "d=long;"));
}

/* A disk that gives back something else: a bit of what was written already turns. */
struct bad_disk {
	int file;
	bool turned;
};

static void turn_bit(void *ctx, const char *path, const char *bytes, size_t n)
{
	struct bad_disk *d = ctx;
	struct stat st;
	char c;

	(void)path;
	(void)bytes;
	(void)n;
	if (d->turned || fstat(d->file, &st) || st.st_size < 2000000)
		return;
	assert_int_equal(pread(d->file, &c, 1, 1500000), 1);
	c ^= 1;
	assert_int_equal(pwrite(d->file, &c, 1, 1500000), 1);
	d->turned = true;
}

static void test_what_is_read_back(void **state)
{
	(void)state;
	struct bad_disk d = {.file = file};

	in_tree("for i in 1 2 3 4; do head -c 3000000 /dev/urandom > $i; done");
	assert_null(checkpoint_archive(root, file,
		&(struct checkpoint_archiving){.name = "t", .look = turn_bit, .ctx = &d}, &e));
	assert_true(d.turned);
	assert_int_equal(e.kind, ERR_FAILED);
	assert_non_null(strstr(e.msg, "the archive of t does not read back as written"));
}

/* The same bytes in other pieces are the same; with one bit turned, or under another key, they are not. */
static void test_hashes_under_a_key(void **state)
{
	static const uint8_t key[2][READBACK_KEY_BYTES] = {{1}, {2}};
	struct hasher *h[2] = {hasher_new_keyed(key[0]), hasher_new_keyed(key[1])};
	char bytes[1000];
	uint8_t want[HASH_BYTES], hash[HASH_BYTES];

	(void)state;
	memset(bytes, 'x', sizeof bytes);
	hasher_begin(h[0]);
	hasher_add(h[0], bytes, sizeof bytes);
	hasher_end(h[0], want);
	for (size_t piece = 1; piece < 300; piece += 7) {
		hasher_begin(h[0]);
		for (size_t at = 0; at < sizeof bytes; at += piece)
			hasher_add(h[0], bytes + at,
				piece < sizeof bytes - at ? piece : sizeof bytes - at);
		hasher_end(h[0], hash);
		assert_memory_equal(hash, want, HASH_BYTES);
	}
	hasher_begin(h[1]);
	hasher_add(h[1], bytes, sizeof bytes);
	hasher_end(h[1], hash);
	assert_memory_not_equal(hash, want, HASH_BYTES);
	for (size_t bit = 0; bit < 8 * sizeof bytes; bit += 97) {
		bytes[bit / 8] ^= (char)(1u << bit % 8);
		hasher_begin(h[0]);
		hasher_add(h[0], bytes, sizeof bytes);
		hasher_end(h[0], hash);
		assert_memory_not_equal(hash, want, HASH_BYTES);
		bytes[bit / 8] ^= (char)(1u << bit % 8);
	}
	hasher_free(h[0]);
	hasher_free(h[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nothing_in_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_deep_tarball, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_holes_stay, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_programs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_same_tree, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_drops, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damaged_tarball, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fetch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tarball_full_disk, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_look, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_read_back, set_up, tear_down),
		cmocka_unit_test(test_hashes_under_a_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
