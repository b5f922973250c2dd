/* kinds.c - lists the kinds of workspaces. */
#include <string.h>

#include <berth/workspace.h>

static const struct {
	const char *word, *folder;
} kinds[WORKSPACE_KINDS] = {{"task", "tasks"}, {"project", "projects"}};

const char *workspace_kind_name(enum workspace_kind k)
{
	return kinds[k].word;
}

const char *workspace_kind_folder(enum workspace_kind k)
{
	return kinds[k].folder;
}

const char *workspace_word(const char *said, enum workspace_kind *kind)
{
	for (*kind = WORKSPACE_TASK; *kind < WORKSPACE_KINDS; (*kind)++) {
		const char *word = workspace_kind_name(*kind);
		size_t n = strlen(word);

		if (!strncmp(said, word, n) && said[n] == ':')
			return said + n + 1;
	}
	return NULL;
}
