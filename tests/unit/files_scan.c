/* files_scan.c - walking trees: against nftw, filters, ignore files against git, odd trees. */
#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "files/walk/filter.h"
#include "lib/rooted.h"

static void use_width(unsigned width, const char *name)
{
	rooted_open(&(struct files_options){.avoid = FILES_AVOID_BOARD, .cpu_width = width}, name);
}

/* All paths, one a line. */
static char *scan_paths(
	const char *start, const struct files_scan_options *o, struct files_scan_totals *t)
{
	struct files_scan *s;
	struct files_entry entry;
	struct str out = STR_INIT;
	struct err e = ERR_INIT;

	if (files_scan(f, root, start, o, &s, &e) < 0)
		return xasprintf("error: %s", e.msg);
	while (files_scan_next(s, &entry)) {
		str_addf(&out, "%s\n", entry.path);
		assert_string_equal(entry.path + entry.path_len - strlen(entry.name), entry.name);
		assert_int_equal(strlen(entry.path), entry.path_len);
	}
	if (t)
		*t = *files_scan_totals(s);
	files_scan_free(s);
	return str_detach(&out);
}

#define SCAN(want, start, ...)                                                \
	do {                                                                  \
		struct files_scan_options o_ = {.sorted = true, __VA_ARGS__}; \
		char *got_ = scan_paths(start, &o_, NULL);                    \
		assert_string_equal(got_, want);                              \
		free(got_);                                                   \
	} while (0)

static uint64_t walked_files, walked_dirs, walked_bytes;

static int count_one(const char *path, const struct stat *st, int type, struct FTW *w)
{
	(void)path;
	if (type == FTW_F)
		walked_files++, walked_bytes += (uint64_t)st->st_size;
	else if (type == FTW_D && w->level > 0)
		walked_dirs++;
	return 0;
}

static void test_against_nftw(void **state)
{
	char name[128];

	(void)state;
	for (int i = 0; i < 4000; i++) {
		snprintf(name, sizeof name, "big/d%d/e%d/%s/file%d", i % 13, i % 7,
			i % 3 ? "x" : "y", i);
		tree_write(name, name, (size_t)(i % 100));
	}
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof name, "big/flat/%d", i);
		tree_write(name, name, 3);
	}
	nftw(tree_path("big"), count_one, 32, FTW_PHYS);
	for (unsigned width = 1; width <= 8; width++) {
		struct files_scan_totals t, again;
		struct files_scan_options o = {.sorted = true, .meta = true};
		char *first, *second;

		use_width(width, "big");
		first = scan_paths("", &o, &t);
		assert_int_equal(t.files, walked_files);
		assert_int_equal(t.dirs, walked_dirs);
		assert_int_equal(t.bytes, walked_bytes);
		assert_int_equal(t.errors, 0);
		second = scan_paths("", &o, &again);
		assert_string_equal(first, second);
		free(first);
		free(second);
		free(scan_paths("", &(struct files_scan_options){0}, &t));
		assert_int_equal(t.files, walked_files);
		assert_int_equal(t.bytes, 0);
	}
}

static void test_filters(void **state)
{
	(void)state;
	tree_text("flt/a.c", "12345");
	tree_text("flt/b.h", "1");
	tree_text("flt/.hidden/x.c", "1");
	tree_text("flt/sub/deep/c.c", "123");
	tree_text("flt/sub/d.txt", "1234567890");
	tree_text("flt/.berth-0123456789abcdef0123456789abcdef/x", "");
	assert_int_equal(symlink("sub", tree_path("flt/link")), 0);
	use_width(2, "flt");
	SCAN(".hidden\n.hidden/x.c\na.c\nb.h\nlink\nsub\nsub/d.txt\nsub/deep\nsub/deep/c.c\n", "",
		.meta = true);
	SCAN("sub/d.txt\nsub/deep\nsub/deep/c.c\n", "sub", .meta = false);
	SCAN("./sub/../sub/d.txt\n./sub/../sub/deep\n./sub/../sub/deep/c.c\n", "./sub/../sub/",
		.meta = false);
	SCAN("a.c\nb.h\nlink\nsub\n", ".", .filter = {.max_depth = 1, .skip_hidden = true});
	SCAN("a.c\nb.h\nlink\nsub\nsub/d.txt\nsub/deep\n", "",
		.filter = {.max_depth = 2, .skip_hidden = true});
	SCAN(".hidden\nsub\nsub/deep\n", "", .filter = {.types = FILES_DIR});
	SCAN("link\n", "", .filter = {.types = FILES_LINK});
	SCAN("a.c\nsub/deep/c.c\n", "", .filter = {.min_size = 3, .max_size = 5});
	const char *c[] = {"*.c"}, *below[] = {"sub/**/*.c"}, *no[] = {"deep/", "*.h"};

	SCAN(".hidden/x.c\na.c\nsub/deep/c.c\n", "", .filter = {.globs = c, .nglobs = 1});
	SCAN("sub/deep/c.c\n", "", .filter = {.globs = below, .nglobs = 1});
	SCAN("a.c\nlink\nsub\nsub/d.txt\n", "",
		.filter = {.excludes = no, .nexcludes = 2, .skip_hidden = true});
	struct stat st;
	struct timespec times[2] = {{1000, 0}, {1000, 0}};

	stat(tree_path("flt/b.h"), &st);
	utimensat(AT_FDCWD, tree_path("flt/b.h"), times, 0);
	SCAN("b.h\n", "", .filter = {.older_ns = INT64_C(2000) * 1000000000});
	SCAN("a.c\nsub/d.txt\nsub/deep/c.c\n", "",
		.filter = {.newer_ns = INT64_C(2000) * 1000000000,
			.types = FILES_FILE,
			.skip_hidden = true});
	/* The year 2300, whose nanoseconds are more than 63 bits: late, not long ago. */
	times[0].tv_sec = times[1].tv_sec = 10413792000;
	utimensat(AT_FDCWD, tree_path("flt/b.h"), times, 0);
	SCAN("", "", .filter = {.older_ns = INT64_C(2000) * 1000000000});
	SCAN("b.h\n", "",
		.filter = {.globs = (const char *[]){"b.h"},
			.nglobs = 1,
			.newer_ns = INT64_C(2000) * 1000000000});
}

/* How many are handed out, and whether there are more. */
static void expect_most(const char *glob, uint64_t most, size_t wanted, bool more)
{
	struct files_scan_options o = {
		.filter = {.globs = &glob, .nglobs = glob != NULL}, .max_entries = most};
	struct files_entry entry;
	struct files_root *r = files_root_open(f, tree_path("most"), NULL);
	struct files_scan *s;
	size_t n = 0;

	assert_int_equal(files_scan(f, r, "", &o, &s, NULL), 0);
	while (files_scan_next(s, &entry))
		n++;
	assert_int_equal(n, wanted);
	assert_int_equal(files_scan_totals(s)->clipped, more);
	files_scan_free(s);
	files_root_close(r);
}

static void test_max_entries(void **state)
{
	(void)state;
	for (char name[] = "most/d0/x"; name[6] < '5'; name[6]++)
		tree_text(name, "");
	tree_text("most/a.h", "");
	tree_text("most/d4/b.h", "");
	expect_most(NULL, 0, 12, false);
	expect_most(NULL, 12, 12, false);
	expect_most(NULL, 11, 11, true);
	expect_most(NULL, 1, 1, true);
	/* What does not fit counts neither as found nor as more. */
	expect_most("*.h", 2, 2, false);
	expect_most("*.h", 1, 1, true);
	expect_most("*.none", 1, 0, false);
}

/* A directory that is looked at in pieces: of those that the end of the walk left out nothing is handed out. */
static void test_max_entries_of_pieces(void **state)
{
	enum { FILES = 3000, LARGE = 30 };
	struct files_root *r;
	char name[32];

	(void)state;
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "pieces/%d", i);
		tree_text(name, i % (FILES / LARGE) ? "" : "large");
	}
	r = files_root_open(f, tree_path("pieces"), NULL);
	for (int most = 1; most < 2 * LARGE; most++) {
		const struct files_scan_options o = {.filter = {.min_size = most % 2},
			.meta = true,
			.max_entries = (uint64_t)most / 2 + 1};
		struct files_entry entry;
		struct files_scan *s;
		size_t n = 0;

		assert_int_equal(files_scan(f, r, "", &o, &s, NULL), 0);
		while (files_scan_next(s, &entry)) {
			assert_true(entry.meta);
			assert_true(entry.size >= o.filter.min_size);
			n++;
		}
		assert_int_equal(n, o.max_entries);
		files_scan_free(s);
	}
	files_root_close(r);
}

static void test_errors(void **state)
{
	struct err e = ERR_INIT;
	struct files_scan *s;
	struct files_scan_options o = {0};

	(void)state;
	assert_int_equal(files_scan(f, root, "gone", &o, &s, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_int_equal(files_scan(f, root, "a.c", &o, &s, &e), -1);
	assert_int_equal(files_scan(f, root, "../flt", &o, &s, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(files_scan(f, root, "/", &o, &s, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	o.max_entries = 3;
	assert_int_equal(files_scan(f, root, "", &o, &s, &e), 0);
	assert_true(files_scan_totals(s)->clipped);
	files_scan_free(s);
	/* A directory nobody may read is one error; the others are listed. */
	tree_mkdirs("closed/no");
	tree_text("closed/yes/x", "");
	chmod(tree_path("closed/no"), 0);
	pid_t pid = fork();

	if (pid == 0) {
		struct files_entry entry;
		int n = 0;

		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(9);
		chmod(tree_path("closed"), 0755);
		use_width(1, "closed");
		o.max_entries = 0;
		if (files_scan(f, root, "", &o, &s, &e) < 0 || files_scan_totals(s)->errors != 1)
			_exit(2);
		while (files_scan_next(s, &entry))
			n++;
		_exit(n == 3 && files_scan_error(s, 0) && !files_scan_error(s, 1) ? 0 : 3);
	}
	int status;

	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

static void test_deep(void **state)
{
	int at = tree_deep("deep");
	struct files_scan_totals t;
	struct rlimit old, few;

	(void)state;
	close(openat(at, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	close(at);
	use_width(3, "deep");
	free(scan_paths("", &(struct files_scan_options){.meta = true}, &t));
	assert_int_equal(t.dirs, TREE_DEEP);
	assert_int_equal(t.files, 1);
	/* With hardly any descriptors, where directories must be reached by their paths. */
	use_width(3, "big");
	getrlimit(RLIMIT_NOFILE, &old);
	few = old;
	few.rlim_cur = (rlim_t)tree_open_fds() + 8;
	setrlimit(RLIMIT_NOFILE, &few);
	free(scan_paths("", &(struct files_scan_options){.meta = true}, &t));
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(t.files, walked_files);
	assert_int_equal(t.errors, 0);
}

static _Atomic bool stop;

static void *cancel_scans(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop))
		files_cancel(f);
	return NULL;
}

static void test_scan_cancel(void **state)
{
	pthread_t t;
	int fds, cancelled = 0;
	struct files_scan *s;
	struct err e = ERR_INIT;

	(void)state;
	use_width(4, "big");
	files_scan(f, root, "", &(struct files_scan_options){0}, &s, &e);
	files_scan_free(s);
	fds = tree_open_fds();
	pthread_create(&t, NULL, cancel_scans, NULL);
	for (int i = 0; i < 50; i++) {
		if (files_scan(f, root, "", &(struct files_scan_options){.meta = true}, &s, &e) <
			0) {
			assert_int_equal(e.kind, ERR_CANCELLED);
			cancelled++;
		}
		files_scan_free(s);
	}
	atomic_store(&stop, true);
	pthread_join(t, NULL);
	assert_true(cancelled > 0);
	assert_int_equal(tree_open_fds(), fds);
}

static void test_globs(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool path, match;
	} cases[] = {
		{"", "", false, true},
		{"*", "", false, true},
		{"a*b", "ab", false, true},
		{"a*b", "axxb", false, true},
		{"a*b", "axxc", false, false},
		{"*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false, false},
		{"?", "a", false, true},
		{"?", "", false, false},
		{"?", "/", true, false},
		{"[a-c]x", "bx", false, true},
		{"[!a-c]x", "bx", false, false},
		{"[]]", "]", false, true},
		{"[", "[", false, false},
		{"[a", "[a", false, false},
		{"*[", "aaaaaaaaaaaaaaaaaaaaaaaa[", false, false},
		{"[!]a]", "b", false, true},
		{"[a-]", "-", false, true},
		{"[a-c-e]", "d", false, false},
		{"[\\]-a]", "^", false, true},
		{"[[:alpha:]]", "b", false, true},
		{"[[:digit:]x]", "b", false, false},
		{"[![:upper:]]", "b", false, true},
		{"[[:alpha:]]", "\xc3", false, false},
		{"[[:bogus:]]", "b", false, false},
		{"[[:alpha]", "p", false, true},
		{"[a/b]", "/", true, false},
		{"a\\", "a", false, false},
		{"\\*", "*", false, true},
		{"\\*", "x", false, false},
		{"*.c", "d/x.c", true, false},
		{"*.c", "d/x.c", false, true},
		{"**/x", "x", true, true},
		{"**/x", "a/b/x", true, true},
		{"**/x", "a/bx", true, false},
		{"a/**", "a/b/c", true, true},
		{"a/**/b", "a/b", true, true},
		{"a/**/b", "a/x/y/b", true, true},
		{"a/**/b", "a/x/yb", true, false},
		{"a/*/b", "a/x/b", true, true},
		{"a/*/b", "a/x/y/b", true, false},
		{"**/*.c", "a/b.c", true, true},
		{"x/**/y/*.c", "x/a/y/b/y/c.c", true, true},
		{"**.c", "x.c", true, true},
		{"**.c", "d/x.c", true, false},
		{"src/**.c", "src/x.c", true, true},
		{"src/**.c", "src/d/x.c", true, false},
		{"a**/b", "axx/b", true, true},
		{"a**/b", "ax/x/b", true, false},
		{"**a/**/b", "ba/x/b", true, true},
		{"**\\/x", "x", true, false},
		{"**\\/x", "a/b/x", true, true},
		{"**/*a*a*a*a*a*a*a*a*b/**/*a*a*a*a*a*a*a*a*b/**/c",
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaab/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/"
			"aaaaaaaaaaaaaaaaaaaaaaab/a/c",
			true, true},
		{"**/*a*a*a*a*a*a*a*a*b/**/*a*a*a*a*a*a*a*a*b/**/c",
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaab/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/"
			"aaaaaaaaaaaaaaaaaaaaaaaa/a/c",
			true, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		if (glob_match(cases[i].pattern, cases[i].text, cases[i].path) != cases[i].match)
			fail_msg("%s against %s", cases[i].pattern, cases[i].text);
}

/* What the caller's patterns find of a few files; NULL: they are refused. */
static char *scan_globs(const char *const *globs, size_t n, struct err *e)
{
	struct files_scan_options o = {
		.filter = {.globs = globs, .nglobs = n, .types = FILES_FILE}, .sorted = true};
	struct str out = STR_INIT;
	struct files_entry entry;
	struct files_scan *s;

	if (files_scan(f, root, "", &o, &s, e) < 0)
		return NULL;
	while (files_scan_next(s, &entry))
		str_addf(&out, "%s ", entry.path);
	files_scan_free(s);
	return str_detach(&out);
}

static void test_caller_globs(void **state)
{
	static const struct {
		const char *globs[2], *found;
	} cases[] = {
		{{"*.{c,h}"}, "a.c a.h lib/e.c src/b.c src/d/c.c "},
		{{"{src,lib}/*.c"}, "lib/e.c src/b.c "},
		{{"{src,lib}/**/*.{c,h}"}, "lib/e.c src/b.c src/d/c.c "},
		{{"a.{,c}"}, "a.c "},
		{{"[{]"}, "{ "},
		{{"[[:digit:]{]"}, "{ "},
		{{"\\{a,b}"}, "{a,b} "},
		{{"/*.c"}, "a.c "},
		{{"./src/*.c"}, "src/b.c "},
		{{"src/**.c"}, "src/b.c "},
		{{"!*.{c,h}"}, "lib/x.js { {a,b} "},
		{{"*.c", "!src"}, "a.c lib/e.c "},
		{{"*.c", "!/a.c"}, "lib/e.c src/b.c src/d/c.c "},
	};
	static const char *const files[] = {
		"a.c", "a.h", "lib/e.c", "lib/x.js", "src/b.c", "src/d/c.c", "{", "{a,b}"};
	static const char *const bad[] = {"", "!", "[", "a[", "[[:bogus:]]", "a\\", "*.{c,h",
		"{a,{b,c}}", "src/", "!x[", "{x,}"};
	static const char *const back[] = {"*.c", "!!src"}, *const kept[] = {"src", "/a.c"};
	char name[64], many[128] = "";

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++) {
		snprintf(name, sizeof name, "globs/%s", files[i]);
		tree_text(name, "");
	}
	use_width(1, "globs");
	/* What the call leaves out no pattern of a caller takes back. */
	SCAN("lib/e.c\n", "",
		.filter = {.globs = back, .nglobs = 2, .excludes = kept, .nexcludes = 2});
	for (size_t i = 0; i < COUNT(cases); i++) {
		AUTO_FREE char *found = scan_globs(cases[i].globs, cases[i].globs[1] ? 2 : 1, NULL);

		if (!found || strcmp(found, cases[i].found) != 0)
			fail_msg("%s finds %s", cases[i].globs[0], found ? found : "an error");
	}
	for (int i = 0; i < 13; i++)
		strcat(many, "{a,b}");
	for (size_t i = 0; i <= COUNT(bad); i++) {
		const char *glob = i < COUNT(bad) ? bad[i] : many;
		struct err e = ERR_INIT;
		AUTO_FREE char *found = scan_globs(&glob, 1, &e);

		if (found)
			fail_msg("\"%s\" finds %s", glob, found);
		assert_int_equal(e.kind, ERR_USAGE);
	}
}

static uint32_t seed = 12345;

static uint32_t roll_dice(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

#define NO_GLOBAL "-c core.excludesFile=/dev/null"

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What git lists in root/start is what we list there. */
static void compare_with_git(const char *dir, const char *start, int round)
{
	struct str want = STR_INIT, got = STR_INIT;
	struct files_scan_options o = {.filter = {.ignore_files = true, .types = FILES_FILE}};
	struct files_scan *s;
	struct files_entry entry;
	char command[PATH_MAX], *lines[512];
	size_t n = 0;
	FILE *p;
	int c;

	snprintf(command, sizeof command,
		"cd %s/%s && git " NO_GLOBAL " ls-files -co --exclude-standard | LC_ALL=C sort",
		tree_path(dir), start);
	p = popen(command, "r");
	while ((c = getc(p)) != EOF)
		str_addc(&want, (char)c);
	pclose(p);
	use_width(2, dir);
	assert_int_equal(files_scan(f, root, start, &o, &s, NULL), 0);
	while (files_scan_next(s, &entry))
		lines[n++] = xstrdup(entry.path + (*start ? strlen(start) + 1 : 0));
	files_scan_free(s);
	/* Directories sort differently with their contents: compare as sets. */
	mem_sort(lines, n, sizeof *lines, compare_texts);
	for (size_t i = 0; i < n; i++) {
		str_addf(&got, "%s\n", lines[i]);
		free(lines[i]);
	}
	if (strcmp(got.s, want.s) != 0) {
		snprintf(command, sizeof command, "cd %s && grep -r . --include .gitignore",
			tree_path("ign"));
		(void)!system(command);
		print_message("round %d, %s %s\n", round, dir, start);
	}
	assert_string_equal(got.s, want.s);
	str_release(&got);
	str_release(&want);
}

/* Random ignore files over a random tree: what we list is what git would list. */
static void test_ignore_against_git(void **state)
{
	static const char *const bits[] = {"a", "b", "ab", "*", "?", "**", "[ab]", "a*", "*b", "c"};
	static const char *const names[] = {"a", "b", "c", "ab", "ba", "aa.c", "b.c"};
	char command[PATH_MAX], name[256];
	int below = 0;

	(void)state;
	if (system("command -v git >/dev/null") != 0) {
		print_message("not run: there is no git here\n");
		skip();
	}
	tree_mkdirs("ign");
	snprintf(command, sizeof command,
		"cd %s && git init -q . 2>/dev/null && echo '/b/*.c' >.git/info/exclude",
		tree_path("ign"));
	assert_int_equal(system(command), 0);
	for (int round = 0; round < 25; round++) {
		snprintf(command, sizeof command, "rm -rf %s/*", tree_path("ign"));
		assert_int_equal(system(command), 0);
		for (int i = 0; i < 60; i++) {
			snprintf(name, sizeof name, "ign/%s/%s/%s", names[roll_dice(4)],
				names[roll_dice(4)], names[roll_dice(COUNT(names))]);
			if (roll_dice(3) == 0)
				snprintf(name, sizeof name, "ign/%s.x/%s", names[roll_dice(4)],
					names[roll_dice(COUNT(names))]);
			if (!tree_exists(name))
				tree_text(name, "");
		}
		for (int file = 0; file < 3; file++) {
			struct str rules = STR_INIT;

			for (uint32_t i = roll_dice(4) + 1; i-- > 0;) {
				if (roll_dice(4) == 0)
					str_adds(&rules, "!");
				if (roll_dice(3) == 0)
					str_adds(&rules, "/");
				str_adds(&rules, bits[roll_dice(COUNT(bits))]);
				for (uint32_t more = roll_dice(3); more-- > 0;) {
					str_adds(&rules, roll_dice(2) ? "/" : "");
					str_adds(&rules, bits[roll_dice(COUNT(bits))]);
				}
				str_adds(&rules,
					roll_dice(3) == 0      ? "/\n"
						: roll_dice(5) ? "\n"
							       : "  \n");
			}
			snprintf(name, sizeof name, "ign%s%s/.gitignore", file ? "/" : "",
				file ? names[roll_dice(4)] : "");
			tree_text(name, rules.s);
			str_release(&rules);
		}
		compare_with_git("ign", "", round);
		/* What is ignored itself git does not look into; asked for by name, we do. */
		snprintf(command, sizeof command,
			"cd %s && test -z \"$(git " NO_GLOBAL " check-ignore a a/b)\"",
			tree_path("ign"));
		if (system(command) == 0 && tree_exists("ign/a/b")) {
			below++;
			compare_with_git("ign/a", "", round);
			compare_with_git("ign/a/b", "", round);
			compare_with_git("ign", "a/b", round);
		}
	}
	assert_true(below > 3);
}

static int setup(void **state)
{
	(void)state;
	tree_make("files-scan");
	chmod(tree_top, 0755);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_nftw),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_max_entries),
		cmocka_unit_test(test_max_entries_of_pieces),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_scan_cancel),
		cmocka_unit_test(test_globs),
		cmocka_unit_test(test_caller_globs),
		cmocka_unit_test(test_ignore_against_git),
	};

	return cmocka_run_group_tests(tests, setup, rooted_remove);
}
