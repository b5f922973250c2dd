/* board.c - the job board: what others see, dead owners, hostile files, cancel across processes. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/clock.h>
#include <berth/mem.h>

#include "job/board.h"
#include "job/board_layout.h"

static char top[] = "/tmp/berth-unit-board.XXXXXX";
static struct job_info jobs[1024];

static const char *board_path(int pid)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/berth/jobs/%d-%llu.board", top, pid,
		(unsigned long long)process_started(pid));
	return path;
}

static size_t files_left(void)
{
	char path[PATH_MAX];
	struct dirent *entry;
	size_t n = 0;
	DIR *d;

	snprintf(path, sizeof path, "%s/berth/jobs", top);
	d = opendir(path);
	if (!d)
		return 0;
	while ((entry = readdir(d)))
		n += entry->d_name[0] != '.' || strncmp(entry->d_name, ".new", 4) == 0;
	closedir(d);
	return n;
}

/* What ended goes in time, file and all. */
static void clean_boards(void)
{
	clock_advance(601000000000);
	jobs_read(NULL, jobs, COUNT(jobs));
	assert_int_equal(jobs_read(NULL, jobs, COUNT(jobs)), 0);
	assert_int_equal(files_left(), 0);
}

static void test_own(void **state)
{
	struct err e = ERR_INIT;
	struct board *b = board_open("test", &e);
	struct job *j, *k;

	(void)state;
	assert_non_null(b);
	j = job_new(b, "copy \033[31mtree", "me", "files", true);
	k = job_new(b, "second", NULL, "items", false);
	job_total(j, 16, 1000);
	job_current(j, "a/b");
	job_add(j, 4, 250, 1);
	assert_int_equal(jobs_read(b, jobs, COUNT(jobs)), 2);
	/* Both run and began in the same millisecond or not: find the first by serial. */
	struct job_info *i = jobs[0].id.serial == job_id(j).serial ? &jobs[0] : &jobs[1];

	assert_true(i->own && i->ours);
	assert_true(i->cancellable);
	assert_string_equal(i->name, "copy ^[[31mtree");
	assert_string_equal(i->owner, "me");
	assert_string_equal(i->current, "a/b");
	assert_string_equal(i->unit, "files");
	assert_int_equal(i->items_done, 4);
	assert_int_equal(i->items_total, 16);
	assert_int_equal(i->bytes_done, 250);
	assert_int_equal(i->failed, 1);
	assert_true(i->fraction > 0.249 && i->fraction < 0.251);
	assert_int_equal(jobs_cancel(&i->id, &e), 0);
	assert_true(job_cancelled(j));
	assert_false(job_cancelled(k));
	struct job_id other = job_id(k);

	assert_int_equal(jobs_cancel(&other, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	job_end(j, JOB_CANCELLED, "Stopped.");
	job_end(k, JOB_DONE, "Done.");
	assert_int_equal(jobs_read(b, jobs, 1), 1);
	assert_int_equal(jobs_read(b, jobs, COUNT(jobs)), 2);
	assert_true(jobs[0].ended_wall_ms > 0);
	assert_int_equal(jobs_cancel(&other, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	board_close(b);
	assert_int_equal(jobs_read(NULL, jobs, COUNT(jobs)), 1);
}

static int ask_with(struct board *b, int answer, struct err *e)
{
	struct job *j = job_ask(b, "stop container web", "assistant", "web (6 hours old)");
	struct job_id id = job_id(j);

	assert_false(job_allowed(j));
	assert_true(jobs_read(b, jobs, COUNT(jobs)) >= 1);
	assert_int_equal(jobs[0].id.serial, id.serial);
	assert_true(jobs[0].asks);
	assert_string_equal(jobs[0].current, "web (6 hours old)");
	if (answer > 0)
		assert_int_equal(jobs_allow(&id, NULL), 0);
	else if (answer == 0)
		assert_int_equal(jobs_cancel(&id, NULL), 0);
	return job_ask_wait(j, 0, -1, e);
}

/* A person says yes or no; nobody does; nobody is there. */
static void test_ask(void **state)
{
	struct board *b = board_open("test", NULL);
	struct err e = ERR_INIT;
	struct job *plain;
	struct job_id id;

	(void)state;
	assert_false(jobs_attended());
	assert_int_equal(ask_with(b, -1, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	board_attend(b, true);
	assert_true(jobs_attended());
	assert_int_equal(ask_with(b, 1, &e), 0);
	assert_int_equal(ask_with(b, 0, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(ask_with(b, -1, &e), -1);
	assert_int_equal(e.kind, ERR_TIMEOUT);
	/* What asks nothing cannot be allowed, nor what has ended. */
	plain = job_new(b, "copy", "me", "files", true);
	id = job_id(plain);
	assert_int_equal(jobs_allow(&id, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	job_end(plain, JOB_DONE, "");
	assert_int_equal(jobs_allow(&id, &e), -1);
	board_attend(b, false);
	assert_false(jobs_attended());
	assert_null(job_ask(NULL, "a", "b", "c"));
	board_close(b);
}

/* How it went is to be seen for ten minutes, also of a process that has gone; or until dismissed. */
static void test_ended_stays(void **state)
{
	struct err e = ERR_INIT;
	struct board *b;
	struct job_id done;
	struct job *j, *k;
	struct stat st;
	char path[PATH_MAX];

	(void)state;
	clock_freeze(100000000000, 1700000000000);
	b = board_open("test", &e);
	strcpy(path, board_path(getpid()));
	j = job_new(b, "copy tree", "me", "files", true);
	k = job_new(b, "cut off", "me", "files", true);
	done = job_id(k);
	assert_int_equal(jobs_dismiss(&done, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	job_fail(j, "a/b: No space left on device.");
	job_end(j, JOB_FAILED, "1 of 3 failed.");
	clock_advance(1000000000);
	board_close(b);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < 16384);
	assert_int_equal(jobs_read(NULL, jobs, COUNT(jobs)), 2);
	for (int i = 0; i < 2; i++) {
		bool failed = jobs[i].state == JOB_FAILED;

		assert_int_equal(jobs[i].state, failed ? JOB_FAILED : JOB_CANCELLED);
		assert_string_equal(jobs[i].result,
			failed ? "1 of 3 failed." : "berth ended before it finished.");
		assert_string_equal(
			jobs[i].error[0], failed ? "a/b: No space left on device." : "");
		assert_false(jobs[i].own);
	}
	assert_int_equal(jobs_dismiss(&done, &e), 0);
	assert_int_equal(jobs_read(NULL, jobs, COUNT(jobs)), 1);
	assert_string_equal(jobs[0].name, "copy tree");
	clock_advance(598000000000);
	assert_int_equal(jobs_read(NULL, jobs, COUNT(jobs)), 1);
	clean_boards();
	assert_int_equal(jobs_dismiss(&done, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
}

/* A loop of short commands does not fill the runtime directory. */
static void test_many_remains(void **state)
{
	char old[PATH_MAX], now[PATH_MAX];

	(void)state;
	clock_freeze(100000000000, 1700000000000);
	for (int i = 0; i < 300; i++) {
		struct board *b = board_open("test", NULL);

		strcpy(old, board_path(getpid()));
		job_end(job_new(b, "scan", "me", "files", true), JOB_FAILED, "It failed.");
		board_close(b);
		snprintf(now, sizeof now, "%s/berth/jobs/%d-1.board", top, 100000 + i);
		assert_true(access(old, F_OK) < 0 || rename(old, now) == 0);
		clock_advance(1000000);
	}
	assert_true(files_left() <= BOARDS_KEPT);
	assert_int_equal(access(now, F_OK), 0); /* the newest stay */
	clean_boards();
}

/* Whoever comes next takes away what nobody is shown any more, also of a process that was killed; a living one's stays. */
static void test_remains_go(void **state)
{
	char old[PATH_MAX], killed[PATH_MAX], now[PATH_MAX];
	int64_t never = 0;
	struct board *b;
	int fd;

	(void)state;
	clock_freeze(100000000000, 1700000000000);
	snprintf(now, sizeof now, "%s/berth/jobs/100000-1.board", top);
	snprintf(killed, sizeof killed, "%s/berth/jobs/100001-1.board", top);
	for (int i = 0; i < 2; i++) {
		b = board_open("test", NULL);
		strcpy(old, board_path(getpid()));
		job_end(job_new(b, "scan", "me", "files", true), JOB_FAILED, "It failed.");
		board_close(b);
		assert_int_equal(rename(old, i ? killed : now), 0);
	}
	fd = open(killed, O_WRONLY | O_CLOEXEC);
	assert_int_equal(
		pwrite(fd, &never, sizeof never, offsetof(struct board_header, dead_since)),
		sizeof never);
	close(fd);
	board_close(board_open("test", NULL));
	assert_int_equal(files_left(), 2);
	clock_advance(599000000000);
	board_close(board_open("test", NULL));
	assert_int_equal(files_left(), 2);
	b = board_open("test", NULL);
	clock_advance(2000000000);
	boards_tidy();
	assert_int_equal(files_left(), 1);
	assert_int_equal(access(old, F_OK), 0);
	board_close(b);
	assert_int_equal(files_left(), 0);
}

/* However many there are, the end of a process looks at a few; in the end they all go. */
static void test_few_at_once(void **state)
{
	enum { MANY = 20, FEW = 4 };
	struct board *b;

	(void)state;
	clock_freeze(100000000000, 1700000000000);
	for (int i = 0; i < MANY; i++) {
		AUTO_FREE char *old = NULL,
			       *to = xasprintf("%s/berth/jobs/%d-1.board", top, 100000 + i);

		b = board_open("test", NULL);
		old = xstrdup(board_path(getpid()));
		job_end(job_new(b, "scan", "me", "files", true), JOB_FAILED, "It failed.");
		board_close(b);
		assert_int_equal(rename(old, to), 0);
	}
	clock_advance(601000000000);
	for (int left = MANY - FEW; left >= 0; left -= FEW) {
		boards_tidy();
		assert_int_equal(files_left(), left);
	}
}

/* A job that took no time is seen where a process of berth had it done, and not otherwise. */
static void test_asked_for(void **state)
{
	struct board *b;

	(void)state;
	clock_freeze(100000000000, 1700000000000);
	for (int with = 0; with < 2; with++) {
		int status;
		pid_t pid;

		b = with ? board_open("console", NULL) : NULL;
		pid = fork();
		if (pid == 0) {
			struct board *own = board_open("files copy", NULL);

			job_end(job_new(own, "copy", "me", "files", true), JOB_DONE, "Copied.");
			board_close(own);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		assert_int_equal(status, 0);
		assert_int_equal(jobs_read(b, jobs, COUNT(jobs)), with);
		board_close(b);
	}
	clean_boards();
}

/* A total that grows still is none to reckon with. */
static void test_counting(void **state)
{
	struct board *b = board_open("test", NULL);
	struct job *j = job_new(b, "copy", "me", "entries", true);

	(void)state;
	job_add(j, 10, 1000, 0);
	job_total_least(j, 20, 5000);
	assert_int_equal(jobs_read(b, jobs, 1), 1);
	assert_true(jobs[0].counting);
	assert_int_equal(jobs[0].bytes_total, 5000);
	assert_true(jobs[0].fraction < 0);
	assert_int_equal(jobs[0].eta_ms, -1);
	job_total_least(j, 20, 900);
	assert_int_equal(jobs_read(b, jobs, 1), 1);
	assert_int_equal(jobs[0].bytes_total, 0);
	job_total(j, 20, 2000);
	assert_int_equal(jobs_read(b, jobs, 1), 1);
	assert_false(jobs[0].counting);
	assert_true(jobs[0].fraction > 0.49 && jobs[0].fraction < 0.51);
	job_end(j, JOB_DONE, "Done.");
	board_close(b);
	clean_boards();
}

/* Bytes alone would say that nothing is done yet, or entries that all is. */
static void test_tiny_files(void **state)
{
	struct board *b = board_open("test", NULL);
	struct job *j = job_new(b, "copy site", "me", "entries", true);

	(void)state;
	job_total(j, 10001, 700000000);
	job_add(j, 10000, 10000, 0);
	assert_int_equal(jobs_read(b, jobs, 1), 1);
	assert_true(jobs[0].fraction > 0.4 && jobs[0].fraction < 0.6);
	clock_advance(10000000000);
	assert_int_equal(jobs_read(b, jobs, 1), 1);
	assert_true(jobs[0].eta_ms > 5000 && jobs[0].eta_ms < 15000);
	job_add(j, 0, 350000000, 0);
	assert_int_equal(jobs_read(b, jobs, 1), 1);
	assert_true(jobs[0].fraction > 0.7 && jobs[0].fraction < 0.8);
	job_end(j, JOB_DONE, "Done.");
	board_close(b);
	clean_boards();
}

/* One thing that has no bytes is not at 0 %, it is at work. */
static void test_single_item(void **state)
{
	struct board *b = board_open("test", NULL);
	struct job *j = job_new(b, "run a command in alpha", "me", "agents", true);

	(void)state;
	job_total(j, 1, 0);
	assert_int_equal(jobs_read(b, jobs, 1), 1);
	assert_true(jobs[0].fraction < 0);
	job_total(j, 1, 1000);
	assert_int_equal(jobs_read(b, jobs, 1), 1);
	assert_true(jobs[0].fraction == 0);
	job_total(j, 2, 0);
	assert_int_equal(jobs_read(b, jobs, 1), 1);
	assert_true(jobs[0].fraction == 0);
	job_end(j, JOB_DONE, "Done.");
	board_close(b);
	clean_boards();
}

/* What has to go through cannot be stopped any more. */
static void test_commit(void **state)
{
	struct err e = ERR_INIT;
	struct board *b = board_open("test", &e);
	struct job *j = job_new(b, "write 3 files", "me", "files", true);
	struct job_id id = job_id(j);

	(void)state;
	job_commit(j);
	assert_int_equal(jobs_read(b, jobs, COUNT(jobs)), 1);
	assert_false(jobs[0].cancellable);
	assert_int_equal(jobs_cancel(&id, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_false(job_cancelled(j));
	job_end(j, JOB_DONE, "Done.");
	board_close(b);
}

static void test_rate(void **state)
{
	struct board *b;
	struct job *j;

	(void)state;
	clock_freeze(100000000000, 1700000000000);
	b = board_open("test", NULL);
	j = job_new(b, "read", "me", "files", true);
	job_total(j, 0, 1000000);
	for (int i = 0; i < 10; i++) {
		clock_advance(1000000000);
		job_add(j, 1, 1000 * (uint64_t)(i < 5 ? 1 : 9), 0);
	}
	assert_int_equal(jobs_read(b, jobs, 1), 1);
	/* The last seconds ran at 9,000 bytes/s, the whole at 5,000. */
	assert_true(jobs[0].rate > 8999 && jobs[0].rate < 9001);
	assert_int_equal(jobs[0].eta_ms, (1000000 - 50000) / 9);
	assert_int_equal(jobs[0].elapsed_ms, 10000);
	job_end(j, JOB_DONE, "Done.");
	clock_advance(1000000000);
	assert_int_equal(jobs_read(b, jobs, 1), 1);
	assert_true(jobs[0].rate > 4999 && jobs[0].rate < 5001);
	assert_int_equal(jobs[0].eta_ms, -1);
	board_close(b);
}

static void test_many_jobs(void **state)
{
	struct board *b = board_open("test", NULL);
	struct job *all[BOARD_SLOTS + 20];
	struct job_id last;
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++)
		all[i] = job_new(b, "job", "me", "files", true);
	assert_int_equal(jobs_read(b, jobs, COUNT(jobs)), BOARD_SLOTS);
	/* One without a place on the board works all the same, unseen. */
	job_add(all[COUNT(all) - 1], 1, 1, 0);
	last = job_id(all[COUNT(all) - 1]);
	assert_int_equal(jobs_cancel(&last, &e), -1);
	for (size_t i = 0; i < COUNT(all); i++)
		job_end(all[i], JOB_DONE, "");
	/* The slots of ended jobs are taken again, and a late cancel does not hit their successor.
	 */
	last = (struct job_id){0};
	jobs_read(b, jobs, COUNT(jobs));
	last = jobs[BOARD_SLOTS - 1].id;
	all[0] = job_new(b, "next", "me", "files", true);
	assert_int_equal(jobs_read(b, jobs, COUNT(jobs)), BOARD_SLOTS);
	assert_string_equal(jobs[0].name, "next");
	assert_int_equal(jobs[0].state, JOB_RUNNING);
	assert_int_equal(jobs_cancel(&last, &e), -1);
	assert_false(job_cancelled(all[0]));
	job_end(all[0], JOB_DONE, "");
	board_close(b);
	all[0] = job_new(NULL, "no board", "me", "files", true);
	job_current(all[0], "x");
	assert_int_equal(job_id(all[0]).pid, getpid());
	job_end(all[0], JOB_DONE, "");
}

/* A child with one job; waits for `go` to be closed, then ends in the way asked for. */
static pid_t spawn_owner(int *ret_go, int *ret_ready)
{
	int go[2], ready[2];
	pid_t pid;

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		struct board *b = board_open("child", NULL);
		struct job *j = job_new(b, "child's job", "child", "files", true);
		char c;

		close(go[1]);
		job_add(j, 3, 0, 0);
		if (!b || write(ready[1], "r", 1) != 1 || read(go[0], &c, 1) != 0)
			_exit(3);
		bool asked = job_cancelled(j);

		job_end(j, asked ? JOB_CANCELLED : JOB_DONE, "");
		board_close(b);
		_exit(asked ? 0 : 1);
	}
	close(go[0]);
	close(ready[1]);
	*ret_go = go[1];
	*ret_ready = ready[0];
	return pid;
}

static void test_cancel_across(void **state)
{
	int go, ready, status;
	pid_t pid = spawn_owner(&go, &ready);
	struct err e = ERR_INIT;
	char c;

	(void)state;
	assert_int_equal(read(ready, &c, 1), 1);
	assert_int_equal(jobs_read(NULL, jobs, COUNT(jobs)), 1);
	/* Not of this process, but of one that it started. */
	assert_false(jobs[0].own);
	assert_true(jobs[0].ours);
	assert_int_equal(jobs[0].id.pid, pid);
	assert_int_equal(jobs_cancel(&jobs[0].id, &e), 0);
	assert_int_equal(jobs_read(NULL, jobs, COUNT(jobs)), 1);
	assert_true(jobs[0].cancelling);
	close(go);
	close(ready);
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(jobs_cancel(&jobs[0].id, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_int_equal(jobs_read(NULL, jobs, COUNT(jobs)), 1);
	assert_int_equal(jobs[0].state, JOB_CANCELLED);
}

static void test_dead(void **state)
{
	int go, ready;
	pid_t pid = spawn_owner(&go, &ready);
	struct err e = ERR_INIT;
	struct job_id id;
	char c;

	(void)state;
	assert_int_equal(read(ready, &c, 1), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(jobs_read(NULL, jobs, COUNT(jobs)), 1);
	assert_int_equal(jobs[0].state, JOB_ORPHANED);
	assert_int_equal(jobs[0].items_done, 3);
	assert_false(jobs[0].cancellable);
	assert_non_null(strstr(jobs[0].result, "died"));
	id = jobs[0].id;
	assert_int_equal(jobs_cancel(&id, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	clean_boards();
	close(go);
	close(ready);
}

static void spoil_board(const char *path, off_t at, const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, n, at), n);
	close(fd);
}

static void test_hostile_board(void **state)
{
	char path[PATH_MAX], other[PATH_MAX];
	struct board *b = board_open("test", NULL);
	struct job *j = job_new(b, "real", "me", "files", true);
	uint32_t torn = 7, wild = 99, used = 100000;
	unsigned char junk[4096];

	(void)state;
	strcpy(path, board_path(getpid()));
	/* A slot that stays half-written is left out, a wild state too. */
	spoil_board(path, (off_t)slot_offset(0), &torn, sizeof torn);
	assert_int_equal(jobs_read(b, jobs, COUNT(jobs)), 0);
	torn = 8;
	spoil_board(path, (off_t)slot_offset(0), &torn, sizeof torn);
	assert_int_equal(jobs_read(b, jobs, COUNT(jobs)), 1);
	spoil_board(
		path, (off_t)(slot_offset(0) + offsetof(struct slot, state)), &wild, sizeof wild);
	assert_int_equal(jobs_read(b, jobs, COUNT(jobs)), 0);
	wild = JOB_RUNNING;
	spoil_board(
		path, (off_t)(slot_offset(0) + offsetof(struct slot, state)), &wild, sizeof wild);
	/* Text without an end, clocks that run backwards, sums that do not add up. */
	memset(junk, 0xFF, sizeof junk);
	spoil_board(path, (off_t)(slot_offset(0) + offsetof(struct slot, started_wall_ms)), junk,
		sizeof(struct slot) - offsetof(struct slot, started_wall_ms));
	assert_int_equal(jobs_read(b, jobs, COUNT(jobs)), 1);
	assert_true(jobs[0].fraction <= 1.0);
	assert_true(memchr(jobs[0].name, '\0', sizeof jobs[0].name) != NULL);
	spoil_board(path, (off_t)offsetof(struct board_header, used), &used, sizeof used);
	assert_int_equal(jobs_read(b, jobs, COUNT(jobs)), 0);
	used = 1;
	spoil_board(path, (off_t)offsetof(struct board_header, used), &used, sizeof used);

	/* Files that are no boards at all. */
	snprintf(other, sizeof other, "%s/berth/jobs/1-1.board", top);
	int fd = open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_int_equal(ftruncate(fd, BOARD_BYTES), 0);
	close(fd);
	snprintf(other, sizeof other, "%s/berth/jobs/2-2.board", top);
	close(open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	snprintf(other, sizeof other, "%s/berth/jobs/3-3.board", top);
	assert_int_equal(symlink(path, other), 0);
	snprintf(other, sizeof other, "%s/berth/jobs/4-4.board", top);
	assert_int_equal(mkfifo(other, 0600), 0);
	snprintf(other, sizeof other, "%s/berth/jobs/5-5.board", top);
	assert_int_equal(mkdir(other, 0700), 0);
	assert_int_equal(jobs_read(b, jobs, COUNT(jobs)), 1);
	job_end(j, JOB_DONE, "");
	board_close(b);
	for (int i = 1; i <= 5; i++) {
		snprintf(other, sizeof other, "%s/berth/jobs/%d-%d.board", top, i, i);
		assert_int_equal(remove(other), 0);
	}
	assert_int_equal(files_left(), 1); /* what is left of ours */
}

static void test_unusable(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	setenv("XDG_RUNTIME_DIR", top, 1);
	char jobs_dir[PATH_MAX];

	snprintf(jobs_dir, sizeof jobs_dir, "%s/berth", top);
	chmod(jobs_dir, 0777);
	assert_null(board_open("test", &e));
	assert_int_not_equal(e.kind, ERR_NONE);
	chmod(jobs_dir, 0700);
}

/* Workers count and say what they do while others read: nothing torn, nothing lost. */
static struct job *shared;
static _Atomic bool stop;

static void *work_on_job(void *arg)
{
	const char *text = arg;

	for (int i = 0; i < 20000; i++) {
		job_add(shared, 1, 10, 0);
		if (i % 16 == 0)
			job_current(shared, text);
	}
	return NULL;
}

static void *read_jobs(void *arg)
{
	struct board *b = arg;
	struct job_info seen[4];
	uint64_t last = 0;

	while (!atomic_load(&stop)) {
		if (jobs_read(b, seen, COUNT(seen)) == 0)
			continue;
		if (seen[0].items_done < last)
			abort();
		last = seen[0].items_done;
		for (size_t i = 1; seen[0].current[i]; i++)
			if (seen[0].current[i] != seen[0].current[0])
				abort(); /* two writers' text in one */
	}
	return NULL;
}

static void test_board_threads(void **state)
{
	struct board *b = board_open("test", NULL);
	pthread_t w[4], r[2];
	char text[4][JOB_TEXT_MAX];

	(void)state;
	shared = job_new(b, "shared", "me", "files", true);
	for (size_t i = 0; i < COUNT(r); i++)
		pthread_create(&r[i], NULL, read_jobs, b);
	for (size_t i = 0; i < COUNT(w); i++) {
		memset(text[i], 'a' + (int)i, sizeof text[i]);
		text[i][50 + 20 * i] = '\0';
		pthread_create(&w[i], NULL, work_on_job, text[i]);
	}
	for (size_t i = 0; i < COUNT(w); i++)
		pthread_join(w[i], NULL);
	atomic_store(&stop, true);
	for (size_t i = 0; i < COUNT(r); i++)
		pthread_join(r[i], NULL);
	assert_int_equal(jobs_read(b, jobs, COUNT(jobs)), 1);
	assert_int_equal(jobs[0].items_done, 80000);
	assert_int_equal(jobs[0].bytes_done, 800000);
	job_end(shared, JOB_DONE, "");
	board_close(b);
}

/* What one test left is none of the next one's business. */
static int remove_boards(void **state)
{
	char command[PATH_MAX + 32];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s/berth/jobs", top);
	return system(command) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	char command[PATH_MAX + 16];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", top);
	return system(command) == 0 ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_own, remove_boards),
		cmocka_unit_test_teardown(test_ask, remove_boards),
		cmocka_unit_test_teardown(test_commit, remove_boards),
		cmocka_unit_test_teardown(test_many_jobs, remove_boards),
		cmocka_unit_test_teardown(test_cancel_across, remove_boards),
		cmocka_unit_test_teardown(test_hostile_board, remove_boards),
		cmocka_unit_test_teardown(test_unusable, remove_boards),
		cmocka_unit_test_teardown(test_board_threads, remove_boards),
		cmocka_unit_test_teardown(test_rate, remove_boards), /* freezes the clocks */
		cmocka_unit_test_teardown(test_dead, remove_boards),
		cmocka_unit_test_teardown(test_ended_stays, remove_boards),
		cmocka_unit_test_teardown(test_many_remains, remove_boards),
		cmocka_unit_test_teardown(test_remains_go, remove_boards),
		cmocka_unit_test_teardown(test_few_at_once, remove_boards),
		cmocka_unit_test_teardown(test_asked_for, remove_boards),
		cmocka_unit_test_teardown(test_counting, remove_boards),
		cmocka_unit_test_teardown(test_single_item, remove_boards),
		cmocka_unit_test_teardown(test_tiny_files, remove_boards),
	};

	if (!mkdtemp(top))
		return 1;
	setenv("XDG_RUNTIME_DIR", top, 1);
	return cmocka_run_group_tests(tests, NULL, teardown);
}
