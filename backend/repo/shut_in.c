/*
 * shut_in.c - sandboxes berth-git, then reads an untrusted repository.
 *
 * Not git's programs, and nothing of a repository runs in libgit2 1.5: it has no hooks, no external filters, no
 * textconv, no fsmonitor and starts no ssh.  Should that change, or should a malformed pack get the better of it, there is
 * no program that it could start, and no file but those in this directory, which it can write only to make a branch.
 */
#include <fcntl.h>
#include <git2.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <berth/confine.h>
#include <berth/file.h>
#include <berth/repo.h>
#include <berth/sanitized.h>

#include "repo/shut_in.h"

#define CPU_S 5
#define CPU_MUCH_S 300 /* where contents are read or written */
#define MEMORY_MAX (1024ull << 20)
#define MAPPED_MAX (256ull << 20)
#define REFS_HEADS "refs/heads/"

/* --- shut in --- */

/* To be root in a namespace of its own, for whom the kernel does chroot; it still is the user that it was. */
static int enter_namespace(void)
{
	char line[64];
	uid_t uid = geteuid();
	int fd, n = snprintf(line, sizeof line, "%u %u 1\n", (unsigned)uid, (unsigned)uid), rc;

	if (unshare(CLONE_NEWUSER) < 0)
		return -1;
	fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	rc = fd < 0 ? -1 : file_write(fd, line, (size_t)n);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int leave_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[2] = {{0}};

	return (int)syscall(SYS_capset, &head, none);
}

static void limit_resources(bool much, bool writes)
{
	const rlim_t seconds = much ? CPU_MUCH_S : CPU_S;
	const struct rlimit cpu = {seconds, seconds}, files = {64, 64}, none = {0, 0};
#if !SANITIZED /* its shadow is larger than any limit of memory */
	const struct rlimit memory = {MEMORY_MAX, MEMORY_MAX};

	setrlimit(RLIMIT_AS, &memory);
#endif
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_NOFILE, &files);
	if (!writes)
		setrlimit(RLIMIT_FSIZE, &none);
}

static int shut_in(bool much, bool writes)
{
	struct err e = ERR_INIT;
	struct stat st;
	bool root = geteuid() == 0;

	if (syscall(SYS_close_range, 3U, ~0U, 0) || stat(".", &st) ||
		(!root && enter_namespace()) || chroot(".") || confine_begin(&e))
		return -1;
	if (root &&
		(setgroups(0, NULL) || setresgid(st.st_gid, st.st_gid, st.st_gid) ||
			setresuid(st.st_uid, st.st_uid, st.st_uid)))
		return -1;
	limit_resources(much, writes);
	return leave_capabilities() || (writes ? confine_writer(&e) : confine_calls(false, &e)) ? -1
												: 0;
}

/* --- reading --- */

static void tell_state(const struct repo_state *s)
{
	file_write(STDOUT_FILENO, s, sizeof *s);
}

static int read_branch(git_repository *r, struct repo_state *s)
{
	git_reference *head;
	const char *name;

	if (git_reference_lookup(&head, r, "HEAD"))
		return -1;
	name = git_reference_symbolic_target(head);
	if (!name)
		git_oid_tostr(s->branch, 9, git_reference_target(head));
	else
		snprintf(s->branch, sizeof s->branch, "%s",
			strncmp(name, REFS_HEADS, strlen(REFS_HEADS)) ? name
								      : name + strlen(REFS_HEADS));
	git_reference_free(head);
	s->known |= REPO_KNOWS_HEAD;
	return 0;
}

static int count_file(const char *path, unsigned status, void *ctx)
{
	struct repo_state *s = ctx;

	(void)path;
	s->conflicts += !!(status & GIT_STATUS_CONFLICTED);
	s->staged += !!(status &
		(GIT_STATUS_INDEX_NEW | GIT_STATUS_INDEX_MODIFIED | GIT_STATUS_INDEX_DELETED |
			GIT_STATUS_INDEX_RENAMED | GIT_STATUS_INDEX_TYPECHANGE));
	s->changed += !!(status &
		(GIT_STATUS_WT_MODIFIED | GIT_STATUS_WT_DELETED | GIT_STATUS_WT_TYPECHANGE |
			GIT_STATUS_WT_RENAMED | GIT_STATUS_WT_UNREADABLE));
	s->untracked += !!(status & GIT_STATUS_WT_NEW);
	return 0;
}

static int read_files(git_repository *r, struct repo_state *s)
{
	git_status_options how;

	if (git_status_options_init(&how, GIT_STATUS_OPTIONS_VERSION))
		return -1;
	how.flags = GIT_STATUS_OPT_INCLUDE_UNTRACKED | GIT_STATUS_OPT_EXCLUDE_SUBMODULES |
		GIT_STATUS_OPT_DISABLE_PATHSPEC_MATCH | GIT_STATUS_OPT_NO_REFRESH |
		GIT_STATUS_OPT_INCLUDE_UNREADABLE;
	if (git_status_foreach_ext(r, &how, count_file, s))
		return -1;
	s->known |= REPO_KNOWS_FILES;
	return 0;
}

static bool has_remote_branch(git_repository *r)
{
	git_reference_iterator *all;
	const char *name;
	bool any;

	if (git_reference_iterator_glob_new(&all, r, "refs/remotes/*"))
		return false;
	any = git_reference_next_name(&name, all) == 0;
	git_reference_iterator_free(all);
	return any;
}

static int read_commits(git_repository *r, struct repo_state *s)
{
	git_revwalk *walk;
	git_oid id;
	int rc = git_revwalk_new(&walk, r);

	if (rc)
		return -1;
	s->remotes = has_remote_branch(r);
	rc = git_revwalk_push_glob(walk, "refs/heads/*");
	if (rc == 0 && git_repository_head_detached(r) == 1)
		rc = git_revwalk_push_head(walk);
	if (rc == 0 && s->remotes)
		rc = git_revwalk_hide_glob(walk, "refs/remotes/*");
	while (rc == 0 && s->unpushed < REPO_COMMITS_MAX && (rc = git_revwalk_next(&id, walk)) == 0)
		s->unpushed++;
	git_revwalk_free(walk);
	if (rc && rc != GIT_ITEROVER)
		return -1;
	s->known |= REPO_KNOWS_COMMITS;
	return 0;
}

static void read_repository(struct repo_state *s)
{
	git_repository *r = NULL;
	int rc = git_repository_open_ext(&r, "/", GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);

	if (rc) {
		s->why = rc == GIT_EOWNER ? REPO_FOREIGN : REPO_BROKEN;
		return;
	}
	/* What it says of itself may be that its files lie elsewhere; here they are what is in this directory. */
	if (git_repository_set_workdir(r, "/", 0) || read_branch(r, s)) {
		s->why = REPO_BROKEN;
		return;
	}
	tell_state(s);
	rc = read_files(r, s);
	if (rc == 0)
		tell_state(s);
	if (rc || read_commits(r, s))
		s->why = REPO_BROKEN;
}

static enum repo_why look_at_dot_git(void)
{
	struct stat st;

	if (lstat(".git", &st) < 0)
		return REPO_NONE;
	return S_ISDIR(st.st_mode) ? REPO_FINE : REPO_LINKED;
}

/* No file of the user's or the machine's says how it is read. */
static int begin_library(void)
{
	static const git_config_level_t levels[] = {GIT_CONFIG_LEVEL_PROGRAMDATA,
		GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_GLOBAL};
	int rc = git_libgit2_init() < 0;

	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
		rc |= git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, (int)levels[i], "");
	rc |= git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 1);
	rc |= git_libgit2_opts(GIT_OPT_SET_MWINDOW_MAPPED_LIMIT, (size_t)MAPPED_MAX);
	return rc ? -1 : 0;
}

void repo_main(const char *word)
{
	bool branch = word && !strcmp(word, REPO_BRANCH_WORD), much = word != NULL;
	struct repo_state s = {0};

	if (begin_library() || shut_in(much, branch))
		s.why = REPO_UNCONFINED;
	else
		s.why = look_at_dot_git();
	if (much) {
		struct repo_answer a = {.why = s.why};

		if (s.why != REPO_FINE)
			file_write(STDOUT_FILENO, &a, sizeof a);
		else if (branch)
			repo_answer_branch();
		else
			repo_answer_files();
		_exit(0);
	}
	if (s.why == REPO_FINE)
		read_repository(&s);
	tell_state(&s);
	_exit(0); /* nothing is tidied up: no more of its code than must be runs on what an agent wrote */
}
