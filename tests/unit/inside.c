/* inside.c - tars for `berth cp`: nothing that a hostile container sends is written outside of the destination. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

#include <archive.h>
#include <archive_entry.h>

#include <berth/mem.h>
#include <berth/str.h>

#include "inside/inside.h"
#include "lib/tree.h"

struct row {
	const char *path, *text, *link, *hard;
	mode_t type;  /* 0: a file */
	mode_t perm;  /* 0: 04644, of a directory 0755 */
	int64_t hole; /* behind the text */
};

static struct err e;
static struct inside_copied got;
static bool gzipped; /* the next tar */

static int make_tar(const struct row *row, size_t n)
{
	int fd = open(tree_path("t.tar"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct archive *out = archive_write_new();

	archive_write_set_format_pax(out);
	if (gzipped)
		assert_int_equal(archive_write_add_filter_gzip(out), ARCHIVE_OK);
	assert_int_equal(archive_write_open_fd(out, fd), ARCHIVE_OK);
	for (size_t i = 0; i < n; i++) {
		struct archive_entry *entry = archive_entry_new();
		size_t len = row[i].text ? strlen(row[i].text) : 0;

		archive_entry_copy_pathname(entry, row[i].path);
		archive_entry_set_filetype(entry, row[i].type ? row[i].type : S_IFREG);
		archive_entry_set_perm(entry, row[i].type == S_IFDIR ? 0755 : 04644);
		if (row[i].perm)
			archive_entry_set_perm(entry, row[i].perm);
		archive_entry_set_size(entry, (int64_t)len + row[i].hole);
		if (row[i].hole)
			archive_entry_sparse_add_entry(entry, 0, (int64_t)len);
		if (row[i].link)
			archive_entry_copy_symlink(entry, row[i].link);
		if (row[i].hard)
			archive_entry_copy_hardlink(entry, row[i].hard);
		assert_true(archive_write_header(out, entry) >= ARCHIVE_WARN);
		if (len)
			assert_int_equal(archive_write_data(out, row[i].text, len), len);
		archive_entry_free(entry);
	}
	assert_int_equal(archive_write_close(out), ARCHIVE_OK);
	archive_write_free(out);
	return fd;
}

/* Into "to" as NAME, or NULL: what is in "d". */
static int unpack_tar(int fd, const char *name)
{
	AUTO_CLOSE int dir = open(tree_path("to"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct unpack u = {.fd = fd, .dir = dir, .root = "d", .name = name, .shown = "to"};

	e = (struct err)ERR_INIT;
	got = (struct inside_copied){0};
	return inside_unpack(&u, &got, &e);
}

static int unpack_rows(const struct row *row, size_t n, const char *name)
{
	AUTO_CLOSE int fd = make_tar(row, n);

	return unpack_tar(fd, name);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(tree_path(path), &st), 0);
	return st.st_mode & 07777;
}

static bool is_link(const char *path)
{
	struct stat st;

	return !lstat(tree_path(path), &st) && S_ISLNK(st.st_mode);
}

#define UNPACK(name, ...)                                                                          \
	unpack_rows((const struct row[]){__VA_ARGS__}, COUNT(((const struct row[]){__VA_ARGS__})), \
		name)

static int set_up(void **state)
{
	(void)state;
	tree_make("inside");
	tree_mkdirs("to/kept");
	tree_mkdirs("outside");
	tree_text("outside/secret", "secret");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_true(tree_has("outside/secret", "secret"));
	assert_int_equal(tree_count(tree_path("outside")), 1);
	tree_remove();
	return 0;
}

static void a_tree_comes_whole(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(UNPACK("new", {"d/", .type = S_IFDIR}, {"d/a", .text = "one"},
				 {"d/l", .link = "../../outside", .type = S_IFLNK},
				 {"d/again", .hard = "d/a"}, {"d/s/", .type = S_IFDIR},
				 {"./d/s/\xff", .text = "odd"}, {"d/s/\xc3\xa9", .text = "e"}),
		0);
	assert_true(tree_has("to/new/a", "one") && tree_has("to/new/again", "one"));
	assert_true(tree_has("to/new/s/\xff", "odd") && tree_has("to/new/s/\xc3\xa9", "e"));
	assert_int_equal(stat(tree_path("to/new/a"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(st.st_nlink, 2);
	assert_int_equal(got.files, 4);
	assert_int_equal(got.dirs, 2);
	assert_int_equal(got.links, 1);
	assert_int_equal(got.cleared, 3);
	assert_int_equal(got.bytes, 7);
}

static void what_is_there_is_replaced_whole(void **state)
{
	(void)state;
	tree_text("to/kept/a", "old");
	tree_text("to/kept/b", "other");
	assert_int_equal(symlink(tree_path("outside/secret"), tree_path("to/kept/l")), 0);
	assert_int_equal(UNPACK("kept", {"d", .type = S_IFDIR}, {"d/a", .text = "new"},
				 {"d/l", .text = "mine"}),
		0);
	assert_true(tree_has("to/kept/a", "new") && tree_has("to/kept/b", "other"));
	assert_true(
		tree_has("to/kept/l", "mine")); /* the link was replaced, not what it leads to */
	assert_int_equal(tree_count(tree_path("to/kept")), 3);
}

static void no_path_leads_out(void **state)
{
	static const char *const paths[] = {"../outside/x", "d/../../outside/x", "/outside/x",
		"dd/x", "d/..", "d/a/../../x", "other", "d\n/x", "..", "d/./../x", "d//../x"};

	(void)state;
	for (size_t i = 0; i < COUNT(paths); i++) {
		assert_int_equal(unpack_rows((const struct row[]){{"d", .type = S_IFDIR},
						     {paths[i], .text = "x"}},
					 2, "new"),
			-1);
		assert_int_equal(e.kind, ERR_PROTOCOL);
		assert_int_equal(tree_count(tree_path("to/new")), 0);
	}
}

static void no_link_leads_out(void **state)
{
	(void)state;
	assert_int_equal(UNPACK("new", {"d", .type = S_IFDIR},
				 {"d/l", .link = tree_path("outside"), .type = S_IFLNK},
				 {"d/l/x", .text = "x"}),
		-1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_int_equal(UNPACK("new2", {"d", .link = tree_path("outside"), .type = S_IFLNK},
				 {"d/x", .text = "x"}),
		-1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	/* One that was there before, for a directory of that name. */
	assert_int_equal(symlink(tree_path("outside"), tree_path("to/kept/s")), 0);
	assert_int_equal(UNPACK("kept", {"d", .type = S_IFDIR}, {"d/s", .type = S_IFDIR},
				 {"d/s/x", .text = "x"}),
		-1);
	assert_int_equal(e.kind, ERR_SYS);
	assert_int_equal(e.sys, ENOTDIR);
}

#define LINK(path_, target)                            \
	{                                              \
		path_, .link = target, .type = S_IFLNK \
	}

static void links_that_lead_out_are_counted(void **state)
{
	(void)state;
	assert_int_equal(
		UNPACK("new", {"d", .type = S_IFDIR}, LINK("d/in", "f"), LINK("d/dot", "./s//f"),
			{"d/s", .type = S_IFDIR}, LINK("d/s/in", "../f"), LINK("d/s/top", "..")),
		0);
	assert_int_equal(got.links, 4);
	assert_int_equal(got.outward, 0);
	assert_int_equal(UNPACK("new", {"d", .type = S_IFDIR}, {"d/s", .type = S_IFDIR},
				 LINK("d/s/in", "../f"), LINK("d/s/out", "../../f"),
				 LINK("d/all", "/etc"), LINK("d/odd", "s/../f")),
		0);
	assert_int_equal(got.links, 4);
	assert_int_equal(got.outward, 3);
	assert_string_equal(got.first_outward, "new/s/out");
	assert_int_equal(
		UNPACK(NULL, {"d", .type = S_IFDIR}, LINK("d/in", "f"), LINK("d/out", "../f")), 0);
	assert_int_equal(got.outward, 1);
	/* All but the link itself is out of it. */
	assert_int_equal(UNPACK("alone", LINK("d", "f")), 0);
	assert_int_equal(got.outward, 1);
}

static void no_further_name_of_a_file_outside(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(
		UNPACK("new", {"d", .type = S_IFDIR}, {"d/h", .hard = "../outside/secret"}), -1);
	assert_int_equal(e.kind, ERR_PROTOCOL);
	assert_int_equal(UNPACK("new", {"d", .type = S_IFDIR},
				 {"d/l", .link = tree_path("outside"), .type = S_IFLNK},
				 {"d/h", .hard = "d/l/secret"}),
		-1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	/* Of the link itself. */
	assert_int_equal(UNPACK("new3", {"d", .type = S_IFDIR},
				 {"d/l", .link = tree_path("outside/secret"), .type = S_IFLNK},
				 {"d/h", .hard = "d/l"}),
		0);
	assert_true(is_link("to/new3/h"));
	assert_int_equal(got.links, 2);
	assert_int_equal(got.outward, 2);
	assert_int_equal(stat(tree_path("outside/secret"), &st), 0);
	assert_int_equal(st.st_nlink, 1);
}

static void further_names_of_what_is_no_file(void **state)
{
	(void)state;
	tree_text("to/kept/q", "mine");
	assert_int_equal(symlink("q", tree_path("to/kept/own")), 0);
	assert_int_equal(
		UNPACK("kept", {"d", .type = S_IFDIR}, LINK("d/l", "f"), {"d/s", .type = S_IFDIR},
			{"d/s/l", .hard = "d/l"}, {"d/p", .type = S_IFIFO}, {"d/p2", .hard = "d/p"},
			{"d/p3", .hard = "d/p2"}, {"d/q", .type = S_IFCHR}, {"d/q2", .hard = "d/q"},
			{"d/a", .text = "a"}),
		0);
	assert_int_equal(got.links, 2);
	assert_int_equal(got.left_out, 5);
	assert_int_equal(got.files, 1);
	assert_true(is_link("to/kept/s/l") && tree_has("to/kept/q", "mine"));
	assert_int_equal(tree_count(tree_path("to/kept")), 5);
	assert_int_equal(UNPACK("kept", {"d", .type = S_IFDIR}, {"d/h", .hard = "d/own"}), -1);
	assert_non_null(strstr(e.msg, "was here before"));
}

static void no_further_name_of_a_file_that_was_here(void **state)
{
	struct stat st;

	(void)state;
	tree_text("to/kept/own", "own");
	assert_int_equal(UNPACK("kept", {"d", .type = S_IFDIR}, {"d/a", .text = "a"},
				 {"d/h", .hard = "d/own"}),
		-1);
	assert_int_equal(e.kind, ERR_PROTOCOL);
	assert_non_null(strstr(e.msg, "was here before"));
	assert_int_equal(stat(tree_path("to/kept/own"), &st), 0);
	assert_int_equal(st.st_nlink, 1);
	/* One that came in its place is another. */
	assert_int_equal(UNPACK("kept", {"d", .type = S_IFDIR}, {"d/own", .text = "new"},
				 {"d/h", .hard = "d/own"}, {"d/i", .hard = "d/h"}),
		0);
	assert_true(tree_has("to/kept/i", "new"));
}

static void no_depth_without_end(void **state)
{
	char path[2 * INSIDE_DEPTH_MAX + 8] = "d";

	(void)state;
	for (int i = 0; i < INSIDE_DEPTH_MAX + 1; i++)
		strcat(path, "/x");
	assert_int_equal(UNPACK("new", {"d", .type = S_IFDIR}, {path, .text = "x"}), -1);
	assert_int_equal(e.kind, ERR_PROTOCOL);
	assert_non_null(strstr(e.msg, "more than 512 levels deep"));
}

static void devices_and_pipes_are_left_out(void **state)
{
	(void)state;
	assert_int_equal(
		UNPACK("new", {"d", .type = S_IFDIR}, {"d/p", .type = S_IFIFO},
			{"d/c", .type = S_IFCHR}, {"d/b", .type = S_IFBLK}, {"d/a", .text = "a"}),
		0);
	assert_int_equal(got.left_out, 3);
	assert_string_equal(got.first_left_out, "new/p");
	assert_int_equal(tree_count(tree_path("to/new")), 1);
}

static void content_alone(void **state)
{
	(void)state;
	assert_int_equal(UNPACK(NULL, {"d", .type = S_IFDIR}, {"d/a", .text = "a"}), 0);
	assert_true(tree_has("to/a", "a"));
	assert_int_equal(UNPACK(NULL, {"d", .text = "a file"}), -1);
	assert_int_equal(e.kind, ERR_PROTOCOL);
}

static void a_tar_that_ends_early_leaves_whole_files(void **state)
{
	static char text[300000];
	AUTO_CLOSE int fd = -1;

	(void)state;
	memset(text, 'x', sizeof text - 1);
	tree_text("to/f", "old");
	fd = make_tar(&(const struct row){"d", .text = text}, 1);
	assert_int_equal(ftruncate(fd, 100000), 0);
	assert_int_equal(unpack_tar(fd, "f"), -1);
	assert_int_equal(e.kind, ERR_PROTOCOL);
	assert_int_equal(got.bytes, 0);
	assert_true(tree_has("to/f", "old"));
	assert_int_equal(tree_count(tree_path("to")), 2);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(unpack_tar(fd, "f"), -1);
}

static void a_full_disk_leaves_whole_files(void **state)
{
	static char text[300000];
	struct rlimit all, less;
	AUTO_CLOSE int fd = -1;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
	less = (struct rlimit){100000, all.rlim_max};
	memset(text, 'x', sizeof text - 1);
	tree_text("to/f", "old");
	fd = make_tar(&(const struct row){"d", .text = text}, 1);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
	assert_int_equal(unpack_tar(fd, "f"), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	assert_int_equal(e.sys, EFBIG);
	assert_true(tree_has("to/f", "old"));
	assert_int_equal(tree_count(tree_path("to")), 2);
}

static void holes_are_refused(void **state)
{
	(void)state;
	assert_int_equal(UNPACK("new", {"d", .text = "a little", .hole = INT64_C(1) << 40}), -1);
	assert_int_equal(e.kind, ERR_PROTOCOL);
	assert_int_equal(tree_count(tree_path("to")), 1);
}

static void what_is_compressed_is_not_a_tar(void **state)
{
	int rc;

	(void)state;
	gzipped = true;
	rc = UNPACK("new", {"d", .text = "text"});
	gzipped = false;
	assert_int_equal(rc, -1);
	assert_int_equal(e.kind, ERR_PROTOCOL);
	assert_int_equal(tree_count(tree_path("to")), 1);
}

static void modes_of_directories(void **state)
{
	(void)state;
	assert_int_equal(UNPACK("new", {"d", .type = S_IFDIR, .perm = 0555},
				 {"d/t", .type = S_IFDIR, .perm = 07777},
				 {"d/t/a", .text = "a", .perm = 0600}),
		0);
	assert_int_equal(mode_of("to/new"), 0555);
	assert_int_equal(mode_of("to/new/t"), 01777);
	assert_int_equal(got.cleared, 1);
	assert_int_equal(mode_of("to/new/t/a"), 0600);
	assert_int_equal(chmod(tree_path("to/new"), 0755), 0);
	/* One that is there keeps its mode; one that comes again is the same. */
	assert_int_equal(chmod(tree_path("to/kept"), 0700), 0);
	assert_int_equal(UNPACK("kept", {"d", .type = S_IFDIR}, {"d/s", .type = S_IFDIR},
				 {"d/a", .text = "a"}, {"d/s/b", .text = "b"},
				 {"d/s", .type = S_IFDIR, .perm = 0700}),
		0);
	assert_int_equal(mode_of("to/kept"), 0700);
	assert_int_equal(mode_of("to/kept/s"), 0755);
	assert_int_equal(got.dirs, 3);
	assert_true(tree_has("to/kept/s/b", "b"));
}

static bool stop_now(void *ctx)
{
	return !(*(int *)ctx)--;
}

static int unpack_until(int fd, bool (*stop)(void *ctx), void *ctx)
{
	AUTO_CLOSE int dir = open(tree_path("to"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct unpack u = {.fd = fd,
		.dir = dir,
		.root = "d",
		.name = "new",
		.shown = "to",
		.stop = stop,
		.ctx = ctx};

	e = (struct err)ERR_INIT;
	got = (struct inside_copied){0};
	return inside_unpack(&u, &got, &e);
}

static void stopped_in_the_middle(void **state)
{
	int left = 3;
	AUTO_CLOSE int fd = make_tar((const struct row[]){{"d", .type = S_IFDIR, .perm = 0750},
					     {"d/a", .text = "a"}, {"d/b", .text = "b"}},
		3);

	(void)state;
	assert_int_equal(unpack_until(fd, stop_now, &left), -1);
	assert_int_equal(e.kind, ERR_CANCELLED);
	assert_int_equal(mode_of("to/new"), 0750);
	assert_int_equal(got.files, 1);
	assert_int_equal(tree_count(tree_path("to/new")), 1);
}

/* Another program puts a directory of its own there. */
static bool swap_a_directory(void *ctx)
{
	bool *done = ctx;

	if (!*done && tree_exists("to/new/s/a")) {
		*done = true;
		assert_int_equal(rename(tree_path("to/new/s"), tree_path("to/new/old")), 0);
		assert_int_equal(mkdir(tree_path("to/new/s"), 0711), 0);
	}
	return false;
}

static void a_directory_that_was_replaced_stays_as_it_is(void **state)
{
	bool done = false;
	AUTO_CLOSE int fd = make_tar(
		(const struct row[]){{"d", .type = S_IFDIR}, {"d/s", .type = S_IFDIR, .perm = 0777},
			{"d/s/a", .text = "a"}, {"d/b", .text = "b"}},
		4);

	(void)state;
	assert_int_equal(unpack_until(fd, swap_a_directory, &done), -1);
	assert_true(done);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_int_equal(mode_of("to/new/s"), 0711);
}

static bool die_in_a_file(void *ctx)
{
	return !(*(int *)ctx)-- && raise(SIGKILL);
}

static void nothing_is_left_when_it_is_killed(void **state)
{
	static char text[600000];
	int left = 2, status = 0;
	AUTO_CLOSE int fd = -1, can = open(tree_path("to"), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	pid_t pid;

	(void)state;
	if (can < 0)
		skip(); /* this file system knows no files without names */
	memset(text, 'x', sizeof text - 1);
	fd = make_tar(&(const struct row){"d", .text = text}, 1);
	pid = fork();
	if (!pid)
		_exit(unpack_until(fd, die_in_a_file, &left) ? 1 : 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(tree_count(tree_path("to")), 1);
}

/* Directories of the container, each with a space behind it; "!": the question fails.  NULL: nothing is asked. */
static const char *there_list;
static int asked;
static int *stops_after; /* so many questions; NULL: it does not */

static int is_listed(void *ctx, const char *name, struct err *why)
{
	AUTO_FREE char *word = xasprintf("%s ", name);

	(void)ctx;
	asked++;
	if (!strcmp(there_list, "!"))
		return err_set(why, ERR_UNREACHABLE, "gone");
	return strstr(there_list, word) != NULL;
}

/* `from` in the directory `top`. */
static int pack_tree(const char *top, const char *from, const char *name, int *ret_fd)
{
	struct pack p = {.from = from,
		.path = from,
		.prefix = there_list ? "way/to/" : "",
		.name = name,
		.is_there = there_list ? is_listed : NULL,
		.stop = stops_after ? stop_now : NULL,
		.ctx = stops_after};
	AUTO_CLOSE int dir = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);

	p.dir = dir;
	p.fd = open(tree_path("t.tar"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	*ret_fd = p.fd;
	e = (struct err)ERR_INIT;
	got = (struct inside_copied){0};
	return inside_pack(&p, &got, &e);
}

static int pack_from(const char *name, int *ret_fd)
{
	return pack_tree(tree_path("."), "from", name, ret_fd);
}

/* The names in a tar, and of links after "=" what they are names of. */
static const char *names_in(int fd)
{
	static char names[1024];
	struct archive *in = archive_read_new();
	struct archive_entry *entry;

	names[0] = '\0';
	lseek(fd, 0, SEEK_SET);
	archive_read_support_format_tar(in);
	assert_int_equal(archive_read_open_fd(in, fd, 10240), ARCHIVE_OK);
	while (archive_read_next_header(in, &entry) == ARCHIVE_OK) {
		const char *of = archive_entry_hardlink(entry);

		strcat(strcat(names, archive_entry_pathname(entry)), of ? "=" : " ");
		if (of)
			strcat(strcat(names, of), " ");
	}
	archive_read_free(in);
	return names;
}

static void a_tree_goes_there_and_back(void **state)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;

	(void)state;
	tree_text("from/a", "one");
	tree_text("from/s/\xff", "odd");
	tree_text("from/s/none", "");
	assert_int_equal(link(tree_path("from/a"), tree_path("from/b")), 0);
	assert_int_equal(link(tree_path("from/a"), tree_path("from/s/c")), 0);
	assert_int_equal(symlink("nowhere", tree_path("from/l")), 0);
	assert_int_equal(mkfifo(tree_path("from/p"), 0600), 0);
	assert_int_equal(chmod(tree_path("from/s/none"), 04755), 0);
	assert_int_equal(pack_from("d", &fd), 0);
	assert_int_equal(got.files, 5);
	assert_int_equal(got.dirs, 2);
	assert_int_equal(got.links, 1);
	assert_int_equal(got.left_out, 1);
	assert_int_equal(got.cleared, 1);
	assert_int_equal(got.bytes, 6); /* a file with three names has one content */
	assert_int_equal(unpack_tar(fd, "new"), 0);
	assert_int_equal(got.files, 5);
	assert_int_equal(got.cleared, 0);
	assert_true(tree_has("to/new/a", "one") && tree_has("to/new/s/c", "one"));
	assert_true(tree_has("to/new/s/\xff", "odd") && tree_has("to/new/s/none", ""));
	assert_int_equal(stat(tree_path("to/new/a"), &st), 0);
	assert_int_equal(st.st_nlink, 3);
	assert_false(tree_exists("to/new/p"));
}

static void what_is_in_a_tree_alone(void **state)
{
	AUTO_CLOSE int fd = -1;

	(void)state;
	tree_text("from/d/a", "one");
	assert_int_equal(pack_from(NULL, &fd), 0);
	assert_int_equal(got.dirs, 1);
	assert_int_equal(unpack_tar(fd, "new"), 0);
	assert_true(tree_has("to/new/a", "one"));
}

static void directories_that_are_there_stay_as_they_are(void **state)
{
	int fd;

	(void)state;
	tree_text("from/a", "one");
	tree_mkdirs("from/new/sub");
	tree_mkdirs("from/old/s");
	tree_mkdirs("from/old/t");
	assert_int_equal(link(tree_path("from/a"), tree_path("from/old/t/b")), 0);
	there_list = "d d/old d/old/t ";
	asked = 0;
	assert_int_equal(pack_from("d", &fd), 0);
	assert_string_equal(names_in(fd),
		"way/to/d/a way/to/d/new/ way/to/d/new/sub/ way/to/d/old/s/ way/to/d/old/t/b=way/to/d/a ");
	assert_int_equal(asked, 5); /* not about new/sub */
	assert_int_equal(got.dirs, 6);
	close(fd);
	there_list = "old ";
	assert_int_equal(pack_from(NULL, &fd), 0);
	assert_string_equal(names_in(fd),
		"way/to/a way/to/new/ way/to/new/sub/ way/to/old/s/ way/to/old/t/ way/to/old/t/b=way/to/a ");
	close(fd);
	there_list = "!";
	assert_int_equal(pack_from("d", &fd), -1);
	assert_int_equal(e.kind, ERR_UNREACHABLE);
	close(fd);
	there_list = NULL;
}

static mode_t perm_in_tar(int fd, const char *name)
{
	struct archive *in = archive_read_new();
	struct archive_entry *entry;
	mode_t perm = 0;

	lseek(fd, 0, SEEK_SET);
	archive_read_support_format_tar(in);
	assert_int_equal(archive_read_open_fd(in, fd, 10240), ARCHIVE_OK);
	while (archive_read_next_header(in, &entry) == ARCHIVE_OK)
		if (!strcmp(archive_entry_pathname(entry), name))
			perm = archive_entry_perm(entry);
	archive_read_free(in);
	return perm;
}

static void directories_keep_the_set_group_id_bit_on_their_way_in(void **state)
{
	AUTO_CLOSE int fd = -1;

	(void)state;
	tree_text("from/s/a", "one");
	assert_int_equal(chmod(tree_path("from/s"), 06775), 0);
	assert_int_equal(chmod(tree_path("from/s/a"), 02755), 0);
	assert_int_equal(pack_from("d", &fd), 0);
	assert_int_equal(perm_in_tar(fd, "d/s/"), 02775);
	assert_int_equal(perm_in_tar(fd, "d/s/a"), 0755);
	assert_int_equal(got.cleared, 2);
}

/* Nothing is written for directories that are there: what is asked about each may take long. */
static void stopped_among_directories(void **state)
{
	AUTO_CLOSE int fd = -1;
	int left = 1;

	(void)state;
	tree_mkdirs("from/a");
	tree_mkdirs("from/b");
	there_list = "d d/a d/b ";
	stops_after = &left;
	asked = 0;
	assert_int_equal(pack_from("d", &fd), -1);
	there_list = NULL;
	stops_after = NULL;
	assert_int_equal(e.kind, ERR_CANCELLED);
	assert_int_equal(asked, 2);
}

static void content_of_an_unknown_size_is_refused(void **state)
{
	AUTO_CLOSE int fd = -1;

	(void)state;
	assert_int_equal(pack_tree("/proc/self", "status", "d", &fd), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_non_null(strstr(e.msg, "its size is not known"));
}

/* Of a process that has ended, the names of its namespaces are there, but no longer where they lead. */
static void links_that_go_meanwhile_are_left_out(void **state)
{
	AUTO_CLOSE int fd = -1;
	pid_t pid = fork();
	siginfo_t info;
	char proc[64];

	(void)state;
	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	snprintf(proc, sizeof proc, "/proc/%d", (int)pid);
	if (pack_tree(proc, "ns", "d", &fd))
		fail_msg("%s", e.msg);
	snprintf(proc, sizeof proc, "/proc/%d/ns", (int)pid);
	assert_true(got.links < (uint64_t)tree_count(proc));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void what_is_in_a_file_cannot_be_packed(void **state)
{
	AUTO_CLOSE int fd = -1;

	(void)state;
	tree_text("from", "one");
	assert_int_equal(pack_from(NULL, &fd), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
}

static int read_users(void *ctx, const char *path, struct str *ret, struct err *why)
{
	const char *const *files = ctx;
	const char *text = files[!strcmp(path, "/etc/group")];

	if (!text)
		return err_set(why, ERR_NOT_FOUND, "there is no %s", path);
	if (!strcmp(text, "!"))
		return err_set(why, ERR_UNREACHABLE, "gone");
	str_adds(ret, text);
	return 0;
}

static void users_of_a_container(void **state)
{
	static const char *const files[] = {
		"root:x:0:0::/:/bin/sh\nbroken\nme:x:12:34:me:/:/bin/sh\n\nlow:x:y:1:\nhuge:x:4294967295:1:\nend:x:5:6",
		"staff:x:50:me,you\n"};
	static const char *const none[] = {NULL, NULL}, *const gone[] = {"!", "!"};
	static const struct {
		const char *user;
		int uid, gid;
	} rows[] = {{"", 0, 0}, {"root", 0, 0}, {"me", 12, 34}, {"12", 12, 34}, {"7", 7, 0},
		{"me:staff", 12, 50}, {"me:9", 12, 9}, {"7:8", 7, 8}, {"7:staff", 7, 50},
		{"end", 5, 6}};
	static const char *const wrong[] = {
		"nobody", "m", "low", "huge", "broken", "me:nobody", "-1", "4294967296"};
	uid_t uid = 99;
	gid_t gid = 99;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(
			inside_owner(rows[i].user, read_users, (void *)files, &uid, &gid, &e), 0);
		assert_int_equal(uid, rows[i].uid);
		assert_int_equal(gid, rows[i].gid);
	}
	for (size_t i = 0; i < COUNT(wrong); i++)
		assert_int_equal(
			inside_owner(wrong[i], read_users, (void *)files, &uid, &gid, &e), -1);
	assert_int_equal(inside_owner("7", read_users, (void *)none, &uid, &gid, &e), 0);
	assert_int_equal(uid, 7);
	assert_int_equal(inside_owner("me", read_users, (void *)none, &uid, &gid, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_int_equal(inside_owner("7", read_users, (void *)gone, &uid, &gid, &e), -1);
	assert_int_equal(e.kind, ERR_UNREACHABLE);
}

static void the_first_file_of_a_tar(void **state)
{
	AUTO_STR struct str text = STR_INIT;
	AUTO_CLOSE int fd = make_tar(&(const struct row){"passwd", .text = "me:x:1:2"}, 1);

	(void)state;
	assert_int_equal(inside_read_file(fd, 8, &text, &e), 0);
	assert_string_equal(text.s, "me:x:1:2");
	assert_int_equal(inside_read_file(fd, 7, &text, &e), -1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_tree_comes_whole),
		TEST(what_is_there_is_replaced_whole),
		TEST(no_path_leads_out),
		TEST(no_link_leads_out),
		TEST(links_that_lead_out_are_counted),
		TEST(no_further_name_of_a_file_outside),
		TEST(no_further_name_of_a_file_that_was_here),
		TEST(further_names_of_what_is_no_file),
		TEST(no_depth_without_end),
		TEST(devices_and_pipes_are_left_out),
		TEST(content_alone),
		TEST(a_tar_that_ends_early_leaves_whole_files),
		TEST(a_full_disk_leaves_whole_files),
		TEST(holes_are_refused),
		TEST(what_is_compressed_is_not_a_tar),
		TEST(modes_of_directories),
		TEST(stopped_in_the_middle),
		TEST(a_directory_that_was_replaced_stays_as_it_is),
		TEST(nothing_is_left_when_it_is_killed),
		TEST(a_tree_goes_there_and_back),
		TEST(what_is_in_a_tree_alone),
		TEST(directories_that_are_there_stay_as_they_are),
		TEST(directories_keep_the_set_group_id_bit_on_their_way_in),
		TEST(stopped_among_directories),
		TEST(content_of_an_unknown_size_is_refused),
		TEST(links_that_go_meanwhile_are_left_out),
		TEST(what_is_in_a_file_cannot_be_packed),
		TEST(users_of_a_container),
		TEST(the_first_file_of_a_tar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
