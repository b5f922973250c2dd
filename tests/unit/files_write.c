/* files_write.c - batches of writes: the three promises, conflicts, locks, what recovery does. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <cmocka.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <berth/mem.h>

#include "job/board.h"
#include "lib/rooted.h"

static const enum files_promise promises[] = {FILES_VISIBLE, FILES_DURABLE, FILES_ALL_OR_NOTHING};

/* Nothing of a batch stays behind: of a large one, once the workers have removed it. */
static void assert_stage_empty(void)
{
	int dirs;

	for (int i = 0; i < 10000 && tree_staged("root", &dirs) > 0; i++)
		usleep(1000);
	assert_int_equal(tree_staged("root", &dirs), 0);
	assert_int_equal(tree_records("root"), 0);
}

static enum err_kind put_one(const char *path, const char *text, const struct files_token *expect,
	bool create_only, struct files_token *token)
{
	struct files_put p = {.path = path,
		.bytes = text,
		.len = strlen(text),
		.expect = expect,
		.create_only = create_only};
	struct files_write_options o = {.promise = FILES_VISIBLE};
	struct files_writing *w;
	struct err e = ERR_INIT;
	int rc = files_write(f, root, &p, 1, &o, &w, &e);

	assert_true((rc < 0) == (w->items[0].err != NULL));
	if (token)
		*token = w->items[0].token;
	files_writing_free(w);
	return e.kind;
}

static void token_of(const char *path, struct files_token *t)
{
	struct files_want want = {.path = path};
	struct files_reading *r;

	assert_int_equal(
		files_read(f, root, &want, 1, &(struct files_read_options){.hash = true}, &r, NULL),
		0);
	assert_null(r->items[0].err);
	*t = r->items[0].token;
	files_reading_free(r);
}

static void test_batch(void **state)
{
	struct files_put puts[150];
	char names[150][40];

	(void)state;
	for (size_t p = 0; p < COUNT(promises); p++)
		for (int n = 1; n <= 150; n = n * 3 + 2) {
			struct files_write_options o = {.promise = promises[p], .parents = true};
			struct files_writing *w;
			struct err e = ERR_INIT;

			for (int i = 0; i < n; i++) {
				snprintf(names[i], sizeof names[i], "p%zu/n%d/d%d/f%d", p, n, i % 5,
					i);
				puts[i] = (struct files_put){.path = names[i],
					.bytes = names[i],
					.len = strlen(names[i])};
			}
			for (int round = 0; round < 2; round++) {
				assert_int_equal(
					files_write(f, root, puts, (size_t)n, &o, &w, &e), 0);
				assert_int_equal(w->failed, 0);
				for (int i = 0; i < n; i++) {
					char in_root[64];

					snprintf(in_root, sizeof in_root, "root/%s", names[i]);
					assert_true(tree_has(in_root, names[i]));
					assert_int_equal(w->items[i].token.size, strlen(names[i]));
				}
				files_writing_free(w);
				assert_stage_empty();
			}
		}
}

static void test_metadata(void **state)
{
	struct stat before, after;
	char value[16];
	mode_t mask = umask(027);
	struct files_put special = {.path = "special", .bytes = "x", .len = 1, .mode = 0751};
	struct files_writing *w;

	(void)state;
	assert_int_equal(put_one("new", "text", NULL, false, NULL), ERR_NONE);
	stat(tree_path("root/new"), &after);
	assert_int_equal(after.st_mode & 07777, 0640);
	assert_int_equal(
		files_write(f, root, &special, 1, &(struct files_write_options){0}, &w, NULL), 0);
	files_writing_free(w);
	stat(tree_path("root/special"), &after);
	assert_int_equal(after.st_mode & 07777, 0751);
	umask(mask);

	tree_text("root/kept", "old");
	assert_int_equal(link(tree_path("root/kept"), tree_path("other_name")), 0);
	chmod(tree_path("root/kept"), 04755);
	if (geteuid() == 0)
		assert_int_equal(chown(tree_path("root/kept"), 1234, 1235), 0);
	bool xattrs = setxattr(tree_path("root/kept"), "user.note", "hello", 5, 0) == 0;

	stat(tree_path("root/kept"), &before);
	assert_int_equal(put_one("kept", "new", NULL, false, NULL), ERR_NONE);
	stat(tree_path("root/kept"), &after);
	assert_int_equal(after.st_mode & 07777, 0755);
	assert_int_equal(after.st_uid, before.st_uid);
	assert_int_equal(after.st_gid, before.st_gid);
	if (xattrs)
		assert_int_equal(
			getxattr(tree_path("root/kept"), "user.note", value, sizeof value), 5);
	/* Another name of the old file keeps the old content. */
	assert_true(tree_has("other_name", "old"));
	assert_true(tree_has("root/kept", "new"));
}

static void test_conflicts(void **state)
{
	struct files_token t, again;

	(void)state;
	tree_text("root/c", "one");
	token_of("c", &t);
	assert_int_equal(put_one("c", "two", &t, false, &again), ERR_NONE);
	assert_int_equal(put_one("c", "three", &t, false, NULL), ERR_CONFLICT);
	/* Writing again with the token of the last write is no conflict, however soon. */
	assert_int_equal(put_one("c", "four", &again, false, &again), ERR_NONE);
	assert_true(tree_has("root/c", "four"));
	/* In place, same size, time stamp put back: still noticed. */
	token_of("c", &t);
	struct stat st;

	stat(tree_path("root/c"), &st);
	tree_text("root/c", "FOUR");
	struct timespec times[2] = {st.st_atim, st.st_mtim};

	utimensat(AT_FDCWD, tree_path("root/c"), times, 0);
	assert_int_equal(put_one("c", "five", &t, false, NULL), ERR_CONFLICT);
	/* Saved by an editor with the same content: nobody loses anything. */
	token_of("c", &t);
	tree_text("root/c.new", "FOUR");
	rename(tree_path("root/c.new"), tree_path("root/c"));
	assert_int_equal(put_one("c", "five", &t, false, NULL), ERR_NONE);
	token_of("c", &t);
	unlink(tree_path("root/c"));
	assert_int_equal(put_one("c", "six", &t, false, NULL), ERR_CONFLICT);
	assert_false(tree_exists("root/c"));

	assert_int_equal(put_one("c", "seven", NULL, true, NULL), ERR_NONE);
	assert_int_equal(put_one("c", "eight", NULL, true, NULL), ERR_CONFLICT);
	assert_true(tree_has("root/c", "seven"));
	assert_stage_empty();
}

static void test_bad_targets(void **state)
{
	(void)state;
	tree_text("outside", "outside");
	tree_mkdirs("root/dir");
	tree_mkdirs("elsewhere");
	assert_int_equal(symlink("../outside", tree_path("root/link")), 0);
	assert_int_equal(symlink("../elsewhere", tree_path("root/dirlink")), 0);
	assert_int_equal(symlink("dir", tree_path("root/inlink")), 0);
	assert_int_equal(mkfifo(tree_path("root/fifo"), 0644), 0);
	assert_int_equal(put_one("link", "x", NULL, false, NULL), ERR_REFUSED);
	assert_int_equal(put_one("dirlink/x", "x", NULL, false, NULL), ERR_REFUSED);
	assert_int_equal(put_one("inlink/x", "x", NULL, false, NULL), ERR_NONE);
	assert_int_equal(put_one("fifo", "x", NULL, false, NULL), ERR_REFUSED);
	assert_int_equal(put_one("dir", "x", NULL, false, NULL), ERR_REFUSED);
	assert_int_equal(put_one("dir/", "x", NULL, false, NULL), ERR_USAGE);
	assert_int_equal(put_one("dir/.", "x", NULL, false, NULL), ERR_USAGE);
	assert_int_equal(put_one("dir/..", "x", NULL, false, NULL), ERR_USAGE);
	assert_int_equal(put_one("..", "x", NULL, false, NULL), ERR_USAGE);
	assert_int_equal(put_one("../outside", "x", NULL, false, NULL), ERR_REFUSED);
	assert_int_equal(put_one("dir/../../outside", "x", NULL, false, NULL), ERR_REFUSED);
	assert_int_equal(put_one("/etc/x", "x", NULL, false, NULL), ERR_REFUSED);
	assert_int_equal(put_one("gone/x", "x", NULL, false, NULL), ERR_NOT_FOUND);
	assert_int_equal(put_one("inlink/x/y", "x", NULL, false, NULL), ERR_SYS);
	assert_true(tree_has("outside", "outside"));
	assert_int_equal(tree_count(tree_path("elsewhere")), 0);
	assert_stage_empty();
}

/* What failed is told on the job board, with its sentence. */
static void test_write_job(void **state)
{
	struct files_put puts[] = {{.path = "dir/told", .bytes = "a", .len = 1},
		{.path = "fifo", .bytes = "b", .len = 1}};
	struct files_write_options o = {.partial = true};
	struct files_writing *w;
	struct files_root *r;
	struct files *own;
	struct job_info job;

	(void)state;
	tree_mkdirs("run");
	chmod(tree_path("run"), 0700);
	setenv("XDG_RUNTIME_DIR", tree_path("run"), 1);
	own = files_open(&(struct files_options){.program = "test"});
	r = files_root_open(own, tree_path("root"), NULL);
	assert_int_equal(files_write(own, r, puts, 2, &o, &w, NULL), -1);
	assert_int_equal(jobs_read(NULL, &job, 1), 1);
	assert_int_equal(job.failed, 1);
	assert_int_equal(job.items_done, 1);
	assert_string_equal(job.error[0], w->items[1].err->msg);
	files_writing_free(w);
	/* What came of it is a sentence, of one file as of many. */
	assert_int_equal(jobs_dismiss(&job.id, NULL), 0);
	assert_int_equal(files_write(own, r, puts, 1, &o, &w, NULL), 0);
	assert_int_equal(jobs_read(NULL, &job, 1), 1);
	assert_string_equal(job.result, "Wrote 1 file, 1 byte.");
	files_writing_free(w);
	files_root_close(r);
	files_close(own);
	assert_int_equal(unlink(tree_path("root/dir/told")), 0);
}

/* One bad item: without `partial` nothing happens, with it the others are written. */
static void test_partial(void **state)
{
	struct files_put puts[] = {
		{.path = "part/a", .bytes = "a", .len = 1},
		{.path = "fifo", .bytes = "b", .len = 1},
		{.path = "part/deep/c", .bytes = "c", .len = 1},
	};
	struct files_put twice[] = {{.path = "dir/t", .bytes = "a", .len = 1},
		{.path = "inlink/t", .bytes = "b", .len = 1}};
	struct files_writing *w;
	struct err e = ERR_INIT;

	(void)state;
	for (size_t p = 0; p < COUNT(promises); p++) {
		struct files_write_options o = {.promise = promises[p], .parents = true};

		assert_int_equal(files_write(f, root, puts, 3, &o, &w, &e), -1);
		assert_int_equal(e.kind, ERR_REFUSED);
		assert_int_equal(w->failed, 3);
		files_writing_free(w);
		assert_false(tree_exists("root/part"));
		assert_int_equal(files_write(f, root, twice, 2, &o, &w, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		files_writing_free(w);
		assert_false(tree_exists("root/dir/t"));
		if (promises[p] == FILES_ALL_OR_NOTHING)
			continue;
		o.partial = true;
		assert_int_equal(files_write(f, root, puts, 3, &o, &w, &e), -1);
		assert_int_equal(w->failed, 1);
		files_writing_free(w);
		assert_true(tree_has("root/part/a", "a"));
		assert_true(tree_has("root/part/deep/c", "c"));
		unlink(tree_path("root/part/a"));
		unlink(tree_path("root/part/deep/c"));
		rmdir(tree_path("root/part/deep"));
		rmdir(tree_path("root/part"));
	}
	assert_int_equal(
		files_write(f, root, NULL, 0, &(struct files_write_options){0}, &w, &e), 0);
	files_writing_free(w);
	assert_stage_empty();
}

/* A process of its own that writes and is killed without any chance to clean up. */
static void test_leftovers(void **state)
{
	int go[2], dirs;
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	files_root_close(root); /* the only owner is the child's */
	pid = fork();
	if (pid == 0) {
		struct files *mine =
			files_open(&(struct files_options){.avoid = FILES_AVOID_BOARD});
		struct files_root *r = files_root_open(mine, tree_path("root"), NULL);
		struct files_put p = {.path = "by_child", .bytes = "x", .len = 1};
		struct files_writing *w;

		files_write(mine, r, &p, 1, &(struct files_write_options){0}, &w, NULL);
		/* What a kill in the middle of staging leaves. */
		DIR *d = opendir(tree_place("root"));
		struct dirent *entry;

		while ((entry = readdir(d)))
			if (strncmp(entry->d_name, "owner.", 6) == 0) {
				char name[128];

				snprintf(name, sizeof name, "root/.berth-%s", entry->d_name + 6);
				tree_mkdirs(name);
				chmod(tree_path(name), 0700);
				snprintf(name, sizeof name, "root/.berth-%s/%s.77",
					entry->d_name + 6, entry->d_name + 6);
				tree_text(name, "half");
			}
		(void)!write(go[1], "r", 1);
		pause();
		_exit(1);
	}
	assert_int_equal(read(go[0], &c, 1), 1);
	assert_true(tree_staged("root", &dirs) > 0);
	/* As long as it lives its files are its own. */
	root = files_root_open(f, tree_path("root"), NULL);
	assert_int_equal(put_one("living", "x", NULL, false, NULL), ERR_NONE);
	assert_true(tree_staged("root", &dirs) > 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	files_root_close(root);
	root = files_root_open(f, tree_path("root"), NULL);
	assert_int_equal(put_one("after", "x", NULL, false, NULL), ERR_NONE);
	assert_stage_empty();
	close(go[0]);
	close(go[1]);
}

/* A record as berth once kept it in the tree, forged by whoever can write there: it moves a staged file to `to`. */
static void forge_record(const char *dir, const char *id, const char *to)
{
	struct {
		char magic[8];
		uint32_t version, count;
		uint64_t checksum, size;
		uint8_t direction, pad[7];
	} header = {.magic = "berthwal", .version = 1, .count = 1, .direction = 'f'};
	struct {
		uint64_t new_ino, old_ino, old_size;
		int64_t old_mtime_ns;
		uint32_t existed, path_len;
		char stage[64];
	} record = {.path_len = (uint32_t)strlen(to)};
	char bytes[sizeof header + sizeof record + 64] = "", name[128];
	size_t len = sizeof header + sizeof record + strlen(to) + 1;
	struct stat st;

	snprintf(record.stage, sizeof record.stage, "%s.0", id);
	snprintf(name, sizeof name, "%s/stage/%s", dir, record.stage);
	tree_text(name, "evil");
	assert_int_equal(stat(tree_path(name), &st), 0);
	record.new_ino = st.st_ino;
	header.size = len;
	memcpy(bytes + sizeof header, &record, sizeof record);
	memcpy(bytes + sizeof header + sizeof record, to, strlen(to));
	header.checksum = XXH3_64bits(bytes + sizeof header, len - sizeof header);
	memcpy(bytes, &header, sizeof header);
	snprintf(name, sizeof name, "%s/journal/%s.1", dir, id);
	tree_write(name, bytes, len);
}

/* Nothing that lies in the tree is believed, followed or removed, whatever it is called. */
static void test_planted(void **state)
{
	static const char *const names[] = {".berth", ".berth-0123456789abcdef0123456789abcdef"};
	struct files_put p = {.path = "x", .bytes = "x", .len = 1};
	struct files_writing *w;

	(void)state;
	tree_mkdirs("planted/.git/hooks");
	for (size_t i = 0; i < COUNT(names); i++) {
		struct files_root *r;
		char at[128];

		snprintf(at, sizeof at, "planted/%s", names[i]);
		tree_mkdirs(at);
		chmod(tree_path(at), 0700);
		forge_record(at, "0123456789abcdef", ".git/hooks/pre-commit");
		forge_record(at, "0123456789abcdef0123456789abcdef", ".git/hooks/pre-commit");
		r = files_root_open(f, tree_path("planted"), NULL);
		assert_int_equal(
			files_write(f, r, &p, 1,
				&(struct files_write_options){.promise = FILES_ALL_OR_NOTHING}, &w,
				NULL),
			0);
		files_writing_free(w);
		files_root_close(r);
		assert_false(tree_exists("planted/.git/hooks/pre-commit"));
		snprintf(at, sizeof at, "planted/%s/journal/0123456789abcdef.1", names[i]);
		assert_true(tree_exists(at));
	}
	/* A link, and a directory that others may write to, are in nobody's way either. */
	tree_mkdirs("victim");
	tree_mkdirs("linked");
	assert_int_equal(symlink(tree_path("victim"), tree_path("linked/.berth")), 0);
	struct files_root *r = files_root_open(f, tree_path("linked"), NULL);

	assert_int_equal(files_write(f, r, &p, 1, &(struct files_write_options){0}, &w, NULL), 0);
	files_writing_free(w);
	files_root_close(r);
	assert_int_equal(tree_count(tree_path("victim")), 0);
}

/* Damaged, foreign and unfinished records of dead processes: never a half-done batch. */
static void test_journals(void **state)
{
	static const char *const junk[] = {"", "berthwal",
		"not a journal at all, but long enough to be one .................................."};
	struct files_root *r;
	struct files_put p = {.path = "x", .bytes = "x", .len = 1};
	struct files_writing *w;
	char place[PATH_MAX], name[PATH_MAX + 64], command[2 * PATH_MAX];

	(void)state;
	tree_mkdirs("journals");
	snprintf(place, sizeof place, "%s/journal", tree_place("journals"));
	for (size_t i = 0; i <= COUNT(junk); i++) {
		snprintf(command, sizeof command, "mkdir -m 700 -p '%s'", place);
		assert_int_equal(system(command), 0);
		snprintf(name, sizeof name, "%s/0123456789abcdef0123456789abcdef.1", place);
		if (i < COUNT(junk)) {
			AUTO_CLOSE int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

			assert_int_equal(
				write(fd, junk[i], strlen(junk[i])), (ssize_t)strlen(junk[i]));
		} else {
			assert_int_equal(symlink("/etc/passwd", name), 0);
		}
		r = files_root_open(f, tree_path("journals"), NULL);
		assert_int_equal(
			files_write(f, r, &p, 1, &(struct files_write_options){0}, &w, NULL), 0);
		files_writing_free(w);
		files_root_close(r);
		assert_true(tree_is_clean("journals"));
	}
}

static void test_lock_timeout(void **state)
{
	struct files_put p = {.path = "x", .bytes = "x", .len = 1};
	struct files_writing *w;
	struct err e = ERR_INIT;
	/* Every target, but not who is there. */
	struct flock l = {.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = 1,
		.l_len = (INT64_C(1) << 62) - 1};
	char lock[PATH_MAX];
	int fd;

	(void)state;
	assert_int_equal(put_one("x", "x", NULL, false, NULL), ERR_NONE);
	snprintf(lock, sizeof lock, "%s/lock", tree_place("root"));
	fd = open(lock, O_RDWR | O_CLOEXEC);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &l), 0);
	assert_int_equal(files_write(f, root, &p, 1,
				 &(struct files_write_options){.lock_timeout_ms = 50}, &w, &e),
		-1);
	assert_int_equal(e.kind, ERR_TIMEOUT);
	files_writing_free(w);
	close(fd);
	assert_int_equal(put_one("x", "x", NULL, false, NULL), ERR_NONE);
}

/* Add one to a counter file, again and again, as long as others do the same. */
static void count_up(struct files *mine, struct files_root *r, const char *path, int times)
{
	for (int done = 0; done < times;) {
		struct files_want want = {.path = path};
		struct files_reading *got;
		char text[32];
		struct files_put p = {.path = path, .bytes = text};
		struct files_writing *w;
		struct files_token t;

		if (files_read(mine, r, &want, 1, &(struct files_read_options){.hash = true}, &got,
			    NULL) < 0 ||
			got->items[0].err)
			abort();
		t = got->items[0].token;
		snprintf(text, sizeof text, "%d", atoi(got->items[0].bytes) + 1);
		files_reading_free(got);
		p.len = strlen(text);
		p.expect = &t;
		if (files_write(mine, r, &p, 1, &(struct files_write_options){0}, &w, NULL) == 0)
			done++;
		else if (w->items[0].err->kind != ERR_CONFLICT)
			abort();
		files_writing_free(w);
	}
}

static void *count_thread(void *arg)
{
	(void)arg;
	count_up(f, root, "counter", 100);
	return NULL;
}

/* Threads of one process; tests/fault/files_many.c has the processes. */
static void test_lost_updates(void **state)
{
	pthread_t t[4];

	(void)state;
	tree_text("root/counter", "0");
	for (size_t i = 0; i < COUNT(t); i++)
		pthread_create(&t[i], NULL, count_thread, NULL);
	for (size_t i = 0; i < COUNT(t); i++)
		pthread_join(t[i], NULL);
	assert_true(tree_has("root/counter", "400"));
	assert_stage_empty();
}

static void *count_coming_and_going(void *arg)
{
	(void)arg;
	for (int i = 0; i < 100; i++) {
		struct files_root *r = files_root_open(f, tree_path("leaving"), NULL);

		count_up(f, r, "counter", 1);
		files_root_close(r);
	}
	return NULL;
}

/* The last to close removes the place for changes, with the lock in it, while others come in. */
static void test_nothing_stays(void **state)
{
	struct files_root *r;
	pthread_t t[4];
	char name[PATH_MAX];
	struct stat st;

	(void)state;
	tree_text("leaving/counter", "0");
	for (size_t i = 0; i < COUNT(t); i++)
		pthread_create(&t[i], NULL, count_coming_and_going, NULL);
	for (size_t i = 0; i < COUNT(t); i++)
		pthread_join(t[i], NULL);
	assert_true(tree_has("leaving/counter", "400"));
	assert_true(tree_is_clean("leaving"));
	/* What nobody knows is not removed, nor the lock that it may need. */
	r = files_root_open(f, tree_path("leaving"), NULL);
	count_up(f, r, "counter", 1);
	snprintf(name, sizeof name, "%s/owner.x", tree_place("leaving"));
	close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	files_root_close(r);
	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(unlink(name), 0);
	r = files_root_open(f, tree_path("leaving"), NULL);
	count_up(f, r, "counter", 1);
	files_root_close(r);
	assert_true(tree_is_clean("leaving"));
}

/* Where the state directory cannot be written changes go on; a batch that would need a record there does not. */
static void test_without_state(void **state)
{
	struct files_put p = {.path = "x", .bytes = "x", .len = 1};
	struct files_write_options all = {.promise = FILES_ALL_OR_NOTHING};
	struct files_writing *w;
	struct err e = ERR_INIT;
	struct files_root *r;
	int dirs;

	(void)state;
	tree_text("no_state", "a file");
	tree_mkdirs("stateless");
	setenv("XDG_STATE_HOME", tree_path("no_state"), 1);
	r = files_root_open(f, tree_path("stateless"), NULL);
	assert_int_equal(files_write(f, r, &p, 1, &(struct files_write_options){0}, &w, NULL), 0);
	files_writing_free(w);
	assert_int_equal(files_write(f, r, &p, 1, &all, &w, &e), -1);
	files_writing_free(w);
	assert_int_equal(e.kind, ERR_REFUSED);
	files_root_close(r);
	assert_int_equal(tree_staged("stateless", &dirs) + dirs, 0);
	setenv("XDG_STATE_HOME", tree_path("state"), 1);
}

static _Atomic bool stop;

static void *cancel_writes(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop))
		files_cancel(f);
	return NULL;
}

/* Cancelled at random moments: all old or all new, and nothing left over. */
static void test_write_cancel(void **state)
{
	struct files_put puts[40];
	char names[40][32];
	pthread_t t;
	int cancelled = 0;

	(void)state;
	for (int i = 0; i < 40; i++)
		snprintf(names[i], sizeof names[i], "cancel/%d", i);
	/* On a busy machine more rounds until one was hit. */
	for (int round = 0; round < 30 || !cancelled; round++) {
		struct files_write_options o = {.promise = promises[round % 3], .parents = true};
		char text[16];
		struct files_writing *w;
		struct err e = ERR_INIT;
		int rc, now = 0;

		snprintf(text, sizeof text, "%d", round);
		for (int i = 0; i < 40; i++)
			puts[i] = (struct files_put){
				.path = names[i], .bytes = text, .len = strlen(text)};
		atomic_store(&stop, false);
		pthread_create(&t, NULL, cancel_writes, NULL);
		rc = files_write(f, root, puts, 40, &o, &w, &e);
		atomic_store(&stop, true);
		pthread_join(t, NULL);
		files_writing_free(w);
		for (int i = 0; i < 40; i++) {
			char in_root[64];

			snprintf(in_root, sizeof in_root, "root/%s", names[i]);
			now += tree_has(in_root, text);
		}
		assert_int_equal(now, rc == 0 ? 40 : 0);
		cancelled += rc < 0;
		if (rc < 0)
			assert_int_equal(e.kind, ERR_CANCELLED);
	}
	assert_stage_empty();
}

static int setup(void **state)
{
	(void)state;
	rooted_make("files-write");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_conflicts),
		cmocka_unit_test(test_bad_targets),
		cmocka_unit_test(test_write_job),
		cmocka_unit_test(test_partial),
		cmocka_unit_test(test_leftovers),
		cmocka_unit_test(test_planted),
		cmocka_unit_test(test_journals),
		cmocka_unit_test(test_lock_timeout),
		cmocka_unit_test(test_lost_updates),
		cmocka_unit_test(test_nothing_stays),
		cmocka_unit_test(test_without_state),
		cmocka_unit_test(test_write_cancel),
	};

	return cmocka_run_group_tests(tests, setup, rooted_remove);
}
