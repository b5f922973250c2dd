/* chosen.c - the containers that a command line names: by name, by id or its beginning, or by agent. */
#include <stdio.h>
#include <string.h>

#include <berth/message.h>
#include <berth/text.h>

#include "cli/run.h"

#define ID_MIN 4 /* digits of an id that can be meant */

bool cli_begins_id(const struct container *c, const char *word)
{
	size_t n = strlen(word);

	return n >= ID_MIN && n <= strlen(c->id) && !memcmp(c->id, word, n);
}

/* A name before an id, an id before an agent: what docker finds is what is found here. */
static int find_chosen(
	const struct snapshot *s, const char *word, const struct container **ret, struct err *e)
{
	char shown[128];

	for (int how = 0; how < 3; how++) {
		const struct container *found = NULL;
		size_t n = 0;

		for (size_t i = 0; i < s->ncontainers; i++) {
			const struct container *c = &s->containers[i];
			bool fits = how == 0 ? !strcmp(c->name, word)
				: how == 1   ? cli_begins_id(c, word)
					     : *word && !strcmp(c->agent, word);

			/* An agent's stopped tools do not hide its container. */
			if (how == 2 && fits && found &&
				(found->state == CONTAINER_RUNNING) !=
					(c->state == CONTAINER_RUNNING)) {
				found = c->state == CONTAINER_RUNNING ? c : found;
				continue;
			}
			n += fits;
			found = fits ? c : found;
		}
		if (n > 1)
			return err_set(e, ERR_USAGE, "%zu containers match %s; name one of them.",
				n, text_clean(shown, sizeof shown, word));
		*ret = found;
		if (found)
			return 0;
	}
	return err_set(e, ERR_NOT_FOUND, "there is no container and no agent named %s on %s.",
		text_clean(shown, sizeof shown, word), s->engine.endpoint);
}

int cli_chosen(
	const struct cli *c, const struct snapshot *s, const struct container **ret, struct err *e)
{
	for (int i = 0; i < c->argc; i++)
		if (find_chosen(s, c->argv[i], &ret[i], e))
			return -1;
	return 0;
}

void cli_target_all(struct command *cmd, const struct container *const *chosen, size_t n)
{
	for (size_t i = 0; i < n; i++)
		command_target(cmd, chosen[i]->engine, chosen[i]->id, chosen[i]->name);
}

bool cli_is_ours(const struct container *c)
{
	return *c->session || *c->role;
}
