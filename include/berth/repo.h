/*
 * repo.h - the state of a git repository that an agent can write.
 *
 * No git runs: the program berth-git reads it with libgit2, and can do nothing else but make a branch, where that is asked.  Its root is the repository's
 * directory, its user that directory's owner; it has no capability, no program to start, no network, no file to
 * write, little memory and time.  So no hook, filter, fsmonitor or command in a configuration runs, and nothing that
 * links, alternates or `.git` files point to outside is read.  What is in submodules is not looked at.
 *
 * Thread: any.  A look takes as long as `git status`, at most REPO_MS.
 */
#ifndef BERTH_REPO_H
#define BERTH_REPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

#define REPO_PROGRAM "berth-git"
#define REPO_MS 10000
#define REPO_BRANCH_MAX 128
#define REPO_COMMITS_MAX 10000 /* more are not counted */

enum repo_known {
	REPO_KNOWS_HEAD = 1,
	REPO_KNOWS_FILES = 2,
	REPO_KNOWS_COMMITS = 4,
	REPO_KNOWS_ALL = 7
};

/* Why not all is known. */
enum repo_why {
	REPO_FINE,
	REPO_NONE,       /* there is no .git */
	REPO_LINKED,     /* .git is no directory, but leads to one */
	REPO_FOREIGN,    /* .git is of another user than the directory */
	REPO_BROKEN,     /* libgit2 cannot read it */
	REPO_LATE,       /* it took too long, or too much memory */
	REPO_UNCONFINED, /* this machine does not let the reader be shut in */
	REPO_MISNAMED,   /* no name of a branch */
	REPO_TAKEN,      /* there is a branch of that name */
	REPO_UNWRITTEN, /* the branch could not be made: a full disk, a file where a directory would be */
	REPO_WHYS
};

struct repo_state {
	uint32_t known; /* of enum repo_known */
	uint32_t why;   /* enum repo_why */
	char branch
		[REPO_BRANCH_MAX]; /* printable ASCII and UTF-8; 8 digits of a commit where HEAD is on no branch */
	uint64_t staged, changed, untracked, conflicts; /* files; an untracked directory is one */
	uint64_t unpushed; /* commits of local branches that no branch of a remote has */
	uint64_t remotes;  /* is there a branch of a remote at all? */
};

/* Of the directory `dir`, whose .git it is.  -1, *e: it could not even be tried. */
int repo_look(int dir, struct repo_state *ret, struct err *e);
/* Anything that is nowhere else. */
bool repo_has_work(const struct repo_state *s);
/* "clean", "3 changed, 1 untracked, 2 not pushed", or why it is not known. */
void repo_words(const struct repo_state *s, char *buf, size_t cap);
/* "large", for programs */
const char *repo_why_name(enum repo_why why);

/*
 * A branch of it, made of files.  berth-git does that, too, shut in as before but that it may write in the directory:
 * objects, then the name of the branch.  Index, working directory and every other branch stay as they are; no hook and no
 * filter is run, and no attribute is looked at.  After a failure there may be objects that nothing names, as git leaves
 * them, too.
 */
#define REPO_ID_MAX 41 /* of a commit, hexadecimal */
#define REPO_FILES_MAX 100000
/* The files of HEAD under these paths, into the empty directory `into` that nobody else can write; a link or a directory
 * stands for what is no file.  head: its commit; "": there is none yet. */
int repo_read_head(int dir, const char *const *path, size_t n, int into, char head[REPO_ID_MAX],
	struct err *e);
struct repo_branch {
	const char *name, *message, *author;
	const char *head; /* the commit that it grows from; "": none */
	int from;         /* the directory with the files, as repo_read_head's */
	const char *const *path;
	size_t n;
};
/* ERR_USAGE: no name of a branch; ERR_CONFLICT: there is one; ERR_FAILED. */
int repo_make_branch(int dir, const struct repo_branch *b, char commit[REPO_ID_MAX], struct err *e);

/* The program berth-git: of the working directory, written to standard output whenever more is known.  `word`: what is
 * wanted instead, NULL: that. */
_Noreturn void repo_main(const char *word);

#endif
