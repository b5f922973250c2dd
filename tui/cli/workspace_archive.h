/* workspace_archive.h - shared by `berth workspace archive` and `clean`. */
#ifndef CLI_WORKSPACE_ARCHIVE_H
#define CLI_WORKSPACE_ARCHIVE_H

#include "cli/workspace.h"

struct archiving_cli {
	struct workspace_cli *x;
	const struct settings *s;
	enum workspace_kind kind;
	const char *name, *as; /* as NULL: the same */
	struct workspace_archive made;
	struct apply_secret *secret; /* likely ones that it holds */
	size_t nsecret, cap;
};
/* The whole way of the act; what it found stays until it is forgotten. */
int workspace_cli_archive(struct archiving_cli *a, struct err *e);
void workspace_cli_forget_secrets(struct archiving_cli *a);

#endif
