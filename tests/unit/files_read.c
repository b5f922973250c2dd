/* files_read.c - reading many files: order, limits, lines, tokens, bad paths, every backend. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "files/disk/reader.h"
#include "lib/rooted.h"

static const unsigned backends[] = {
	0,
	FILES_AVOID_URING,
	FILES_AVOID_CACHED,
	FILES_AVOID_CACHED | FILES_AVOID_URING,
	FILES_AVOID_OPENAT2,
};

static void use_reader(unsigned avoid)
{
	rooted_open(&(struct files_options){.program = "test",
			    .avoid = avoid | FILES_AVOID_BOARD,
			    .cpu_width = 3,
			    .io_depth = 8},
		"root");
}

static struct files_reading *read_paths(const char *const *paths, size_t n)
{
	struct files_want want[64] = {0};
	struct files_reading *r;

	for (size_t i = 0; i < n; i++)
		want[i].path = paths[i];
	assert_int_equal(
		files_read(f, root, want, n, &(struct files_read_options){0}, &r, NULL), 0);
	return r;
}

static enum err_kind read_kind(const char *path)
{
	struct files_reading *r = read_paths(&path, 1);
	enum err_kind kind = r->items[0].err ? r->items[0].err->kind : ERR_NONE;

	files_reading_free(r);
	return kind;
}

static void test_read_many(void **state)
{
	struct files_want want[500] = {0};
	char name[500][32];

	(void)state;
	for (int i = 0; i < 500; i++) {
		char text[64];

		snprintf(name[i], sizeof name[i], "many/%d/f%d", i % 7, i);
		snprintf(text, sizeof text, "content of %d", i);
		char in_root[64];

		snprintf(in_root, sizeof in_root, "root/%s", name[i]);
		if (i % 10 != 3)
			tree_text(in_root, text);
		want[i].path = name[i];
	}
	for (size_t b = 0; b < COUNT(backends); b++) {
		struct files_reading *r;
		int fds;

		use_reader(backends[b]);
		assert_int_equal(
			files_read(f, root, want, 500, &(struct files_read_options){0}, &r, NULL),
			0);
		assert_int_equal(r->failed, 50);
		for (int i = 0; i < 500; i++) {
			char text[64];

			snprintf(text, sizeof text, "content of %d", i);
			if (i % 10 == 3) {
				assert_int_equal(r->items[i].err->kind, ERR_NOT_FOUND);
				continue;
			}
			assert_null(r->items[i].err);
			assert_string_equal(r->items[i].bytes, text);
			assert_int_equal(r->items[i].len, strlen(text));
			assert_false(r->items[i].clipped || r->items[i].unstable);
		}
		files_reading_free(r);
		fds = tree_open_fds();
		assert_int_equal(
			files_read(f, root, want, 500, &(struct files_read_options){0}, &r, NULL),
			0);
		files_reading_free(r);
		assert_int_equal(tree_open_fds(), fds);
	}
}

static void test_limits(void **state)
{
	struct files_want want[3] = {{.path = "ten"}, {.path = "ten", .offset = 3, .length = 4},
		{.path = "ten", .offset = 20}};
	char *zero = calloc(1, 300000);

	(void)state;
	tree_text("root/ten", "0123456789");
	tree_text("root/empty", "");
	memset(zero, 'z', 299999);
	tree_text("root/large", zero);
	for (size_t b = 0; b < COUNT(backends); b++) {
		struct files_reading *r;
		struct files_read_options o = {.max_file_bytes = 10};

		use_reader(backends[b]);
		assert_int_equal(files_read(f, root, want, 3, &o, &r, NULL), 0);
		assert_string_equal(r->items[0].bytes, "0123456789");
		assert_false(r->items[0].clipped);
		assert_string_equal(r->items[1].bytes, "3456");
		assert_false(r->items[1].clipped);
		assert_string_equal(r->items[2].bytes, "");
		files_reading_free(r);
		o.max_file_bytes = 9;
		assert_int_equal(files_read(f, root, want, 1, &o, &r, NULL), 0);
		assert_string_equal(r->items[0].bytes, "012345678");
		assert_true(r->items[0].clipped);
		files_reading_free(r);
		o = (struct files_read_options){.max_total_bytes = 25};
		want[1].path = want[2].path = "ten";
		struct files_want three[3] = {{.path = "ten"}, {.path = "ten"}, {.path = "ten"}};

		assert_int_equal(files_read(f, root, three, 3, &o, &r, NULL), 0);
		assert_int_equal(r->failed, 1);
		files_reading_free(r);
		struct files_want odd[3] = {
			{.path = "large"}, {.path = "empty"}, {.path = "large", .offset = 299990}};

		assert_int_equal(
			files_read(f, root, odd, 3, &(struct files_read_options){0}, &r, NULL), 0);
		assert_int_equal(r->items[0].len, 299999);
		assert_int_equal(r->items[1].len, 0);
		assert_int_equal(r->items[2].len, 9);
		files_reading_free(r);
	}
	free(zero);
}

static void test_read_lines(void **state)
{
	struct files_want want[] = {
		{.path = "lines", .first_line = 2, .last_line = 3},
		{.path = "lines", .first_line = 4},
		{.path = "lines", .last_line = 1},
		{.path = "lines", .first_line = 9, .last_line = 12},
		{.path = "lines", .first_line = 3, .last_line = 2},
	};
	const char *const result[] = {"two\nthree\n", "four", "one\n", "", ""};
	struct files_reading *r;

	(void)state;
	tree_text("root/lines", "one\ntwo\nthree\nfour");
	use_reader(0);
	assert_int_equal(
		files_read(f, root, want, COUNT(want), &(struct files_read_options){0}, &r, NULL),
		0);
	for (size_t i = 0; i < COUNT(want); i++)
		assert_string_equal(r->items[i].bytes, result[i]);
	files_reading_free(r);
}

static int add_block(void *ctx, const char *bytes, size_t n, struct err *e)
{
	(void)e;
	str_add(ctx, bytes, n);
	return 0;
}

/* The end of a file that is larger than what is read of one. */
static void test_read_beyond_limit(void **state)
{
	struct files_want want[] = {
		{.path = "long", .first_line = 100000, .last_line = 100001},
		{.path = "long", .first_line = 120000},
		{.path = "long", .first_line = 120001},
		{.path = "long", .tail_lines = 1},
		{.path = "long", .tail_lines = 40000},
		{.path = "long", .tail_lines = 200000},
		{.path = "long", .offset = 8 * 119998},
		{.path = "long", .offset = 8, .length = 16},
		{.path = "long", .offset = 8, .length = 4096},
		{.path = "long", .first_line = 2},
	};
	const struct {
		const char *begin;
		size_t len; /* in all */
		bool clipped;
	} result[] = {{"0099999\n0100000\n", 16, false}, {"0119999\n", 8, false}, {"", 0, false},
		{"0119999\n", 8, false}, {"0080000\n", 320000, true}, {"0000000\n", 960000, true},
		{"0119998\n", 16, false}, {"0000001\n0000002\n", 16, false},
		{"0000001\n", 4096, true}, {"0000001\n", 959992, true}};
	AUTO_STR struct str text = STR_INIT;
	struct files_reading *r;

	(void)state;
	for (int i = 0; i < 120000; i++)
		str_addf(&text, "%07d\n", i);
	tree_write("root/long", text.s, text.len);
	for (size_t b = 0; b < COUNT(backends); b++) {
		const struct files_read_options o = {.max_file_bytes = 1000};

		use_reader(backends[b]);
		assert_int_equal(files_read(f, root, want, COUNT(want), &o, &r, NULL), 0);
		for (size_t i = 0; i < COUNT(want); i++) {
			size_t len = result[i].clipped ? 1000 : result[i].len;

			assert_null(r->items[i].err);
			assert_int_equal(r->items[i].len, len);
			assert_memory_equal(
				r->items[i].bytes, result[i].begin, strlen(result[i].begin));
			assert_int_equal(r->items[i].clipped, result[i].clipped);
		}
		files_reading_free(r);
	}
	for (size_t i = 0; i < COUNT(want); i++) {
		AUTO_STR struct str got = STR_INIT;

		assert_int_equal(files_read_part(f, root, &want[i], add_block, &got, NULL), 0);
		assert_int_equal(got.len, result[i].len);
		assert_true(strncmp(got.s, result[i].begin, strlen(result[i].begin)) == 0);
	}
	/* A last line without its end is one. */
	tree_write("root/long", "a\nb", 3);
	want[0] = (struct files_want){.path = "long", .tail_lines = 1};
	assert_int_equal(
		files_read(f, root, want, 1, &(struct files_read_options){0}, &r, NULL), 0);
	assert_string_equal(r->items[0].bytes, "b");
	files_reading_free(r);
}

/* One judgement, by all of the bytes. */
static void test_judge(void **state)
{
	AUTO_FREE char *late = xcalloc(1, 100000);

	(void)state;
	memset(late, 'x', 99999);
	assert_int_equal(files_judge(late, 99999), FILES_TEXT);
	assert_int_equal(files_judge(late, 100000), FILES_BINARY);
	assert_int_equal(files_judge("", 0), FILES_TEXT);
	assert_int_equal(files_judge("\xEF\xBB\xBFx", 4), FILES_TEXT);
	assert_int_equal(files_judge("\xFF\xFEx\0", 4), FILES_UTF16);
	assert_int_equal(files_judge("\xFE\xFF\0x", 4), FILES_UTF16);
	assert_int_equal(files_judge("\xFF\xFE\0\0x\0\0\0", 8), FILES_BINARY);
}

static void test_binary_and_proc(void **state)
{
	const char *paths[] = {"bin", "text"};
	struct files_reading *r;
	struct files_root *proc;
	struct files_want version = {.path = "version"},
			  last = {.path = "meminfo", .tail_lines = 1};

	(void)state;
	tree_write("root/bin", "a\0b", 3);
	tree_text("root/text", "ab");
	use_reader(0);
	r = read_paths(paths, 2);
	assert_int_equal(files_judge(r->items[0].bytes, r->items[0].len), FILES_BINARY);
	assert_int_equal(r->items[0].len, 3);
	assert_int_equal(files_judge(r->items[1].bytes, r->items[1].len), FILES_TEXT);
	files_reading_free(r);
	/* Files without a size. */
	for (size_t b = 0; b < COUNT(backends); b++) {
		use_reader(backends[b]);
		proc = files_root_open(f, "/proc", NULL);
		assert_int_equal(
			files_read(f, proc, &version, 1, &(struct files_read_options){0}, &r, NULL),
			0);
		assert_null(r->items[0].err);
		assert_true(strncmp(r->items[0].bytes, "Linux", 5) == 0);
		files_reading_free(r);
		assert_int_equal(
			files_read(f, proc, &last, 1, &(struct files_read_options){0}, &r, NULL),
			0);
		assert_true(r->items[0].len > 1);
		assert_ptr_equal(memchr(r->items[0].bytes, '\n', r->items[0].len),
			r->items[0].bytes + r->items[0].len - 1);
		files_reading_free(r);
		files_root_close(proc);
	}
}

/* What must never be read, and what it is called when refused. */
static void test_paths(void **state)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char longest[256 + 1], deep[6000];
	int s;

	(void)state;
	tree_text("secret", "outside");
	tree_text("root_evil/secret", "outside");
	tree_text("root/d/in", "inside");
	tree_text("root/ space ", "odd");
	tree_text("root/%2e%2e", "odd");
	assert_int_equal(symlink("d/in", tree_path("root/link")), 0);
	assert_int_equal(symlink("../secret", tree_path("root/out")), 0);
	assert_int_equal(symlink(tree_path("secret"), tree_path("root/abs")), 0);
	assert_int_equal(symlink("..", tree_path("root/up")), 0);
	assert_int_equal(symlink("loop", tree_path("root/loop")), 0);
	assert_int_equal(symlink("/proc/self/root", tree_path("root/magic")), 0);
	assert_int_equal(symlink("gone", tree_path("root/dangling")), 0);
	assert_int_equal(mkfifo(tree_path("root/fifo"), 0644), 0);
	s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(at.sun_path, sizeof at.sun_path, "%s", tree_path("root/sock"));
	assert_int_equal(bind(s, (struct sockaddr *)&at, sizeof at), 0);
	memset(longest, 'n', 256);
	longest[256] = '\0';
	for (size_t b = 0; b < COUNT(backends); b++) {
		bool portable = backends[b] & FILES_AVOID_OPENAT2;

		use_reader(backends[b]);
		assert_int_equal(read_kind("d/in"), ERR_NONE);
		assert_int_equal(read_kind("./d//./in"), ERR_NONE);
		assert_int_equal(read_kind(" space "), ERR_NONE);
		assert_int_equal(read_kind("%2e%2e"), ERR_NONE);
		assert_int_equal(read_kind("link"), portable ? ERR_REFUSED : ERR_NONE);
		assert_int_equal(read_kind("../secret"), ERR_REFUSED);
		assert_int_equal(read_kind("d/../../secret"), ERR_REFUSED);
		assert_int_equal(read_kind("../root_evil/secret"), ERR_REFUSED);
		assert_int_equal(read_kind(tree_path("secret")), ERR_REFUSED);
		assert_int_equal(read_kind(tree_path("root/d/in")), ERR_REFUSED);
		assert_int_equal(read_kind("//etc/passwd"), ERR_REFUSED);
		assert_int_equal(read_kind("out"), ERR_REFUSED);
		assert_int_equal(read_kind("abs"), ERR_REFUSED);
		assert_int_equal(read_kind("up/secret"), ERR_REFUSED);
		assert_int_equal(read_kind("up/"), ERR_REFUSED);
		assert_int_equal(read_kind("loop"), ERR_REFUSED);
		assert_int_equal(read_kind("magic/etc/passwd"), ERR_REFUSED);
		assert_int_equal(read_kind("fifo"), ERR_REFUSED);
		assert_int_not_equal(read_kind("sock"), ERR_NONE);
		assert_int_equal(read_kind("d"), ERR_REFUSED);
		assert_int_equal(read_kind("."), ERR_REFUSED);
		assert_int_equal(read_kind(""), ERR_USAGE);
		assert_int_equal(read_kind(longest), ERR_USAGE);
		assert_int_equal(read_kind("dangling"), portable ? ERR_REFUSED : ERR_NOT_FOUND);
		assert_int_not_equal(read_kind("d/in/"), ERR_NONE);
		assert_int_not_equal(read_kind("d/in/x"), ERR_NONE);
		assert_int_equal(read_kind("d/gone"), ERR_NOT_FOUND);
		deep[0] = '\0';
		for (int i = 0; i < 1400; i++)
			strcat(deep, "d/.");
		assert_int_not_equal(read_kind(deep), ERR_NONE);
	}
	close(s);
	unlink(tree_path("root/loop"));
}

static void test_beyond_path_max(void **state)
{
	struct files_want want = {0};
	struct files_reading *r;
	char path[9000] = "", part[201];
	int at = open(tree_path("root"), O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;

	(void)state;
	memset(part, 'x', 200);
	part[200] = '\0';
	for (int i = 0; i < 40; i++) {
		int next;

		mkdirat(at, part, 0755);
		next = openat(at, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
		strcat(strcat(path, part), "/");
	}
	strcat(path, "file");
	fd = openat(at, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, "deep", 4), 4);
	close(fd);
	want.path = path;
	for (size_t b = 0; b < COUNT(backends); b++) {
		use_reader(backends[b]);
		assert_int_equal(
			files_read(f, root, &want, 1, &(struct files_read_options){0}, &r, NULL),
			0);
		assert_null(r->items[0].err);
		assert_string_equal(r->items[0].bytes, "deep");
		files_reading_free(r);
	}
	unlinkat(at, "file", 0);
	close(at);
}

static void test_token(void **state)
{
	const char *path = "token";
	struct files_token a, b;
	char text[FILES_TOKEN_MAX], again[FILES_TOKEN_MAX];
	struct files_reading *r;
	struct err e = ERR_INIT;

	(void)state;
	tree_text("root/token", "text");
	use_reader(0);
	r = read_paths(&path, 1);
	/* Written a moment ago: only the content can vouch for it. */
	assert_true(r->items[0].token.hashed);
	a = r->items[0].token;
	assert_int_equal(files_token_parse(files_token_print(text, &a), &b, &e), 0);
	assert_string_equal(text, files_token_print(again, &b));
	files_reading_free(r);
	assert_int_equal(files_token_parse("", &b, &e), -1);
	assert_int_equal(files_token_parse("1:2", &b, &e), -1);
	assert_int_equal(files_token_parse("1:1:1:1:1:1:1:1", &b, &e), -1);
	assert_int_equal(files_token_parse("1:1:1:1:1:1:11111111111111111", &b, &e), -1);
	assert_int_equal(files_token_parse("2:1:1:1:1:1:1", &b, &e), -1);
	assert_int_equal(files_token_parse("1:1:1:1:1:1:1x", &b, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
}

/* Written while it is read, each time: what came is never taken for what is there then, also not when
 * the reader was slow. */
static void test_unstable(void **state)
{
	struct reading r = {.options = {.max_file_bytes = 100, .max_total_bytes = 100}};
	struct files_want want = {.path = "unstable"};
	struct files_got got = {0};
	struct slab_chain chain;
	struct reader me;
	struct task t = {.want = &want, .got = &got, .me = &me};
	struct files_writing *w;
	struct err e = ERR_INIT;
	size_t room;

	(void)state;
	use_reader(0);
	r.root = root;
	tree_text("root/unstable", "one");
	reading_begin(&r, f, &chain);
	reader_init(&me, &r);
	t.fd = open(tree_path("root/unstable"), O_RDONLY | O_CLOEXEC);
	assert_true(task_plan(&r, &t));
	for (int attempt = 0; attempt < 2; attempt++) {
		char *to = task_buffer(&t, &room);
		ssize_t n = pread(t.fd, to, room, task_offset(&t));

		tree_text("root/unstable", attempt ? "six" : "two");
		/* Until the clock alone would say that nobody wrote since. */
		for (int64_t until = token_now() + 100000000; token_now() < until;)
			usleep(1000);
		assert_true(task_got(&r, &t, n) == (attempt == 0));
	}
	assert_true(got.unstable);
	assert_string_equal(got.bytes, "two");
	assert_int_equal(files_write(f, root,
				 &(struct files_put){.path = "unstable",
					 .bytes = "mine",
					 .len = 4,
					 .expect = &got.token},
				 1, &(struct files_write_options){0}, &w, &e),
		-1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	files_writing_free(w);
	assert_true(tree_has("root/unstable", "six"));
	reader_close_all(&me);
	reader_release(&me);
	slab_chain_release(&chain);
	op_end(&r.op, 0, &e, "done");
}

/* Few descriptors: workers wait for each other, and nothing fails for it. */
static void test_few_descriptors(void **state)
{
	struct files_want want[200];
	char name[200][32];
	struct rlimit old, few;

	(void)state;
	for (int i = 0; i < 200; i++) {
		char in_root[64];

		snprintf(name[i], sizeof name[i], "few/%d", i);
		snprintf(in_root, sizeof in_root, "root/few/%d", i);
		tree_text(in_root, name[i]);
		want[i] = (struct files_want){.path = name[i]};
	}
	getrlimit(RLIMIT_NOFILE, &old);
	for (size_t b = 0; b < COUNT(backends); b++) {
		struct files_reading *r;

		use_reader(backends[b]);
		/* Let it open its ring first: that is not what is measured here. */
		assert_int_equal(
			files_read(f, root, want, 2, &(struct files_read_options){0}, &r, NULL), 0);
		files_reading_free(r);
		few = old;
		few.rlim_cur = (rlim_t)tree_open_fds() + 3;
		setrlimit(RLIMIT_NOFILE, &few);
		assert_int_equal(
			files_read(f, root, want, 200, &(struct files_read_options){0}, &r, NULL),
			0);
		setrlimit(RLIMIT_NOFILE, &old);
		assert_int_equal(r->failed, 0);
		for (int i = 0; i < 200; i++)
			assert_string_equal(r->items[i].bytes, name[i]);
		files_reading_free(r);
	}
}

/* Opens that end in another order than they began, and fail for want of descriptors: names that were
 * never looked at have to be waited for, the others not. */
static void test_few_descriptors_out_of_order(void **state)
{
	enum { FILES = 16, ROUNDS = 200 };
	struct files_want want[FILES];
	char name[FILES][32];
	struct rlimit old, few;
	struct files_reading *r;

	(void)state;
	use_reader(FILES_AVOID_CACHED);
	getrlimit(RLIMIT_NOFILE, &old);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < FILES; i++) {
			if (i % 4 < 3)
				snprintf(name[i], sizeof name[i], "few/no%d.%d", i, round);
			else
				snprintf(name[i], sizeof name[i], "few/%d", i);
			want[i] = (struct files_want){.path = name[i]};
		}
		few = old; /* in the first round enough for the ring, too */
		few.rlim_cur = (rlim_t)tree_open_fds() + (round ? 1 : 16);
		setrlimit(RLIMIT_NOFILE, &few);
		assert_int_equal(
			files_read(f, root, want, FILES, &(struct files_read_options){0}, &r, NULL),
			0);
		setrlimit(RLIMIT_NOFILE, &old);
		assert_int_equal(r->failed, FILES / 4 * 3);
		for (int i = 0; i < FILES; i++)
			if (i % 4 < 3)
				assert_int_equal(r->items[i].err->kind, ERR_NOT_FOUND);
			else
				assert_string_equal(r->items[i].bytes, name[i]);
		files_reading_free(r);
	}
}

static _Atomic bool stop;

/* Writes the file in place, one letter after the other, and by rename, without end. */
static void *churn_file(void *arg)
{
	char text[5000];

	(void)arg;
	for (int i = 0; !atomic_load(&stop); i++) {
		memset(text, 'a' + i % 26, sizeof text);
		text[1 + (size_t)(i * 37) % (sizeof text - 2)] = '\0';
		int fd = open(tree_path("root/churn.new"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			0644);

		if (write(fd, text, strlen(text)) < 0)
			abort();
		close(fd);
		if (i % 3 == 0)
			unlink(tree_path("root/churn"));
		rename(tree_path("root/churn.new"), tree_path("root/churn"));
	}
	return NULL;
}

static void test_replaced_while_read(void **state)
{
	pthread_t t;
	const char *paths[32];

	(void)state;
	for (size_t i = 0; i < COUNT(paths); i++)
		paths[i] = "churn";
	tree_text("root/churn", "a");
	pthread_create(&t, NULL, churn_file, NULL);
	for (size_t b = 0; b < COUNT(backends); b++) {
		use_reader(backends[b]);
		for (int round = 0; round < 20; round++) {
			struct files_reading *r = read_paths(paths, COUNT(paths));

			/* Never a mixture: all bytes of one version, or not there. */
			for (size_t i = 0; i < r->n; i++) {
				const struct files_got *g = &r->items[i];

				if (g->err) {
					assert_int_equal(g->err->kind, ERR_NOT_FOUND);
					continue;
				}
				for (size_t k = 1; k < g->len; k++)
					assert_int_equal(g->bytes[k], g->bytes[0]);
			}
			files_reading_free(r);
		}
	}
	atomic_store(&stop, true);
	pthread_join(t, NULL);
}

static void *cancel_soon(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop))
		files_cancel(f);
	return NULL;
}

static void test_read_cancel(void **state)
{
	static struct files_want want[20000];
	pthread_t t;
	struct err e = ERR_INIT;
	int cancelled = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(want); i++)
		want[i].path = i % 2 ? "ten" : "large";
	for (size_t b = 0; b < COUNT(backends); b++) {
		int fds;

		use_reader(backends[b]);
		struct files_reading *r;

		files_read(f, root, want, 2, &(struct files_read_options){0}, &r, &e);
		files_reading_free(r);
		fds = tree_open_fds();
		atomic_store(&stop, false);
		pthread_create(&t, NULL, cancel_soon, NULL);
		for (int i = 0; i < 5; i++)
			if (files_read(f, root, want, COUNT(want),
				    &(struct files_read_options){.max_total_bytes = UINT32_MAX}, &r,
				    &e) < 0) {
				assert_int_equal(e.kind, ERR_CANCELLED);
				assert_null(r);
				cancelled++;
			} else {
				files_reading_free(r);
			}
		atomic_store(&stop, true);
		pthread_join(t, NULL);
		assert_int_equal(tree_open_fds(), fds);
	}
	assert_true(cancelled > 0);
}

static int setup(void **state)
{
	(void)state;
	tree_make("files-read");
	tree_mkdirs("root");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_many),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_read_lines),
		cmocka_unit_test(test_read_beyond_limit),
		cmocka_unit_test(test_judge),
		cmocka_unit_test(test_binary_and_proc),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_beyond_path_max),
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_unstable),
		cmocka_unit_test(test_few_descriptors),
		cmocka_unit_test(test_few_descriptors_out_of_order),
		cmocka_unit_test(test_replaced_while_read),
		cmocka_unit_test(test_read_cancel),
	};

	return cmocka_run_group_tests(tests, setup, rooted_remove);
}
