/* shut_in.h - the protocol between berth-git and its parent, over standard input and output. */
#ifndef REPO_SHUT_IN_H
#define REPO_SHUT_IN_H

#include <sys/types.h>

#include <berth/repo.h>

#define REPO_FILES_WORD "files"
#define REPO_BRANCH_WORD "branch"
#define REPO_PATH_MAX 4096

/* "files": paths, each with its NUL, come in; one of these, and its bytes, goes out for each of them, after one for HEAD, of
 * which `id` is the commit.  Numbers as this machine has them: both are this program. */
enum repo_kind { REPO_NOTHING, REPO_FILE, REPO_EXECUTABLE, REPO_LINK, REPO_DIRECTORY, REPO_KINDS };
struct repo_answer {
	uint32_t why;  /* enum repo_why */
	uint32_t kind; /* enum repo_kind */
	uint64_t size;
	char id[REPO_ID_MAX];
};

/* "branch": first this, then name, message, author, each with its NUL; then for each of n a struct repo_put, its path
 * with a NUL, and its bytes.  Out goes one answer, of which `id` is the commit. */
struct repo_order {
	uint64_t n;
	int64_t seconds;
	char head[REPO_ID_MAX];
};
struct repo_put {
	uint64_t size;
	uint32_t executable;
	uint32_t unused;
};

/* Starts it in the open directory `dir`. */
int repo_spawn(int dir, const char *word, int in, int out, pid_t *pid, struct err *e);

/* Inside, shut in. */
void repo_answer_files(void);
void repo_answer_branch(void);

#endif
