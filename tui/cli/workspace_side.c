/* workspace_side.c - opens a workspace or a checkpoint of it as one side of a comparison. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "cli/workspace.h"

static const char *const words[] = {[CHECKPOINT_ADDED] = "added",
	[CHECKPOINT_REMOVED] = "removed",
	[CHECKPOINT_CONTENT] = "changed",
	[CHECKPOINT_TYPE] = "type",
	[CHECKPOINT_MODE] = "mode"};

const char *workspace_side_word(enum checkpoint_difference d)
{
	return words[d];
}

static void tell_side(const struct workspace_side *s)
{
	struct checkpoint_info info;

	checkpoint_tree_info(s->tree, &info);
	workspace_cli_tell_gone(info.gone, s->name);
	workspace_cli_tell_unread(s->tree, s->name);
}

int workspace_side_open(
	struct workspace_cli *x, const char *said, struct workspace_side *s, struct err *e)
{
	const char *at = strchr(said, '@');
	AUTO_FREE char *workspace = xstrndup(said, at ? (size_t)(at - said) : strlen(said));

	*s = (struct workspace_side){.place.root = -1, .archive = -1, .scratch = -1};
	if (workspace_cli_place(x, workspace, &s->place, e))
		return -1;
	snprintf(s->name, sizeof s->name, "%s%s%.*s", s->place.path, at ? "@" : "",
		CHECKPOINT_NAME_MAX, at ? at + 1 : "");
	s->tree = at ? checkpoint_tree_of(s->place.store, at + 1, e)
		     : checkpoint_tree_now(s->place.store, s->place.root, NULL, e);
	if (s->tree)
		tell_side(s);
	return s->tree ? 0 : -1;
}

void workspace_side_close(struct workspace_side *s)
{
	checkpoint_tree_free(s->tree);
	workspace_cli_leave(&s->place);
	s->tree = NULL;
	if (s->archive >= 0)
		close(s->archive);
	if (s->scratch >= 0)
		close(s->scratch);
	s->archive = s->scratch = -1;
}

void workspace_cli_lines(const struct str *text, bool terminal)
{
	AUTO_STR struct str clean = STR_INIT;

	if (!terminal) {
		fwrite(text->s, 1, text->len, stdout);
		return;
	}
	for (size_t at = 0; at < text->len;) {
		const char *nl = memchr(text->s + at, '\n', text->len - at);
		size_t end = nl ? (size_t)(nl - text->s) : text->len;

		str_clear(&clean);
		text_neutralise(&clean, text->s + at, end - at, false);
		puts(clean.s);
		at = end + 1;
	}
}
