/* files_stream.c - files put piece by piece, and read block by block: all of it, or nothing; and little memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "lib/rooted.h"

#define MIB (1u << 20)

static const enum files_promise promises[] = {FILES_VISIBLE, FILES_DURABLE, FILES_ALL_OR_NOTHING};

static int setup(void **state)
{
	(void)state;
	tree_make("stream");
	tree_mkdirs("root");
	rooted_open(&(struct files_options){.avoid = FILES_AVOID_BOARD}, "root");
	return 0;
}

/* A content that nobody holds: byte i of it is `seed` + i / 7, but zero between the two. */
struct source {
	uint64_t at, size, zero_from, zero_to, fail_at;
	unsigned seed, piece; /* most bytes at once */
	_Atomic unsigned busy;
	bool crowded;      /* called by two at once */
	const char *spoil; /* made in the middle */
};

static unsigned char byte_of(const struct source *s, uint64_t at)
{
	return at >= s->zero_from && at < s->zero_to ? 0 : (unsigned char)(s->seed + at / 7) | 1;
}

static ssize_t pull_source(void *ctx, void *to, size_t n, struct err *e)
{
	struct source *s = ctx;
	size_t i = 0;

	if (atomic_fetch_add(&s->busy, 1))
		s->crowded = true;
	if (s->fail_at && s->at >= s->fail_at) {
		if (s->spoil)
			tree_text(s->spoil, "theirs");
		atomic_fetch_sub(&s->busy, 1);
		return s->spoil ? 0 : err_set(e, ERR_CONFLICT, "the source is not what it was");
	}
	for (; i < n && i < s->piece && s->at < s->size; i++)
		((unsigned char *)to)[i] = byte_of(s, s->at++);
	atomic_fetch_sub(&s->busy, 1);
	return (ssize_t)i;
}

struct checking {
	const struct source *s;
	uint64_t at;
	bool differs;
};

static int check_block(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct checking *c = ctx;

	(void)e;
	for (size_t i = 0; i < n; i++)
		c->differs |= (unsigned char)bytes[i] != byte_of(c->s, c->at++);
	return 0;
}

static void assert_is(const char *path, const struct source *s, const struct files_token *written)
{
	struct checking c = {.s = s};
	struct files_token t;
	struct err e = ERR_INIT;

	if (files_read_blocks(root, path, check_block, &c, &t, &e))
		fail_msg("%s", e.msg);
	assert_false(c.differs);
	assert_int_equal(c.at, s->size);
	assert_true(t.hashed && written->hashed);
	assert_memory_equal(t.hash, written->hash, sizeof t.hash);
	assert_int_equal(t.ino, written->ino);
}

static struct files_put put_of(const char *path, struct source *s)
{
	return (struct files_put){.path = path, .len = s->size, .pull = pull_source, .ctx = s};
}

static int put_all(const struct files_put *puts, size_t n, enum files_promise promise,
	struct files_writing **w, struct err *e)
{
	return files_write(f, root, puts, n,
		&(struct files_write_options){.promise = promise, .parents = true}, w, e);
}

static void test_pieces(void **state)
{
	static const uint64_t sizes[] = {0, 1, 256 << 10, (256 << 10) + 1, 5 * MIB + 17};
	static const unsigned pieces[] = {4096, 65536, 1000003};

	(void)state;
	for (size_t p = 0; p < COUNT(promises); p++)
		for (size_t k = 0; k < COUNT(sizes); k++)
			for (size_t i = 0; i < COUNT(pieces); i++) {
				struct source s = {.size = sizes[k],
					.seed = (unsigned)(p + k + i),
					.piece = pieces[i]};
				struct files_put put = put_of("d/one", &s);
				struct files_writing *w;
				struct err e = ERR_INIT;

				if (put_all(&put, 1, promises[p], &w, &e))
					fail_msg("%s", e.msg);
				assert_int_equal(w->bytes, sizes[k]);
				assert_is("d/one", &s, &w->items[0].token);
				assert_false(s.crowded);
				files_writing_free(w);
			}
}

/* Long zeros take no room on the disk, at the end neither. */
static void test_zeros(void **state)
{
	struct source s = {.size = 9 * MIB, .piece = 100000, .zero_from = 3, .zero_to = 9 * MIB};
	struct files_put put = put_of("zeros", &s);
	struct files_writing *w;
	struct stat st;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(put_all(&put, 1, FILES_ALL_OR_NOTHING, &w, &e), 0);
	assert_is("zeros", &s, &w->items[0].token);
	files_writing_free(w);
	assert_int_equal(stat(tree_path("root/zeros"), &st), 0);
	assert_true(st.st_blocks * 512 < 2 * MIB);
}

/* Two good ones, old and new, and a bad one: all stay as they were. */
static void refuse_batch(struct source *bad, enum err_kind kind, enum files_promise promise)
{
	struct source good[2] = {{.size = 3 * MIB, .piece = 65536}, {.size = 7, .piece = 1}};
	struct files_put puts[] = {
		put_of("old", &good[0]), put_of("new/one", bad), put_of("new/two", &good[1])};
	struct files_writing *w;
	struct err e = ERR_INIT;

	puts[1].len = 2 * MIB;
	tree_text("root/old", "old");
	assert_int_equal(put_all(puts, COUNT(puts), promise, &w, &e), -1);
	assert_int_equal(e.kind, kind);
	assert_int_equal(w->failed, 3);
	files_writing_free(w);
	assert_true(tree_has("root/old", "old"));
	assert_false(tree_exists("root/new"));
}

static void test_sources_that_fail(void **state)
{
	(void)state;
	for (size_t p = 0; p < COUNT(promises); p++) {
		struct source fails = {.size = 2 * MIB, .piece = 70000, .fail_at = MIB},
			      shorter = {.size = 2 * MIB - 1, .piece = 70000},
			      longer = {.size = 2 * MIB + 1, .piece = 70000},
			      endless = {.size = UINT64_MAX, .piece = 1 << 20};

		refuse_batch(&fails, ERR_CONFLICT, promises[p]);
		refuse_batch(&shorter, ERR_CONFLICT, promises[p]);
		refuse_batch(&longer, ERR_CONFLICT, promises[p]);
		refuse_batch(&endless, ERR_CONFLICT, promises[p]);
		assert_true(endless.at < 4 * MIB);
	}
}

/* A file that comes into its place while the source is read is not written over. */
static void test_target_comes(void **state)
{
	struct source s = {.size = MIB, .piece = 70000, .fail_at = MIB, .spoil = "root/came"};
	struct files_put put = put_of("came", &s);
	struct files_writing *w;
	struct err e = ERR_INIT;

	(void)state;
	put.create_only = true;
	assert_int_equal(put_all(&put, 1, FILES_ALL_OR_NOTHING, &w, &e), -1);
	files_writing_free(w);
	assert_true(tree_has("root/came", "theirs"));
}

static void test_read_blocks_refuses(void **state)
{
	struct checking c = {.s = &(struct source){0}};
	struct files_token t;
	struct err e = ERR_INIT;

	(void)state;
	tree_text("away", "x");
	assert_int_equal(symlink("../away", tree_path("root/out")), 0);
	assert_int_equal(mkfifo(tree_path("root/fifo"), 0600), 0);
	assert_int_equal(files_read_blocks(root, "none", check_block, &c, &t, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_int_equal(files_read_blocks(root, "out", check_block, &c, &t, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(files_read_blocks(root, "fifo", check_block, &c, &t, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(c.at, 0);
}

static int write_on(void *ctx, const char *bytes, size_t n, struct err *e)
{
	(void)e;
	return check_block(ctx, bytes, n, e) || (tree_text("root/moving", "shorter"), 0);
}

static void test_read_what_changes(void **state)
{
	struct checking c = {.s = &(struct source){0}};
	struct files_token t;
	struct err e = ERR_INIT;

	(void)state;
	tree_text("root/moving", "as long as it is");
	assert_int_equal(files_read_blocks(root, "moving", write_on, &c, &t, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
}

/* 96 files of 8 MiB, of which no more than a piece for each thread is in memory.  (Zeros: the disk is not measured.) */
static void test_memory(void **state)
{
	static struct source s[96];
	static char names[COUNT(s)][16];
	struct files_put puts[COUNT(s)];
	struct rusage before, after;
	struct files_writing *w;
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT(s); i++) {
		s[i] = (struct source){
			.size = 8 * MIB, .piece = 1 << 18, .zero_from = 1, .zero_to = UINT64_MAX};
		snprintf(names[i], sizeof names[i], "m%zu", i);
		puts[i] = put_of(names[i], &s[i]);
	}
	getrusage(RUSAGE_SELF, &before);
	assert_int_equal(put_all(puts, COUNT(s), FILES_VISIBLE, &w, &e), 0);
	getrusage(RUSAGE_SELF, &after);
	assert_int_equal(w->bytes, (uint64_t)COUNT(s) * 8 * MIB);
	files_writing_free(w);
	assert_true(after.ru_maxrss - before.ru_maxrss < 128 << 10); /* KiB; in all it is 768 MiB */
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, rooted_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_pieces),
		CASE(test_zeros),
		CASE(test_sources_that_fail),
		CASE(test_target_comes),
		CASE(test_read_blocks_refuses),
		CASE(test_read_what_changes),
		CASE(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
