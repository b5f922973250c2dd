/* branch.c - reads files of a repository's HEAD and creates branches, through a sandboxed berth-git. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>

#include "repo/shut_in.h"

#define TALK_NS (900 * (int64_t)1000000000) /* for all that is read or written */
#define READ_MAX (64ull << 30)
#define BLOCK (256u << 10)

struct talk {
	int fd; /* to it, or from it */
	pid_t pid;
	int64_t until;
};

/* It has answered, or is not waited for any more. */
static void end_talk(struct talk *t)
{
	int status;

	close(t->fd);
	kill(t->pid, SIGKILL);
	while (waitpid(t->pid, &status, 0) < 0 && errno == EINTR)
		;
}

static int refuse_repo(enum repo_why why, struct err *e)
{
	struct repo_state s = {.why = why};
	char words[160];

	repo_words(&s, words, sizeof words);
	return err_set(e,
		why == REPO_MISNAMED        ? ERR_USAGE
			: why == REPO_TAKEN ? ERR_CONFLICT
					    : ERR_FAILED,
		"no branch was made: %s", words);
}

static bool may_go_on(const struct talk *t, short what)
{
	struct pollfd p = {.fd = t->fd, .events = what};
	int64_t left;
	int n;

	do {
		left = (t->until - clock_mono_ns()) / 1000000;
		n = left > 0 ? poll(&p, 1, (int)left) : 0;
	} while (n < 0 && errno == EINTR);
	return n > 0;
}

static bool receive_answer(struct talk *t, void *to, size_t n)
{
	for (size_t have = 0; have < n;) {
		ssize_t got = may_go_on(t, POLLIN) ? read(t->fd, (char *)to + have, n - have) : -1;

		if (got <= 0)
			return false;
		have += (size_t)got;
	}
	return true;
}

static bool send_to_git(struct talk *t, const void *from, size_t n)
{
	while (n) {
		ssize_t did;

		if (!may_go_on(t, POLLOUT))
			return false; /* and errno is of something else */
		did = send(t->fd, from, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (did < 0 && errno == EAGAIN)
			continue;
		if (did <= 0)
			return false;
		from = (const char *)from + did;
		n -= (size_t)did;
	}
	return true;
}

/* --- files of HEAD --- */

/* In a directory that is ours alone. */
static int open_for_copy(int into, const char *path, bool executable)
{
	AUTO_FREE char *dir = xstrdup(path);

	for (char *at = dir; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		if (mkdirat(into, dir, 0700) < 0 && errno != EEXIST)
			return -1;
	}
	return openat(into, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		executable ? 0755 : 0644);
}

static int copy_answer(struct talk *t, int fd, uint64_t size)
{
	AUTO_FREE char *buf = xmalloc(BLOCK);

	while (size) {
		size_t n = size < BLOCK ? (size_t)size : BLOCK;

		if (!receive_answer(t, buf, n) || file_write(fd, buf, n))
			return -1;
		size -= n;
	}
	return 0;
}

static int keep_file_of_head(
	struct talk *t, int into, const char *path, const struct repo_answer *a)
{
	AUTO_CLOSE int fd = -1;

	if (a->kind == REPO_NOTHING)
		return 0;
	fd = open_for_copy(into, path, a->kind == REPO_EXECUTABLE);
	if (fd < 0)
		return -1;
	if (a->kind == REPO_FILE || a->kind == REPO_EXECUTABLE)
		return copy_answer(t, fd, a->size);
	/* Stands for what cannot be written to. */
	if (unlinkat(into, path, 0) < 0)
		return -1;
	return a->kind == REPO_LINK ? symlinkat("elsewhere", into, path)
				    : mkdirat(into, path, 0700);
}

static int ask_for_files(int dir, const char *const *path, size_t n, struct talk *t, struct err *e)
{
	AUTO_CLOSE int in = memfd_create("berth", MFD_CLOEXEC);
	int p[2], rc = in < 0;

	for (size_t i = 0; !rc && i < n; i++)
		rc = file_write(in, path[i], strlen(path[i]) + 1);
	if (rc || lseek(in, 0, SEEK_SET) < 0 || pipe2(p, O_CLOEXEC))
		return err_sys(e, errno, "cannot ask for files of a repository");
	rc = repo_spawn(dir, REPO_FILES_WORD, in, p[1], &t->pid, e);
	close(p[1]);
	t->fd = p[0];
	t->until = clock_mono_ns() + TALK_NS;
	if (rc)
		close(p[0]);
	return rc;
}

int repo_read_head(
	int dir, const char *const *path, size_t n, int into, char head[REPO_ID_MAX], struct err *e)
{
	struct repo_answer a = {0};
	struct talk t;
	uint64_t bytes = 0;
	bool good;

	if (ask_for_files(dir, path, n, &t, e))
		return -1;
	if (!receive_answer(&t, &a, sizeof a))
		a.why = REPO_LATE;
	a.id[REPO_ID_MAX - 1] = '\0';
	snprintf(head, REPO_ID_MAX, "%s", a.id);
	good = a.why == REPO_FINE;
	for (size_t i = 0; good && i < n; i++) {
		good = receive_answer(&t, &a, sizeof a) && a.why == REPO_FINE &&
			a.kind < REPO_KINDS && a.size <= READ_MAX &&
			(bytes += a.size) <= READ_MAX && !keep_file_of_head(&t, into, path[i], &a);
	}
	end_talk(&t);
	return good
		? 0
		: refuse_repo(a.why == REPO_FINE || a.why >= REPO_WHYS ? REPO_BROKEN : a.why, e);
}

/* --- a branch --- */

static bool send_text_to_git(struct talk *t, const char *text)
{
	return send_to_git(t, text, strlen(text) + 1);
}

static bool send_file_to_git(struct talk *t, int from, const char *path)
{
	AUTO_CLOSE int fd = openat(from, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_FREE char *buf = xmalloc(BLOCK);
	struct repo_put put = {0};
	struct stat st;
	uint64_t left;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	put.size = left = (uint64_t)st.st_size;
	put.executable = !!(st.st_mode & 0111);
	if (!send_to_git(t, &put, sizeof put) || !send_text_to_git(t, path))
		return false;
	while (left) {
		ssize_t n = read(fd, buf, left < BLOCK ? (size_t)left : BLOCK);

		if (n <= 0 || !send_to_git(t, buf, (size_t)n))
			return false;
		left -= (uint64_t)n;
	}
	return true;
}

static bool send_branch_to_git(struct talk *t, const struct repo_branch *b)
{
	struct repo_order o = {.n = b->n, .seconds = clock_wall_ms() / 1000};

	snprintf(o.head, sizeof o.head, "%s", b->head);
	if (!send_to_git(t, &o, sizeof o) || !send_text_to_git(t, b->name) ||
		!send_text_to_git(t, b->message) || !send_text_to_git(t, b->author))
		return false;
	for (size_t i = 0; i < b->n; i++)
		if (!send_file_to_git(t, b->from, b->path[i]))
			return false;
	return true;
}

int repo_make_branch(int dir, const struct repo_branch *b, char commit[REPO_ID_MAX], struct err *e)
{
	struct repo_answer a = {.why = REPO_LATE};
	struct talk t = {.fd = -1};
	int pair[2], rc;

	if (strlen(b->name) >= REPO_BRANCH_MAX)
		return refuse_repo(REPO_MISNAMED, e);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return err_sys(e, errno, "cannot talk to " REPO_PROGRAM);
	rc = repo_spawn(dir, REPO_BRANCH_WORD, pair[1], pair[1], &t.pid, e);
	close(pair[1]);
	t.fd = pair[0];
	t.until = clock_mono_ns() + TALK_NS;
	if (rc) {
		close(pair[0]);
		return -1;
	}
	/* Where it did not want all of it, its answer says why. */
	send_branch_to_git(&t, b);
	shutdown(t.fd, SHUT_WR);
	if (!receive_answer(&t, &a, sizeof a) || a.why >= REPO_WHYS)
		a.why = REPO_UNWRITTEN;
	end_talk(&t);
	a.id[REPO_ID_MAX - 1] = '\0';
	snprintf(commit, REPO_ID_MAX, "%.*s", (int)strspn(a.id, "0123456789abcdef"), a.id);
	return a.why == REPO_FINE ? 0 : refuse_repo(a.why, e);
}
