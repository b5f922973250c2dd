/*
 * files_fault.c - system calls that fail under a batch of writes, one at a time, every one.
 *
 * This program's own definitions of write, fsync, syncfs and so on stand in front of libc's and fail
 * at the k-th call.  Whatever fails: no false success, no torn file, nothing left over, an
 * all-or-nothing batch is all or nothing, and a failed flush is never asked for again.  The same for
 * recovery: what fails there is done by the next change.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "files/files.h"
#include "lib/tree.h"

enum call { WRITE, FSYNC, SYNCFS, RENAME, OPEN, CHMOD, LINK, READ, STAT, RESOLVE, CALLS };
static const char *const call_names[] = {"write", "fsync", "syncfs", "rename", "openat", "fchmod",
	"linkat", "pread", "fstatat", "openat2"};

static int fail_call = -1, fail_at, fail_errno;
static _Atomic int calls[CALLS]; /* flushes are made by several threads */
static int die_at = -1;          /* the rename before which the process ends */
static _Atomic int flushes_after_failure;
static _Atomic bool failed;
static bool armed, fail_on;       /* fail_on: all from the k-th */
static bool no_unnamed, no_flags; /* as on NFS, and FUSE mostly */
static bool no_links;             /* as on some FUSE */
static void (*far)(void); /* every rename is one to another file system: what happens meanwhile */

static bool call_fails(enum call c)
{
	int k;

	if (!armed)
		return false;
	if (failed && (c == FSYNC || c == SYNCFS) && (fail_call == FSYNC || fail_call == SYNCFS))
		flushes_after_failure++;
	k = calls[c]++;
	if (c == RENAME && k == die_at)
		_exit(0);
	if ((int)c != fail_call || (fail_on ? k < fail_at : k != fail_at))
		return false;
	failed = true;
	errno = fail_errno;
	return true;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t n)
{
	return call_fails(WRITE) ? -1 : REAL(write)(fd, bytes, n);
}

int fsync(int fd)
{
	return call_fails(FSYNC) ? -1 : REAL(fsync)(fd);
}

int syncfs(int fd)
{
	return call_fails(SYNCFS) ? -1 : REAL(syncfs)(fd);
}

int renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
	if (far && strcmp(from, "from") == 0) {
		far();
		errno = EXDEV;
		return -1;
	}
	if (no_flags && flags) {
		errno = EINVAL;
		return -1;
	}
	return call_fails(RENAME) ? -1 : REAL(renameat2)(a, from, b, to, flags);
}

int renameat(int a, const char *from, int b, const char *to)
{
	return call_fails(RENAME) ? -1 : REAL(renameat)(a, from, b, to);
}

int linkat(int a, const char *from, int b, const char *to, int flags)
{
	if (no_links) {
		errno = EPERM;
		return -1;
	}
	return call_fails(LINK) ? -1 : REAL(linkat)(a, from, b, to, flags);
}

int fchmod(int fd, mode_t mode)
{
	return call_fails(CHMOD) ? -1 : REAL(fchmod)(fd, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if (no_unnamed && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return call_fails(OPEN) ? -1 : REAL(openat)(dir, path, flags, mode);
}

ssize_t pread(int fd, void *bytes, size_t n, off_t at)
{
	return call_fails(READ) ? -1 : REAL(pread)(fd, bytes, n, at);
}

int fstatat(int dir, const char *path, struct stat *st, int flags)
{
	return call_fails(STAT) ? -1 : REAL(fstatat)(dir, path, st, flags);
}

/* It is not known how many of the six were given. */
__attribute__((no_sanitize("address"))) long syscall(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_openat2 && call_fails(RESOLVE))
		return -1;
	return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define N 4
static const char *const names[N] = {"a", "d/b", "d/c", "new"};

static void reset_fault_tree(void)
{
	for (int i = 0; i < N; i++) {
		char at[64];

		snprintf(at, sizeof at, "root/%s", names[i]);
		unlink(tree_path(at));
		if (i < N - 1)
			tree_text(at, "old");
	}
}

static int staged_left(void)
{
	int dirs;

	return tree_staged("root", &dirs);
}

/* One batch with the k-th call of a kind failing.  false: there was no k-th call. */
static bool try_batch(
	struct files *f, enum files_promise promise, size_t n, enum call c, int k, int errnum)
{
	struct files_root *r = files_root_open(f, tree_path("root"), NULL);
	struct files_put puts[N];
	struct files_writing *w;
	struct err e = ERR_INIT;
	int rc, now = 0;

	reset_fault_tree();
	for (size_t i = 0; i < n; i++)
		puts[i] = (struct files_put){.path = names[i], .bytes = "brand new", .len = 9};
	fail_call = c;
	fail_at = k;
	fail_errno = errnum;
	failed = false;
	flushes_after_failure = 0;
	memset((void *)calls, 0, sizeof calls);
	armed = true;
	rc = files_write(f, r, puts, n, &(struct files_write_options){.promise = promise}, &w, &e);
	armed = false;
	for (size_t i = 0; i < n; i++) {
		char at[64];
		bool is_new;

		snprintf(at, sizeof at, "root/%s", names[i]);
		is_new = tree_has(at, "brand new");
		now += is_new;
		if (!is_new && !(i == N - 1 ? !tree_exists(at) : tree_has(at, "old")))
			fail_msg("%s is torn: %s %d failing", at, call_names[c], k);
		/* An item without an error is in place. */
		if (!w->items[i].err && !is_new)
			fail_msg("%s was said to be written: %s %d failing", at, call_names[c], k);
	}
	if (rc < 0 && !failed)
		fail_msg("%s, and nothing was failing", e.msg);
	if (rc == 0 && now != (int)n)
		fail_msg("false success: %s %d failing, %d of %zu", call_names[c], k, now, n);
	if (promise == FILES_ALL_OR_NOTHING && now != 0 && now != (int)n)
		fail_msg("%d of %zu: %s %d failing", now, n, call_names[c], k);
	/* A failed flush before anything is in place means that nothing is, and is not repeated;
	 * all-or-nothing flushes once more only to take back or to keep its journal. */
	if (failed && (c == FSYNC || c == SYNCFS)) {
		assert_int_equal(rc, -1);
		if (promise == FILES_DURABLE)
			assert_int_equal(flushes_after_failure, 0);
	}
	files_writing_free(w);
	files_root_close(r);
	/* With another root in hand, as another process would: finished or undone, and clean. */
	r = files_root_open(f, tree_path("root"), NULL);
	puts[0] = (struct files_put){.path = "touched", .bytes = "x", .len = 1};
	assert_int_equal(files_write(f, r, puts, 1, &(struct files_write_options){0}, &w, &e), 0);
	files_writing_free(w);
	files_root_close(r);
	assert_int_equal(staged_left(), 0);
	assert_int_equal(tree_records("root"), 0);
	now = 0;
	for (size_t i = 0; i < n; i++) {
		char at[64];

		snprintf(at, sizeof at, "root/%s", names[i]);
		now += tree_has(at, "brand new");
	}
	if (promise == FILES_ALL_OR_NOTHING && now != 0 && now != (int)n)
		fail_msg("%d of %zu after recovery: %s %d failing", now, n, call_names[c], k);
	return failed;
}

static void test_every_call(void **state)
{
	static const enum files_promise promises[] = {
		FILES_VISIBLE, FILES_DURABLE, FILES_ALL_OR_NOTHING};
	static const int errors[] = {EIO, ENOSPC, EDQUOT};
	struct files *f =
		files_open(&(struct files_options){.avoid = FILES_AVOID_BOARD, .cpu_width = 1});
	int tried = 0;

	(void)state;
	for (size_t p = 0; p < 3 * COUNT(promises); p++) {
		no_unnamed = p >= COUNT(promises);
		no_flags = p >= 2 * COUNT(promises);
		for (size_t n = 1; n <= N; n += N - 1)
			for (int c = 0; c < CALLS; c++)
				for (int k = 0; try_batch(f, promises[p % COUNT(promises)], n,
					     (enum call)c, k, errors[k % 3]);
					k++)
					tried++;
	}
	no_unnamed = no_flags = false;
	files_close(f);
	print_message("%d failing calls\n", tried);
	assert_true(tried > 100);
}

static int write_some_files(size_t n, const char *const *paths, const char *text, struct err *e)
{
	struct files *f =
		files_open(&(struct files_options){.avoid = FILES_AVOID_BOARD, .cpu_width = 1});
	struct files_root *r = files_root_open(f, tree_path("root"), NULL);
	struct files_put puts[N];
	struct files_writing *w;
	int rc;

	for (size_t i = 0; i < n; i++)
		puts[i] = (struct files_put){.path = paths[i], .bytes = text, .len = strlen(text)};
	memset((void *)calls, 0, sizeof calls);
	failed = false;
	armed = true;
	rc = files_write(f, r, puts, n,
		&(struct files_write_options){.promise = FILES_ALL_OR_NOTHING}, &w, e);
	armed = false;
	files_writing_free(w);
	files_root_close(r);
	files_close(f);
	return rc;
}

/* A batch whose process ends between its renames: past the commit point, or while it takes back. */
static void interrupt_batch(bool back)
{
	int status;
	pid_t pid;

	reset_fault_tree();
	pid = fork();
	if (pid == 0) {
		/* The first rename is the owner's.  Without flags the last file is linked, and
		 * so are the old ones before. */
		fail_call = !back ? -1 : no_flags ? LINK : RENAME;
		fail_at = no_flags ? N - 1 : N;
		fail_errno = EIO;
		die_at = !back ? N - 1 : no_flags ? N + 1 : N + 2;
		write_some_files(N, names, "brand new", NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(tree_records("root"), 1);
}

static void assert_all(bool old, const char *failing, int k)
{
	for (int i = 0; i < N; i++) {
		char at[64];

		snprintf(at, sizeof at, "root/%s", names[i]);
		if (old && i == N - 1 ? tree_exists(at) : !tree_has(at, old ? "old" : "brand new"))
			fail_msg(
				"%s is not %s: %s %d failing", at, old ? "old" : "new", failing, k);
	}
	assert_int_equal(staged_left(), 0);
	assert_int_equal(tree_records("root"), 0);
}

static void test_recovery(void **state)
{
	static const int errors[] = {EMFILE, EIO, ENOSPC, EACCES};
	const char *const touched[] = {"touched"};
	struct err e = ERR_INIT;
	int waited = 0;

	(void)state;
	for (int i = 0; i < 4 * CALLS; i++) {
		bool back = i / CALLS % 2, more = true;

		no_unnamed = no_flags = i >= 2 * CALLS;

		for (int k = 0; more; k++) {
			interrupt_batch(back);
			fail_call = i % CALLS;
			fail_at = k;
			fail_errno = errors[k % 4];
			if (write_some_files(1, touched, "x", &e) < 0 &&
				strstr(e.msg, "the next change tries again")) {
				assert_int_equal(tree_records("root"), 1);
				waited++;
			}
			more = failed;
			fail_call = -1;
			assert_int_equal(write_some_files(1, touched, "x", NULL), 0);
			assert_all(back, call_names[i % CALLS], k);
		}
	}
	no_unnamed = no_flags = false;
	/* Not even taking back works. */
	reset_fault_tree();
	fail_call = RENAME;
	fail_at = N;
	fail_on = true;
	assert_int_equal(write_some_files(N, names, "brand new", &e), -1);
	fail_on = false;
	fail_call = -1;
	assert_non_null(strstr(e.msg, "the next change in this directory takes the batch back"));
	assert_int_equal(write_some_files(1, touched, "x", NULL), 0);
	assert_all(true, "every rename from", N);
	print_message("%d times a recovery waited for the next change\n", waited);
	assert_true(waited > 20);
}

/* What is staged was written to by another, as the owner of the tree can: it stays out, and what is in place stays. */
static void test_touched(void **state)
{
	const char *const touched[] = {"touched"};
	char command[2 * PATH_MAX];
	int evil = 0;

	(void)state;
	interrupt_batch(false);
	snprintf(command, sizeof command, "for f in '%s'/.berth-*/*; do echo evil >>\"$f\"; done",
		tree_path("root"));
	assert_int_equal(system(command), 0);
	fail_call = -1;
	assert_int_equal(write_some_files(1, touched, "x", NULL), 0);
	for (int i = 0; i < N; i++) {
		char at[64], *text;

		snprintf(at, sizeof at, "root/%s", names[i]);
		text = tree_read(at);
		evil += text && strstr(text, "evil");
		free(text);
	}
	assert_int_equal(evil, 0);
	assert_int_equal(staged_left(), 0);
}

static void do_nothing(void)
{
}

static void moved_by_another(void)
{
	rename(tree_path("root/m/from"), tree_path("root/m/to"));
}

static enum err_kind move_far_while(struct files *f, void (*meanwhile)(void))
{
	struct files_root *r = files_root_open(f, tree_path("root"), NULL);
	struct files_tree_totals t;
	struct err e = ERR_INIT;

	far = meanwhile;
	files_move(f, r, "m/from", "m/to", false, &t, &e);
	far = NULL;
	files_root_close(r);
	return e.kind;
}

/* A move to another file system that fails takes away what it made there, and nothing else. */
static void test_move_far(void **state)
{
	struct files *f =
		files_open(&(struct files_options){.avoid = FILES_AVOID_BOARD, .cpu_width = 1});

	(void)state;
	tree_text("root/m/from", "the only one");
	assert_int_equal(move_far_while(f, do_nothing), ERR_NONE);
	assert_true(!tree_exists("root/m/from") && tree_has("root/m/to", "the only one"));
	/* Two did the same. */
	tree_text("root/m/from", "the only one");
	assert_int_equal(move_far_while(f, moved_by_another), ERR_NOT_FOUND);
	assert_true(tree_has("root/m/to", "the only one"));
	/* Both are one file, as through a bind mount. */
	assert_int_equal(link(tree_path("root/m/to"), tree_path("root/m/from")), 0);
	assert_int_equal(move_far_while(f, do_nothing), ERR_REFUSED);
	assert_true(
		tree_has("root/m/from", "the only one") && tree_has("root/m/to", "the only one"));
	/* A tree with something in it that cannot be copied: that stays, and is told. */
	assert_int_equal(unlink(tree_path("root/m/from")), 0);
	assert_int_equal(unlink(tree_path("root/m/to")), 0);
	tree_text("root/m/from/d/f", "f");
	assert_int_equal(mkfifo(tree_path("root/m/from/pipe"), 0600), 0);
	assert_int_equal(mknod(tree_path("root/m/from/socket"), S_IFSOCK | 0600, 0), 0);
	assert_int_equal(move_far_while(f, do_nothing), ERR_FAILED);
	assert_true(tree_has("root/m/to/d/f", "f") && !tree_exists("root/m/from/d"));
	assert_true(tree_exists("root/m/to/pipe") && !tree_exists("root/m/from/pipe"));
	assert_true(tree_exists("root/m/from/socket") && !tree_exists("root/m/to/socket"));
	files_close(f);
}

static enum err_kind move_to(
	struct files *f, struct files_root *r, const char *from, const char *to)
{
	struct files_tree_totals t;
	struct err e = ERR_INIT;

	files_move(f, r, from, to, false, &t, &e);
	return e.kind;
}

/* Moving and deleting where renames know no flags. */
static void move_without_flags(struct files *f, struct files_root *r)
{
	struct files_tree_totals t;

	tree_text("root/n/a", "a");
	tree_text("root/n/b", "b");
	assert_int_equal(symlink("b", tree_path("root/n/link")), 0);
	assert_int_equal(move_to(f, r, "n/a", "n/b"), ERR_CONFLICT);
	assert_true(tree_has("root/n/a", "a") && tree_has("root/n/b", "b"));
	assert_int_equal(move_to(f, r, "n/a", "n/c"), ERR_NONE);
	assert_true(!tree_exists("root/n/a") && tree_has("root/n/c", "a"));
	assert_int_equal(move_to(f, r, "n/link", "n/other"), ERR_NONE);
	assert_int_equal(move_to(f, r, "n", "n/inside"), ERR_REFUSED);
	tree_mkdirs("root/o");
	assert_int_equal(move_to(f, r, "n", "o"), ERR_CONFLICT);
	assert_int_equal(move_to(f, r, "n", "o/n"), ERR_NONE);
	assert_true(!tree_exists("root/n") && tree_has("root/o/n/c", "a"));
	assert_int_equal(files_delete(f, r, "o", true, &t, NULL), 0);
	assert_false(tree_exists("root/o"));
	assert_int_equal(staged_left(), 0);
}

static void test_no_flags(void **state)
{
	const char *const some[] = {"new", "a"}, *const both[] = {"a", "new"};
	struct files *f =
		files_open(&(struct files_options){.avoid = FILES_AVOID_BOARD, .cpu_width = 1});
	struct files_root *r = files_root_open(f, tree_path("root"), NULL);

	(void)state;
	fail_call = -1;
	no_unnamed = no_flags = true;
	move_without_flags(f, r);
	no_links = true;
	move_without_flags(f, r);
	/* What can be put in place last need not be kept; else it is all or nothing: nothing. */
	reset_fault_tree();
	assert_int_equal(write_some_files(2, some, "brand new", NULL), 0);
	assert_true(tree_has("root/new", "brand new") && tree_has("root/a", "brand new"));
	reset_fault_tree();
	assert_int_equal(write_some_files(2, both, "brand new", NULL), -1);
	assert_true(!tree_exists("root/new") && tree_has("root/a", "old"));
	no_unnamed = no_flags = no_links = false;
	files_root_close(r);
	files_close(f);
}

static int setup(void **state)
{
	(void)state;
	tree_make("files-fault");
	tree_mkdirs("root/d");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_remove();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_call),
		cmocka_unit_test(test_recovery),
		cmocka_unit_test(test_touched),
		cmocka_unit_test(test_move_far),
		cmocka_unit_test(test_no_flags),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
