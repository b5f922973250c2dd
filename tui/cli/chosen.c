/* chosen.c - finds the containers that a command line names: by id, name, prefix of an id, or agent. */
#include <string.h>

#include <berth/agents.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/str.h>
#include <berth/text.h>

#include "cli/run.h"

#define ID_MIN 4 /* digits of an id that can be meant */

/* Those that a word means in one way: the first two, and how many. */
struct meant {
	const struct container *one[2];
	size_t n;
};

static void add_meant(struct meant *m, const struct container *c)
{
	if (m->n < COUNT(m->one))
		m->one[m->n] = c;
	m->n++;
}

static bool begins_id(const struct container *c, const char *word)
{
	size_t n = strlen(word);

	return n >= ID_MIN && n <= strlen(c->id) && !memcmp(c->id, word, n);
}

/* What docker finds is what is found here: all of an id, a name (also with the slash that the engine puts before it), the
 * beginning of an id. */
static struct meant find_container(const struct snapshot *s, const char *word)
{
	struct meant m = {0};

	for (int how = 0; how < 3 && !m.n; how++)
		for (size_t i = 0; i < s->ncontainers; i++) {
			const struct container *c = &s->containers[i];

			if (how == 0               ? !strcmp(c->id, word)
					: how == 1 ? !strcmp(c->name, word + (*word == '/'))
						   : begins_id(c, word))
				add_meant(&m, c);
		}
	return m;
}

/* An agent's stopped tools do not hide its container, nor does what only calls itself so hide one that berth made. */
static struct meant find_agent(const struct snapshot *s, const char *word)
{
	struct meant m = {0};
	int best = 0;

	for (size_t i = 0; *word && i < s->ncontainers; i++) {
		const struct container *c = &s->containers[i];
		int rank;

		if (strcmp(c->agent, word) != 0)
			continue;
		rank = agents_rank(c->state == CONTAINER_RUNNING, c->role, agents_made(c));
		if (rank > best)
			m.n = 0;
		best = rank > best ? rank : best;
		if (rank == best)
			add_meant(&m, c);
	}
	return m;
}

static void add_choice(struct str *out, const struct container *c)
{
	char shown[128];

	str_addf(
		out, "%.12s for the container %s", c->id, text_clean(shown, sizeof shown, c->name));
	if (*c->agent)
		str_addf(out, " of the agent %s", text_clean(shown, sizeof shown, c->agent));
	if (*c->host)
		str_addf(out, " on %s", text_clean(shown, sizeof shown, c->host));
}

static int refuse_both(const char *word, const struct container *a, const struct container *b,
	size_t n, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;
	char shown[128];

	add_choice(&text, a);
	str_adds(&text, n > 2 ? ", " : ", or ");
	add_choice(&text, b);
	return err_set(e, ERR_USAGE, "%s means %s containers: give %s%s.",
		text_clean(shown, sizeof shown, word), n > 2 ? "several" : "two", text.s,
		n > 2 ? ", ..." : "");
}

static int find_chosen(
	const struct snapshot *s, const char *word, const struct container **ret, struct err *e)
{
	const struct meant by_name = find_container(s, word), by_agent = find_agent(s, word);
	char shown[128];

	if (by_name.n > 1)
		return refuse_both(word, by_name.one[0], by_name.one[1], by_name.n, e);
	if (by_name.n) {
		*ret = by_name.one[0];
		for (size_t i = 0; i < by_agent.n && i < COUNT(by_agent.one); i++)
			if (by_agent.one[i] != *ret)
				return refuse_both(word, *ret, by_agent.one[i], 2, e);
		return 0;
	}
	if (by_agent.n > 1)
		return refuse_both(word, by_agent.one[0], by_agent.one[1], by_agent.n, e);
	*ret = by_agent.one[0];
	return by_agent.n
		? 0
		: err_set(e, ERR_NOT_FOUND, "there is no container and no agent named %s on %s.",
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
