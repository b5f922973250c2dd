/*
 * branch_inside.c - serves branch.c inside the sandboxed berth-git: reads files of HEAD and creates a branch.
 *
 * Contents go into the object store and out of it as they are: no attribute, filter or line ending of the repository's
 * has a say, and nothing in the working directory or the index is looked at or changed.  A branch is there, as a whole,
 * when its name is.
 */
#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>

#include "repo/shut_in.h"

#define BLOCK (256u << 10)

static void answer_git(const struct repo_answer *a)
{
	file_write(STDOUT_FILENO, a, sizeof *a);
}

static enum repo_why open_shut_in(git_repository **r)
{
	int rc = git_repository_open_ext(r, "/", GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);

	return rc == 0 ? REPO_FINE : rc == GIT_EOWNER ? REPO_FOREIGN : REPO_BROKEN;
}

/* *ret NULL: there is no commit yet. */
static int find_head(git_repository *r, git_commit **ret)
{
	git_oid id;
	int rc = git_reference_name_to_id(&id, r, "HEAD");

	*ret = NULL;
	return rc == GIT_ENOTFOUND || rc == GIT_EUNBORNBRANCH ? 0
		: rc                                          ? -1
							      : git_commit_lookup(ret, r, &id);
}

/* --- files of HEAD --- */

static int answer_blob(git_repository *r, const git_tree_entry *x)
{
	struct repo_answer a = {.kind = git_tree_entry_filemode(x) == GIT_FILEMODE_BLOB_EXECUTABLE
			? REPO_EXECUTABLE
			: REPO_FILE};
	git_blob *blob;

	if (git_blob_lookup(&blob, r, git_tree_entry_id(x)))
		return -1;
	a.size = (uint64_t)git_blob_rawsize(blob);
	answer_git(&a);
	file_write(STDOUT_FILENO, git_blob_rawcontent(blob), (size_t)a.size);
	git_blob_free(blob);
	return 0;
}

static int answer_file(git_repository *r, const git_tree *tree, const char *path)
{
	struct repo_answer a = {.kind = REPO_NOTHING};
	git_tree_entry *x = NULL;
	int rc = tree ? git_tree_entry_bypath(&x, tree, path) : GIT_ENOTFOUND;

	if (rc && rc != GIT_ENOTFOUND)
		return -1;
	if (rc == 0 && git_tree_entry_filemode(x) == GIT_FILEMODE_LINK)
		a.kind = REPO_LINK;
	else if (rc == 0 && git_tree_entry_type(x) != GIT_OBJECT_BLOB)
		a.kind = REPO_DIRECTORY;
	rc = 0;
	if (x && a.kind == REPO_NOTHING)
		rc = answer_blob(r, x);
	else
		answer_git(&a);
	git_tree_entry_free(x);
	return rc;
}

void repo_answer_files(void)
{
	struct repo_answer head = {0};
	git_repository *r = NULL;
	git_commit *commit = NULL;
	git_tree *tree = NULL;
	char path[REPO_PATH_MAX];
	size_t n = 0;
	int c;

	head.why = open_shut_in(&r);
	if (head.why == REPO_FINE &&
		(find_head(r, &commit) || (commit && git_commit_tree(&tree, commit))))
		head.why = REPO_BROKEN;
	if (commit)
		git_oid_tostr(head.id, sizeof head.id, git_commit_id(commit));
	answer_git(&head);
	while (head.why == REPO_FINE && (c = getchar()) != EOF) {
		path[n++] = (char)c;
		if (n == sizeof path || (!c && answer_file(r, tree, path))) {
			answer_git(&(struct repo_answer){.why = REPO_BROKEN});
			return;
		}
		n = c ? n : 0;
	}
}

/* --- a branch --- */

static bool read_bytes_in(void *to, size_t n)
{
	return fread(to, 1, n, stdin) == n;
}

static char *read_text_in(void)
{
	char *text = xmalloc(REPO_PATH_MAX);
	size_t n = 0;
	int c = 0;

	while (n < REPO_PATH_MAX && (c = getchar()) > 0)
		text[n++] = (char)c;
	if (c == 0 && n < REPO_PATH_MAX) {
		text[n] = '\0';
		return text;
	}
	free(text);
	return NULL;
}

static int put_blob(git_odb *odb, uint64_t size, git_oid *id)
{
	AUTO_FREE char *buf = xmalloc(BLOCK);
	git_odb_stream *s;
	int rc = git_odb_open_wstream(&s, odb, (git_object_size_t)size, GIT_OBJECT_BLOB);

	if (rc)
		return -1;
	while (rc == 0 && size) {
		size_t n = size < BLOCK ? (size_t)size : BLOCK;

		rc = read_bytes_in(buf, n) ? git_odb_stream_write(s, buf, n) : -1;
		size -= n;
	}
	if (rc == 0)
		rc = git_odb_stream_finalize_write(id, s);
	git_odb_stream_free(s);
	return rc ? -1 : 0;
}

static int put_files(git_repository *r, uint64_t n, git_tree_update *update)
{
	git_odb *odb;
	int rc = git_repository_odb(&odb, r);

	if (rc)
		return -1;
	for (uint64_t i = 0; rc == 0 && i < n; i++) {
		struct repo_put put;

		rc = read_bytes_in(&put, sizeof put) && (update[i].path = read_text_in())
			? put_blob(odb, put.size, &update[i].id)
			: -1;
		update[i].action = GIT_TREE_UPDATE_UPSERT;
		update[i].filemode =
			put.executable ? GIT_FILEMODE_BLOB_EXECUTABLE : GIT_FILEMODE_BLOB;
	}
	git_odb_free(odb);
	return rc;
}

static int commit_files(git_repository *r, const struct repo_order *o, const char *author,
	const char *message, git_oid *ret)
{
	git_tree_update *update = xcalloc((size_t)o->n + 1, sizeof *update);
	git_commit *head = NULL;
	git_tree *base = NULL, *tree = NULL;
	git_signature *by = NULL;
	git_oid id;
	int rc = put_files(r, o->n, update);

	if (rc == 0 && *o->head)
		rc = git_oid_fromstr(&id, o->head) || git_commit_lookup(&head, r, &id) ||
			git_commit_tree(&base, head);
	rc = rc || git_tree_create_updated(&id, r, base, (size_t)o->n, update) ||
		git_tree_lookup(&tree, r, &id) ||
		git_signature_new(&by, author, "berth@localhost", o->seconds, 0) ||
		git_commit_create(ret, r, NULL, by, by, "UTF-8", message, tree, head ? 1 : 0,
			(const git_commit *[]){head});
	return rc ? -1 : 0; /* it ends soon: nothing is given back */
}

static enum repo_why name_branch(git_repository *r, const char *name, const git_oid *id)
{
	git_reference *ref;
	git_commit *commit;
	int rc = git_commit_lookup(&commit, r, id);

	rc = rc ? rc : git_branch_create(&ref, r, name, commit, 0);
	return rc == 0 ? REPO_FINE : rc == GIT_EEXISTS ? REPO_TAKEN : REPO_UNWRITTEN;
}

static enum repo_why make_branch(git_repository *r, git_oid *id)
{
	struct repo_order o;
	char *name, *message, *author;
	git_reference *there;
	int valid = 0;

	if (!read_bytes_in(&o, sizeof o) || !(name = read_text_in()) ||
		!(message = read_text_in()) || !(author = read_text_in()) || o.n > REPO_FILES_MAX)
		return REPO_BROKEN;
	o.head[REPO_ID_MAX - 1] = '\0';
	if (git_branch_name_is_valid(&valid, name) || !valid)
		return REPO_MISNAMED;
	if (git_branch_lookup(&there, r, name, GIT_BRANCH_LOCAL) == 0)
		return REPO_TAKEN;
	return commit_files(r, &o, author, message, id) ? REPO_UNWRITTEN : name_branch(r, name, id);
}

void repo_answer_branch(void)
{
	struct repo_answer a = {0};
	git_repository *r = NULL;
	git_oid id;

	git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
	a.why = open_shut_in(&r);
	if (a.why == REPO_FINE)
		a.why = make_branch(r, &id);
	if (a.why == REPO_FINE)
		git_oid_tostr(a.id, sizeof a.id, &id);
	answer_git(&a);
}
